"""The builtins that look at what a value is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qvm.values import Err, Stop, kind_of

DATABASE_KINDS = frozenset(
    ("unique", "foreign_key", "not_null", "check", "busy", "read_only", "syntax", "missing", "closed", "other")
)


def _type_of(x: Any) -> str:
    return kind_of(x)


def _error_kind(e: Any) -> str:
    """Takes the error whole, or what `err(e)` bound: the `{ kind, message }` of a database's error."""
    held = e.value if type(e) is Err else e
    kind = held.get("kind") if type(held) is dict else None
    return kind if type(kind) is str and kind in DATABASE_KINDS else "other"


def _verdict(value: Any, builtin: Any) -> bool:
    """The value of a function that `builtin` was given and that has to give a bool."""
    if type(value) is not bool:
        raise Stop(f"the function given to `{builtin}` must give bool, got {kind_of(value)}")
    return value


NATIVES: dict[str, Callable[..., Any]] = {
    "type_of": _type_of,
    "db.error_kind": _error_kind,
    "_verdict": _verdict,
}
