"""The lexer where text is not code: in templates, in tags, and between tags.

Each function gives tokens as long as its mode lasts, and leaves the lexer at the place where another begins.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from compiler.tokens import (
    CLOSER_OF_KIND,
    ELEMENT_ENDS,
    MOST_NESTED,
    OPENER_TEXT,
    RAW_ELEMENTS,
    SPACE_ELEMENTS,
    VOID_ELEMENTS,
    Bracket,
    Token,
)

if TYPE_CHECKING:
    from compiler.lexer import Lexer

_TEMPLATE_TEXT = re.compile(r"((?:[^`\\$]++|\\.|\$(?!\{))*+)(`|\$\{)?", re.DOTALL)
_TAG = re.compile(r"<(?:([A-Za-z][A-Za-z0-9_:-]*+)((?:[.#][A-Za-z0-9_-]+)*+))?")
_QUALIFIED = re.compile(r"\.([A-Z][A-Za-z0-9_]*)")
_END_TAG = re.compile(r"</\s*+([A-Za-z0-9_:.-]*+)\s*+>")
_DOCTYPE = re.compile(r"<!doctype\b[^>]*+>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""\s*+(?:
      (/?>)
    | ([^\s"'<>/={}`]++)
      (?:\s*+=\s*+(?: "([^"]*+)" | '([^']*+)' | (\{) | ((?:(?!/>)[^\s>"'{])(?:(?!/>)[^\s>])*+) )? )?
    | (\{)
    | (\Z)
    | (.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_SPREAD_AHEAD = re.compile(r"\s*+\.\.\.")
# A value in quotes that holds a tag's end and what comes after it: its own closing quote is missing.
_RUNS_OVER = re.compile(r"[^<>\n]*+>(?:[^<\n]*+</|[^<\n]*+\n)")
_UP_TO_TAG_END = re.compile(r"(?:(?!/?>)[^\n])*+")
_TEXT_RUN = re.compile(r"[^<{]++")
_WHITE = re.compile(r"[ \t\n\r\f]+")
_NEXT_DECLARATION = re.compile(r"\n[A-Za-z}]")
_PARTS = re.compile(r"[.#][A-Za-z0-9_-]+")
# What ends raw text: found by lower-cased name, so that the patterns are made once.
_RAW_END = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in sorted(RAW_ELEMENTS)}

_TAG_BEFORE = frozenset({"TAG_END", "END_TAG", "EMPTY_END", "DOCTYPE"})


# --- templates ----------------------------------------------------------------------------------------------------


def template(lexer: Lexer) -> Iterator[Token]:
    """The text of a template up to its end or its next `${`."""
    text = lexer.text
    bracket = lexer.stack[-1]
    start = lexer.at
    found = _TEMPLATE_TEXT.match(text, start)
    assert found is not None  # it may be empty
    raw = found[1]
    end = start + len(raw)
    if raw:
        value = lexer.unescaped(raw, start, True) if "\\" in raw else raw
        yield Token("TEMPLATE_TEXT", value, start, end)
    closing = found[2]
    if closing is None:
        lexer.at = len(text)
        yield from lexer.close_at_end()
        return
    lexer.at = end + len(closing)
    if closing == "`":
        lexer.stack.pop()
        if text.find("\n", bracket.start, end) >= 0:
            lexer.long_templates.append((bracket.start, end + 1))
        lexer.previous = "TEMPLATE_END"
        yield Token("TEMPLATE_END", bracket, end, end + 1)
    else:
        yield from _open(lexer, "HOLE", "hole", end, end + 2)


def _open(lexer: Lexer, type: str, kind: str, start: int, end: int, value: str | None = None) -> Iterator[Token]:
    """Opens a bracket in which code stands. `value`: the name of the attribute whose value it holds."""
    bracket = Bracket(kind, start, end)
    if value is not None:
        bracket.name = value
    lexer.stack.append(bracket)
    lexer.depth += 1
    lexer.at = end
    if lexer.depth > MOST_NESTED:
        yield from lexer.too_deep(start)
        return
    lexer.previous = type
    yield Token(type, bracket, start, end)


# --- tags ---------------------------------------------------------------------------------------------------------


def open_tag(lexer: Lexer, start: int) -> Iterator[Token]:
    """What begins with `<` at `start`: a tag, a comment or a doctype."""
    text = lexer.text
    if text.startswith("<!", start):
        if text.startswith("<!--", start):
            lexer.at = _comment_end(lexer, start)
            return
        doctype = _DOCTYPE.match(text, start)
        if doctype is None:
            lexer.report("Q0011", "`<!` begins `<!DOCTYPE html>` or a comment, `<!-- … -->`", start, start + 2, "")
            lexer.at = start + 2
            lexer.previous = "BAD"
            yield Token("BAD", None, start, start + 2)
            return
        lexer.at = doctype.end()
        lexer.previous = "DOCTYPE"
        yield Token("DOCTYPE", doctype[0], start, doctype.end())
        return
    found = _TAG.match(text, start)
    assert found is not None  # a letter or `>` follows the `<`
    name = found[1] or ""
    end = start + 1 + len(name)
    if name and not name[0].isupper():
        qualified = _QUALIFIED.match(text, end)
        if qualified is not None:
            name = f"{name}.{qualified[1]}"
            end = qualified.end()
    bracket = Bracket("tag", start, end)
    bracket.name = name
    bracket.keeps_space = name in SPACE_ELEMENTS or (lexer.stack[-1].kind == "element" and lexer.stack[-1].keeps_space)
    lexer.stack.append(bracket)
    lexer.depth += 1
    if lexer.depth > MOST_NESTED:
        yield from lexer.too_deep(start)
        return
    lexer.previous = "TAG"
    yield Token("TAG", bracket, start, end)
    for part in _PARTS.finditer(text, end, found.end()):
        kind = "class" if part[0][0] == "." else "id"
        yield Token("SHORTHAND", (kind, part[0][1:]), part.start(), part.end())
    lexer.at = max(end, found.end())


def tag(lexer: Lexer) -> Iterator[Token]:
    """The attributes of a tag, up to its `>`, its `/>` or a `{` in it."""
    text = lexer.text
    bracket = lexer.stack[-1]
    while True:
        found = _ATTRIBUTE.match(text, lexer.at)
        assert found is not None  # the last alternatives take whatever there is
        group = found.lastindex or 0
        end = found.end()
        start = found.start(group)
        if group == 1:
            lexer.at = end
            yield from _finish_tag(lexer, bracket, found[1], start, end)
            return
        if 2 <= group <= 6:
            name = found[2]
            start = found.start(2)
            if group == 5:
                if name.startswith("@"):
                    yield from _open(lexer, "EVENT_OPEN", "event", start, end, name[1:])
                else:
                    yield from _open(lexer, "ATTRIBUTE_OPEN", "attribute", start, end, name)
                return
            value: str | bool = True if group == 2 else found[group]
            lexer.at = end
            problem = _attribute_problem(text, found.end(2), end, name, group)
            if not problem and group in (3, 4) and _RUNS_OVER.match(found[group]):
                problem = f"the value of `{name}` is not closed: a `{text[found.start(group) - 1]}` is missing"
                end = found.start(group) - 1
            if problem:
                lexer.report("Q0011", problem, start, found.end(2), "")
                if text[end : end + 1] in ('"', "'"):
                    # The quote that is not closed goes up to the tag's end, or that of the line.
                    rest = _UP_TO_TAG_END.match(text, end)
                    lexer.at = end = rest.end() if rest is not None else end + 1
                    value = ""
            yield Token("ATTRIBUTE", (name, value), start, end)
        elif group == 7 and _SPREAD_AHEAD.match(text, end):
            yield from _open(lexer, "SPREAD_OPEN", "spread", start, end)
            return
        elif group == 8:
            lexer.at = len(text)
            yield from lexer.close_at_end()
            return
        elif group == 7 or found[9] == "<":
            lexer.report(
                "Q0011", f"the tag `<{bracket.name}` is not finished: `>` is missing", bracket.start, bracket.end, ""
            )
            lexer.at = start
            yield from _finish_tag(lexer, bracket, ">", start, start)
            return
        else:
            lexer.report("Q0011", f"`{found[9]}` has no place in a tag", start, end, "")
            lexer.at = end


def _attribute_problem(text: str, name_end: int, end: int, name: str, group: int) -> str:
    if group == 2 and text.find("=", name_end, end) >= 0:
        if text[end : end + 1] in ('"', "'"):
            return f"the value of `{name}` is not closed: a `{text[end]}` is missing"
        return f"the value of `{name}` is missing after the `=`"
    if group == 6 and '"' in text[name_end:end]:
        return f'a `"` is missing: the value of `{name}` stands between two of them, or has none in it'
    if name.startswith("@"):
        return f"`{name}` takes statements in braces: `{name}={{…}}`"
    if name.startswith("bind:"):
        return f"`{name}` takes a variable in braces: `{name}={{…}}`"
    return ""


def _finish_tag(lexer: Lexer, bracket: Bracket, sign: str, start: int, end: int) -> Iterator[Token]:
    """`>` or `/>`: from here on the element is closed, or text stands in it."""
    if sign == "/>" or bracket.name in VOID_ELEMENTS:
        lexer.stack.pop()
        lexer.depth -= 1
        lexer.previous = "EMPTY_END"
        yield Token("EMPTY_END", bracket, start, end)
        return
    bracket.kind = "element"
    lexer.previous = "TAG_END"
    yield Token("TAG_END", bracket, start, end)
    if bracket.name not in RAW_ELEMENTS:
        return
    closing = _RAW_END[bracket.name].search(lexer.text, end)
    if closing is None:
        lexer.at = len(lexer.text)
        yield from lexer.close_at_end()
        return
    if closing.start() > end:
        yield Token("RAW_TEXT", lexer.text[end : closing.start()], end, closing.start())
    lexer.stack.pop()
    lexer.depth -= 1
    lexer.at = closing.end()
    lexer.previous = "END_TAG"
    yield Token("END_TAG", bracket, closing.start(), closing.end())


# --- between tags -------------------------------------------------------------------------------------------------


def element(lexer: Lexer) -> Iterator[Token]:
    """What stands between tags, up to where code begins or the element ends."""
    text = lexer.text
    bracket = lexer.stack[-1]
    start = at = lexer.at
    pieces: list[str] = []
    while True:
        run = _TEXT_RUN.match(text, at)
        if run is not None:
            pieces.append(run[0])
            at = run.end()
        if at >= len(text):
            yield from _flush(lexer, pieces, start, at, True)
            lexer.at = at
            yield from lexer.close_at_end()
            return
        if text[at] == "{":
            yield from _flush(lexer, pieces, start, at, False)
            yield from _open(lexer, "MARKUP_OPEN", "markup", at, at + 1)
            return
        following = text[at + 1 : at + 2]
        if following == "/":
            yield from _flush(lexer, pieces, start, at, True)
            if (yield from _end_tag(lexer, at)) and lexer.stack[-1] is not bracket:
                return
            pieces.clear()
            start = at = lexer.at
        elif following == "!" and text.startswith("<!--", at):
            at = _comment_end(lexer, at)
        elif following and ((following.isalpha() and following.isascii()) or following in "!>"):
            yield from _flush(lexer, pieces, start, at, True)
            yield from open_tag(lexer, at)
            if lexer.stack[-1] is not bracket or lexer.ended:
                return
            pieces.clear()
            start = at = lexer.at
        else:
            pieces.append("<")
            at += 1


def _flush(lexer: Lexer, pieces: list[str], start: int, end: int, tag_after: bool) -> Iterator[Token]:
    """The text so far, with its white space folded: at a tag and with a line break in it nothing, else one space."""
    if not pieces:
        return
    value = "".join(pieces)
    if not lexer.stack[-1].keeps_space:
        tag_before = lexer.previous in _TAG_BEFORE
        body = value.strip(" \t\n\r\f")
        if not body:
            value = "" if "\n" in value and (tag_before or tag_after) else " "
        else:
            leading = value[: value.index(body[0])]
            trailing = value[len(value.rstrip(" \t\n\r\f")) :]
            value = _WHITE.sub(" ", body)
            if leading and not (tag_before and "\n" in leading):
                value = " " + value
            if trailing and not (tag_after and "\n" in trailing):
                value += " "
    if lexer.previous == "DOCTYPE":
        value = value.lstrip()
    if value:
        lexer.previous = "MARKUP_TEXT"
        yield Token("MARKUP_TEXT", value, start, end)


def _comment_end(lexer: Lexer, start: int) -> int:
    end = lexer.text.find("-->", start + 4)
    if end < 0:
        lexer.open_comment = True
        lexer.report("Q0005", "this comment is never closed: `-->` is missing", start, start + 4, "")
        end = len(lexer.text)
    else:
        end += 3
    lexer.comments.append((start, end))
    return end


def _end_tag(lexer: Lexer, start: int) -> Generator[Token, None, bool]:
    """An end tag between tags. Gives (as a generator's value) whether an element was closed."""
    found = _END_TAG.match(lexer.text, start)
    if found is None:
        lexer.report("Q0011", "this end tag is not finished: `>` is missing", start, start + 2, "")
        lexer.at = start + 2
        return False
    lexer.at = found.end()
    name = found[1]
    top = lexer.stack[-1]
    if top.name == name:
        lexer.stack.pop()
        lexer.depth -= 1
        lexer.previous = "END_TAG"
        yield Token("END_TAG", top, start, found.end())
        return True
    if (yield from _close_down_to(lexer, name, start, found.end())):
        return True
    if name in VOID_ELEMENTS:
        lexer.report("Q0010", f"`<{name}>` has no end tag: leave `</{name}>` out", start, found.end(), "")
        return False
    declaration = _NEXT_DECLARATION.search(lexer.text, found.end())
    limit = declaration.start() if declaration is not None else len(lexer.text)
    if lexer.text.find(f"</{top.name}", found.end(), limit) >= 0:
        lexer.report("Q0010", f"`</{name}>` closes nothing", start, found.end(), "")
        return False
    lexer.report(
        "Q0010",
        f"`</{name}>` does not close `<{top.name}>` from line {lexer.source.line(top.start)}: `</{top.name}>` does",
        start,
        found.end(),
        "",
    )
    lexer.stack.pop()
    lexer.depth -= 1
    lexer.previous = "END_TAG"
    yield Token("END_TAG", top, start, found.end())
    return True


def _close_down_to(lexer: Lexer, name: str, start: int, end: int) -> Generator[Token, None, bool]:
    """Closes the innermost element called `name`, and with a report all that is open in it; False if there is none."""
    stack = lexer.stack
    index = len(stack) - 1
    while index > 0 and not (stack[index].kind == "element" and stack[index].name == name):
        index -= 1
    if index == 0:
        return False
    above = stack[index + 1 :]
    elements = [bracket for bracket in above if bracket.kind == "element"]
    if elements:
        lexer.report_unclosed_element(elements[-1])
    elif above:
        bracket = above[0]
        opener = OPENER_TEXT[CLOSER_OF_KIND[bracket.kind]] if bracket.kind in CLOSER_OF_KIND else "`"
        lexer.report("Q0007", f"`{opener}` is not closed before `</{name}>`", bracket.start, bracket.end, "")
    while len(stack) - 1 > index:
        yield lexer.put_in_closer(start)
    bracket = stack.pop()
    lexer.depth -= bracket.depth + bracket.nested
    lexer.previous = "END_TAG"
    yield Token("END_TAG", bracket, start, end)
    return True


def end_tag_in_code(lexer: Lexer, start: int) -> Iterator[Token]:
    """`</name>` where code stands: a bracket of an element around it was not closed, or the tag closes nothing."""
    found = _END_TAG.match(lexer.text, start)
    if found is None:
        lexer.at = start + 2
        lexer.report("Q0011", "this end tag is not finished: `>` is missing", start, start + 2, "")
    else:
        lexer.at = found.end()
        if (yield from _close_down_to(lexer, found[1], start, found.end())):
            return
        lexer.report("Q0010", f"`</{found[1]}>` closes nothing", start, found.end(), "")
    if lexer.previous not in ELEMENT_ENDS:
        lexer.previous = "BAD"
        yield Token("BAD", None, start, lexer.at)
