"""Checks markup: what stands in attributes and between tags, and what components are given."""

from __future__ import annotations

from compiler import syntax
from compiler.checking import Checking, Wanted, checks
from compiler.relations import fits
from compiler.spelling import list_of, nearest
from compiler.types import ANY, BOOL, HTML, STR, Type
from compiler.walking import Walk
from compiler.wording import wanted_text


@checks(syntax.Element)
def element(check: Checking, node: syntax.Element, wanted: Wanted | None) -> Walk:
    declared = node.symbol.node if node.symbol is not None else None
    function = declared.function if isinstance(declared, syntax.Component) else None
    given: set[str] = set()
    for attribute in node.attributes:
        given.add(attribute.name)
        yield _attribute(check, node, attribute, function)
    for child in node.children:
        if isinstance(child, syntax.Expression):
            yield check.expression(child)
    if function is not None:
        _report_missing(check, node, function, given)
    return check.typed(node, HTML, False, wanted)


def _attribute(
    check: Checking, node: syntax.Element, attribute: syntax.Attribute, function: syntax.Function | None
) -> Walk:
    parameter = _parameter(check, node, attribute, function)
    what = f"`{attribute.name}` of `{node.name}`"
    type: Type = ANY
    if parameter is not None and parameter.symbol is not None and parameter.type is not None:
        type = parameter.symbol.type or ANY
    value = attribute.value
    wanted = Wanted(type, what, "Q0360") if type != ANY else None
    if isinstance(value, syntax.Expression):
        yield check.expression(value, wanted)
    elif wanted is not None:
        found = STR if isinstance(value, str) else BOOL
        if not fits(found, type):
            check.mismatch(attribute, found, wanted)


def _parameter(
    check: Checking, node: syntax.Element, attribute: syntax.Attribute, function: syntax.Function | None
) -> syntax.Parameter | None:
    """The component's parameter that an attribute gives a value; one that it lacks is reported."""
    if function is None or attribute.kind != "plain":
        return None
    for parameter in function.parameters:
        if parameter.name == attribute.name:
            return parameter
    known = [parameter.name for parameter in function.parameters]
    near = nearest(attribute.name, known)
    message = f"component `{node.name}` has no `{attribute.name}`"
    if near:
        message += f": did you mean `{near}`?"
    elif known:
        message += f": it takes {list_of(known)}"
    check.report("error", "Q0361", message, attribute.start, attribute.start + len(attribute.name))
    return None


def _report_missing(check: Checking, node: syntax.Element, function: syntax.Function, given: set[str]) -> None:
    if any(attribute.kind == "spread" for attribute in node.attributes):
        return
    for parameter in function.parameters:
        if parameter.default is None and parameter.name not in given:
            type = parameter.symbol.type if parameter.symbol is not None else None
            needs = f": {wanted_text(type)}" if type is not None and type != ANY else ""
            message = f"component `{node.name}` needs `{parameter.name}`{needs}"
            check.report("error", "Q0362", message, node.start, node.start + 1 + len(node.name))
            return
