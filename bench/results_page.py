"""Makes the page of the results, bench/results/README.md with its plots, from the figures that the suites wrote.

python bench/results_page.py        (`make bench` ends with it)
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "quillo"  # the same figures give the same file
import matplotlib.pyplot as plt  # noqa: E402

RESULTS = Path(__file__).resolve().parent / "results"
Row = dict[str, Any]


def rows() -> dict[str, Row]:
    """The results by name."""
    found = (json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("*.json")))
    return {row["name"]: row for row in found}


def mean(chosen: list[Row]) -> float:
    """The geometric mean of ratios."""
    return math.exp(sum(math.log(row["ratio"]) for row in chosen) / len(chosen))


def drawn(title: str, chosen: list[Row], file: str, bars: dict[float, str], cut: int = 0) -> str:
    """Draws ratios as bars with their spread; gives the line of the page that shows it.

    `bars` are the limits to keep, with what stands beside them; `cut` characters of the names are left out.
    """
    chosen = sorted(chosen, key=lambda row: row["ratio"])
    middle = [row["ratio"] for row in chosen]
    below = [row["ratio"] - row["ratio_min"] for row in chosen]
    above = [row["ratio_max"] - row["ratio"] for row in chosen]
    figure, axes = plt.subplots(figsize=(8, 0.7 + 0.3 * len(chosen)))
    names = [row["name"][cut:] for row in chosen]
    axes.barh(names, middle, xerr=[below, above], color="#4a7fb5", ecolor="#888888", capsize=2)
    for place, label in bars.items():
        axes.axvline(place, color="#b5524a", linestyle="--", linewidth=1)
        axes.text(place, len(chosen) - 0.5, f" {label}", color="#b5524a", fontsize=8, va="bottom")
    axes.set_title(title, fontsize=10, pad=14)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(RESULTS / file, metadata={"Date": None})
    plt.close(figure)
    return f"![{title}]({file})\n"


def table(chosen: list[Row]) -> list[str]:
    lines = ["| what | beside | ratio | lowest to highest | ours | theirs |", "|---|---|---:|---:|---:|---:|"]
    for row in chosen:
        lines.append(
            f"| `{row['name']}` | {row.get('beside', 'the SDK')} | **{row['ratio']:.3g}** | {row['ratio_min']:.3g} to "
            f"{row['ratio_max']:.3g} | {row['ours']:.3g} {row['unit']} | {row['peer']:.3g} {row['unit']} |"
        )
    return lines


def compile_table(found: dict[str, Row]) -> list[str]:
    lines = [
        "| lines | from a cold start | lowest to highest | of the processor | a line | peak |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for row in sorted((row for row in found.values() if "microseconds_a_line" in row), key=lambda row: row["lines"]):
        lines.append(
            f"| {row['lines']:,} | {row['ours']:.2f} s | {row['lowest']:.2f} to {row['highest']:.2f} | "
            f"{row['processor']:.2f} s | {row['microseconds_a_line']:.0f} µs | {row['peak_mib']:.0f} MiB |"
        )
    return lines


def _of_engine(engine: str) -> Callable[[list[Row]], list[Row]]:
    return lambda found: [row for row in found if row["name"].startswith(f"{engine}_")]


ENGINES = (("translator", _of_engine("translator"), 1.25), ("interpreter", _of_engine("interpreter"), 15))


def page(found: dict[str, Row]) -> str:
    """The page's text; the plots are written beside it."""
    beside = [row for row in found.values() if "peer" in row]
    vm = [row for row in beside if row["name"].startswith(("translator_", "interpreter_"))]
    monty = [row for row in beside if row["name"].startswith("monty_")]
    snapshots = [row for row in beside if row["name"].startswith("snapshot_")]
    calls = [row for row in beside if row["unit"] == "calls/s"]
    rest = [row for row in beside if row not in vm + monty + snapshots + calls]
    lines = [
        "# Results",
        "",
        "Made by `make bench`. What the figures mean, and how they are taken: `../README.md`.",
        "",
    ]
    lines += [
        "A ratio is ours divided by theirs, the median of the rounds; whiskers are the lowest and the highest.",
        "",
    ]
    for engine, of, most in ENGINES:
        if of(vm):
            lines += [f"## The {engine} beside CPython (time: less is better)", ""]
            lines += [f"Geometric mean: **{mean(of(vm)):.2f}**", ""]
            plot = drawn(
                "time beside CPython", of(vm), f"{engine}.svg", {most: f"mean at most {most}"}, len(engine) + 1
            )
            lines += [plot, *table(of(vm)), ""]
    if monty:
        lines += ["## The translator beside pydantic-monty (time)", "", f"Geometric mean: **{mean(monty):.2f}**", ""]
        lines += [
            drawn("time beside pydantic-monty", monty, "monty.svg", {1: "as fast"}, len("monty_")),
            *table(monty),
            "",
        ]
    if snapshots:
        lines += ["## Snapshots beside pydantic-monty: save and load (time, bytes)", ""]
        lines += [
            drawn("beside pydantic-monty", snapshots, "snapshots.svg", {0.4: "time 0.4", 0.5: ""}),
            *table(snapshots),
        ]
        if "snapshot_deep" in found:
            row = found["snapshot_deep"]
            lines += ["", f"1,000 frames deep: {row['ours'] * 1000:.2f} ms, {row['bytes']:,} bytes."]
        lines += [""]
    if calls:
        lines += ["## Calls over stdio beside the official SDK (calls a second: more is better)", ""]
        lines += [drawn("calls a second, times the SDK's", calls, "calls.svg", {8: "8", 12: "12"}), *table(calls), ""]
    if rest:
        lines += ["## Start and memory beside the official SDK (less is better)", ""]
        lines += [drawn("of the SDK's", rest, "start.svg", {0.25: "start 0.25", 0.6: "memory 0.6"}), *table(rest), ""]
    if "compile_growth" in found:
        growth = found["compile_growth"]
        lines += ["## Compiling", "", *compile_table(found), ""]
        lines += [
            f"A line of 20,000 takes **{growth['ratio']:.2f}** of one of 1,000 "
            f"({growth['ratio_min']:.2f} to {growth['ratio_max']:.2f}).",
            "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    results = rows()
    (RESULTS / "README.md").write_text(page(results), encoding="utf-8")
    beside_python = [row for row in results.values() if "peer" in row]
    print(f"bench/results/README.md: {len(results)} results")
    for name, of, _ in ENGINES:
        if of(beside_python):
            print(f"the {name} takes {mean(of(beside_python)):.2f} of CPython's time (geometric mean)")
