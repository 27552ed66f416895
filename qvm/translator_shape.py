"""How a function's blocks become Python's `if`, `while` and `for`: which branch is a `break`, and which an `else`.

NEST     all branches to the block's end stand where nothing else follows them, so what they skip is put into the
         other arm of an `if`
INLINE   one branch leads to the block's end, and nothing else does: what follows the block is put where it is
ONCE     any other block is a `while True` that is left by `break`
"""

from __future__ import annotations

from qasm.verifier import ControlFlow

NEST, INLINE, ONCE = range(3)
_DIVIDERS = ("ELSE", "CATCH")


class Shape:
    """What is known of a function's blocks, each named by the pc that opens it."""

    def __init__(self, flow: ControlFlow) -> None:
        self.flow = flow
        self.parent: list[int] = []  # for each pc: the block that it stands in, -1 for none
        self.arm_end: list[int] = []  # for each pc: where its arm of the block ends
        self.target_block: dict[int, int] = {}  # of branches
        self.sites: dict[int, list[int]] = {}
        self.stored: dict[int, list[int]] = {}  # of locals: where they are given a value
        self.mode: dict[int, int] = {}
        self.changed: dict[int, list[int]] = {}  # locals whose list or record may be changed in place, and where
        self._read()
        for opener in sorted(self.sites, reverse=True):
            self.mode[opener] = self._mode_of(opener)

    def _read(self) -> None:
        flow = self.flow
        size = len(flow.instructions)
        opened: list[int] = []
        arms: list[int] = []
        for pc, (op, operands) in enumerate(flow.instructions):
            name = op.name
            if name == "END":
                opened.pop()
                arms.pop()
            elif name in _DIVIDERS:
                arms[-1] = flow.end[opened[-1]]
            inside = name not in _DIVIDERS
            self.parent.append(opened[-1] if opened and inside else (opened[-2] if len(opened) > 1 else -1))
            self.arm_end.append(arms[-1] if arms else size)
            if op.operands and op.operands[0] == "local" and name in _STORES:
                self.stored.setdefault(operands[0], []).append(pc)
            elif op.operands[:1] == ("kind",) and operands[0] == 0:
                self.stored.setdefault(operands[1], []).append(pc)
            if name in ("EXTEND", "ASSIGN", "EXTEND_PATH") and operands[0] == 0:
                self.changed.setdefault(operands[1], []).append(pc)
            if op.operands and op.operands[-1] == "depth":
                block = opened[-1 - operands[-1]]
                self.target_block[pc] = block
                if flow.height[pc] >= 0:
                    self.sites.setdefault(block, []).append(pc)
            if op.opens:
                opened.append(pc)
                arms.append(flow.divider[pc] if flow.divider[pc] >= 0 else flow.end[pc])

    def _mode_of(self, opener: int) -> int:
        flow = self.flow
        if flow.instructions[opener].op.name == "LOOP":
            return NEST
        sites = self.sites[opener]
        if not all(self._is_last(site, opener) for site in sites):
            return ONCE
        is_block = flow.instructions[opener].op.name == "BLOCK"
        if is_block and len(sites) == 1 and flow.height[flow.end[opener]] < 0:
            return INLINE
        return NEST

    def _is_last(self, site: int, opener: int) -> bool:
        """Is there nothing more to do in the block behind this branch, once what it skips is in another arm?"""
        flow = self.flow
        block = self.parent[site]
        while block != opener:
            name = flow.instructions[block].op.name
            if name not in ("IF", "BLOCK", "IF_ABSENT"):
                return False
            mode = self.mode.get(block)
            if mode == ONCE:
                return False
            if mode is None and name == "BLOCK":
                block = self.parent[block]  # it is as if it weren't there
                continue
            if mode != INLINE and flow.end[block] + 1 != self.arm_end[block]:
                return False
            if mode != INLINE and self._results(opener) and not self._results(block):
                return False
            block = self.parent[block]
        return flow.instructions[opener].op.name != "TRY"

    def _results(self, block: int) -> int:
        op, operands = self.flow.instructions[block]
        return operands[0] if op.name in ("BLOCK", "IF", "TRY") else 0

    def is_changed(self, slot: int, first: int = 0, last: int = -1) -> bool:
        """Whether what a local holds may be changed in place, between two pcs or anywhere."""
        return any(first <= pc <= last or last < 0 for pc in self.changed.get(slot, ()))

    def is_stored(self, slot: int, first: int, last: int) -> bool:
        return any(first <= pc <= last for pc in self.stored.get(slot, ()))


_STORES = frozenset(("STORE", "CELL", "ITER", "ITER_RANGE", "NEXT", "NEXT_PAIR", "LIST_BEGIN", "LIST_END"))
