"""`quillo fmt`: a program in the one style (docs/style.md). There are no options.

    text = format_source(source, diagnostics)     None if the source has mistakes, which are in `diagnostics` then

The layout works on tokens and comments, not on the tree, so that nothing can be lost; the white space between them is
all that it chooses, with `;` and the commas that end a line. Whatever it wrote is read again: should it have become other
tokens, the source stays as it is.
"""

from __future__ import annotations

from compiler.diagnostics import Diagnostics
from compiler.formatter_layout import Layout
from compiler.formatter_reading import Reader
from compiler.lexer import Lexer
from compiler.parser import parse
from compiler.source import Source

_CLOSERS = frozenset({"RPAREN", "RBRACKET", "RBRACE"})


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


def _meaning(source: Source) -> tuple[list[tuple[str, object]], tuple[str, int] | None]:
    problems: list[str] = []
    lexer = Lexer(source, lambda code, *rest: problems.append(code))
    meaning: list[tuple[str, object]] = []
    opened: list[str] = []
    token = lexer.next_token()
    starts = {}
    while token.type != "END":
        type, value = token.type, token.value
        starts[token.start] = len(meaning)
        if hasattr(value, "kind"):  # a bracket
            value = value.name
            if type in _CLOSERS:
                opened.pop()
                if meaning and meaning[-1][0] in ("COMMA", "NL"):
                    meaning.pop()
            elif type not in ("TEMPLATE", "SQL", "TEMPLATE_END", "TAG", "TAG_END", "EMPTY_END", "END_TAG"):
                opened.append(type)
        if type == "COMMA" and opened and opened[-1] == "ARMS":
            type = "NL"
        if type == "NL":
            value = ""
        meaning.append((type, value))
        token = lexer.next_token()
    docs = {starts.get(at): text for at, (_, text) in lexer.docs.items()}
    return [*meaning, ("docs", docs), ("problems", problems)], lexer.notes and (lexer.notes[0], 0)
