"""What stands between tokens: white space, comments, the `///` of definitions, and the `//!` block of a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compiler import lexer_words
from compiler.lexer_balance import Balance
from compiler.source import Source

if TYPE_CHECKING:
    from compiler.lexer import Report

_SPACE = re.compile(r"[ \t\r\n]*+")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_NOTE = re.compile(r"//![^\n]*")


class Comments(Balance):
    """Passes over comments, and keeps what they say."""

    def __init__(self, source: Source, report: Report, trust_indentation: bool) -> None:
        super().__init__(source, report, trust_indentation)
        self.docs: dict[int, tuple[int, str]] = {}  # where a definition may begin -> (where its `///` begins, the text)
        self.stray_docs: list[int] = []
        self.comments: list[tuple[int, int]] = []
        self.notes: tuple[str, int] | None = None

    def past_blanks(self, at: int, crossed: bool) -> tuple[int, bool]:
        """Where the next code begins, past white space and comments, and whether a line ended on the way."""
        text = self.text
        lines: list[str] = []
        first_doc = -1
        while True:
            found = _SPACE.match(text, at)
            assert found is not None  # it may be empty
            end = found.end()
            if not crossed and end > at and text.find("\n", at, end) >= 0:
                crossed = True
            at = end
            two = text[at : at + 2]
            if two == "//":
                end = text.find("\n", at)
                if end < 0:
                    end = len(text)
                self.comments.append((at, end))
                if text.startswith("///", at) and not text.startswith("////", at):
                    if crossed or not text[text.rfind("\n", 0, at) + 1 : at].strip():
                        if first_doc < 0:
                            first_doc = at
                        lines.append(text[at + 3 : end].removeprefix(" ").rstrip())
                    else:
                        self.stray_docs.append(at)
                at = end
            elif two == "/*":
                end = self._block_comment(at)
                self.comments.append((at, end))
                if not crossed and text.find("\n", at, end) >= 0:
                    crossed = True
                at = end
            else:
                break
        if lines:
            self.docs[at] = (first_doc, "\n".join(lines))
        return at, crossed

    def _block_comment(self, start: int) -> int:
        depth = 0
        for edge in _COMMENT_EDGE.finditer(self.text, start):
            depth += 1 if edge[0] == "/*" else -1
            if depth == 0:
                return edge.end()
        self.open_comment = True
        self.report("Q0005", "this comment is never closed: `*/` is missing", start, start + 2, "")
        return len(self.text)

    def _read_notes(self) -> int:
        """Reads the `//!` block at the top of the file; gives the place behind it."""
        text = self.text
        at = 0
        lines: list[str] = []
        start = -1
        while True:
            found = _SPACE.match(text, at)
            assert found is not None  # it may be empty
            at = found.end()
            note = _NOTE.match(text, at)
            if note is not None:
                if start < 0:
                    start = at
                self.comments.append((at, note.end()))
                lexer_words.report_invisible(self, at, note.end())
                lines.append(note[0][3:].removeprefix(" ").rstrip())
                at = note.end()
            elif text.startswith("//", at) and (not text.startswith("///", at) or text.startswith("////", at)):
                end = text.find("\n", at)
                end = len(text) if end < 0 else end
                self.comments.append((at, end))
                at = end
            elif text.startswith("/*", at):
                end = self._block_comment(at)
                self.comments.append((at, end))
                at = end
            else:
                break
        if start >= 0:
            self.notes = ("\n".join(lines), start)
        return text.rfind("\n", 0, at) + 1 if not text[text.rfind("\n", 0, at) + 1 : at].strip() else at
