"""Finds what the language has and this compiler does not yet do, and says so, each once (codes Q09xx).

unsupported(program, diagnostics)        before anything is lowered
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.names import Program
from compiler.source import Source


def unsupported(program: Program, diagnostics: Diagnostics) -> None:
    """Reports components that are alive in the browser, services, and databases of a server."""
    for unit in program.units:
        for node in _all_nodes(unit.file):
            _look_at(node, unit.source, diagnostics)


def _look_at(node: syntax.Node, source: Source, diagnostics: Diagnostics) -> None:
    def refuse(code: str, what: str, hint: str = "") -> None:
        diagnostics.error(code, f"not supported yet: {what}", source, node.start, node.end, hint)

    match node:
        case syntax.State():
            refuse("Q0901", "components with `state`")
        case syntax.Attribute(kind="event", name=name):
            refuse("Q0902", f"`@{name.removeprefix('@')}`: components that are alive in the browser")
        case syntax.Attribute(kind="bind", name=name):
            refuse("Q0903", f"`bind:{name.removeprefix('bind:')}`: components that are alive in the browser")
        case syntax.Attribute(kind="spread"):
            refuse("Q0904", "attributes given as a record")
        case syntax.Service():
            refuse("Q0905", "`service`")
        case syntax.Call(callee=syntax.Field(name="open", symbol=symbol), arguments=[first, *_]) if symbol is not None:
            value = first.value
            if symbol.name in ("db", "db.open") and isinstance(value, syntax.Literal | syntax.Template):
                text = value.value if isinstance(value, syntax.Literal) else value.parts[0] if value.parts else ""
                if isinstance(text, str) and text.lower().startswith(("postgres://", "postgresql://")):
                    refuse("Q0906", "`postgres://` databases", 'an SQLite file is: db.open("main.db")')


def _all_nodes(file: syntax.File) -> Iterator[syntax.Node]:
    """Every node of a file, in the order of the source; without recursion, as chains may be long."""
    waiting: list[object] = list(reversed(file.statements))
    while waiting:
        part = waiting.pop()
        if isinstance(part, list | tuple):
            waiting.extend(reversed(part))
            continue
        if not isinstance(part, syntax.Node):
            continue
        yield part
        names = _FIELDS.get(type(part))
        if names is None:
            names = _FIELDS[type(part)] = tuple(
                field.name for field in fields(part) if field.init and field.name not in ("start", "end")
            )
        waiting.extend(getattr(part, name) for name in reversed(names))


_FIELDS: dict[type, tuple[str, ...]] = {}
