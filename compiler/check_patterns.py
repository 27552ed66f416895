"""Checks patterns and `match`: what names are bound to, which arms can never run, and which cases are missed."""

from __future__ import annotations

from compiler import syntax
from compiler.branches import Branches
from compiler.check_values import item_of
from compiler.checking import Checking, Wanted, checks, either_fails
from compiler.names import Symbol
from compiler.narrowing import path_of
from compiler.relations import fits, join, kinds_of, members_of
from compiler.spelling import list_of, nearest
from compiler.types import (
    ANY,
    BOOL,
    NEVER,
    NULL,
    ListType,
    LiteralType,
    MapType,
    RecordType,
    Type,
    resolved,
)
from compiler.walking import Walk
from compiler.wording import got_text, named, wanted_text

_MOST_CASES = 60  # of a type that is told apart arm by arm


def bind_pattern(check: Checking, pattern: syntax.Pattern, type: Type, strict: bool = False) -> None:
    """Gives the names of a pattern their types. `strict`: the value must fit it, as in `let` and `for`."""
    found: dict[Symbol, Type] = {}
    _collect(check, pattern, type, strict, found)
    for symbol, part in found.items():
        check.declare(symbol, part, None)


def _collect(check: Checking, pattern: syntax.Pattern, type: Type, strict: bool, found: dict[Symbol, Type]) -> None:
    match pattern:
        case syntax.NamePattern(symbol=symbol):
            if symbol is not None:
                found[symbol] = join(found[symbol], type) if symbol in found else type
        case syntax.RecordPattern(fields=fields):
            records = _records(check, pattern, type, strict)
            for field in fields:
                _collect(check, field.pattern, _field(check, field, records, type), strict, found)
        case syntax.ListPattern(items=items, rest=rest):
            item = _items(check, pattern, type, strict)
            for part in items:
                _collect(check, part, item, strict, found)
            if rest is not None:
                _collect(check, rest, ListType(item), strict, found)
        case syntax.OrPattern(alternatives=alternatives):
            for alternative in alternatives:
                _collect(check, alternative, type, strict, found)
        case syntax.ErrPattern(inner=inner):
            _collect(check, inner, ANY, False, found)


def _records(check: Checking, pattern: syntax.Pattern, type: Type, strict: bool) -> list[Type] | None:
    """The members of a type that a record pattern may fit, None where that is unknown."""
    kinds = kinds_of(type)
    if kinds is None:
        return None
    members = [m for m in members_of(type) if isinstance(resolved(m), RecordType | MapType)]
    if not members and resolved(type) != NEVER:
        if strict:
            check.error("Q0325", f"this pattern needs a record, got {got_text(type)}", pattern)
        return None
    return members


def _field(check: Checking, field: syntax.FieldPattern, records: list[Type] | None, type: Type) -> Type:
    if records is None:
        return ANY
    types: list[Type] = []
    for member in records:
        match resolved(member):
            case MapType(value):
                types += (value, NULL)
            case RecordType() as shape:
                known = shape.get(field.name)
                if known is not None:
                    types.append(known.type if known.required else join(known.type, NULL))
                elif shape.open:
                    types.append(ANY)
    if not types and records:
        inner = resolved(records[0])
        names = [f.name for f in inner.fields] if isinstance(inner, RecordType) else []
        near = nearest(field.name, names)
        message = f"{named(records[0])} has no field `{field.name}`"
        message += f": did you mean `{near}`?" if near else f": it has {list_of(names)}" if names else ""
        check.report("error", "Q0331", message, field.start, field.start + len(field.name))
        return ANY
    return join(*types) if types else ANY


def _items(check: Checking, pattern: syntax.Pattern, type: Type, strict: bool) -> Type:
    kinds = kinds_of(type)
    if kinds is None:
        return ANY
    items = [inner.item for inner in map(resolved, members_of(type)) if isinstance(inner, ListType)]
    if not items:
        if strict and resolved(type) != NEVER:
            check.error("Q0325", f"this pattern needs a list, got {got_text(type)}", pattern)
        return ANY
    return item_of(join(*items))


# --- match --------------------------------------------------------------------------------------------------------


class Cases:
    """What of a value's type no arm has taken yet."""

    def __init__(self, type: Type) -> None:
        self.type = type
        self.known = kinds_of(type) is not None
        self.left: dict[Type, None] = {}
        for member in members_of(type):
            if resolved(member) == BOOL:
                self.left[LiteralType(True)] = None
                self.left[LiteralType(False)] = None
            else:
                self.left[member] = None
        self.members = frozenset(self.left)
        self.all_taken = False
        self.taken: set[tuple[object, object]] = set()

    def rest(self) -> Type:
        """The type of what is left."""
        if not self.known or len(self.left) > _MOST_CASES:
            return self.type
        if LiteralType(True) in self.left and LiteralType(False) in self.left:
            both = [BOOL, *(m for m in self.left if m not in (LiteralType(True), LiteralType(False)))]
            return join(*both)
        return join(*self.left)

    def fitting(self, pattern: syntax.Pattern) -> Type:
        """What a value that fits the pattern is."""
        match pattern:
            case syntax.LiteralPattern(value=value):
                if value is None:
                    return NULL
                exact = LiteralType(value)
                return exact if exact in self.left else ANY if not self.known else _base(self.rest(), exact)
            case syntax.RecordPattern():
                return self._filtered(lambda member: _may_fit_record(member, pattern))
            case syntax.ListPattern():
                return self._filtered(lambda member: isinstance(resolved(member), ListType))
            case syntax.OrPattern(alternatives=alternatives):
                return join(*(self.fitting(alternative) for alternative in alternatives))
            case syntax.ErrPattern():
                return ANY
        return self.rest()

    def _filtered(self, keep: object) -> Type:
        assert callable(keep)
        if not self.known:
            return self.type
        return join(*(member for member in members_of(self.rest()) if keep(member)))

    def take(self, pattern: syntax.Pattern) -> None:
        """An arm without a guard takes all that fits its pattern."""
        match pattern:
            case syntax.NamePattern() | syntax.Wildcard():
                self.left.clear()
                self.all_taken = True
            case syntax.LiteralPattern(value=value):
                self.taken.add((value.__class__, value))
                self.left.pop(NULL if value is None else LiteralType(value), None)
            case syntax.OrPattern(alternatives=alternatives):
                for alternative in alternatives:
                    self.take(alternative)
            case syntax.RecordPattern():
                for member in [m for m in self.left if _surely_fits_record(m, pattern)]:
                    del self.left[member]
            case syntax.ListPattern(items=[], rest=rest) if rest is not None:
                for member in [m for m in self.left if isinstance(resolved(m), ListType)]:
                    del self.left[member]

    def missed(self) -> list[Type]:
        """What is left, where all of it can be told apart: literals, null, records."""
        if not self.known or self.all_taken:
            return []
        members = list(self.left)
        told = all(isinstance(m, LiteralType) or m == NULL or isinstance(resolved(m), RecordType) for m in members)
        return members if told else []


def _base(type: Type, exact: LiteralType) -> Type:
    members = [m for m in members_of(type) if fits(exact, m)]
    return join(*members)


def _may_fit_record(member: Type, pattern: syntax.RecordPattern) -> bool:
    inner = resolved(member)
    if isinstance(inner, MapType):
        return True
    if not isinstance(inner, RecordType):
        return False
    for field in pattern.fields:
        known = inner.get(field.name)
        if known is None:
            if not inner.open:
                return False
        elif isinstance(field.pattern, syntax.LiteralPattern):
            value = field.pattern.value
            if not fits(NULL if value is None else LiteralType(value), known.type):
                return False
    return True


def _surely_fits_record(member: Type, pattern: syntax.RecordPattern) -> bool:
    inner = resolved(member)
    if not isinstance(inner, RecordType):
        return False
    for field in pattern.fields:
        known = inner.get(field.name)
        if known is None or not known.required or not _surely_fits(known.type, field.pattern):
            return False
    return True


def _surely_fits(type: Type, pattern: syntax.Pattern) -> bool:
    match pattern:
        case syntax.NamePattern() | syntax.Wildcard():
            return True
        case syntax.LiteralPattern(value=value):
            return resolved(type) == (NULL if value is None else LiteralType(value))
        case syntax.OrPattern(alternatives=alternatives):
            left = Cases(type)
            for alternative in alternatives:
                left.take(alternative)
            return left.known and not left.left
        case syntax.RecordPattern():
            return all(_surely_fits_record(member, pattern) for member in members_of(type))
    return False


def _takes_errors(pattern: syntax.Pattern) -> bool:
    if isinstance(pattern, syntax.OrPattern):
        return any(isinstance(alternative, syntax.ErrPattern) for alternative in pattern.alternatives)
    return isinstance(pattern, syntax.ErrPattern)


@checks(syntax.Match)
def match_expression(check: Checking, node: syntax.Match, wanted: Wanted | None) -> Walk:
    mark = check.flow.mark()
    subject: Type = yield check.expression(node.subject)
    if any(_takes_errors(arm.pattern) for arm in node.arms):
        # An error may have left it in the middle: what its end would know doesn't hold.
        check.flow.leave(mark)
    cases = Cases(subject)
    place = path_of(node.subject)
    branches = Branches(check)
    for arm in node.arms:
        # Only `err(…)` takes an error, wherever it stands.
        if not _takes_errors(arm.pattern) and (cases.all_taken or _was_taken(cases, arm.pattern)):
            message = f"this can never run: an arm above it takes {'all' if cases.all_taken else 'the same'}"
            check.report("warning", "Q0350", message, arm.start, arm.start + 1)
        else:
            _never_fits(check, arm.pattern, cases)
        mark = check.flow.mark()
        type = cases.fitting(arm.pattern)
        if type == NEVER and not cases.all_taken:
            type = subject  # so that a field that it lacks is reported
        if place is not None and resolved(type) not in (ANY, NEVER):
            check.flow.set(*place, type)
        bind_pattern(check, arm.pattern, type)
        if arm.guard is not None:
            when_true, _ = yield check.condition(arm.guard)
            check.flow.apply(when_true)
        value: Type = yield _arm_value(check, arm, wanted)
        branches.end(arm.body, value)
        check.flow.rollback(mark)
        if arm.guard is None:
            cases.take(arm.pattern)
    _report_missed(check, node, cases)
    found = branches.join()
    return check.typed(node, found, either_fails(branches.failures))


def _arm_value(check: Checking, arm: syntax.Arm, wanted: Wanted | None) -> Walk:
    if isinstance(arm.body, syntax.Expression):
        return (yield check.expression(arm.body, wanted))
    leaves = yield check.statement(arm.body)
    if leaves:
        return NEVER
    if wanted is not None and not fits(NULL, wanted.type):
        check.mismatch(arm.body, NULL, wanted)
    return NULL


def _was_taken(cases: Cases, pattern: syntax.Pattern) -> bool:
    return isinstance(pattern, syntax.LiteralPattern) and (pattern.value.__class__, pattern.value) in cases.taken


def _never_fits(check: Checking, pattern: syntax.Pattern, cases: Cases) -> None:
    """Warns of a literal that the value never is."""
    for part in pattern.alternatives if isinstance(pattern, syntax.OrPattern) else (pattern,):
        if isinstance(part, syntax.LiteralPattern):
            exact = NULL if part.value is None else LiteralType(part.value)
            if exact in cases.members:
                continue
            if not fits(exact, cases.type) and resolved(cases.type) != NEVER:
                message = f"this can never run: the value is {wanted_text(cases.type)}"
                check.report("warning", "Q0351", message, part.start, part.end)


def _report_missed(check: Checking, node: syntax.Match, cases: Cases) -> None:
    missed = cases.missed()
    if not missed or not node.arms:
        return
    shown = ", ".join(_case_text(member) for member in missed[:3])
    more = f" and {len(missed) - 3} more" if len(missed) > 3 else ""
    message = f"this `match` misses {shown}{more}"
    check.report("warning", "Q0352", message, node.start, node.start + len("match"), "`_ => …` takes all that is left")


def _case_text(member: Type) -> str:
    """A case as its pattern would tell it: `"desc"`, `null`, `{ kind: "square" }`, `Note`."""
    inner = resolved(member)
    if isinstance(inner, RecordType):
        told = tuple(f for f in inner.fields if isinstance(resolved(f.type), LiteralType))
        return got_text(RecordType(told) if told else member)
    return got_text(member)
