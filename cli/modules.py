"""Gets a Module for a command: from a `.qvm` file, or from a `.qwe` program, which is compiled.

What is wrong with a file is a Refusal: the command ends with its text on standard error, and status 1.
"""

from __future__ import annotations

from typing import IO, Any

import click

from qasm.module import BadModule, Module
from qasm.module_file import MAGIC, load
from qasm.verifier import verify

MOST_BYTES = 100 * 1024 * 1024  # of a file that is read


class Refusal(click.ClickException):
    """Ends the command with this text and status 1."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file, err=True)


def refused(path: str, message: object) -> Refusal:
    """A Refusal in the form that all findings have: `FILE: error: MESSAGE`."""
    return Refusal(f"{path}: error: {message}")


def read_file(path: str) -> bytes:
    """A file's bytes. Raises Refusal."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise refused(path, reason(error)) from None
    if len(data) > MOST_BYTES:
        raise refused(path, f"it is larger than {MOST_BYTES // 1024 // 1024} MiB")
    return data


def reason(error: OSError | ValueError) -> str:
    """Why a file can't be read or written, in words for people."""
    if isinstance(error, FileNotFoundError):
        return "it is not there"
    if isinstance(error, IsADirectoryError):
        return "it is a folder, and a file is wanted"
    if isinstance(error, NotADirectoryError):
        return "a part of its path is a file, and a folder is wanted"
    if isinstance(error, PermissionError):
        return "there is no permission"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return "no file can have this name"


def load_verified(path: str, data: bytes) -> Module:
    """The Module of a `.qvm` file's bytes, verified. Raises Refusal."""
    try:
        module = load(data)
        verify(module)
    except BadModule as error:
        raise refused(path, error) from None
    return module


def open_module(path: str) -> Module:
    """The verified Module of a module file, known by its first bytes or its `.qvm`, or of a program, which is compiled.

    Raises Refusal, with what the compiler finds.
    """
    data = read_file(path)
    if data.startswith(MAGIC) or path.endswith(".qvm"):
        return load_verified(path, data)
    from cli.opening import open_program

    module = open_program(path)
    try:
        verify(module)
    except BadModule as error:
        raise refused(path, f"the compiler made a module that can't be run: {error}") from None
    return module


def summary(module: Module, size: int) -> str:
    """A module in a few words: `12 functions, 3456 bytes, digest …`."""
    from qasm.module_file import digest

    count = len(module.functions)
    return f"{count} {'function' if count == 1 else 'functions'}, {size} bytes, digest {digest(module)}"
