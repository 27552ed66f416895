"""Serves a program over HTTP: makes its site, and (see `server.watching`) makes it anew when one of its files changes.

served = Served(path, module, options)      runs the top level. Raises Stop
trio.run(serve, served, listener, log)
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio

from server.asking import Asking, UsedInDatabase, UsedInMemory
from server.host import World
from server.http_door import Door, Log, Options
from server.http_mcp import CALLS_A_MINUTE, ToolDoor
from server.limits import CallCount
from server.policy import Policy
from server.programs import RunningProgram, folder_of
from server.site import Site
from server.visits import Web

if TYPE_CHECKING:
    from qasm.module import Module
    from server.compiled_cache import CompiledCache

MAX_BODY = 10 * 1024 * 1024  # bytes of a request's body, where nothing says less


class ServeOptions:
    """How a program is served. `secret` is what all keys are made from, `policy` what holds for it.

    `address` is where it listens, as people see it: "http://127.0.0.1:8080"; `local`: on this machine alone.
    `output` takes what the program prints, `log` a line for standard error.
    """

    def __init__(
        self,
        secret: bytes,
        output: Callable[[str], None],
        log: Callable[[str], None],
        flush: Callable[[], None],
        policy_path: str | None = None,
        base: str = "",
        origin: str = "",
        address: str = "",
        local: bool = True,
        watch: bool = False,
        max_tool_calls: int | None = None,
        record: str | None = None,
        arguments: list[str] | None = None,
        cache: CompiledCache | None = None,
    ) -> None:
        self.secret = secret
        self.output = output
        self.log = log
        self.flush = flush
        self.policy_path = policy_path
        self.base = base
        self.origin = origin
        self.address = address
        self.local = local
        self.watch = watch
        self.max_tool_calls = max_tool_calls
        self.record = record
        self.arguments = arguments or []
        self.cache = cache


class Served:
    """A program that is served. Raises Stop where its top level stops, OSError where calls can't be recorded.

    `again`: an earlier version of it is being served, and waits: the top level has no input, can't end the process, and
    has `max_compute` steps.
    """

    def __init__(self, path: str, module: Module, options: ServeOptions, policy: Policy, again: bool = False) -> None:
        self.path = path
        self.module = module
        self.options = options
        self.policy = policy
        world = World(folder_of(path), options.output, options.log, policy, options.arguments, flush=options.flush)
        if again:
            world.serving = "quillo run"
        self.running = RunningProgram(module, world, recorded=options.record is not None, cache=options.cache)
        recorder = None
        if options.record is not None:
            from server.recorder import Recorder

            secret = os.environ.get("QUILLO_SECRET")
            known = [] if secret is None else [(secret, "QUILLO_SECRET")]
            recorder = Recorder(options.record, module, options.log, world.clock, known)
        try:
            self.running.run_top_level(recorder, self.running.max_compute if again else None)
            options.flush()
            world.serving = "quillo run"
            self.web = Web(self.running, options.secret, options.base, options.origin, options.local)
            self.site = Site(self.web, self._door(recorder), options.watch)
            self.site.build()
        except BaseException:
            self.running.close()
            raise

    def _door(self, recorder: Any) -> ToolDoor | None:
        if not self.module.tools:
            return None
        database, options = self.running.world.database, self.options
        used = UsedInDatabase(database) if database.is_open else UsedInMemory()
        asking = Asking(options.secret, self.running.digest, used, time.time)
        limit = options.max_tool_calls or CALLS_A_MINUTE
        limit = min(limit, self.policy.max_tool_calls or limit)
        return ToolDoor(self.web, asking, CallCount(limit, time.monotonic), recorder)

    @property
    def max_body(self) -> int:
        return min(self.policy.max_body or MAX_BODY, MAX_BODY)

    def trial_token(self) -> str:
        """A token for trying the door, good while this process runs."""
        return self.web.tokens.make_trial()

    def close(self) -> None:
        self.web.tokens.close()
        self.running.close()


async def serve(
    served: Served,
    listener: socket.socket,
    access: Log | None = None,
    ready: Callable[[], None] | None = None,
    alive: int = -1,
    announce: Callable[[Served, Served], None] | None = None,
) -> None:
    """Serves until a signal says to end, or the other end of the descriptor `alive` is closed.

    `ready` is called when it serves, `announce(new, old)` for each new version of a program that is watched.
    """
    options = served.options
    gc.freeze()  # what is there now stays: no collection has to look at it again
    door = Door(served.site, Options(max_body=served.max_body, timing=options.watch), access, _fault(options.log))
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_end_on_signal, signals, door, nursery.cancel_scope)
            if alive >= 0:
                nursery.start_soon(_end_when_closed, alive, door)
            watcher = None
            if options.watch:
                from server.watching import Watcher

                watcher = Watcher(served, door, announce)
                nursery.start_soon(watcher.run)
            await door.serve(listener, ready)
            nursery.cancel_scope.cancel()
    (served if watcher is None else watcher.served).close()


def _fault(log: Callable[[str], None]) -> Callable[[BaseException], str]:
    from server.protocol import fault

    def note(problem: BaseException) -> str:
        reference = os.urandom(4).hex()
        log(f"[{reference}] {fault(problem)}")
        return reference

    return note


async def _end_on_signal(signals: Any, door: Door, scope: trio.CancelScope) -> None:
    async for _ in signals:
        if door.ending:  # told twice: at once
            scope.cancel()
        door.end()


async def _end_when_closed(descriptor: int, door: Door) -> None:
    await trio.lowlevel.wait_readable(descriptor)
    door.end()
