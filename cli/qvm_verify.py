"""`qvm verify FILE.qvm`: whether a module file is whole and all that the engines assume of it is true."""

from __future__ import annotations

import click

from cli.modules import load_verified, read_file, summary


@click.command("verify")
@click.argument("file")
def command(file: str) -> None:
    """Checks that a module is whole and can be run.

    FILE is a module (.qvm). Prints one line: its functions, its size and its digest.
    """
    data = read_file(file)
    click.echo(f"{file}: ok, {summary(load_verified(file, data), len(data))}")
