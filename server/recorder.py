"""Writes each call of a program's tools to a file of its own, so that it can be replayed (qvm/recording.py).

    recorder = Recorder(folder, module, log, clock, known)
    host = recorder.top_level(host)             before the program's top level runs
    task = recorder.call(task, tool, given, caller)     in place of the Task of a call, before its first run

A call's host and its Task are wrapped; the call itself knows nothing of it. A file is written when the call is over,
whole or not at all. What goes wrong with recording is logged and never touches the call.

Rule 1  At most `most_bytes` of one call are kept: what comes after that is left out, and the recording says so.
Rule 2  At most `most_files` files, with those of others that record into the folder (looked for now and then: it may be
        a few more for a while): the oldest go. Only files with names of recordings are touched.
Rule 3  Secrets become marks before anything is written. What one call has shown to be secret is so for all later ones.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qvm import snapshot
from qvm.frames import Failed, Outcome, Pending, Returned, Suspended, Yielded
from qvm.host import Question, Unanswered, Waiting
from qvm.interpreter import SLICE
from qvm.marks import Secrets
from qvm.recording import (
    ASKED,
    CANCELLED,
    NOTHING,
    RETURNED,
    STOP,
    STOPPED,
    UNANSWERED,
    VALUE,
    BadRecording,
    Event,
    Recording,
    compress,
    dump,
    pack_value,
    question_fields,
    stop_fields,
)
from qvm.snapshot import BadSnapshot
from qvm.values import Stop

if TYPE_CHECKING:
    from qasm.module import Module
    from qvm.host import Host
    from qvm.program import Task

MOST_BYTES = 4 * 1024 * 1024
MOST_FILES = 1_000
_LOOK_AROUND = 16  # files after which it is looked for those of other processes
_MOST_KNOWN = 256  # secrets that are kept from one call to the next
_NAME = re.compile(r"\d{8}-\d{6}-\d{3}-\d+-\d{6}-\w{1,40}\.qrec(?:\.part)?", re.ASCII)


class Recorder:
    """Records the calls of one running program into `folder`, which is made if it is not there. Raises OSError.

    `log` takes a line for people, `clock` gives the nanoseconds since 1970, `known` are texts that are secret, each
    with what it is.
    """

    def __init__(
        self,
        folder: str,
        module: Module,
        log: Callable[[str], None],
        clock: Callable[[], int],
        known: list[tuple[str, str]],
        most_bytes: int = MOST_BYTES,
        most_files: int = MOST_FILES,
    ) -> None:
        from qasm import module_file

        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "there is no permission to write there", folder)
        self.folder = folder
        self.most_bytes = most_bytes
        self.turns = 0  # runs of all calls so far: a call sees by it whether others ran
        self.known = dict(known)
        self._public = "\0".join(file.text for file in module.files)
        self._module = module_file.dump(module)
        self._compressed = compress(self._module)
        self._log = log
        self._clock = clock
        self._most_files = most_files
        self._top_level: list[Event] | None = None
        self._top_level_events = _Events(most_bytes)
        self._files = self._there()
        self._count = 0
        self._failed = False

    def _there(self) -> list[str]:
        """The names of the recordings in the folder, the oldest first."""
        return sorted(name for name in os.listdir(self.folder) if _NAME.fullmatch(name))

    def top_level(self, host: Host) -> Host:
        """The host for the program's top level."""
        self._top_level_events = _Events(self.most_bytes)
        return _Watching(host, self._top_level_events, self.secrets())

    def ready(self) -> None:
        """The top level has run: what came into it is kept for the recordings of the calls."""
        events = self._top_level_events
        if not events.note:
            secrets = events.secrets or Secrets()
            for event in events.list:
                event.change_texts(secrets.changed)
            self._top_level = events.list
        self.remember(events.secrets)

    def call(self, task: Task, tool: str, given: dict[str, Any], caller: str) -> RecordedTask:
        """A call that is about to begin, recorded."""
        return RecordedTask(self, task, tool, given, caller, self._clock() // 1_000_000)

    def secrets(self) -> Secrets:
        """What is known to be secret at the start of a call."""
        return Secrets(self.known.items(), self._public)

    def recording(self, tool: str, caller: str, time: int, given: bytes, start: bytes) -> Recording:
        made = Recording(self._module, tool, caller, time, given, start)
        made.top_level = self._top_level
        return made

    def remember(self, secrets: Secrets | None) -> None:
        """Keeps what was found to be secret for later calls."""
        if secrets is not None:
            for text, what in secrets.learned():
                self.known[text] = what
            while len(self.known) > _MOST_KNOWN:
                del self.known[next(iter(self.known))]

    def write(self, recording: Recording) -> None:
        """Writes a recording; the oldest ones go."""
        from time import gmtime, strftime

        seconds, milliseconds = divmod(recording.time, 1000)
        self._count += 1
        stamp = strftime("%Y%m%d-%H%M%S", gmtime(seconds))
        name = f"{stamp}-{milliseconds:03}-{os.getpid()}-{self._count % 1_000_000:06}-{recording.tool[:40]}.qrec"
        path = os.path.join(self.folder, name)
        unfinished = path + ".part"
        try:
            number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(number, "wb") as file:
                file.write(dump(recording, self._compressed))
            os.replace(unfinished, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            if not self._failed:  # one line: a full disk fails for each call
                self.failed((error.strerror or "it can't be written").lower())
            return
        self._failed = False
        self._files.append(name)
        if self._count % _LOOK_AROUND == 0:
            with contextlib.suppress(OSError):
                self._files = self._there()
        while len(self._files) > self._most_files:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.folder, self._files.pop(0)))

    def failed(self, why: str) -> None:
        """Says that a call could not be recorded."""
        self._failed = True
        self._log(f"quillo: a call was not recorded in {self.folder}: {why}")


class _Events:
    """The events of one call, until they are too many; `note` says why it ends there."""

    def __init__(self, most: int) -> None:
        self.list: list[Event] = []
        self.note = ""
        self.secrets: Secrets | None = None
        self._left = most

    def add(self, event: Event) -> None:
        if not self.note:
            self.list.append(event)
            self.charge(len(event.arguments) + len(event.value) + len(event.state) + 64)

    def charge(self, size: int) -> None:
        self._left -= size
        if self._left < 0 and not self.note:
            self.cut("it was too large to be recorded to its end")

    def cut(self, why: str) -> None:
        """Ends the recording here."""
        self.note = why


class _Watching:
    """A host that notes what another one gives."""

    notes_changes = False  # a call's Task was made with the host itself, which it tells of changes

    def __init__(self, host: Host, events: _Events, secrets: Secrets) -> None:
        self.host = host
        self.events = events
        self.secrets = events.secrets = secrets
        self.waiting: tuple[Event, list[Any]] | None = None

    def call(self, name: str, arguments: list[Any]) -> Any:
        try:
            value = self.host.call(name, arguments)
        except Stop as stop:
            self._note("call", name, arguments, STOP, stop_fields(stop))
            raise
        except Unanswered as unanswered:
            self._note("call", name, arguments, UNANSWERED, question_fields(unanswered.question))
            raise
        if type(value) is Waiting:
            event = self._note("call", name, arguments, NOTHING, None)
            if event is not None:
                event.waited = True
                self.waiting = event, arguments
            return value
        self._note("call", name, arguments, VALUE, value)
        return value

    def ask(self, question: Question) -> bool | str:
        try:
            answer = self.host.ask(question)
        except Stop as stop:
            self._note("ask", question.kind, question_fields(question), STOP, stop_fields(stop))
            raise
        except Unanswered:
            self._note("ask", question.kind, question_fields(question), UNANSWERED, None)
            raise
        self._note("ask", question.kind, question_fields(question), VALUE, answer)
        return answer

    def changed(self, what: str) -> None:
        self.host.changed(what)

    def came(self, outcome: str, value: Any, state: bytes) -> None:
        """What the call waited for is there: a value or a stop's fields."""
        if self.waiting is None:
            return
        (event, arguments), self.waiting = self.waiting, None
        event.state = state
        self._fill(event, arguments, outcome, value)
        self.events.charge(len(event.value) + len(state))

    def _note(self, kind: str, name: str, arguments: list[Any], outcome: str, value: Any) -> Event | None:
        if self.events.note:
            return None
        event = Event(kind, name)
        self._fill(event, arguments, outcome, value)
        self.events.add(event)
        return event

    def _fill(self, event: Event, arguments: list[Any], outcome: str, value: Any) -> None:
        if event.kind == "call":
            self.secrets.observe(event.name, arguments, value if outcome == VALUE else None)
            arguments, value = self.secrets.replaced(event.name, arguments, value)
        event.outcome = outcome
        try:
            event.arguments = pack_value(arguments)
            event.value = b"" if outcome == NOTHING else pack_value(value)
        except BadRecording as problem:
            event.arguments = event.value = b"\xc0"
            self.events.cut(str(problem))


class RecordedTask:
    """A call's Task as the door uses it, recorded."""

    def __init__(
        self, recorder: Recorder, task: Task, tool: str, given: dict[str, Any], caller: str, time: int
    ) -> None:
        self._recorder = recorder
        self._task = task
        self._events = _Events(recorder.most_bytes)
        self._secrets = recorder.secrets()
        self._secrets.learn_arguments(given)
        self._host = _Watching(task.host, self._events, self._secrets)
        task.host = self._host
        self._shares = bool(task.program.globals)  # without top-level variables, calls share nothing
        self._turns = 0  # what Recorder.turns was when the call was left
        self._gave_way = False
        self._recording: Recording | None = None
        try:
            start = snapshot.save(task)
            if len(start) > recorder.most_bytes:
                raise BadRecording("its arguments and the top-level variables are too large")
            self._recording = recorder.recording(tool, caller, time, pack_value(given), start)
            self._events.charge(len(start))
        except (BadRecording, BadSnapshot) as problem:
            recorder.failed(str(problem))

    @property
    def steps(self) -> int:
        """The steps charged so far."""
        return self._task.steps

    def run(self, slice: int = SLICE) -> Outcome:
        if self._gave_way:
            self._gave_way = False
            if self._others_ran():
                self._events.add(Event("turn", outcome=VALUE, state=self._state(), steps=self._task.steps))
        self._recorder.turns += 1
        self._turns = self._recorder.turns
        outcome = self._task.run(slice)
        if type(outcome) is Yielded:
            self._gave_way = True
        elif type(outcome) is not Pending:
            self._finish(outcome)
        return outcome

    def resume(self, value: Any) -> None:
        self._host.came(VALUE, value, self._state() if self._others_ran() else b"")
        self._task.resume(value)

    def fail(self, stop: Stop) -> None:
        self._host.came(STOP, stop_fields(stop), self._state() if self._others_ran() else b"")
        self._task.fail(stop)

    def cancel(self) -> None:
        task = self._task
        task.cancel()
        if self._gave_way:
            self._events.add(Event("turn", outcome=NOTHING, steps=task.steps))
        self._end(CANCELLED, b"")

    def _others_ran(self) -> bool:
        return self._shares and self._turns != self._recorder.turns and not self._events.note

    def _state(self) -> bytes:
        try:
            return snapshot.save(self._task)
        except BadSnapshot as problem:
            self._events.cut(str(problem))
            return b""

    def _finish(self, outcome: Outcome) -> None:
        try:
            if isinstance(outcome, Returned):
                self._end(RETURNED, pack_value(outcome.value))
            elif isinstance(outcome, Failed):
                self._end(STOPPED, pack_value(stop_fields(outcome.stop)))
            elif isinstance(outcome, Suspended):
                self._end(ASKED, pack_value(question_fields(outcome.question)), asked=True)
        except BadRecording as problem:
            self._events.cut(str(problem))
            self._end(CANCELLED, b"")

    def _end(self, ending: str, result: bytes, asked: bool = False) -> None:
        recording, self._recording = self._recording, None
        if recording is None:
            return
        try:
            self._write(recording, ending, result, asked)
        except (BadRecording, BadSnapshot, ValueError, RecursionError):
            self._recorder.failed("a value in it is nested too deep")

    def _write(self, recording: Recording, ending: str, result: bytes, asked: bool) -> None:
        events, secrets, recorder = self._events, self._secrets, self._recorder
        state = self._state() if asked else b""
        events.charge(len(result) + len(state))
        recording.events = events.list
        recording.steps = self._task.steps
        recording.note = events.note
        if not events.note:
            recording.ending, recording.result, recording.asked = ending, result, state
        for text, what in recorder.known.items():  # what was found in other calls meanwhile
            secrets.learn(text, what)
        recording.change_texts(secrets.changed)
        recording.marks = sorted(secrets.used)
        recorder.remember(secrets)
        recorder.write(recording)
