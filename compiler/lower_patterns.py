"""Lowers patterns: the names that `let` and `for` bind, and `match`.

A pattern is taken apart from a local that holds the value. Where it does not fit, control branches to the end of a
block: in a `match` the arm's, elsewhere one behind which a stop says what was wanted.

In a `match` errors go to `err(…)` arms only, wherever these stand: a name or `_` takes values. So the arms for errors
are tried first, and an error that none of them takes stops.
"""

from __future__ import annotations

import re

from compiler import syntax
from compiler.code_builder import Block
from compiler.function_lowering import (
    CONTROL,
    LOCAL,
    STATEMENTS,
    FunctionLowering,
)
from compiler.lower_expressions import attempt

# --- names that are bound ---------------------------------------------------------------------------------------------


def bind(lowering: FunctionLowering, pattern: syntax.Pattern) -> None:
    """Takes the top of the stack apart for `let` and `for`; a value that doesn't fit is a stop."""
    code = lowering.code
    match pattern:
        case syntax.NamePattern(symbol=symbol):
            assert symbol is not None
            lowering.declare(symbol)
        case syntax.Wildcard():
            code.emit("POP")
        case syntax.RecordPattern(fields=fields) if not all(_binds(field.pattern) for field in fields):
            _bind_if_it_fits(lowering, pattern)
        case syntax.RecordPattern(fields=fields):
            if not fields:
                _bind_if_it_fits(lowering, pattern)
                return
            slot = lowering.temporary()
            code.emit("STORE", slot)
            for field in fields:
                lowering.at(field.start)
                code.emit("LOAD", slot)
                code.emit("FIELD", lowering.tables.constant(field.name))
                bind(lowering, field.pattern)
            lowering.release(slot)
        case _:
            _bind_if_it_fits(lowering, pattern)


def _binds(pattern: syntax.Pattern) -> bool:
    """Can the pattern be bound field by field, without a test?"""
    return isinstance(pattern, syntax.NamePattern | syntax.Wildcard | syntax.RecordPattern)


def _bind_if_it_fits(lowering: FunctionLowering, pattern: syntax.Pattern) -> None:
    code = lowering.code
    slot = lowering.temporary()
    code.emit("STORE", slot)
    done = code.open("BLOCK", 0)
    misfit = code.open("BLOCK", 0)
    fit(lowering, pattern, slot, misfit, lenient=True)
    code.branch("BR", done)
    code.close()
    lowering.at(pattern.start)
    lowering.stop(_wanted(lowering, pattern))
    code.close()
    lowering.release(slot)


def _wanted(lowering: FunctionLowering, pattern: syntax.Pattern) -> str:
    text = re.sub(r", ?([\]}])", r"\1", lowering.text(pattern))  # a comma before a bracket says nothing
    if isinstance(pattern, syntax.ListPattern):
        count = len(pattern.items)
        things = "item" if count == 1 else "items"
        least = "at least " if pattern.rest is not None else ""
        return f"`{text}` takes a list of {least}{count} {things}: this value is no such list"
    return f"the value does not fit the pattern `{text}`"


# --- tests ------------------------------------------------------------------------------------------------------------


def fit(
    lowering: FunctionLowering,
    pattern: syntax.Pattern,
    slot: int,
    misfit: Block,
    lenient: bool = False,
    maybe_error: bool = False,
) -> None:
    """Branches to the end of `misfit` unless what the local holds fits; binds the pattern's names.

    `lenient`: a field that a record lacks is null there, and no misfit, as in `let`. `maybe_error`: the local may hold
    an error, which only `err(…)` takes.
    """
    code, tables = lowering.code, lowering.tables
    lowering.at(pattern.start)
    if isinstance(pattern, syntax.OrPattern):
        fits = code.open("BLOCK", 0)
        for alternative in pattern.alternatives[:-1]:
            other = code.open("BLOCK", 0)
            fit(lowering, alternative, slot, other, lenient, maybe_error)
            code.branch("BR", fits)
            code.close()
        fit(lowering, pattern.alternatives[-1], slot, misfit, lenient, maybe_error)
        code.close()
        return
    if isinstance(pattern, syntax.ErrPattern):
        code.emit("LOAD", slot)
        code.emit("IS_ERR")
        code.branch("BR_UNLESS", misfit)
        code.emit("LOAD", slot)
        code.emit("ERR_VALUE")
        _inside(lowering, pattern.inner, misfit, lenient)
        return
    if maybe_error:
        code.emit("LOAD", slot)
        code.emit("IS_ERR")
        code.branch("BR_IF", misfit)
    match pattern:
        case syntax.NamePattern(symbol=symbol):
            assert symbol is not None
            code.emit("LOAD", slot)
            lowering.declare(symbol)
        case syntax.LiteralPattern(value=value):
            code.emit("LOAD", slot)
            lowering.constant(value)
            code.emit("EQ")
            code.branch("BR_UNLESS", misfit)
        case syntax.RecordPattern(fields=fields):
            if not fields:
                code.emit("LOAD", slot)
                code.emit("CALL_BUILTIN", tables.builtin("type_of"), 1)
                lowering.constant("record")
                code.emit("EQ")
                code.branch("BR_UNLESS", misfit)
            for field in fields:
                lowering.at(field.start)
                name = tables.constant(field.name)
                if not lenient:
                    code.emit("LOAD", slot)
                    code.emit("HAS_FIELD", name)
                    code.branch("BR_UNLESS", misfit)
                code.emit("LOAD", slot)
                code.emit("FIELD", name)
                _inside(lowering, field.pattern, misfit, lenient)
        case syntax.ListPattern(items=items, rest=rest):
            code.emit("LOAD", slot)
            code.emit("IS_LIST", len(items), int(rest is not None))
            code.branch("BR_UNLESS", misfit)
            for place, item in enumerate(items):
                code.emit("LOAD", slot)
                code.emit("INT", place)
                code.emit("INDEX")
                _inside(lowering, item, misfit, lenient)
            if isinstance(rest, syntax.NamePattern):
                code.emit("LOAD", slot)
                code.emit("INT", len(items))
                code.emit("NULL")
                code.emit("SLICE")
                assert rest.symbol is not None
                lowering.declare(rest.symbol)


def _inside(lowering: FunctionLowering, pattern: syntax.Pattern, misfit: Block, lenient: bool) -> None:
    """Goes on with a pattern inside another, whose value is on the stack."""
    if isinstance(pattern, syntax.NamePattern):
        assert pattern.symbol is not None
        lowering.declare(pattern.symbol)
    elif isinstance(pattern, syntax.Wildcard):
        lowering.code.emit("POP")
    else:
        slot = lowering.temporary()
        lowering.code.emit("STORE", slot)
        fit(lowering, pattern, slot, misfit, lenient)
        lowering.release(slot)


# --- match ------------------------------------------------------------------------------------------------------------


def _takes_errors(pattern: syntax.Pattern) -> bool:
    if isinstance(pattern, syntax.OrPattern):
        return any(_takes_errors(alternative) for alternative in pattern.alternatives)
    return isinstance(pattern, syntax.ErrPattern)


def _takes_only_errors(pattern: syntax.Pattern) -> bool:
    if isinstance(pattern, syntax.OrPattern):
        return all(_takes_only_errors(alternative) for alternative in pattern.alternatives)
    return isinstance(pattern, syntax.ErrPattern)


def _takes_every_error(arm: syntax.Arm) -> bool:
    return (
        arm.guard is None
        and isinstance(arm.pattern, syntax.ErrPattern)
        and isinstance(arm.pattern.inner, syntax.NamePattern | syntax.Wildcard)
    )


def _takes_all(arm: syntax.Arm) -> bool:
    return arm.guard is None and isinstance(arm.pattern, syntax.NamePattern | syntax.Wildcard)


def _match(lowering: FunctionLowering, node: syntax.Match, wanted: bool) -> None:
    code = lowering.code
    error_arms = [arm for arm in node.arms if _takes_only_errors(arm.pattern)]
    other_arms = [arm for arm in node.arms if not _takes_only_errors(arm.pattern)]
    sees_errors = any(_takes_errors(arm.pattern) for arm in node.arms)
    slot, is_temporary = _subject(lowering, node.subject, sees_errors)
    done = code.open("BLOCK", int(wanted))
    for arm in error_arms:
        _arm(lowering, arm, slot, done, maybe_error=True)
    maybe_error = sees_errors and not any(_takes_every_error(arm) for arm in error_arms)
    if maybe_error and not any(_takes_errors(arm.pattern) for arm in other_arms):
        _stop_error(lowering, node, slot)
        maybe_error = False
    for arm in other_arms:
        _arm(lowering, arm, slot, done, maybe_error)
        if _takes_all(arm) and not maybe_error:
            break
    if maybe_error:
        _stop_error(lowering, node, slot)
    lowering.at(node.start)
    lowering.stop("no arm of `match` fits this value")
    code.close()
    if is_temporary:
        lowering.release(slot)


def _subject(lowering: FunctionLowering, node: syntax.Expression, sees_errors: bool) -> tuple[int, bool]:
    """Works out what is matched; gives the local that holds it, and whether that is a temporary."""
    if isinstance(node, syntax.Name) and not (node.fails and not sees_errors) and lowering.is_loaded(node.symbol):
        symbol = node.symbol
        kind, number = lowering.place_of(symbol)
        if kind == LOCAL and not (symbol.assigned or symbol.changed) and symbol not in lowering.waiting_functions:
            return number, False
    if sees_errors:
        attempt(lowering, node)
    else:
        lowering.used_value(node)
    slot = lowering.temporary()
    lowering.code.emit("STORE", slot)
    return slot, True


def _stop_error(lowering: FunctionLowering, node: syntax.Match, slot: int) -> None:
    """An error that no arm takes stops; a value passes."""
    lowering.at(node.start)
    lowering.code.emit("LOAD", slot)
    lowering.code.emit("USE")
    lowering.code.emit("POP")


def _arm(lowering: FunctionLowering, arm: syntax.Arm, slot: int, done: Block, maybe_error: bool) -> None:
    code = lowering.code
    if _takes_all(arm) and not maybe_error:
        if isinstance(arm.pattern, syntax.NamePattern):
            lowering.at(arm.pattern.start)
            code.emit("LOAD", slot)
            bind(lowering, arm.pattern)
        _arm_body(lowering, arm.body, done)
        return
    misfit = code.open("BLOCK", 0)
    fit(lowering, arm.pattern, slot, misfit, maybe_error=maybe_error)
    if arm.guard is not None:
        lowering.value(arm.guard)
        lowering.at(arm.guard.start)
        code.branch("BR_UNLESS", misfit)
    _arm_body(lowering, arm.body, done)
    code.close()


def _arm_body(lowering: FunctionLowering, body: syntax.Node, done: Block) -> None:
    if isinstance(body, syntax.Expression):
        if done.results:
            lowering.value(body)
        else:
            lowering.effect(body)
    else:
        STATEMENTS[type(body)](lowering, body)
        if done.results:
            lowering.constant(None)
    lowering.code.branch("BR", done)


def register() -> None:
    CONTROL[syntax.Match] = _match
