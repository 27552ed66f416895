"""Modules by hand, for tests.

    build("INT 2", "INT 3", "ADD", "RETURN")                   a Module whose one function is its top level
    module = builder()
    double = module.function("double", "LOAD 0", "INT 2", "MUL", "RETURN", parameters=["x"])
    module.entry("CHARGE 1", "INT 21", f"CALL {double}", "RETURN")
    module.module                                              the Module

An instruction is written as a name and its operands. Where the table wants a constant, a builtin or a top-level
variable, the operand may be a value instead of a number: JSON for constants (`CONST "text"`, `RECORD ["a", "b"]`,
`CHECK "int" "what"`), a name for the others (`CALL_BUILTIN print 1`). A KIND may be written by its name
(`EXTEND local 0`), a VARIABLE of kind `global` by its name.
Lines of the line table are written as `@3` items between the instructions; the first instruction is on line 1.
"""

from __future__ import annotations

import json
from typing import Any

from qasm.instructions import (
    BUILTIN,
    CONSTANT,
    GLOBAL,
    KEYS,
    KIND,
    KINDS,
    NAMED,
    TYPE,
    VARIABLE,
    Instruction,
    encode,
)
from qasm.module import Function, Module, Parameter, SourceFile

JSON = json.JSONDecoder()


class Builder:
    """Collects a Module's parts; `module` is the Module."""

    def __init__(self, name: str = "test", source: str = "") -> None:
        self.module = Module(name, files=[SourceFile("test.qwe", source)])

    def constant(self, value: Any) -> int:
        """The place of a constant, which is added unless the very same is there."""
        for place, other in enumerate(self.module.constants):
            if repr(other) == repr(value):
                return place
        self.module.constants.append(value)
        return len(self.module.constants) - 1

    def builtin(self, name: str) -> int:
        return _place(self.module.builtins, name)

    def variable(self, name: str) -> int:
        """The number of a top-level variable."""
        return _place(self.module.globals, name)

    def type(self, name: str, descriptor: Any) -> int:
        self.module.types.append((name, descriptor))
        return len(self.module.types) - 1

    def function(
        self,
        name: str,
        *code: str,
        parameters: list[str | Parameter] | None = None,
        local_count: int | None = None,
        captures: list[tuple[int, int]] | None = None,
        result: Any = None,
        builtin: bool = False,
    ) -> int:
        """Adds a function and gives its number. A parameter given as a text is required and `any`."""
        taken = [Parameter(item, "any", True) if isinstance(item, str) else item for item in parameters or []]
        instructions, lines = self.assemble(code)
        if local_count is None:
            local_count = max([len(taken), *(slot + 1 for slot in _locals(instructions))])
        names = [parameter.name for parameter in taken]
        names += [f"local{slot}" for slot in range(len(taken), local_count)]
        self.module.functions.append(
            Function(
                name,
                0,
                taken,
                local_count,
                captures or [],
                result,
                encode(instructions),
                lines,
                names,
                builtin,
                1,
            )
        )
        return len(self.module.functions) - 1

    def entry(self, *code: str, local_count: int | None = None) -> int:
        """Adds a function and makes it a top level."""
        number = self.function("main", *code, local_count=local_count)
        self.module.entries.append(number)
        return number

    def assemble(self, code: tuple[str, ...]) -> tuple[list[Instruction], list[tuple[int, int]]]:
        instructions: list[Instruction] = []
        lines: list[tuple[int, int]] = []
        line = 1
        for item in code:
            if item.startswith("@"):
                line = int(item[1:])
                continue
            if not lines or lines[-1][1] != line:
                lines.append((len(instructions), line))
            instructions.append(self.instruction(item))
        return instructions, lines

    def instruction(self, text: str) -> Instruction:
        name, _, rest = text.partition(" ")
        op = NAMED[name]
        operands: list[int] = []
        for kind in op.operands:
            rest = rest.strip()
            if kind in (CONSTANT, KEYS, TYPE) and not rest[:1].isdigit():
                value, end = JSON.raw_decode(rest)
                operands.append(self.constant(value))
                rest = rest[end:]
                continue
            word, _, rest = rest.partition(" ")
            if kind == BUILTIN and not word.isdigit():
                operands.append(self.builtin(word))
            elif kind == KIND and not word.isdigit():
                operands.append(KINDS.index(word))
            elif kind in (GLOBAL, VARIABLE) and not word.isdigit():
                operands.append(self.variable(word))
            else:
                operands.append(int(word))
        assert not rest.strip(), f"{text}: too many operands"
        return Instruction(op, tuple(operands))


def builder(name: str = "test", source: str = "") -> Builder:
    return Builder(name, source)


def build(*code: str, local_count: int | None = None) -> Module:
    """A Module whose one function, of this code, is its top level."""
    made = Builder()
    made.entry(*code, local_count=local_count)
    return made.module


def _place(names: list[str], name: str) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)


def _locals(instructions: list[Instruction]) -> list[int]:
    found = []
    for op, operands in instructions:
        found += [operand for kind, operand in zip(op.operands, operands, strict=True) if kind == "local"]
        if KIND in op.operands and operands[0] < 2:
            found.append(operands[1])
    return found
