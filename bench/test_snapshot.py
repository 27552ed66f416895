"""Saving and loading a suspended call, beside pydantic-monty's: the time of both together, and the bytes.

pydantic-monty works in a process of its own, so the clock on the wall is all that can be read; the least of a few turns
is the round's time, which leaves out what others on the machine take. In each turn either does both once before it is
timed: after the other one's turn its code and data are in no cache of the processor.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from conftest import keep
from vm_programs import Nothing, program_of

from qvm.host import Unanswered
from qvm.program import Returned, Suspended
from qvm.snapshot import load, save

ROUNDS = 9
TURNS = 5  # of a round
STATES = {
    "small": ("let x = 20", "x = 20\n", "x"),
    "records": (
        "let data = for i in range(0, 10000) => { id: i, name: `n${i}` }\n  let x = len(data)",
        'data = [{"id": i, "name": "n" + str(i)} for i in range(10000)]\nx = len(data)\n',
        "x",
    ),
    "deep": (None, "def f(n):\n    return 20 if n == 0 else f(n - 1)\nx = f(1)\n", "x"),
}
DEEP = 'fn f(n: int) -> int = if n == 0 { if confirm("go on?") { 1 } else { 0 } } else { f(n - 1) + 1 }\n'


class Asking(Nothing):
    """Has no answer, and then one."""

    def ask(self, question: Any) -> Any:
        raise Unanswered(question)


def program(folder: Path, state: str) -> Any:
    setup = STATES[state][0]
    path = folder / f"{state}.qwe"
    if setup is None:
        path.write_text(DEEP + "fn bench() -> int = f(1000)\n")
    else:
        path.write_text(f'fn bench() -> int {{\n  {setup}\n  if confirm("go on?") {{ x + 1 }} else {{ x }}\n}}\n')
    return program_of(path)


def theirs(pool: Any, state: str) -> tuple[float, int]:
    """Seconds that pydantic-monty takes for both, and the bytes."""
    _, setup, use = STATES[state]
    with pool.checkout() as session:
        session.feed_run(setup)
        waiting = session.feed_start(f"answer = ask({use})\nanswer")
        waiting.dump()
        begin = time.perf_counter()
        blob = waiting.dump()
        taken = time.perf_counter() - begin
    with pool.checkout() as session:
        session.load_snapshot(blob)
    with pool.checkout() as session:
        begin = time.perf_counter()
        session.load_snapshot(blob)
        return taken + time.perf_counter() - begin, len(blob)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.benchmark(group="snapshot")
def test_save_and_load(benchmark, ratio, say, state, tmp_path):
    running, number = program(tmp_path, state)
    task = running.call(number, [], Asking())
    while type(outcome := task.run()) is not Suspended:
        assert type(outcome) is not Returned

    def ours() -> tuple[float, int]:
        load(running, save(task), Asking())
        begin = time.perf_counter()
        data = save(task)
        again = load(running, data, Asking())
        elapsed = time.perf_counter() - begin
        assert type(again.run()) is Suspended
        return elapsed, len(data)

    pydantic_monty = pytest.importorskip("pydantic_monty")
    if state == "deep":
        times = sorted(ours()[0] for _ in range(ROUNDS))
        keep(
            {
                "name": "snapshot_deep",
                "unit": "s",
                "ours": times[ROUNDS // 2],
                "lowest": times[0],
                "highest": times[-1],
                "bytes": ours()[1],
                "rounds": ROUNDS,
            }
        )
        say(f"snapshot_deep: {times[ROUNDS // 2] * 1000:.2f} ms, {ours()[1]} bytes (1,000 frames; no peer has them)")
    else:
        took = ratio(f"snapshot_{state}", "s", "pydantic-monty")
        sizes = ratio(f"snapshot_{state}_bytes", "bytes", "pydantic-monty")
        with pydantic_monty.Monty() as pool:
            for _ in range(ROUNDS):
                turns = [(*ours(), *theirs(pool, state)) for _ in range(TURNS)]
                took.add(min(turn[0] for turn in turns), min(turn[2] for turn in turns))
                sizes.add(turns[0][1], turns[0][3])
        took.report()
        sizes.report()
    benchmark.pedantic(ours, rounds=3)
