"""What a program is laid out from: words, brackets and elements in order, with what may become a line break.

    Group            brackets, or a whole file: entries, each a Line or a comment, with separators between
      Line           what stands between two separators: a statement, an argument, an arm …: pieces in order
        Word         a token, or what is kept to the byte (a template, a `<pre>`)
        Remark       a comment inside a Line
        Head         what stands between `if`, `for`, `while` or `match` and its `{` or `=>`, a Line of its own
        Group, Element

A piece knows how wide it is. `first` and `last` are the columns it takes on its first and on its last line; `forced`
says that there are two such lines, because the author broke it, and not because it is long. `lead` is how much of it
has to stand on the line on which it begins, and `stops` says that a line break may follow right behind that.
"""

from __future__ import annotations

LIMIT = 105  # columns that a line has at most, where it can be broken
INDENT = 2
SHORT = 8  # columns; what is no wider is not moved to a line of its own behind a `=`

# How tightly what stands around a possible line break belongs together: the loosest is broken first.
NONE = -1  # no line break may stand here, unless a comment needs one
PIPE, OR, AND, EQUALITY, COMPARE, PLUS, TIMES = range(7)
DOT = 20  # broken only where the author broke it
BODY = 30  # behind `=` and `=>`

CHAINED = AND  # up to this level, all operators of a chain begin lines, or none does


class Piece:
    """A part of a Line. `gap` is what stands before it on one line; `level` says what a break before it is."""

    __slots__ = ("first", "forced", "gap", "last", "lead", "level", "newline", "stays", "stops")

    def __init__(self) -> None:
        self.gap = ""
        self.level = NONE
        self.newline = False  # it begins a line, for the author or a comment has it so
        self.stays = False  # such a line is indented as the one before, not deeper (`else`)
        self.first = self.last = self.lead = 0
        self.forced = self.stops = False


class Word(Piece):
    """Text that is written as it is. `huggable`: it begins an `if`, a `match` or a `fn`, which have lines inside."""

    __slots__ = ("huggable", "text")

    def __init__(self, text: str, huggable: bool = False) -> None:
        super().__init__()
        self.text = text
        self.huggable = huggable
        self.measure(text)

    def measure(self, text: str) -> None:
        line_end = text.find("\n")
        if line_end < 0:
            self.first = self.last = self.lead = len(text)
        else:
            self.first = self.lead = line_end
            self.last = len(text) - text.rfind("\n") - 1
            self.forced = self.stops = True


class Remark(Word):
    """A comment inside a Line. One that ends its line is not measured: no line is broken because of it."""

    __slots__ = ("ends_line",)

    def __init__(self, text: str, ends_line: bool) -> None:
        super().__init__(text)
        self.ends_line = ends_line
        if ends_line:
            self.first = self.last = self.lead = 0


class Line:
    """Pieces in order. `complete` is called once, when all of them are there."""

    __slots__ = ("first", "forced", "last", "lead", "pieces", "stops")

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.first = self.last = self.lead = 0
        self.forced = self.stops = False

    def complete(self) -> None:
        for k, piece in enumerate(self.pieces):
            if isinstance(piece, Group) and piece.kind in (STATEMENTS, ARMS):
                before = self.pieces[k - 1]
                if k and isinstance(before, Head) and before.forced:
                    piece.break_up()
                if piece.tie is not None:
                    piece.tie.settle()
        self._settle()
        self.first, self.last, self.forced = measured(self.pieces, 0, len(self.pieces))
        self.lead, self.stops = lead_of(self.pieces, 0, len(self.pieces))

    def _settle(self) -> None:
        """Where the author broke a chain at one of its `|`, `&&` …, breaks it at all."""
        pieces = self.pieces
        ranges = [(0, len(pieces))]
        while ranges:
            start, end = ranges.pop()
            body = body_of(pieces, start, end)
            if body:
                ranges += [(start, body), (body, end)]
                continue
            level = loosest(pieces, start, end)
            if level == NONE:
                continue
            places = [k for k in range(start + 1, end) if pieces[k].level == level]
            if level <= CHAINED and any(pieces[k].newline for k in places):
                for k in places:
                    pieces[k].newline = True
            ranges += list(zip([start, *places], [*places, end], strict=True))


def body_of(pieces: list[Piece], start: int, end: int) -> int:
    """The index of the first piece behind the first `=` or `=>` in a range, 0 if there is none."""
    for k in range(start + 1, end):
        if pieces[k].level == BODY:
            return k
    return 0


def loosest(pieces: list[Piece], start: int, end: int) -> int:
    """The loosest level at which a range may be broken because it is long, NONE if there is none."""
    found = DOT
    for k in range(start + 1, end):
        level = pieces[k].level
        if NONE < level < found:
            found = level
    return NONE if found == DOT else found


class Width:
    """Adds up columns: `now` are those of the line at hand, `first` those of the first one, -1 while it lasts."""

    __slots__ = ("first", "now")

    def __init__(self) -> None:
        self.first = -1
        self.now = 0

    def add_text(self, text: str) -> None:
        self.now += len(text)

    def add_line_end(self, now: int = 0) -> None:
        if self.first < 0:
            self.first = self.now
        self.now = now

    def add(self, part: Piece | Line) -> None:
        self.now += part.first
        if part.forced:
            self.add_line_end(part.last)

    def result(self) -> tuple[int, int, bool]:
        """`first`, `last` and `forced`."""
        return (self.now, self.now, False) if self.first < 0 else (self.first, self.now, True)


def measured(pieces: list[Piece], start: int, end: int) -> tuple[int, int, bool]:
    """How wide a range of pieces is: `first`, `last` and `forced`, without the gap before it."""
    width = Width()
    for k in range(start, end):
        piece = pieces[k]
        if k > start:
            if piece.newline:
                width.add_line_end()
            else:
                width.add_text(piece.gap)
        width.add(piece)
    return width.result()


def lead_of(pieces: list[Piece], start: int, end: int) -> tuple[int, bool]:
    """How much of a range has to follow on the line, and whether a line break may stand behind that."""
    width = 0
    for k in range(start, end):
        piece = pieces[k]
        if k > start:
            if piece.newline:
                return width, True
            width += len(piece.gap)
        width += piece.lead
        if piece.stops or width > LIMIT:
            return width, True
    return width, False


class Head(Piece):
    """What stands between a word such as `if` and its `{` or `=>`."""

    __slots__ = ("began", "line")

    def __init__(self, line: Line) -> None:
        super().__init__()
        self.began = 0  # the number of the line on which it was written
        self.line = line
        line.complete()
        self.first, self.last, self.forced = line.first, line.last, line.forced
        self.lead, self.stops = line.lead, line.stops


class Entry:
    """A Line or a comment in a Group.

    `breaks`: line ends before it in the source, 2 for a blank line. A comment that `leads` belongs to what stands
    behind it on its line, not to what stands before. `column` is where a comment stood in its line.
    """

    __slots__ = ("breaks", "column", "comment", "ends_line", "leads", "line")

    def __init__(self, line: Line | None, comment: str, breaks: int) -> None:
        self.line = line
        self.comment = comment
        self.ends_line = comment.startswith("//")
        self.breaks = breaks
        self.leads = False
        self.column = 0


# Kinds of groups.
ITEMS, STATEMENTS, ARMS, BRACES, PAREN = "items", "statements", "arms", "braces", "paren"


class Group(Piece):
    """Brackets and what stands in them.

    `kind`: ITEMS have commas between them; STATEMENTS and ARMS stand on lines of their own, or all on one; BRACES are
    those of markup; PAREN holds one expression.
    """

    __slots__ = (
        "broken",
        "closer",
        "closes_on_own_line",
        "entries",
        "hug",
        "hug_last",
        "hugged",
        "kind",
        "last_item",
        "only_by_author",
        "opener",
        "opens_line",
        "pad",
        "tie",
        "trailing_comma",
    )

    def __init__(self, kind: str, opener: str, closer: str, pad: str = "") -> None:
        super().__init__()
        self.kind = kind
        self.opener = opener
        self.closer = closer
        self.pad = pad  # a space inside the brackets, on one line
        self.entries: list[Entry] = []
        self.last_item = -1  # the index of the last entry that is no comment
        self.broken = False  # its entries stand on lines of their own
        self.only_by_author = kind == BRACES  # it is not broken for being long
        self.opens_line = False  # the author has a line break behind the opening bracket
        self.closes_on_own_line = False  # … before the closing one
        self.trailing_comma = False  # if it is broken, its last item has a comma behind it
        self.hugged: Group | Element | None = None  # what ends the last item and can be broken in its place
        self.hug = 0  # the columns up to and with the bracket that opens `hugged`
        self.hug_last = 0  # those from the one that closes it
        self.tie: Tie | None = None

    @property
    def separator(self) -> str:
        return ";" if self.kind == STATEMENTS else ","

    def complete(self) -> None:
        """Finds out how it is laid out and how wide it is, once all its entries are there."""
        entries = self.entries
        self.last_item = max((k for k, entry in enumerate(entries) if entry.line is not None), default=-1)
        if not entries:
            self.pad = ""
            self.closes_on_own_line = False
        else:
            self.opens_line = entries[0].breaks > 0
            self.closes_on_own_line |= entries[-1].ends_line or (self.kind == BRACES and self.opens_line)
        own = self.closes_on_own_line or any(entry.breaks or "\n" in entry.comment for entry in entries)
        if self.kind in (STATEMENTS, ARMS):
            own |= any(entry.line is not None and entry.line.forced for entry in entries)
        self.broken = own and self.kind != BRACES
        self.measure()

    def measure(self) -> None:
        """Sets its columns; again, if it turns out that it has to be broken."""
        opening = len(self.opener)
        if self.broken:
            self.forced = self.stops = True
            self.first = self.lead = opening
            self.last = len(self.closer)
            return
        width = Width()
        width.add_text(self.opener)
        width.add_text(self.pad)
        self.stops = bool(self.entries) and not self.only_by_author
        self.lead = opening
        for number, entry in enumerate(self.entries):
            if entry.breaks:
                width.add_line_end()
            elif number:
                width.add_text(self.between(number))
            if entry.line is None:
                width.add_text("" if entry.ends_line else entry.comment)
                continue
            if not self.stops and entry.line.stops:
                self.stops = True
                self.lead = width.now + entry.line.lead if width.first < 0 else width.first
            width.add(entry.line)
        if self.closes_on_own_line:
            width.add_line_end()
        width.add_text(self.pad)
        width.add_text(self.closer)
        self.first, self.last, self.forced = width.result()
        if not self.stops:
            self.stops = self.forced
            self.lead = self.first
        self._find_hugged()

    def break_up(self) -> None:
        """Gives what stands in it lines of its own, after all."""
        if self.entries and not self.broken:
            self.broken = True
            self.measure()

    def between(self, number: int) -> str:
        """What stands before an entry that is on the line of the one before it."""
        return self.separator + " " if self.entries[number - 1].line is not None and number <= self.last_item else " "

    def _find_hugged(self) -> None:
        # Those of calls, and a list of one.
        if self.forced or self.opener not in ("(", "[") or (self.opener == "[" and len(self.entries) > 1):
            return
        if not self.entries:
            return
        candidates = [piece for entry in self.entries if (piece := _ending(entry)) is not None]
        last = _ending(self.entries[-1])
        if last is not None and candidates == [last]:
            self.hugged = last
            closing = len(self.pad) + len(self.closer)
            self.hug = self.first - closing - last.first + last.lead
            self.hug_last = closing + (len(last.closer) if isinstance(last, Group) else last.closing)


def _ending(entry: Entry) -> Group | Element | None:
    """What ends an item and may be broken while the brackets around stay: a record, a list, a block, an element."""
    if entry.line is None or not entry.line.pieces:
        return None
    last = entry.line.pieces[-1]
    if isinstance(last, Element):
        return last if not last.units or (last.units[0].may_break and last.end_may_break) else None
    if not isinstance(last, Group) or not last.entries:
        return None
    if last.kind in (STATEMENTS, ARMS):
        return last if last.tie is None or len(last.tie.blocks) == 1 else None
    return last if last.kind == ITEMS and last.opener in ("{", "[") else None


class Tie:
    """The blocks of one `if … else if … else`: all on one line, or each broken."""

    __slots__ = ("blocks", "broken", "width")

    def __init__(self) -> None:
        self.blocks: list[Group] = []
        self.broken = False  # the author has a line break before an `else`
        self.width = 0

    def settle(self) -> None:
        """Breaks all of the blocks if one is broken."""
        if len(self.blocks) > 1 and (self.broken or any(block.broken for block in self.blocks)):
            for block in self.blocks:
                block.break_up()


# The white space before what stands between tags.
TIGHT, SPACE, LINE_END, BLANK = range(4)


class Unit:
    """What stands between tags: a word, a comment, an element or `{…}`, and the white space before it.

    `may_break`: a line break may stand before it without a change of meaning.
    """

    __slots__ = ("is_tag", "is_text", "may_break", "piece", "space")

    def __init__(self, piece: Piece, is_tag: bool = False, is_text: bool = False) -> None:
        self.piece = piece
        self.is_tag = is_tag
        self.is_text = is_text
        self.space = TIGHT
        self.may_break = False

    @property
    def gap(self) -> str:
        return " " if self.space == SPACE else ""


class Element(Piece):
    """An element: its tag with attributes, what stands in it, and its end tag. `raw` is kept to the byte."""

    __slots__ = (
        "attributes",
        "broken",
        "by_author",
        "end_may_break",
        "end_space",
        "end_tag",
        "name",
        "raw",
        "sign",
        "tag_broken",
        "units",
    )

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name  # with its `<`, and `.class` and `#id` behind it
        self.attributes: list[Piece] = []
        self.sign = ">"
        self.units: list[Unit] = []
        self.raw: Word | None = None
        self.end_space = TIGHT
        self.end_may_break = False
        self.end_tag = ""
        self.tag_broken = False  # each attribute has its own line
        self.by_author = False  # the author has line breaks in it, beside its tags or between what stands in it
        self.broken = False  # what stands in it has lines of its own

    def complete(self) -> None:
        units = self.units
        self.by_author = self.end_space >= LINE_END or any(unit.space >= LINE_END for unit in units)
        self.broken = bool(units) and (self.by_author or any(unit.piece.forced for unit in units))
        width = Width()
        width.add_text(self.name)
        if self.tag_broken:
            width.add_line_end()
        for attribute in self.attributes:
            width.add_text(attribute.gap)
            width.add(attribute)
        if self.tag_broken:
            width.add_line_end()
        width.add_text(self.sign)
        self.lead = len(self.name) if self.attributes else width.now
        self.stops = bool(self.attributes or units or self.raw)
        if self.broken and units[0].may_break:
            width.add_line_end()
        if self.raw is not None:
            width.add(self.raw)
        for unit in units:
            if unit.space >= LINE_END:
                width.add_line_end()
            width.add_text(unit.gap)
            width.add(unit.piece)
        if self.broken and self.end_may_break:
            width.add_line_end()
        width.add_text(" " if self.end_space == SPACE else "")
        width.add_text(self.end_tag)
        self.first, self.last, self.forced = width.result()

    @property
    def closing(self) -> int:
        """The columns of what ends it, if it is broken."""
        return len(self.end_tag) if self.units else len(self.sign) + len(self.end_tag)
