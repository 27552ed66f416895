"""Makes tools of a program's `fn mcp`s: schemas, hints and instructions, and what is wrong with them (codes Q05xx).

Every rule is in mcp.md sections 1 and 6; the warnings stand at the `fn` line, in the order that it gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from compiler import syntax
from compiler.call_graph import Body, children
from compiler.constants import NoConstant, constant_value
from compiler.diagnostics import Diagnostics
from compiler.effects import Effects, with_clause
from compiler.instructions_text import LONGEST, instructions
from compiler.names import Program, Unit
from compiler.schemas import NoSchema, Schema, input_schema, output_schema, schema_of
from compiler.source import Source
from compiler.types import ANY, HTML, RESPONSE, Simple, Type, UnionType, resolved
from qasm.module import Tool


class ToolSet(NamedTuple):
    """The tools in the order of the program, and what an AI client is told on each door ({} without a tool).

    A Tool's `function` and `result` are for the lowering to fill in.
    """

    tools: list[tuple[Tool, syntax.Function]]
    instructions: dict[str, str]


def declared_tools(program: Program) -> Iterator[tuple[Unit, syntax.Function]]:
    """The `fn mcp`s of all files, in the order in which the files run and the functions stand."""
    for unit in program.units:
        for statement in unit.file.statements:
            if isinstance(statement, syntax.Function) and statement.mcp and not statement.private:
                yield unit, statement


def make_tools(program: Program, effects: Effects, diagnostics: Diagnostics) -> ToolSet:
    """The tools of a checked program. What is wrong with one is reported; such a tool is left out."""
    tools: list[tuple[Tool, syntax.Function]] = []
    first: dict[str, tuple[Unit, syntax.Function]] = {}
    for unit, function in declared_tools(program):
        name = function.name or ""
        if name in first:
            other, there = first[name]
            if other is unit:
                continue  # a name declared twice in one file is told as that (Q0202)
            place = f"{other.source.name}:{other.source.line(there.start)}"
            _Report(unit.source, function, diagnostics).error(
                "Q0509", f"two tools are called `{name}`, here and at {place}: an AI client can't tell them apart"
            )
            continue
        first[name] = (unit, function)
        tool = _Maker(unit.source, function, effects, diagnostics).make()
        if tool is not None:
            tools.append((tool, function))
    if not tools:
        return ToolSet([], {})
    return ToolSet(tools, _instructions(program, [tool for tool, _ in tools], diagnostics))


def _instructions(program: Program, tools: list[Tool], diagnostics: Diagnostics) -> dict[str, str]:
    source = program.main.source
    notes = program.main.file.notes
    texts = instructions(
        stem(source.name), len(tools), [tool.name for tool in tools if tool.asks], notes[0] if notes else None
    )
    length = len(texts["stdio"])
    if notes is not None and length > LONGEST:
        start = notes[1]
        diagnostics.warning(
            "Q0510",
            f"an AI client is told {length:,} characters, and cuts them after about {LONGEST:,}: "
            "shorten this `//!` block",
            source,
            start,
            start + len(source.line_text(source.line(start))),
        )
    return texts


def stem(name: str) -> str:
    """A file's name without its folders and its `.qwe`."""
    return name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".qwe")


class _Report:
    """Reports at a tool's `fn` line."""

    def __init__(self, source: Source, function: syntax.Function, diagnostics: Diagnostics) -> None:
        self.source = source
        self.diagnostics = diagnostics
        self.start = function.name_start or function.start
        self.end = self.start + len(function.name or "")

    def error(self, code: str, message: str) -> None:
        self.diagnostics.error(code, message, self.source, self.start, self.end)

    def warning(self, code: str, message: str) -> None:
        self.diagnostics.warning(code, message, self.source, self.start, self.end)


class _Maker:
    """Makes one tool."""

    def __init__(self, source: Source, function: syntax.Function, effects: Effects, diagnostics: Diagnostics) -> None:
        self.function = function
        self.name = function.name or ""
        self.effects = effects
        self.report = _Report(source, function, diagnostics)

    def make(self) -> Tool | None:
        self.warn()
        if self.answers_with_page():
            return None
        input, output = self.input_schema(), self.output_schema()
        if input is None or output is None:
            return None
        hints = self.effects.hints(self.function)
        annotations: dict[str, Any] = {}
        if hints.read_only:
            annotations["readOnlyHint"] = True
        if hints.closed_world:
            annotations["openWorldHint"] = False
        may_reach_database = "db" in (*self.effects.uses(self.function), *(self.function.effects or ()))
        return Tool(
            name=self.name,
            function=-1,
            description=self.function.doc or "",
            input_schema=input,
            output_schema=output[0],
            annotations=annotations,
            wrapped=output[1],
            result=None,
            asks=self.effects.asks(self.function),
            read_only=hints.read_only and may_reach_database,
        )

    # --- what `quillo check` says --------------------------------------------------------------------------------

    def warn(self) -> None:
        name, function, report = self.name, self.function, self.report
        used = self.effects.uses(function)
        if not function.doc:
            report.warning(
                "Q0501",
                f"tool `{name}` has no `///` comment: an AI client sees only its name and its parameters; "
                "say what it does on a `///` line above it",
            )
        if function.effects is None and used:
            report.warning(
                "Q0502",
                f"tool `{name}` has no `with`, so an AI client is told it may change anything and reach anywhere; "
                f"it uses {', '.join(used)}: `{with_clause(used)}`",
            )
        for parameter in function.parameters:
            if parameter.type is None:
                report.warning(
                    "Q0503",
                    f"parameter `{parameter.name}` of tool `{name}` has no type: its schema is `{{}}`, "
                    "and the model guesses what to send",
                )
        missing = self.effects.missing(function)
        if missing:
            report.warning(
                "Q0504",
                f"tool `{name}` uses {', '.join(missing)}, and its `with` does not say so: "
                f"`{with_clause([*(function.effects or ()), *missing])}`",
            )
        if any(body.replies for body in _with_inner(self.effects.graph.of[function])):
            report.warning("Q0505", f"tool `{name}` answers with `reply`: a tool answers by returning its value")

    def answers_with_page(self) -> bool:
        """Reports a tool that gives markup or a response."""
        for type in self.answer_types():
            for member in type.members if isinstance(type, UnionType) else (type,):
                kind = resolved(member)
                if isinstance(kind, Simple) and kind in _PAGES:
                    found = _PAGES[kind]
                    self.report.error("Q0506", f"a tool answers with data, not a page: `{self.name}` answers {found}")
                    return True
        return False

    def answer_types(self) -> Iterator[Type]:
        """The type that is written or inferred, then, where that says nothing, those of the values that it gives."""
        type = resolved(self.function.result_type or ANY)
        yield type
        if type == ANY:
            for value in _answers(self.function.body):
                yield resolved(value.type or ANY)

    # --- schemas -------------------------------------------------------------------------------------------------

    def input_schema(self) -> Schema | None:
        parameters: list[tuple[str, Type, bool]] = []
        defaults: dict[str, Any] = {}
        refused = False
        for parameter in self.function.parameters:
            type = ANY if parameter.symbol is None or parameter.type is None else parameter.symbol.type or ANY
            parameters.append((parameter.name, type, parameter.default is None))
            try:
                schema_of(type)
            except NoSchema as problem:
                refused = True
                self.report.error(
                    "Q0507",
                    f"parameter `{parameter.name}` of tool `{self.name}` takes {problem.kind}: "
                    "an AI client can send data only",
                )
            if parameter.default is not None:
                try:
                    defaults[parameter.name] = constant_value(parameter.default)
                except NoConstant:
                    continue
        return None if refused else input_schema(parameters, defaults)

    def output_schema(self) -> tuple[Schema, bool] | None:
        """The schema, {} without a `->`, and whether the answer is held as `result`."""
        if self.function.result is None:
            return {}, False
        try:
            return output_schema(self.function.result_type or ANY)
        except NoSchema as problem:
            self.report.error("Q0508", f"tool `{self.name}` gives {problem.kind}: an AI client can take data only")
            return None


_PAGES = {
    RESPONSE: "with a response, as `redirect(...)` makes",
    HTML: "with markup, as `<p>...</p>` makes",
}


def _with_inner(body: Body) -> list[Body]:
    """A body and all that stand in it."""
    found = [body]
    for outer in found:
        found += outer.inner
    return found


def _answers(body: syntax.Expression) -> Iterator[syntax.Expression]:
    """The expressions whose value a function may give: its last one, and those of each `return`; through blocks, `if`
    and `match`."""
    pending: list[syntax.Node | None] = [*_returned(body), body]
    while pending:
        node = pending.pop()
        match node:
            case syntax.Block(statements=[*_, syntax.ExpressionStatement(expression=last)]):
                pending.append(last)
            case syntax.If(then=then, otherwise=otherwise):
                pending += [otherwise, then]
            case syntax.Match(arms=arms):
                pending += [arm.body for arm in reversed(arms)]
            case syntax.Block():
                pass
            case syntax.Expression():
                yield node


def _returned(body: syntax.Expression) -> Iterator[syntax.Expression]:
    """The value of each `return` in a function's body; not those of functions that stand in it."""
    pending: list[syntax.Node] = [body]
    while pending:
        node = pending.pop()
        if isinstance(node, syntax.Return) and node.value is not None:
            yield node.value
        if not isinstance(node, syntax.Function):
            pending += children(node)
