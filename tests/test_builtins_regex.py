"""The builtins that take a regular expression."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qvm.values import TEXT_LIMIT
from tests.native_calls import call, stop_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("text", "regex", "found"),
    [
        ("due 2026-07-28", r"(\d+)-(\d+)", ["2026-07", "2026", "07"]),
        ("none", r"\d", None),
        ("abc", "", [""]),
        ("a", "(a)|(b)", ["a", "a", ""]),
        ("añb", "ñ(.)", ["ñb", "b"]),
        ("😀x", ".", ["😀"]),
        ("ABC", "(?i)b", ["B"]),
        ("a\nb", "(?m)^b$", ["b"]),
        ("a\nb", "a.b", None),
        ("a\nb", "(?s)a.b", ["a\nb"]),
    ],
)
def test_the_first_match_with_its_groups(text: str, regex: str, found: list[str] | None) -> None:
    assert call("match_text", text, regex) == found


@pytest.mark.parametrize(
    ("text", "regex", "found"),
    [
        ("a=1, b=2", r"(\w)=(\d)", [["a=1", "a", "1"], ["b=2", "b", "2"]]),
        ("none", r"\d", []),
        ("äb", "", [[""], [""], [""]]),
        ("aab", "a*", [["aa"], [""], [""]]),
        ("äöü", ".", [["ä"], ["ö"], ["ü"]]),
    ],
)
def test_all_matches(text: str, regex: str, found: list[list[str]]) -> None:
    assert call("match_all", text, regex) == found


@pytest.mark.parametrize(
    ("text", "regex", "to", "made"),
    [
        ("Lovelace, Ada", r"(\w+), (\w+)", "$2 $1", "Ada Lovelace"),
        ("abc", "b", "[$0]", "a[b]c"),
        ("abc", "b", "$$1", "a$1c"),
        ("abc", "b", "$", "a$c"),
        ("abc", "b", "$x$", "a$x$c"),
        ("abc", "(b)", "$12", "ab2c"),
        ("abcdefghijkl", "(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)", "$11$1", "kal"),
        ("ac", "a(b)?c", "[$1]", "[]"),
        ("añ", "", "-", "-a-ñ-"),
        ("none", r"\d", "x", "none"),
        ("a1b22", r"\d+", "", "ab"),
    ],
)
def test_replacing(text: str, regex: str, to: str, made: str) -> None:
    assert call("replace_text", text, regex, to) == made


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("match_text", [1, "a"], "argument 1 of `match_text` must be str, got int"),
        ("match_all", ["a", None], "argument 2 of `match_all` must be str, got null"),
        ("replace_text", ["a", "a", 1], "argument 3 of `replace_text` must be str, got int"),
        ("match_text", ["a", "("], "argument 2 of `match_text` is no regular expression: missing ): ("),
        (
            "match_all",
            ["a", "a(?=b)"],
            "argument 2 of `match_all` is no regular expression: invalid perl operator: (?=",
        ),
        (
            "match_all",
            ["a", r"(a)\1"],
            r"argument 2 of `match_all` is no regular expression: invalid escape sequence: \1",
        ),
        ("replace_text", ["a", "a", "$1"], "argument 3 of `replace_text` has $1: the regular expression has 0 groups"),
        ("replace_text", ["a", "(a)", "$2"], "argument 3 of `replace_text` has $2: the regular expression has 1 group"),
    ],
)
def test_what_is_wrong_is_a_stop_in_words(name: str, arguments: list, message: str) -> None:
    assert stop_of(name, *arguments) == message


def test_a_bad_pattern_writes_nothing_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    stop_of("match_text", "a", "[b-a]")
    assert capfd.readouterr() == ("", "")


def test_a_pattern_that_makes_other_engines_hang_is_done_at_once() -> None:
    assert call("match_text", "a" * 100_000 + "!", "(a|aa)+$") is None
    assert call("match_text", "a" * 100_000, "(a*)*b") is None


def test_replacing_stays_under_64_mib() -> None:
    assert stop_of("replace_text", "a" * 100, "a", "x" * (TEXT_LIMIT // 64)) == "a text can't grow over 64 MiB"


@given(TEXTS, st.sampled_from([".", "(?s).", "", "[a-z]+", r"\w", r"(\s)|(\d)"]))
def test_replacing_each_match_by_itself_changes_nothing(text: str, regex: str) -> None:
    assert call("replace_text", text, regex, "$0") == text
    assert all(found[0] in text for found in call("match_all", text, regex))
