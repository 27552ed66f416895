"""Checks functions: what they take and give, lambdas by what is wanted of them, and the results of those in use."""

from __future__ import annotations

from compiler import syntax
from compiler.checking import Checking, FunctionState, Wanted, checks
from compiler.names import Symbol
from compiler.relations import bounded, fits, join, members_of, settled, widened
from compiler.types import ANY, ERROR, NEVER, FunctionType, Type, resolved
from compiler.walking import Walk
from compiler.wording import counted


def function_value(check: Checking, node: syntax.Name | syntax.Field, symbol: Symbol, wanted: Wanted | None) -> Walk:
    """A declared function that is used as a value."""
    function = symbol.node
    assert isinstance(function, syntax.Function)
    result = yield result_of(check, function)
    signature = check.signature(function)
    type = FunctionType(signature.parameters, result, signature.names, signature.optional)
    return check.typed(node, bounded(type), False, wanted)


def result_of(check: Checking, function: syntax.Function) -> Type | Walk:
    """What a declared function gives: as written, or found by walking it first."""
    if function.result is not None:
        return function.result_type or ANY
    known = check.results.get(function)
    if known is not None:
        return known
    if function.result_type is not None and function.source not in check.units:
        return function.result_type  # of an earlier input of a session, where it was walked
    if function in check.walked or function.symbol is None or function.symbol.kind != "function":
        # It is being walked (it calls itself), or stands further down in this block.
        check.leant_on.add(function)
        return check.assumptions.of(function, NEVER)
    return _walk_first(check, function)


def _walk_first(check: Checking, function: syntax.Function) -> Walk:
    yield declared_function(check, function)
    return check.results.get(function, ANY)


def declare_signature(check: Checking, function: syntax.Function) -> None:
    """Gives a function's parameters, and its result where it is written, their types."""
    for parameter in function.parameters:
        if parameter.symbol is not None:
            written = check.written(parameter.type)
            parameter.symbol.type = ANY if written is None else written
            if written is not None:
                check.fixed.add(parameter.symbol)
    if function.result is not None:
        function.result_type = check.written(function.result)


def declared_function(check: Checking, function: syntax.Function) -> Walk:
    """Walks a top-level function, wherever the walk is at."""
    if function in check.walked:
        return None
    unit = check.units.get(function.source) if function.source is not None else None
    outer, functions = check.state, check.flow.functions
    check.flow.functions = [None]
    check.state = FunctionState(None, unit or outer.unit)
    yield _walk_function(check, function, None)
    check.state, check.flow.functions = outer, functions
    return None


@checks(syntax.Function)
def lambda_function(check: Checking, node: syntax.Function, wanted: Wanted | None) -> Walk:
    """A lambda. (A local function with a name is a statement, see `local_function`.)"""
    shape = _function_wanted(wanted)
    declare_signature(check, node)
    if shape is not None and shape.parameters is not None:
        given, most = len(shape.parameters), len(node.parameters)
        least = sum(parameter.default is None for parameter in node.parameters)
        if wanted is not None and not least <= given <= most:
            takes = counted(most, "argument")
            message = f"{wanted.what} must be a function of {counted(given, 'argument')}, got one of {takes}"
            check.report("error", wanted.code, message, node.start, node.end)
            shape = wanted = None
        else:
            for parameter, type in zip(node.parameters, shape.parameters or (), strict=False):
                if parameter.type is None and parameter.symbol is not None:
                    parameter.symbol.type = type
    result_wanted = None
    if shape is not None and wanted is not None and shape.result != ANY:
        result_wanted = Wanted(shape.result, f"what {_of_the_function(wanted)} gives", wanted.code)
    functions = check.flow.functions
    check.flow.functions = [*functions, node]
    result: Type = yield _walk_function(check, node, result_wanted, own_scope=False)
    check.flow.functions = functions
    signature = check.signature(node)
    type = bounded(FunctionType(signature.parameters, result, signature.names, signature.optional))
    return check.typed(node, type, False, wanted if shape is None else None)


def _of_the_function(wanted: Wanted) -> str:
    """`argument 2 of `filter`` as the middle of "what … gives"."""
    return wanted.what if wanted.what.startswith(("argument ", "`")) else "the function"


def _function_wanted(wanted: Wanted | None) -> FunctionType | None:
    if wanted is None:
        return None
    shapes = [inner for inner in map(resolved, members_of(wanted.type)) if isinstance(inner, FunctionType)]
    return shapes[0] if len(shapes) == 1 else None


def local_function(check: Checking, node: syntax.Function) -> Walk:
    """A function with a name inside a block: its parameters were declared at the block's start."""
    functions = check.flow.functions
    # It may be called before it stands, so nothing that is known here holds in it.
    check.flow.functions = [None]
    yield _walk_function(check, node, None)
    check.flow.functions = functions
    return False


def _walk_function(
    check: Checking, node: syntax.Function, result_wanted: Wanted | None, own_scope: bool = True
) -> Walk:
    """Walks a function's defaults and body; gives its result."""
    check.walked.add(node)
    outer = check.state
    if own_scope:
        check.flow.functions = [*check.flow.functions, node]
    wanted = result_wanted
    name = f"`{node.name}`" if node.name else "the function"
    if node.result is not None and node.result_type is not None:
        wanted = Wanted(node.result_type, f"the value of {name}", "Q0340")
    state = check.state = FunctionState(node, outer.unit, outer, wanted)
    state.error = check.written(node.error)
    mark = check.flow.mark()
    for parameter in node.parameters:
        symbol = parameter.symbol
        if symbol is None:
            continue
        check.reasons.setdefault(symbol, []).append(False)
        if parameter.default is not None:
            type = symbol.type or ANY
            default = Wanted(type, f"the default of `{parameter.name}`", "Q0341") if type != ANY else None
            yield check.expression(parameter.default, default)
        if parameter.type is None and (symbol.assigned or symbol.changed):
            symbol.type = check.lean_on(symbol, symbol.type or ANY)
    body: Type = yield check.expression(node.body, wanted)
    error_given(check, node.body)
    state.returns.append(body)
    state.failures.append(check.failure_of(node.body))
    check.flow.rollback(mark)
    check.state = outer
    check.reasons[node] = list(state.failures)
    if node.result is not None:
        result = node.result_type or ANY
    else:
        result = node.result_type = settled(widened(join(*state.returns)))
    check.results[node] = result
    return result


def error_given(check: Checking, node: syntax.Node) -> None:
    """Checks `err(v)`, given where the function's `!` says what its errors hold."""
    error = check.state.error
    if error is None or not isinstance(node, syntax.Call) or node.type != ERROR or len(node.arguments) != 1:
        return
    held = node.arguments[0].value
    if held.type is not None and not fits(held.type, error):
        name = check.state.node.name if check.state.node is not None else None
        what = f"the error of `{name}`" if name else "the function's error"
        check.mismatch(held, held.type, Wanted(error, what, "Q0342"))
