"""Whatever the text, the parser ends, raises nothing, and reports places in the text; in time linear in its length."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from compiler import parser
from compiler.diagnostics import MOST, Diagnostics
from compiler.lexer import Lexer
from compiler.parser import parse
from compiler.source import Source
from tests.test_parser import NOTES, every_node
from tests.trees import mistakes

PROGRAMS = [NOTES, *(path.read_text() for path in sorted((Path(__file__).parent / "lang").rglob("*.qwe")))]

PIECES = [
    *"()[]{}<>`\"'\\|?.!-+*/%=@#;:,\n\t \0$&é",
    *("</", "/>", "${", "=>", "->", "==", "??", "?.", "..", "...", "||", "&&", "//", "/*", "*/", "///", "//!", "<!--"),
    *(
        "let ",
        "fn ",
        "if ",
        "else ",
        "for ",
        " in ",
        "match ",
        "return ",
        "while ",
        "route GET /",
        "type ",
        "use ",
        "import ",
    ),
    *(
        "service ",
        "component ",
        "state ",
        "reply ",
        "test ",
        "assert ",
        " with ",
        " mcp ",
        "sql`",
        "private ",
        "server ",
    ),
    *(
        "<p>",
        "</p>",
        "<br>",
        "<script>",
        "</script>",
        "<Card/>",
        "@click={",
        "1.",
        "0x",
        "1e",
        "err(",
        "not ",
        "++",
        "elif ",
    ),
    *("<!DOCTYPE html>", "\u200b", "_", "\r"),
]


def mutant(rng: random.Random) -> str:
    text = rng.choice(PROGRAMS)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([1, 1, 2, 5, 20, 80]))
        way = rng.randrange(5)
        if way == 0:
            text = text[:start] + text[end:]
        elif way == 1:
            text = text[:start] + rng.choice(PIECES) + text[start:]
        elif way == 2:
            text = text[:start] + text[start:end] + text[start:]
        elif way == 3:
            other = rng.choice(PROGRAMS)
            place = rng.randrange(len(other) + 1)
            text = text[:start] + other[place : place + rng.choice([3, 10, 40])] + text[start:]
        else:
            text = text[:start] + rng.choice(PIECES) + text[end:]
    return text


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_program_with_random_changes_is_read_to_its_end(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        text = mutant(rng)
        diagnostics = Diagnostics()
        file = parse(Source("main.qwe", text), diagnostics)
        found = diagnostics.in_order()
        assert file.has_errors == any(diagnostic.severity == "error" for diagnostic in found)
        assert sum(diagnostic.severity == "error" for diagnostic in found) <= MOST
        for diagnostic in found:
            assert 0 <= diagnostic.start < diagnostic.end <= len(text) + 1
            assert diagnostic.explained()
        for node in every_node(file.statements):
            assert 0 <= node.start <= node.end <= len(text)


@pytest.mark.parametrize("seed", range(4))
def test_words_and_signs_in_any_order_are_read_to_their_end(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        text = "".join(rng.choice([*PIECES, "a", " b ", "1", '"t"', "\n  ", "\n"]) for _ in range(rng.randrange(80)))
        parse(Source("main.qwe", text), Diagnostics())


@pytest.mark.slow
def test_every_beginning_of_a_program_is_read_to_its_end() -> None:
    for end in range(len(NOTES)):
        mistakes(NOTES[:end])


# --- linear time --------------------------------------------------------------------------------------------------

# Texts that once took time beyond measure, or could: each is a part that is repeated.
REPEATED = {
    "unclosed text": ('x = "', "a\\a", ""),
    "unclosed template": ("x = `", "a$\\`", ""),
    "round brackets": ("", "(", ""),
    "square brackets": ("", "[", ""),
    "records": ("x = ", "{ a: ", ""),
    "lambdas": ("", "(a, b) => ", ""),
    "almost lambdas": ("x = ", "(a, ", ""),
    "comments where a lambda may be": ("x = (a", "/* ( */ ", ""),
    "elements": ("x = ", "<b>", ""),
    "elements and code": ("x = ", "<b>{", ""),
    "crossed elements": ("x = ", "<b><i></b></i>", ""),
    "stray end tags": ("x = <b>", "</i>", "</b>"),
    "tags that never end": ("x = <p ", "a=1 ", ""),
    "quotes in a tag": ("x = <p ", 'a=" ', ""),
    "templates": ("", "`${", ""),
    "nested comments": ("", "/*", ""),
    "blank lines": ("", "\n", ""),
    "broken lines": ("", "let = 3\n", ""),
    "broken lines that open brackets": ("", "let let (\n", ""),
    "broken calls": ("", "foo(a b {\n", ""),
    "lines in an open bracket": ("x = (1 +\n", "2 3\n", ""),
    "closing brackets": ("", "}\n", ""),
    "functions without an end": ("", "fn f() {\n  a\n", ""),
    "functions without a brace": ("", "fn f()\n  a\n", ""),
    "broken heads": ("", "fn f(a b) {\n x\n}\n", ""),
    "holes": ("x = `", "${a b}", "`"),
    "holes in markup": ("x = <p>", "{a b}", "</p>"),
    "broken arms": ("match x {\n", "1 => => 2\n", "}"),
    "doc comments": ("", "/// a\n", ""),
    "semicolons": ("", ";", ""),
    "names": ("", "a ", ""),
    "slashes": ("x = ", "/ ", ""),
    "less-than in text": ("x = <p>", "< ", "</p>"),
    "lines that go on": ("a\n", "| b\n", ""),
    "heads": ("", "if ", ""),
    "results": ("let x: ", "fn() -> ", "int = 1"),
    "optional types": ("let x: int", "?", " = 1"),
    "templates over lines before broken lines": ("x = [", "`\n`, ", "]\nlet = 1\n"),
}


def work(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """How many tokens are made while a text is parsed: also those made again after an error."""
    made = 0
    start = Lexer._start

    def counting(lexer: Lexer, at: int, previous: str) -> None:
        start(lexer, at, previous)
        following = lexer.next_token

        def next_token() -> parser.Token:
            nonlocal made
            made += 1
            return following()

        lexer.next_token = next_token

    monkeypatch.setattr(Lexer, "_start", counting)
    parse(Source("main.qwe", text), Diagnostics())
    monkeypatch.undo()
    return made


@pytest.mark.parametrize("kind", REPEATED)
def test_the_work_grows_no_faster_than_the_text(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, part, after = REPEATED[kind]
    small = work(monkeypatch, before + part * 500 + after)
    large = work(monkeypatch, before + part * 2_000 + after)
    assert large <= 4 * small + 100
    assert large <= 4 * len(before + part * 2_000 + after) + 100
