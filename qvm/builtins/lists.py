"""The builtins of section "lists", and those that work on lists and texts alike (`len`, `slice`, `contains` …).

Those that call a function for each item are written in Quillo (`compiler/prelude.qwe`), so that the calls are ordinary
frames; `_sort_by` and its like do their work on the keys that the function gave.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add, is_, ne
from typing import Any

from qvm.builtins.arguments import need_int, need_list, need_text, wrong, wrong_item
from qvm.mistakes import check_size, counted
from qvm.operators import equal, over_64_bits
from qvm.operators import index_of as place_of
from qvm.values import INT_MAX, INT_MIN, Stop, kind_of

_MISSING: Any = object()
_NUMBERS = frozenset((int, float))
_KEY_DEPTH = 20  # so deep a record or list is looked into for its hash


def _len(x: Any) -> int:
    if type(x) not in (str, list, dict, bytes):
        raise wrong(1, "len", "str, list, record or bytes", x)
    return len(x)


def _push(xs: Any, x: Any) -> list[Any]:
    need_list(xs, 1, "push")
    check_size(len(xs) + 1)
    return [*xs, x]


def _insert(xs: Any, i: Any, x: Any) -> list[Any]:
    need_list(xs, 1, "insert")
    need_int(i, 2, "insert")
    length = len(xs)
    if not -length <= i <= length:
        raise Stop(f"`insert` can't insert at place {i}: the list has {counted(length, 'item')}")
    check_size(length + 1)
    made = xs.copy()
    made.insert(i, x)
    return made


def _remove(xs: Any, i: Any) -> list[Any]:
    need_list(xs, 1, "remove")
    need_int(i, 2, "remove")
    if not -len(xs) <= i < len(xs):
        raise Stop(f"`remove` can't remove place {i}: the list has {counted(len(xs), 'item')}")
    made = xs.copy()
    del made[i]
    return made


def _slice(s: Any, from_: Any, to: Any = None) -> Any:
    if type(s) is not str and type(s) is not list:
        raise wrong(1, "slice", "str or list", s)
    need_int(from_, 2, "slice")
    if to is not None and type(to) is not int:
        raise wrong(3, "slice", "int or null", to)
    return s[from_:to]


def _contains(s: Any, part: Any) -> bool:
    if type(s) is list:
        return place_of(s, part) >= 0
    if type(s) is str:
        return need_text(part, 2, "contains") in s
    raise wrong(1, "contains", "str or list", s)


def _index_of(s: Any, part: Any) -> int | None:
    if type(s) is list:
        place = place_of(s, part)
    elif type(s) is str:
        place = s.find(need_text(part, 2, "index_of"))
    else:
        raise wrong(1, "index_of", "str or list", s)
    return place if place >= 0 else None


def _reverse(xs: Any) -> list[Any]:
    return need_list(xs, 1, "reverse")[::-1]


def _flat(xs: Any) -> list[Any]:
    size = 0
    for index, item in enumerate(need_list(xs, 1, "flat", "list<list<any>>")):
        if type(item) is not list:
            raise wrong_item(index, 1, "flat", "list", item)
        size += len(item)
    check_size(size)
    return [item for items in xs for item in items]


def _zip(xs: Any, ys: Any) -> list[list[Any]]:
    pairs = zip(need_list(xs, 1, "zip"), need_list(ys, 2, "zip"), strict=False)
    return [[x, y] for x, y in pairs]


def _first(xs: Any) -> Any:
    return xs[0] if need_list(xs, 1, "first") else None


def _last(xs: Any) -> Any:
    return xs[-1] if need_list(xs, 1, "last") else None


def _range(from_: Any, to: Any, step: Any = 1) -> list[int]:
    return list(checked_range(from_, to, step))


def checked_range(from_: Any, to: Any, step: Any) -> range:
    """The numbers of `range`, which are no list yet. Raises Stop for steps of 0, and for too many."""
    need_int(from_, 1, "range")
    need_int(to, 2, "range")
    need_int(step, 3, "range")
    if step == 0:
        raise Stop("`range` can't take steps of 0")
    # Python's `len` of a range can't count over 63 bits.
    check_size((to - from_ + step - (1 if step > 0 else -1)) // step)
    return range(from_, to, step)


def _sum(xs: Any) -> int | float:
    need_list(xs, 1, "sum", "list<int> or list<float>")
    kinds = set(map(type, xs))
    if not kinds <= _NUMBERS:
        index = next(place for place, item in enumerate(xs) if type(item) not in _NUMBERS)
        raise wrong_item(index, 1, "sum", "a number", xs[index])
    if float in kinds:
        # One after the other, as `+` does it; Python's own `sum` does not in every version.
        return reduce(add, xs, 0.0)
    total = sum(xs)
    if not INT_MIN <= total <= INT_MAX:
        raise over_64_bits("`sum`")
    return total


def _need_order(items: list[Any], builtin: str, what: str) -> None:
    """Raises Stop unless `items` are all numbers or all texts, so that each may stand before or after each."""
    kinds = set(map(type, items))
    if kinds <= _NUMBERS:
        if float in kinds and any(map(ne, items, items)):
            raise Stop(f"`{builtin}` can't put nan in order: it is no number")
        return
    if kinds == {str}:
        return
    for item in items:
        if type(item) not in _NUMBERS and type(item) is not str:
            raise Stop(f"`{builtin}` can't put {kind_of(item)} in order: {what} must be numbers or texts")
    raise Stop(f"`{builtin}` can't put numbers and texts in one order: {what} must be all numbers or all texts")


def _chosen(builtin: str, choose: Callable[..., Any], xs: Any, b: Any) -> Any:
    """The least or greatest item of a list, or of two values; of an int and a float, as a float."""
    if b is _MISSING:
        need_list(xs, 1, builtin)
        if not xs:
            raise Stop(f"`{builtin}` of an empty list: there is nothing to choose from")
        _need_order(xs, builtin, "the items")
        chosen = choose(xs)
        return float(chosen) if type(chosen) is int and float in set(map(type, xs)) else chosen
    if type(xs) not in _NUMBERS and type(xs) is not str:
        raise wrong(1, builtin, "int, float or str", xs)
    if type(xs) is str and type(b) is not str:
        raise wrong(2, builtin, "str", b)
    if type(xs) is not str and type(b) not in _NUMBERS:
        raise wrong(2, builtin, "float" if type(xs) is float else "int or float", b)
    _need_order([xs, b], builtin, "both")
    chosen = choose(xs, b)
    return chosen if type(xs) is type(b) else float(chosen)


def _min(xs: Any, b: Any = _MISSING) -> Any:
    return _chosen("min", min, xs, b)


def _max(xs: Any, b: Any = _MISSING) -> Any:
    return _chosen("max", max, xs, b)


def _itself(x: Any) -> Any:
    return x


def _sort_by(xs: list[Any], keys: list[Any]) -> list[Any]:
    _need_order(keys, "sort", "what it sorts by")
    if xs is keys or all(map(is_, xs, keys)):
        return sorted(xs)
    return [xs[place] for place in sorted(range(len(xs)), key=keys.__getitem__)]


def _unique_by(xs: list[Any], keys: list[Any]) -> list[Any]:
    kept: list[Any] = []
    seen: dict[Any, list[Any]] = {}
    for item, key in zip(xs, keys, strict=True):
        if type(key) is float and key != key:  # nan is equal to nothing, itself neither
            kept.append(item)
            continue
        alike = seen.setdefault(_hashed(key, _KEY_DEPTH), [])
        if not any(equal(key, other) for other in alike):
            alike.append(key)
            kept.append(item)
    return kept


def _hashed(value: Any, depth: int) -> Any:
    """Something that can be hashed and is the same for equal values; it may be the same for others, too."""
    kind = type(value)
    if kind is str or kind is int or kind is float:
        return value
    if kind is list:
        return ("[", *(_hashed(item, depth - 1) for item in value)) if depth else "["
    if kind is dict:
        return frozenset((key, _hashed(item, depth - 1)) for key, item in value.items()) if depth else "{"
    if kind is bytes or value is None:
        return value
    return (kind, value) if kind is bool else kind


def _group_by(xs: list[Any], keys: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for item, key in zip(xs, keys, strict=True):
        if type(key) is not str:
            raise Stop(f"the function given to `group_by` must give str, got {kind_of(key)}")
        groups.setdefault(key, []).append(item)
    return groups


NATIVES: dict[str, Callable[..., Any]] = {
    "len": _len,
    "push": _push,
    "insert": _insert,
    "remove": _remove,
    "slice": _slice,
    "contains": _contains,
    "index_of": _index_of,
    "reverse": _reverse,
    "flat": _flat,
    "zip": _zip,
    "first": _first,
    "last": _last,
    "range": _range,
    "sum": _sum,
    "min": _min,
    "max": _max,
    "_itself": _itself,
    "_sort_by": _sort_by,
    "_unique_by": _unique_by,
    "_group_by": _group_by,
}
