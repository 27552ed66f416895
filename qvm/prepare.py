"""Turns a function's code into tables of Python closures, one for each instruction, when it is first called.

A *handler* is called with the operand stack, the locals and the task, and gives the pc that comes next, or LEAVE
(another frame is on top now) or STOPPED (the task has an outcome). A *maker* makes the handler of one instruction: it
reads the operands once, so that the handler finds them in its own variables.

There are two tables of one numbering of pcs. The *fast* one jumps over what does nothing as it runs (BLOCK, LOOP, END,
TRY …) and holds handlers that do several instructions at once (see `qvm.fusion`). The *plain* one does one instruction
at a time and is made for stepping. A frame may go from one to the other at any pc.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qasm.verifier import ControlFlow, control_flow

if TYPE_CHECKING:
    from qasm.module import Function, Module
    from qvm.interpreter import Task
    from qvm.program import Program
    from qvm.typecheck import Check

Handler = Callable[[list[Any], list[Any], "Task"], int]

LEAVE = -1
STOPPED = -2

_NOTHING = frozenset(("BLOCK", "LOOP", "END", "TRY"))
_ARM_ENDS = frozenset(("ELSE", "CATCH"))


class Site:
    """One instruction where it stands, for its maker. The same object is used for one instruction after the other."""

    __slots__ = ("fast", "flow", "following", "number", "operands", "pc", "prepared", "program")

    def __init__(self, program: Program, prepared: Prepared, fast: bool) -> None:
        self.program = program
        self.prepared = prepared
        self.number = prepared.number
        self.flow = prepared.flow
        self.fast = fast
        self.pc = 0
        self.operands: tuple[int, ...] = ()
        self.following = 0

    def move(self, pc: int) -> None:
        self.pc = pc
        self.operands = self.flow.instructions[pc].operands
        self.following = self.prepared.passed(pc + 1) if self.fast else pc + 1

    @property
    def module(self) -> Module:
        return self.program.module

    @property
    def target(self) -> int:
        """Where it goes if it doesn't go on with the next instruction."""
        target = self.flow.target[self.pc]
        return self.prepared.passed(target) if self.fast else target

    def constant(self, place: int) -> Any:
        """The constant that the operand at `place` names."""
        return self.program.module.constants[self.operands[place]]

    def cut(self, taken: int) -> tuple[int, int]:
        """What a branch does to the stack once `taken` items are off it: `(base, keep)`, base -1 for nothing at all."""
        base, keep = self.flow.base[self.pc], self.flow.keep[self.pc]
        return (-1 if self.flow.height[self.pc] - taken == base + keep else base, keep)


def shelters(function: Function) -> bool:
    """Is it a builtin in whose calls of functions nobody may be asked?"""
    return function.builtin and function.name not in ("parallel", "db.transaction", "_attempt")


class Prepared:
    """A function of the Module, made ready to run.

    `shelters`: nobody may be asked in what it calls. `padding`: the locals beside its parameters. `checks` are the
    checks of its parameters for calls of a function value, None for `any`; `has_checks`: there is one.
    """

    __slots__ = (
        "_checks",
        "_held_back",
        "_plain",
        "fast",
        "flow",
        "function",
        "has_checks",
        "number",
        "padding",
        "program",
        "shelters",
    )

    def __init__(self, program: Program, number: int) -> None:
        self.program = program
        self.number = number
        self.function: Function = program.module.functions[number]
        self.flow: ControlFlow = control_flow(program.module, number)
        parameters = self.function.parameters
        self.padding: list[Any] = [None] * (self.function.local_count - len(parameters))
        self.has_checks = any(parameter.type != "any" for parameter in parameters)
        self.shelters = shelters(self.function)
        self.fast = self._table(fast=True)
        self._plain: list[Any] | None = None
        self._checks: list[Check | None] | None = None
        self._held_back: frozenset[int] | None = None

    @property
    def plain(self) -> list[Any]:
        if self._plain is None:
            self._plain = self._table(fast=False)
        return self._plain

    @property
    def checks(self) -> list[Check | None]:
        if self._checks is None:
            self._checks = [self.program.check(parameter.type) for parameter in self.function.parameters]
        return self._checks

    @property
    def held_back(self) -> frozenset[int]:
        """The pcs at which no other call may get its turn (see `qvm.turns`)."""
        if self._held_back is None:
            from qvm.turns import held_back

            self._held_back = held_back(self.flow)
        return self._held_back

    def _table(self, fast: bool) -> list[Any]:
        from qvm.handlers import MAKERS

        site = Site(self.program, self, fast)
        height = self.flow.height
        table: list[Any] = [None] * len(height)
        for pc, instruction in enumerate(self.flow.instructions):
            if height[pc] >= 0:
                site.move(pc)
                table[pc] = MAKERS[instruction.op.number](site)
        return table

    def passed(self, pc: int) -> int:
        """The first pc from here on where something happens: what only opens, closes or jumps is passed over."""
        flow = self.flow
        instructions = flow.instructions
        while pc < len(instructions):
            name = instructions[pc].op.name
            if name in _NOTHING:
                pc += 1
            elif name in _ARM_ENDS or (name == "BR" and flow.height[pc] == flow.base[pc] + flow.keep[pc]):
                pc = flow.target[pc]
            else:
                break
        return pc

    def line(self, pc: int) -> int:
        """The line of the source that an instruction belongs to."""
        lines = self.function.lines
        place = bisect_right(lines, pc, key=lambda pair: pair[0]) - 1
        return lines[place][1] if place >= 0 else self.function.line
