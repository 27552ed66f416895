"""From text to tokens. Every mode is decided here, from the token before and a stack of brackets.

Rule 1: the parser never talks back, save to restart the lexer after an error (`restart`).
Rule 2: brackets, elements and templates that come out are balanced: what is missing is put in, what is too much is
        dropped, both with a report. So the parser needs no rule for imbalance.
Rule 3: no recursion, and no pattern that can try one place twice: time is linear in the text.
Rule 4: a line break (`NL`) comes out only where it ends a statement or a match arm: never first or last in a block,
        never twice. What stands between tags, in templates and in tags is in `lexer_modes.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from compiler import lexer_modes, lexer_words
from compiler.lexer_comments import Comments
from compiler.literals import LARGEST_INT, malformed_number, number, too_big, unescape
from compiler.source import Source
from compiler.tokens import (
    CLOSER_OF_KIND,
    CLOSER_TYPES,
    ELEMENT_ENDS,
    ENDS_OPERAND,
    LINE_KINDS,
    MOST_NESTED,
    NO_LINE_END_AFTER,
    OPERATORS,
    Bracket,
    Token,
)

# Takes (code, message, start, end, hint).
Report = Callable[[str, str, int, int, str], None]

_CODE = re.compile(
    r"""[ \t\r]*+(?:
      ([A-Za-z_][A-Za-z0-9_]*+)
    | ((?: 0x[0-9a-fA-F]++(?:_[0-9a-fA-F]++)*+ | 0b[01]++(?:_[01]++)*+
         | (?: 0 | [1-9][0-9]*+(?:_[0-9]++)*+ )(?: \.[0-9]++(?:_[0-9]++)*+ )?(?: [eE][+-]?[0-9]++ )?
       )(?![0-9A-Za-z_]))
    | "((?: [^"\\\n]++ | \\[^\n] )*+)"
    | (\n)
    | (//|/\*)
    | ([(\[{])
    | ([)\]}])
    | (=== | !== | \|> | \+\+ | \*\* | \.\.\. | \.\.=? | \?\? | \?\. | \|\| | && | == | => | != | <= | >= | ->
         | [-+*/%]= | := | [.?|=!<>+\-*/%,:;])
    | (`)
    | (\Z)
    | (.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORD, _NUMBER, _TEXT, _LINE_END, _COMMENT, _OPEN, _CLOSE, _OPERATOR, _TEMPLATE, _END = range(1, 11)
_BETWEEN = (_LINE_END, _COMMENT)

# Space and comments, for a look ahead; a block comment with another one in it ends the look, which is harmless.
_GAP = r"(?:[ \t\r\n]++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+"
_RECORD_AHEAD = re.compile(
    rf"\{{{_GAP}(?:\}}|\.\.\.|[A-Za-z_][A-Za-z0-9_]*+{_GAP}[:,]|\"(?:[^\"\\\n]++|\\[^\n])*+\"{_GAP}:)"
)
_LAMBDA_AHEAD = re.compile(rf"\({_GAP}(?:\){_GAP}=>|[A-Za-z_][A-Za-z0-9_]*+{_GAP}(?:,|:|=(?![=>])|\){_GAP}=>))")
_ELSE_AHEAD = re.compile(r"else(?![A-Za-z0-9_])")
_SHOWN_AHEAD = re.compile(r"[A-Za-z0-9_]{1,40}|[^A-Za-z0-9_\s]")


class Lexer(Comments):
    """Gives the tokens of one source, from `next_token()`; the last is `END`, and it comes again and again."""

    def __init__(self, source: Source, report: Report, trust_indentation: bool = False) -> None:
        super().__init__(source, report, trust_indentation)
        self._start(0, "file")

    # --- starting and restarting --------------------------------------------------------------------------------

    def _start(self, at: int, previous: str) -> None:
        self.at = at
        self.previous = previous
        self.ended = False
        self.next_token: Callable[[], Token] = self._all().__next__

    def restart(self, at: int, brackets: list[Bracket], after: str) -> None:
        """Goes on at `at` inside `brackets`, as if a token of type `after` stood before it.

        With `after` "line end" a `NL` is given first, unless the innermost bracket ends there.
        """
        self.stack = brackets
        self.depth = 0
        for bracket in brackets:
            self.depth += bracket.depth + bracket.nested
        top = brackets[-1]
        self.depth -= top.nested
        top.nested = 0
        top.end_statement()
        top.in_pattern = top.kind == "match"
        self._start(at, after)

    def _all(self) -> Iterator[Token]:
        if self.previous == "file":
            self.at = self._read_notes()
            self.previous = "NL"
        if self.previous == "line end":
            self.at, _ = self.past_blanks(self.at, True)
            self.previous = "NL"
            if self.at < len(self.text) and self.text[self.at] != "}":
                yield Token("NL", "\n", self.at, self.at)
        while not self.ended:
            kind = self.stack[-1].kind
            if kind == "template":
                yield from lexer_modes.template(self)
            elif kind == "tag":
                yield from lexer_modes.tag(self)
            elif kind == "element":
                yield from lexer_modes.element(self)
            else:
                yield from self._code()
        end = Token("END", None, len(self.text), len(self.text))
        while True:
            yield end

    # --- code ---------------------------------------------------------------------------------------------------

    def _code(self) -> Iterator[Token]:
        """Code, up to where a template, a tag or text between tags begins or goes on."""
        text = self.text
        match = _CODE.match
        words = lexer_words.WORDS
        stack = self.stack
        top = stack[-1]
        previous = self.previous
        at = last = self.at  # `last` is the end of the token before
        while True:
            found = match(text, at)
            assert found is not None  # the last alternatives take whatever there is
            group = found.lastindex
            if group == _WORD:
                word = found[1]
                at = found.end()
                if word not in words:
                    previous = "NAME"
                    yield Token("NAME", word, at - len(word), at)
                    last = at
                    continue
                self.at = at
                self.previous = previous
                for token in lexer_words.word(self, word, at - len(word), top):
                    yield token
                if stack[-1] is not top or self.ended:
                    return
                previous = self.previous
                at = last = self.at
            elif group == _OPERATOR:
                spelling = found[8]
                at = found.end()
                start = at - len(spelling)
                if spelling == ",":
                    if top.in_type and not top.always_type:
                        top.in_type = False
                    if top.nested:
                        self.depth -= top.nested
                        top.nested = 0
                    if top.kind == "match" and not top.heads:
                        top.in_pattern = True
                    previous = "COMMA"
                elif spelling == ":":
                    if top.colon_types or top.declaring:
                        top.in_type = True
                    previous = "COLON"
                elif spelling == "=":
                    top.in_type = top.type_equals
                    top.type_equals = top.declaring = False
                    if top.heads and top.heads[-1] == "fn":
                        top.heads.pop()
                    previous = "EQ"
                elif spelling == ".":
                    if previous not in ENDS_OPERAND and text[at : at + 1].isdigit():
                        self.report("Q0004", "a float needs a digit before the point, as in `0.5`", start, at + 1, "")
                        text_end = re.compile(r"[0-9_]*").match(text, at)
                        assert text_end is not None
                        at = text_end.end()
                        previous = "FLOAT"
                        yield Token("FLOAT", 0.0, start, at)
                        last = at
                        continue
                    previous = "DOT"
                else:
                    simple = OPERATORS.get(spelling)
                    if simple is not None:
                        previous = simple
                    else:
                        self.at = at
                        self.previous = previous
                        for token in self._operator(spelling, start, last, top):
                            yield token
                        if stack[-1] is not top or self.ended:
                            return
                        previous = self.previous
                        at = last = self.at
                        continue
                yield Token(previous, spelling, start, at)
                last = at
            elif group == _OPEN:
                at = found.end()
                start = at - 1
                bracket, previous = self._open(text[start], start, last, previous, top)
                stack.append(bracket)
                self.depth += 1
                if self.depth > MOST_NESTED:
                    yield from self.too_deep(start)
                    return
                top = bracket
                yield Token(previous, bracket, start, at)
                last = at
            elif group == _CLOSE:
                at = found.end()
                start = at - 1
                if CLOSER_OF_KIND.get(top.kind) == text[start] and not self.trusting:
                    stack.pop()
                    self.depth -= 1 + top.nested
                    previous = CLOSER_TYPES[text[start]]
                    yield Token(previous, top, start, at)
                else:
                    self.previous = previous
                    for token in self._close(text[start], start):
                        yield token
                    if self.ended:
                        return
                    previous = self.previous
                last = at
                top = stack[-1]
                if top.kind not in CLOSER_OF_KIND and top.kind != "file":
                    self.at = at
                    self.previous = previous
                    return
            elif group == _NUMBER:
                at = found.end()
                spelling = found[2]
                start = at - len(spelling)
                kind, value, wrong = number(spelling)
                if kind == "INT" and value > LARGEST_INT:
                    smallest = value == LARGEST_INT + 1 and previous == "MINUS" and self.after_prefix == last
                    wrong = "" if smallest else too_big(spelling)
                if wrong:
                    self.report("Q0004", wrong, start, at, "")
                    value = 0
                elif text[at : at + 1] == "." and _POINT_WITHOUT_DIGIT.match(text, at):
                    self.report("Q0004", "a float needs a digit after the point, as in `1.0`", start, at + 1, "")
                    kind, value, at = "FLOAT", float(value), at + 1
                previous = kind
                yield Token(kind, value, start, at)
                last = at
            elif group == _TEXT:
                raw = found[3]
                at = found.end()
                start = at - len(raw) - 2
                previous = "TEXT"
                yield Token("TEXT", self.unescaped(raw, start + 1, False) if "\\" in raw else raw, start, at)
                last = at
            elif group in _BETWEEN:
                at, crossed = self.past_blanks(found.start(group), False)
                if not crossed or top.kind not in LINE_KINDS:
                    continue
                if self.trusting:
                    self.previous = previous
                    for token in self._close_by_place(at):
                        yield token
                    previous = self.previous
                    if stack[-1] is not top:
                        top = stack[-1]
                        if top.kind not in CLOSER_OF_KIND and top.kind != "file":
                            self.at = at
                            return
                        if top.kind not in LINE_KINDS:
                            continue
                if previous in NO_LINE_END_AFTER and (previous != "BANG" or not self.unary):
                    continue
                if self._goes_on(at):
                    continue
                self._end_statement(top)
                previous = "NL"
                yield Token("NL", "\n", last, last + 1)
                last = at
            elif group == _TEMPLATE:
                at = found.end()
                yield self.open_template("TEMPLATE", at - 1, at)
                return
            elif group == _END:
                self.at = len(text)
                self.previous = previous
                yield from self.close_at_end()
                return
            else:
                self.at = last
                self.previous = previous
                for token in self._unknown(found.start(11)):
                    yield token
                previous = self.previous
                at = last = self.at

    def _goes_on(self, at: int) -> bool:
        """Does the code at `at`, first on its line, belong to the statement before (or end its bracket)?"""
        text = self.text
        if at >= len(text):
            return True
        character = text[at]
        if character in "};":
            return True
        if character == ".":
            return text[at + 1 : at + 2] != "."
        if character == "?":
            return text[at + 1 : at + 2] in (".", "?")
        if character == "|":
            return True
        if character == "&":
            return text[at + 1 : at + 2] == "&"
        return character == "e" and _ELSE_AHEAD.match(text, at) is not None

    def _open(self, character: str, start: int, last: int, previous: str, top: Bracket) -> tuple[Bracket, str]:
        """The bracket that `(`, `[` or `{` opens, and the token type that says which it is."""
        operand_before = previous in ENDS_OPERAND
        if character == "(":
            if top.parameters_next:
                top.parameters_next = False
                bracket = Bracket("parameters", start, start + 1)
                bracket.colon_types = True
                bracket.always_type = bracket.in_type = top.in_type
                return bracket, "PARAMETERS"
            if operand_before and self._same_line(last, start):
                return Bracket("call", start, start + 1), "CALL"
            if (
                not top.in_type
                and not (top.heads and top.heads[-1] != "fn")
                and not top.in_pattern
                and _LAMBDA_AHEAD.match(self.text, start)
            ):
                bracket = Bracket("lambda", start, start + 1)
                bracket.colon_types = True
                return bracket, "LAMBDA"
            bracket = Bracket("paren", start, start + 1)
            bracket.always_type = bracket.in_type = top.in_type
            return bracket, "LPAREN"
        if character == "[":
            if operand_before and self._same_line(last, start):
                return Bracket("index", start, start + 1), "INDEX"
            return Bracket("list", start, start + 1), "LIST"
        if previous == "ELSE":
            return self._open_block("block", start, top)
        if operand_before:
            head = top.heads.pop() if top.heads else ""
            return self._open_block("match" if head == "match" else "block", start, top)
        if previous in ("ARROW", "THEN") and not _RECORD_AHEAD.match(self.text, start):
            return self._open_block("block", start, top)
        bracket = Bracket("record", start, start + 1)
        bracket.colon_types = bracket.in_type = top.in_type
        return bracket, "RECORD"

    def _open_block(self, kind: str, start: int, top: Bracket) -> tuple[Bracket, str]:
        top.in_type = False
        top.angles = 0
        bracket = Bracket(kind, start, start + 1)
        if kind == "match":
            bracket.in_pattern = True
            return bracket, "ARMS"
        return bracket, "BLOCK"

    def _same_line(self, last: int, start: int) -> bool:
        return last == start or self.text.find("\n", last, start) < 0

    def _operator(self, spelling: str, start: int, last: int, top: Bracket) -> Iterator[Token]:
        """Operators whose meaning hangs on what stands around them."""
        text = self.text
        previous = self.previous
        at = self.at
        type = ""
        if spelling == "<":
            following = text[at : at + 1]
            if top.in_type and previous in ENDS_OPERAND:
                top.angles += 1
                type = "TLT"
            elif following == "/" and _END_TAG_AHEAD.match(text, at):
                yield from lexer_modes.end_tag_in_code(self, start)
                return
            elif (previous not in ENDS_OPERAND or previous in ELEMENT_ENDS) and (
                following.isalpha() or following in (">", "!")
            ):
                yield from lexer_modes.open_tag(self, start)
                return
            else:
                type = "COMPARE"
        elif spelling == ">" or spelling == ">=":
            if top.in_type and top.angles:
                top.angles -= 1
                type = "TGT"
                self.at = at = start + 1
                spelling = ">"
            else:
                type = "COMPARE"
        elif spelling == "=>":
            top.in_type = False
            if top.kind == "match" and top.in_pattern:
                top.in_pattern = False
                top.heads.clear()
                type = "THEN"
            elif top.heads and top.heads[-1] != "fn":
                if top.heads[-1] == "for":
                    top.heads.pop()
                    self._deeper(top)
                type = "THEN"
            else:
                self._deeper(top)
                type = "ARROW"
        elif spelling == "->":
            top.in_type = True
            self._deeper(top)
            type = "RARROW"
        elif spelling == "-" or spelling == "!":
            type = "MINUS" if spelling == "-" else "BANG"
            unary = previous not in ENDS_OPERAND
            if not unary and spelling == "-" and lexer_words.is_postfix(text, at, "-"):
                self.report(
                    "Q0013", "there is no `--` here: to take 1 from a variable write `x -= 1`", start, at + 1, ""
                )
                self.at = at + 1
                return
            if unary and self.after_prefix == last and previous in ("MINUS", "BANG"):
                self._deeper(top)
            self.unary = unary
            if unary:
                self.after_prefix = at
        elif spelling == ";":
            yield from self._semicolon(start, top)
            return
        else:
            type = lexer_words.foreign_operator(self, spelling, start, at)
            if not type:
                return
        self.previous = type
        yield Token(type, spelling, start, at)
        if self.depth > MOST_NESTED:
            yield from self.too_deep(start)

    def _end_statement(self, top: Bracket) -> None:
        """A statement or an arm of the innermost bracket ends: what nested in it is closed."""
        if top.nested:
            self.depth -= top.nested
            top.nested = 0
        top.end_statement()
        if top.kind == "match":
            top.in_pattern = True

    def _semicolon(self, start: int, top: Bracket) -> Iterator[Token]:
        """`;` ends a statement; before a bracket's end or after another end it says nothing new."""
        if top.kind in LINE_KINDS:
            previous = self.previous
            self._end_statement(top)
            self.at, crossed = self.past_blanks(self.at, False)
            while self.at < len(self.text) and self.text[self.at] == ";":
                self.at, crossed = self.past_blanks(self.at + 1, crossed)
            if crossed and self.trusting:
                yield from self._close_by_place(self.at)
            at_end = self.at >= len(self.text) or self.text[self.at] == "}"
            if previous in ("NL", "BLOCK", "ARMS", "EVENT_OPEN") or at_end:
                return
        self.previous = "NL"
        yield Token("NL", ";", start, start + 1)

    def _deeper(self, top: Bracket) -> None:
        top.nested += 1
        self.depth += 1

    def _unknown(self, start: int) -> Iterator[Token]:
        """What begins no token: a malformed number, an unfinished text, or a character that has no place in code."""
        text = self.text
        character = text[start]
        if character.isdigit() and character.isascii():
            self.at, sentence = malformed_number(text, start)
            self.report("Q0004", sentence, start, self.at, "")
            self.previous = "INT"
            yield Token("INT", 0, start, self.at)
            return
        if character == '"':
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            self.report("Q0002", "this text is not closed: a `\"` is missing before the line's end", start, end, "")
            self.at = end
            self.previous = "BAD"
            yield Token("TEXT", text[start + 1 : end], start, end)
            yield Token("BAD", None, end, end)
            return
        yield from lexer_words.unknown_character(self, character, start)

    def unescaped(self, raw: str, start: int, in_template: bool) -> str:
        """What `raw`, which stands at `start`, says; wrong escapes are reported at their places."""
        value, wrong = unescape(raw, in_template)
        for begin, end, sentence in wrong:
            self.report("Q0003", sentence, start + begin, start + end, "")
        return value

    def open_template(self, type: str, start: int, end: int) -> Token:
        bracket = Bracket("template", start, end)
        bracket.depth = 0
        self.stack.append(bracket)
        self.at = end
        self.previous = type
        return Token(type, bracket, start, end)


_POINT_WITHOUT_DIGIT = re.compile(r"\.(?![.A-Za-z_])|\.[eE][0-9]")
_END_TAG_AHEAD = re.compile(r"/(?:[A-Za-z]|>)")
