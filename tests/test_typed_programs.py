"""Programs made at random: both engines end them alike, and what checks without `any` never stops for a value's kind.

`python -m tests.test_typed_programs 10000 [SEED]` runs so many; the suite runs a few.
"""

from __future__ import annotations

import re
import sys

import pytest

from qvm.program import Program
from tests.programs import DoesNotCheck, compiled
from tests.test_translator import ended, warm
from tests.typed_programs import program

A_FEW = 150
MOST_STEPS = 200_000
# What a program may stop for whose types are right: edges of numbers, places that are not there, limits, no number.
ALLOWED = re.compile(
    r"over 64 bits|division by zero|by zero|out of range|no item|nested too deep|10,000|more than .* steps"
    r"|64 MiB|can't be|too big|has [0-9]+ |compute"
)


def differences(seed: int) -> list[str]:
    """What is wrong with how the program of a seed runs; empty if nothing is."""
    try:
        module = compiled(program(seed))
    except DoesNotCheck:  # such as `n + 1` where `n` is surely null
        return []
    plain = ended(Program(module), MOST_STEPS)
    translated = ended(warm(module), MOST_STEPS)
    found = []
    if plain != translated:
        found.append(f"seed {seed}: interpreter {plain}\n translator {translated}")
    ends = plain[0]
    assert isinstance(ends, list)
    last = ends[-1]
    if last[0] == "stopped" and not ALLOWED.search(last[1]):
        found.append(f"seed {seed}: {last}")
    return found


@pytest.mark.parametrize("seed", range(A_FEW))
def test_a_random_program_ends_alike_on_both_engines_and_not_for_a_kind(seed):
    assert differences(seed) == []


def test_random_programs_do_much():
    ends = [ended(warm(compiled(program(seed))), MOST_STEPS) for seed in range(40)]
    assert sum(bool(printed) for _, printed in ends) >= 25
    assert sum(end[-1][0] == "returned" for end, _ in ends) >= 20


if __name__ == "__main__":
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    wrong = 0
    for each in range(first, first + count):
        try:
            messages = differences(each)
        except Exception as problem:
            messages = [f"seed {each}: {type(problem).__name__}: {problem}"[:600]]
        wrong += bool(messages)
        for message in messages:
            print(message)
    print(f"{count} programs, {wrong} wrong")
