"""Reads the pages of `docs/diagnostics`, one for each code, and makes the page that lists them.

    python -m tools.make_diagnostics            writes `docs/diagnostics/README.md`
    python -m tools.make_diagnostics --check    ends with status 1 where the file is not what would be written

The pages are written by hand: a title, what the code means and what to do, a wrong program with what is found in it,
and a right one. The programs stand in fences: ```quillo wrong and ```quillo right are main files, and a path after that
names a file that they use; `session` stands for what is typed in `quillo repl`, `:type` for what its `:type` is given.
A ```text fence holds what is found in the wrong program. A test runs them all (`tests/test_diagnostics_docs.py`).
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "diagnostics"
MAIN = "main.qwe"
SESSION = "session"  # what is typed in `quillo repl`
SESSION_TYPE = ":type"  # what stands behind `:type` there

_TITLE = re.compile(r"# (Q\d{4}): (.+)\n")
_FENCE = re.compile(r"^```(\S[^\n]*)\n(.*?)^```$", re.M | re.S)
_MADE = "<!-- Made by tools/make_diagnostics.py of the pages beside it: change those. -->\n"
_SECTIONS = (
    ("Q00", "Characters and words"),
    ("Q01", "Statements and declarations"),
    ("Q02", "Names"),
    ("Q03", "Types and arguments"),
    ("Q04", "Effects, and the order of questions"),
    ("Q05", "Tools"),
    ("Q06", "Routes"),
    ("Q07", "Files"),
    ("Q0990", "The compiler"),
    ("Q0991", "The compiler"),
    ("Q09", "Not supported yet"),
)
_INTRODUCTION = """\
What `quillo check` finds has a code, which stays when its words change. `quillo check --explain` shows it under
each finding, `quillo check --json` has it as `code`, and `quillo check --explain Q0201` prints the page of a code.
Each page says what is wrong and what to do, and shows a wrong program and a right one. A program with an error does
not start; one with warnings does.
"""


class PageError(Exception):
    """A page is not written as pages are: one sentence that names it."""


@dataclass
class Page:
    """A page. `wrong` and `right` are the programs' files by their path; `shown` is what is found in the wrong one."""

    code: str
    title: str
    meaning: str
    wrong: dict[str, str] = field(default_factory=dict)
    right: dict[str, str] = field(default_factory=dict)
    shown: str = ""

    @property
    def is_warning(self) -> bool:
        return ": warning: " in self.shown


def read_pages(folder: Path = FOLDER) -> list[Page]:
    """All pages, in the order of their codes. Raises PageError."""
    return [read_page(path.stem, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("Q*.md"))]


def read_page(code: str, text: str) -> Page:
    """The page of a code. Raises PageError."""
    title = _TITLE.match(text)
    if title is None or title[1] != code:
        raise PageError(f"{code}.md does not begin with `# {code}: …`")
    page = Page(code, title[2], text[title.end() :].partition("\n## ")[0].strip())
    for fence in _FENCE.finditer(text):
        words = fence[1].split()
        match words:
            case ["text"]:
                page.shown = fence[2].rstrip("\n")
            case ["quillo", "wrong" | "right" as kind, *name] if len(name) < 2:
                files = page.wrong if kind == "wrong" else page.right
                files[name[0] if name else MAIN] = fence[2]
            case _:
                raise PageError(f"{code}.md has a fence of no known kind: `{fence[1]}`")
    return page


def index(pages: list[Page]) -> str:
    """The text of the page that lists the others."""
    parts = [_MADE, "# Diagnostics", "", _INTRODUCTION.rstrip("\n")]
    section = ""
    for page in pages:
        heading = next(name for prefix, name in _SECTIONS if page.code.startswith(prefix))
        if heading != section:
            section = heading
            parts += ["", f"## {section}", ""]
        parts.append(f"- [{page.code}]({page.code}.md): {page.title}{' (a warning)' if page.is_warning else ''}")
    return "\n".join(parts) + "\n"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("make_diagnostics takes nothing or --check", file=sys.stderr)
        return 2
    try:
        wanted = index(read_pages())
    except PageError as error:
        print(error, file=sys.stderr)
        return 1
    target = FOLDER / "README.md"
    if not arguments:
        target.write_text(wanted, encoding="utf-8")
    elif not target.exists() or target.read_text(encoding="utf-8") != wanted:
        print("docs/diagnostics/README.md is stale: run python -m tools.make_diagnostics", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
