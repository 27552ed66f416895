"""Checks a program's types: says what is wrong, and puts on the tree what the lowering may rely on.

Checking is gradual: what is of unknown type is never reported. The program is walked once, or again where a pass leant
on what it then found to be otherwise (see `compiler.checking`); only the last pass's findings count.
"""

from __future__ import annotations

from compiler import syntax
from compiler.check_functions import declare_signature, declared_function
from compiler.check_routes import check_routes
from compiler.check_sql import report_pasted
from compiler.checking import STATEMENTS, Assumptions, Checking, FunctionState
from compiler.diagnostics import Diagnostics
from compiler.names import Program, Unit
from compiler.relations import merged
from compiler.types import ANY, NEVER, Type
from compiler.walking import Walk, run
from compiler.written_types import declare_types

# Passes that may lean on what the pass before found; then what still changes is unknown, and at last all of it.
_SETTLING_PASSES = 4
_MOST_PASSES = 8


def check(program: Program, diagnostics: Diagnostics) -> None:
    """Checks a program whose names are resolved. Adds what it finds to `diagnostics`; raises nothing.

    Sets `Expression.type` and `.fails`, `Call.target`, `.overload`, `.ordered` and `.rest`, `Function.result_type` and
    `Symbol.type`.
    """
    _register()

    def report(unit: Unit, code: str, message: str, start: int, end: int) -> None:
        diagnostics.error(code, message, unit.source, start, end)

    declare_types(program, report)
    assumptions = Assumptions()
    earlier = program.earlier
    if earlier is not None:
        assumptions.unknown |= earlier.open
    number = 0
    while True:
        found = Checking(program, diagnostics, assumptions)
        if earlier is not None:
            found.fixed |= earlier.fixed
        _walk(found)
        number += 1
        if number >= _MOST_PASSES:
            assumptions.all_unknown = True
        if _settled(found, assumptions, number) or number > _MOST_PASSES:
            break
    report_pasted(found)
    _settle_failures(found)
    diagnostics.extend(found.findings)
    check_routes(program, diagnostics)


def _register() -> None:
    """Imports the parts, which register their checks."""
    import compiler.check_assignments
    import compiler.check_calls
    import compiler.check_markup
    import compiler.check_operators
    import compiler.check_patterns
    import compiler.check_statements
    import compiler.check_values  # noqa: F401


def _walk(found: Checking) -> None:
    for unit in found.program.units:
        found.state = FunctionState(None, unit)
        for function in _functions(unit):
            declare_signature(found, function)
    for unit in found.program.units:
        found.state = FunctionState(None, unit)
        found.flow.functions = [None]
        run(_top_level(found, unit))


def _functions(unit: Unit) -> list[syntax.Function]:
    functions: list[syntax.Function] = []
    for statement in unit.file.statements:
        match statement:
            case syntax.Function():
                functions.append(statement)
            case syntax.Route(function=function) | syntax.Component(function=function) | syntax.Test(function=function):
                functions.append(function)
            case syntax.Build(value=function):
                functions.append(function)
    return functions


def _top_level(found: Checking, unit: Unit) -> Walk:
    """Walks a file's statements in order, then its functions."""
    from compiler.check_statements import never_runs

    reached, warned = True, False
    for statement in unit.file.statements:
        if type(statement) in STATEMENTS and not isinstance(statement, syntax.Function):
            if not reached and not warned:
                warned = True
                never_runs(found, statement)
            leaves = yield found.statement(statement)
            reached = reached and not leaves
    for function in _functions(unit):
        yield declared_function(found, function)


def _settled(found: Checking, assumptions: Assumptions, number: int) -> bool:
    """Does all hold that a pass leant on? What doesn't is noted for the next one."""
    if assumptions.all_unknown:
        return number > _MOST_PASSES
    settled = True
    for what, type in found.grown.items():
        leant = found.leant.get(what, NEVER)
        grown = merged(leant, type)
        if what in assumptions.unknown or grown == leant:
            continue
        settled = False
        _note(assumptions, what, grown, number)
    for function in found.leant_on:
        result = found.results.get(function, ANY)
        if function not in assumptions.unknown and result != assumptions.types.get(function, NEVER):
            settled = False
            _note(assumptions, function, result, number)
    return settled


def _note(assumptions: Assumptions, what: object, type: Type, number: int) -> None:
    if number >= _SETTLING_PASSES or type == ANY:
        assumptions.unknown.add(what)
    else:
        assumptions.types[what] = type


def _settle_failures(found: Checking) -> None:
    """Clears `fails` where a value turns out to be no error: no function or variable that it comes of gives one."""
    needed_by: dict[object, list[object]] = {}
    earlier = found.program.earlier
    failing: list[object] = [] if earlier is None else [*earlier.open, *earlier.fixed]
    for what, failures in found.reasons.items():
        for failure in failures:
            if failure is True:
                failing.append(what)
            elif failure:
                for reason in failure:
                    needed_by.setdefault(reason, []).append(what)
                    if reason not in found.reasons:
                        failing.append(reason)
    reached: set[object] = set()
    while failing:
        what = failing.pop()
        if what not in reached:
            reached.add(what)
            failing += needed_by.get(what, ())
    for node in found.conditional:
        node.fails = node in reached
