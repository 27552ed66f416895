"""The Module: all that a program is once it is compiled, as plain data.

A type descriptor says what a value must be; it is made of texts and lists only:

    "any" "int" "float" "str" "bool" "null" "bytes" "html" "response" "error" "never"
    "function"                               any function
    ["list", T]   ["map", T]
    ["literal", [value, …]]                  one of these texts, numbers, bools
    ["union", [T, …]]                        `T?` is a union with "null" as its last member
    ["record", [[name, T, required], …]]     no other keys
    ["type", n]                              the n-th of Module.types (named types; they may refer to themselves)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass, field
else:
    from qasm.quick_classes import dataclass, field

Descriptor = str | list[Any]


@dataclass(slots=True)
class Parameter:
    """`required` is false where it has a default; `default` holds that where it is a constant (`has_default`)."""

    name: str
    type: Descriptor
    required: bool
    default: Any = None
    has_default: bool = False


@dataclass(slots=True)
class Function:
    """`lines` are (pc, line) pairs, upward: from that pc on, the code belongs to that line of the file.

    `captures` says for each captured cell where the function that makes the closure has it: (0, a local's number) or
    (1, the number of a capture of its own). `name` is "" for a lambda, "main" is no special name: a file's top level
    is the function that `Module.entries` lists. `builtin` marks functions that belong to the language, not to the
    program (`map`, `sort` …): they are left out of the calls that a stop shows.
    """

    name: str
    file: int
    parameters: list[Parameter]
    local_count: int
    captures: list[tuple[int, int]]
    result: Descriptor | None
    code: bytes
    lines: list[tuple[int, int]]
    local_names: list[str]
    builtin: bool = False
    line: int = 0


@dataclass(slots=True)
class Tool:
    """A function offered to AI clients. Schemas and annotations are what `tools/list` sends, {} for none.

    `wrapped`: its answer is sent as {"result": value}. `result` is the `->` type, None without one. `asks`: it may
    ask the person. `read_only`: it runs in a read-only transaction.
    """

    name: str
    function: int
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    annotations: dict[str, Any]
    wrapped: bool
    result: Descriptor | None
    asks: bool
    read_only: bool


@dataclass(slots=True)
class Route:
    """`kind`: "route", "build" (method ""), "rpc" (a `server fn`, path its name)."""

    kind: str
    method: str
    path: str
    function: int


@dataclass(slots=True)
class Test:
    name: str
    function: int


@dataclass(slots=True)
class SourceFile:
    """A file of the program: its name as diagnostics give it, and its text."""

    name: str
    text: str


@dataclass(slots=True)
class Module:
    """`name` is the main file's stem. `constants` are null, bools, ints, floats, texts, bytes, lists and maps of such
    (key lists, type descriptors), and Markup as {"markup": text}. `entries` are the functions of the files' top levels
    in the order in which they run. `instructions` is what an AI client is told: {"stdio": text, "http": text}.
    """

    name: str
    files: list[SourceFile] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    types: list[tuple[str, Descriptor]] = field(default_factory=list)
    builtins: list[str] = field(default_factory=list)
    globals: list[str] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    instructions: dict[str, str] = field(default_factory=dict)


class BadModule(Exception):
    """A module file or a Module that is refused; the text is one sentence."""
