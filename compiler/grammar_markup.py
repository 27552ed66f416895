"""Rules for templates and markup, and how their nodes are built."""

from __future__ import annotations

from typing import Any

from compiler.productions import Builder, rule, same
from compiler.syntax import (
    Attribute,
    Block,
    Element,
    Expression,
    Invalid,
    Literal,
    MarkupText,
    Node,
    Spread,
    SqlTemplate,
    Template,
)
from compiler.tokens import RAW_ELEMENTS, VOID_ELEMENTS, Token

# --- templates ----------------------------------------------------------------------------------------------------


@rule("template : TEMPLATE parts TEMPLATE_END")
def template(build: Builder, opening: Token, parts: list[str | Expression], closing: Token) -> Expression:
    return Template(opening.start, closing.end, parts)


@rule("template : SQL parts TEMPLATE_END")
def sql_template(build: Builder, opening: Token, parts: list[str | Expression], closing: Token) -> Expression:
    return SqlTemplate(opening.start, closing.end, parts)


@rule("parts :")
def no_parts(build: Builder) -> list[str | Expression]:
    return []


@rule("parts : parts TEMPLATE_TEXT")
def text_part(build: Builder, parts: list[str | Expression], text: Token) -> list[str | Expression]:
    parts.append(text.value)
    return parts


@rule("parts : parts HOLE expression RBRACE")
def hole_part(
    build: Builder, parts: list[str | Expression], opening: Token, value: Expression, closing: Token
) -> list[str | Expression]:
    parts.append(value)
    return parts


@rule("parts : parts HOLE error RBRACE")
def broken_part(
    build: Builder, parts: list[str | Expression], opening: Token, broken: Any, closing: Token
) -> list[str | Expression]:
    parts.append(Invalid(opening.end, closing.start))
    return parts


# --- markup -------------------------------------------------------------------------------------------------------

same("markup : element")


@rule("markup : markup element")
def side_by_side(build: Builder, first: Element, second: Element) -> Element:
    """Elements side by side are refused once, and go on as what was meant: a fragment."""
    if first.name or not first.attributes:
        build.error(
            "Q0110",
            "elements side by side need `<>…</>` around them",
            second.start,
            second.end,
        )
    return Element(first.start, second.end, "", [], [first, second])


@rule("element : DOCTYPE element")
def document(build: Builder, doctype: Token, element: Element) -> Element:
    element.start = doctype.start
    element.doctype = True
    return element


@rule("element : TAG attributes EMPTY_END")
def empty_element(build: Builder, opening: Token, attributes: list[Attribute], closing: Token) -> Element:
    return _make_element(build, opening, attributes, [], closing)


@rule("element : TAG attributes TAG_END children END_TAG")
def full_element(
    build: Builder, opening: Token, attributes: list[Attribute], end: Token, children: list[Node], closing: Token
) -> Element:
    return _make_element(build, opening, attributes, children, closing)


def _make_element(
    build: Builder, opening: Token, attributes: list[Attribute], children: list[Node], closing: Token
) -> Element:
    name: str = opening.value.name
    element = Element(opening.start, closing.end, name, attributes, children)
    if name in VOID_ELEMENTS:
        element.void = True
    elif name in RAW_ELEMENTS:
        element.raw = True
    elif "." in name or name[:1].isupper():
        element.component = True
    if len(attributes) > 1:
        element.attributes = _without_doubles(build, attributes)
    return element


def _without_doubles(build: Builder, attributes: list[Attribute]) -> list[Attribute]:
    """The attributes with the classes of `<p.a.b class="c">` joined; one that is given twice is refused."""
    seen: dict[str, Attribute] = {}
    kept = []
    for attribute in attributes:
        key = attribute.name if attribute.kind in ("plain", "bind") else f"{attribute.kind} {attribute.name}"
        earlier = seen.get(key)
        if attribute.kind == "spread" or earlier is None:
            seen[key] = attribute
            kept.append(attribute)
        elif key == "class" and isinstance(earlier.value, str) and isinstance(attribute.value, str):
            earlier.value = f"{earlier.value} {attribute.value}"
            earlier.end = attribute.end
        else:
            sign = "@" if attribute.kind == "event" else ""
            build.error("Q0113", f"`{sign}{attribute.name}` is given twice", attribute.start, attribute.end)
    return kept


@rule("attributes :")
def no_attributes(build: Builder) -> list[Attribute]:
    return []


@rule("attributes : attributes attribute")
def next_attribute(build: Builder, attributes: list[Attribute], attribute: Attribute) -> list[Attribute]:
    attributes.append(attribute)
    return attributes


@rule("attribute : ATTRIBUTE", "attribute : SHORTHAND")
def attribute(build: Builder, token: Token) -> Attribute:
    return Attribute(token.start, token.end, token.value[0], token.value[1])


@rule("attribute : ATTRIBUTE_OPEN expression RBRACE")
def attribute_with_value(build: Builder, opening: Token, value: Expression, closing: Token) -> Attribute:
    name: str = opening.value.name
    kind = "plain"
    if name.startswith("bind:"):
        kind = "bind"
        name = name[5:]
    return Attribute(opening.start, closing.end, name, value, kind)


@rule("attribute : ATTRIBUTE_OPEN RBRACE")
def attribute_of_nothing(build: Builder, opening: Token, closing: Token) -> Attribute:
    return attribute_with_value(build, opening, Literal(opening.end, closing.start, None), closing)


@rule("attribute : ATTRIBUTE_OPEN error RBRACE")
def broken_attribute(build: Builder, opening: Token, broken: Any, closing: Token) -> Attribute:
    return attribute_with_value(build, opening, Invalid(opening.end, closing.start), closing)


@rule("attribute : EVENT_OPEN RBRACE", "attribute : EVENT_OPEN statements RBRACE")
def event(build: Builder, opening: Token, *rest: Any) -> Attribute:
    statements = rest[0] if len(rest) > 1 else []
    closing = rest[-1]
    body = Block(opening.end - 1, closing.end, statements)
    return Attribute(opening.start, closing.end, opening.value.name, body, "event")


@rule("attribute : SPREAD_OPEN spread RBRACE")
def spread_attribute(build: Builder, opening: Token, value: Spread, closing: Token) -> Attribute:
    return Attribute(opening.start, closing.end, "", value.value, "spread")


@rule("attribute : SPREAD_OPEN error RBRACE")
def broken_spread_attribute(build: Builder, opening: Token, broken: Any, closing: Token) -> Attribute:
    return Attribute(opening.start, closing.end, "", Invalid(opening.end, closing.start), "spread")


@rule("children :")
def no_children(build: Builder) -> list[Node]:
    return []


@rule("children : children MARKUP_TEXT", "children : children RAW_TEXT")
def text_child(build: Builder, children: list[Node], text: Token) -> list[Node]:
    children.append(MarkupText(text.start, text.end, text.value))
    return children


@rule("children : children element")
def element_child(build: Builder, children: list[Node], element: Element) -> list[Node]:
    children.append(element)
    return children


@rule("children : children MARKUP_OPEN expression RBRACE")
def expression_child(
    build: Builder, children: list[Node], opening: Token, value: Expression, closing: Token
) -> list[Node]:
    children.append(value)
    return children


@rule("children : children MARKUP_OPEN RBRACE")
def comment_child(build: Builder, children: list[Node], opening: Token, closing: Token) -> list[Node]:
    return children


@rule("children : children MARKUP_OPEN error RBRACE")
def broken_child(build: Builder, children: list[Node], opening: Token, broken: Any, closing: Token) -> list[Node]:
    children.append(Invalid(opening.end, closing.start))
    return children
