"""Tells whether a text that is being typed goes on in its next line: `quillo repl` reads on then.

It does while a bracket, an element, a template or a comment is open, after an operator or `=`, and below a `///`.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.lexer import Lexer
from compiler.source import Source
from compiler.tokens import NO_LINE_END_AFTER, Token

_NEVER_CLOSED_COMMENT = "Q0005"
_GOES_ON = NO_LINE_END_AFTER - {"NL", "DOCTYPE"}


def is_unfinished(text: str) -> bool:
    """Does the text end where more must come? One with another mistake in it does not: that is to be told first."""
    reported: list[str] = []

    def report(code: str, message: str, start: int, end: int, hint: str) -> None:
        reported.append(code)

    lexer = _Watching(Source("input", text), report, reported)
    while lexer.next_token().type != "END":
        pass
    if reported and reported[0] == _NEVER_CLOSED_COMMENT:
        return True
    if lexer.open_at_end:
        return True
    return text.rstrip("\n").rpartition("\n")[2].lstrip().startswith("///")


class _Watching(Lexer):
    """A lexer that looks at what is open where the text ends, before it closes it."""

    def __init__(self, source: Source, report: object, reported: list[str]) -> None:
        super().__init__(source, report)  # type: ignore[arg-type]
        self.reported = reported
        self.open_at_end = False

    def close_at_end(self) -> Iterator[Token]:
        if not self.reported:
            self.open_at_end = len(self.stack) > 1 or self.previous in _GOES_ON
        yield from super().close_at_end()
