"""Programs of tests/check, and what they promise of their diagnostics.

A program is a part of a `.qwe` file, from one line `// --- its name` to the next, or a folder with a `main.qwe` and the
files that it uses. A line that is reported says so at its end: `// error: CODE message` or `// warning: CODE message`;
two reports on one line are two such comments. Nothing else may be reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from compiler.checker import check
from compiler.diagnostics import Diagnostics
from compiler.names import Program, resolve
from compiler.source import Source, SourceError

HERE = Path(__file__).resolve().parent / "check"
_PROMISE = re.compile(r"// (error|warning): (Q\d{4}) (.*?)(?=\s*// (?:error|warning): Q|\s*$)")
_NAME = re.compile(r"^// --- (.+)$", re.M)

# (file, line, "error CODE message")
Finding = tuple[str, int, str]


@dataclass
class CheckProgram:
    """`files` are texts by path from the main file's folder; the main file is `main.qwe`."""

    name: str
    files: dict[str, str] = field(default_factory=dict)

    def promised(self) -> list[Finding]:
        return sorted(
            (path, number, f"{kind} {code} {message}")
            for path, text in self.files.items()
            for number, line in enumerate(text.split("\n"), 1)
            for kind, code, message in _PROMISE.findall(line)
        )

    def found(self) -> list[Finding]:
        diagnostics = checked(self.files)[1]
        return sorted((d.source.name, d.line, f"{d.severity} {d.code} {d.message}") for d in diagnostics.in_order())


def checked(files: dict[str, str]) -> tuple[Program, Diagnostics]:
    """A program after its names are resolved and its types checked, with what was found."""

    def load(path: str) -> Source:
        if path not in files:
            raise SourceError("is not there")
        return Source(path, files[path])

    diagnostics = Diagnostics()
    program = resolve(Source("main.qwe", files["main.qwe"]), load, diagnostics)
    check(program, diagnostics)
    return program, diagnostics


def found_in(text: str) -> list[str]:
    """What is found in a main file, as `LINE: severity: message`."""
    return [str(d).removeprefix("main.qwe:") for d in checked({"main.qwe": text})[1].in_order()]


def check_programs(folder: Path = HERE) -> Iterator[CheckProgram]:
    for path in sorted(folder.rglob("*.qwe")):
        name = path.relative_to(folder).with_suffix("").as_posix()
        if path.name == "main.qwe":
            files = {p.relative_to(path.parent).as_posix(): p.read_text("utf-8") for p in path.parent.rglob("*.qwe")}
            yield CheckProgram(name.removesuffix("/main"), files)
        elif not any((parent / "main.qwe").exists() for parent in path.parents if folder in parent.parents):
            yield from split_programs(name, path.read_text("utf-8"))


def split_programs(name: str, text: str) -> Iterator[CheckProgram]:
    """The programs of one file; each keeps the lines that it stands on."""
    starts = [(match.start(), match.group(1).strip()) for match in _NAME.finditer(text)]
    if not starts:
        yield CheckProgram(name, {"main.qwe": text})
    for number, (start, title) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(text)
        padding = "\n" * text.count("\n", 0, start)
        yield CheckProgram(f"{name}: {title}", {"main.qwe": padding + text[start:end]})
