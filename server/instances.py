"""Several processes that serve one program on one port (`quillo run --instances N`).

The parent binds and listens; each instance is a new process that inherits the listening socket and accepts on it: the
same on Linux and macOS, and a port in use is still an error at the start.

Rule 1  Instances start one after the other: each runs the top level of the program, and they share its database.
Rule 2  One that ends by itself is started again, after a while that grows where it ends at once again and again.
Rule 3  The parent's end is theirs: they hold the other end of a pipe of its.
Rule 4  Signals come from the parent alone: each instance is in a process group of its own, so that Ctrl-C reaches it
        once, as a call to end. Who has not ended by then is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import trio

_QUICK = 2.0  # seconds; an instance that ends sooner did not come to serve
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 30.0
_MOST_QUICK = 8  # quick ends one after the other, until it is given up
_GRACE = 15.0  # seconds for instances to end


class Instances:
    """`command` is the process to start; it is given the numbers of its descriptors by `with_descriptors`."""

    def __init__(
        self,
        command: Callable[[int, int, int], list[str]],
        listener: int,
        count: int,
        log: Callable[[str], None],
        environment: dict[str, str],
    ) -> None:
        self._command = command
        self._listener = listener
        self._count = count
        self._log = log
        self._environment = environment
        self._ending = False
        self._status: int | None = None  # to end with, once something went wrong
        self._change = trio.Event()  # set when it is to end
        self._processes: set[trio.Process] = set()
        self._ours, self._theirs = -1, -1

    async def run(self, ready: Callable[[], None]) -> int:
        """Runs the instances until a signal says to end; gives the status to end with."""
        self._theirs, self._ours = os.pipe()  # a pipe whose writing end is ours alone: it ends with this process
        try:
            with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._end_on_signal, signals, nursery.cancel_scope)
                    for number in range(self._count):
                        await nursery.start(self._keep, number)
                        if self._change.is_set():
                            break
                    else:
                        ready()
                    await self._change.wait()
                    self._end()
                    with trio.move_on_after(_GRACE):
                        while self._processes:
                            await trio.sleep(0.05)
                    nursery.cancel_scope.cancel()
        finally:
            os.close(self._ours)
            os.close(self._theirs)
        return self._status or 0

    async def _end_on_signal(self, signals: Any, scope: trio.CancelScope) -> None:
        async for _ in signals:
            if self._ending:
                scope.cancel()
            self._end()

    def _end(self) -> None:
        if self._ending:
            return  # told a second time, an instance ends at once
        self._ending = True
        self._change.set()
        for process in self._processes:
            process.terminate()

    def _give_up(self, status: int) -> None:
        self._status = self._status or status
        self._change.set()

    async def _keep(self, number: int, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keeps one instance running. `task_status` is told when it serves for the first time, or never will."""
        name = f"quillo: instance {number + 1}"
        quick, served_once = 0, False
        while not self._ending:
            began = trio.current_time()
            came, status = await self._once(name, task_status if not served_once else None)
            served_once = served_once or came
            if self._ending:
                break
            if not served_once:  # the program itself can't be served: the instance has said why, if it could
                if status < 0:
                    self._log(f"{name} ended ({_words(status)}) before it served")
                self._give_up(status if status >= 0 else 1)
                break
            self._log(f"{name} ended ({_words(status)}): it is started again")
            quick = quick + 1 if trio.current_time() - began < _QUICK else 0
            if quick >= _MOST_QUICK:
                self._log(f"{name} ended {quick} times at once: giving up")
                self._give_up(1)
                break
            if quick:
                await trio.sleep(min(_FIRST_WAIT * 2**quick, _LONGEST_WAIT))
        if not served_once:
            task_status.started()

    async def _once(self, name: str, task_status: trio.TaskStatus[None] | None) -> tuple[bool, int]:
        """One process from its start to its end: whether it came to serve, and its status."""
        reading, writing = os.pipe()
        async with trio.lowlevel.FdStream(reading) as pipe:
            try:
                process = await trio.lowlevel.open_process(
                    self._command(self._listener, writing, self._theirs),
                    env=self._environment,
                    pass_fds=(self._listener, writing, self._theirs),
                    stdin=subprocess.DEVNULL,
                    process_group=0,
                )
            except OSError as problem:
                self._log(f"{name} can't be started: {(problem.strerror or 'the system refuses it').lower()}")
                return False, 1
            finally:
                os.close(writing)
            self._processes.add(process)
            try:
                if self._ending:  # it was told while the process was made
                    process.terminate()
                came = bool(await pipe.receive_some(1))
                if came and task_status is not None:
                    task_status.started()
                return came, await process.wait()
            finally:
                self._processes.discard(process)
                if process.returncode is None:
                    process.kill()


def _words(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
