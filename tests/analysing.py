"""Runs a program's text through the compiler up to its tools, for tests of effects, questions and tools."""

from __future__ import annotations

from typing import NamedTuple

from compiler import checker, effects, names, syntax, tools
from compiler.diagnostics import Diagnostics
from compiler.source import Source, SourceError


class Analysed(NamedTuple):
    program: names.Program
    effects: effects.Effects
    tools: tools.ToolSet
    diagnostics: Diagnostics

    def function(self, name: str) -> syntax.Function:
        """The function of a name, in whichever file and block it stands."""
        return next(f for f in self.effects.graph.of if f.name == name)

    def hints(self, name: str) -> dict[str, bool]:
        return next(tool.annotations for tool, _ in self.tools.tools if tool.name == name)

    def reported(self, *codes: str) -> list[str]:
        """The diagnostics of these codes (all without any), each as `LINE: severity: message`."""
        found = [d for d in self.diagnostics.in_order() if not codes or d.code.startswith(codes)]
        return [str(d).partition(":")[2] for d in found]


def analysed(text: str, files: dict[str, str] | None = None) -> Analysed:
    """A program of a main file, `main.qwe`, and further ones by path. Programs under test mostly have errors."""

    def load(path: str) -> Source:
        if files is None or path not in files:
            raise SourceError("is not there")
        return Source(path, files[path])

    diagnostics = Diagnostics()
    program = names.resolve(Source("main.qwe", text), load, diagnostics)
    checker.check(program, diagnostics)
    found = effects.analyse(program, diagnostics)
    return Analysed(program, found, tools.make_tools(program, found, diagnostics), diagnostics)
