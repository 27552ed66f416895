"""Makes the reference of the builtins of the docs in the prelude: a page for each, and one that lists them.

    python -m tools.make_reference            writes the pages, and removes those of builtins that are gone
    python -m tools.make_reference --check    compares them, and ends with status 1 where they differ

A page says what the builtin does, shows its signature and examples with what they print, and tells its edge cases, its
errors, and what to read next. A test runs the examples (`tests/test_reference.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.prelude_reader import ROOT, Entry, PreludeError, read_prelude

FOLDER = ROOT / "docs" / "reference"
_MADE = "<!-- Made by tools/make_reference.py of compiler/prelude.qwe: change that file. -->\n"
_EFFECTS = {"db": "the database", "fs": "files", "http": "requests to other sites", "net": "the network"}


def pages() -> dict[str, str]:
    """The text of each page by its path in `docs/reference`. Raises PreludeError."""
    entries = [entry for entry in read_prelude() if not entry.builtin.hidden]
    names = {entry.builtin.name for entry in entries}
    made = {"README.md": _list_of_all(entries)}
    for entry in entries:
        unknown = [name for name in entry.doc.see if name not in names]
        if unknown:
            raise PreludeError(f"`{entry.builtin.name}` sends its reader to {', '.join(unknown)}, which is not there")
        made[f"builtins/{entry.builtin.name}.md"] = _page(entry)
    return made


def _list_of_all(entries: list[Entry]) -> str:
    parts = [_MADE, "# Builtins", ""]
    parts += ["Plain functions, so that they pipe: what they work on comes first, and `x | f(y)` is `f(x, y)`.", ""]
    section = ""
    for entry in entries:
        if entry.section != section:
            section = entry.section
            parts += [*([""] if parts[-1] else []), f"## {section[0].upper()}{section[1:]}", ""]
        parts.append(f"- {_link(entry.builtin.name, 'builtins/')}: {_first_sentence(entry.doc.paragraphs[0])}")
    return "\n".join(parts) + "\n"


def _page(entry: Entry) -> str:
    doc = entry.doc
    parts = [_MADE, f"# {entry.builtin.name}", "", "```quillo", *entry.heads, "```", ""]
    parts += ["## What it does", ""]
    for paragraph in doc.paragraphs:
        parts += [paragraph, ""]
    if entry.builtin.effect:
        touched = _EFFECTS[entry.builtin.effect]
        parts += [f"It touches {touched}: a function that uses it says `with {entry.builtin.effect}`.", ""]
    if entry.builtin.change:
        parts += ["It is a change: in a tool, no question to the person comes after it.", ""]
    if doc.examples:
        parts += ["## Example" if len(doc.examples) == 1 else "## Examples", ""]
    for example in doc.examples:
        parts += ["```quillo", example.code, "```", ""]
        if example.output:
            parts += ["```text", example.output, "```", ""]
    if doc.edges:
        parts += ["## Edge cases", "", *(f"- {edge}" for edge in doc.edges), ""]
    if doc.errors:
        parts += ["## Errors", "", *(f"- {error}" for error in doc.errors), ""]
    if doc.see:
        parts += ["## See also", "", ", ".join(map(_link, doc.see)), ""]
    return "\n".join(parts).rstrip("\n") + "\n"


def _link(name: str, folder: str = "") -> str:
    return f"[`{name}`]({folder}{name}.md)"


def _first_sentence(text: str) -> str:
    """Up to the first point that ends a sentence; `…` and what stands in backticks hold none."""
    quoted = False
    for at, c in enumerate(text):
        quoted ^= c == "`"
        if c in ".?" and not quoted and text[at + 1 : at + 2] in ("", " "):
            return text[: at + 1]
    return text


def _stale(wanted: dict[str, str], folder: Path) -> list[str]:
    """The paths in `folder` of the pages that are not there, not as they should be, or too many."""
    found = [*folder.glob("README.md"), *folder.glob("builtins/*.md")]
    there = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("make_reference takes nothing or --check", file=sys.stderr)
        return 2
    try:
        wanted = pages()
    except PreludeError as error:
        print(error, file=sys.stderr)
        return 1
    stale = _stale(wanted, FOLDER)
    if arguments:
        for name in stale:
            print(f"docs/reference/{name} is stale: run python -m tools.make_reference", file=sys.stderr)
        return 1 if stale else 0
    (FOLDER / "builtins").mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
