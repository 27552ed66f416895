"""Makers for markup: content and attributes, escaped so that no text ever becomes a tag.

The handlers inside a maker all have the signature of `qvm.prepare.Handler`.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from qvm.mistakes import check_text, error_stop, text_too_big
from qvm.prepare import Handler, Site
from qvm.values import TEXT_LIMIT, BuiltinFunction, Closure, Err, Markup, Response, Sql, Stop, kind_of

_NO_CONTENT = (Closure, BuiltinFunction, Response, Sql)
_SCRIPT = "javascript:"
_ADDRESSES = frozenset(("href", "src", "action", "formaction", "xlink:href"))


def make_markup(site: Site) -> Handler:
    count, following = site.operands[0], site.following

    def join_markup(stack, locals, task):
        items = stack[-count:] if count else []
        del stack[len(stack) - count :]
        stack.append(Markup(content(items)))
        return following

    return join_markup


def content(items: list[Any]) -> str:
    """Items as the content of an element, one after the other; lists give each of theirs, null and bools nothing."""
    from qvm.text import escape_html, write_out

    pieces: list[str] = []
    size = 0
    waiting = [iter(items)]
    while waiting:
        for item in waiting[-1]:
            kind = type(item)
            if kind is Markup:
                piece = item.text
            elif kind is str:
                piece = escape_html(item)
            elif item is None or kind is bool:
                continue
            elif kind is list:
                waiting.append(iter(item))
                break
            elif kind is Err:
                raise error_stop(item)
            elif kind in _NO_CONTENT:
                raise Stop(f"markup can't show a {kind_of(item)}")
            else:
                piece = escape_html(write_out(item))
            size += len(piece)
            if size > TEXT_LIMIT:
                raise text_too_big()
            pieces.append(piece)
        else:
            waiting.pop()
    return check_text("".join(pieces))


def make_attribute(site: Site) -> Handler:
    name, following = site.constant(0), site.following

    def make_of_value(stack, locals, task):
        stack[-1] = Markup(attribute(name, stack[-1]))
        return following

    return make_of_value


def attribute(name: str, value: Any) -> str:
    """` name="value"`, the name alone for true, nothing for false and null."""
    from qvm.text import escape_html, write_out

    if value is True:
        return f" {name}"
    if value is None or value is False:
        return ""
    if type(value) is Err:
        raise error_stop(value)
    if type(value) in _NO_CONTENT:
        raise Stop(f"the attribute `{name}` can't be a {kind_of(value)}")
    text = write_out(value)
    if name.lower() in _ADDRESSES and _runs_code(text):
        raise Stop(f"`{name}` can't begin with `javascript:`")
    return check_text(f' {name}="{escape_html(text)}"')


def _runs_code(address: str) -> bool:
    """Whether a browser would take this for a `javascript:` address: it passes over control characters and spaces."""
    start = "".join(islice((letter for letter in address if letter > " "), len(_SCRIPT)))
    return start.lower() == _SCRIPT


MAKERS = {
    "MARKUP": make_markup,
    "ATTRIBUTE": make_attribute,
}
