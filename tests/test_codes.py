"""The codes of diagnostics: each that is used is listed, and each that is listed is used."""

from __future__ import annotations

import re
from pathlib import Path

from compiler.codes import CODES

COMPILER = Path(__file__).resolve().parent.parent / "compiler"


def test_the_list_is_what_the_passes_use() -> None:
    used = {
        code
        for path in COMPILER.glob("*.py")
        if path.name != "codes.py"
        for code in re.findall(r'"(Q\d{4})"', path.read_text("utf-8"))
    }
    assert used == set(CODES)


def test_titles_are_short_and_differ() -> None:
    titles = list(CODES.values())
    assert len(set(titles)) == len(titles)
    assert all(0 < len(title) <= 70 and not title.endswith(".") for title in titles)


def test_the_list_is_in_order() -> None:
    assert list(CODES) == sorted(CODES)
