"""Lowers calls: of functions of the program, of builtins, and of function values.

A function that is known is called with CALL, with one argument for each parameter (ABSENT for those left out), and its
arguments are checked here, where the checker couldn't prove that they fit. What a function value is called with is
checked by the engine. Either way the arguments are worked out in the order in which they are written, and looked at
when all are there.
"""

from __future__ import annotations

from typing import Any

from compiler import syntax
from compiler.borrowing import is_lent, is_simple
from compiler.builtins import Builtin
from compiler.function_lowering import (
    EXPRESSIONS,
    SPINES,
    FunctionLowering,
    Opening,
    as_float,
    parameter_type,
)
from compiler.lower_expressions import close_attempt, open_attempt
from compiler.lower_inline import inlined
from compiler.prelude_functions import prelude_function
from compiler.types import Type


def _call(lowering: FunctionLowering, node: syntax.Call) -> None:
    """A call that no left side begins: nothing is given, or the first parameter is left out."""
    target = _target(lowering, node)
    if target is None:
        lowering.value(node.callee)
        _finish_value_call(lowering, node, 0)
    elif isinstance(target, Builtin):
        if target.kind == "quillo":
            _finish_prelude_call(lowering, node, target, 0)
        else:
            _finish_builtin_call(lowering, node, target, 0)
    else:
        _finish_direct_call(lowering, node, target, 0)


def _opening(lowering: FunctionLowering, node: syntax.Call) -> Opening | None:
    target = _target(lowering, node)
    if target is None:
        return _open_value_call(lowering, node)
    ordered = node.ordered
    if not node.arguments or not ordered or ordered[0] is not node.arguments[0].value:
        return None if not _is_rest(node) else _open_rest(node, target)
    first = ordered[0]
    if not isinstance(target, Builtin):
        return Opening(first, lambda lowering: _finish_direct_call(lowering, node, target, 1))
    if target.kind == "quillo":
        in_place = inlined(lowering, node, target)
        return Opening(first, in_place or (lambda lowering: _finish_prelude_call(lowering, node, target, 1)))
    if target.name == "is_err":
        open_attempt(lowering, first)
        return Opening(first, lambda lowering: _finish_is_err(lowering, node, first))
    if target.name == "err":
        return Opening(first, lambda lowering: _finish_err(lowering, node, first))
    return Opening(
        first, lambda lowering: _finish_builtin_call(lowering, node, target, 1), borrow=_may_borrow(node, target, 0)
    )


def _is_rest(node: syntax.Call) -> bool:
    """Does the call of a builtin that takes any number of arguments begin with one of these?"""
    return not node.ordered and bool(node.rest) and node.rest[0] is node.arguments[0].value


def _open_rest(node: syntax.Call, target: Builtin) -> Opening:
    borrow = _may_borrow(node, target, 0)
    return Opening(node.rest[0], lambda lowering: _finish_builtin_call(lowering, node, target, 1), borrow)


def _may_borrow(node: syntax.Call, target: Builtin, place: int) -> bool:
    """May the argument be lent: does the builtin only look at it, and do those written after it change nothing?"""
    return is_lent(target, place) and all(is_simple(argument.value) for argument in node.arguments[1:])


def _target(lowering: FunctionLowering, node: syntax.Call) -> Any:
    """The Function or Builtin that is called; None where it is only known as it runs, or needs a closure."""
    target = node.target
    if isinstance(target, syntax.Function):
        if lowering.tables.captures(target) or node.ordered is None:
            return None
        return target
    return target if isinstance(target, Builtin) else None


# --- function values --------------------------------------------------------------------------------------------------


def _open_value_call(lowering: FunctionLowering, node: syntax.Call) -> Opening:
    if not node.piped:
        return Opening(node.callee, lambda lowering: _finish_value_call(lowering, node, 0))
    first = node.arguments[0].value
    if is_simple(node.callee):
        lowering.value(node.callee)
        return Opening(first, lambda lowering: _finish_value_call(lowering, node, 1))

    def finish(lowering: FunctionLowering) -> None:
        """What is piped is worked out before the function that it is piped to."""
        piped = lowering.temporary()
        lowering.code.emit("STORE", piped)
        lowering.value(node.callee)
        lowering.code.emit("LOAD", piped)
        lowering.release(piped)
        _finish_value_call(lowering, node, 1)

    return Opening(first, finish)


def _finish_value_call(lowering: FunctionLowering, node: syntax.Call, done: int) -> None:
    """With the function and its first `done` arguments on the stack."""
    names = [argument.name for argument in node.arguments if argument.name is not None]
    for argument in node.arguments[done:]:
        lowering.value(argument.value)
    lowering.at_end_of(node.callee)
    lowering.code.emit("CALL_VALUE", len(node.arguments), lowering.tables.constant(names), items=len(node.arguments))


# --- functions that are known -----------------------------------------------------------------------------------------


def _finish_direct_call(lowering: FunctionLowering, node: syntax.Call, target: syntax.Function, done: int) -> None:
    source = target.symbol.source if target.symbol is not None else None
    entry = lowering.tables.function(target, source or lowering.source)
    _call_function(lowering, node, target, entry.number, entry.name, done)


def _finish_prelude_call(lowering: FunctionLowering, node: syntax.Call, target: Builtin, done: int) -> None:
    function, source = prelude_function(target)
    entry = lowering.tables.function(function, source, target.name, builtin=True)
    _call_function(lowering, node, function, entry.number, target.name, done)


def _call_function(
    lowering: FunctionLowering, node: syntax.Call, function: syntax.Function, number: int, name: str, done: int
) -> None:
    """A CALL, with the first `done` arguments (0 or 1) on the stack."""
    wanted = [parameter_type(parameter) for parameter in function.parameters]
    arguments = list(node.ordered or [])
    arguments += [None] * (len(wanted) - len(arguments))
    looks = [
        argument is not None and (argument.fails or lowering.needs_check(argument, type))
        for argument, type in zip(arguments, wanted, strict=True)
    ]
    written = [argument.value for argument in node.arguments]
    places = _in_temporaries(lowering, written, arguments, looks, done)
    for place, (argument, type) in enumerate(zip(arguments, wanted, strict=True)):
        if argument is None:
            lowering.code.emit("ABSENT")
            continue
        if places:
            lowering.code.emit("LOAD", places[argument])
        elif place >= done and (known := as_float(argument, type)) is not None:
            lowering.at(argument.start)
            lowering.constant(known)
            continue
        elif place >= done:
            lowering.value(argument)
        if looks[place]:
            lowering.at(argument.start)
            _look(lowering, argument, type, f"argument {place + 1} of `{name}`")
    lowering.release(*places.values())
    lowering.at_end_of(node.callee)
    lowering.code.emit("CALL", number, items=len(wanted))


def _look(lowering: FunctionLowering, argument: syntax.Expression, type: Type | None, name: str) -> None:
    """Stops unless the argument on the stack is no error and fits."""
    if type is not None and lowering.needs_check(argument, type):
        lowering.check(type, name)
    elif argument.fails:
        lowering.code.emit("USE")


def _in_temporaries(
    lowering: FunctionLowering,
    written: list[syntax.Expression],
    arguments: list[syntax.Expression | None],
    looks: list[bool],
    done: int,
) -> dict[syntax.Expression, int]:
    """Works the arguments out in the order in which they are written, into temporaries, where the stack won't do.

    It does where the arguments are written in the order of the parameters, and none that may stop here when it is
    looked at stands before one that does something. Then nothing is emitted, and the answer is empty.
    """
    given = [argument for argument in arguments if argument is not None]
    in_order = len(given) == len(written) and all(a is b for a, b in zip(given, written, strict=True))
    last_busy = max((place for place, node in enumerate(written) if not is_simple(node)), default=-1)
    looked_at = {argument for argument, look in zip(arguments, looks, strict=True) if look}
    if in_order and not any(node in looked_at for node in written[: max(last_busy, 0)]):
        return {}
    places: dict[syntax.Expression, int] = {}
    for number, node in enumerate(written):
        if number >= done:
            lowering.value(node)
        places[node] = slot = lowering.temporary()
        lowering.code.emit("STORE", slot)
    return places


# --- builtins ---------------------------------------------------------------------------------------------------------


def _finish_builtin_call(lowering: FunctionLowering, node: syntax.Call, target: Builtin, done: int) -> None:
    overload = target.overloads[min(node.overload, len(target.overloads) - 1)]
    arguments: list[syntax.Expression | None] = list(node.ordered or [])
    rest = node.rest
    looks = [False] * (len(arguments) + len(rest))
    written = [argument.value for argument in node.arguments]
    places = _in_temporaries(lowering, written, [*arguments, *rest], looks, done)
    count = 0
    for place, argument in enumerate((*arguments, *rest)):
        if argument is None:
            parameter = overload.parameters[place]
            assert parameter.has_default, f"argument {place + 1} of {target.name} is missing"
            lowering.constant(parameter.default)
        elif places:
            lowering.code.emit("LOAD", places[argument])
        elif place >= done:
            lowering.value(argument, _may_borrow(node, target, place))
        count += 1
    for parameter in overload.parameters[count : len(overload.parameters) - overload.variadic]:
        if not parameter.has_default:
            break
        lowering.constant(parameter.default)
        count += 1
    lowering.release(*places.values())
    lowering.at_end_of(node.callee)
    lowering.code.emit("CALL_BUILTIN", lowering.tables.builtin(target.name), count)


def _finish_is_err(lowering: FunctionLowering, node: syntax.Call, argument: syntax.Expression) -> None:
    close_attempt(lowering, argument)
    lowering.at_end_of(node.callee)
    lowering.code.emit("IS_ERR")


def _finish_err(lowering: FunctionLowering, node: syntax.Call, argument: syntax.Expression) -> None:
    lowering.at_end_of(node.callee)
    if argument.fails:
        lowering.code.emit("USE")
    lowering.code.emit("MAKE_ERR")


def register() -> None:
    EXPRESSIONS[syntax.Call] = _call
    SPINES[syntax.Call] = _opening
