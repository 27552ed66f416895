"""From tokens and comments to what a program is laid out from (`formatter_parts.py`), for a source without mistakes.

Every token and every comment becomes a piece, in order, so that nothing can be lost. A stack holds what is open, as in
the lexer; nothing calls itself, however deep brackets nest.
"""

from __future__ import annotations

import re

from compiler import formatter_parts as parts
from compiler.formatter_markup import read_text
from compiler.formatter_parts import Element, Entry, Group, Head, Line, Piece, Remark, Tie, Unit, Word
from compiler.lexer import Lexer
from compiler.source import Source
from compiler.tokens import ENDS_OPERAND, SPACE_ELEMENTS, Token, types

_LEVELS_BEFORE = {
    "PIPE": parts.PIPE,
    "COALESCE": parts.PIPE,
    "OR": parts.OR,
    "AND": parts.AND,
    "DOT": parts.DOT,
    "QDOT": parts.DOT,
}
_LEVELS_AFTER = {
    "EQUALITY": parts.EQUALITY,
    "IN": parts.EQUALITY,
    "COMPARE": parts.COMPARE,
    "PLUS": parts.PLUS,
    "MINUS": parts.PLUS,
    "TIMES": parts.TIMES,
    "EQ": parts.BODY,
    "ASSIGN": parts.BODY,
    "ARROW": parts.BODY,
    "THEN": parts.BODY,
}

_NO_SPACE_BEFORE = types("COMMA COLON DOT QDOT QUESTION CALL INDEX PARAMETERS TLT TGT RANGE")
_NO_SPACE_AFTER = types("DOT QDOT TLT RANGE ELLIPSIS DOCTYPE")
_BEGINS_WITH_DOT_OR_MARK = types("DOT QDOT QUESTION RANGE COALESCE")
_PREFIXES = types("MINUS BANG")
_HUGGABLE = types("IF MATCH FN")  # words of what has lines of its own inside
_EXPONENT = re.compile(r"[eE][0-9]")

_KINDS = {
    "CALL": parts.ITEMS,
    "LIST": parts.ITEMS,
    "RECORD": parts.ITEMS,
    "PARAMETERS": parts.ITEMS,
    "LAMBDA": parts.ITEMS,
    "LPAREN": parts.PAREN,
    "INDEX": parts.PAREN,
    "BLOCK": parts.STATEMENTS,
    "EVENT_OPEN": parts.STATEMENTS,
    "ARMS": parts.ARMS,
    "MARKUP_OPEN": parts.BRACES,
    "ATTRIBUTE_OPEN": parts.BRACES,
    "SPREAD_OPEN": parts.BRACES,
}
_PADDED = types("RECORD BLOCK ARMS")
_CLOSERS = types("RPAREN RBRACKET RBRACE")
_ATTRIBUTE_OPENERS = types("ATTRIBUTE_OPEN EVENT_OPEN SPREAD_OPEN")
_ATTRIBUTES = _ATTRIBUTE_OPENERS | {"ATTRIBUTE"}
_HEAD_WORDS = types("IF WHILE FOR MATCH")
_EQUALS_IN_ATTRIBUTE = re.compile(r"\s*=\s*")


# What stands between two tokens: comments, each (line ends before it, start, end), and the line ends behind the last.
_Gap = tuple[list[tuple[int, int, int]], int]
_NOTHING: _Gap = ([], 0)


class _OpenLine:
    """A Line that is being read. `head` is the word that began it, if it is that of a Head."""

    def __init__(self, head: str = "", in_pattern: bool = False) -> None:
        self.line = Line()
        self.head = head
        self.in_pattern = in_pattern
        self.in_effects = False  # behind `with`: commas are between effects
        self.in_result = False  # behind `->`: `|` belongs to a type, and is no place to break
        self.angles = 0
        self.functions = 0  # `fn` in a head whose `{` is still to come
        self.within = head == "FOR"  # the `in` of a `for` is still to come
        self.last_block: Group | None = None
        self.tie: Tie | None = None  # that of the block before an `else`
        self.level = parts.NONE  # what a break before the next piece would be
        self.broken_before = False  # the author has one there


_ONE_NAME = re.compile(r"\{\s*+[A-Za-z_][A-Za-z0-9_]*+\s*+,\s*+\}")


class _OpenGroup:
    """A Group that is being read, with the comments that no entry has yet: (line ends before, start, end)."""

    def __init__(self, group: Group, type: str, in_pattern: bool = False) -> None:
        self.group = group
        self.type = type
        self.in_pattern = in_pattern
        self.comments: list[tuple[int, int, int]] = []
        self.breaks = 0  # line ends behind the last of them
        self.separated = -1  # where a `;` or a comma stands
        self.bare = False  # it is a block or a record behind `=>`
        self.start = 0
        self.spread = False  # the last item begins with `...`


class _OpenElement:
    """An Element that is being read.

    `in_text`: its tag is read. `after`: the token that began what was last.
    """

    def __init__(self, element: Element) -> None:
        self.element = element
        self.in_text = False
        self.after = "TAG"


class Reader:
    """Reads one source without mistakes. `comments` are the places of its comments, in order."""

    def __init__(self, source: Source, comments: list[tuple[int, int]]) -> None:
        self.source = source
        self.text = source.text
        self.comments = comments
        self.next_comment = 0
        self.tokens = tokens_of(source)
        self.at = 0  # the index of the token at hand
        self.end = 0  # where the token before it ended
        self.previous = "NL"  # its type
        self.prefix = False  # it was a `-` or `!` before its operand
        self.stack: list[_OpenGroup | _OpenLine | _OpenElement] = []

    def read(self) -> Group:
        """The whole file as a Group without brackets."""
        root = Group(parts.STATEMENTS, "", "")
        self.stack.append(_OpenGroup(root, "file"))
        while True:
            token = self.tokens[self.at]
            type = token.type
            top = self.stack[-1]
            if type == "END":
                break
            if type == "NL":
                self._end_line()
                group = self.stack[-1]
                assert isinstance(group, _OpenGroup)
                group.separated = token.start if token.value == ";" else -1
                self.previous = type
                self.at += 1
                continue
            if isinstance(top, _OpenElement):
                self._in_element(top, token)
            else:
                self._in_code(token)
            self.previous = self.tokens[self.at].type  # of a template, its end
            self.at += 1
        self._end_line()
        self._keep(len(self.text))
        top = self.stack.pop()
        assert isinstance(top, _OpenGroup)
        self._take_comments(top, False)
        root.complete()
        return root

    # --- gaps ---------------------------------------------------------------------------------------------------

    def _gap(self, start: int) -> _Gap:
        """What stands between the token before and `start`."""
        found = []
        at = self.end
        comments = self.comments
        while self.next_comment < len(comments) and comments[self.next_comment][0] < start:
            begin, end = comments[self.next_comment]
            self.next_comment += 1
            if begin >= self.end:
                found.append((self.text.count("\n", at, begin), begin, end))
                at = end
        return found, self.text.count("\n", at, start)

    def _keep(self, start: int) -> None:
        """Keeps the comments before `start` in the innermost group, until an entry, or its end, takes them."""
        found, breaks = self._gap(start)
        top = self.stack[-1]
        assert isinstance(top, _OpenGroup)
        if found:
            found[0] = (found[0][0] + top.breaks, *found[0][1:])
            top.comments += found
            top.breaks = breaks
        else:
            top.breaks += breaks

    def _take_comments(self, top: _OpenGroup, before_line: bool) -> None:
        """Makes entries of the comments that wait in a group, before its next line or its end."""
        group = top.group
        waiting = top.comments
        made = []
        for breaks, start, end in waiting:
            entry = Entry(None, self.text[start:end].rstrip(), min(breaks, 2))
            entry.column = start - self.text.rfind("\n", 0, start) - 1
            made.append(entry)
        if not before_line:
            group.closes_on_own_line = top.breaks > 0
        elif not top.breaks:
            # On one line with what stands before and behind, a comment belongs to what is before it up to a `;`.
            belongs_before = 0
            if group.kind != parts.ITEMS and group.entries and not any(entry.breaks for entry in made):
                belongs_before = top.separated if top.separated >= 0 else len(self.text)
            for entry, (_, start, _) in zip(reversed(made), reversed(waiting), strict=True):
                if start < belongs_before:
                    break
                entry.leads = True
                if entry.breaks:
                    break
        group.entries += made
        top.comments = []

    # --- code ---------------------------------------------------------------------------------------------------

    def _in_code(self, token: Token) -> None:
        type = token.type
        self._leave_head(type)
        if type in _CLOSERS:
            self._close(token)
            return
        if type == "COMMA" and self._ends_item():
            self._end_item(token)
            group = self.stack[-1]
            assert isinstance(group, _OpenGroup)
            group.separated = token.start
            self.end = token.end
            return
        top = self.stack[-1]
        gap = _NOTHING
        if isinstance(top, _OpenGroup):
            self._keep(token.start)
            top = self._begin_line(top, type)
        else:
            gap = self._gap(token.start)
        assert isinstance(top, _OpenLine)
        if type in _KINDS:
            self._open(top, token, gap)
        elif type == "TAG":
            self._open_element(top, token, gap)
        elif type in ("TEMPLATE", "SQL"):
            end = self._skip(token)
            self._add(top, Word(self.text[token.start : end]), token, gap)
            self.end = end
        else:
            self._word(top, token, gap)

    def _begin_line(self, top: _OpenGroup, type: str) -> _OpenLine:
        self._take_comments(top, True)
        opened = _OpenLine(in_pattern=top.type == "ARMS" or top.in_pattern)
        top.group.entries.append(Entry(opened.line, "", min(top.breaks, 2)))
        top.breaks = 0
        top.separated = -1
        top.spread = type == "ELLIPSIS"
        self.stack.append(opened)
        return opened

    def _word(self, top: _OpenLine, token: Token, gap: _Gap) -> None:
        type = token.type
        operand_before = self.previous in ENDS_OPERAND
        guard = type == "IF" and operand_before
        word = Word(self.text[token.start : token.end], type in _HUGGABLE and not guard)
        self._add(top, word, token, gap)
        self.end = token.end
        self.prefix = type in _PREFIXES and not operand_before
        if type in _LEVELS_AFTER and not self.prefix and not (type == "IN" and top.within):
            top.level = _LEVELS_AFTER[type]
        if type == "IN":
            top.within = False
        elif type == "TLT":
            top.angles += 1
        elif type == "TGT":
            top.angles -= 1
        elif type == "RARROW":
            top.in_result = True
        elif type == "WITH":
            top.in_effects = True
        elif type == "EQ" or type == "ARROW":
            top.in_result = top.in_effects = False
        elif type == "THEN":
            top.in_pattern = False
        elif type == "FN":
            if top.head:
                top.functions += 1
        elif type in _HEAD_WORDS:
            self.stack.append(_OpenLine("guard" if guard else type))

    def _add(self, top: _OpenLine, piece: Piece, token: Token, gap: _Gap) -> None:
        """Adds a piece to a line, behind the comments that stand before it."""
        type = token.type
        comments, breaks = gap
        pieces = top.line.pieces
        level = top.level
        top.level = parts.NONE
        broken = top.broken_before
        top.broken_before = False
        own_line = False
        for before, start, end in comments:
            text = self.text[start:end].rstrip()
            remark = Remark(text, text.startswith("//"))
            remark.gap = " " if pieces else ""
            remark.newline = before > 0 or own_line
            remark.stays = type == "ELSE"
            own_line = remark.ends_line
            pieces.append(remark)
        piece.gap = (" " if comments else self._space_before(token)) if pieces else ""
        piece.newline = bool(comments) and (own_line or breaks > 0)
        if type in _LEVELS_BEFORE and not top.angles and not top.in_result:
            level = _LEVELS_BEFORE[type]
            broken = False
        piece.level = level if pieces else parts.NONE
        if type == "ELSE":
            piece.stays = True
            if top.last_block is not None and top.last_block.tie is not None:
                top.tie = top.last_block.tie
                top.tie.broken |= breaks > 0 or bool(comments)
        elif breaks or broken:
            if piece.level != parts.NONE:
                piece.newline = True
            elif self.previous == "DOCTYPE" and breaks:
                piece.newline = piece.stays = True
            elif type in _LEVELS_AFTER:
                top.broken_before = True  # its line break belongs behind it
            elif pieces and pieces[-1].level != parts.NONE and self.previous in _LEVELS_BEFORE and not comments:
                pieces[-1].newline = True  # … and this one before the operator
        pieces.append(piece)

    def _space_before(self, token: Token) -> str:
        type = token.type
        previous = self.previous
        if previous == "QUESTION" and type in _BEGINS_WITH_DOT_OR_MARK:
            return " "  # `a? .b` is not `a?.b`
        if type == "DOT" and previous == "INT" and _EXPONENT.match(self.text, self.tokens[self.at + 1].start):
            return " "
        if type in _NO_SPACE_BEFORE or previous in _NO_SPACE_AFTER or self.prefix:
            return ""
        return " "

    # --- lines and heads ----------------------------------------------------------------------------------------

    def _leave_head(self, type: str) -> None:
        """Ends the head that a `{` or `=>` ends, and the guard before it."""
        top = self.stack[-1]
        if not isinstance(top, _OpenLine) or not top.head:
            return
        if type in ("BLOCK", "ARMS"):
            if top.functions:
                top.functions -= 1
            else:
                self._end_head()
        elif type == "THEN":
            guard = top.head == "guard"
            if guard or top.head == "FOR":
                self._end_head()
            top = self.stack[-1]
            if guard and isinstance(top, _OpenLine) and top.head == "FOR":
                self._end_head()

    def _end_head(self) -> None:
        ended = self.stack.pop()
        top = self.stack[-1]
        assert isinstance(ended, _OpenLine)
        assert isinstance(top, _OpenLine)
        head = Head(ended.line)
        head.gap = " "
        top.line.pieces.append(head)

    def _ends_item(self) -> bool:
        """Does a comma at this place end an entry? (Else it stands between effects, names, or a `for`'s two.)"""
        top = self.stack[-1]
        if isinstance(top, _OpenGroup):
            return True
        group = self.stack[-2]
        return (
            isinstance(top, _OpenLine)
            and isinstance(group, _OpenGroup)
            and group.group.kind in (parts.ITEMS, parts.ARMS)
            and not top.in_effects
        )

    def _end_item(self, token: Token) -> None:
        """Ends a line before a comma or a closing bracket. Comments right behind what it ends with belong to it."""
        top = self.stack[-1]
        while isinstance(top, _OpenLine) and self.next_comment < len(self.comments):
            start, end = self.comments[self.next_comment]
            text = self.text[start:end]
            if start > token.start or "\n" in self.text[self.end : end] or text.startswith("//"):
                break
            if start >= self.end:
                remark = Remark(text, False)
                remark.gap = " "
                top.line.pieces.append(remark)
                self.end = end
            self.next_comment += 1
        self._end_line()
        self._keep(token.start)

    def _end_line(self) -> None:
        top = self.stack[-1]
        if isinstance(top, _OpenLine):
            self.stack.pop()
            top.line.complete()

    # --- brackets -----------------------------------------------------------------------------------------------

    def _open(self, top: _OpenLine | None, token: Token, gap: _Gap) -> Group:
        """Opens a bracket; it is a piece of `top`, if that is given."""
        type = token.type
        opener = self.text[token.start : token.end]
        if type in ("ATTRIBUTE_OPEN", "EVENT_OPEN"):
            opener = _EQUALS_IN_ATTRIBUTE.sub("=", opener, count=1)
        closer = {"(": ")", "[": "]", "{": "}"}[opener[-1]]
        group = Group(_KINDS[type], opener, closer, " " if type in _PADDED else "")
        group.only_by_author |= type == "INDEX"
        in_pattern = False
        if top is not None:
            in_pattern = top.in_pattern
            self._add(top, group, token, gap)
            if type == "BLOCK":
                group.tie = top.tie or Tie()
                group.tie.blocks.append(group)
                top.last_block = group
                top.tie = None
                top.in_result = top.in_effects = False
        # A comma may not stand behind the last of a function type, or in a pattern `err(…)`.
        group.trailing_comma = group.kind == parts.ITEMS and not (
            (type == "CALL" and in_pattern) or (type == "PARAMETERS" and token.value.always_type)
        )
        opened = _OpenGroup(group, type, in_pattern)
        opened.bare = type in ("BLOCK", "RECORD") and self.previous in ("ARROW", "THEN")
        opened.start = token.start
        self.stack.append(opened)
        self.end = token.end
        self.prefix = False
        return group

    def _close(self, token: Token) -> None:
        self._end_item(token)
        top = self.stack.pop()
        assert isinstance(top, _OpenGroup)
        self._take_comments(top, False)
        if top.type == "LIST" and top.spread:
            top.group.trailing_comma = False  # behind `...` none may stand in a pattern
        if top.bare and top.type == "RECORD":
            if _ONE_NAME.fullmatch(self.text, top.start, token.end):  # without its comma, `=> { n }` is a block
                top.group.opener, top.group.closer, top.group.pad = "{ ", ", }", ""
                top.group.trailing_comma = False
        elif top.bare and not any(entry.line is not None for entry in top.group.entries):
            top.group.closer = ";}"  # `=> {}` is a record, and this is an empty block
        top.group.complete()
        self.end = token.end
        self.prefix = False

    def _skip(self, token: Token) -> int:
        """Passes over a template or an element that is kept as it is; gives its end."""
        bracket = token.value
        while True:
            self.at += 1
            last = self.tokens[self.at]
            if last.value is bracket and last.type in ("TEMPLATE_END", "END_TAG", "EMPTY_END"):
                self.prefix = False
                return last.end

    # --- elements -----------------------------------------------------------------------------------------------

    def _open_element(self, top: _OpenLine | None, token: Token, gap: _Gap) -> Piece:
        """Opens an element; it is a piece of `top`, if that is given."""
        piece: Piece
        if token.value.name in SPACE_ELEMENTS:
            end = self._skip(token)
            piece = Word(self.text[token.start : end])
        else:
            end = token.end
            piece = Element(self.text[token.start : end])
        if top is not None:
            self._add(top, piece, token, gap)
        if isinstance(piece, Element):
            self.stack.append(_OpenElement(piece))
        self.end = end
        self.prefix = False
        return piece

    def _in_element(self, top: _OpenElement, token: Token) -> None:
        """A token of a tag, or between tags."""
        type = token.type
        element = top.element
        text = self.text[token.start : token.end]
        if not top.in_text and type in _ATTRIBUTES:
            element.tag_broken |= self.text.find("\n", self.end, token.start) >= 0
        if type == "MARKUP_TEXT":
            return  # it is read when what follows it is known
        if type == "RAW_TEXT":
            element.raw = Word(text)
        elif type in _ATTRIBUTE_OPENERS:
            group = self._open(None, token, _NOTHING)
            group.gap = " "
            element.attributes.append(group)
            return
        elif type == "SHORTHAND":
            element.name += text
        elif type == "ATTRIBUTE":
            name, equals, value = text.partition("=")
            word = Word(f"{name.rstrip()}{equals}{value.lstrip()}")
            word.gap = " "
            element.attributes.append(word)
        elif type == "TAG_END" or type == "EMPTY_END":
            last = element.attributes[-1] if element.attributes else None
            apart = text == ">" and isinstance(last, Word) and last.text.endswith("/")
            element.sign = " >" if apart else text  # `<a href=x/ >` is not `<a href=x/>`
            if type == "EMPTY_END":
                self._end_element(top)
            elif self.tokens[self.at + 1].type != "RAW_TEXT":
                top.in_text = True
        elif type == "END_TAG":
            if top.in_text:
                units, space, may_break = self._text(top, token.start, True)
                element.units += units
                element.end_space = space if element.units or space == parts.SPACE else parts.TIGHT
                element.end_may_break = may_break
            element.end_tag = "".join(text.split())
            self._end_element(top)
        else:
            self._child(top, token)
            return
        self.end = token.end

    def _end_element(self, top: _OpenElement) -> None:
        self.stack.pop()
        top.element.complete()

    def _child(self, top: _OpenElement, token: Token) -> None:
        """`{`, a tag or a doctype between tags."""
        is_tag = token.type != "MARKUP_OPEN"
        units, space, may_break = self._text(top, token.start, is_tag)
        piece: Piece
        if token.type == "MARKUP_OPEN":
            piece = self._open(None, token, _NOTHING)
        elif token.type == "TAG":
            piece = self._open_element(None, token, _NOTHING)
        else:
            piece = Word(self.text[token.start : token.end])
            self.end = token.end
        unit = Unit(piece, is_tag=is_tag)
        unit.space, unit.may_break = space, may_break
        top.element.units += [*units, unit]
        top.after = token.type

    def _text(self, top: _OpenElement, end: int, before_tag: bool) -> tuple[list[Unit], int, bool]:
        """What stands before a tag or a brace, up to `end`."""
        after_tag = top.after != "MARKUP_OPEN"
        return read_text(self.text[self.end : end], after_tag, before_tag, top.after == "DOCTYPE")


def tokens_of(source: Source) -> list[Token]:
    """Every token of a source, up to its `END`."""
    next_token = Lexer(source, lambda *report: None).next_token
    found = [next_token()]
    while found[-1].type != "END":
        found.append(next_token())
    return found
