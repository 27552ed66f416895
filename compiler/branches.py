"""Branches of an `if` or a `match`: each is walked from the same knowledge, then what they end with is joined.

A branch that leaves (`return`, `break` …) adds nothing to what is known after it.
"""

from __future__ import annotations

from compiler import syntax
from compiler.checking import Checking, Failure
from compiler.narrowing import Known
from compiler.relations import join
from compiler.types import NEVER, Type, resolved

# With more branches than this, nothing is known any more of what they assign.
_MOST_BRANCHES = 16


class Branches:
    """Walks branches one after another, and joins what is known at the ends of those that go on."""

    def __init__(self, check: Checking) -> None:
        self.check = check
        self.start = check.flow.mark()
        self.count = 0
        self.ends: list[Known] = []
        self.types: list[Type] = []
        self.failures: list[Failure] = []

    def end(self, node: syntax.Node | None, type: Type) -> None:
        """A branch is at its end, with this value."""
        self.count += 1
        self.types.append(type)
        self.failures.append(self.check.failure_of(node) if node is not None else False)
        if resolved(type) != NEVER and self.count <= _MOST_BRANCHES:
            self.ends.append(self.check.flow.since(self.start))

    def join(self) -> Type:
        """The type of what is one of the branches' values."""
        if self.count <= _MOST_BRANCHES:
            self.check.flow.join(self.start, self.ends)
        else:
            self.check.flow.leave(self.start)
        return join(*self.types)
