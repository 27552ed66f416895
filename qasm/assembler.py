"""A Module from its text form, which `qasm.disassembler.disassemble` writes: exact in both directions.

A statement is a line; indentation and what follows a `;` mean nothing. Numbers count up from 0 within their kind.

    qasm 1                                         the text's format, in the first line
    module "notes"
    file "main.qwe"
        text "print(1)\\n"                          a file's text is all its `text` lines together
    instructions "stdio" "text"
    constant 0 ["id", "text"]
    type 0 "Note" ["record", [["id", "int", true]]]
    builtin 0 "print"
    variable 0 "total"
    function 0 "add" file 0 line 3                 and `builtin`
        parameter 0 "x" "int" required             or not `required`; and `default VALUE`
        capture 0 local 2                          or `capture 1`
        result "int"
        local 0 "x"
        @3                                         what follows belongs to this line of the file
        LOAD 0                                     an instruction with its operands as numbers
    entry 0
    tool "add" function 0 wrapped                  and `asks`, `read_only`
        description "text"
        input {}                                   the schemas and annotations: maps
        output {}
        annotations {}
        result "int"
    route "route" "GET" "/" function 0
    test "adds" function 0

`assemble` says nothing about whether the code makes sense: that is the verifier's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from qasm.instructions import NAMED, SIGNED, Instruction, encode
from qasm.literals import BadLiteral, Row
from qasm.module import BadModule, Function, Module, Parameter, Route, SourceFile, Test, Tool

FORMAT = 1
_OPCODE = re.compile(r"[A-Z][A-Z_]*")


def assemble(text: str) -> Module:
    """The Module that `text` describes. Raises BadModule, with the line and what is wrong in it."""
    assembler = _Assembler()
    for number, line in enumerate(text.split("\n"), 1):
        try:
            row = Row(line)
            if row.tokens:
                assembler.statement(row)
        except BadLiteral as error:
            raise BadModule(f"line {number}: {error}") from None
    return assembler.finish()


class _Assembler:
    """Takes statement by statement; a statement that belongs to another comes behind it."""

    def __init__(self) -> None:
        self.begun = False
        self.module: Module | None = None
        self.file: SourceFile | None = None
        self.function: Function | None = None
        self.tool: Tool | None = None
        self.code: list[Instruction] = []
        self.given: set[str] = set()  # the tool's statements that may stand once, or the function's `result`
        self.statements: dict[str, Callable[[Row], None]] = {
            "file": self.add_file,
            "text": self.add_text,
            "instructions": self.add_instructions,
            "constant": self.add_constant,
            "type": self.add_type,
            "builtin": self.add_builtin,
            "variable": self.add_variable,
            "function": self.add_function,
            "parameter": self.add_parameter,
            "capture": self.add_capture,
            "result": self.add_result,
            "local": self.add_local,
            "entry": self.add_entry,
            "tool": self.add_tool,
            "description": self.add_description,
            "input": self.add_schema,
            "output": self.add_schema,
            "annotations": self.add_schema,
            "route": self.add_route,
            "test": self.add_test,
        }

    def statement(self, row: Row) -> None:
        if not self.begun:
            row.need("qasm")
            if (found := row.whole()) != FORMAT:
                raise BadLiteral(f"the text is in format {found}, and this build reads format {FORMAT}")
            self.begun = True
        elif self.module is None:
            row.need("module")
            self.module = Module(row.text())
        elif row.kind == "line":
            self.add_line(row)
        elif _OPCODE.fullmatch(row.next):
            self.add_instruction(row)
        elif row.kind == "word" and row.next in self.statements:
            self.statements[row.next](row)
        else:
            raise BadLiteral(f"no statement begins with {row.next}")
        row.end()

    def finish(self) -> Module:
        if self.module is None:
            raise BadModule("the text ends before `module`")
        self.close()
        return self.module

    def close(self) -> None:
        """Ends what takes further statements."""
        if self.function is not None:
            self.function.code = encode(self.code)
        self.file = self.function = self.tool = None
        self.code = []
        self.given = set()

    @property
    def made(self) -> Module:
        assert self.module is not None
        return self.module

    def numbered(self, row: Row, there: list[Any]) -> None:
        """Takes the statement's word and its number, which must be the next."""
        word = row.take()
        if (number := row.count()) != len(there):
            raise BadLiteral(f"{word} {len(there)} is wanted and {word} {number} is found")

    def once(self, word: str) -> None:
        if word in self.given:
            raise BadLiteral(f"`{word}` is there twice")
        self.given.add(word)

    def in_function(self, word: str) -> Function:
        if self.function is None:
            raise BadLiteral(f"{word} stands in no function")
        return self.function

    def in_tool(self, word: str) -> Tool:
        if self.tool is None:
            raise BadLiteral(f"{word} stands in no tool")
        return self.tool

    def add_file(self, row: Row) -> None:
        self.close()
        row.take()
        self.file = SourceFile(row.text(), "")
        self.made.files.append(self.file)

    def add_text(self, row: Row) -> None:
        row.take()
        if self.file is None:
            raise BadLiteral("`text` stands behind no `file`")
        self.file.text += row.text()

    def add_instructions(self, row: Row) -> None:
        self.close()
        row.take()
        door = row.text()
        if door in self.made.instructions:
            raise BadLiteral(f"the instructions for {door} are there twice")
        self.made.instructions[door] = row.text()

    def add_constant(self, row: Row) -> None:
        self.close()
        self.numbered(row, self.made.constants)
        self.made.constants.append(row.value())

    def add_type(self, row: Row) -> None:
        self.close()
        self.numbered(row, self.made.types)
        self.made.types.append((row.text(), _descriptor(row)))

    def add_builtin(self, row: Row) -> None:
        self.close()
        self.numbered(row, self.made.builtins)
        self.made.builtins.append(row.text())

    def add_variable(self, row: Row) -> None:
        self.close()
        self.numbered(row, self.made.globals)
        self.made.globals.append(row.text())

    def add_function(self, row: Row) -> None:
        self.close()
        self.numbered(row, self.made.functions)
        name = row.text()
        row.need("file")
        file = row.count()
        row.need("line")
        line = row.count()
        builtin = bool(row.word("builtin"))
        self.function = Function(name, file, [], 0, [], None, b"", [], [], builtin, line)
        self.made.functions.append(self.function)

    def add_parameter(self, row: Row) -> None:
        function = self.in_function("parameter")
        self.numbered(row, function.parameters)
        parameter = Parameter(row.text(), _descriptor(row), bool(row.word("required")))
        if row.word("default"):
            parameter.has_default = True
            parameter.default = row.value()
        function.parameters.append(parameter)

    def add_capture(self, row: Row) -> None:
        function = self.in_function("capture")
        self.numbered(row, function.captures)
        kind = row.word("local", "capture")
        if not kind:
            raise row.wrong("`local` or `capture`")
        function.captures.append((int(kind == "capture"), row.count()))

    def add_result(self, row: Row) -> None:
        row.take()
        if self.function is None and self.tool is None:
            raise BadLiteral("result stands in no function and no tool")
        self.once("result")
        descriptor = _descriptor(row)
        if self.function is not None:
            self.function.result = descriptor
        else:
            self.in_tool("result").result = descriptor

    def add_local(self, row: Row) -> None:
        function = self.in_function("local")
        self.numbered(row, function.local_names)
        function.local_names.append(row.text())
        function.local_count += 1

    def add_line(self, row: Row) -> None:
        function = self.in_function(row.next)
        function.lines.append((len(self.code), int(row.take()[1:])))

    def add_instruction(self, row: Row) -> None:
        self.in_function(row.next)
        op = NAMED.get(row.next)
        if op is None:
            raise BadLiteral(f"there is no instruction {row.next}")
        row.take()
        operands = tuple(row.whole() if kind is SIGNED else row.count() for kind in op.operands)
        if any(not -(2**63) <= operand < 2**63 for operand in operands):
            raise BadLiteral(f"an operand of {op.name} doesn't fit in 64 bits")
        self.code.append(Instruction(op, operands))

    def add_entry(self, row: Row) -> None:
        self.close()
        row.take()
        self.made.entries.append(row.count())

    def add_tool(self, row: Row) -> None:
        self.close()
        row.take()
        name = row.text()
        row.need("function")
        number = row.count()
        self.tool = tool = Tool(name, number, "", {}, {}, {}, False, None, False, False)
        tool.wrapped = bool(row.word("wrapped"))
        tool.asks = bool(row.word("asks"))
        tool.read_only = bool(row.word("read_only"))
        self.made.tools.append(tool)

    def add_description(self, row: Row) -> None:
        tool = self.in_tool("description")
        self.once(row.take())
        tool.description = row.text()

    def add_schema(self, row: Row) -> None:
        tool = self.in_tool(row.next)
        word = row.take()
        self.once(word)
        schema = row.value()
        if not isinstance(schema, dict):
            raise BadLiteral(f"`{word}` takes a map")
        if word == "input":
            tool.input_schema = schema
        elif word == "output":
            tool.output_schema = schema
        else:
            tool.annotations = schema

    def add_route(self, row: Row) -> None:
        self.close()
        row.take()
        kind, method, path = row.text(), row.text(), row.text()
        row.need("function")
        self.made.routes.append(Route(kind, method, path, row.count()))

    def add_test(self, row: Row) -> None:
        self.close()
        row.take()
        name = row.text()
        row.need("function")
        self.made.tests.append(Test(name, row.count()))


def _descriptor(row: Row) -> Any:
    descriptor = row.value()
    if not isinstance(descriptor, str | list):
        raise BadLiteral("a type is a text or a list")
    return descriptor
