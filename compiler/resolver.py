"""Declares what a program's files hold, brings in what they use, and has every name looked up.

The names inside a file are looked up by `compiler.name_walk`. Names that a mistake elsewhere may have taken away (a
file that can't be used, a line that doesn't parse) are not reported as unknown: one mistake gives one diagnostic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.names import Earlier, Program, Symbol, Unit
from compiler.prelude import BUILTINS
from compiler.program_files import ProgramFiles, load_files, shown_path
from compiler.source import Loader, Source
from compiler.spelling import ELSEWHERE, ELSEWHERE_TYPES, list_of, nearest
from compiler.types import SIMPLE

TYPE_NAMES = frozenset((*SIMPLE, "list", "map"))
MOST_SUGGESTIONS = 50  # nearest names are looked for no more often than diagnostics are shown


def resolve_program(
    main: Source, load: Loader, diagnostics: Diagnostics, hidden: bool, earlier: Earlier | None = None
) -> Program:
    """See `compiler.names.resolve`."""
    from compiler.name_walk import NameWalk

    files = load_files(main, load, diagnostics, None if earlier is None else earlier.files)
    program = Program(files.units[-1], files.units, earlier=earlier)
    names = Names(program, diagnostics, hidden)
    for unit in files.units:
        names.declare(unit)
    for unit in files.units:
        names.bring_in(unit, files)
    if earlier is not None:
        _go_on_from(earlier, program.main)
    for unit in files.units:
        NameWalk(names, unit).resolve()
    names.report_unused()
    return program


def _go_on_from(earlier: Earlier, unit: Unit) -> None:
    """Lets an input of a session see what those before it declared, unless it declares or brings in the name itself."""
    for name, symbol in earlier.names.items():
        unit.visible.setdefault(name, symbol)
    for name, symbol in earlier.types.items():
        unit.types.setdefault(name, symbol)
    for symbol in (*earlier.open, *earlier.fixed):
        symbol.unit = unit  # so that it may be given a new value here


def pattern_names(pattern: syntax.Pattern) -> Iterator[syntax.NamePattern]:
    """The names that a pattern binds, in order."""
    left = [pattern]
    while left:
        part = left.pop()
        match part:
            case syntax.NamePattern():
                yield part
            case syntax.OrPattern(alternatives=alternatives):
                left += reversed(alternatives)
            case syntax.RecordPattern(fields=fields):
                left += [field.pattern for field in reversed(fields)]
            case syntax.ListPattern(items=items, rest=rest):
                if rest is not None:
                    left.append(rest)
                left += reversed(items)
            case syntax.ErrPattern(inner=inner):
                left.append(inner)


class Names:
    """What the whole program declares, and how unknown names are reported."""

    def __init__(self, program: Program, diagnostics: Diagnostics, hidden: bool) -> None:
        self.program = program
        self.diagnostics = diagnostics
        self.hidden = hidden
        self.builtins: dict[str, Symbol] = {}
        self.namespaces = {name.partition(".")[0] for name in BUILTINS if "." in name}
        self.incomplete: set[Unit] = set()  # a file that it uses could not be read
        self.watched: list[Symbol] = []  # reported where they are never used
        self.broken_words: dict[Unit, set[str]] = {}
        self.reported: set[tuple[object, str]] = set()
        self.suggestions = 0
        self.meant: set[str] = set()  # names that an unknown one was taken for: they count as used

    # --- declarations ---

    def declare(self, unit: Unit) -> None:
        for statement in unit.file.statements:
            match statement:
                case syntax.Function(name=str(name)):
                    symbol = Symbol(name, "function", statement, unit.source, private=statement.private, unit=unit)
                    statement.symbol = symbol
                    self.add(unit, symbol, statement.name_start)
                    if statement.private and statement.mcp:
                        message = f"a tool can't be private: take `private` or `mcp` away from `{name}`"
                        self.error("Q0209", message, unit, statement.name_start, len(name))
                    if statement.private and not statement.server and not statement.mcp:
                        self.watched.append(symbol)
                case syntax.Component(function=syntax.Function(name=str(name)) as function):
                    symbol = Symbol(name, "component", statement, unit.source, private=function.private, unit=unit)
                    function.symbol = symbol
                    self.add(unit, symbol, function.name_start)
                case syntax.TypeDeclaration(name=name):
                    symbol = Symbol(name, "type", statement, unit.source, private=statement.private, unit=unit)
                    statement.symbol = symbol
                    self.add_type(unit, symbol, statement.name_start)
                case syntax.Let(pattern=pattern):
                    for part in pattern_names(pattern):
                        symbol = Symbol(
                            part.name, "global", statement, unit.source, private=statement.private, unit=unit
                        )
                        part.symbol = symbol
                        self.add(unit, symbol, part.start)
                        if statement.private:
                            self.watched.append(symbol)
                case syntax.Use(alias=str(alias)):
                    symbol = Symbol(alias, "file", statement, unit.source, private=True)
                    self.add(unit, symbol, max(statement.end - len(alias), statement.start))
                case syntax.Service(path=path):
                    name = path.strip("/").rpartition("/")[2]
                    if name.isidentifier():
                        symbol = Symbol(name, "service", statement, unit.source, private=True)
                        self.add(unit, symbol, statement.start)

    def add(self, unit: Unit, symbol: Symbol, start: int) -> None:
        symbol.start = start
        known = unit.names.setdefault(symbol.name, symbol)
        if known is not symbol:
            self.declared_twice(unit, symbol, known)

    def add_type(self, unit: Unit, symbol: Symbol, start: int) -> None:
        symbol.start = start
        if symbol.name in TYPE_NAMES:
            message = f"`{symbol.name}` is a type of the language: give yours another name"
            self.error("Q0202", message, unit, start, len(symbol.name))
            return
        known = unit.types.setdefault(symbol.name, symbol)
        if known is not symbol:
            self.declared_twice(unit, symbol, known)

    def declared_twice(self, unit: Unit, symbol: Symbol, known: Symbol) -> None:
        line = unit.source.line(known.start)
        where = "on the same line" if line == unit.source.line(symbol.start) else f"first on line {line}"
        message = f"`{symbol.name}` is declared twice, {where}"
        self.error("Q0202", message, unit, symbol.start, len(symbol.name), "give one of them another name")

    # --- what files use of each other ---

    def bring_in(self, unit: Unit, files: ProgramFiles) -> None:
        brought: dict[str, tuple[syntax.Use, Symbol]] = {}
        for use in unit.file.statements:
            if not isinstance(use, syntax.Use):
                continue
            used = files.used.get(use)
            if use.alias is not None:
                symbol = unit.names.get(use.alias)
                if symbol is not None and symbol.node is use:
                    symbol.unit = used
            elif use.names is not None:
                self._import_names(unit, use, used, brought)
            elif used is None:
                self.incomplete.add(unit)
            else:
                if used.file.has_errors or used in self.incomplete:
                    self.incomplete.add(unit)
                self._bring(unit, use, used, [s for s in used.names.values() if not s.private], unit.visible, brought)
                types = [s for s in used.types.values() if not s.private and s.unit is used]
                self._bring(unit, use, used, types, unit.types, {})

    def _bring(
        self,
        unit: Unit,
        use: syntax.Use,
        used: Unit,
        symbols: list[Symbol],
        into: dict[str, Symbol],
        brought: dict[str, tuple[syntax.Use, Symbol]],
    ) -> None:
        clashes: dict[Unit, list[str]] = {}
        for symbol in symbols:
            known = into.get(symbol.name)
            if known is None:
                into[symbol.name] = symbol
                brought[symbol.name] = (use, symbol)
            elif known is not symbol and known.unit is not unit and known.unit is not None:
                clashes.setdefault(known.unit, []).append(symbol.name)
        for other, names in clashes.items():
            first = next((u for u, s in brought.values() if s.unit is other), None)
            line = f" (line {unit.source.line(first.start)})" if first is not None else ""
            self.error(
                "Q0704",
                f"{list_of(names, 3)} {'is' if len(names) == 1 else 'are'} brought in by `{shown_path(other)}`{line} "
                f"and by `{shown_path(used)}` (line {unit.source.line(use.start)})",
                unit,
                use.path_start or use.start,
                1,
                "`use … as …` keeps the names of two files apart",
            )

    def _import_names(
        self, unit: Unit, use: syntax.Use, used: Unit | None, brought: dict[str, tuple[syntax.Use, Symbol]]
    ) -> None:
        for name, start in use.names or ():
            if used is None:
                # So that its uses are not reported, too.
                unit.visible.setdefault(name, Symbol(name, "unknown", use, unit.source))
                unit.types.setdefault(name, Symbol(name, "type", None, unit.source))
                continue
            symbol, type_symbol = used.names.get(name), used.types.get(name)
            if type_symbol is not None and type_symbol.unit is not used:
                type_symbol = None
            found = [s for s in (symbol, type_symbol) if s is not None and s.kind != "file"]
            public = [s for s in found if not s.private]
            if not public:
                if found:
                    self.error("Q0208", f"`{name}` is private in `{shown_path(used)}`", unit, start, len(name))
                elif not used.file.has_errors:
                    known = [s.name for s in (*used.names.values(), *used.types.values()) if not s.private]
                    self.unknown_in(unit, start, name, f"`{shown_path(used)}` has nothing called `{name}`", known)
                unit.visible.setdefault(name, Symbol(name, "unknown", use, unit.source))
                continue
            for each in public:
                own = (unit.types if each.kind == "type" else unit.names).get(name)
                if own is not None and own.unit is unit:
                    each_start = start
                    line = unit.source.line(own.start)
                    message = f"`{name}` is declared on line {line} and imported from `{shown_path(used)}`"
                    self.error("Q0202", message, unit, each_start, len(name))
                    continue
                into = unit.types if each.kind == "type" else unit.visible
                self._bring(unit, use, used, [each], into, brought)

    # --- looking up ---

    def builtin(self, name: str) -> Symbol | None:
        """The symbol of a builtin (or of what stands before the `.` in builtins' names), None for no such."""
        symbol = self.builtins.get(name)
        if symbol is None:
            builtin = BUILTINS.get(name)
            if builtin is None:
                if name not in self.namespaces:
                    return None
            elif builtin.hidden and not self.hidden:
                return None
            symbol = self.builtins[name] = Symbol(name, "builtin", None, None)
        return symbol

    def public_builtins(self) -> list[str]:
        return [name for name, builtin in BUILTINS.items() if not builtin.hidden]

    # --- reporting ---

    def error(self, code: str, message: str, unit: Unit, start: int, length: int, hint: str = "") -> None:
        self.diagnostics.error(code, message, unit.source, start, start + length, hint)

    def unknown_in(
        self, unit: Unit, start: int, name: str, message: str, known: list[str], code: str = "Q0201"
    ) -> None:
        """Reports a name that something known lacks, with the nearest that it has."""
        near = nearest(name, known)
        self.error(code, f"{message}: did you mean `{near}`?" if near else message, unit, start, len(name))

    def unknown(
        self,
        unit: Unit,
        declaration: object,
        name: str,
        start: int,
        in_scope: Callable[[], list[str]],
        assigned: bool = False,
    ) -> None:
        """Reports a value's name that nothing in sight has, once for each declaration. `assigned`: it is `name = …`."""
        if unit in self.incomplete or name in self._words_of_broken_lines(unit):
            return
        if (declaration, name) in self.reported:
            return
        self.reported.add((declaration, name))
        if name in unit.types or name in TYPE_NAMES:
            self.error("Q0201", f"`{name}` is a type, not a value", unit, start, len(name))
            return
        message = f"nothing is called `{name}`"
        near = None
        if self.suggestions < MOST_SUGGESTIONS:
            self.suggestions += 1
            known = [*in_scope(), *unit.names, *unit.visible]
            near = nearest(name, known) if assigned else nearest(name, [*known, *self.public_builtins()], ELSEWHERE)
        if near:
            self.meant.add(near)
            message += f": did you mean `{near}`?"
        elif assigned:
            message += f": `let {name} = …` makes a new variable"
        self.error("Q0201", message, unit, start, len(name))

    def unknown_type(self, unit: Unit, name: str, start: int) -> None:
        if self.hidden or unit in self.incomplete or name in self._words_of_broken_lines(unit):
            return
        if (unit, f"type {name}") in self.reported:
            return
        self.reported.add((unit, f"type {name}"))
        near = nearest(name, [*unit.types, *TYPE_NAMES, "fn"], ELSEWHERE_TYPES)
        message = f"no type is called `{name}`"
        self.error("Q0203", f"{message}: did you mean `{near}`?" if near else message, unit, start, len(name))

    def _words_of_broken_lines(self, unit: Unit) -> set[str]:
        """The names on lines that didn't parse: what they would have declared is not known."""
        words = self.broken_words.get(unit)
        if words is None:
            words = self.broken_words[unit] = set()
            if unit.file.has_errors:
                for diagnostic in self.diagnostics.in_order():
                    if diagnostic.severity == "error" and diagnostic.source is unit.source:
                        words.update(re.findall(r"[A-Za-z_]\w*", unit.source.line_text(diagnostic.line)))
        return words

    def report_unused(self) -> None:
        units = {unit.source.name: unit for unit in self.program.units}
        for symbol in self.watched:
            if symbol.uses or symbol.name.startswith("_") or symbol.name in self.meant or symbol.source is None:
                continue
            unit = units.get(symbol.source.name)
            if unit is None or unit.file.has_errors or self.hidden:
                continue
            end = symbol.start + len(symbol.name)
            if isinstance(symbol.node, syntax.Function):
                what = "local" if symbol.kind == "local" else "private"
                message = f"the {what} function `{symbol.name}` is never used"
                self.diagnostics.warning("Q0221", message, symbol.source, symbol.start, end)
            else:
                hint = f"a name that begins with `_` is meant to be unused: `_{symbol.name}`"
                self.diagnostics.warning(
                    "Q0220", f"`{symbol.name}` is never used", symbol.source, symbol.start, end, hint
                )
