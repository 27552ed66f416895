"""`quillo fmt FILE…`: programs in the one style (docs/style.md)."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import click

from cli.modules import Refusal, read_file, reason, refused

STANDARD_INPUT = "-"


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Write nothing: name the files that would change, with status 1.")
def command(files: tuple[str, ...], check: bool) -> None:
    """Writes programs in the one style.

    FILE is a program, a folder (all .qwe files in it, those whose names begin with a dot left out), or - for standard
    input, which is written to standard output. Prints the names of the files that it changed. A file with mistakes
    stays as it is; they are printed on standard error, and the status is 1.
    """
    failed = False
    changed = False
    for name in _chosen(files):
        try:
            if isinstance(name, Refusal):
                raise name
            text = _formatted(name)
            if name == STANDARD_INPUT and not check:
                _print(text[1])
            elif text[0] != text[1]:
                if not check:
                    _replace(name, text[1])
                click.echo(name)
                changed = True
        except Refusal as refusal:
            click.echo(refusal.message, err=True)
            failed = True
    raise SystemExit(1 if failed or (check and changed) else 0)


def _chosen(files: tuple[str, ...]) -> Iterator[str | Refusal]:
    """Every file that is meant, once; a Refusal where there is none."""
    seen = set()
    for given in files:
        found: list[str | Refusal] = [given]
        if given != STANDARD_INPUT and os.path.isdir(given):
            found = _in_folder(given)
        for one in found:
            key = os.path.realpath(one) if isinstance(one, str) and one != STANDARD_INPUT else one
            if key not in seen:
                seen.add(key)
                yield one


def _in_folder(folder: str) -> list[str | Refusal]:
    found: list[str | Refusal] = []

    def unreadable(error: OSError) -> None:
        found.append(refused(error.filename or folder, reason(error)))

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [
            os.path.join(place, name) for name in sorted(names) if name.endswith(".qwe") and not name.startswith(".")
        ]
    return found or [refused(folder, "there is no .qwe file in this folder")]


def _formatted(name: str) -> tuple[bytes, bytes]:
    """A file's bytes as they are and as they should be. Raises Refusal, with its mistakes."""
    from compiler.diagnostics import Diagnostics
    from compiler.formatter import format_source
    from compiler.source import SourceError, decode
    from server.programs import shown

    if name == STANDARD_INPUT:
        data = sys.stdin.buffer.read()
        name = "standard input"
    else:
        data = read_file(name)
    diagnostics = Diagnostics()
    try:
        text = format_source(decode(shown(name), data), diagnostics)
    except SourceError as problem:
        raise Refusal(str(problem)) from None
    if text is None:
        raise Refusal("\n".join(str(one) for one in diagnostics.in_order() if one.severity == "error"))
    return data, text.encode("utf-8")


def _print(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _replace(path: str, data: bytes) -> None:
    """Gives a file new bytes and keeps its permissions. It is whole at every moment. Raises Refusal."""
    target = os.path.realpath(path)  # of a link, what it leads to
    unfinished = f"{target}.{os.getpid()}"
    try:
        if not os.access(target, os.W_OK):
            raise PermissionError
        mode = os.stat(target).st_mode
        with open(unfinished, "wb") as made:
            made.write(data)
        os.chmod(unfinished, mode)
        os.replace(unfinished, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise refused(path, reason(error)) from None
