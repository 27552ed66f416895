"""A command whose subcommands are files of their own, imported when they are asked for; and how a command ends."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

# By name: the file, whose `command` it is, and the line that the overview shows, the first of the command's own help.
Table = dict[str, tuple[str, str]]


class LazyGroup(click.Group):
    """A group of the subcommands in `table`. Knowing their names, and showing the overview, imports none of them."""

    def __init__(self, *arguments: Any, table: Table, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        command = importlib.import_module(self.table[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.table:
            from compiler.spelling import nearest

            near = nearest(args[0], self.table)
            hint = f"did you mean '{near}'?" if near else f"there are {', '.join(sorted(self.table))}."
            ctx.fail(f"No such command '{args[0]}': {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.table[name][1]) for name in sorted(self.table)])


def run_group(group: click.Group, name: str, arguments: list[str] | None) -> None:
    """Runs a command and ends the process with its status: 0, 1 for what is wrong with a file, 2 for wrong use."""
    for stream in (sys.stdout, sys.stderr):
        # Programs write UTF-8; what can't be written at all is written as an escape: it must not end the command.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        group.main(arguments, prog_name=name)
    except Exception as problem:
        from server.protocol import fault

        click.echo(fault(problem), err=True)
        sys.exit(1)
