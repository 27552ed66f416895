"""Checks assignments: to variables, and to fields and elements of variables.

A variable whose type is written keeps it. One without takes the type of all that it is given: numbers may mix, null may
come, a list may get other items; what is of another kind altogether is refused.
"""

from __future__ import annotations

from compiler import syntax
from compiler.check_operators import arithmetic
from compiler.check_values import element_type, field_type
from compiler.checking import STATEMENTS, Checking, Wanted
from compiler.names import Symbol
from compiler.narrowing import path_of
from compiler.relations import MISTAKE, bounded, fits, join, kinds_of, members_of, settled, widened
from compiler.types import (
    ANY,
    ERROR,
    NEVER,
    NULL,
    STR,
    FieldType,
    ListType,
    MapType,
    Named,
    RecordType,
    Type,
    UnionType,
    resolved,
    union,
)
from compiler.walking import Walk

_VARIABLES = frozenset(("local", "parameter", "global"))
Step = syntax.Field | syntax.Index


def assign(check: Checking, node: syntax.Assign) -> Walk:
    steps: list[Step] = []
    target = node.target
    while isinstance(target, syntax.Index) or (isinstance(target, syntax.Field) and target.symbol is None):
        steps.append(target)
        target = target.value
    steps.reverse()
    symbol = target.symbol if isinstance(target, syntax.Name) else None
    if symbol is None or symbol.kind not in _VARIABLES or isinstance(symbol.node, syntax.Function):
        # What can't be assigned was reported where names are looked up.
        for step in steps:
            if isinstance(step, syntax.Index):
                yield check.expression(step.index)
        yield check.expression(node.value)
        return False
    if steps:
        yield _assign_part(check, node, target, symbol, steps)
    else:
        yield _assign_variable(check, node, symbol)
    return resolved(node.value.type or ANY) == NEVER


def _assign_variable(check: Checking, node: syntax.Assign, symbol: Symbol) -> Walk:
    declared = symbol.type or ANY
    name = f"`{symbol.name}`"
    wanted = Wanted(declared, name, "Q0344")
    fixed = symbol in check.fixed
    if node.operator:
        old = check.variable_type(symbol)
        value: Type = yield check.expression(node.value)
        type = _combined(check, node, old, value)
        if fixed and _adds_wrong_items(node, value, declared):
            check.mismatch(node.value, value, Wanted(declared, f"what is added to {name}", "Q0344"))
            type = NEVER
    else:
        type = yield check.expression(node.value, wanted if fixed else None)
    check.typed(node.target, declared)
    if type == MISTAKE and resolved(declared) == NULL and not _mentions(node.value, symbol):
        type = ANY  # nothing is known of a variable that held no more than null
    if type in (ERROR, MISTAKE):
        type = NEVER
    if fixed:
        if node.operator and not fits(type, declared):
            check.mismatch(node, type, wanted)
    elif alike(type, declared):
        type = widened(type)
        check.grow(symbol, type)
    else:
        check.mismatch(node.value, type, wanted)
        type = declared
    check.values.setdefault(symbol, []).append((node.operator, node.value))
    check.reasons.setdefault(symbol, []).append(False if node.operator else check.failure_of(node.value))
    given = check.state.given
    if given:
        given[-1][symbol] = join(given[-1][symbol], type) if symbol in given[-1] else type
    check.flow.written(symbol)
    check.know_value(symbol, type)


def _mentions(node: syntax.Expression, symbol: Symbol) -> bool:
    """Does an expression use a variable?"""
    left: list[object] = [node]
    while left:
        part = left.pop()
        if isinstance(part, syntax.Name) and part.symbol is symbol:
            return True
        if isinstance(part, syntax.Node):
            left += [getattr(part, name) for name in type(part).__match_args__]
        elif isinstance(part, list):
            left += part
    return False


def _adds_wrong_items(node: syntax.Assign, value: Type, declared: Type) -> bool:
    """Is it `xs += ys` with items that the list's type doesn't take?"""
    return node.operator == "+" and isinstance(resolved(declared), ListType) and not fits(value, declared)


def _combined(check: Checking, node: syntax.Assign, old: Type, value: Type) -> Type:
    """What `x += e` gives."""
    if resolved(old) == NEVER or resolved(value) == NEVER:
        return NEVER
    type, problem = arithmetic(node.operator, old, value)
    if problem is not None:
        check.error("Q0321", problem, node)
    return type


def alike(type: Type, declared: Type) -> bool:
    """May a variable whose type nobody wrote take a value of this type? It may unless the kinds differ."""
    mine, others = kinds_of(type), kinds_of(declared)
    if mine is None or others is None:
        return True
    mine, others = _rough(mine), _rough(others)
    return not mine or not others or bool(mine & others)


def _rough(kinds: frozenset[str]) -> frozenset[str]:
    return frozenset("number" if kind in ("int", "float") else kind for kind in kinds if kind != "null")


# --- fields and elements ------------------------------------------------------------------------------------------


def _assign_part(
    check: Checking, node: syntax.Assign, base: syntax.Expression, symbol: Symbol, steps: list[Step]
) -> Walk:
    container: Type = check.typed(base, check.variable_type(symbol))
    for step in steps[:-1]:
        container = yield _read_step(check, step, container)
    last = steps[-1]
    key: Type = (yield check.expression(last.index)) if isinstance(last, syntax.Index) else STR
    old, leaf = _leaf(check, last, container, key)
    check.typed(last, leaf)
    fixed = symbol in check.fixed or _through_named(symbol.type or ANY, steps)
    wanted = Wanted(leaf, _text_of(check, node.target), "Q0344")
    if node.operator:
        value: Type = yield check.expression(node.value)
        type = _combined(check, node, old, value)
        if fixed and not fits(type, leaf):
            check.mismatch(node, type, wanted)
    else:
        type = yield check.expression(node.value, wanted if fixed and leaf != ANY else None)
    if type in (ERROR, MISTAKE):
        type = NEVER
    if not fixed:
        if alike(type, leaf):
            check.grow(symbol, with_part(symbol.type or ANY, steps, widened(type)))
        else:
            check.mismatch(node.value, type, wanted)
            type = leaf
    check.flow.changed(symbol)
    place = path_of(node.target)
    if place is not None and isinstance(resolved(leaf), UnionType):
        check.flow.set(*place, type)


def _read_step(check: Checking, step: Step, container: Type) -> Walk:
    if isinstance(step, syntax.Field):
        type = field_type(check, step, container)
    else:
        key: Type = yield check.expression(step.index)
        type = element_type(check, step, container, key)
    place = path_of(step)
    known = check.flow.lookup(*place) if place is not None else None
    return check.typed(step, type if known is None else known)


def _leaf(check: Checking, last: Step, container: Type, key: Type) -> tuple[Type, Type]:
    """What the part holds when it is read, and what it must be when it is written."""
    if resolved(container) == STR:
        check.error("Q0345", "a text can't be changed in part: give the variable a new text", last)
        return MISTAKE, ANY
    if isinstance(last, syntax.Field):
        old = field_type(check, last, container)
    else:
        old = element_type(check, last, container, key)
        _closed_key(check, last, container)
    maps = [inner.value for inner in map(resolved, members_of(container)) if isinstance(inner, MapType)]
    if maps and len(maps) == len(members_of(container)):
        return old, join(*maps)
    return old, ANY if old == MISTAKE else settled(old)  # what was reported takes anything


def _closed_key(check: Checking, last: syntax.Index, container: Type) -> None:
    """A record whose fields are known takes no further ones."""
    inner = resolved(container)
    if not isinstance(inner, RecordType) or inner.open:
        return
    key = last.index
    if isinstance(key, syntax.Literal) and isinstance(key.value, str):
        if inner.get(key.value) is None:
            check.error("Q0331", f"the record has no field `{key.value}`", key)
    elif kinds_of(key.type or ANY) != frozenset(("int",)):
        message = "a record's fields are known: name the one that gets a new value"
        check.error("Q0346", message, key, "a `map<…>` takes any key")


def _text_of(check: Checking, target: syntax.Expression) -> str:
    text = check.state.unit.source.text[target.start : target.end]
    return f"`{text}`" if len(text) <= 40 and "\n" not in text else "the value"


def _through_named(type: Type, steps: list[Step]) -> bool:
    """Does a path lead into a declared type? What that says is not widened."""
    left = [type]
    for step in steps:
        following: list[Type] = []
        for member in left:
            for part in member.members if isinstance(member, UnionType) else (member,):
                if isinstance(part, Named):
                    return True
                following += _parts(part, step)
        left = following
    return False


def _parts(type: Type, step: Step) -> list[Type]:
    match type:
        case ListType(inner) | MapType(inner):
            return [inner]
        case RecordType():
            name = _constant_key(step)
            known = type.get(name) if name is not None else None
            return [known.type] if known is not None else []
    return []


def _constant_key(step: Step) -> str | None:
    if isinstance(step, syntax.Field):
        return step.name
    if isinstance(step.index, syntax.Literal) and isinstance(step.index.value, str):
        return step.index.value
    return None


def with_part(type: Type, steps: list[Step], value: Type) -> Type:
    """The type of a variable after a part of it was given a value: with this part's type joined with the value's."""
    return bounded(_with_part(type, steps, 0, value))


def _with_part(type: Type, steps: list[Step], place: int, value: Type) -> Type:
    if place == len(steps):
        return join(type, value)
    step = steps[place]
    match type:
        case UnionType(members):
            return union(*(_with_part(member, steps, place, value) for member in members))
        case ListType(item):
            return ListType(_with_part(item, steps, place + 1, value))
        case MapType(item):
            return MapType(_with_part(item, steps, place + 1, value))
        case RecordType(fields, is_open):
            name = _constant_key(step)
            return RecordType(
                tuple(
                    FieldType(f.name, _with_part(f.type, steps, place + 1, value), f.required) if f.name == name else f
                    for f in fields
                ),
                is_open,
            )
    return type


STATEMENTS[syntax.Assign] = assign
