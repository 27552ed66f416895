"""For tests of recording: a client of a program whose calls are recorded, and its recordings, replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qvm.recording import Recording, load
from qvm.recording_start import own_module
from qvm.replay import Replay
from server.recorder import Recorder
from tests.talking import Talk


class RecordedTalk(Talk):
    """Talks to a program whose calls are recorded into `folder`/calls."""

    def __init__(self, text: str, folder: Path, known: list[tuple[str, str]] | None = None, **limits: int) -> None:
        self.calls = folder / "calls"
        self.known = known or []
        self.limits = limits
        super().__init__(text, folder)
        self.protocol.recorder = self.recorder

    def start(self) -> None:
        world = self.running.world
        self.recorder = Recorder(str(self.calls), self.module, self.log.append, world.clock, self.known, **self.limits)
        self.running.run_top_level(self.recorder)

    def files(self) -> list[Path]:
        return sorted(self.calls.iterdir())

    def recordings(self) -> list[Recording]:
        return [load(file.read_bytes()) for file in self.files()]


def replayed(recording: Recording, stepping: bool = False) -> Replay:
    """A recording that has been run again."""
    replay = Replay(recording, own_module(recording))
    while stepping and not replay.over:
        replay.step()
    replay.run()
    return replay


def differences(recording: Recording, **ways: Any) -> list[tuple[str, str, str]]:
    verdict = replayed(recording, **ways).verdict()
    assert verdict.same == (not verdict.differences and not verdict.cut)
    return verdict.differences
