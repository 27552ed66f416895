"""The inside of one Markdown paragraph as HTML: emphasis, code, links, images, breaks.

One pass, in time linear in the text: every mark that might begin something lies on a stack once and leaves it once.
HTML in the text is shown as text, and an address that could run a script makes no link, so what comes out is safe
whoever wrote it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from qvm.text import escape_html

_MARK = re.compile(r"\\[\n!-/:-@\[-`{-~]|`+|\*{1,3}|_{1,3}|~~|!\[|\[|\]|<|\n")
_TARGET = re.compile(
    r"\([ \n]{0,9}(?:<([^<>\n]{0,2000})>|([^\s()<>]{0,2000}(?:\([^\s()]{0,500}\)[^\s()]{0,500}){0,3}))"
    r"(?:[ \n]{1,9}\"([^\"]{0,500})\")?[ \n]{0,9}\)"
)
_ADDRESS = re.compile(r"<((?:https?|mailto):[^\s<>]{1,2000})>")
_SCHEME = re.compile(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.-]*):")
_SAFE_SCHEMES = frozenset(("http", "https", "mailto", "tel", "ftp"))
_TAGS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}


class _Opener(NamedTuple):
    """A mark that may begin something; `at` is its place in the pieces."""

    mark: str
    at: int


def is_safe_address(address: str) -> bool:
    """Can this address stand in a link? Those without a scheme (`/path`, `#part`) can."""
    scheme = _SCHEME.match(address)
    return scheme is None or scheme[1].lower() in _SAFE_SCHEMES


def inline_html(text: str) -> str:
    return _Inline(text).html()


class _Inline:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[str] = []
        self.openers: list[_Opener] = []
        self.open_count = dict.fromkeys((*_TAGS, "[", "!["), 0)
        self.ticks: dict[int, list[int]] = {}  # the places of each length of a run of backticks, last first
        for run in re.finditer("`+", text):
            self.ticks.setdefault(len(run[0]), []).append(run.start())
        for places in self.ticks.values():
            places.reverse()

    def html(self) -> str:
        text, at = self.text, 0
        while found := _MARK.search(text, at):
            self.pieces.append(escape_html(text[at : found.start()]))
            at = self._mark(found[0], found.start(), found.end())
        self.pieces.append(escape_html(text[at:]))
        return "".join(self.pieces)

    def _mark(self, mark: str, start: int, end: int) -> int:
        """Takes one mark, and gives the place to go on at."""
        if mark[0] == "\\":
            self.pieces.append("<br>\n" if mark[1] == "\n" else escape_html(mark[1]))
        elif mark[0] == "`":
            return self._code(len(mark), start, end)
        elif mark in ("[", "!["):
            self._open(mark)
        elif mark == "]":
            return self._close_link(end)
        elif mark == "<":
            return self._address(start, end)
        elif mark == "\n":
            self._line_end()
        else:
            self._emphasis(mark, start, end)
        return end

    def _code(self, length: int, start: int, end: int) -> int:
        places = self.ticks.get(length, [])  # an escaped backtick may have made this run shorter
        while places and places[-1] <= start:
            places.pop()
        if not places:
            self.pieces.append("`" * length)
            return end
        close = places.pop()
        code = self.text[end:close].replace("\n", " ")
        if code.strip() and code[0] == code[-1] == " ":
            code = code[1:-1]
        self.pieces.append(f"<code>{escape_html(code)}</code>")
        return close + length

    def _address(self, start: int, end: int) -> int:
        found = _ADDRESS.match(self.text, start)
        if found is None:
            self.pieces.append("&lt;")
            return end
        address = escape_html(found[1])
        self.pieces.append(f'<a href="{address}">{address}</a>')
        return found.end()

    def _line_end(self) -> None:
        """Two spaces before a line's end break the line, as a backslash does."""
        before = self.pieces[-1] if self.pieces else ""
        if before.endswith("  "):
            self.pieces[-1] = before.rstrip(" ")
            self.pieces.append("<br>\n")
        else:
            self.pieces.append("\n")

    def _emphasis(self, mark: str, start: int, end: int) -> None:
        before = self.text[start - 1] if start else " "
        after = self.text[end] if end < len(self.text) else " "
        can_open, can_close = not after.isspace(), not before.isspace()
        if mark[0] == "_":  # not inside a word
            can_open = can_open and not before.isalnum()
            can_close = can_close and not after.isalnum()
        parts = [mark[:2], mark[2]] if len(mark) == 3 else [mark]
        if can_close and len(mark) == 3 and self._is_inner(mark[2]):
            parts.reverse()
        for part in parts:
            if can_close and self.open_count[part]:
                opener = self._pop_to(part)
                self.pieces[opener.at] = f"<{_TAGS[part]}>"
                self.pieces.append(f"</{_TAGS[part]}>")
            elif can_open:
                self._open(part)
            else:
                self.pieces.append(part)

    def _is_inner(self, mark: str) -> bool:
        """Was `mark` opened last?"""
        return bool(self.openers) and self.openers[-1].mark == mark

    def _open(self, mark: str) -> None:
        self.openers.append(_Opener(mark, len(self.pieces)))
        self.open_count[mark] += 1
        self.pieces.append(mark)

    def _pop_to(self, *marks: str) -> _Opener:
        """Takes the last opener of these marks off the stack, and all that lie on it: those stay text."""
        while True:
            opener = self.openers.pop()
            self.open_count[opener.mark] -= 1
            if opener.mark in marks:
                return opener

    def _close_link(self, end: int) -> int:
        if not self.open_count["["] and not self.open_count["!["]:
            self.pieces.append("]")
            return end
        target = _TARGET.match(self.text, end)
        opener = self._pop_to("[", "![")
        address = "" if target is None else (target[1] if target[1] is not None else target[2])
        if target is None or not is_safe_address(address):
            self.pieces.append("]")
            return end
        inside = "".join(self.pieces[opener.at + 1 :])
        del self.pieces[opener.at :]
        title = f' title="{escape_html(target[3])}"' if target[3] else ""
        if opener.mark == "![":
            shown = re.sub("<[^>]*>", "", inside)
            self.pieces.append(f'<img src="{escape_html(address)}" alt="{shown}"{title}>')
        else:
            self.pieces.append(f'<a href="{escape_html(address)}"{title}>{inside}</a>')
        return target.end()
