"""Calls: of functions, function values and builtins, host calls that wait, and questions to the person."""

from __future__ import annotations

import pytest

from qasm.module import Parameter
from qvm.host import Question, Unanswered, Waiting
from qvm.program import Failed, Pending, Program, Returned, Suspended
from qvm.values import Err, Stop
from tests.building import build, builder
from tests.engine import RecordingHost, finish, message_of, started, stop, stop_of, value, value_of


def calling(*call: str, parameters: list[str | Parameter] | None = None, name: str = "f"):
    """A Module that calls a function value whose function gives the list of its arguments."""
    b = builder()
    taken = parameters if parameters is not None else ["a", "b"]
    fill = []
    for slot, parameter in enumerate(taken):
        if isinstance(parameter, Parameter) and not parameter.required:
            fill += [f"IF_ABSENT {slot}", 'CONST "default"', f"STORE {slot}", "END"]
    loads = [f"LOAD {slot}" for slot in range(len(taken))]
    f = b.function(name, *fill, *loads, f"LIST {len(taken)}", "RETURN", parameters=taken)
    b.entry("CHARGE 1", f"CLOSURE {f}", *call, "RETURN")
    return b.module


OPTIONAL = [Parameter("a", "any", True), Parameter("b", "any", False)]


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (("INT 1", "INT 2", "CALL_VALUE 2 []"), [1, 2]),
        (("INT 1", "INT 2", 'CALL_VALUE 2 ["b"]'), [1, 2]),
        (("INT 1", "INT 2", 'CALL_VALUE 2 ["b", "a"]'), [2, 1]),
    ],
)
def test_arguments_go_by_place_and_by_name(call, wanted):
    assert value(calling(*call)) == wanted


def test_what_is_left_out_gets_its_default():
    assert value(calling("INT 1", "CALL_VALUE 1 []", parameters=OPTIONAL)) == [1, "default"]
    assert value(calling("INT 1", 'CALL_VALUE 1 ["a"]', parameters=OPTIONAL)) == [1, "default"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("CALL_VALUE 0 []",), "missing argument `a` of `f`"),
        (("INT 1", "CALL_VALUE 1 []"), "missing argument `b` of `f`"),
        (("INT 1", 'CALL_VALUE 1 ["b"]'), "missing argument `a` of `f`"),
        (("INT 1", "INT 2", "INT 3", "CALL_VALUE 3 []"), "`f` takes 2 arguments, got 3"),
        (("INT 1", "INT 2", 'CALL_VALUE 2 ["z"]'), "`f` has no parameter `z`: it takes `a`, `b`"),
        (("INT 1", "INT 2", 'CALL_VALUE 2 ["a"]'), "argument `a` of `f` is given twice"),
    ],
)
def test_wrong_counts_and_names_are_mistakes(call, message):
    assert stop(calling(*call)).message == message


def test_wrong_counts_of_functions_with_defaults_and_without_names():
    too_many = ("INT 1", "INT 2", "INT 3", "CALL_VALUE 3 []")
    assert stop(calling(*too_many, parameters=OPTIONAL)).message == "`f` takes at most 2 arguments, got 3"
    assert stop(calling("INT 1", "CALL_VALUE 1 []", parameters=[])).message == "`f` takes no arguments, got 1"
    assert stop(calling("INT 1", "CALL_VALUE 1 []", parameters=[], name="")).message == (
        "a function takes no arguments, got 1"
    )
    assert stop(calling("CALL_VALUE 0 []", parameters=["x"], name="")).message == "missing argument `x` of a function"


def test_argument_types_of_function_values_are_checked():
    typed: list[str | Parameter] = [Parameter("a", "int", True), Parameter("b", ["list", "float"], True)]
    assert value(calling("INT 1", "INT 2", "LIST 1", "CALL_VALUE 2 []", parameters=typed)) == [1, [2.0]]
    wrong = calling('CONST "x"', "LIST 0", "CALL_VALUE 2 []", parameters=typed)
    assert stop(wrong).message == "argument 1 of `f` must be int, got str"
    inside = calling("INT 1", 'CONST "x"', "LIST 1", "CALL_VALUE 2 []", parameters=typed, name="")
    assert stop(inside).message == "`[0]` of argument 2 of a function must be float, got str"


def test_what_is_no_function_cannot_be_called():
    assert message_of("CHARGE 1", "NULL", "CALL_VALUE 0 []", "RETURN") == "cannot call null: it is no function"
    assert message_of("CHARGE 1", "INT 1", "INT 2", "CALL_VALUE 1 []", "RETURN") == "cannot call int: it is no function"


def test_an_error_as_an_argument_is_an_error_stop():
    error = ('CONST "no"', "MAKE_ERR")
    for code in [
        ("BUILTIN len", *error, "CALL_VALUE 1 []"),
        ("BUILTIN print", *error, "CALL_VALUE 1 []"),
        (*error, "CALL_BUILTIN len 1"),
        (*error, "CALL_BUILTIN print 1"),
        (*error, "CALL_BUILTIN confirm 1"),
        (*error, "CALL_VALUE 0 []"),
    ]:
        stopped = stop_of("CHARGE 1", *code, "RETURN")
        assert (stopped.kind, stopped.message) == ("error", "no"), code
    assert stop(calling(*error, "INT 1", "CALL_VALUE 2 []")).kind == "error"


def test_functions_share_the_variables_that_they_capture():
    b = builder()
    up = b.function(
        "up", "LOAD_CAPTURE 0", "INT 1", "ADD", "STORE_CAPTURE 0", "LOAD_CAPTURE 0", "RETURN", captures=[(0, 0)]
    )
    nested = b.function("nested", "LOAD_CAPTURE 0", "RETURN", captures=[(1, 0)])
    maker = b.function("maker", f"CLOSURE {nested}", "RETURN", captures=[(0, 0)])
    b.entry(
        "CHARGE 1", "INT 5", "STORE 0", "CELL 0",
        f"CLOSURE {up}", "CALL_VALUE 0 []", "POP",
        f"CLOSURE {maker}", "CALL_VALUE 0 []", "CALL_VALUE 0 []",
        "INT 10", "STORE_CELL 0", f"CLOSURE {up}", "CALL_VALUE 0 []", "LOAD_CELL 0", "LIST 3", "RETURN",
    )  # fmt: skip
    assert value(b.module) == [6, 11, 11]


def test_each_cell_is_its_own():
    b = builder()
    read = b.function("read", "LOAD_CAPTURE 0", "RETURN", captures=[(0, 1)])
    b.entry(
        "CHARGE 1", "LIST_BEGIN 0", "INT 0", "INT 3", "ITER_RANGE 2",
        "BLOCK 0", "LOOP", "CHARGE 1", "NEXT 2 1", "STORE 1", "CELL 1", f"CLOSURE {read}", "LIST_ADD 0", "BR 0",
        "END", "END", "LIST_END 0", "STORE 3",
        *(code for place in range(3) for code in ("LOAD 3", f"INT {place}", "INDEX", "CALL_VALUE 0 []")),
        "LIST 3", "RETURN",
    )  # fmt: skip
    assert value(b.module) == [0, 1, 2]


# builtins


def test_natives_are_called_with_their_arguments():
    assert value_of('CONST "abc"', "CALL_BUILTIN len 1", "RETURN") == 3
    assert value_of('CONST "a,b"', 'CONST ","', "CALL_BUILTIN split 2", "RETURN") == ["a", "b"]


def test_natives_as_values():
    split = ("CHARGE 1", "BUILTIN split", 'CONST "a,b"', 'CONST ","')
    assert value_of(*split, "CALL_VALUE 2 []", "RETURN") == ["a", "b"]
    assert value_of(*split, 'CALL_VALUE 2 ["sep"]', "RETURN") == ["a", "b"]
    assert message_of("CHARGE 1", "BUILTIN len", "CALL_VALUE 0 []", "RETURN") == "missing argument `x` of `len`"
    many = ("CHARGE 1", "BUILTIN upper", "INT 1", "INT 2", "CALL_VALUE 2 []", "RETURN")
    assert message_of(*many) == "`upper` takes 1 argument, got 2"
    named = ("CHARGE 1", "BUILTIN upper", "INT 1", 'CALL_VALUE 1 ["z"]', "RETURN")
    assert message_of(*named) == "`upper` has no parameter `z`: it takes `s`"


def test_a_call_of_a_native_with_a_wrong_count_is_a_mistake():
    assert message_of("CALL_BUILTIN len 0", "RETURN") == "missing argument `x` of `len`"
    assert message_of("INT 1", "INT 2", "CALL_BUILTIN upper 2", "RETURN") == "`upper` takes 1 argument, got 2"


def test_err_and_is_err_as_values():
    made = value_of("CHARGE 1", "BUILTIN err", "INT 1", "CALL_VALUE 1 []", "RETURN")
    assert isinstance(made, Err)
    assert made.value == 1
    looks = ("CHARGE 1", "BUILTIN is_err", "INT 1", "MAKE_ERR", "CALL_VALUE 1 []", "RETURN")
    assert value_of(*looks) is True


def test_the_kind_of_an_error_is_told_of_the_whole_error():
    host = RecordingHost({"db.exec": Err({"kind": "unique", "message": "UNIQUE constraint failed"}, "db.exec")})
    assert value_of("CALL_BUILTIN db.exec 0", "CALL_BUILTIN db.error_kind 1", "RETURN", host=host) == "unique"


# host calls


def test_host_calls_get_their_arguments_and_give_their_value():
    host = RecordingHost({"env": lambda name: name + "!"})
    assert value_of('CONST "HOME"', "CALL_BUILTIN env 1", "RETURN", host=host) == "HOME!"
    called = value_of("CHARGE 1", "BUILTIN env", 'CONST "HOME"', "CALL_VALUE 1 []", "RETURN", host=host)
    assert called == "HOME!"
    assert host.calls == [("env", ["HOME"]), ("env", ["HOME"])]


def test_the_arguments_of_a_host_call_as_a_value_go_by_place():
    named = ("CHARGE 1", "BUILTIN env", 'CONST "HOME"', 'CALL_VALUE 1 ["name"]', "RETURN")
    assert message_of(*named) == "the arguments of `env` as a value are given by place, not by name"


async def nothing():
    return None


def test_a_host_call_that_waits_leaves_the_task_until_it_is_given_a_value():
    waiting = Waiting(nothing)
    task = started(build("INT 1", "CALL_BUILTIN sleep 0", "LIST 2", "RETURN"), RecordingHost({"sleep": waiting}))
    outcome = finish(task)
    assert isinstance(outcome, Pending)
    assert outcome.waiting is waiting
    task.resume("slept")
    finished = finish(task)
    assert isinstance(finished, Returned)
    assert finished.value == [1, "slept"]


def test_a_host_call_that_waited_may_come_to_an_error_or_a_stop():
    code = ("CHARGE 1", "TRY 1", "BUILTIN fetch", "CALL_VALUE 0 []", "USE", "CATCH", "ERR_VALUE", "END", "RETURN")
    for give, kind in [
        (lambda task: task.resume(Err("late")), "late"),
        (lambda task: task.fail(Stop("late", "error", Err("late"))), "late"),
        (lambda task: task.fail(Stop("over", "cancelled")), None),
    ]:
        task = started(build(*code), RecordingHost({"fetch": Waiting(nothing)}))
        assert isinstance(finish(task), Pending)
        give(task)
        outcome = finish(task)
        if kind is None:
            assert isinstance(outcome, Failed)
            assert (outcome.stop.kind, len(outcome.stop.places)) == ("cancelled", 1)
        else:
            assert isinstance(outcome, Returned)
            assert outcome.value == kind


def test_a_task_that_waits_and_is_run_without_a_value_makes_its_host_call_again():
    host = RecordingHost({"sleep": Waiting(nothing)})
    task = started(build("INT 5", "CALL_BUILTIN sleep 1", "RETURN"), host)
    assert isinstance(task.run(), Pending)
    host.results["sleep"] = "slept"
    outcome = task.run()
    assert isinstance(outcome, Returned)
    assert outcome.value == "slept"
    assert host.calls == [("sleep", [5]), ("sleep", [5])]


# questions

ABOUT = ('CONST "Who?"', 'CONST {"all": "Everyone", "me": "Only me"}', 'CONST "me"', "CALL_BUILTIN about 3", "RETURN")


def test_a_question_with_an_answer_goes_on():
    host = RecordingHost(answers=[True])
    assert value_of('CONST "Delete?"', "CALL_BUILTIN confirm 1", "RETURN", host=host) is True
    (question,) = host.questions
    assert (question.kind, question.text, question.place) == ("confirm", "Delete?", "0:1")
    assert (question.choices, question.default, question.sheltered) == ({}, None, False)
    host = RecordingHost(answers=["all"])
    assert value_of(*ABOUT, host=host) == "all"
    (question,) = host.questions
    assert (question.kind, question.choices, question.default) == ("about", {"all": "Everyone", "me": "Only me"}, "me")


def test_a_question_without_an_answer_suspends_the_call_until_it_is_resumed():
    host = RecordingHost()
    task = started(build(*ABOUT), host)
    outcome = finish(task)
    assert isinstance(outcome, Suspended)
    assert outcome.question is host.questions[0]
    assert task.frames
    task.resume("me")
    finished = finish(task)
    assert isinstance(finished, Returned)
    assert finished.value == "me"


def test_a_suspended_call_that_is_run_again_asks_again():
    host = RecordingHost()
    task = started(build(*ABOUT), host)
    assert isinstance(task.run(), Suspended)
    host.answers = ["all"]
    outcome = task.run()
    assert isinstance(outcome, Returned)
    assert outcome.value == "all"
    assert host.questions[0].place == host.questions[1].place


def test_a_host_call_that_comes_to_a_question_suspends_the_call_and_is_made_again():
    host = RecordingHost()
    question = Question("confirm", "Pay?", {}, None, "billing", False)
    host.results["billing.pay"] = Unanswered(question)
    task = started(build("INT 5", "CALL_BUILTIN billing.pay 1", "RETURN"), host)
    outcome = task.run()
    assert isinstance(outcome, Suspended)
    assert outcome.question is question
    host.results["billing.pay"] = "paid"
    finished = task.run()
    assert isinstance(finished, Returned)
    assert finished.value == "paid"
    assert host.calls == [("billing.pay", [5])] * 2


def test_a_question_that_is_refused_is_caught_by_nothing():
    host = RecordingHost(answers=[Stop("this needs the user's yes, and this client cannot ask", "cannot_ask")])
    code = ("TRY 1", 'CONST "Delete?"', "CALL_BUILTIN confirm 1", "CATCH", "END", "RETURN")
    assert stop_of(*code, host=host).kind == "cannot_ask"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (('CONST ""', "CALL_BUILTIN confirm 1"), "`confirm`'s question is empty: say what the user is asked"),
        (('CONST "  "', "CALL_BUILTIN confirm 1"), "`confirm`'s question is empty: say what the user is asked"),
        (("INT 1", "CALL_BUILTIN confirm 1"), "argument 1 of `confirm` must be str, got int"),
        (("CALL_BUILTIN confirm 0",), "missing argument `question` of `confirm`"),
        (("NULL", "NULL", "CALL_BUILTIN confirm 2"), "`confirm` takes 1 argument, got 2"),
        (
            ('CONST "q"', 'CONST {"a": "A"}', 'CONST "a"', "CALL_BUILTIN about 3"),
            "`about` needs at least two choices, got 1",
        ),
        (
            ('CONST "q"', "LIST 0", 'CONST "a"', "CALL_BUILTIN about 3"),
            "argument 2 of `about` must be a record of choices, got list",
        ),
        (
            ('CONST "q"', 'CONST {"a": "A", "b": 2}', 'CONST "a"', "CALL_BUILTIN about 3"),
            "the label of `about`'s choice `b` must be str, got int",
        ),
        (
            ('CONST "q"', 'CONST {"a": "A", "b": "B"}', 'CONST "c"', "CALL_BUILTIN about 3"),
            "`about`'s default must be one of its keys, `a`, `b`, got `c`",
        ),
        (
            ('CONST "q"', 'CONST {"a": "A", "b": "B"}', "NULL", "CALL_BUILTIN about 3"),
            "argument 3 of `about` must be str, got null",
        ),
    ],
)
def test_what_is_asked_is_checked(code, message):
    assert message_of(*code, "RETURN", host=RecordingHost(answers=[True])) == message


@pytest.mark.parametrize(
    ("builtin", "sheltered"), [("map", True), ("sort", True), ("parallel", False), ("db.transaction", False)]
)
@pytest.mark.parametrize("as_value", [False, True])
def test_a_question_knows_whether_it_stands_in_a_function_that_a_builtin_was_given(builtin, sheltered, as_value):
    b = builder()
    ask = ("BUILTIN confirm", 'CONST "q"', "CALL_VALUE 1 []") if as_value else ('CONST "q"', "CALL_BUILTIN confirm 1")
    asks = b.function("asks", "CHARGE 1", *ask, "RETURN")
    gives = b.function(builtin, "CHARGE 1", "LOAD 0", "CALL_VALUE 0 []", "RETURN", parameters=["f"], builtin=True)
    b.entry("CHARGE 1", f"CLOSURE {asks}", f"CALL {gives}", "RETURN")
    host = RecordingHost(answers=[True])
    assert value(b.module, host) is True
    assert host.questions[0].sheltered is sheltered


# top-level variables


def test_a_top_level_variable_is_shared_by_calls_and_its_changes_are_noted():
    b = builder()
    b.entry("INT 1", "STORE_GLOBAL n", "NULL", "RETURN")
    bump = b.function("bump", "LOAD_GLOBAL n", "INT 1", "ADD", "STORE_GLOBAL n", "LOAD_GLOBAL n", "RETURN")
    program = Program(b.module)
    first = RecordingHost()
    finish(program.call(b.module.entries[0], [], first))
    assert first.changes == [], "the `let` itself is no change"
    host = RecordingHost()
    for wanted in (2, 3):
        outcome = finish(program.call(bump, [], host))
        assert isinstance(outcome, Returned)
        assert outcome.value == wanted
    assert host.changes == ["the variable `n`", "the variable `n`"]


def test_changes_in_place_of_a_top_level_variable_are_noted():
    host = RecordingHost()
    code = (
        "LIST 0", "STORE_GLOBAL xs", "INT 1", "LIST 1", "EXTEND global xs",
        "INT 0", "INT 5", 'ASSIGN global xs "["', "LOAD_GLOBAL xs", "RETURN",
    )  # fmt: skip
    assert value_of(*code, host=host) == [5]
    assert host.changes == ["the variable `xs`", "the variable `xs`"]


def test_a_host_may_say_that_it_notes_no_changes():
    host = RecordingHost()
    host.notes_changes = False  # type: ignore[attr-defined]
    assert value_of("INT 1", "STORE_GLOBAL n", "INT 2", "STORE_GLOBAL n", "NULL", "RETURN", host=host) is None
    assert host.changes == []


@pytest.mark.parametrize(
    "code",
    [
        ("LOAD_GLOBAL x",),
        ("LOAD_SHARED global x",),
        ("INT 1", "EXTEND global x", "NULL"),
        ("INT 1", "INT 1", 'ASSIGN global x "["', "NULL"),
    ],
)
def test_a_top_level_variable_before_its_let(code):
    assert message_of(*code, "RETURN") == "`x` is used before it is set"


def test_a_call_from_outside_gives_each_parameter_something():
    b = builder()
    double = b.function("double", "LOAD 0", "INT 2", "MUL", "RETURN", parameters=["x"])
    program = Program(b.module)
    outcome = finish(program.call(double, [4], RecordingHost()))
    assert isinstance(outcome, Returned)
    assert outcome.value == 8
    with pytest.raises(ValueError, match="has 1 parameters, got 0"):
        program.call(double, [], RecordingHost())
