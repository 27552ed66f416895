"""After an error: what is said about it, and where parsing goes on.

Rule 1: in a hole (`${…}`, `{…}` of markup, an attribute's value) parsing goes on behind the hole.
Rule 2: else it goes on at the next line, with the brackets that the broken statement opened thrown away. Lines that
        begin with `.` `?.` `|` `??` `&&` `||`, and deeper lines after one that ended in an opening bracket, belong to
        the broken statement.
Rule 3: a broken head that ends in `{` still has its block read.
Rule 4: where a `{` could stand at a line's end and the next line is indented deeper, or begins with it, parsing goes on
        as if it stood there.
Rule 5: each restart is strictly further on than the last, and a missing `{` is put in once at a place. So it ends.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compiler import expectations
from compiler.automaton import ROWS, acceptable, accepts
from compiler.diagnostics import MOST
from compiler.syntax import Invalid
from compiler.tokens import CLOSER_OF_KIND, CLOSER_TYPES, KEYWORDS, OPENER_TEXT, Bracket, Token, types

if TYPE_CHECKING:
    from compiler.parser import Reading

HOLES = types("HOLE MARKUP_OPEN ATTRIBUTE_OPEN SPREAD_OPEN")
BODIES = types("BLOCK ARMS EVENT_OPEN")
BRACKETS = types("CALL PARAMETERS LAMBDA LPAREN LIST INDEX RECORD")
OPENERS = HOLES | BODIES | BRACKETS | types("TEMPLATE SQL TAG")

CLOSERS = types("RPAREN RBRACKET RBRACE TEMPLATE_END EMPTY_END END_TAG")

_GOES_ON = re.compile(r"\.(?!\.)|\?[.?]|\||&&")
_BEGINS_STATEMENT = re.compile(
    r"[ \t]*(?:(?:let|fn|return|while|type|route|component|private|public|server|service|use|import|build|test|state)"
    r"[ \t]+[\w\"/{\[(]|(?:break|continue|return)[ \t]*(?:\n|\Z))"
)
_OPEN_ENDS = ",+-*/%=|&?:([{<>."  # a line that ends in one of these goes on
_NOTHING_MORE = re.compile(r"[ \t]*(?://[^\n]*)?(?:\n|\Z)")
# Tokens with which no statement begins.
_NEVER_FIRST = types(
    "COALESCE OR AND EQUALITY IN COMPARE RANGE PLUS TIMES PIPE DOT QDOT QUESTION COMMA COLON EQ ASSIGN "
    "ARROW THEN RARROW RPAREN RBRACKET RBRACE ELSE BAD ELLIPSIS TGT TLT"
)
_CHAINED = {"EQUALITY": ("EQUALITY", "IN"), "IN": ("EQUALITY", "IN"), "COMPARE": ("COMPARE",), "RANGE": ("RANGE",)}
# After these reports of the lexer, an error of the grammar on the same line, or in the same statement, is no news.
_SAME_LINE = types("Q0001 Q0004 Q0013")
_SAME_STATEMENT = types("Q0002 Q0006 Q0007 Q0008 Q0009 Q0010 Q0011 Q0012")


def recover(reading: Reading, token: Token) -> Token:
    """Reports the error at `token`, changes the stacks so that parsing can go on, and gives the token to go on with."""
    brace = _missing_brace(reading, token)
    resume = _explain(reading, token, brace)
    if brace is not None:
        return _put_in_brace(reading, *brace)
    if resume < 0:
        hole = _nearest(reading)
        if isinstance(reading.values[hole], Token) and reading.values[hole].type in HOLES:
            return _leave_hole(reading, hole, token)
    return _leave_statement(reading, token, resume)


# --- the stacks ---------------------------------------------------------------------------------------------------


def _nearest(reading: Reading, below: int | None = None) -> int:
    """The place in the stacks nearest to their top (below `below`) at which `error` can be read.

    What stands in a bracket that has its closing one already is no such place: the lexer is out of it.
    """
    index = (len(reading.states) if below is None else below) - 1
    closed = 0
    while index > 0:
        if not closed and ROWS[reading.states[index]].get("error", 0) > 0:
            break
        value = reading.values[index]
        if type(value) is Token:
            if value.type in CLOSERS:
                closed += 1
            elif closed and value.type in OPENERS:
                closed -= 1
        index -= 1
    return index


def _brackets(reading: Reading, upto: int) -> list[Bracket]:
    """The brackets that are open at a place in the stacks, outermost first, as the lexer's stack has them."""
    found = [reading.lexer.stack[0]]
    for value in reading.values[1 : upto + 1]:
        if type(value) is Token:
            if value.type in OPENERS:
                found.append(value.value)
            elif value.type in CLOSERS:
                found.pop()
    return found


def _cut(reading: Reading, length: int) -> None:
    del reading.states[length:], reading.values[length:], reading.places[length:]


def _read_error(reading: Reading, index: int, token: Token) -> None:
    """Cuts the stacks to `index`, and puts an `Invalid` there for all that was thrown away before `token`."""
    start = reading.places[index + 1] if len(reading.places) > index + 1 else token.start
    start = min(start, token.start)
    end = max(start, reading.last.end if reading.last is not None else start)
    _cut(reading, index + 1)
    reading.states.append(ROWS[reading.states[index]]["error"])
    reading.values.append(Invalid(start, end))
    reading.places.append(start)


def _innermost(reading: Reading, kinds: frozenset[str], upto: int | None = None) -> int:
    """The place in the stacks of the innermost opening token of these types that is open; 0 for the file itself."""
    index = len(reading.values) - 1 if upto is None else upto
    closed = 0
    while index > 0:
        value = reading.values[index]
        if type(value) is Token:
            if value.type in CLOSERS:
                closed += 1
            elif value.type in OPENERS:
                if closed:
                    closed -= 1
                elif value.type in kinds:
                    return index
        index -= 1
    return 0


def _first_of_statement(reading: Reading, within: frozenset[str] = BODIES | HOLES) -> int:
    """The place in the stacks at which the innermost statement, arm or hole begins (it may be past their end)."""
    opener = _innermost(reading, within)
    value = reading.values[opener]
    if type(value) is Token and value.type in HOLES:
        return opener + 1
    after = opener + 2
    if len(reading.values) > after and type(reading.values[opener + 1]) is list:
        separator = reading.values[after]
        if type(separator) is Token and separator.type in ("NL", "COMMA"):
            return after + 1
    return opener + 1


# --- what is said -------------------------------------------------------------------------------------------------


def _explain(reading: Reading, token: Token, brace: tuple[str, int] | None) -> int:
    """Reports the error at `token`. Gives the start of the line at which parsing should go on, -1 if that is open.

    `brace`: what `_missing_brace` found.
    """
    text = reading.text
    first = _first_of_statement(reading)
    start = reading.places[first] if first < len(reading.places) else token.start
    reading.reports += 1
    speaks = token.type != "BAD" and reading.reports <= 2 * MOST and not _is_no_news(reading, start, token)
    if speaks and not reading.silent and _blame_template(reading, start, token):
        return -1
    if brace is not None and text[brace[1]] == "{":
        if speaks:
            message = "the `{` of a block stands on the line of its head"
            reading.report("Q0101", message, brace[1], brace[1] + 1)
        return -1
    line_start = text.rfind("\n", 0, token.start) + 1
    if start < line_start:
        opener = _unclosed(reading, token, line_start)
        if opener is not None:
            if speaks:
                sign = OPENER_TEXT[CLOSER_OF_KIND[opener.value.kind]]
                reading.report("Q0007", f"`{sign}` is not closed", opener.start, opener.start + 1)
            return line_start if line_start > reading.restarted_at else -1
        if _is_new_statement(reading, token, line_start, start):
            kept = len(reading.places)
            while kept > first + 1 and reading.places[kept - 1] >= line_start:
                kept -= 1
            if speaks:
                states = reading.states[:kept]
                end = len(text[:line_start].rstrip())
                wanted = expectations.expected(acceptable(states))
                reading.report("Q0101", f"expected {wanted}, found the line's end", end, end + 1)
            return line_start if line_start > reading.restarted_at else -1
    if speaks:
        _say(reading, token, first >= len(reading.places))
    return -1


def _say(reading: Reading, token: Token, begins: bool) -> None:
    text = reading.text
    values = reading.values
    if token.type in _CHAINED and len(values) > 2 and type(values[-2]) is Token:
        sign = values[-2]
        if sign.type in _CHAINED[token.type]:
            way = (
                "put one in brackets"
                if token.type == "RANGE"
                else "join two comparisons with `&&`, as in `a < b && b < c`"
            )
            reading.report("Q0102", f"`{_spelling(text, token)}` can't be chained: {way}", token.start, token.end)
            return
    start, end = token.start, max(token.end, token.start + 1)
    if token.type == "END" and reading.last is not None:
        start = reading.last.end
        end = start + 1
    meant = expectations.advice(reading.last, token, text, begins)
    if _is_misused_keyword(reading, token):
        meant = f"`{_spelling(text, token)}` is a keyword: nothing can have it as its name"
    if token.type in ("ARROW", "COLON") and accepts(reading.states, "RARROW"):
        meant = "the type of a result is written `-> int` here"
        if token.type == "ARROW":
            meant = "the body of a function stands after `=`, or in `{ … }`"
    if meant:
        reading.report("Q0101", meant, start, end)
        return
    wanted = expectations.expected(acceptable(reading.states))
    what = expectations.found(token, text)
    if wanted:
        reading.report("Q0101", f"expected {wanted}, found {what}", start, end)
    else:
        reading.report("Q0101", f"{what} does not fit here", start, end)


def _is_misused_keyword(reading: Reading, token: Token) -> bool:
    """Does a keyword stand where a new name has to?"""
    if _spelling(reading.text, token) not in KEYWORDS or reading.last is None or reading.last.type in ("ARMS", "NL"):
        return False
    return accepts(reading.states, "NAME") and not accepts(reading.states, "LPAREN")


def _spelling(text: str, token: Token) -> str:
    return text[token.start : token.end]


def _is_no_news(reading: Reading, start: int, token: Token) -> bool:
    """Has the lexer already reported what this error comes from?"""
    place, code = reading.lexical
    if place < start or place > token.end:
        return False
    if code in _SAME_STATEMENT:
        return True
    return code in _SAME_LINE and reading.source.line(place) == reading.source.line(token.start)


def _blame_template(reading: Reading, start: int, token: Token) -> bool:
    """A template that runs over lines before the first error of its statement is itself the error, and the last."""
    for begin, end in reading.lexer.long_templates:
        if begin >= start and end <= token.start:
            line = reading.source.line(token.start)
            reading.report(
                "Q0006",
                f"this template runs over lines, and line {line} can't be read after it: is a `` ` `` missing?",
                begin,
                begin + 1,
            )
            reading.silent = True
            return True
    return False


def _unclosed(reading: Reading, token: Token, line_start: int) -> Token | None:
    """The bracket that was not closed, where the line of `token` belongs to what comes after it."""
    text = reading.text
    lexer = reading.lexer
    kept = len(reading.places)
    while kept > 1 and reading.places[kept - 1] >= line_start:
        kept -= 1
    index = _innermost(reading, OPENERS, kept - 1)
    opener = reading.values[index]
    if index == 0 or opener.type not in BRACKETS or text[line_start : token.end].lstrip()[:1] in (")", "]", "}"):
        return None
    if not accepts(reading.states[:kept], CLOSER_TYPES[CLOSER_OF_KIND[opener.value.kind]]):
        return None
    indentation = lexer.indentation(token.start)
    level = lexer.indentation(opener.start)
    if _BEGINS_STATEMENT.match(text, line_start) and indentation <= level:
        return opener
    first_on_line = not text[line_start : token.start].strip()
    inside = opener.end
    if _NOTHING_MORE.match(text, inside):
        content = text.find("\n", inside) + 1
        while content < token.start and not text[content : _end_of_line(text, content)].strip():
            content = _end_of_line(text, content) + 1
        return opener if first_on_line and indentation < lexer.indentation(content) else None
    goes_on = not first_on_line and text[:line_start].rstrip()[-1:] in _OPEN_ENDS
    return None if goes_on or indentation > level else opener


def _is_new_statement(reading: Reading, token: Token, line_start: int, start: int) -> bool:
    """Does a new statement begin on the line of the error, before what stands above it has ended?"""
    lexer = reading.lexer
    if lexer.indentation(token.start) > lexer.indentation(start):
        return False
    return _BEGINS_STATEMENT.match(reading.text, line_start) is not None


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


# --- where parsing goes on ----------------------------------------------------------------------------------------


def _missing_brace(reading: Reading, token: Token) -> tuple[str, int] | None:
    """Rule 4: (BLOCK or ARMS, where the next code stands) if a `{` is missing at the line's end, else None."""
    text = reading.text
    last = reading.last
    if last is None:
        return None
    if token.type == "COLON" and _NOTHING_MORE.match(text, token.end):
        last = token  # `if c:`, as in Python
    elif token.type not in ("NL", "BAD") and text.find("\n", last.end, token.start) < 0:
        return None
    type = next((type for type in ("BLOCK", "ARMS") if accepts(reading.states, type)), None)
    if type is None or (token.type == "NL" and token.value == ";"):
        return None
    lexer = reading.lexer
    next_code, crossed = lexer.past_blanks(last.end, False)
    if not crossed or next_code >= len(text) or next_code in reading.opened_at:
        return None
    if text[next_code] != "{" and lexer.indentation(next_code) <= lexer.indentation(_statement_place(reading, last)):
        return None
    return type, next_code


def _put_in_brace(reading: Reading, type: str, next_code: int) -> Token:
    """Rule 4: goes on as if the `{`, which stands at `next_code` or nowhere, stood at the end of its head's line."""
    reading.opened_at.add(next_code)
    brackets = _brackets(reading, len(reading.values) - 1)
    brackets[-1].heads.clear()
    there = reading.text[next_code] == "{"
    at = next_code if there or reading.last is None else reading.last.end
    bracket = Bracket("match" if type == "ARMS" else "block", at, at + 1)
    bracket.invented = not there
    reading.lexer.restart(next_code + 1 if there else next_code, [*brackets, bracket], type)
    return Token(type, bracket, at, at + 1)


def _leave_hole(reading: Reading, index: int, token: Token) -> Token:
    """Rule 1: skips to the end of the hole that opened at `index`.

    Where a line comes first that is indented no deeper than the statement around, the hole is not closed.
    """
    text = reading.text
    lexer = reading.lexer
    bracket = reading.values[index].value
    indentation = lexer.indentation(_statement_place(reading, token, BODIES))
    last_end = reading.last.end if reading.last is not None else token.start
    next_token = lexer.next_token
    reading.lexer.skipping = True
    while token.type != "END" and not (token.type == "RBRACE" and token.value is bracket):
        if text.find("\n", last_end, token.start) >= 0 and token.type not in _NEVER_FIRST:
            line_start = text.rfind("\n", 0, token.start) + 1
            if line_start > reading.restarted_at and lexer.indentation(token.start) <= indentation:
                return _leave_statement(reading, token, line_start)
        reading.last = token
        last_end = token.end
        token = next_token()
    reading.lexer.skipping = False
    if token.type == "END":
        return _leave_file(reading, token)
    _read_error(reading, index, token)
    return token


def _leave_file(reading: Reading, token: Token) -> Token:
    """At the file's end, with brackets that nothing will close: goes back to the file's own level."""
    _read_error(reading, _nearest(reading, 2 if len(reading.states) < 4 else _file_level(reading)), token)
    return token


def _file_level(reading: Reading) -> int:
    """How much of the stacks belongs to the file's own list of statements."""
    if len(reading.values) > 2 and type(reading.values[1]) is list:
        return 3
    return 1


def _leave_statement(reading: Reading, token: Token, resume: int) -> Token:
    """Rules 2 and 3: skips what belongs to the broken statement."""
    index = _nearest(reading)
    while type(reading.values[index]) is Token and reading.values[index].type in HOLES:
        index = _nearest(reading, index)
    base = _brackets(reading, index)
    if resume >= 0:
        token = _restart(reading, resume, base)
    else:
        reading.lexer.skipping = True
        token = _skip(reading, token, base)
        reading.lexer.skipping = False
    if token.type == "END":
        return _leave_file(reading, token) if len(base) > 1 else _finish(reading, index, token)
    # The nearest place at which the token fits behind `error`.
    lowest = _innermost(reading, BODIES | HOLES, index)
    place = index
    while place >= lowest:
        error = ROWS[reading.states[place]].get("error", 0)
        if error > 0 and accepts([*reading.states[: place + 1], error], token.type):
            break
        place -= 1
    return _finish(reading, place if place >= lowest else index, token)


def _finish(reading: Reading, index: int, token: Token) -> Token:
    _read_error(reading, index, token)
    return token


def _restart(reading: Reading, at: int, base: list[Bracket]) -> Token:
    reading.restarted_at = at
    reading.lexer.skipping = False
    reading.lexer.restart(at, base, "line end")
    return reading.lexer.next_token()


def _skip(reading: Reading, token: Token, base: list[Bracket]) -> Token:
    """Skips tokens up to where parsing can go on; restarts the lexer where a new line begins."""
    text = reading.text
    lexer = reading.lexer
    next_token = lexer.next_token
    context = base[-1]
    depth = len(base)
    last_end = reading.last.end if reading.last is not None else 0
    statement_start = _statement_place(reading, token)
    indentation = lexer.indentation(statement_start)
    while True:
        type = token.type
        if type == "END" or (type == "RBRACE" and token.value is context):
            return token
        if type == "NL" and len(lexer.stack) == depth:
            return token
        if text.find("\n", last_end, token.start) >= 0 and not _in_text(lexer.stack, depth):
            line_start = text.rfind("\n", 0, token.start) + 1
            belongs = (
                _GOES_ON.match(text, token.start) is not None
                or (type in ("RPAREN", "RBRACKET", "RBRACE") and token.value not in base)
                or (len(lexer.stack) > depth and lexer.indentation(token.start) > indentation)
                or type in _NEVER_FIRST
            )
            if not belongs and line_start > reading.restarted_at:
                return _restart(reading, line_start, base)
        if type in ("BLOCK", "ARMS") and _NOTHING_MORE.match(text, token.end):
            if len(lexer.stack) == depth + 1:
                return token
            if context.heads:
                lexer.restart(token.end, [*base, token.value], type)
                context.heads.clear()
                return token
        last_end = token.end
        reading.last = token
        token = next_token()


def _statement_place(reading: Reading, token: Token, within: frozenset[str] = BODIES | HOLES) -> int:
    """Where the innermost statement, arm or hole begins; `token` is the one that follows what is on the stacks."""
    first = _first_of_statement(reading, within)
    return reading.places[first] if first < len(reading.places) else token.start


def _in_text(stack: list[Bracket], depth: int) -> bool:
    """Is a template, a tag or an element open that the broken statement opened?"""
    return any(bracket.kind in ("template", "tag", "element") for bracket in stack[depth:])
