"""What is known of variables at one place of a function beyond their types: `if x != null { … }`.

A narrowing belongs to a path (`x`, `x.owner`, `x["key"]`) and to the function that is being walked. All changes are
kept on a trail, so that a branch can be taken back: joining two branches costs what they changed, not what is known.
Rule: what can change behind the walk's back (a captured variable that is assigned, a top-level one that a function
assigns) is never known for sure; a narrowing makes it unknown instead, which is reported nowhere and proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler import syntax
from compiler.names import Symbol
from compiler.relations import fits, join, kinds_of, only, without_null
from compiler.types import ANY, NULL, LiteralType, RecordType, Type, UnionType, resolved

# `path`: a field's name; ("[]", key) for a constant index; NO_ERROR for the fact that the value is no error.
Path = tuple[object, ...]
Fact = tuple[Symbol, Path, Type]
Facts = Sequence[Fact]
BothFacts = tuple[Facts, Facts]
NO_FACTS: BothFacts = ((), ())
NO_ERROR: Path = ("?",)
_MOST_STEPS = 4

_VARIABLES = frozenset(("local", "parameter", "global"))
_Key = tuple[object, ...]
Known = dict[_Key, Type | None]


class Flow:
    """The narrowings at the place that is being walked. `functions` are those around it, the outermost first."""

    def __init__(self) -> None:
        self.known: dict[_Key, Type] = {}
        self.trail: list[tuple[_Key, Type | None]] = []
        self.paths: dict[Symbol, set[_Key]] = {}  # keys longer than the variable itself
        self.writes: list[Symbol] = []
        self.functions: list[syntax.Function | None] = [None]

    def lookup(self, symbol: Symbol, path: Path = ()) -> Type | None:
        """What is known here, None where that is no more than the variable's type says."""
        if not self.known:
            return None
        found = self.known.get((self.functions[-1], symbol, *path))
        if found is None and len(self.functions) > 1 and not symbol.assigned and not symbol.changed:
            for function in reversed(self.functions[:-1]):
                found = self.known.get((function, symbol, *path))
                if found is not None:
                    break
        return found

    def set(self, symbol: Symbol, path: Path, type: Type | None) -> None:
        key = (self.functions[-1], symbol, *path)
        if type is not None and path != NO_ERROR and is_shared(symbol, bool(path)):
            type = ANY
        self.trail.append((key, self.known.get(key)))
        if type is None:
            self.known.pop(key, None)
        else:
            self.known[key] = type
            if path:
                self.paths.setdefault(symbol, set()).add(key)

    def apply(self, facts: Iterable[Fact]) -> None:
        for symbol, path, type in facts:
            self.set(symbol, path, type)

    def written(self, symbol: Symbol) -> None:
        """The variable has a new value: nothing is known of it."""
        self.writes.append(symbol)
        self._forget(symbol, None)

    def changed(self, symbol: Symbol) -> None:
        """A part of the variable has a new value: nothing is known of its parts."""
        self.writes.append(symbol)
        self._forget_parts(symbol, None)

    def loosen(self, symbol: Symbol) -> Type | None:
        """At a loop's start: what is known of a variable that a turn may change is unknown. Gives what was known."""
        before = self.lookup(symbol)
        self._forget(symbol, ANY)
        return before

    def _forget(self, symbol: Symbol, to: Type | None) -> None:
        if (self.functions[-1], symbol) in self.known:
            self.set(symbol, (), to)
        if (self.functions[-1], symbol, *NO_ERROR) in self.known:
            self.set(symbol, NO_ERROR, None)
        self._forget_parts(symbol, to)

    def _forget_parts(self, symbol: Symbol, to: Type | None) -> None:
        for key in self.paths.get(symbol, ()):
            if key in self.known and key[0] is self.functions[-1] and key[2:] != NO_ERROR:
                self.set(symbol, key[2:], to)

    # --- branches ---

    def mark(self) -> tuple[int, int]:
        return len(self.trail), len(self.writes)

    def since(self, mark: tuple[int, int]) -> Known:
        """What is known now of each path of which something else was known at `mark`."""
        return {key: self.known.get(key) for key, _ in self.trail[mark[0] :]}

    def rollback(self, mark: tuple[int, int]) -> None:
        """Takes back all since `mark`."""
        while len(self.trail) > mark[0]:
            key, before = self.trail.pop()
            if before is None:
                self.known.pop(key, None)
            else:
                self.known[key] = before

    def leave(self, mark: tuple[int, int]) -> None:
        """Takes back all since `mark`, but nothing is known any more of variables that were written meanwhile."""
        self.rollback(mark)
        for symbol in dict.fromkeys(self.writes[mark[1] :]):
            self._forget(symbol, None)

    def join(self, mark: tuple[int, int], branches: list[Known]) -> None:
        """Goes on after branches that began at `mark`, one of which ran; each as `since` gave it at its end."""
        self.rollback(mark)
        for key in dict.fromkeys(key for known in branches for key in known):
            before = self.known.get(key)
            types = [known.get(key, before) for known in branches]
            joined = None
            if all(type is not None for type in types):
                joined = join(*(type for type in types if type is not None))
            if joined is not before:
                symbol = key[1]
                assert isinstance(symbol, Symbol)
                self.set(symbol, key[2:], joined)


def is_shared(symbol: Symbol, part: bool = False) -> bool:
    """May the variable (or, with `part`, a part of it) change while other code than the walked one runs?"""
    if symbol.kind == "global" or symbol.captured:
        return symbol.assigned or (part and symbol.changed)
    return False


def path_of(node: syntax.Expression) -> tuple[Symbol, Path] | None:
    """The variable and the path that an expression reads, None where it is something else or too long."""
    steps: list[object] = []
    while len(steps) <= _MOST_STEPS:
        match node:
            case syntax.Name(symbol=symbol):
                if symbol is None or symbol.kind not in _VARIABLES:
                    return None
                return symbol, tuple(reversed(steps))
            case syntax.Field(symbol=None, value=value, name=name):
                steps.append(name)
                node = value
            case syntax.Field(symbol=symbol) if symbol is not None and symbol.kind == "global":
                return symbol, tuple(reversed(steps))
            case syntax.Index(value=value, index=syntax.Literal(value=key)):
                steps.append(("[]", key))
                node = value
            case _:
                return None
    return None


# --- facts ------------------------------------------------------------------------------------------------------


def facts_of(node: syntax.Expression) -> BothFacts:
    """What a condition that was checked says of variables where it is true, and where it is false."""
    match node:
        case syntax.Binary(operator="==" | "!=", left=left, right=right):
            if isinstance(left, syntax.Literal):
                left, right = right, left
            facts = NO_FACTS
            if isinstance(right, syntax.Literal):
                facts = _equal_facts(left, right)
            return facts if node.operator == "==" else (facts[1], facts[0])
        case syntax.Call(callee=syntax.Name(symbol=symbol), arguments=[argument]):
            if symbol is not None and symbol.kind == "builtin" and symbol.name == "is_err":
                found = path_of(argument.value)
                if found is not None and not found[1]:
                    return (), ((found[0], NO_ERROR, ANY),)
    return NO_FACTS


def _equal_facts(left: syntax.Expression, right: syntax.Literal) -> BothFacts:
    if isinstance(left, syntax.Call):
        return _kind_facts(left, right)
    place = path_of(left)
    type = left.type
    if place is None or type is None:
        return NO_FACTS
    symbol, path = place
    if right.value is None:
        return _null_facts(left, symbol, path, type)
    literal = LiteralType(right.value)
    when_true: list[Fact] = []
    when_false: list[Fact] = []
    if isinstance(resolved(type), UnionType):
        when_true.append((symbol, path, only(type, lambda member: fits(literal, member))))
        when_false.append((symbol, path, only(type, lambda member: resolved(member) != literal)))
    if isinstance(left, syntax.Field) and left.value.type is not None:
        base = path_of(left.value)
        if base is not None and isinstance(resolved(left.value.type), UnionType):
            name = left.name
            chosen = only(left.value.type, lambda member: fits(literal, _field_of(member, name)))
            others = only(left.value.type, lambda member: resolved(_field_of(member, name)) != literal)
            when_true.append((*base, chosen))
            when_false.append((*base, others))
    return when_true, when_false


def _null_facts(left: syntax.Expression, symbol: Symbol, path: Path, type: Type) -> BothFacts:
    if resolved(type) == ANY:
        # A value of unknown type is still told apart from null: that is remembered for its fields' sake.
        return NO_FACTS
    when_true: list[Fact] = [(symbol, path, NULL)]
    when_false: list[Fact] = [(symbol, path, without_null(type))]
    while isinstance(left, syntax.Field) and left.optional:
        # `a?.b` that is not null comes of an `a` that is not null.
        left = left.value
        base = path_of(left)
        if base is None or left.type is None:
            break
        when_false.append((*base, without_null(left.type)))
        when_true = []
    return when_true, when_false


def _field_of(type: Type, name: str) -> Type:
    inner = resolved(type)
    if isinstance(inner, RecordType):
        field = inner.get(name)
        if field is not None:
            return field.type
        return ANY if inner.open else NULL
    return ANY if inner != NULL else NULL


def _kind_facts(call: syntax.Call, right: syntax.Literal) -> BothFacts:
    """What `type_of(x) == "str"` says of `x`."""
    callee = call.callee
    if not (
        isinstance(callee, syntax.Name)
        and callee.symbol is not None
        and callee.symbol.kind == "builtin"
        and callee.symbol.name == "type_of"
        and len(call.arguments) == 1
    ):
        return NO_FACTS
    argument = call.arguments[0].value
    place = path_of(argument)
    if place is None or argument.type is None or not isinstance(resolved(argument.type), UnionType):
        return NO_FACTS
    kind = right.value

    def may_be(member: Type) -> bool:
        kinds = kinds_of(member)
        return kinds is None or kind in kinds

    def may_be_other(member: Type) -> bool:
        kinds = kinds_of(member)
        return kinds is None or kinds != {kind}

    symbol, path = place
    return [(symbol, path, only(argument.type, may_be))], [(symbol, path, only(argument.type, may_be_other))]
