"""Keeps brackets, elements and templates in balance: what is never closed is closed here, with a report.

In a first reading only what stands in the text decides. When braces turn out not to balance in the whole file, the
parser reads it a second time with `trusting` set: then the indentation of a line says which block it belongs to, so
that one missing brace is reported where it is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from compiler.source import Source
from compiler.tokens import CLOSER_OF_KIND, CLOSER_TYPES, LINE_KINDS, OPENER_TEXT, Bracket, Token

if TYPE_CHECKING:
    from compiler.lexer import Report

_BRACE_KINDS = frozenset({"block", "match", "event"})


class Balance:
    """The stack of brackets of a lexer, and what happens when they don't fit."""

    def __init__(self, source: Source, report: Report, trust_indentation: bool) -> None:
        self.source = source
        self.text = source.text
        self.report = report
        self.trusting = trust_indentation
        self.stack: list[Bracket] = [_file_bracket()]
        self.depth = 0
        self.at = 0
        self.previous = "NL"
        self.ended = False
        self.skipping = False  # what is found now belongs to a statement that was reported already
        self.unary = False  # the last `-` or `!` was a prefix
        self.after_prefix = -1  # where the last prefix operator ended
        self.unbalanced = False  # a brace is missing, or is too much
        self.open_comment = False  # a comment takes all up to the file's end
        self.never_closed = -1  # where an element or a template begins that is open at the file's end
        self.long_templates: list[tuple[int, int]] = []  # those that run over lines, as (start, end)

    # --- closing ------------------------------------------------------------------------------------------------

    def _close(self, character: str, start: int) -> Iterator[Token]:
        """A closing bracket, where it may not fit the innermost open one."""
        stack = self.stack
        if self.trusting and character == "}" and self._stray_by_place(start):
            self.unbalanced = True
            why = ": by its place, no `{` before it is open" if len(self.stack) > 1 else ""
            self.report("Q0008", f"this `}}` closes nothing{why}", start, start + 1, "")
            return
        index = len(stack) - 1
        while index > 0:
            closer = CLOSER_OF_KIND.get(stack[index].kind)
            if closer == character:
                break
            if closer is None or closer == "}":
                index = 0
                break
            index -= 1
        if index == 0:
            if character == "}":
                self.unbalanced = True
            elif self._stands_for_another(start):
                bracket = stack[-1]
                closer = CLOSER_OF_KIND[bracket.kind]
                opener = OPENER_TEXT[closer]
                self.report("Q0008", f"`{opener}` is closed by `{closer}`, not by `{character}`", start, start + 1, "")
                yield self.put_in_closer(start)
                return
            self.report("Q0008", f"this `{character}` closes nothing", start, start + 1, "")
            return
        line = self.source.line(start)
        while len(stack) - 1 > index:
            bracket = stack[-1]
            opener = OPENER_TEXT[CLOSER_OF_KIND[bracket.kind]]
            where = "" if self.source.line(bracket.start) == line else f" on line {line}"
            self.report(
                "Q0007", f"`{opener}` is not closed before the `{character}`{where}", bracket.start, bracket.end, ""
            )
            yield self.put_in_closer(start)
        bracket = stack.pop()
        self.depth -= bracket.depth + bracket.nested
        self.previous = CLOSER_TYPES[character]
        yield Token(self.previous, bracket, start, start + 1)

    def _stands_for_another(self, start: int) -> bool:
        """Is the closing bracket at `start` a slip for that of the innermost `(` or `[`, which its line lacks?"""
        closer = CLOSER_OF_KIND.get(self.stack[-1].kind, "}")
        end = self.text.find("\n", start)
        return closer != "}" and self.text.find(closer, start, len(self.text) if end < 0 else end) < 0

    def put_in_closer(self, at: int) -> Token:
        """Closes the innermost bracket, element or template, as if its end stood at `at`."""
        bracket = self.stack.pop()
        self.depth -= bracket.depth + bracket.nested
        if bracket.kind == "template":
            self.previous = "TEMPLATE_END"
        elif bracket.kind == "element":
            self.previous = "END_TAG"
        elif bracket.kind == "tag":
            self.previous = "EMPTY_END"
        else:
            self.previous = CLOSER_TYPES[CLOSER_OF_KIND[bracket.kind]]
        return Token(self.previous, bracket, at, at)

    def close_at_end(self) -> Iterator[Token]:
        """Closes all that is open at the file's end, and reports what is not closed."""
        stack = self.stack
        at = len(self.text)
        outermost = next((b for b in stack if b.kind in ("element", "template", "tag")), None)
        if self.open_comment:
            pass  # that is why nothing else is closed
        elif outermost is not None and not self.skipping:
            self.never_closed = outermost.start
            self._report_never_closed(outermost)
        while len(stack) > 1:
            bracket = stack[-1]
            if outermost is None and not self.open_comment:
                if bracket.kind in _BRACE_KINDS:
                    self.unbalanced = True
                if not bracket.invented:
                    opener = OPENER_TEXT[CLOSER_OF_KIND[bracket.kind]]
                    self.report("Q0007", f"`{opener}` is not closed", bracket.start, bracket.end, "")
            yield self.put_in_closer(at)
        self.ended = True

    def _report_never_closed(self, bracket: Bracket) -> None:
        if bracket.kind == "template":
            self.report("Q0006", "this template is never closed: its last `` ` `` is missing", *_place(bracket), "")
        elif bracket.kind == "tag":
            self.report("Q0011", f"the tag `<{bracket.name}` is not finished: `>` is missing", *_place(bracket), "")
        else:
            self.report_unclosed_element(bracket)

    def report_unclosed_element(self, bracket: Bracket) -> None:
        """Says that the element has no end tag."""
        self.report(
            "Q0009",
            f"`<{bracket.name}>` is never closed: `</{bracket.name}>` is missing",
            bracket.start,
            bracket.end,
            "",
        )

    def too_deep(self, start: int) -> Iterator[Token]:
        """Gives up on the rest of the file."""
        self.report(
            "Q0012",
            "brackets, elements and lambdas nest more than 200 deep here: give an inner part a name of its own",
            start,
            start + 1,
            "",
        )
        self.ended = True
        self.never_closed = start + 1  # what follows is not read, so nothing more is said about it
        yield Token("BAD", None, start, start)

    # --- trusting the indentation -------------------------------------------------------------------------------

    def indentation(self, offset: int) -> int:
        """How many columns the line of `offset` is indented (a tab goes to the next multiple of 4)."""
        line_start = self.text.rfind("\n", 0, offset) + 1
        end = line_start
        while self.text[end : end + 1] in (" ", "\t") and end < len(self.text):
            end += 1
        return len(self.text[line_start:end].expandtabs(4))

    def _close_by_place(self, at: int) -> Iterator[Token]:
        """Closes the blocks to which, by its indentation, the line that begins at `at` does not belong."""
        if at >= len(self.text):
            return
        indentation = self.indentation(at)
        closes = self.text[at] == "}"
        while self.stack[-1].kind in _BRACE_KINDS:
            bracket = self.stack[-1]
            opened_at = self.indentation(bracket.start)
            if indentation > opened_at or (closes and indentation == opened_at):
                return
            if self.source.line(bracket.start) == self.source.line(at):
                return
            shown = _WORD_OR_SIGN.match(self.text, at)
            self.unbalanced = True
            if not bracket.invented:
                self.report(
                    "Q0007",
                    f"`{{` is not closed: by its place, the `{shown[0] if shown else ''}` on line "
                    f"{self.source.line(at)} does not belong to it",
                    bracket.start,
                    bracket.end,
                    "",
                )
            yield self.put_in_closer(at)

    def _stray_by_place(self, start: int) -> bool:
        """Is the `}` at `start`, first on its line, indented so that it can't belong to the open block?"""
        line_start = self.text.rfind("\n", 0, start) + 1
        top = self.stack[-1]
        if top.kind not in LINE_KINDS or self.text[line_start:start].strip():
            return False
        if top.kind == "file":
            return True
        return self.indentation(start) > self.indentation(top.start)


_WORD_OR_SIGN = re.compile(r"[A-Za-z0-9_]{1,40}|\S")


def _place(bracket: Bracket) -> tuple[int, int]:
    return bracket.start, bracket.end


def _file_bracket() -> Bracket:
    bracket = Bracket("file", 0, 0)
    bracket.depth = 0
    return bracket
