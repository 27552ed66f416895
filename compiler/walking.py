"""Walks a tree of any depth without recursion.

A walk is a generator: it yields the walk of a part, and gets that part's result back. `run` keeps the walks that wait
in a list, so ten thousand `else if`s, or two hundred brackets in each other, take no more of Python's stack than one.
What is yielded and is no generator is a result that was at hand: it is given back at once.
"""

from __future__ import annotations

from collections.abc import Generator
from types import GeneratorType
from typing import Any

Walk = Generator[Any, Any, Any]


def run(walk: Walk) -> Any:
    """Runs a walk to its end, and gives its result."""
    waiting: list[Walk] = []
    value: Any = None
    while True:
        try:
            part = walk.send(value)
        except StopIteration as stop:
            value = stop.value
            if not waiting:
                return value
            walk = waiting.pop()
            continue
        if type(part) is GeneratorType:
            waiting.append(walk)
            walk = part
            value = None
        else:
            value = part
