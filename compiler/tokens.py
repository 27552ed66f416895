"""Tokens, brackets, and the tables by which the lexer decides what a character or a word is.

A token's `type` is a terminal of the grammar. Its `value` is a name's or text's value, a number, an operator's
spelling, or, for what opens and closes a bracket, the `Bracket`. `start` and `end` are offsets in the source.
"""

from __future__ import annotations

from typing import Any


def types(names: str) -> frozenset[str]:
    """A set of token types, or of words, from one text."""
    return frozenset(names.split())


class Token:
    """One word of the language. `BAD` stands for something already reported; it fits nowhere."""

    __slots__ = ("end", "start", "type", "value")

    def __init__(self, type: str, value: Any, start: int, end: int) -> None:
        self.type = type
        self.value = value
        self.start = start
        self.end = end

    def __repr__(self) -> str:
        return f"{self.type}({self.value!r}, {self.start}..{self.end})"


class Bracket:
    """One open bracket, element or template, with what the lexer has to remember at its level.

    The defaults live on the class, so that opening a bracket costs little.
    """

    heads: list[str]  # `if`, `for` … whose `{` or `=>` is still to come
    in_type = False  # what stands here is a type: `<` opens its arguments
    always_type = False  # all of the bracket is a type: a comma does not end it
    colon_types = False  # `:` begins a type (parameters, record types)
    declaring = False  # a `let` or `state` whose `:` would begin a type
    type_equals = False  # a `type T` whose `=` begins a type
    parameters_next = False  # the next `(` opens the parameters of a function
    angles = 0  # type arguments that are open
    in_pattern = False  # a match arm before its `=>`
    nested = 0  # lambdas and other nesting without brackets, at this level
    depth = 1  # how much it counts toward the deepest nesting
    name = ""  # an element's name
    keeps_space = False  # an element in which white space stays as it is
    invented = False  # a `{` that does not stand in the text: it was put in after an error

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.heads = []

    def end_statement(self) -> None:
        """Forgets what belonged to the statement that has ended."""
        if self.heads:
            self.heads.clear()
        self.in_type = self.always_type
        self.angles = 0
        self.declaring = False
        self.type_equals = False
        self.parameters_next = False


MOST_NESTED = 200

# Kinds of brackets in which a line's end ends a statement or an arm.
LINE_KINDS = types("file block event match")
# Kinds of brackets at whose level a statement may stand.
STATEMENT_KINDS = types("file block event")

CLOSER_OF_KIND = {
    "call": ")",
    "parameters": ")",
    "lambda": ")",
    "paren": ")",
    "list": "]",
    "index": "]",
    "block": "}",
    "match": "}",
    "record": "}",
    "hole": "}",
    "markup": "}",
    "attribute": "}",
    "spread": "}",
    "event": "}",
}
CLOSER_TYPES = {")": "RPAREN", "]": "RBRACKET", "}": "RBRACE"}
OPENER_TEXT = {
    ")": "(",
    "]": "[",
    "}": "{",
}

KEYWORDS = types("break continue else false fn for if in let match null return true while")

# Operators whose token type follows from their spelling alone. The lexer gives the others its own look.
OPERATORS = {
    "...": "ELLIPSIS",
    "..": "RANGE",
    ".": "DOT",
    "?.": "QDOT",
    "?": "QUESTION",
    "??": "COALESCE",
    "|": "PIPE",
    "||": "OR",
    "&&": "AND",
    "==": "EQUALITY",
    "!=": "EQUALITY",
    "+": "PLUS",
    "*": "TIMES",
    "/": "TIMES",
    "%": "TIMES",
    "<=": "COMPARE",
    "+=": "ASSIGN",
    "-=": "ASSIGN",
    "*=": "ASSIGN",
    "/=": "ASSIGN",
    "%=": "ASSIGN",
}

# After these an operator, a call or an index may follow.
ENDS_OPERAND = types(
    "NAME INT FLOAT TEXT TRUE FALSE NULL TEMPLATE_END RPAREN RBRACKET RBRACE QUESTION TGT END_TAG EMPTY_END PATH BAD"
)

# A line that ends in one of these goes on.
NO_LINE_END_AFTER = types(
    "NL PIPE COALESCE OR AND EQUALITY IN COMPARE RANGE PLUS MINUS TIMES BANG COMMA EQ ASSIGN ARROW THEN "
    "RARROW DOT QDOT DOCTYPE BLOCK ARMS EVENT_OPEN"
)

STATEMENT_BEGINS_AFTER = types("NL BLOCK EVENT_OPEN")
MODIFIERS = types("PRIVATE PUBLIC SERVER")
ELEMENT_ENDS = types("END_TAG EMPTY_END")

VOID_ELEMENTS = types("area base br col embed hr img input link meta param source track wbr")
RAW_ELEMENTS = types("script style")
# White space is what these two are for.
SPACE_ELEMENTS = types("pre textarea")
