"""What a running call is made of: plain data, so that it can be stopped between any two instructions and saved.

Rule 1: a call of a Quillo function pushes a Frame; the engine never calls itself.
Rule 2: a Frame's `pc` is the next instruction. In a frame that waits for a call, the instruction before it is the call.
Rule 3: frames hold values and indexes, never code. Which error stop goes where is known from the code (ControlFlow), so
        a frame keeps no list of handlers.
Rule 4: stopping is a return value: an Outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qvm.values import Cell, Stop

if TYPE_CHECKING:
    from qvm.host import Question, Waiting


class Frame:
    """One call. `function` is its index in the Module; `cells` are the captured variables of its closure.

    `owned` says for a local which very list or record it alone holds: that may be changed in place, as long as it is
    still the local's value. None where there is no such local yet.
    """

    __slots__ = ("cells", "function", "locals", "owned", "pc", "stack")

    def __init__(self, function: int, locals: list[Any], cells: tuple[Cell, ...] = ()) -> None:
        self.function = function
        self.pc = 0
        self.locals = locals
        self.stack: list[Any] = []
        self.cells = cells
        self.owned: dict[int, Any] | None = None


class Outcome:
    """Why a Task's run came back."""

    __slots__ = ()


class Returned(Outcome):
    """The call is done. `value` may be an Err: an error that the function left with."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Failed(Outcome):
    """The call is done: it stopped. `stop.places` tells where."""

    __slots__ = ("stop",)

    def __init__(self, stop: Stop) -> None:
        self.stop = stop


class Suspended(Outcome):
    """The call asked a question that has no answer yet. Its frames are kept, to be looked at, saved or resumed."""

    __slots__ = ("question",)

    def __init__(self, question: Question) -> None:
        self.question = question


class Pending(Outcome):
    """The call waits for a host call: await `waiting.start()` and give its value to `Task.resume`."""

    __slots__ = ("waiting",)

    def __init__(self, waiting: Waiting) -> None:
        self.waiting = waiting


class Yielded(Outcome):
    """The slice of steps is used up: `Task.run` goes on."""

    __slots__ = ()
