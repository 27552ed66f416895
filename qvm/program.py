"""A Module that is ready to run, with its top-level variables. A door makes one and starts calls in it.

program = Program(module)                       the Module must have passed `qasm.verifier.verify`
for entry in module.entries:                    the top levels, first of all, in order
    outcome = program.call(entry, [], host).run()
task = program.call(tool.function, arguments, host, max_steps=50_000_000)
outcome = task.run()                            Returned, Failed, Suspended, Pending or Yielded
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from qvm.frames import Failed, Frame, Outcome, Pending, Returned, Suspended, Yielded
from qvm.interpreter import FUSE_AFTER, SLICE, Task
from qvm.prepare import Prepared
from qvm.typecheck import Check, Checks, Mismatch
from qvm.values import ABSENT, UNSET, Cell, Err

if TYPE_CHECKING:
    from qasm.module import Descriptor, Function, Module
    from qvm.host import Host
    from qvm.translator import Translation
    from qvm.translator_runtime import Runtime

__all__ = ["SLICE", "Failed", "Outcome", "Pending", "Program", "Returned", "Suspended", "Task", "Yielded"]


class CodeStore(Protocol):
    """Keeps the Python code of one Module between runs; whatever goes wrong, it finds nothing."""

    def find(self) -> bytes | None: ...

    def keep(self, data: bytes) -> None: ...


class Program:
    """`globals` are the top-level variables, shared by all calls. Functions are made ready when first called.

    `engine` is "interpreter" or "translator". With the translator, calls run on the interpreter until the program is
    warm; then its functions are translated, once, and the calls that begin from there on run as Python.
    """

    def __init__(self, module: Module, engine: str = "interpreter", warm: bool = False) -> None:
        self.module = module
        self.engine = engine
        self._warm = warm  # whether it has run for long enough to be worth translating
        self._runtime: Runtime | None = None
        self.store: CodeStore | None = None  # where code of earlier runs is kept
        self._translated = False  # whether the translator has been asked
        self.globals = [Cell(UNSET) for _ in module.globals]
        self.codes: list[list[Any] | None] = [None] * len(module.functions)
        self._prepared: list[Prepared | None] = [None] * len(module.functions)
        self.digest: bytes | None = None  # the Module's, once a snapshot has asked for it
        self._natives: dict[str, Callable[..., Any] | None] = {}
        self._steps = 0
        self.fused = False  # whether functions are fused (see qvm.fusion) as soon as they are made ready
        self._value_checks = Checks(module.types)
        self._json_checks: Checks | None = None

    def call(self, function: int, arguments: list[Any], host: Host, max_steps: int | None = None) -> Task:
        """A Task for a call of `module.functions[function]`, with a value (or ABSENT) for each of its parameters.

        `max_steps` is the most that it may be charged; None is no limit.
        """
        called = self.module.functions[function]
        if len(arguments) != len(called.parameters):
            raise ValueError(f"function {function} has {len(called.parameters)} parameters, got {len(arguments)}")
        padding = [None] * (called.local_count - len(arguments))
        frame = Frame(function, [*arguments, *padding])
        if self.engine == "translator" and self._warm:
            runtime = self.runtime()
            if runtime is not None and function in runtime.functions and self._fit(called, arguments):
                from qvm.translator_task import TranslatedTask

                return TranslatedTask(self, frame, host, max_steps, runtime)
        return Task(self, [frame], host, max_steps)

    def warm_up(self, functions: list[int]) -> None:
        """Calls of these functions are to be translated at once, where one of them loops or calls one that does."""
        if self.engine != "translator" or self._warm:
            return
        from qasm.instructions import decode

        left, seen = list(functions), set(functions)
        while left:
            for op, operands in decode(self.module.functions[left.pop()].code):
                if op.name == "LOOP":
                    self._warm = True
                    return
                if op.name in ("CALL", "CLOSURE"):
                    # A function that is met twice may call itself.
                    if operands[0] in seen and op.name == "CALL" and operands[0] not in functions:
                        self._warm = True
                        return
                    if operands[0] not in seen:
                        seen.add(operands[0])
                        left.append(operands[0])

    def runtime(self) -> Runtime | None:
        """The Module's functions as Python functions, translated when first asked for; None where that can't be."""
        if not self._translated:
            self._translated = True
            from qvm.translator_runtime import Runtime

            translation = self._translation()
            if translation is not None:
                self._runtime = Runtime(self, translation)
        return self._runtime

    def _translation(self) -> Translation | None:
        """The Module's functions as code, from the store where that has them."""
        from qvm.translator import dumped, loaded, translate

        kept = self.store.find() if self.store is not None else None
        if kept is not None:
            with suppress(Exception):  # what is kept may be spoilt: then it is made anew
                return loaded(kept)
        translation = translate(self.module)
        if translation is not None and self.store is not None:
            with suppress(ValueError):
                self.store.keep(dumped(translation))
        return translation

    def _fit(self, called: Function, arguments: list[Any]) -> bool:
        """Are these what the parameters' types say, as they stand? The translator relies on it."""
        for parameter, argument in zip(called.parameters, arguments, strict=True):
            if argument is ABSENT:
                if parameter.required:
                    return False
                continue
            if type(argument) is Err:
                return False
            check = self.check(parameter.type)
            try:
                if check is not None and check(argument) is not argument:
                    return False
            except Mismatch:
                return False
        return True

    def call_value(self, function: Any, arguments: list[Any], host: Host, max_steps: int | None = None) -> Task:
        """A Task for a call of a function value, as `f(argument, …)` in a program would be. Raises Stop.

        Only a function of the program can be called so, not a builtin.
        """
        from qvm.calling import call_value

        task = Task(self, [], host, max_steps)
        call_value(task, function, arguments, [])
        return task

    def grow(self) -> None:
        """Makes room for the functions and top-level variables that were added to the Module; the others stay."""
        self.globals += [Cell(UNSET) for _ in self.module.globals[len(self.globals) :]]
        self.engine = "interpreter"  # what was translated knows nothing of what is added
        more = len(self.module.functions) - len(self.codes)
        self.codes += [None] * more
        self._prepared += [None] * more
        self.digest = None

    def check(self, descriptor: Descriptor) -> Check | None:
        """The check of a running program's values against a type; None where there is nothing to look at."""
        return self._value_checks.check(descriptor)

    def json_check(self, descriptor: Descriptor) -> Check | None:
        """The check that makes a value of what a client sent as JSON."""
        if self._json_checks is None:
            self._json_checks = Checks(self.module.types, json=True)
        return self._json_checks.check(descriptor)

    def prepared_function(self, number: int) -> Prepared:
        """A function, made ready to run."""
        prepared = self._prepared[number]
        if prepared is None:
            prepared = self._prepared[number] = Prepared(self, number)
            self.codes[number] = prepared.fast
            if self.fused:
                from qvm.fusion import fuse

                fuse(prepared)
        return prepared

    def holds_back(self, frames: list[Frame]) -> bool:
        """Whether no other call may get its turn now, for one of these frames is in the middle of a change."""
        holding = {prepared.number: prepared.held_back for prepared in self._prepared if prepared is not None}
        holding = {number: pcs for number, pcs in holding.items() if pcs}
        if not holding:
            return False
        return any(frame.pc - 1 in holding.get(frame.function, ()) for frame in frames)

    def note_steps(self, steps: int) -> None:
        """Counts the steps of all calls; a program that has made FUSE_AFTER of them is worth fusing."""
        self._steps += steps
        if self._steps >= FUSE_AFTER and not self.fused:
            self.fused = self._warm = True
            from qvm.fusion import fuse

            for prepared in self._prepared:
                if prepared is not None:
                    fuse(prepared)

    def native(self, name: str) -> Callable[..., Any] | None:
        """The Python function of a builtin, None for one that is a host call."""
        if name not in self._natives:
            from qvm.builtins import is_native, native

            self._natives[name] = native(name) if is_native(name) else None
        return self._natives[name]
