"""Makes a Module of a checked program.

    lower(program, tool_set, name) -> Module

Functions get their numbers in the order in which they are met: the files' top levels first, then what is declared in
each file, then what these bring along (functions inside functions, builtins that are written in Quillo). The same
program gives the same Module, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from compiler import (
    lower_assignments,
    lower_calls,
    lower_expressions,
    lower_inline,
    lower_markup,
    lower_patterns,
    lower_statements,
    syntax,
    types,
)
from compiler.function_lowering import STATEMENTS, FunctionLowering
from compiler.module_tables import FunctionEntry, ModuleTables
from compiler.names import Program, Symbol, Unit
from compiler.source import Source
from qasm.module import Function, Module, Parameter, Route, SourceFile, Test

if TYPE_CHECKING:
    from compiler.tools import ToolSet

for _part in (lower_expressions, lower_calls, lower_statements, lower_assignments, lower_patterns, lower_markup):
    _part.register()


# A program in which these words don't stand asks nothing.
_ASKS = re.compile(r"\b(?:" + "|".join(lower_inline.QUESTIONS) + r")\b")


def lower(program: Program, tool_set: ToolSet, name: str) -> Module:
    """The Module of a program without errors. `name` is the main file's stem."""
    lowering = ModuleLowering(name)
    lowering.tables.may_ask = any(_ASKS.search(unit.source.text) for unit in program.units)
    lowering.add(program)
    lowering.add_tools(tool_set)
    return lowering.finish()


class ModuleLowering:
    """A Module in the making. A session goes on adding to it: what has its number keeps it.

    `answers`: the top level of a main file that ends in an expression gives that expression's value.
    """

    def __init__(self, name: str, answers: bool = False) -> None:
        self.answers = answers
        self.module = Module(name)
        self.tables = ModuleTables()
        self.files: dict[Source, int] = {}
        self.prelude = -1  # the file of builtins that are written in Quillo, once there is one
        self.tops: dict[int, Unit] = {}  # the files' top levels, by function number
        self.main: Unit | None = None

    def add(self, program: Program) -> None:
        """Gives the program's files and what they declare their numbers; its top levels become the entries."""
        module, tables = self.module, self.tables
        self.main = program.main
        module.entries = []
        for unit in program.units:
            self.add_file(unit)
            entry = tables.bare_function("", unit.source)
            self.tops[entry.number] = unit
            module.entries.append(entry.number)
        for unit in program.units:
            for statement in unit.file.statements:
                self.declare(unit, statement)

    def add_tools(self, tool_set: ToolSet) -> None:
        for tool, function in tool_set.tools:
            tool.function = self.number_of(function)
            if function.result is not None:
                tool.result = self.tables.descriptors.of(function.result_type)
            self.module.tools.append(tool)
        self.module.instructions = dict(tool_set.instructions)

    def finish(self) -> Module:
        """Lowers every function that has a number and is not lowered yet."""
        module, tables = self.module, self.tables
        while len(module.functions) < len(tables.functions):
            module.functions.append(self.function(tables.functions[len(module.functions)]))
        module.constants = tables.constants
        module.types = tables.descriptors.table
        module.builtins = tables.builtins
        module.globals = tables.globals
        return module

    def add_file(self, unit: Unit) -> None:
        """The main file goes by its name alone, so that a Module doesn't depend on where its program lies."""
        name = unit.path or unit.source.name.replace("\\", "/").rsplit("/", 1)[-1]
        self.files[unit.source] = len(self.module.files)
        self.module.files.append(SourceFile(name, unit.source.text))

    def prelude_file(self) -> int:
        """The file of builtins that are written in Quillo, which has no text; it stands behind the program's."""
        if self.prelude < 0:
            self.prelude = len(self.module.files)
            self.module.files.append(SourceFile("prelude", ""))
        return self.prelude

    def declare(self, unit: Unit, statement: syntax.Node) -> None:
        module, source = self.module, unit.source
        match statement:
            case syntax.Function(name=str(name), server=server):
                number = self.tables.function(statement, source).number
                if server:
                    module.routes.append(Route("rpc", "POST", name, number))
            case syntax.Component(function=function):
                self.tables.function(function, source)
            case syntax.Route(method=method, path=path, function=function):
                number = self.tables.function(function, source, f"route {method} {path}").number
                module.routes.append(Route("route", method, path, number))
            case syntax.Build(path=path, value=function):
                number = self.tables.function(function, source, f"build {path}").number
                module.routes.append(Route("build", "", path, number))
            case syntax.Test(name=name, function=function):
                number = self.tables.function(function, source, f"test {name}").number
                module.tests.append(Test(name, number))

    def number_of(self, function: syntax.Function) -> int:
        assert function.symbol is not None
        return self.tables.function(function, function.symbol.source).number

    # --- one function ---

    def function(self, entry: FunctionEntry) -> Function:
        if entry.number in self.tops:
            return self.top_level(entry, self.tops[entry.number])
        if entry.node is None:
            return self.inline_builtin(entry)
        node, source = entry.node, entry.source
        assert source is not None
        line = source.line(node.start)
        result = node.result_type if node.result is not None else None
        lowering = FunctionLowering(self.tables, entry, source, line, result)
        symbols = list(_parameter_symbols(node))
        lowering.parameter_slots(symbols)
        lowering.prologue(node.parameters)
        for slot, symbol in enumerate(symbols[len(node.parameters) :], len(node.parameters)):
            if symbol.captured:
                lowering.code.emit("CELL", slot)
        lowering.returned(node.body)
        parameters = [self.parameter(parameter) for parameter in node.parameters]
        parameters += [Parameter(symbol.name, "any", True) for symbol in symbols[len(node.parameters) :]]
        return self.finished(lowering, parameters, line)

    def parameter(self, node: syntax.Parameter) -> Parameter:
        assert node.symbol is not None
        type = node.symbol.type if node.type is not None else types.ANY
        made = Parameter(node.name, self.tables.descriptors.of(type), node.default is None)
        if isinstance(node.default, syntax.Literal):
            made.default = node.default.value
            made.has_default = True
            if made.type == "float" and isinstance(made.default, int):
                made.default = float(made.default)
        return made

    def top_level(self, entry: FunctionEntry, unit: Unit) -> Function:
        lowering = FunctionLowering(self.tables, entry, unit.source)
        lowering.top_level = True
        statements = unit.file.statements
        answer = statements[-1] if self.answers and unit is self.main and statements else None
        for statement in statements:
            if statement is answer and isinstance(statement, syntax.ExpressionStatement):
                lowering.used_value(statement.expression)
                lowering.code.emit("RETURN")
                return self.finished(lowering, [], 1)
            if isinstance(statement, syntax.ExpressionStatement):
                lowering.effect(statement.expression)
            elif not isinstance(statement, syntax.Function):
                STATEMENTS[type(statement)](lowering, statement)
        lowering.constant(None)
        lowering.code.emit("RETURN")
        return self.finished(lowering, [], 1)

    def inline_builtin(self, entry: FunctionEntry) -> Function:
        """`err` and `is_err` as values. (What is called with a function value is never an error.)"""
        lowering = FunctionLowering(self.tables, entry, Source("prelude", ""))
        slot = lowering.new_local("value")
        lowering.code.emit("LOAD", slot)
        lowering.code.emit("MAKE_ERR" if entry.name == "err" else "IS_ERR")
        lowering.code.emit("RETURN")
        return self.finished(lowering, [Parameter("value", "any", True)], 0)

    def finished(self, lowering: FunctionLowering, parameters: list[Parameter], line: int) -> Function:
        entry = lowering.entry
        code, lines = lowering.code.finish()
        source = lowering.source
        return Function(
            name=entry.name,
            file=self.files[source] if source in self.files else self.prelude_file(),
            parameters=parameters,
            local_count=len(lowering.local_names),
            captures=entry.places,
            result=None if lowering.result is None else self.tables.descriptors.of(lowering.result),
            code=code,
            lines=lines,
            local_names=lowering.local_names,
            builtin=entry.builtin,
            line=line,
        )


def _parameter_symbols(node: syntax.Function) -> Iterator[Symbol]:
    """The parameters' symbols, and for a component that of what stands inside it."""
    for parameter in node.parameters:
        assert parameter.symbol is not None
        yield parameter.symbol
    yield from (symbol for symbol in node.owned if symbol.kind == "children")
