"""What `print` shows and what JSON is made: the rules of section 3 of the language."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qvm.text import escape_html, quoted, to_json, write_out
from qvm.values import BuiltinFunction, Closure, Err, Markup, Response, Sql, Stop

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("héllo\n", "héllo\n"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-(2**63), "-9223372036854775808"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e-9, "1e-09"),
        (1e22, "1e+22"),
        (123456789012345680.0, "1.2345678901234568e+17"),
        (-0.0, "-0.0"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (b"hi", "aGk="),
        ([], "[]"),
        ({}, "{}"),
        ([1, 2.0, "a", None, True, [], {}], '[1, 2.0, "a", null, true, [], {}]'),
        ({"b": 1, "a": {"c d": "é"}}, '{"b": 1, "a": {"c d": "é"}}'),
        (["line\n", '"', "\\", "\x00", "\x7f", "\u2028"], '["line\\n", "\\"", "\\\\", "\\u0000", "\x7f", "\u2028"]'),
        ([b"hi"], '["aGk="]'),
        ([math.inf, 1], "[inf, 1]"),
        ({"x": math.nan}, '{"x": nan}'),
        (Markup("<b>"), "<b>"),
        ([Markup('<b class="x">')], '["<b class=\\"x\\">"]'),
        (Sql("select ?", [1]), "select ?"),
        (Closure(3), "<function>"),
        (BuiltinFunction("upper"), "<function upper>"),
        ([Closure(3)], '["<function>"]'),
        (Response(404, "no", {}), "<response 404>"),
        (Err("no"), 'err("no")'),
        (Err({"kind": "json"}), 'err({"kind": "json"})'),
    ],
)
def test_every_kind_of_value_has_its_form(value: object, text: str) -> None:
    assert write_out(value) == text


@given(VALUES)
def test_what_is_shown_of_lists_and_records_is_json(value: object) -> None:
    assert json.loads(write_out([value])) == [value]


@given(VALUES)
def test_json_reads_back_the_same(value: object) -> None:
    text = to_json(value)
    assert json.loads(text) == value
    assert "\n" not in text


@given(FLOATS)
def test_a_float_is_written_in_a_form_that_reads_back_the_same(number: float) -> None:
    text = write_out(number)
    assert math.copysign(1, float(text)) == math.copysign(1, number)
    assert float(text) == number


@given(VALUES)
def test_the_way_for_deep_values_writes_as_the_common_way(value: object) -> None:
    deep: object = value
    for _ in range(1200):
        deep = [deep]
    assert write_out(deep) == "[" * 1200 + (write_out([value])[1:-1]) + "]" * 1200


def test_a_value_nested_100_000_deep_is_written() -> None:
    value: object = 1
    for _ in range(50_000):
        value = {"a": [value]}
    text = write_out(value)
    assert text.startswith('{"a": [{"a": [')
    assert text.endswith("]}]}")
    assert text == to_json(value)


def test_a_small_value_that_is_written_out_over_64_mib_stops_before_it_is_written() -> None:
    value: object = ["0123456789" * 10]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(Stop, match="a text can't grow over 64 MiB"):
        write_out(value)
    with pytest.raises(Stop, match="a text can't grow over 64 MiB"):
        to_json({"a": value})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.inf, "`json` can't write inf: JSON has no such number"),
        ([1, {"a": -math.inf}], "`json` can't write -inf: JSON has no such number"),
        ({"a": math.nan}, "`json` can't write nan: JSON has no such number"),
        ([Closure(1)], "`json` can't write a function: it is no data"),
        (Response(200, None, {}), "`json` can't write a response: it is no data"),
        ({"a": Sql("select 1", [])}, "`json` can't write a sql: it is no data"),
    ],
)
def test_what_json_has_no_form_for_is_a_mistake(value: object, message: str) -> None:
    with pytest.raises(Stop) as stop:
        to_json(value)
    assert stop.value.message == message
    assert stop.value.error is None


def test_markup_and_bytes_are_texts_in_json() -> None:
    assert to_json({"a": Markup("<b>"), "b": b"hi"}) == '{"a": "<b>", "b": "aGk="}'


def test_a_stop_names_the_builtin_that_writes_the_json() -> None:
    with pytest.raises(Stop, match=r"^`db\.exec` can't write nan"):
        to_json(math.nan, "db.exec")


def test_escaping_leaves_nothing_that_means_something_in_html() -> None:
    assert escape_html("""<a href="x" title='y'>&amp;""") == "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;"


def test_a_message_quotes_a_text_on_one_line_and_cuts_it() -> None:
    assert quoted("abc") == '"abc"'
    assert quoted("") == '""'
    assert quoted("a\nb\u202e") == '"a\\nb\\u202e"'
    assert len(quoted("x" * 1000)) == 43
