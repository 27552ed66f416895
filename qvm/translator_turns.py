"""Loops in Python: `for` and `while`, whose turns are charged ahead where nothing in them is charged for.

What a loop without calls costs is known from its turns. As many of them as the slice holds are charged at once, all of
them mostly; a loop that is left before its end gives the others back. What has been charged for and isn't done is what
the loop's iterator has before it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from qvm import translator_types as types
from qvm.translator_arithmetic import bounds
from qvm.translator_comprehension import comprehension
from qvm.translator_nodes import Loop
from qvm.values import INT_MAX, INT_MIN

if TYPE_CHECKING:
    from qvm.translator_emitter import Emitter

COUNTABLE = 2**40  # numbers of a range: Python's `len` is sure to tell so many
_OPEN = frozenset(("LOOP", "CALL", "CALL_VALUE", "NEXT", "NEXT_PAIR"))  # what a loop that is charged ahead has not


class Source(NamedTuple):
    """What a `for` goes over: `node`, a local. `by_pair`: it gives pairs. `counted`: Python's `len` takes it."""

    node: ast.expr
    by_pair: bool
    counted: bool


def write_loop(emitter: Emitter, loop_pc: int, breaks: int) -> None:
    """A loop; a branch to the end of the block `breaks` leaves it."""
    flow = emitter.flow
    end = flow.end[loop_pc]
    stride = _stride(emitter, loop_pc, breaks)
    if stride is not None:
        _write_stride(emitter, loop_pc, breaks, stride)
        return
    paid = flow.instructions[loop_pc + 1].operands[0] > 0
    if flow.height[end] < 0 and paid and _is_closed(emitter, loop_pc + 2, end):
        _while_ahead(emitter, loop_pc, breaks)
        return
    loop = Loop(breaks, loop_pc)
    emitter.loops.append(loop)

    def write() -> None:
        emitter.seq(loop_pc + 1, end, frozenset({loop_pc}))
        if flow.height[end] >= 0:
            emitter.out.append(emitter.placed(ast.Break()))

    body = emitter.arm(write)
    emitter.loops.pop()
    emitter.at(loop_pc)
    emitter.add_loop(loop, _while_true(emitter, body or [emitter.placed(ast.Pass())]))


def _while_true(emitter: Emitter, body: list[ast.stmt]) -> ast.stmt:
    loop: ast.stmt = emitter.placed(ast.While(emitter.constant(True), body, []))
    return loop


def write_for(emitter: Emitter, block: int, loop_pc: int) -> None:
    """A loop over a list, a record or a range."""
    flow = emitter.flow
    source = emitter.sources.pop(block)
    end = flow.end[loop_pc]
    charge, following = loop_pc + 1, loop_pc + 3
    op, operands = flow.instructions[following]
    emitter.at(loop_pc + 2)
    if not source.by_pair and op.name == "STORE":
        names, first = [f"v{operands[0]}"], following + 1
        emitter.forget_local(operands[0])
    else:
        names, first = [emitter.fresh() for _ in range(1 + source.by_pair)], following
    targets: list[ast.expr] = [emitter.placed(ast.Name(name, ast.Store())) for name in names]
    target = targets[0] if len(targets) == 1 else emitter.placed(ast.Tuple(targets, ast.Store()))
    items = emitter.known.stack[following] or []
    loop = Loop(block, loop_pc)
    count = flow.instructions[charge].operands[0]
    ahead = not source.by_pair and count > 0 and _is_closed(emitter, following, end)
    if ahead:
        _charge_ahead(emitter, loop, source, charge, following, end)

    def write() -> None:
        if not ahead:
            emitter.at(charge)
            emitter.charge(count)
        if first == following:
            for name, kind in zip(names, items[len(items) - len(names) :], strict=True):
                emitter.push(emitter.name(name), kind, atom=True)
        emitter.seq(first, end, frozenset({loop_pc}))
        if flow.height[end] >= 0:
            emitter.out.append(emitter.placed(ast.Break()))

    emitter.loops.append(loop)
    body = emitter.arm(write)
    emitter.loops.pop()
    emitter.at(charge)
    last = emitter.arm(lambda: emitter.charge(count))
    if loop.ahead is None:
        emitter.at(loop_pc + 2)
        emitter.add_loop(loop, emitter.placed(ast.For(target, source.node, body, last)))
        return
    part, after = _next_turns(emitter, loop, last)
    emitter.at(first if first < end else following)
    if first > following and _is_only_inside(emitter, operands[0], following, end):
        adding = comprehension(body, target, part, emitter.line, emitter.pc)
        if adding is not None:
            emitter.add_loop(loop, _while_true(emitter, [adding, *after, emitter.placed(ast.Break())]))
            return
    emitter.at(loop_pc + 2)
    turns = emitter.placed(ast.For(target, part, body, after))
    emitter.add_loop(loop, _while_true(emitter, [turns, emitter.placed(ast.Break())]))


def _next_turns(emitter: Emitter, loop: Loop, last: list[ast.stmt]) -> tuple[ast.expr, list[ast.stmt]]:
    """Of a loop that is charged ahead: the iterator of the turns that are charged, and what follows them."""
    assert loop.ahead is not None
    iterator, left, count = loop.ahead
    part = f"p{iterator}"
    taken = emitter.call("turns_of", emitter.name(iterator), emitter.constant(count))
    more = [
        emitter.placed(ast.Assign([emitter.target(part, left)], taken)),
        emitter.placed(ast.Continue()),
    ]
    return emitter.name(part), [emitter.placed(ast.If(emitter.name(left), more, [])), *last]


def _is_only_inside(emitter: Emitter, slot: int, first: int, end: int) -> bool:
    """Is a local used between these pcs only?"""
    for pc, (op, operands) in enumerate(emitter.flow.instructions):
        if first <= pc < end:
            continue
        if op.operands[:1] == ("local",) and operands[0] == slot:
            return False
        if op.operands[:1] == ("kind",) and operands[:2] == (0, slot):
            return False
        if op.name == "CLOSURE" and any(
            not kind and variable == slot for kind, variable in emitter.module.functions[operands[0]].captures
        ):
            return False
    return True


def _is_closed(emitter: Emitter, first: int, end: int) -> bool:
    """Are these instructions without loops and calls that are charged for, and without the host?"""
    from qvm.builtins import is_native

    for pc in range(first, end):
        op, operands = emitter.flow.instructions[pc]
        if op.name == "CALL" and operands[0] in emitter.leaves:
            continue
        if op.name in _OPEN or (op.name == "CALL_BUILTIN" and not is_native(emitter.module.builtins[operands[0]])):
            return False
    return True


def _charge_ahead(emitter: Emitter, loop: Loop, source: Source, charge: int, first: int, end: int) -> None:
    """Charges as many turns of a `for` as the slice holds; but for `left` items, if any, all that the iterator has."""
    emitter.used_fuel = True
    count = emitter.flow.instructions[charge].operands[0]
    iterator, left = emitter.fresh("n"), emitter.fresh("l")
    emitter.ahead[first, end] = loop.ahead = (iterator, left, count)
    emitter.at(charge)
    part = f"p{iterator}"
    both = [emitter.placed(ast.Name(iterator, ast.Store())), emitter.placed(ast.Name(part, ast.Store()))]
    emitter.out.append(emitter.placed(ast.Assign(both, emitter.call("iter", source.node))))
    emitter.set(left, emitter.constant(0))
    if source.counted:
        size = emitter.call("len", source.node)
    else:
        size = emitter.call(emitter.attribute(emitter.name(iterator), "__length_hint__"))
    _change_fuel(emitter, ast.Sub(), emitter.binary(size, ast.Mult(), emitter.constant(count)))
    taken = emitter.call("fewer_turns", emitter.name(iterator), emitter.constant(count))
    test = emitter.compare(emitter.name("fuel"), ast.Lt(), emitter.constant(0))
    emitter.if_(test, [emitter.placed(ast.Assign([emitter.target(part, left)], taken))])


def _change_fuel(emitter: Emitter, operator: ast.operator, steps: ast.expr) -> None:
    emitter.out.append(emitter.placed(ast.AugAssign(emitter.placed(ast.Name("fuel", ast.Store())), operator, steps)))


def give_back(emitter: Emitter, loop: Loop) -> None:
    """The steps of turns that were charged ahead and will not be."""
    if loop.ahead is None:
        return
    iterator, left, count = loop.ahead
    turns = emitter.call(emitter.attribute(emitter.name(iterator), "__length_hint__"))
    if left:
        turns = emitter.binary(turns, ast.Sub(), emitter.name(left))
    _change_fuel(emitter, ast.Add(), emitter.binary(turns, ast.Mult(), emitter.constant(count)))


def _while_ahead(emitter: Emitter, loop_pc: int, breaks: int) -> None:
    """A `while` without calls, whose turns are counted down by a C iterator."""
    flow = emitter.flow
    charge, end = loop_pc + 1, flow.end[loop_pc]
    count = flow.instructions[charge].operands[0]
    emitter.used_fuel = True
    loop = Loop(breaks, loop_pc)
    iterator = emitter.fresh("n")
    loop.ahead = emitter.ahead[charge + 1, end] = (iterator, "", count)
    emitter.at(charge)
    turns = emitter.call("turns", emitter.constant(count))
    emitter.set(iterator, turns)
    emitter.loops.append(loop)
    body = emitter.arm(lambda: emitter.seq(charge + 1, end, frozenset({loop_pc})))
    emitter.loops.pop()
    emitter.at(charge)
    more = [
        emitter.placed(ast.Assign([emitter.placed(ast.Name(iterator, ast.Store()))], turns)),
        emitter.placed(ast.Continue()),
    ]
    target = emitter.placed(ast.Name("_", ast.Store()))
    body = body or [emitter.placed(ast.Pass())]
    inner = emitter.placed(ast.For(target, emitter.name(iterator), body, more))
    emitter.add_loop(loop, _while_true(emitter, [inner, emitter.placed(ast.Break())]))


# `while i < n { …; i += k }` as a `for` over a range


class Stride(NamedTuple):
    """`first` and `last`: the pcs of the body, without the addition. `slot`: the variable that goes up or down.

    `bound` and `step` are nodes; the loop goes on while `slot operator bound`.
    """

    first: int
    last: int
    slot: int
    operator: type[ast.cmpop]
    bound: ast.expr
    step: ast.expr
    up: bool


_UPWARD: dict[str, tuple[type[ast.cmpop], bool]] = {
    "LT": (ast.Lt, True),
    "LE": (ast.LtE, True),
    "GT": (ast.Gt, False),
    "GE": (ast.GtE, False),
}


def _stride(emitter: Emitter, loop_pc: int, breaks: int) -> Stride | None:
    """What a `while` is that counts in steps which stay the same up or down to a bound that does; else None."""
    flow, shape = emitter.flow, emitter.shape
    instructions, end = flow.instructions, flow.end[loop_pc]
    if breaks == loop_pc or end - loop_pc < 11 or shape.sites.get(loop_pc) != [end - 1]:
        return None
    test = loop_pc + 4
    load, bound, comparison, leave = instructions[loop_pc + 2 : loop_pc + 6]
    last = end - 5
    again, step, addition, store = instructions[last : end - 1]
    if comparison.op.name not in _UPWARD or leave.op.name != "BR_UNLESS" or shape.target_block[loop_pc + 5] != breaks:
        return None
    operator, up = _UPWARD[comparison.op.name]
    if load.op.name != "LOAD" or again != load or store.op.name != "STORE" or store.operands != load.operands:
        return None
    slot = load.operands[0]
    if addition.op.name != ("ADD" if up else "SUB") or shape.parent[last] != loop_pc:
        return None
    if [pc for pc in shape.stored.get(slot, ()) if loop_pc < pc < end] != [end - 2]:
        return None
    for op, operands in (bound, step):
        if op.name != "INT" and not (op.name == "LOAD" and not shape.is_stored(operands[0], loop_pc, end)):
            return None
    tested, added = emitter.known.stack[test], emitter.known.stack[end - 3]
    if tested is None or added is None or any(kind.kinds != types.INT for kind in (*tested[-2:], *added[-2:])):
        return None
    low, high = bounds(addition.op.name, added[-2], added[-1])
    if added[-1].low < 1 or low < INT_MIN or high > INT_MAX:
        return None
    emitter.at(test)
    most, by = (
        emitter.constant(operands[0]) if op.name == "INT" else emitter.name(f"v{operands[0]}")
        for op, operands in (bound, step)
    )
    return Stride(loop_pc + 6, last, slot, operator, most, by, up)


def _write_stride(emitter: Emitter, loop_pc: int, breaks: int, stride: Stride) -> None:
    flow = emitter.flow
    charge, name = loop_pc + 1, f"v{stride.slot}"
    count = flow.instructions[charge].operands[0]
    emitter.forget_local(stride.slot)
    emitter.at(charge)
    no_turns = emitter.arm(lambda: emitter.charge(count))

    def write() -> None:
        emitter.at(loop_pc + 2)
        bound = stride.bound
        if stride.operator in (ast.LtE, ast.GtE):
            bound = emitter.binary(bound, ast.Add() if stride.up else ast.Sub(), emitter.constant(1))
        step = stride.step if stride.up else emitter.placed(ast.UnaryOp(ast.USub(), stride.step))
        numbers = emitter.fresh("i")
        emitter.set(numbers, emitter.call("range", emitter.name(name), bound, step))
        loop = Loop(breaks, loop_pc)
        closed = count > 0 and _is_closed(emitter, stride.first, stride.last)
        source = Source(emitter.name(numbers), False, _is_countable(emitter, loop_pc + 4))
        if closed:
            _charge_ahead(emitter, loop, source, charge, stride.first, stride.last)

        def write_body() -> None:
            if not closed:
                emitter.at(charge)
                emitter.charge(count)
            emitter.seq(stride.first, stride.last, frozenset())

        emitter.loops.append(loop)
        body = emitter.arm(write_body) or [emitter.placed(ast.Pass())]
        emitter.loops.pop()
        emitter.at(stride.last + 2)
        after = emitter.binary(emitter.name(name), ast.Add() if stride.up else ast.Sub(), stride.step)
        last: list[ast.stmt] = [
            emitter.placed(ast.Assign([emitter.placed(ast.Name(name, ast.Store()))], after)),
            *no_turns,
        ]
        emitter.at(loop_pc + 2)
        target = emitter.placed(ast.Name(name, ast.Store()))
        if loop.ahead is None:
            emitter.add_loop(loop, emitter.placed(ast.For(target, source.node, body, last)))
            return
        part, last = _next_turns(emitter, loop, last)
        turns = emitter.placed(ast.For(target, part, body, last))
        emitter.add_loop(loop, _while_true(emitter, [turns, emitter.placed(ast.Break())]))

    turns = emitter.arm(write)
    emitter.at(loop_pc + 4)
    emitter.if_(emitter.compare(emitter.name(name), stride.operator(), stride.bound), turns, no_turns)


def _is_countable(emitter: Emitter, test: int) -> bool:
    """Are the numbers between the two that the comparison at `test` has so few that `len` can tell?"""
    a, b = (emitter.known.stack[test] or [])[-2:]
    return max(abs(b.high - a.low), abs(a.high - b.low)) <= COUNTABLE
