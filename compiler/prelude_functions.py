"""The builtins that are written in Quillo (`map`, `sort`, `db.transaction` …), as checked functions.

Each is a small program of its own, which may use the builtins that programs don't see. What it makes is the same for
every program, so it is read once.
"""

from __future__ import annotations

from compiler import syntax
from compiler.builtins import Builtin
from compiler.source import Source, SourceError

_READ: dict[str, tuple[syntax.Function, Source]] = {}


def prelude_function(builtin: Builtin) -> tuple[syntax.Function, Source]:
    """The function of a builtin of kind "quillo", and the source that it stands in."""
    known = _READ.get(builtin.name)
    if known is None:
        known = _READ[builtin.name] = _read(builtin)
    return known


def _read(builtin: Builtin) -> tuple[syntax.Function, Source]:
    from compiler.checker import check
    from compiler.diagnostics import Diagnostics
    from compiler.names import resolve

    diagnostics = Diagnostics()
    source = Source("prelude", builtin.source)
    program = resolve(source, _no_files, diagnostics, hidden=True)
    check(program, diagnostics)
    assert not diagnostics.has_errors, [str(found) for found in diagnostics.in_order()]
    for statement in program.main.file.statements:
        if isinstance(statement, syntax.Function):
            return statement, source
    raise AssertionError(f"{builtin.name} declares no function")


def _no_files(path: str) -> Source:
    raise SourceError("is not there")
