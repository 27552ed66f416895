"""Values in the text form of a Module: JSON with two additions, bytes (`x"00ff"`) and the floats `inf` and `-inf`.

A whole number is an int, any other a float; a float is written so that it reads back as the very same.
"""

from __future__ import annotations

import json
import re
from typing import Any

from qasm.module_file import NESTING

TOKEN = re.compile(
    r"""
    (?P<space>  [ \t\r]+ | ;.* )
  | (?P<text>   "(?:[^"\\\x00-\x1f]|\\.)*" )
  | (?P<bytes>  x"[0-9a-f]*" )
  | (?P<number> -? (?: inf\b | [0-9]+ (?:\.[0-9]+)? (?:[eE][+-]?[0-9]+)? ) )
  | (?P<line>   @[0-9]+ )
  | (?P<word>   [A-Za-z_][A-Za-z0-9_]* )
  | (?P<mark>   [\[\]{},:] )
    """,
    re.VERBOSE,
)
_write_text = json.JSONEncoder(ensure_ascii=False).encode
_WORDS: dict[str, Any] = {"null": None, "true": True, "false": False}


class BadLiteral(Exception):
    """What can't be read; the text is one sentence."""


def write(value: Any) -> str:
    """A value's text, on one line."""
    if isinstance(value, bytes):
        return f'x"{value.hex()}"'
    if isinstance(value, list):
        return f"[{', '.join(map(write, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_write_text(key)}: {write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, float):
        return repr(value)
    return _write_text(value)


class Row:
    """One line's tokens, read from left to right. All that reads raises BadLiteral."""

    def __init__(self, line: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        place = 0
        while place < len(line):
            found = TOKEN.match(line, place)
            if found is None:
                raise BadLiteral(f"column {place + 1} has {line[place]!r}, which begins nothing")
            if found.lastgroup != "space":
                self.tokens.append((str(found.lastgroup), found.group()))
            place = found.end()

    @property
    def kind(self) -> str:
        """The next token's kind, "" at the end of the line."""
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    @property
    def next(self) -> str:
        """The next token as it is written, "" at the end of the line."""
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        text = self.next
        self.at += 1
        return text

    def wrong(self, wanted: str) -> BadLiteral:
        return BadLiteral(f"{wanted} is wanted and {self.next or 'the end of the line'} is found")

    def word(self, *words: str) -> str:
        """One of these words, which is taken, or "" where another token stands."""
        if self.kind == "word" and self.next in words:
            return self.take()
        return ""

    def need(self, word: str) -> None:
        if not self.word(word):
            raise self.wrong(f"`{word}`")

    def whole(self) -> int:
        """A whole number, which may have a sign."""
        if self.kind != "number" or not self.next.lstrip("-").isdigit():
            raise self.wrong("a whole number")
        if len(self.next) > 24:
            raise BadLiteral(f"{self.next} is too long a number")
        return int(self.take())

    def count(self) -> int:
        """A whole number from 0."""
        number = self.whole()
        if number < 0:
            raise BadLiteral(f"a number from 0 is wanted and {number} is found")
        return number

    def text(self) -> str:
        if self.kind != "text":
            raise self.wrong("a text")
        try:
            text = json.loads(self.next)
            text.encode()
        except ValueError:
            raise self.wrong("a text") from None
        self.at += 1
        assert isinstance(text, str)
        return text

    def value(self, depth: int = 0) -> Any:
        """Any value."""
        kind, text = self.kind, self.next
        if kind == "text":
            return self.text()
        if kind == "bytes":
            if len(text) % 2:  # x, two quotes and pairs of digits
                return bytes.fromhex(self.take()[2:-1])
            raise BadLiteral(f"{text} has half a byte")
        if kind == "number":
            return self.whole() if text.lstrip("-").isdigit() else float(self.take())
        if kind == "word" and text in _WORDS:
            return _WORDS[self.take()]
        if text not in ("[", "{"):
            raise self.wrong("a value")
        if depth == NESTING:
            raise BadLiteral(f"a value nests more than {NESTING} lists and maps")
        self.at += 1
        return self.items(depth + 1) if text == "[" else self.entries(depth + 1)

    def items(self, depth: int) -> list[Any]:
        found: list[Any] = []
        while self.next != "]":
            if found:
                self.mark(",")
            found.append(self.value(depth))
        self.at += 1
        return found

    def entries(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.next != "}":
            if found:
                self.mark(",")
            key = self.text()
            if key in found:
                raise BadLiteral(f"the key {_write_text(key)} is there twice")
            self.mark(":")
            found[key] = self.value(depth)
        self.at += 1
        return found

    def mark(self, mark: str) -> None:
        if self.next != mark:
            raise self.wrong(f"`{mark}`")
        self.at += 1

    def end(self) -> None:
        if self.at < len(self.tokens):
            raise self.wrong("the end of the line")
