"""Answers that come in stages: a generator that yields what is to be waited for, and returns the answer.

    def stages():
        value = yield waiting           a Waiting, or None where others only get their turn
        return answer

    answer = begun(stages())            the answer, or an Unfinished (see server.protocol)

A generator that is closed (the client has gone) sees GeneratorExit where it waits: what it holds it gives up there.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from qvm.program import Failed, Pending, Returned, Suspended
from qvm.values import Stop
from server.protocol import Unfinished

if TYPE_CHECKING:
    from qvm.host import Waiting

Stages = Generator["Waiting | None", Any, Any]


def begun(stages: Stages) -> Any:
    """Goes as far as it can without waiting."""
    try:
        waiting = next(stages)
    except StopIteration as end:
        return end.value
    return _Staged(stages, waiting)


class _Staged(Unfinished):
    __slots__ = ("_stages",)

    def __init__(self, stages: Stages, waiting: Waiting | None) -> None:
        self.waiting = waiting
        self.on_cancel = None
        self.cancelled = False
        self._stages = stages

    def resume(self, value: Any) -> Any:
        try:
            self.waiting = self._stages.send(value)
        except StopIteration as end:
            return end.value
        return self

    def fail(self, problem: Exception) -> Any:
        try:
            self.waiting = self._stages.throw(problem)
        except StopIteration as end:
            return end.value
        return self

    def cancel(self) -> None:
        self.cancelled = True
        self._stages.close()


def run_task(task: Any) -> Stages:
    """Runs a task to its end: gives its outcome, Returned, Failed or Suspended."""
    try:
        while True:
            outcome = task.run()
            kind = type(outcome)
            if kind is Returned or kind is Failed or kind is Suspended:
                return outcome
            if kind is not Pending:
                yield None
                continue
            try:
                value = yield outcome.waiting
            except Stop as stop:
                task.fail(stop)
            else:
                task.resume(value)
    except GeneratorExit:
        task.cancel()
        raise


def finished(call: Unfinished) -> Stages:
    """Goes on with what is unfinished, to its answer."""
    answer: Any = call
    try:
        while isinstance(answer, Unfinished):
            try:
                value = yield answer.waiting
            except Exception as problem:
                answer = answer.fail(problem)
            else:
                answer = answer.resume(value)
    except GeneratorExit:
        answer.cancel()
        raise
    return answer
