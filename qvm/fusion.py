"""Superinstructions: one handler for several instructions that often follow each other.

A group is a few instructions in a row, such as `LOAD a, LOAD b, ADD, STORE c` or `CHARGE, LOAD i, INT 10, LT, IF`. Its
handler stands in the fast table at the first one's pc; the others keep theirs, so a jump or a saved frame may come in
at any of them. A group never begins or ends a block.

    group = {reader | operator} [sink]   reader = a constant or a variable
          | NEXT STORE                   operator = arithmetic, a comparison, INDEX or FIELD
          | DUP IS_MISSING BR_UNLESS     sink = a variable or its element, a branch, RETURN, LIST_ADD or CALL
          | CHARGE group

What readers and operators push is held in variables of the handler, and is pushed only where nothing in the group takes
it. A RETURN that nothing but the ends of blocks stands before is a sink, too.

All of a group lies on one line of the source, so that a stop in it tells the right place. Where the line of a CHARGE is
another one, whatever isn't the common case is left to the group behind it: such a group is *careful*, it changes and
takes nothing before it is sure.

Handlers are made from the templates below, each of which is compiled when the first group of its kind is met. Since
that costs more than a short program gains, a program's functions are fused once it has run for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qasm.instructions import KINDS
from qvm import operators
from qvm.calling import too_deep
from qvm.frames import Frame
from qvm.handlers_operators import COMPARERS, LEAST, MOST
from qvm.handlers_variables import constant_value, unset
from qvm.mistakes import SURELY_SHORT, check_size, no_bool
from qvm.operators import equal_operands, out_of_range
from qvm.prepare import LEAVE, STOPPED, Handler, Prepared
from qvm.values import SIZE_LIMIT, UNSET, Err

if TYPE_CHECKING:
    from qasm.instructions import Instruction

MOST_INSTRUCTIONS = 24  # in a group

# What reads and writes a variable, `{0}` being what it is bound to in the maker.
_READERS = {
    "LOAD": "locals[{0}]",
    "LOAD_CELL": "locals[{0}].value",
    "LOAD_CAPTURE": "task.frames[-1].cells[{0}].value",
    "LOAD_GLOBAL": "{0}.value",
}
_CONSTANTS = frozenset(("INT", "CONST", "NULL", "TRUE", "FALSE"))
_VARIABLES = {
    "STORE": "locals[z]",
    "STORE_CELL": "locals[z].value",
    "STORE_CAPTURE": "task.frames[-1].cells[z].value",
    "STORE_GLOBAL": "z.value",
}
_SIMPLE_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}
_BRANCHES = frozenset(("IF", "BR_IF", "BR_UNLESS"))
_LOCAL = KINDS.index("local")

# The operators: what a result of two ints is, what must hold for that beyond their kinds, whether the result must be
# held against 64 bits; and what must hold of two floats ("" for nothing, None where they are left to the general one).
_ARITHMETIC: dict[str, tuple[str, str, bool, str | None]] = {
    "ADD": ("{a} + {b}", "", True, ""),
    "SUB": ("{a} - {b}", "", True, ""),
    "MUL": ("{a} * {b}", "", True, ""),
    "DIV": ("{a} // {b}", "{a} >= 0 and {b} > 0", False, "{b} != 0.0"),
    "MOD": ("{a} % {b}", "{a} >= 0 and {b} > 0", False, None),
}
_COMPARISONS = {"LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "EQ": "==", "NE": "!="}
_GENERAL: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": operators.add,
    "SUB": operators.subtract,
    "MUL": operators.multiply,
    "DIV": operators.divide,
    "MOD": operators.remainder,
    "INDEX": operators.element,
    **COMPARERS,
    "EQ": equal_operands,
    "NE": lambda a, b: not equal_operands(a, b),
}

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
    items = locals[z]
    if len(items) >= SIZE_LIMIT:
        check_size(len(items) + 1)
    items.append({0})
    return following"""
_STORE_GLOBAL = """
    first = z.value is UNSET
    z.value = {0}
    if task.note_change is not None and not first:
        task.note_change(z_name)
    return following"""
_RETURN = """
    frames = task.frames
    frames.pop()
    if frames:
        frames[-1].stack.append({0})
        return LEAVE
    task.returned({0})
    return STOPPED"""
_CALL = """
    frames = task.frames
    if len(frames) > task.most_frames:
        raise too_deep()
    frames[-1].pc = after_call
    frames.append(Frame(z, [{0}]))
    return LEAVE"""
_ASSIGN = """
    items = locals[z]
    owned = task.frames[-1].owned
    if owned is not None and owned.get(z) is items and type({1}) is not Err:
        if type(items) is list and type({0}) is int:
            try:
                items[{0}] = {1}
            except IndexError:
                raise out_of_range(items, {0}) from None
            return following
        if type(items) is dict and type({0}) is str and {0} in items:
            items[{0}] = {1}
            return following
    stack.append({0})
    stack.append({1})
    return assign(stack, locals, task)"""
_SINKS = {
    "LIST_ADD": _LIST_ADD,
    **{name: f"\n    {place} = {{0}}\n    return following" for name, place in _VARIABLES.items()},
    "STORE_GLOBAL": _STORE_GLOBAL,
    "RETURN": _RETURN,
}
_MAY_STOP = frozenset(("CALL", "LIST_ADD", "ASSIGN"))  # sinks that no careful group has

_compiled: dict[str, Callable[..., Handler]] = {}


def fuse(prepared: Prepared) -> None:
    """Puts the handlers of groups into the fast table of a function."""
    height = prepared.flow.height
    pc = 0
    while pc < len(height):
        if height[pc] >= 0:
            group = _Group(prepared, pc)
            if group.parse():
                prepared.fast[pc] = group.handler()
                if not group.charged:  # (behind a CHARGE a call may go on, and a careful group leaves its work)
                    pc = group.pc
                    continue
        pc += 1


class _Group:
    """A group that begins at `pc`: `parse` finds how far it goes, `handler` makes its handler."""

    def __init__(self, prepared: Prepared, pc: int) -> None:
        self.prepared = prepared
        self.start = pc
        self.pc = pc  # of the next instruction to look at
        self.charged = False
        self._careful = False
        self._body = ""
        self._bound: dict[str, Any] = {}
        self._values: list[str] = []  # what the group has pushed and not yet taken: the names of variables
        self._kinds: dict[str, type] = {}  # the kinds of those that are known
        self._made = 0
        self._ended = False  # by a comparison with its branch
        self._returns = False  # by a RETURN that stands behind ends of blocks
        self._line = prepared.line(pc)

    def parse(self) -> bool:
        if self._name() == "CHARGE":
            self.charged = True
            self._body = _CHARGE
            self._bound.update(count=self._take().operands[0], after=self.pc)
            line = self.prepared.line(self.pc)
            self._careful = line != self._line
            self._line = line
        if self._name() == "NEXT":
            return self._parse_next()
        if self._name() == "DUP":
            return self._parse_missing()
        while self.pc - self.start < MOST_INSTRUCTIONS and self._parse_one():
            pass
        if not self._ended and not self._parse_sink():
            self._push(self._values)
            self._body += "\n    return following"
            self._bind_following()
        return self.pc - self.start > 1 or self._returns

    def handler(self) -> Handler:
        names = ", ".join(self._bound)
        source = f"def make({names}):\n  def fused(stack, locals, task):{self._body}\n  return fused\n"
        maker = _compiled.get(source)
        if maker is None:
            scope = dict(_SCOPE)
            exec(compile(source, "<superinstruction>", "exec"), scope)
            maker = _compiled[source] = scope["make"]
        return maker(**self._bound)

    # the instructions of a group

    def _name(self) -> str:
        """The name of the next instruction; "" where the group must end before it."""
        instructions = self.prepared.flow.instructions
        if self.pc >= len(instructions) or self.prepared.line(self.pc) != self._line:
            return ""
        return instructions[self.pc].op.name

    def _take(self) -> Instruction:
        self.pc += 1
        return self.prepared.flow.instructions[self.pc - 1]

    def _parse_next(self) -> bool:
        flow = self.prepared.flow
        if flow.base[self.pc] != flow.height[self.pc]:
            return False
        target = flow.target[self.pc]
        iterator = self._take().operands[0]
        if self._name() != "STORE":
            return False
        self._bound.update(x=iterator, z=self._take().operands[0], target=self.prepared.passed(target))
        self._body += _NEXT
        self._bind_following()
        return True

    def _parse_missing(self) -> bool:
        self._take()
        if self.charged or self._name() != "IS_MISSING":
            return False
        self._take()
        if self._name() != "BR_UNLESS" or not self._is_branch():
            return False
        self._bound["target"] = self.prepared.passed(self.prepared.flow.target[self.pc])
        self._take()
        self._body += _MISSING
        self._bind_following()
        return True

    def _parse_one(self) -> bool:
        """Takes a reader or an operator, unless the next instruction is none, or is the test of a branch."""
        name = self._name()
        if name in _CONSTANTS:
            return self._constant()
        if name in _READERS:
            self._read(name)
            return True
        wanted = 1 if name == "FIELD" else 2
        if name != "FIELD" and name not in _GENERAL:
            return False
        if self._careful and len(self._values) < wanted:
            return False
        if name == "FIELD":
            self._field()
        elif name in _ARITHMETIC:
            self._arithmetic(name)
        elif name in _COMPARISONS:
            return self._comparison(name)
        else:
            self._element()
        return True

    def _constant(self) -> bool:
        instruction = self.prepared.flow.instructions[self.pc]
        name = instruction.op.name
        value: Any = _SIMPLE_CONSTANTS.get(name)
        if name == "INT":
            value = instruction.operands[0]
        elif name == "CONST":
            value = constant_value(self.prepared.program.module.constants[instruction.operands[0]])
            if type(value) is list or type(value) is dict:
                return False  # CONST itself pushes a copy
        self._take()
        bound = self._bind("x", value)
        self._kinds[bound] = type(value)
        self._values.append(bound)
        return True

    def _read(self, name: str) -> None:
        program = self.prepared.program
        operand = self._take().operands[0]
        bound = self._bind("x", program.globals[operand] if name == "LOAD_GLOBAL" else operand)
        value = self._new()
        self._body += f"\n    {value} = {_READERS[name].format(bound)}"
        if name == "LOAD_GLOBAL":
            instead = (
                "return after"
                if self._careful
                else f"raise unset({self._bind('name', program.module.globals[operand])})"
            )
            self._body += f"\n    if {value} is UNSET:\n        {instead}"

    def _field(self) -> None:
        key = self._bind("key", self.prepared.program.module.constants[self._take().operands[0]])
        [record] = self._taken(1)
        value = self._new()
        if self._careful:
            self._body += (
                f"\n    if type({record}) is not dict:\n        return after\n    {value} = {record}.get({key})"
            )
        else:
            found = f"{record}.get({key}) if type({record}) is dict else field_of({record}, {key})"
            self._body += f"\n    {value} = {found}"

    def _arithmetic(self, name: str) -> None:
        self._take()
        a, b = self._taken(2)
        result, holds, fits, floats = _ARITHMETIC[name]
        general = self._instead(f"{{0}} = {name}({a}, {b})")
        value = self._new()
        ways: list[tuple[str | None, str]] = []
        done = f"{value} = {result.format(a=a, b=b)}"
        if fits:
            done += f"\n        if {value} > {MOST} or {value} < {LEAST}:\n            {general.format(value)}"
        ways.append((self._both(a, b, int, holds), done))
        if floats is not None:
            ways.append((self._both(a, b, float, floats), f"{value} = {result.format(a=a, b=b).replace('//', '/')}"))
        if name == "ADD" and self._name() in _VARIABLES:
            # With no other reference to it, Python lengthens a text in place, so that a loop of these is linear.
            place = _VARIABLES[self._name()]
            short = self._both(a, b, str, f"len({a}) + len({b}) <= SURELY_SHORT")
            if a not in self._kinds:
                lines = f"if {place} is {a}:\n            {place} = None\n        {a} += {b}\n        {value} = {a}"
                ways.append((short, lines))
                self._bind_sink()
        self._choose(ways, general.format(value))

    def _element(self) -> None:
        self._take()
        a, b = self._taken(2)
        general = self._instead(f"{{0}} = INDEX({a}, {b})")
        value = self._new()
        in_list = [f"type({a}) is list", *self._is(b, int), f"{b} >= 0", f"{b} < len({a})"]
        in_record = [f"type({a}) is dict", *self._is(b, str)]
        ways: list[tuple[str | None, str]] = []
        if self._kinds.get(b, int) is int:
            ways.append((" and ".join(in_list), f"{value} = {a}[{b}]"))
        if self._kinds.get(b, str) is str:
            ways.append((" and ".join(in_record), f"{value} = {a}.get({b})"))
        self._choose(ways, general.format(value))

    def _comparison(self, name: str) -> bool:
        """Gives whether the group may go on, which it does not behind a branch."""
        self._take()
        a, b = self._taken(2)
        holds = self._comparable(name, a, b)
        test = f"{a} {_COMPARISONS[name]} {b}"
        if self._is_branch():
            self._push(self._values)
            self._values.clear()
            yes, no = self._ways()
            plain, general = (f"return {yes} if {one} else {no}" for one in (test, f"{name}({a}, {b})"))
            self._choose([(holds, plain)], self._instead(general))
            return False
        general = self._instead(f"{{0}} = {name}({a}, {b})")
        value = self._new()
        self._kinds[value] = bool
        self._choose([(holds, f"{value} = {test}")], general.format(value))
        return True

    def _comparable(self, name: str, a: str, b: str) -> str | None:
        if name not in ("EQ", "NE"):
            return self._both(a, b, int, "")
        known = self._kinds.get(a) or self._kinds.get(b)
        if known is None:
            return f"type({a}) is type({b}) and (type({a}) is int or type({a}) is str)"
        return self._both(a, b, known, "") if known in (int, str) else None

    # the sink

    def _parse_sink(self) -> bool:
        """Takes the sink; gives whether the body goes on by itself now."""
        name = self._name()
        if self._careful and (name in _MAY_STOP or not self._values):
            return False
        if name == "CALL":
            return self._call()
        if name == "ASSIGN":
            return self._assign()
        if not self._values:
            return False
        if self._is_branch():
            [test] = self._taken(1)
            self._push(self._values)
            yes, no = self._ways()
            self._choose(
                [(f"{test} is True", f"return {yes}"), (f"{test} is False", f"return {no}")],
                self._instead(f'raise no_bool("a condition", {test})'),
            )
            return True
        if name not in _SINKS:
            return self._return()
        if name != "RETURN":
            self._bind_sink()
        [value] = self._taken(1)
        if name != "RETURN":
            self._push(self._values)
        self._take()
        self._body += _SINKS[name].format(value)
        if name != "RETURN":
            self._bind_following()
        return True

    def _return(self) -> bool:
        """A RETURN behind the ends of blocks."""
        passed = self.prepared.passed(self.pc)
        instructions = self.prepared.flow.instructions
        if passed == self.pc or passed >= len(instructions) or instructions[passed].op.name != "RETURN":
            return False
        [value] = self._taken(1)
        self._body += _RETURN.format(value)
        self._returns = True
        return True

    def _call(self) -> bool:
        callee_number = self.prepared.flow.instructions[self.pc].operands[0]
        callee = self.prepared.program.module.functions[callee_number]
        count = len(callee.parameters)
        if not self._values or count == 0:
            return False
        arguments = self._taken(count)
        self._push(self._values)
        self._take()
        arguments += ["None"] * (callee.local_count - count)
        self._bound.update(z=callee_number, after_call=self.pc)
        self._body += _CALL.format(", ".join(arguments))
        return True

    def _assign(self) -> bool:
        kind, variable, path = self.prepared.flow.instructions[self.pc].operands
        if kind != _LOCAL or self.prepared.program.module.constants[path] != "[" or not self._values:
            return False
        index, value = self._taken(2)
        self._push(self._values)
        self._bound.update(z=variable, assign=self.prepared.fast[self.pc])
        self._take()
        self._body += _ASSIGN.format(index, value)
        self._bind_following()
        return True

    # making the body

    def _is_branch(self) -> bool:
        """Whether the next instruction is a branch that leaves the stack as it is."""
        flow = self.prepared.flow
        return self._name() in _BRANCHES and flow.base[self.pc] + flow.keep[self.pc] == flow.height[self.pc] - 1

    def _ways(self) -> tuple[str, str]:
        """Takes a branch; gives what to return where its test is true, and where it is false."""
        self._bound["target"] = self.prepared.passed(self.prepared.flow.target[self.pc])
        name = self._take().op.name
        self._bind_following()
        self._ended = True
        return ("target", "following") if name == "BR_IF" else ("following", "target")

    def _bind(self, what: str, value: Any) -> str:
        name = f"{what}{len(self._bound)}"
        self._bound[name] = value
        return name

    def _bind_following(self) -> None:
        self._bound["following"] = self.prepared.passed(self.pc)

    def _bind_sink(self) -> None:
        """Binds what the variable that is the next instruction's is."""
        instruction = self.prepared.flow.instructions[self.pc]
        operand = instruction.operands[0]
        if instruction.op.name == "STORE_GLOBAL":
            program = self.prepared.program
            self._bound.update(z=program.globals[operand], z_name=f"the variable `{program.module.globals[operand]}`")
        else:
            self._bound["z"] = operand

    def _new(self) -> str:
        """A new variable of the handler, pushed."""
        self._made += 1
        self._values.append(f"v{self._made}")
        return self._values[-1]

    def _taken(self, count: int) -> list[str]:
        """The last values, off the stack where the group itself hasn't pushed so many."""
        while len(self._values) < count:
            self._made += 1
            self._values.insert(0, f"v{self._made}")
            self._body += f"\n    v{self._made} = stack.pop()"
        taken = self._values[-count:]
        del self._values[-count:]
        return taken

    def _push(self, values: list[str]) -> None:
        self._body += "".join(f"\n    stack.append({value})" for value in values)

    def _is(self, value: str, kind: type) -> list[str]:
        """The test that a value is of a kind: none where that is known."""
        return [] if self._kinds.get(value) is kind else [f"type({value}) is {kind.__name__}"]

    def _both(self, a: str, b: str, kind: type, holds: str) -> str | None:
        """The test that both are of a kind, and what else must hold; None where they are known to be of another."""
        if self._kinds.get(a, kind) is not kind or self._kinds.get(b, kind) is not kind:
            return None
        tests = [*self._is(a, kind), *self._is(b, kind)]
        if holds:
            tests.append(holds.format(a=a, b=b))
        return " and ".join(tests) or "True"

    def _instead(self, general: str) -> str:
        """What is done where it isn't the common case."""
        return "return after" if self._careful else general

    def _choose(self, ways: list[tuple[str | None, str]], otherwise: str) -> None:
        word = "if"
        for holds, lines in ways:
            if holds is not None:
                self._body += f"\n    {word} {holds}:\n        {lines}"
                word = "elif"
        self._body += f"\n    {otherwise}" if word == "if" else f"\n    else:\n        {otherwise}"


_SCOPE: dict[str, Any] = {
    "Err": Err,
    "SIZE_LIMIT": SIZE_LIMIT,
    "UNSET": UNSET,
    "check_size": check_size,
    "field_of": operators.field_of,
    "unset": unset,
    "no_bool": no_bool,
    "out_of_range": out_of_range,
    "SURELY_SHORT": SURELY_SHORT,
    "LEAVE": LEAVE,
    "Frame": Frame,
    "too_deep": too_deep,
    "STOPPED": STOPPED,
    **_GENERAL,
}
