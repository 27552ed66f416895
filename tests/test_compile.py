"""Compiling never fails, whatever the text: each gives a Module that verifies, or errors that say why not."""

from __future__ import annotations

import gc
import random
import re
from pathlib import Path

import pytest

from compiler.compile import compile_program, run_passes
from compiler.diagnostics import Diagnostics
from compiler.source import Source, SourceError
from qasm.module import Module
from qasm.verifier import verify

PROGRAMS = sorted((Path(__file__).resolve().parent / "lang").rglob("*.qwe"))
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


def load(path: str) -> Source:
    raise SourceError("is not there")


def compiled(text: str) -> tuple[Module | None, Diagnostics]:
    diagnostics = Diagnostics()
    return run_passes(Source("main.qwe", text), load, "main", diagnostics), diagnostics


def mutant(chance: random.Random, texts: list[str]) -> str:
    """A program with one to three of its tokens taken out, put in, or put in place of others."""
    tokens = TOKEN.findall(chance.choice(texts))
    for _ in range(chance.randint(1, 3)):
        other = TOKEN.findall(chance.choice(texts))
        place, start = chance.randrange(len(tokens) + 1), chance.randrange(len(other))
        match chance.randrange(3):
            case 0:
                del tokens[place : place + chance.randint(1, 4)]
            case 1:
                tokens[place:place] = other[start : start + chance.randint(1, 12)]
            case 2:
                tokens[place : place + 1] = other[start : start + 1]
    return "".join(tokens)


@pytest.mark.parametrize("seed", range(8))
def test_programs_with_mistakes_compile_to_errors_and_others_to_modules_that_verify(seed):
    texts = [path.read_text("utf-8") for path in PROGRAMS]
    chance = random.Random(seed)
    for _ in range(40):
        text = mutant(chance, texts)
        module, diagnostics = compiled(text)
        assert (module is None) == diagnostics.has_errors, text
        if module is not None:
            verify(module)


@pytest.mark.parametrize(
    ("opening", "middle", "closing"),
    [
        ("[", "1", "]"),
        ("{ a: ", "1", " }"),
        ("f(", "1", ")"),
        ("(() => ", "1", ")()"),
        ("match 1 { _ => ", "1", " }"),
        ("if true { ", "1", " } else { 2 }"),
        ("x => ", "1", ""),
        ("for x in xs => ", "1", ""),
        ("`${", "1", "}`"),
        ("<b>{", "1", "}</b>"),
        ("<b>", "1", "</b>"),
        ("f(1, [", "2", "])[0]"),
        ("1 + (", "2", ")"),
        ("g() ?? (", "2", ")"),
        ("!(", "true", ")"),
        ("xs | map(x => ", "1", ")"),
    ],
)
def test_nesting_as_deep_as_the_parser_allows_compiles(opening, middle, closing):
    head = "let xs = [1]\nfn f(x, y = 1) = x\nfn g() = err(1)\n"
    levels = 1
    deepest = 0
    # The deepest nest that the parser takes, found by halves; what it refuses is refused in words.
    for step in (128, 64, 32, 16, 8, 4, 2, 1):
        count = levels + step
        module, diagnostics = compiled(f"{head}let deep = {opening * count}{middle}{closing * count}\n")
        codes = {found.code for found in diagnostics.in_order() if found.severity == "error"}
        if module is None:
            assert codes, "no Module, and no error"
            assert "Q0990" not in codes
        else:
            verify(module)
            levels = deepest = count
    assert deepest >= 60


def test_a_failure_of_a_pass_is_an_error_in_words(monkeypatch):
    def broken(*arguments: object) -> None:
        raise KeyError("inside")

    monkeypatch.setattr("compiler.checker.check", broken)
    diagnostics = Diagnostics()
    assert compile_program(Source("main.qwe", "print(1)\n"), load, "main", diagnostics) is None
    assert [str(found) for found in diagnostics.in_order()] == [
        "main.qwe:1: error: the compiler can't compile this program: that is a mistake in Quillo, please report it"
    ]


def test_where_a_program_has_errors_the_failure_of_a_later_pass_adds_none(monkeypatch):
    def broken(*arguments: object) -> None:
        raise KeyError("inside")

    monkeypatch.setattr("compiler.checker.check", broken)
    diagnostics = Diagnostics()
    assert compile_program(Source("main.qwe", "print(1\n"), load, "main", diagnostics) is None
    assert all(found.code != "Q0991" for found in diagnostics.in_order())


@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.parametrize("text", ["print(1)\n", "print(1\n"])
def test_the_collector_is_left_as_it_was_found(collects, text):
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        compile_program(Source("main.qwe", text), load, "main", Diagnostics())
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
