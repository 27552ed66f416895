"""The builtins of section "records". Keys keep their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qvm.builtins.arguments import need_list, need_record, need_text, wrong, wrong_item
from qvm.mistakes import check_size, counted
from qvm.values import Stop, kind_of


def _keys(r: Any) -> list[str]:
    return list(need_record(r, 1, "keys"))


def _values(r: Any) -> list[Any]:
    return list(need_record(r, 1, "values").values())


def _entries(r: Any) -> list[list[Any]]:
    return [[key, value] for key, value in need_record(r, 1, "entries").items()]


def _from_entries(xs: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for index, item in enumerate(need_list(xs, 1, "from_entries", "list<list<any>>")):
        if type(item) is not list or len(item) != 2:
            if type(item) is list:
                there = counted(len(item), "item")
                raise Stop(f"`[{index}]` of argument 1 of `from_entries` must be [key, value], got {there}")
            raise wrong_item(index, 1, "from_entries", "[key, value]", item)
        key, value = item
        if type(key) is not str:
            raise Stop(f"the key in `[{index}]` of argument 1 of `from_entries` must be str, got {kind_of(key)}")
        made[key] = value
    return made


def _has(r: Any, key: Any) -> bool:
    return need_text(key, 2, "has") in need_record(r, 1, "has")


def _merge(a: Any, b: Any) -> dict[str, Any]:
    merged = need_record(a, 1, "merge") | need_record(b, 2, "merge")
    check_size(len(merged), "record")
    return merged


def _without(r: Any, key: Any) -> dict[str, Any]:
    need_record(r, 1, "without")
    if type(key) is str:
        dropped = {key}
    elif type(key) is list:
        for index, item in enumerate(key):
            if type(item) is not str:
                raise wrong_item(index, 2, "without", "str", item)
        dropped = set(key)
    else:
        raise wrong(2, "without", "str or list<str>", key)
    return {name: value for name, value in r.items() if name not in dropped}


NATIVES: dict[str, Callable[..., Any]] = {
    "keys": _keys,
    "values": _values,
    "entries": _entries,
    "from_entries": _from_entries,
    "has": _has,
    "merge": _merge,
    "without": _without,
}
