"""Lowers one function: its variables, its parameters' defaults, and the dispatch to what lowers each kind of node.

`FunctionLowering` is what every `lower_*` file works on. It knows where each variable lives: a local; a local's cell,
where a function inside captures it; a capture, where a function around this one has it; or a top-level variable.

Expressions are lowered without recursion along their left side (`a + b + c`, `a.b.c`, `a | f | g`), which may be as
long as the program likes. For that, a kind of node registers an `opening` in SPINES: it writes what comes before its
leftmost operand and gives that operand with a `finish`, which is called when the operand's value is on the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from compiler import syntax, types
from compiler.borrowing import is_simple
from compiler.code_builder import Block, CodeBuilder
from compiler.module_tables import FunctionEntry, ModuleTables
from compiler.relations import surely_fits
from compiler.source import Source
from compiler.types import Type

if TYPE_CHECKING:
    from compiler.names import Symbol

LOCAL, CELL, CAPTURE, GLOBAL = range(4)
_LOADS = ("LOAD", "LOAD_CELL", "LOAD_CAPTURE", "LOAD_GLOBAL")
_STORES = ("STORE", "STORE_CELL", "STORE_CAPTURE", "STORE_GLOBAL")


class Opening(NamedTuple):
    """What an opening of SPINES gives: the operand to go on with, and what to do when its value is on the stack.

    `borrow`: the operand's value is looked at and not kept, so a variable there need not be shared.
    """

    operand: syntax.Expression
    finish: Callable[[FunctionLowering], None]
    borrow: bool = False


# By kind of node. EXPRESSIONS: puts the value, which may be an error, on the stack. SPINES: see above; None sends the
# node on to EXPRESSIONS. CONTROL: blocks, `if` and their like, told whether their value is wanted: if not, they leave
# nothing on the stack, and an error stops. STATEMENTS: what is no expression.
EXPRESSIONS: dict[type, Callable[[FunctionLowering, Any], None]] = {}
SPINES: dict[type, Callable[[FunctionLowering, Any], Opening | None]] = {}
CONTROL: dict[type, Callable[[FunctionLowering, Any, bool], None]] = {}
STATEMENTS: dict[type, Callable[[FunctionLowering, Any], None]] = {}


class Loop(NamedTuple):
    """What `continue` and `break` branch to."""

    turn: Block
    outside: Block


class FunctionLowering:
    """One function in the making."""

    def __init__(
        self, tables: ModuleTables, entry: FunctionEntry, source: Source, line: int = 1, result: Type | None = None
    ) -> None:
        self.tables = tables
        self.entry = entry
        self.source = source
        self.result = result  # the `->` type, None without one
        self.code = CodeBuilder(line)
        self.local_names: list[str] = []
        self.loops: list[Loop] = []
        # Local functions that can't be made yet, and the name of the variable that they still wait for.
        self.waiting_functions: dict[Symbol, str] = {}
        self._slots: dict[Symbol, int] = {}
        self._captures = {symbol: number for number, symbol in enumerate(entry.captures)}
        self._free: list[int] = []  # temporaries that hold values
        self._free_iterators: list[int] = []
        self._free_lists: list[int] = []
        # Set by the driver: whether the function is a file's top level, where `?` has nowhere to hand an error on to.
        self.top_level = False

    # Places in the source.

    def at(self, offset: int) -> None:
        """What is emitted from here on belongs to the line of this place."""
        self.code.line = self.source.line(offset)

    def at_end_of(self, node: syntax.Node) -> None:
        """To the line on which the node ends: where an operator or bracket that follows it stands."""
        self.code.line = self.source.line(max(node.end - 1, node.start))

    def text(self, node: syntax.Node) -> str:
        """A node as it is written, on one line."""
        return " ".join(self.source.text[node.start : node.end].split())

    # Locals.

    def new_local(self, name: str = "") -> int:
        self.local_names.append(name)
        return len(self.local_names) - 1

    def temporary(self) -> int:
        """A local for a value; give it back with `release` when it is no longer read."""
        return self._free.pop() if self._free else self.new_local()

    def release(self, *slots: int) -> None:
        self._free.extend(slots)

    def iterator(self) -> int:
        return self._free_iterators.pop() if self._free_iterators else self.new_local()

    def release_iterator(self, slot: int) -> None:
        self._free_iterators.append(slot)

    def growing_list(self) -> int:
        return self._free_lists.pop() if self._free_lists else self.new_local()

    def release_list(self, slot: int) -> None:
        self._free_lists.append(slot)

    # Variables.

    def place_of(self, symbol: Symbol) -> tuple[int, int]:
        """Where a variable lives: LOCAL, CELL, CAPTURE or GLOBAL, and its number there."""
        if symbol.kind == "global":
            return GLOBAL, self.tables.global_variable(symbol)
        slot = self._slots.get(symbol)
        if slot is not None:
            return (CELL if symbol.captured else LOCAL), slot
        return CAPTURE, self._captures[symbol]

    def slot_of(self, symbol: Symbol) -> int:
        """The local of a variable of this function, made where it is not there yet."""
        slot = self._slots.get(symbol)
        if slot is None:
            slot = self._slots[symbol] = self.new_local(symbol.name)
        return slot

    def load(self, symbol: Symbol, borrow: bool = False) -> None:
        """Pushes a variable's value. Unless it is only borrowed, one that may be changed in place is shared first."""
        kind, number = self.place_of(symbol)
        if borrow or not symbol.changed or is_scalar(symbol.type):
            self.code.emit(_LOADS[kind], number)
        else:
            self.code.emit("LOAD_SHARED", kind, number)

    def declare(self, symbol: Symbol) -> None:
        """Takes the top of the stack as the first value of a variable; a captured one gets a new cell for it."""
        if symbol.kind == "global":
            self.code.emit("STORE_GLOBAL", self.tables.global_variable(symbol))
            return
        slot = self.slot_of(symbol)
        self.code.emit("STORE", slot)
        if symbol.captured:
            self.code.emit("CELL", slot)

    def store(self, symbol: Symbol) -> None:
        """Gives a variable that was declared a new value from the top of the stack."""
        kind, number = self.place_of(symbol)
        self.code.emit(_STORES[kind], number)

    # Values.

    def constant(self, value: Any) -> None:
        """Pushes a value that is known."""
        code = self.code
        if value is None:
            code.emit("NULL")
        elif value is True:
            code.emit("TRUE")
        elif value is False:
            code.emit("FALSE")
        elif isinstance(value, int):
            code.emit("INT", value)
        else:
            code.emit("CONST", self.tables.constant(value))

    def value(self, node: syntax.Expression, borrow: bool = False) -> None:
        """Pushes an expression's value, which may be an error."""
        waiting: list[Callable[[FunctionLowering], None]] = []
        while (opening := SPINES.get(type(node))) is not None:
            opened = opening(self, node)
            if opened is None:
                break
            waiting.append(opened.finish)
            node, borrow = opened.operand, opened.borrow
        if (control := CONTROL.get(type(node))) is not None:
            control(self, node, True)
        elif borrow and type(node) is syntax.Name and self.is_loaded(node.symbol):
            self.at(node.start)
            self.load_name(node.symbol, borrow=True)
        else:
            EXPRESSIONS[type(node)](self, node)
        while waiting:
            waiting.pop()(self)

    def used_value(self, node: syntax.Expression, borrow: bool = False) -> None:
        """Pushes an expression's value for a use that must not see an error: an error stops here."""
        self.value(node, borrow)
        if node.fails:
            self.code.emit("USE")

    def effect(self, node: syntax.Expression) -> None:
        """Lowers an expression for what it does: its value is dropped, an error stops."""
        control = CONTROL.get(type(node))
        if control is not None:
            control(self, node, False)
        else:
            self.used_value(node)
            self.code.emit("POP")

    def is_loaded(self, symbol: Symbol | None) -> TypeGuard[Symbol]:
        """Does the symbol stand for a variable (and for no function that needs no closure)?"""
        kinds = ("local", "parameter", "global", "children")
        return symbol is not None and symbol.kind in kinds and not self.tables.is_plain_function(symbol)

    def may_lend(self, node: syntax.Expression, *later: syntax.Expression | None) -> bool:
        """May the variable that `node` reads be lent out while `later` is worked out: can that not change it?"""
        while isinstance(node, syntax.Index | syntax.Slice) or (isinstance(node, syntax.Field) and node.symbol is None):
            node = node.value
        symbol = node.symbol if isinstance(node, syntax.Name) else None
        own = self.is_loaded(symbol) and self.place_of(symbol)[0] == LOCAL
        return all(is_simple(part, calls=own) for part in later)

    def load_name(self, symbol: Symbol, borrow: bool = False) -> None:
        """Pushes a variable that a name stands for; a local function that can't be made yet is a stop."""
        if symbol in self.waiting_functions:
            missing = self.waiting_functions[symbol]
            self.stop(f"`{symbol.name}` is used before `{missing}`, which it needs, is set")
            return
        self.load(symbol, borrow)

    def stop(self, message: str) -> None:
        self.code.emit("STOP", self.tables.constant(message))

    # Types as it runs.

    def check(self, wanted: Type, name: str) -> None:
        """Stops unless the top of the stack fits a type; `name` is what messages call the value."""
        self.code.emit("CHECK", self.tables.type(wanted), self.tables.constant(name))

    def needs_check(self, node: syntax.Expression, wanted: Type | None) -> bool:
        """May the expression's value not fit the type, or need turning into it (an int into a float)?"""
        if wanted is None or wanted == types.ANY:
            return False
        return not surely_fits(node.type if node.type is not None else types.ANY, wanted)

    def checked_value(self, node: syntax.Expression, wanted: Type | None, name: str) -> None:
        """Pushes a value that must fit a type, or be an error, which stays whole."""
        if not self.needs_check(node, wanted):
            self.value(node)
            return
        assert wanted is not None
        if (known := as_float(node, wanted)) is not None:
            self.at(node.start)
            self.constant(known)
        elif node.fails:
            self.code.open("BLOCK", 1)
            block = self.code.blocks[-1]
            self.value(node)
            self.at(node.start)
            self.code.emit("DUP")
            self.code.emit("IS_ERR")
            self.code.branch("BR_IF", block)
            self.check(wanted, name)
            self.code.close()
        else:
            self.value(node)
            self.at(node.start)
            self.check(wanted, name)

    # Functions.

    def closure(self, entry: FunctionEntry) -> None:
        """Pushes a function as a value, with the cells that it captures of this one."""
        if not entry.places:
            for symbol in entry.captures:
                kind, number = self.place_of(symbol)
                entry.places.append((1 if kind == CAPTURE else 0, number))
        self.code.emit("CLOSURE", entry.number)

    def prologue(self, parameters: list[syntax.Parameter]) -> None:
        """Works out the defaults of parameters that were left out; gives captured ones their cells."""
        code = self.code
        for slot, parameter in enumerate(parameters):
            symbol = parameter.symbol
            assert symbol is not None
            if parameter.default is not None:
                self.at(parameter.start)
                code.open("IF_ABSENT", slot)
                wanted = symbol.type if parameter.type is not None else None
                self.checked_value(parameter.default, wanted, f"`{parameter.name}`")
                if parameter.default.fails:
                    code.emit("USE")
                code.emit("STORE", slot)
                code.close()
            if symbol.captured:
                code.emit("CELL", slot)

    def parameter_slots(self, symbols: list[Symbol]) -> None:
        """Gives the parameters the first locals, in order."""
        for symbol in symbols:
            self.slot_of(symbol)

    def returned(self, node: syntax.Expression | None) -> None:
        """Leaves the function with a value, checked against the `->` type."""
        name = f"the value of `{self.entry.name}`" if self.entry.name else "the value of this function"
        if node is None:
            self.constant(None)
            if self.result is not None and not _takes_null(self.result):
                self.check(self.result, name)
        else:
            self.checked_value(node, self.result, name)
        self.code.emit("RETURN")


def as_float(node: syntax.Expression, wanted: Type | None) -> float | None:
    """The float that a whole number, written where a float is wanted, stands for; None where it is no such place."""
    if type(node) is syntax.Literal and type(node.value) is int and wanted is not None:
        return float(node.value) if types.resolved(wanted) == types.FLOAT else None
    return None


def parameter_type(parameter: syntax.Parameter) -> Type | None:
    """The type that is written for a parameter, None without one."""
    if parameter.type is None or parameter.symbol is None:
        return None
    return parameter.symbol.type


def is_scalar(type: Type | None) -> bool:
    """Is a value of this type surely no list and no record?"""
    if type is None:
        return False
    type = types.resolved(type)
    if isinstance(type, types.UnionType):
        return all(is_scalar(member) for member in type.members)
    return isinstance(type, types.LiteralType) or type in _SCALARS


_SCALARS = (types.INT, types.FLOAT, types.STR, types.BOOL, types.NULL, types.BYTES)


def _takes_null(type: Type) -> bool:
    type = types.resolved(type)
    if isinstance(type, types.UnionType):
        return any(_takes_null(member) for member in type.members)
    return type in (types.ANY, types.NULL)
