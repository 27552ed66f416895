"""Serves a program over HTTP: makes its site, and with `watch` makes it anew when a file of the program changes.

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

from qvm.values import Stop
from server.asking import Asking, UsedInDatabase, UsedInMemory
from server.host import World
from server.http_door import Door, Log, Options
from server.http_mcp import CALLS_A_MINUTE, ToolDoor
from server.limits import CallCount
from server.policy import BESIDE, Policy, PolicyError, read_policies
from server.programs import RunningProgram, compile_watched, folder_of
from server.render import main_file, render
from server.site import Site
from server.visits import Web

if TYPE_CHECKING:
    from qasm.module import Module

MAX_BODY = 10 * 1024 * 1024  # bytes of a request's body, where nothing says less
LOOK = 0.2  # seconds between two looks at the files
_SETTLE = 0.05  # seconds that an editor gets to write a file to its end
_GRACE = 10.0  # seconds for requests under way


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


class Served:
    """A program that is served. Raises Stop where its top level stops, OSError where calls can't be recorded."""

    def __init__(self, path: str, module: Module, options: ServeOptions, policy: Policy) -> None:
        self.path = path
        self.module = module
        self.options = options
        self.policy = policy
        world = World(folder_of(path), options.output, options.log, policy, options.arguments, flush=options.flush)
        self.running = RunningProgram(module, world)
        recorder = None
        if options.record is not None:
            from server.recorder import Recorder

            secret = os.environ.get("QUILLO_SECRET")
            known = [] if secret is None else [(secret, "QUILLO_SECRET")]
            recorder = Recorder(options.record, module, options.log, world.clock, known)
        try:
            self.running.run_top_level(recorder)
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
        self.running.close()


async def serve(
    served: Served,
    listener: socket.socket,
    access: Log | None = None,
    ready: Callable[[], None] | None = None,
    alive: int = -1,
) -> None:
    """Serves until a signal says to end, or the other end of the descriptor `alive` is closed."""
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
                watcher = Watcher(served, door)
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


class Watcher:
    """Makes the site anew when a file of the program changes. A version that doesn't check, or whose top level stops,
    leaves the old one serving, which says on its pages what is wrong with the new.
    """

    def __init__(self, served: Served, door: Door) -> None:
        self.served = served
        self._door = door
        self._files = [file.name for file in served.module.files]
        self._seen = self._look()

    async def run(self) -> None:
        while True:
            await trio.sleep(LOOK)
            now = self._look()
            if now == self._seen:
                continue
            # Wait until the editor is done: two looks that are the same.
            while True:
                await trio.sleep(_SETTLE)
                again = self._look()
                if again == now:
                    break
                now = again
            self._seen = now
            old = self._reload()
            if old is not None:
                with trio.move_on_after(_GRACE):
                    while self._door.busy:
                        await trio.sleep(LOOK)
                old.close()

    def _reload(self) -> Served | None:
        """The version that was served until now, where there is a new one."""
        served, options = self.served, self.served.options
        new, lines, files = reloaded(served)
        self._files = sorted({*files, *(file.name for file in served.module.files)})
        self._seen = self._look()
        if new is None:
            self._door.site.problems = lines  # type: ignore[attr-defined]
            options.log("\n".join(lines))
            options.log("quillo: the program before this change goes on serving")
            return None
        new.web.tokens.take_over(served.web.tokens)
        self.served = new
        self._door.site = new.site
        options.log("quillo: reloaded")
        return served

    def _look(self) -> list[tuple[int, int, int] | None]:
        folder, options = folder_of(self.served.path), self.served.options
        paths = [self.served.path, *(os.path.join(folder, *name.split("/")) for name in self._files)]
        paths.append(os.path.join(folder, BESIDE))
        if options.policy_path is not None:
            paths.append(options.policy_path)
        return [_status(path) for path in paths]


def _status(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def reloaded(served: Served) -> tuple[Served | None, list[str], list[str]]:
    """The program as its files are now (None where it has errors), what was found, and the files that it uses."""
    from compiler.source import SourceError

    path, options = served.path, served.options
    files: list[str] = []
    try:
        policy = read_policies(folder_of(path), options.policy_path)
        module, found, files = compile_watched(path)
    except (SourceError, PolicyError) as problem:
        return None, [str(problem)], files
    if module is None:
        return None, [str(one) for one in found if one.severity == "error"], files
    try:
        return Served(path, module, options, policy), [], files
    except Stop as stop:
        return None, [render(stop, main_file(module))], files
    except OSError as problem:
        return None, [f"calls can't be recorded: {(problem.strerror or '').lower()}"], files


__all__ = ["MAX_BODY", "ServeOptions", "Served", "Watcher", "reloaded", "serve"]
