"""Writes one function of a Module as the `ast` of a Python function.

The operand stack is gone: what an instruction pushes is kept as an expression until it is used, and put into a local
where something is done in between. Each node stands on the line of the source that its instruction belongs to, and its
column is the instruction's pc: that is how a traceback tells where a stop was.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from qvm import translator_types as types
from qvm.translator_coalescing import write_coalescing
from qvm.translator_first_case import FIRST_TEST, FirstCase
from qvm.translator_inference import Inference, TooHard
from qvm.translator_nodes import Bound, Item, Loop, Nodes
from qvm.translator_shape import INLINE, ONCE, Shape
from qvm.translator_turns import Source, give_back, write_for, write_loop
from qvm.translator_types import Type
from qvm.values import DEPTH_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_LOAD, _STORE = ast.Load(), ast.Store()
_MOST_NESTED = 200  # blocks within one another


class Emitter(Nodes):
    """One function in the making; `run` gives it."""

    def __init__(
        self,
        inference: Inference,
        number: int,
        bound: Bound,
        translated: Collection[int],
        leaves: Collection[int] = (),
        first_case: bool = True,
    ) -> None:
        self.inference = inference
        self.module = inference.module
        self.number = number
        self.function = self.module.functions[number]
        self.known = inference.known[number]
        self.flow = self.known.flow
        self.shape = Shape(self.flow)
        self.first_case = first_case  # False: whoever calls it has seen that it isn't the function's first case
        self.deep = number not in leaves  # whether it is told how many calls are under way
        self.leaves = leaves
        calls = [operands[0] for op, operands in self.flow.instructions if op.name == "CALL"]
        self.first_cases = {
            callee: case
            for callee in set(calls) - set(leaves)
            if callee in translated and (case := FirstCase.of(inference, callee))
        }
        # The most calls that may be under way with this one: one fewer where it does what others do without a look at
        # how many there are.
        charged = self.flow.instructions[0].op.name == "CHARGE"
        alone = not self.first_cases and set(calls).isdisjoint(leaves)
        self.most_calls = DEPTH_LIMIT + 1 if alone or not charged else DEPTH_LIMIT
        if not charged and not set(calls).isdisjoint(leaves):
            raise TooHard("it calls leaves and is not charged")
        self.counts_below = sum(callee not in leaves for callee in calls) > 1 and not self.first_cases
        self.translated = translated
        self.bound = bound
        self.pc = 0
        self.line = 1
        self.out: list[ast.stmt] = []
        self.stack: list[Item] = []
        self.loops: list[Loop] = []
        self.conts: dict[int, tuple[int, int, frozenset[int], int]] = {}
        self.result_names: dict[int, str] = {}
        self.names = 0
        self.nested = 0
        self.used_fuel = False
        self.ahead: dict[tuple[int, int], tuple[str, str, int]] = {}  # of turns charged ahead: their pcs, see `_ahead`
        self.unset: set[int] = set()
        self.indexes: dict[int, tuple[Any, Any]] = {}  # of INDEX as Python's own: the locals or constants that it takes
        self.owners: set[int] = set()
        self.lines = self.function.lines
        self.first_line = self.function.line
        self.sources: dict[int, Source] = {}  # what the `for` at a BLOCK goes over

    # the stack

    def push(self, node: ast.expr, type: Type, atom: bool = False, slot: int = -1) -> None:
        self.stack.append(Item(node, type, atom, slot))

    def pop(self) -> Item:
        return self.stack.pop()

    def spill(self) -> None:
        """Works out all that is on the stack, in order, so that a statement may come."""
        for item in self.stack:
            if not item.atom:
                self._keep(item)

    def _keep(self, item: Item) -> None:
        name = self.fresh()
        self.set(name, item.node)
        item.node, item.atom, item.slot = self.name(name), True, -1
        item.parts = item.pieces = None

    def kept(self, item: Item) -> Item:
        """The item as something that may be written twice. What is on the stack comes before it."""
        if not item.atom:
            self.spill()
            self._keep(item)
        return item

    def take(self, count: int) -> list[Item]:
        """The top items, all as something that may be written twice."""
        self.spill()
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return found

    def popped(self, count: int) -> list[Item]:
        found = self.stack[len(self.stack) - count :] if count else []
        del self.stack[len(self.stack) - count :]
        return found

    def forget_local(self, slot: int) -> None:
        """Before a local changes: what is on the stack keeps what it was."""
        for item in self.stack:
            if item.slot == slot:
                self._keep(item)

    def _settle(self, first: int, last: int) -> None:
        """Before a block: what lies on the stack stays as it is, whatever the block does."""
        self.spill()
        for item in self.stack:
            if item.slot >= 0 and self.shape.is_stored(item.slot, first, last):
                self._keep(item)

    # the function

    def run(self) -> ast.FunctionDef:
        self.at(0)
        size = len(self.flow.instructions)
        self.seq(0, size, frozenset())
        self.at(0)
        body: list[ast.stmt] = []
        if self.used_fuel:
            body.append(self.placed(ast.Nonlocal(["fuel"])))
        names = [f"v{slot}" for slot in sorted(self.unset)] + [f"o{slot}" for slot in sorted(self.owners)]
        if names:
            targets = [self.placed(ast.Name(name, _STORE)) for name in names]
            body.append(self.placed(ast.Assign(targets, self.constant(None))))
        if self.deep and self.flow.instructions[0].op.name != "CHARGE":
            test = self.compare(self.name("d"), ast.Gt(), self.constant(DEPTH_LIMIT + 1))
            enter = self.call("enter", self.constant(0), self.name("d"))
            body.append(self.placed(ast.If(test, [self.placed(ast.Expr(enter))], [])))
        if self.counts_below and self.flow.instructions[0].op.name != "CHARGE":
            body.append(self._below())
        body += self.out
        arguments = [f"c{place}" for place in range(len(self.function.captures))]
        arguments += [f"v{slot}" for slot in range(len(self.function.parameters))]
        if self.deep:
            arguments.append("d")
        name = f"f{self.number}" if self.first_case else f"g{self.number}"
        made = ast.arguments([], [self.placed(ast.arg(name)) for name in arguments], None, [], [], None, [])
        return self.placed(ast.FunctionDef(name, made, body or [self.placed(ast.Pass())], []))

    def seq(self, pc: int, stop: int, fall: frozenset[int]) -> None:
        """Writes the instructions up to `stop`. The end of the Python block is where a branch to any of `fall` goes."""
        flow = self.flow
        self.nested += 1
        if self.nested > _MOST_NESTED:
            raise TooHard("its blocks nest too deep")
        while pc < stop:
            op = flow.instructions[pc].op
            if flow.height[pc] < 0:
                pc = flow.end[pc] + 1 if op.opens else pc + 1
                continue
            self.at(pc)
            name = op.name
            if op.opens:
                following = self._open(pc, name, stop, fall)
                if following < 0:
                    break
                pc = following
                continue
            if name == "BR":
                self._branch(self.shape.target_block[pc], flow.keep[pc], fall)
                break
            if name in ("BR_IF", "BR_UNLESS"):
                if self._branch_on(pc, name == "BR_IF", stop, fall):
                    break
            elif name == "RETURN":
                value = self.pop()
                self.spill()
                if not value.atom and any(loop.ahead for loop in self.loops):
                    self._keep(value)
                for loop in self.loops:
                    give_back(self, loop)
                self.out.append(self.placed(ast.Return(value.node)))
                break
            else:
                self.one(pc)
                if op.ends:
                    break
            pc += 1
        else:
            if stop < len(flow.instructions) and flow.height[stop] >= 0 and self._results(flow.end[stop]):
                self.at(stop)
                self._give_result(flow.end[stop])
        self.nested -= 1

    def one(self, pc: int) -> None:
        """Writes one instruction that is no branch and no part of a block."""
        op, operands = self.flow.instructions[pc]
        self.at(pc)
        if op.name not in INSTRUCTIONS:
            raise TooHard(f"{op.name} has no Python")
        INSTRUCTIONS[op.name](self, pc, operands)

    def arm(self, write: Callable[[], None]) -> list[ast.stmt]:
        """What `write` writes, as a list of its own; the stack is as it was before."""
        out, stack = self.out, self.stack
        self.out, self.stack = [], [Item(item.node, item.type, item.atom, item.slot) for item in stack]
        write()
        written = self.out
        self.out, self.stack = out, stack
        return written

    # blocks

    def result_name(self, block: int) -> str:
        known = self.result_names.get(block)
        if known is None:
            outer = self.shape.parent[block]
            flow = self.flow
            shared = outer >= 0 and flow.end[block] + 1 == self.shape.arm_end[block] and self._results(outer)
            known = self.result_names[block] = self.result_name(outer) if shared else self.fresh("r")
        return known

    def _results(self, block: int) -> int:
        op, operands = self.flow.instructions[block]
        return operands[0] if op.name in ("BLOCK", "IF", "TRY") else 0

    def _give_result(self, block: int) -> None:
        if not self.loops and self._is_returned(block):
            value = self.pop()
            self.spill()
            self.out.append(self.placed(ast.Return(value.node)))
            return
        name = self.result_name(block)
        value = self.pop()
        self.spill()
        if not (isinstance(value.node, ast.Name) and value.node.id == name):
            self.set(name, value.node)

    def _is_returned(self, block: int) -> bool:
        """Is a block's result, and nothing else, what the function gives?"""
        flow = self.flow
        while block >= 0 and flow.instructions[block].op.name in ("IF", "BLOCK") and self._results(block):
            following = flow.instructions[flow.end[block] + 1].op.name
            if following == "RETURN":
                return True
            if following not in ("END", "ELSE"):
                return False
            block = self.shape.parent[block]
        return False

    def _open(self, pc: int, name: str, stop: int, fall: frozenset[int]) -> int:
        """Writes a block; gives the pc to go on at, -1 where all that follows has been written."""
        flow, shape = self.flow, self.shape
        end = flow.end[pc]
        if name == "LOOP":
            self._settle(pc, end)
            write_loop(self, pc, pc)
            return end + 1
        if name == "BLOCK" and write_coalescing(self, pc):
            return end + 1
        if name == "BLOCK":
            return self._block(pc, end, stop, fall)
        if shape.mode.get(pc) == ONCE:
            self._settle(pc, end)
            base = len(self.stack) - (name == "IF")
            self._once(pc, lambda: self._open_arms(pc, name, end, frozenset()))
            self._after(pc, base)
            return end + 1
        base = len(self.stack) - (name == "IF")
        self._open_arms(pc, name, end, fall if end + 1 == stop else frozenset())
        self._after(pc, base)
        return end + 1

    def _after(self, pc: int, base: int) -> None:
        del self.stack[base:]
        if self._results(pc):
            following = self.known.stack[self.flow.end[pc] + 1]
            kind = following[base] if following is not None and len(following) > base else types.ANY
            self.push(self.name(self.result_name(pc)), kind, atom=True)

    def _block(self, pc: int, end: int, stop: int, fall: frozenset[int]) -> int:
        flow, shape = self.flow, self.shape
        mode = shape.mode.get(pc)
        if mode is None:
            # Nobody branches to its end: it is as if it weren't there.
            return pc + 1
        self._settle(pc, end)
        base = len(self.stack)
        if mode == INLINE:
            self.conts[pc] = (end + 1, stop, fall, len(self.loops))
            self.seq(pc + 1, end, fall)
            return -1
        if pc in self.sources:
            write_for(self, pc, pc + 1)
        elif flow.instructions[pc + 1].op.name == "LOOP" and flow.end[pc + 1] == end - 1 and not self._results(pc):
            write_loop(self, pc + 1, pc)
        elif mode == ONCE:
            self._once(pc, lambda: self._body(pc, end, frozenset()))
        else:
            self._body(pc, end, (fall if end + 1 == stop else frozenset()) | {pc})
        self.at(end)
        self._after(pc, base)
        return end + 1

    def _body(self, pc: int, end: int, fall: frozenset[int]) -> None:
        self.out += self.arm(lambda: self.seq(pc + 1, end, self._shared(fall, pc)))

    def _shared(self, fall: frozenset[int], block: int) -> frozenset[int]:
        """Those of `fall` whose result, if they have one, is this block's own: nothing is done to it at its end."""
        return frozenset(
            outer
            for outer in fall
            if outer == block
            or not self._results(outer)
            or (self._results(block) and self.result_name(block) == self.result_name(outer))
        )

    def _once(self, pc: int, write: Callable[[], None]) -> None:
        loop = Loop(pc, -1)
        self.loops.append(loop)
        body = self.arm(write)
        self.loops.pop()
        body.append(self.placed(ast.Break()))
        self.add_loop(loop, self.placed(ast.While(self.constant(True), body, [])))

    def add_loop(self, loop: Loop, node: ast.stmt) -> None:
        for name in loop.through.values():
            self.set(name, self.constant(False))
        self.out.append(node)
        for block, name in loop.through.items():
            jump: list[ast.stmt] = []
            out, self.out = self.out, jump
            self._jump(block, frozenset())
            self.out = out
            self.if_(self.name(name), jump)

    def _open_arms(self, pc: int, name: str, end: int, fall: frozenset[int]) -> None:
        flow = self.flow
        divider = flow.divider[pc]
        inside = self._shared(fall, pc) | {pc}
        if name == "IF":
            condition = self.pop()
            self._settle(pc, end)
            test = self.truth(condition) if self.first_case or pc != FIRST_TEST else self.constant(False)
        elif name == "IF_ABSENT":
            self._settle(pc, end)
            test = self.compare(self.name(f"v{flow.instructions[pc].operands[0]}"), ast.Is(), self.name("ABSENT"))
        else:
            self._settle(pc, end)
            self._try(pc, end, divider)
            return
        last = divider if divider >= 0 else end
        then = self.arm(lambda: self.seq(pc + 1, last, inside))
        otherwise = self.arm(lambda: self.seq(divider + 1, end, inside)) if divider >= 0 else []
        self.at(pc)
        self.if_(test, then, otherwise)

    def _try(self, pc: int, end: int, divider: int) -> None:
        error, stop = self.fresh("e"), self.fresh("s")
        self.set(error, self.constant(None))
        body = self.arm(lambda: self.seq(pc + 1, divider, frozenset({pc})))
        self.at(pc)
        is_none = self.compare(self.attribute(self.name(stop), "error"), ast.Is(), self.constant(None))
        value = self.call("caught", self.name(stop), self.constant(pc))
        caught = [
            self.placed(ast.If(is_none, [self.placed(ast.Raise())], [])),
            self.placed(ast.Assign([self.placed(ast.Name(error, _STORE))], value)),
        ]
        handler = self.placed(ast.ExceptHandler(self.name("Stop"), stop, caught))
        self.out.append(self.placed(ast.Try(body or [self.placed(ast.Pass())], [handler], [], [])))

        def catch() -> None:
            self.push(self.name(error), types.FAILURE, atom=True)
            self.seq(divider + 1, end, frozenset({pc}))

        handling = self.arm(catch)
        self.at(pc)
        if handling:
            self.at(divider)
            self.if_(self.compare(self.name(error), ast.IsNot(), self.constant(None)), handling)

    def _below(self) -> ast.stmt:
        more = self.binary(self.name("d"), ast.Add(), self.constant(1))
        return self.placed(ast.Assign([self.placed(ast.Name("below", _STORE))], more))

    def charge_entry(self, count: int) -> None:
        """What the function's entry costs, and whether calls go too deep."""
        self._charge_entry(count)
        if self.counts_below:
            self.out.append(self._below())

    def _charge_entry(self, count: int) -> None:
        self.used_fuel = True
        self.out.append(
            self.placed(ast.AugAssign(self.placed(ast.Name("fuel", _STORE)), ast.Sub(), self.constant(count)))
        )
        test = self.either(
            self.compare(self.name("fuel"), ast.Lt(), self.constant(0)),
            self.compare(self.name("d"), ast.Gt(), self.constant(self.most_calls)),
        )
        enter = self.call("enter", self.constant(count), self.name("d"))
        if self.most_calls > DEPTH_LIMIT:
            self.if_(test, [self.placed(ast.Expr(enter))])
            return
        # With room for itself alone, the whole call is the interpreter's.
        captures = [self.name(f"c{place}") for place in range(len(self.function.captures))]
        given = [self.name(f"v{slot}") for slot in range(len(self.function.parameters))]
        lists = [self.placed(ast.List(given, _LOAD)), self.placed(ast.Tuple(captures, _LOAD))]
        other = self.call("handed_over", self.constant(self.number), self.constant(count), self.name("d"), *lists)
        last = self.compare(self.name("d"), ast.Eq(), self.constant(DEPTH_LIMIT + 1))
        hand_over = self.placed(ast.If(last, [self.placed(ast.Return(other))], []))
        self.if_(test, [hand_over, self.placed(ast.Expr(enter))])

    def call_function(self, number: int, arguments: list[ast.expr]) -> ast.expr:
        if number in self.leaves:
            return self.call(f"f{number}", *arguments)
        if number in self.translated:
            return self.call(f"f{number}", *arguments, self.below())
        given = self.placed(ast.List(arguments, _LOAD))
        return self.call("interpreted", self.constant(number), given, self.name("d"))

    def below(self) -> ast.expr:
        """How many calls are under way in what is called from here."""
        if self.counts_below:
            return self.name("below")
        return self.binary(self.name("d"), ast.Add(), self.constant(1))

    def operand(self, node: ast.expr) -> Any:
        """A local's name as a text, a whole number as itself, a constant text in a tuple."""
        if isinstance(node, ast.Name):
            return node.id
        assert isinstance(node, ast.Constant)
        return (node.value,)

    def charge(self, count: int) -> None:
        self.used_fuel = True
        self.out.append(
            self.placed(ast.AugAssign(self.placed(ast.Name("fuel", _STORE)), ast.Sub(), self.constant(count)))
        )
        test = self.compare(self.name("fuel"), ast.Lt(), self.constant(0))
        self.if_(test, [self.placed(ast.Expr(self.call("refill", self.constant(count))))])

    # branches

    def _branch(self, block: int, keep: int, fall: frozenset[int]) -> None:
        """Goes to a block's end, or a loop's start, with the block's result where it has one."""
        if block in self.conts and self.conts[block][3] == len(self.loops):
            following, stop, outer, _ = self.conts[block]
            base = self.flow.base[self.pc]
            top = self.popped(keep)
            self.spill()
            del self.stack[base:]
            self.stack += top
            self.seq(following, stop, outer)
            return
        if keep:
            self._give_result(block)
        self.spill()
        self._jump(block, fall)

    def _jump(self, block: int, fall: frozenset[int]) -> None:
        if block in fall:
            return
        for depth, loop in enumerate(reversed(self.loops)):
            if block in (loop.breaks, loop.turn):
                for left in self.loops[len(self.loops) - depth :]:
                    give_back(self, left)
                if block == loop.breaks:
                    give_back(self, loop)
                if depth == 0:
                    self.out.append(self.placed(ast.Continue() if block == loop.turn else ast.Break()))
                    return
                inner = self.loops[-1]
                flag = inner.through.setdefault(block, f"x{self.number}_{len(self.loops)}_{block}")
                self.set(flag, self.constant(True))
                self.out.append(self.placed(ast.Break()))
                return
        raise TooHard("a branch that no Python statement stands for")

    def _branch_on(self, pc: int, wanted: bool, stop: int, fall: frozenset[int]) -> bool:
        """BR_IF and BR_UNLESS. Gives True where the rest up to `stop` has been written."""
        flow = self.flow
        block = self.shape.target_block[pc]
        keep = flow.keep[pc]
        condition = self.pop()
        self.spill()
        test = self.truth(condition)
        nested = block in self.conts or block in fall

        def branch() -> None:
            self.at(pc)
            self._branch(block, keep, fall)

        taken = self.arm(branch)
        if not nested:
            self.at(pc)
            self.if_(test if wanted else self.negated(test), taken)
            return False

        others = self.arm(lambda: self.seq(pc + 1, stop, fall))
        self.at(pc)
        if wanted:
            self.if_(test, taken, others)
        else:
            self.if_(test, others, taken)
        return True

    def truth(self, item: Item) -> ast.expr:
        if item.type.kinds == types.BOOL:
            return item.node
        return self.call("truth", item.node)


INSTRUCTIONS: dict[str, Callable[[Emitter, int, tuple[int, ...]], None]] = {}
