"""Operators: exact 64-bit whole numbers, IEEE doubles, equality by content, and messages for people."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qvm import operators
from qvm.handlers_operators import COMPARERS
from qvm.values import (
    INT_MAX,
    INT_MIN,
    SIZE_LIMIT,
    TEXT_LIMIT,
    BuiltinFunction,
    Cell,
    Closure,
    Err,
    Markup,
    Response,
    Sql,
    Stop,
)
from tests.engine import message_of, refusal, shown, value_of

INTS = st.integers(INT_MIN, INT_MAX)
EDGES = st.sampled_from([0, 1, -1, 2, -2, INT_MAX, INT_MIN, INT_MAX - 1, INT_MIN + 1, 2**31, -(2**31), 2**30, 2**32])
WHOLE = INTS | EDGES
SCALARS = st.none() | st.booleans() | WHOLE | st.floats() | st.text(max_size=3) | st.binary(max_size=3)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner))

FUNCTIONS = {
    "+": operators.add,
    "-": operators.subtract,
    "*": operators.multiply,
    "/": operators.divide,
    "%": operators.remainder,
}
INSTRUCTIONS = {"+": "ADD", "-": "SUB", "*": "MUL", "/": "DIV", "%": "MOD"}


def exact(symbol: str, a: int, b: int) -> int:
    match symbol:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return math.trunc(Fraction(a, b))
    return a - b * math.trunc(Fraction(a, b))


@pytest.mark.parametrize("symbol", FUNCTIONS)
@given(a=WHOLE, b=WHOLE)
def test_whole_numbers_are_exact_or_stop(symbol, a, b):
    if symbol in "/%" and b == 0:
        assert refusal(lambda: FUNCTIONS[symbol](a, b)) == "division by zero"
        return
    wanted = exact(symbol, a, b)
    if INT_MIN <= wanted <= INT_MAX:
        result = FUNCTIONS[symbol](a, b)
        assert result == wanted
        assert type(result) is int
    else:
        with pytest.raises(Stop, match="over 64 bits"):
            FUNCTIONS[symbol](a, b)


@pytest.mark.parametrize("symbol", FUNCTIONS)
@given(a=WHOLE, b=WHOLE)
def test_the_instruction_does_what_the_operator_does(symbol, a, b):
    code = (f"INT {a}", f"INT {b}", INSTRUCTIONS[symbol], "RETURN")
    if symbol in "/%" and b == 0:
        assert message_of(*code) == "division by zero"
    elif INT_MIN <= exact(symbol, a, b) <= INT_MAX:
        assert shown(value_of(*code)) == shown(exact(symbol, a, b))
    else:
        assert "over 64 bits" in message_of(*code)


@given(a=st.floats(), b=st.floats())
def test_floats_are_ieee_doubles(a, b):
    assert shown(operators.add(a, b)) == shown(a + b)
    assert shown(operators.subtract(a, b)) == shown(a - b)
    assert shown(operators.multiply(a, b)) == shown(a * b)
    if b != 0:
        assert shown(operators.divide(a, b)) == shown(a / b)
    else:
        with pytest.raises(Stop, match="division by zero"):
            operators.divide(a, b)
    if b != 0 and not math.isinf(a):
        assert shown(operators.remainder(a, b)) == shown(math.fmod(a, b))


def test_the_rest_of_an_infinite_number_is_no_number():
    assert math.isnan(operators.remainder(math.inf, 2.0))


def test_int_and_float_mix():
    assert shown(operators.add(1, 0.5)) == shown(1.5)
    assert shown(operators.divide(1, 2.0)) == shown(0.5)
    assert shown(operators.remainder(-7, 2.5)) == shown(-2.0)


@pytest.mark.parametrize(
    ("a", "b", "quotient", "rest"), [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1), (0, -5, 0, 0)]
)
def test_division_cuts_toward_zero_and_the_rest_has_the_sign_of_the_left_side(a, b, quotient, rest):
    assert operators.divide(a, b) == quotient
    assert operators.remainder(a, b) == rest


def test_joining():
    assert operators.add("a", "b") == "ab"
    first, second = [1], [2]
    assert operators.add(first, second) == [1, 2]
    assert (first, second) == ([1], [2])


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (1, "b", "`+` can't join int and str: turn one into the other's kind with str(…) or int(…)"),
        ("b", 1.5, "`+` can't join str and float: turn one into the other's kind with str(…) or float(…)"),
        ("b", None, "`+` can't join str and null: turn the other one into text with str(…)"),
        ([1], 2, "`+` can't join list and int: to add one item to a list, put it in a list, too"),
        (True, 1, "`+` takes two numbers, two texts or two lists, got bool and int"),
        ({}, {}, "`+` takes two numbers, two texts or two lists, got record and record"),
    ],
)
def test_adding_what_does_not_go_together(a, b, message):
    with pytest.raises(Stop) as stopped:
        operators.add(a, b)
    assert stopped.value.message == message
    assert stopped.value.error is None


@pytest.mark.parametrize("symbol", ["-", "*", "/", "%"])
def test_arithmetic_needs_numbers(symbol):
    with pytest.raises(Stop) as stopped:
        FUNCTIONS[symbol]("a", True)
    assert stopped.value.message == f"`{symbol}` needs two numbers, got str and bool"


def test_signs():
    assert operators.negate(3) == -3
    assert shown(operators.negate(0.0)) == shown(-0.0)
    with pytest.raises(Stop, match="over 64 bits"):
        operators.negate(INT_MIN)
    assert refusal(lambda: operators.negate(True)) == "`-` needs a number, got bool"
    assert operators.negated(True) is False
    assert refusal(lambda: operators.negated(0)) == "`!` needs a bool, got int"


# comparing


def equal_by_the_book(a, b):
    """The meaning of `==`, written as plainly as can be."""
    numbers = (int, float)
    if type(a) in numbers and type(b) in numbers:
        return a == b
    if type(a) is not type(b):
        return False
    if type(a) is list:
        return len(a) == len(b) and all(equal_by_the_book(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is dict:
        return a.keys() == b.keys() and all(equal_by_the_book(a[key], b[key]) for key in a)
    return a == b


@given(a=VALUES, b=VALUES)
def test_equality_is_by_content(a, b):
    assert operators.equal(a, b) == equal_by_the_book(a, b)
    assert operators.equal(b, a) == equal_by_the_book(a, b)
    assert operators.equal([a], [a]) == equal_by_the_book(a, a)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        ([1], [True], False),
        ({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        (2**53 + 1, float(2**53), False),
        (math.nan, math.nan, False),
        ("1", 1, False),
        (None, False, False),
        (b"a", "a", False),
        (Markup("<b>"), Markup("<b>"), True),
        (Markup("<b>"), "<b>", False),
        (Sql("?", [1]), Sql("?", [1.0]), True),
        (Sql("?", [1]), Sql("?", [2]), False),
        (Response(200, [1], {}), Response(200, [1], {}), True),
        (Response(200, [1], {}), Response(404, [1], {}), False),
        (BuiltinFunction("len"), BuiltinFunction("len"), True),
        (BuiltinFunction("len"), BuiltinFunction("str"), False),
        (Closure(1), Closure(1), True),
        (Closure(1, (Cell(1),)), Closure(1, (Cell(1),)), False),
    ],
)
def test_equality_of_kinds(a, b, same):
    assert operators.equal(a, b) is same
    assert operators.equal([a], [b]) is same


def test_the_same_no_number_is_not_equal_to_itself_in_a_list():
    none = [math.nan]
    assert operators.equal(none, none) is False
    assert operators.index_of(none, none[0]) == -1


def test_equality_of_values_nested_very_deep():
    def nested(depth: int, inside: int) -> list:
        value: list = [inside]
        for _ in range(depth):
            value = [value]
        return value

    assert operators.equal(nested(50_000, 1), nested(50_000, 1))
    assert not operators.equal(nested(50_000, 1), nested(50_000, 2))


@pytest.mark.parametrize(
    ("name", "symbol", "compare"),
    [("LT", "<", operator.lt), ("LE", "<=", operator.le), ("GT", ">", operator.gt), ("GE", ">=", operator.ge)],
)
@given(a=WHOLE | st.floats(), b=WHOLE | st.floats(), left=st.text(max_size=2), right=st.text(max_size=2))
def test_order(name, symbol, compare, a, b, left, right):
    assert COMPARERS[name](a, b) is compare(a, b)
    assert COMPARERS[name](left, right) is compare(left, right)
    with pytest.raises(Stop) as stopped:
        COMPARERS[name](a, left)
    assert stopped.value.message.startswith(f"`{symbol}` can't compare ")
    with pytest.raises(Stop):
        COMPARERS[name](True, 1)


def test_an_error_as_an_operand_is_an_error_stop_of_that_error():
    error = Err("no such note")
    for operate in [
        *FUNCTIONS.values(),
        *COMPARERS.values(),
        operators.equal_operands,
        operators.contains,
        operators.element,
        operators.whole_range,
    ]:
        for operands in ((error, 1), (1, error)):
            with pytest.raises(Stop) as stopped:
                operate(*operands)
            assert stopped.value.error is error
            assert stopped.value.kind == "error"
            assert stopped.value.message == "no such note"


# parts


def test_membership():
    assert operators.contains(1.0, [0, 1]) is True
    assert operators.contains(True, [0, 1]) is False
    assert operators.contains("a", {"a": None}) is True
    assert operators.contains(1, {"1": None}) is False
    assert operators.contains("bc", "abcd") is True
    assert refusal(lambda: operators.contains(1, "1")) == "`in` looks for a text in a text, got int"
    assert refusal(lambda: operators.contains(1, 1)) == "`in` looks in a list, a record or a text, got int"


@given(items=st.lists(VALUES, max_size=5), wanted=VALUES)
def test_the_place_of_an_item_is_the_first_that_is_equal(items, wanted):
    places = [place for place, item in enumerate(items) if equal_by_the_book(item, wanted)]
    assert operators.index_of(items, wanted) == (places[0] if places else -1)


def test_elements():
    assert operators.element([1, 2, 3], -1) == 3
    assert operators.element("añ😀", 2) == "😀"
    assert operators.element({"a": 1}, "b") is None
    for base, index, message in [
        ([1, 2, 3], 5, "index 5 is out of range: the list has 3 items"),
        ([1], -2, "index -2 is out of range: the list has 1 item"),
        ("ab", 2, "index 2 is out of range: the text has 2 characters"),
        ([1], 0.0, "an index must be int, got float"),
        ([1], True, "an index must be int, got bool"),
        ({}, 1, "a record's key must be str, got int"),
        (None, 1, "cannot read an element of null"),
    ]:
        with pytest.raises(Stop) as stopped:
            operators.element(base, index)
        assert stopped.value.message == message


@given(items=st.lists(st.integers(), max_size=6), start=st.none() | INTS, end=st.none() | INTS)
def test_slices_are_cut_to_what_is_there(items, start, end):
    assert operators.part(items, start, end) == items[start:end]
    text = "".join(map(str, items))
    assert operators.part(text, start, end) == text[start:end]


def test_slices_of_what_has_none():
    assert refusal(lambda: operators.part({}, None, None)) == "cannot take a slice of record"
    assert refusal(lambda: operators.part([], "a", None)) == "the ends of a slice must be int, got str"


def test_fields():
    assert operators.field_of({"a": 1}, "b") is None
    assert refusal(lambda: operators.field_of(None, "user")) == "cannot read `user` of null"
    assert refusal(lambda: operators.field_of([], "user")) == "cannot read `user` of list"
    assert operators.field_or_null(None, "user") is None
    error = Err(1)
    assert operators.field_or_null(error, "user") is error
    assert refusal(lambda: operators.field_or_null(1, "user")) == "cannot read `user` of int"


def test_ranges():
    assert operators.whole_range(2, 5) == [2, 3, 4]
    assert operators.whole_range(5, 2) == []
    assert refusal(lambda: operators.whole_range(1, 2.0)) == "`..` needs two whole numbers, got int and float"


# limits


def test_a_text_that_would_grow_too_big_stops():
    half = "é" * (TEXT_LIMIT // 4)
    assert len(operators.add(half, half)) == TEXT_LIMIT // 2
    assert refusal(lambda: operators.add(half + half, "a")) == "a text can't grow over 64 MiB"


def test_a_list_that_would_grow_too_big_stops():
    half = [0] * (SIZE_LIMIT // 2)
    assert len(operators.add(half, half)) == SIZE_LIMIT
    assert refusal(lambda: operators.add(half, [*half, 0])) == "a list can't have over 10,000,000 entries"
    with pytest.raises(Stop, match="entries"):
        operators.whole_range(INT_MIN, INT_MAX)
