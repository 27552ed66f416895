"""Keeps compiled programs in the user's cache folder, so that a program that did not change is not compiled again.

    cache = CompiledCache(cache_folder(os.environ, sys.platform))
    compiled = cache.find(name, data, read)         None, or a Compiled
    cache.keep(name, data, used, compiled)
    program.store = cache.translated(digest)        what the Module's functions are as Python code

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
import sys
from collections.abc import Callable, Mapping

MAGIC = b"\x91QCC"
FORMAT = 1
MOST_ENTRIES = 256
MOST_BYTES = 64 * 1024 * 1024  # of an entry
_SUFFIX = ".compiled"
TRANSLATED_MAGIC = b"\x91QTC"
_TRANSLATED_SUFFIX = ".translated"


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
        if not self._folder:
            return None
        try:
            import msgpack

            used, warnings, module_file = msgpack.unpackb(self.read_entry(self._path(name, data), MAGIC))
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

        with contextlib.suppress(OSError, ValueError):  # Rule 1
            digests = [[path, _digest(content)] for path, content in used.items()]
            payload = msgpack.packb([digests, compiled.warnings, compiled.module_file])
            self.write_entry(self._path(name, data), MAGIC, payload)

    def translated(self, digest: Callable[[], str]) -> TranslatedCode:
        """Where the Python code of the Module with this digest is kept."""
        return TranslatedCode(self, digest)

    def _path(self, name: str, data: bytes) -> str:
        return self.path(_SUFFIX, build(("compiler", "qasm")), name.encode("utf-8", "surrogateescape"), data)

    def path(self, suffix: str, *parts: str | bytes) -> str:
        """The file of an entry that is named by these parts; "" where none are kept."""
        from blake3 import blake3

        named = blake3(b"\0".join(part.encode() if isinstance(part, str) else part for part in parts))
        return os.path.join(self._folder, named.hexdigest(length=20) + suffix) if self._folder else ""

    def read_entry(self, path: str, magic: bytes) -> bytes:
        """The payload of an entry. Raises one of many exceptions where there is none, or it is not to be believed."""
        from qasm.framing import unframe

        if not path or not self._trusted(self._folder):
            raise FileNotFoundError(path)
        return unframe(self._read(path), magic, FORMAT, "an entry")

    def write_entry(self, path: str, magic: bytes, payload: bytes) -> None:
        """Keeps an entry. Raises OSError or ValueError where that can't be."""
        from qasm.framing import frame

        if not path or len(payload) > MOST_BYTES:
            return
        os.makedirs(self._folder, 0o700, exist_ok=True)
        if self._trusted(self._folder):
            self._write(path, frame(magic, FORMAT, payload))
            self._prune()

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


class TranslatedCode:
    """The entry for what a Module's functions are as Python code: see `qvm.program.CodeStore`."""

    def __init__(self, cache: CompiledCache, digest: Callable[[], str]) -> None:
        self._cache = cache
        self._digest = digest

    def find(self) -> bytes | None:
        try:
            return self._cache.read_entry(self._path(), TRANSLATED_MAGIC)
        except Exception:  # Rule 1
            return None

    def keep(self, data: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # Rule 1
            self._cache.write_entry(self._path(), TRANSLATED_MAGIC, data)

    def _path(self) -> str:
        python = f"{sys.implementation.cache_tag} {sys.hexversion}"
        return self._cache.path(_TRANSLATED_SUFFIX, build(("qvm", "qasm")), python, self._digest())


def build(packages: tuple[str, ...]) -> str:
    """Names this build of some packages: a change of any of their files makes another name."""
    if packages not in _builds:
        from server import VERSION

        parts = [VERSION]
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        for package in packages:
            try:
                with os.scandir(os.path.join(root, package)) as entries:
                    for entry in entries:
                        if entry.name.endswith((".py", ".qwe")):
                            status = entry.stat()
                            parts.append(f"{entry.name} {status.st_size} {status.st_mtime_ns}")
            except OSError:  # not installed as files: its version names it
                continue
        _builds[packages] = "\n".join(sorted(parts))
    return _builds[packages]


_builds: dict[tuple[str, ...], str] = {}


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _digest(data: bytes) -> bytes:
    from qasm.framing import blake3

    return blake3(data)
