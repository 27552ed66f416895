"""Turns the checker's types into the type descriptors of a Module (qasm/module.py says what they look like).

Named types go into the Module's table of types, in the order in which they are first met, so that they may refer to
themselves and that messages can name them. What no value can be checked for (type variables, SQL) is "any".
"""

from __future__ import annotations

from compiler import types
from compiler.types import Type
from qasm.module import Descriptor

# Descriptors deeper than this are given a place in the table of types, as the format limits how deep one may nest.
_DEEPEST = 32

_SIMPLE = frozenset(
    ("any", "int", "float", "str", "bool", "null", "bytes", "html", "response", "error", "never", "function")
)


class Descriptors:
    """Makes descriptors and fills `table`, which becomes `Module.types`."""

    def __init__(self) -> None:
        self.table: list[tuple[str, Descriptor]] = []
        self._numbers: dict[Type, int] = {}

    def of(self, type: Type | None) -> Descriptor:
        return self._make(type if type is not None else types.ANY, 0)

    def _make(self, type: Type, depth: int) -> Descriptor:
        match type:
            case types.Simple(name):
                return name if name in _SIMPLE else "any"
            case types.Named():
                return self._named(type, type.name, type.target)
            case types.LiteralType(literal):
                return ["literal", [literal]]
            case types.FunctionType():
                return "function"
        if depth >= _DEEPEST:
            return self._named(type, types.written(type), type)
        match type:
            case types.ListType(item):
                return ["list", self._make(item, depth + 1)]
            case types.MapType(value):
                return ["map", self._make(value, depth + 1)]
            case types.RecordType(fields, is_open):
                if is_open:
                    return ["map", "any"]
                return ["record", [[f.name, self._make(f.type, depth + 1), f.required] for f in fields]]
            case types.UnionType(members):
                return self._union(members, depth)
        return "any"

    def _named(self, key: Type, name: str, target: Type) -> Descriptor:
        number = self._numbers.get(key)
        if number is None:
            number = len(self.table)
            self._numbers[key] = number
            self.table.append((name, "any"))
            self.table[number] = (name, self._make(target, 0))
        return ["type", number]

    def _union(self, members: tuple[Type, ...], depth: int) -> Descriptor:
        """Literal members are joined into one, at the place of the first."""
        found: list[Descriptor] = []
        literals: list[str | int | float | bool] = []
        for member in members:
            if isinstance(member, types.LiteralType):
                if not literals:
                    found.append(["literal", literals])
                literals.append(member.value)
                continue
            made = self._make(member, depth + 1)
            if made == "any":
                return "any"
            if made not in found:
                found.append(made)
        return found[0] if len(found) == 1 else ["union", found]
