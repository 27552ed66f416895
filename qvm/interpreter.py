"""Runs calls: a Task is one call from outside, with all the frames that it comes to have.

Rule 1: nothing here calls itself. A Quillo call pushes a frame, and the loop goes on with the frame on top.
Rule 2: a Task can be left between any two instructions (`step`), and is left by itself where a host call waits, a
        question has no answer, or a slice of steps is used up. It goes on with `run`, in this process or, saved by
        `qvm.snapshot`, in another.
Rule 3: steps are what CHARGE instructions ask, added up, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qvm.calling import native_arguments
from qvm.frames import Failed, Frame, Outcome, Pending, Returned, Suspended, Yielded
from qvm.host import Unanswered, Waiting
from qvm.mistakes import error_stop, refused
from qvm.operators import is_error, make_error
from qvm.prepare import STOPPED
from qvm.questions import QUESTIONS, question
from qvm.unwinding import unwind
from qvm.values import DEPTH_LIMIT, BuiltinFunction, Err, Stop, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from qvm.host import Host, Question
    from qvm.program import Program
    from qvm.together import Group

SLICE = 20_000
FUSE_AFTER = 10_000  # steps of a program's calls, all together, until its functions are worth fusing
_NO_END = 1 << 62
_LATER = 1_000  # steps until it is asked again whether a Task may give way


class Task:
    """One call from outside. Made by `Program.call`.

    `frames`     the calls under way, the innermost last; empty when it has returned.
    `fuel`       steps until the end of the slice.
    `within`     the Group of a `parallel` that it belongs to; `beside` the Group of its own that it waits for.
    `unsettled`  what a run was left at: ("host", name, arguments) for a host call that waits, ("question", Question)
                 for a question without an answer; None otherwise. A run that isn't given the answer asks again.
    """

    __slots__ = (
        "_cancelled",
        "_charged",
        "_granted",
        "_outcome",
        "_reserve",
        "beside",
        "frames",
        "fuel",
        "host",
        "max_steps",
        "most_frames",
        "note_change",
        "program",
        "sheltered",
        "unsettled",
        "within",
    )

    def __init__(self, program: Program, frames: list[Frame], host: Host, max_steps: int | None) -> None:
        self.program = program
        self.frames = frames
        self.host = host
        self.max_steps = max_steps
        self.most_frames = DEPTH_LIMIT  # that a call may find
        self.sheltered = False  # whether nobody may be asked, for a call around these frames
        self.note_change: Callable[[str], None] | None = host.changed if getattr(host, "notes_changes", True) else None
        self.fuel = 0
        self.within: Group | None = None
        self.beside: Group | None = None
        self.unsettled: tuple[Any, ...] | None = None
        self._granted = 0  # what `fuel` was at the start of the slice
        self._reserve = 0  # steps of the slice that are not in `fuel` yet
        self._charged = 0  # steps of the slices before
        self._outcome: Outcome | None = None
        self._cancelled = False

    @property
    def steps(self) -> int:
        """The steps charged so far, with those of the functions that run side by side in it."""
        own = self._charged + self._granted - self.fuel
        return own if self.beside is None else own + self.beside.steps

    @property
    def done(self) -> bool:
        """Whether the call is over: it has returned or stopped."""
        return isinstance(self._outcome, Returned | Failed)

    @property
    def place(self) -> tuple[str, int]:
        """The file and the line of the next instruction."""
        frame = self.frames[-1]
        prepared = self.program.prepared_function(frame.function)
        return self.program.module.files[prepared.function.file].name, prepared.line(frame.pc)

    # from outside

    def run(self, slice: int = SLICE) -> Outcome:
        """Goes on until the call is over, waits, asks, or has used up `slice` steps.

        A Pending Task that is run without `resume` makes its host call again, and a Suspended one asks again.
        """
        if not self._ready():
            return self._left()
        self._grant(slice)
        frames = self.frames
        codes = self.program.codes
        while True:
            frame = frames[-1]
            code = codes[frame.function] or self.program.prepared_function(frame.function).fast
            stack = frame.stack
            locals = frame.locals
            pc = frame.pc
            try:
                while pc >= 0:
                    pc = code[pc](stack, locals, self)
            except (Stop, RecursionError, MemoryError) as problem:
                self._stopped(_as_stop(problem), pc)
            if self._outcome is not None:
                return self._left()

    def step(self) -> Outcome | None:
        """Does one instruction. Gives None while there is more to do, else as `run`."""
        if not self._ready():
            return self._left()
        self._grant(_NO_END)
        frame = self.frames[-1]
        pc = frame.pc
        try:
            following = self.program.prepared_function(frame.function).plain[pc](frame.stack, frame.locals, self)
        except (Stop, RecursionError, MemoryError) as problem:
            self._stopped(_as_stop(problem), pc)
        else:
            if following >= 0:
                frame.pc = following
        return None if self._outcome is None else self._left()

    def resume(self, value: Any) -> None:
        """Gives a Pending Task what its host call came to (an Err for a failure), or a Suspended one the answer."""
        self.unsettled = None
        self._outcome = None
        self.frames[-1].stack.append(value)

    def fail(self, stop: Stop) -> None:
        """Ends what a Pending or Suspended Task waits for with a stop, as if the host call had raised it."""
        self.unsettled = None
        self._outcome = None
        self._stopped(stop, self.frames[-1].pc - 1)

    def charge(self, steps: int) -> None:
        """Charges a Task that waits for steps that were made for it."""
        self._charged += steps

    def cancel(self) -> None:
        """Makes the next run end with a stop that nothing catches."""
        self._cancelled = True

    def restore(self, steps: int, unsettled: tuple[Any, ...] | None) -> None:
        """Makes a new Task go on where a saved one was left."""
        self._charged = steps
        self.unsettled = unsettled

    # beginning and ending a run

    def _ready(self) -> bool:
        """Whether there is an instruction to do next; else the outcome is there."""
        if self.done:
            return False
        self._outcome = None
        if self._cancelled:
            self._stopped(Stop("the call was cancelled", "cancelled"), max(self.frames[-1].pc - 1, 0))
        elif self.unsettled is not None:
            self._ask_again()
        return self._outcome is None

    def _ask_again(self) -> None:
        """Makes a host call that waited once more, or asks once more."""
        kind, *what = self.unsettled or ("",)
        self.unsettled = None
        frame = self.frames[-1]
        try:
            if kind == "host":
                self.call_host(what[0], what[1], frame.pc - 1, frame.pc)
            else:
                self.ask(what[0], frame.pc - 1, frame.pc)
        except Stop as stop:
            self._stopped(stop, frame.pc - 1)

    def _grant(self, slice: int) -> None:
        self._add_up()
        if self.max_steps is not None:
            slice = min(slice, self.max_steps - self._charged)
        self._reserve = 0
        if not self.program.fused and slice > FUSE_AFTER:
            self._reserve = slice - FUSE_AFTER
            slice = FUSE_AFTER
        self.fuel = self._granted = slice

    def _add_up(self) -> None:
        charged = self._granted - self.fuel
        self._charged += charged
        self._granted = self.fuel = 0
        if not self.program.fused:
            self.program.note_steps(charged)

    def _left(self) -> Outcome:
        self._add_up()
        assert self._outcome is not None
        return self._outcome

    def _stopped(self, stop: Stop, pc: int) -> None:
        stop.__traceback__ = stop.__context__ = None  # they would keep what was on the way alive
        if not unwind(self.program, self.frames, stop, pc):
            self._outcome = Failed(stop)

    # from handlers

    def returned(self, value: Any) -> None:
        self._outcome = Returned(value)

    def out_of_fuel(self, count: int, after: int) -> int:
        """What a CHARGE of `count` steps does when the slice doesn't hold them; `after` is the pc behind it."""
        if self._reserve:
            self._granted += self._reserve
            self.fuel += self._reserve
            self._reserve = 0
            self.program.note_steps(FUSE_AFTER)
            if self.fuel >= 0:
                return after
        steps = self.steps
        if self.max_steps is not None and steps > self.max_steps:
            self.fuel += count
            raise out_of_compute(self.max_steps)
        frames = self.frames
        frames[-1].pc = after
        if self.program.holds_back(frames):
            more = _LATER if self.max_steps is None else min(_LATER, self.max_steps - steps)
            self._granted += more - self.fuel
            self.fuel = more
            return after
        self._outcome = Yielded()
        return STOPPED

    def call_host(self, name: str, arguments: list[Any], pc: int, following: int) -> int:
        """A host call by the instruction at `pc`."""
        for argument in arguments:
            if type(argument) is Err:
                raise error_stop(argument)
        frame = self.frames[-1]
        if name == "_together":
            return self._together(arguments, pc, following)
        try:
            result = self.host.call(name, arguments)
        except Unanswered as unanswered:
            return self._suspended(unanswered.question, pc, ("host", name, arguments))
        if type(result) is Waiting:
            frame.pc = pc + 1
            self.unsettled = ("host", name, arguments)
            self._outcome = Pending(result)
            return STOPPED
        frame.stack.append(result)
        return following

    def _together(self, arguments: list[Any], pc: int, following: int) -> int:
        """Runs functions side by side: gives the list of what they give, null where they run one after another."""
        from qvm.together import group_of

        frame = self.frames[-1]
        group = group_of(self, arguments[0], pc)
        if group is None:
            frame.stack.append(None)
            return following
        if self.within is None:  # else it would run within a run, and these within each other
            try:
                group.begin()
            except BaseException:
                group.end()
                raise
            if group.over:
                self.fuel -= group.end()
                frame.stack.append(group.values())
                return following
        frame.pc = pc + 1
        self.unsettled = ("host", "_together", arguments)
        self._outcome = Pending(self.host.side_by_side(group))  # type: ignore[attr-defined]
        return STOPPED

    def ask(self, question: Question, pc: int, following: int) -> int:
        """A question by the instruction at `pc`."""
        try:
            answer = self.host.ask(question)
        except Unanswered as unanswered:
            return self._suspended(unanswered.question, pc, ("question", unanswered.question))
        self.frames[-1].stack.append(answer)
        return following

    def _suspended(self, question: Question, pc: int, unsettled: tuple[Any, ...]) -> int:
        self.frames[-1].pc = pc + 1
        self.unsettled = unsettled
        self._outcome = Suspended(question)
        return STOPPED

    def call_builtin_value(self, function: Any, arguments: list[Any], names: list[str], pc: int, following: int) -> int:
        """A call of a function value that is no closure."""
        if type(function) is not BuiltinFunction:
            raise refused(f"cannot call {kind_of(function)}: it is no function", function)
        name = function.name
        if name in QUESTIONS:
            return self.ask(question(self, name, arguments, pc), pc, following)
        native = _INLINE.get(name) or self.program.native(name)
        if native is None:
            if names:
                raise Stop(f"the arguments of `{name}` as a value are given by place, not by name")
            return self.call_host(name, arguments, pc, following)
        if name not in _TAKE_ERRORS:
            for argument in arguments:
                if type(argument) is Err:
                    raise error_stop(argument)
        by_place, by_name = native_arguments(name, native, arguments, names)
        self.frames[-1].stack.append(native(*by_place, **by_name))
        return following


def out_of_compute(most: int) -> Stop:
    return Stop(f"out of compute: it takes more than {most:,} steps", "compute")


def _as_stop(problem: Stop | RecursionError | MemoryError) -> Stop:
    """What ended an instruction, as a Stop: what a program's values did to Python is a mistake in the program."""
    if isinstance(problem, Stop):
        return problem
    deep = isinstance(problem, RecursionError)
    return Stop("a value is nested too deep" if deep else "there is not enough memory")


def _err(v: Any) -> Err:
    return make_error(v)


def _is_err(x: Any) -> bool:
    return is_error(x)


_INLINE = {"err": _err, "is_err": _is_err}  # instructions where they are called by name, functions as values
_TAKE_ERRORS = frozenset(("is_err", "db.error_kind"))
