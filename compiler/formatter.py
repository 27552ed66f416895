"""`quillo fmt`: a program in the one style (docs/style.md). There are no options.

    text = format_source(source, diagnostics)     None if the source has mistakes, which are in `diagnostics` then

The layout works on tokens and comments, not on the tree, so that nothing can be lost. It chooses the white space
between them, and with it where `;` and the commas that end a line stand; that is all. What it wrote is read again:
should it have become other tokens, the source stays as it is.
"""

from __future__ import annotations

from typing import Any

from compiler.diagnostics import Diagnostics
from compiler.formatter_layout import Layout
from compiler.formatter_reading import Reader
from compiler.lexer import Lexer
from compiler.parser import parse
from compiler.source import Source
from compiler.tokens import Bracket, types

_OPENERS = types(
    "CALL LIST RECORD PARAMETERS LAMBDA LPAREN INDEX BLOCK EVENT_OPEN ARMS HOLE MARKUP_OPEN ATTRIBUTE_OPEN SPREAD_OPEN"
)
_CLOSERS = types("RPAREN RBRACKET RBRACE")
_ENDS = types("RBRACE END")
_BEFORE_DEFINITIONS = types("NL BLOCK")


def format_source(source: Source, diagnostics: Diagnostics) -> str | None:
    """The text of a source in the one style; None, with the mistakes in `diagnostics`, if it can't be parsed."""
    found = Diagnostics()
    file = parse(source, found)
    if file.has_errors:
        diagnostics.extend(found.in_order())
        return None
    text = laid_out(source, file.comments)
    return text if same_tokens(source, Source(source.name, text)) else source.text


def laid_out(source: Source, comments: list[tuple[int, int]]) -> str:
    """The text of a source without mistakes in the one style. `comments` are the places of its comments."""
    return Layout().write_file(Reader(source, comments).read())


def same_tokens(one: Source, other: Source) -> bool:
    """Do two texts mean the same to the parser, and have their definitions the same docs?

    A comma before a closing bracket says nothing, and between the arms of a `match` it says what a line's end says.
    """
    return _meaning(one) == _meaning(other)


def _meaning(source: Source) -> tuple[list[tuple[str, Any]], list[tuple[int, str]], str, bool]:
    """The tokens without their places, the docs by the number of the token that they stand before, and the notes."""
    mistakes: list[str] = []
    lexer = Lexer(source, lambda *report: mistakes.append(report[0]))
    tokens: list[tuple[str, Any]] = []
    docs: list[tuple[int, str]] = []
    opened: list[str] = []
    while True:
        token = lexer.next_token()
        type = token.type
        value: Any = token.value.name if isinstance(token.value, Bracket) else token.value
        if type in _CLOSERS:
            opened.pop()
            if tokens[-1][0] in ("COMMA", "NL"):
                tokens.pop()
        elif type in _OPENERS:
            opened.append(type)
        elif type == "NL" or (type == "COMMA" and opened and opened[-1] == "ARMS"):
            type, value = "NL", None
        if token.start in lexer.docs and type not in _ENDS and (not tokens or tokens[-1][0] in _BEFORE_DEFINITIONS):
            docs.append((len(tokens), lexer.docs[token.start][1]))
        tokens.append((type, value))
        if type == "END":
            return tokens, docs, lexer.notes[0] if lexer.notes is not None else "", bool(mistakes)
