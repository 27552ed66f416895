"""Superinstructions: one handler for several instructions that often follow each other.

A group is a few instructions in a row, such as `LOAD a, LOAD b, ADD, STORE c` or `CHARGE, LOAD i, INT 10, LT, IF`. Its
handler stands in the fast table at the first one's pc; the others keep theirs, so a jump or a saved frame may come in
at any of them. A group never begins or ends a block.

    group = [[reader] reader] operator [sink]   reader = a constant, a variable, or a variable and FIELD; else the stack
          | reader sink                         sink = a variable, a branch, RETURN, LIST_ADD, or the CALL of a
          | NEXT STORE                                 function with one parameter; else the stack
          | DUP IS_MISSING BR_UNLESS
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
from qvm.mistakes import SURELY_SHORT, check_size
from qvm.operators import equal_operands
from qvm.prepare import LEAVE, STOPPED, Handler, Prepared
from qvm.values import DEPTH_LIMIT, SIZE_LIMIT, UNSET, Err

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
}
_VARIABLES = {
    "STORE": "locals[z]",
    "STORE_CELL": "locals[z].value",
    "STORE_CAPTURE": "task.frames[-1].cells[z].value",
    "STORE_GLOBAL": "z.value",
}
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

# What handlers are bound to: operands and names of the readers x and y and of the sink z, and where to go on.
_BOUND = "x y z x_name y_name z_name x_field y_field general following target count after after_call padding"
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
_MISSING = """
    a = stack[-1]
    return following if a is None or type(a) is Err else target"""
_LIST_ADD = """
    a = {value}
    items = locals[z]
    if len(items) >= SIZE_LIMIT:
        check_size(len(items) + 1)
    items.append(a)
    return following"""
_STORE_GLOBAL = """
    first = z.value is UNSET
    z.value = {value}
    if task.note_change is not None and not first:
        task.note_change(z_name)
    return following"""
_JOIN_IN_PLACE = """
    if type(a) is str and type(b) is str and len(a) + len(b) <= SURELY_SHORT:
        if {place} is a:
            {place} = None
        a += b{stored}"""
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
_SINKS = {
    "RETURN": _RETURN,
    "CALL": _CALL,
    "LIST_ADD": _LIST_ADD,
    **{name: f"\n    {place} = {{value}}\n    return following" for name, place in _VARIABLES.items()},
    "STORE_GLOBAL": _STORE_GLOBAL,
}

_compiled: dict[str, Callable[..., Handler]] = {}


def fuse(prepared: Prepared) -> None:
    """Puts the handlers of groups into the fast table of a function."""
    height = prepared.flow.height
    for pc in range(len(height)):
        if height[pc] >= 0:
            group = _Group(prepared, pc)
            if group.parse():
                prepared.fast[pc] = group.handler()


class _Reader:
    """An instruction that pushes a value, and the constant that names its field if a FIELD is behind it."""

    __slots__ = ("field", "instruction", "name")

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.name = instruction.op.name
        self.field = -1

    def lines(self, target: str, bound: str) -> str:
        """The lines that read the value into a variable of the handler."""
        read = f"\n    {target} = {_READERS[self.name].format(bound)}"
        if self.field < 0:
            return read
        check = f"\n    if {target} is UNSET:\n        raise unset({bound}_name)" if self.name == "LOAD_GLOBAL" else ""
        field = f"{bound}_field"
        found = f"{target}.get({field}) if type({target}) is dict else field_of({target}, {field})"
        return f"{read}{check}\n    {target} = {found}"


class _Group:
    """A group that begins at `pc`: `parse` finds how far it goes, `handler` makes its handler."""

    def __init__(self, prepared: Prepared, pc: int) -> None:
        self.prepared = prepared
        self.start = pc
        self.pc = pc  # of the next instruction to look at
        self.charge = -1
        self.readers: list[_Reader] = []
        self.operator = ""
        self.sink: Instruction | None = None
        self._line = prepared.line(pc)

    def parse(self) -> bool:
        if self._name() == "CHARGE":
            self.charge = self._take().operands[0]
            self._line = self.prepared.line(self.pc)
        if self._name() == "NEXT":
            return self._parse_next()
        if self._name() == "DUP":
            return self._parse_missing()
        self._parse_readers()
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
        self.readers.append(_Reader(self._take()))
        if self._name() != "STORE":
            return False
        self.sink = self._take()
        return True

    def _parse_missing(self) -> bool:
        self.operator = "DUP"
        self._take()
        if self.charge >= 0 or self._name() != "IS_MISSING":
            return False
        self._take()
        if self._name() != "BR_UNLESS" or not self._branches():
            return False
        self.sink = self._take()
        return True

    def _parse_readers(self) -> None:
        constants = self.prepared.program.module.constants
        while self._name() in _READERS and len(self.readers) < 2:
            instruction = self.prepared.flow.instructions[self.pc]
            if instruction.op.name == "CONST" and type(constants[instruction.operands[0]]) in (list, dict):
                return  # CONST itself pushes a copy
            reader = _Reader(self._take())
            self.readers.append(reader)
            unsure = reader is not self.readers[0] and self.readers[0].name == "LOAD_GLOBAL"
            if self._name() == "FIELD" and self.charge < 0 and not unsure:
                # (A first variable without a value stops before a field of null does.)
                reader.field = self._take().operands[0]

    def _name(self) -> str:
        """The name of the next instruction; "" where the group must end before it."""
        instructions = self.prepared.flow.instructions
        if self.pc >= len(instructions) or self.prepared.line(self.pc) != self._line:
            return ""
        return instructions[self.pc].op.name

    def _take(self) -> Instruction:
        self.pc += 1
        return self.prepared.flow.instructions[self.pc - 1]

    def _sinks(self) -> bool:
        """Whether the next instruction can be the sink of any value."""
        name = self._name()
        if name in ("CALL", "LIST_ADD") and self.charge >= 0:
            return False  # they may stop, and CHARGE may lie on another line
        if name == "CALL":
            callee = self.prepared.flow.instructions[self.pc].operands[0]
            return len(self.prepared.program.module.functions[callee].parameters) == 1
        return name in _SINKS

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
        bound: dict[str, Any] = dict.fromkeys(_BOUND.split())
        bound.update(following=following, target=target, count=self.charge, after=self.start + 1, after_call=self.pc)
        for name, reader in zip("xy", self.readers, strict=False):
            bound[name], bound[f"{name}_name"] = self._place(reader.instruction)
            if reader.field >= 0:
                bound[f"{name}_field"] = self.prepared.program.module.constants[reader.field]
        if self.sink is not None and self.sink.operands:
            bound["z"], name = self._place(self.sink)
            bound["z_name"] = f"the variable `{name}`"
        if self.sink is not None and self.sink.op.name == "CALL":
            callee = self.prepared.program.module.functions[self.sink.operands[0]]
            bound["padding"] = [None] * (callee.local_count - 1)
        if self.operator in _OPERATORS:
            bound["general"] = _OPERATORS[self.operator][3]
        elif self.operator in _COMPARISONS:
            bound["general"] = _COMPARISONS[self.operator][2]
        return _maker(self._source())(**bound)

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
        if self.operator == "DUP":
            return _MISSING
        if not self.operator:
            return charge + self.readers[0].lines("a", "x") + self._general("") + self._stored("a")
        if len(self.readers) == 2:
            read = self.readers[0].lines("a", "x") + self.readers[1].lines("b", "y")
        elif len(self.readers) == 1:
            read = self.readers[0].lines("b", "x") + "\n    a = stack.pop()"
        else:
            read = "\n    b = stack.pop()\n    a = stack.pop()"
        return charge + read + (self._compared() if self.operator in _COMPARISONS else self._operated())

    def _operated(self) -> str:
        holds, result, fits, _ = _OPERATORS[self.operator]
        body = f"\n    if {holds}:\n        result = {result}"
        stored = self._stored("result")
        body += f"\n        if {fits}:{_deeper(_deeper(stored))}" if fits else _deeper(stored)
        if self.operator == "ADD" and self.sink is not None and self.sink.op.name in _VARIABLES:
            place = _VARIABLES[self.sink.op.name]
            body += _JOIN_IN_PLACE.format(place=place, stored=_deeper(self._stored("a")))
        return body + self._general(self._stored("general(a, b)"))

    def _compared(self) -> str:
        holds, result, _ = _COMPARISONS[self.operator]
        if self.sink is not None and self.sink.op.name in _BRANCHES:
            ways = "target if {0} else following" if self.sink.op.name == "BR_IF" else "following if {0} else target"
            plain, general = (f"\n    return {ways.format(test)}" for test in (result, "general(a, b)"))
        else:
            plain, general = self._stored(result), self._stored("general(a, b)")
        return f"\n    if {holds}:{_deeper(plain)}{self._general(general)}"

    def _general(self, lines: str) -> str:
        """What is done where it isn't the common case: a top-level variable may even have no value yet."""
        unsure = [
            f"{bound}.value is UNSET"
            for bound, reader in zip("xy", self.readers, strict=False)
            if reader.name == "LOAD_GLOBAL" and reader.field < 0
        ]
        if self.charge >= 0:
            if lines:
                return "\n    return after"
            return f"\n    if {' or '.join(unsure)}:\n        return after" if unsure else ""
        return "".join(f"\n    if {test}:\n        raise unset({test[0]}_name)" for test in unsure) + lines

    def _stored(self, value: str) -> str:
        """Puts a value where the sink says, and goes on."""
        if self.sink is None:
            return f"\n    stack.append({value})\n    return following"
        return _SINKS[self.sink.op.name].format(value=value)


def _deeper(lines: str) -> str:
    return lines.replace("\n", "\n    ")


def _maker(body: str) -> Callable[..., Handler]:
    maker = _compiled.get(body)
    if maker is None:
        source = f"def make({', '.join(_BOUND.split())}):\n  def fused(stack, locals, task):{body}\n  return fused\n"
        scope: dict[str, Any] = {
            "Err": Err,
            "SIZE_LIMIT": SIZE_LIMIT,
            "UNSET": UNSET,
            "check_size": check_size,
            "field_of": operators.field_of,
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
