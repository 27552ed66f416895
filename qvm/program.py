"""A Module that is ready to run, with its top-level variables. A door makes one and starts calls in it.

program = Program(module)                       the Module must have passed `qasm.verifier.verify`
for entry in module.entries:                    the top levels, first of all, in order
    outcome = program.call(entry, [], host).run()
task = program.call(tool.function, arguments, host, max_steps=50_000_000)
outcome = task.run()                            Returned, Failed, Suspended, Pending or Yielded
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qvm.frames import Failed, Frame, Outcome, Pending, Returned, Suspended, Yielded
from qvm.interpreter import FUSE_AFTER, SLICE, Task
from qvm.prepare import Prepared
from qvm.typecheck import Check, Checks
from qvm.values import UNSET, Cell

if TYPE_CHECKING:
    from qasm.module import Descriptor, Module
    from qvm.host import Host

__all__ = ["SLICE", "Failed", "Outcome", "Pending", "Program", "Returned", "Suspended", "Task", "Yielded"]


class Program:
    """`globals` are the top-level variables, shared by all calls. Functions are made ready when first called."""

    def __init__(self, module: Module) -> None:
        self.module = module
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
        return Task(self, [Frame(function, [*arguments, *padding])], host, max_steps)

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
            self.fused = True
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
