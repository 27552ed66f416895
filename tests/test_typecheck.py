"""Checks of values against types: what fits, what is turned into another kind, and what a refusal says."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qvm.descriptions import wanted_text, written
from qvm.typecheck import Checks, Mismatch
from qvm.values import BuiltinFunction, Closure, Err, Markup, Response
from tests.engine import shown

NOTE = ["record", [["id", "int", True], ["text", "str", False]]]
TYPES: list[tuple[str, Any]] = [
    ("Note", NOTE),
    ("Tree", ["record", [["value", "float", True], ["children", ["list", ["type", 1]], True]]]),
    ("Chain", ["record", [["next", ["union", [["type", 2], "null"]], True]]]),
    ("Order", ["union", [["literal", ["asc", "desc"]]]]),
]
VALUES = Checks(TYPES)
JSON = Checks(TYPES, json=True)


def checked(checks: Checks, descriptor: Any, value: Any) -> Any:
    check = checks.check(descriptor)
    return value if check is None else check(value)


def refused(checks: Checks, descriptor: Any, value: Any, name: str = "`x`") -> str:
    """What a check says of a value that does not fit."""
    with pytest.raises(Mismatch) as mismatch:
        checked(checks, descriptor, value)
    return mismatch.value.in_value(name)


# both kinds of checks

FITS: list[tuple[Any, Any]] = [
    ("int", 1),
    ("float", 1.5),
    ("str", "é"),
    ("bool", True),
    ("null", None),
    (["list", "int"], [1, 2]),
    (["list", "any"], [1, "a", None]),
    (["map", "str"], {"a": "b"}),
    (["literal", ["asc", "desc"]], "asc"),
    (["literal", [1, True]], True),
    (["union", ["int", "str"]], "a"),
    (["union", ["str", "null"]], None),
    (NOTE, {"id": 1}),
    (NOTE, {"text": "x", "id": 1}),
    (["type", 0], {"id": 1}),
    (["type", 1], {"value": 1.0, "children": [{"value": 2.0, "children": []}]}),
    (["type", 3], "desc"),
    (["union", [["type", 0], ["list", ["type", 0]]]], [{"id": 1}]),
    ("any", [{"a": [1.5, None, True, "é"]}]),
]


@pytest.mark.parametrize(("descriptor", "value"), FITS)
@pytest.mark.parametrize("checks", [VALUES, JSON], ids=["value", "json"])
def test_a_value_that_fits_comes_back_as_it_is(checks, descriptor, value):
    assert checked(checks, descriptor, value) is value


REFUSALS: list[tuple[Any, Any, str]] = [
    ("int", "1", "`x` must be int, got str"),
    ("int", True, "`x` must be int, got bool"),
    ("int", 1.5, "`x` must be int, got float"),
    ("float", True, "`x` must be float, got bool"),
    ("float", None, "`x` must be float, got null"),
    ("str", None, "`x` must be str, got null"),
    ("bool", 1, "`x` must be bool, got int"),
    ("null", False, "`x` must be null, got bool"),
    (["list", "int"], {}, "`x` must be list<int>, got record"),
    (["list", "int"], [1, "a"], "`[1]` of `x` must be int, got str"),
    (["list", ["list", "str"]], [[], ["a", 2]], "`[1][1]` of `x` must be str, got int"),
    (["map", "int"], [], "`x` must be map<int>, got list"),
    (["map", "int"], {"a": 1, "b c": None}, '`["b c"]` of `x` must be int, got null'),
    (NOTE, [], "`x` must be { id: int, text?: str }, got list"),
    (NOTE, {}, "`id` of `x` must be int, got nothing"),
    (NOTE, {"id": 1, "text": None}, "`text` of `x` must be str, got null"),
    (NOTE, {"id": 1, "extra": 2}, "`x` has no field `extra`: it takes `id`, `text`"),
    (["record", []], {"a": 1}, "`x` has no field `a`"),
    (["list", ["type", 0]], [{"id": 1}, {"id": 2, "text": 3}], "`[1].text` of `x` must be str, got int"),
    (["list", ["type", 0]], [3], "`[0]` of `x` must be Note, got int"),
    (["type", 0], [], "`x` must be Note, got list"),
    (["list", ["type", 1]], [None], "`[0]` of `x` must be Tree, got null"),
    (["type", 3], 1, '`x` must be "asc" or "desc", got 1'),
    (["union", [["type", 0], "null"]], [], "`x` must be Note or null, got list"),
    (["list", ["type", 0]], 3, "`x` must be list<Note>, got int"),
    (["literal", ["asc", "desc"]], "up", '`x` must be "asc" or "desc", got "up"'),
    (["literal", ["a", "b", "c"]], "d", '`x` must be "a", "b" or "c", got "d"'),
    (["literal", [1, 2]], 3, "`x` must be 1 or 2, got 3"),
    (["literal", [1, 2]], None, "`x` must be 1 or 2, got null"),
    (["literal", [1]], True, "`x` must be 1, got bool"),
    (["union", ["int", "str"]], None, "`x` must be int or str, got null"),
    (["union", [["list", "int"], "str", "null"]], 1, "`x` must be list<int>, str or null, got int"),
    (["union", [["list", "int"], "null"]], ["a"], "`[0]` of `x` must be int, got str"),
    (["union", [["type", 0], "null"]], {"id": "a"}, "`id` of `x` must be int, got str"),
    (["union", [["type", 0], ["map", "bool"]]], {"id": "a"}, "`x` must be Note or map<bool>, got record"),
    (["union", [["literal", ["on", "off"]], "null"]], "up", '`x` must be "on", "off" or null, got "up"'),
    ("never", 1, "`x` must be never, got int"),
]


@pytest.mark.parametrize(("descriptor", "value", "message"), REFUSALS)
@pytest.mark.parametrize("checks", [VALUES, JSON], ids=["value", "json"])
def test_a_refusal_says_what_was_wanted_and_what_was_there(checks, descriptor, value, message):
    assert refused(checks, descriptor, value) == message


def test_a_long_text_is_cut_in_a_message():
    message = refused(VALUES, ["literal", ["a"]], "long\n" * 50)
    assert len(message) < 100
    assert "\n" not in message


def test_how_an_argument_is_named():
    for value, message in [
        ([{"id": 1}, {"id": 1}, {"id": 2, "text": None}], "`notes[2].text` of `add_all` must be str, got null"),
        (None, "`notes` of `add_all` must be list<Note>, got null"),
        ([{"id": 1, "b": 2}], "`notes[0]` of `add_all` has no field `b`: it takes `id`, `text`"),
    ]:
        with pytest.raises(Mismatch) as mismatch:
            checked(JSON, ["list", ["type", 0]], value)
        assert mismatch.value.in_argument("notes", "add_all") == message


# values of a running program


@pytest.mark.parametrize(
    ("descriptor", "value", "wanted"),
    [
        ("float", 1, 1.0),
        (["list", "float"], [1, 2.5, 3], [1.0, 2.5, 3.0]),
        (["map", "float"], {"a": 1, "b": 2.5}, {"a": 1.0, "b": 2.5}),
        (["record", [["x", "float", True]]], {"x": 1}, {"x": 1.0}),
        (["union", ["float", "str"]], 1, 1.0),
        (["union", ["float", "int"]], 1, 1),
        (["union", ["int", "float"]], 1.0, 1.0),
        (["literal", [1]], 1.0, 1),
        (["list", ["map", "float"]], [{"a": 1}], [{"a": 1.0}]),
        (["type", 1], {"value": 1, "children": [{"value": 2, "children": []}]},
         {"value": 1.0, "children": [{"value": 2.0, "children": []}]}),
    ],
)  # fmt: skip
def test_a_whole_number_becomes_a_float_where_one_is_wanted(descriptor, value, wanted):
    before = shown(value)
    assert shown(checked(VALUES, descriptor, value)) == shown(wanted)
    assert shown(value) == before, "others may hold what was given: it stays as it is"


@pytest.mark.parametrize(
    ("descriptor", "value"),
    [
        ("bytes", b"a"),
        ("html", Markup("<b>")),
        ("response", Response(200, None, {})),
        ("error", Err(1)),
        ("function", Closure(0)),
        ("function", BuiltinFunction("len")),
        ("any", Err(1)),
        ("float", math.inf),
        ("str", "\ud800"),
    ],
)
def test_kinds_that_only_a_running_program_has(descriptor, value):
    assert checked(VALUES, descriptor, value) is value


def test_a_list_of_simple_things_is_looked_at_to_its_end():
    assert refused(VALUES, ["list", "str"], ["a"] * 1000 + [1]) == "`[1000]` of `x` must be str, got int"


def test_values_nested_deeper_than_python_calls_may_go():
    chain: Any = {"next": None}
    for _ in range(20_000):
        chain = {"next": chain}
    limit = sys.getrecursionlimit()
    assert checked(VALUES, ["type", 2], chain) is chain
    tree: Any = {"value": 1, "children": []}
    for _ in range(5_000):
        tree = {"value": 2.0, "children": [tree]}
    converted = checked(VALUES, ["type", 1], tree)
    for _ in range(5_000):
        (converted,) = converted["children"]
    assert shown(converted["value"]) == shown(1.0)
    assert sys.getrecursionlimit() == limit


def test_a_type_whose_check_is_nothing_is_none():
    assert VALUES.check("any") is None
    assert VALUES.check(["union", ["int", "any"]]) is None


# what comes as JSON


@pytest.mark.parametrize(
    ("descriptor", "value", "wanted"),
    [
        ("int", 3.0, 3),
        ("int", -(2.0**63), -(2**63)),
        ("float", 3, 3.0),
        ("float", 2**64, 2.0**64),
        (["list", "int"], [1.0, 2], [1, 2]),
        ("bytes", "aGk=", b"hi"),
        (["map", "bytes"], {"a": ""}, {"a": b""}),
        (["literal", [1, 2]], 2.0, 2),
        (["union", ["int", "str"]], 3.0, 3),
        (["union", ["int", "float"]], 3.0, 3.0),
        (["union", ["bytes", "null"]], "aGk=", b"hi"),
        (["union", ["float", "null"]], 3, 3.0),
        (["record", [["n", "int", True]]], {"n": 1.0}, {"n": 1}),
    ],
)
def test_json_becomes_the_value_that_is_wanted(descriptor, value, wanted):
    assert shown(checked(JSON, descriptor, value)) == shown(wanted)


@pytest.mark.parametrize(
    ("descriptor", "value", "message"),
    [
        ("int", 2**63, "`x` must be int, got a number past 64 bits"),
        ("int", -(2**63) - 1, "`x` must be int, got a number past 64 bits"),
        ("int", 2.0**63, "`x` must be int, got a number past 64 bits"),
        ("int", 1e300, "`x` must be int, got a number past 64 bits"),
        ("float", math.nan, "`x` must be float, got a number that is no number"),
        ("float", math.inf, "`x` must be float, got a number that is no number"),
        ("float", 10**400, "`x` must be float, got a number that is too big"),
        ("str", "a\ud800", "`x` must be str, got text with half of a surrogate pair"),
        ("bytes", "a", "`x` must be bytes as base64 text, got other text"),
        ("bytes", "é", "`x` must be bytes as base64 text, got other text"),
        ("bytes", "aGk=\n", "`x` must be bytes as base64 text, got other text"),
        ("bytes", 1, "`x` must be bytes as base64 text, got int"),
        ("any", 2**63, "`x` must be int, got a number past 64 bits"),
        ("any", [{"a": [1, math.nan]}], "`[0].a[1]` of `x` must be float, got a number that is no number"),
        ("any", {"a": "\udc00"}, "`a` of `x` must be str, got text with half of a surrogate pair"),
        ("any", [{"\ud800": 1}], "`[0]` of `x` has a field whose name has half of a surrogate pair in it"),
        (["map", "int"], {"\ud800": 1}, "`x` has a field whose name has half of a surrogate pair in it"),
        (["list", "any"], [1, 2**64], "`[1]` of `x` must be int, got a number past 64 bits"),
        (["literal", ["\u00e9"]], "\ud800", '`x` must be "é", got "\\ud800"'),
        (NOTE, {"id": 1, "\ud800": 1}, "`x` has no field `\\ud800`: it takes `id`, `text`"),
    ],
)
def test_what_no_value_can_be_is_refused(descriptor, value, message):
    said = refused(JSON, descriptor, value)
    assert said == message
    said.encode()  # a message never holds what it complains of


def test_json_nested_very_deep_is_looked_at_to_its_end():
    deep: Any = 2**64
    for _ in range(20_000):
        deep = [deep]
    with pytest.raises(Mismatch):
        checked(JSON, "any", deep)
    chain: Any = {"next": 1}
    for _ in range(1_000):
        chain = {"next": chain}
    with pytest.raises(Mismatch):
        checked(JSON, ["type", 2], chain)


DESCRIPTORS = st.recursive(
    st.sampled_from(["any", "int", "float", "str", "bool", "null", "bytes", ["literal", ["a", 1, 2.5, True]]]),
    lambda inner: st.one_of(
        inner.map(lambda of: ["list", of]),
        inner.map(lambda of: ["map", of]),
        st.lists(inner, min_size=1, max_size=3).map(lambda members: ["union", members]),
        st.lists(st.tuples(inner, st.booleans()), max_size=3).map(
            lambda fields: ["record", [[f"f{place}", of, needed] for place, (of, needed) in enumerate(fields)]]
        ),
    ),
    max_leaves=6,
)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=3)
)
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["f0", "f1", "k"]), inner, max_size=3),
    max_leaves=6,
)


@given(descriptor=DESCRIPTORS, value=JSON_VALUES)
def test_what_a_json_check_lets_pass_fits_the_type(descriptor, value):
    """The two kinds of checks agree: what comes out of the one is taken by the other, unchanged."""
    try:
        made = checked(JSON, descriptor, value)
    except Mismatch:
        return
    assert shown(checked(VALUES, descriptor, made)) == shown(made)


@given(descriptor=DESCRIPTORS, value=JSON_VALUES)
def test_a_check_changes_nothing_that_it_is_given(descriptor, value):
    before = shown(value)
    for checks in (VALUES, JSON):
        try:
            checked(checks, descriptor, value)
        except Mismatch as mismatch:
            assert mismatch.in_value("`x`")  # noqa: PT017
        assert shown(value) == before


# types in words


@pytest.mark.parametrize(
    ("descriptor", "type_text", "wanted"),
    [
        ("int", "int", "int"),
        (["list", ["type", 0]], "list<Note>", "list<Note>"),
        (["union", ["str", "null"]], "str?", "str or null"),
        (["list", ["union", ["str", "null"]]], "list<str?>", "list<str?>"),
        (["map", ["union", ["int", "str"]]], "map<int | str>", "map<int | str>"),
        (["literal", ["a", 1, 1.5, True]], '"a" | 1 | 1.5 | true', '"a", 1, 1.5 or true'),
        (["union", [["literal", ["a"]], "null"]], '"a" | null', '"a" or null'),
        (NOTE, "{ id: int, text?: str }", "{ id: int, text?: str }"),
        (["record", []], "{}", "{}"),
    ],
)
def test_types_in_words(descriptor, type_text, wanted):
    assert written(descriptor, TYPES) == type_text
    assert wanted_text(descriptor, TYPES) == wanted
