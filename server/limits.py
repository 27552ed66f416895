"""How many tool calls a caller may make a minute.

A minute is 60 buckets of a second: memory is bounded whatever the limit, and a call is forgotten up to a second early.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_CALLERS = 10_000  # that are remembered; the one that has called least lately is forgotten first


class CallCount:
    """Counts calls of each caller against one limit. `clock` gives seconds, from any start."""

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self.limit = limit
        self._clock = clock
        self._callers: dict[str, tuple[list[int], list[int]]] = {}  # seconds and counts, by second modulo 60

    def take(self, caller: str) -> int:
        """Counts one call: 0 if it may go on, else in how many seconds one may."""
        now = int(self._clock())
        entry = self._callers.pop(caller, None)
        if entry is None:
            entry = ([0] * 60, [0] * 60)
            if len(self._callers) >= MOST_CALLERS:
                del self._callers[next(iter(self._callers))]
        self._callers[caller] = entry  # the last in the dict is the one that called last
        seconds, counts = entry
        live = [(second, count) for second, count in zip(seconds, counts, strict=True) if second > now - 60]
        if sum(count for _, count in live) >= self.limit:
            return max(1, min(second for second, count in live if count) + 60 - now)
        place = now % 60
        if seconds[place] != now:
            seconds[place], counts[place] = now, 0
        counts[place] += 1
        return 0
