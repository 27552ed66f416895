"""The VM beside hand-written CPython, and beside pydantic-monty where that can say the program.

Each program is called in turns with its peers; every answer is compared with CPython's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from vm_programs import FOLDER, NAMES, ours, python

ROUNDS = 7
TURNS = 3  # of a round beside a process of its own: the least leaves out what others take
SHORTEST = 0.01  # seconds that a measurement takes, at least


def seconds(call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Of one call; short ones are repeated, and divided again."""
    calls = 0
    begin = clock()
    while True:
        call()
        calls += 1
        taken = clock() - begin
        if taken >= SHORTEST:
            return taken / calls


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", ["translator", "interpreter"])
@pytest.mark.benchmark(group="vm")
def test_beside_cpython(benchmark, ratio, engine, name):
    quillo, cpython = ours(name, engine), python(name)
    expected = cpython()
    for _ in range(2):  # the interpreter fuses what is called a second time
        assert quillo() == expected
    pairs = ratio(f"{engine}_{name}", "s", "CPython")
    for _ in range(ROUNDS):  # both in this process: its own time is counted, not that of others on the machine
        pairs.add(seconds(quillo, time.process_time), seconds(cpython, time.process_time))
    pairs.report()
    benchmark.pedantic(quillo, rounds=3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.benchmark(group="monty")
def test_beside_monty(benchmark, ratio, name):
    pydantic_monty = pytest.importorskip("pydantic_monty")
    quillo, expected = ours(name), python(name)()
    with pydantic_monty.Monty() as pool, pool.checkout() as session:
        try:
            session.feed_run((FOLDER / f"{name}.py").read_text("utf-8"))
            assert session.feed_run("bench()") == expected
        except Exception as problem:
            pytest.skip(f"pydantic-monty can't say it: {str(problem)[:80]}")
        for _ in range(2):
            assert quillo() == expected
        pairs = ratio(f"monty_{name}", "s", "pydantic-monty")
        for _ in range(ROUNDS):
            turns = [(seconds(quillo), seconds(lambda: session.feed_run("bench()"))) for _ in range(TURNS)]
            pairs.add(min(turn[0] for turn in turns), min(turn[1] for turn in turns))
        pairs.report()
    benchmark.pedantic(quillo, rounds=1)
