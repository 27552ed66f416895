"""How control flows in a function, proved in one walk: what the engines know about each instruction before it runs.

    flow = control_flow(module, number)        raises BadModule

An engine needs no checks of its own for what is proved here, and reads jumps, stack heights and handlers from the
ControlFlow instead of keeping open blocks or handlers as it runs. What is proved, beside the operands:

Rule 1  Blocks are closed in order; ELSE stands in an IF, CATCH in a TRY; what must have one has it.
Rule 2  No instruction takes an item that isn't there or that lay on the stack before its block.
Rule 3  The end of a block is reached with exactly its results on top of what lay there before; a branch may leave
        more behind. The end of a function is never reached.
Rule 4  The mark of an argument that is left out is only ever taken by a CALL, for a parameter that may be left out.
Rule 5  LIST_PUSH and its like only change a list or record that was made for it and that nobody else holds.
Rule 6  A local holds what its instruction wants: a value, a cell, an iterator, or a list that is being made. A
        parameter that may be left out is read only behind its IF_ABSENT. Iterators and lists that are being made have
        locals of their own. Where ways meet, a local is what it is on all of them.
Rule 7  Each turn of a loop is paid for, and so is each function that loops or calls one.

Code that is never reached keeps Rule 1 and has good operands; nothing else is asked of it.
"""

from __future__ import annotations

from bisect import bisect_right

from qasm.instructions import (
    DEPTH,
    FUNCTION,
    KIND,
    LOCAL,
    NAMED,
    RESULTS,
    TABLE,
    BadCode,
    Instruction,
    decode,
)
from qasm.module import BadModule, Module
from qasm.operands import operand_problem
from qasm.pictures import EFFECTS, items


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
    `base`     how many items stay on the stack when it branches there (for TRY: under the error); -1 as with `target`,
               and in code that is never reached.
    `keep`     how many items (0 or 1) are taken from the top and put on `base` when it branches.
    `height`   how many items are on the stack before it; -1 where it is never reached.
    `handler`  the pc of the TRY that catches an error stop of this instruction, -1 for none in this function:
               cut the stack to base[handler], push the error, go on at target[handler].
    `end`      for what opens a block: the pc of its END; for END, ELSE and CATCH: the pc of what opened it; else -1.
    `divider`  for IF and TRY: the pc of the ELSE or CATCH, -1 for none; else -1.
    `max_stack`  the most items that are ever on the stack.

    A NEXT or NEXT_PAIR that branches leaves its local free: the iterator is not asked again before another ITER.
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


def place_of(module: Module, number: int) -> str:
    """How messages name a function: by its number and, where it has one, its name."""
    name = module.functions[number].name
    return f"function {number} {quoted(name)}" if name else f"function {number}"


def quoted(name: str) -> str:
    """A name in a message, which stays on one line."""
    return f"`{name}`" if name.isprintable() else ascii(name)


def control_flow(module: Module, number: int) -> ControlFlow:
    """The control flow of `module.functions[number]`, whose code it verifies. Raises BadModule."""
    walk = _Walk(module, number)
    walk.match()
    walk.walk()
    return walk.flow


# What an item of the stack is known to be.
_VALUE, _ABSENT, _LIST, _RECORD = range(4)

# What a local is known to hold. A local that never holds anything but a value is not kept track of.
_PLAIN = "a value"
_CELL = "a cell"
_PARAMETER = "a parameter that may be left out"
_ITERATOR = "an iterator"
_GROWING = "a list that is being made"
_UNKNOWN = "not the same on all ways here"

_Slots = dict[int, str]

_BLOCK, _LOOP, _IF, _TRY, _IF_ABSENT = (NAMED[name].number for name in ("BLOCK", "LOOP", "IF", "TRY", "IF_ABSENT"))
_ELSE, _CATCH, _END, _CHARGE = (NAMED[name].number for name in ("ELSE", "CATCH", "END", "CHARGE"))
_CALL, _CALL_VALUE = (NAMED[name].number for name in ("CALL", "CALL_VALUE"))
_NEXT, _NEXT_PAIR = (NAMED[name].number for name in ("NEXT", "NEXT_PAIR"))

_PAID = frozenset((_LOOP, _CALL, _CALL_VALUE))
_BRANCHES = frozenset(op.number for op in TABLE if DEPTH in op.operands)
_CONTROL = frozenset(op.number for op in TABLE if op.opens) | {_ELSE, _CATCH, _END}

# What the instruction's local must hold before it, and what it holds then (None: the same).
_NEEDS: dict[int, tuple[str | None, str | None]] = {
    NAMED[name].number: change
    for name, change in {
        "LOAD": (_PLAIN, None),
        "STORE": (None, _PLAIN),
        "CELL": (_PLAIN, _CELL),
        "LOAD_CELL": (_CELL, None),
        "STORE_CELL": (_CELL, None),
        "ITER": (None, _ITERATOR),
        "ITER_RANGE": (None, _ITERATOR),
        "NEXT": (_ITERATOR, None),
        "NEXT_PAIR": (_ITERATOR, None),
        "LIST_BEGIN": (None, _GROWING),
        "LIST_ADD": (_GROWING, None),
        "LIST_END": (_GROWING, _PLAIN),
    }.items()
}
_ROLES: dict[int, str] = {
    NAMED[name].number: role
    for role, names in {
        _ITERATOR: ("ITER", "ITER_RANGE", "NEXT", "NEXT_PAIR"),
        _GROWING: ("LIST_BEGIN", "LIST_ADD", "LIST_END"),
    }.items()
    for name in names
}

# What an instruction puts that is more than a value, and what the first item that it takes must be.
_PUTS: dict[int, int] = {
    NAMED[name].number: kind
    for kind, names in {
        _ABSENT: ("ABSENT",),
        _LIST: ("LIST", "LIST_PUSH", "LIST_SPREAD", "LIST_END"),
        _RECORD: ("RECORD", "RECORD_PUT", "RECORD_SPREAD"),
    }.items()
    for name in names
}
_GROWS: dict[int, int] = {
    NAMED[name].number: kind
    for kind, names in {_LIST: ("LIST_PUSH", "LIST_SPREAD"), _RECORD: ("RECORD_PUT", "RECORD_SPREAD")}.items()
    for name in names
}


def _meet(one: _Slots | None, other: _Slots) -> _Slots:
    """What is known of the locals where two ways meet; None stands for no way at all."""
    if one is None or one is other:
        return other
    return {slot: kind if other[slot] is kind else _UNKNOWN for slot, kind in one.items()}


class _Block:
    """An open block: where it began, with how many items below it, and what is known of the locals at its end."""

    __slots__ = ("base", "exits", "live", "number", "pc", "results", "slots")

    def __init__(self, number: int, pc: int, results: int, base: int, live: bool, slots: _Slots) -> None:
        self.number = number
        self.pc = pc
        self.results = results
        self.base = base
        self.live = live
        self.slots = slots
        self.exits: _Slots | None = None


class _Walk:
    """One function's verification: `match` pairs the brackets, `walk` follows the code once from top to bottom."""

    def __init__(self, module: Module, number: int) -> None:
        self.module = module
        self.function = function = module.functions[number]
        self.place = place_of(module, number)
        try:
            self.flow = ControlFlow(list(decode(function.code)))
        except BadCode as error:
            raise BadModule(f"{self.place}: {error}") from None
        self.roles: dict[int, str] = {}  # of locals
        self.changes: dict[int, dict[str, list[int]]] = {}  # of locals: what they come to hold, and where
        self.good_types: set[int] = set()
        self.blocks: list[_Block] = []
        self.stack: list[int] = []
        self.live = True
        self.slots: _Slots = {}

    def bad(self, pc: int, message: str) -> BadModule:
        return BadModule(f"{self.place}, pc {pc}: {message}")

    # The first pass: brackets, handlers, branches' targets, operands.

    def match(self) -> None:
        flow = self.flow
        instructions = flow.instructions
        opened: list[int] = []
        handlers = [-1]
        branches: list[tuple[int, int]] = []
        paid = bool(instructions) and instructions[0].op.number == _CHARGE
        for pc, (op, operands) in enumerate(instructions):
            number = op.number
            flow.handler[pc] = handlers[-1]
            if number in _PAID and not paid:
                raise self.bad(pc, f"{op.name} in a function that doesn't begin with CHARGE")
            if op.operands:
                self.check_operands(pc, number, instructions[pc])
            if number in _CONTROL:
                self.match_control(pc, number, opened, handlers)
            elif number in _BRANCHES:
                depth = operands[-1]
                if depth >= len(opened):
                    raise self.bad(pc, f"{op.name} leaves {depth + 1} blocks and {len(opened)} are open")
                branches.append((pc, opened[-1 - depth]))
        if opened:
            raise self.bad(opened[-1], f"{instructions[opened[-1]].op.name} has no END")
        for pc, opener in branches:
            self.match_branch(pc, opener)
        for slot, role in self.roles.items():
            if role is not _PLAIN and slot < len(self.function.parameters):
                raise BadModule(f"{self.place}: parameter {slot} is used for {role}")
        for kinds in self.changes.values():
            for places in kinds.values():
                places.sort()

    def match_control(self, pc: int, number: int, opened: list[int], handlers: list[int]) -> None:
        flow = self.flow
        if number == _END:
            if not opened:
                raise self.bad(pc, "END closes no block")
            opener = opened.pop()
            divider = flow.divider[opener]
            op, operands = flow.instructions[opener]
            if divider < 0 and op.number == _TRY:
                raise self.bad(opener, "TRY has no CATCH")
            if divider < 0 and op.number == _IF and operands[0]:
                raise self.bad(opener, "IF gives a result and has no ELSE")
            flow.end[opener], flow.end[pc] = pc, opener
            flow.target[opener] = pc + 1 if divider < 0 else divider + 1
            if divider >= 0:
                flow.target[divider] = pc + 1
        elif number in (_ELSE, _CATCH):
            name, wanted = ("ELSE", _IF) if number == _ELSE else ("CATCH", _TRY)
            if not opened or flow.instructions[opened[-1]].op.number != wanted:
                raise self.bad(pc, f"{name} stands in no {'IF' if number == _ELSE else 'TRY'}")
            if flow.divider[opened[-1]] >= 0:
                raise self.bad(pc, f"{name} stands in a block that has one")
            flow.divider[opened[-1]], flow.end[pc] = pc, opened[-1]
            if number == _CATCH:
                handlers.pop()
                flow.handler[pc] = handlers[-1]
        else:
            opened.append(pc)
            if number == _TRY:
                handlers.append(pc)
            elif number == _LOOP:
                following = flow.instructions[pc + 1 : pc + 2]
                if not following or following[0].op.number != _CHARGE:
                    raise self.bad(pc, "LOOP doesn't begin with CHARGE")

    def match_branch(self, pc: int, opener: int) -> None:
        flow = self.flow
        op, operands = flow.instructions[opener]
        loop = op.number == _LOOP
        flow.target[pc] = target = opener + 1 if loop else flow.end[opener] + 1
        flow.keep[pc] = operands[0] if op.operands == (RESULTS,) else 0
        number = flow.instructions[pc].op.number
        if number in (_NEXT, _NEXT_PAIR):
            self.note_change(flow.instructions[pc].operands[0], _PLAIN, target)

    def check_operands(self, pc: int, number: int, instruction: Instruction) -> None:
        if found := operand_problem(self.module, self.function, instruction, self.good_types):
            raise self.bad(pc, found)
        operands = instruction.operands
        if instruction.op.operands[0] is LOCAL:
            self.use_local(pc, number, operands[0])
        elif instruction.op.operands[0] is KIND and operands[0] < 2:
            self.give_role(pc, operands[1], _PLAIN)

    # Locals.

    def give_role(self, pc: int, slot: int, role: str) -> None:
        known = self.roles.setdefault(slot, role)
        if known is not role:
            raise self.bad(pc, f"local {slot} is used for {known} and for {role}")

    def note_change(self, slot: int, kind: str, pc: int) -> None:
        self.changes.setdefault(slot, {}).setdefault(kind, []).append(pc)

    def use_local(self, pc: int, number: int, slot: int) -> None:
        self.give_role(pc, slot, _ROLES.get(number, _PLAIN))
        if number == _IF_ABSENT:
            parameters = self.function.parameters
            if slot >= len(parameters) or parameters[slot].required:
                raise self.bad(pc, f"local {slot} is no parameter that may be left out")
        elif (after := _NEEDS[number][1]) is not None:
            self.note_change(slot, after, pc)

    def first_slots(self) -> _Slots:
        """What is known at the start of those locals that hold something else than a value at some place."""
        slots: _Slots = {}
        for slot, kinds in self.changes.items():
            if len(kinds) > 1 or _PLAIN not in kinds:
                slots[slot] = _PLAIN
        for slot, parameter in enumerate(self.function.parameters):
            if not parameter.required:
                slots[slot] = _PARAMETER
        return slots

    def weaken(self, slots: _Slots, start: int, end: int) -> _Slots:
        """What stays true of `slots` wherever between two places control comes from."""
        weak = None
        for slot, kind in slots.items():
            if kind is _UNKNOWN:
                continue
            for other, places in self.changes.get(slot, {}).items():
                if other is not kind:
                    after = bisect_right(places, start)
                    if after < len(places) and places[after] <= end:
                        weak = weak if weak is not None else dict(slots)
                        weak[slot] = _UNKNOWN
                        break
        return slots if weak is None else weak

    def want(self, pc: int, slot: int, kind: str) -> None:
        held = self.slots.get(slot, _PLAIN)
        if held is not kind:
            name = self.flow.instructions[pc].op.name
            raise self.bad(pc, f"{name} wants {kind} in local {slot}, which is {held}")

    def hold(self, slot: int, kind: str) -> None:
        if self.slots.get(slot, _PLAIN) is not kind:
            self.slots = {**self.slots, slot: kind}

    # The second pass: heights, items, locals.

    def walk(self) -> None:
        flow, module = self.flow, self.module
        self.slots = self.first_slots()
        stack = self.stack
        base = 0
        for pc, (op, operands) in enumerate(flow.instructions):
            number = op.number
            if self.live:
                flow.height[pc] = len(stack)
                taken, put, place, source = EFFECTS[number]
                if place >= 0:
                    taken += items(module, source, operands[place])
                if number in _CONTROL:
                    put = 0  # what CATCH puts is put where its arm begins
                if taken:
                    self.take(pc, number, taken, base)
                if operands:
                    self.walk_operands(pc, number, op.operands, operands)
                if number in _BRANCHES:
                    self.branch(pc, operands[-1])
                if put:
                    kind = _PUTS.get(number, _VALUE)
                    stack.extend((kind,) * put)
                    if len(stack) > flow.max_stack:
                        flow.max_stack = len(stack)
                if op.ends:
                    self.live = False
            if number in _CONTROL:
                base = self.control(pc, number, operands)
        if self.live:
            raise BadModule(f"{self.place}: its code can run past its end")

    def take(self, pc: int, number: int, count: int, base: int) -> None:
        stack = self.stack
        first = len(stack) - count
        name = self.flow.instructions[pc].op.name
        if first < base:
            has = len(stack) - base
            raise self.bad(pc, f"{name} takes {count} {_items(count)}, its block has {has}")
        grown = _GROWS.get(number)
        if grown is not None and stack[first] != grown:
            what = "list" if grown == _LIST else "record"
            raise self.bad(pc, f"{name} wants a {what} that is being made")
        if number == _CALL:
            callee = self.module.functions[self.flow.instructions[pc].operands[0]]
            for place, parameter in enumerate(callee.parameters):
                if parameter.required and stack[first + place] == _ABSENT:
                    raise self.bad(pc, f"CALL leaves out argument {place + 1}, which must be given")
        elif _ABSENT in stack[first:]:
            raise self.bad(pc, f"{name} takes the mark of an argument that is left out")
        del stack[first:]

    def walk_operands(self, pc: int, number: int, kinds: tuple[str, ...], operands: tuple[int, ...]) -> None:
        """What the instruction asks of locals and captures, and what it makes of them."""
        if kinds[0] is LOCAL:
            slot = operands[0]
            if number == _IF_ABSENT:
                held = self.slots[slot]
                if held is not _PARAMETER and held is not _PLAIN:
                    self.want(pc, slot, _PARAMETER)
                return
            before, after = _NEEDS[number]
            if before is not None:
                self.want(pc, slot, before)
            if after is not None:
                self.hold(slot, after)
        elif kinds[0] is KIND:
            if operands[0] < 2:
                self.want(pc, operands[1], _CELL if operands[0] else _PLAIN)
        elif kinds[0] is FUNCTION:
            self.check_captures(pc, number, operands[0])

    def check_captures(self, pc: int, number: int, callee: int) -> None:
        captures = self.module.functions[callee].captures
        if number == _CALL:
            if captures:
                raise self.bad(pc, f"CALL of function {callee}, which captures variables")
            return
        for kind, place in captures:
            what, count = (
                ("local", self.function.local_count) if kind == 0 else ("capture", len(self.function.captures))
            )
            if place >= count:
                raise self.bad(pc, f"CLOSURE captures {what} {place}, and there are {count}")
            if kind == 0:
                self.want(pc, place, _CELL)

    def branch(self, pc: int, depth: int) -> None:
        flow = self.flow
        block = self.blocks[-1 - depth]
        keep = flow.keep[pc]
        flow.base[pc] = block.base
        self.results(pc, block.base, keep, exact=False)
        if block.number != _LOOP:
            slots = self.slots
            if flow.instructions[pc].op.number in (_NEXT, _NEXT_PAIR):
                slots = {**slots, flow.instructions[pc].operands[0]: _PLAIN}
            block.exits = _meet(block.exits, slots)

    def results(self, pc: int, base: int, results: int, exact: bool) -> None:
        """That the stack holds a block's results where its end is reached."""
        has = len(self.stack) - base
        name = self.flow.instructions[pc].op.name
        if has < results or (exact and has != results):
            raise self.bad(pc, f"{name} is reached with {has} {_items(has)}, its block gives {results}")
        if results and self.stack[-1] == _ABSENT:
            raise self.bad(pc, f"{name} takes the mark of an argument that is left out")

    # Blocks: each gives the height under the items that instructions may take from here on.

    def control(self, pc: int, number: int, operands: tuple[int, ...]) -> int:
        if number == _END:
            return self.close(pc)
        if number in (_ELSE, _CATCH):
            return self.divide(pc, number)
        flow = self.flow
        results = operands[0] if number in (_BLOCK, _IF, _TRY) else 0
        block = _Block(number, pc, results, len(self.stack), self.live, self.slots)
        self.blocks.append(block)
        if self.live:
            flow.base[pc] = block.base
        if number == _LOOP:
            self.slots = self.weaken(self.slots, pc, flow.end[pc])
        elif number == _IF_ABSENT and self.live:
            slot = operands[0]
            block.exits = {**self.slots, slot: _PLAIN}
        elif number == _IF and self.live and flow.divider[pc] < 0:
            block.exits = self.slots
        return block.base

    def divide(self, pc: int, number: int) -> int:
        flow, block = self.flow, self.blocks[-1]
        if self.live:
            self.results(pc, block.base, block.results, exact=True)
            block.exits = _meet(block.exits, self.slots)
        flow.keep[pc] = block.results
        self.live = block.live
        del self.stack[block.base :]
        if self.live:
            flow.base[pc] = block.base
        self.slots = block.slots
        if number == _CATCH:
            self.slots = self.weaken(block.slots, block.pc, pc)
            self.stack.append(_VALUE)
            flow.max_stack = max(flow.max_stack, len(self.stack))
        return block.base

    def close(self, pc: int) -> int:
        block = self.blocks.pop()
        exits = block.exits
        if self.live:
            self.results(pc, block.base, block.results, exact=True)
            exits = _meet(exits, self.slots)
        del self.stack[block.base :]
        self.live = exits is not None
        if exits is not None:
            self.slots = exits
            if block.results:
                self.stack.append(_VALUE)
                self.flow.max_stack = max(self.flow.max_stack, len(self.stack))
        return self.blocks[-1].base if self.blocks else 0


def _items(count: int) -> str:
    return "item" if count == 1 else "items"
