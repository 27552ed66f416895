"""`quillo build FILE -o OUT.qvm`: writes the compiled program, which `mcp`, `run` and `qvm` take."""

from __future__ import annotations

import contextlib
import os

import click

from cli.modules import reason, refused, summary
from cli.opening import open_program
from qasm.module_file import dump


@click.command("build")
@click.argument("file")
@click.option("-o", "--output", metavar="OUT.qvm", required=True, help="The file to write.")
def command(file: str, output: str) -> None:
    """Writes the compiled program to a file.

    The same source gives the same bytes.
    """
    if os.path.exists(output) and os.path.exists(file) and os.path.samefile(output, file):
        raise click.UsageError("OUT is the program itself: name another file")
    module = open_program(file)
    data = dump(module)
    # Written beside it first: what is at OUT is whole at every moment.
    unfinished = f"{output}.{os.getpid()}"
    try:
        with open(unfinished, "wb") as made:
            made.write(data)
        os.replace(unfinished, output)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            os.unlink(unfinished)
        raise refused(output, reason(error)) from None
    click.echo(f"{output}: {summary(module, len(data))}")
