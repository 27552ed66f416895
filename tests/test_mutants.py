"""Programs broken at random give diagnostics or a Module, never an exception; `python -m tools.fuzz` tries more."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tools.fuzz import examine, mutate

ROOT = Path(__file__).resolve().parent.parent
TEXTS = [
    path.read_text("utf-8")
    for folder in ("examples", "tests/lang", "tests/check")
    for path in sorted((ROOT / folder).rglob("*.qwe"))
]


@pytest.mark.parametrize("seed", range(20))
def test_a_mutant_meets_diagnostics_or_compiles(seed):
    chance = random.Random(seed)
    for _ in range(40):
        text = mutate(chance.choice(TEXTS), chance)
        try:
            examine(text)
        except Exception as error:
            raise AssertionError(f"{error!r} for this program:\n{text}") from error
