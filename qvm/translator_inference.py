"""Finds what each instruction's operands can be, for all functions of a Module at once, from the code alone.

What a Module says of its types is only relied on where the engine checks it as it runs (CHECK, the parameters of
functions that are called from outside or as values). Everything else follows from constants, operators and calls: the
functions are walked until nothing changes any more. What is found holds for every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qasm.verifier import control_flow
from qvm import translator_types as types
from qvm.translator_types import ANY, NEVER, Type, join
from qvm.translator_walk import PATIENCE, Known, TooHard, Walk

if TYPE_CHECKING:
    from qasm.module import Module

_MOST_WALKS = 200  # of one function


class Inference:
    """The types of a Module's functions that can be reached. `known` holds those, by number.

    `parameters`, `results`: the types that each function is called with and gives. `cells`, `globals`: of variables.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.known: dict[int, Known] = {}
        self.parameters: dict[int, list[Type]] = {}
        self.results: dict[int, Type] = {}
        self.globals: list[Type] = [NEVER] * len(module.globals)
        self.cells: dict[tuple[int, int, int], Type] = {}
        self.by_value: set[int] = set()  # functions that are called from outside
        self.closures: list[int] = []  # functions that are values
        self.value_arguments: dict[int, Type] = {}  # by place, of all calls of function values
        self.named_calls = False  # whether one of these calls names its arguments
        self.escaped = False  # whether the host may call them
        self.builtin_values = False
        self._cell_names: dict[tuple[int, int, int], tuple[int, int, int]] = {}
        self._readers: dict[Any, set[int]] = {}
        self._changes: dict[Any, int] = {}
        self._left: list[int] = []
        self._waiting: set[int] = set()
        self._infer()

    def _infer(self) -> None:
        module = self.module
        starts = [*module.entries, *(tool.function for tool in module.tools)]
        starts += [route.function for route in module.routes] + [test.function for test in module.tests]
        for number in starts:
            self._called_from_outside(number)
        walks: dict[int, int] = {}
        while self._left:
            number = self._left.pop()
            self._waiting.discard(number)
            walks[number] = walks.get(number, 0) + 1
            if walks[number] > _MOST_WALKS:
                raise TooHard("its types don't settle")
            self._walk(number)

    # what functions tell each other

    def _again(self, number: int) -> None:
        if number not in self._waiting:
            self._waiting.add(number)
            self._left.append(number)

    def _reach(self, number: int) -> None:
        if number not in self.known:
            flow = control_flow(self.module, number)
            made = [self.module.functions[operands[0]] for op, operands in flow.instructions if op.name == "CLOSURE"]
            captured = {variable for function in made for kind, variable in function.captures if not kind}
            self.known[number] = Known(flow, captured)
            self.parameters.setdefault(number, [NEVER] * len(self.module.functions[number].parameters))
            self.results.setdefault(number, NEVER)
            self._name_cells(number)
            self._again(number)

    def _name_cells(self, number: int) -> None:
        """Says of the cells that functions made here capture, which variable each is."""
        for instruction in self.known[number].flow.instructions:
            if instruction.op.name != "CLOSURE":
                continue
            made = instruction.operands[0]
            for place, (kind, variable) in enumerate(self.module.functions[made].captures):
                mine = self.cell((number, 1 if kind else 0, variable))
                other = self.cell((made, 1, place))
                if mine != other:
                    self._cell_names[other] = mine
                    before = self.cells.pop(other, NEVER)
                    self._readers.setdefault(mine, set()).update(self._readers.pop(other, ()))
                    self.give_cell(mine, before)

    def cell(self, name: tuple[int, int, int]) -> tuple[int, int, int]:
        """The one name of a cell, (function, 0, local) or (function, 1, capture)."""
        while (other := self._cell_names.get(name)) is not None:
            name = other
        return name

    def _called_from_outside(self, number: int) -> None:
        if number in self.by_value:
            return
        self.by_value.add(number)
        self._reach(number)
        for place, parameter in enumerate(self.module.functions[number].parameters):
            kind = types.of_descriptor(parameter.type, self.module.types)
            kind = types.without(kind, types.ERROR)
            self._give_parameter(number, place, kind if parameter.required else join(kind, types.LEFT_OUT))

    def _give_parameter(self, number: int, place: int, kind: Type) -> None:
        found = self._grown(("parameter", number, place), self.parameters[number][place], kind)
        if found is not None:
            self.parameters[number][place] = found
            self._again(number)

    def _grown(self, what: Any, old: Type, kind: Type) -> Type | None:
        new = join(old, types.cut(kind))
        if new == old:
            return None
        changes = self._changes[what] = self._changes.get(what, 0) + 1
        return types.cut(types.widen(old, new) if changes > PATIENCE else new)

    def give_cell(self, name: tuple[int, int, int], kind: Type) -> None:
        name = self.cell(name)
        found = self._grown(("cell", name), self.cells.get(name, NEVER), kind)
        if found is not None:
            self.cells[name] = found
            for reader in self._readers.get(name, ()):
                self._again(reader)

    def give_global(self, variable: int, kind: Type) -> None:
        found = self._grown(("global", variable), self.globals[variable], kind)
        if found is not None:
            self.globals[variable] = found
            for reader in self._readers.get(("global", variable), ()):
                self._again(reader)

    def give_result(self, number: int, kind: Type) -> None:
        found = self._grown(("result", number), self.results[number], kind)
        if found is not None:
            self.results[number] = found
            for reader in self._readers.get(("result", number), ()):
                self._again(reader)

    def read(self, number: int, what: Any) -> None:
        self._readers.setdefault(what, set()).add(number)

    def call(self, number: int, callee: int, arguments: list[Type]) -> Type:
        self._reach(callee)
        for place, argument in enumerate(arguments):
            self._give_parameter(callee, place, argument)
        self.read(number, ("result", callee))
        return self.results[callee]

    # Function values: each is made by a CLOSURE in sight, and each call of one is in sight, too.

    def closure(self, callee: int) -> None:
        """Notes that a function becomes a value."""
        if callee in self.closures or callee in self.by_value:
            return
        self.closures.append(callee)
        self._reach(callee)
        for place, parameter in enumerate(self.module.functions[callee].parameters):
            if parameter.type != "any" or not parameter.required or self.named_calls or self.escaped:
                kind = types.without(types.of_descriptor(parameter.type, self.module.types), types.ERROR)
                self._give_parameter(callee, place, kind if parameter.required else join(kind, types.LEFT_OUT))
            else:
                self._give_parameter(callee, place, self.value_arguments.get(place, NEVER))
        for reader in self._readers.get("closures", ()):
            self._again(reader)

    def call_value(self, number: int, arguments: list[Type], named: bool) -> Type:
        """What a call of some function value gives."""
        if named and not self.named_calls:
            self.named_calls = True
            arguments = []
            for callee in self.closures:
                self._give_any(callee)
        for place, argument in enumerate(arguments):
            argument = types.without(argument, types.ERROR)
            old = self.value_arguments.get(place, NEVER)
            found = self._grown(("value", place), old, argument)
            if found is not None:
                self.value_arguments[place] = found
                for callee in self.closures:
                    parameters = self.module.functions[callee].parameters
                    if place < len(parameters) and parameters[place].type == "any" and parameters[place].required:
                        self._give_parameter(callee, place, found)
        self.read(number, "closures")
        if self.builtin_values:
            return ANY
        found = NEVER
        for callee in (*self.closures, *self.by_value):
            self.read(number, ("result", callee))
            found = join(found, self.results[callee])
        return found

    def escape(self) -> None:
        """Notes that the host is given functions, which it may call with anything."""
        if not self.escaped:
            self.escaped = True
            for callee in self.closures:
                self._give_any(callee)

    def _give_any(self, callee: int) -> None:
        for place, parameter in enumerate(self.module.functions[callee].parameters):
            if parameter.type == "any" and parameter.required:
                self._give_parameter(callee, place, types.VALUE)

    def builtin_value(self) -> None:
        """Notes that a builtin becomes a value, which may give anything."""
        if not self.builtin_values:
            self.builtin_values = True
            for reader in self._readers.get("closures", ()):
                self._again(reader)

    def _walk(self, number: int) -> None:
        Walk(self, number).run()
