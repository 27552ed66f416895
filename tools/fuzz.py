"""Mutates programs at random and holds the compiler to its promise: diagnostics or a Module, never an exception.

    python -m tools.fuzz [--count 10000] [--seed 1] [--seconds 2] [FILE …]

Without files it takes every .qwe below examples/ and tests/. A mutant that raises, or takes longer than `--seconds`,
is printed with its seed; exit status 1 if there was one. What compiles is also sent through the formatter, the module
file, the verifier and the disassembler, and then run for a few thousand steps in an empty folder.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compiler.compile import compile_program
from compiler.diagnostics import Diagnostics
from compiler.formatter import format_source
from compiler.source import Source, SourceError
from qasm import module_file
from qasm.disassembler import disassemble
from qasm.listing import listing
from qasm.module import Module
from qasm.verifier import verify
from qvm.program import Program, Returned, Yielded
from qvm.values import Err
from server.host import ProgramHost, World

ROOT = Path(__file__).resolve().parent.parent
MOST_STEPS = 5_000

# Pieces of the language, so that mutants get past the lexer now and then.
PIECES = [
    "{", "}", "(", ")", "[", "]", "`", "${", "\"", "'", "\n", ";", ",", ":", ".", "..", "...", "?", "??", "?.",
    "|", "||", "&&", "=", "==", "=>", "->", "!", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "+=",
    "//", "/*", "*/", "///", "//!", "<p>", "</p>", "<>", "</>", "<br>", "<Card/>", "@click=", "fn ", "fn mcp ",
    "let ", "if ", "else ", "for ", " in ", "while ", "match ", "return ", "break", "continue", "true", "null",
    "type ", "route GET / ", "component C() ", "use \"x.qwe\"", "import x use y", "service /a = \"b\"",
    "state x = 1", "reply 404 ", "test \"t\" ", "assert ", "sql`", "with db", "private ", "public ", "server ",
    "err(", "confirm(\"x\")", "db.exec(\"x\")", "9223372036854775808", "1.", "0x", "\u202e", "\u0000", "\ud7ff",
    "é", "😀", "list<", "map<int>", "_", "x => ", "(a, b) => ", "{ a: 1 }", "-> int ! str",
]  # fmt: skip


def mutate(text: str, chance: random.Random) -> str:
    """`text` with one to four changes: cut, doubled, moved, replaced or put in."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(text))
        length = chance.choice((1, 1, 2, 5, 20))
        piece = text[at : at + length]
        kind = chance.randrange(6)
        if kind == 0:
            text = text[:at] + text[at + length :]
        elif kind == 1:
            text = text[:at] + piece * 2 + text[at + length :]
        elif kind == 2:
            to = chance.randint(0, len(text))
            text = text[:to] + piece + text[to:]
        elif kind == 3:
            text = text[:at] + chance.choice(PIECES) + text[at + length :]
        elif kind == 4:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        else:
            line = text.count("\n", 0, at)
            lines = text.split("\n")
            lines.insert(chance.randint(0, len(lines)), lines[min(line, len(lines) - 1)])
            text = "\n".join(lines)
    return text


def not_there(path: str) -> Source:
    raise SourceError(f"{path} is not there")


def examine(text: str) -> None:
    """Sends a program through everything that only looks at it. Raises whatever goes wrong."""
    diagnostics = Diagnostics()
    module = compile_program(Source("main.qwe", text), not_there, "main", diagnostics)
    found = diagnostics.in_order()
    for diagnostic in found:
        str(diagnostic), diagnostic.explained(), diagnostic.as_json()
    if module is None:
        if not any(d.severity == "error" for d in found):
            raise AssertionError("no Module and no error")
        return
    loaded = module_file.load(module_file.dump(module))
    verify(loaded)
    listing(loaded), disassemble(loaded)
    if format_source(Source("main.qwe", text), Diagnostics()) is None:
        raise AssertionError("a program that compiles is not formatted")
    run(loaded)


class Impatient(ProgramHost):
    """A host that waits for nothing and reaches no other site."""

    def wait(self, seconds: float) -> None:
        return None

    def in_background(self, work: Callable[[], Any]) -> Err:
        return Err({"kind": "other", "message": "not here"})


def run(module: Module) -> None:
    """Runs a Module's top level, for at most MOST_STEPS steps a file; how it ends is its own matter."""
    with tempfile.TemporaryDirectory() as folder:
        said: list[str] = []
        world = World(folder, said.append, said.append, serving="a test")
        host = Impatient(world, world.database.scope())
        program = Program(module)
        try:
            for entry in module.entries:
                task = program.call(entry, [], host, MOST_STEPS)
                outcome = task.run()
                while isinstance(outcome, Yielded):
                    outcome = task.run()
                if not isinstance(outcome, Returned):
                    break
        finally:
            host.scope.finish()
            world.database.close()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--count", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("files", nargs="*", type=Path)
    given = options.parse_args()
    files = given.files or sorted([*(ROOT / "examples").rglob("*.qwe"), *(ROOT / "tests").rglob("*.qwe")])
    texts = [path.read_text(encoding="utf-8") for path in files]
    bad = 0
    slowest = 0.0
    for number in range(given.count):
        chance = random.Random(given.seed * 1_000_003 + number)
        text = mutate(chance.choice(texts), chance)
        begin = time.perf_counter()
        try:
            examine(text)
        except Exception:  # whatever it is, it is what we are looking for
            bad += 1
            print(f"--- mutant {number} of seed {given.seed}\n{text}\n---\n{traceback.format_exc()}")
        taken = time.perf_counter() - begin
        slowest = max(slowest, taken)
        if taken > given.seconds:
            bad += 1
            print(f"--- mutant {number} of seed {given.seed} took {taken:.1f} s\n{text}")
    print(f"{given.count} mutants of {len(texts)} programs, {bad} bad, the slowest took {slowest:.3f} s")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
