"""Every instruction does to the stack what its picture in the instruction table says."""

from __future__ import annotations

from qasm.instructions import TABLE
from qasm.module import Module, Parameter
from qasm.pictures import effect
from qasm.verifier import verify
from qvm.frames import Outcome
from qvm.handlers import GROUPS, MAKERS
from qvm.program import Failed, Program, Returned
from qvm.values import Err
from tests.building import builder
from tests.engine import RecordingHost

# What ends a frame or moves to another one: the stack that it leaves is looked at by itself.
LEAVES = {"CALL", "CALL_VALUE", "RETURN"}
STOPS = {"STOP", "REPLY"}


def every_instruction() -> Module:
    """A Module whose top levels together hold every instruction, and run through each."""
    b = builder()
    double = b.function("double", "CHARGE 1", "LOAD 0", "INT 2", "MUL", "RETURN", parameters=["x"])
    optional = b.function(
        "optional",
        "IF_ABSENT 0",
        "INT 5",
        "STORE 0",
        "END",
        "LOAD 0",
        "RETURN",
        parameters=[Parameter("x", "any", False)],
    )
    captured = b.function(
        "captured",
        "LOAD_CAPTURE 0",
        "INT 1",
        "ADD",
        "STORE_CAPTURE 0",
        "LOAD_SHARED capture 0",
        "RETURN",
        captures=[(0, 0)],
    )
    fails = b.function("fails", 'CONST "no"', "MAKE_ERR", "RETURN")
    b.entry(
        "CHARGE 3",
        # control
        "BLOCK 1", "INT 7", "TRUE", "BR_IF 0", "POP", "NULL", "END", "POP",
        "BLOCK 0", "TRUE", "BR_UNLESS 0", "BR 0", "END",
        "TRUE", "IF 1", "INT 1", "ELSE", "INT 2", "END", "POP",
        "FALSE", "IF 0", "END",
        "TRY 1", f"CALL {fails}", "USE", "CATCH", "ERR_VALUE", "END", "POP",
        "TRY 0", "CATCH", "POP", "END",
        # the stack and constants
        'CONST "a"', "DUP", "POP", "POP", "ABSENT", f"CALL {optional}", "POP",
        # variables
        "INT 1", "STORE 0", "LOAD 0", "POP", "CELL 0", "LOAD_CELL 0", "STORE_CELL 0",
        "LIST 0", "STORE_GLOBAL items", "LOAD_GLOBAL items", "EXTEND global items",
        "INT 3", "LIST 1", "STORE 1", "INT 0", "INT 4", 'ASSIGN local 1 "["',
        "LOAD_SHARED local 1", "EXTEND local 1", "INT 0", "INT 4", 'EXTEND_PATH local 1 "["',
        # calls
        "INT 4", f"CALL {double}", "POP",
        f"CLOSURE {captured}", "CALL_VALUE 0 []", "POP",
        f"CLOSURE {double}", "INT 4", 'CALL_VALUE 1 ["x"]', "POP",
        "BUILTIN len", 'CONST "abc"', "CALL_VALUE 1 []", "POP",
        'CONST "abc"', "CALL_BUILTIN len 1", "POP", "CALL_BUILTIN now 0", "POP",
        # operators
        "INT 6", "INT 2", "ADD", "INT 1", "SUB", "INT 3", "MUL", "INT 2", "DIV", "INT 3", "MOD", "NEG", "POP",
        "INT 1", "INT 2", "EQ", "NOT", "POP", "INT 1", "INT 2", "NE", "POP",
        "INT 1", "INT 2", "LT", "POP", "INT 1", "INT 2", "LE", "POP",
        "INT 1", "INT 2", "GT", "POP", "INT 1", "INT 2", "GE", "POP",
        "INT 1", "INT 0", "INT 3", "RANGE", "IN", "POP",
        # values
        "INT 5", "LIST 1", "INT 0", "INDEX", "POP",
        'CONST "abc"', "INT 1", "NULL", "SLICE", "POP",
        "INT 5", 'RECORD ["a"]', 'FIELD "a"', "POP", "NULL", 'FIELD_OR_NULL "a"', "POP",
        "LIST 0", "INT 1", "LIST_PUSH", "INT 2", "LIST 1", "LIST_SPREAD", "POP",
        "RECORD []", "INT 1", 'RECORD_PUT "a"', "RECORD []", "RECORD_SPREAD", "POP",
        "INT 1", 'CONST "b"', "TEXT 2", "POP",
        "INT 1", 'SQL ["select ", ""]', "POP",
        # loops
        "INT 5", "LIST 1", "ITER 2", "LIST_BEGIN 3",
        "BLOCK 0", "LOOP", "CHARGE 1", "NEXT 2 1", "LIST_ADD 3", "BR 0", "END", "END", "LIST_END 3", "POP",
        "INT 0", "INT 2", "ITER_RANGE 4",
        "BLOCK 0", "LOOP", "CHARGE 1", "NEXT_PAIR 4 1", "POP", "POP", "BR 0", "END", "END",
        # tests
        "LIST 0", "IS_LIST 0 0", "POP", "RECORD []", 'HAS_FIELD "a"', "POP", "NULL", "IS_ERR", "POP",
        "NULL", "IS_MISSING", "POP", "NULL", "MAKE_ERR", "ERR_VALUE", "POP",
        "INT 1", 'CHECK "int" "x"', "USE", "POP", "TRUE", 'BOOL "x"', "POP",
        # markup
        'CONST "<"', "MARKUP 1", "POP", "INT 1", 'ATTRIBUTE "id"', "POP",
        "INT 1", "INT 1", "TRUE", 'ASSERT "1 == 1" 2',
        "NULL", "RETURN",
    )  # fmt: skip
    b.entry('STOP "over"')
    b.entry("INT 404", 'CONST "gone"', "REPLY")
    return b.module


def test_every_instruction_takes_and_puts_what_its_picture_says():
    module = every_instruction()
    verify(module)
    program = Program(module)
    seen: set[str] = set()
    for entry in module.entries:
        task = program.call(entry, [], RecordingHost({"now": "2026-07-28T12:00:00.000Z"}), 1_000)
        outcome: Outcome | None = None
        while outcome is None:
            frame = task.frames[-1]
            depth = len(task.frames)
            flow = program.prepared_function(frame.function).flow
            instruction = flow.instructions[frame.pc]
            name = instruction.op.name
            taken, put = effect(module, instruction)
            before = len(frame.stack)
            branches = flow.target[frame.pc]
            assert before == flow.height[frame.pc], name
            outcome = task.step()
            seen.add(name)
            if isinstance(outcome, Failed):
                assert name in STOPS, outcome.stop.message
            elif name == "RETURN":
                # The value goes to the caller, whose call has put nothing yet.
                assert isinstance(outcome, Returned) or len(task.frames) == depth - 1
            elif len(task.frames) > depth:
                assert len(frame.stack) == before - taken, name
            elif name == "USE" and frame.stack and type(frame.stack[-1]) is Err:
                assert len(frame.stack) == flow.height[frame.pc], "an error stop goes to its CATCH"
            elif name in ("NEXT", "NEXT_PAIR") and frame.pc == branches:
                assert len(frame.stack) == before, name
            elif name in ("BR", "BR_IF", "BR_UNLESS") and frame.pc == branches:
                assert len(frame.stack) == flow.height[frame.pc], name
            elif name == "CATCH":
                assert len(frame.stack) == before, "the arm before goes by; its picture is that of an error stop"
            else:
                assert len(frame.stack) == before - taken + put, name
    assert seen == {op.name for op in TABLE}


def test_each_row_of_the_table_has_one_maker():
    assert set(MAKERS) == {op.number for op in TABLE}
    assert sum(len(group.MAKERS) for group in GROUPS) == len(TABLE)
