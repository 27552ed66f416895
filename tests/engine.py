"""For tests of the engine: a host that keeps what it is asked, and short ways to run code that is written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from qasm.module import Module
from qasm.verifier import verify
from qvm import snapshot
from qvm.host import Question, Unanswered, Waiting
from qvm.program import Failed, Outcome, Program, Returned, Task, Yielded
from qvm.values import BuiltinFunction, Closure, Err, Markup, Response, Sql, Stop
from tests.building import build


class RecordingHost:
    """Answers host calls from `results` (a value, or a function of the arguments) and questions from `answers`."""

    def __init__(self, results: dict[str, Any] | None = None, answers: list[Any] | None = None) -> None:
        self.results = results or {}
        self.answers = answers or []
        self.calls: list[tuple[str, list[Any]]] = []
        self.questions: list[Question] = []
        self.changes: list[str] = []

    def call(self, name: str, arguments: list[Any]) -> Any:
        self.calls.append((name, arguments))
        result = self.results.get(name)
        if isinstance(result, Exception):
            raise result
        return result(*arguments) if callable(result) else result

    def ask(self, question: Question) -> bool | str:
        self.questions.append(question)
        if not self.answers:
            raise Unanswered(question)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def changed(self, what: str) -> None:
        self.changes.append(what)


def finish(task: Task) -> Outcome:
    """Runs a Task until it is over, waits or asks."""
    outcome = task.run()
    while isinstance(outcome, Yielded):
        outcome = task.run()
    return outcome


def started(module: Module, host: Any = None, max_steps: int | None = 100_000, program: Program | None = None) -> Task:
    """A Task of the first top level of a Module, which must verify."""
    verify(module)
    return (program or Program(module)).call(module.entries[0], [], host or RecordingHost(), max_steps)


def outcome_of(module: Module, host: Any = None, max_steps: int | None = 100_000) -> Outcome:
    return finish(started(module, host, max_steps))


def value_of(*code: str, host: Any = None) -> Any:
    """What code gives. It must not stop."""
    return value(build(*code), host)


def value(module: Module, host: Any = None) -> Any:
    outcome = outcome_of(module, host)
    assert isinstance(outcome, Returned), outcome.stop.message if isinstance(outcome, Failed) else outcome
    return outcome.value


def stop_of(*code: str, host: Any = None) -> Stop:
    """The stop that code ends with."""
    return stop(build(*code), host)


def stop(module: Module, host: Any = None, max_steps: int | None = 100_000) -> Stop:
    outcome = outcome_of(module, host, max_steps)
    assert isinstance(outcome, Failed), outcome
    return outcome.stop


def message_of(*code: str, host: Any = None) -> str:
    return stop_of(*code, host=host).message


def refusal(operate: Callable[[], Any]) -> str:
    """The message of the stop that a function raises."""
    with pytest.raises(Stop) as stopped:
        operate()
    assert stopped.value.error is None
    return stopped.value.message


# The ways to run a Task, which must all come to the same.


def straight(program: Program, task: Task, host: Any) -> tuple[Outcome, Task]:
    return finish(task), task


def in_small_slices(program: Program, task: Task, host: Any) -> tuple[Outcome, Task]:
    outcome = task.run(1)
    while isinstance(outcome, Yielded):
        outcome = task.run(1)
    return outcome, task


def step_by_step(program: Program, task: Task, host: Any) -> tuple[Outcome, Task]:
    outcome = task.step()
    while outcome is None:
        outcome = task.step()
    return outcome, task


def saved_every(distance: int) -> Callable[[Program, Task, Any], tuple[Outcome, Task]]:
    """Steps; after every `distance` instructions the Task is saved, thrown away and loaded."""

    def drive(program: Program, task: Task, host: Any) -> tuple[Outcome, Task]:
        while True:
            for _ in range(distance):
                outcome = task.step()
                if outcome is not None:
                    return outcome, task
            task = snapshot.load(program, snapshot.save(task), host)

    return drive


def shown(value: Any) -> Any:
    """A value as plain data that compares by kind and content: 1, 1.0 and true are three things here."""
    match value:
        case list():
            return ["list", [shown(item) for item in value]]
        case dict():
            return ["record", [[key, shown(item)] for key, item in value.items()]]
        case Err():
            return ["error", shown(value.value), value.builtin]
        case Markup():
            return ["html", value.text]
        case Sql():
            return ["sql", value.text, shown(value.parameters)]
        case Response():
            return ["response", value.status, shown(value.body), value.headers]
        case Closure():
            return ["function", value.function, len(value.cells)]
        case BuiltinFunction():
            return ["builtin", value.name]
        case Waiting():
            return ["waiting"]
    return [type(value).__name__, repr(value)]


def ending(outcome: Outcome, task: Task) -> list[Any]:
    """All that can be told of how a Task ended."""
    if isinstance(outcome, Returned):
        return ["returned", shown(outcome.value), task.steps]
    if isinstance(outcome, Failed):
        stop = outcome.stop
        places = [[place.file, place.line, place.function] for place in stop.places]
        return ["stopped", stop.message, stop.kind, shown(stop.error), shown(stop.detail), places, task.steps]
    return [type(outcome).__name__, task.steps]
