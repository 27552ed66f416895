"""The state of one pass of the checker over a program, and what all of its parts share.

The parts (`compiler.check_…`) each hold the checks of some kinds of nodes, and register them in `CHECKS`. A check is a
function of the pass, the node and what is wanted of its value (None: nothing). It gives the node's type, at once or as
a walk (`compiler.walking`), after `Checking.typed` has put it on the node.

Two kinds of facts are not there when they are first asked for: the type of a variable that is given other values
later, and the result of a function that calls itself. A pass leans on what the pass before it found (at first: the
first value's type, and nothing at all); `compiler.checker` repeats it until all that it leant on holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from compiler import syntax
from compiler.diagnostics import Diagnostic, Diagnostics
from compiler.names import Program, Symbol, Unit
from compiler.narrowing import NO_ERROR, NO_FACTS, BothFacts, Flow, facts_of
from compiler.relations import fits, merged, settled, surely_fits
from compiler.types import ANY, BOOL, NEVER, FunctionType, RecordType, Type, UnionType, resolved
from compiler.walking import Walk
from compiler.wording import got_text, wanted_text
from compiler.written_types import written_type

# Whether a value may be an error: surely not, perhaps, or only if one of these functions or variables may give one.
Failure = bool | frozenset[object]
_PATH = re.compile(r"`([^`]*)`( of .*)?")


@dataclass(slots=True, frozen=True)
class Wanted:
    """What a value must be. `what` begins the message where it isn't: "argument 1 of `f`" must be …"""

    type: Type
    what: str
    code: str

    def part(self, step: str, type: Type) -> Wanted:
        """What a field (`step` ".id") or an item ("[2]") must be: `` `notes[2].id` `` or `` `id` of argument 1 … ``."""
        path = _PATH.fullmatch(self.what)
        if path is None:
            return Wanted(type, f"`{step.removeprefix('.')}` of {self.what}", self.code)
        return Wanted(type, f"`{path[1]}{step}`{path[2] or ''}", self.code)


@dataclass(slots=True, eq=False)
class FunctionState:
    """The function that is being walked (`node` None: a top level)."""

    node: syntax.Function | None
    unit: Unit
    outer: FunctionState | None = None
    wanted: Wanted | None = None
    returns: list[Type] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    error: Type | None = None  # what its errors hold, where that is written
    # For each open loop: may a `break` leave it, and what its turns give to variables.
    breaks: list[bool] = field(default_factory=list)
    given: list[dict[Symbol, Type]] = field(default_factory=list)


Check = Callable[["Checking", Any, "Wanted | None"], "Type | Walk"]
CHECKS: dict[type, Check] = {}
# Statements: their walk gives True where nothing after them is reached.
STATEMENTS: dict[type, Callable[[Checking, Any], Walk | bool]] = {}


def checks(*kinds: type) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        for kind in kinds:
            CHECKS[kind] = check
        return check

    return register


def either_fails(failures: Iterable[Failure]) -> Failure:
    """Whether a value that is one of several may be an error."""
    reasons: set[object] = set()
    for failure in failures:
        if failure is True:
            return True
        if failure:
            reasons |= failure
    return frozenset(reasons) if reasons else False


@dataclass(slots=True, eq=False)
class Assumptions:
    """What a pass leans on: found by the passes before it. What is in `unknown` did not settle."""

    types: dict[object, Type] = field(default_factory=dict)
    unknown: set[object] = field(default_factory=set)
    all_unknown: bool = False

    def of(self, what: object, first: Type) -> Type:
        """The type of a variable (from its first value's), of a function's result, or at a call."""
        if self.all_unknown or what in self.unknown:
            return ANY
        known = self.types.get(what)
        return first if known is None else merged(first, known)


class Checking:
    """One pass over the program."""

    def __init__(self, program: Program, diagnostics: Diagnostics, assumptions: Assumptions) -> None:
        self.program = program
        self.diagnostics = diagnostics  # for what is found once, whatever the pass: written types
        self.assumptions = assumptions
        self.findings: list[Diagnostic] = []
        self.flow = Flow()
        self.state = FunctionState(None, program.main)
        self.units = {unit.source: unit for unit in program.units}
        # What this pass found of what it leans on.
        self.grown: dict[object, Type] = {}
        self.leant: dict[object, Type] = {}
        self.fixed: set[Symbol] = set()  # variables whose type is written
        self.results: dict[syntax.Function, Type] = {}
        self.walked: set[syntax.Function] = set()  # begun in this pass
        self.leant_on: set[syntax.Function] = set()
        # Values that may be errors, and why.
        self.conditional: list[syntax.Expression] = []
        self.reasons: dict[object, list[Failure]] = {}
        # For `compiler.check_sql`: the calls that run SQL, and what variables are given.
        self.statements: list[tuple[Unit, syntax.Call, syntax.Expression]] = []
        self.values: dict[Symbol, list[tuple[str, syntax.Expression]]] = {}

    # --- reporting ---

    def error(self, code: str, message: str, node: syntax.Node, hint: str = "") -> None:
        self.report("error", code, message, node.start, node.end, hint)

    def warning(self, code: str, message: str, node: syntax.Node, hint: str = "") -> None:
        self.report("warning", code, message, node.start, node.end, hint)

    def report(self, severity: str, code: str, message: str, start: int, end: int, hint: str = "") -> None:
        source = self.state.unit.source
        self.findings.append(Diagnostic(severity, code, message, source, start, max(end, start + 1), hint))

    def mismatch(self, node: syntax.Node, type: Type, wanted: Wanted) -> None:
        message = f"{wanted.what} must be {wanted_text(wanted.type)}, got {got_text(type)}"
        self.error(wanted.code, message, node, why_not(type, wanted.type))

    # --- expressions ---

    def expression(self, node: syntax.Expression, wanted: Wanted | None = None) -> Type | Walk:
        """Checks an expression: gives its type, or the walk that will."""
        check = CHECKS.get(type(node))
        if check is None:
            return self.typed(node, ANY, True)
        return check(self, node, wanted)

    def typed(self, node: syntax.Expression, type: Type, fails: Failure = False, wanted: Wanted | None = None) -> Type:
        """Puts a type on an expression, and reports it where it can't fit what is wanted."""
        node.type = settled(type)
        if isinstance(fails, bool):
            node.fails = fails
        else:
            node.fails = True
            self.conditional.append(node)
            self.reasons[node] = [fails]
        if wanted is not None and not fits(type, wanted.type):
            self.mismatch(node, type, wanted)
        return type

    def failure_of(self, node: syntax.Node) -> Failure:
        """Whether a checked expression may be an error, with the reasons that `typed` was given."""
        if not isinstance(node, syntax.Expression) or not node.fails:
            return False
        return frozenset((node,)) if node in self.reasons else True

    def condition(self, node: syntax.Expression, what: str = "a condition") -> Walk:
        """Checks what must be a bool. Gives what is known where it is true, and where it is false."""
        from compiler.check_operators import logical

        if isinstance(node, syntax.Binary) and node.operator in ("&&", "||"):
            return (yield logical(self, node))
        if isinstance(node, syntax.Unary) and node.operator == "!":
            when_true, when_false = yield self.condition(node.operand, "what `!` turns over")
            self.typed(node, BOOL)
            return when_false, when_true
        yield self.expression(node, Wanted(BOOL, what, "Q0320"))
        facts: BothFacts = NO_FACTS if node.type is None or resolved(node.type) == NEVER else facts_of(node)
        return facts

    # --- statements ---

    def statement(self, node: syntax.Node) -> Walk | bool:
        """Checks a statement: whether nothing after it is reached, or the walk that will say it."""
        check = STATEMENTS.get(type(node))
        return check(self, node) if check is not None else False

    # --- variables ---

    def variable_type(self, symbol: Symbol) -> Type:
        """What is known of a variable at this place."""
        known = self.flow.lookup(symbol)
        if known is not None:
            return known
        if symbol.type is None:
            return ANY
        return symbol.type

    def variable_fails(self, symbol: Symbol) -> Failure:
        if self.flow.lookup(symbol, NO_ERROR) is not None:
            return False
        if symbol.assigned or symbol.kind == "global":
            return frozenset((symbol,))
        return either_fails(self.reasons.get(symbol, ()))

    def declare(self, symbol: Symbol, first: Type, written: Type | None, fails: Failure = False) -> None:
        """Gives a variable its type: the written one, or its first value's, joined with all that it is given later."""
        if written is not None:
            symbol.type = written
            self.fixed.add(symbol)
        elif symbol.assigned or symbol.changed:
            symbol.type = self.lean_on(symbol, first)
        else:
            symbol.type = first
        self.reasons.setdefault(symbol, []).append(fails)
        self.flow.written(symbol)
        self.know_value(symbol, first)

    def know_value(self, symbol: Symbol, value: Type) -> None:
        """After a variable was given a value: what is known of it is more than its type, where that is a union."""
        declared = symbol.type
        if declared is not None and isinstance(resolved(declared), UnionType) and value != declared:
            self.flow.set(symbol, (), value if surely_fits(value, declared) else None)

    def lean_on(self, what: object, first: Type) -> Type:
        """The type of something that is given further values later, as far as it is known."""
        self.leant[what] = type = self.assumptions.of(what, first)
        return type

    def grow(self, what: object, type: Type) -> None:
        """Notes that what the pass leans on must take this type, too."""
        before = self.grown.get(what)
        self.grown[what] = type if before is None else merged(before, type)

    # --- types ---

    def written(self, node: syntax.TypeNode | None) -> Type | None:
        """A type that a program writes, None where it writes none."""
        if node is None:
            return None
        source = self.state.unit.source

        def report(code: str, message: str, start: int, end: int) -> None:
            self.diagnostics.error(code, message, source, start, end)

        return written_type(node, report)

    def signature(self, function: syntax.Function) -> FunctionType:
        """The type of a declared function, as far as it is written: a result that is not written is unknown."""
        takes = []
        optional = 0
        for parameter in function.parameters:
            symbol = parameter.symbol
            takes.append(ANY if symbol is None or parameter.type is None else symbol.type or ANY)
            optional = optional + 1 if parameter.default is not None else 0
        names = tuple(parameter.name for parameter in function.parameters)
        result = function.result_type if function.result is not None else None
        return FunctionType(tuple(takes), result or ANY, names, optional)


def why_not(type: Type, wanted: Type) -> str:
    """A hint for what doesn't fit a declared type: what that is, or which field of a record is to blame."""
    mine, theirs = resolved(type), resolved(wanted)
    if isinstance(theirs, UnionType) and theirs is not wanted:
        return f"{wanted_text(wanted)} is {wanted_text(theirs)}"
    if not isinstance(mine, RecordType) or not isinstance(theirs, RecordType):
        return ""
    for field_type in theirs.fields:
        given = mine.get(field_type.name)
        if given is None:
            if field_type.required and not mine.open:
                return f"it lacks `{field_type.name}`: {wanted_text(field_type.type)}"
        elif not fits(given.type, field_type.type):
            return f"its `{field_type.name}` must be {wanted_text(field_type.type)}, got {got_text(given.type)}"
    for given in mine.fields:
        if theirs.get(given.name) is None and not theirs.open:
            return f"it has a field `{given.name}` too many"
    return ""
