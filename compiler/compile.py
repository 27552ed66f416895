"""From source text to a Module: runs the passes in order, each only where those before it left it sense to.

compile_program(main, load, name, diagnostics) -> Module | None
"""

from __future__ import annotations

from compiler.diagnostics import Diagnostics
from compiler.source import Loader, Source
from qasm.module import Module


def compile_program(main: Source, load: Loader, name: str, diagnostics: Diagnostics) -> Module | None:
    """The Module of a program; None where it has errors, which are in `diagnostics` then, beside warnings.

    `load` gives the files that it uses, by their path from the main file's folder. `name` is the main file's stem.
    Raises nothing, whatever the text holds.
    """
    from compiler.names import resolve

    try:
        program = resolve(main, load, diagnostics)
        from compiler.checker import check

        check(program, diagnostics)
        from compiler.effects import analyse

        effects = analyse(program, diagnostics)
        from compiler.tools import make_tools

        tool_set = make_tools(program, effects, diagnostics)
        from compiler.unsupported import unsupported

        unsupported(program, diagnostics)
        if diagnostics.has_errors:
            return None
        from compiler.lower import lower

        return lower(program, tool_set, name)
    except RecursionError:
        diagnostics.error(
            "Q0990",
            "this program nests deeper than the compiler can follow: take parts of it out into functions",
            main,
            0,
            0,
        )
        return None
