"""A Module for reading: what the program is made of, and its code beside the lines it was made from.

    listing(module)                  all of it, as lines of text
    listing(module, [3])             these functions only
    as_data(module), …               the same as plain data, for `--json`

Constants, builtins, functions and variables stand in the code by value or name, branches by the pc that they go to. It
can't be read back: qasm/disassembler.py writes the form that can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from qasm.flow import ControlFlow, control_flow
from qasm.instructions import (
    BUILTIN,
    CAPTURE,
    CONSTANT,
    DEPTH,
    FUNCTION,
    GLOBAL,
    KEYS,
    KIND,
    KINDS,
    LOCAL,
    TYPE,
    VARIABLE,
)
from qasm.literals import write
from qasm.module import Descriptor, Function, Module, Parameter, Tool

_SHOWN = 72  # characters of a value that are shown


def listing(module: Module, functions: Iterable[int] | None = None) -> str:
    """The Module's listing, or that of some of its functions. Raises BadModule where code doesn't verify."""
    rows: list[str] = []
    if functions is None:
        rows += _overview(module)
        for tool in module.tools:
            rows += ["", *_tool_rows(module, tool)]
    for number in range(len(module.functions)) if functions is None else functions:
        rows += ["", *_function_rows(module, number)]
    if functions is not None:
        del rows[:1]
    return "\n".join(rows) + "\n"


def title(module: Module, number: int) -> str:
    """A function as its first line shows it: `function 3 add(x: int, y: int = 1) -> int`."""
    function = module.functions[number]
    if number in module.entries:
        return f"function {number}, the top level of {_file(module, function)}"
    parameters = ", ".join(_parameter(module, parameter) for parameter in function.parameters)
    result = "" if function.result is None else f" -> {type_text(module, function.result)}"
    return f"function {number} {function.name or 'fn'}({parameters}){result}"


def type_text(module: Module, descriptor: Descriptor) -> str:
    """A type descriptor in the language's own syntax."""
    if isinstance(descriptor, str):
        return descriptor
    kind, of = descriptor
    if kind in ("list", "map"):
        return f"{kind}<{type_text(module, of)}>"
    if kind == "type":
        return module.types[of][0]
    if kind == "literal":
        return " | ".join(map(write, of))
    if kind == "record":
        fields = (f"{name}{'' if required else '?'}: {type_text(module, item)}" for name, item, required in of)
        return f"{{ {', '.join(fields)} }}" if of else "{}"
    members = [type_text(module, member) for member in of]
    return f"{members[0]}?" if len(members) == 2 and members[1] == "null" else " | ".join(members)


def _file(module: Module, function: Function) -> str:
    return module.files[function.file].name


def _parameter(module: Module, parameter: Parameter) -> str:
    text = f"{parameter.name}: {type_text(module, parameter.type)}"
    if parameter.has_default:
        return f"{text} = {_short(write(parameter.default))}"
    return text if parameter.required else f"{text} = …"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _overview(module: Module) -> Iterator[str]:
    from qasm.module_file import digest

    yield f"module {module.name}"
    yield f"digest {digest(module)}"
    for file in module.files:
        yield f"file {file.name}"
    for name, descriptor in module.types:
        yield f"type {name} = {type_text(module, descriptor)}"
    for route in module.routes:
        yield f"{route.kind} {f'{route.method} ' if route.method else ''}{route.path}: function {route.function}"
    for test in module.tests:
        yield f"test {write(test.name)}: function {test.function}"
    for door, text in module.instructions.items():
        yield f"instructions for {door}: {write(text)}"


def _tool_rows(module: Module, tool: Tool) -> Iterator[str]:
    marks = [f"function {tool.function}"]
    marks += ["asks"] if tool.asks else []
    marks += ["only reads"] if tool.read_only else []
    marks += ['answers {"result": …}'] if tool.wrapped else []
    yield f"tool {tool.name}: {', '.join(marks)}"
    for line in tool.description.split("\n"):
        yield f"    {line}".rstrip()
    for name, schema in (
        ("annotations", tool.annotations),
        ("input", tool.input_schema),
        ("output", tool.output_schema),
    ):
        if schema:
            yield f"    {name}"
            yield from (f"        {row}" for row in _schema_rows(schema))


def _schema_rows(schema: Any, lead: str = "", end: str = "") -> Iterator[str]:
    """A schema as JSON; what fits on a line stands on one."""
    whole = lead + write(schema) + end
    if len(whole) <= _SHOWN or not isinstance(schema, dict | list) or not schema:
        yield whole
        return
    opening, closing = "{}" if isinstance(schema, dict) else "[]"
    yield lead + opening
    last = len(schema) - 1
    entries = schema.items() if isinstance(schema, dict) else ((None, item) for item in schema)
    for place, (key, item) in enumerate(entries):
        lead = "" if key is None else f"{write(key)}: "
        yield from (f"    {row}" for row in _schema_rows(item, lead, "" if place == last else ","))
    yield closing + end


def _function_rows(module: Module, number: int) -> Iterator[str]:
    function = module.functions[number]
    flow = control_flow(module, number)
    names = _local_names(function)
    yield title(module, number)
    if function.captures:
        places = (f"the maker's {'capture' if kind else 'local'} {place}" for kind, place in function.captures)
        yield f"  captures {', '.join(places)}"
    text = module.files[function.file].text.split("\n")
    lines = dict(function.lines)
    width = len(str(len(flow.instructions)))
    depth = 0
    for pc, (op, _) in enumerate(flow.instructions):
        if pc in lines:
            line = lines[pc]
            source = text[line - 1].strip() if line <= len(text) else ""
            yield f"{_file(module, function)}:{line}" + (f"  {source}" if source else "")
        if op.name in ("END", "ELSE", "CATCH"):
            depth -= 1
        operands = _operands(module, flow, pc, names)
        yield f"  {pc:{width}}  {'  ' * depth}{op.name}{f' {operands}' if operands else ''}"
        if op.opens or op.name in ("ELSE", "CATCH"):
            depth += 1


def _local_names(function: Function) -> list[str]:
    """How each local is shown: by its name, with its number where that would be unclear or there is none."""
    times: dict[str, int] = {"": 2}
    for name in function.local_names:
        times[name] = times.get(name, 0) + 1
    return [name if times[name] == 1 else f"{name}#{slot}" for slot, name in enumerate(function.local_names)]


def _operands(module: Module, flow: ControlFlow, pc: int, names: list[str]) -> str:
    """An instruction's operands as they are shown."""
    op, operands = flow.instructions[pc]
    shown: list[str] = []
    variables = ""
    for kind, operand in zip(op.operands, operands, strict=True):
        if kind is TYPE:
            shown.append(type_text(module, module.constants[operand]))
        elif kind is CONSTANT or kind is KEYS:
            shown.append(_short(write(module.constants[operand])))
        elif kind is LOCAL:
            shown.append(names[operand])
        elif kind is GLOBAL:
            shown.append(module.globals[operand])
        elif kind is BUILTIN:
            shown.append(module.builtins[operand])
        elif kind is FUNCTION:
            shown.append(f"{operand} {module.functions[operand].name}".rstrip())
        elif kind is CAPTURE:
            shown.append(str(operand))
        elif kind is KIND:
            variables = KINDS[operand]
            shown.append(variables)
        elif kind is VARIABLE:
            tables = {"local": names, "cell": names, "global": module.globals}
            shown.append(tables[variables][operand] if variables in tables else str(operand))
        elif kind is not DEPTH:
            shown.append(str(operand))
    if flow.target[pc] >= 0 and op.name not in ("BLOCK", "LOOP"):
        shown.append(f"→ {flow.target[pc]}")
    return " ".join(shown)


def as_data(module: Module, functions: Iterable[int] | None = None) -> dict[str, Any]:
    """The listing as data that JSON can hold; bytes are {"bytes": hexadecimal}. Raises BadModule as `listing`."""
    from qasm.module_file import VERSION, digest

    chosen = range(len(module.functions)) if functions is None else functions
    return {
        "name": module.name,
        "format": VERSION,
        "digest": digest(module),
        "files": [file.name for file in module.files],
        "types": [
            {"name": name, "type": type_text(module, type), "descriptor": _plain(type)} for name, type in module.types
        ],
        "constants": _plain(module.constants),
        "variables": module.globals,
        "builtins": module.builtins,
        "functions": [_function_data(module, number) for number in chosen],
        "entries": module.entries,
        "tools": [
            {
                "name": tool.name,
                "function": tool.function,
                "description": tool.description,
                "inputSchema": tool.input_schema,
                "outputSchema": tool.output_schema or None,
                "annotations": tool.annotations,
                "wrapped": tool.wrapped,
                "asks": tool.asks,
                "readOnly": tool.read_only,
            }
            for tool in module.tools
        ],
        "routes": [
            {"kind": route.kind, "method": route.method, "path": route.path, "function": route.function}
            for route in module.routes
        ],
        "tests": [{"name": test.name, "function": test.function} for test in module.tests],
        "instructions": module.instructions,
    }


def _function_data(module: Module, number: int) -> dict[str, Any]:
    function = module.functions[number]
    flow = control_flow(module, number)
    names = _local_names(function)
    lines = dict(function.lines)
    line = function.line
    code = []
    for pc, (op, operands) in enumerate(flow.instructions):
        line = lines.get(pc, line)
        row: dict[str, Any] = {"pc": pc, "line": line, "op": op.name, "operands": list(operands)}
        row["shown"] = _operands(module, flow, pc, names)
        row["height"] = flow.height[pc] if flow.height[pc] >= 0 else None
        row["target"] = flow.target[pc] if flow.target[pc] >= 0 else None
        code.append(row)
    return {
        "number": number,
        "name": function.name,
        "title": title(module, number),
        "file": _file(module, function),
        "line": function.line,
        "builtin": function.builtin,
        "parameters": [
            {
                "name": parameter.name,
                "type": type_text(module, parameter.type),
                "required": parameter.required,
                **({"default": _plain(parameter.default)} if parameter.has_default else {}),
            }
            for parameter in function.parameters
        ],
        "result": None if function.result is None else type_text(module, function.result),
        "captures": [{"from": "capture" if kind else "local", "number": place} for kind, place in function.captures],
        "locals": function.local_names,
        "maxStack": flow.max_stack,
        "code": code,
    }


def _plain(value: Any) -> Any:
    """A constant as JSON can hold it; a float that is infinite as a text."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return repr(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
