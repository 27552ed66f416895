"""How the grammar's rules are written down, and what their actions are given.

A rule is a text such as `"let : LET pattern EQ expression"`. Its action takes the Builder and the value of each symbol
(a Token for a terminal) and gives the value of the left side. The order of registration numbers the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from compiler.source import Source
from compiler.syntax import Node

Action = Callable[..., Any]
_Decorated = TypeVar("_Decorated", bound=Action)

RULES: list[str] = []
ACTIONS: list[Action | None] = []  # None: the value of the first symbol is the value


def rule(*texts: str) -> Callable[[_Decorated], _Decorated]:
    """Registers rules that share one action."""

    def register(action: _Decorated) -> _Decorated:
        for text in texts:
            RULES.append(text)
            ACTIONS.append(action)
        return action

    return register


def same(*texts: str) -> None:
    """Registers rules whose value is that of their first symbol."""
    for text in texts:
        RULES.append(text)
        ACTIONS.append(None)


class Builder:
    """What the actions of one parse share."""

    __slots__ = ("docs", "grouped", "problem", "source")

    def __init__(
        self, source: Source, docs: dict[int, tuple[int, str]], problem: Callable[[str, str, int, int, str], None]
    ) -> None:
        self.source = source
        self.docs = docs
        # Reports an error: (code, message, start, end, hint).
        self.problem = problem
        # Nodes that stand in brackets of their own, by identity: `a[(1..3)]` is no slice.
        self.grouped: set[Node] = set()

    def error(self, code: str, message: str, start: int, end: int, hint: str = "") -> None:
        self.problem(code, message, start, end, hint)

    def doc(self, start: int) -> str | None:
        """The `///` text above the definition that begins at `start`."""
        found = self.docs.pop(start, None)
        return None if found is None else found[1]
