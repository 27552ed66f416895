"""Small programs for tests: compile a text, run its top level, see what it printed and how it ended."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.compile import compile_program
from compiler.diagnostics import Diagnostic, Diagnostics
from compiler.source import Source, SourceError
from qasm.module import Module
from qvm.program import Failed, Outcome, Pending, Program, Returned, Task, Yielded
from qvm.values import Err, Stop
from server.host import ProgramHost, World


class DoesNotCheck(AssertionError):
    """A program that was meant to check has errors."""

    def __init__(self, found: list[Diagnostic]) -> None:
        super().__init__("\n".join(d.explained() for d in found))
        self.found = found


def compiled(text: str, files: dict[str, str] | None = None) -> Module:
    """The Module of a program. `files` are the used files' texts by path. Raises DoesNotCheck."""

    def load(path: str) -> Source:
        if files is None or path not in files:
            raise SourceError("is not there")
        return Source(path, files[path])

    diagnostics = Diagnostics()
    module = compile_program(Source("main.qwe", text), load, "main", diagnostics)
    if module is None:
        raise DoesNotCheck(diagnostics.in_order())
    return module


@dataclass
class Ran:
    """What a program did. `stop` is the stop that ended it."""

    lines: list[str] = field(default_factory=list)
    stop: Stop | None = None
    steps: int = 0


# Brings one Task to its end (or to where it waits): what the modes of the language tests differ in.
Drive = Callable[[Program, Task, ProgramHost], tuple[Outcome, Task]]


def straight(program: Program, task: Task, host: ProgramHost) -> tuple[Outcome, Task]:
    outcome = task.run()
    while isinstance(outcome, Yielded):
        outcome = task.run()
    return outcome, task


def ran(
    module: Module,
    drive: Drive = straight,
    max_steps: int | None = 5_000_000,
    engine: Callable[[Module], Program] = Program,
) -> Ran:
    """Runs a Module's top level with the hosts that `quillo run` uses, in an empty folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        result = Ran()
        printed: list[str] = []
        world = World(folder, printed.append, printed.append)
        program = engine(module)
        host = ProgramHost(world, world.database.scope())
        try:
            for entry in module.entries:
                task = program.call(entry, [], host, max_steps)
                outcome, task = drive(program, task, host)
                result.steps += task.steps
                if isinstance(outcome, Failed):
                    result.stop = outcome.stop
                    break
                assert not isinstance(outcome, Pending), "a program of a language test waits for nothing"
                assert isinstance(outcome, Returned), outcome
                assert not isinstance(outcome.value, Err)
        finally:
            host.scope.finish()
            world.database.close()
        text = "".join(printed)
        result.lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []
        return result


PROMISE = re.compile(r"//\s*(prints|stops(?:@\d+)?):\s?(.*)$")


@dataclass
class Promises:
    """What a program's comments say that it does: `// prints: TEXT`, `// stops: MESSAGE` (or /PATTERN/).

    A stop is on the line of its comment, or on line N with `stops@N`. Printed lines come in the order of the comments.
    """

    lines: list[str]
    stop: tuple[int, str] | None


def promises(text: str) -> Promises:
    lines: list[str] = []
    stop: tuple[int, str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        found = PROMISE.search(line)
        if not found:
            continue
        kind, what = found.groups()
        if kind == "prints":
            lines.append(what)
        else:
            assert stop is None, "a program stops once"
            stop = (int(kind.partition("@")[2] or number), what)
    return Promises(lines, stop)


def broken_promises(promised: Promises, done: Ran) -> list[str]:
    """What a run did otherwise than promised, in words; both ways: what was not promised counts, too."""
    broken = []
    if promised.lines != done.lines:
        for number in range(max(len(promised.lines), len(done.lines))):
            want = promised.lines[number] if number < len(promised.lines) else "(nothing)"
            got = done.lines[number] if number < len(done.lines) else "(nothing)"
            if want != got:
                broken.append(f"print {number + 1}: promised {want!r}, got {got!r}")
                break
    if promised.stop is None:
        if done.stop is not None:
            place = done.stop.places[0].line if done.stop.places else "?"
            broken.append(f"not promised: stops at line {place}: {done.stop.message}")
    elif done.stop is None:
        broken.append(f"promised but absent: stops: {promised.stop[1]}")
    else:
        line, message = promised.stop
        place = done.stop.places[0].line if done.stop.places else None
        if place != line:
            broken.append(f"stops at line {place}, promised line {line}: {done.stop.message}")
        if len(message) > 1 and message.startswith("/") and message.endswith("/"):
            if not re.search(message[1:-1], done.stop.message):
                broken.append(f"stops with {done.stop.message!r}, promised {message}")
        elif done.stop.message != message:
            broken.append(f"stops with {done.stop.message!r}, promised {message!r}")
    return broken
