"""The builtins of the sections "numbers" and "turning": exact results, rounding, and what can't be turned."""

from __future__ import annotations

import json
import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qvm.builtins import argument_counts, native
from qvm.text import to_json, write_out
from qvm.values import INT_MAX, INT_MIN, TEXT_LIMIT, Markup
from tests.native_calls import call, error_of, same_value, stop_of

INTS = st.integers(INT_MIN, INT_MAX)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("abs", [-3], 3),
        ("abs", [-1.5], 1.5),
        ("abs", [INT_MAX], INT_MAX),
        ("abs", [-0.0], 0.0),
        ("floor", [2.7], 2),
        ("floor", [-2.1], -3),
        ("floor", [5], 5),
        ("ceil", [2.1], 3),
        ("ceil", [-2.7], -2),
        ("round", [2.5], 3),
        ("round", [-2.5], -3),
        ("round", [2.4999999999999996], 2),
        ("round", [0.49999999999999994], 0),
        ("round", [-0.4], 0),
        ("round", [4503599627370497.5], 4503599627370498),
        ("round", [9007199254740993.0], 9007199254740992),
        ("round", [7], 7),
        ("round", [2.675, 2], 2.68),
        ("round", [1.005, 2], 1.01),
        ("round", [-1.005, 2], -1.01),
        ("round", [2, 1], 2.0),
        ("round", [1234.5, -2], 1200.0),
        ("round", [1250, -2], 1300.0),
        ("round", [4.0, -1], 0.0),
        ("round", [1e300, 5], 1e300),
        ("round", [0.1, 10**18], 0.1),
        ("round", [5.0, -(10**18)], 0.0),
        ("round", [math.inf, 2], math.inf),
        ("sqrt", [9], 3.0),
        ("sqrt", [2], math.sqrt(2)),
        ("sqrt", [-0.0], -0.0),
        ("pow", [2, 10], 1024),
        ("pow", [0, 0], 1),
        ("pow", [-2, 63], INT_MIN),
        ("pow", [-1, 10**18], 1),
        ("pow", [-1, 10**18 + 1], -1),
        ("pow", [1, INT_MAX], 1),
        ("pow", [0, INT_MAX], 0),
        ("pow", [2.0, -1], 0.5),
        ("pow", [9, 0.5], 3.0),
        ("pow", [-2.0, 3], -8.0),
        ("pow", [10.0, 400], math.inf),
        ("pow", [-10.0, 401], -math.inf),
        ("int", ["42"], 42),
        ("int", [" -7\n"], -7),
        ("int", ["+0"], 0),
        ("int", ["007"], 7),
        ("int", ["0" * 100_000 + "1"], 1),
        ("int", [str(INT_MIN)], INT_MIN),
        ("int", [str(INT_MAX)], INT_MAX),
        ("int", [2.9], 2),
        ("int", [-2.9], -2),
        ("int", [5], 5),
        ("float", ["1.5"], 1.5),
        ("float", [" -1.5e-3 "], -0.0015),
        ("float", ["1E5"], 1e5),
        ("float", ["42"], 42.0),
        ("float", ["1e-400"], 0.0),
        ("float", [2], 2.0),
        ("float", [0.1], 0.1),
        ("str", [1.0], "1.0"),
        ("str", ["a"], "a"),
        ("str", [None], "null"),
        ("json", [{"a": [1, "é"]}], '{"a": [1, "é"]}'),
        ("json", ["a"], '"a"'),
        ("type_of", [1], "int"),
        ("type_of", [True], "bool"),
        ("type_of", [{}], "record"),
        ("type_of", [Markup("a")], "html"),
        ("bytes", ["é"], b"\xc3\xa9"),
        ("base64", [b"hello"], "aGVsbG8="),
        ("base64", [b""], ""),
        ("from_base64", ["aGVsbG8="], b"hello"),
        ("from_base64", [""], b""),
        ("hex", [b"AZ"], "415a"),
    ],
)
def test_what_they_give(name: str, arguments: list, value: object) -> None:
    assert same_value(call(name, *arguments), value)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("abs", [INT_MIN], "the result of `abs` is over 64 bits"),
        ("abs", [True], "argument 1 of `abs` must be int or float, got bool"),
        ("abs", ["1"], "argument 1 of `abs` must be int or float, got str"),
        ("floor", [1e300], "the result of `floor` is over 64 bits"),
        ("ceil", [-1e300], "the result of `ceil` is over 64 bits"),
        ("round", [9.3e18], "the result of `round` is over 64 bits"),
        ("round", [math.nan], "`round` can't make a whole number of nan"),
        ("floor", [math.inf], "`floor` can't make a whole number of inf"),
        ("round", [1.5, 1.0], "argument 2 of `round` must be int, got float"),
        ("sqrt", [-1], "`sqrt` of a number below 0: -1"),
        ("pow", [2, 63], "the result of `pow` is over 64 bits"),
        ("pow", [10, 10**18], "the result of `pow` is over 64 bits"),
        ("pow", [2, -1], "`pow` of whole numbers needs a power from 0 up, got -1: write 2.0 for a float"),
        ("pow", [0.0, -1], "`pow` of 0 needs a power from 0 up, got -1"),
        ("pow", [-8.0, 0.5], "`pow` of a number below 0 needs a whole power, got 0.5"),
        ("int", [9e99], "the result of `int` is over 64 bits"),
        ("int", [math.nan], "`int` can't make a whole number of nan"),
        ("int", [True], "argument 1 of `int` must be str, int or float, got bool"),
        ("int", [None], "argument 1 of `int` must be str, int or float, got null"),
        ("float", [[]], "argument 1 of `float` must be str, int or float, got list"),
        ("from_json", [1], "argument 1 of `from_json` must be str, got int"),
        ("bytes", [1], "argument 1 of `bytes` must be str, got int"),
        ("bytes", ["a\ud800"], "argument 1 of `bytes` has half of a character in it: U+D800 at place 1"),
        ("base64", ["a"], "argument 1 of `base64` must be bytes, got str"),
        ("hex", [b"x" * (TEXT_LIMIT // 2 + 1)], "a text can't grow over 64 MiB"),
    ],
)
def test_a_mistake_of_the_program_is_a_stop(name: str, arguments: list, message: str) -> None:
    assert stop_of(name, *arguments) == message


@pytest.mark.parametrize(
    ("name", "text", "kind", "message"),
    [
        ("int", "many", "number", '"many" is no whole number'),
        ("int", "", "number", '"" is no whole number'),
        ("int", "1.5", "number", '"1.5" is no whole number'),
        ("int", "9e99", "number", '"9e99" is no whole number'),
        ("int", "0xff", "number", '"0xff" is no whole number'),
        ("int", "1_000", "number", '"1_000" is no whole number'),
        ("int", "- 1", "number", '"- 1" is no whole number'),
        ("int", "--1", "number", '"--1" is no whole number'),
        ("int", "٣", "number", '"٣" is no whole number'),
        ("int", "²", "number", '"²" is no whole number'),
        ("int", "9223372036854775808", "number", '"9223372036854775808" is over 64 bits'),
        ("int", "-9223372036854775809", "number", '"-9223372036854775809" is over 64 bits'),
        ("int", "9" * 100_000, "number", '"' + "9" * 40 + '…" is over 64 bits'),
        ("float", "1,5", "number", '"1,5" is no number'),
        ("float", "", "number", '"" is no number'),
        ("float", ".5", "number", '".5" is no number'),
        ("float", "5.", "number", '"5." is no number'),
        ("float", "1.e5", "number", '"1.e5" is no number'),
        ("float", "1_0.0", "number", '"1_0.0" is no number'),
        ("float", "nan", "number", '"nan" is no number'),
        ("float", "-inf", "number", '"-inf" is no number'),
        ("float", "1e", "number", '"1e" is no number'),
        ("float", "0x1p3", "number", '"0x1p3" is no number'),
        ("float", "1e999", "number", '"1e999" is too big for a float'),
        ("from_json", "", "json", "the text is empty: there is no JSON in it"),
        ("from_json", " \n", "json", "the text is empty: there is no JSON in it"),
        ("from_json", "9223372036854775808", "json", '"9223372036854775808" is over 64 bits'),
        ("from_json", '{"a": [-9223372036854775809]}', "json", '"-9223372036854775809" is over 64 bits'),
        ("from_json", "1" * 200, "json", '"' + "1" * 40 + '…" is over 64 bits'),
        ("from_json", "[\n 1e999]", "json", "a number is too big for a float at line 2, column 2"),
        ("from_json", '"\ud800"', "json", "the text holds half of a character"),
        ("from_base64", "aGk", "base64", '"aGk" is no base64'),
        ("from_base64", "a Gk=", "base64", '"a Gk=" is no base64'),
        ("from_base64", "é", "base64", '"é" is no base64'),
    ],
)
def test_a_text_that_comes_from_outside_gives_an_error(name: str, text: str, kind: str, message: str) -> None:
    assert error_of(name, text) == (kind, message)


@pytest.mark.parametrize(
    "text",
    [
        "{oops}",
        "[1,]",
        "NaN",
        "-Infinity",
        "01",
        "'a'",
        '"\\ud800"',
        '"a',
        "[1] 2",
        "\ufeff1",
        "[" * 1100 + "]" * 1100,
    ],
)
def test_what_is_no_json_is_an_error_that_says_where(text: str) -> None:
    kind, message = error_of("from_json", text)
    assert kind == "json"
    assert message.startswith("no JSON: ")
    assert " at line " in message


def test_json_that_is_read() -> None:
    assert same_value(call("from_json", '{"a": 1, "b": 2.0, "a": 3}'), {"a": 3, "b": 2.0})
    assert same_value(call("from_json", str(INT_MIN)), INT_MIN)
    assert same_value(call("from_json", '["9223372036854775808", 1e30]'), ["9223372036854775808", 1e30])
    assert same_value(call("from_json", '"\\\\9999999999999999999\\""'), '\\9999999999999999999"')
    assert same_value(call("from_json", " null "), None)


@given(st.recursive(st.none() | st.booleans() | INTS | FLOATS | st.text(), lambda inner: st.lists(inner)))
def test_json_and_from_json_undo_each_other(value: object) -> None:
    assert same_value(call("from_json", call("json", value)), json.loads(to_json(value)))
    assert same_value(call("from_json", call("json", value)), value)


@given(INTS | FLOATS)
def test_a_number_that_is_written_out_is_read_again(number: float) -> None:
    name = "int" if type(number) is int else "float"
    assert same_value(call(name, write_out(number)), number)


@given(st.floats(-1e15, 1e15), st.integers(0, 10))
def test_rounding_is_half_away_from_zero_of_what_is_written(number: float, digits: int) -> None:
    exact = Decimal(repr(number)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    assert call("round", number, digits) == float(exact)
    shown = call("format_number", number, digits)
    assert Decimal(shown.replace(",", "")) == exact


@given(st.floats(-1e18, 1e18))
def test_rounding_to_whole_numbers_is_half_away_from_zero(number: float) -> None:
    assert call("round", number) == int(Decimal(number).quantize(Decimal(1), ROUND_HALF_UP))
    assert call("floor", number) <= number <= call("ceil", number)


@given(st.integers(-100, 100), st.integers(0, 70))
def test_powers_of_whole_numbers_are_exact_or_a_stop(x: int, y: int) -> None:
    if INT_MIN <= x**y <= INT_MAX:
        assert call("pow", x, y) == x**y
    else:
        assert stop_of("pow", x, y) == "the result of `pow` is over 64 bits"


@given(st.binary())
def test_base64_and_hex_read_back(data: bytes) -> None:
    assert call("from_base64", call("base64", data)) == data
    assert bytes.fromhex(call("hex", data)) == data


def test_the_engine_can_ask_how_many_arguments_a_native_takes() -> None:
    assert argument_counts("upper") == (1, 1)
    assert argument_counts("round") == (1, 2)
    assert argument_counts("classes") == (0, None)


def test_of_ints_and_floats_the_chosen_is_a_float():
    for name, chosen in (("min", 1.0), ("max", 3.0)):
        for values in ([1, 2.5, 3], [3, 2.5, 1]):
            found = native(name)(values)
            assert (found, type(found)) == (chosen, float)
    assert type(native("max")([1, 2])) is int
