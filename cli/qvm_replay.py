"""`qvm replay FILE`: runs a recorded call again and says whether it comes to the same."""

from __future__ import annotations

from typing import Any

import click

from cli.modules import open_module, refused
from cli.recordings import as_json, call_data, call_rows, count, open_recording, print_json, when
from qasm.module import Module
from qvm.inspecting import top_variables
from qvm.recorded_host import ending_text, event_words
from qvm.recording import CUT, STOP, UNANSWERED, BadRecording, Event, Recording, unpack_value
from qvm.replay import Replay, Verdict
from qvm.stepping import Parting, Step, Stepper, leaving_place, parting


@click.command("replay")
@click.argument("file")
@click.option("--step", "walk", is_flag=True, help="Walks through it line by line; `help` there says how.")
@click.option("--at", metavar="LINE", help="Shows names and values where it comes to LINE, or FILE:LINE.")
@click.option(
    "--with", "program", metavar="FILE", help="Runs this program, changed since, instead of the recorded one."
)
@click.option("--json", "as_data", is_flag=True, help="Shows it as data.")
def command(file: str, walk: bool, at: str | None, program: str | None, as_data: bool) -> None:
    """Runs a recorded call again, without its database and network.

    FILE is a recording of `quillo mcp --record`. Says whether result, stop, questions and steps are the same, or the
    first place where the call goes another way; the status is 1 then.
    """
    if walk and as_data:
        raise click.UsageError("--step talks with you: it goes not with --json")
    recording, own = open_recording(file)
    module = own if program is None else open_module(program)
    try:
        if walk or at is not None:
            _look(file, recording, module, at, walk, as_data)
            return
        replay = Replay(recording, module)
        replay.run()
        verdict = replay.verdict()
        parted = None if verdict.same else _parting(recording, own, module, replay, verdict)
    except BadRecording as problem:
        raise refused(file, problem) from None
    if as_data:
        print_json(_data(recording, replay, verdict, parted))
    else:
        for row in _rows(recording, replay, verdict, parted):
            click.echo(row)
    raise SystemExit(0 if verdict.same else 1)


def _look(file: str, recording: Recording, module: Module, at: str | None, walk: bool, as_data: bool) -> None:
    stepper = Stepper(lambda: Replay(recording, module))
    if at is not None:
        name, line = place_of(file, at, module)
        if not stepper.to_line(name, line):
            raise refused(file, f"the call never comes to {name}:{line}")
    if walk:
        from cli.walking import walk_through

        walk_through(stepper, recording)
        return
    calls, variables = stepper.calls, top_variables(stepper.replay.task)
    if as_data:
        print_json({"steps": stepper.replay.task.steps, **call_data(calls, variables)})
    else:
        for row in call_rows(calls, variables):
            click.echo(row)


def place_of(file: str, text: str, module: Module) -> tuple[str, int]:
    """The file and the line that LINE or FILE:LINE means. Raises Refusal."""
    from server.render import main_file

    name, colon, number = text.rpartition(":")
    if not (number.isascii() and number.isdigit() and 0 < len(number) < 10) or int(number) == 0:
        raise refused(file, f"`{text}` is no line: give a number, or FILE:NUMBER")
    name = name if colon else main_file(module)
    texts = {found.name: found.text for found in module.files if found.text}
    if name not in texts:
        raise refused(file, f"the program has no file `{name}`: it has {', '.join(f'`{found}`' for found in texts)}")
    lines = len(texts[name].rstrip("\n").split("\n"))
    if int(number) > lines:
        raise refused(file, f"`{name}` has {lines} lines: there is no line {int(number)}")
    return name, int(number)


def _parting(recording: Recording, own: Module, module: Module, replay: Replay, verdict: Verdict) -> Parting | None:
    """Where it goes another way, also in lines that touch nothing outside."""
    if verdict.differences and verdict.differences[0][0] == "way":
        verdict.place = leaving_place(recording, module)
    if replay.same_program:
        return None
    return parting(Replay(recording, own), Replay(recording, module))


# --- for people -----------------------------------------------------------------------------------------------------


def _rows(recording: Recording, replay: Replay, verdict: Verdict, parted: Parting | None) -> list[str]:
    asked = sum(event.kind == "ask" for event in recording.events)
    head = f"{recording.tool}, called by {recording.caller} at {when(recording.time)}"
    steps = count(replay.task.steps, "step")
    if not replay.same_program and replay.task.steps != recording.steps:
        steps += f" ({recording.steps:,} when it was recorded)"
    rows = []
    if verdict.same:
        rows.append(f"{head}: the same")
        rows.append(f"    {ending_text(recording.ending, recording.result)}")
        rows.append(f"    {count(asked, 'question')}, {steps}")
    elif not verdict.differences:
        rows.append(f"{head}: the same as far as it was recorded")
        rows.append(f"    the recording is not whole: {verdict.cut}")
    else:
        rows.append(f"{head}: not the same")
        for what, recorded, now in verdict.differences:
            place = f" at {verdict.place[0]}:{verdict.place[1]}" if what == "way" and verdict.place else ""
            rows += [f"    {_WHAT[what]}{place}", f"        recorded: {recorded}", f"        now:      {now}"]
    if parted is not None:
        rows += [
            "    the lines part here",
            *_step_rows("recorded:", parted.recorded),
            *_step_rows("now:     ", parted.now),
        ]
    rows += [f"    note: {note}" for note in _notes(recording, replay, verdict)]
    return rows


_WHAT = {
    "way": "goes another way",
    "result": "another result",
    "stop": "another stop",
    "end": "another end",
    "questions": "another number of questions",
    "steps": "another number of steps",
}


def _step_rows(lead: str, step: Step | None) -> list[str]:
    if step is None:
        return [f"        {lead} the end"]
    return [f"        {lead} {step.place[0]}:{step.place[1]}  {step.source}"]


def _notes(recording: Recording, replay: Replay, verdict: Verdict) -> list[str]:
    notes = []
    told = "".join(recorded + now for _, recorded, now in verdict.differences)
    if recording.marks and told and (replay.same_program or any(mark in told for mark in recording.marks)):
        notes.append(
            f"marks stand for secrets in it ({', '.join(recording.marks)}): a call that looks into one goes another way"
        )
    if replay.left_out:
        notes.append("other calls ran while this one waited: what they changed is not known to a changed program")
    return notes


# --- as data --------------------------------------------------------------------------------------------------------


def _data(recording: Recording, replay: Replay, verdict: Verdict, parted: Parting | None) -> dict[str, Any]:
    differences = []
    for what, recorded, now in verdict.differences:
        difference: dict[str, Any] = {"what": what, "recorded": recorded, "now": now}
        if what == "way" and verdict.place is not None:
            difference["file"], difference["line"] = verdict.place
        differences.append(difference)
    data: dict[str, Any] = {
        "tool": recording.tool,
        "caller": recording.caller,
        "time": recording.time,
        "arguments": as_json(unpack_value(recording.given)),
        "same": verdict.same,
        "ending": recording.ending,
        "steps": recording.steps,
        "events": [event_data(event) for event in recording.events],
        "marks": recording.marks,
        "differences": differences,
        "notes": _notes(recording, replay, verdict),
    }
    if recording.ending == CUT:
        data["cut"] = recording.note
    else:
        data["end"] = ending_text(recording.ending, recording.result)
    if parted is not None:
        data["lines_part"] = {"recorded": _step_data(parted.recorded), "now": _step_data(parted.now)}
    return data


def _step_data(step: Step | None) -> dict[str, Any] | None:
    return None if step is None else {"file": step.place[0], "line": step.place[1], "source": step.source}


def event_data(event: Event) -> dict[str, Any]:
    if event.kind == "turn":
        return {"kind": "turn", "steps": event.steps}
    words = event_words(event.kind, event.name, unpack_value(event.arguments))
    data: dict[str, Any] = {"kind": event.kind, "call": words, "outcome": event.outcome}
    if event.value and event.outcome != UNANSWERED:
        value = unpack_value(event.value)
        data["value"] = as_json(value[0] if event.outcome == STOP else value)
    return data
