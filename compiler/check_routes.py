"""Reports routes that can't be told apart: of one method, with paths that the same requests fit equally well.

A text is more exact than `:name:int`, that than `:name`, and that than `*rest`; names don't matter.
"""

from __future__ import annotations

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.names import Program, Unit

# The method, and the kind of each part (with a text itself).
_Shape = tuple[str, tuple[tuple[str, str], ...]]


def check_routes(program: Program, diagnostics: Diagnostics) -> None:
    """Reports each route, and each `build`, that stands after one that it can't be told apart from."""
    first: dict[_Shape, tuple[Unit, syntax.Route | syntax.Build]] = {}
    for unit in program.units:
        for statement in unit.file.statements:
            if not isinstance(statement, syntax.Route | syntax.Build):
                continue
            shape = _shape(statement)
            if shape not in first:
                first[shape] = (unit, statement)
                continue
            other_unit, other = first[shape]
            place = f"line {other_unit.source.line(other.start)}"
            if other_unit is not unit:
                place += f" of `{other_unit.source.name}`"
            diagnostics.error(
                "Q0601",
                f"`{_title(statement)}` can't be told apart from `{_title(other)}` on {place}",
                unit.source,
                statement.start,
                statement.start + len(_title(statement)),
            )


def _shape(statement: syntax.Route | syntax.Build) -> _Shape:
    if isinstance(statement, syntax.Build):
        pieces = statement.path[1:].split("/") if statement.path != "/" else []
        return "GET", tuple(("text", piece) for piece in pieces)
    parts = []
    for part in statement.parts:
        if part.kind == "text":
            parts.append(("text", part.value))
        else:
            parts.append((part.kind, part.type))
    return statement.method, tuple(parts)


def _title(statement: syntax.Route | syntax.Build) -> str:
    if isinstance(statement, syntax.Build):
        return f'build "{statement.path}"'
    return f"route {statement.method} {statement.path}"
