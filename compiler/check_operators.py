"""Checks operators: arithmetic, joining, comparing, `&&` and `||`, `??`, and what they give.

An operator takes operands of unknown type, and those of which one kind fits. Chains of operators are walked as they
are, left first, however long they are.
"""

from __future__ import annotations

from compiler import syntax
from compiler.checking import Checking, Wanted, checks, either_fails
from compiler.narrowing import NO_FACTS, Fact
from compiler.relations import MISTAKE, bounded, fits, join, kinds_of, members_of, only, without_null
from compiler.types import ANY, BOOL, ERROR, FLOAT, INT, NEVER, STR, ListType, Type, resolved
from compiler.walking import Walk
from compiler.wording import got_text

_NUMBERS = frozenset(("int", "float"))
_ADDABLE = frozenset(("int", "float", "str", "list"))
_COMPARABLE = frozenset(("int", "float", "str"))
_SEARCHABLE = frozenset(("list", "record", "str"))
_KINDS: dict[str, Type] = {"int": INT, "float": FLOAT, "str": STR}


@checks(syntax.Unary)
def unary(check: Checking, node: syntax.Unary, wanted: Wanted | None) -> Walk:
    if node.operator == "!":
        yield check.condition(node)
        return check.typed(node, BOOL, False, wanted)
    operand: Type = yield check.expression(node.operand)
    kinds = kinds_of(operand)
    if kinds is None:
        return check.typed(node, ANY)
    usable = kinds & _NUMBERS
    if not usable and resolved(operand) != NEVER:
        check.error("Q0321", f"`-` needs a number, got {got_text(operand)}", node)
        return check.typed(node, MISTAKE)
    return check.typed(node, join(*(_KINDS[kind] for kind in sorted(usable))), False, wanted)


@checks(syntax.Binary)
def binary(check: Checking, node: syntax.Binary, wanted: Wanted | None) -> Walk:
    operator = node.operator
    if operator in ("&&", "||"):
        yield logical(check, node)
        return check.typed(node, BOOL, False, wanted)
    if operator == "??":
        return (yield _otherwise(check, node, wanted))
    left: Type = yield check.expression(node.left)
    right: Type = yield check.expression(node.right)
    if resolved(left) == NEVER or resolved(right) == NEVER:
        return check.typed(node, NEVER)
    found = _result(check, node, left, right)
    return check.typed(node, found, False, wanted)


def _result(check: Checking, node: syntax.Binary, left: Type, right: Type) -> Type:
    operator = node.operator
    if operator in ("==", "!="):
        return BOOL
    problem: str | None
    if operator in ("<", "<=", ">", ">="):
        problem = _comparing(operator, left, right)
        result: Type = BOOL
    elif operator == "in":
        problem = _looking_in(left, right)
        result = BOOL
    elif operator == "..":
        problem = _counting(left, right)
        result = ListType(INT)
    else:
        result, problem = arithmetic(operator, left, right)
    if problem is not None:
        check.error("Q0321", problem, node)
        return result if result == BOOL else MISTAKE
    return result


def arithmetic(operator: str, left: Type, right: Type) -> tuple[Type, str | None]:
    """What `+ - * / %` give for operands of these types, and what is wrong with them (None: nothing)."""
    mine, others = kinds_of(left), kinds_of(right)
    usable = _ADDABLE if operator == "+" else _NUMBERS
    if mine is None or others is None:
        known = others if mine is None else mine
        if known is None:
            return ANY, None
        if not known & usable:
            return MISTAKE, _wrong_operands(operator, left, right)
        if known & usable == {"str"}:
            return STR, None
        return (FLOAT if known & usable == {"float"} else ANY), None
    results: list[Type] = []
    if mine & others & {"int"}:
        results.append(INT)
    if (mine & _NUMBERS and "float" in others) or ("float" in mine and others & _NUMBERS):
        results.append(FLOAT)
    if operator == "+":
        if "str" in mine & others:
            results.append(STR)
        if "list" in mine & others:
            results.append(bounded(ListType(join(item_of_lists(left), item_of_lists(right)))))
    if not results:
        return MISTAKE, _wrong_operands(operator, left, right)
    return join(*results), None


def item_of_lists(type: Type) -> Type:
    """What the items of a type's lists are."""
    items = [inner.item for inner in map(resolved, members_of(type)) if isinstance(inner, ListType)]
    return join(*items)


def _wrong_operands(operator: str, left: Type, right: Type) -> str:
    kinds = f"{got_text(left)} and {got_text(right)}"
    if operator != "+":
        return f"`{operator}` needs two numbers, got {kinds}"
    mine, others = kinds_of(left) or frozenset(), kinds_of(right) or frozenset()
    both = mine | others
    if "str" in both and both & _NUMBERS:
        number = "float" if "float" in both else "int"
        return f"`+` can't join {kinds}: turn one into the other's kind with str(…) or {number}(…)"
    if "str" in both:
        return f"`+` can't join {kinds}: turn the other one into text with str(…)"
    if "list" in both:
        return f"`+` can't join {kinds}: to add one item to a list, put it in a list, too"
    return f"`+` takes two numbers, two texts or two lists, got {kinds}"


def _comparing(operator: str, left: Type, right: Type) -> str | None:
    mine, others = kinds_of(left), kinds_of(right)
    for kinds in (mine, others):
        if kinds is not None and not kinds & _COMPARABLE:
            break
    else:
        if mine is None or others is None or (mine & _NUMBERS and others & _NUMBERS) or "str" in mine & others:
            return None
    return f"`{operator}` can't compare {got_text(left)} and {got_text(right)}: it takes two numbers or two texts"


def _looking_in(left: Type, right: Type) -> str | None:
    kinds = kinds_of(right)
    if kinds is None:
        return None
    if not kinds & _SEARCHABLE:
        return f"`in` looks in a list, a record or a text, got {got_text(right)}"
    part = kinds_of(left)
    if kinds & _SEARCHABLE == {"str"} and part is not None and "str" not in part:
        return f"`in` looks for a text in a text, got {got_text(left)}"
    return None


def _counting(left: Type, right: Type) -> str | None:
    for side in (left, right):
        kinds = kinds_of(side)
        if kinds is not None and "int" not in kinds:
            return f"`..` needs two whole numbers, got {got_text(left)} and {got_text(right)}"
    return None


def logical(check: Checking, node: syntax.Binary) -> Walk:
    """Checks a chain of `&&` or of `||`. Gives what is known where it is true, and where it is false."""
    operator = node.operator
    chain = [node]
    first: syntax.Expression = node.left
    while isinstance(first, syntax.Binary) and first.operator == operator:
        chain.append(first)
        first = first.left
    operands = [first, *(part.right for part in reversed(chain))]
    mark = check.flow.mark()
    known: list[Fact] = []
    for number, operand in enumerate(operands):
        side = "left" if number == 0 else "right"
        when_true, when_false = yield check.condition(operand, f"the {side} side of `{operator}`")
        facts = when_true if operator == "&&" else when_false
        check.flow.apply(facts)
        known += facts
    check.flow.leave(mark)
    for part in chain:
        check.typed(part, BOOL)
    return (known, NO_FACTS[1]) if operator == "&&" else (NO_FACTS[0], known)


def _otherwise(check: Checking, node: syntax.Binary, wanted: Wanted | None) -> Walk:
    """`a ?? b`: `b` where `a` is null or an error."""
    mark = check.flow.mark()
    left: Type = yield check.expression(node.left)
    check.flow.leave(mark)  # an error may have left it in the middle
    mark = check.flow.mark()
    right: Type = yield check.expression(node.right, wanted)
    check.flow.leave(mark)
    kept = only(without_null(left), lambda member: member != ERROR)
    type = join(kept, right)
    check.typed(node, type, either_fails((check.failure_of(node.right),)))
    if wanted is not None and not fits(kept, wanted.type):
        check.mismatch(node.left, kept, wanted)
    return type
