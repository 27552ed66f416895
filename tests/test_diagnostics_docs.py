"""The pages of the diagnostics: one for each code, and each wrong and right program does what its page says."""

from __future__ import annotations

import re

import pytest

from compiler import compile as compiling
from compiler.codes import CODES
from compiler.diagnostics import Diagnostic, Diagnostics
from compiler.session import Session
from compiler.source import Source, SourceError
from tools import make_diagnostics
from tools.make_diagnostics import MAIN, SESSION, SESSION_TYPE, Page, PageError, read_page, read_pages

PAGES = read_pages()
# What only a mistake in the compiler brings about: no program shows it.
GUARDS = {"Q0990": RecursionError(), "Q0991": ValueError("a mistake")}
SHOWN = [page for page in PAGES if page.code not in GUARDS]
# These are written to the letter in `docs/tools.md`, and are longer than messages should be.
LONG = {"Q0501", "Q0502"}


def found_in(files: dict[str, str]) -> list[Diagnostic]:
    def load(path: str) -> Source:
        if path not in files:
            raise SourceError("is not there")
        return Source(path, files[path])

    diagnostics = Diagnostics()
    if SESSION in files:
        Session(load).compile(files[SESSION], diagnostics)
        return diagnostics.in_order()
    if SESSION_TYPE in files:
        Session(load).type_of(files[SESSION_TYPE], diagnostics)
        return diagnostics.in_order()
    compiling.compile_program(Source(MAIN, files[MAIN]), load, "main", diagnostics)
    return diagnostics.in_order()


def test_each_code_has_a_page_and_each_page_a_code() -> None:
    assert {page.code: page.title for page in PAGES} == CODES


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.code)
def test_the_wrong_program_gives_this_code_and_what_the_page_shows(page: Page) -> None:
    found = found_in(page.wrong)
    assert "\n".join(map(str, found)) == page.shown
    assert {one.code for one in found} == {page.code}


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.code)
def test_one_mistake_gives_one_diagnostic(page: Page) -> None:
    assert len(found_in(page.wrong)) == 1


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.code)
def test_the_right_program_gives_nothing(page: Page) -> None:
    assert found_in(page.right) == []


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.code)
def test_a_message_is_short_and_speaks_of_the_language(page: Page) -> None:
    for one in found_in(page.wrong):
        assert len(one.message) <= 100 or page.code in LONG
        said = f"{one.message} {one.hint}"
        assert not re.search(
            r"\b(None|True|False|dict|tuple|string|integer|boolean|object|[A-Z][a-z]+[A-Z]\w*)\b", said
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_a_page_says_in_few_words_what_it_means_and_what_to_do(page: Page) -> None:
    paragraphs = page.meaning.split("\n\n")
    assert len(paragraphs) == 2
    assert all(10 < len(paragraph) < 600 and paragraph.endswith((".", ".)")) for paragraph in paragraphs)


@pytest.mark.parametrize("code", GUARDS)
def test_a_failing_pass_is_told_without_a_program(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_arguments: object) -> None:
        raise GUARDS[code]

    monkeypatch.setattr(compiling, "run_passes", fails)
    assert [one.code for one in found_in({MAIN: "print(1)\n"})] == [code]
    page = next(page for page in PAGES if page.code == code)
    assert (page.wrong, page.right, page.shown) == ({}, {}, "")


def test_the_list_is_what_the_pages_make(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_diagnostics.main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_the_list_tells_warnings_from_errors() -> None:
    rows = make_diagnostics.index(PAGES).split("\n")
    assert "- [Q0201](Q0201.md): a name that nothing has" in rows
    assert "- [Q0220](Q0220.md): a variable that is never used (a warning)" in rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Text.\n", "Q0201.md does not begin with `# Q0201: …`"),
        ("# Q0202: a name\n", "Q0201.md does not begin with `# Q0201: …`"),
        ("# Q0201: a name\n\n```quillo maybe\n1\n```\n", "Q0201.md has a fence of no known kind: `quillo maybe`"),
    ],
)
def test_a_page_that_is_not_written_as_pages_are_is_named(text: str, message: str) -> None:
    with pytest.raises(PageError) as caught:
        read_page("Q0201", text)
    assert str(caught.value) == message
