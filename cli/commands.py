"""The subcommands of `quillo`, each in a file of its own that is imported when it is asked for."""

from __future__ import annotations

import click

from cli.lazy_group import LazyGroup, Table, run_group
from server import VERSION

# By name: the file, and the line that `quillo --help` shows, which is the first of the command's own help.
COMMANDS: Table = {
    "ask": ("cli.ask", "Calls one tool, and asks its questions here."),
    "build": ("cli.build", "Writes the compiled program to a file."),
    "check": ("cli.check", "Says what is wrong with a program."),
    "docs": ("cli.docs", "Prints what an AI client is sent."),
    "fmt": ("cli.fmt", "Writes programs in the one style."),
    "mcp": ("cli.mcp_command", "Serves a program's tools to an AI client over stdio."),
    "new": ("cli.new", "Makes a folder with a program to start from."),
    "repl": ("cli.repl", "Runs what you type, line by line."),
    "run": ("cli.run", "Runs a program."),
    "test": ("cli.test", "Runs a program's `test` blocks."),
}


@click.group(cls=LazyGroup, table=COMMANDS, name="quillo", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="quillo", message="%(prog)s %(version)s")
def group() -> None:
    """Quillo: one .qwe file holds a database, pages and tools for AI clients."""


def run_command(arguments: list[str] | None) -> None:
    """Runs a subcommand and ends the process with its status."""
    run_group(group, "quillo", arguments)
