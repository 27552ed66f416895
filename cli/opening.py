"""What the commands share that work on one program: getting its Module, or ending with what is wrong with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from cli.modules import Refusal, refused
from compiler.source import SourceError
from qasm.module import Module
from server.host import World
from server.policy import Policy, PolicyError, read_policies
from server.programs import compile_file, folder_of, shown

if TYPE_CHECKING:
    from compiler.compile import Analysed


def open_program(path: str, analysed: Analysed | None = None) -> Module:
    """The Module of a program. Raises Refusal with its errors; warnings are for `quillo check`.

    `analysed` is given what the compiler knows of it.
    """
    try:
        module, found = compile_file(path, analysed)
    except SourceError as problem:
        raise Refusal(str(problem)) from None
    if module is None:
        raise Refusal("\n".join(str(one) for one in found if one.severity == "error"))
    return module


def open_to_run(path: str, no_cache: bool, warnings: list[str] | None = None) -> Module:
    """As `open_program`, from the user's cache where it has the program as it is now. `warnings` is given the lines."""
    from server.compiled_cache import CompiledCache, cache_folder
    from server.programs import compile_once

    try:
        module, found = compile_once(path, CompiledCache("" if no_cache else cache_folder(os.environ, sys.platform)))
    except SourceError as problem:
        raise Refusal(str(problem)) from None
    if module is None:
        raise Refusal("\n".join(line for severity, line in found if severity == "error"))
    if warnings is not None:
        warnings += [line for severity, line in found if severity == "warning"]
    return module


def unknown_tool(path: str, name: str, module: Module) -> Refusal:
    """What to say where a program has no tool of a name."""
    tools = [tool.name for tool in module.tools]
    if not tools:
        return refused(shown(path), "there is no tool here: `fn mcp` makes a function one")
    from compiler.spelling import list_of, nearest

    near = nearest(name, tools)
    return refused(
        shown(path),
        f"there is no tool `{name}`: " + (f"did you mean `{near}`?" if near else f"there are {list_of(tools)}"),
    )


def policy_of(path: str, given: str | None) -> Policy:
    """The policy of the program at `path`. Raises Refusal."""
    try:
        return read_policies(folder_of(path), given)
    except PolicyError as problem:
        raise Refusal(str(problem)) from None


def world_of(
    path: str, policy: Policy, arguments: list[str], output: Callable[[str], None], flush: Callable[[], None]
) -> World:
    """The world of a program that is run for a person: it logs to standard error, after what it printed so far."""
    import click

    def log(line: str) -> None:
        flush()
        click.echo(line, err=True)

    return World(folder_of(path), output, log, policy, arguments, flush=flush)
