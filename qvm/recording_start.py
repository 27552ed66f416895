"""The start of a recorded call in a program that was changed since: its arguments and top-level variables by name.

The snapshot that a recording begins with fits its own Module only. Here the changed program's top level runs with what
came in then; what other calls had changed of the old program's top-level variables before this call began is found by
running the old top level as well, and put into the variables of the same names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qasm import module_file
from qasm.module import BadModule, Function
from qasm.verifier import verify
from qvm import snapshot
from qvm.frames import Failed, Returned, Yielded
from qvm.marks import Secrets
from qvm.program import Program
from qvm.recorded_host import AnotherWay, RecordedHost, event_words
from qvm.recording import BadRecording, Recording, pack_value, unpack_value
from qvm.typecheck import Mismatch
from qvm.values import ABSENT, UNSET, Closure, Unset

if TYPE_CHECKING:
    from qvm.program import Task


class StartFailed(Exception):
    """A changed program in which the recorded call can't begin; the text is one sentence."""


def own_module(recording: Recording) -> Any:
    """The Module that a recording holds, verified. Raises BadRecording."""
    try:
        module = module_file.load(recording.module)
        verify(module)
    except BadModule as problem:
        raise BadRecording(f"the program in it is refused: {problem}") from None
    return module


def started(recording: Recording, program: Program, host: RecordedHost) -> Task:
    """The recorded call at its start in `program`. Raises StartFailed or BadSnapshot."""
    old = Program(own_module(recording))
    task = snapshot.load(old, recording.start, host)
    recorded = {name: cell.value for name, cell in zip(old.module.globals, old.globals, strict=True)}
    _run_top_level(recording, program)
    fresh = Program(old.module)
    _run_top_level(recording, fresh)
    at_start = {name: cell.value for name, cell in zip(old.module.globals, fresh.globals, strict=True)}
    for name, cell in zip(program.module.globals, program.globals, strict=True):
        if name not in recorded or type(recorded[name]) is Unset or _holds_function(recorded[name]):
            continue
        if _packed(recorded[name]) != _packed(at_start[name]):
            cell.value = recorded[name]
    tool = next((tool for tool in program.module.tools if tool.name == recording.tool), None)
    if tool is None:
        raise StartFailed(f"the program has no tool `{recording.tool}`, which the recording calls")
    function = program.module.functions[tool.function]
    return program.call(tool.function, _arguments(recording, program, function), host, task.max_steps)


def _packed(value: Any) -> bytes:
    return b"" if value is UNSET else pack_value(value)


def _holds_function(value: Any) -> bool:
    if type(value) is list:
        return any(map(_holds_function, value))
    if type(value) is dict:
        return any(map(_holds_function, value.values()))
    return type(value) is Closure


def _run_top_level(recording: Recording, program: Program) -> None:
    if recording.top_level is None:
        raise StartFailed("the program's start was too large to be recorded, so a changed program can't be started")
    host = RecordedHost(recording.top_level, Secrets(), same_program=False)
    try:
        for entry in program.module.entries:
            outcome = _finish(program.call(entry, [], host))
            if isinstance(outcome, Failed):
                stop = outcome.stop
                place = f" at {stop.places[0].file}:{stop.places[0].line}" if stop.places else ""
                raise StartFailed(f"the program's top level stops{place}: {stop.message}")
    except AnotherWay as way:
        held = "nothing" if way.wanted is None else event_words("call", way.wanted.name, _held(way.wanted.arguments))
        raise StartFailed(
            f"the program's top level goes another way: it calls {event_words(way.kind, way.name, way.arguments)},"
            f" and the recording has {held} there"
        ) from None


def _held(arguments: bytes) -> list[Any]:
    held = unpack_value(arguments)
    assert type(held) is list
    return held


def _finish(task: Task) -> Returned | Failed:
    outcome = task.run()
    while isinstance(outcome, Yielded):
        outcome = task.run()
    if not isinstance(outcome, Returned | Failed):  # a top level never waits
        raise BadRecording("its payload is not what a recording holds")
    return outcome


def _arguments(recording: Recording, program: Program, function: Function) -> list[Any]:
    """The recorded arguments for the parameters of the function, as a client's call would bring them."""
    given = unpack_value(recording.given)
    names = [parameter.name for parameter in function.parameters]
    for name in given:
        if name not in names:
            raise StartFailed(f"`{recording.tool}` no longer takes the argument `{name}` that the recording brings")
    values = []
    for parameter in function.parameters:
        if parameter.name not in given:
            if parameter.required:
                raise StartFailed(f"`{recording.tool}` now needs `{parameter.name}`, which the recording doesn't bring")
            values.append(ABSENT)
            continue
        value, check = given[parameter.name], program.json_check(parameter.type)
        try:
            values.append(value if check is None else check(value))
        except Mismatch as mismatch:
            raise StartFailed(mismatch.in_argument(parameter.name, recording.tool)) from None
    return values
