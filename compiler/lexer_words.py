"""Words and signs that mean different things in different places, and those of other languages.

Words such as `type` or `route` begin a declaration only where a statement may begin and what follows fits; everywhere
else they are ordinary names. Words and operators that other languages have and Quillo lacks are reported with what to
write instead, and, where that is clear, read as if it had been written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from compiler.tokens import (
    ENDS_OPERAND,
    KEYWORDS,
    LINE_KINDS,
    MODIFIERS,
    STATEMENT_BEGINS_AFTER,
    STATEMENT_KINDS,
    Bracket,
    Token,
)

if TYPE_CHECKING:
    from compiler.lexer import Lexer
    from compiler.lexer_balance import Balance

# What has to follow a word, on its line, for it to be more than a name. `in` does not count as a name.
_NAME = r"(?!in(?![A-Za-z0-9_]))[A-Za-z_]"
_NAME_FOLLOWS = re.compile(rf"[ \t]+{_NAME}")
_TEXT_FOLLOWS = re.compile(r"[ \t]*\"")
_FOLLOWS = {
    "build": _TEXT_FOLLOWS,
    "component": _NAME_FOLLOWS,
    "import": re.compile(r"[ \t]+(?:(?!in[ \t\n])[A-Za-z0-9_]|\.{1,2}/|\")"),
    "private": _NAME_FOLLOWS,
    "public": _NAME_FOLLOWS,
    "reply": re.compile(rf"[ \t]+(?:{_NAME}|[0-9\"`])"),
    "route": re.compile(rf"[ \t]+(?:{_NAME}|/(?:[A-Za-z:*]|[ \t]*[={{]|[ \t]+with\b))"),
    "server": _NAME_FOLLOWS,
    "service": re.compile(r"[ \t]+(?:/[A-Za-z]|mcp\b)"),
    "state": _NAME_FOLLOWS,
    "type": _NAME_FOLLOWS,
    "use": re.compile(rf"[ \t]*\"|[ \t]+{_NAME}"),
    "test": _TEXT_FOLLOWS,
    # Something that begins an expression. `assert (a)` and `assert(a)` are the statement, unless the value of a
    # variable is meant: `assert = 1`, `assert.x`, `assert[0]`, `assert - 1`.
    "assert": re.compile(rf"[ \t]+(?:{_NAME}|[0-9\"`(\[{{]|!(?!=)|-(?![\s=>])|<[A-Za-z>])|\("),
}
_FOREIGN = frozenset({"const", "var", "mut", "function", "def", "func", "fun", "elif", "elsif", "elseif"}) | frozenset(
    {"and", "or", "not"}
)
WORDS = KEYWORDS | frozenset(_FOLLOWS) | frozenset({"with", "as", "mcp", "sql"}) | _FOREIGN

_KEY_FOLLOWS = re.compile(r"\s*+\??:(?!:)")
_METHOD = re.compile(r"[ \t]*+([A-Za-z_][A-Za-z0-9_]*+)")
_PATH = re.compile(r"[ \t]*+([^\s={}\"`]++)")
_SERVICE_TAG = re.compile(r"[ \t]*+(mcp)(?=[ \t]+[^\s={}\"`])")
_STATUS = re.compile(r"[ \t]*+(?:([0-9][0-9_]*+)|([A-Za-z_][A-Za-z0-9_]*+))(?![A-Za-z0-9_.])")
_BINDS_FOLLOWS = re.compile(r"[ \t]+[A-Za-z_{\[]")
_FUNCTION_FOLLOWS = re.compile(r"[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*[(<]|[ \t]*\([^()\n]*\)[ \t]*\{")
_OPERAND_FOLLOWS = re.compile(r"[ \t]*\n?[ \t]*[A-Za-z_0-9\"`(\[!-]")
_NEGATION_FOLLOWS = re.compile(rf"[ \t]+(?:{_NAME}|[\"`(!])|\(")
_NOT_IN = re.compile(r"[ \t]+in(?![A-Za-z0-9_])")
_NOTHING_FOLLOWS = re.compile(r"[ \t]*(?:[;)\]},\n]|//|/\*|\Z)")

# Characters that a reader of the file does not see, as ranges of code points: control characters (without the tab),
# bidirectional marks, zero-width and blank ones, variation selectors beyond the emoji's, and tags.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def word(lexer: Lexer, word: str, start: int, top: Bracket) -> Iterator[Token]:
    """The token, or tokens, that a word of `WORDS` gives where it stands; moves the lexer on."""
    text = lexer.text
    previous = lexer.previous
    end = lexer.at
    type = "NAME"
    if previous == "DOT" or previous == "QDOT":
        pass
    elif word in KEYWORDS:
        type = _keyword(word, text, end, previous, top)
        if type in ("IF", "WHILE", "FOR", "MATCH") and len(top.heads) > 1:
            top.nested += 1
            lexer.depth += 1
    elif word == "with":
        if previous in ENDS_OPERAND and _NAME_FOLLOWS.match(text, end):
            type = "WITH"
            top.in_type = top.always_type
    elif word == "mcp":
        if previous == "FN" and _NAME_FOLLOWS.match(text, end):
            type = "MCP"
    elif word == "as":
        if previous == "TEXT":
            type = "AS"
    elif word == "sql":
        if text[end : end + 1] == "`":
            yield lexer.open_template("SQL", start, end + 1)
            return
    elif word == "use" and previous == "PATH":
        type = "USE"
    elif word in _FOREIGN:
        for token in _foreign(lexer, word, start, top):
            lexer.previous = token.type
            yield token
        return
    elif _begins_statement(word, previous, top) and _FOLLOWS[word].match(text, end):
        type = word.upper()
        if type in ("COMPONENT", "ROUTE", "TEST"):
            top.heads.append("fn")
            top.parameters_next = type == "COMPONENT"
        elif type == "TYPE":
            top.type_equals = True
        elif type == "STATE":
            top.declaring = True
    lexer.previous = type
    yield Token(type, word, start, end)
    if type in _TAIL:
        for token in _TAIL[type](lexer):
            lexer.previous = token.type
            lexer.at = token.end
            yield token


def _begins_statement(word: str, previous: str, top: Bracket) -> bool:
    if previous in STATEMENT_BEGINS_AFTER:
        return top.kind in STATEMENT_KINDS
    if previous in MODIFIERS:
        return True
    return word == "reply" and previous == "THEN" and top.kind == "match"


def _keyword(word: str, text: str, end: int, previous: str, top: Bracket) -> str:
    if top.kind not in LINE_KINDS and _KEY_FOLLOWS.match(text, end):
        return "NAME"  # a field or an argument may have any name
    if word == "let":
        top.declaring = True
    elif word == "fn":
        top.parameters_next = True
        if not top.in_type:
            top.heads.append("fn")
    elif word == "if":
        # After an operand, in the head of a `for` or in an arm's pattern, it chooses: no block follows.
        guard = previous in ENDS_OPERAND and (top.in_pattern or (top.heads and top.heads[-1] == "for"))
        if not guard:
            top.heads.append("if")
    elif word in ("for", "while", "match"):
        top.heads.append(word)
    return word.upper()


# --- words after which the rest of a head is no ordinary code -----------------------------------------------------


def _route_tail(lexer: Lexer) -> Iterator[Token]:
    method = _METHOD.match(lexer.text, lexer.at)
    if method is not None:
        yield Token("METHOD", method[1], method.start(1), method.end())
    yield from _path_tail(lexer)


def _path_tail(lexer: Lexer) -> Iterator[Token]:
    path = _PATH.match(lexer.text, lexer.at)
    if path is not None:
        yield Token("PATH", path[1], path.start(1), path.end())


def _service_tail(lexer: Lexer) -> Iterator[Token]:
    tag = _SERVICE_TAG.match(lexer.text, lexer.at)
    if tag is not None:
        yield Token("MCP", "mcp", tag.start(1), tag.end())
    yield from _path_tail(lexer)


def _reply_tail(lexer: Lexer) -> Iterator[Token]:
    status = _STATUS.match(lexer.text, lexer.at)
    if status is not None:
        number = status[1]
        value = status[2] if number is None else int(number.replace("_", "")[:9])
        yield Token("STATUS", value, status.start(1 if number else 2), status.end())


_TAIL = {"ROUTE": _route_tail, "IMPORT": _path_tail, "SERVICE": _service_tail, "REPLY": _reply_tail}


# --- other languages ----------------------------------------------------------------------------------------------


def _foreign(lexer: Lexer, word: str, start: int, top: Bracket) -> Iterator[Token]:
    text = lexer.text
    previous = lexer.previous
    end = lexer.at
    begins = previous in STATEMENT_BEGINS_AFTER and top.kind in STATEMENT_KINDS
    operand_before = previous in ENDS_OPERAND
    if word in ("const", "var"):
        if (begins or previous in MODIFIERS) and _BINDS_FOLLOWS.match(text, end):
            _report(lexer, f"`{word}` is written `let` here", start, end)
            top.declaring = True
            yield Token("LET", word, start, end)
            return
    elif word == "mut":
        if previous == "LET" and _BINDS_FOLLOWS.match(text, end):
            _report(lexer, "every variable can be given a new value: leave `mut` out", start, end)
            lexer.previous = "LET"
            return
    elif word in ("function", "def", "func", "fun"):
        if (begins or previous in MODIFIERS or not operand_before) and _FUNCTION_FOLLOWS.match(text, end):
            _report(lexer, f"`{word}` is written `fn` here", start, end)
            top.parameters_next = True
            top.heads.append("fn")
            yield Token("FN", word, start, end)
            return
    elif word in ("elif", "elsif", "elseif"):
        if previous == "RBRACE":
            _report(lexer, f"`{word}` is written `else if` here", start, end)
            top.heads.append("if")
            yield Token("ELSE", "else", start, end)
            yield Token("IF", "if", end, end)
            return
    elif word in ("and", "or"):
        if operand_before and _OPERAND_FOLLOWS.match(text, end):
            sign = "&&" if word == "and" else "||"
            _report(lexer, f"`{word}` is written `{sign}` here", start, end)
            yield Token(word.upper(), sign, start, end)
            return
    elif word == "not":
        if operand_before and _NOT_IN.match(text, end):
            _report(lexer, "`a not in b` is written `!(a in b)` here", start, end)
            return
        if not operand_before and _NEGATION_FOLLOWS.match(text, end) and not text.startswith("(", end):
            _report(lexer, "`not` is written `!` here", start, end)
            lexer.unary = True
            lexer.after_prefix = end
            yield Token("BANG", "!", start, end)
            return
    yield Token("NAME", word, start, end)


def foreign_operator(lexer: Lexer, spelling: str, start: int, end: int) -> str:
    """Reports an operator that is not there; gives the token type it is read as, "" where it is passed over."""
    if spelling == "===" or spelling == "!==":
        _report(lexer, f"`{spelling}` is written `{spelling[:2]}` here: it compares by content", start, end)
        return "EQUALITY"
    if spelling == "++":
        if is_postfix(lexer.text, end, "") or lexer.previous not in ENDS_OPERAND:
            _report(lexer, "there is no `++` here: to add 1 to a variable write `x += 1`", start, end)
            return ""
        _report(lexer, "`++` is written `+` here: it adds numbers, and joins texts and lists", start, end)
        return "PLUS"
    if spelling == "**":
        _report(lexer, "there is no `**` here: a power is `pow(a, b)`", start, end)
        return "TIMES"
    if spelling == "|>":
        _report(lexer, "`|>` is written `|` here", start, end)
        return "PIPE"
    if spelling == "..=":
        _report(lexer, "there is no `..=` here: `a..b` goes up to, not with, `b`, so write `a..b + 1`", start, end)
        return "RANGE"
    _report(lexer, "`:=` is written `=` here, with `let` before a new name", start, end)
    lexer.previous = "EQ"
    return "EQ"


def is_postfix(text: str, at: int, sign: str) -> bool:
    """Does `sign` stand at `at`, with nothing after it that could be an operand?"""
    return text.startswith(sign, at) and _NOTHING_FOLLOWS.match(text, at + len(sign)) is not None


def _report(lexer: Lexer, sentence: str, start: int, end: int) -> None:
    lexer.report("Q0013", sentence, start, end, "")


# --- characters ---------------------------------------------------------------------------------------------------


def unknown_character(lexer: Lexer, character: str, start: int) -> Iterator[Token]:
    """A character that has no place in code: reported, and passed over where what was meant is clear."""
    text = lexer.text
    end = start + 1
    if character == "#":
        line_end = text.find("\n", start)
        lexer.at = len(text) if line_end < 0 else line_end
        lexer.report("Q0001", "`#` begins no comment here: comments begin with `//`", start, end, "")
        return
    if character == "'":
        closing = re.compile(r"'(?:[^'\\\n]++|\\[^\n])*+'").match(text, start)
        if closing is not None:
            lexer.at = closing.end()
            lexer.report("Q0001", "a text stands between `\"`, not between `'`", start, closing.end(), "")
            lexer.previous = "TEXT"
            yield Token("TEXT", text[start + 1 : closing.end() - 1], start, closing.end())
            return
        lexer.report("Q0001", "`'` has no place in code: a text stands between `\"`", start, end, "")
    elif _INVISIBLE.match(character) or character.isspace():
        lexer.at = end
        lexer.report("Q0001", f"{_named(character)} has no place in code: delete it, or write a space", start, end, "")
        return
    elif character == "&":
        lexer.report("Q0001", "there is no `&` here: and is written `&&`", start, end, "")
    else:
        shown = f"`{character}`" if character.isprintable() else _named(character)
        lexer.report("Q0001", f"{shown} has no place in code", start, end, "")
    lexer.at = end
    lexer.previous = "BAD"
    yield Token("BAD", None, start, end)


def _named(character: str) -> str:
    code = ord(character)
    if code < 32 or 127 <= code < 160:
        what = "a control character"
    elif 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x200E, 0x200F, 0x61C):
        what = "a bidirectional mark"
    elif _INVISIBLE.match(character):
        what = "a zero-width character"
    else:
        what = "a special space"
    return f"U+{code:04X} ({what})"


def report_invisible(lexer: Balance, start: int, end: int) -> None:
    """Reports each character of a `//!` line that a reader of the file does not see."""
    for found in _INVISIBLE.finditer(lexer.text, start, end):
        lexer.report(
            "Q0020",
            f"the `//!` block holds {_named(found[0])}, which a reader does not see: delete it",
            found.start(),
            found.end(),
            "",
        )
