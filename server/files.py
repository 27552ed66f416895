"""The file builtins: what a program may do with files, inside its own folder only (language.md, section 13).

A path is walked from the folder down, part by part, without following links: so neither `..`, nor a link, nor a folder
that is exchanged for a link in between leads outside. A failure is an Err { kind, message } of kind "missing",
"denied", "outside", "folder", "not_text" or "other".
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

from qvm.builtins.arguments import failure, need_text, utf8
from qvm.values import TEXT_LIMIT, Err, Stop

_KINDS = {
    errno.ENOENT: ("missing", "is not there"),
    errno.ENOTDIR: ("missing", "is not there: a part of its path is no folder"),
    errno.ELOOP: ("outside", "is a link, or leads through one: links are not followed"),
    errno.EACCES: ("denied", "may not be touched: permission denied"),
    errno.EPERM: ("denied", "may not be touched: permission denied"),
    errno.EISDIR: ("folder", "is a folder"),
    errno.EROFS: ("denied", "may not be changed: the disk is read-only"),
    errno.ENOSPC: ("other", "can't be written: the disk is full"),
}


def read_file(folder: str, arguments: list[Any]) -> Any:
    """`read_file(path)`: the text of a file."""
    name = "read_file"
    path = need_text(arguments[0], 1, name)
    data: bytes | Err = b""
    try:
        with _opened(folder, path, os.O_RDONLY) as descriptor:
            if not stat.S_ISREG(os.fstat(descriptor.number).st_mode):
                return failure(name, "folder", f"`{path}` is no file")
            data = _read(descriptor.number)
    except _Outside as error:
        return failure(name, "outside", str(error))
    except OSError as error:
        return _failed(name, path, error)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return failure(name, "not_text", f"`{path}` is not UTF-8")


def write_file(folder: str, arguments: list[Any]) -> Any:
    """`write_file(path, s)`: makes the file or replaces what is in it."""
    return _write(folder, arguments, "write_file", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


def append_file(folder: str, arguments: list[Any]) -> Any:
    """`append_file(path, s)`: makes the file or adds to its end."""
    return _write(folder, arguments, "append_file", os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def delete_file(folder: str, arguments: list[Any]) -> Any:
    """`delete_file(path)`: a file, never a folder."""
    name = "delete_file"
    path = need_text(arguments[0], 1, name)
    try:
        with _parent(folder, path) as (descriptor, last):
            if stat.S_ISDIR(os.stat(last, dir_fd=descriptor.number, follow_symlinks=False).st_mode):
                return failure(name, "folder", f"`{path}` is a folder")
            os.unlink(last, dir_fd=descriptor.number)
    except _Outside as error:
        return failure(name, "outside", str(error))
    except OSError as error:
        return _failed(name, path, error)
    return None


def files(folder: str, arguments: list[Any]) -> Any:
    """`files(folder)`: the names in a folder, in alphabetical order."""
    name = "files"
    path = need_text(arguments[0], 1, name)
    try:
        with _opened(folder, path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            found = os.listdir(descriptor.number)
    except _Outside as error:
        return failure(name, "outside", str(error))
    except OSError as error:
        return _failed(name, path, error)
    return sorted(entry.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for entry in found)


def _write(folder: str, arguments: list[Any], name: str, flags: int) -> Any:
    path, text = need_text(arguments[0], 1, name), need_text(arguments[1], 2, name)
    data = memoryview(utf8(text, 2, name))
    try:
        with _opened(folder, path, flags) as descriptor:
            while data:
                data = data[os.write(descriptor.number, data) :]
    except _Outside as error:
        return failure(name, "outside", str(error))
    except OSError as error:
        return _failed(name, path, error)
    return None


def _read(number: int) -> bytes:
    pieces, total = [], 0
    while piece := os.read(number, 1 << 20):
        total += len(piece)
        if total > TEXT_LIMIT:
            raise Stop("a text can't grow over 64 MiB")
        pieces.append(piece)
    return b"".join(pieces)


class _Outside(Exception):
    """A path that leads out of the program's folder."""


class _Descriptor:
    """An open file or folder, closed at the end of a `with`."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self) -> _Descriptor:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.number)


class _parent:
    """A `with` over the folder that holds what `path` names, open, and the last part of the path."""

    def __init__(self, folder: str, path: str) -> None:
        self._descriptor, self._last = _walk(folder, path)

    def __enter__(self) -> tuple[_Descriptor, str]:
        return self._descriptor, self._last

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor.number)


def _walk(folder: str, path: str) -> tuple[_Descriptor, str]:
    """Opens the folder that holds what `path` names. Raises _Outside and OSError."""
    if "\0" in path or not path:
        raise _Outside("a path needs a file's name" if not path else "a path has no null characters")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts:
        raise _Outside(f"`{path}` leads out of the program's folder")
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    number = os.open(folder or ".", flags)
    try:
        for part in parts[:-1]:
            inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=number)
            os.close(number)
            number = inner
    except BaseException:
        os.close(number)
        raise
    return _Descriptor(number), parts[-1] if parts else "."


def _opened(folder: str, path: str, flags: int) -> _Descriptor:
    with _parent(folder, path) as (descriptor, last):
        # NONBLOCK: a named pipe must not hold up the server.
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        return _Descriptor(os.open(last, flags, 0o666, dir_fd=descriptor.number))


def _failed(name: str, path: str, error: OSError) -> Err:
    kind, words = _KINDS.get(error.errno or 0, ("other", (error.strerror or "can't be used").lower()))
    return failure(name, kind, f"`{path}` {words}")
