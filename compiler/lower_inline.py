"""Writes `map(xs, x => …)` and its like in place, as a loop, where nobody can tell the difference.

The builtins that call a function for each item are written in Quillo, and a call of one is a call like any other. Where
what they are given is a lambda that is written there, or a function that is known, the loop is lowered in place of the
call, so that no frame is made for an item. That is left alone where it would show: where the lambda leaves itself with
`return` or `?`, where its parameters have types, and where a question could be asked in it (which is refused inside
these builtins, and would not be here).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from compiler import syntax, types
from compiler.builtins import Builtin
from compiler.code_builder import Block
from compiler.function_lowering import FunctionLowering, parameter_type
from compiler.prelude_functions import prelude_function
from compiler.relations import surely_fits
from compiler.tree_nodes import all_nodes
from compiler.types import Type

if TYPE_CHECKING:
    from compiler.names import Symbol

QUESTIONS = ("confirm", "about", "ask")
_MOST_NODES = 200  # a lambda with more in it stays a function
_BY_KEY = {"sort": "_sort_by", "unique": "_unique_by", "group_by": "_group_by"}
_WITH_ONE = ("map", "filter", "find", "any", "all", *_BY_KEY)


class _Callback:
    """What is done for each item. `begin` takes the item from the stack, `item` pushes it again, `call` the result.

    `result` is the result's type where it is known; `fails`: it may be an error. `slot` is a temporary, or -1.
    """

    def __init__(
        self,
        begin: Callable[[], None],
        item: Callable[[], None],
        call: Callable[[], None],
        result: Type | None,
        fails: bool,
        slot: int = -1,
    ) -> None:
        self.begin = begin
        self.item = item
        self.call = call
        self.result = result
        self.fails = fails
        self.slot = slot


def inlined(
    lowering: FunctionLowering, node: syntax.Call, target: Builtin
) -> Callable[[FunctionLowering], None] | None:
    """What lowers a call of a builtin, with its first argument on the stack; None where it has to be a call."""
    arguments = node.ordered or []
    if any(argument is None for argument in arguments[:1]):
        return None
    if target.name == "reduce":
        return _inlined_reduce(lowering, node, arguments)
    if target.name not in _WITH_ONE or [argument.value for argument in node.arguments] != [
        argument for argument in arguments if argument is not None
    ]:
        return None
    function = arguments[1] if len(arguments) > 1 else None
    if function is None:
        if target.name not in ("sort", "unique"):
            return None
        return lambda lowering: _finish_by_itself(lowering, node, _BY_KEY[target.name])
    if not _may_be_inlined(lowering, function, 1):
        return None

    def finish(lowering: FunctionLowering) -> None:
        _look_at_list(lowering, node, target)
        callback = _callback(lowering, function)
        if target.name in _BY_KEY:
            _finish_by_key(lowering, node, _BY_KEY[target.name], callback)
        else:
            _FINISHES[target.name](lowering, node, target.name, callback)
        if callback.slot >= 0:
            lowering.release(callback.slot)

    return finish


# --- what may be written in place -------------------------------------------------------------------------------------


def _may_be_inlined(lowering: FunctionLowering, function: syntax.Expression, count: int) -> bool:
    if isinstance(function, syntax.Function):
        return _is_plain_lambda(lowering, function, count)
    symbol = function.symbol if isinstance(function, syntax.Name | syntax.Field) else None
    if symbol is None or count != 1:
        return False
    if symbol.kind == "builtin":
        return _takes_one(symbol.name)
    if lowering.tables.may_ask or not lowering.tables.is_plain_function(symbol):
        return False
    assert isinstance(symbol.node, syntax.Function)
    parameters = symbol.node.parameters
    return bool(parameters) and all(parameter.default is not None for parameter in parameters[1:])


def _takes_one(name: str) -> bool:
    """Is it a builtin that can be called with one value?"""
    from compiler.prelude import BUILTINS

    builtin = BUILTINS[name]
    if name == "err":
        return True
    if builtin.kind not in ("native", "host") or name in QUESTIONS:
        return False
    return any(
        overload.variadic
        or (overload.parameters and all(parameter.has_default for parameter in overload.parameters[1:]))
        for overload in builtin.overloads
    )


def _is_plain_lambda(lowering: FunctionLowering, function: syntax.Function, count: int) -> bool:
    if function.result is not None or len(function.parameters) != count:
        return False
    for parameter in function.parameters:
        symbol = parameter.symbol
        if parameter.type is not None or parameter.default is not None or symbol is None:
            return False
        if symbol.assigned or symbol.changed or (count == 2 and symbol.captured):
            return False
    for number, node in enumerate(all_nodes([function.body], into_functions=False)):
        if number > _MOST_NODES or isinstance(node, syntax.Return | syntax.Propagate):
            return False
    return not lowering.tables.may_ask or not _may_ask(function.body)


def _may_ask(body: syntax.Expression) -> bool:
    """May a question be asked in it, by itself or by what it calls?

    One that is asked in a function given to a builtin inside is refused there, whatever is done here.
    """
    for node in all_nodes([body]):
        if isinstance(node, syntax.Element) and node.component:
            return True
        if isinstance(node, syntax.Call):
            target = node.target
            if not isinstance(target, Builtin) or target.name in (*QUESTIONS, "parallel", "db.transaction"):
                return True
    return False


# --- the function that is called for each item ------------------------------------------------------------------------


def _callback(lowering: FunctionLowering, function: syntax.Expression) -> _Callback:
    if isinstance(function, syntax.Function):
        symbol = function.parameters[0].symbol
        assert symbol is not None
        return _lambda_callback(lowering, function, symbol)
    assert isinstance(function, syntax.Name | syntax.Field)
    assert function.symbol is not None
    slot = lowering.temporary()
    code = lowering.code

    def load() -> None:
        code.emit("LOAD", slot)

    if function.symbol.kind == "builtin":
        call, result, fails = _builtin_call(lowering, function.symbol.name, load)
    else:
        call, result, fails = _function_call(lowering, function, function.symbol, load)
    return _Callback(lambda: code.emit("STORE", slot), load, call, result, fails, slot)


def _lambda_callback(lowering: FunctionLowering, function: syntax.Function, symbol: Symbol) -> _Callback:
    def begin() -> None:
        lowering.at(function.start)
        lowering.declare(symbol)

    body = function.body
    return _Callback(
        begin, lambda: lowering.load(symbol), lambda: lowering.value(body), body.type or types.ANY, body.fails
    )


def _builtin_call(
    lowering: FunctionLowering, name: str, load: Callable[[], None]
) -> tuple[Callable[[], None], Type | None, bool]:
    code = lowering.code

    def call() -> None:
        load()
        if name == "err":
            code.emit("MAKE_ERR")
        else:
            code.emit("CALL_BUILTIN", lowering.tables.builtin(name), 1)

    return call, None, True


def _function_call(
    lowering: FunctionLowering, function: syntax.Name | syntax.Field, symbol: Symbol, load: Callable[[], None]
) -> tuple[Callable[[], None], Type | None, bool]:
    code = lowering.code
    node = symbol.node
    assert isinstance(node, syntax.Function)
    entry = lowering.tables.function(node, symbol.source)

    def call() -> None:
        load()
        wanted = parameter_type(node.parameters[0])
        lowering.at(function.start)
        if wanted is not None and wanted != types.ANY:
            lowering.check(wanted, f"argument 1 of `{entry.name}`")
        for _ in node.parameters[1:]:
            code.emit("ABSENT")
        code.emit("CALL", entry.number, items=len(node.parameters))

    return call, node.result_type, True


# --- the loops --------------------------------------------------------------------------------------------------------


def _look_at_list(lowering: FunctionLowering, node: syntax.Call, target: Builtin) -> None:
    """Stops unless the builtin's first argument, on the stack, is what it takes."""
    first = (node.ordered or [None])[0]
    assert first is not None
    wanted = parameter_type(prelude_function(target)[0].parameters[0])
    lowering.at(first.start)
    if wanted is not None and lowering.needs_check(first, wanted):
        lowering.check(wanted, f"argument 1 of `{target.name}`")
    elif first.fails:
        lowering.code.emit("USE")


class _Turns:
    """A loop over the list on the stack: from `begin` to `end` for each item, which `callback` has taken."""

    def __init__(self, lowering: FunctionLowering, node: syntax.Call) -> None:
        self.lowering = lowering
        self.node = node
        code = lowering.code
        self.slot = lowering.iterator()
        lowering.at_end_of(node.callee)
        code.emit("ITER", self.slot)
        self.outside: Block = code.open("BLOCK", 0)
        self.turn: Block = code.open("LOOP")
        code.branch("NEXT", self.outside, self.slot)

    def end(self) -> None:
        code = self.lowering.code
        self.lowering.at_end_of(self.node.callee)
        code.branch("BR", self.turn)
        code.close()
        code.close()
        self.lowering.release_iterator(self.slot)


def _called_value(lowering: FunctionLowering, callback: _Callback) -> None:
    callback.call()
    if callback.fails:
        lowering.code.emit("USE")


def _verdict(lowering: FunctionLowering, callback: _Callback, name: str) -> None:
    """Pushes what the function gives for the item, which has to be a bool."""
    callback.call()
    if callback.result is None or not surely_fits(callback.result, types.BOOL):
        lowering.code.emit("CONST", lowering.tables.constant(name))
        lowering.code.emit("CALL_BUILTIN", lowering.tables.builtin("_verdict"), 2)


def _finish_list(lowering: FunctionLowering, node: syntax.Call, name: str, callback: _Callback) -> None:
    """`map` and `filter`."""
    code = lowering.code
    made = lowering.growing_list()
    code.emit("LIST_BEGIN", made)
    turns = _Turns(lowering, node)
    callback.begin()
    if name == "filter":
        _verdict(lowering, callback, name)
        code.branch("BR_UNLESS", turns.turn)
        callback.item()
    else:
        _called_value(lowering, callback)
    code.emit("LIST_ADD", made)
    turns.end()
    code.emit("LIST_END", made)
    lowering.release_list(made)


def _finish_search(lowering: FunctionLowering, node: syntax.Call, name: str, callback: _Callback) -> None:
    """`find`, `any` and `all`: the list is put by, as the block that gives the answer can't take it from the stack."""
    code = lowering.code
    items = lowering.temporary()
    code.emit("STORE", items)
    done = code.open("BLOCK", 1)
    code.emit("LOAD", items)
    lowering.release(items)
    turns = _Turns(lowering, node)
    callback.begin()
    _verdict(lowering, callback, name)
    code.branch("BR_IF" if name == "all" else "BR_UNLESS", turns.turn)
    if name == "find":
        callback.item()
    else:
        code.emit("TRUE" if name == "any" else "FALSE")
    code.branch("BR", done)
    code.close()
    code.close()
    lowering.release_iterator(turns.slot)
    code.emit({"find": "NULL", "any": "FALSE", "all": "TRUE"}[name])
    code.close()


def _finish_by_key(lowering: FunctionLowering, node: syntax.Call, name: str, callback: _Callback) -> None:
    """`sort`, `unique` and `group_by` with a key: the list, then the list of the keys."""
    code = lowering.code
    code.emit("DUP")
    _finish_list(lowering, node, "map", callback)
    lowering.at_end_of(node.callee)
    code.emit("CALL_BUILTIN", lowering.tables.builtin(name), 2)


def _finish_by_itself(lowering: FunctionLowering, node: syntax.Call, name: str) -> None:
    """`sort` and `unique` without a key."""
    target = node.target
    assert isinstance(target, Builtin)
    _look_at_list(lowering, node, target)
    lowering.at_end_of(node.callee)
    lowering.code.emit("DUP")
    lowering.code.emit("CALL_BUILTIN", lowering.tables.builtin(name), 2)


_FINISHES = {
    "map": _finish_list,
    "filter": _finish_list,
    "find": _finish_search,
    "any": _finish_search,
    "all": _finish_search,
}


def _inlined_reduce(
    lowering: FunctionLowering, node: syntax.Call, arguments: list[syntax.Expression | None]
) -> Callable[[FunctionLowering], None] | None:
    if len(arguments) != 3:
        return None
    _, function, start = arguments
    if not isinstance(function, syntax.Function) or start is None:
        return None
    if [argument.value for argument in node.arguments] != arguments or not _may_be_inlined(lowering, function, 2):
        return None
    total, item = (parameter.symbol for parameter in function.parameters)
    assert total is not None
    assert item is not None
    body = function.body

    def finish(lowering: FunctionLowering) -> None:
        code = lowering.code
        target = node.target
        assert isinstance(target, Builtin)
        _look_at_list(lowering, node, target)
        items = lowering.temporary()
        code.emit("STORE", items)
        lowering.used_value(start)
        lowering.declare(total)
        code.emit("LOAD", items)
        lowering.release(items)
        turns = _Turns(lowering, node)
        lowering.declare(item)
        if body.fails:
            # What the last turn gave may be an error: it can't be handed to the next.
            lowering.load(total)
            code.emit("USE")
            code.emit("POP")
        lowering.value(body)
        code.emit("STORE", lowering.slot_of(total))
        turns.end()
        lowering.load(total)

    return finish
