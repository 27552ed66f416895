"""Writes a program anew: decides, from left to right, where lines break.

What the author broke stays broken; what is too long is broken at its loosest place first: between pipes before the
arguments of a call, there before an item. What is to be written next waits in a list of steps, so that nothing calls
itself, however deep brackets nest. An indentation is counted from the line on which what is indented begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.formatter_parts import (
    BLANK,
    INDENT,
    ITEMS,
    LIMIT,
    LINE_END,
    NONE,
    SHORT,
    SPACE,
    TIGHT,
    Element,
    Entry,
    Group,
    Head,
    Line,
    Piece,
    Unit,
    Width,
    Word,
    body_of,
    lead_of,
    loosest,
    measured,
)

_Step = tuple[Callable[..., None], tuple[Any, ...]]


class Layout:
    """Writes one program. `after`, in its steps, is how many columns have to stay free behind what is written."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.line = 0  # how often a line ended so far
        self.column = 0
        self.indent = 0  # of the line at hand
        self.steps: list[_Step] = []

    def write_file(self, root: Group) -> str:
        """The text of a whole file, which ends in a line break unless there is nothing in it."""
        self._entries(root, 0, False)
        while self.steps:
            step, arguments = self.steps.pop()
            step(*arguments)
        if self.written:
            self.written.append("\n")
        return "".join(self.written)

    def _then(self, *steps: tuple[Any, ...]) -> None:
        """Does these steps next, in order, before those that wait already."""
        for step in reversed(steps):
            self.steps.append((step[0], step[1:]))

    def _write(self, text: str) -> None:
        self.written.append(text)
        line_end = text.rfind("\n")
        if line_end < 0:
            self.column += len(text)
        else:
            self.line += 1
            self.column = len(text) - line_end - 1

    def _new_line(self, indent: int, blank: bool = False) -> None:
        self.written.append(("\n\n" if blank else "\n") + " " * indent)
        self.line += 1
        self.column = self.indent = indent

    def _indent(self, indent: int) -> None:
        self.indent = indent

    # --- lines --------------------------------------------------------------------------------------------------

    def _line(self, line: Line, after: int, deeper: int = INDENT) -> None:
        self._range(line.pieces, 0, len(line.pieces), self.indent + deeper, after)

    def _range(self, pieces: list[Piece], start: int, end: int, deeper: int, after: int) -> None:
        """Pieces of a line. What goes on in a new line is indented by `deeper`."""
        body = body_of(pieces, start, end)
        if body:
            free = 0
            if _stays(pieces, body, end) and not pieces[body].newline:
                free = _rest(pieces, body, end, after)
            self._then((self._range, pieces, start, body, deeper, free), (self._body, pieces, body, end, deeper, after))
            return
        level = loosest(pieces, start, end)
        if level == NONE:
            self._pieces(pieces, start, start, end, deeper, after)
            return
        too_long = not self._fits(pieces, start, end, deeper, after)
        places = [k for k in range(start + 1, end) if pieces[k].level == level]
        steps: list[tuple[Any, ...]] = []
        for begin, stop in zip([start, *places], [*places, end], strict=True):
            if begin > start:
                steps.append((self._gap, pieces[begin], too_long, deeper))
            free = 0 if too_long and stop < end else _rest(pieces, stop, end, after)
            steps.append((self._range, pieces, begin, stop, deeper, free))
        self._then(*steps)

    def _gap(self, piece: Piece, breaks: bool, deeper: int) -> None:
        """What stands before a piece: a space, nothing, or a line break."""
        if piece.newline or breaks:
            self._new_line(self.indent if piece.stays else deeper)
        else:
            self._write(piece.gap)

    def _body(self, pieces: list[Piece], start: int, end: int, deeper: int, after: int) -> None:
        """What stands behind `=` or `=>`: on a line of its own, if it is too long for this one but not for that."""
        piece = pieces[start]
        first, _, forced = measured(pieces, start, end)
        width = first if forced else first + after
        breaks = False
        if self.column + len(piece.gap) + width > LIMIT and not _stays(pieces, start, end):
            breaks = not forced and deeper + width <= LIMIT
            if not breaks and not (isinstance(piece, Word) and piece.huggable):
                breaks = loosest(pieces, start, end) != NONE
        self._gap(piece, breaks, deeper)
        self._range(pieces, start, end, deeper, after)

    def _fits(self, pieces: list[Piece], start: int, end: int, deeper: int, after: int) -> bool:
        """Do these pieces fit, broken only where the author broke them?"""
        column, indent = self.column, self.indent
        for k in range(start, end):
            piece = pieces[k]
            if k > start and piece.newline:
                if column > LIMIT:
                    return False
                column = indent = deeper
            elif k > start:
                column += len(piece.gap)
            column += piece.first
            if column > LIMIT:
                return False
            if piece.forced:
                column = indent + piece.last
        return column + after <= LIMIT

    def _pieces(self, pieces: list[Piece], start: int, at: int, end: int, deeper: int, after: int) -> None:
        """Pieces between which there is no break but those that the author made. Goes on from `at`."""
        for k in range(at, end):
            piece = pieces[k]
            if k > start:
                self._gap(piece, False, deeper)
            if isinstance(piece, Word):
                self._write(piece.text)
                continue
            if isinstance(piece, Group) and k:
                before = pieces[k - 1]
                if isinstance(before, Head) and self.line > before.began:
                    piece.break_up()  # a head over several lines has a block over several lines
                if piece.tie is not None and piece is piece.tie.blocks[0]:
                    self._if_chain(piece, pieces, k, end, after)
            self._then(
                (self._piece, piece, _rest(pieces, k + 1, end, after)),
                (self._pieces, pieces, start, k + 1, end, deeper, after),
            )
            return

    def _if_chain(self, block: Group, pieces: list[Piece], start: int, end: int, after: int) -> None:
        """Breaks all blocks of an `if … else …` whose rest does not fit on this line."""
        assert block.tie is not None
        blocks = block.tie.blocks
        if len(blocks) == 1:
            return
        last = start
        while pieces[last] is not blocks[-1]:
            last += 1
        width, _, forced = measured(pieces, start, last + 1)
        if forced or self.column + width + _rest(pieces, last + 1, end, after) > LIMIT:
            for one in blocks:
                one.break_up()

    def _piece(self, piece: Piece, after: int) -> None:
        if isinstance(piece, Group):
            self._group(piece, after)
        elif isinstance(piece, Element):
            self._element(piece, after)
        elif isinstance(piece, Head):
            piece.began = self.line
            # A head that runs on is indented more than the block behind it, which is indented as if it did not.
            self._then((self._line, piece.line, after, 2 * INDENT), (self._indent, self.indent))
        else:
            assert isinstance(piece, Word)
            self._write(piece.text)

    def _flat(self, piece: Piece) -> None:
        """A piece on one line."""
        waiting: list[Piece | Line | str] = [piece]
        while waiting:
            one = waiting.pop()
            if isinstance(one, str):
                self._write(one)
            elif isinstance(one, Word):
                self._write(one.text)
            elif isinstance(one, Head):
                waiting.append(one.line)
            elif isinstance(one, Line):
                for k in range(len(one.pieces) - 1, -1, -1):
                    waiting.append(one.pieces[k])
                    if k:
                        waiting.append(one.pieces[k].gap)
            elif isinstance(one, Group):
                waiting.append(one.pad + one.closer)
                for number in range(len(one.entries) - 1, -1, -1):
                    entry = one.entries[number]
                    waiting.append(entry.line if entry.line is not None else entry.comment)
                    if number:
                        waiting.append(one.between(number))
                waiting.append(one.opener + one.pad)
            else:
                assert isinstance(one, Element)
                waiting.append(_end_of(one))
                for unit in reversed(one.units):
                    waiting += [unit.piece, unit.gap]
                if one.raw is not None:
                    waiting.append(one.raw)
                waiting.append(one.sign)
                for attribute in reversed(one.attributes):
                    waiting += [attribute, attribute.gap]
                waiting.append(one.name)

    # --- brackets -----------------------------------------------------------------------------------------------

    def _group(self, group: Group, after: int) -> None:
        if group.broken:
            self._broken(group, False)
        elif not group.forced and self.column + group.first + after <= LIMIT:
            self._flat(group)
        elif group.only_by_author or not group.entries:
            self._unbroken(group, after)
        elif group.forced:
            fits = self.column + group.first <= LIMIT and self.indent + group.last + after <= LIMIT
            if fits:
                self._unbroken(group, after)
            else:
                self._broken(group, True)
        elif self._hugs(group, after):
            self._unbroken(group, after)
        else:
            self._broken(group, True)

    def _hugs(self, group: Group, after: int) -> bool:
        """Is the last item of a group that is too long broken in its place?"""
        hugged = group.hugged
        if hugged is None or self.column + group.hug > LIMIT or self.indent + group.hug_last + after > LIMIT:
            return False
        if isinstance(hugged, Group):
            return True
        # Not if it is a lambda that fits on a line of its own, with the element in which it ends.
        line = group.entries[-1].line
        return line is None or len(line.pieces) == 1 or self.indent + INDENT + line.first + 1 > LIMIT

    def _unbroken(self, group: Group, after: int) -> None:
        """A group whose brackets stand beside what is in them, which is broken itself."""
        inner = self.indent + INDENT
        steps: list[tuple[Any, ...]] = [(self._write, group.opener + group.pad)]
        for number, entry in enumerate(group.entries):
            if entry.breaks:
                steps.append((self._new_line, inner, entry.breaks > 1 and number > 0))
            elif number:
                steps.append((self._write, group.between(number)))
            if entry.line is None:
                steps.append((self._comment, entry))
            else:
                steps.append((self._line, entry.line, _rest_of_entries(group, number, after)))
        if group.closes_on_own_line:
            steps.append((self._new_line, self.indent))
        steps.append((self._write, group.pad + group.closer))
        self._then(*steps)

    def _broken(self, group: Group, all_rows: bool) -> None:
        """A group whose brackets end and begin a line. `all_rows`: each item has a line of its own."""
        indent = self.indent
        self._write(group.opener)
        self._then((self._new_line, indent), (self._write, group.closer))
        self._entries(group, indent + INDENT, all_rows)

    def _entries(self, group: Group, inner: int, all_rows: bool) -> None:
        """What stands in a broken group, or in a file."""
        entries = group.entries
        begins = _begin_lines(group, inner, all_rows)
        items = group.kind == ITEMS
        last = group.last_item
        steps: list[tuple[Any, ...]] = []
        for number, entry in enumerate(entries):
            if not number and not group.opener:
                pass  # the file begins
            elif begins[number]:
                steps.append((self._new_line, inner, entry.breaks > 1 and number > 0))
            else:
                steps.append((self._write, " "))
            if entry.line is None:
                steps.append((self._comment, entry))
                continue
            comma = items and (number < last or group.trailing_comma)
            free = int(comma)
            for k in range(number + 1, len(entries)):
                if begins[k] or entries[k].ends_line:
                    break
                if entries[k].line is not None:
                    free = _rest_of_entries(group, number, 0)
                    break
                free += 1 + len(entries[k].comment)
            steps.append((self._line, entry.line, free))
            if comma:
                steps.append((self._write, ","))
        self._then(*steps)

    def _comment(self, entry: Entry) -> None:
        """A comment. The further lines of one that begins its line are moved as far as its first."""
        text = entry.comment
        if "\n" in text and entry.breaks:
            text = _moved(text, self.column - entry.column)
        self._write(text)

    # --- elements -----------------------------------------------------------------------------------------------

    def _element(self, element: Element, after: int) -> None:
        if not element.forced and self.column + element.first + after <= LIMIT:
            self._flat(element)
            return
        indent = self.indent
        width = Width()
        for attribute in element.attributes:
            width.add_text(attribute.gap)
            width.add(attribute)
        first, _, forced = width.result()
        sign = 0 if forced else len(element.sign)
        too_long = bool(element.attributes) and self.column + len(element.name) + first + sign > LIMIT
        broken = element.tag_broken or too_long
        steps: list[tuple[Any, ...]] = [(self._write, element.name)]
        for number, attribute in enumerate(element.attributes):
            if broken:
                steps.append((self._new_line, indent + INDENT))
                steps.append((self._piece, attribute, 0))
            else:
                following = element.attributes[number + 1 : number + 2]
                free = len(element.sign) if not following else 1 + following[0].lead
                steps.append((self._write, attribute.gap))
                steps.append((self._piece, attribute, free))
        if broken:
            steps.append((self._new_line, indent))
        steps.append((self._write, element.sign.lstrip() if broken else element.sign))
        steps.append((self._content, element, indent, broken, after))
        self._then(*steps)

    def _content(self, element: Element, indent: int, tag_broken: bool, after: int) -> None:
        """What stands in an element, and its end tag."""
        units = element.units
        ending = _end_of(element)
        if not units:
            self._write(f"{element.raw.text if element.raw is not None else ''}{ending}")
            return
        width = sum(len(unit.gap) + unit.piece.first for unit in units) + len(ending)
        if not element.broken and not tag_broken and self.column + width + after <= LIMIT:
            for unit in units:
                self._write(unit.gap)
                self._flat(unit.piece)
            self._write(ending)
            return
        if units[0].may_break:
            self._new_line(indent + INDENT)
        else:
            self._write(units[0].gap)
        close: tuple[Any, ...] = (self._new_line, indent) if element.end_may_break else (self._write, "")
        if element.end_may_break:
            ending = element.end_tag
        self._then((self._units, element, 0, indent + INDENT, after), close, (self._write, ending))

    def _units(self, element: Element, at: int, indent: int, after: int) -> None:
        """What stands in an element that is broken, from the unit `at` on; lines are filled up."""
        units = element.units
        for number in range(at, len(units)):
            unit = units[number]
            if number:
                breaks = unit.space >= LINE_END
                if not breaks and _may_break(units[number - 1], unit):
                    each = not element.by_author and unit.space == TIGHT
                    breaks = each or self.column + len(unit.gap) + _run(element, number, after) > LIMIT
                if breaks:
                    self._new_line(indent, unit.space == BLANK)
                else:
                    self._write(unit.gap)
            if isinstance(unit.piece, Word):
                self._write(unit.piece.text)
                continue
            free = 0 if unit.piece.forced else _run(element, number, after) - unit.piece.first
            self._then((self._piece, unit.piece, free), (self._units, element, number + 1, indent, after))
            return


def _stays(pieces: list[Piece], start: int, end: int) -> bool:
    """Does a body stay on the line of its `=` or `=>`, because it can be broken inside or gains nothing?"""
    piece = pieces[start]
    if isinstance(piece, Group) and piece.opener in ("{", "["):
        return True
    width, _, forced = measured(pieces, start, end)
    return width <= SHORT and not forced and loosest(pieces, start, end) == NONE


def _rest(pieces: list[Piece], start: int, end: int, after: int) -> int:
    """How many columns pieces from `start` on take, with the gap before them, up to where a line may break."""
    if start >= end:
        return after
    if pieces[start].newline:
        return 0
    width, stops = lead_of(pieces, start, end)
    return len(pieces[start].gap) + (width if stops else width + after)


def _rest_of_entries(group: Group, number: int, after: int) -> int:
    """How many columns stand behind an entry, up to where a line may break."""
    width = 0
    for k in range(number + 1, len(group.entries)):
        entry = group.entries[k]
        if entry.breaks or entry.ends_line:
            return width + len(group.between(k).rstrip())
        width += len(group.between(k))
        if entry.line is None:
            width += len(entry.comment)
        else:
            width += entry.line.lead
            if entry.line.stops:
                return width
    if group.closes_on_own_line:
        return width
    return width + len(group.pad) + len(group.closer) + after


def _begin_lines(group: Group, indent: int, all_rows: bool) -> list[bool]:
    """Which entries of a broken group begin a line. Items that the author has on one line stay there if they fit."""
    entries = group.entries
    if group.kind != ITEMS or all_rows:
        return _rows(entries, True)
    begins = _rows(entries, False)
    apart = _rows(entries, True)
    start = 0
    while start < len(entries):
        stop = start + 1
        while stop < len(entries) and not begins[stop]:
            stop += 1
        if not _row_fits(entries[start:stop], indent):
            begins[start + 1 : stop] = apart[start + 1 : stop]
        start = stop
    return begins


def _rows(entries: list[Entry], apart: bool) -> list[bool]:
    """Which entries begin a line, with each item on a line of its own (`apart`) or as the author has them."""
    begins = []
    previous: Entry | None = None
    for entry in entries:
        if previous is None:
            begin = entry.line is not None or entry.leads or entry.breaks > 0
        elif entry.breaks:
            begin = True
        elif entry.line is None:
            begin = apart and entry.leads and not (previous.line is None and previous.leads)
        else:
            begin = apart and not (previous.line is None and previous.leads)
        begins.append(begin)
        previous = entry
    return begins


def _row_fits(entries: list[Entry], indent: int) -> bool:
    column = indent
    for entry in entries:
        line = entry.line
        if line is None:
            column += 0 if entry.ends_line else len(entry.comment) + 1
            continue
        column += line.first + 2
        if column > LIMIT + 1:  # without the space behind the comma
            return False
        if line.forced:
            column = indent + line.last + 2
    return column <= LIMIT + 1


def _moved(text: str, by: int) -> str:
    """A comment's further lines, moved to the right or to the left, if all of them can be."""
    first, *further = text.split("\n")
    if by < 0 and any(line.strip(" ") and not line.startswith(" " * -by) for line in further):
        return text
    moved = [line[-by:] if by < 0 else " " * by + line if line.strip(" ") else line for line in further]
    return "\n".join([first, *moved])


def _end_of(element: Element) -> str:
    return (" " if element.end_space == SPACE else "") + element.end_tag


def _may_break(before: Unit, unit: Unit) -> bool:
    """May a line break stand before a unit? Not where it would look like a space that is not there."""
    return unit.may_break and (unit.space == SPACE or not (before.is_text or unit.is_text))


def _run(element: Element, start: int, after: int) -> int:
    """How many columns the units from `start` on take up to where a line may break, without the gap before them."""
    units = element.units
    width = 0
    for number in range(start, len(units)):
        unit = units[number]
        if number > start:
            if unit.space >= LINE_END or _may_break(units[number - 1], unit):
                return width
            width += len(unit.gap)
        width += unit.piece.first
        if unit.piece.forced or width > LIMIT:
            return width
    return width if element.end_may_break else width + len(_end_of(element)) + after
