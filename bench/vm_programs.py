"""The programs of bench/vm, each in Quillo and as a good Python programmer would write it, ready to be called."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qvm.program import Failed, Program, Returned
from server.programs import compile_file

FOLDER = Path(__file__).resolve().parent / "vm"
NAMES = sorted(path.stem for path in FOLDER.glob("*.qwe"))


class Nothing:
    """The host of a program that touches nothing."""

    notes_changes = False

    def call(self, name: str, arguments: list[Any]) -> Any:
        raise AssertionError(name)

    def ask(self, question: Any) -> Any:
        raise AssertionError(question.text)

    def changed(self, what: str) -> None:
        raise AssertionError(what)


def program_of(path: Path, engine: str = "interpreter") -> tuple[Program, int]:
    """A program, and the number of its function `bench`."""
    module, found = compile_file(str(path))
    assert module is not None, found
    number = next(number for number, function in enumerate(module.functions) if function.name == "bench")
    return Program(module, engine, warm=True), number


def ours(name: str, engine: str = "translator") -> Callable[[], Any]:
    """Calls `bench` of the Quillo program on one of the engines."""
    program, number = program_of(FOLDER / f"{name}.qwe", engine)

    def call() -> Any:
        task = program.call(number, [], Nothing())
        while True:
            outcome = task.run()
            if type(outcome) is Returned:
                return outcome.value
            if type(outcome) is Failed:
                raise outcome.stop

    return call


def python(name: str) -> Callable[[], Any]:
    """`bench` of the Python program."""
    spec = importlib.util.spec_from_file_location(f"vm_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    call: Callable[[], Any] = module.bench
    return call
