"""Where a stop goes: to the TRY that catches it, or out of the call, with the calls that led there written into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qvm.values import CallPlace, Stop

if TYPE_CHECKING:
    from qvm.frames import Frame
    from qvm.program import Program


def unwind(program: Program, frames: list[Frame], stop: Stop, pc: int) -> bool:
    """Goes to the nearest handler of an error stop and gives True; else fills `stop.places` and gives False.

    `pc` is the instruction of the innermost frame that stopped; in the others, the one before the next is their call.
    """
    if stop.error is not None:
        at = pc
        for depth in range(len(frames) - 1, -1, -1):
            frame = frames[depth]
            if depth < len(frames) - 1:
                at = frame.pc - 1
            flow = program.prepared_function(frame.function).flow
            handler = flow.handler[at]
            if handler >= 0:
                del frames[depth + 1 :]
                del frame.stack[flow.base[handler] :]
                frame.stack.append(stop.error)
                frame.pc = flow.target[handler]
                return True
    if not stop.places:
        stop.places = places(program, frames, pc)
    return False


def places(program: Program, frames: list[Frame], pc: int) -> list[CallPlace]:
    """Where the calls stand, innermost first. Functions of the language itself are left out."""
    module = program.module
    found = []
    top_levels = set(module.entries)
    for depth in range(len(frames) - 1, -1, -1):
        frame = frames[depth]
        at = pc if depth == len(frames) - 1 else frame.pc - 1
        prepared = program.prepared_function(frame.function)
        function = prepared.function
        if not function.builtin:
            name = "" if frame.function in top_levels else function.name
            found.append(CallPlace(module.files[function.file].name, prepared.line(at), name))
    return found
