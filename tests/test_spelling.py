"""Names that somebody may have meant: near ones are offered, far ones are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.spelling import ELSEWHERE, distance, list_of, nearest

KNOWN = ["total", "print", "upper", "index_of", "starts_with", "x", "id", "note"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("totl", "total"),
        ("pritn", "print"),
        ("uper", "upper"),
        ("Upper", "upper"),
        ("indexof", "index_of"),
        ("start_with", "starts_with"),
        ("nte", "note"),
        ("y", None),
        ("zz", None),
        ("completely_else", None),
        ("total", None),
    ],
)
def test_a_name_is_offered_only_when_it_is_near(name: str, meant: str | None) -> None:
    assert nearest(name, KNOWN) == meant


def test_words_of_other_languages_are_known() -> None:
    assert nearest("None", KNOWN, ELSEWHERE) == "null"
    assert nearest("println", KNOWN, ELSEWHERE) == "print"
    assert nearest("append", KNOWN, ELSEWHERE) is None  # `push` is not known here


def test_of_equally_near_names_the_first_in_the_alphabet_is_offered() -> None:
    assert nearest("cat", ["rat", "bat", "hat"]) == "bat"


words = st.text(alphabet="abc_", max_size=8)


@given(words, words)
def test_distances_are_even_handed(a: str, b: str) -> None:
    assert distance(a, b, 10) == distance(b, a, 10)
    assert (distance(a, b, 10) == 0) is (a == b)


@given(words, words, st.integers(0, 8))
def test_a_limit_only_hides_what_is_over_it(a: str, b: str, limit: int) -> None:
    exact = distance(a, b, 10)
    assert exact is not None
    assert distance(a, b, limit) == (exact if exact <= limit else None)


def test_lists_of_names_are_cut() -> None:
    assert list_of(["a", "b"]) == "`a`, `b`"
    assert list_of("abc", most=2) == "`a`, `b`, …"
