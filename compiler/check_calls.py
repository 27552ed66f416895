"""Checks calls: of functions, builtins and function values; which argument goes to which parameter.

Builtins may have type variables, which an argument's type fills in, and several overloads, of which the first that the
arguments fit is taken. Lambdas wait until the other arguments have said what they will be given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler import syntax
from compiler.builtins import Builtin, Overload
from compiler.check_functions import result_of
from compiler.checking import Checking, Wanted, checks
from compiler.constants import NoConstant, constant_value
from compiler.prelude import BUILTINS
from compiler.relations import (
    MISTAKE,
    Bindings,
    bind,
    bounded,
    fits,
    has_variables,
    join,
    kinds_of,
    members_of,
    substituted,
    surely_fits,
)
from compiler.spelling import list_of, nearest
from compiler.types import (
    ANY,
    NEVER,
    NULL,
    FunctionType,
    ListType,
    MapType,
    RecordType,
    Type,
    UnionType,
    Variable,
    resolved,
)
from compiler.walking import Walk
from compiler.wording import counted, got_text, one_of, wanted_text
from compiler.written_types import signature_type

ROW = RecordType((), open=True)  # of a database: its fields are not known
_RUN_SQL = frozenset(("db.query", "db.one", "db.exec"))


@dataclass(slots=True, frozen=True)
class Place:
    """One parameter, as far as a call needs to know it."""

    name: str
    type: Type
    required: bool


@checks(syntax.Call)
def call(check: Checking, node: syntax.Call, wanted: Wanted | None) -> Walk | Type:
    callee = node.callee
    symbol = callee.symbol if isinstance(callee, syntax.Name | syntax.Field) else None
    node.target, node.ordered, node.rest = None, None, []
    if symbol is not None:
        if isinstance(symbol.node, syntax.Function) and symbol.kind in ("function", "local"):
            return _function_call(check, node, symbol.node, wanted)
        builtin = BUILTINS.get(symbol.name) if symbol.kind == "builtin" else None
        if builtin is not None:
            return _builtin_call(check, node, builtin, wanted)
    if isinstance(callee, syntax.Function):
        return _lambda_call(check, node, callee, wanted)
    return _value_call(check, node, wanted)


# --- arguments to parameters --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Problem:
    code: str
    message: str
    node: syntax.Node


def arrange(
    node: syntax.Call, name: str, places: Sequence[Place], variadic: bool
) -> tuple[list[syntax.Expression | None], list[syntax.Expression]] | Problem:
    """The arguments in the order of the parameters, and those that a variadic last one takes; or what is wrong."""
    fixed = places[:-1] if variadic else places
    ordered: list[syntax.Expression | None] = [None] * len(fixed)
    rest: list[syntax.Expression] = []
    numbers = {place.name: number for number, place in enumerate(fixed)}
    named = False
    for number, argument in enumerate(node.arguments):
        if argument.name is None:
            if named:
                return Problem("", "", argument)  # the parser has reported it
            if number < len(fixed):
                ordered[number] = argument.value
            elif variadic:
                rest.append(argument.value)
            else:
                return Problem("Q0312", _takes(name, fixed, len(node.arguments)), argument)
            continue
        named = True
        at = numbers.get(argument.name)
        if at is None:
            return Problem("Q0314", _no_argument(name, argument.name, [p.name for p in fixed]), argument)
        if ordered[at] is not None:
            return Problem("Q0314", f"`{name}` is given `{argument.name}` twice", argument)
        ordered[at] = argument.value
    for place, value in zip(fixed, ordered, strict=True):
        if value is None and place.required:
            if any(isinstance(argument.value, syntax.Invalid) for argument in node.arguments):
                return Problem("", "", node)  # what could not be read may have held more than one
            needs = f": {wanted_text(place.type)}" if place.type != ANY and not has_variables(place.type) else ""
            return Problem("Q0313", f"`{name}` needs `{place.name}`{needs}", node)
    return ordered, rest


def _report(check: Checking, problem: Problem) -> None:
    if problem.code:
        check.error(problem.code, problem.message, problem.node)


def _takes(name: str, places: Sequence[Place], given: int) -> str:
    least = sum(place.required for place in places)
    if not places:
        takes = "no arguments"
    elif least == len(places):
        takes = counted(least, "argument")
    else:
        takes = f"{least} to {counted(len(places), 'argument')}"
    return f"`{name}` takes {takes}, got {given}"


def _no_argument(name: str, given: str, known: list[str]) -> str:
    near = nearest(given, known)
    if near:
        return f"`{name}` has no argument `{given}`: did you mean `{near}`?"
    return f"`{name}` has no argument `{given}`: it takes {list_of(known) if known else 'none'}"


# --- functions of the program -------------------------------------------------------------------------------------


def _function_call(check: Checking, node: syntax.Call, function: syntax.Function, wanted: Wanted | None) -> Walk:
    name = function.name or "the function"
    node.target = function
    node.callee.fails = False
    node.callee.type = check.signature(function)
    places = [
        Place(p.name, ANY if p.symbol is None or p.type is None else p.symbol.type or ANY, p.default is None)
        for p in function.parameters
    ]
    arranged = arrange(node, name, places, False)
    if isinstance(arranged, Problem):
        _report(check, arranged)
        yield from _each_argument(check, node)
    else:
        node.ordered, _ = arranged
        numbers = {id(value): number for number, value in enumerate(node.ordered) if value is not None}
        for argument in node.arguments:
            number = numbers[id(argument.value)]
            yield check.expression(argument.value, _argument_wanted(name, number, places[number].type))
    result: Type = yield result_of(check, function)
    return check.typed(node, result, frozenset((function,)), wanted)


def _each_argument(check: Checking, node: syntax.Call) -> Walk:
    for argument in node.arguments:
        yield check.expression(argument.value)


def _argument_wanted(name: str, number: int, type: Type) -> Wanted | None:
    return Wanted(type, f"argument {number + 1} of `{name}`", "Q0310") if type != ANY else None


# --- function values ----------------------------------------------------------------------------------------------


def _lambda_call(check: Checking, node: syntax.Call, callee: syntax.Function, wanted: Wanted | None) -> Walk:
    """`a | x => …`: the lambda's parameters are what it is given."""
    types: list[Type] = []
    for argument in node.arguments:
        types.append((yield check.expression(argument.value)))
    shape = FunctionType(tuple(types), ANY)
    type: Type = yield check.expression(callee, Wanted(shape, "what follows `|`", "Q0316"))
    result = type.result if isinstance(type, FunctionType) else ANY
    return check.typed(node, result, True, wanted)


def _value_call(check: Checking, node: syntax.Call, wanted: Wanted | None) -> Walk:
    callee = node.callee
    if isinstance(callee, syntax.Field) and callee.symbol is None:
        type: Type = yield _callee_field(check, callee, node)
    else:
        type = yield check.expression(callee)
    shapes = [inner for inner in map(resolved, members_of(type)) if isinstance(inner, FunctionType)]
    kinds = kinds_of(type)
    if kinds is not None and not shapes and resolved(type) != NEVER:
        check.error("Q0316", f"{_text_of(check, callee)} is {got_text(type)}, not a function", callee)
    shape = shapes[0] if len(shapes) == 1 else None
    if shape is None or shape.parameters is None:
        _no_name_twice(check, node)
        yield from _each_argument(check, node)
        return check.typed(node, shape.result if shape is not None else ANY, True, wanted)
    name = _text_of(check, callee).strip("`")
    names = shape.names or tuple(f"argument {n + 1}" for n in range(len(shape.parameters)))
    least = len(shape.parameters) - shape.optional
    places = [Place(n, t, i < least) for i, (n, t) in enumerate(zip(names, shape.parameters, strict=True))]
    if any(argument.name is not None for argument in node.arguments) and not shape.names:
        _no_name_twice(check, node)
        yield from _each_argument(check, node)
        return check.typed(node, shape.result, True, wanted)
    arranged = arrange(node, name, places, False)
    if isinstance(arranged, Problem):
        if arranged.code == "Q0313" and not shape.names:
            arranged = Problem("Q0312", _takes(name, places, len(node.arguments)), arranged.node)
        _report(check, arranged)
        yield from _each_argument(check, node)
    else:
        ordered, _ = arranged
        for number, value in enumerate(ordered):
            if value is not None:
                yield check.expression(value, _argument_wanted(name, number, shape.parameters[number]))
    return check.typed(node, shape.result, True, wanted)


def _no_name_twice(check: Checking, node: syntax.Call) -> None:
    """Reports an argument given twice to a function whose parameters aren't known: none can have one name twice."""
    names = set()
    for argument in node.arguments:
        if argument.name is not None and argument.name in names:
            check.error("Q0314", f"{_text_of(check, node.callee)} is given `{argument.name}` twice", argument)
            return
        names.add(argument.name)


def _callee_field(check: Checking, callee: syntax.Field, node: syntax.Call) -> Walk:
    """`xs.map(f)` is no call of Quillo's: what it would be is said."""
    base = callee.value
    if isinstance(base, syntax.Name) and base.symbol is not None and base.symbol.kind in ("file", "service", "builtin"):
        return (yield check.expression(callee))
    type: Type = yield check.expression(base)
    kinds = kinds_of(type)
    builtin = BUILTINS.get(callee.name)
    if kinds is None or "record" in kinds or builtin is None or builtin.hidden:
        return (yield _field_again(check, callee, type))
    rest = ", …" if node.arguments else ""
    message = f"{got_text(type)} has no functions of its own: write `{callee.name}({_short(check, base)}{rest})`"
    start = callee.name_start or callee.end - len(callee.name)
    check.report("error", "Q0317", message, start, start + len(callee.name))
    return check.typed(callee, MISTAKE)


def _field_again(check: Checking, callee: syntax.Field, base: Type) -> Type:
    from compiler.check_values import field_type
    from compiler.narrowing import path_of

    type = field_type(check, callee, base)
    place = path_of(callee)
    known = check.flow.lookup(*place) if place is not None else None
    return check.typed(callee, type if known is None else known)


def _short(check: Checking, node: syntax.Node) -> str:
    text = check.state.unit.source.text[node.start : node.end]
    return text if len(text) <= 30 and "\n" not in text else "…"


def _text_of(check: Checking, node: syntax.Node) -> str:
    text = _short(check, node)
    return f"`{text}`" if text != "…" else "what is called"


# --- builtins -----------------------------------------------------------------------------------------------------


def builtin_value(name: str) -> Type:
    """The type of a builtin that is used as a value."""
    builtin = BUILTINS.get(name)
    if builtin is None:
        return ANY
    if len(builtin.overloads) > 1 or builtin.overloads[0].variadic:
        results = {overload.result: None for overload in builtin.overloads}
        result = join(*(substituted(signature_type(text), {}) for text in results))
        return FunctionType(None, result)
    overload = builtin.overloads[0]
    takes = tuple(substituted(signature_type(p.type), {}) for p in overload.parameters)
    names = tuple(p.name for p in overload.parameters)
    optional = sum(p.has_default for p in overload.parameters)
    return FunctionType(takes, substituted(signature_type(overload.result), {}), names, optional)


def _places(overload: Overload) -> list[Place]:
    return [Place(p.name, signature_type(p.type), not p.has_default) for p in overload.parameters]


def _builtin_call(check: Checking, node: syntax.Call, builtin: Builtin, wanted: Wanted | None) -> Walk:
    node.target = builtin
    node.callee.fails = False
    node.callee.type = FunctionType(None, ANY)
    arranged = [
        (number, arrange(node, builtin.name, _places(overload), overload.variadic))
        for number, overload in enumerate(builtin.overloads)
    ]
    possible = [(number, found) for number, found in arranged if not isinstance(found, Problem)]
    if not possible:
        _no_overload(check, node, builtin, [found for _, found in arranged if isinstance(found, Problem)])
        yield from _each_argument(check, node)
        return check.typed(node, _result(builtin, builtin.overloads[0], {}), builtin.overloads[0].fails, wanted)
    if len(possible) == 1:
        number, (node.ordered, node.rest) = possible[0]
        node.overload = number
        result: Type = yield _with_overload(check, node, builtin, builtin.overloads[number])
        fails = builtin.overloads[number].fails
    else:
        result = yield _choose(check, node, builtin, [number for number, _ in possible])
        number = node.overload
        node.ordered, node.rest = next(found for n, found in possible if n == number)
        fails = any(builtin.overloads[n].fails for n, _ in possible)
    if builtin.name in _RUN_SQL and node.ordered and node.ordered[0] is not None:
        check.statements.append((check.state.unit, node, node.ordered[0]))
    if builtin.name == "is_err":
        fails = False
    if builtin.name in ("confirm", "about"):
        _question(check, builtin.name, node.ordered or [])
    if wanted is not None and builtin.name in ("db.query", "db.one"):
        from compiler.check_sql import star_fills

        star_fills(check, node, wanted)
    return check.typed(node, result, fails, wanted)


def _result(builtin: Builtin, overload: Overload, bindings: Bindings) -> Type:
    if builtin.name == "db.query":
        return ListType(ROW)
    if builtin.name == "db.one":
        return join(ROW, NULL)
    found = bounded(substituted(signature_type(overload.result), bindings))
    return ANY if found == NEVER and overload.result != "never" else found


_UNKNOWN: Any = object()  # worked out as the program runs


def _question(check: Checking, name: str, arguments: Sequence[syntax.Expression | None]) -> None:
    """Reports what is wrong with a question, as far as it is written in the program: it would stop the call."""
    values: list[Any] = []
    for argument in arguments:
        try:
            values.append(_UNKNOWN if argument is None else constant_value(argument))
        except NoConstant:
            values.append(_UNKNOWN)
    text, _, default = (*values, _UNKNOWN, _UNKNOWN, _UNKNOWN)[:3]
    found: list[tuple[syntax.Expression | None, str]] = []
    if isinstance(text, str) and not text.strip():
        found.append((arguments[0], f"`{name}`'s question is empty: say what the user is asked"))
    keys = _keys(arguments[1]) if len(arguments) > 1 else None
    if keys is not None and len(keys) < 2:
        found.append((arguments[1], f"`about` needs at least two choices, got {len(keys)}"))
    elif keys is not None and isinstance(default, str) and default not in keys:
        shown = ", ".join(f"`{key}`" for key in keys)
        found.append((arguments[2], f"`about`'s default must be one of its keys, {shown}, got `{default}`"))
    for node, message in found:
        if node is not None:
            check.report("error", "Q0318", message, node.start, node.end)


def _keys(node: syntax.Expression | None) -> list[str] | None:
    """The keys of a record that is written in place; None where they can't be told."""
    if not isinstance(node, syntax.RecordLiteral):
        return None
    names = [one.name for one in node.fields if isinstance(one, syntax.RecordField)]
    return list(dict.fromkeys(names)) if len(names) == len(node.fields) else None


def _no_overload(check: Checking, node: syntax.Call, builtin: Builtin, problems: list[Problem]) -> None:
    problem = problems[0]
    counts = [len(overload.parameters) for overload in builtin.overloads]
    given = len(node.arguments)
    if len(problems) > 1:
        if given > max(counts):
            least = min(sum(not p.has_default for p in overload.parameters) for overload in builtin.overloads)
            most = max(counts)
            takes = counted(most, "argument") if least == most else f"{least} to {counted(most, 'argument')}"
            problem = Problem("Q0312", f"`{builtin.name}` takes {takes}, got {given}", node.arguments[most])
        else:
            # The overload that comes nearest says it best.
            problem = next((p for p in problems if p.code == "Q0313"), problem)
    if builtin.name == "ask" and given > max(counts):
        message = "`ask` takes a message and its options: `about(question, choices, default)` asks the person"
        problem = Problem("Q0312", message, problem.node)
    _report(check, problem)


def _with_overload(check: Checking, node: syntax.Call, builtin: Builtin, overload: Overload) -> Walk:
    """Checks the arguments of the only overload there can be; gives the result's type."""
    bindings: Bindings = {}
    waiting: list[tuple[int, syntax.Expression, Type]] = []
    numbers = {id(value): number for number, value in enumerate(node.ordered or ()) if value is not None}
    for place, argument in enumerate(node.arguments):
        value = argument.value
        number = numbers.get(id(value), len(node.ordered or ()))
        type = signature_type(overload.parameters[number].type)
        if _waits(value, type):
            waiting.append((number, value, type))
            continue
        shown = place if number == len(node.ordered or ()) else number
        what = Wanted(substituted(type, {}), f"argument {shown + 1} of `{builtin.name}`", "Q0310")
        given: Type = yield check.expression(value, what if what.type != ANY else None)
        bind(type, given, bindings)
    for number, value, type in waiting:
        yield _callback(check, node, builtin, number, value, type, bindings)
    return _result(builtin, overload, bindings)


def _waits(value: syntax.Expression, type: Type) -> bool:
    """Is it a function for a parameter that says what functions are given? The other arguments tell more of that."""
    return isinstance(type, FunctionType) and has_variables(type) and not isinstance(value, syntax.Literal)


def _callback(
    check: Checking,
    node: syntax.Call,
    builtin: Builtin,
    number: int,
    value: syntax.Expression,
    type: Type,
    bindings: Bindings,
) -> Walk:
    """Checks a function that a builtin calls, and learns from what it gives."""
    assert isinstance(type, FunctionType)
    turns = _variables(type.result) & {n for p in type.parameters or () for n in _variables(p)}
    for name in turns:
        # What it gives comes back to it in the next turn, as in `reduce`.
        bindings[name] = check.lean_on((node, name), bindings.get(name, NEVER))
    shape = substituted(type, bindings)
    if has_variables(type.result):
        assert isinstance(shape, FunctionType)
        shape = FunctionType(shape.parameters, ANY, shape.names, shape.optional)
    wanted = Wanted(shape, f"argument {number + 1} of `{builtin.name}`", "Q0310")
    given: Type = yield check.expression(value, wanted)
    if isinstance(given, FunctionType):
        bind(type, given, bindings)
        for name in turns:
            check.grow((node, name), bindings.get(name, ANY))


def _variables(type: Type) -> set[str]:
    """The names of the type variables in a signature's type."""
    match type:
        case Variable(name):
            return {name}
        case ListType(inner) | MapType(inner):
            return _variables(inner)
        case UnionType(members):
            return {name for member in members for name in _variables(member)}
    return set()


def _choose(check: Checking, node: syntax.Call, builtin: Builtin, numbers: list[int]) -> Walk:
    """Checks the arguments by themselves and takes the first overload that they fit; gives the result's type."""
    for argument in node.arguments:
        yield check.expression(argument.value)
    arrangements = {}
    for number in numbers:
        found = arrange(node, builtin.name, _places(builtin.overloads[number]), builtin.overloads[number].variadic)
        assert not isinstance(found, Problem)
        arrangements[number] = [
            (place, signature_type(parameter.type), value)
            for place, (parameter, value) in enumerate(
                zip(builtin.overloads[number].parameters, found[0], strict=False)
            )
            if value is not None
        ]
    fitting = [n for n in numbers if _all_fit(arrangements[n], fits)]
    if not fitting:
        _report_misfit(check, node, builtin, arrangements)
        node.overload = numbers[0]
        return MISTAKE
    node.overload = fitting[0]
    results: list[Type] = []
    for number in fitting:
        bindings: Bindings = {}
        for _, type, value in arrangements[number]:
            bind(type, value.type or ANY, bindings)
        results.append(_result(builtin, builtin.overloads[number], bindings))
        if _all_fit(arrangements[number], surely_fits):
            if number != fitting[0] and len(results) == 1:
                node.overload = number
            break
    return join(*results)


_Arrangement = list[tuple[int, Type, syntax.Expression]]


def _all_fit(arrangement: _Arrangement, relation: Callable[[Type, Type], bool]) -> bool:
    return all(relation(value.type or ANY, substituted(type, {})) for _, type, value in arrangement)


def _report_misfit(check: Checking, node: syntax.Call, builtin: Builtin, arrangements: dict[int, _Arrangement]) -> None:
    """Reports the first argument that fits none of the overloads which those before it fit."""
    left = dict(arrangements)
    most = max(len(arrangement) for arrangement in left.values())
    for place in range(most):
        fitting = {
            number: arrangement
            for number, arrangement in left.items()
            if place < len(arrangement)
            and fits(arrangement[place][2].type or ANY, substituted(arrangement[place][1], {}))
        }
        if not fitting:
            wanted = [substituted(a[place][1], {}) for a in left.values() if place < len(a)]
            number, _, value = next(a[place] for a in left.values() if place < len(a))
            choices = one_of(wanted_text(type) for type in wanted)
            message = f"argument {number + 1} of `{builtin.name}` must be {choices}"
            check.error("Q0310", f"{message}, got {got_text(value.type or ANY)}", value)
            return
        left = fitting
