"""Serves a program anew when one of its files changes (`quillo run --watch`).

Files are looked at every `LOOK` seconds: that is the same on every system, file system and editor, costs a few
microseconds, and needs no library. What decides is a file's time, size and number, so that a file that was written
beside and put in the old one's place is seen, too; so are files that come, go, and come back.

Rule 1  A version that doesn't check, or whose top level stops, leaves the old one serving, which says what is wrong.
Rule 2  Requests under way end in the version in which they began; its database is closed when they have.
Rule 3  Compiling holds nobody up: it runs in a thread. The top level runs between requests, when none of them has a
        transaction open: it could only wait for that one's end.
Rule 4  A change while a version is being made is not lost: what was read is compared with what is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio

from compiler.source import SourceError
from qvm.values import Stop
from server.policy import BESIDE, Policy, PolicyError, read_policies
from server.programs import compile_watched, folder_of
from server.render import main_file, render
from server.serving import Served

if TYPE_CHECKING:
    from qasm.module import Module
    from server.http_door import Door

LOOK = 0.2  # seconds between two looks at the files
_SETTLE = 0.05  # seconds between two looks that must be the same: an editor may write a file in several steps
_PATIENCE = 10.0  # seconds that the top level waits for a transaction to end

# A file's time of change in nanoseconds, size and number; None for one that is not there; () for one that changed
# while it was read.
_Status = tuple[int, ...] | None


class Watcher:
    """Puts a new site into `door` when a file of `served` changes. `announce(new, old)` is told of each new version."""

    def __init__(self, served: Served, door: Door, announce: Callable[[Served, Served], None] | None = None) -> None:
        self.served = served
        self._door = door
        self._announce = announce
        main = main_file(served.module)
        # The program has been compiled, and its top level run, since its files were read.
        self._seen = self._expect({}, {file.name: file.text for file in served.module.files if file.name != main})
        if not served.path.endswith(".qvm"):
            text = next((file.text for file in served.module.files if file.name == main), None)
            self._seen[served.path] = _status_of(served.path, text)

    async def run(self) -> None:
        """Looks, for ever."""
        await trio.to_thread.run_sync(_load_compiler)
        async with trio.open_nursery() as nursery:
            while True:
                await trio.sleep(LOOK)
                if self._look() == self._seen:
                    continue
                await self._settled()
                old = await self._reload()
                if old is not None:
                    nursery.start_soon(self._retire, old)

    async def _settled(self) -> None:
        now = self._look()
        while True:
            await trio.sleep(_SETTLE)
            before, now = now, self._look()
            if now == before:
                return

    async def _reload(self) -> Served | None:
        """The version that was served until now, where there is a new one."""
        old = self.served
        seen = self._look()
        made = await trio.to_thread.run_sync(_compiled, old)
        files = dict.fromkeys((file.name for file in old.module.files if file.name != main_file(old.module)), None)
        self._seen = self._expect(seen, {**files, **made.files})
        new, lines = None, made.errors
        if made.module is not None:
            database = old.running.world.database
            with trio.move_on_after(_PATIENCE):
                while database.holder is not None:
                    await database.changed_hands()
            new, lines = _started(old, made.module, made.policy)
        options = old.options
        for line in made.warnings:
            options.log(line)
        if new is None:
            old.site.problems = lines
            options.log("\n".join(lines))
            options.log("quillo: the program before this change goes on serving")
            return None
        new.web.tokens.take_over(old.web.tokens)
        self.served = new
        self._door.site = new.site
        self._door.options.max_body = new.max_body
        options.log("quillo: reloaded")
        if self._announce is not None:
            self._announce(new, old)
        return old

    async def _retire(self, old: Served) -> None:
        """Closes a version when the last request that began in it has ended."""
        try:
            while self._door.is_under_way(old.site):
                await trio.sleep(LOOK)
        finally:
            old.close()

    # what is looked at

    def _look(self) -> dict[str, _Status]:
        return {path: _status(path) for path in self._seen}

    def _expect(self, seen: dict[str, _Status], used: dict[str, str | None]) -> dict[str, _Status]:
        """What the next look is compared with: what was seen before the files were read, or, for a file that nobody
        knew of then, what is there if it is still what was read. `used`: the text by the name, None for any.
        """
        path, options = self.served.path, self.served.options
        folder = folder_of(path)
        texts: dict[str, str | None] = {path: None, os.path.join(folder, BESIDE): None}
        if options.policy_path is not None:
            texts[options.policy_path] = None
        if not path.endswith(".qvm"):
            texts |= {os.path.join(folder, *name.split("/")): text for name, text in used.items()}
        return {one: seen[one] if one in seen else _status_of(one, text) for one, text in texts.items()}


def _status(path: str) -> _Status:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _status_of(path: str, text: str | None) -> _Status:
    """A file's status, () where its text is no longer this."""
    status = _status(path)
    if text is None:
        return status
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            now = file.read()
    except (OSError, ValueError):
        now = ""
    return status if _lines(now) == _lines(text) else ()


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").splitlines()


class _Made:
    """What came of the files: a Module or errors, warnings, the policy, and the texts of used files by their names."""

    def __init__(self) -> None:
        self.module: Module | None = None
        self.policy = Policy()
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self.files: dict[str, str | None] = {}


def _load_compiler() -> None:
    """So that the first change is served as soon as later ones: a program from the cache was not compiled."""
    import compiler.compile  # noqa: F401


def _compiled(served: Served) -> _Made:
    """Compiles a program as its files are now."""
    made = _Made()
    try:
        made.policy = read_policies(folder_of(served.path), served.options.policy_path)
        made.module, found, files = compile_watched(served.path)
        made.files = {name: data.decode("utf-8", "replace") for name, data in files.items()}
        made.warnings = [str(one) for one in found if one.severity == "warning"]
        if made.module is None:
            made.errors = [str(one) for one in found if one.severity == "error"]
    except (SourceError, PolicyError) as problem:
        made.errors = [str(problem)]
    except Exception as problem:  # of the compiler itself: the old version goes on, too
        made.module, made.errors = None, [_fault(problem)]
    return made


def _started(old: Served, module: Module, policy: Policy) -> tuple[Served | None, list[str]]:
    """The new version, its top level run; or why there is none."""
    try:
        return Served(old.path, module, old.options, policy, again=True), []
    except Stop as stop:
        return None, [render(stop, main_file(module))]
    except OSError as problem:
        return None, [f"quillo: error: calls can't be recorded: {(problem.strerror or '').lower()}"]
    except Exception as problem:
        return None, [_fault(problem)]


def _fault(problem: Any) -> str:
    from server.protocol import fault

    return fault(problem)
