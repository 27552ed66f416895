"""What the operators become in Python."""

from __future__ import annotations

import ast
from typing import Any

from qvm import translator_types as types
from qvm.handlers_operators import LEAST, MOST
from qvm.translator_arithmetic import bounds
from qvm.translator_emitter import Emitter
from qvm.translator_instructions import Operands, instruction, result_of, text_checked
from qvm.translator_nodes import Item
from qvm.values import INT_MAX, INT_MIN

_NUMBERS = types.INT | types.FLOAT
_ARITHMETIC: dict[str, tuple[Any, str]] = {
    "ADD": (ast.Add, "add"),
    "SUB": (ast.Sub, "subtract"),
    "MUL": (ast.Mult, "multiply"),
}


@instruction("ADD", "SUB", "MUL")
def _arithmetic(emitter: Emitter, pc: int, operands: Operands) -> None:
    arithmetic(emitter, emitter.flow.instructions[pc].op.name, result_of(emitter, pc))


def arithmetic(emitter: Emitter, name: str, result: types.Type) -> None:
    """`+`, `-` or `*` of the two top items."""
    operator, helper = _ARITHMETIC[name]
    a, b = emitter.stack[-2:]
    kinds = a.type.kinds | b.type.kinds
    if kinds == types.INT:
        low, high = bounds(name, a.type, b.type)
        if low >= INT_MIN and high <= INT_MAX:
            emitter.popped(2)
            emitter.push(emitter.binary(a.node, operator(), b.node), result)
            return
        a, b = emitter.take(2)
        made = emitter.fresh()
        emitter.set(made, emitter.binary(a.node, operator(), b.node))
        value = emitter.name(made)
        above = emitter.compare(value, ast.Gt(), emitter.constant(MOST))
        below = emitter.compare(value, ast.Lt(), emitter.constant(LEAST))
        test = above if low >= LEAST else below if high <= MOST else emitter.either(above, below)
        emitter.if_(test, [emitter.placed(ast.Expr(emitter.call(helper, a.node, b.node)))])
        emitter.push(value, result, atom=True)
        return
    if not kinds & ~_NUMBERS and types.FLOAT in (a.type.kinds, b.type.kinds):
        emitter.popped(2)
        emitter.push(emitter.binary(a.node, operator(), b.node), result)
        return
    if name == "ADD" and kinds == types.STR:
        a, b = emitter.take(2)
        made = emitter.fresh()
        emitter.set(made, emitter.binary(a.node, ast.Add(), b.node))
        value = emitter.name(made)
        text_checked(emitter, value)
        emitter.push(value, result, atom=True)
        return
    emitter.popped(2)
    emitter.push(emitter.call(helper, a.node, b.node), result)


@instruction("DIV", "MOD")
def _divide(emitter: Emitter, pc: int, operands: Operands) -> None:
    name = emitter.flow.instructions[pc].op.name
    helper = "divide" if name == "DIV" else "remainder"
    result = result_of(emitter, pc)
    a, b = emitter.stack[-2:]
    whole = a.type.kinds == types.INT == b.type.kinds
    numbers = not (a.type.kinds | b.type.kinds) & ~_NUMBERS
    by_float = name == "DIV" and numbers and types.FLOAT in (a.type.kinds, b.type.kinds)
    if not by_float and not (whole and b.type.low >= 0):
        a, b = emitter.popped(2)
        emitter.push(emitter.call(helper, a.node, b.node), result)
        return
    # Python raises its own error for a division by zero, which is made a stop where the call ends.
    a, b = emitter.popped(2) if by_float or a.type.low >= 0 else emitter.take(2)
    operator = ast.Div() if by_float else ast.FloorDiv() if name == "DIV" else ast.Mod()
    value = emitter.binary(a.node, operator, b.node)
    if whole and a.type.low < 0:
        # Cut toward zero, with the sign of `a`: Python's own operators only agree from 0 up.
        below = emitter.placed(ast.UnaryOp(ast.USub(), a.node))
        negative = emitter.placed(ast.UnaryOp(ast.USub(), emitter.binary(below, operator, b.node)))
        test = emitter.compare(a.node, ast.GtE(), emitter.constant(0))
        value = emitter.placed(ast.IfExp(test, value, negative))
    emitter.push(value, result)


@instruction("NEG")
def _negate(emitter: Emitter, pc: int, operands: Operands) -> None:
    a = emitter.pop()
    result = result_of(emitter, pc)
    if a.type.kinds == types.FLOAT or (a.type.kinds == types.INT and a.type.low > INT_MIN):
        emitter.push(emitter.placed(ast.UnaryOp(ast.USub(), a.node)), result)
    else:
        emitter.push(emitter.call("negate", a.node), result)


@instruction("NOT")
def _not(emitter: Emitter, pc: int, operands: Operands) -> None:
    a = emitter.pop()
    if a.type.kinds == types.BOOL:
        emitter.push(emitter.negated(a.node), types.TRUTH)
    else:
        emitter.push(emitter.call("negated", a.node), types.TRUTH)


_COMPARISONS: dict[str, Any] = {"LT": ast.Lt, "LE": ast.LtE, "GT": ast.Gt, "GE": ast.GtE, "EQ": ast.Eq, "NE": ast.NotEq}


@instruction("LT", "LE", "GT", "GE")
def _compare(emitter: Emitter, pc: int, operands: Operands) -> None:
    name = emitter.flow.instructions[pc].op.name
    a, b = emitter.popped(2)
    kinds = a.type.kinds | b.type.kinds
    if not kinds & ~_NUMBERS or kinds == types.STR:
        emitter.push(emitter.compare(a.node, _COMPARISONS[name](), b.node), types.TRUTH)
    else:
        emitter.push(emitter.call(name, a.node, b.node), types.TRUTH)


_PLAIN = types.INT | types.FLOAT | types.STR | types.NULL


@instruction("EQ", "NE")
def _equal(emitter: Emitter, pc: int, operands: Operands) -> None:
    name = emitter.flow.instructions[pc].op.name
    a, b = emitter.popped(2)
    kinds = a.type.kinds | b.type.kinds
    if types.NULL in (a.type.kinds, b.type.kinds):
        _is_null(emitter, a if b.type.kinds == types.NULL else b, name)
        return
    one_is_text = types.STR in (a.type.kinds, b.type.kinds) and not kinds & types.ERROR
    if not kinds & ~_PLAIN or kinds == types.BOOL or one_is_text:
        emitter.push(emitter.compare(a.node, _COMPARISONS[name](), b.node), types.TRUTH)
        return
    test = emitter.call("equal_operands", a.node, b.node)
    emitter.push(test if name == "EQ" else emitter.negated(test), types.TRUTH)


def _is_null(emitter: Emitter, a: Item, name: str) -> None:
    """`a == null`; an error that is compared is a stop."""
    if isinstance(a.node, ast.Constant):
        emitter.push(emitter.constant((a.node.value is None) is (name == "EQ")), types.TRUTH, atom=True)
        return
    if a.type.kinds & types.ERROR:
        emitter.stack.append(a)
        [a] = emitter.take(1)
    test = emitter.compare(a.node, ast.Is() if name == "EQ" else ast.IsNot(), emitter.constant(None))
    if a.type.kinds & types.ERROR:
        is_error = emitter.compare(emitter.call("type", a.node), ast.Is(), emitter.name("Err"))
        stop = emitter.placed(ast.Expr(emitter.call("equal_operands", a.node, emitter.constant(None))))
        emitter.if_(is_error, [stop])
    emitter.push(test, types.TRUTH)


@instruction("IN")
def _in(emitter: Emitter, pc: int, operands: Operands) -> None:
    a, b = emitter.popped(2)
    if a.type.kinds == types.STR and b.type.kinds in (types.RECORD, types.STR):
        emitter.push(emitter.compare(a.node, ast.In(), b.node), types.TRUTH)
    else:
        emitter.push(emitter.call("contains", a.node, b.node), types.TRUTH)


@instruction("RANGE")
def _range(emitter: Emitter, pc: int, operands: Operands) -> None:
    a, b = emitter.popped(2)
    emitter.push(emitter.call("whole_range", a.node, b.node), types.list_of(types.INTEGER))
