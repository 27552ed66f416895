"""A program that is typed piece by piece, compiled and run (`quillo repl`).

running = InteractiveProgram(world)
entered = running.enter("1 + 2")          Entered: what was found, and the value to show
"""

from __future__ import annotations

from typing import Any, NamedTuple

from compiler.diagnostics import Diagnostic, Diagnostics
from compiler.session import Session
from qasm.module import Module
from qvm.program import Program
from qvm.text import json_text, write_out
from qvm.values import UNSET, Stop, kind_of
from server.host import ProgramHost, World
from server.programs import loader, run
from server.render import main_file, render


class Entered(NamedTuple):
    """What came of an input. `found` are errors and warnings, `stop` is a stop as text ("" for none).

    `value` is the value of the expression that it ends in, as people read it ("" for none to show).
    """

    found: list[Diagnostic]
    value: str = ""
    stop: str = ""


class InteractiveProgram:
    """`world` is what the program can touch; used files are read from its folder."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._session = Session(loader(world.folder))
        self._program = Program(self._session.module)
        self._last: list[int] = []  # the functions of the last input

    @property
    def module(self) -> Module:
        """All that was compiled so far."""
        return self._session.module

    def enter(self, text: str) -> Entered:
        """Compiles and runs an input; what it declares, later inputs see.

        Raises Stop of the kind "exit" where the program ends itself, and lets KeyboardInterrupt through; what was set
        before is there then.
        """
        diagnostics = Diagnostics()
        input = self._session.compile(text, diagnostics)
        found = diagnostics.in_order()
        if input is None:
            return Entered(found)
        self._last = input.functions
        self._program.grow()
        host = ProgramHost(self.world, self.world.database.scope())
        entries = list(self.module.entries)
        done = 0
        value: Any = None
        try:
            for entry in entries:
                value = run(self._program.call(entry, [], host))
                done += 1
            return Entered(found, _shown(value) if input.shows else "")
        except Stop as stop:
            if stop.kind == "exit":
                raise
            return Entered(found, stop=render(stop, main_file(self.module)))
        finally:
            host.scope.finish()
            if done >= len(entries) - 1:  # else a used file did not come to its end: what it brings in is not there
                self._session.accept(input, self._is_set)

    def _is_set(self, number: int) -> bool:
        return self._program.globals[number].value is not UNSET

    def type_of(self, text: str) -> tuple[str, list[Diagnostic]]:
        """An expression's type as text, "" with errors. It is not run."""
        diagnostics = Diagnostics()
        type = self._session.type_of(text, diagnostics)
        if type is None:
            return "", diagnostics.in_order()
        number = self._session.variable(text.strip())
        if str(type) == "any" and number is not None and self._is_set(number):
            return f"any, {kind_of(self._program.globals[number].value)} now", []
        return str(type), []

    def functions(self, name: str) -> list[int]:
        """The numbers of the functions to show: those of the last input, or the last one of a name."""
        if not name:
            return self._last
        named = [number for number, function in enumerate(self.module.functions) if function.name == name]
        return named[-1:]

    def close(self) -> None:
        self.world.database.close()


def _shown(value: Any) -> str:
    return json_text(value) if type(value) is str else write_out(value)
