"""Goes over all nodes of a part of the tree, in the order of the source; without recursion, as chains may be long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from compiler import syntax

_FIELDS: dict[type, tuple[str, ...]] = {}


def all_nodes(roots: Iterable[syntax.Node], into_functions: bool = True) -> Iterator[syntax.Node]:
    """The roots and every node in them. A function's parts are left out where `into_functions` is false."""
    waiting: list[object] = list(roots)
    waiting.reverse()
    while waiting:
        part = waiting.pop()
        if isinstance(part, list | tuple):
            waiting.extend(reversed(part))
            continue
        if not isinstance(part, syntax.Node):
            continue
        yield part
        if isinstance(part, syntax.Function) and not into_functions:
            continue
        names = _FIELDS.get(type(part))
        if names is None:
            names = _FIELDS[type(part)] = tuple(
                field.name for field in fields(part) if field.init and field.name not in ("start", "end")
            )
        waiting.extend(getattr(part, name) for name in reversed(names))
