"""The translator runs each program to the same end as the interpreter: output, stop, places, steps, at every limit."""

from __future__ import annotations

import gc
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.prelude import BUILTINS
from qasm.module import Module
from qvm import translator_types as types
from qvm.frames import Failed, Pending, Returned, Suspended, Yielded
from qvm.host import Waiting
from qvm.program import Program
from qvm.translator import dumped, loaded, translate
from qvm.translator_task import TranslatedTask
from server.host import ProgramHost, World
from tests.building import build
from tests.engine import RecordingHost, ending, finish, in_small_slices
from tests.programs import Drive, broken_promises, compiled, promises, ran, straight
from tests.test_lang import HERE, PROGRAMS, module_of

MOST_LIMITS = 12  # of one program; a longer one is stopped at every n-th step
LONG = 100_000  # steps: a program with more is run at two limits only


def warm(module: Module) -> Program:
    return Program(module, "translator", warm=True)


def ended(program: Program, max_steps: int | None = 5_000_000, drive: Drive = straight) -> list[object]:
    """How a program's top levels ended, and what they printed."""
    with tempfile.TemporaryDirectory() as folder:
        printed: list[str] = []
        world = World(folder, printed.append, printed.append)
        host = ProgramHost(world, world.database.scope())
        ends: list[object] = []
        try:
            for entry in program.module.entries:
                outcome, task = drive(program, program.call(entry, [], host, max_steps), host)
                ends.append(ending(outcome, task))
                if isinstance(outcome, Failed):
                    break
        finally:
            host.scope.finish()
            world.database.close()
        return [ends, printed]


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda p: p.relative_to(HERE).as_posix().removesuffix(".qwe"))
def program(request):
    return request.param, module_of(request.param)


def test_every_language_program_keeps_its_promises_in_the_same_steps(program):
    path, module = program
    interpreted = ran(module)
    translated = ran(module, engine=warm)
    assert broken_promises(promises(path.read_text("utf-8")), translated) == []
    assert translated.steps == interpreted.steps


def test_its_code_is_the_same_once_it_was_kept(program):
    _, module = program
    translation = translate(module)
    assert translation is not None
    assert loaded(dumped(translation)) == translation


def test_every_limit_of_steps_ends_it_at_the_same_place(program):
    _, module = program
    known = ended(Program(module))
    total = max(end[-1] for end in known[0])
    count = 2 if total > LONG else MOST_LIMITS
    for limit in sorted({*range(min(total, 3)), *range(0, total + 2, max(1, total // count)), total - 1, total}):
        if limit >= 0:
            assert ended(warm(module), limit) == ended(Program(module), limit), limit


def test_small_slices_change_nothing(program):
    _, module = program
    known = ended(Program(module))
    if max(end[-1] for end in known[0]) < LONG:
        assert ended(warm(module), drive=in_small_slices) == known


def task_of(text: str, host: RecordingHost, max_steps: int | None = None) -> TranslatedTask:
    module = compiled(text)
    task = warm(module).call(module.entries[0], [], host, max_steps)
    assert isinstance(task, TranslatedTask)
    return task


def test_an_endless_loop_gives_way_and_is_cancelled():
    task = task_of("let n = 0\nwhile true {\n  n = n + 1\n}\n", RecordingHost())
    assert isinstance(task.run(), Yielded)
    assert isinstance(task.run(), Yielded)
    task.cancel()
    outcome = task.run()
    assert isinstance(outcome, Failed)
    assert (outcome.stop.kind, outcome.stop.message) == ("cancelled", "the call was cancelled")
    assert outcome.stop.places[0].line in (2, 3)
    assert task.done


def test_a_host_call_that_waits_from_inside_of_calls_goes_on_with_its_value():
    async def start() -> None:
        return None

    host = RecordingHost({"now": Waiting(start)})
    task = task_of("fn f(n: int) { if n == 0 { now() } else { f(n - 1) } }\nprint(f(50))\n", host)
    outcome = task.run()
    assert isinstance(outcome, Pending)
    assert task.unsettled == ("host", "now", [])
    task.resume("noon")
    assert isinstance(finish(task), Returned)
    assert host.calls[-1] == ("print", ["noon"])


def test_a_waiting_call_that_is_not_answered_is_made_again():
    async def start() -> None:
        return None

    host = RecordingHost({"now": Waiting(start)})
    task = task_of("print(now())\n", host)
    assert isinstance(task.run(), Pending)
    host.results["now"] = "later"
    assert isinstance(finish(task), Returned)
    assert host.calls[-1] == ("print", ["later"])


def test_a_question_without_an_answer_suspends_and_goes_on():
    host = RecordingHost()
    task = task_of('fn f() -> bool = confirm("Sure?")\nprint(f())\n', host)
    outcome = task.run()
    assert isinstance(outcome, Suspended)
    assert outcome.question.text == "Sure?"
    task.resume(True)
    assert isinstance(finish(task), Returned)
    assert host.calls[-1] == ("print", [True])


def test_a_call_that_is_left_unwinds():
    async def start() -> None:
        return None

    task = task_of("print(now())\n", RecordingHost({"now": Waiting(start)}))
    assert isinstance(task.run(), Pending)
    left = task._greenlet
    del task
    gc.collect()
    left.throw()
    assert left.dead


NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from((2**30 - 1, 2**30, 2**31, 2**62, 2**63 - 1, -(2**30), -(2**62), -(2**63) + 1)),
)
OPERATORS = st.sampled_from(("+", "-", "*", "/", "%"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(NUMBERS, NUMBERS, NUMBERS, OPERATORS, OPERATORS, st.integers(0, 4))
def test_whole_numbers_near_64_bits_end_alike(a, b, c, first, second, turns):
    text = (
        f"fn f(a: int, b: int, c: int) -> int {{\n  let s = a\n  for i in 0..{turns} {{\n"
        f"    s = (s {first} b) {second} (c + i)\n  }}\n  s\n}}\n"
        f"print(f(({a}), ({b}), ({c})))\nprint(f(1, 2, 3))\n"
    )
    module = compiled(text)
    assert ended(warm(module)) == ended(Program(module))


@pytest.mark.parametrize("depth", [9_998, 9_999, 10_000, 10_001])
def test_calls_go_as_deep_as_in_the_interpreter(depth):
    module = compiled(
        f"fn down(n: int) -> int {{\n  if n == 0 {{ return 0 }}\n  1 + down(n - 1)\n}}\nprint(down({depth}))\n"
    )
    assert ended(warm(module)) == ended(Program(module))


def test_what_is_known_of_builtins_is_what_the_prelude_says():
    fails = {name: any(overload.fails for overload in builtin.overloads) for name, builtin in BUILTINS.items()}
    native = {name for name, builtin in BUILTINS.items() if builtin.kind == "native"}
    assert {name for name in native if fails[name]} == types.FAILING
    assert all(name in fails and not fails[name] and name not in native for name in types.SURE)


def test_a_module_that_puts_an_error_into_a_list_is_left_to_the_interpreter():
    module = build("CHARGE 1", 'CONST "no"', "MAKE_ERR", "LIST 1", "RETURN")
    program = warm(module)
    assert program.runtime() is None
    assert isinstance(program.call(0, [], RecordingHost()).run(), Returned)
