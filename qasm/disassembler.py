"""A Module's text form, from which `qasm.assembler.assemble` makes the very same Module again.

The operands are numbers, as in the code; what they stand for is written behind a `;`. For a form that is made for
reading see qasm/listing.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from qasm.instructions import BUILTIN, CONSTANT, FUNCTION, GLOBAL, KEYS, LOCAL, TYPE, BadCode, Instruction, decode
from qasm.literals import write
from qasm.module import BadModule, Function, Module, Parameter

FORMAT = 1
_SHOWN = 60  # characters of a comment


def disassemble(module: Module) -> str:
    """The Module's text form. Raises BadModule where its code can't be decoded or its line table is out of order."""
    return "\n".join(_rows(module)) + "\n"


def _rows(module: Module) -> Iterator[str]:
    yield f"qasm {FORMAT}"
    yield f"module {write(module.name)}"
    for file in module.files:
        yield f"file {write(file.name)}"
        lines = file.text.split("\n")
        yield from (f"    text {write(line + chr(10))}" for line in lines[:-1])
        if lines[-1]:
            yield f"    text {write(lines[-1])}"
    for door, text in module.instructions.items():
        yield f"instructions {write(door)} {write(text)}"
    for number, constant in enumerate(module.constants):
        yield f"constant {number} {write(constant)}"
    for number, (name, descriptor) in enumerate(module.types):
        yield f"type {number} {write(name)} {write(descriptor)}"
    for number, name in enumerate(module.builtins):
        yield f"builtin {number} {write(name)}"
    for number, name in enumerate(module.globals):
        yield f"variable {number} {write(name)}"
    for number, function in enumerate(module.functions):
        yield from _function_rows(module, number, function)
    yield from (f"entry {number}" for number in module.entries)
    yield from _tool_rows(module)
    for route in module.routes:
        yield f"route {write(route.kind)} {write(route.method)} {write(route.path)} function {route.function}"
    for test in module.tests:
        yield f"test {write(test.name)} function {test.function}"


def _function_rows(module: Module, number: int, function: Function) -> Iterator[str]:
    builtin = " builtin" if function.builtin else ""
    yield f"function {number} {write(function.name)} file {function.file} line {function.line}{builtin}"
    for place, parameter in enumerate(function.parameters):
        yield f"    parameter {place} {_parameter(parameter)}"
    for place, (kind, variable) in enumerate(function.captures):
        yield f"    capture {place} {'capture' if kind else 'local'} {variable}"
    if function.result is not None:
        yield f"    result {write(function.result)}"
    if len(function.local_names) != function.local_count:
        raise BadModule(
            f"function {number}: {len(function.local_names)} names for {function.local_count} locals can't be written"
        )
    for slot, name in enumerate(function.local_names):
        yield f"    local {slot} {write(name)}"
    yield from _code_rows(module, number, function)


def _code_rows(module: Module, number: int, function: Function) -> Iterator[str]:
    pcs = [pc for pc, _ in function.lines]
    if pcs != sorted(set(pcs)):
        raise BadModule(f"function {number}: its line table is out of order")
    lines = dict(function.lines)
    depth = 1
    try:
        for pc, instruction in enumerate(decode(function.code)):
            op, operands = instruction
            if op.name in ("END", "ELSE", "CATCH"):
                depth = max(1, depth - 1)
            if pc in lines:
                yield f"{'    ' * depth}@{lines.pop(pc)}"
            text = f"{'    ' * depth}{' '.join((op.name, *map(str, operands)))}"
            meant = _meaning(module, function, instruction)
            yield f"{text:40} ; {meant}" if meant else text
            if op.opens or op.name in ("ELSE", "CATCH"):
                depth += 1
    except BadCode as error:
        raise BadModule(f"function {number}: {error}") from None
    if lines:
        raise BadModule(f"function {number}: its line table goes on behind its code")


def _parameter(parameter: Parameter) -> str:
    text = f"{write(parameter.name)} {write(parameter.type)}"
    if parameter.required:
        text += " required"
    if parameter.has_default:
        text += f" default {write(parameter.default)}"
    elif parameter.default is not None:
        raise BadModule(f"parameter `{parameter.name}` holds a default that it doesn't have")
    return text


def _tool_rows(module: Module) -> Iterator[str]:
    for tool in module.tools:
        marks = "".join(f" {mark}" for mark in ("wrapped", "asks", "read_only") if getattr(tool, mark))
        yield f"tool {write(tool.name)} function {tool.function}{marks}"
        yield f"    description {write(tool.description)}"
        yield f"    input {write(tool.input_schema)}"
        yield f"    output {write(tool.output_schema)}"
        yield f"    annotations {write(tool.annotations)}"
        if tool.result is not None:
            yield f"    result {write(tool.result)}"


def _meaning(module: Module, function: Function, instruction: Instruction) -> str:
    """What the operands stand for, where they name anything that is there."""
    meant = []
    for kind, operand in zip(instruction.op.operands, instruction.operands, strict=True):
        text = ""
        if kind in (CONSTANT, KEYS, TYPE):
            text = write(module.constants[operand]) if operand < len(module.constants) else ""
        elif kind is FUNCTION:
            text = module.functions[operand].name if operand < len(module.functions) else ""
        elif kind in (BUILTIN, GLOBAL, LOCAL):
            names = {BUILTIN: module.builtins, GLOBAL: module.globals, LOCAL: function.local_names}[kind]
            text = names[operand] if operand < len(names) else ""
        if text:
            text = text if text.isprintable() else write(text)
            meant.append(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
    return ", ".join(meant)
