"""`qvm replay FILE --step`: a conversation that walks through a recorded call."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from cli.recordings import call_rows
from qvm.inspecting import top_variables, value_text, variable
from qvm.recorded_host import ending_text, event_words
from qvm.recording import STOP, UNANSWERED, VALUE, Event, Recording, unpack_value
from qvm.stepping import Stepper

AROUND = 5  # lines that `list` shows before and behind

HELP = """\
next, n          to the next line of this function
into, i          to the next line, also of a function that is called
out, o           until this function has returned
back, b          to where you stood before
go, g            to the next line with a break, or to the end
break LINE       sets a break at LINE or FILE:LINE; again takes it away
print NAME, p    the value of a name
names            all names that are set here, of all calls
list, l          the lines around
help, h          this
quit, q          leaves
An empty line does again what was done last."""


def walk_through(stepper: Stepper, recording: Recording) -> None:
    """Talks until `quit`, or the end of what standard input holds."""
    _Walk(stepper, recording).talk()


class _Walk:
    def __init__(self, stepper: Stepper, recording: Recording) -> None:
        self.stepper = stepper
        self.recording = recording
        self.commands: dict[str, Callable[[str], None]] = {
            "next": self._moves(stepper.next),
            "into": self._moves(stepper.into),
            "out": self._moves(stepper.out),
            "go": self._moves(stepper.go),
            "back": self.back,
            "break": self.set_break,
            "print": self.print,
            "names": self.names,
            "list": self.list,
            "help": lambda _: click.echo(HELP),
        }
        self.short = {
            "n": "next",
            "i": "into",
            "o": "out",
            "b": "back",
            "g": "go",
            "p": "print",
            "l": "list",
            "h": "help",
        }

    def talk(self) -> None:
        self.show()
        last = "next"
        while True:
            if sys.stdin.isatty():
                click.echo("> ", nl=False)
            row = sys.stdin.readline()
            if not row:
                return
            text = row.strip() or last
            word, _, rest = text.partition(" ")
            if word in ("quit", "q"):
                return
            command = self.commands.get(self.short.get(word, word))
            if command is None:
                click.echo(f"there is no command `{word}`: `help` lists them")
                continue
            last = text
            command(rest.strip())

    def show(self) -> None:
        """Where it stands, and what came in on the way."""
        stepper = self.stepper
        for event in stepper.came_in:
            click.echo(f"    {_event_words(event)}")
        if stepper.over:
            for row in self._end():
                click.echo(row)
            return
        call = stepper.calls[0]
        click.echo(f"{call.file}:{call.line} in {call.title}  {call.source}")

    def _end(self) -> list[str]:
        verdict = self.stepper.replay.verdict()
        if verdict.same:
            return [f"the end: {ending_text(self.recording.ending, self.recording.result)}"]
        rows = [f"the end: the recording is not whole: {verdict.cut}"] if not verdict.differences else []
        for what, recorded, now in verdict.differences:
            name = "it goes another way" if what == "way" else f"another {what}"
            rows += [f"the end: {name}", f"    recorded: {recorded}", f"    now:      {now}"]
        return rows

    def _moves(self, move: Callable[[], None]) -> Callable[[str], None]:
        def command(_: str) -> None:
            if self.stepper.over:
                click.echo("the call is over: `back` goes back, `quit` leaves")
                return
            move()
            self.show()

        return command

    def back(self, _: str) -> None:
        if self.stepper.back():
            self.show()
        else:
            click.echo("this is the start of the call")

    def set_break(self, text: str) -> None:
        from cli.modules import Refusal
        from cli.qvm_replay import place_of

        try:
            place = place_of("break", text, self.stepper.replay.module)
        except Refusal as refusal:
            click.echo(refusal.message.removeprefix("break: error: "))
            return
        breaks = self.stepper.breaks
        breaks ^= {place}
        click.echo(f"{'a break' if place in breaks else 'no break any more'} at {place[0]}:{place[1]}")

    def print(self, name: str) -> None:
        if not name:
            click.echo("`print` needs a name")
            return
        found, value = variable(self.stepper.replay.task, name)
        click.echo(f"{name} = {value_text(value, 100_000)}" if found else f"there is no `{name}` that is set here")

    def names(self, _: str) -> None:
        task = self.stepper.replay.task
        for row in call_rows(self.stepper.calls, top_variables(task)):
            click.echo(row)

    def list(self, _: str) -> None:
        line = self.stepper.replay.place
        if line is None:
            click.echo("the call is over: `back` goes back")
            return
        name, number = line
        rows = next(file.text for file in self.stepper.replay.module.files if file.name == name).split("\n")
        for row in range(max(1, number - AROUND), min(len(rows), number + AROUND) + 1):
            mark = ">" if row == number else "*" if (name, row) in self.stepper.breaks else " "
            click.echo(f"{mark}{row:5}  {rows[row - 1]}".rstrip())


def _event_words(event: Event) -> str:
    if event.kind == "turn":
        return "other calls ran"
    words = event_words(event.kind, event.name, unpack_value(event.arguments))
    if event.outcome == VALUE:
        return f"{words} gave {value_text(unpack_value(event.value))}"
    if event.outcome == STOP:
        return f"{words} stopped: {unpack_value(event.value)[0]}"
    return f"{words} had no answer" if event.outcome == UNANSWERED else words
