"""A Module as a file: the frame around it, its bytes, its digest, and the loader, which trusts nothing.

    offset  bytes  field    what it is
         0      4  magic    91 51 56 4d: no text begins so
         4      2  version  the format's number, 1
         6     32  digest   BLAKE3 of the payload
        38      8  length   of the payload in bytes
        46         payload  the Module in msgpack, to the end of the file

Numbers are big-endian. The loader looks at magic, version, length and digest in this order and says which failed. The
payload is the Module's fields in the order of qasm/module.py, each object of it a list of its fields; sets of names
(schemas, annotations, the instructions for AI clients) are maps in the order in which they were made. A Module has
one payload only: the loader refuses any other form of the same data, so that a digest names a Module.

A file says nothing about whether the code in it makes sense: whoever runs a loaded Module verifies it first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from qasm.framing import BadFrame, blake3, frame, unframe
from qasm.module import BadModule, Function, Module, Parameter, Route, SourceFile, Test, Tool

MAGIC = b"\x91QVM"
VERSION = 1
NESTING = 256  # lists and maps within one another, in a constant or a schema

Made = TypeVar("Made")


def dump(module: Module) -> bytes:
    """The file of a Module; the same Module gives the same bytes. Raises BadModule where no loader would take it."""
    return frame(MAGIC, VERSION, _payload(module))


def digest(module: Module) -> str:
    """What names a Module everywhere: its payload's BLAKE3 in 64 hexadecimal digits. Raises BadModule as `dump`."""
    return blake3(_payload(module)).hex()


def load(data: bytes) -> Module:
    """The Module of a file's bytes. Raises BadModule, with one sentence that says what failed."""
    import msgpack

    try:
        payload = unframe(data, MAGIC, VERSION, "a Quillo module", ": build it again")
    except BadFrame as bad:
        raise BadModule(str(bad)) from None
    try:
        fields = msgpack.unpackb(payload, strict_map_key=True)
    except Exception:
        # msgpack has no one class for all that it finds wrong, and what it says is not for people.
        raise BadModule("its digest is right, but its payload is no msgpack") from None
    module = _module(fields)
    if msgpack.packb(fields) != payload:
        raise BadModule("its payload is not in the one form that a Module has")
    return module


def _payload(module: Module) -> bytes:
    import msgpack

    fields = _fields(module)
    if _module(fields) != module:
        raise BadModule("it holds something that a file can't keep")
    try:
        packed = msgpack.packb(fields)
    except UnicodeEncodeError:
        raise BadModule("a text in it has half of a surrogate pair, which is no Unicode text") from None
    assert isinstance(packed, bytes)
    return packed


def _fields(module: Module) -> list[Any]:
    """The payload as lists: what `_module` reads back."""
    return [
        module.name,
        [[file.name, file.text] for file in module.files],
        module.constants,
        [list(named) for named in module.types],
        module.builtins,
        module.globals,
        [
            [
                function.name,
                function.file,
                [[item.name, item.type, item.required, item.default, item.has_default] for item in function.parameters],
                function.local_count,
                [list(capture) for capture in function.captures],
                function.result,
                function.code,
                [list(row) for row in function.lines],
                function.local_names,
                function.builtin,
                function.line,
            ]
            for function in module.functions
        ],
        module.entries,
        [
            [
                tool.name,
                tool.function,
                tool.description,
                tool.input_schema,
                tool.output_schema,
                tool.annotations,
                tool.wrapped,
                tool.result,
                tool.asks,
                tool.read_only,
            ]
            for tool in module.tools
        ],
        [[route.kind, route.method, route.path, route.function] for route in module.routes],
        [[test.name, test.function] for test in module.tests],
        module.instructions,
    ]


# Readers: each takes a decoded value and how to name it, and gives the checked thing. Kinds are exact: a bool is no
# number, and 1.0 no whole one.


def _wrong(place: str, wanted: str) -> BadModule:
    return BadModule(f"its {place} is not {wanted}")


def _text(value: Any, place: str) -> str:
    if type(value) is not str:
        raise _wrong(place, "a text")
    return value


def _flag(value: Any, place: str) -> bool:
    if type(value) is not bool:
        raise _wrong(place, "true or false")
    return value


def _number(value: Any, place: str) -> int:
    if type(value) is not int or not 0 <= value < 2**32:
        raise _wrong(place, "a whole number from 0")
    return value


def _code(value: Any, place: str) -> bytes:
    if type(value) is not bytes:
        raise _wrong(place, "a piece of code")
    return value


def _listed(value: Any, place: str) -> list[Any]:
    if type(value) is not list:
        raise _wrong(place, "a list")
    return value


def _each(value: Any, place: str, read: Callable[[Any, str], Made]) -> list[Made]:
    return [read(item, f"{place} {number}") for number, item in enumerate(_listed(value, place))]


def _row(value: Any, place: str, length: int) -> list[Any]:
    if type(value) is not list or len(value) != length:
        raise _wrong(place, f"a list of {length} fields")
    return value


def _value(value: Any, place: str, depth: int = 0) -> Any:
    """A constant, a type descriptor or a part of a schema."""
    kind = type(value)
    if kind is str or kind is bool or kind is bytes or value is None:
        return value
    if kind is float:
        if value != value:  # it would not equal itself, nor the Module its copy
            raise _wrong(place, "a number")
        return value
    if kind is int:
        if not -(2**63) <= value < 2**63:
            raise _wrong(place, "a number of 64 bits")
        return value
    if depth == NESTING:
        raise BadModule(f"its {place} nests more than {NESTING} lists and maps")
    if kind is list:
        for item in value:
            _value(item, place, depth + 1)
        return value
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise BadModule(f"its {place} has a key that is not a text")
            _value(item, place, depth + 1)
        return value
    raise _wrong(place, "a value that a Module can hold")


def _map(value: Any, place: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise _wrong(place, "a map")
    checked: dict[str, Any] = _value(value, place)
    return checked


def _type(value: Any, place: str) -> Any:
    if type(value) is not str and type(value) is not list:
        raise _wrong(place, "a type")
    return _value(value, place)


def _named_type(value: Any, place: str) -> tuple[str, Any]:
    name, descriptor = _row(value, place, 2)
    return _text(name, f"{place}'s name"), _type(descriptor, place)


def _pair(value: Any, place: str) -> tuple[int, int]:
    first, second = _row(value, place, 2)
    return _number(first, place), _number(second, place)


def _file(value: Any, place: str) -> SourceFile:
    name, text = _row(value, place, 2)
    return SourceFile(_text(name, f"{place}'s name"), _text(text, f"{place}'s text"))


def _parameter(value: Any, place: str) -> Parameter:
    name, descriptor, required, default, has_default = _row(value, place, 5)
    return Parameter(
        _text(name, f"{place}'s name"),
        _type(descriptor, f"{place}'s type"),
        _flag(required, f"{place}'s mark of being required"),
        _value(default, f"{place}'s default"),
        _flag(has_default, f"{place}'s mark of having a default"),
    )


def _function(value: Any, place: str) -> Function:
    name, file, parameters, local_count, captures, result, code, lines, local_names, builtin, line = _row(
        value, place, 11
    )
    return Function(
        _text(name, f"{place}'s name"),
        _number(file, f"{place}'s file"),
        _each(parameters, f"{place}'s parameter", _parameter),
        _number(local_count, f"{place}'s count of locals"),
        _each(captures, f"{place}'s capture", _pair),
        None if result is None else _type(result, f"{place}'s result"),
        _code(code, f"{place}'s code"),
        _each(lines, f"{place}'s line table", _pair),
        _each(local_names, f"{place}'s name of local", _text),
        _flag(builtin, f"{place}'s mark of being the language's own"),
        _number(line, f"{place}'s line"),
    )


def _tool(value: Any, place: str) -> Tool:
    name, function, description, takes, gives, annotations, wrapped, result, asks, read_only = _row(value, place, 10)
    return Tool(
        _text(name, f"{place}'s name"),
        _number(function, f"{place}'s function"),
        _text(description, f"{place}'s description"),
        _map(takes, f"{place}'s input schema"),
        _map(gives, f"{place}'s output schema"),
        _map(annotations, f"{place}'s annotations"),
        _flag(wrapped, f"{place}'s mark of being wrapped"),
        None if result is None else _type(result, f"{place}'s result"),
        _flag(asks, f"{place}'s mark of asking"),
        _flag(read_only, f"{place}'s mark of only reading"),
    )


def _route(value: Any, place: str) -> Route:
    kind, method, path, function = _row(value, place, 4)
    return Route(
        _text(kind, f"{place}'s kind"),
        _text(method, f"{place}'s method"),
        _text(path, f"{place}'s path"),
        _number(function, f"{place}'s function"),
    )


def _test(value: Any, place: str) -> Test:
    name, function = _row(value, place, 2)
    return Test(_text(name, f"{place}'s name"), _number(function, f"{place}'s function"))


def _module(value: Any) -> Module:
    if type(value) is not list or len(value) != 12:
        raise BadModule("its digest is right, but its payload is no Module")
    (name, files, constants, types, builtins, variables, functions, entries, tools, routes, tests, instructions) = value
    told = _map(instructions, "instructions")
    return Module(
        _text(name, "name"),
        _each(files, "file", _file),
        _each(constants, "constant", _value),
        _each(types, "type", _named_type),
        _each(builtins, "builtin", _text),
        _each(variables, "top-level variable", _text),
        _each(functions, "function", _function),
        _each(entries, "entry", _number),
        _each(tools, "tool", _tool),
        _each(routes, "route", _route),
        _each(tests, "test", _test),
        {door: _text(text, f"instructions for {door}") for door, text in told.items()},
    )
