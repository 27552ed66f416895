"""The programs of tests/lang keep their promises, in every mode.

A program is a `.qwe` file, or a folder with a `main.qwe` and the files that it uses. Its comments say what it prints
and how it ends (see tests/programs.py). The folders are named by the sections of docs/language.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from qasm import module_file
from qasm.assembler import assemble
from qasm.disassembler import disassemble
from qasm.module import Module
from qasm.verifier import verify
from qvm import snapshot
from qvm.program import Outcome, Program, Task, Yielded
from server.host import ProgramHost
from tests.programs import Drive, Promises, Ran, broken_promises, compiled, promises, ran

HERE = Path(__file__).resolve().parent / "lang"
PROGRAMS = sorted(
    path
    for path in HERE.rglob("*.qwe")
    if path.name == "main.qwe"
    or not any((parent / "main.qwe").exists() for parent in path.parents if parent.is_relative_to(HERE))
)
MOST_SNAPSHOTS = 6000  # of one program; a longer one is saved at every n-th instruction


def module_of(path: Path) -> Module:
    files = {}
    if path.name == "main.qwe":
        files = {p.relative_to(path.parent).as_posix(): p.read_text("utf-8") for p in path.parent.rglob("*.qwe")}
    return compiled(path.read_text("utf-8"), files)


def restored_every(distance: int) -> Drive:
    """Steps through a Task; after every `distance` instructions it is saved, thrown away, and loaded again."""

    def drive(program: Program, task: Task, host: ProgramHost) -> tuple[Outcome, Task]:
        while True:
            for _ in range(distance):
                outcome = task.step()
                if outcome is not None and not isinstance(outcome, Yielded):
                    return outcome, task
            task = snapshot.load(program, snapshot.save(task), host)

    return drive


class Stepped:
    """Drives Tasks by single instructions; `most` is how many the longest of them took."""

    def __init__(self) -> None:
        self.most = 0

    def __call__(self, program: Program, task: Task, host: ProgramHost) -> tuple[Outcome, Task]:
        count = 0
        while True:
            outcome = task.step()
            count += 1
            if outcome is not None and not isinstance(outcome, Yielded):
                self.most = max(self.most, count)
                return outcome, task


def same(promised: Promises, done: Ran) -> None:
    assert broken_promises(promised, done) == []


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda p: p.relative_to(HERE).as_posix().removesuffix(".qwe"))
def program(request):
    return request.param, promises(request.param.read_text("utf-8")), module_of(request.param)


def test_runs_as_promised(program):
    _, promised, module = program
    verify(module)
    same(promised, ran(module))


def test_runs_as_promised_through_the_module_file_and_the_assembler(program):
    _, promised, module = program
    data = module_file.dump(module)
    loaded = module_file.load(data)
    assert module_file.dump(loaded) == data
    again = assemble(disassemble(loaded))
    assert module_file.dump(again) == data
    same(promised, ran(again))


def test_runs_as_promised_when_saved_and_restored_between_instructions(program):
    path, promised, module = program
    if "deep" in path.name or "long" in path.name:
        pytest.skip("10,000 frames saved after each instruction take minutes; test_snapshot saves such a one once")
    plain = ran(module)
    stepped = Stepped()
    counted = ran(module, stepped)
    assert (counted.lines, counted.steps) == (plain.lines, plain.steps)
    distance = max(1, stepped.most // MOST_SNAPSHOTS)
    restored = ran(module, restored_every(distance))
    same(promised, restored)
    assert restored.steps == plain.steps


def test_there_are_programs():
    assert len(PROGRAMS) > 20
