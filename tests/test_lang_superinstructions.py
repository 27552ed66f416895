"""The programs of tests/lang keep their promises, in the same steps, when everything is fused from the start."""

from __future__ import annotations

import pytest

from qvm.program import Outcome, Program, Task
from server.host import ProgramHost
from tests.programs import broken_promises, promises, ran, straight
from tests.test_lang import HERE, PROGRAMS, module_of


def fused(program: Program, task: Task, host: ProgramHost) -> tuple[Outcome, Task]:
    program.fused = True
    return straight(program, task, host)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.relative_to(HERE).as_posix())
def test_superinstructions_keep_the_promises(path):
    module = module_of(path)
    done = ran(module, fused)
    assert broken_promises(promises(path.read_text("utf-8")), done) == []
    assert done.steps == ran(module).steps
