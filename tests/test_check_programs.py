"""The programs of tests/check are reported on as they promise, on every line, and nowhere else."""

from __future__ import annotations

import pytest

from tests.check_programs import CheckProgram, check_programs, split_programs

PROGRAMS = list(check_programs())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_reports_what_it_promises_and_nothing_else(program: CheckProgram) -> None:
    assert program.found() == program.promised()


def test_a_promise_that_is_not_kept_is_seen() -> None:
    (program,) = split_programs("x", "print(1) // error: Q0201 nothing is called `print`")
    assert program.found() == []
    assert program.promised() == [("main.qwe", 1, "error Q0201 nothing is called `print`")]


def test_a_report_that_is_not_promised_is_seen() -> None:
    (program,) = split_programs("x", "print(totl)")
    assert program.promised() == []
    assert program.found() == [("main.qwe", 1, "error Q0201 nothing is called `totl`")]


def test_two_promises_may_stand_on_one_line() -> None:
    (program,) = split_programs("x", "print(ab, cd) // error: Q0201 one // warning: Q0220 two")
    assert [text for _, _, text in program.promised()] == ["error Q0201 one", "warning Q0220 two"]


def test_programs_of_one_file_keep_their_lines() -> None:
    first, second = split_programs("x", "// --- one\nprint(1)\n// --- two\nprint(totl)\n")
    assert (first.name, second.name) == ("x: one", "x: two")
    assert second.found() == [("main.qwe", 4, "error Q0201 nothing is called `totl`")]


def test_there_are_many() -> None:
    assert len(PROGRAMS) >= 150
