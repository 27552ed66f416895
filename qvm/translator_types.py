"""What the translator knows of a value before the program runs: its kinds, its range, its items and its fields.

A Type is a set of kinds with what is known of each. Values are never changed where another could see it, so what is
known of a variable's list or record stays true until that variable itself is given something else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from qvm.values import INT_MAX, INT_MIN, SIZE_LIMIT, TEXT_LIMIT

INT, FLOAT, STR, BOOL, NULL, LIST, RECORD, ERROR, OTHER, ABSENT, UNSET = (1 << place for place in range(11))
ALL = INT | FLOAT | STR | BOOL | NULL | LIST | RECORD | ERROR | OTHER
_DEEPEST = 4


class Type(NamedTuple):
    """`kinds` are the bits above; `low` and `high` bound a whole number.

    `item` is what a list holds, `fields` are those that a record surely has, in the order of their names, and `values`
    is what any other of its fields holds: None for anything, NEVER for nothing. `text` is the one text that it can be.
    `most` is the greatest length of a list, or how often an iterator gives an item; of a text, where it is known: less
    than SIZE_LIMIT.
    """

    kinds: int
    low: int = INT_MIN
    high: int = INT_MAX
    item: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()
    values: Type | None = None
    text: str | None = None
    most: int = SIZE_LIMIT


NEVER = Type(0)
ANY = Type(ALL)
VALUE = Type(ALL & ~ERROR)  # what a list or a record may hold: no error is ever put into one
INTEGER = Type(INT)
NUMBER = Type(FLOAT)
TEXT = Type(STR)
TRUTH = Type(BOOL)
NOTHING = Type(NULL)
FAILURE = Type(ERROR)
OTHER_KIND = Type(OTHER)
LEFT_OUT = Type(ABSENT)
SIZE = Type(INT, 0, max(SIZE_LIMIT, TEXT_LIMIT))


def whole(low: int, high: int) -> Type:
    return Type(INT, max(low, INT_MIN), min(high, INT_MAX))


def list_of(item: Type, most: int = SIZE_LIMIT) -> Type:
    return Type(LIST, item=item, most=min(most, SIZE_LIMIT))


def known_item(kind: Type) -> Type:
    return VALUE if kind.item is None else kind.item


def join(a: Type, b: Type) -> Type:
    """What is true of both."""
    if a is b or a == b or not b.kinds:
        return a
    if not a.kinds:
        return b
    kinds = a.kinds | b.kinds
    if a.kinds & INT and b.kinds & INT:
        low, high = min(a.low, b.low), max(a.high, b.high)
    else:
        low, high = (a.low, a.high) if a.kinds & INT else (b.low, b.high)
    item = None
    if kinds & LIST:
        item = _join_parts(a.kinds & LIST, a.item, b.kinds & LIST, b.item)
    fields: tuple[tuple[str, Type], ...] = ()
    values = None
    if kinds & RECORD:
        if not a.kinds & RECORD:
            fields, values = b.fields, b.values
        elif not b.kinds & RECORD:
            fields, values = a.fields, a.values
        else:
            mine, other = dict(a.fields), dict(b.fields)
            fields = tuple((name, join(mine[name], other[name])) for name in mine if name in other)
            values = _join_parts(1, a.values, 1, b.values)
            if values is not None:
                for name, kind in (*a.fields, *b.fields):
                    if not (name in mine and name in other):
                        values = join(values, kind)
    text = None
    if kinds & STR:
        if not a.kinds & STR:
            text = b.text
        elif not b.kinds & STR or a.text == b.text:
            text = a.text
    counted = LIST | STR | INT  # an iterator over a range is a whole number here
    most = max(of.most for of in (a, b) if of.kinds & counted) if kinds & counted else SIZE_LIMIT
    return Type(kinds, low, high, item, fields, values, text, most)


def _join_parts(has: int, a: Type | None, other: int, b: Type | None) -> Type | None:
    if not has:
        return b
    if not other:
        return a
    return None if a is None or b is None else join(a, b)


def cut(kind: Type, depth: int = _DEEPEST) -> Type:
    """The type with what lies too deep in it forgotten, so that there are only so many types."""
    if not kind.kinds & (LIST | RECORD):
        return kind
    if not depth:
        return kind._replace(item=None, fields=(), values=None)
    return kind._replace(
        item=None if kind.item is None else cut(kind.item, depth - 1),
        fields=tuple((name, cut(of, depth - 1)) for name, of in kind.fields),
        values=None if kind.values is None else cut(kind.values, depth - 1),
    )


_FLOORS = (0, -1, -(2**15), -(2**30) + 1, -(2**52), INT_MIN)
_CEILINGS = (2, 2**15, SIZE_LIMIT, 2**30 - 1, 2**31, 2**52, INT_MAX)


def widen(old: Type, new: Type) -> Type:
    """`new`, a type above `old`, with bounds that moved set far enough that they don't move often."""
    if old == new:
        return old
    low, high = new.low, new.high
    if old.kinds & INT:
        if low < old.low:
            low = next(bound for bound in _FLOORS if bound <= low)
        if high > old.high:
            high = next(bound for bound in _CEILINGS if bound >= high)
    item, values, fields = new.item, new.values, new.fields
    if item is not None and old.kinds & LIST and old.item is not None:
        item = widen(old.item, item)
    if values is not None and old.kinds & RECORD and old.values is not None:
        values = widen(old.values, values)
    if fields and old.fields:
        known = dict(old.fields)
        fields = tuple((name, widen(known[name], of) if name in known else of) for name, of in fields)
    most = new.most
    if most > old.most:
        most = INT_MAX if new.kinds & INT else SIZE_LIMIT
    return Type(new.kinds, low, high, item, fields, values, new.text, most)


def without(kind: Type, kinds: int) -> Type:
    return kind._replace(kinds=kind.kinds & ~kinds)


def field(kind: Type, name: str) -> Type:
    """What reading a field of a record gives; null where it lacks it."""
    if not kind.kinds:
        return NEVER
    for known, of in kind.fields:
        if known == name:
            return of
    return join(VALUE if kind.values is None else kind.values, NOTHING)


def has_field(kind: Type, name: str) -> bool:
    return any(known == name for known, _ in kind.fields)


def any_value(kind: Type) -> Type:
    """What some field of a record holds."""
    found = VALUE if kind.values is None else kind.values
    for _, of in kind.fields:
        found = join(found, of)
    return found


def with_field(kind: Type, name: str, of: Type) -> Type:
    fields = dict(kind.fields)
    fields[name] = of
    return kind._replace(fields=tuple(sorted(fields.items())))


_SIMPLE = {
    "int": INTEGER,
    "float": NUMBER,
    "str": TEXT,
    "bool": TRUTH,
    "null": NOTHING,
    "error": FAILURE,
    "bytes": OTHER_KIND,
    "html": OTHER_KIND,
    "response": OTHER_KIND,
    "function": OTHER_KIND,
}


def of_descriptor(descriptor: Any, types: list[tuple[str, Any]], depth: int = _DEEPEST) -> Type:
    """The type of a value that a check against a descriptor has let pass."""
    if isinstance(descriptor, str):
        return _SIMPLE.get(descriptor, VALUE)
    kind, of = descriptor
    if kind == "type":
        return of_descriptor(types[of][1], types, depth - 1) if depth > 0 else VALUE
    if kind == "union":
        found = NEVER
        for member in of:
            found = join(found, of_descriptor(member, types, depth))
        return found
    if kind == "literal":
        found = NEVER
        for value in of:
            found = join(found, of_value(value) if type(value) is not int else Type(INT | FLOAT))
        return found
    if kind == "list":
        return list_of(of_descriptor(of, types, depth - 1)) if depth > 0 else Type(LIST)
    if depth <= 0:
        return Type(RECORD)
    if kind == "map":
        return Type(RECORD, values=of_descriptor(of, types, depth - 1))
    fields, values = [], NEVER
    for name, part, required in of:
        known = of_descriptor(part, types, depth - 1)
        if required:
            fields.append((name, known))
        else:
            values = join(values, known)
    return Type(RECORD, fields=tuple(sorted(fields)), values=values)


_KINDS = (INT, FLOAT, STR, BOOL, NULL, LIST, RECORD, ERROR, OTHER, ABSENT, UNSET)


def fits(kind: Type, descriptor: Any, types: list[tuple[str, Any]], depth: int = 2 * _DEEPEST) -> bool:
    """Is every value of this type let pass by a check against a descriptor, as it is?"""
    if kind.kinds & (ERROR | OTHER | ABSENT | UNSET) or depth < 0:
        return False
    if not kind.kinds or descriptor == "any":
        return True
    if isinstance(descriptor, str):
        simple = _SIMPLE.get(descriptor)
        return simple is not None and kind.kinds == simple.kinds
    form, of = descriptor
    if form == "type":
        return fits(kind, types[of][1], types, depth - 1)
    if form == "union":
        return all(_fits_one(kind._replace(kinds=part), of, types, depth) for part in _KINDS if kind.kinds & part)
    if form == "literal":
        return kind.kinds == STR and kind.text in of
    if form == "list":
        return kind.kinds == LIST and fits(known_item(kind), of, types, depth - 1)
    if kind.kinds != RECORD:
        return False
    if form == "map":
        return fits(any_value(kind), of, types, depth - 1)
    if kind.values != NEVER:
        return False  # it may have a field more
    wanted = {name: part for name, part, _ in of}
    if any(name not in wanted or not fits(part, wanted[name], types, depth - 1) for name, part in kind.fields):
        return False
    return all(has_field(kind, name) for name, _, required in of if required)


def _fits_one(kind: Type, members: list[Any], types: list[tuple[str, Any]], depth: int) -> bool:
    """Is this, of one kind, let pass as it is by one of a union's members, whichever is tried first?"""
    taking = [member for member in members if _takes(kind, member, types, depth)]
    if kind.kinds & (LIST | RECORD) and len(taking) > 1:
        return False  # one that is tried before may turn whole numbers in it into others
    return any(fits(kind, member, types, depth - 1) for member in taking)


def _takes(kind: Type, descriptor: Any, types: list[tuple[str, Any]], depth: int) -> bool:
    return depth < 0 or descriptor == "any" or bool(of_descriptor(descriptor, types).kinds & kind.kinds)


def of_value(value: Any) -> Type:
    """The type of a constant."""
    kind = type(value)
    if kind is int:
        return Type(INT, value, value)
    if kind is list:
        found = NEVER
        for item in value:
            found = join(found, of_value(item))
        return cut(list_of(found))
    if kind is dict:
        if value.keys() == {"markup"}:
            return OTHER_KIND
        return cut(
            Type(RECORD, fields=tuple(sorted((key, of_value(item)) for key, item in value.items())), values=NEVER)
        )
    if kind is str:
        return Type(STR, text=value, most=min(len(value), SIZE_LIMIT))
    return {float: NUMBER, bool: TRUTH, type(None): NOTHING}.get(kind, OTHER_KIND)


# Of the builtins: functions of Python that may give an error, and those of the host that never do.
FAILING = frozenset(("float", "from_base64", "from_json", "int", "parse_time"))
SURE = frozenset(
    (
        *("about", "args", "ask", "confirm", "end_session", "env", "locale", "log", "mcp_token", "mcp_tokens", "now"),
        *("now_ms", "print", "random", "random_int", "read_line", "request", "revoke_mcp_token", "session"),
        *("set_session", "sleep", "stdin", "tenant", "uuid"),
    )
)

_TEXTS = list_of(TEXT)
NATIVE_RESULTS: dict[str, Type] = {
    "len": SIZE,
    **dict.fromkeys(("upper", "lower", "trim", "trim_start", "trim_end", "join", "replace", "repeat"), TEXT),
    **dict.fromkeys(("pad_start", "pad_end", "str", "json", "type_of", "slug", "hex", "base64", "hash"), TEXT),
    **dict.fromkeys(("split", "lines", "chars", "keys"), _TEXTS),
    **dict.fromkeys(("contains", "starts_with", "ends_with", "has", "_verdict"), TRUTH),
    **dict.fromkeys(("floor", "ceil"), INTEGER),
    "sqrt": NUMBER,
    **dict.fromkeys(("bytes", "raw"), OTHER_KIND),
}


def _of_range(arguments: list[Type]) -> Type:
    """The list of `range(from, to, step)`, which the compiler gives all three."""
    if len(arguments) != 3 or any(argument.kinds != INT for argument in arguments):
        return list_of(INTEGER)
    start, stop, step = arguments
    if step.low <= 0:
        return list_of(INTEGER)
    return list_of(whole(start.low, max(stop.high - 1, start.low)), range_length(arguments))


def range_length(arguments: list[Type]) -> int:
    """How many numbers `range(from, to, step)` has at most, for steps upward."""
    start, stop, step = arguments
    return max(0, -((start.low - stop.high) // step.low))


_DIGITS = 20  # of a whole number as a text, with its sign


def text_of(parts: list[Type]) -> Type:
    """A text that is put together from these."""
    most = 0
    for part in parts:
        most += part.most if part.kinds == STR else _DIGITS if part.kinds == INT else SIZE_LIMIT
    return Type(STR, most=min(most, SIZE_LIMIT))


def json_most(kind: Type) -> int:
    """How long a value of this type is as JSON, at most; over TEXT_LIMIT where that isn't known."""
    if kind.kinds & ~(INT | FLOAT | STR | BOOL | NULL | LIST | RECORD):
        return TEXT_LIMIT + 1
    most = 25  # of a number
    if kind.kinds & STR:
        most = max(most, 6 * kind.most + 2)
    if kind.kinds & LIST:
        most = max(most, kind.most * (json_most(known_item(kind)) + 2) + 2)
    if kind.kinds & RECORD:
        if kind.values != NEVER:
            return TEXT_LIMIT + 1
        most = max(most, sum(6 * len(name) + 6 + json_most(of) for name, of in kind.fields) + 2)
    return most


def native_result(name: str, arguments: list[Type]) -> Type:
    """What a builtin gives that is a Python function."""
    if name == "range":
        return _of_range(arguments)
    if name == "len" and len(arguments) == 1 and arguments[0].kinds == LIST:
        return whole(0, arguments[0].most)
    known = NATIVE_RESULTS.get(name)
    if known is not None:
        return known
    if name in ("reverse", "_sort_by", "_unique_by") and arguments and arguments[0].kinds == LIST:
        return arguments[0]
    if name in ("first", "last") and arguments and arguments[0].kinds == LIST:
        return join(known_item(arguments[0]), NOTHING)
    if name == "values" and arguments and arguments[0].kinds == RECORD:
        return list_of(any_value(arguments[0]))
    if name in ("abs", "min", "max") and all(argument.kinds == FLOAT for argument in arguments):
        return NUMBER
    if name in ("min", "max") and len(arguments) == 2 and all(argument.kinds == INT for argument in arguments):
        return join(*arguments)
    if name == "abs" and arguments and arguments[0].kinds == INT:
        return whole(0, INT_MAX)
    if name == "sum" and arguments and arguments[0].kinds == LIST and known_item(arguments[0]).kinds == INT:
        return INTEGER
    return ANY if name in FAILING else VALUE
