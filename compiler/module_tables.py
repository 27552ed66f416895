"""The tables of a Module in the making: constants, types, names of builtins, top-level variables, functions.

Everything gets its number when it is first asked for, so the same program gives the same Module.
"""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, Any

from compiler import syntax
from compiler.descriptors import Descriptors
from compiler.source import Source
from compiler.types import Type

if TYPE_CHECKING:
    from compiler.names import Symbol


class FunctionEntry:
    """A function that has its number: what it is lowered from, and what it captures of the function around it.

    `captures` are symbols, in the order of the closure's cells; `places` says where the function that makes the closure
    has them, as `qasm.module.Function.captures` does, and is filled where the closure is made.
    """

    __slots__ = ("builtin", "captures", "name", "node", "number", "places", "source")

    def __init__(
        self,
        number: int,
        node: syntax.Function | None,
        name: str,
        source: Source | None,
        captures: list[Symbol],
        builtin: bool,
    ) -> None:
        self.number = number
        self.node = node
        self.name = name
        self.source = source
        self.captures = captures
        self.places: list[tuple[int, int]] = []
        self.builtin = builtin


class ModuleTables:
    """Numbers for all that instructions refer to. `functions` is also the list of what is still to be lowered."""

    def __init__(self) -> None:
        self.constants: list[Any] = []
        self.descriptors = Descriptors()
        self.builtins: list[str] = []
        self.globals: list[str] = []
        self.functions: list[FunctionEntry] = []
        self.may_ask = True  # set by the driver: may the program ask the person a question?
        self._constant_numbers: dict[Any, int] = {}
        self._type_numbers: dict[Type, int] = {}
        self._builtin_numbers: dict[str, int] = {}
        self._global_numbers: dict[Symbol, int] = {}
        self._function_numbers: dict[syntax.Function, FunctionEntry] = {}
        self._named_functions: dict[str, FunctionEntry] = {}
        self._free_captures: dict[syntax.Function, list[Symbol]] = {}

    def constant(self, value: Any) -> int:
        """The number of a constant; equal ones of one kind share it (1, 1.0 and true are three)."""
        key = _key(value)
        number = self._constant_numbers.get(key)
        if number is None:
            number = self._constant_numbers[key] = len(self.constants)
            self.constants.append(value)
        return number

    def type(self, type: Type) -> int:
        """The number of the constant that holds the type's descriptor."""
        number = self._type_numbers.get(type)
        if number is None:
            number = self._type_numbers[type] = self.constant(self.descriptors.of(type))
        return number

    def builtin(self, name: str) -> int:
        number = self._builtin_numbers.get(name)
        if number is None:
            number = self._builtin_numbers[name] = len(self.builtins)
            self.builtins.append(name)
        return number

    def global_variable(self, symbol: Symbol) -> int:
        number = self._global_numbers.get(symbol)
        if number is None:
            number = self._global_numbers[symbol] = len(self.globals)
            self.globals.append(symbol.name)
        return number

    def function(
        self, node: syntax.Function, source: Source | None, name: str | None = None, builtin: bool = False
    ) -> FunctionEntry:
        """The entry of a function of the tree; asking for a new one asks for it to be lowered."""
        entry = self._function_numbers.get(node)
        if entry is None:
            name = node.name or "" if name is None else name
            entry = FunctionEntry(len(self.functions), node, name, source, self.captures(node), builtin)
            self._function_numbers[node] = entry
            self.functions.append(entry)
        return entry

    def bare_function(self, name: str, source: Source | None = None, builtin: bool = False) -> FunctionEntry:
        """The entry of a new function that stands for no node of the tree (a file's top level)."""
        entry = FunctionEntry(len(self.functions), None, name, source, [], builtin)
        self.functions.append(entry)
        return entry

    def inline_builtin(self, name: str) -> FunctionEntry:
        """The entry of a builtin that is otherwise written as instructions, for its use as a value."""
        entry = self._named_functions.get(name)
        if entry is None:
            entry = self._named_functions[name] = self.bare_function(name, builtin=True)
        return entry

    def forget_from(self, count: int) -> None:
        """Forgets the functions from this number on, which could not be lowered."""
        del self.functions[count:]
        self._function_numbers = {n: entry for n, entry in self._function_numbers.items() if entry.number < count}
        self._named_functions = {n: entry for n, entry in self._named_functions.items() if entry.number < count}

    def captures(self, node: syntax.Function) -> list[Symbol]:
        """The variables whose cells the function needs.

        Local functions that, with all that they refer to, need none are called as plain functions, and not captured.
        """
        found = self._free_captures.get(node)
        if found is None:
            found = [symbol for symbol in node.captures if not self.is_plain_function(symbol)]
            self._free_captures[node] = found
        return found

    def is_plain_function(self, symbol: Symbol) -> bool:
        """Is it a declared function that can be called without a closure?"""
        node = symbol.node
        if not isinstance(node, syntax.Function) or symbol.kind == "parameter":
            return False
        known = self._free_captures.get(node)
        if known is not None:
            return not known
        reached = {symbol}
        waiting = [node]
        while waiting:
            for captured in waiting.pop().captures:
                if captured in reached:
                    continue
                reached.add(captured)
                if not isinstance(captured.node, syntax.Function) or captured.kind == "parameter":
                    return False
                waiting.append(captured.node)
        for function in reached:
            assert isinstance(function.node, syntax.Function)
            self._free_captures[function.node] = []
        return True


def _key(value: Any) -> Any:
    """A key that tells values of different kinds apart, all the way in."""
    if isinstance(value, list):
        return ("list", *map(_key, value))
    if isinstance(value, dict):
        return ("map", *((name, _key(item)) for name, item in value.items()))
    if isinstance(value, float):
        return ("float", pack("<d", value))
    return (type(value), value)
