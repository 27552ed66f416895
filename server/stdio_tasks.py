"""The stdio door once a call has had to wait: a trio task for each such call, one that reads, one that writes.

Calls begin in the reading task, as in `server.stdio`; only what waits, or has used up its slice, becomes a task.
"""

from __future__ import annotations

import select
import time

import trio

from server.protocol import Unfinished
from server.stdio import GRACE, MOST_QUEUED, TURN, Door, Gone, Output, Signals, read


def serve_tasks(door: Door, input: int, out: Output, signals: Signals) -> None:
    """Serves until there is nobody to serve."""
    try:
        trio.run(_Tasks(door, input, out, signals).serve)
    except* Gone:
        pass


class _Tasks:
    def __init__(self, door: Door, input: int, out: Output, signals: Signals) -> None:
        self.signals = signals
        self.door = door
        self.input = input
        self.out = out
        self.under_way = 0
        self.idle = trio.Event()  # set when the last call under way is done
        self.room = trio.Event()  # set when what was queued has been written
        self.draining = False

    async def serve(self) -> None:
        async with trio.open_nursery() as nursery:
            self.nursery = nursery
            nursery.start_soon(self._watch_signals)
            self._begin_tasks()
            await self._read()
            # The input has ended: calls under way get a little time.
            with trio.move_on_after(GRACE):
                while self.under_way:
                    self.idle = trio.Event()
                    await self.idle.wait()
                while self.out.queued:
                    await self._drained()
            nursery.cancel_scope.cancel()

    async def _watch_signals(self) -> None:
        await trio.lowlevel.wait_readable(self.signals.wake)
        self.nursery.cancel_scope.cancel()

    # reading

    async def _read(self) -> None:
        poll = select.poll()
        poll.register(self.input, select.POLLIN)
        while not self.door.ended:
            await trio.lowlevel.checkpoint()
            while len(self.out.queued) > MOST_QUEUED:
                await self._drained()
            if not poll.poll(0):  # always ready for a file and /dev/null, which can't be waited for
                await trio.lowlevel.wait_readable(self.input)
            data = read(self.input)
            if data:
                self.door.read(data)
                await self._take()
            else:
                await self._take()
                self.door.end()
                self._send()

    async def _take(self) -> None:
        began = time.monotonic()
        while self.door.pending:
            self.door.take_next()
            if time.monotonic() - began > TURN:
                self._send()
                await trio.lowlevel.checkpoint()
                began = time.monotonic()
        self._send()

    # calls

    def _begin_tasks(self) -> None:
        unfinished, self.door.unfinished = self.door.unfinished, []
        for call in unfinished:
            if call.cancelled:
                continue
            self.under_way += 1
            self.nursery.start_soon(self._finish, call)

    async def _finish(self, call: Unfinished) -> None:
        """Goes on with one call until its answer is there, or it is cancelled."""
        answer: bytes | Unfinished | None = call
        try:
            with trio.CancelScope() as scope:
                while isinstance(answer, Unfinished):
                    answer.on_cancel = scope.cancel
                    waiting = answer.waiting
                    if waiting is None:
                        await trio.lowlevel.checkpoint()
                        answer = answer.resume(None)
                        self._take_early()
                        continue
                    try:
                        value = await waiting.start()
                    except Exception as problem:  # a Stop, or a failure of ours that ends this call only
                        answer = answer.fail(problem)
                    else:
                        answer = answer.resume(value)
                    self._take_early()
            if scope.cancelled_caught:
                return
            self.door.done(answer)
            self._send()
        finally:
            if isinstance(answer, Unfinished):
                answer.cancel()
            self.under_way -= 1
            if not self.under_way:
                self.idle.set()

    def _take_early(self) -> None:
        """What was read in the middle of a statement wakes nobody who waits to read."""
        if self.door.pending or self.door.answers:
            self.nursery.start_soon(self._take)

    # writing

    def _send(self) -> None:
        if self.door.answers:
            self.out.put(self.door.taken())
        if self.door.unfinished:
            self._begin_tasks()
        if self.out.queued and not self.draining:
            self.draining = True
            self.nursery.start_soon(self._drain)

    async def _drained(self) -> None:
        """Waits until something that was queued has been written."""
        self.room = trio.Event()
        await self.room.wait()

    async def _drain(self) -> None:
        while self.out.queued:
            await trio.lowlevel.wait_writable(self.out.number)
            self.out.drain()
            self.room.set()
        self.draining = False
