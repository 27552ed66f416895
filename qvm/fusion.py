"""Superinstructions: one handler for several instructions that often follow each other.

A group is a few instructions in a row, such as `LOAD a, LOAD b, ADD, STORE c` or `CHARGE, LOAD i, INT 10, LT, IF`. Its
handler stands in the fast table at the first one's pc; the others keep theirs, so a jump or a saved frame may come in
at any of them. A group never begins or ends a block.

    group = [[reader] reader] operator [sink]   reader = a constant or a variable; else the stack
          | reader sink                         sink = a variable, a branch, RETURN, or the CALL of a function
          | NEXT STORE                                 with one parameter; else the stack
          | CHARGE group                        of a group that takes nothing from the stack

What is behind a CHARGE lies on one line of the source, so that a stop in a group tells the right place: after CHARGE
itself, whatever isn't the common case is left to the group behind it.

Handlers are made from the templates below, each of which is compiled when the first group of its kind is met. Since
that costs more than a short program gains, a program's functions are fused once it has run for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qvm import operators
from qvm.calling import too_deep
from qvm.frames import Frame
from qvm.handlers_operators import COMPARERS, LEAST, MOST
from qvm.handlers_variables import constant_value, unset
from qvm.mistakes import SURELY_SHORT
from qvm.operators import equal_operands
from qvm.prepare import LEAVE, STOPPED, Handler, Prepared
from qvm.values import DEPTH_LIMIT, UNSET

if TYPE_CHECKING:
    from qasm.instructions import Instruction

# What reads and writes a variable, `{0}` being what it is bound to in the maker.
_READERS = {
    "LOAD": "locals[{0}]",
    "LOAD_CELL": "locals[{0}].value",
    "LOAD_CAPTURE": "task.frames[-1].cells[{0}].value",
    "LOAD_GLOBAL": "{0}.value",
    "INT": "{0}",
    "CONST": "{0}",
    "NULL": "{0}",
    "TRUE": "{0}",
    "FALSE": "{0}",
    "": "stack.pop()",
}
_SINKS = {
    "STORE": "locals[z]",
    "STORE_CELL": "locals[z].value",
    "STORE_CAPTURE": "task.frames[-1].cells[z].value",
    "STORE_GLOBAL": "z.value",
}
_JOIN_SINKS = frozenset(("STORE", "STORE_CELL", "STORE_CAPTURE"))
_SIMPLE_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}
_BRANCHES = frozenset(("IF", "BR_IF", "BR_UNLESS"))

_BOTH_INTS = "type(a) is int and type(b) is int"
_BOTH_POSITIVE = f"{_BOTH_INTS} and a >= 0 and b > 0"
_FITS = f"result <= {MOST} and result >= {LEAST}"

# For each operator: when its common case holds, the result then, what the result must be, and the general function.
_OPERATORS: dict[str, tuple[str, str, str, Callable[[Any, Any], Any]]] = {
    "ADD": (_BOTH_INTS, "a + b", _FITS, operators.add),
    "SUB": (_BOTH_INTS, "a - b", _FITS, operators.subtract),
    "MUL": (_BOTH_INTS, "a * b", _FITS, operators.multiply),
    "DIV": (_BOTH_POSITIVE, "a // b", "", operators.divide),
    "MOD": (_BOTH_POSITIVE, "a % b", "", operators.remainder),
    "INDEX": ("type(a) is list and type(b) is int and b >= 0 and b < len(a)", "a[b]", "", operators.element),
}
_COMPARISONS: dict[str, tuple[str, str, Callable[[Any, Any], bool]]] = {
    "LT": (_BOTH_INTS, "a < b", COMPARERS["LT"]),
    "LE": (_BOTH_INTS, "a <= b", COMPARERS["LE"]),
    "GT": (_BOTH_INTS, "a > b", COMPARERS["GT"]),
    "GE": (_BOTH_INTS, "a >= b", COMPARERS["GE"]),
    "EQ": ("type(a) is type(b) and (type(a) is int or type(a) is str)", "a == b", equal_operands),
    "NE": (
        "type(a) is type(b) and (type(a) is int or type(a) is str)",
        "a != b",
        lambda a, b: not equal_operands(a, b),
    ),
}

_MAKER = "def make(x, y, z, x_name, y_name, z_name, general, following, target, count, after, after_call, padding):"
_CHARGE = """
    fuel = task.fuel - count
    task.fuel = fuel
    if fuel < 0:
        return task.out_of_fuel(count, after)"""
_NEXT = """
    iterator = locals[x]
    index = iterator.index
    if index >= iterator.stop:
        locals[x] = None
        return target
    iterator.index = index + 1
    items = iterator.keys or iterator.items
    locals[z] = index if items is None else items[index]
    return following"""
_JOIN_IN_PLACE = """
    if type(a) is str and type(b) is str and len(a) + len(b) <= SURELY_SHORT:
        if {place} is a:
            {place} = None
        a += b
        {place} = a
        return following"""
_RETURN = """
    a = {value}
    frames = task.frames
    frames.pop()
    if frames:
        frames[-1].stack.append(a)
        return LEAVE
    task.returned(a)
    return STOPPED"""
_CALL = """
    a = {value}
    frames = task.frames
    if len(frames) > DEPTH_LIMIT:
        raise too_deep()
    frames[-1].pc = after_call
    frames.append(Frame(z, [a, *padding]))
    return LEAVE"""

_compiled: dict[str, Callable[..., Handler]] = {}


def fuse(prepared: Prepared) -> None:
    """Puts the handlers of groups into the fast table of a function."""
    height = prepared.flow.height
    for pc in range(len(height)):
        if height[pc] >= 0:
            group = _Group(prepared, pc)
            if group.parse():
                prepared.fast[pc] = group.handler()


class _Group:
    """A group that begins at `pc`: `parse` finds how far it goes, `handler` makes its handler."""

    def __init__(self, prepared: Prepared, pc: int) -> None:
        self.prepared = prepared
        self.start = pc
        self.pc = pc  # of the next instruction to look at
        self.charge = -1
        self.readers: list[Instruction] = []
        self.operator = ""
        self.sink: Instruction | None = None
        self._line = prepared.line(pc)

    def parse(self) -> bool:
        if self._name() == "CHARGE":
            self.charge = self._take().operands[0]
            self._line = self.prepared.line(self.pc)
        if self._name() == "NEXT":
            return self._parse_next()
        while self._name() in _READERS and len(self.readers) < 2:
            if self._name() == "CONST" and not _is_simple(self._constant()):
                break
            self.readers.append(self._take())
        name = self._name()
        if name in _OPERATORS or name in _COMPARISONS:
            if self.charge >= 0 and len(self.readers) < 2:
                return False
            self.operator = name
            self._take()
            if self._sinks() or (name in _COMPARISONS and self._branches()):
                self.sink = self._take()
            return self.pc - self.start > 1
        if len(self.readers) == 1 and self._sinks():
            self.sink = self._take()
            return True
        return False

    def _parse_next(self) -> bool:
        flow = self.prepared.flow
        if flow.base[self.pc] != flow.height[self.pc]:
            return False
        self.operator = "NEXT"
        self.readers.append(self._take())
        if self._name() != "STORE":
            return False
        self.sink = self._take()
        return True

    def _name(self) -> str:
        """The name of the next instruction; "" where the group must end before it."""
        instructions = self.prepared.flow.instructions
        if self.pc >= len(instructions) or self.prepared.line(self.pc) != self._line:
            return ""
        return instructions[self.pc].op.name

    def _take(self) -> Instruction:
        self.pc += 1
        return self.prepared.flow.instructions[self.pc - 1]

    def _constant(self) -> Any:
        return self.prepared.program.module.constants[self.prepared.flow.instructions[self.pc].operands[0]]

    def _sinks(self) -> bool:
        """Whether the next instruction takes one value and puts none, or calls a function with one parameter."""
        name = self._name()
        if name == "CALL":
            if self.charge >= 0:
                return False
            callee = self.prepared.flow.instructions[self.pc].operands[0]
            return len(self.prepared.program.module.functions[callee].parameters) == 1
        return name in _SINKS or name == "RETURN"

    def _branches(self) -> bool:
        """Whether the next instruction is a branch that leaves the stack as it is."""
        flow = self.prepared.flow
        return self._name() in _BRANCHES and flow.base[self.pc] + flow.keep[self.pc] == flow.height[self.pc] - 1

    # making the handler

    def handler(self) -> Handler:
        last = self.pc - 1
        passed, flow = self.prepared.passed, self.prepared.flow
        following, target = passed(self.pc), passed(flow.target[last]) if flow.target[last] >= 0 else -1
        if self.operator == "NEXT":
            following, target = passed(self.pc), passed(flow.target[last - 1])
        x, x_name = self._bound(0)
        y, y_name = self._bound(1)
        z, z_name = self._place(self.sink) if self.sink is not None and self.sink.operands else (None, "")
        padding = self._padding()
        general: Any = None
        if self.operator in _OPERATORS:
            general = _OPERATORS[self.operator][3]
        elif self.operator in _COMPARISONS:
            general = _COMPARISONS[self.operator][2]
        maker = _maker(self._source())
        after, after_call = self.start + 1, self.pc
        return maker(
            x, y, z, x_name, y_name, z_name, general, following, target, self.charge, after, after_call, padding
        )

    def _padding(self) -> list[Any]:
        """The other locals of a function that is called."""
        if self.sink is None or self.sink.op.name != "CALL":
            return []
        return [None] * (self.prepared.program.module.functions[self.sink.operands[0]].local_count - 1)

    def _bound(self, place: int) -> tuple[Any, str]:
        return self._place(self.readers[place]) if place < len(self.readers) else (None, "")

    def _place(self, instruction: Instruction) -> tuple[Any, str]:
        """What a reader or sink reads or sets: a number, a Cell or a constant; and a top-level variable's name."""
        name, program = instruction.op.name, self.prepared.program
        if name in _SIMPLE_CONSTANTS:
            return _SIMPLE_CONSTANTS[name], ""
        operand = instruction.operands[0]
        if name == "CONST":
            return constant_value(program.module.constants[operand]), ""
        if name in ("LOAD_GLOBAL", "STORE_GLOBAL"):
            return program.globals[operand], program.module.globals[operand]
        return operand, ""

    def _source(self) -> str:
        """The body of the handler."""
        charge = _CHARGE if self.charge >= 0 else ""
        if self.operator == "NEXT":
            return charge + _NEXT
        names = [reader.op.name for reader in self.readers]
        if not self.operator:
            assert self.sink is not None
            read = f"\n    a = {_READERS[names[0]].format('x')}" + self._general(names, "")
            return charge + read + self._stored("a")
        if len(names) == 2:
            lines = [f"a = {_READERS[names[0]].format('x')}", f"b = {_READERS[names[1]].format('y')}"]
        elif len(names) == 1:
            lines = [f"b = {_READERS[names[0]].format('x')}", "a = stack.pop()"]
        else:
            lines = ["b = stack.pop()", "a = stack.pop()"]
        body = charge + "".join(f"\n    {line}" for line in lines)
        return body + (self._compared(names) if self.operator in _COMPARISONS else self._operated(names))

    def _operated(self, names: list[str]) -> str:
        holds, result, fits, _ = _OPERATORS[self.operator]
        body = f"\n    if {holds}:\n        result = {result}"
        stored = self._stored("result")
        body += f"\n        if {fits}:{_deeper(_deeper(stored))}" if fits else _deeper(stored)
        if self.operator == "ADD" and self.sink is not None and self.sink.op.name in _JOIN_SINKS:
            body += _JOIN_IN_PLACE.format(place=_SINKS[self.sink.op.name])
        return body + self._general(names, self._stored("general(a, b)"))

    def _compared(self, names: list[str]) -> str:
        holds, result, _ = _COMPARISONS[self.operator]
        if self.sink is not None and self.sink.op.name in _BRANCHES:
            ways = "target if {0} else following" if self.sink.op.name == "BR_IF" else "following if {0} else target"
            plain, general = (f"\n    return {ways.format(test)}" for test in (result, "general(a, b)"))
        else:
            plain, general = self._stored(result), self._stored("general(a, b)")
        return f"\n    if {holds}:{_deeper(plain)}{self._general(names, general)}"

    def _general(self, names: list[str], lines: str) -> str:
        """What is done where it isn't the common case: a top-level variable may even have no value yet."""
        unsure = [f"{bound}.value is UNSET" for bound, name in zip("xy", names, strict=False) if name == "LOAD_GLOBAL"]
        if self.charge >= 0:
            if lines:
                return "\n    return after"
            return f"\n    if {' or '.join(unsure)}:\n        return after" if unsure else ""
        return "".join(f"\n    if {test}:\n        raise unset({test[0]}_name)" for test in unsure) + lines

    def _stored(self, value: str) -> str:
        """Puts a value where the sink says, and goes on."""
        if self.sink is None:
            return f"\n    stack.append({value})\n    return following"
        if self.sink.op.name in ("RETURN", "CALL"):
            return (_RETURN if self.sink.op.name == "RETURN" else _CALL).format(value=value)
        if self.sink.op.name == "STORE_GLOBAL":
            return (
                "\n    first = z.value is UNSET"
                f"\n    z.value = {value}"
                "\n    if task.note_change is not None and not first:"
                "\n        task.note_change(f'the variable `{z_name}`')"
                "\n    return following"
            )
        return f"\n    {_SINKS[self.sink.op.name]} = {value}\n    return following"


def _is_simple(constant: Any) -> bool:
    """Lists and records are pushed as copies, so they are left to CONST itself."""
    return type(constant) is not list and type(constant) is not dict


def _deeper(lines: str) -> str:
    return lines.replace("\n", "\n    ")


def _maker(body: str) -> Callable[..., Handler]:
    maker = _compiled.get(body)
    if maker is None:
        source = f"{_MAKER}\n  def fused(stack, locals, task):{body}\n  return fused\n"
        scope: dict[str, Any] = {
            "UNSET": UNSET,
            "unset": unset,
            "SURELY_SHORT": SURELY_SHORT,
            "LEAVE": LEAVE,
            "Frame": Frame,
            "DEPTH_LIMIT": DEPTH_LIMIT,
            "too_deep": too_deep,
            "STOPPED": STOPPED,
        }
        exec(compile(source, "<superinstruction>", "exec"), scope)
        maker = _compiled[body] = scope["make"]
    return maker
