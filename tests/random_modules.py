"""Random Modules that verify, for property tests: `modules()` is a strategy.

A function's code is grown as a tree of statements and expressions, so that it keeps the verifier's rules by its shape;
together the Modules hold every instruction.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

from qasm.module import Module, Parameter, Route, SourceFile, Test, Tool
from tests.building import Builder

DESCRIPTORS = [
    "any",
    "int",
    ["list", "float"],
    ["map", ["union", ["str", "null"]]],
    ["literal", ["a", 1, 1.5, True]],
    ["record", [["id", "int", True], ["text", "str", False]]],
    ["type", 0],
]
UNARY = ("NEG", "NOT", "IS_ERR", "IS_MISSING", "ERR_VALUE", "MAKE_ERR", "USE")
BINARY = ("ADD", "SUB", "MUL", "DIV", "MOD", "EQ", "NE", "LT", "LE", "GT", "GE", "IN", "RANGE", "INDEX")
CONSTANTS = [None, True, -(2**63), 2**63 - 1, 0.1, -0.0, float("inf"), "", 'a;"\\\n\x85\u2028é😀', b"\0\xff", [], {}]
NAMES = ["", "a", "x y", "line\nbreak", 'quote"; and more', "é", "😀", "\x7f"]
CAPTURED = 4  # the local that functions capture, of whichever function makes them


class _Code:
    """Grows the code of one function."""

    def __init__(self, builder: Builder, rng: random.Random, parameters: list[Parameter], captures: int) -> None:
        self.builder = builder
        self.random = rng
        self.code: list[str] = []
        self.parameters = parameters
        self.captures = captures
        self.plain = [slot for slot, parameter in enumerate(parameters) if parameter.required]
        self.cells = [CAPTURED]
        self.next_slot = CAPTURED + 1
        self.depth = 0  # of open blocks
        self.loops: list[int] = []  # the depths of LOOPs that may be gone on with from here

    def function(self) -> tuple[str, ...]:
        self.emit("CHARGE 7", "NULL", f"STORE {CAPTURED}", f"CELL {CAPTURED}")
        for slot, parameter in enumerate(self.parameters):
            if not parameter.required:
                self.emit(f"IF_ABSENT {slot}")
                self.depth += 1
                self.expression(1)
                self.emit(f"STORE {slot}", "END")
                self.depth -= 1
                self.plain.append(slot)
        for _ in range(self.random.randint(0, 4)):
            self.statement(3)
        self.end()
        return tuple(self.code)

    def emit(self, *code: str) -> None:
        if self.random.random() < 0.1:
            self.code.append(f"@{self.random.randint(1, 99)}")
        self.code += code

    def end(self) -> None:
        match self.random.randint(0, 9):
            case 0:
                self.emit('STOP "stopped"')
            case 1:
                self.expression(1)
                self.expression(1)
                self.emit("REPLY")
            case _:
                self.expression(2)
                self.emit("RETURN")

    def slot(self) -> int:
        self.next_slot += 1
        return self.next_slot - 1

    def arguments(self, count: int, depth: int) -> None:
        for _ in range(count):
            self.expression(depth)

    # Statements leave the stack as it was.

    def statement(self, depth: int) -> None:
        kinds = [self.drop, self.store, self.change, self.cell, self.store_elsewhere, self.check]
        if depth > 0:
            kinds += [self.if_, self.loop, self.for_, self.block, self.try_]
        if self.loops:
            kinds.append(self.go_on)
        self.random.choice(kinds)(depth - 1)

    def body(self, depth: int) -> None:
        """Statements within a block: what they set is not relied on behind it."""
        plain, cells, loops = self.plain[:], self.cells[:], self.loops[:]
        self.depth += 1
        for _ in range(self.random.randint(0, 2)):
            self.statement(depth)
        self.depth -= 1
        self.plain, self.cells, self.loops = plain, cells, loops

    def drop(self, depth: int) -> None:
        self.expression(depth)
        self.emit("POP")

    def store(self, depth: int) -> None:
        self.expression(depth)
        slot = self.random.choice(self.plain) if self.plain and self.random.random() < 0.5 else self.slot()
        self.emit(f"STORE {slot}")
        if slot not in self.plain:
            self.plain.append(slot)

    def change(self, depth: int) -> None:
        path = self.random.choice((".", "[", ".[."))
        if self.random.random() < 0.5:
            path = ""
        else:
            self.arguments(len(path), depth)
        self.expression(depth)
        kind, number = self.variable()
        name = self.random.choice(("ASSIGN", "EXTEND_PATH"))
        self.emit(f'{name} {kind} {number} "{path}"' if path else f"EXTEND {kind} {number}")

    def variable(self) -> tuple[str, Any]:
        kinds: list[tuple[str, Any]] = [("global", self.random.choice(("total", "notes")))]
        kinds += [("local", slot) for slot in self.plain]
        kinds += [("cell", slot) for slot in self.cells]
        kinds += [("capture", number) for number in range(self.captures)]
        return self.random.choice(kinds)

    def cell(self, depth: int) -> None:
        slot = self.slot()
        self.expression(depth)
        self.emit(f"STORE {slot}", f"CELL {slot}")
        self.cells.append(slot)

    def store_elsewhere(self, depth: int) -> None:
        self.expression(depth)
        kind, number = self.variable()
        ways = {"local": "STORE", "cell": "STORE_CELL", "capture": "STORE_CAPTURE", "global": "STORE_GLOBAL"}
        self.emit(f"{ways[kind]} {number}")

    def check(self, depth: int) -> None:
        count = self.random.choice((0, 2))
        self.arguments(count + 1, depth)
        self.emit(f'ASSERT "a == b" {count}')

    def if_(self, depth: int) -> None:
        self.expression(depth)
        self.emit("IF 0")
        self.body(depth)
        if self.random.random() < 0.5:
            self.emit("ELSE")
            self.body(depth)
        self.emit("END")

    def block(self, depth: int) -> None:
        self.emit("BLOCK 0")
        self.body(depth)
        if self.random.random() < 0.5:
            self.expression(depth)
            self.emit(self.random.choice(("BR_IF 0", "BR_UNLESS 0")))
            self.body(depth)
        elif self.random.random() < 0.3:
            self.emit("NULL", "BR 0", "ADD", "POP")  # what follows BR is never reached
        self.emit("END")

    def try_(self, depth: int) -> None:
        self.emit("TRY 0")
        self.body(depth)
        self.emit("CATCH", "POP")
        self.body(depth)
        self.emit("END")

    def loop(self, depth: int) -> None:
        self.emit("BLOCK 0", "LOOP", f"CHARGE {self.random.randint(1, 300)}")
        self.depth += 2
        self.expression(depth)
        self.emit("BR_UNLESS 1")
        self.loops.append(self.depth - 1)
        self.depth -= 1
        self.body(depth)
        self.depth -= 1
        self.loops.pop()
        self.emit("BR 0", "END", "END")

    def go_on(self, depth: int) -> None:
        self.expression(depth)
        self.emit(f"BR_IF {self.depth - 1 - self.random.choice(self.loops)}")

    def for_(self, depth: int) -> None:
        """A loop over something, as a statement or to build a list."""
        slot = self.slot()
        if self.random.random() < 0.5:
            self.expression(depth)
            self.emit(f"ITER {slot}")
        else:
            self.arguments(2, depth)
            self.emit(f"ITER_RANGE {slot}")
        growing = self.slot() if self.random.random() < 0.5 else -1
        if growing >= 0:
            self.emit(f"LIST_BEGIN {growing}")
        item = self.slot()
        pair = self.random.random() < 0.3
        self.emit("BLOCK 0", "LOOP", "CHARGE 9", f"{'NEXT_PAIR' if pair else 'NEXT'} {slot} 1", f"STORE {item}")
        if pair:
            self.emit("POP")
        if self.random.random() < 0.5:
            self.emit(f"CELL {item}", f"LOAD_CELL {item}", "POP")
        self.depth += 1
        self.loops.append(self.depth)
        self.body(depth)
        self.loops.pop()
        self.depth -= 1
        if growing >= 0:
            self.depth += 2
            self.expression(depth)
            self.depth -= 2
            self.emit(f"LIST_ADD {growing}")
        self.emit("BR 0", "END", "END")
        if growing >= 0:
            self.emit(f"LIST_END {growing}", "POP")

    # Expressions leave one value.

    def expression(self, depth: int) -> None:
        kinds = [self.simple, self.simple, self.load]
        if depth > 0:
            kinds += [self.unary, self.binary, self.many, self.grown, self.call, self.choice, self.caught, self.left]
        self.random.choice(kinds)(depth - 1)

    def simple(self, depth: int) -> None:
        constant = self.builder.constant(self.random.choice(CONSTANTS))
        number = self.random.choice((0, -1, 63, -64, 64, 2**63 - 1, -(2**63)))
        ways = ("NULL", "TRUE", "FALSE", f"INT {number}", f"CONST {constant}", "BUILTIN len")
        self.emit(self.random.choice(ways))

    def load(self, depth: int) -> None:
        kind, number = self.variable()
        if self.random.random() < 0.3:
            self.emit(f"LOAD_SHARED {kind} {number}")
            return
        ways = {"local": "LOAD", "cell": "LOAD_CELL", "capture": "LOAD_CAPTURE", "global": "LOAD_GLOBAL"}
        self.emit(f"{ways[kind]} {number}")

    def unary(self, depth: int) -> None:
        self.expression(depth)
        named = [
            'FIELD "id"',
            'FIELD_OR_NULL "id"',
            'HAS_FIELD "id"',
            'BOOL "the test"',
            'ATTRIBUTE "href"',
            "IS_LIST 2 1",
            "IS_LIST 0 0",
            f'CHECK {self.builder.constant(self.random.choice(DESCRIPTORS))} "argument 1"',
        ]
        self.emit(self.random.choice([*UNARY, *named]))

    def binary(self, depth: int) -> None:
        self.expression(depth)
        if self.random.random() < 0.2:
            self.emit("DUP")
        else:
            self.expression(depth)
        self.emit(self.random.choice(BINARY))

    def many(self, depth: int) -> None:
        count = self.random.randint(0, 3)
        keys = str([f"k{number}" for number in range(count)]).replace("'", '"')
        texts = str([f"t{number}" for number in range(count + 1)]).replace("'", '"')
        ways = (f"LIST {count}", f"TEXT {count}", f"MARKUP {count}", f"RECORD {keys}", f"SQL {texts}")
        if self.random.random() < 0.1:
            self.arguments(3, depth)
            self.emit("SLICE")
            return
        self.arguments(count, depth)
        self.emit(self.random.choice(ways))

    def grown(self, depth: int) -> None:
        """A list or record that is being made, item by item."""
        is_list = self.random.random() < 0.5
        self.emit("LIST 0" if is_list else "RECORD []")
        ways = ("LIST_PUSH", "LIST_SPREAD") if is_list else ('RECORD_PUT "k"', "RECORD_SPREAD")
        for _ in range(self.random.randint(0, 2)):
            self.expression(depth)
            self.emit(self.random.choice(ways))

    def call(self, depth: int) -> None:
        functions = self.builder.module.functions
        free = [number for number, function in enumerate(functions) if not function.captures]
        count = self.random.randint(0, 2)
        match self.random.randint(0, 2):
            case 0 if free:
                number = self.random.choice(free)
                for parameter in functions[number].parameters:
                    if parameter.required or self.random.random() < 0.5:
                        self.expression(depth)
                    else:
                        self.emit("ABSENT")
                self.emit(f"CALL {number}")
            case 1:
                self.arguments(count, depth)
                self.emit(f"CALL_BUILTIN {self.random.choice(('print', 'len'))} {count}")
            case _:
                self.emit(f"CLOSURE {self.random.randrange(len(functions))}" if functions else "BUILTIN len")
                self.arguments(count, depth)
                names = self.builder.constant(["n"] if count and self.random.random() < 0.5 else [])
                self.emit(f"CALL_VALUE {count} {names}")

    def choice(self, depth: int) -> None:
        self.expression(depth)
        self.emit("IF 1")
        self.depth += 1
        self.expression(depth)
        self.emit("ELSE")
        self.expression(depth)
        self.depth -= 1
        self.emit("END")

    def caught(self, depth: int) -> None:
        self.emit("TRY 1")
        self.depth += 1
        self.expression(depth)
        self.emit("CATCH")
        if self.random.random() < 0.5:
            self.emit("POP")
            self.expression(depth)
        self.depth -= 1
        self.emit("END")

    def left(self, depth: int) -> None:
        """A block that is left with a value from its middle, with more on the stack."""
        self.emit("BLOCK 1")
        self.depth += 1
        self.arguments(2, depth)
        self.expression(depth)
        self.emit("BR_IF 0", "POP", "POP")
        self.expression(depth)
        self.depth -= 1
        self.emit("END")


def make_module(rng: random.Random) -> Module:
    """A random Module that verifies."""
    builder = Builder(rng.choice(NAMES))
    module = builder.module
    module.files = [
        SourceFile(rng.choice(NAMES), rng.choice(("", "\n", "a\r\nb", "x\n\n", "“\x85\u2028”"))),
        SourceFile("b", ""),
    ]
    module.types = [("Note", rng.choice(DESCRIPTORS[:-1])), ("Tree", ["list", ["type", 1]])]
    module.instructions = rng.choice(({}, {"stdio": "a", "http": "b\n"}))
    for _ in range(rng.randint(1, 4)):
        parameters = [
            Parameter(f"p{place}", rng.choice(DESCRIPTORS), required, None if required else rng.choice((None, 1, [""])))
            for place, required in enumerate(rng.choice(([], [True], [True, False], [False, False])))
        ]
        for parameter in parameters:
            parameter.has_default = not parameter.required and (parameter.default is not None or rng.random() < 0.5)
        captures = [(0, CAPTURED)] if rng.random() < 0.3 else []
        code = _Code(builder, rng, parameters, len(captures)).function()
        builder.function(
            rng.choice(NAMES),
            *code,
            parameters=list(parameters),
            captures=captures,
            result=rng.choice([None, *DESCRIPTORS]),
            builtin=rng.random() < 0.2,
        )
    started = [number for number, function in enumerate(module.functions) if not function.captures]
    module.entries = [number for number in started if not module.functions[number].parameters][:2]
    for number in started[:2]:
        schema = {"type": "object", "properties": {"a": {"enum": CONSTANTS[:4]}}}
        tool = Tool(f"tool {number}", number, rng.choice(NAMES), schema, {}, {"b": [1.5]}, False, None, True, False)
        tool.wrapped, tool.read_only = rng.random() < 0.5, rng.random() < 0.5
        tool.result = rng.choice([None, *DESCRIPTORS])
        module.tools.append(tool)
        module.routes.append(Route("route", "GET", "/{id}", number))
        module.routes.append(Route("rpc", "", "add", number))
    module.tests = [Test(rng.choice(NAMES), number) for number in module.entries]
    return module


def modules() -> st.SearchStrategy[Module]:
    """Random Modules that verify."""
    return st.randoms(use_true_random=False).map(make_module)
