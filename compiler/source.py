"""Source files and places in them.

Offsets are in code points of `Source.text`, in which `\\r\\n` is already `\\n` and a BOM is gone; lines and columns
are counted from 1. This package reads no file: a `Loader` is handed in by whoever may.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass, field
else:
    from qasm.quick_classes import dataclass, field


class SourceError(Exception):
    """A file that can't be had or read; the text is one sentence for a person."""


@dataclass(slots=True, eq=False)
class Source:
    """One file's text. `name` is how a diagnostic names it: as given, or by its path from the main file's folder."""

    name: str
    text: str
    _starts: list[int] = field(default_factory=list)

    @property
    def line_starts(self) -> list[int]:
        if not self._starts:
            starts, at = [0], self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._starts = starts
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """The (line, column) of an offset, both from 1."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    def line_text(self, line: int) -> str:
        """The text of a line (from 1), without its end; "" past the last line."""
        if not 1 <= line <= len(self.line_starts):
            return ""
        start = self.line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]


def decode(name: str, data: bytes) -> Source:
    """A Source from a file's bytes. Raises SourceError where they are not UTF-8, with the line."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"{name}:{line}: error: byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
        ) from None
    return Source(name, text.removeprefix("\ufeff").replace("\r\n", "\n"))


# Given a path relative to the main file's folder (with "/" between its parts), gives that file.
# Raises SourceError with a reason such as "is not there" where it can't.
Loader = Callable[[str], Source]
