"""Diagnostics are values: passes make them, one function words them, only `cli` prints them.

A code never changes its meaning. Q00xx lexer, Q01xx parser, Q02xx names, Q03xx types and arguments, Q04xx effects and
order of questions, Q05xx tools, Q06xx routes and pages, Q07xx files, Q09xx what is not supported yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from compiler.source import Source

MOST = 50  # a run reports no more than this many errors


@dataclass(slots=True, frozen=True)
class Diagnostic:
    """One finding. `start` and `end` are offsets in `source`; `severity` is "error" or "warning"."""

    severity: str
    code: str
    message: str
    source: Source
    start: int
    end: int
    hint: str = ""

    @property
    def line(self) -> int:
        return self.source.line(self.start)

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}: {self.severity}: {self.message}"

    def explained(self) -> str:
        """The finding with its source line, a caret, its hint and its code, over several lines."""
        line, column = self.source.position(self.start)
        text = self.source.line_text(line)
        length = max(1, min(self.end, self.start + len(text) - column + 1) - self.start)
        margin = " " * len(str(line))
        lead = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
        rows = [str(self), f" {line} | {text}", f" {margin} | {lead}{'^' * length}"]
        if self.hint:
            rows.append(f" {margin} = {self.hint}")
        rows.append(f" {margin} = {self.code}: `quillo check --explain {self.code}` says more")
        return "\n".join(rows)

    def as_json(self) -> dict[str, Any]:
        line, column = self.source.position(self.start)
        end_line, end_column = self.source.position(max(self.end, self.start))
        return {
            "file": self.source.name,
            "line": line,
            "column": column,
            "end": {"line": end_line, "column": end_column},
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
        }


class Diagnostics:
    """Collects findings of all passes over all files; gives them in order of place, each at most once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, str, str], Diagnostic] = {}
        self._order: list[str] = []  # file names, in the order in which they were first seen

    def error(self, code: str, message: str, source: Source, start: int, end: int, hint: str = "") -> None:
        self.add(Diagnostic("error", code, message, source, start, end, hint))

    def warning(self, code: str, message: str, source: Source, start: int, end: int, hint: str = "") -> None:
        self.add(Diagnostic("warning", code, message, source, start, end, hint))

    def add(self, diagnostic: Diagnostic) -> None:
        if diagnostic.source.name not in self._order:
            self._order.append(diagnostic.source.name)
        key = (diagnostic.source.name, diagnostic.line, diagnostic.severity, diagnostic.message)
        self._found.setdefault(key, diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @property
    def has_errors(self) -> bool:
        return any(d.severity == "error" for d in self._found.values())

    def in_order(self) -> list[Diagnostic]:
        """By file (in order of first sight), then place; what was found first at one place stands first."""
        rank = {name: number for number, name in enumerate(self._order)}
        ordered = sorted(self._found.values(), key=lambda d: (rank[d.source.name], d.line))
        errors = 0
        kept = []
        for diagnostic in ordered:
            errors += diagnostic.severity == "error"
            if diagnostic.severity == "warning" or errors <= MOST:
                kept.append(diagnostic)
        return kept
