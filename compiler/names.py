"""Says what each name in a program stands for.

`Symbol` is one declared thing; `resolve` walks every file, puts symbols on names, and reports unknown names (with the
nearest known one), names declared twice, and files that can't be used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.source import Loader, Source

if TYPE_CHECKING:
    from compiler.types import Type


@dataclass(slots=True, eq=False)
class Symbol:
    """One declared thing.

    `kind`: "local" (a `let`, a pattern's or loop's name, a local function), "parameter", "global" (a top-level `let`),
    "function" (a top-level `fn`), "type", "component", "builtin", "file" (the alias of a used file), "service",
    "request" (the implicit `request` of a route and of a `server fn`), "children" (of a component).
    """

    name: str
    kind: str
    node: syntax.Node | None
    source: Source | None
    function: syntax.Function | None = None  # that it is declared in; None at a top level
    captured: bool = False  # a function inside its own uses it
    assigned: bool = False  # `x = …` or `x += …` somewhere after its `let`
    changed: bool = False  # `x.a = …`, `x[i] = …` or `x += …` somewhere: may be changed in place
    private: bool = False
    uses: int = 0
    type: Type | None = None
    # For "global": the file it belongs to, and for "file": the file that it names.
    unit: Unit | None = None
    start: int = 0  # where its name stands when it is declared
    # How many steps of a path come before the last one, an index, of each `x.a[i] = …`: there, keys may come to be.
    indexed: set[int] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Unit:
    """One file of the program. `path` is relative to the main file's folder ("" for the main file itself)."""

    path: str
    source: Source
    file: syntax.File
    names: dict[str, Symbol] = field(default_factory=dict)  # declared at its top level
    visible: dict[str, Symbol] = field(default_factory=dict)  # brought in by `use` and `import`
    types: dict[str, Symbol] = field(default_factory=dict)  # type names, declared or brought in
    owned: list[Symbol] = field(default_factory=list)  # locals of blocks in its top-level statements


@dataclass(slots=True, eq=False)
class Program:
    """All files, in the order in which their top levels run: what is used first, the main file last.

    `loop_changes` gives for each loop (and `for` expression) the variables that its turns may give a new value.
    """

    main: Unit
    units: list[Unit]
    loop_changes: dict[syntax.Node, set[Symbol]] = field(default_factory=dict)
    earlier: Earlier | None = None  # where the main file is an input of a session


@dataclass(slots=True, eq=False)
class Earlier:
    """What the inputs of a session (see `compiler.session`) declared that came before the one at hand.

    `names` and `types` are what a name stands for now, `files` the used files whose top level has run, by their path.
    Of the variables, those in `fixed` have a written type; those in `open` may be given any value by a later input.
    """

    names: dict[str, Symbol] = field(default_factory=dict)
    types: dict[str, Symbol] = field(default_factory=dict)
    files: dict[str, Unit] = field(default_factory=dict)
    open: set[Symbol] = field(default_factory=set)
    fixed: set[Symbol] = field(default_factory=set)


def resolve(
    main: Source, load: Loader, diagnostics: Diagnostics, *, hidden: bool = False, earlier: Earlier | None = None
) -> Program:
    """Reads a program: parses its main file and all files that it uses, and says what each name stands for.

    Never raises for what a program's text holds. `hidden`: the main file is the language's own code, which may use the
    builtins that programs don't see. `earlier`: the main file is an input of a session, which sees what those before
    it declared; used files that have run are not read again.
    """
    from compiler.resolver import resolve_program

    return resolve_program(main, load, diagnostics, hidden, earlier)
