"""What markup becomes in Python: one f-string, with what is escaped when the program runs as its fields."""

from __future__ import annotations

import ast

from qvm import translator_types as types
from qvm.handlers_markup import is_address, is_code, is_page_of_its_own, surely_no_code
from qvm.text import escape_html
from qvm.translator_emitter import Emitter
from qvm.translator_instructions import Operands, instruction
from qvm.translator_nodes import Item, Piece

_MOST_LONG = 4  # pieces of a text that may be as long as a text can be


@instruction("MARKUP")
def _markup(emitter: Emitter, pc: int, operands: Operands) -> None:
    pieces: list[Piece] = []
    for item in emitter.popped(operands[0]):
        pieces += _as_content(emitter, item)
    nodes: list[ast.expr] = [piece.node for piece in pieces]
    if sum(piece.long for piece in pieces) > _MOST_LONG:
        # Joined one by one: what is too long is found before all of it is there.
        texts: list[ast.expr] = [
            node if isinstance(node, ast.Constant) else emitter.placed(ast.JoinedStr([node])) for node in nodes
        ]
        emitter.push(emitter.call("markup_of_texts", *texts), types.OTHER_KIND)
        return
    emitter.push(emitter.call("markup_of", emitter.placed(ast.JoinedStr(nodes))), types.OTHER_KIND)


def _as_content(emitter: Emitter, item: Item) -> list[Piece]:
    """An item as the content of an element."""
    if item.pieces is not None:
        return item.pieces
    if item.type.kinds == types.STR:
        return _escaped(emitter, item, "escaped")
    if item.type.kinds == types.INT:
        return [_field(emitter, item.node, False)]
    return [_field(emitter, emitter.call("content", emitter.placed(ast.List([item.node], ast.Load()))))]


@instruction("ATTRIBUTE")
def _attribute(emitter: Emitter, pc: int, operands: Operands) -> None:
    name = emitter.module.constants[operands[0]]
    item = emitter.pop()
    plain = not is_code(name) and not is_page_of_its_own(name)
    if item.type.kinds == types.STR and is_address(name):
        plain = plain and surely_no_code(name, _beginning(item))
    if plain and item.type.kinds in (types.STR, types.INT):
        value = [_field(emitter, item.node, False)]
        if item.type.kinds == types.STR:
            value = _escaped(emitter, item, "escaped_with", emitter.constant(len(f' {name}=""')))
        pieces = [Piece(emitter.constant(f' {name}="'), False), *value, Piece(emitter.constant('"'), False)]
    else:
        pieces = [_field(emitter, emitter.call("attribute", emitter.constant(name), item.node))]
    text = emitter.placed(ast.JoinedStr([piece.node for piece in pieces]))
    emitter.push(emitter.call("markup_of", text), types.OTHER_KIND)
    emitter.stack[-1].pieces = pieces


def _beginning(item: Item) -> str:
    """What a text surely begins with."""
    node = item.parts[0].node if item.parts else item.node
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _escaped(emitter: Emitter, item: Item, helper: str, *more: ast.expr) -> list[Piece]:
    """A text, escaped; what it is put together from one by one."""
    if isinstance(item.node, ast.Constant) and isinstance(item.node.value, str):
        return [Piece(emitter.constant(escape_html(item.node.value)), False)]
    if item.parts is not None:
        return [
            piece
            for part in item.parts
            for piece in (
                [_field(emitter, part.node, False)]
                if part.type.kinds == types.INT
                else _escaped(emitter, part, helper, *more)
            )
        ]
    return [_field(emitter, emitter.call(helper, item.node, *more))]


def _field(emitter: Emitter, node: ast.expr, long: bool = True) -> Piece:
    return Piece(emitter.placed(ast.FormattedValue(node, -1, None)), long)
