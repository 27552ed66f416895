"""Finds what the language has and this compiler does not yet do, and says so, each once (codes Q09xx).

unsupported(program, diagnostics)        before anything is lowered
"""

from __future__ import annotations

import re

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.names import Program
from compiler.source import Source
from compiler.tree_nodes import all_nodes

# A file with none of these needs no walk.
_SIGNS = re.compile(r"\bstate\b|@[a-zA-Z]|\bbind:|\{\s*\.\.\.|\bservice\b|postgres", re.IGNORECASE)


def unsupported(program: Program, diagnostics: Diagnostics) -> None:
    """Reports components that are alive in the browser, services, and databases of a server."""
    for unit in program.units:
        if _SIGNS.search(unit.source.text):
            for node in all_nodes([unit.file]):
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
