"""How control flows in a function, proved in one pass: what the engines know about each instruction before it runs.

    flow = control_flow(module, number)        raises BadModule

An engine needs no checks of its own for what is proved here, and reads jumps, stack heights and handlers from the
ControlFlow instead of keeping open blocks or handlers as it runs.
"""

from __future__ import annotations

from qasm.instructions import Instruction
from qasm.module import Module


class ControlFlow:
    """A function's instructions and, for each pc, what is known about it. All lists are as long as `instructions`.

    `instructions`  the decoded code.
    `target`   where control goes if this instruction doesn't go on with the next; -1 where it always does:
                 BR BR_IF BR_UNLESS NEXT NEXT_PAIR   the branch's place: behind an END, or a loop's first instruction
                 IF            behind its ELSE, or behind its END: where a false test goes
                 IF_ABSENT     behind its END: where a parameter that was given goes
                 ELSE CATCH    behind the END: where the arm before goes when it is done
                 TRY           behind its CATCH: where an error stop goes
                 BLOCK LOOP    behind its END (nothing jumps from here; for those who lay code out)
    `base`     how many items stay on the stack when it branches there (for TRY: under the error); -1 as with `target`.
    `keep`     how many items (0 or 1) are taken from the top and put on `base` when it branches.
    `height`   how many items are on the stack before it; -1 where it is never reached.
    `handler`  the pc of the TRY that catches an error stop of this instruction, -1 for none in this function:
               cut the stack to base[handler], push the error, go on at target[handler].
    `end`      for what opens a block: the pc of its END; for END, ELSE and CATCH: the pc of what opened it; else -1.
    `divider`  for IF and TRY: the pc of the ELSE or CATCH, -1 for none; else -1.
    `max_stack`  the most items that are ever on the stack.
    """

    __slots__ = ("base", "divider", "end", "handler", "height", "instructions", "keep", "max_stack", "target")

    def __init__(self, instructions: list[Instruction]) -> None:
        size = len(instructions)
        self.instructions = instructions
        self.target = [-1] * size
        self.base = [-1] * size
        self.keep = [0] * size
        self.height = [-1] * size
        self.handler = [-1] * size
        self.end = [-1] * size
        self.divider = [-1] * size
        self.max_stack = 0


def control_flow(module: Module, number: int) -> ControlFlow:
    """The control flow of `module.functions[number]`, whose code it verifies. Raises BadModule."""
    raise NotImplementedError
