"""The code builder finds branch depths and heights, leaves dead code out, and places what regions cost."""

from __future__ import annotations

import pytest

from compiler.code_builder import CodeBuilder
from qasm.instructions import decode


def listed(code: CodeBuilder) -> list[str]:
    encoded, _ = code.finish()
    return [" ".join((op.name, *map(str, operands))) for op, operands in decode(encoded)]


def test_a_function_that_neither_loops_nor_calls_pays_nothing():
    code = CodeBuilder()
    code.emit("INT", 1)
    code.emit("RETURN")
    assert listed(code) == ["INT 1", "RETURN"]


def test_a_function_that_calls_pays_for_all_its_instructions():
    code = CodeBuilder()
    code.emit("CALL", 3)
    code.emit("RETURN")
    assert listed(code) == ["CHARGE 3", "CALL 3", "RETURN"]


def test_a_loop_pays_for_its_own_instructions_each_turn_and_the_function_for_the_rest():
    code = CodeBuilder()
    outside = code.open("BLOCK", 0)
    turn = code.open("LOOP")
    code.emit("TRUE")
    code.branch("BR_IF", outside)
    code.branch("BR", turn)
    code.close()
    code.close()
    code.emit("NULL")
    code.emit("RETURN")
    assert listed(code) == [
        "CHARGE 7",
        "BLOCK 0",
        "LOOP",
        "CHARGE 4",
        "TRUE",
        "BR_IF 1",
        "BR 0",
        "END",
        "END",
        "NULL",
        "RETURN",
    ]


def test_a_loop_in_a_loop_is_not_paid_for_by_the_outer_one():
    code = CodeBuilder()
    outer = code.open("LOOP")
    inner = code.open("LOOP")
    code.emit("TRUE")
    code.branch("BR_IF", outer)
    code.branch("BR", inner)
    code.close()
    code.close()
    assert listed(code)[:6] == ["CHARGE 3", "LOOP", "CHARGE 3", "LOOP", "CHARGE 4", "TRUE"]


def test_what_is_never_reached_is_left_out():
    code = CodeBuilder()
    code.emit("TRUE")
    code.open("IF", 1)
    code.emit("INT", 1)
    code.emit("RETURN")
    code.emit("INT", 2)
    code.open("BLOCK", 1)
    code.emit("INT", 3)
    code.close()
    code.divide("ELSE")
    code.emit("INT", 4)
    code.close()
    code.emit("RETURN")
    assert listed(code) == ["TRUE", "IF 1", "INT 1", "RETURN", "ELSE", "INT 4", "END", "RETURN"]


def test_behind_a_block_that_nothing_leaves_there_is_nothing():
    code = CodeBuilder()
    code.open("BLOCK", 1)
    code.emit("NULL")
    code.emit("RETURN")
    code.close()
    code.emit("RETURN")
    assert listed(code) == ["BLOCK 1", "NULL", "RETURN", "END"]


def test_behind_a_try_whose_body_never_ends_there_is_the_caught_error():
    code = CodeBuilder()
    code.open("TRY", 1)
    code.emit("NULL")
    code.emit("RETURN")
    code.divide("CATCH")
    code.close()
    assert code.height == 1
    code.emit("RETURN")
    assert listed(code) == ["TRY 1", "NULL", "RETURN", "CATCH", "END", "RETURN"]


def test_an_item_that_is_not_there_can_not_be_taken():
    code = CodeBuilder()
    code.emit("INT", 1)
    with pytest.raises(AssertionError, match="ADD takes 2 of 1 items"):
        code.emit("ADD")


def test_a_block_can_not_take_what_lies_below_it():
    code = CodeBuilder()
    code.emit("INT", 1)
    code.open("BLOCK", 0)
    with pytest.raises(AssertionError, match="POP takes 1 of 0 items"):
        code.emit("POP")


def test_a_block_must_leave_its_results():
    code = CodeBuilder()
    code.open("BLOCK", 1)
    with pytest.raises(AssertionError, match="BLOCK ends with 0 items, and gives 1"):
        code.close()


def test_a_function_must_end():
    code = CodeBuilder()
    code.emit("NULL")
    with pytest.raises(AssertionError, match="past its end"):
        code.finish()


def test_the_line_table_has_a_pair_for_each_change_of_line():
    code = CodeBuilder()
    code.line = 4
    code.emit("INT", 1)
    code.emit("INT", 2)
    code.line = 6
    code.emit("ADD")
    code.line = 4
    code.emit("RETURN")
    assert code.finish()[1] == [(0, 4), (2, 6), (3, 4)]


def test_the_line_table_counts_the_charge_where_there_is_one():
    code = CodeBuilder()
    code.line = 2
    code.emit("CALL", 0)
    code.line = 3
    code.emit("RETURN")
    lines = code.finish()[1]
    assert lines[-1] == (2, 3)
    assert [pc for pc, _ in lines] == sorted({pc for pc, _ in lines})


def test_a_branch_to_the_end_that_follows_is_left_out():
    code = CodeBuilder()
    block = code.open("BLOCK", 1)
    code.emit("INT", 1)
    code.branch("BR", block)
    code.close()
    code.emit("RETURN")
    assert listed(code) == ["BLOCK 1", "INT 1", "END", "RETURN"]


def test_a_branch_that_leaves_items_behind_stays():
    code = CodeBuilder()
    block = code.open("BLOCK", 1)
    code.emit("INT", 1)
    code.emit("INT", 2)
    code.branch("BR", block)
    code.close()
    code.emit("RETURN")
    assert listed(code) == ["BLOCK 1", "INT 1", "INT 2", "BR 0", "END", "RETURN"]


def test_a_branch_back_to_a_loop_stays():
    code = CodeBuilder()
    turn = code.open("LOOP")
    code.branch("BR", turn)
    code.close()
    assert listed(code) == ["CHARGE 3", "LOOP", "CHARGE 2", "BR 0", "END"]
