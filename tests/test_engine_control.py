"""Control: branches, errors and where they are caught, stops and the places they tell, steps, slices, depth."""

from __future__ import annotations

import sys

import pytest

from qvm.program import Failed, Program, Returned, Yielded
from qvm.values import Err, Stop
from tests.building import build, builder
from tests.engine import (
    RecordingHost,
    ending,
    finish,
    in_small_slices,
    message_of,
    outcome_of,
    started,
    step_by_step,
    stop,
    stop_of,
    straight,
    value,
    value_of,
)

COUNT_TO_TEN = (
    "CHARGE 1", "INT 0", "STORE 0",
    "BLOCK 0", "LOOP", "CHARGE 3",
    "LOAD 0", "INT 10", "LT", "BR_UNLESS 1",
    "LOAD 0", "INT 1", "ADD", "STORE 0", "BR 0", "END", "END",
    "LOAD 0", "RETURN",
)  # fmt: skip


@pytest.mark.parametrize(("test", "wanted"), [("TRUE", 1), ("FALSE", 2)])
def test_if_chooses(test, wanted):
    assert value_of(test, "IF 1", "INT 1", "ELSE", "INT 2", "END", "RETURN") == wanted


def test_a_branch_leaves_more_behind_and_keeps_the_result():
    assert value_of("INT 5", "BLOCK 1", "INT 1", "INT 2", "INT 3", "BR 0", "END", "ADD", "RETURN") == 8
    assert value_of("INT 5", "BLOCK 1", "INT 1", "INT 2", "TRUE", "BR_IF 0", "POP", "END", "ADD", "RETURN") == 7
    assert value_of("INT 5", "BLOCK 0", "INT 1", "FALSE", "BR_UNLESS 0", "POP", "END", "RETURN") == 5


def test_a_loop_goes_round():
    assert value_of(*COUNT_TO_TEN) == 10


@pytest.mark.parametrize("test", ["IF 0", "BR_IF 0", "BR_UNLESS 0"])
def test_a_condition_must_be_bool(test):
    code = ("IF 0", "END") if test == "IF 0" else (test,)
    assert message_of("BLOCK 0", "INT 1", *code, "END", "NULL", "RETURN") == "a condition must be bool, got int"


def test_an_error_as_a_condition_is_an_error_stop():
    stopped = stop_of('CONST "no"', "MAKE_ERR", "IF 0", "END", "NULL", "RETURN")
    assert (stopped.kind, stopped.message) == ("error", "no")


def test_a_stop_of_the_code_is_a_mistake():
    stopped = stop_of("TRY 1", 'STOP "no arm of `match` fits"', "CATCH", "END", "RETURN")
    assert (stopped.kind, stopped.message, stopped.error) == ("mistake", "no arm of `match` fits", None)


# errors


def test_an_error_stop_goes_to_the_catch_with_the_stack_as_it_was():
    caught = value_of(
        "INT 1", "TRY 1", "INT 2", "INT 3", 'CONST "no"', "MAKE_ERR", "ADD", "POP", "CATCH", "END", "LIST 2", "RETURN"
    )
    assert caught[0] == 1
    assert isinstance(caught[1], Err)
    assert caught[1].value == "no"


def test_a_try_that_ends_well_gives_its_value():
    assert value_of("TRY 1", "INT 2", "CATCH", "POP", "NULL", "END", "RETURN") == 2


def test_the_innermost_try_catches_and_one_that_was_left_does_not():
    code = ("TRY 1", "TRY 0", "CATCH", "POP", "END", 'CONST "outer"', "MAKE_ERR", "USE", "CATCH", "ERR_VALUE", "END")
    assert value_of(*code, "RETURN") == "outer"
    left = ("BLOCK 0", "TRY 0", "BR 1", "CATCH", "POP", "END", "END", 'CONST "late"', "MAKE_ERR", "USE", "RETURN")
    assert message_of(*left) == "late"


def test_an_error_stop_leaves_functions_until_one_catches():
    b = builder()
    fails = b.function("fails", 'CONST "deep"', "MAKE_ERR", "USE", "RETURN")
    passes = b.function("passes", "CHARGE 1", f"CALL {fails}", "RETURN")
    b.entry("CHARGE 1", "INT 7", "TRY 1", f"CALL {passes}", "CATCH", "ERR_VALUE", "END", "LIST 2", "RETURN")
    assert value(b.module) == [7, "deep"]


def test_a_mistake_is_never_caught():
    assert message_of("TRY 1", "NULL", 'FIELD "user"', "CATCH", "END", "RETURN") == "cannot read `user` of null"


def test_the_text_of_an_error_stop():
    assert message_of('CONST "as it is"', "MAKE_ERR", "USE", "RETURN") == "as it is"
    assert message_of('CONST "a"', "LIST 1", "MAKE_ERR", "USE", "RETURN") == '["a"]'
    host = RecordingHost({"read_file": Err({"kind": "missing", "message": "there is no file"}, "read_file")})
    assert message_of("CALL_BUILTIN read_file 0", "USE", "RETURN", host=host) == "there is no file"
    own = ('CONST "text"', 'RECORD ["message"]', "MAKE_ERR", "USE", "RETURN")
    assert message_of(*own) == '{"message": "text"}'


def test_a_function_may_return_an_error_whole():
    returned = value_of('CONST "no"', "MAKE_ERR", "RETURN")
    assert isinstance(returned, Err)


# where a stop happened


def test_a_stop_tells_its_line_and_the_calls_that_led_there():
    b = builder()
    inner = b.function("inner", "CHARGE 1", "@4", "NULL", "@5", 'FIELD "user"', "@6", "RETURN")
    hidden = b.function("map", "CHARGE 1", f"CALL {inner}", "RETURN", builtin=True)
    nameless = b.function("", "CHARGE 1", "@9", f"CALL {hidden}", "RETURN")
    b.entry("CHARGE 1", "@11", f"CALL {nameless}", "@12", "RETURN")
    places = stop(b.module).places
    assert [(place.file, place.line, place.function) for place in places] == [
        ("test.qwe", 5, "inner"),
        ("test.qwe", 9, ""),
        ("test.qwe", 11, ""),
    ]


def test_a_stop_inside_a_builtin_that_is_written_in_the_language_is_at_its_call():
    b = builder()
    builtin = b.function("sort", "NULL", 'FIELD "key"', "RETURN", builtin=True)
    b.entry("CHARGE 1", "@3", f"CALL {builtin}", "RETURN")
    assert [place.line for place in stop(b.module).places] == [3]


def test_reply_ends_the_request_and_nothing_catches_it():
    stopped = stop_of("TRY 0", "INT 404", 'CONST "gone"', "REPLY", "CATCH", "POP", "END", "NULL", "RETURN")
    assert stopped.kind == "reply"
    assert (stopped.detail.status, stopped.detail.body, stopped.detail.headers) == (404, "gone", {})


@pytest.mark.parametrize(("status", "got"), [("INT 99", "99"), ("INT 600", "600"), ('CONST "404"', "str")])
def test_the_status_of_a_reply_is_checked(status, got):
    wanted = f"the status of a reply must be a whole number from 100 to 599, got {got}"
    assert message_of(status, "NULL", "REPLY") == wanted


def test_assertions():
    assert value_of("INT 1", "INT 2", "TRUE", 'ASSERT "x" 2', "INT 7", "RETURN") == 7
    broken = ("INT 1", 'CONST "1"', "FALSE", 'ASSERT "a == b" 2', "NULL", "RETURN")
    assert message_of(*broken) == 'assertion failed: a == b: 1 on the left, "1" on the right'
    assert message_of("FALSE", 'ASSERT "done" 0', "NULL", "RETURN") == "assertion failed: done"
    assert message_of("NULL", 'ASSERT "done" 0', "NULL", "RETURN") == "what `assert` tests must be bool, got null"


# steps


def test_steps_are_the_charges_that_were_paid():
    task = started(build(*COUNT_TO_TEN))
    finish(task)
    assert task.steps == 1 + 11 * 3


def test_out_of_compute_is_a_stop_that_nothing_catches():
    endless = ("TRY 0", "LOOP", "CHARGE 2", "BR 0", "END", "CATCH", "POP", "END", "NULL", "RETURN")
    stopped = stop(build("CHARGE 1", *endless), max_steps=1_000)
    assert stopped.kind == "compute"
    assert stopped.message == "out of compute: it takes more than 1,000 steps"


@pytest.mark.parametrize("drive", [straight, in_small_slices, step_by_step], ids=lambda drive: drive.__name__)
@pytest.mark.parametrize("limit", range(0, 36))
def test_the_limit_is_exact(drive, limit):
    module = build(*COUNT_TO_TEN)
    program = Program(module)
    outcome, task = drive(program, started(module, max_steps=limit, program=program), RecordingHost())
    if limit >= 34:
        assert isinstance(outcome, Returned)
        assert task.steps == 34
    else:
        assert isinstance(outcome, Failed)
        assert outcome.stop.kind == "compute"
        assert limit - 3 < task.steps <= limit


def test_a_run_ends_where_its_slice_does_and_goes_on_there():
    task = started(build(*COUNT_TO_TEN))
    slices = 0
    while isinstance(outcome := task.run(9), Yielded):
        slices += 1
        assert task.steps % 3 == 1
    assert isinstance(outcome, Returned)
    assert outcome.value == 10
    assert slices == 3


def test_a_cancelled_call_stops_and_nothing_catches_it():
    module = build("CHARGE 1", "TRY 0", "LOOP", "CHARGE 2", "BR 0", "END", "CATCH", "POP", "END", "NULL", "RETURN")
    task = started(module, max_steps=None)
    assert isinstance(task.run(100), Yielded)
    task.cancel()
    outcome = task.run()
    assert isinstance(outcome, Failed)
    assert outcome.stop.kind == "cancelled"
    assert task.run() is outcome


def test_a_task_that_is_over_stays_so():
    task = started(build("INT 1", "RETURN"))
    outcome = task.run()
    assert task.done
    assert task.run() is outcome
    assert task.step() is outcome


def test_the_next_instruction_has_a_place():
    task = started(build("NULL", "@7", "RETURN"))
    assert task.place == ("test.qwe", 1)
    task.step()
    assert task.place == ("test.qwe", 7)


# giving way


def test_no_one_gets_a_turn_between_reading_and_writing_a_top_level_variable_in_one_statement():
    b = builder()
    slow = b.function(
        "slow", "CHARGE 1", "INT 0", "INT 50", "ITER_RANGE 0",
        "BLOCK 0", "LOOP", "CHARGE 10", "NEXT 0 1", "POP", "BR 0", "END", "END", "INT 1", "RETURN",
    )  # fmt: skip
    b.entry("CHARGE 1", "INT 0", "STORE_GLOBAL total", "NULL", "RETURN")
    adds = b.function(
        "adds",
        "CHARGE 1", f"CALL {slow}", "POP",
        "LOAD_GLOBAL total", "TRY 1", f"CALL {slow}", "CATCH", "POP", "INT 0", "END", "ADD", "STORE_GLOBAL total",
        "NULL", "RETURN",
    )  # fmt: skip
    program = Program(b.module)
    finish(program.call(b.module.entries[0], [], RecordingHost()))
    tasks = [program.call(adds, [], RecordingHost()) for _ in range(5)]
    turns = 0
    while tasks:
        task = tasks.pop(0)
        if isinstance(task.run(7), Yielded):
            tasks.append(task)
            turns += 1
    assert program.globals[0].value == 5
    assert turns >= 5 * 50, "elsewhere turns are given"


@pytest.mark.parametrize(
    "read",
    [
        ("LOAD_GLOBAL n", "INT 0", "GT", "IF 1", "INT 1", "ELSE", "INT 2", "END", "STORE_GLOBAL n"),
        ("INT 0", "LOAD_SHARED global n", 'ASSIGN global n "["'),
        ("INT 1", "LOAD_GLOBAL n", "CALL_BUILTIN len 1", "ADD", "STORE_GLOBAL n"),
    ],
)
def test_what_is_held_back_reaches_from_the_read_to_the_write(read):
    module = build("CHARGE 1", "LOAD_GLOBAL n", "POP", *read, "LOAD_GLOBAL n", "RETURN")
    prepared = Program(module).prepared_function(module.entries[0])
    names = [instruction.op.name for instruction in prepared.flow.instructions]
    first = 3 + next(place for place, code in enumerate(read) if code.startswith("LOAD"))
    last = 3 + len(read) - 2
    assert [pc for pc in range(len(names)) if pc in prepared.held_back] == list(range(first, last + 1))


# depth


def countdown(builtin_between: bool):
    """`down(n)` calls itself n times; `between` stands in for a builtin that calls back."""
    b = builder()
    b.function(
        "down", "CHARGE 2", "LOAD 0", "INT 0", "EQ", "IF 0", "INT 0", "RETURN", "END",
        "LOAD 0", "INT 1", "SUB", f"CALL {1 if builtin_between else 0}", "INT 1", "ADD", "RETURN",
        parameters=["n"],
    )  # fmt: skip
    b.function("between", "CHARGE 1", "LOAD 0", "CALL 0", "RETURN", parameters=["n"], builtin=True)
    return b


def test_ten_thousand_calls_go_inside_each_other_whatever_python_s_own_limit_is():
    b = countdown(builtin_between=False)
    b.entry("CHARGE 1", "INT 9999", "CALL 0", "RETURN")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5_000)
    try:
        assert value(b.module) == 9_999
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("builtin_between", [False, True])
def test_deeper_is_a_stop_with_its_places(builtin_between):
    b = countdown(builtin_between)
    b.entry("CHARGE 1", "TRY 1", "INT 10000", "CALL 0", "CATCH", "END", "RETURN")
    stopped = stop(b.module)
    assert stopped.message == "calls go too deep: over 10,000 inside each other"
    assert stopped.error is None
    own = [place for place in stopped.places if place.function == "down"]
    assert len(own) == (5_000 if builtin_between else 10_000)
    assert len(stopped.places) == len(own) + 1


def test_the_places_of_a_stop_from_the_host_are_filled():
    host = RecordingHost({"exit": Stop("exit", "exit", detail=3)})
    outcome = outcome_of(build("@5", "CALL_BUILTIN exit 0", "RETURN"), host)
    assert isinstance(outcome, Failed)
    assert (outcome.stop.kind, outcome.stop.detail) == ("exit", 3)
    assert [place.line for place in outcome.stop.places] == [5]


def test_endings_are_the_same_in_every_way_of_running():
    module = build(*COUNT_TO_TEN)
    endings = []
    for drive in (straight, in_small_slices, step_by_step):
        program = Program(module)
        outcome, task = drive(program, started(module, program=program), RecordingHost())
        endings.append(ending(outcome, task))
    assert endings[0] == endings[1] == endings[2]
