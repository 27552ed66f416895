"""The pages of the reference: every example does what its page says, and the pages are what the docs make."""

from __future__ import annotations

import pytest

from server.render import render
from tests.programs import compiled, ran
from tools import make_reference
from tools.prelude_reader import Example, read_prelude

EXAMPLES = [(entry.builtin.name, example) for entry in read_prelude() for example in entry.doc.examples]


def numbered(examples: list[tuple[str, Example]]) -> list[str]:
    """A name for each, which stays the same when an example of another builtin comes or goes."""
    seen: dict[str, int] = {}
    names = []
    for name, _ in examples:
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names


RUN = [(name, example) for name, example in EXAMPLES if example.output is not None]
SKETCHES = [(name, example) for name, example in EXAMPLES if example.output is None]


@pytest.mark.parametrize(("name", "example"), RUN, ids=numbered(RUN))
def test_an_example_prints_what_its_page_says(name: str, example: Example) -> None:
    done = ran(compiled(example.code))
    lines = [*done.lines, *([render(done.stop, "main.qwe")] if done.stop else [])]
    assert "\n".join(lines) == example.output


@pytest.mark.parametrize(("name", "example"), SKETCHES, ids=numbered(SKETCHES))
def test_a_sketch_checks(name: str, example: Example) -> None:
    assert compiled(example.code).functions


def test_every_public_builtin_is_shown_at_work() -> None:
    shown = {name for name, _ in EXAMPLES}
    assert {entry.builtin.name for entry in read_prelude() if not entry.builtin.hidden} - shown == {"ask"}


def test_the_pages_are_what_the_docs_make(capsys: pytest.CaptureFixture[str]) -> None:
    assert make_reference.main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_a_page_has_its_parts_in_order() -> None:
    page = make_reference.pages()["builtins/db.transaction.md"]
    parts = [line for line in page.split("\n") if line.startswith("#") and not line.startswith("###")]
    assert parts == ["# db.transaction", "## What it does", "## Example", "## Edge cases", "## Errors", "## See also"]
    assert "db.transaction(f: fn() -> T) -> T ! { kind: str, message: str }\n" in page
