"""The builtins that are plain Python functions, by group; a group is imported when one of its functions is first used.

Each function takes plain values by place (those that may be left out have defaults), checks them, and gives a plain
value. A wrong kind of argument and any other mistake of the program raises Stop; what fails for a reason outside the
program gives an Err that holds `{"kind": …, "message": …}`. No function changes what it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_GROUPS: dict[str, str] = {
    "errors": "_verdict db.error_kind type_of",
    "identity": "check_password hash same",
    "lists": "_group_by _itself _sort_by _unique_by contains first flat index_of insert last len max min push range "
    "remove reverse slice sum zip",
    "numbers": "abs ceil floor pow round sqrt",
    "pages": "classes markdown_page raw redirect respond",
    "records": "entries from_entries has keys merge values without",
    "regex": "match_all match_text replace_text",
    "text": "chars ends_with escape_html format_number join lines lower pad_end pad_start repeat replace slug split "
    "starts_with trim trim_end trim_start upper",
    "time": "add_time format_time parse_time",
    "turning": "base64 bytes float from_base64 from_json hex int json str",
}

GROUP_OF: dict[str, str] = {name: group for group, names in _GROUPS.items() for name in names.split()}


def is_native(name: str) -> bool:
    """Is the builtin of this name a function of this package?"""
    return name in GROUP_OF


def native(name: str) -> Callable[..., Any]:
    """The function of a builtin. Raises KeyError for a name that is none of `GROUP_OF`."""
    from importlib import import_module

    group = import_module(f"qvm.builtins.{GROUP_OF[name]}")
    return group.NATIVES[name]


def argument_counts(name: str) -> tuple[int, int | None]:
    """How many arguments a native takes: at least, at most (None: any number)."""
    function = native(name)
    code: Any = function.__code__
    most = None if code.co_flags & 0x04 else code.co_argcount
    return code.co_argcount - len(function.__defaults__ or ()), most
