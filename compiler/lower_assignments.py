"""Lowers assignments: `x = e`, `x += e`, `r.field = e`, `m["k"].list[2] += e`.

Keys of a path are worked out first, once, from left to right; then the right side; only then is the old value of a
compound assignment read. So `total += f()` adds to what `total` is when `f` has come back.
"""

from __future__ import annotations

from compiler import syntax, types
from compiler.borrowing import is_simple
from compiler.builtins import Builtin
from compiler.function_lowering import LOCAL, STATEMENTS, FunctionLowering
from compiler.growing import added
from compiler.lower_expressions import operator_name
from compiler.names import Symbol
from compiler.types import Type


def _assign(lowering: FunctionLowering, node: syntax.Assign) -> None:
    path: list[syntax.Field | syntax.Index] = []
    base = node.target
    while isinstance(base, syntax.Index) or (isinstance(base, syntax.Field) and base.symbol is None):
        path.append(base)
        base = base.value
    path.reverse()
    assert isinstance(base, syntax.Name | syntax.Field)
    symbol = base.symbol
    assert symbol is not None
    if path:
        _assign_path(lowering, node, symbol, path)
    elif node.operator:
        _compound(lowering, node, symbol)
    elif not _grown(lowering, node, symbol):
        lowering.checked_value(node.value, symbol.type, f"`{symbol.name}`")
        lowering.at(node.start)
        lowering.store(symbol)


def _grown(lowering: FunctionLowering, node: syntax.Assign, symbol: Symbol) -> bool:
    """Lowers `xs = push(xs, e)` and its like in place; False, and nothing lowered, where it might mean something else.

    The value that is added is worked out before the old one is read, so it must not be able to change `xs`.
    """
    more = added(node)
    wanted = types.resolved(symbol.type) if symbol.type is not None else types.ANY
    if more is None or not isinstance(wanted, types.ListType) or lowering.needs_check(node.value, wanted):
        return False
    if isinstance(node.value, syntax.Call) and not isinstance(node.value.target, Builtin):
        return False
    kind, number = lowering.place_of(symbol)
    parts = more if isinstance(more, list) else [more]
    if not all(is_simple(part, calls=kind == LOCAL) for part in parts):
        return False
    if isinstance(more, list):
        for part in more:
            lowering.used_value(part)
        lowering.at(node.start)
        lowering.code.emit("LIST", len(more))
    elif more.fails or not isinstance(types.resolved(more.type or types.ANY), types.ListType):
        return False
    else:
        lowering.value(more, borrow=True)
        lowering.at(node.start)
    lowering.code.emit("EXTEND", kind, number)
    return True


def _compound(lowering: FunctionLowering, node: syntax.Assign, symbol: Symbol) -> None:
    """`x += e` and its like on a variable itself."""
    code = lowering.code
    value = node.value
    kind, number = lowering.place_of(symbol)
    declared = types.resolved(symbol.type) if symbol.type is not None else types.ANY
    is_list = isinstance(declared, types.ListType)
    if node.operator == "+" and symbol.changed and (is_list or declared == types.ANY):
        lowering.value(value, borrow=True)
        if is_list and lowering.needs_check(value, declared):
            lowering.at(value.start)
            lowering.check(declared, f"what is added to `{symbol.name}`")
        lowering.at(node.start)
        code.emit("EXTEND", kind, number)
        return
    if is_simple(value) or (kind == LOCAL and is_simple(value, calls=True)):
        lowering.at(node.start)
        lowering.load(symbol, borrow=True)
        lowering.value(value, borrow=True)
    else:
        lowering.value(value)
        lowering.at(node.start)
        right = lowering.temporary()
        code.emit("STORE", right)
        lowering.load(symbol, borrow=True)
        code.emit("LOAD", right)
        lowering.release(right)
    lowering.at(node.start)
    code.emit(operator_name(node.operator))
    _check_result(lowering, symbol.type, value, f"`{symbol.name}`")
    lowering.store(symbol)


def _check_result(lowering: FunctionLowering, wanted: Type | None, value: syntax.Expression, name: str) -> None:
    """Checks what a compound assignment gives, unless the kinds of its two sides say enough."""
    if wanted is None or wanted == types.ANY:
        return
    old = types.resolved(wanted)
    added = types.resolved(value.type) if value.type is not None else types.ANY
    if isinstance(added, types.LiteralType):
        added = _kind(added)
    sure = (
        (old == types.INT and added == types.INT)
        or (old == types.FLOAT and added in (types.INT, types.FLOAT))
        or (old == types.STR and added == types.STR)
    )
    if not sure:
        lowering.check(wanted, name)


def _kind(literal: types.LiteralType) -> Type:
    value = literal.value
    if isinstance(value, bool):
        return types.BOOL
    return {int: types.INT, float: types.FLOAT}.get(type(value), types.STR)


def _assign_path(
    lowering: FunctionLowering, node: syntax.Assign, symbol: Symbol, path: list[syntax.Field | syntax.Index]
) -> None:
    code, tables = lowering.code, lowering.tables
    kind, number = lowering.place_of(symbol)
    shape = tables.constant("".join("." if isinstance(step, syntax.Field) else "[" for step in path))
    name = f"`{lowering.text(node.target)}`"
    value = node.value
    if not node.operator:
        for step in path:
            if isinstance(step, syntax.Field):
                lowering.at(step.name_start)
                lowering.constant(step.name)
            else:
                lowering.used_value(step.index)
        _checked(lowering, value, node.target.type, name)
        lowering.at(node.start)
        code.emit("ASSIGN", kind, number, shape, items=len(path))
        return
    if node.operator == "+" and _extends(node.target.type):
        for step in path:
            _key(lowering, step, {})
        lowering.used_value(value, borrow=True)
        place = types.resolved(node.target.type or types.ANY)
        if lowering.needs_check(value, place):
            lowering.at(value.start)
            lowering.check(place, f"what is added to {name}")
        lowering.at(node.start)
        code.emit("EXTEND_PATH", kind, number, shape, items=len(path))
        return
    kept: dict[syntax.Node, int] = {}
    simple = is_simple(value)
    for step in path:
        if isinstance(step, syntax.Index) and not (
            isinstance(step.index, syntax.Literal) or (simple and is_simple(step.index))
        ):
            lowering.used_value(step.index)
            kept[step] = lowering.temporary()
            code.emit("STORE", kept[step])
    right = -1
    if not simple:
        lowering.used_value(value)
        right = lowering.temporary()
        code.emit("STORE", right)
    for step in path:
        _key(lowering, step, kept)
    lowering.at(node.start)
    lowering.load(symbol, borrow=True)
    for step in path:
        if isinstance(step, syntax.Field):
            lowering.at(step.name_start)
            code.emit("FIELD", tables.constant(step.name))
        else:
            _key(lowering, step, kept)
            code.emit("INDEX")
    if simple:
        lowering.value(value, borrow=True)
    else:
        code.emit("LOAD", right)
        lowering.release(right)
    lowering.at(node.start)
    code.emit(operator_name(node.operator))
    _check_result(lowering, node.target.type, value, name)
    code.emit("ASSIGN", kind, number, shape, items=len(path))
    lowering.release(*kept.values())


def _extends(place: Type | None) -> bool:
    """May what stands at such a place be a list or a text, which `+=` makes longer?"""
    place = types.resolved(place or types.ANY)
    return isinstance(place, types.ListType) or place in (types.ANY, types.STR)


def _key(lowering: FunctionLowering, step: syntax.Field | syntax.Index, kept: dict[syntax.Node, int]) -> None:
    if isinstance(step, syntax.Field):
        lowering.at(step.name_start)
        lowering.constant(step.name)
    elif step in kept:
        lowering.code.emit("LOAD", kept[step])
    else:
        lowering.used_value(step.index, borrow=True)


def _checked(lowering: FunctionLowering, value: syntax.Expression, wanted: Type | None, name: str) -> None:
    """Pushes what becomes an element or a field: no error, and of the type that stands there."""
    if wanted is not None and lowering.needs_check(value, wanted):
        lowering.value(value)
        lowering.at(value.start)
        lowering.check(wanted, name)
    else:
        lowering.used_value(value)


def register() -> None:
    STATEMENTS[syntax.Assign] = _assign
