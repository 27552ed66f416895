"""How types stand to each other: what may fit, what surely fits, what several have in common.

Checking is gradual. `fits` asks whether a value *may* fit: the checker refuses what can't. `surely_fits` asks whether
it needs no check as the program runs; an int where a float is wanted fits, but not surely: it must be converted.
Types that are written in a program may refer to themselves, so comparing two named types assumes what it is to prove.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.types import (
    ANY,
    BOOL,
    ERROR,
    FLOAT,
    INT,
    NEVER,
    NULL,
    STR,
    FieldType,
    FunctionType,
    ListType,
    LiteralType,
    MapType,
    Named,
    RecordType,
    Simple,
    Type,
    UnionType,
    Variable,
    resolved,
    union,
)

# An inferred type that is deeper or has more parts than this is no longer kept: what is over it is unknown.
MOST_DEPTH = 24
MOST_PARTS = 200
MOST_MEMBERS = 12

# Comparing two families of types that refer to each other in many ways stops after so many steps: it is unknown then.
MOST_STEPS = 20_000
# So does one that goes deeper than this, through types that name each other in a long row.
MOST_NESTED = 120

# The type of what was reported: it fits everywhere and adds nothing to what it is joined with, so that one mistake is
# reported once and hides no other. It is never put on the tree.
MISTAKE = Simple("mistake")

_UNKNOWN = (ANY, ERROR, MISTAKE)


class _Question:
    """One comparison: what it assumes of pairs of named types, and how many steps it has taken."""

    __slots__ = ("assumed", "depth", "steps", "surely")

    def __init__(self, surely: bool) -> None:
        self.surely = surely
        self.assumed: set[tuple[int, int]] = set()
        self.steps = 0
        self.depth = 0


def fits(value: Type, wanted: Type) -> bool:
    """May a value of the type `value` be one of the type `wanted`? Unknown types always may."""
    return _related(value, wanted, _Question(False))


def surely_fits(value: Type, wanted: Type) -> bool:
    """Is every value of the type `value` one of the type `wanted`, without a check or a conversion?"""
    return _related(value, wanted, _Question(True))


def _related(value: Type, wanted: Type, question: _Question) -> bool:
    if value is wanted:
        return True
    if not (isinstance(value, Named) or isinstance(wanted, Named)):
        return _parts_related(value, wanted, question)
    pair = (id(value), id(wanted))
    if pair in question.assumed:
        return True
    question.assumed.add(pair)
    try:
        return _parts_related(resolved(value), resolved(wanted), question)
    finally:
        question.assumed.discard(pair)


def _parts_related(value: Type, wanted: Type, question: _Question) -> bool:
    surely = question.surely
    if value is wanted or wanted == ANY or isinstance(wanted, Variable) or value == NEVER:
        return True
    if value in _UNKNOWN or isinstance(value, Variable):
        return not surely
    question.steps += 1
    if question.steps > MOST_STEPS or question.depth > MOST_NESTED:
        return not surely
    question.depth += 1
    try:
        return _compared(value, wanted, question)
    finally:
        question.depth -= 1


def _compared(value: Type, wanted: Type, question: _Question) -> bool:
    surely = question.surely
    if isinstance(value, UnionType):
        each = (_related(member, wanted, question) for member in value.members)
        return all(each) if surely else any(each)
    if isinstance(wanted, UnionType):
        if surely and value == BOOL and _has_both_bools(wanted):
            return True
        return any(_related(value, member, question) for member in wanted.members)
    if isinstance(wanted, LiteralType):
        return _literal_related(value, wanted, surely)
    if isinstance(value, LiteralType):
        base = base_of(value)
        return base == wanted or (not surely and base == INT and wanted == FLOAT)
    match value, wanted:
        case Simple(), Simple():
            return value == wanted or (not surely and value == INT and wanted == FLOAT)
        case (ListType(item), ListType(other)) | (MapType(item), MapType(other)):
            return _related(item, other, question)
        case RecordType(), MapType(other):
            if surely and value.open:
                return other == ANY
            return all(_related(f.type, other, question) for f in value.fields)
        case MapType(item), RecordType():
            if surely:
                return False
            return all(_related(item, f.type, question) for f in wanted.fields if f.required)
        case RecordType(), RecordType():
            return _records_related(value, wanted, question)
        case FunctionType(), FunctionType():
            return _functions_related(value, wanted, question)
    return False


def _literal_related(value: Type, wanted: LiteralType, surely: bool) -> bool:
    if isinstance(value, LiteralType):
        if isinstance(value.value, bool) != isinstance(wanted.value, bool):
            return False
        return value.value == wanted.value and (not surely or type(value.value) is type(wanted.value))
    if surely:
        return False
    base = base_of(wanted)
    return value == base or (value in (INT, FLOAT) and base in (INT, FLOAT))


def _has_both_bools(wanted: UnionType) -> bool:
    return LiteralType(True) in wanted.members and LiteralType(False) in wanted.members


def _records_related(value: RecordType, wanted: RecordType, question: _Question) -> bool:
    surely = question.surely
    mine = {f.name: f for f in value.fields}
    theirs = {f.name for f in wanted.fields}
    for field in wanted.fields:
        given = mine.get(field.name)
        if given is None:
            if field.required and not value.open:
                return False
            if surely and value.open:
                return False
            continue
        if surely and field.required and not given.required:
            return False
        if not _related(given.type, field.type, question) and (surely or given.required):
            return False
    if wanted.open:
        return True
    if surely and value.open:
        return False
    further = [f for f in value.fields if f.name not in theirs]
    return not further if surely else not any(f.required for f in further)


def _functions_related(value: FunctionType, wanted: FunctionType, question: _Question) -> bool:
    if value.parameters is None and wanted.parameters is not None and question.surely:
        return False
    if value.parameters is not None and wanted.parameters is not None:
        given, most = len(wanted.parameters), len(value.parameters)
        if not most - value.optional <= given <= most:
            return False
        for takes, gets in zip(value.parameters, wanted.parameters, strict=False):
            if not _related(gets, takes, question):
                return False
    return _related(value.result, wanted.result, question)


# --- parts of types ---------------------------------------------------------------------------------------------


def base_of(type: Type) -> Type:
    """The type that a literal type is a part of; any other type itself."""
    if not isinstance(type, LiteralType):
        return type
    match type.value:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
    return STR


def widened(type: Type) -> Type:
    """A type without its literal types, all the way in (not into declared types)."""
    match type:
        case LiteralType():
            return base_of(type)
        case ListType(item):
            wide = widened(item)
            return type if wide is item else ListType(wide)
        case MapType(value):
            wide = widened(value)
            return type if wide is value else MapType(wide)
        case RecordType(fields, open):
            wides = [widened(f.type) for f in fields]
            if all(wide is f.type for wide, f in zip(wides, fields, strict=True)):
                return type
            return RecordType(
                tuple(FieldType(f.name, wide, f.required) for f, wide in zip(fields, wides, strict=True)), open
            )
        case UnionType(members):
            wides = [widened(m) for m in members]
            if all(wide is m for wide, m in zip(wides, members, strict=True)):
                return type
            return union(*wides)
    return type


def members_of(type: Type) -> tuple[Type, ...]:
    """What a type is one of, with names looked through: a union's members, else the type itself."""
    inner = resolved(type)
    if not isinstance(inner, UnionType):
        return (type,)
    type = inner
    if not any(isinstance(m, Named) and isinstance(resolved(m), UnionType) for m in type.members):
        return type.members
    found: list[Type] = []
    for member in type.members:
        inner = resolved(member)
        found += members_of(inner) if isinstance(inner, UnionType) else (member,)
    return tuple(found)


def may_be_null(type: Type) -> bool:
    return any(resolved(m) == NULL for m in members_of(type))


def only(type: Type, keep: Callable[[Type], bool]) -> Type:
    """The members of a type for which `keep` is true; the type itself where it is true for all."""
    members = members_of(type)
    kept = [m for m in members if keep(m)]
    return type if len(kept) == len(members) else union(*kept)


def without_null(type: Type) -> Type:
    """What is left when null is told apart. NEVER for null itself."""
    return only(type, lambda member: resolved(member) != NULL)


def kinds_of(type: Type) -> frozenset[str] | None:
    """The kinds that values of a type may have, as `type_of` names them; None where that is unknown."""
    found: set[str] = set()
    for member in members_of(type):
        inner = base_of(resolved(member))
        match inner:
            case Simple("any" | "error" | "mistake") | Variable():
                return None
            case Simple(name):
                if name != "never":
                    found.add(name)
            case ListType():
                found.add("list")
            case MapType() | RecordType():
                found.add("record")
            case FunctionType():
                found.add("function")
    return frozenset(found)


# --- joining ----------------------------------------------------------------------------------------------------


def join(*types: Type) -> Type:
    """The type of what is one of these, where values meet: kept small, so that inference stays linear."""
    first = types[0] if types else NEVER
    if all(type is first for type in types):
        return first
    members: dict[Type, None] = {}
    for type in types:
        for member in type.members if isinstance(type, UnionType) else (type,):
            if member == ANY:
                return ANY
            if member != NEVER:
                members[member] = None
    if len(members) > 1:
        members.pop(MISTAKE, None)
    if len(members) > 1:
        members.pop(ERROR, None)  # an error is told apart by more than its type
        _join_lists(members)
    if len(members) > MOST_MEMBERS:
        wide = {widened(member): None for member in members}
        if len(wide) > MOST_MEMBERS:
            return ANY
        members = wide
    return bounded(union(*members))


def _join_lists(members: dict[Type, None]) -> None:
    """Several lists become one of what is in any of them, where the first of them stands."""
    lists = [member for member in members if isinstance(member, ListType)]
    if len(lists) < 2:
        return
    joined = ListType(join(*(member.item for member in lists)))
    found = [joined if member is lists[0] else member for member in members if member not in lists[1:]]
    members.clear()
    members.update(dict.fromkeys(found))


def merged(a: Type, b: Type) -> Type:
    """What a variable holds that held `a` and now holds `b`: of parts that are alike, one type is made."""
    if a == b:
        return a
    match a, b:
        case ListType(item), ListType(other):
            return ListType(merged(item, other))
        case MapType(value), MapType(other):
            return MapType(merged(value, other))
        case RecordType(fields, is_open), RecordType(others, also_open) if is_open == also_open:
            if [(f.name, f.required) for f in fields] == [(f.name, f.required) for f in others]:
                both = zip(fields, others, strict=True)
                return RecordType(
                    tuple(FieldType(f.name, merged(f.type, g.type), f.required) for f, g in both), is_open
                )
    return join(a, b)


def settled(type: Type) -> Type:
    """A type as the tree keeps it."""
    return ANY if type == MISTAKE else type


def bounded(type: Type) -> Type:
    """The type, or ANY where it is deeper or bigger than inference keeps. Declared types count as one part."""
    left: list[tuple[Type, int]] = [(type, 0)]
    parts = 0
    while left:
        part, depth = left.pop()
        parts += 1
        if depth > MOST_DEPTH or parts > MOST_PARTS:
            return ANY
        match part:
            case ListType(inner) | MapType(inner):
                left.append((inner, depth + 1))
            case RecordType(fields):
                left += [(f.type, depth + 1) for f in fields]
            case UnionType(members):
                left += [(m, depth + 1) for m in members]
            case FunctionType(parameters, result):
                left += [(p, depth + 1) for p in parameters or ()]
                left.append((result, depth + 1))
    return type


# --- type variables of builtins ---------------------------------------------------------------------------------

Bindings = dict[str, Type]


def bind(parameter: Type, value: Type, bindings: Bindings) -> None:
    """Learns from an argument's type what the type variables in a parameter's type stand for."""
    match parameter:
        case Variable(name):
            bindings[name] = join(bindings[name], value) if name in bindings else value
            return
        case Simple() | LiteralType() | Named():
            return
        case UnionType(members):
            plain = [m for m in members if not isinstance(m, Variable)]
            for member in plain:
                bind(member, value, bindings)
            rest = only(value, lambda part: not any(surely_fits(part, m) for m in plain))
            for member in members:
                if isinstance(member, Variable):
                    bind(member, rest, bindings)
            return
    for member in members_of(value):
        member = resolved(member)
        unknown = member in _UNKNOWN
        match parameter, member:
            case ListType(inner), ListType(given):
                bind(inner, given, bindings)
            case MapType(inner), MapType(given):
                bind(inner, given, bindings)
            case MapType(inner), RecordType(fields, open):
                for field in fields:
                    bind(inner, field.type, bindings)
                if open or not fields:
                    bind(inner, ANY, bindings)
            case FunctionType(), FunctionType():
                bind(parameter.result, member.result, bindings)
            case ((ListType(inner) | MapType(inner)), _) if unknown:
                bind(inner, ANY, bindings)
            case FunctionType(), _ if unknown:
                bind(parameter.result, ANY, bindings)


def substituted(type: Type, bindings: Bindings) -> Type:
    """A builtin's type with its type variables filled in; those that nothing was learnt of are unknown."""
    match type:
        case Variable(name):
            return bindings.get(name, ANY)
        case ListType(item):
            return ListType(substituted(item, bindings))
        case MapType(value):
            return MapType(substituted(value, bindings))
        case UnionType(members):
            return join(*(substituted(m, bindings) for m in members))
        case RecordType(fields, open):
            return RecordType(tuple(FieldType(f.name, substituted(f.type, bindings), f.required) for f in fields), open)
        case FunctionType(parameters, result, names, optional):
            filled = None if parameters is None else tuple(substituted(p, bindings) for p in parameters)
            return FunctionType(filled, substituted(result, bindings), names, optional)
    return type


def has_variables(type: Type) -> bool:
    """Does a builtin's type hold a type variable?"""
    match type:
        case Variable():
            return True
        case ListType(inner) | MapType(inner):
            return has_variables(inner)
        case UnionType(members):
            return any(has_variables(m) for m in members)
        case RecordType(fields):
            return any(has_variables(f.type) for f in fields)
        case FunctionType(parameters, result):
            return has_variables(result) or any(has_variables(p) for p in parameters or ())
    return False
