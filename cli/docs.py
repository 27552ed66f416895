"""`quillo docs --mcp FILE`: what an AI client is sent of a program (mcp.md, section 6)."""

from __future__ import annotations

import click


@click.command("docs")
@click.argument("file")
@click.option("--mcp", is_flag=True, help="What each door sends: the answers to server/discover and tools/list.")
def command(file: str, mcp: bool) -> None:
    """Prints what an AI client is sent.

    It is what the model reads of the program, as JSON.
    """
    if not mcp:
        raise click.UsageError("say what to print: --mcp")
    import json

    from cli.opening import open_program
    from server.listing import what_clients_are_sent

    click.echo(json.dumps(what_clients_are_sent(open_program(file)), ensure_ascii=False, indent=2))
