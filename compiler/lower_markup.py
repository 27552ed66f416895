"""Lowers markup that the server draws: elements become pieces of text that is known, and values between them.

An element and all elements inside it are one MARKUP instruction. What the program wrote as text between tags stays as
it is (`&nbsp;` too); values are escaped as the program runs.
"""

from __future__ import annotations

from compiler import syntax, types
from compiler.function_lowering import EXPRESSIONS, FunctionLowering, parameter_type
from compiler.relations import surely_fits
from compiler.types import Type

# Elements without content, which have no end tag.
VOID_ELEMENTS = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
_ADDRESSES = ("href", "src")


class _Pieces:
    """The pieces of one MARKUP: text that is known is gathered until a value comes."""

    def __init__(self, lowering: FunctionLowering) -> None:
        self.lowering = lowering
        self.text: list[str] = []
        self.count = 0

    def add(self, text: str) -> None:
        self.text.append(text)

    def flush(self) -> None:
        text = "".join(self.text)
        if text:
            self.text.clear()
            self.push_text(text)

    def push_text(self, text: str) -> None:
        lowering = self.lowering
        lowering.code.emit("CONST", lowering.tables.constant({"markup": text}))
        self.count += 1

    def finish(self) -> None:
        self.flush()
        if self.count == 0:
            self.push_text("")
        self.lowering.code.emit("MARKUP", self.count)


def _element(lowering: FunctionLowering, node: syntax.Element) -> None:
    lowering.at(node.start)
    if node.component:
        _component(lowering, node)
        return
    pieces = _Pieces(lowering)
    _add_element(pieces, node)
    lowering.at(node.start)
    pieces.finish()


def _add_element(pieces: _Pieces, node: syntax.Element) -> None:
    if node.doctype:
        pieces.add("<!DOCTYPE html>")
    if node.name:
        pieces.add(f"<{node.name}")
        for attribute in node.attributes:
            _add_attribute(pieces, attribute)
        pieces.add(">")
        if node.name.lower() in VOID_ELEMENTS:
            return
    _add_children(pieces, node)
    if node.name:
        pieces.add(f"</{node.name}>")


def _add_children(pieces: _Pieces, node: syntax.Element) -> None:
    lowering = pieces.lowering
    for child in node.children:
        if isinstance(child, syntax.MarkupText):
            # In a script or a style everything is literal; elsewhere a `<` in text is no tag, and must not become one.
            pieces.add(child.text if node.raw else child.text.replace("<", "&lt;"))
        elif isinstance(child, syntax.Element) and not child.component:
            _add_element(pieces, child)
        else:
            assert isinstance(child, syntax.Expression)
            pieces.flush()
            lowering.used_value(child)
            pieces.count += 1


def _add_attribute(pieces: _Pieces, attribute: syntax.Attribute) -> None:
    lowering = pieces.lowering
    value = attribute.value
    if value is True:
        pieces.add(f" {attribute.name}")
        return
    if isinstance(value, str) and not _runs_script(attribute.name, value):
        # A tag has a `<` at its start, a `>` at its end, and none inside it.
        quoted = value.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
        pieces.add(f' {attribute.name}="{quoted}"')
        return
    pieces.flush()
    lowering.at(attribute.start)
    if isinstance(value, str):
        # The instruction refuses it, as it does for values that are worked out.
        lowering.constant(value)
    else:
        lowering.used_value(value, borrow=True)
    lowering.at(attribute.start)
    lowering.code.emit("ATTRIBUTE", lowering.tables.constant(attribute.name))
    pieces.count += 1


def _runs_script(name: str, value: str) -> bool:
    return name.lower() in _ADDRESSES and "".join(value.split()).lower().startswith("javascript:")


def _component(lowering: FunctionLowering, node: syntax.Element) -> None:
    """A component is a function of its attributes, by name, and of its children, the last parameter."""
    symbol = node.symbol
    assert symbol is not None
    assert isinstance(symbol.node, syntax.Component)
    code = lowering.code
    function = symbol.node.function
    entry = lowering.tables.function(function, symbol.source)
    given: dict[str, int] = {}
    for attribute in node.attributes:
        value = attribute.value
        if isinstance(value, syntax.Expression):
            lowering.used_value(value)
        else:
            lowering.constant(value)
        given[attribute.name] = slot = lowering.temporary()
        code.emit("STORE", slot)
    values = {attribute.name: attribute.value for attribute in node.attributes}
    for parameter in function.parameters:
        name = parameter.name
        if name not in given:
            code.emit("ABSENT") if parameter.default is not None else lowering.constant(None)
        else:
            code.emit("LOAD", given[name])
        wanted = parameter_type(parameter)
        if wanted is None or (name not in given and parameter.default is not None):
            continue
        if not surely_fits(_type_of(values.get(name)), wanted):
            lowering.check(wanted, f"`{name}` of `{node.name}`")
    lowering.release(*given.values())
    pieces = _Pieces(lowering)
    _add_children(pieces, node)
    pieces.finish()
    lowering.at(node.start)
    code.emit("CALL", entry.number, items=len(function.parameters) + 1)
    if function.body.fails:
        code.emit("USE")


def _type_of(value: object) -> Type:
    """The type of an attribute's value: text, `true` for an attribute alone, an expression's; null for none."""
    if isinstance(value, syntax.Expression):
        return value.type if value.type is not None else types.ANY
    if value is None:
        return types.NULL
    return types.STR if isinstance(value, str) else types.BOOL


def register() -> None:
    EXPRESSIONS[syntax.Element] = _element
