"""How the arguments of a called function value are counted, placed and checked.

Direct calls need none of this: the compiler has counted and placed their arguments, and checks them where it must.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qvm.frames import Frame
from qvm.mistakes import counted, error_stop
from qvm.typecheck import Mismatch
from qvm.values import ABSENT, DEPTH_LIMIT, Closure, Err, Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from qasm.module import Function
    from qvm.interpreter import Task
    from qvm.prepare import Prepared


_TAKES_MORE = 0x04  # the flag of a Python function with *args


def too_deep() -> Stop:
    return Stop(f"calls go too deep: over {DEPTH_LIMIT:,} inside each other")


def call_value(task: Task, closure: Closure, arguments: list[Any], names: list[str]) -> None:
    """Pushes the frame of a call of `closure`. The last arguments have these names."""
    for argument in arguments:
        if type(argument) is Err:
            raise error_stop(argument)
    if len(task.frames) > task.most_frames:
        raise too_deep()
    prepared = task.program.prepared_function(closure.function)
    function = prepared.function
    if names or len(arguments) != len(function.parameters):
        arguments = _placed(function, arguments, names)
    if prepared.has_checks:
        _check(prepared, arguments)
    arguments += prepared.padding
    task.frames.append(Frame(closure.function, arguments, closure.cells))


def called(name: str) -> str:
    return f"`{name}`" if name else "a function"


def _placed(function: Function, arguments: list[Any], names: list[str]) -> list[Any]:
    parameters = function.parameters
    label = called(function.name)
    required = sum(parameter.required for parameter in parameters)
    by_place = len(arguments) - len(names)
    if by_place > len(parameters):
        raise too_many(label, required, len(parameters), by_place)
    placed = arguments[:by_place] + [ABSENT] * (len(parameters) - by_place)
    place_named([parameter.name for parameter in parameters], placed, arguments[by_place:], names, label)
    for parameter, argument in zip(parameters, placed, strict=True):
        if argument is ABSENT and parameter.required:
            raise missing(parameter.name, label)
    return placed


def place_named(parameters: list[str], placed: list[Any], values: list[Any], names: list[str], label: str) -> None:
    """Puts the arguments with names where they belong in `placed`, which has ABSENT where none is yet."""
    for name, value in zip(names, values, strict=True):
        if name not in parameters:
            takes = ", ".join(f"`{parameter}`" for parameter in parameters)
            raise Stop(f"{label} has no parameter `{name}`" + (f": it takes {takes}" if takes else ": it takes none"))
        place = parameters.index(name)
        if placed[place] is not ABSENT:
            raise Stop(f"argument `{name}` of {label} is given twice")
        placed[place] = value


def too_many(label: str, least: int, most: int, given: int) -> Stop:
    takes = f"at most {counted(most, 'argument')}" if least < most else counted(most, "argument")
    return Stop(f"{label} takes {takes if most else 'no arguments'}, got {given}")


def missing(name: str, label: str) -> Stop:
    return Stop(f"missing argument `{name}` of {label}")


def _check(prepared: Prepared, arguments: list[Any]) -> None:
    for place, check in enumerate(prepared.checks):
        if check is not None and arguments[place] is not ABSENT:
            try:
                arguments[place] = check(arguments[place])
            except Mismatch as mismatch:
                raise Stop(mismatch.in_value(f"argument {place + 1} of {called(prepared.function.name)}")) from None


def wrong_count(name: str, native: Callable[..., Any], count: int) -> str:
    """What is wrong with calling a native with so many arguments; "" if nothing is."""
    code = native.__code__
    least = code.co_argcount - len(native.__defaults__ or ())
    if count > code.co_argcount and not code.co_flags & _TAKES_MORE:
        return too_many(called(name), least, code.co_argcount, count).message
    if count < least:
        return missing(code.co_varnames[count].rstrip("_"), called(name)).message
    return ""


def native_arguments(
    name: str, native: Callable[..., Any], arguments: list[Any], names: list[str]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments for a native that is called as a value: by place, and by name.

    A native is a Python function; its parameters are named as in the language (with `_` after them where Python has
    such a keyword), and what may be left out has a default.
    """
    code = native.__code__
    label = called(name)
    parameters = [parameter.rstrip("_") for parameter in code.co_varnames[: code.co_argcount]]
    takes_more = bool(code.co_flags & _TAKES_MORE)
    least = len(parameters) - len(native.__defaults__ or ())
    by_place = len(arguments) - len(names)
    if by_place > len(parameters) and not takes_more:
        raise too_many(label, least, len(parameters), by_place)
    placed = arguments[:by_place] + [ABSENT] * (len(parameters) - by_place)
    place_named(parameters, placed, arguments[by_place:], names, label)
    for parameter, argument in zip(parameters[:least], placed, strict=False):
        if argument is ABSENT:
            raise missing(parameter, label)
    first_absent = placed.index(ABSENT) if ABSENT in placed else len(placed)
    later = {
        code.co_varnames[place]: placed[place]
        for place in range(first_absent, len(placed))
        if placed[place] is not ABSENT
    }
    return placed[:first_absent], later
