"""Whether an instruction's operands are good: each number names something that is there, of the kind that is wanted."""

from __future__ import annotations

from typing import Any

from qasm.descriptors import problem
from qasm.instructions import (
    BUILTIN,
    CAPTURE,
    CONSTANT,
    COUNT,
    FUNCTION,
    GLOBAL,
    KEYS,
    KIND,
    LOCAL,
    NAMED,
    RESULTS,
    SIGNED,
    TYPE,
    VARIABLE,
    Instruction,
)
from qasm.module import Function, Module

_ASSERT, _CALL_VALUE, _CHARGE, _SQL = (NAMED[name].number for name in ("ASSERT", "CALL_VALUE", "CHARGE", "SQL"))
_PATHS = frozenset(NAMED[name].number for name in ("ASSIGN", "EXTEND_PATH"))

# The instructions whose CONSTANT must be a text. CONST takes any, CALL_VALUE and those with a path have rules of
# their own.
_TEXTS = frozenset(
    NAMED[name].number
    for name in ("STOP", "FIELD", "FIELD_OR_NULL", "RECORD_PUT", "HAS_FIELD", "CHECK", "BOOL", "ATTRIBUTE", "ASSERT")
)


def operand_problem(module: Module, function: Function, instruction: Instruction, good_types: set[int]) -> str:
    """What is wrong with the operands of an instruction of `function`, as a sentence; "" where they are good.

    DEPTH operands are not looked at: they depend on where the instruction stands. `good_types` collects the constants
    that are known to be type descriptors, so that each is looked at once.
    """
    op, operands = instruction
    variable_kind = 0
    for kind, operand in zip(op.operands, operands, strict=True):
        found = ""
        if kind in (CONSTANT, KEYS, TYPE):
            found = _missing("constant", operand, len(module.constants))
        elif kind is LOCAL:
            found = _missing("local", operand, function.local_count)
        elif kind is COUNT:
            found = _count_problem(op.number, operand)
        elif kind is RESULTS:
            found = f"{op.name} takes 0 or 1, not {operand}" if operand > 1 else ""
        elif kind is FUNCTION:
            found = _missing("function", operand, len(module.functions))
        elif kind is BUILTIN:
            found = _missing("builtin", operand, len(module.builtins))
        elif kind is GLOBAL:
            found = _missing("top-level variable", operand, len(module.globals))
        elif kind is CAPTURE:
            found = _missing("capture", operand, len(function.captures))
        elif kind is KIND:
            found = f"there is no kind of variable {operand}" if operand > 3 else ""
            variable_kind = operand
        elif kind is VARIABLE:
            found = _variable_problem(module, function, variable_kind, operand)
        elif kind is SIGNED:
            found = "" if -(2**63) <= operand < 2**63 else f"{operand} doesn't fit in 64 bits"
        if found:
            return found
    return _constant_problem(module, instruction, good_types)


def _missing(what: str, operand: int, count: int) -> str:
    return f"there is no {what} {operand}, only {count}" if operand >= count else ""


def _count_problem(number: int, operand: int) -> str:
    if number == _CHARGE and not operand:
        return "CHARGE takes no steps"
    if number == _ASSERT and operand not in (0, 2):
        return f"ASSERT takes 0 or 2 items, not {operand}"
    return ""


def _variable_problem(module: Module, function: Function, kind: int, operand: int) -> str:
    if kind < 2:
        return _missing("local", operand, function.local_count)
    if kind == 2:
        return _missing("capture", operand, len(function.captures))
    return _missing("top-level variable", operand, len(module.globals))


def _constant_problem(module: Module, instruction: Instruction, good_types: set[int]) -> str:
    """What is wrong with the kinds of the constants that the instruction names, all of which are there."""
    (op, operands), constants = instruction, module.constants
    number = op.number
    first = op.operands[0] if op.operands else ""
    if first is KEYS:
        return _keys_problem(number, op.name, operands[0], constants[operands[0]])
    if first is TYPE and operands[0] not in good_types:
        if found := problem(constants[operands[0]], len(module.types)):
            return f"constant {operands[0]} is no type: {found}"
        good_types.add(operands[0])
    if number in _TEXTS:
        constant = operands[op.operands.index(CONSTANT)]
        if not isinstance(constants[constant], str):
            return f"{op.name} wants a text, constant {constant} is none"
    elif number == _CALL_VALUE:
        names = constants[operands[1]]
        if not _is_texts(names):
            return f"CALL_VALUE wants a list of texts, constant {operands[1]} is none"
        if len(set(names)) < len(names) or len(names) > operands[0]:
            return f"CALL_VALUE has {operands[0]} arguments, constant {operands[1]} can't name the last {len(names)}"
    elif number in _PATHS:
        path = constants[operands[2]]
        if not isinstance(path, str) or not path or path.strip(".["):
            return f"{op.name} wants a path of `.` and `[`, constant {operands[2]} is none"
    return ""


def _keys_problem(number: int, name: str, place: int, keys: Any) -> str:
    if not _is_texts(keys):
        return f"{name} wants a list of texts, constant {place} is none"
    if number == _SQL:
        return "" if keys else "SQL wants at least one text"
    return f"{name} has a key twice in constant {place}" if len(set(keys)) < len(keys) else ""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
