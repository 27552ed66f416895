"""From source text to a Module: runs the passes in order, each only where those before it left it sense to.

compile_program(main, load, name, diagnostics) -> Module | None
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

from compiler.diagnostics import Diagnostics
from compiler.source import Loader, Source
from qasm.module import Module

if TYPE_CHECKING:
    from compiler.effects import Effects
    from compiler.tools import ToolSet

Analysed = Callable[["Effects", "ToolSet"], None]


def compile_program(
    main: Source, load: Loader, name: str, diagnostics: Diagnostics, analysed: Analysed | None = None
) -> Module | None:
    """The Module of a program; None where it has errors, which are in `diagnostics` then, beside warnings.

    `load` gives the files that it uses, by their path from the main file's folder. `name` is the main file's stem.
    `analysed` is given what is known of a program without errors before it is lowered.
    Raises nothing, whatever the text holds: should a pass fail, that is an error of its own, unless the program has
    errors anyway.
    """
    # A program's tree only grows until it is lowered: the collector would walk it again and again and find nothing, so
    # that a line of a long program took longer than one of a short program.
    collects = gc.isenabled()
    gc.disable()
    try:
        return run_passes(main, load, name, diagnostics, analysed)
    except RecursionError:
        message = "this program nests deeper than the compiler can follow: name its inner parts (functions, types)"
        diagnostics.error("Q0990", message, main, 0, 0)
    except Exception:
        if not diagnostics.has_errors:
            message = "the compiler can't compile this program: that is a mistake in Quillo, please report it"
            diagnostics.error("Q0991", message, main, 0, 0)
    finally:
        if collects:
            gc.enable()
    return None


def run_passes(
    main: Source, load: Loader, name: str, diagnostics: Diagnostics, analysed: Analysed | None = None
) -> Module | None:
    """As `compile_program`, but lets the failure of a pass through."""
    from compiler.checker import check
    from compiler.effects import analyse
    from compiler.names import resolve
    from compiler.tools import make_tools
    from compiler.unsupported import unsupported

    program = resolve(main, load, diagnostics)
    check(program, diagnostics)
    effects = analyse(program, diagnostics)
    tool_set = make_tools(program, effects, diagnostics)
    unsupported(program, diagnostics)
    if diagnostics.has_errors:
        return None
    if analysed is not None:
        analysed(effects, tool_set)
    from compiler.lower import lower

    return lower(program, tool_set, name)
