"""Walks through a recorded call line by line, forward and back, and finds the line at which two programs part.

    stepper = Stepper(lambda: Replay(recording, module))
    stepper.next() · into() · out() · back() · go() · to_line("main.qwe", 12)

Rule 1  It stands before a line of the program: at the first instruction of the line, as the call comes to it. The
        language's own functions (`map`, `sort` …) are passed through.
Rule 2  Back is forward: the call is replayed anew up to the instruction before. A replay has no effects, so that this
        can be done at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from qvm.inspecting import Call, calls_of

if TYPE_CHECKING:
    from qasm.module import Module
    from qvm.frames import Frame
    from qvm.recording import Event, Recording
    from qvm.replay import Replay

MOST_COMPARED = 2_000_000  # instructions in which a difference is looked for

Line = tuple[str, int]  # file, line


class Stepper:
    """One walk. `replay` is the call where it stands; `breaks` are the lines at which `go` stops."""

    def __init__(self, start: Callable[[], Replay]) -> None:
        self._start = start
        self.replay = start()
        self.breaks: set[Line] = set()
        self._stood: list[int] = []  # the counts of instructions at which it stood before
        self._first_event = 0  # of those that came in by the last move
        if not _is_own(self.replay):
            self._move(lambda: True)
            self._stood.clear()

    @property
    def over(self) -> bool:
        return self.replay.over

    @property
    def line(self) -> Line | None:
        """Where it stands; None when the call is over."""
        return None if self.over else self.replay.place

    @property
    def calls(self) -> list[Call]:
        """The calls under way, the innermost first."""
        return calls_of(self.replay.task)

    @property
    def came_in(self) -> list[Event]:
        """What came in by the last move forward."""
        return self.replay.host.events[self._first_event : self.replay.host.place]

    # moves

    def into(self) -> None:
        """To the next line, also of a function that is called."""
        frame, line = self._top(), self._line()
        self._move(lambda: self._top() is not frame or self._line() != line)

    def next(self) -> None:
        """To the next line of this function, or of its caller when it returns."""
        frame, line, depth = self._top(), self._line(), self._depth()
        self._move(
            lambda: (
                self._depth() < depth or (self._depth() == depth and (self._top() is not frame or self._line() != line))
            )
        )

    def out(self) -> None:
        """Until this function has returned."""
        depth = self._depth()
        self._move(lambda: self._depth() < depth)

    def go(self) -> None:
        """To the next line of `breaks`, or to the end."""
        self._move_to(self.breaks)

    def to_line(self, file: str, line: int) -> bool:
        """To this line, when the call comes to it; false, and at the end, where it doesn't."""
        if self.line != (file, line):
            self._move_to({(file, line)})
        return not self.over

    def back(self) -> bool:
        """To where it stood before; false where it is at the start."""
        if not self._stood:
            return False
        target = self._stood.pop()
        self.replay = self._start()
        while self.replay.instructions < target:
            self.replay.step()
        self._first_event = self.replay.host.place
        return True

    def _move_to(self, lines: set[Line]) -> None:
        # A line that it stands on counts when it comes to it again: in another call, or from another line.
        last: list[Any] = [self._top(), self._line()]

        def is_there() -> bool:
            top, line = self._top(), self._line()
            if top is last[0] and line == last[1]:
                return False
            last[:] = top, line
            return self.replay.place in lines

        self._move(is_there)

    def _move(self, is_there: Callable[[], bool]) -> None:
        replay = self.replay
        if replay.over:
            return
        self._stood.append(replay.instructions)
        self._first_event = replay.host.place
        replay.step()
        while not replay.over and not (_is_own(replay) and is_there()):
            replay.step()

    def _top(self) -> Frame:
        return self.replay.task.frames[-1]

    def _depth(self) -> int:
        return len(self.replay.task.frames)

    def _line(self) -> int:
        return _line_of(self.replay)


def _is_own(replay: Replay) -> bool:
    """Whether the innermost call is one of the program's own functions."""
    frames = replay.task.frames
    return bool(frames) and not replay.module.functions[frames[-1].function].builtin


def _line_of(replay: Replay) -> int:
    frame = replay.task.frames[-1]
    return replay.program.prepared_function(frame.function).line(frame.pc)


# --- where two programs part ----------------------------------------------------------------------------------------


class Parting:
    """The first line at which two runs of a call differ; `recorded` and `now` are None where that run is over.

    `place` is (file, line), `source` the line's text.
    """

    def __init__(self, recorded: Step | None, now: Step | None) -> None:
        self.recorded = recorded
        self.now = now


class Step:
    """A line that a run comes to."""

    __slots__ = ("function", "place", "source")

    def __init__(self, function: str, place: Line, source: str) -> None:
        self.function = function
        self.place = place
        self.source = source

    def same(self, other: Step | None) -> bool:
        return other is not None and self.function == other.function and self.source == other.source


def parting(recorded: Replay, now: Replay) -> Parting | None:
    """Where the run of a changed program leaves the recorded one: the first line with another text. None for nowhere.

    Both are at their start, and are walked through.
    """
    for old, new in zip_longest(steps_of(recorded), steps_of(now)):
        if old is None or not old.same(new):
            return Parting(old, new)
    return None


def steps_of(replay: Replay) -> Iterator[Step]:
    """The lines that a run comes to, up to MOST_COMPARED instructions."""
    frame: Any = None
    line = 0
    rows = [file.text.split("\n") for file in replay.module.files]
    while not replay.over and replay.instructions < MOST_COMPARED:
        if _is_own(replay):
            top, now = replay.task.frames[-1], _line_of(replay)
            if top is not frame or now != line:
                frame, line = top, now
                function = replay.module.functions[top.function]
                texts = rows[function.file]
                source = texts[line - 1].strip() if 0 < line <= len(texts) else ""
                yield Step(function.name, (replay.module.files[function.file].name, line), source)
        replay.step()


def leaving_place(recording: Recording, module: Module) -> Line | None:
    """Where a run stands as it asks for something else than the recording holds: found by walking there."""
    from qvm.replay import Replay

    replay = Replay(recording, module)
    while not replay.over and replay.instructions < MOST_COMPARED:
        replay.step()
    return replay.place if replay.another_way is not None else None
