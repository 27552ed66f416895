"""Where a running call may not let others have their turn.

A call gives way where a slice of steps ends. But it must not give way between reading and writing one top-level
variable in one statement (`total = total + price(x)`): another call could change it there, and that change would be
lost.
"""

from __future__ import annotations

from qasm.instructions import KINDS
from qasm.verifier import ControlFlow

_GLOBAL = KINDS.index("global")


def held_back(flow: ControlFlow) -> frozenset[int]:
    """The pcs between a read of a top-level variable and the write of it that ends the same statement.

    A statement begins where the stack is as high as after the write, in the same block.
    """
    found: set[int] = set()
    blocks = _blocks(flow)
    for written, instruction in enumerate(flow.instructions):
        name, operands = instruction.op.name, instruction.operands
        if name == "STORE_GLOBAL":
            variable = operands[0]
        elif name in ("EXTEND", "ASSIGN", "EXTEND_PATH") and operands[0] == _GLOBAL:
            variable = operands[1]
        else:
            continue
        if flow.height[written] < 0 or written + 1 >= len(flow.height):
            continue
        level = flow.height[written + 1]
        first_read = -1
        for pc in range(written - 1, -1, -1):
            if pc == blocks[written] or (blocks[pc] == blocks[written] and flow.height[pc] < level):
                break
            if _reads(flow, pc, variable):
                first_read = pc
            if blocks[pc] == blocks[written] and flow.height[pc] == level:
                break
        if first_read >= 0:
            found.update(range(first_read, written))
    return frozenset(found)


def _reads(flow: ControlFlow, pc: int, variable: int) -> bool:
    instruction = flow.instructions[pc]
    name, operands = instruction.op.name, instruction.operands
    return (name == "LOAD_GLOBAL" and operands[0] == variable) or (
        name == "LOAD_SHARED" and operands == (_GLOBAL, variable)
    )


def _blocks(flow: ControlFlow) -> list[int]:
    """For each pc the place that opened the arm it stands in: a block's opener, its ELSE or CATCH, or -1."""
    found = []
    open_arms = [-1]
    for pc, instruction in enumerate(flow.instructions):
        name = instruction.op.name
        if name in ("END", "ELSE", "CATCH"):
            open_arms.pop()
        found.append(open_arms[-1])
        if instruction.op.opens or name in ("ELSE", "CATCH"):
            open_arms.append(pc)
    return found
