"""`qvm snapshot FILE`: where a recorded call asked: its calls, lines, names and values."""

from __future__ import annotations

import click

from cli.modules import refused
from cli.recordings import as_json, call_data, call_rows, open_recording, print_json, when
from qvm.inspecting import calls_of, top_variables, value_text
from qvm.recording import ASKED, BadRecording, unpack_value
from qvm.replay import at_question


@click.command("snapshot")
@click.argument("file")
@click.option("--json", "as_data", is_flag=True, help="Shows it as data.")
def command(file: str, as_data: bool) -> None:
    """Shows a call as it stood when it asked the person.

    FILE is a recording of `quillo mcp --record`, of a call that ended with a question. Shows the question and the calls
    under way, the innermost first, each with its line and the names that are set there.
    """
    recording, module = open_recording(file)
    if recording.ending != ASKED:
        raise refused(
            file, f"this call of `{recording.tool}` did not end with a question: `qvm replay` walks through it"
        )
    try:
        task = at_question(recording, module)
        text, choices, default = unpack_value(recording.result)[:3]
    except BadRecording as problem:
        raise refused(file, problem) from None
    calls, variables = calls_of(task), top_variables(task)
    if as_data:
        question = {"text": as_json(text), "choices": as_json(choices), "default": as_json(default)}
        head = {"tool": recording.tool, "caller": recording.caller, "time": recording.time, "question": question}
        print_json({**head, "steps": task.steps, **call_data(calls, variables)})
        return
    click.echo(f"{recording.tool}, called by {recording.caller} at {when(recording.time)}, asks:")
    click.echo(f"    {value_text(text)}")
    for key, label in (choices or {}).items():
        click.echo(f"    {'*' if key == default else '-'} {key}: {value_text(label)}")
    for row in call_rows(calls, variables):
        click.echo(row)
