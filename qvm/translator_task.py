"""A call that runs translated functions: the same from outside as the interpreter's Task.

The call runs in a greenlet. Where it waits, asks or has used up its slice, it switches back to `run`, which gives the
outcome to the door; the next `run` switches to where it was left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet

from qvm.frames import Failed, Frame, Outcome, Pending, Returned, Suspended, Yielded
from qvm.host import Unanswered, Waiting
from qvm.interpreter import _LATER, SLICE, Task, _as_stop, out_of_compute
from qvm.prepare import STOPPED
from qvm.values import DEPTH_LIMIT, Stop

if TYPE_CHECKING:
    from qvm.host import Host
    from qvm.program import Program
    from qvm.translator_runtime import Runtime

TRANSLATED_SLICE = 10 * SLICE  # steps take a tenth of the time: others wait as long as for a slice of the interpreter
_AGAIN = object()  # what `run` hands over where there is no value to go on with


class TranslatedTask(Task):
    __slots__ = ("_began", "_greenlet", "_stop", "_value", "runtime")

    def __init__(self, program: Program, frame: Frame, host: Host, max_steps: int | None, runtime: Runtime) -> None:
        super().__init__(program, [frame], host, max_steps)
        self.runtime = runtime
        self._greenlet: Any = None
        self._value: Any = _AGAIN
        self._stop: Stop | None = None

    # from outside

    def run(self, slice: int = TRANSLATED_SLICE) -> Outcome:
        if self.done:
            return self._left()
        if self._greenlet is None:
            if self._cancelled or self.unsettled is not None or self._stop is not None:
                return super().run(slice)  # nothing has run yet: there are frames to tell where it stands
            self._greenlet = greenlet(self._main)
        self._outcome = None
        self._grant(slice)
        stop, self._stop = self._stop, None
        value, self._value = self._value, _AGAIN
        if self._cancelled:
            stop = Stop("the call was cancelled", "cancelled")
        self.runtime.task = self
        self._greenlet.parent = getcurrent()
        if stop is not None:
            self._greenlet.throw(stop)
        else:
            self._greenlet.switch(value)
        return self._left()

    def step(self) -> Outcome | None:
        raise NotImplementedError("stepping needs the interpreter's frames")

    def resume(self, value: Any) -> None:
        self.unsettled = None
        self._outcome = None
        self._value = value

    def fail(self, stop: Stop) -> None:
        self.unsettled = None
        self._outcome = None
        self._stop = stop
        self.run(0)

    def _grant(self, slice: int) -> None:
        self._add_up()
        if self.max_steps is not None:
            slice = min(slice, self.max_steps - self._charged)
        self._reserve = 0
        self.fuel = self._granted = slice

    # inside the greenlet

    def _main(self, value: Any) -> None:
        runtime = self.runtime
        frame = self.frames[-1]
        arguments = frame.locals[: len(self.program.module.functions[frame.function].parameters)]
        runtime.set_fuel(self.fuel)
        try:
            result = runtime.functions[frame.function](*arguments, 1)
        except (Stop, RecursionError, MemoryError, AttributeError, IndexError, ZeroDivisionError) as problem:
            self._outcome = Failed(runtime.as_stop(problem))
        else:
            self._outcome = Returned(result)
        self.fuel = runtime.get_fuel()

    def _leave(self, outcome: Outcome, unsettled: tuple[Any, ...] | None = None) -> Any:
        """Gives an outcome to the door; comes back with the next run, and the value that it brings."""
        self._outcome = outcome
        self.unsettled = unsettled
        value = self._greenlet.parent.switch()
        self.runtime.task = self
        return value

    def out_of_fuel(self, count: int, after: int) -> int:
        if self.max_steps is not None and self.steps > self.max_steps:
            return super().out_of_fuel(count, after)
        if self._greenlet is not None and self.runtime.holds_back():
            more = _LATER if self.max_steps is None else min(_LATER, self.max_steps - self.steps)
            self._granted += more - self.fuel
            self.fuel = more
            return after
        return super().out_of_fuel(count, after)

    def more_fuel(self, count: int) -> None:
        steps = self.steps
        if self.max_steps is not None and steps > self.max_steps:
            self.fuel += count
            raise out_of_compute(self.max_steps)
        if self.runtime.holds_back():
            more = _LATER if self.max_steps is None else min(_LATER, self.max_steps - steps)
            self._granted += more - self.fuel
            self.fuel = more
            return
        self._leave(Yielded())

    def wait_for(self, kind: str, name: str, arguments: list[Any], found: Unanswered | Waiting) -> Any:
        """The value of a host call that waits or asks; it is made again where the door goes on without one."""
        while True:
            outcome: Outcome = Pending(found) if type(found) is Waiting else Suspended(found.question)  # type: ignore[union-attr]
            value = self._leave(outcome, (kind, name, arguments))
            if value is not _AGAIN:
                return value
            try:
                value = self.host.call(name, arguments)
            except Unanswered as unanswered:
                value = unanswered
            if not isinstance(value, Unanswered | Waiting):
                return value
            found = value

    def as_interpreter(self, frames: list[Frame], operate: Callable[[Any], int]) -> Any:
        """What a handler pushes that wants frames around it."""
        outer, self.frames = self.frames, frames
        try:
            following = operate(self)
            while following == STOPPED:
                outcome, unsettled = self._outcome, self.unsettled
                assert outcome is not None
                value = self._leave(outcome, unsettled)
                if value is not _AGAIN:
                    return value
                self._outcome = None
                self._ask_again()
                following = 0 if self._outcome is None else STOPPED
                if isinstance(self._outcome, Failed):
                    stop = self._outcome.stop
                    self._outcome, stop.places = None, []
                    raise stop
            return frames[-1].stack.pop()
        finally:
            self.frames = outer

    def interpret(self, frame: Frame, depth: int) -> Any:
        """Runs a frame, and all that it calls, on the interpreter. `depth` calls are under way around it."""
        outer, self.frames = self.frames, [frame]
        most, self.most_frames = self.most_frames, DEPTH_LIMIT - depth
        sheltered, self.sheltered = self.sheltered, self.sheltered or self.runtime.shelters()
        try:
            while True:
                self._interpret()
                outcome = self._outcome
                self._outcome = None
                if isinstance(outcome, Returned):
                    return outcome.value
                if isinstance(outcome, Failed):
                    stop = outcome.stop
                    stop.inner, stop.places = stop.places, []
                    raise stop
                assert outcome is not None
                try:
                    value = self._leave(outcome, self.unsettled)
                except Stop as stop:
                    self._outcome = None
                    self._stopped(stop, max(self.frames[-1].pc - 1, 0))
                else:
                    self._outcome = None
                    if value is not _AGAIN:
                        self.frames[-1].stack.append(value)
                    elif self.unsettled is not None:
                        self._ask_again()
        finally:
            self.frames, self.most_frames, self.sheltered = outer, most, sheltered

    def _interpret(self) -> None:
        frames = self.frames
        codes = self.program.codes
        while self._outcome is None:
            frame = frames[-1]
            code = codes[frame.function] or self.program.prepared_function(frame.function).fast
            stack, locals, pc = frame.stack, frame.locals, frame.pc
            try:
                while pc >= 0:
                    pc = code[pc](stack, locals, self)
            except (Stop, RecursionError, MemoryError) as problem:
                self._stopped(_as_stop(problem), pc)
