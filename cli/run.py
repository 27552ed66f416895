"""`quillo run FILE [ARGUMENT…]`: runs a program's top level (language.md, section 7)."""

from __future__ import annotations

import os
import sys

import click

from cli.modules import Refusal
from cli.opening import open_program, policy_of, world_of
from qvm.values import Stop
from server.programs import RunningProgram, shown
from server.render import render


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("file")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--policy", metavar="FILE", help="Limits and permissions; see also quillo.policy.toml beside FILE.")
def command(file: str, arguments: tuple[str, ...], policy: str | None) -> None:
    """Runs a program.

    FILE is a program (.qwe) or a compiled one (.qvm); what follows is what its `args()` gives. The status is 0, 1 if
    the program stops, or what it says itself with `exit`.
    """
    module = open_program(file)
    if module.routes or module.tools:
        what = "routes" if module.routes else "tools"
        way = f": `quillo mcp {shown(file)}` serves its tools over stdio" if module.tools else ""
        raise Refusal(f"{shown(file)}: error: serving a program's {what} over HTTP is not supported yet{way}")
    world = world_of(file, policy_of(file, policy), list(map(shown, arguments)), _print, _flush)
    running = RunningProgram(module, world)
    status = 0
    try:
        running.run_top_level()
        _flush()
    except Stop as stop:
        if stop.kind == "exit":
            status = stop.detail
        else:
            world.log(render(stop, running.main_file))
            status = 1
    except KeyboardInterrupt:
        status = 130
    finally:
        running.close()
    raise SystemExit(status)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        _leave()


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave()


def _leave() -> None:
    """Whoever reads what the program prints is gone: it ends, and nothing is written any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    raise Stop("standard output is closed", kind="exit", detail=1)
