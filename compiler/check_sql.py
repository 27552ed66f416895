"""Checks SQL: none may be pasted together, and `select *` may not fill a record type.

Text made of constants alone is fine; so is sql`…`, and what a function gives. A variable is followed through all that
it is given, so these checks come when the program has been walked.
"""

from __future__ import annotations

import re

from compiler import syntax
from compiler.checking import Checking, Wanted
from compiler.names import Symbol
from compiler.relations import members_of
from compiler.spelling import list_of
from compiler.types import ListType, RecordType, Type, resolved
from compiler.wording import named

_STAR = re.compile(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*select\s+(?:distinct\s+|all\s+)?(?:\w+\s*\.\s*)?\*", re.I | re.S)


def report_pasted(check: Checking) -> None:
    """Reports each call that runs SQL which is pasted together of more than constants."""
    for unit, node, text in check.statements:
        if _is_pasted(check, text):
            check.state.unit = unit
            callee = node.callee
            name = f"db.{callee.name}" if isinstance(callee, syntax.Field) else "db.query"
            message = f"the SQL of `{name}` is pasted together: give values as `?` parameters, or write sql`…`"
            check.error("Q0370", message, text)


def _is_pasted(check: Checking, text: syntax.Expression) -> bool:
    """Is the text, or what a variable in it was given, joined of parts of which one is no constant?"""
    left: list[tuple[syntax.Node | None, bool]] = [(text, False)]
    seen: set[tuple[Symbol, bool]] = set()
    while left:
        node, joined = left.pop()
        match node:
            case None | syntax.Literal() | syntax.Name(symbol=None):
                pass
            case syntax.Template(parts=parts):
                left += [(part, True) for part in parts if not isinstance(part, str)]
            case syntax.Binary(operator="+", left=first, right=second):
                left += ((first, True), (second, True))
            case syntax.Binary(operator="??", left=first, right=second):
                left += ((first, joined), (second, joined))
            case syntax.If(then=then, otherwise=otherwise):
                left += ((then, joined), (otherwise, joined))
            case syntax.Match(arms=arms):
                left += [(arm.body, joined) for arm in arms]
            case syntax.Block(statements=statements):
                last = statements[-1] if statements else None
                left.append((last.expression if isinstance(last, syntax.ExpressionStatement) else None, joined))
            case syntax.Name(symbol=symbol) | syntax.Field(symbol=symbol) if symbol is not None:
                values = check.values.get(symbol)
                if symbol.kind not in ("local", "global") or not values:
                    if joined:
                        return True
                elif (symbol, joined) not in seen:
                    seen.add((symbol, joined))
                    left += [(value, joined or bool(operator)) for operator, value in values]
            case _ if joined:
                return True
    return False


def constant_text(check: Checking, node: syntax.Expression | None) -> str | None:
    """The text of a literal, or of a variable that is given nothing but one; None for anything else."""
    seen = 0
    while isinstance(node, syntax.Name) and node.symbol is not None and seen < 10:
        values = check.values.get(node.symbol, [])
        if len(values) != 1 or node.symbol.assigned:
            return None
        node = values[0][1]
        seen += 1
    if isinstance(node, syntax.Literal) and isinstance(node.value, str):
        return node.value
    if isinstance(node, syntax.Template | syntax.SqlTemplate) and node.parts and isinstance(node.parts[0], str):
        return node.parts[0]
    return None


def star_fills(check: Checking, node: syntax.Call, wanted: Wanted) -> None:
    """Warns where `select *` is to fill a record type: its columns may become others."""
    shape = _record_in(wanted.type)
    if shape is None or not node.ordered:
        return
    text = constant_text(check, node.ordered[0])
    if text is None or not _STAR.match(text):
        return
    fields = [f.name for f in shape[1].fields]
    name = named(shape[0])
    name = "the record" if name == "the record" else name
    message = f"`select *` gives all columns that there are: name those of {name}, {list_of(fields)}"
    place = node.ordered[0]
    assert place is not None
    check.warning("Q0371", message, place)


def _record_in(type: Type) -> tuple[Type, RecordType] | None:
    for member in members_of(type):
        inner = resolved(member)
        if isinstance(inner, ListType):
            member, inner = inner.item, resolved(inner.item)
        if isinstance(inner, RecordType) and inner.fields:
            return member, inner
    return None
