"""A tool call's arguments against the parameters of its function, all the way in (mcp.md, section 2, step 6)."""

from __future__ import annotations

from typing import Any

from qasm.module import Parameter
from qvm.descriptions import wanted_text
from qvm.program import Program
from qvm.text import json_text
from qvm.typecheck import Check, Mismatch
from qvm.values import ABSENT


class Refusal(Exception):
    """Arguments that don't fit; the text is for the model, which can mend them."""


class Arguments:
    """The check of one tool's arguments."""

    def __init__(self, tool: str, parameters: list[Parameter], program: Program) -> None:
        self._tool = tool
        self._types = program.module.types
        self._parameters = parameters
        self._checks: list[tuple[str, bool, Check | None]] = [
            (parameter.name, parameter.required, program.json_check(parameter.type)) for parameter in parameters
        ]
        self._names = frozenset(parameter.name for parameter in parameters)

    def check(self, given: dict[str, Any]) -> list[Any]:
        """The values to call the function with, in its order; ABSENT where a default is to be worked out.

        Raises Refusal.
        """
        if not self._names.issuperset(given):
            raise Refusal(self._unknown(given))
        values = []
        for name, required, check in self._checks:
            if name in given:
                value = given[name]
                if check is not None:
                    try:
                        value = check(value)
                    except Mismatch as mismatch:
                        raise Refusal(mismatch.in_argument(name, self._tool)) from None
                values.append(value)
            elif required:
                raise Refusal(self._missing(name))
            else:
                values.append(ABSENT)
        return values

    def _unknown(self, given: dict[str, Any]) -> str:
        name = next(name for name in given if name not in self._names)
        takes = ", ".join(f"`{parameter.name}`" for parameter in self._parameters) or "none"
        return f"`{self._tool}` has no argument {_named(name)}: it takes {takes}"

    def _missing(self, name: str) -> str:
        wanted = next(parameter.type for parameter in self._parameters if parameter.name == name)
        return f"`{self._tool}` needs `{name}`: {wanted_text(wanted, self._types)}"


def _named(name: str) -> str:
    """A name that a client sent, as a message shows it: on one line, and cut where it is long."""
    cut = name if len(name) <= 60 else name[:60] + "…"
    return f"`{cut}`" if cut.isprintable() else f"`{json_text(cut)[1:-1]}`"
