"""Compiles a program that is typed piece by piece (`quillo repl`): each *input* goes on from those before it.

    session = Session(load)
    input = session.compile("let x = 1", diagnostics)    None where it has errors, which change nothing
    …  run the entries of session.module, which has grown …
    session.accept(input, ran)                           from now on, inputs see what this one declared

Rule 1: every input is a file of one program, and sees the names that earlier ones declared. A name that is declared
again hides the earlier one; what was made before goes on with what it saw. So nothing is compiled twice, and nothing
that has happened is done again.
Rule 2: there is one Module, and it only grows: functions and variables keep their numbers, so values that hold
functions stay good.
Rule 3: a later input may do anything to a top-level variable. So one without a written type is of unknown type, every
one is taken to change, and none is taken to hold no error: what an input was compiled to stays right whatever comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.lower import ModuleLowering
from compiler.names import Earlier, Program, Symbol, Unit
from compiler.source import Loader, Source
from compiler.types import ANY, NULL, Type, resolved
from qasm.module import Module

# What only means something in a program that is served or tested.
_OUT_OF_PLACE = {syntax.Route: "a route", syntax.Build: "a `build`", syntax.Test: "a test"}


class Input(NamedTuple):
    """An input that has no errors. `functions` are those that it added to the Module, the language's own apart.

    `shows`: it ends in an expression, whose value its top level gives, and which is for people to see.
    """

    program: Program
    functions: list[int]
    shows: bool


class Session:
    """`module` is the Module that grows; its `entries` are the top levels of the last input, with new used files."""

    def __init__(self, load: Loader) -> None:
        self._load = load
        self._earlier = Earlier()
        self._lowering = ModuleLowering("session", answers=True)
        self._lowering.tables.may_ask = True  # what is still to be typed may ask
        self._count = 0
        self.module: Module = self._lowering.finish()

    def compile(self, text: str, diagnostics: Diagnostics) -> Input | None:
        """Adds an input to the Module. With errors it gives None, and everything is as it was. Raises nothing."""
        self._count += 1
        source = Source(f"input {self._count}", text)
        count = len(self.module.functions)
        try:
            program = self._checked(source, diagnostics)
            if program is None:
                return None
            self._lowering.add(program)
            self._lowering.finish()
        except Exception as problem:
            _report_failure(problem, source, diagnostics)
        else:
            made = [n for n in range(count, len(self.module.functions)) if not self.module.functions[n].builtin]
            return Input(program, made, _shows(program.main))
        self._lowering.tables.forget_from(count)
        del self.module.functions[count:]
        return None

    def type_of(self, text: str, diagnostics: Diagnostics) -> Type | None:
        """What the checker knows of an expression's type; None with errors, or where the text is no expression."""
        source = Source("input", text)
        try:
            program = self._checked(source, diagnostics)
        except Exception as problem:
            _report_failure(problem, source, diagnostics)
            return None
        if program is None:
            return None
        match program.main.file.statements:
            case [syntax.ExpressionStatement(expression=expression)]:
                return expression.type or ANY
        diagnostics.error("Q0214", "an expression is wanted here, such as `1 + 2`", source, 0, len(text))
        return None

    def variable(self, name: str) -> int | None:
        """The number of the top-level variable that a name stands for; None where it stands for none."""
        symbol = self._earlier.names.get(name)
        if symbol is None or symbol not in (*self._earlier.open, *self._earlier.fixed):
            return None
        return self._lowering.tables.global_variable(symbol)

    def accept(self, input: Input, ran: Callable[[int], bool]) -> None:
        """Has later inputs see what this one declared.

        `ran` tells of a variable, by its number, whether it was set: one that was not, for a stop came before, doesn't
        hide an earlier one of its name.
        """
        earlier, unit = self._earlier, input.program.main
        for name, symbol in (*unit.visible.items(), *unit.names.items()):
            if symbol.unit is unit and symbol.kind == "global":
                if symbol not in (*earlier.open, *earlier.fixed) and not ran(self._number(symbol)):
                    continue
                (earlier.fixed if _is_written(symbol) else earlier.open).add(symbol)
            earlier.names[name] = symbol
        earlier.types.update(unit.types)
        for used in input.program.units[:-1]:
            earlier.files[used.path] = used

    def _number(self, symbol: Symbol) -> int:
        return self._lowering.tables.global_variable(symbol)

    def _checked(self, source: Source, diagnostics: Diagnostics) -> Program | None:
        """An input that was checked; None with errors."""
        from compiler.checker import check
        from compiler.effects import analyse
        from compiler.names import resolve
        from compiler.tools import make_tools
        from compiler.unsupported import unsupported

        known = self._earlier
        earlier = Earlier(known.names, known.types, known.files, set(known.open), set(known.fixed))
        program = resolve(source, self._load, diagnostics, earlier=earlier)
        for statement in program.main.file.statements:
            what = _OUT_OF_PLACE.get(type(statement))
            if what is not None:
                message = f"{what} has no place here: it belongs in a program's file"
                diagnostics.error("Q0213", message, source, statement.start, statement.end)
        for symbol in program.main.names.values():
            if symbol.kind == "global":
                symbol.assigned = symbol.changed = True  # Rule 3
                (earlier.fixed if _is_written(symbol) else earlier.open).add(symbol)
        check(program, diagnostics)
        effects = analyse(program, diagnostics)
        make_tools(program, effects, diagnostics)
        unsupported(program, diagnostics)
        return None if diagnostics.has_errors else program


def _report_failure(problem: Exception, source: Source, diagnostics: Diagnostics) -> None:
    """Says that a pass failed, unless there are errors anyway."""
    if isinstance(problem, RecursionError):
        message = "this nests deeper than the compiler can follow: name its inner parts (functions, types)"
        diagnostics.error("Q0990", message, source, 0, 0)
    elif not diagnostics.has_errors:
        message = "the compiler can't compile this: that is a mistake in Quillo, please report it"
        diagnostics.error("Q0991", message, source, 0, 0)


def _is_written(symbol: Symbol) -> bool:
    """Has a variable a written type?"""
    return isinstance(symbol.node, syntax.Let) and symbol.node.type is not None


def _shows(unit: Unit) -> bool:
    """Does an input end in an expression that may give something else than `null` alone, as `print(…)` does?"""
    last = unit.file.statements[-1] if unit.file.statements else None
    return isinstance(last, syntax.ExpressionStatement) and resolved(last.expression.type or ANY) != NULL
