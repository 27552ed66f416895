"""The codes of diagnostics: each that is used is listed, and each that is listed is used."""

from __future__ import annotations

import re
from pathlib import Path

from compiler.codes import CODES

ROOT = Path(__file__).resolve().parent.parent


def test_the_list_is_what_the_passes_and_the_commands_use() -> None:
    used = {
        code
        for path in (*ROOT.glob("compiler/*.py"), *ROOT.glob("cli/*.py"))
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
