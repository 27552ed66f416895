"""Runs a recorded call again, without its database, network or clock: what came in then comes in from the recording.

    replay = Replay(recording, module)          the recording's own Module, or the one of a changed program
    replay.run()                                to its end, to the end of the recording, or to where it goes another way
    replay.verdict()                            what is the same and what is not

`Replay.step` does one instruction instead. Where a run asks for something else than the recording holds next, it can't
go on: AnotherWay is kept in `replay.another_way`, and the Task stays where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qasm import module_file
from qvm import snapshot
from qvm.frames import Failed, Outcome, Pending, Returned, Suspended, Yielded
from qvm.marks import Secrets
from qvm.program import Program, Task
from qvm.recorded_host import AnotherWay, RecordedHost, ending_text, event_words
from qvm.recording import (
    ASKED,
    CANCELLED,
    CUT,
    NOTHING,
    RETURNED,
    STOPPED,
    BadRecording,
    Event,
    Recording,
    change_value,
    pack_value,
    question_fields,
    stop_fields,
    unpack_value,
)
from qvm.recording_start import StartFailed, started
from qvm.snapshot import BadSnapshot
from qvm.values import Stop

if TYPE_CHECKING:
    from qasm.module import Module

_NO_END = 1 << 60


class Verdict:
    """What a replay came to. `differences` are (what, recorded, now): "result", "stop", "questions", "steps" or "way".

    `same` is true where there are none and the recording is whole. `place` is (file, line) of the first difference.
    """

    def __init__(self, differences: list[tuple[str, str, str]], cut: str) -> None:
        self.differences = differences
        self.cut = cut
        self.place: tuple[str, int] | None = None

    @property
    def same(self) -> bool:
        return not self.differences and not self.cut


class Replay:
    """A recorded call as it runs again. Raises BadRecording where it can't even begin.

    `task` is the call as it stands; `instructions` how many `step` has done, `outcome` how it ended, None before.
    """

    def __init__(self, recording: Recording, module: Module) -> None:
        self.recording = recording
        self.module = module
        self.program = Program(module)
        self.same_program = module_file.dump(module) == recording.module
        self.another_way: AnotherWay | None = None
        self.outcome: Outcome | None = None
        self.over = False
        self.instructions = 0
        self.left_out = 0  # times that others ran meanwhile, and what they changed is not known to this program
        self._begin()

    def _begin(self) -> None:
        recording = self.recording
        # Marks are all that is there of what was secret, so nothing has to be known at the start.
        self.host = RecordedHost(recording.events, Secrets(), self.same_program)
        try:
            if self.same_program:
                self.task = snapshot.load(self.program, recording.start, self.host)
            else:
                self.task = started(recording, self.program, self.host)
        except BadSnapshot as problem:
            raise BadRecording(f"its start is refused: {problem}") from None
        except StartFailed as problem:
            raise BadRecording(str(problem)) from None

    def run(self) -> None:
        """Goes on to the end."""
        while not self.over:
            turn = self.host.turn()
            slice = _NO_END if turn is None else max(turn.steps - self.task.steps - 1, 0)
            try:
                outcome = self.task.run(slice)
            except AnotherWay as way:
                self._leaves(way)
                return
            self._settle(outcome)

    def step(self) -> None:
        """Does one instruction, and what others did while the call gave way after it."""
        if self.over:
            return
        self.instructions += 1
        before = self.task.steps
        try:
            outcome = self.task.step()
        except AnotherWay as way:
            self._leaves(way)
            return
        turn = self.host.next()
        if outcome is not None:
            self._settle(outcome)
        elif turn is not None and turn.kind == "turn" and before < self.task.steps == turn.steps:
            self._settle(Yielded())

    def _settle(self, outcome: Outcome) -> None:
        """Goes on behind what a run was left for, or keeps how it ended."""
        if isinstance(outcome, Yielded):
            event = self.host.next()
            if event is None or event.kind != "turn" or event.steps != self.task.steps:
                if self.same_program:
                    self._leaves(AnotherWay(self.host.turn(), "", "", []))
                    return
                event = self._passed_turn()
            else:
                self.host.place += 1
            if event is not None and event.outcome == NOTHING:
                self.over = True  # cancelled
            elif event is not None:
                self._others_ran(event)
        elif isinstance(outcome, Pending):
            event = self.host.waiting
            assert event is not None
            self.host.waiting = None
            self._others_ran(event)
            if event.outcome == NOTHING:
                self.over = True
                return
            try:
                self.task.resume(self.host.value_of(event, None))
            except Stop as stop:
                self.task.fail(stop)
        else:
            self.outcome = outcome
            self.over = True

    def _passed_turn(self) -> Event | None:
        """In a changed program the call gives way elsewhere: its turns are taken in their order."""
        for place in range(self.host.place, len(self.host.events)):
            if self.host.events[place].kind == "turn":
                return self.host.events.pop(place)
        return None

    def _others_ran(self, event: Event) -> None:
        if not event.state:
            return
        if not self.same_program:
            self.left_out += 1
            return
        try:
            self.task = snapshot.load(self.program, event.state, self.host)
        except BadSnapshot as problem:
            raise BadRecording(f"a state in it is refused: {problem}") from None

    def _leaves(self, way: AnotherWay) -> None:
        self.another_way = way
        self.over = True

    @property
    def place(self) -> tuple[str, int] | None:
        """The file and the line where the call stands, of the program's own code; None when it is over."""
        from qvm.inspecting import place_of

        return place_of(self.task)

    def verdict(self) -> Verdict:
        """What is the same and what is not, once it is over."""
        recording, task = self.recording, self.task
        cut = recording.note or "it holds only a part of the call" if recording.ending == CUT else ""
        if self.another_way is not None:
            way = self.another_way
            if way.wanted is None and cut:
                return Verdict([], cut)
            return Verdict([("way", _event_text(way.wanted, self), _way_text(way))], cut)
        found = []
        kind, result = self._ending()
        if kind != recording.ending or (result != recording.result and not self._same_question(kind, result)):
            what = {RETURNED: "result", STOPPED: "stop"}.get(kind, "end")
            found.append((what, ending_text(recording.ending, recording.result), ending_text(kind, result)))
        asked = sum(event.kind == "ask" for event in recording.events)
        if asked != self.host.questions:
            found.append(("questions", str(asked), str(self.host.questions)))
        left = self.host.next()
        if left is not None and left.kind != "turn" and not found:
            found.append(("way", _event_text(left, self), "the end of the call"))
        if self.same_program and task.steps != recording.steps:
            found.append(("steps", str(recording.steps), str(task.steps)))
        return Verdict(found, cut)

    def _ending(self) -> tuple[str, bytes]:
        outcome = self.outcome
        change = self.host.secrets.changed
        if isinstance(outcome, Returned):
            return RETURNED, change_value(pack_value(outcome.value), change)
        if isinstance(outcome, Failed):
            return STOPPED, change_value(pack_value(stop_fields(outcome.stop)), change, (0, 2, 3))
        if isinstance(outcome, Suspended):
            return ASKED, change_value(pack_value(question_fields(outcome.question)), change, (0, 1, 2))
        return CANCELLED, b""

    def _same_question(self, kind: str, result: bytes) -> bool:
        """A stop's and a question's places are those of the program: in a changed one they may be others."""
        if self.same_program or kind not in (STOPPED, ASKED) or kind != self.recording.ending:
            return False
        count = 4 if kind == STOPPED else 3
        return pack_value(unpack_value(result)[:count]) == pack_value(unpack_value(self.recording.result)[:count])


def _event_text(event: Event | None, replay: Replay) -> str:
    if event is None:
        recording = replay.recording
        return (
            "the end of the recording" if recording.ending == CUT else ending_text(recording.ending, recording.result)
        )
    if event.kind == "turn":
        return f"other calls ran after {event.steps} steps"
    return event_words(event.kind, event.name, unpack_value(event.arguments))


def _way_text(way: AnotherWay) -> str:
    return event_words(way.kind, way.name, way.arguments) if way.kind else "no place to give way there"


def at_question(recording: Recording, module: Module) -> Task:
    """The Task of a recorded call that asked, where it asks. Raises BadRecording."""
    host = RecordedHost([], Secrets(), same_program=True)
    try:
        return snapshot.load(Program(module), recording.asked, host)
    except BadSnapshot as problem:
        raise BadRecording(f"its question's state is refused: {problem}") from None
