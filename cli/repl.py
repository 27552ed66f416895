"""`quillo repl`: reads statements, declarations and expressions, runs each, and shows what an expression gives.

Each input goes on from those before it (`compiler.session` says how); nothing is run twice.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import click

from cli.opening import policy_of, world_of
from qvm.values import Stop
from server.interactive import InteractiveProgram

if TYPE_CHECKING:
    from compiler.diagnostics import Diagnostic

# Does what an input asks for; False where the session is to end.
Work = Callable[[InteractiveProgram, str], bool]


class Reader(Protocol):
    """Where lines come from."""

    def line(self, prompt: str) -> str | None:
        """The next line without its end; None at the end. Raises KeyboardInterrupt for Ctrl-C."""


PROMPT, MORE = "> ", "… "
HELP = """\
Type an expression to see its value, or a statement or a declaration, which stays for what follows.
A line goes on in the next one while a bracket is open, after an operator, and below a `///`.
A name that is declared again hides the earlier one; functions made before go on with what they saw.

  :type EXPRESSION   shows its type, without running it
  :disasm [NAME]     shows the instructions of the function NAME, or of the last input
  :help              shows this
  :quit              ends, as Ctrl-D does; Ctrl-C leaves the line, or stops what runs"""
_HISTORY_LINES = 1000
_COMMAND = re.compile(r":([a-z]*)\s*(.*)", re.DOTALL)


@click.command("repl")
@click.option("--policy", metavar="FILE", help="Limits and permissions; see also quillo.policy.toml in this folder.")
def command(policy: str | None) -> None:
    """Runs what you type, line by line.

    Files and a database are looked for in this folder. Where standard input is no terminal, there is no prompt, and the
    status is 0, or what the program says itself with `exit`.
    """
    here = os.path.join(os.curdir, "main.qwe")
    world = world_of(here, policy_of(here, policy), [], _print, sys.stdout.flush)
    running = InteractiveProgram(world)
    reader = Terminal() if sys.stdin.isatty() else Piped()
    try:
        run_session(running, reader)
    except Stop as stop:  # the program said `exit`
        raise SystemExit(stop.detail) from None
    finally:
        reader.end()
        running.close()


def _print(text: str) -> None:
    click.echo(text, nl=False)


def run_session(running: InteractiveProgram, reader: Reader) -> None:
    from compiler.unfinished import is_unfinished

    lines: list[str] = []
    while True:
        try:
            line = reader.line(MORE if lines else PROMPT)
        except KeyboardInterrupt:
            lines.clear()
            click.echo()
            continue
        if line is not None:
            if not lines and line.lstrip().startswith(":"):
                if not _guarded(running, line.strip(), _command):
                    return
                continue
            lines.append(line)
        text = "\n".join(lines)
        if line is not None and is_unfinished(text):
            continue
        lines.clear()
        if text.strip():
            _guarded(running, text, _enter)
        if line is None:
            return


def _guarded(running: InteractiveProgram, text: str, work: Work) -> bool:
    """Does what an input asks for; Ctrl-C ends that, and not the session. False where the session is to end."""
    try:
        return work(running, text)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        return True


def _enter(running: InteractiveProgram, text: str) -> bool:
    entered = running.enter(text)
    _show_findings(entered.found)
    if entered.stop:
        running.world.log(entered.stop)
    elif entered.value:
        click.echo(entered.value)
    return True


def _command(running: InteractiveProgram, text: str) -> bool:
    found = _COMMAND.match(text)
    name, rest = (found[1], found[2]) if found is not None else ("", "")
    if name == "quit":
        return False
    if name == "help":
        click.echo(HELP)
    elif name == "type":
        _show_type(running, rest)
    elif name == "disasm":
        _show_instructions(running, rest)
    else:
        running.world.log(f"there is no `{text.split()[0]}`: there are :type, :disasm, :help and :quit")
    return True


def _show_type(running: InteractiveProgram, text: str) -> None:
    if not text:
        running.world.log("`:type` takes an expression, such as `:type 1 + 2`")
        return
    type, found = running.type_of(text)
    _show_findings(found)
    if type:
        click.echo(type)


def _show_instructions(running: InteractiveProgram, name: str) -> None:
    from qasm.listing import listing

    functions = running.functions(name)
    if functions:
        click.echo(listing(running.module, functions), nl=False)
    elif name:
        running.world.log(f"there is no function `{name}` here")
    else:
        running.world.log("nothing was typed yet: `:disasm` shows the instructions of the last input")


def _show_findings(found: list[Diagnostic]) -> None:
    sys.stdout.flush()
    for one in found:
        click.echo(one.explained(), err=True)


# --- where lines come from ------------------------------------------------------------------------------------------


class Piped:
    """Standard input that is no terminal, read as the program's `read_line` reads it: each goes on after the other."""

    def line(self, prompt: str) -> str | None:
        """The next line without its end; None at the end."""
        data = sys.stdin.buffer.readline()
        return data.decode("utf-8", "replace").rstrip("\r\n") if data else None

    def end(self) -> None:
        pass


class Terminal:
    """A terminal, with a history in the user's folder for state where the `readline` library is there."""

    def __init__(self) -> None:
        self.history = ""
        try:
            import readline
        except ImportError:  # it is left out of some Pythons: lines are read without it
            pass
        else:
            self.readline = readline
            self.history = _history_file()
            self._read_history()
        from server import VERSION

        click.echo(f"Quillo {VERSION}: `:help` says what can be typed, Ctrl-D ends")

    def line(self, prompt: str) -> str | None:
        try:
            return input(prompt)
        except EOFError:
            click.echo()
            return None

    def _read_history(self) -> None:
        self.readline.set_history_length(_HISTORY_LINES)
        with suppress(OSError, UnicodeError):  # there is none yet, or none that can be read
            self.readline.read_history_file(self.history)

    def end(self) -> None:
        if self.history:
            with suppress(OSError, UnicodeError):  # where it can't be kept, the session ends all the same
                os.makedirs(os.path.dirname(self.history), mode=0o700, exist_ok=True)
                self.readline.write_history_file(self.history)


def _history_file() -> str:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "quillo", "history")
