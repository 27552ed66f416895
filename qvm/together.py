"""`parallel` where its functions run side by side: each is a Task of its own, within the one that called it.

A Group runs its functions as far as they go without waiting. Who awaits the others (a host, for the engine knows no
event loop) starts what each waits for, and goes on with it through `resume`, `fail` and `advance`. What the functions
are charged counts as their caller's own. The first to stop ends the others: they are not gone on with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qvm.calling import call_value
from qvm.frames import Failed, Outcome, Pending, Returned, Suspended
from qvm.interpreter import SLICE, Task, out_of_compute
from qvm.mistakes import error_stop
from qvm.unwinding import places
from qvm.values import Closure, Err, Stop

if TYPE_CHECKING:
    from qvm.host import Host

MOST_NESTED = 8  # groups within each other; deeper, functions run one after another


def group_of(task: Task, functions: list[Any], pc: int) -> Group | None:
    """A Group for the functions that `task` gives `parallel`; None where they have to run one after another.

    They do where the host has no `beside` or says no, and for a builtin as a function, which has no frames to wait in.
    """
    beside = getattr(task.host, "beside", None)
    if beside is None or _nesting(task) >= MOST_NESTED:
        return None
    if len(functions) < 2 or any(type(function) is not Closure for function in functions):
        return None
    hosts: list[Host] = []
    for _ in functions:
        host = beside()
        if host is None:
            return None
        hosts.append(host)
    return Group(task, functions, hosts, pc)


def _nesting(task: Task) -> int:
    count = 0
    while task.within is not None:
        count, task = count + 1, task.within.task
    return count


class Group:
    """The functions of one call of `parallel`. `stop` is the first stop: then all of it is over."""

    __slots__ = ("begun", "functions", "outcomes", "pc", "stop", "task", "tasks")

    def __init__(self, task: Task, functions: list[Any], hosts: list[Host], pc: int) -> None:
        self.task = task
        self.pc = pc
        self.functions = functions
        self.tasks = [Task(task.program, [], host, None) for host in hosts]
        self.outcomes: list[Outcome | None] = [None] * len(functions)
        self.stop: Stop | None = None
        self.begun = False
        for member in self.tasks:
            member.within = self
        task.beside = self

    @property
    def steps(self) -> int:
        return sum(task.steps for task in self.tasks)

    @property
    def over(self) -> bool:
        return self.stop is not None or all(type(outcome) is Returned for outcome in self.outcomes)

    def begin(self) -> None:
        """Runs each function as far as it goes without waiting, in their order, until one stops."""
        self.begun = True
        for number, function in enumerate(self.functions):
            try:
                call_value(self.tasks[number], function, [], [])
            except Stop as stop:
                self._stopped(stop)
            else:
                self.advance(number)
            if self.stop is not None:
                return

    def unfinished(self) -> list[int]:
        return [number for number, outcome in enumerate(self.outcomes) if type(outcome) is not Returned]

    def waits_for(self, number: int) -> Any:
        """The Waiting of a function; None where it has only used up its slice."""
        outcome = self.outcomes[number]
        return outcome.waiting if isinstance(outcome, Pending) else None

    def resume(self, number: int, value: Any) -> None:
        """Goes on with a function, with what its host call came to."""
        self.tasks[number].resume(value)
        self.advance(number)

    def fail(self, number: int, stop: Stop) -> None:
        """Goes on with a function whose host call raised a stop."""
        self.tasks[number].fail(stop)
        self.advance(number)

    def advance(self, number: int) -> None:
        """Runs a function as far as it goes, within what is left of its caller's steps."""
        task, root = self.tasks[number], self.task
        while root.within is not None:
            root = root.within.task
        limit = root.max_steps
        if limit is not None:
            task.max_steps = task.steps + max(limit - root.steps, 0)
        outcome = self.outcomes[number] = task.run(SLICE)
        if type(outcome) is Failed:
            stop = outcome.stop
            if stop.kind == "compute" and limit is not None:
                stop.message = out_of_compute(limit).message
            self._stopped(stop)
        elif type(outcome) is Returned and type(outcome.value) is Err:
            self._stopped(error_stop(outcome.value))
        elif type(outcome) is Suspended:
            text = outcome.question.text
            message = f'functions that run side by side can\'t ask (the question was "{text}"): ask before'
            self._stopped(Stop(message, "question"))

    def values(self) -> list[Any]:
        """What the functions gave, in their order. Raises the Stop that ended them."""
        if self.stop is not None:
            raise self.stop
        return [outcome.value for outcome in self.outcomes if isinstance(outcome, Returned)]

    def end(self) -> int:
        """Gives up what the functions held; the steps that they were charged, which are the caller's from here on."""
        steps = self.steps
        self.task.beside = None
        for task in self.tasks:
            self.task.host.joined(task.host)  # type: ignore[attr-defined]
        return steps

    def _stopped(self, stop: Stop) -> None:
        if self.stop is None:
            stop.places += places(self.task.program, self.task.frames, self.pc)
            self.stop = stop
