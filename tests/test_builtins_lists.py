"""The natives of the sections "lists" and "records": what they give, at the edges too, and that they change nothing."""

from __future__ import annotations

import copy
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qvm.operators import equal
from qvm.values import BuiltinFunction, Closure, Err, Markup, Stop
from tests.native_calls import call, same_value, stop_of

KEYS = st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 2.5]) | st.booleans() | st.none() | st.sampled_from("ab")
NESTED = st.recursive(KEYS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner))


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("len", [[1, 2]], 2),
        ("len", [{"a": 1}], 1),
        ("len", [b"abc"], 3),
        ("push", [[1], 2], [1, 2]),
        ("push", [[], None], [None]),
        ("push", [[1], [2]], [1, [2]]),
        ("insert", [["a", "c"], 1, "b"], ["a", "b", "c"]),
        ("insert", [[1], 1, 2], [1, 2]),
        ("insert", [[], 0, 1], [1]),
        ("insert", [[1, 2], -1, 9], [1, 9, 2]),
        ("insert", [[1, 2], -2, 9], [9, 1, 2]),
        ("remove", [["a", "b", "c"], 1], ["a", "c"]),
        ("remove", [[1, 2, 3], -1], [1, 2]),
        ("slice", [[1, 2, 3], 1], [2, 3]),
        ("slice", [[1, 2, 3], -2, -1], [2]),
        ("slice", [[1, 2, 3], 1, None], [2, 3]),
        ("slice", [[1, 2, 3], 9], []),
        ("contains", [[1, 2], 2], True),
        ("contains", [[1, 2], 2.0], True),
        ("contains", [[1, 2], "2"], False),
        ("contains", [[1], True], False),
        ("contains", [[True], 1], False),
        ("contains", [[{"a": [1]}], {"a": [1.0]}], True),
        ("contains", [[], None], False),
        ("index_of", [["a", "b", "b"], "b"], 1),
        ("index_of", [[True, 1], 1], 1),
        ("index_of", [[1], 2], None),
        ("index_of", [[None], None], 0),
        ("reverse", [[1, 2, 3]], [3, 2, 1]),
        ("flat", [[[1], [], [2, [3]]]], [1, 2, [3]]),
        ("flat", [[]], []),
        ("zip", [["a", "b"], [1, 2, 3]], [["a", 1], ["b", 2]]),
        ("zip", [[], [1]], []),
        ("first", [[1, 2]], 1),
        ("first", [[]], None),
        ("last", [[1, 2]], 2),
        ("last", [[]], None),
        ("range", [0, 5], [0, 1, 2, 3, 4]),
        ("range", [0, 10, 3], [0, 3, 6, 9]),
        ("range", [3, 0, -1], [3, 2, 1]),
        ("range", [3, 0], []),
        ("range", [0, 3, -1], []),
        ("range", [0, 9, 9], [0]),
        ("range", [0, 10, 9], [0, 9]),
        ("range", [-(2**63), -(2**63) + 2], [-(2**63), -(2**63) + 1]),
        ("range", [-(2**63), 2**63 - 1, 2**62], [-(2**63), -(2**62), 0, 2**62]),
        ("sum", [[1, 2, 3]], 6),
        ("sum", [[]], 0),
        ("sum", [[0.1, 0.2]], 0.1 + 0.2),
        ("sum", [[1, 0.5]], 1.5),
        ("sum", [[2**63 - 1, 1, -1]], 2**63 - 1),
        ("sum", [[0.1] * 10], 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1),
        ("min", [[3, 1, 2]], 1),
        ("min", [["b", "a"]], "a"),
        ("min", [[1, 0.5]], 0.5),
        ("min", [2, 1], 1),
        ("min", [1, 2.5], 1.0),
        ("min", ["b", "a"], "a"),
        ("max", [[3, 1, 2]], 3),
        ("max", [2, 1.5], 2.0),
        ("max", [["a"]], "a"),
        ("keys", [{"b": 1, "a": 2}], ["b", "a"]),
        ("values", [{"b": 1, "a": 2}], [1, 2]),
        ("entries", [{"b": 1, "a": None}], [["b", 1], ["a", None]]),
        ("entries", [{}], []),
        ("from_entries", [[["a", 1], ["b", 2], ["a", 3]]], {"a": 3, "b": 2}),
        ("from_entries", [[]], {}),
        ("has", [{"a": None}, "a"], True),
        ("has", [{"a": None}, "b"], False),
        ("merge", [{"a": 1, "b": 2}, {"b": 3, "c": 4}], {"a": 1, "b": 3, "c": 4}),
        ("without", [{"a": 1, "b": 2}, "a"], {"b": 2}),
        ("without", [{"a": 1, "b": 2, "c": 3}, ["a", "c", "z"]], {"b": 2}),
    ],
)
def test_what_they_give_and_that_they_change_nothing(name: str, arguments: list, value: object) -> None:
    before = copy.deepcopy(arguments)
    assert same_value(call(name, *arguments), value)
    assert arguments == before


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("push", ["a", 1], "argument 1 of `push` must be list, got str"),
        ("insert", [[1], 2, 0], "`insert` can't insert at place 2: the list has 1 item"),
        ("insert", [[1, 2], -3, 0], "`insert` can't insert at place -3: the list has 2 items"),
        ("insert", [[1], 0.0, 0], "argument 2 of `insert` must be int, got float"),
        ("remove", [[], 0], "`remove` can't remove place 0: the list has 0 items"),
        ("remove", [[1, 2], 2], "`remove` can't remove place 2: the list has 2 items"),
        ("reverse", ["abc"], "argument 1 of `reverse` must be list, got str"),
        ("flat", [[[1], 2]], "`[1]` of argument 1 of `flat` must be list, got int"),
        ("zip", [[1], {}], "argument 2 of `zip` must be list, got record"),
        ("first", ["abc"], "argument 1 of `first` must be list, got str"),
        ("range", [0, 1, 0], "`range` can't take steps of 0"),
        ("range", [0, 1.0], "argument 2 of `range` must be int, got float"),
        ("range", [0, 10_000_001], "a list can't have over 10,000,000 entries"),
        ("range", [-(2**63), 2**63 - 1], "a list can't have over 10,000,000 entries"),
        ("range", [2**63 - 1, -(2**63), -1], "a list can't have over 10,000,000 entries"),
        ("sum", [[2**63 - 1, 1]], "the result of `sum` is over 64 bits"),
        ("sum", [[1, "2"]], "`[1]` of argument 1 of `sum` must be a number, got str"),
        ("sum", [[True]], "`[0]` of argument 1 of `sum` must be a number, got bool"),
        ("min", [[]], "`min` of an empty list: there is nothing to choose from"),
        (
            "max",
            [[1, "a"]],
            "`max` can't put numbers and texts in one order: the items must be all numbers or all texts",
        ),
        ("max", [[1, None]], "`max` can't put null in order: the items must be numbers or texts"),
        ("min", [True, False], "argument 1 of `min` must be int, float or str, got bool"),
        ("min", [1, "a"], "argument 2 of `min` must be int or float, got str"),
        ("min", ["abc"], "argument 1 of `min` must be list, got str"),
        ("max", [[1.0, math.nan]], "`max` can't put nan in order: it is no number"),
        ("keys", [[1]], "argument 1 of `keys` must be record, got list"),
        ("from_entries", [[["a", 1], "b"]], "`[1]` of argument 1 of `from_entries` must be [key, value], got str"),
        ("from_entries", [[["a"]]], "`[0]` of argument 1 of `from_entries` must be [key, value], got 1 item"),
        ("from_entries", [[[1, 2]]], "the key in `[0]` of argument 1 of `from_entries` must be str, got int"),
        ("has", [{}, 1], "argument 2 of `has` must be str, got int"),
        ("merge", [{}, None], "argument 2 of `merge` must be record, got null"),
        ("without", [{}, 1], "argument 2 of `without` must be str or list<str>, got int"),
        ("without", [{}, ["a", 1]], "`[1]` of argument 2 of `without` must be str, got int"),
    ],
)
def test_what_is_wrong_is_a_stop_that_says_what_was_wanted(name: str, arguments: list, message: str) -> None:
    assert stop_of(name, *arguments) == message


def test_sorting_is_stable_and_upward() -> None:
    words = ["pear", "fig", "apple", "kiwi"]
    assert call("_sort_by", words, [4, 3, 5, 4]) == ["fig", "pear", "kiwi", "apple"]
    assert call("_sort_by", words, words) == ["apple", "fig", "kiwi", "pear"]
    assert call("_sort_by", [1, 2, 3], [2.5, -1, 1]) == [2, 3, 1]
    assert words == ["pear", "fig", "apple", "kiwi"]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)))
def test_sorted_numbers_are_in_order(numbers: list) -> None:
    ordered = call("_sort_by", numbers, list(numbers))
    assert all(a <= b for a, b in pairwise(ordered))
    places = call("_sort_by", list(range(len(numbers))), numbers)
    assert [numbers[place] for place in places] == ordered


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            [1, "a"],
            "`sort` can't put numbers and texts in one order: what it sorts by must be all numbers or all texts",
        ),
        ([True, False], "`sort` can't put bool in order: what it sorts by must be numbers or texts"),
        ([[1], [2]], "`sort` can't put list in order: what it sorts by must be numbers or texts"),
        ([1.0, math.nan], "`sort` can't put nan in order: it is no number"),
    ],
)
def test_what_has_no_order_is_a_stop(keys: list, message: str) -> None:
    assert stop_of("_sort_by", keys, keys) == message


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([1, 1.0, True, "1", 1], [1, True, "1"]),
        ([[1], [1.0], [True]], [[1], [True]]),
        ([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}, {"a": 1}], [{"a": 1, "b": 2}, {"a": 1}]),
        ([None, False, 0, "", [], {}, None], [None, False, 0, "", [], {}]),
        ([b"a", "a", b"a"], [b"a", "a"]),
        ([0.0, -0.0, 0], [0.0]),
    ],
)
def test_unique_keeps_the_first_of_equal_values(values: list, kept: list) -> None:
    assert same_value(call("_unique_by", values, values), kept)


@given(st.lists(NESTED))
def test_unique_agrees_with_the_languages_equality(values: list) -> None:
    kept = call("_unique_by", values, values)
    assert all(any(equal(value, other) for other in kept) for value in values)
    assert not any(equal(a, b) for place, a in enumerate(kept) for b in kept[:place])


def test_unique_compares_functions_and_markup_and_keeps_each_nan() -> None:
    one, other = Closure(1), Closure(2)
    values = [one, other, Closure(1), BuiltinFunction("len"), BuiltinFunction("len"), Markup("a"), Markup("a")]
    assert len(call("_unique_by", values, values)) == 4
    assert len(call("_unique_by", [math.nan, math.nan], [math.nan, math.nan])) == 2


def test_unique_takes_values_nested_100_000_deep() -> None:
    def deep(inside: object) -> object:
        for _ in range(100_000):
            inside = [inside]
        return inside

    values = [deep(1), deep(2), deep(1.0)]
    assert len(call("_unique_by", values, values)) == 2


def test_groups_stand_in_the_order_of_their_first_items() -> None:
    assert call("_group_by", [1, 2, 3], ["b", "a", "b"]) == {"b": [1, 3], "a": [2]}
    assert list(call("_group_by", [1, 2, 3], ["b", "a", "b"])) == ["b", "a"]
    assert stop_of("_group_by", [1], [1]) == "the function given to `group_by` must give str, got int"


def test_a_function_that_must_give_a_bool_is_named_with_its_builtin() -> None:
    assert call("_verdict", True, "filter") is True
    assert stop_of("_verdict", 1, "filter") == "the function given to `filter` must give bool, got int"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Err({"kind": "unique", "message": "…"}, "db.exec"), "unique"),
        ({"kind": "busy", "message": "…"}, "busy"),
        (Err({"kind": "json", "message": "…"}, "from_json"), "other"),
        (Err("text"), "other"),
        (Err({"kind": 1}), "other"),
        ("text", "other"),
        (None, "other"),
        ([], "other"),
    ],
)
def test_the_kind_of_an_error_of_the_database(error: object, kind: str) -> None:
    assert call("db.error_kind", error) == kind


def test_lists_stay_under_10_million_items() -> None:
    many = [None] * 10_000_000
    for name, arguments in (("push", [many, 1]), ("insert", [many, 0, 1]), ("flat", [[many, [1]]])):
        with pytest.raises(Stop, match="a list can't have over 10,000,000 entries"):
            call(name, *arguments)
