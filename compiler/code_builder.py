"""Puts a function's instructions together: opens and closes blocks, finds branch depths, counts stack heights.

Every instruction that is emitted is checked against its picture in the instruction table, so that a mistake in the
lowering shows here, at the place that made it, and not in the verifier. Code that can't be reached is not written at
all: after an instruction that never goes on, everything is left out up to the end of the innermost block that
something reaches.

Each function that loops or calls pays for its entry with a CHARGE, and each LOOP for its turns. What a CHARGE costs is
the number of instructions of its region (the function without its loops, or a loop without the loops in it), whatever
way is taken through it; it is filled in when the function is finished.
"""

from __future__ import annotations

from qasm.instructions import NAMED, Instruction, Op, encode
from qasm.pictures import EFFECTS

_PAYS = frozenset(("CALL", "CALL_VALUE"))


class Block:
    """An open block: `base` items lie below it, it leaves `results` (0 or 1). `reached`: something goes to its end.

    A block that is opened where nothing is reached is `dead`: nothing in it is written.
    """

    __slots__ = ("base", "dead", "depth", "name", "reached", "results")

    def __init__(self, name: str, depth: int, base: int, results: int, dead: bool) -> None:
        self.name = name
        self.depth = depth
        self.base = base
        self.results = results
        self.dead = dead
        self.reached = False


class CodeBuilder:
    """The code of one function in the making. `height` is how many items are on the stack, where `live`.

    What is emitted belongs to the line `line` (from 1).
    """

    __slots__ = (
        "_falls",
        "_instructions",
        "_lines",
        "_pays",
        "_regions",
        "_weights",
        "blocks",
        "height",
        "line",
        "live",
    )

    def __init__(self, line: int = 1) -> None:
        self._instructions: list[Instruction] = []
        self._lines: list[tuple[int, int]] = []
        self._pays = False
        self._weights: dict[int, int] = {}  # by the place of a region's CHARGE
        self._regions: list[int] = []  # those that are open, as places of their CHARGEs
        self._falls: tuple[int, Block | None] = (-1, None)  # behind the last BR that leaves just its block's results
        self.blocks: list[Block] = []
        self.height = 0
        self.live = True
        self.line = line
        self._begin_region()

    def _begin_region(self) -> None:
        self._regions.append(len(self._instructions))
        self._weights[len(self._instructions)] = 0
        self._write(NAMED["CHARGE"], (0,))

    def _write(self, op: Op, operands: tuple[int, ...]) -> None:
        lines = self._lines
        if not lines or lines[-1][1] != self.line:
            lines.append((len(self._instructions), self.line))
        self._weights[self._regions[-1]] += 1
        self._instructions.append(Instruction(op, operands))

    def emit(self, name: str, *operands: int, items: int = 0) -> None:
        """Adds an instruction that opens and closes nothing.

        `items` is how many a starred name of its picture stands for, where no COUNT operand says it.
        """
        if not self.live:
            return
        op = NAMED[name]
        taken, put, place, source = EFFECTS[op.number]
        if place >= 0:
            taken += operands[place] if source == "count" else items
        base = self.blocks[-1].base if self.blocks else 0
        assert self.height - taken >= base, f"{name} takes {taken} of {self.height - base} items"
        self.height += put - taken
        self._pays = self._pays or name in _PAYS
        self._write(op, operands)
        if op.ends:
            self.live = False

    def open(self, name: str, *operands: int) -> Block:
        """Opens a block with BLOCK, LOOP, IF, IF_ABSENT or TRY; a LOOP's CHARGE is written, too."""
        op = NAMED[name]
        if self.live and name == "IF":
            self.height -= 1
        results = operands[0] if name in ("BLOCK", "IF", "TRY") else 0
        block = Block(name, len(self.blocks), self.height, results, not self.live)
        if self.live:
            assert self.height >= (self.blocks[-1].base if self.blocks else 0), f"{name} takes what isn't its own"
            self._write(op, operands)
            if name == "LOOP":
                self._pays = True
                self._begin_region()
        self.blocks.append(block)
        return block

    def divide(self, name: str) -> None:
        """Writes the ELSE of an IF or the CATCH of a TRY; behind a CATCH the error is on the stack."""
        block = self.blocks[-1]
        if block.dead:
            return
        self._expect_results(block)
        if self.live:
            block.reached = True
        self.live = True
        self.height = block.base
        self._write(NAMED[name], ())
        if name == "CATCH":
            self.height += 1
            block.name = "CATCH"
        else:
            block.name = "ELSE"

    def close(self) -> None:
        """Writes the END of the innermost block."""
        block = self.blocks.pop()
        if block.dead:
            return
        self._expect_results(block)
        self._drop_last_branch(block)
        if block.name == "LOOP":
            self._regions.pop()
        # A false test passes an IF without ELSE, and a parameter that was given an IF_ABSENT.
        self.live = self.live or block.reached or block.name in ("IF", "IF_ABSENT")
        self.height = block.base + block.results
        self._write(NAMED["END"], ())

    def _drop_last_branch(self, block: Block) -> None:
        """Takes back a branch to the END that would follow it at once."""
        instructions, lines = self._instructions, self._lines
        if self.live or block.name == "LOOP" or self._falls != (len(instructions), block):
            return
        del instructions[-1]
        if lines[-1][0] == len(instructions):
            del lines[-1]
        self._weights[self._regions[-1]] -= 1
        self.live = True

    def _expect_results(self, block: Block) -> None:
        if self.live:
            has = self.height - block.base
            assert has == block.results, f"{block.name} ends with {has} items, and gives {block.results}"

    def branch(self, name: str, block: Block, *operands: int) -> None:
        """Adds BR, BR_IF, BR_UNLESS, NEXT or NEXT_PAIR (`operands`: its local), which leaves for `block`."""
        if not self.live:
            return
        assert self.blocks[block.depth : block.depth + 1] == [block], "the branch is outside its block"
        fits = self.height == block.base + block.results
        self.emit(name, *operands, len(self.blocks) - 1 - block.depth)
        if block.name != "LOOP":
            block.reached = True
        if name == "BR" and fits:
            self._falls = (len(self._instructions), block)

    def finish(self) -> tuple[bytes, list[tuple[int, int]]]:
        """The code and its line table. The function must have ended everywhere."""
        assert not self.live, "the function can run past its end"
        assert not self.blocks, "a block is still open"
        instructions, lines = self._instructions, self._lines
        charge = NAMED["CHARGE"]
        for place, weight in self._weights.items():
            instructions[place] = Instruction(charge, (weight,))
        if not self._pays:
            del instructions[0]
            moved: list[tuple[int, int]] = []
            for place, line in lines:
                place = max(place - 1, 0)
                if moved and moved[-1][0] == place:
                    moved[-1] = (place, line)
                else:
                    moved.append((place, line))
            lines = moved
        return encode(instructions), lines
