"""The `qvm` command: looks at compiled programs and recorded calls, checks and replays them."""

from __future__ import annotations

import click

from cli.lazy_group import LazyGroup, Table, run_group

COMMANDS: Table = {
    "assemble": ("cli.qvm_assemble", "Makes a module of its text form."),
    "disasm": ("cli.qvm_disasm", "Shows a program's instructions beside its lines."),
    "replay": ("cli.qvm_replay", "Runs a recorded call again, without its database and network."),
    "snapshot": ("cli.qvm_snapshot", "Shows a call as it stood when it asked the person."),
    "verify": ("cli.qvm_verify", "Checks that a module is whole and can be run."),
}


@click.group(cls=LazyGroup, table=COMMANDS, name="qvm", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="quillo", prog_name="qvm", message="%(prog)s %(version)s")
def group() -> None:
    """Looks at compiled Quillo programs and recorded calls, checks them, and runs calls again."""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command with these arguments (None: the process's own) and ends the process with its status."""
    run_group(group, "qvm", arguments)
