"""`quillo run FILE`: runs a program's top level, and where it has routes, server functions or tools, serves it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from cli.opening import open_to_run, policy_of, world_of
from qvm.values import Stop
from server.programs import RunningProgram, shown
from server.render import main_file, render

if TYPE_CHECKING:
    from qasm.module import Module
    from server.policy import Policy


class _Run(click.Command):
    """Knows whether `--` divides its own options from what is the program's."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        context.meta["divided"] = "--" in arguments
        return super().parse_args(context, arguments)


@click.command("run", cls=_Run, context_settings={"ignore_unknown_options": True})
@click.argument("file")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="On which port; 0 takes a free one, and says which.",
)
@click.option("--base", metavar="PATH", default="", help="The path under which the site lies, such as /shop.")
@click.option("--origin", metavar="URL", default="", help="Where browsers see it, such as https://example.com.")
@click.option("--watch", is_flag=True, help="Reload when a file of the program changes, and show errors on its pages.")
@click.option("--instances", metavar="N", type=click.IntRange(1, 64), default=1, help="Processes that share the port.")
@click.option(
    "--max-tool-calls",
    metavar="N",
    type=click.IntRange(1, 10**9 - 1),
    help="Tool calls that each user may make in a minute: 60 where nothing is said.",
)
@click.option("--policy", metavar="FILE", help="Limits and permissions; see also quillo.policy.toml beside FILE.")
@click.option("--record", metavar="DIR", help="Write each call of a tool to a file in DIR, for `qvm replay`.")
@click.option("--log", "log_format", type=click.Choice(["text", "json"]), help="Write a line for each request.")
@click.option("--no-cache", is_flag=True, help="Compile FILE anew, whatever the cache has.")
@click.option("--worker", hidden=True, metavar="LISTENER,READY,ALIVE", help="Serve on an inherited socket.")
@click.pass_context
def command(
    context: click.Context,
    file: str,
    arguments: tuple[str, ...],
    host: str,
    port: int,
    base: str,
    origin: str,
    watch: bool,
    instances: int,
    max_tool_calls: int | None,
    policy: str | None,
    record: str | None,
    log_format: str | None,
    no_cache: bool,
    worker: str | None,
) -> None:
    """Runs a program.

    FILE is a program (.qwe) or a compiled one (.qvm). What follows it, and is none of the options below, is what its
    `args()` gives; all of what stands behind `--` is. A program with routes, server functions or tools is served until
    it is told to end; any other runs and is done: the status is 0, 1 if the program stops, or what it says itself with
    `exit`.
    """
    for option, value, wanted in (
        ("--host", host, "an address of this machine; 0.0.0.0 is all of them"),
        ("--policy", policy, "a file"),
        ("--record", record, "a folder"),
    ):
        if value == "":  # such as a variable of the shell that is not set
            raise click.UsageError(f"{option} takes {wanted}, got nothing")
    warnings: list[str] = []
    module = open_to_run(file, no_cache, warnings)
    read = policy_of(file, policy)
    given = [shown(argument) for argument in arguments]
    if not module.routes and not module.tools:
        if watch:
            click.echo("quillo: there is nothing to serve here: --watch is for programs with routes or tools", err=True)
        raise SystemExit(_run(file, module, read, given, no_cache))
    unknown = next((argument for argument in given if argument.startswith("-")), None)
    if unknown is not None and not context.meta["divided"]:
        raise click.NoSuchOption(unknown.partition("=")[0], possibilities=_nearest(unknown, context), ctx=context)
    from cli import serving

    if watch:
        for line in warnings:
            click.echo(line, err=True)
    settings = serving.Settings(
        file=file,
        arguments=given,
        host=host,
        port=port,
        base=serving.base_of(base),
        origin=serving.origin_of(origin),
        watch=watch,
        instances=instances,
        max_tool_calls=max_tool_calls,
        policy=policy,
        record=record,
        log_format=log_format,
        no_cache=no_cache,
    )
    if worker is not None:
        raise SystemExit(serving.work(settings, module, read, worker))
    raise SystemExit(serving.serve(settings, module, read))


def _run(file: str, module: Module, policy: Policy, arguments: list[str], no_cache: bool) -> int:
    from server.compiled_cache import CompiledCache, cache_folder

    world = world_of(file, policy, arguments, print_out, flush)
    cache = CompiledCache("" if no_cache else cache_folder(os.environ, sys.platform))
    running = RunningProgram(module, world, cache=cache)
    status = 0
    try:
        running.run_top_level(alone=True)
        flush()
    except Stop as stop:
        if stop.kind == "exit":
            status = stop.detail
        else:
            world.log(render(stop, main_file(module)))
            status = 1
    except KeyboardInterrupt:
        status = 130
    finally:
        running.close()
    return status


def _nearest(unknown: str, context: click.Context) -> list[str]:
    from compiler.spelling import nearest

    known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
    found = nearest(unknown.partition("=")[0], [name for name in known if name != "--worker"])
    return [found] if found else []


def print_out(text: str) -> None:
    """Writes what a program prints."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        _leave()


def flush() -> None:
    """Sends off what was printed."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave()


def _leave() -> None:
    """Whoever reads what the program prints is gone: it ends, and nothing is written any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    raise Stop("standard output is closed", kind="exit", detail=1)
