"""`value ?? other`, with a constant or a variable as the other, as one expression of Python."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from qvm import translator_types as types

if TYPE_CHECKING:
    from qvm.translator_emitter import Emitter

_SIMPLE = frozenset(("INT", "CONST", "NULL", "TRUE", "FALSE", "LOAD"))
_NAMES = ["DUP", "IS_MISSING", "BR_UNLESS", "POP"]


def write_coalescing(emitter: Emitter, block: int) -> bool:
    """Pushes what the BLOCK gives, if it is such a `??`; else False, and nothing is done."""
    flow = emitter.flow
    instructions, end = flow.instructions, flow.end[block]
    first = end - 5  # of DUP, IS_MISSING, BR_UNLESS, POP, what stands for a missing value
    if first <= block or emitter.shape.sites.get(block) != [end - 3] or flow.height[end - 1] < 0:
        return False
    if [op.name for op, _ in instructions[first : end - 1]] != _NAMES or instructions[end - 1].op.name not in _SIMPLE:
        return False
    if any(op.opens or op.ends or op.name.startswith("BR") for op, _ in instructions[block + 1 : first]):
        return False
    depth = len(emitter.stack)
    emitter.seq(block + 1, first, frozenset())
    emitter.one(end - 1)
    other = emitter.pop()
    value = emitter.pop()
    assert len(emitter.stack) == depth
    following = emitter.known.stack[end + 1]
    kind = following[depth] if following is not None and len(following) > depth else types.ANY
    emitter.at(first)
    if _is_surely_there(emitter, first - 1) and _is_look_up(value.node) and isinstance(other.node, ast.Constant):
        # The record holds no null: one look is enough.
        assert isinstance(value.node, ast.Call)
        emitter.push(emitter.call(value.node.func, *value.node.args, other.node), kind)
        return True
    if isinstance(value.node, ast.Constant):
        emitter.push(other.node if value.node.value is None else value.node, kind, atom=True)
        return True
    emitter.stack.append(value)
    value = emitter.kept(emitter.stack[-1])
    emitter.pop()
    missing = emitter.call("is_missing", value.node)
    if not value.type.kinds & types.ERROR:
        missing = emitter.compare(value.node, ast.Is(), emitter.constant(None))
    emitter.push(emitter.placed(ast.IfExp(missing, other.node, value.node)), kind)
    return True


def _is_look_up(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get"


def _is_surely_there(emitter: Emitter, pc: int) -> bool:
    """Does the INDEX at `pc` give null only where the record lacks the field?"""
    stack = emitter.known.stack[pc]
    if emitter.flow.instructions[pc].op.name != "INDEX" or not stack:
        return False
    return not types.any_value(stack[-2]).kinds & ~_PLAIN


_PLAIN = types.INT | types.FLOAT | types.STR | types.BOOL | types.LIST | types.RECORD
