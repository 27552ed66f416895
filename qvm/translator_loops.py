"""What iterators, and lists that are made by a loop, become in Python."""

from __future__ import annotations

import ast

from qvm import translator_types as types
from qvm.translator_emitter import Emitter
from qvm.translator_instructions import Operands, instruction, result_of
from qvm.translator_turns import COUNTABLE, Source
from qvm.values import SIZE_LIMIT


def for_block(emitter: Emitter, pc: int, slot: int) -> int:
    """The BLOCK of a loop that a Python `for` can be, right behind this ITER; -1 for none."""
    flow = emitter.flow
    names = [instruction.op.name for instruction in flow.instructions[pc + 1 : pc + 5]]
    if names[:3] != ["BLOCK", "LOOP", "CHARGE"] or names[3:] not in (["NEXT"], ["NEXT_PAIR"]):
        return -1
    block, following = pc + 1, flow.instructions[pc + 4]
    if following.operands[0] != slot or emitter.shape.target_block[pc + 4] != block:
        return -1
    if flow.end[pc + 2] + 1 != flow.end[block] or flow.instructions[block].operands[0]:
        return -1
    uses = [
        place
        for place in range(pc + 5, flow.end[block])
        if flow.instructions[place].op.name in ("NEXT", "NEXT_PAIR") and flow.instructions[place].operands[0] == slot
    ]
    # A loop further in may have an iterator of its own in the same local only if it begins there.
    return -1 if uses else block


@instruction("ITER")
def _iterate(emitter: Emitter, pc: int, operands: Operands) -> None:
    item = emitter.pop()
    emitter.spill()
    block = for_block(emitter, pc, operands[0])
    if block < 0:
        emitter.set(f"v{operands[0]}", emitter.call("iterator", item.node))
        return
    by_pair = emitter.flow.instructions[pc + 4].op.name == "NEXT_PAIR"
    node = item.node
    if item.type.kinds == types.LIST:
        changed = item.slot >= 0 and block >= 0 and emitter.shape.is_changed(item.slot, block, emitter.flow.end[block])
        if changed:
            node = emitter.call("list", node)
        if by_pair:
            node = emitter.call("enumerate", node)
    else:
        node = emitter.call("pairs_of" if by_pair else "items_of", node)
    name = emitter.fresh("i")
    emitter.set(name, node)
    emitter.sources[block] = Source(emitter.name(name), by_pair, not by_pair)


@instruction("ITER_RANGE")
def _iterate_range(emitter: Emitter, pc: int, operands: Operands) -> None:
    a, b = emitter.popped(2)
    emitter.spill()
    block = for_block(emitter, pc, operands[0])
    proved = a.type.kinds == types.INT == b.type.kinds
    if block < 0:
        emitter.set(f"v{operands[0]}", emitter.call("range_iterator", a.node, b.node))
        return
    by_pair = emitter.flow.instructions[pc + 4].op.name == "NEXT_PAIR"
    node = emitter.call("range" if proved else "checked_range", a.node, b.node)
    if by_pair:
        node = emitter.call("enumerate", node)
    name = emitter.fresh("i")
    emitter.set(name, node)
    few = proved and types.range_length([a.type, b.type, types.whole(1, 1)]) <= COUNTABLE
    emitter.sources[block] = Source(emitter.name(name), by_pair, few and not by_pair)


@instruction("NEXT", "NEXT_PAIR")
def _next(emitter: Emitter, pc: int, operands: Operands) -> None:
    emitter.spill()
    iterator = emitter.name(f"v{operands[0]}")
    index, stop = emitter.attribute(iterator, "index"), emitter.attribute(iterator, "stop")
    by_pair = emitter.flow.instructions[pc].op.name == "NEXT_PAIR"
    taken = emitter.arm(lambda: emitter._branch(emitter.shape.target_block[pc], 0, frozenset()))
    emitter.if_(emitter.compare(index, ast.GtE(), stop), taken)
    made = emitter.fresh()
    emitter.set(made, emitter.call("next_pair" if by_pair else "next_item", iterator))
    known = emitter.known.stack[pc + 1] or []
    if by_pair:
        for place in (0, 1):
            node = emitter.subscript(emitter.name(made), emitter.constant(place))
            emitter.push(node, known[place - 2] if len(known) > 1 else types.ANY)
        emitter.spill()
    else:
        emitter.push(emitter.name(made), known[-1] if known else types.ANY, atom=True)


@instruction("LIST_BEGIN")
def _list_begin(emitter: Emitter, pc: int, operands: Operands) -> None:
    emitter.spill()
    emitter.set(f"v{operands[0]}", emitter.placed(ast.List([], ast.Load())))


@instruction("LIST_ADD")
def _list_add(emitter: Emitter, pc: int, operands: Operands) -> None:
    item = emitter.pop()
    emitter.spill()
    items = emitter.name(f"v{operands[0]}")
    if pc not in emitter.known.sized:
        if not item.atom:
            emitter._keep(item)
        test = emitter.compare(emitter.call("len", items), ast.GtE(), emitter.constant(SIZE_LIMIT))
        emitter.if_(test, [emitter.placed(ast.Expr(emitter.call("check_size", emitter.constant(SIZE_LIMIT + 1))))])
    emitter.do(emitter.call(emitter.attribute(items, "append"), item.node))


@instruction("LIST_END")
def _list_end(emitter: Emitter, pc: int, operands: Operands) -> None:
    emitter.spill()
    made = emitter.fresh()
    emitter.set(made, emitter.name(f"v{operands[0]}"))
    emitter.push(emitter.name(made), result_of(emitter, pc), atom=True)
