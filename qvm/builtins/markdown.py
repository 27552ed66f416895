"""Markdown as HTML, for `markdown_page`.

Taken are headings, paragraphs, lists (also in one another), quotes, code (fenced and indented), tables, rules, and what
`markdown_inline` takes. HTML in the text is shown as text. Time is linear in the text: what is nested over `_DEEPEST`
deep is read as a paragraph.
"""

from __future__ import annotations

import re

from qvm.builtins.markdown_inline import inline_html
from qvm.text import escape_html

_DEEPEST = 12
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_ITEM = re.compile(r"( {0,3})([-*+]|[0-9]{1,9}[.)])( {1,4}(?=\S)| |$)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_QUOTE = re.compile(r" {0,3}> ?")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_ALIGNMENT = re.compile(r":?-+:?")


def markdown_to_html(text: str) -> str:
    lines = text.replace("\r\n", "\n").expandtabs(4).split("\n")
    return "\n".join(_blocks(lines, 0, False))


def _blocks(lines: list[str], depth: int, tight: bool) -> list[str]:
    """The HTML of each block. In a `tight` list, paragraphs stand without `<p>`."""
    made: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif line.startswith("    "):
            at = _indented_code(lines, at, made)
        elif fence := _FENCE.match(line):
            at = _fenced_code(lines, at, fence, made)
        elif heading := _HEADING.match(line):
            level = len(heading[1])
            content = re.sub(r"(?:^|[ \t])#+$", "", line[heading.end() :].strip()).strip()
            made.append(f"<h{level}>{inline_html(content)}</h{level}>")
            at += 1
        elif _RULE.fullmatch(line):
            made.append("<hr>")
            at += 1
        elif depth < _DEEPEST and _QUOTE.match(line):
            at = _quote(lines, at, depth, made)
        elif depth < _DEEPEST and (item := _ITEM.match(line)):
            at = _list(lines, at, item, depth, made)
        elif _is_table(lines, at):
            at = _table(lines, at, made)
        else:
            at = _paragraph(lines, at, depth, tight, made)
    return made


def _begins_block(line: str, depth: int) -> bool:
    """Does this line end the paragraph before it?"""
    if _FENCE.match(line) or _HEADING.match(line) or _RULE.fullmatch(line):
        return True
    return depth < _DEEPEST and bool(_QUOTE.match(line) or _ITEM.match(line))


def _paragraph(lines: list[str], at: int, depth: int, tight: bool, made: list[str]) -> int:
    start = at
    at += 1
    while at < len(lines) and lines[at].strip():
        underline = _UNDERLINE.fullmatch(lines[at])
        if underline:
            level = 1 if underline[1][0] == "=" else 2
            made.append(f"<h{level}>{_inside(lines[start:at])}</h{level}>")
            return at + 1
        if _begins_block(lines[at], depth):
            break
        at += 1
    content = _inside(lines[start:at])
    made.append(content if tight else f"<p>{content}</p>")
    return at


def _inside(lines: list[str]) -> str:
    return inline_html("\n".join(line.lstrip() for line in lines).rstrip())


def _indented_code(lines: list[str], at: int, made: list[str]) -> int:
    start = at
    while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
        at += 1
    code = "\n".join(line[4:] for line in lines[start:at]).rstrip()
    made.append(f"<pre><code>{escape_html(code)}\n</code></pre>")
    return at


def _fenced_code(lines: list[str], at: int, fence: re.Match[str], made: list[str]) -> int:
    indent = len(lines[at]) - len(lines[at].lstrip(" "))
    mark, language = fence[1], fence[2]
    code = []
    at += 1
    while at < len(lines):
        bare = lines[at].strip()
        if len(bare) >= len(mark) and not bare.strip(mark[0]):
            at += 1
            break
        blank = len(lines[at]) - len(lines[at].lstrip(" "))
        code.append(lines[at][min(indent, blank) :])
        at += 1
    kind = f' class="language-{escape_html(language)}"' if language else ""
    body = "".join(f"{line}\n" for line in code)
    made.append(f"<pre><code{kind}>{escape_html(body)}</code></pre>")
    return at


def _quote(lines: list[str], at: int, depth: int, made: list[str]) -> int:
    quoted = []
    while at < len(lines) and (mark := _QUOTE.match(lines[at])):
        quoted.append(lines[at][mark.end() :])
        at += 1
    inside = "\n".join(_blocks(quoted, depth + 1, False))
    made.append(f"<blockquote>\n{inside}\n</blockquote>")
    return at


def _list(lines: list[str], at: int, item: re.Match[str], depth: int, made: list[str]) -> int:
    """A list: its items have marks of one kind, and what is indented under a mark belongs to it."""
    kind = item[2][-1]
    items: list[list[str]] = []
    loose = False
    first = item[2][:-1]
    while at < len(lines):
        found = _ITEM.match(lines[at])
        if found is None or found[2][-1] != kind or _RULE.fullmatch(lines[at]):
            break
        width = found.end() if found[3] else found.end() + 1
        content = [lines[at][found.end() :]]
        at += 1
        while at < len(lines):
            line = lines[at]
            if not line.strip():
                content.append("")
            elif line.startswith(" " * width):
                content.append(line[width:])
            elif content[-1] and not _begins_block(line, depth):
                content.append(line.lstrip())  # a paragraph goes on without its indentation
            else:
                break
            at += 1
        blanks = len(content)
        while content and not content[-1]:
            content.pop()
        followed = at < len(lines) and bool((again := _ITEM.match(lines[at])) and again[2][-1] == kind)
        loose = loose or "" in content or (followed and blanks > len(content) > 0)
        items.append(content)
    rows = []
    for content in items:
        inside = "\n".join(_blocks(content, depth + 1, not loose))
        rows.append(f"<li>{inside}</li>")
    if kind in "-*+":
        made.append("<ul>\n" + "\n".join(rows) + "\n</ul>")
    else:
        start = "" if int(first) == 1 else f' start="{int(first)}"'
        made.append(f"<ol{start}>\n" + "\n".join(rows) + "\n</ol>")
    return at


def _is_table(lines: list[str], at: int) -> bool:
    if "|" not in lines[at] or at + 1 >= len(lines) or "|" not in lines[at + 1]:
        return False
    marks = _cells(lines[at + 1])
    return len(marks) == len(_cells(lines[at])) and all(_ALIGNMENT.fullmatch(mark) for mark in marks)


def _table(lines: list[str], at: int, made: list[str]) -> int:
    aligned = []
    for mark in _cells(lines[at + 1]):
        side = {(True, True): "center", (True, False): "left", (False, True): "right"}.get(
            (mark[0] == ":", mark[-1] == ":")
        )
        aligned.append(f' style="text-align: {side}"' if side else "")
    rows = [_row(lines[at], aligned, "th")]
    at += 2
    body = []
    while at < len(lines) and "|" in lines[at]:
        body.append(_row(lines[at], aligned, "td"))
        at += 1
    rows = ["<thead>", *rows, "</thead>"] + (["<tbody>", *body, "</tbody>"] if body else [])
    made.append("<table>\n" + "\n".join(rows) + "\n</table>")
    return at


def _row(line: str, aligned: list[str], tag: str) -> str:
    """A row has as many cells as the table's head."""
    cells = _cells(line)[: len(aligned)]
    cells += [""] * (len(aligned) - len(cells))
    return (
        "<tr>" + "".join(f"<{tag}{a}>{inline_html(c)}</{tag}>" for c, a in zip(cells, aligned, strict=True)) + "</tr>"
    )


def _cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|")
    bare = bare[:-1] if bare.endswith("|") and not bare.endswith("\\|") else bare
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", bare)]
