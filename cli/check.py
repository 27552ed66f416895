"""`quillo check FILE`: what is wrong with a program (language.md, section 14)."""

from __future__ import annotations

import click


@click.command("check")
@click.argument("file")
@click.option("--explain", is_flag=True, help="Show the place of each finding, and what helps.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON, for machines.")
def command(file: str, explain: bool, as_json: bool) -> None:
    """Says what is wrong with a program.

    One line for each finding, in order of place: FILE:LINE: error: … or warning: …. The status is 1 if there is an
    error, else 0.
    """
    if explain and as_json:
        raise click.UsageError("--explain is for people and --json for machines: give one of them")
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
        "code": "Q0700",
        "message": message,
        "hint": "",
    }
    return json.dumps([finding], ensure_ascii=False)
