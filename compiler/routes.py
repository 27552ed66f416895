"""The path of a route: its parts, and what is wrong with them."""

from __future__ import annotations

from compiler.productions import Builder
from compiler.syntax import NamedType, Parameter, PathPart
from compiler.tokens import KEYWORDS, Token


def path_parts(build: Builder, path: Token) -> list[PathPart]:
    """The parts between the slashes of `/notes/:id:int/*rest`; `/` has none, and a slash at the end is an empty text.

    Rules of language.md section 11: `:name` and `:name:int` stand alone between slashes, `*rest` stands last, and no
    name is given twice. A part that breaks a rule is reported and kept as text.
    """
    text: str = path.value
    if not text.startswith("/"):
        build.error("Q0109", f"the path of a route begins with `/`: `/{text}`", path.start, path.end)
        text = "/" + text
        start = path.start
    else:
        start = path.start + 1
    if text == "/":
        return []
    parts: list[PathPart] = []
    names: set[str] = set()
    pieces = text[1:].split("/")
    for number, piece in enumerate(pieces):
        end = start + len(piece)
        part = PathPart(start, end, "text", piece)
        problem = ""
        if piece.startswith(":"):
            name, _, type = piece[1:].partition(":")
            problem = _name_problem(name, names)
            if not problem and (type not in ("", "int", "str") or piece.endswith(":")):
                problem = f"`{piece}` is no part of a path: `:{name}` takes any text, `:{name}:int` whole numbers"
            if not problem:
                part = PathPart(start, end, "parameter", name, type or "str")
        elif piece.startswith("*"):
            problem = _name_problem(piece[1:], names)
            if not problem and number < len(pieces) - 1:
                problem = f"`{piece}` takes the rest of a path, so it stands last in it"
            if not problem:
                part = PathPart(start, end, "rest", piece[1:])
        elif not piece and number < len(pieces) - 1:
            problem = "a part between two slashes of this path is empty"
        if problem:
            build.error("Q0109", problem, start, max(end, start + 1))
        else:
            names.add(part.value if part.kind != "text" else "")
        parts.append(part)
        start = end + 1
    return parts


def _name_problem(name: str, names: set[str]) -> str:
    if not name.isidentifier() or not name.isascii():
        return "a `:name` or a `*name` is a name alone between two slashes: letters, digits and `_`"
    if name in KEYWORDS:
        return f"`{name}` is a keyword: a part of a path can't have it as its name"
    if name in names:
        return f"`{name}` names two parts of this path"
    return ""


def path_parameters(parts: list[PathPart]) -> list[Parameter]:
    """The names in a path as the parameters of its route's function."""
    return [
        Parameter(part.start, part.end, part.value, NamedType(part.start, part.end, part.type, None, []), None)
        for part in parts
        if part.kind != "text"
    ]
