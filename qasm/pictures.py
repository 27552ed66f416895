"""What each instruction takes from the stack and puts there, read from the pictures of the instruction table.

The table says it once, as a picture such as `function argument* -- result`; the verifier, and tests that step through
code, ask here. A starred name stands for as many items as an operand says: a COUNT, the length of a KEYS list, the
parameters of a FUNCTION, or the keys that the path of an ASSIGN or EXTEND_PATH takes. SQL takes one item fewer than it
has texts.
"""

from __future__ import annotations

from typing import Any

from qasm.instructions import COUNT, FUNCTION, KEYS, TABLE, Instruction
from qasm.module import Module


def _sides(picture: str) -> tuple[list[str], list[str]]:
    before, after = picture.split("--")
    return before.split(), after.split()


def _count_of(name: str, operands: tuple[str, ...], starred: bool) -> tuple[int, str]:
    """Where a starred name's number of items comes from: the operand's place and its kind."""
    if not starred:
        return -1, ""
    if name in ("ASSIGN", "EXTEND_PATH"):
        return 2, "path"
    for kind in (COUNT, KEYS, FUNCTION):
        if kind in operands:
            return operands.index(kind), "texts" if name == "SQL" else kind
    raise AssertionError(f"{name}: nothing says how many items a starred name stands for")


def _row(name: str, operands: tuple[str, ...], picture: str) -> tuple[int, int, int, str]:
    before, after = _sides(picture)
    starred = any(item.endswith("*") for item in before)
    return (len(before) - starred, len(after), *_count_of(name, operands, starred))


# By opcode: items taken apart from a starred name, items put, the place of the operand that counts the starred items
# (-1: no starred name), and that operand's kind.
EFFECTS: dict[int, tuple[int, int, int, str]] = {op.number: _row(op.name, op.operands, op.picture) for op in TABLE}


def items(module: Module, source: str, operand: int) -> int:
    """How many items a starred name stands for, `source` and `operand` being what EFFECTS and the code say."""
    if source is COUNT:
        return operand
    if source is FUNCTION:
        return len(module.functions[operand].parameters)
    constant: Any = module.constants[operand]
    return len(constant) - 1 if source == "texts" else len(constant)


def effect(module: Module, instruction: Instruction) -> tuple[int, int]:
    """How many items the instruction takes and how many it puts, for operands that the verifier has let pass.

    A NEXT or NEXT_PAIR that branches puts nothing.
    """
    taken, put, place, source = EFFECTS[instruction.op.number]
    if place >= 0:
        taken += items(module, source, instruction.operands[place])
    return taken, put
