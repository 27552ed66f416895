"""The builtins of section "text": what they give, at the edges too, and what stops them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qvm.values import TEXT_LIMIT
from tests.native_calls import call, same_value, stop_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
BIG = "x" * (TEXT_LIMIT // 2 + 1)


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("len", ["héllo"], 5),
        ("len", ["😀"], 1),
        ("len", [""], 0),
        ("upper", ["straße é"], "STRASSE É"),
        ("lower", ["ÅB"], "åb"),
        ("trim", [" \t\u00a0a b\r\n"], "a b"),
        ("trim_start", [" a "], "a "),
        ("trim_end", [" a "], " a"),
        ("split", ["a,b,,c", ","], ["a", "b", "", "c"]),
        ("split", ["", ","], [""]),
        ("split", ["abc", ""], ["a", "b", "c"]),
        ("split", ["", ""], []),
        ("split", ["a--b-c", "--"], ["a", "b-c"]),
        ("join", [["a", "b"]], "ab"),
        ("join", [["a", "b"], ", "], "a, b"),
        ("join", [[], ", "], ""),
        ("join", [["a", 1, None, [2.5]], "-"], "a-1-null-[2.5]"),
        ("replace", ["aXbX", "X", "-"], "a-b-"),
        ("replace", ["ab", "", "-"], "-a-b-"),
        ("replace", ["aaa", "aa", "b"], "ba"),
        ("contains", ["milk", "il"], True),
        ("contains", ["milk", ""], True),
        ("contains", ["milk", "x"], False),
        ("starts_with", ["milk", "mi"], True),
        ("starts_with", ["milk", "ilk"], False),
        ("ends_with", ["milk", "lk"], True),
        ("ends_with", ["milk", "mil"], False),
        ("index_of", ["banana", "n"], 2),
        ("index_of", ["banana", "x"], None),
        ("index_of", ["héé", "é"], 1),
        ("slice", ["notebook", 4], "book"),
        ("slice", ["notebook", 0, 4], "note"),
        ("slice", ["notebook", -4], "book"),
        ("slice", ["notebook", 2, -2], "tebo"),
        ("slice", ["abc", 5, 9], ""),
        ("slice", ["abc", -9, 2], "ab"),
        ("slice", ["abc", 2, 1], ""),
        ("repeat", ["ab", 3], "ababab"),
        ("repeat", ["ab", 0], ""),
        ("repeat", ["", 2**62], ""),
        ("pad_start", ["7", 3, "0"], "007"),
        ("pad_start", ["7", 3], "  7"),
        ("pad_start", ["2026", 3], "2026"),
        ("pad_start", ["x", 6, "ab"], "ababax"),
        ("pad_start", ["x", -1, ""], "x"),
        ("pad_end", ["x", 6, "ab"], "xababa"),
        ("pad_end", ["é", 2], "é "),
        ("lines", ["a\nb\r\n\nc\n"], ["a", "b", "", "c"]),
        ("lines", [""], []),
        ("lines", ["\n"], [""]),
        ("lines", ["a\rb"], ["a\rb"]),
        ("lines", ["a\r"], ["a\r"]),
        ("chars", ["añ😀"], ["a", "ñ", "😀"]),
        ("chars", [""], []),
        ("slug", ["Crème brûlée: 10 Steps!"], "creme-brulee-10-steps"),
        ("slug", ["l'été — Straße"], "lete-strasse"),
        ("slug", ["Привет мир"], "привет-мир"),
        ("slug", ["हिन्दी"], "हिन्दी"),
        ("slug", ["--- !"], ""),
        ("escape_html", ["<b>&\"'"], "&lt;b&gt;&amp;&quot;&#39;"),
        ("format_number", [1234567], "1,234,567"),
        ("format_number", [999], "999"),
        ("format_number", [-1000], "-1,000"),
        ("format_number", [1234.5], "1,234.5"),
        ("format_number", [2.0], "2"),
        ("format_number", [1234, 2], "1,234.00"),
        ("format_number", [0.125, 2], "0.13"),
        ("format_number", [-0.125, 2], "-0.13"),
        ("format_number", [1.005, 2], "1.01"),
        ("format_number", [2.5, 0], "3"),
        ("format_number", [-0.4, 0], "0"),
        ("format_number", [1e21], "1,000,000,000,000,000,000,000"),
        ("format_number", [1e-9], "0.000000001"),
        ("format_number", [-(2**63)], "-9,223,372,036,854,775,808"),
        ("format_number", [math.inf, 2], "inf"),
        ("format_number", [0.5, 100], "0.5" + "0" * 99),
        ("format_number", [1.5e300], "1,500" + ",000" * 99),
    ],
)
def test_what_they_give(name: str, arguments: list, value: object) -> None:
    assert same_value(call(name, *arguments), value)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("upper", [1], "argument 1 of `upper` must be str, got int"),
        ("lower", [None], "argument 1 of `lower` must be str, got null"),
        ("trim", [["a"]], "argument 1 of `trim` must be str, got list"),
        ("split", ["a", 1], "argument 2 of `split` must be str, got int"),
        ("join", ["abc"], "argument 1 of `join` must be list, got str"),
        ("join", [["a"], 1], "argument 2 of `join` must be str, got int"),
        ("replace", ["a", "b", {}], "argument 3 of `replace` must be str, got record"),
        ("contains", [1, 1], "argument 1 of `contains` must be str or list, got int"),
        ("contains", ["a", 1], "argument 2 of `contains` must be str, got int"),
        ("index_of", ["a", None], "argument 2 of `index_of` must be str, got null"),
        ("len", [1], "argument 1 of `len` must be str, list, record or bytes, got int"),
        ("len", [None], "argument 1 of `len` must be str, list, record or bytes, got null"),
        ("slice", ["a", 1.0], "argument 2 of `slice` must be int, got float"),
        ("slice", [{}, 1], "argument 1 of `slice` must be str or list, got record"),
        ("repeat", ["a", -1], "`repeat` can't repeat a text -1 times"),
        ("repeat", ["a", True], "argument 2 of `repeat` must be int, got bool"),
        ("pad_start", ["a", 3, ""], "`pad_start` has nothing to fill with: argument 3 is empty"),
        ("format_number", ["1"], "argument 1 of `format_number` must be float, got str"),
        ("format_number", [1, -1], "`format_number` can show 0 to 100 digits after the point, not -1"),
        ("format_number", [1, 1.0], "argument 2 of `format_number` must be int or null, got float"),
    ],
)
def test_what_is_wrong_is_a_stop_that_says_what_was_wanted(name: str, arguments: list, message: str) -> None:
    assert stop_of(name, *arguments) == message


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("repeat", ["ab", 2**62]),
        ("repeat", ["é", TEXT_LIMIT // 2 + 1]),
        ("join", [[BIG, BIG]]),
        ("join", [[[BIG]] * 1000]),
        ("join", [["a"] * 3, BIG]),
        ("replace", ["aaaa", "a", BIG]),
        ("pad_start", ["a", 2**62]),
        ("pad_end", ["a", TEXT_LIMIT, "é"]),
        ("escape_html", ["&" * (TEXT_LIMIT // 4)]),
    ],
)
def test_no_text_grows_over_64_mib(name: str, arguments: list) -> None:
    assert stop_of(name, *arguments) == "a text can't grow over 64 MiB"


def test_no_list_of_characters_grows_over_10_million_items() -> None:
    text = "x" * 10_000_001
    assert stop_of("chars", text) == "a list can't have over 10,000,000 entries"
    assert stop_of("split", text, "") == "a list can't have over 10,000,000 entries"
    assert stop_of("lines", "\n" * 10_000_001) == "a list can't have over 10,000,000 entries"


@given(TEXTS, TEXTS)
def test_what_split_parts_join_puts_together(text: str, separator: str) -> None:
    assert call("join", call("split", text, separator), separator if separator else "") == text


@given(TEXTS)
def test_a_slug_holds_letters_digits_and_single_hyphens(text: str) -> None:
    slug = call("slug", text)
    assert call("slug", slug) == slug
    assert not slug.startswith("-")
    assert not slug.endswith("-")
    assert "--" not in slug
    assert not any(c.isspace() or c in "/?#&<>\"'" for c in slug)
