"""Knows the functions that begin with a case in which they do nothing: `if n < 2 { n } else { … }`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from qvm import translator_types as types

if TYPE_CHECKING:
    from qvm.translator_inference import Inference

_OPERATORS: dict[str, Any] = {"LT": ast.Lt, "LE": ast.LtE, "GT": ast.Gt, "GE": ast.GtE, "EQ": ast.Eq, "NE": ast.NotEq}
FIRST_TEST = 4  # the pc of the IF: behind CHARGE, LOAD, INT and the comparison
_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}


class FirstCase(NamedTuple):
    """For `charge` steps, where the whole number in parameter `slot` compares so with `bound`, the function gives the
    parameter `result`, or `value` where that is -1.
    """

    charge: int
    slot: int
    operator: Any
    bound: int
    result: int
    value: Any

    @staticmethod
    def of(inference: Inference, number: int) -> FirstCase | None:
        """The first case of a function; None where it has none."""
        known = inference.known.get(number)
        if known is None:
            return None
        flow = known.flow
        code = flow.instructions
        if [instruction.op.name for instruction in code[:3:2]] != ["CHARGE", "INT"] or len(code) < 8:
            return None
        load, compare, opener, given, following = code[1], code[3], code[FIRST_TEST], code[5], code[6]
        if load.op.name != "LOAD" or compare.op.name not in _OPERATORS or opener.op.name != "IF":
            return None
        parameters = inference.parameters[number]
        slot = load.operands[0]
        if slot >= len(parameters) or parameters[slot].kinds != types.INT:
            return None
        if following.op.name == "ELSE":
            if code[flow.end[FIRST_TEST] + 1].op.name != "RETURN":
                return None
        elif following.op.name != "RETURN":
            return None
        result, value = -1, None
        if given.op.name == "LOAD" and given.operands[0] < len(parameters):
            result = given.operands[0]
        elif given.op.name == "INT":
            value = given.operands[0]
        elif given.op.name in _CONSTANTS:
            value = _CONSTANTS[given.op.name]
        else:
            return None
        return FirstCase(code[0].operands[0], slot, _OPERATORS[compare.op.name], code[2].operands[0], result, value)
