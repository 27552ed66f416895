"""The page that a developer sees where a request failed, under --watch: what stopped, where, and how it came there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qvm.text import escape_html
from server.http_messages import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qasm.module import Module
    from qvm.values import CallPlace, Stop

_AROUND = 3  # lines before and after the one that stopped
_MOST_CALLS = 30
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#f4f4f4;padding:1rem;overflow-x:auto}mark{background:#ffd9d9}small{color:#555}"
)
_HEADERS = (
    b"content-type: text/html; charset=utf-8\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n"
    b"content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
)


def error_page(stop: Stop, module: Module, reference: str) -> Answer:
    """The page for a stop."""
    parts = [f"<h1>{escape_html(stop.message)}</h1>"]
    if stop.places:
        place = stop.places[0]
        parts.append(f"<p>{escape_html(_where(place))}</p>{_source(place, module)}")
        calls = [f"<li>called at {escape_html(_where(call))}</li>" for call in stop.places[1 : _MOST_CALLS + 1]]
        if len(stop.places) > _MOST_CALLS + 1:
            calls.append(f"<li>… {len(stop.places) - _MOST_CALLS - 1} more calls …</li>")
        if calls:
            parts.append(f"<ul>{''.join(calls)}</ul>")
    parts.append(f"<p><small>{escape_html(reference)}: shown because the server runs with --watch</small></p>")
    return _page(500, "The request failed", parts)


def diagnostics_page(status: int, lines: Iterable[str]) -> Answer:
    """The page for what is not there, while the program's newer version has errors."""
    rows = "\n".join(escape_html(line) for line in lines)
    told = f"<h1>There is nothing here</h1><p>The program has errors; this was before them.</p><pre>{rows}</pre>"
    return _page(status, "There is nothing here", [told])


def _page(status: int, title: str, parts: list[str]) -> Answer:
    head = f'<meta charset="utf-8"><title>{escape_html(title)}</title><style>{_STYLE}</style>'
    text = f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'
    return Answer(status, _HEADERS, text.encode("utf-8", "replace"))


def _where(place: CallPlace) -> str:
    return f"{place.file}, line {place.line}" + (f", in {place.function}" if place.function else "")


def _source(place: CallPlace, module: Module) -> str:
    text = next((file.text for file in module.files if file.name == place.file), "")
    lines = text.split("\n")
    if not 1 <= place.line <= len(lines):
        return ""
    rows = []
    for number in range(max(1, place.line - _AROUND), min(len(lines), place.line + _AROUND) + 1):
        row = f"{number:5} | {escape_html(lines[number - 1])}"
        rows.append(f"<mark>{row}</mark>" if number == place.line else row)
    return f"<pre>{chr(10).join(rows)}</pre>"
