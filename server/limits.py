"""How many tool calls a caller may make a minute.

A minute is 60 buckets of a second: memory is bounded whatever the limit, and a call is forgotten up to a second early.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_CALLERS = 10_000  # that are remembered; the one that has called least lately is forgotten first


class _Minute:
    """The calls of one caller: how many in which second of the last minute (by the second modulo 60), and in all."""

    __slots__ = ("counts", "second", "total")

    def __init__(self, now: int) -> None:
        self.counts = [0] * 60
        self.second = now  # the last one that was looked at
        self.total = 0

    def move(self, now: int) -> None:
        """Forgets what lies over a minute back."""
        counts = self.counts
        for second in range(max(self.second + 1, now - 59), now + 1):
            self.total -= counts[second % 60]
            counts[second % 60] = 0
        self.second = now

    def oldest(self) -> int:
        """The second of the first call that still counts."""
        first = self.second - 59
        return next(second for second in range(first, self.second + 1) if self.counts[second % 60])


class CallCount:
    """Counts calls of each caller against one limit. `clock` gives seconds, from any start."""

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self.limit = limit
        self._clock = clock
        self._callers: dict[str, _Minute] = {}

    def take(self, caller: str) -> int:
        """Counts one call: 0 if it may go on, else in how many seconds one may."""
        now = int(self._clock())
        minute = self._callers.pop(caller, None)
        if minute is None:
            minute = _Minute(now)
            if len(self._callers) >= MOST_CALLERS:
                del self._callers[next(iter(self._callers))]
        self._callers[caller] = minute  # the last in the dict is the one that called last
        if now != minute.second:
            minute.move(now)
        if minute.total >= self.limit:
            return max(1, minute.oldest() + 60 - now)
        minute.counts[now % 60] += 1
        minute.total += 1
        return 0
