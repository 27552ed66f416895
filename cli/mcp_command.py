"""`quillo mcp` as the command-line library sees it: its help, and what is wrong with a wrong call of it."""

from __future__ import annotations

import click


@click.command("mcp")
@click.argument("file")
@click.option("--policy", metavar="FILE", help="Limits and permissions; see also quillo.policy.toml beside FILE.")
@click.option(
    "--max-tool-calls",
    metavar="N",
    type=click.IntRange(1, 10**9 - 1),
    help="Tool calls that the client may make in a minute.",
)
@click.option("--record", metavar="DIR", help="Writes each call to a file in DIR, for `qvm replay`.")
@click.option("--no-cache", is_flag=True, help="Compiles FILE anew, whatever the cache has.")
def command(file: str, policy: str | None, max_tool_calls: int | None, record: str | None, no_cache: bool) -> None:
    """Serves a program's tools to an AI client over stdio.

    FILE is a program (.qwe) or a compiled one (.qvm). A client starts this command and talks to it over standard input
    and output; what the program prints goes to standard error.
    """
    from cli.mcp import serve
    from server.descriptors import take_over_descriptors

    raise SystemExit(serve(file, policy, max_tool_calls, record, no_cache, *take_over_descriptors()))
