"""Lowers statements and what is made of them: blocks, `if`, loops, `let`, assignments, `return`, `reply`, `assert`.

A loop is a BLOCK (which `break` leaves to its end) around a LOOP (which `continue` goes back to the start of).
"""

from __future__ import annotations

from compiler import syntax
from compiler.code_builder import Block
from compiler.function_lowering import (
    CONTROL,
    STATEMENTS,
    FunctionLowering,
    Loop,
)
from compiler.lower_expressions import operator_name
from compiler.lower_patterns import bind
from compiler.names import Symbol
from compiler.types import BOOL

# A chain of `else if` longer than this is laid out one after another instead of each in the one before.
_NESTED_CHAIN = 20

# --- blocks -----------------------------------------------------------------------------------------------------------


def block(lowering: FunctionLowering, node: syntax.Block, wanted: bool) -> None:
    """Lowers a block's statements; where its value is `wanted`, that of its last expression (or null) is pushed."""
    statements = node.statements
    last = statements[-1] if wanted and statements else None
    code = lowering.code
    plan = _plan_functions(lowering, statements)
    if plan is not None:
        _make_functions(lowering, plan.get(-1, ()))
    for place, statement in enumerate(statements):
        if isinstance(statement, syntax.ExpressionStatement):
            if statement is last:
                lowering.value(statement.expression)
                return
            lowering.effect(statement.expression)
        elif not isinstance(statement, syntax.Function):
            STATEMENTS[type(statement)](lowering, statement)
        if plan is not None and place in plan:
            _make_functions(lowering, plan[place])
    if wanted:
        code.line = lowering.source.line(max(node.end - 1, node.start))
        code.emit("NULL")


def _plan_functions(
    lowering: FunctionLowering, statements: list[syntax.Node]
) -> dict[int, list[syntax.Function]] | None:
    """When each local function of a block that needs a closure is made: behind which statement (-1: at the start).

    That is as early as can be: when the block's own variables that it needs, also through others of these functions,
    have all been set. Until then it is in `waiting_functions`. None where there are no such functions.
    """
    functions = [
        statement
        for statement in statements
        if isinstance(statement, syntax.Function)
        and statement.symbol is not None
        and not lowering.tables.is_plain_function(statement.symbol)
    ]
    if not functions:
        return None
    set_at: dict[Symbol, int] = {}
    for place, statement in enumerate(statements):
        if isinstance(statement, syntax.Let):
            for symbol in pattern_symbols(statement.pattern):
                set_at[symbol] = place
    local = {function.symbol: function for function in functions}
    plan: dict[int, list[syntax.Function]] = {}
    for function in functions:
        last, waits_for = -1, ""
        reached = {function.symbol}
        waiting = [function]
        while waiting:
            for symbol in lowering.tables.captures(waiting.pop()):
                if symbol in reached:
                    continue
                reached.add(symbol)
                if symbol in local:
                    waiting.append(local[symbol])
                elif set_at.get(symbol, -1) > last:
                    last, waits_for = set_at[symbol], symbol.name
        plan.setdefault(last, []).append(function)
        assert function.symbol is not None
        if last >= 0:
            lowering.waiting_functions[function.symbol] = waits_for
        if function.symbol.captured:
            # Others may capture its cell before the function is made.
            lowering.at(function.start)
            lowering.constant(None)
            lowering.declare(function.symbol)
    return plan


def _make_functions(lowering: FunctionLowering, functions: list[syntax.Function] | tuple[()]) -> None:
    for function in functions:
        symbol = function.symbol
        assert symbol is not None
        lowering.waiting_functions.pop(symbol, None)
        lowering.at(function.start)
        lowering.closure(lowering.tables.function(function, lowering.source))
        if symbol.captured:
            lowering.store(symbol)
        else:
            lowering.declare(symbol)


def pattern_symbols(pattern: syntax.Pattern | None) -> list[Symbol]:
    """The variables that a pattern binds, in order."""
    match pattern:
        case syntax.NamePattern(symbol=symbol):
            return [symbol] if symbol is not None else []
        case syntax.OrPattern(alternatives=alternatives):
            return [symbol for alternative in alternatives for symbol in pattern_symbols(alternative)]
        case syntax.RecordPattern(fields=fields):
            return [symbol for field in fields for symbol in pattern_symbols(field.pattern)]
        case syntax.ListPattern(items=items, rest=rest):
            return [symbol for item in (*items, rest) for symbol in pattern_symbols(item)]
        case syntax.ErrPattern(inner=inner):
            return pattern_symbols(inner)
    return []


# --- if ---------------------------------------------------------------------------------------------------------------


def _if(lowering: FunctionLowering, node: syntax.If, wanted: bool) -> None:
    chain: list[syntax.If] = [node]
    while isinstance(otherwise := chain[-1].otherwise, syntax.If):
        chain.append(otherwise)
    code = lowering.code
    if len(chain) == 1 and otherwise is None and not wanted:
        _only_then(lowering, node)
        return
    if len(chain) > _NESTED_CHAIN:
        done = code.open("BLOCK", int(wanted))
        for link in chain:
            following = code.open("BLOCK", 0)
            _condition(lowering, link.condition, following)
            block(lowering, link.then, wanted)
            code.branch("BR", done)
            code.close()
        _last_branch(lowering, otherwise, wanted)
        code.close()
        return
    for link in chain:
        lowering.value(link.condition)
        lowering.at(link.condition.start)
        code.open("IF", int(wanted))
        block(lowering, link.then, wanted)
        if link.otherwise is not None or wanted:
            code.divide("ELSE")
    _last_branch(lowering, otherwise, wanted)
    for _ in chain:
        code.close()


def _only_then(lowering: FunctionLowering, node: syntax.If) -> None:
    """An `if` without `else` whose value nobody wants: `if c { break }` is one branch."""
    code = lowering.code
    condition, statements = node.condition, node.then.statements
    is_and = isinstance(condition, syntax.Binary) and condition.operator == "&&"
    if len(statements) == 1 and isinstance(statements[0], syntax.Break | syntax.Continue):
        loop = lowering.loops[-1]
        lowering.value(condition)
        lowering.at(condition.start)
        code.branch("BR_IF", loop.outside if isinstance(statements[0], syntax.Break) else loop.turn)
    elif is_and:
        outside = code.open("BLOCK", 0)
        _condition(lowering, condition, outside)
        block(lowering, node.then, wanted=False)
        code.close()
    else:
        lowering.value(condition)
        lowering.at(condition.start)
        code.open("IF", 0)
        block(lowering, node.then, wanted=False)
        code.close()


def _last_branch(lowering: FunctionLowering, otherwise: syntax.Block | None, wanted: bool) -> None:
    if otherwise is not None:
        block(lowering, otherwise, wanted)
    elif wanted:
        lowering.constant(None)


def _condition(lowering: FunctionLowering, node: syntax.Expression, outside: Block) -> None:
    """Branches to `outside` unless the condition holds; the parts of `a && b` each in turn."""
    parts = [node]
    while isinstance(first := parts[-1], syntax.Binary) and first.operator == "&&":
        parts[-1] = first.right
        parts.append(first.left)
    for part in reversed(parts):
        if isinstance(part, syntax.Literal) and part.value is True:
            continue
        lowering.value(part)
        lowering.at(part.start)
        if len(parts) > 1 and lowering.needs_check(part, BOOL):
            lowering.code.emit("BOOL", lowering.tables.constant("`&&`"))
        lowering.code.branch("BR_UNLESS", outside)


# --- loops ------------------------------------------------------------------------------------------------------------


def _while(lowering: FunctionLowering, node: syntax.While) -> None:
    code = lowering.code
    lowering.at(node.start)
    outside = code.open("BLOCK", 0)
    turn = code.open("LOOP")
    _condition(lowering, node.condition, outside)
    lowering.loops.append(Loop(turn, outside))
    block(lowering, node.body, wanted=False)
    lowering.loops.pop()
    lowering.at(node.start)
    code.branch("BR", turn)
    code.close()
    code.close()


def _begin_turns(lowering: FunctionLowering, node: syntax.For | syntax.ForExpression) -> int:
    """Opens a loop over a list, a record or a range, up to where its names are bound; gives the iterator's local."""
    code = lowering.code
    iterable = node.iterable
    by_range = isinstance(iterable, syntax.Binary) and iterable.operator == ".."
    slot = lowering.iterator()
    if isinstance(iterable, syntax.Binary) and by_range:
        lowering.value(iterable.left)
        lowering.value(iterable.right)
        lowering.at(iterable.start)
        code.emit("ITER_RANGE", slot)
    else:
        lowering.value(iterable)
        lowering.at(iterable.start)
        code.emit("ITER", slot)
    outside = code.open("BLOCK", 0)
    turn = code.open("LOOP")
    lowering.at(node.item.start)
    if node.index is None:
        code.branch("NEXT", outside, slot)
        bind(lowering, node.item)
    else:
        code.branch("NEXT_PAIR", outside, slot)
        bind(lowering, node.item)
        bind(lowering, node.index)
    lowering.loops.append(Loop(turn, outside))
    return slot


def _end_turns(lowering: FunctionLowering, node: syntax.Node, slot: int) -> None:
    code = lowering.code
    loop = lowering.loops.pop()
    lowering.at(node.start)
    code.branch("BR", loop.turn)
    code.close()
    code.close()
    lowering.release_iterator(slot)


def _for(lowering: FunctionLowering, node: syntax.For) -> None:
    slot = _begin_turns(lowering, node)
    block(lowering, node.body, wanted=False)
    _end_turns(lowering, node, slot)


def _for_expression(lowering: FunctionLowering, node: syntax.ForExpression, wanted: bool) -> None:
    """The list of what the body gives; where it isn't `wanted`, a loop only."""
    code = lowering.code
    made = lowering.growing_list() if wanted else -1
    lowering.at(node.start)
    if wanted:
        code.emit("LIST_BEGIN", made)
    slot = _begin_turns(lowering, node)
    if node.condition is not None:
        lowering.value(node.condition)
        lowering.at(node.condition.start)
        code.branch("BR_UNLESS", lowering.loops[-1].turn)
    if wanted:
        lowering.used_value(node.body)
        lowering.at(node.body.start)
        code.emit("LIST_ADD", made)
    else:
        lowering.effect(node.body)
    _end_turns(lowering, node, slot)
    if wanted:
        code.emit("LIST_END", made)
        lowering.release_list(made)


def _break(lowering: FunctionLowering, node: syntax.Break) -> None:
    lowering.at(node.start)
    lowering.code.branch("BR", lowering.loops[-1].outside)


def _continue(lowering: FunctionLowering, node: syntax.Continue) -> None:
    lowering.at(node.start)
    lowering.code.branch("BR", lowering.loops[-1].turn)


# --- other statements -------------------------------------------------------------------------------------------------


def _let(lowering: FunctionLowering, node: syntax.Let) -> None:
    pattern = node.pattern
    if isinstance(pattern, syntax.NamePattern):
        assert pattern.symbol is not None
        wanted = pattern.symbol.type if node.type is not None else None
        lowering.checked_value(node.value, wanted, f"`{pattern.name}`")
        lowering.at(node.start)
        lowering.declare(pattern.symbol)
        return
    if isinstance(pattern, syntax.Wildcard):
        lowering.value(node.value)
    else:
        lowering.used_value(node.value)
    lowering.at(node.start)
    bind(lowering, pattern)


def _return(lowering: FunctionLowering, node: syntax.Return) -> None:
    lowering.at(node.start)
    lowering.returned(node.value)


def _reply(lowering: FunctionLowering, node: syntax.Reply) -> None:
    lowering.used_value(node.status)
    if node.body is None:
        lowering.constant(None)
    else:
        lowering.used_value(node.body)
    lowering.at(node.start)
    lowering.code.emit("REPLY")


_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in")


def _assert(lowering: FunctionLowering, node: syntax.Assert) -> None:
    """The two sides of a comparison are kept, to be shown where it doesn't hold."""
    code = lowering.code
    text = lowering.tables.constant(lowering.text(node.value))
    value = node.value
    if isinstance(value, syntax.Binary) and value.operator in _COMPARISONS:
        left, right = lowering.temporary(), lowering.temporary()
        lowering.used_value(value.left)
        code.emit("STORE", left)
        lowering.used_value(value.right)
        code.emit("STORE", right)
        lowering.at(node.start)
        for slot in (left, right, left, right):
            code.emit("LOAD", slot)
        code.emit(operator_name(value.operator))
        code.emit("ASSERT", text, 2)
        lowering.release(left, right)
    else:
        lowering.value(value)
        lowering.at(node.start)
        code.emit("ASSERT", text, 0)


def _expression_statement(lowering: FunctionLowering, node: syntax.ExpressionStatement) -> None:
    lowering.effect(node.expression)


def _nothing(lowering: FunctionLowering, node: syntax.Node) -> None:
    """Declarations are lowered by the driver, and do nothing where they stand."""


def register() -> None:
    CONTROL.update({syntax.Block: block, syntax.If: _if, syntax.ForExpression: _for_expression})
    STATEMENTS.update(
        {
            syntax.ExpressionStatement: _expression_statement,
            syntax.Let: _let,
            syntax.While: _while,
            syntax.For: _for,
            syntax.Break: _break,
            syntax.Continue: _continue,
            syntax.Return: _return,
            syntax.Reply: _reply,
            syntax.Assert: _assert,
            syntax.Use: _nothing,
            syntax.TypeDeclaration: _nothing,
            syntax.Route: _nothing,
            syntax.Build: _nothing,
            syntax.Component: _nothing,
            syntax.Test: _nothing,
            syntax.Service: _nothing,
        }
    )
