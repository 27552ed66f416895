"""Checks statements: blocks, `let` and assignments, `if`, loops, and where nothing further is reached.

Branches are walked one after another from the same knowledge of variables and joined again; a branch that leaves
(`return`, `break` …) adds nothing to what is known after it.
"""

from __future__ import annotations

from compiler import syntax
from compiler.branches import Branches
from compiler.check_functions import declare_signature, error_given, local_function
from compiler.check_patterns import bind_pattern
from compiler.check_values import item_of, item_wanted, widened_unless
from compiler.checking import STATEMENTS, Checking, Wanted, checks, either_fails
from compiler.names import Symbol
from compiler.relations import MISTAKE, bounded, fits, join, kinds_of, members_of, widened
from compiler.types import (
    ANY,
    ERROR,
    INT,
    NEVER,
    NULL,
    STR,
    FieldType,
    ListType,
    MapType,
    RecordType,
    Type,
    resolved,
)
from compiler.walking import Walk
from compiler.wording import got_text


@checks(syntax.Block)
def block(check: Checking, node: syntax.Block, wanted: Wanted | None) -> Walk:
    """A block's type is its last expression's: null where it ends in a statement, NEVER where it never gets there."""
    for statement in node.statements:
        if isinstance(statement, syntax.Function) and statement.name is not None:
            declare_signature(check, statement)
    reached = True
    warned = False
    type: Type = NULL
    last = node.statements[-1] if node.statements else None
    for statement in node.statements:
        if not reached and not warned and not isinstance(statement, syntax.Function):
            warned = True
            never_runs(check, statement)
        if statement is last and isinstance(statement, syntax.ExpressionStatement):
            type = yield check.expression(statement.expression, wanted if reached else None)
            fails = check.failure_of(statement.expression)
            return check.typed(node, type if reached else NEVER, fails)
        leaves: bool = yield check.statement(statement)
        reached = reached and not leaves
    if not reached:
        return check.typed(node, NEVER)
    check.typed(node, NULL)
    if wanted is not None:
        _no_value(check, node, last, wanted)
    return NULL


def _no_value(check: Checking, node: syntax.Block, last: syntax.Node | None, wanted: Wanted) -> None:
    if not fits(NULL, wanted.type):
        check.mismatch(last or node, NULL, wanted)


def never_runs(check: Checking, node: syntax.Node) -> None:
    end = min(node.end, node.start + 1)
    check.report("warning", "Q0350", "this can never run", node.start, end)


def expression_statement(check: Checking, node: syntax.ExpressionStatement) -> Walk:
    type = yield check.expression(node.expression)
    return resolved(type) == NEVER


def function_statement(check: Checking, node: syntax.Function) -> Walk | bool:
    return local_function(check, node) if node.name is not None else False


# --- variables ----------------------------------------------------------------------------------------------------


def let(check: Checking, node: syntax.Let) -> Walk:
    written = check.written(node.type)
    pattern = node.pattern
    wanted = None
    if written is not None:
        what = f"`{pattern.name}`" if isinstance(pattern, syntax.NamePattern) else "the value"
        wanted = Wanted(written, what, "Q0343")
    type: Type = yield check.expression(node.value, wanted)
    if isinstance(pattern, syntax.NamePattern):
        symbol = pattern.symbol
        if symbol is not None:
            first = widened(type)
            if written is None:
                first = _opened(first, symbol.indexed)
            if first in (ERROR, MISTAKE):
                first = ANY
            check.values.setdefault(symbol, []).append(("", node.value))
            check.declare(symbol, type if written is not None else first, written, check.failure_of(node.value))
    else:
        bind_pattern(check, pattern, type if written is None else written, strict=True)
    return resolved(type) == NEVER


def _opened(type: Type, depths: set[int]) -> Type:
    """The type of a variable whose parts at some depth get keys as the program runs: records there are open."""
    for depth in depths:
        type = _opened_at(type, depth)
    return type


def _opened_at(type: Type, depth: int) -> Type:
    match type:
        case RecordType(fields) if depth == 0:
            return RecordType((), open=True)
        case RecordType(fields, is_open):
            return RecordType(
                tuple(FieldType(f.name, _opened_at(f.type, depth - 1), f.required) for f in fields), is_open
            )
        case ListType(item) if depth > 0:
            return ListType(_opened_at(item, depth - 1))
        case MapType(value) if depth > 0:
            return MapType(_opened_at(value, depth - 1))
    return type


def state(check: Checking, node: syntax.State) -> Walk:
    written = check.written(node.type)
    wanted = Wanted(written, f"`{node.name}`", "Q0343") if written is not None else None
    type = yield check.expression(node.value, wanted)
    if node.symbol is not None:
        check.declare(node.symbol, widened(type), written, check.failure_of(node.value))
    return False


# --- if -----------------------------------------------------------------------------------------------------------


@checks(syntax.If)
def if_expression(check: Checking, node: syntax.If, wanted: Wanted | None) -> Walk:
    branches = Branches(check)
    chain: list[syntax.If] = []
    branch: syntax.Block | syntax.If | None = node
    while isinstance(branch, syntax.If):
        chain.append(branch)
        when_true, when_false = yield check.condition(branch.condition)
        mark = check.flow.mark()
        check.flow.apply(when_true)
        type: Type = yield check.expression(branch.then, wanted)
        branches.end(branch.then, type)
        check.flow.rollback(mark)
        check.flow.apply(when_false)
        branch = branch.otherwise
    if branch is not None:
        branches.end(branch, (yield check.expression(branch, wanted)))
    else:
        branches.end(None, NULL)
        if wanted is not None and not fits(NULL, wanted.type):
            check.mismatch(chain[-1], NULL, wanted)
    found = branches.join()
    for part in chain[1:]:
        check.typed(part, found, True)
    return check.typed(node, found, either_fails(branches.failures))


# --- loops --------------------------------------------------------------------------------------------------------


def _enter_loop(check: Checking, node: syntax.Node) -> dict[Symbol, Type | None]:
    """Forgets what a loop's turns may change. Gives what was known before."""
    check.state.breaks.append(False)
    check.state.given.append({})
    changed = check.program.loop_changes.get(node, ())
    return {symbol: check.flow.loosen(symbol) for symbol in sorted(changed, key=lambda symbol: symbol.start)}


def _leave_loop(check: Checking, before: dict[Symbol, Type | None]) -> bool:
    """Goes on after a loop; whether a `break` may have left it."""
    given = check.state.given.pop()
    for symbol, known in before.items():
        types = given.get(symbol)
        if known is not None:
            check.flow.set(symbol, (), known if types is None else join(known, types))
    if check.state.given:
        around = check.state.given[-1]
        for symbol, type in given.items():
            around[symbol] = join(around[symbol], type) if symbol in around else type
    return check.state.breaks.pop()


def while_loop(check: Checking, node: syntax.While) -> Walk:
    before = _enter_loop(check, node)
    mark = check.flow.mark()
    when_true, when_false = yield check.condition(node.condition)
    check.flow.apply(when_true)
    yield check.expression(node.body)
    check.flow.rollback(mark)
    broke = _leave_loop(check, before)
    if broke:
        return False
    check.flow.apply(when_false)
    return isinstance(node.condition, syntax.Literal) and node.condition.value is True


def for_loop(check: Checking, node: syntax.For) -> Walk:
    before, mark = yield _loop_head(check, node)
    yield check.expression(node.body)
    check.flow.rollback(mark)
    _leave_loop(check, before)
    return False


@checks(syntax.ForExpression)
def for_expression(check: Checking, node: syntax.ForExpression, wanted: Wanted | None) -> Walk:
    before, mark = yield _loop_head(check, node)
    if node.condition is not None:
        when_true, _ = yield check.condition(node.condition)
        check.flow.apply(when_true)
    item = item_wanted(wanted)
    must_be = (
        Wanted(item, f"an item of {wanted.what}", wanted.code) if wanted is not None and item is not None else None
    )
    body: Type = yield check.expression(node.body, must_be)
    check.flow.rollback(mark)
    _leave_loop(check, before)
    return check.typed(node, bounded(ListType(widened_unless(item, body))), False, wanted if item is None else None)


def _loop_head(check: Checking, node: syntax.For | syntax.ForExpression) -> Walk:
    over: Type = yield check.expression(node.iterable)
    index, item = _turns(check, node, over)
    before = _enter_loop(check, node)
    mark = check.flow.mark()
    if node.index is not None:
        bind_pattern(check, node.index, index)
    bind_pattern(check, node.item, item, strict=True)
    return before, mark


def _turns(check: Checking, node: syntax.For | syntax.ForExpression, over: Type) -> tuple[Type, Type]:
    """What each turn is given: the place or key, and the item. (`for k in record` gives the key alone.)"""
    kinds = kinds_of(over)
    if kinds is None:
        return ANY, ANY
    if not kinds & {"list", "record"} and resolved(over) != NEVER:
        message = f"`for` goes over a list, a record or a range, got {got_text(over)}"
        hint = "`chars(text)` is the list of a text's letters" if kinds == {"str"} else ""
        check.error("Q0323", message, node.iterable, hint)
        return ANY, ANY
    places: list[Type] = []
    items: list[Type] = []
    for inner in map(resolved, members_of(over)):
        match inner:
            case ListType(item):
                places.append(INT)
                items.append(item_of(item))
            case MapType(value):
                places.append(STR)
                items.append(value if node.index is not None else STR)
            case RecordType(fields, is_open):
                places.append(STR)
                values = [ANY] if is_open else [f.type if f.required else join(f.type, NULL) for f in fields]
                items.append(join(*values) if node.index is not None else STR)
    return join(*places), join(*items)


def break_statement(check: Checking, node: syntax.Break) -> bool:
    if check.state.breaks:
        check.state.breaks[-1] = True
    return bool(check.state.breaks)  # one outside a loop is reported: nothing is said of what follows it


def continue_statement(check: Checking, node: syntax.Continue) -> bool:
    return bool(check.state.breaks)


# --- leaving ------------------------------------------------------------------------------------------------------


def return_statement(check: Checking, node: syntax.Return) -> Walk:
    state = check.state
    if node.value is None:
        state.returns.append(NULL)
        if state.wanted is not None and not fits(NULL, state.wanted.type):
            check.mismatch(node, NULL, state.wanted)
        return True
    type = yield check.expression(node.value, state.wanted)
    error_given(check, node.value)
    state.returns.append(type)
    state.failures.append(check.failure_of(node.value))
    return True


def reply(check: Checking, node: syntax.Reply) -> Walk:
    yield check.expression(node.status, Wanted(INT, "the status of `reply`", "Q0324"))
    if node.body is not None:
        yield check.expression(node.body)
    return True


def assertion(check: Checking, node: syntax.Assert) -> Walk:
    when_true, _ = yield check.condition(node.value, "what `assert` looks at")
    check.flow.apply(when_true)
    return False


STATEMENTS.update(
    {
        syntax.ExpressionStatement: expression_statement,
        syntax.Function: function_statement,
        syntax.Let: let,
        syntax.State: state,
        syntax.While: while_loop,
        syntax.For: for_loop,
        syntax.Break: break_statement,
        syntax.Continue: continue_statement,
        syntax.Return: return_statement,
        syntax.Reply: reply,
        syntax.Assert: assertion,
    }
)
