"""Finds and parses the files of a program.

A `use` names a file by its path from the file that it stands in; all files stay inside the main file's folder. Files
run in the order in which they are used, each once, so a file may not use itself, also not through others.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.names import Unit
from compiler.parser import parse
from compiler.source import Loader, Source, SourceError


@dataclass(slots=True, eq=False)
class ProgramFiles:
    """`units` in the order in which they run; `used` gives the file that a `use` names, None where it can't be used."""

    units: list[Unit] = field(default_factory=list)
    used: dict[syntax.Use, Unit | None] = field(default_factory=dict)


def shown_path(unit: Unit) -> str:
    """How messages name a file: by its path from the main file's folder."""
    return unit.path or posixpath.basename(unit.source.name)


def load_files(
    main: Source, load: Loader, diagnostics: Diagnostics, known: dict[str, Unit] | None = None
) -> ProgramFiles:
    """Parses the main file and, from there, each used file once. Problems are reported at the `use`.

    `known` are files that have run before, by their path: they can be used and are not among the `units`.
    """
    return _Loading(load, diagnostics, known or {}).run(main)


class _Loading:
    def __init__(self, load: Loader, diagnostics: Diagnostics, known: dict[str, Unit]) -> None:
        self.load = load
        self.diagnostics = diagnostics
        self.found = ProgramFiles()
        self.units = dict(known)
        # The files whose uses are being followed, each with those left, and the `use` that led further.
        self.open: list[tuple[Unit, Iterator[syntax.Use]]] = []
        self.through: list[syntax.Use] = []

    def run(self, main: Source) -> ProgramFiles:
        first = Unit("", main, parse(main, self.diagnostics))
        self.units[posixpath.basename(main.name)] = first
        self._open(first)
        while self.open:
            unit, uses = self.open[-1]
            use = next(uses, None)
            if use is None:
                self.open.pop()
                if self.through:
                    self.through.pop()
                self.found.units.append(unit)
                continue
            self._follow(unit, use)
        return self.found

    def _open(self, unit: Unit) -> None:
        self.open.append((unit, iter([s for s in unit.file.statements if isinstance(s, syntax.Use)])))

    def _follow(self, unit: Unit, use: syntax.Use) -> None:
        self.found.used[use] = None
        path = posixpath.normpath(posixpath.join(posixpath.dirname(unit.path), use.path))
        if not use.path or use.path.endswith("/") or path in (".", ".."):
            self._error("Q0701", f"`{use.path}` names no file", unit, use)
            return
        if use.path.startswith("/") or "\\" in use.path or path.startswith("../"):
            self._error("Q0702", f"`{use.path}` is outside the main file's folder", unit, use)
            return
        used = self.units.get(path)
        if used is not None and any(used is waiting for waiting, _ in self.open):
            self._ring(used, unit, use)
            return
        if used is None:
            try:
                source = self.load(path)
            except SourceError as error:
                self._error("Q0701", _reason(path, str(error)), unit, use)
                return
            used = self.units[path] = Unit(path, source, parse(source, self.diagnostics))
            self.through.append(use)
            self._open(used)
        self.found.used[use] = used

    def _ring(self, used: Unit, unit: Unit, use: syntax.Use) -> None:
        if used is unit:
            self._error("Q0703", f"`{shown_path(unit)}` uses itself", unit, use)
            return
        place = next(number for number, (waiting, _) in enumerate(self.open) if waiting is used)
        steps = [
            f"`{shown_path(waiting)}` (line {waiting.source.line(through.start)})"
            for (waiting, _), through in zip(self.open[place:], [*self.through[place:], use], strict=True)
        ]
        self._error("Q0703", f"these files use each other in a ring: {', '.join(steps)}", unit, use)

    def _error(self, code: str, message: str, unit: Unit, use: syntax.Use) -> None:
        start = use.path_start or use.start
        self.diagnostics.error(code, message, unit.source, start, max(use.end, start + 1))


def _reason(path: str, reason: str) -> str:
    """One sentence about a file that can't be had: the loader gives a reason, or a sentence of its own."""
    name, _, rest = reason.partition(": error: ")
    if rest:
        return f"`{name}` can't be used: {rest}"
    return reason if path in reason else f"`{path}` {reason}"
