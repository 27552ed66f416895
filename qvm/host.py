"""All that a program can touch outside itself, as one interface.

A builtin that needs the world (the clock, random numbers, the database, files, other sites, standard output, the
session …) is a *host call*: the engine hands its name and its arguments to `Host.call` and goes on with what comes
back. Since nothing else enters a program, writing these values down is enough to run it again elsewhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol


class Question:
    """A question to the person.

    `kind` is "confirm" or "about". `place` tells where in the code it stands: "FUNCTION:PC", the same in every run of
    one Module. `choices` (key to label) and `default` belong to "about".
    `sheltered` is true where it stands in a function that was given to a builtin other than `parallel` and
    `db.transaction`: nobody may be asked there.
    """

    __slots__ = ("choices", "default", "kind", "place", "sheltered", "text")

    def __init__(
        self, kind: str, text: str, choices: dict[str, str], default: str | None, place: str, sheltered: bool
    ) -> None:
        self.kind = kind
        self.text = text
        self.choices = choices
        self.default = default
        self.place = place
        self.sheltered = sheltered


class Waiting:
    """What a host call gives that can't answer at once: the door awaits `start()` and resumes with its value."""

    __slots__ = ("start",)

    def __init__(self, start: Callable[[], Awaitable[Any]]) -> None:
        self.start = start


class Unanswered(Exception):
    """Raised by `Host.ask` where there is no answer yet: the call is suspended."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.text)
        self.question = question


class Host(Protocol):
    """A host may have `notes_changes = False`: then the engine leaves `changed` out, which makes it a little faster.

    A host that others wait beside may let `parallel` run functions side by side (see qvm.together). Then it has
    `beside()`, the host of one such function, or None where they run one after another; `side_by_side(group)`, a
    Waiting for what they give; and `joined(host)`, which ends such a host.
    """

    def call(self, name: str, arguments: list[Any]) -> Any:
        """Does a host call: gives its value (an Err for a failure outside the program), or Waiting; raises Stop."""

    def ask(self, question: Question) -> bool | str:
        """The answer to a question; raises Unanswered to suspend the call, or Stop to refuse or end it."""

    def changed(self, what: str) -> None:
        """Notes a change that the engine makes itself: `what` is "the variable `n`" for a top-level variable."""
