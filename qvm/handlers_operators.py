"""Makers for the operators. The common kinds are done here, the rest and all mistakes in `qvm.operators`.

Python compares quickly below 2**30 only, and not in chained comparisons, so a result is first held against that, and
only then against 64 bits. The handlers inside a maker all have the signature of `qvm.prepare.Handler`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from qvm import operators
from qvm.operators import comparer, equal_operands
from qvm.prepare import Handler, Site

MOST = 2**30 - 1
LEAST = -MOST

COMPARERS: dict[str, Callable[[Any, Any], bool]] = {
    "LT": comparer("<", operator.lt),
    "LE": comparer("<=", operator.le),
    "GT": comparer(">", operator.gt),
    "GE": comparer(">=", operator.ge),
}


def unary(operate: Callable[[Any], Any]) -> Callable[[Site], Handler]:
    def make(site: Site) -> Handler:
        following = site.following

        def operate_on_top(stack, locals, task):
            stack[-1] = operate(stack[-1])
            return following

        return operate_on_top

    return make


def binary(operate: Callable[[Any, Any], Any]) -> Callable[[Site], Handler]:
    def make(site: Site) -> Handler:
        following = site.following

        def operate_on_two(stack, locals, task):
            b = stack.pop()
            stack[-1] = operate(stack[-1], b)
            return following

        return operate_on_two

    return make


def make_add(site: Site) -> Handler:
    following, general = site.following, operators.add

    def add(stack, locals, task):
        b = stack.pop()
        a = stack[-1]
        if type(a) is int and type(b) is int:
            result = a + b
            if result <= MOST and result >= LEAST:
                stack[-1] = result
                return following
        stack[-1] = general(a, b)
        return following

    return add


def make_subtract(site: Site) -> Handler:
    following, general = site.following, operators.subtract

    def subtract(stack, locals, task):
        b = stack.pop()
        a = stack[-1]
        if type(a) is int and type(b) is int:
            result = a - b
            if result <= MOST and result >= LEAST:
                stack[-1] = result
                return following
        stack[-1] = general(a, b)
        return following

    return subtract


def make_multiply(site: Site) -> Handler:
    following, general = site.following, operators.multiply

    def multiply(stack, locals, task):
        b = stack.pop()
        a = stack[-1]
        if type(a) is int and type(b) is int:
            result = a * b
            if result <= MOST and result >= LEAST:
                stack[-1] = result
                return following
        stack[-1] = general(a, b)
        return following

    return multiply


def make_remainder(site: Site) -> Handler:
    following, general = site.following, operators.remainder

    def remainder(stack, locals, task):
        b = stack.pop()
        a = stack[-1]
        if type(a) is int and type(b) is int and a >= 0 and b > 0:
            stack[-1] = a % b
        else:
            stack[-1] = general(a, b)
        return following

    return remainder


def compare(name: str) -> Callable[[Site], Handler]:
    general = COMPARERS[name]
    plain = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge}[name]

    def make(site: Site) -> Handler:
        following = site.following

        def compare_two(stack, locals, task):
            b = stack.pop()
            a = stack[-1]
            stack[-1] = plain(a, b) if type(a) is int and type(b) is int else general(a, b)
            return following

        return compare_two

    return make


_SIMPLE = frozenset((int, str))


def make_equal(site: Site) -> Handler:
    following = site.following

    def equal_two(stack, locals, task):
        b = stack.pop()
        a = stack[-1]
        kind = type(a)
        stack[-1] = a == b if kind is type(b) and kind in _SIMPLE else equal_operands(a, b)
        return following

    return equal_two


def make_unequal(site: Site) -> Handler:
    following = site.following

    def unequal_two(stack, locals, task):
        b = stack.pop()
        a = stack[-1]
        kind = type(a)
        stack[-1] = a != b if kind is type(b) and kind in _SIMPLE else not equal_operands(a, b)
        return following

    return unequal_two


MAKERS = {
    "ADD": make_add,
    "SUB": make_subtract,
    "MUL": make_multiply,
    "DIV": binary(operators.divide),
    "MOD": make_remainder,
    "NEG": unary(operators.negate),
    "NOT": unary(operators.negated),
    "EQ": make_equal,
    "NE": make_unequal,
    "LT": compare("LT"),
    "LE": compare("LE"),
    "GT": compare("GT"),
    "GE": compare("GE"),
    "IN": binary(operators.contains),
    "RANGE": binary(operators.whole_range),
    "INDEX": binary(operators.element),
}
