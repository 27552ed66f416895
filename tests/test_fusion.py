"""A superinstruction does exactly what its instructions do one by one, for every kind of operand, place and line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qasm.module import Module
from qasm.verifier import verify
from qvm.host import Waiting
from qvm.program import FUSE_AFTER, Program, Returned, Yielded
from tests.building import build, builder
from tests.engine import RecordingHost, ending, finish, in_small_slices, shown, straight

OPERATORS = ["ADD", "SUB", "MUL", "DIV", "MOD", "INDEX", "LT", "LE", "GT", "GE", "EQ", "NE"]
COMPARISONS = ["LT", "LE", "GT", "GE", "EQ", "NE"]
BIG = 2**63 - 1
VALUES = {
    "small": "INT 7",
    "two": "INT 2",
    "zero": "INT 0",
    "minus": "INT -3",
    "big": f"INT {BIG}",
    "least": f"INT {-(2**63)}",
    "float": "CONST -2.5",
    "text": 'CONST "ab"',
    "other": 'CONST "ab "',
    "null": "NULL",
    "true": "TRUE",
    "list": "CONST [5, 6, 7]",
    "record": 'CONST {"ab": 1}',
    "error": 'CONST "no"\nMAKE_ERR',
    "unset": "",
}
# How an operand is put into its place before the group, and how the group reads it there.
READERS = {
    "stack": ("", ""),
    "constant": ("", "{value}"),
    "local": ("{value}\nSTORE {n}", "LOAD {n}"),
    "cell": ("{value}\nSTORE {n}\nCELL {n}", "LOAD_CELL {n}"),
    "capture": ("", "LOAD_CAPTURE {c}"),
    "global": ("{value}\nSTORE_GLOBAL g{n}", "LOAD_GLOBAL g{n}"),
    "field": ('{value}\nRECORD ["k"]\nSTORE {n}', 'LOAD {n}\nFIELD "k"'),
    "no record": ("{value}\nSTORE {n}", 'LOAD {n}\nFIELD "k"'),
    "global field": ('{value}\nRECORD ["k"]\nSTORE_GLOBAL g{n}', 'LOAD_GLOBAL g{n}\nFIELD "k"'),
}
SINKS = {
    "stack": "",
    "local": "STORE 4\nLOAD 4",
    "list": "LIST_ADD 8\nLIST_END 8",
    "same local": "STORE 0\nLOAD 0",
    "cell": "STORE_CELL 5\nLOAD_CELL 5",
    "capture": "STORE_CAPTURE 2\nLOAD_CAPTURE 2",
    "global": "STORE_GLOBAL g0\nLOAD_GLOBAL g0",
    "new global": "STORE_GLOBAL g9\nLOAD_GLOBAL g9",
    "return": "RETURN",
    "call": "CALL 0",
    "if": "IF 1\nINT 1\nELSE\nINT 2\nEND",
    "branch if": "BR_IF 0\nINT 1\nSTORE 4\nBR 0",
    "branch unless": "BR_UNLESS 0\nINT 1\nSTORE 4\nBR 0",
}


def group(left: str, right: str, a: str, b: str, operator: str, sink: str, charged: bool, lines: list[int]) -> Module:
    """A Module whose top level calls a function with the group in it."""
    made = builder()
    made.function("twice", "LOAD 0", "LOAD 0", "LIST 2", "RETURN", parameters=["x"])
    code: list[str] = ["CHARGE 2", "NULL", "STORE 5", "CELL 5", "NULL", "STORE 0", "NULL", "STORE 4"]
    code += ["LIST_BEGIN 8"]
    before: list[str] = []
    reads: list[str] = []
    for n, (reader, value) in enumerate([(left, a), (right, b)]):
        setting, reading = READERS[reader]
        text = VALUES[value]
        if setting and (text or not reader.startswith("global")):
            code += setting.format(value=text or "NULL", n=n).split("\n")
        if reader == "stack":
            before += (text or "NULL").split("\n")
        elif reading:
            reads += reading.format(value=text or "NULL", n=n, c=n).split("\n")
    branch = sink.startswith("branch")
    if charged and not before:
        code += ["BLOCK 0", "LOOP", "CHARGE 1"]
    elif branch:
        code += ["BLOCK 0"]
    code += before
    for place, item in enumerate([*reads, operator, *SINKS[sink].split("\n")]):
        code += [f"@{lines[place % len(lines)]}", item] if lines and item else [item]
    code = [item for item in code if item]
    if sink == "return":
        if charged and not before:
            code += ["END", "END", "NULL", "RETURN"]
    elif branch:
        code += ["END", "END"] if charged and not before else ["END"]
        code += ["LOAD 4", "RETURN"]
    else:
        if charged and not before:
            code += ["STORE 4", "BR 1", "END", "END", "LOAD 4"]
        code += ["RETURN"]
    inner = made.function("inner", *code, captures=[(0, 6), (0, 7), (0, 8)], local_count=9)
    outer = ["CHARGE 1"]
    for slot, value in ((6, a), (7, b), (8, "null")):
        outer += [*(VALUES[value] or "NULL").split("\n"), f"STORE {slot}", f"CELL {slot}"]
    made.entry(*outer, f"CLOSURE {inner}", "CALL_VALUE 0 []", "RETURN")
    return made.module


def all_that_happened(module: Module, fused: bool, drive: Any = straight) -> list[Any]:
    program = Program(module)
    program.fused = fused
    host = RecordingHost()
    outcome, task = drive(program, program.call(module.entries[0], [], host, 500), host)
    return [ending(outcome, task), host.changes, [shown(cell.value) for cell in program.globals]]


@given(
    left=st.sampled_from(sorted(READERS)),
    right=st.sampled_from(sorted(READERS)),
    a=st.sampled_from(sorted(VALUES)),
    b=st.sampled_from(sorted(VALUES)),
    operator=st.sampled_from(OPERATORS),
    sink=st.sampled_from(sorted(SINKS)),
    charged=st.booleans(),
    lines=st.lists(st.sampled_from([2, 3]), max_size=6),
)
@settings(max_examples=600, deadline=None)
def test_a_group_does_what_its_instructions_do(left, right, a, b, operator, sink, charged, lines):
    if sink in ("if", "branch if", "branch unless") and operator not in COMPARISONS:
        operator = "EQ"
    if sink == "list":
        charged = False  # in a loop the list would have to be begun in each turn
    if sink == "same local" and left != "local":
        sink = "local"
    module = group(left, right, a, b, operator, sink, charged, lines)
    verify(module)
    plain = all_that_happened(module, fused=False)
    assert all_that_happened(module, fused=True) == plain
    assert all_that_happened(module, fused=True, drive=in_small_slices) == plain


@given(
    reader=st.sampled_from(sorted(READERS.keys() - {"stack"})),
    value=st.sampled_from(sorted(VALUES)),
    sink=st.sampled_from(["local", "cell", "capture", "global", "new global", "return", "call", "list"]),
    charged=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_a_moved_value_is_the_same(reader, value, sink, charged):
    charged = charged and sink != "list"
    code = ["CHARGE 2", "NULL", "STORE 5", "CELL 5", "NULL", "STORE 4", "LIST_BEGIN 8", "@2"]
    setting, reading = READERS[reader]
    if setting and (VALUES[value] or not reader.startswith("global")):
        code += setting.format(value=VALUES[value] or "NULL", n=0).split("\n")
    code += ["@3", *(["LOOP", "CHARGE 1"] if charged else [])]
    code += [*reading.format(value=VALUES[value] or "NULL", n=0, c=0).split("\n"), *SINKS[sink].split("\n")]
    code += ["RETURN"] if sink != "return" else []
    code += ["END"] if charged else []
    made = builder()
    made.function("twice", "LOAD 0", "LOAD 0", "LIST 2", "RETURN", parameters=["x"])
    inner = made.function("inner", *code, captures=[(0, 6), (0, 7), (0, 8)], local_count=9)
    outer = ["CHARGE 1"]
    for slot in (6, 7, 8):
        outer += [*(VALUES[value] or "NULL").split("\n"), f"STORE {slot}", f"CELL {slot}"]
    made.entry(*outer, f"CLOSURE {inner}", "CALL_VALUE 0 []", "RETURN")
    verify(made.module)
    assert all_that_happened(made.module, fused=True) == all_that_happened(made.module, fused=False)


@pytest.mark.parametrize("over", ["CONST [5, 6]", 'CONST {"a": 1, "b": 2}', "LIST 0", None])
@pytest.mark.parametrize("below", [(), ("INT 9",)])
def test_a_turn_of_a_loop_is_the_same(over, below):
    start = (over, "ITER 1") if over else ("INT 3", "INT 6", "ITER_RANGE 1")
    module = build(
        "CHARGE 1", *start, "LIST_BEGIN 0", "BLOCK 0", *below, "LOOP", "CHARGE 2", "NEXT 1 1", "STORE 2",
        "LOAD 2", "LIST_ADD 0", "BR 0", "END", *(["POP"] if below else []), "END", "LIST_END 0", "RETURN",
    )  # fmt: skip
    verify(module)
    assert all_that_happened(module, fused=True) == all_that_happened(module, fused=False)


@pytest.mark.parametrize("value", [*VALUES])
@pytest.mark.parametrize("below", [0, 1])
def test_what_stands_for_a_missing_value_is_the_same(value, below):
    module = build(
        "CHARGE 1", *["INT 9"] * below, "BLOCK 1", *(VALUES[value] or "NULL").split("\n"),
        "DUP", "IS_MISSING", "BR_UNLESS 0", "POP", "INT 5", "END", *["POP"] * below, "RETURN",
    )  # fmt: skip
    verify(module)
    assert all_that_happened(module, fused=True) == all_that_happened(module, fused=False)


def test_groups_are_really_there():
    """The tests above would hold for a fusion that does nothing, too."""
    program = Program(build("CHARGE 1", "INT 1", "STORE 0", "LOAD 0", "INT 2", "ADD", "RETURN"))
    plain = list(program.prepared_function(0).fast)
    program.note_steps(FUSE_AFTER)
    changed = [pc for pc, handler in enumerate(program.prepared_function(0).fast) if handler is not plain[pc]]
    assert changed == [0, 1, 3]


ENDLESS = ("CHARGE 1", "INT 0", "STORE 0", "LOOP", "CHARGE 10", "LOAD 0", "INT 1", "ADD", "STORE 0", "BR 0", "END")


@pytest.mark.parametrize("slice", [FUSE_AFTER // 3, 10 * FUSE_AFTER])
def test_a_program_is_fused_once_it_has_run_for_a_while(slice):
    program = Program(build(*ENDLESS))
    task = program.call(0, [], RecordingHost())
    while not program.fused:
        assert task.steps < FUSE_AFTER + 10
        assert isinstance(task.run(slice), Yielded)
    assert isinstance(task.run(slice), Yielded)
    steps, turns = task.steps, task.frames[-1].locals[0]
    assert steps == 1 + 10 * (turns + 1), "the slice ended at a CHARGE that is paid"


def test_short_calls_add_up():
    program = Program(build("CHARGE 1000", "INT 1", "RETURN"))
    for _ in range(FUSE_AFTER // 1000):
        assert not program.fused
        assert isinstance(finish(program.call(0, [], RecordingHost())), Returned)
    assert program.fused


async def nothing():
    return None


def test_a_call_that_waits_goes_on_in_a_program_that_was_fused_meanwhile():
    program = Program(build("CHARGE 1", "INT 1", "CALL_BUILTIN sleep 0", "INT 2", "ADD", "ADD", "RETURN"))
    task = program.call(0, [], RecordingHost({"sleep": Waiting(nothing)}))
    task.run()
    program.note_steps(FUSE_AFTER)
    task.resume(10)
    outcome = finish(task)
    assert isinstance(outcome, Returned)
    assert outcome.value == 13


# Whole expressions: more than one operator to a group, with what the group takes from the stack and leaves there.

LEAVES = ["INT 7", "INT 0", "INT -3", f"INT {BIG}", "CONST -2.5", 'CONST "ab"', "NULL", "TRUE", "LOAD 0", "LOAD 1"]


@st.composite
def expressions(draw: st.DrawFn) -> list[str]:
    """Instructions that push and take values at random, and leave one."""
    lines: list[str] = []
    height = 0
    for _ in range(draw(st.integers(1, 14))):
        if height >= 2 and draw(st.booleans()):
            lines.append(draw(st.sampled_from(OPERATORS)))
            height -= 1
        elif height and draw(st.integers(0, 7)) == 0:
            lines.append('FIELD "ab"')
        else:
            lines.append(draw(st.sampled_from(LEAVES)))
            height += 1
    return lines + [draw(st.sampled_from(OPERATORS)) for _ in range(height - 1)] if height else ["INT 1"]


# What stands before an expression, and what takes its value.
ENDS = {
    "return": ([], ["RETURN"]),
    "end of a block": (["BLOCK 1"], ["END", "RETURN"]),
    "test": ([], ["IF 1", "INT 1", "ELSE", "INT 2", "END", "RETURN"]),
    "element": (
        ["CONST [5, 6, 7]", "STORE 2", "INT 0", "INT 4", 'ASSIGN local 2 "["', "LOAD 0"],
        ['ASSIGN local 2 "["', "LOAD 2", "RETURN"],
    ),
    "key": (
        ['CONST {"ab": 1}', "STORE 2", 'CONST "ab"', "INT 4", 'ASSIGN local 2 "["', "LOAD 0"],
        ['ASSIGN local 2 "["', "LOAD 2", "RETURN"],
    ),
    "call": (["LOAD 1"], ["CALL 0", "RETURN"]),
}


@settings(max_examples=400, deadline=None)
@given(
    lines=expressions(),
    values=st.tuples(st.sampled_from(sorted(VALUES)), st.sampled_from(sorted(VALUES))),
    end=st.sampled_from(sorted(ENDS)),
    charged=st.booleans(),
    apart=st.booleans(),
)
def test_an_expression_does_what_its_instructions_do(lines, values, end, charged, apart):
    code = ["CHARGE 1"]
    for slot, value in enumerate(values):
        code += [*(VALUES[value] or "NULL").split("\n"), f"STORE {slot}"]
    before, after = ENDS[end]
    code += [*before, *(["CHARGE 3"] if charged else []), *(["@3"] if apart else []), *lines, *after]
    made = builder()
    made.function("pair", "LOAD 0", "LOAD 1", "NULL", "STORE 2", "LIST 2", "RETURN", parameters=["x", "y"])
    made.entry(*code)
    verify(made.module)
    plain = all_that_happened(made.module, fused=False)
    assert all_that_happened(made.module, fused=True) == plain
    assert all_that_happened(made.module, fused=True, drive=in_small_slices) == plain
