"""What names mean at one place of a file: the open scopes, and what functions capture.

A name holds from its `let` to the end of its block; a local `fn` in all of its block. Bodies see what is declared
around them. Looking a name up costs the same however deep scopes nest: each name has its own stack of meanings.
`compiler.name_walk` walks the file.
"""

from __future__ import annotations

from compiler import syntax
from compiler.names import Symbol, Unit
from compiler.resolver import TYPE_NAMES, Names, pattern_names

_CAPTURABLE = frozenset(("local", "parameter", "children"))


class Scopes:
    """Rule: `self.meanings[name][-1]` is what `name` means at the place that is being walked."""

    def __init__(self, names: Names, unit: Unit) -> None:
        self.names = names
        self.unit = unit
        self.meanings: dict[str, list[tuple[Symbol, int]]] = {}
        self.scope_names: list[list[str]] = []  # what each open scope declares
        self.functions: list[syntax.Function] = []
        self.captured: dict[syntax.Function, set[Symbol]] = {}
        self.with_request: set[syntax.Function] = set()
        self.coming: dict[str, list[int]] = {}  # names of open blocks whose `let` is still to come: where
        self.loops = 0
        self.changes: list[set[Symbol]] = []
        self.declaration: object = unit
        self.request: Symbol | None = None

    def error(self, code: str, message: str, start: int, end: int, hint: str = "") -> None:
        self.names.diagnostics.error(code, message, self.unit.source, start, max(end, start + 1), hint)

    # --- scopes ---

    def enter(self) -> None:
        self.scope_names.append([])

    def leave(self) -> None:
        for name in self.scope_names.pop():
            self.meanings[name].pop()

    def declare(self, symbol: Symbol, start: int) -> None:
        symbol.start = start
        stack = self.meanings.setdefault(symbol.name, [])
        depth = len(self.scope_names)
        if stack and stack[-1][1] == depth:
            self.names.declared_twice(self.unit, symbol, stack[-1][0])
        stack.append((symbol, depth))
        self.scope_names[-1].append(symbol.name)
        symbol.function = self.functions[-1] if self.functions else None
        (symbol.function or self.unit).owned.append(symbol)

    def declare_pattern(
        self, pattern: syntax.Pattern, watched: bool = False, shared: dict[str, Symbol] | None = None
    ) -> None:
        """Declares the names of a pattern; names in `shared` are those that another side of a `|` declared."""
        match pattern:
            case syntax.NamePattern(name=name):
                if shared is not None and name in shared:
                    pattern.symbol = shared[name]
                    return
                pattern.symbol = Symbol(name, "local", pattern, self.unit.source, unit=self.unit)
                self.declare(pattern.symbol, pattern.start)
                if watched:
                    self.names.watched.append(pattern.symbol)
            case syntax.RecordPattern(fields=fields):
                for field in fields:
                    self.declare_pattern(field.pattern, watched, shared)
            case syntax.ListPattern(items=items, rest=rest):
                for item in items:
                    self.declare_pattern(item, watched, shared)
                if rest is not None:
                    self.declare_pattern(rest, watched, shared)
            case syntax.ErrPattern(inner=inner):
                self.declare_pattern(inner, watched, shared)
            case syntax.OrPattern(alternatives=alternatives):
                self.declare_alternatives(alternatives, watched, shared)

    def declare_alternatives(
        self, alternatives: list[syntax.Pattern], watched: bool, shared: dict[str, Symbol] | None
    ) -> None:
        first = alternatives[0]
        self.declare_pattern(first, watched, shared)
        known = {part.name: part.symbol for part in pattern_names(first) if part.symbol is not None}
        for alternative in alternatives[1:]:
            names = {part.name for part in pattern_names(alternative)}
            if names != known.keys():
                odd = sorted(names ^ known.keys())[0]
                message = f"`{odd}` stands on one side of `|` only: both sides must name the same"
                self.error("Q0205", message, alternative.start, alternative.end)
            self.declare_pattern(alternative, watched, {**(shared or {}), **known})

    def lookup(self, name: str) -> Symbol | None:
        stack = self.meanings.get(name)
        if stack:
            return stack[-1][0]
        symbol = self.unit.names.get(name) or self.unit.visible.get(name)
        if symbol is not None:
            return symbol
        if name == "request" and any(function in self.with_request for function in self.functions):
            if self.request is None:
                self.request = Symbol("request", "request", None, None)
            return self.request
        return self.names.builtin(name)

    def names_in_scope(self) -> list[str]:
        return [name for name, stack in self.meanings.items() if stack]

    def note_use(self, symbol: Symbol) -> None:
        """Counts a use, and has the functions between it and its declaration capture it."""
        if symbol.node not in self.functions:  # a function that only calls itself is not used
            symbol.uses += 1
        self.note_capture(symbol)

    def note_capture(self, symbol: Symbol) -> None:
        if symbol.kind not in _CAPTURABLE or not self.functions or symbol.function is self.functions[-1]:
            return
        symbol.captured = True
        for function in reversed(self.functions):
            if function is symbol.function:
                break
            captures = self.captured.setdefault(function, set())
            if symbol in captures:
                break
            captures.add(symbol)
            function.captures.append(symbol)

    def note_change(self, symbol: Symbol) -> None:
        if self.changes:
            self.changes[-1].add(symbol)

    # --- types ---

    def types(self, node: syntax.TypeNode | None) -> None:
        left = [node] if node is not None else []
        while left:
            part = left.pop()
            match part:
                case syntax.NamedType(arguments=arguments):
                    self.named_type(part)
                    left += reversed(arguments)
                case syntax.RecordType(fields=fields):
                    left += [field.type for field in reversed(fields)]
                case syntax.OptionalType(inner=inner):
                    left.append(inner)
                case syntax.UnionType(members=members):
                    left += reversed(members)
                case syntax.FunctionType(parameters=parameters, result=result):
                    if result is not None:
                        left.append(result)
                    left += reversed(parameters)

    def named_type(self, node: syntax.NamedType) -> None:
        if node.qualifier is None:
            if node.name in TYPE_NAMES:
                return
            symbol = self.unit.types.get(node.name)
            if symbol is None:
                self.names.unknown_type(self.unit, node.name, node.start)
                return
        else:
            file = self.lookup(node.qualifier)
            if file is None or file.kind != "file":
                message = f'`{node.qualifier}` is no used file: `use "FILE.qwe" as {node.qualifier}` makes it one'
                self.error("Q0201", message, node.start, node.start + len(node.qualifier))
                return
            file.uses += 1
            used = file.unit
            if used is None:
                return
            start = max(node.start, node.end - len(node.name)) if not node.arguments else node.start
            symbol = used.types.get(node.name)
            if symbol is None or symbol.unit is not used:
                if not used.file.has_errors:
                    message = f"`{node.qualifier}` has no type called `{node.name}`"
                    known = [s.name for s in used.types.values() if s.unit is used and not s.private]
                    self.names.unknown_in(self.unit, start, node.name, message, known, "Q0203")
                return
            if symbol.private:
                self.error("Q0208", f"`{node.name}` is private in `{node.qualifier}`", start, node.end)
                return
        node.symbol = symbol
        symbol.uses += 1
