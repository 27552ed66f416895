"""Text between tags, taken apart so that it can be laid out anew without a change of what it means.

White space with a line break in it that touches a tag is nothing, any other run of it is one space (docs/language.md,
section 10). A comment does not end a run. So a line break may be put in where one is already, where a tag is touched
and there is no white space, and where no tag is touched and there is some; nowhere else.
"""

from __future__ import annotations

import re

from compiler.formatter_parts import BLANK, LINE_END, SPACE, TIGHT, Unit, Word

# What the language folds: the no-break space and its like are text.
_PART = re.compile(r"([ \t\n\r\f]+)|(<!--.*?-->)|((?:[^ \t\n\r\f<]|<(?!!--))+)", re.DOTALL)


def read_text(text: str, after_tag: bool, before_tag: bool, free: bool = False) -> tuple[list[Unit], int, bool]:
    """The words and comments of a text between tags or braces; and the white space behind the last of them, as `space`
    and `may_break` of what follows.

    `after_tag`, `before_tag`: what the text touches is a tag. `free`: what white space stands first does not matter.
    """
    units: list[Unit] = []
    run: list[Unit] = []  # the comments of the run of white space at hand
    white = ""  # its white space
    space = TIGHT
    touches = after_tag
    for white_space, comment, word in _PART.findall(text):
        if white_space:
            white += white_space
            space = _space(white_space)
        elif comment:
            run.append(_unit(Word(comment), space))
            space = TIGHT
        else:
            may_break = free or _may_break(white, touches)
            run.append(_unit(Word(word), space, is_text=True))
            for unit in run:
                unit.may_break = may_break
            units += run
            run = []
            white = ""
            space = TIGHT
            touches = free = False
    may_break = free or _may_break(white, touches or before_tag)
    for unit in run:
        unit.may_break = may_break
    if space == SPACE and free:
        space = TIGHT
    return units + run, space, may_break


def _unit(piece: Word, space: int, is_text: bool = False) -> Unit:
    unit = Unit(piece, is_text=is_text)
    unit.space = space
    return unit


def _space(white: str) -> int:
    lines = white.count("\n")
    return SPACE if lines == 0 else LINE_END if lines == 1 else BLANK


def _may_break(white: str, touches: bool) -> bool:
    return not white or "\n" in white if touches else bool(white)
