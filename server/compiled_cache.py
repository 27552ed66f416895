"""Keeps compiled programs in the user's cache folder, so that a program that did not change is not compiled again.

    cache = CompiledCache(cache_folder(os.environ, sys.platform))
    compiled = cache.find(name, data, read)         None, or a Compiled
    cache.keep(name, data, used, compiled)

An entry is a file, named by the digest of what makes a Module: this build of the compiler, the main file's name and its
bytes. It holds the digests of the files that the program uses, which must be the same, the warnings, and the Module as
a file.

Rule 1  A cache may be lost or spoilt at any time: whatever is wrong with an entry, a folder or a disk, the program is
        compiled as if there were none, in silence.
Rule 2  Only what its user alone can write is believed: a folder or an entry of another owner, or one that others may
        write, is passed over. An entry carries a digest of its own, so a damaged one is, too.
Rule 3  Entries are written beside and moved into place: processes that start at once see whole ones.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

MAGIC = b"\x91QCC"
FORMAT = 1
MOST_ENTRIES = 256
MOST_BYTES = 64 * 1024 * 1024  # of an entry
_SUFFIX = ".compiled"


class Compiled:
    """What compiling gave: a Module's file, and the warnings as lines."""

    __slots__ = ("module_file", "warnings")

    def __init__(self, module_file: bytes, warnings: list[str]) -> None:
        self.module_file = module_file
        self.warnings = warnings


def cache_folder(environment: Mapping[str, str], platform: str) -> str:
    """Where this user's programs keep what can be made again; "" where that is not known."""
    home = environment.get("HOME", "")
    base = environment.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG base directory specification: a relative one is passed over
        if not os.path.isabs(home):
            return ""
        base = os.path.join(home, "Library", "Caches") if platform == "darwin" else os.path.join(home, ".cache")
    return os.path.join(base, "quillo")


class CompiledCache:
    """The entries in one folder; with `folder` "" there are none, and none are kept."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find(self, name: str, data: bytes, read: Callable[[str], bytes]) -> Compiled | None:
        """What compiling the main file `name` with these bytes gave. `read` gives a used file's bytes, or raises."""
        if not self._folder or not self._trusted(self._folder):
            return None
        try:
            fields = _unpacked(self._read(self._path(name, data)))
            used, warnings, module_file = fields
            for path, digest in used:
                if _digest(read(path)) != digest:
                    return None
            return Compiled(bytes(module_file), [str(warning) for warning in warnings])
        except Exception:  # Rule 1
            return None

    def keep(self, name: str, data: bytes, used: dict[str, bytes], compiled: Compiled) -> None:
        """Remembers what compiling gave; `used` has the bytes of each used file by its path."""
        if not self._folder:
            return
        import msgpack

        from qasm.framing import frame

        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            if not self._trusted(self._folder):
                return
            digests = [[path, _digest(content)] for path, content in used.items()]
            payload = msgpack.packb([digests, compiled.warnings, compiled.module_file])
            if len(payload) <= MOST_BYTES:
                self._write(self._path(name, data), frame(MAGIC, FORMAT, payload))
                self._prune()
        except (OSError, ValueError):  # Rule 1
            pass

    def _path(self, name: str, data: bytes) -> str:
        from blake3 import blake3

        named = blake3(b"\0".join((build().encode(), name.encode("utf-8", "surrogateescape"), data)))
        return os.path.join(self._folder, named.hexdigest(length=20) + _SUFFIX)

    def _read(self, path: str) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not _is_ours(os.fstat(descriptor)):
                raise PermissionError(path)
            return file.read(MOST_BYTES + 1024)

    def _write(self, path: str, data: bytes) -> None:
        beside = f"{path}.{os.getpid()}"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise

    def _prune(self) -> None:
        """The oldest entries go where there are too many, and what a process that was killed left beside them."""
        with os.scandir(self._folder) as entries:
            found = sorted((entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in entries)
        for _, path in found[: max(0, len(found) - MOST_ENTRIES)]:
            with contextlib.suppress(OSError):
                os.unlink(path)

    @staticmethod
    def _trusted(folder: str) -> bool:
        try:
            return _is_ours(os.stat(folder))
        except OSError:
            return False


def build() -> str:
    """Names this build of the compiler: a change of any of its files makes another name."""
    global _build
    if not _build:
        from server import VERSION

        parts = [VERSION]
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        for package in ("compiler", "qasm"):
            try:
                with os.scandir(os.path.join(root, package)) as entries:
                    for entry in entries:
                        if entry.name.endswith((".py", ".qwe")):
                            status = entry.stat()
                            parts.append(f"{entry.name} {status.st_size} {status.st_mtime_ns}")
            except OSError:  # not installed as files: its version names it
                continue
        _build = "\n".join(sorted(parts))
    return _build


_build = ""


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _digest(data: bytes) -> bytes:
    from qasm.framing import blake3

    return blake3(data)


def _unpacked(data: bytes) -> Any:
    import msgpack

    from qasm.framing import unframe

    return msgpack.unpackb(unframe(data, MAGIC, FORMAT, "a compiled program"))
