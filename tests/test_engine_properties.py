"""Random programs come to the same result, stop and steps in every way of running them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from qasm.module import Module
from qvm.program import Program
from tests.engine import RecordingHost, ending, in_small_slices, saved_every, shown, step_by_step, straight
from tests.random_modules import modules

MOST_STEPS = 2_000
QUIETLY = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def all_endings(module: Module, drive: Any, fused: bool = False) -> list[Any]:
    host = RecordingHost()
    program = Program(module)
    program.fused = fused
    found = []
    for entry in module.entries:
        task = program.call(entry, [], host, MOST_STEPS)
        outcome, task = drive(program, task, host)
        found.append(ending(outcome, task))
    found.append([[name, shown(arguments)] for name, arguments in host.calls])
    found.append(host.changes)
    found.append([shown(cell.value) for cell in program.globals])
    return found


@given(module=modules())
@QUIETLY
def test_stepping_comes_to_the_same(module):
    assert all_endings(module, step_by_step) == all_endings(module, straight)


@pytest.mark.parametrize("drive", [straight, in_small_slices], ids=lambda drive: drive.__name__)
@given(module=modules())
@QUIETLY
def test_superinstructions_come_to_the_same(drive, module):
    assert all_endings(module, drive, fused=True) == all_endings(module, straight)


@pytest.mark.parametrize("distance", [1, 3])
@given(module=modules())
@QUIETLY
def test_saving_and_loading_between_instructions_changes_nothing(distance, module):
    assert all_endings(module, saved_every(distance), fused=True) == all_endings(module, straight)
