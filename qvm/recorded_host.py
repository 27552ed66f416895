"""The host of a replay: it answers from what a recording holds, and notices where a run asks for something else."""

from __future__ import annotations

from typing import Any

from qvm.host import Question, Unanswered, Waiting
from qvm.inspecting import value_text
from qvm.marks import Secrets
from qvm.recording import (
    ASKED,
    CANCELLED,
    CUT,
    RETURNED,
    STOP,
    UNANSWERED,
    Event,
    change_value,
    make_stop,
    pack_value,
    question_fields,
    unpack_value,
)
from qvm.text import visible


class AnotherWay(Exception):
    """A run asks for something else than its recording holds. `wanted` is the recorded event, None at its end.

    `kind`, `name` and `arguments` are what this run asks for: see Event. `kind` is "" where it should have given way.
    """

    def __init__(self, wanted: Event | None, kind: str, name: str, arguments: list[Any]) -> None:
        super().__init__(kind)
        self.wanted = wanted
        self.kind = kind
        self.name = name
        self.arguments = arguments


class RecordedHost:
    """A host that knows only what a recording holds. `place` is the number of the event that comes next."""

    notes_changes = False  # whether a change came before a question is a matter of what was answered then

    def __init__(self, events: list[Event], secrets: Secrets, same_program: bool) -> None:
        self.events = events
        self.secrets = secrets
        self.same_program = same_program
        self.place = 0
        self.questions = 0
        self.waiting: Event | None = None
        self.ended = False  # the recording ended while the call waited

    def call(self, name: str, arguments: list[Any]) -> Any:
        self.secrets.observe(name, arguments, None)
        event = self._next("call", name, arguments, self._packed(self.secrets.replaced(name, arguments, None)[0]))
        if event.waited:
            self.waiting = event
            return Waiting(_never)
        return self.value_of(event, None)

    def ask(self, question: Question) -> bool | str:
        fields = question_fields(question)
        self.questions += 1
        event = self._next("ask", question.kind, fields, self._packed(fields), question)
        answer: bool | str = self.value_of(event, question)
        return answer

    def changed(self, what: str) -> None:
        """A change is no event: what it led to is recorded."""

    def value_of(self, event: Event, question: Question | None) -> Any:
        """What came of an event. Raises Stop or Unanswered, as it was."""
        if event.outcome == STOP:
            raise make_stop(unpack_value(event.value))
        if event.outcome == UNANSWERED:
            raise Unanswered(question if question is not None else _question(unpack_value(event.value)))
        return unpack_value(event.value)

    def turn(self) -> Event | None:
        """The next place where the call gave way and others ran."""
        for event in self.events[self.place :]:
            if event.kind == "turn":
                return event
        return None

    def next(self) -> Event | None:
        return self.events[self.place] if self.place < len(self.events) else None

    def _next(
        self, kind: str, name: str, arguments: list[Any], packed: bytes, question: Question | None = None
    ) -> Event:
        event = self.next()
        if event is None or event.kind != kind or event.name != name or not self._same(event, packed, question):
            raise AnotherWay(event, kind, name, arguments)
        self.place += 1
        return event

    def _same(self, event: Event, packed: bytes, question: Question | None) -> bool:
        if event.arguments == packed:
            return True
        # In a changed program a question may stand elsewhere and be the same.
        return question is not None and not self.same_program and unpack_value(event.arguments)[:3] == [
            self.secrets.changed(question.text), *unpack_value(packed)[1:3],
        ]  # fmt: skip

    def _packed(self, value: Any) -> bytes:
        return change_value(pack_value(value), self.secrets.changed)


async def _never() -> None:
    """What a replay waits for is never awaited: its value is there."""


def _question(fields: list[Any]) -> Question:
    text, choices, default, place, sheltered = fields
    return Question("about" if choices else "confirm", text, choices, default, place, sheltered)


# --- in words -------------------------------------------------------------------------------------------------------


def ending_text(kind: str, result: bytes) -> str:
    """How a call ended, in words on one line."""
    if kind == CANCELLED:
        return "cancelled"
    if kind == CUT:
        return "the end of the recording"
    value = unpack_value(result)
    if kind == RETURNED:
        return value_text(value)
    if kind == ASKED:
        return f"asks {value_text(value[0])}"
    message, _, _, _, places = value
    line = f"{places[0][0]}:{places[0][1]}: " if places else ""
    return f"stops: {line}{visible(message)}"


def event_words(kind: str, name: str, arguments: list[Any]) -> str:
    """A host call or a question, in words on one line."""
    if kind == "ask":
        return f"{name}({value_text(arguments[0])})"
    return f"{name}({', '.join(value_text(argument) for argument in arguments)})"
