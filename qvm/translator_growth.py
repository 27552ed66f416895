"""Counts what a loop adds to a variable by the loop's turns.

A variable that all of a loop's code only adds to (`total += x`, `xs += [x]`, a list that a `for` makes) holds, at any
turn, what it held before the loop and at most as many additions as there are turns. So `total` needs no look at 64 bits
where its bounds can't leave them, and a list none at its length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qvm import translator_types as types
from qvm.translator_types import Type, join
from qvm.values import INT_MAX, INT_MIN, SIZE_LIMIT

if TYPE_CHECKING:
    from qasm.verifier import ControlFlow


class Growth:
    """Of each LOOP, by its pc: `additions`, the variables that it only adds to, with the pcs that do.

    `around`: the loops that such a pc stands in, outermost first. The pc is that of the EXTEND or LIST_ADD, or of the
    ADD or SUB before a STORE.
    """

    def __init__(self) -> None:
        self.additions: dict[int, dict[int, list[int]]] = {}
        self.around: dict[int, list[int]] = {}
        self.names: dict[int, str] = {}


def growth_of(flow: ControlFlow) -> Growth:
    growth = Growth()
    loops: list[int] = []
    opened: list[int] = []
    others: dict[int, set[int]] = {}
    for pc, (op, operands) in enumerate(flow.instructions):
        name = op.name
        if name == "END":
            opener = opened.pop()
            if loops and loops[-1] == opener:
                loops.pop()
        elif op.opens:
            opened.append(pc)
            if name == "LOOP":
                loops.append(pc)
                growth.additions[pc] = {}
                others[pc] = set()
        if not loops:
            continue
        slot, site = _change(flow, pc, name, operands)
        if site >= 0:
            growth.around[site] = loops.copy()
            growth.names[site] = flow.instructions[site].op.name
            for loop in loops:
                growth.additions[loop].setdefault(slot, []).append(site)
        elif slot >= 0:
            for loop in loops:
                others[loop].add(slot)
    for loop, slots in others.items():
        for slot in slots:
            growth.additions[loop].pop(slot, None)
    return growth


def _change(flow: ControlFlow, pc: int, name: str, operands: tuple[int, ...]) -> tuple[int, int]:
    """The local that an instruction changes, -1 for none, and the pc of what adds to it, -1 for another change."""
    if name in ("EXTEND", "ASSIGN", "EXTEND_PATH"):
        if operands[0] != 0:
            return -1, -1
        if name == "EXTEND":
            return operands[1], pc
        # An element that is set leaves a list as long as it is, but what a record holds is not counted.
        return -1, -1
    if name == "LIST_ADD":
        return operands[0], pc
    if name == "STORE":
        return operands[0], pc - 1 if _is_addition(flow, pc, operands[0]) else -1
    if flow.instructions[pc].op.operands[:1] == ("local",) and name not in ("LOAD", "IF_ABSENT", "CELL"):
        return operands[0], -1
    return -1, -1


def _is_addition(flow: ControlFlow, pc: int, slot: int) -> bool:
    """Is this STORE that of `slot + …` or `slot - …`?"""
    if flow.instructions[pc - 1].op.name not in ("ADD", "SUB"):
        return False
    # The right operand is what lies between the two: straight code that leaves one item more.
    place, wanted = pc - 2, flow.height[pc - 1] - 1
    while place > 0 and flow.height[place] > wanted:
        op = flow.instructions[place].op
        if op.opens or op.ends or op.name in _NOT_STRAIGHT:
            return False
        place -= 1
    if place < 1 or flow.height[place] != wanted:
        return False
    op = flow.instructions[place].op
    if op.opens or op.name in _NOT_STRAIGHT:
        return False
    first = flow.instructions[place - 1]
    return first.op.name == "LOAD" and first.operands[0] == slot


_NOT_STRAIGHT = frozenset(("END", "ELSE", "CATCH", "BR", "BR_IF", "BR_UNLESS", "NEXT", "NEXT_PAIR", "STORE", "EXTEND"))


class Growing:
    """What a walk has seen so far of a function's loops; all of it only ever grows."""

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self._turns: dict[int, int] = {}
        self._before: dict[int, list[Type]] = {}
        self._added: dict[int, Type] = {}

    def entered(self, loop: int, locals: list[Type]) -> None:
        """A loop begins with these locals."""
        self._before[loop] = locals.copy()

    def counted(self, pc: int, most: int) -> None:
        """The iterator of the NEXT at `pc` gives so many items at most; its loop has a turn for each."""
        if pc - 2 in self.growth.additions:
            self._turns[pc - 2] = max(self._turns.get(pc - 2, 0), most)

    def added(self, pc: int, arguments: list[Type]) -> None:
        """What the instruction at `pc` is given."""
        if pc in self.growth.around:
            self._added[pc] = join(self._added.get(pc, types.NEVER), arguments[-1])

    def around(self, target: int, locals: list[Type]) -> dict[int, Type]:
        """For a branch to `target`, the first pc in a loop: the variables whose additions can be counted."""
        loop = target - 1
        before = self._before.get(loop)
        if before is None:
            return {}
        found = {}
        for slot, sites in self.growth.additions.get(loop, {}).items():
            kind, first = locals[slot], before[slot]
            if kind.kinds == types.INT == first.kinds:
                low, high = self._sum(loop, sites)
                if first.low + low >= INT_MIN and first.high + high <= INT_MAX:
                    found[slot] = types.whole(first.low + low, first.high + high)
            elif kind.kinds == types.LIST == first.kinds:
                most = first.most + self._length(loop, sites)
                if most <= SIZE_LIMIT:
                    found[slot] = kind._replace(most=most)
        return found

    def sized(self) -> set[int]:
        """The pcs of additions to lists that stay short enough, whatever happens."""
        found = set()
        for site, loops in self.growth.around.items():
            for loop in loops:
                for slot, sites in self.growth.additions[loop].items():
                    before = self._before.get(loop)
                    if site not in sites or before is None or before[slot].kinds != types.LIST:
                        continue
                    if before[slot].most + self._length(loop, sites) <= SIZE_LIMIT:
                        found.add(site)
        return found

    def _times(self, loop: int, site: int) -> int | None:
        """How often a site is come to in one run of a loop, at most; None where that isn't known."""
        times = 1
        loops = self.growth.around[site]
        for inner in loops[loops.index(loop) :]:
            turns = self._turns.get(inner)
            if turns is None:
                return None
            times *= turns
        return times

    def _sum(self, loop: int, sites: list[int]) -> tuple[int, int]:
        """The least and the greatest that a run of a loop adds to a whole number."""
        low = high = 0
        for site in sites:
            added = self._added.get(site)
            if added is None or not added.kinds:
                continue
            times = self._times(loop, site)
            if times is None or added.kinds != types.INT:
                return INT_MIN * 2, INT_MAX * 2
            least, greatest = (added.low, added.high)
            if self.growth.names[site] == "SUB":
                least, greatest = -greatest, -least
            low += times * min(least, 0)
            high += times * max(greatest, 0)
        return low, high

    def _length(self, loop: int, sites: list[int]) -> int:
        """By how much a run of a loop makes a list longer, at most."""
        length = 0
        for site in sites:
            added = self._added.get(site)
            if added is None:
                continue
            times = self._times(loop, site)
            if times is None or self.growth.names[site] not in ("EXTEND", "LIST_ADD"):
                return SIZE_LIMIT + 1
            length += times * (1 if self.growth.names[site] == "LIST_ADD" else added.most)
        return length
