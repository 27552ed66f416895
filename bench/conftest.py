"""Where the benchmarks find the two servers that they set side by side, and how they say what came out.

A figure is a ratio: both servers take turns in one run, and a ratio is the median of the ratios of its rounds.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
OURS = [str(Path(sys.executable).with_name("quillo")), "mcp", str(HERE / "notes.qwe")]
PEER = [sys.executable, str(HERE / "peers" / "notes_sdk.py")]
RESULTS = HERE / "results"


def keep(row: dict[str, Any]) -> None:
    """Writes a result down: `row["name"]` names its file."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({**row, "python": sys.version.split()[0]}, indent=2)
    (RESULTS / f"{row['name']}.json").write_text(text + "\n", encoding="utf-8")


class Ratio:
    """Collects (ours, peer) pairs, one a round."""

    def __init__(self, name: str, unit: str, peer: str, say: Callable[[str], None]) -> None:
        self.name, self.unit, self.peer, self._say = name, unit, peer, say
        self.pairs: list[tuple[float, float]] = []

    def add(self, ours: float, peer: float) -> None:
        self.pairs.append((ours, peer))

    def report(self) -> float:
        ratios = sorted(ours / peer for ours, peer in self.pairs)
        middle = statistics.median(ratios)
        row = {
            "name": self.name,
            "unit": self.unit,
            "beside": self.peer,
            "ours": statistics.median(ours for ours, _ in self.pairs),
            "peer": statistics.median(peer for _, peer in self.pairs),
            "ratio": middle,
            "ratio_min": ratios[0],
            "ratio_max": ratios[-1],
            "rounds": len(ratios),
        }
        keep(row)
        self._say(
            f"{self.name}: {middle:.2f} of {self.peer} ({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(ratios)} rounds)"
            f"; ours {row['ours']:.4g} {self.unit}, {self.peer} {row['peer']:.4g} {self.unit}"
        )
        return middle


@pytest.fixture
def say(request):
    """Prints a line at once, past pytest's capture."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def print_at_once(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", flush=True)

    return print_at_once


@pytest.fixture
def ratio(say):
    """Makes a Ratio that says what came out."""
    return lambda name, unit, peer="the SDK": Ratio(name, unit, peer, say)
