"""`quillo mcp FILE`: serves a program's tools to a client over standard input and output (mcp.md, section 4).

Imports stand in the functions: what is imported before the start is over is waited for.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from server.programs import RunningProgram
    from server.recorder import Recorder


def options_of(arguments: list[str]) -> tuple[str, str | None, int | None, str | None, bool] | None:
    """(FILE, --policy, --max-tool-calls, --record, --no-cache) of a command line; None for one that is not right."""
    files: list[str] = []
    found: dict[str, str] = {}
    no_cache = False
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--no-cache":
            no_cache = True
            continue
        if not argument.startswith("-"):
            files.append(argument)
            continue
        name, given, value = argument.partition("=")
        if name not in ("--policy", "--max-tool-calls", "--record"):
            return None
        value = value if given else next(waiting, "")
        if not value:
            return None
        found[name] = value
    calls = found.get("--max-tool-calls")
    if len(files) != 1 or not files[0] or (calls is not None and not _is_count(calls)):
        return None
    return files[0], found.get("--policy"), int(calls) if calls else None, found.get("--record"), no_cache


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0


def serve(
    path: str,
    policy_path: str | None,
    max_tool_calls: int | None,
    record: str | None,
    no_cache: bool,
    input: int,
    output: int,
) -> int:
    """Checks the program, runs its top level, serves. Gives the process's status."""
    import signal

    from compiler.source import SourceError
    from qvm.values import Stop
    from server.compiled_cache import CompiledCache, cache_folder
    from server.policy import MAX_MESSAGE, PolicyError, read_policies
    from server.programs import RunningProgram, compile_once, folder_of, shown
    from server.render import main_file, render
    from server.secrets import SecretError, secret_of

    name = shown(path)
    try:
        secret = secret_of(os.environ)
        policy = read_policies(folder_of(path), policy_path)
        cache = CompiledCache("" if no_cache else cache_folder(os.environ, sys.platform))
        module, found = compile_once(path, cache)
    except (SourceError, PolicyError, SecretError) as problem:
        return _refuse(str(problem))
    for _, line in found:
        write_error(line)
    if module is None:
        return 1
    if not module.tools:
        return _refuse(f"{name}: error: there is no tool here: `fn mcp` makes a function one")
    from server.host import World

    # Before it serves, a signal just ends it; when it serves, the door sees to that.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    world = World(folder_of(path), _write, write_error, policy, serving="quillo mcp")
    running = RunningProgram(module, world, recorded=record is not None, cache=cache)
    recorder = None
    if record is not None:
        from server.recorder import Recorder

        known = [] if secret is None else [(os.environ["QUILLO_SECRET"], "QUILLO_SECRET")]
        try:
            recorder = Recorder(record, module, write_error, world.clock, known)
        except OSError as error:
            return _refuse(f"{shown(record)}: error: calls can't be recorded there: {(error.strerror or '').lower()}")
    try:
        running.run_top_level(recorder)
    except Stop as stop:
        running.close()
        return _refuse(render(stop, main_file(module)))
    try:
        most = min(policy.max_body or MAX_MESSAGE, MAX_MESSAGE)
        _serve(running, secret, max_tool_calls, recorder, input, output, most)
    finally:
        running.close()
    return 0


def _serve(
    running: RunningProgram,
    secret: bytes | None,
    max_tool_calls: int | None,
    recorder: Recorder | None,
    input: int,
    output: int,
    most: int,
) -> None:
    import gc
    import time

    from server.asking import Asking, UsedInDatabase, UsedInMemory
    from server.limits import CallCount
    from server.protocol import Protocol
    from server.stdio import serve as serve_stdio

    database, policy = running.world.database, running.world.policy
    used = UsedInDatabase(database) if database.is_open else UsedInMemory()
    asking = Asking(secret, running.digest, used, time.time)
    count = None
    if max_tool_calls is not None:
        # A policy lowers the command line's number; by itself it limits what comes over HTTP.
        count = CallCount(min(max_tool_calls, policy.max_tool_calls or max_tool_calls), time.monotonic)
    gc.freeze()
    gc.enable()
    serve_stdio(Protocol(running, asking, count=count, recorder=recorder), input, output, most)


def _leave(number: int, frame: object) -> NoReturn:
    raise SystemExit(0)


def _refuse(text: str) -> int:
    write_error(text)
    return 1


def write_error(text: str) -> None:
    """A line for standard error."""
    _write(text + "\n")


def _write(text: str) -> None:
    """What a program prints and logs, on standard error; where nobody can take it, it is lost."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:
        pass
