"""Checks a value against a type descriptor (see qasm/module.py), all the way in.

A descriptor is compiled once into a *check*: a function that takes a value and gives it back, or raises Mismatch. There
are two kinds of checks:

*value* checks look at values of a running program. A whole number where a float is wanted becomes one; the list or
record that it stands in is then copied, for others may hold it.

*json* checks look at what a client sent, and make values of it: `3.0` is an int and `true` is none, bytes come as
base64 text, and what no value of the language can be is refused: whole numbers past 64 bits, numbers that are no
numbers, text with half of a surrogate pair.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from math import prod
from operator import itemgetter
from typing import Any

from qvm.descriptions import Types, wanted_text
from qvm.operators import equal
from qvm.values import (
    INT_MAX,
    INT_MIN,
    BuiltinFunction,
    Closure,
    Err,
    Markup,
    Response,
    kind_of,
)

Descriptor = Any
Check = Callable[[Any], Any]

_NESTED = 400_000  # calls inside each other for a check of something very deep: they take no room on the C stack

_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "bool": (bool,),
    "null": (type(None),),
    "bytes": (bytes,),
    "html": (Markup,),
    "response": (Response,),
    "error": (Err,),
    "never": (),
    "function": (Closure, BuiltinFunction),
}
_LEFT_AS_THEY_ARE = ("int", "str", "bool", "bytes")
_JSON_KINDS = {**_KINDS, "int": (int, float), "bytes": (str,)}


class Mismatch(Exception):
    """A value that does not fit. `path` leads to it from the inside out: keys of records, places in lists."""

    def __init__(self, wanted: str, got: str, refusal: str = "") -> None:
        super().__init__()
        self.path: list[str | int] = []
        self._says = refusal or f"must be {wanted}, got {got}"

    def in_value(self, name: str) -> str:
        """The sentence for a value that has a name of its own, such as "argument 1 of `f`"."""
        path = self._written("")
        return f"`{path.removeprefix('.')}` of {name} {self._says}" if path else f"{name} {self._says}"

    def in_argument(self, name: str, function: str) -> str:
        """The sentence for an argument: `` `notes[2].text` of `add_all` must be str, got null ``."""
        return f"`{self._written(name)}` of `{function}` {self._says}"

    def _written(self, root: str) -> str:
        parts = [root]
        for step in reversed(self.path):
            if isinstance(step, int):
                parts.append(f"[{step}]")
            elif step.isidentifier() and step.isascii():
                parts.append(f".{step}")
            else:
                parts.append(f"[{_quoted(step)}]")
        return "".join(parts)


class Checks:
    """The checks of one Module's types. A check of `any` is None: nothing is to be looked at."""

    def __init__(self, types: Types, json: bool = False) -> None:
        self._types = types
        self._json = json
        self._kinds = _JSON_KINDS if json else _KINDS
        self._named: dict[int, Check | None] = {}
        self._nests = False  # whether the descriptor that is being compiled has a named type in it

    def check(self, descriptor: Descriptor) -> Check | None:
        """The check for a descriptor. It copes with values that are nested deeper than Python calls may go."""
        self._nests = False
        inner = self._compile(descriptor)
        if inner is None or not self._nests:
            return inner

        def check_deep(value: Any) -> Any:
            try:
                return inner(value)
            except RecursionError:
                return _with_room(inner, value)

        return check_deep

    def _compile(self, descriptor: Descriptor) -> Check | None:
        if type(descriptor) is str:
            if descriptor == "any":
                return check_any_json if self._json else None
            return self._simple(descriptor)
        kind, of = descriptor
        if kind == "type":
            return self._type(of)
        if kind == "list":
            return self._list(descriptor, self._compile(of))
        if kind == "map":
            return self._map(descriptor, self._compile(of))
        if kind == "record":
            return self._record(descriptor, of)
        if kind == "literal":
            return self._literal(descriptor, of)
        return self._union(descriptor, of)

    def _mismatch(self, descriptor: Descriptor, value: Any) -> Mismatch:
        return Mismatch(wanted_text(descriptor, self._types), _got(descriptor, value))

    # simple types

    def _simple(self, name: str) -> Check:
        if self._json and name in _JSON_CHECKS:
            return _JSON_CHECKS[name]
        if name == "float":
            return _check_float
        kinds = _KINDS[name]

        def check_kind(value: Any) -> Any:
            if type(value) not in kinds:
                raise Mismatch(name, kind_of(value))
            return value

        return check_kind

    def _literal(self, descriptor: Descriptor, values: list[Any]) -> Check:
        def check_literal(value: Any) -> Any:
            for literal in values:
                if equal(value, literal):
                    return literal
            raise self._mismatch(descriptor, value)

        return check_literal

    # named types, which may be inside themselves

    def _type(self, number: int) -> Check | None:
        self._nests = True
        if number in self._named:
            return self._named[number]

        def check_named(value: Any) -> Any:
            # A type inside itself: its own check is there by the time that a value comes.
            check = self._named[number]
            return value if check is None else check(value)

        self._named[number] = check_named
        target = self._types[number][1]
        if type(target) is list and target[0] == "record":  # its name says more than its fields do
            self._named[number] = self._record(["type", number], target[1])
        else:
            self._named[number] = self._compile(target)
        return self._named[number]

    # lists, maps and records

    def _list(self, descriptor: Descriptor, check: Check | None) -> Check:
        as_it_is = set(_KINDS[descriptor[1]]) if descriptor[1] in _LEFT_AS_THEY_ARE and not self._json else None

        fits = self._flat_records(descriptor[1])

        def check_list(value: Any) -> Any:
            if type(value) is not list:
                raise self._mismatch(descriptor, value)
            if check is None or (as_it_is is not None and as_it_is.issuperset(map(type, value))):
                return value
            if fits is not None and fits(value):
                return value
            made = value
            place = 0
            try:
                for place, item in enumerate(value):
                    checked = check(item)
                    if checked is not item:
                        if made is value:
                            made = value.copy()
                        made[place] = checked
            except Mismatch as mismatch:
                mismatch.path.append(place)
                raise
            return made

        return check_list

    def _flat_records(self, descriptor: Descriptor) -> Callable[[list[Any]], bool] | None:
        """A quick look at a list of records of simple fields, as rows are: true where all fit as they are.

        None where items are of another type; false says nothing: the check of an item says what is wrong, if anything.
        """
        if type(descriptor) is list and descriptor[0] == "type":
            descriptor = self._types[descriptor[1]][1]
        if self._json or type(descriptor) is str or descriptor[0] != "record" or not 2 <= len(descriptor[1]) <= 12:
            return None
        kinds = [_simple_kinds(of) if required else None for _, of, required in descriptor[1]]
        count = len(kinds)
        if None in kinds or prod(len(of or ()) for of in kinds) > 64:
            return None
        shapes = set(product(*(of or () for of in kinds)))
        fields = itemgetter(*(name for name, _, _ in descriptor[1]))

        def fit(items: list[Any]) -> bool:
            try:
                for item in items:
                    if type(item) is not dict or len(item) != count or tuple(map(type, fields(item))) not in shapes:
                        return False
            except KeyError:
                return False
            return True

        return fit

    def _map(self, descriptor: Descriptor, check: Check | None) -> Check:
        json = self._json

        def check_map(value: Any) -> Any:
            if type(value) is not dict:
                raise self._mismatch(descriptor, value)
            if json:
                _check_keys(value)
            made = value
            key = ""
            try:
                for key, item in value.items():
                    checked = item if check is None else check(item)
                    if checked is not item:
                        if made is value:
                            made = value.copy()
                        made[key] = checked
            except Mismatch as mismatch:
                mismatch.path.append(key)
                raise
            return made

        return check_map

    def _record(self, descriptor: Descriptor, fields: list[Any]) -> Check:
        compiled = [(name, of, required, self._compile(of)) for name, of, required in fields]

        def check_record(value: Any) -> Any:
            if type(value) is not dict:
                raise self._mismatch(descriptor, value)
            made = value
            found = 0
            for name, of, required, check in compiled:
                if name in value:
                    found += 1
                    if check is None:
                        continue
                    item = value[name]
                    try:
                        checked = check(item)
                    except Mismatch as mismatch:
                        mismatch.path.append(name)
                        raise
                    if checked is not item:
                        if made is value:
                            made = value.copy()
                        made[name] = checked
                elif required:
                    missing = Mismatch(wanted_text(of, self._types), "nothing")
                    missing.path.append(name)
                    raise missing
            if found != len(value):
                raise _unknown_field(value, [field[0] for field in fields])
            return made

        return check_record

    # unions

    def _union(self, descriptor: Descriptor, members: list[Descriptor]) -> Check | None:
        """Members are tried in order: those that take the value as it is, then those that turn it into another."""
        compiled = [self._compile(member) for member in members]
        by_kind: dict[type, list[Check]] = {}
        for turning in (False, True):
            for member, check in zip(members, compiled, strict=True):
                if check is None or member == "any":
                    return check
                for kind in self._kinds_of(member, turning):
                    taken = by_kind.setdefault(kind, [])
                    if check not in taken:
                        taken.append(check)

        def check_union(value: Any) -> Any:
            checks = by_kind.get(type(value), ())
            if len(checks) == 1 and type(value) in (dict, list):
                return checks[0](value)  # it says what is wrong inside
            for check in checks:
                try:
                    return check(value)
                except Mismatch:
                    continue
            raise self._mismatch(descriptor, value)

        return check_union

    def _kinds_of(self, descriptor: Descriptor, turning: bool) -> tuple[type, ...]:
        """The kinds of values that a member may take; with `turning` also those that it turns into another."""
        if type(descriptor) is str:
            kinds = self._kinds[descriptor] if descriptor != "any" else (list, dict)
            return kinds if turning else kinds[:1] if descriptor in ("int", "float") else kinds
        kind, of = descriptor
        if kind == "type":
            return self._kinds_of(self._types[of][1], turning)
        if kind == "list":
            return (list,)
        if kind in ("map", "record"):
            return (dict,)
        if kind == "literal":
            kinds = tuple(type(value) for value in of)
            return (*kinds, int, float) if turning and (int in kinds or float in kinds) else kinds
        return tuple(kind for member in of for kind in self._kinds_of(member, turning))


def _simple_kinds(descriptor: Descriptor) -> tuple[type, ...] | None:
    """The kinds of values that a simple type, or a union of such, takes as they are; None for any other type."""
    if type(descriptor) is str:
        if descriptor == "float":
            return (float,)
        return _KINDS.get(descriptor)
    if descriptor[0] != "union":
        return None
    kinds = [_simple_kinds(member) for member in descriptor[1]]
    return None if None in kinds else tuple({kind for of in kinds for kind in of or ()})


def _unknown_field(value: dict[str, Any], names: list[str]) -> Mismatch:
    extra = _quoted(next(key for key in value if key not in names))[1:-1]
    takes = ", ".join(f"`{name}`" for name in names)
    return Mismatch("", "", f"has no field `{extra}`: it takes {takes}" if takes else f"has no field `{extra}`")


def _with_room(check: Check, value: Any) -> Any:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _NESTED))
    try:
        return check(value)
    except RecursionError:
        raise Mismatch("", "", "is nested too deep") from None
    finally:
        sys.setrecursionlimit(limit)


def _check_float(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    raise Mismatch("float", kind_of(value))


# what comes as JSON


def _check_text(value: Any) -> str:
    if type(value) is not str:
        raise Mismatch("str", kind_of(value))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Mismatch("str", "text with half of a surrogate pair") from None
    return value


def _check_keys(record: dict[str, Any]) -> None:
    for key in record:
        if not key.isascii():
            try:
                key.encode()
            except UnicodeEncodeError:
                raise Mismatch("", "", "has a field whose name has half of a surrogate pair in it") from None


def _check_int_json(value: Any) -> int:
    kind = type(value)
    if kind is int:
        if INT_MIN <= value <= INT_MAX:
            return value
        raise Mismatch("int", "a number past 64 bits")
    # A number of JSON that no float can hold is read as an infinite one.
    if kind is float and (value.is_integer() or value - value != 0.0):
        if INT_MIN <= value < INT_MAX:  # the float next to INT_MAX is 2**63 itself
            return int(value)
        raise Mismatch("int", "a number past 64 bits")
    raise Mismatch("int", kind_of(value))


def _check_float_json(value: Any) -> float:
    kind = type(value)
    if kind is int:
        try:
            return float(value)
        except OverflowError:
            raise Mismatch("float", "a number that is too big") from None
    if kind is not float:
        raise Mismatch("float", kind_of(value))
    if value - value != 0.0:
        raise Mismatch("float", "a number that is no number")
    return value


def _check_bytes_json(value: Any) -> bytes:
    from binascii import Error, a2b_base64

    if type(value) is not str:
        raise Mismatch("bytes as base64 text", kind_of(value))
    try:
        return a2b_base64(value.encode("ascii"), strict_mode=True)
    except (Error, UnicodeEncodeError):
        raise Mismatch("bytes as base64 text", "other text") from None


def check_any_json(value: Any) -> Any:
    """A JSON value for `any`: it may be of every kind, but its texts and numbers must be such as the language has."""
    waiting: list[tuple[Any, tuple[Any, ...]]] = [
        (value, ())
    ]  # values, with the way from the inside out as nested pairs
    while waiting:
        current, way = waiting.pop()
        kind = type(current)
        try:
            if kind is str:
                _check_text(current)
            elif kind is int:
                _check_int_json(current)
            elif kind is float:
                _check_float_json(current)
            elif kind is list:
                waiting.extend((item, (place, way)) for place, item in enumerate(current) if type(item) in _LOOKED_AT)
            elif kind is dict:
                _check_keys(current)
                waiting.extend((item, (key, way)) for key, item in current.items() if type(item) in _LOOKED_AT)
        except Mismatch as mismatch:
            while way:
                mismatch.path.append(way[0])
                way = way[1]
            raise
    return value


_LOOKED_AT = frozenset((str, int, float, list, dict))

_JSON_CHECKS: dict[str, Check] = {
    "int": _check_int_json,
    "float": _check_float_json,
    "str": _check_text,
    "bytes": _check_bytes_json,
}


def _got(descriptor: Descriptor, value: Any) -> str:
    """What is there instead: its kind, or the value itself where the type is made of values."""
    if type(value) in (str, int, float) and _is_literal(descriptor):
        return _quoted(value) if type(value) is str else repr(value)
    return kind_of(value)


def _quoted(text: str) -> str:
    from qvm.text import quoted

    return quoted(text)


def _is_literal(descriptor: Descriptor) -> bool:
    if descriptor == "null":
        return True
    if type(descriptor) is str:
        return False
    kind, of = descriptor
    return kind == "literal" or (kind == "union" and all(map(_is_literal, of)))
