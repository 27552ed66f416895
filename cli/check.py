"""`quillo check FILE`: what is wrong with a program (language.md, section 14), and why its tools have their hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from compiler.effects import Effects
    from compiler.tools import ToolSet


@click.command("check")
@click.argument("file")
@click.option("--explain", is_flag=True, help="Show the place of each finding, and what helps.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON, for machines.")
@click.option("--why", "tool", metavar="TOOL", help="Say why a tool's hints hold, or what stands against them.")
def command(file: str, explain: bool, as_json: bool, tool: str | None) -> None:
    """Says what is wrong with a program.

    One line for each finding, in order of place: FILE:LINE: error: … or warning: …. The status is 1 if there is an
    error, else 0. With --explain, FILE may also be the code of a finding, such as Q0201: then its page is printed.
    """
    if explain and as_json:
        raise click.UsageError("--explain is for people and --json for machines: give one of them")
    if tool is not None:
        if explain or as_json:
            raise click.UsageError("--why tells of one tool: it goes neither with --explain nor with --json")
        _tell_why(file, tool)
        return
    if explain:
        from cli.diagnostic_pages import is_code, page

        if is_code(file):
            click.echo(page(file), nl=False)
            return
    from compiler.source import SourceError
    from server.programs import compile_file

    try:
        module, found = compile_file(file)
    except SourceError as problem:
        click.echo(_unreadable(file, str(problem)) if as_json else str(problem))
        raise SystemExit(1) from None
    if as_json:
        import json

        click.echo(json.dumps([one.as_json() for one in found], ensure_ascii=False))
    else:
        for one in found:
            click.echo(one.explained() if explain else str(one))
    raise SystemExit(0 if module is not None else 1)


def _tell_why(file: str, name: str) -> None:
    """Prints the reasons of a tool's hints. Raises Refusal where the program has errors, or no such tool."""
    from cli.opening import open_program, unknown_tool
    from compiler.hint_reasons import hint_reasons

    reasons: dict[str, list[str]] = {}

    def analysed(effects: Effects, tool_set: ToolSet) -> None:
        reasons.update((tool.name, hint_reasons(effects, function)) for tool, function in tool_set.tools)

    module = open_program(file, analysed)
    if module.tools and not reasons:
        from cli.modules import refused
        from server.programs import shown

        raise refused(shown(file), "it is compiled: --why reads a program's text")
    if name not in reasons:
        raise unknown_tool(file, name, module)
    click.echo("\n".join(reasons[name]))


def _unreadable(file: str, problem: str) -> str:
    """A file that can't be had, in the form of a finding: `FILE: error: …` or `FILE:LINE: error: …`."""
    import json

    from server.programs import shown

    place, _, message = problem.partition(": error: ")
    line = place.removeprefix(shown(file)).removeprefix(":")
    number = int(line) if line.isdigit() else 1
    finding = {
        "file": shown(file),
        "line": number,
        "column": 1,
        "end": {"line": number, "column": 1},
        "severity": "error",
        "code": "Q0701",
        "message": message,
        "hint": "",
    }
    return json.dumps([finding], ensure_ascii=False)
