"""Where the benchmarks find the two servers that they set side by side, and how they say what came out.

A figure is a ratio: both servers take turns in one run, and a ratio is the median of the ratios of its rounds.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OURS = [str(Path(sys.executable).with_name("quillo")), "mcp", str(HERE / "notes.qwe")]
PEER = [sys.executable, str(HERE / "peers" / "notes_sdk.py")]
RESULTS = HERE / "results"


class Ratio:
    """Collects (ours, peer) pairs, one a round."""

    def __init__(self, name: str, unit: str, peer: str = "the SDK") -> None:
        self.name, self.unit, self.peer = name, unit, peer
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
            "python": sys.version.split()[0],
        }
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{self.name}.json").write_text(json.dumps(row, indent=2) + "\n", encoding="utf-8")
        print(
            f"\n{self.name}: {middle:.2f} of {self.peer} ({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(ratios)} rounds)"
            f"; ours {row['ours']:.4g} {self.unit}, {self.peer} {row['peer']:.4g} {self.unit}"
        )
        return middle


@pytest.fixture
def ratio(request):
    made = []

    def make(name: str, unit: str, peer: str = "the SDK") -> Ratio:
        made.append(Ratio(name, unit, peer))
        return made[-1]

    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        yield make
