"""Stops as text: what `quillo run` and the log of `quillo mcp` show a person (language.md, section 7)."""

from __future__ import annotations

from qasm.module import Module
from qvm.text import visible
from qvm.values import CallPlace, Stop

MOST_CALLS = 30  # of a trace; of a longer one the middle is left out


def main_file(module: Module) -> str:
    """The name of the program's main file: the one whose top level runs last."""
    return module.files[module.functions[module.entries[-1]].file].name if module.entries else module.name


def render(stop: Stop, main: str) -> str:
    """`line N: message` (in the main file) or `FILE: line N: message`, then a line for each call that led there."""
    places = stop.places
    message = visible(stop.message)
    if not places:
        return message
    rows = [f"{_place(places[0], main)}: {message}"]
    calls = [
        f"  called at {_place(place, main)}" + (f" in `{place.function}`" if place.function else "")
        for place in places[1:]
    ]
    if len(calls) > MOST_CALLS:
        half = MOST_CALLS // 2
        calls[half:-half] = [f"  … {len(calls) - 2 * half} more calls …"]
    return "\n".join(rows + calls)


def _place(place: CallPlace, main: str) -> str:
    return f"line {place.line}" if place.file == main else f"{place.file}: line {place.line}"
