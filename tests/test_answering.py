"""`answering(answer, f)`: what a test may say in the person's place, and where it may not be said."""

from __future__ import annotations

import pytest

from server.render import render
from tests.mcp.spawned import commanded
from tests.programs import compiled, ran

QUESTIONS = """
fn sure() -> bool = confirm("Sure?")
fn who() -> str = about("Who can see it?", { public: "Everyone", draft: "Only me" }, "draft")
"""


def printed(code: str) -> list[str]:
    done = ran(compiled(QUESTIONS + code))
    assert done.stop is None, done.stop
    return [line.rstrip("\n") for line in done.lines]


def stopped(code: str) -> str:
    done = ran(compiled(QUESTIONS + code))
    assert done.stop is not None
    return render(done.stop, "main.qwe")


def test_it_answers_within_the_function_and_not_after_it() -> None:
    assert printed("print(answering(false, () => sure()), sure())") == ["false true"]
    assert printed('print(answering("public", () => who()), who())') == ["public draft"]


def test_of_two_the_inner_one_counts_and_each_answers_its_own_kind() -> None:
    assert printed("print(answering(true, () => [answering(false, sure), sure()]))") == ["[false, true]"]
    assert printed('print(answering(false, () => answering("public", () => [sure(), who()])))') == ['[false, "public"]']
    assert printed('print(answering("public", () => sure()))') == ["true"]


def test_an_error_of_the_function_is_handed_on_and_ends_the_answering() -> None:
    code = 'let r = answering(false, () => int("x"))\nprint(is_err(r), sure())'
    assert printed(code) == ["true true"]
    assert printed('print(answering(false, () => int("x") + 1) ?? "failed", sure())') == ["failed true"]


def test_a_text_that_is_no_key_of_the_choices_is_a_stop() -> None:
    message = stopped('answering("all", () => who())').split("\n")[0]
    assert message == "line 3: `answering` gives `all`, and the choices of this `about` are `public`, `draft`"


@pytest.mark.parametrize("answer", ["1", "null", "[true]"])
def test_other_answers_are_refused_also_where_the_checker_does_not_see_them(answer: str) -> None:
    assert "argument 1 of `answering` must be bool or str, got" in stopped(
        f"fn hidden(x) = x\nanswering(hidden({answer}), () => 1)"
    )


def test_in_a_tools_call_it_stops_the_call(tmp_path) -> None:
    text = '/// Cheats.\nfn mcp cheat() -> bool = answering(true, () => confirm("Sure?"))\n'
    (tmp_path / "main.qwe").write_text(text, "utf-8")
    done = commanded("ask", "main.qwe", "cheat", "--no", cwd=tmp_path)
    assert done.returncode == 1
    assert "`answering` is for tests: in a tool's call the person answers" in done.stdout + done.stderr


def test_a_test_block_answers_the_questions_of_the_tool_it_calls(tmp_path) -> None:
    text = """/// Asks.
fn mcp asks() -> bool = confirm("Sure?")

test "no" { assert !answering(false, () => asks()) }
test "yes" { assert answering(true, () => asks()) }
test "default" { assert asks() }
"""
    (tmp_path / "main.qwe").write_text(text, "utf-8")
    done = commanded("test", "main.qwe", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "3 passed")
