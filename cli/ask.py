"""`quillo ask FILE TOOL [ARGUMENTS]`: calls one tool from the terminal, and asks its questions there."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import click

from cli.answering import Answering, Decided, Listed, Terminal
from cli.modules import Refusal, read_file
from cli.opening import open_to_run, policy_of, unknown_tool
from qvm.text import visible
from qvm.values import Stop
from server.asking import Asking, UsedInDatabase, UsedInMemory
from server.host import World
from server.messages import NotJson, read
from server.programs import RunningProgram, folder_of
from server.protocol import Protocol
from server.render import render
from server.rounds import Ended, call_tool


@click.command("ask")
@click.argument("file")
@click.argument("tool")
@click.argument("arguments", required=False)
@click.option("--yes", is_flag=True, help="Say yes to each question, and take each default.")
@click.option("--no", is_flag=True, help="Say no to each question, and decline each choice.")
@click.option(
    "--answers",
    metavar="FILE",
    help='Answer from FILE, a JSON list in the order of the questions: true, false, the key of a choice, "decline" or '
    '"cancel".',
)
@click.option("--no-client-forms", is_flag=True, help="Call as a client that can't show a form.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as it is sent, as JSON.")
@click.option("--policy", metavar="FILE", help="Limits and permissions; see also quillo.policy.toml beside FILE.")
@click.option("--no-cache", is_flag=True, help="Compile FILE anew, whatever the cache has.")
def command(
    file: str,
    tool: str,
    arguments: str | None,
    yes: bool,
    no: bool,
    answers: str | None,
    no_client_forms: bool,
    as_json: bool,
    policy: str | None,
    no_cache: bool,
) -> None:
    """Calls one tool, and asks its questions here.

    FILE is a program (.qwe) or a compiled one (.qvm), TOOL the name of one of its tools. ARGUMENTS is a JSON object,
    such as '{"word": "milk"}', or - for standard input; left out, there are none.

    Prints what an AI client is given; steps, time, and what the program prints go to standard error. A question is
    answered with yes or no, or the number of a choice; Ctrl-D or Ctrl-C leaves it unanswered. The status is 0, or 1
    where the tool fails.
    """
    if yes + no + (answers is not None) + no_client_forms > 1:
        raise click.UsageError(
            "--yes, --no, --answers and --no-client-forms each answer the questions: give one of them"
        )
    module = open_to_run(file, no_cache)
    if all(tool != one.name for one in module.tools):
        raise unknown_tool(file, tool, module)
    given = _arguments(arguments)
    answering: Answering = Terminal()
    if yes or no:
        answering = Decided(yes)
    elif answers is not None:
        answering = Listed(answers, read_file(answers))
    # What a tool may do is what it may do where it is served.
    world = World(folder_of(file), _print, _log, policy_of(file, policy), serving="quillo mcp")
    running = RunningProgram(module, world)
    try:
        running.run_top_level()
        ended = _call(running, tool, given, answering, not no_client_forms)
    except Stop as stop:
        raise Refusal(render(stop, running.main_file)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        running.close()
    failed = _show(ended, as_json)
    answering.end()
    steps = f"{ended.steps:,} step{'' if ended.steps == 1 else 's'}"
    rounds = f" in {ended.rounds} rounds" if ended.rounds > 1 else ""
    click.echo(f"{steps}{rounds}, {ended.seconds * 1000:.1f} ms", err=True)
    raise SystemExit(1 if failed else 0)


def _arguments(given: str | None) -> bytes:
    """The arguments as JSON. Raises Refusal for what is no object."""
    if given is None:
        return b"{}"
    data = sys.stdin.buffer.read() if given == "-" else given.encode("utf-8", "surrogateescape")
    try:
        value = read(data)
    except NotJson as problem:
        raise Refusal(f"the arguments can't be read: {str(problem).replace('the message', 'the text')}") from None
    if type(value) is not dict:
        raise Refusal('the arguments must be a JSON object, such as {"word": "milk"}')
    return data


def _call(running: RunningProgram, tool: str, arguments: bytes, answering: Answering, can_ask: bool) -> Ended:
    database = running.world.database
    used = UsedInDatabase(database) if database.is_open else UsedInMemory()
    protocol = Protocol(running, Asking(None, running.digest, used, time.time))
    return call_tool(protocol, tool, arguments, answering.answer, can_ask, time.perf_counter)


def _show(ended: Ended, as_json: bool) -> bool:
    """Prints how the call ended; true where it failed."""
    if "error" in ended.answer:
        raise Refusal(ended.answer["error"]["message"])
    result: dict[str, Any] = ended.answer["result"]
    failed = result.get("isError") is True
    if as_json:
        click.echo(json.dumps(result, ensure_ascii=False))
        return failed
    if failed:
        click.echo("isError: true")
    for block in result["content"]:
        _show_field("text", block["text"])
    if "structuredContent" in result:
        structured = result["structuredContent"]
        text = json.dumps(structured, ensure_ascii=False)
        _show_field(
            "structuredContent", text if len(text) <= 100 else json.dumps(structured, ensure_ascii=False, indent=2)
        )
    return failed


def _show_field(name: str, text: str) -> None:
    text = visible(text)
    click.echo(f"{name}:\n  " + text.replace("\n", "\n  ") if "\n" in text else f"{name}: {text}")


def _print(text: str) -> None:
    click.echo(text, err=True, nl=False)


def _log(line: str) -> None:
    click.echo(line, err=True)
