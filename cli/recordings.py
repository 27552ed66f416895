"""What `qvm replay` and `qvm snapshot` share: opening a recording, and showing a call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from cli.modules import read_file, refused
from qasm.module import Module
from qvm.inspecting import Call, value_text
from qvm.recording import BadRecording, Recording, load
from qvm.recording_start import own_module


def open_recording(path: str) -> tuple[Recording, Module]:
    """A recording and its Module. Raises Refusal."""
    data = read_file(path)
    try:
        recording = load(data)
        return recording, own_module(recording)
    except BadRecording as problem:
        raise refused(path, problem) from None


def count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def when(milliseconds: int) -> str:
    """A time as people read it."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return "an unknown time"


def call_rows(calls: list[Call], top_level: list[tuple[str, Any]]) -> Iterator[str]:
    """Calls, the innermost first, each with its line and its names; then the top-level variables."""
    for call in calls:
        yield f"{call.file}:{call.line} in {call.title}" + (f"  {call.source}" if call.source else "")
        yield from _variable_rows(call.variables)
    if top_level:
        yield "top-level variables"
        yield from _variable_rows(top_level)


def _variable_rows(variables: list[tuple[str, Any]]) -> Iterator[str]:
    for name, value in variables:
        yield f"    {name} = {value_text(value)}"


def call_data(calls: list[Call], top_level: list[tuple[str, Any]]) -> dict[str, Any]:
    """The same as data."""
    return {
        "calls": [
            {
                "function": call.function,
                "file": call.file,
                "line": call.line,
                "source": call.source,
                "variables": {name: as_json(value) for name, value in call.variables},
            }
            for call in calls
        ],
        "top_level": {name: as_json(value) for name, value in top_level},
    }


def as_json(value: Any) -> Any:
    """A value as JSON can hold it; what it has no form for as text."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float and value - value == 0:
        return value
    if kind is list:
        return [as_json(item) for item in value]
    if kind is dict:
        return {key: as_json(item) for key, item in value.items()}
    return value_text(value, 1 << 20)


def print_json(data: Any) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))
