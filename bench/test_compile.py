"""Compiling: 1,000 and 10,000 lines from a cold start, and whether the time of a line grows with the program.

Each measurement is a process of its own that compiles once, so that nothing is warm but the disk's cache.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import keep

ROUNDS = 3
SIZES = (1_000, 10_000, 20_000)

# A part of a program, with what programs are made of: types, functions, tools, queries, loops, errors, pages.
PART = """
type Order{n} = { id: int, name: str, price: float, count: int, note?: str }

/// What the orders of a customer come to.
fn total{n}(orders: list<Order{n}>, tax: float = 0.2) -> float ! str {
  let sum = 0.0
  for order in orders {
    if order.count > 0 && order.price >= 0.0 {
      sum += order.price * order.count
    } else if order.count == 0 {
      continue
    } else {
      return err(`bad count ${order.count} of ${order.name}`)
    }
  }
  let names = orders | filter(order => order.count > 1) | map(order => { name: order.name, n: order.count })
  let label = match len(names) {
    0 => "none"
    n if n > 100 => "many"
    _ => names[0].name
  }
  if label == "none" { 0.0 } else { sum * (1.0 + tax) }
}

/// The orders of a customer, the newest first.
fn mcp orders{n}(customer: str, limit: int = 20) -> list<Order{n}> with db =
  db.query("select id, name, price, count from orders where customer = ? order by id desc limit ?", customer, limit)

component Row{n}(order: Order{n}) = <tr class="order" id={order.id}>
  <td>{order.name}</td><td>{order.price}</td>
</tr>

route GET /orders{n}/:customer with db {
  let found = orders{n}(customer)
  let sum = total{n}(found) ?? 0.0
  <table>
    {for order in found => <Row{n} order={order}/>}
    <tr><td>{sum}</td></tr>
  </table>
}
"""

# A small program first, so that the compiler is imported: the time of a line is the program's own.
COMPILE = """
import json, sys, time
from server.programs import compile_file
compile_file(sys.argv[1])
begin = time.process_time()
module, found = compile_file(sys.argv[2])
taken = time.process_time() - begin
assert module is not None and not found, found[:3]
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(json.dumps([taken, int(peak) / 1024]))
"""


def written(folder: Path, lines: int) -> Path:
    """A program of about so many lines."""
    size = PART.count("\n")
    text = 'db.open(":memory:")\n' + "".join(PART.replace("{n}", str(n)) for n in range(lines // size))
    path = folder / f"{lines}.qwe"
    path.write_text(text, encoding="utf-8")
    return path


def compiled(path: Path) -> tuple[float, float, float, float]:
    """Of a new process that compiles: its seconds, its processor's seconds, those of the compiling alone, peak MiB."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    small = path.with_name("small.qwe")
    small.write_text('print("small")\n', encoding="utf-8")
    used = children_seconds()
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, str(small), str(path)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    whole = time.perf_counter() - begin
    assert done.returncode == 0, done.stderr
    inside, peak = json.loads(done.stdout)
    return whole, children_seconds() - used, inside, peak


def children_seconds() -> float:
    """The processor's time that ended child processes have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.benchmark(group="compile")
def test_lines_cold(benchmark, say, tmp_path):
    paths = {size: written(tmp_path, size) for size in SIZES}
    compiled(paths[SIZES[0]])  # the compiler's own modules are compiled and in the disk's cache
    taken: dict[int, list[tuple[float, float, float, float]]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):
        for size in SIZES:
            taken[size].append(compiled(paths[size]))
    lines = {size: paths[size].read_text("utf-8").count("\n") for size in SIZES}
    for size in SIZES:
        wholes, processor, inside, peaks = (sorted(column) for column in zip(*taken[size], strict=True))
        keep(
            {
                "name": f"compile_{size}",
                "unit": "s",
                "ours": statistics.median(wholes),
                "lowest": wholes[0],
                "highest": wholes[-1],
                "processor": statistics.median(processor),
                "lines": lines[size],
                "microseconds_a_line": statistics.median(inside) / lines[size] * 1e6,
                "peak_mib": statistics.median(peaks),
                "rounds": ROUNDS,
            }
        )
        say(
            f"compile_{size}: {lines[size]} lines, from a cold start {statistics.median(wholes):.2f} s "
            f"({wholes[0]:.2f} to {wholes[-1]:.2f}), {statistics.median(processor):.2f} s of the processor, "
            f"{statistics.median(inside) / lines[size] * 1e6:.0f} microseconds a line, {peaks[-1]:.0f} MiB"
        )
    # The two of one round stand beside each other.
    growth = sorted(
        (long[2] / lines[SIZES[-1]]) / (short[2] / lines[SIZES[0]])
        for long, short in zip(taken[SIZES[-1]], taken[SIZES[0]], strict=True)
    )
    keep(
        {
            "name": "compile_growth",
            "unit": "a line's time at 20,000 lines / at 1,000",
            "ratio": statistics.median(growth),
            "ratio_min": growth[0],
            "ratio_max": growth[-1],
            "rounds": ROUNDS,
        }
    )
    say(f"compile_growth: a line of 20,000 takes {statistics.median(growth):.2f} of one of 1,000")
    benchmark.pedantic(compiled, args=(paths[SIZES[0]],), rounds=1)
