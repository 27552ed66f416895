"""`quillo test FILE`: runs a program's `test "name" { … }` blocks.

Each test has the program to itself: its top level runs anew, with an empty database in memory in place of its own.
"""

from __future__ import annotations

import click

from cli.modules import Refusal
from cli.opening import open_to_run, policy_of
from qasm.module import Module, Test
from qvm.values import Stop
from server.database import Database
from server.host import ProgramHost, World
from server.policy import Policy
from server.programs import RunningProgram, folder_of, run, shown
from server.render import render


@click.command("test")
@click.argument("file")
@click.option("--filter", "part", metavar="TEXT", default="", help="Run only the tests whose name contains TEXT.")
@click.option("--no-cache", is_flag=True, help="Compile FILE anew, whatever the cache has.")
def command(file: str, part: str, no_cache: bool) -> None:
    """Runs a program's `test` blocks.

    Each runs with the program's top level run anew, and with an empty database in memory in place of the program's own.
    The status is 1 if one fails, else 0.
    """
    module = open_to_run(file, no_cache)
    policy = policy_of(file, None)
    chosen = [test for test in module.tests if part in test.name]
    if not module.tests:
        click.echo(f'{shown(file)} has no tests: `test "name" {{ … }}` makes one')
        return
    if not chosen:
        names = ", ".join(f'"{test.name}"' for test in module.tests)
        raise Refusal(f'no test of {shown(file)} has "{part}" in its name: there are {names}')
    failed = 0
    for test in chosen:
        problem = _problem(file, module, policy, test)
        failed += problem is not None
        click.echo(f"{'ok' if problem is None else 'FAILED'}  {test.name}")
        if problem is not None:
            click.echo("    " + problem.replace("\n", "\n    "))
    passed = len(chosen) - failed
    click.echo(f"{passed} passed" + (f", {failed} failed" if failed else ""))
    raise SystemExit(1 if failed else 0)


def _problem(file: str, module: Module, policy: Policy, test: Test) -> str | None:
    """What a test printed and why it failed; None if it did not."""
    printed: list[str] = []
    folder = folder_of(file)
    world = World(
        folder,
        printed.append,
        lambda line: printed.append(line + "\n"),
        policy,
        database=Database(folder, memory_only=True),
    )
    running = RunningProgram(module, world)
    host = ProgramHost(world, world.database.scope())
    try:
        running.run_top_level()
        running.program.warm_up([test.function])
        run(running.program.call(test.function, [], host))
    except Stop as stop:
        said = (
            f"the program ended itself with {stop.message}" if stop.kind == "exit" else render(stop, running.main_file)
        )
        return "".join(printed) + said
    finally:
        host.scope.finish()
        running.close()
    return None
