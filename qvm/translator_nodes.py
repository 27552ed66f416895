"""Makes `ast` nodes that stand on the line of the source and, as their column, the pc that they belong to."""

from __future__ import annotations

import ast
from bisect import bisect_right
from typing import Any, NamedTuple

from qvm.translator_types import Type

_LOAD, _STORE = ast.Load(), ast.Store()


FILE_NAME = "<quillo>"  # that the Python code names as its source


class Piece(NamedTuple):
    """A part of an f-string. `long`: it may be as long as a text can be."""

    node: ast.expr
    long: bool


class Item:
    """An item of the stack: an expression, and whether it may be written again (`atom`). `slot`: the local it reads.

    While it hasn't been worked out: `parts`, what a text is put together from, and `pieces`, those of markup.
    """

    __slots__ = ("atom", "node", "parts", "pieces", "slot", "type")

    def __init__(self, node: ast.expr, type: Type, atom: bool = False, slot: int = -1) -> None:
        self.node = node
        self.type = type
        self.atom = atom
        self.slot = slot
        self.parts: list[Item] | None = None
        self.pieces: list[Piece] | None = None


class Loop:
    """A Python loop in the making. `breaks` and `turn` are the blocks whose branches are `break`, `continue`."""

    def __init__(self, breaks: int, turn: int) -> None:
        self.breaks = breaks
        self.turn = turn
        self.through: dict[int, str] = {}  # blocks further out that are branched to from inside
        self.ahead: tuple[str, str, int] | None = None  # of turns that are charged ahead: see `Emitter.ahead`


class Bound:
    """What a Module's Python functions are given when they are bound: handlers of instructions, by their names."""

    def __init__(self) -> None:
        self.names: dict[str, tuple[Any, ...]] = {}
        self._known: dict[tuple[Any, ...], str] = {}

    def name(self, *what: Any) -> str:
        """The name of a thing that is made when the code is bound: a kind, and what it is of."""
        known = self._known.get(what)
        if known is None:
            known = self._known[what] = f"b{len(self.names)}"
            self.names[known] = what
        return known


class Nodes:
    """Nodes for the instruction that `at` was told of last; statements go to `out`."""

    pc: int
    line: int
    names: int
    out: list[ast.stmt]
    lines: list[tuple[int, int]]
    first_line: int

    def at(self, pc: int) -> None:
        self.pc = pc
        place = bisect_right(self.lines, pc, key=lambda pair: pair[0]) - 1
        self.line = max(self.lines[place][1] if place >= 0 else self.first_line, 1)

    def placed(self, node: Any) -> Any:
        node.lineno = node.end_lineno = self.line
        node.col_offset = node.end_col_offset = self.pc
        return node

    def name(self, name: str) -> ast.expr:
        return self.placed(ast.Name(name, _LOAD))

    def constant(self, value: Any) -> ast.expr:
        return self.placed(ast.Constant(value))

    def call(self, function: str | ast.expr, *arguments: ast.expr) -> ast.expr:
        target = self.name(function) if isinstance(function, str) else function
        return self.placed(ast.Call(target, list(arguments), []))

    def attribute(self, value: ast.expr, name: str, store: bool = False) -> ast.expr:
        return self.placed(ast.Attribute(value, name, _STORE if store else _LOAD))

    def binary(self, a: ast.expr, operator: ast.operator, b: ast.expr) -> ast.expr:
        return self.placed(ast.BinOp(a, operator, b))

    def compare(self, a: ast.expr, operator: ast.cmpop, b: ast.expr) -> ast.expr:
        return self.placed(ast.Compare(a, [operator], [b]))

    def negated(self, test: ast.expr) -> ast.expr:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return test.operand
        return self.placed(ast.UnaryOp(ast.Not(), test))

    def either(self, *tests: ast.expr) -> ast.expr:
        return self.placed(ast.BoolOp(ast.Or(), list(tests)))

    def both(self, *tests: ast.expr) -> ast.expr:
        return self.placed(ast.BoolOp(ast.And(), list(tests)))

    def subscript(self, base: ast.expr, index: ast.expr, store: bool = False) -> ast.expr:
        return self.placed(ast.Subscript(base, index, _STORE if store else _LOAD))

    def set(self, name: str, value: ast.expr) -> None:
        self.out.append(self.placed(ast.Assign([self.placed(ast.Name(name, _STORE))], value)))

    def do(self, value: ast.expr) -> None:
        self.out.append(self.placed(ast.Expr(value)))

    def if_(self, test: ast.expr, then: list[ast.stmt], otherwise: list[ast.stmt] | None = None) -> None:
        if not then and otherwise:
            test, then, otherwise = self.negated(test), otherwise, None
        self.out.append(self.placed(ast.If(test, then or [self.placed(ast.Pass())], otherwise or [])))

    def fresh(self, letter: str = "t") -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def target(self, *names: str) -> ast.expr:
        """Several locals that are set at once."""
        return self.placed(ast.Tuple([self.placed(ast.Name(name, _STORE)) for name in names], _STORE))
