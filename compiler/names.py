"""Says what each name in a program stands for.

`Symbol` is one declared thing; `resolve` walks every file, puts symbols on names, and reports unknown names (with the
nearest known one), names declared twice, and files that can't be used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler import syntax
from compiler.source import Source

if TYPE_CHECKING:
    from compiler.types import Type


@dataclass(slots=True, eq=False)
class Symbol:
    """One declared thing.

    `kind`: "local" (a `let`, a pattern's or loop's name, a local function), "parameter", "global" (a top-level `let`),
    "function" (a top-level `fn`), "type", "component", "builtin", "file" (the alias of a used file), "request"
    (the implicit `request` of a route and of a `server fn`), "children" (of a component).
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


@dataclass(slots=True, eq=False)
class Unit:
    """One file of the program. `path` is relative to the main file's folder ("" for the main file itself)."""

    path: str
    source: Source
    file: syntax.File
    names: dict[str, Symbol] = field(default_factory=dict)  # declared at its top level
    visible: dict[str, Symbol] = field(default_factory=dict)  # brought in by `use` and `import`
    types: dict[str, Symbol] = field(default_factory=dict)  # type names, declared or brought in


@dataclass(slots=True, eq=False)
class Program:
    """All files, in the order in which their top levels run: what is used first, the main file last."""

    main: Unit
    units: list[Unit]
