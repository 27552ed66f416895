"""What the checker proves of values holds as programs run.

Programs are compiled once more with a look at every value of known type: a value that is not of the type that the
checker gave it stops the program, which then does something else than it does without the looks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compiler import syntax, types
from compiler.checking import CHECKS
from compiler.function_lowering import CONTROL, EXPRESSIONS, SPINES, FunctionLowering
from tests.check_programs import CheckProgram, check_programs
from tests.programs import DoesNotCheck, broken_promises, compiled, promises, ran
from tests.test_lang import PROGRAMS, module_of

_NOTHING_TO_SEE = (types.ANY, types.NEVER, types.ERROR)


def _look(lowering: FunctionLowering, node: syntax.Expression) -> None:
    """Emits a check of the value on the stack, which may be an error where the checker says so."""
    if node.type is None or node.type in _NOTHING_TO_SEE:
        return
    name = f"the {type(node).__name__} on line {lowering.source.line(node.start)}"
    if not node.fails:
        lowering.check(node.type, name)
        return
    slot = lowering.temporary()
    lowering.code.emit("STORE", slot)
    lowering.code.open("BLOCK", 1)
    block = lowering.code.blocks[-1]
    lowering.code.emit("LOAD", slot)
    lowering.code.emit("DUP")
    lowering.code.emit("IS_ERR")
    lowering.code.branch("BR_IF", block)
    lowering.check(node.type, name)
    lowering.code.close()
    lowering.release(slot)


def _value_and_look(lowering: FunctionLowering, node: syntax.Expression, borrow: bool = False) -> None:
    """`FunctionLowering.value`, with a look at each value of a chain."""
    waiting: list[tuple[Callable[[FunctionLowering], None], syntax.Expression]] = []
    while (opening := SPINES.get(type(node))) is not None:
        opened = opening(lowering, node)
        if opened is None:
            break
        waiting.append((opened.finish, node))
        node, borrow = opened.operand, opened.borrow
    if (control := CONTROL.get(type(node))) is not None:
        control(lowering, node, True)
    elif borrow and isinstance(node, syntax.Name) and lowering.is_loaded(node.symbol):
        lowering.load_name(node.symbol, borrow=True)
    else:
        EXPRESSIONS[type(node)](lowering, node)
    _look(lowering, node)
    while waiting:
        finish, node = waiting.pop()
        finish(lowering)
        _look(lowering, node)


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has all that is compiled from then on look at its values."""
    return lambda: monkeypatch.setattr(FunctionLowering, "value", _value_and_look)


def test_a_wrong_type_is_seen(looking: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    looking()
    monkeypatch.setitem(CHECKS, syntax.Literal, lambda check, node, wanted: check.typed(node, types.STR))
    stop = ran(compiled("print(1)")).stop
    assert stop is not None
    assert str(stop) == "the Literal on line 1 must be str, got int"


@pytest.mark.slow
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_values_of_language_programs_are_of_their_types(path: Path, looking: Callable[[], None]) -> None:
    looking()
    done = ran(module_of(path), max_steps=50_000_000)
    assert broken_promises(promises(path.read_text("utf-8")), done) == []


def _runs(program: CheckProgram) -> bool:
    """Is it a program of one file without errors, which uses nothing that is not supported yet?"""
    if len(program.files) > 1 or any(text.startswith("error") for _, _, text in program.promised()):
        return False
    try:
        compiled(program.files["main.qwe"])
    except DoesNotCheck:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("program", [p for p in check_programs() if _runs(p)], ids=lambda program: program.name)
def test_values_of_check_programs_are_of_their_types(program: CheckProgram, looking: Callable[[], None]) -> None:
    text = program.files["main.qwe"]
    plain = ran(compiled(text), max_steps=100_000)
    looking()
    looked = ran(compiled(text), max_steps=10_000_000)
    assert looked.lines == plain.lines
    assert str(looked.stop) == str(plain.stop)


def test_the_programs_that_run_print_much() -> None:
    """So that there are many values to look at."""
    texts = [p.files["main.qwe"] for p in check_programs() if p.name.startswith("runs/")]
    done = [ran(compiled(text)) for text in texts]
    assert all(one.stop is None for one in done)
    assert sum(len(one.lines) for one in done) >= 50
