"""The subcommands of `quillo`, each in a file of its own that is imported when it is asked for."""

from __future__ import annotations

import importlib
import sys

import click

from server import VERSION

# By name: the file, and the line that `quillo --help` shows, which is the first of the command's own help.
COMMANDS: dict[str, tuple[str, str]] = {
    "build": ("cli.build", "Writes the compiled program to a file."),
    "check": ("cli.check", "Says what is wrong with a program."),
    "docs": ("cli.docs", "Prints what an AI client is sent."),
    "mcp": ("cli.mcp_command", "Serves a program's tools to an AI client over stdio."),
    "run": ("cli.run", "Runs a program."),
    "test": ("cli.test", "Runs a program's `test` blocks."),
}


class LazyGroup(click.Group):
    """A group whose subcommands are imported one by one, when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from compiler.spelling import nearest

            near = nearest(args[0], COMMANDS)
            hint = f"did you mean '{near}'?" if near else f"there are {', '.join(sorted(COMMANDS))}."
            ctx.fail(f"No such command '{args[0]}': {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, name="quillo", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="quillo", message="%(prog)s %(version)s")
def group() -> None:
    """Quillo: one .qwe file holds a database, pages and tools for AI clients."""


def run_command(arguments: list[str] | None) -> None:
    """Runs a subcommand and ends the process with its status: 1 for what is wrong with a program, 2 for wrong use."""
    for stream in (sys.stdout, sys.stderr):
        # Programs write UTF-8; what can't be written at all is written as an escape: it must not end the command.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        group.main(arguments, prog_name="quillo")
    except Exception as problem:
        from server.protocol import fault

        click.echo(fault(problem), err=True)
        sys.exit(1)
