"""A call as people look at it: its calls, the innermost first, each with its line and the names that are set there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qasm.instructions import KINDS, LOCAL, VARIABLE
from qvm.text import json_text, write_out
from qvm.values import ABSENT, Cell, IteratorState, Stop, Unset

if TYPE_CHECKING:
    from qasm.module import Function, Module
    from qvm.frames import Frame
    from qvm.prepare import Prepared
    from qvm.program import Task

SHOWN = 200  # characters of a value on one line


class Call:
    """One call under way: `function` is its name ("" for a top level or a lambda), `source` its line's text.

    `variables` are (name, value), in the order in which they come to be.
    """

    __slots__ = ("builtin", "file", "function", "line", "source", "top_level", "variables")

    def __init__(
        self,
        function: str,
        file: str,
        line: int,
        source: str,
        builtin: bool,
        top_level: bool,
        variables: list[tuple[str, Any]],
    ) -> None:
        self.function = function
        self.file = file
        self.line = line
        self.source = source
        self.builtin = builtin
        self.top_level = top_level
        self.variables = variables

    @property
    def title(self) -> str:
        if self.function:
            return f"`{self.function}`"
        return "the top level" if self.top_level else "a function"


def calls_of(task: Task) -> list[Call]:
    """The calls of a Task, the innermost first, without those of the language's own functions."""
    frames = task.frames
    calls = [_call(task, frame, _at(task, place)) for place, frame in enumerate(frames)]
    return [call for call in reversed(calls) if not call.builtin]


def _at(task: Task, place: int) -> int:
    """The pc of the instruction at which a frame stands: in one that waits, the one before `pc`."""
    frame = task.frames[place]
    waits = place < len(task.frames) - 1 or task.unsettled is not None
    return max(frame.pc - 1, 0) if waits else frame.pc


def place_of(task: Task) -> tuple[str, int] | None:
    """The file and the line of the innermost call of the program's own code; None where there is none."""
    for place in range(len(task.frames) - 1, -1, -1):
        prepared = task.program.prepared_function(task.frames[place].function)
        if not prepared.function.builtin:
            module = task.program.module
            return module.files[prepared.function.file].name, prepared.line(_at(task, place))
    return None


def top_variables(task: Task) -> list[tuple[str, Any]]:
    """The top-level variables that are set, by name."""
    cells = zip(task.program.module.globals, task.program.globals, strict=True)
    return [(name, cell.value) for name, cell in cells if name and type(cell.value) is not Unset]


def variable(task: Task, name: str) -> tuple[bool, Any]:
    """(whether there is one, its value): the variable of this name as the innermost call of the program sees it."""
    calls = calls_of(task)
    for candidates in (calls[0].variables if calls else [], top_variables(task)):
        for found, value in reversed(candidates):
            if found == name:
                return True, value
    return False, None


def source_line(module: Module, file: int, line: int) -> str:
    rows = module.files[file].text.split("\n")
    return rows[line - 1].rstrip() if 0 < line <= len(rows) else ""


def _call(task: Task, frame: Frame, pc: int) -> Call:
    program = task.program
    module = program.module
    prepared = program.prepared_function(frame.function)
    function = prepared.function
    line = prepared.line(pc)
    return Call(
        function.name,
        module.files[function.file].name,
        line,
        source_line(module, function.file, line).strip(),
        function.builtin,
        frame.function in module.entries,
        _variables(module, prepared, frame, pc),
    )


def _variables(module: Module, prepared: Prepared, frame: Frame, pc: int) -> list[tuple[str, Any]]:
    function = prepared.function
    found: dict[str, Any] = {}
    for number, cell in enumerate(frame.cells):
        name = captured_name(module, frame.function, number)
        if name:
            found[name] = cell.value
    slots = [(0, slot) for slot in range(len(function.parameters))]
    for slot, first in _first_written(prepared).items():
        if slot >= len(function.parameters) and first < pc:
            slots.append((first, slot))
    for _, slot in sorted(slots):
        name, value = function.local_names[slot], frame.locals[slot]
        if type(value) is Cell:
            value = value.value
        if name and value is not ABSENT and type(value) is not IteratorState:
            found.pop(name, None)  # of two of one name the one that came last is shown
            found[name] = value
    return list(found.items())


def _first_written(prepared: Prepared) -> dict[int, int]:
    """By local: the pc at which it is first named. What comes before has not set it."""
    found: dict[int, int] = {}
    for pc, (op, operands) in enumerate(prepared.flow.instructions):
        kind = ""
        for sort, operand in zip(op.operands, operands, strict=True):
            if sort == "kind":
                kind = KINDS[operand]
            elif sort == LOCAL or (sort == VARIABLE and kind in ("local", "cell")):
                found.setdefault(operand, pc)
    return found


def captured_name(module: Module, number: int, capture: int) -> str:
    """The name of a captured variable: the one that it has in the function that makes the closure."""
    from qasm.instructions import FUNCTION, decode

    for _ in range(len(module.functions)):
        kind, place = module.functions[number].captures[capture]
        maker = _maker(module, number, decode, FUNCTION)
        if maker is None:
            return ""
        if kind == 0:
            return module.functions[maker].local_names[place]
        number, capture = maker, place
    return ""


def _maker(module: Module, number: int, decode: Any, function_operand: str) -> int | None:
    for candidate, function in enumerate(module.functions):
        for op, operands in decode(function.code):
            if op.name == "CLOSURE" and operands[op.operands.index(function_operand)] == number:
                return candidate
    return None


def value_text(value: Any, most: int = SHOWN) -> str:
    """A value on one line; texts in quotes; cut where it is long."""
    try:
        text = json_text(value) if type(value) is str else write_out(value)
    except Stop:
        return "(a value that is too large to be shown)"
    if not text.isprintable():
        text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return text if len(text) <= most else text[:most] + "…"


def function_title(function: Function) -> str:
    return f"`{function.name}`" if function.name else "a function"
