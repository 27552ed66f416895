"""Makers for markup: content and attributes, escaped so that no text ever becomes a tag.

The handlers inside a maker all have the signature of `qvm.prepare.Handler`.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from qvm.mistakes import check_text, error_stop, text_too_big
from qvm.prepare import Handler, Site
from qvm.text import escape_html, write_out
from qvm.values import TEXT_LIMIT, BuiltinFunction, Closure, Err, Markup, Response, Sql, Stop, kind_of

_NO_CONTENT = (Closure, BuiltinFunction, Response, Sql)
# Attributes that a browser takes as an address, and the schemes that run code or make a page of what stands in them.
_ADDRESSES = frozenset(("href", "src", "action", "formaction", "xlink:href", "data", "poster", "background", "ping"))
# Those by which an SVG animation gives an element other addresses; `values` has several, with `;` between.
_ANIMATED = frozenset(("values", "to", "from", "by"))
_ALL_MARKUP = {Markup}
_RUNNING = ("javascript:", "vbscript:")
_PLAIN = ("https://", "http://", "/", "#")
_PAGES = "data:"
_PICTURES = "data:image/"


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
                if set(map(type, item)) == _ALL_MARKUP:
                    texts = [part.text for part in item]
                    size += sum(map(len, texts))
                    if size > TEXT_LIMIT:
                        raise text_too_big()
                    pieces += texts
                    continue
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
    if value is True:
        return f" {name}"
    if value is None or value is False:
        return ""
    if type(value) is Err:
        raise error_stop(value)
    if type(value) in _NO_CONTENT:
        raise Stop(f"the attribute `{name}` can't be a {kind_of(value)}")
    text = write_out(value)
    low = name.lower()
    if is_code(low):
        raise Stop(f"`{name}` is code that the browser runs: no value can be put into it")
    if low in _ADDRESSES:
        scheme = _refused_scheme(low, text)
        if scheme:
            raise Stop(f"`{name}` can't begin with `{scheme}`")
    elif low in _ANIMATED:
        for part in text.split(";"):
            scheme = _refused_scheme("href", part)
            if scheme:
                raise Stop(f"an address in `{name}` can't begin with `{scheme}`")
    elif is_page_of_its_own(low) and type(value) is not Markup:
        text = escape_html(text)  # its value is a page of its own: text is text there, too
    return check_text(f' {name}="{escape_html(text)}"')


def is_code(name: str) -> bool:
    """Does a browser run what stands in the attribute?"""
    return name.lower().startswith("on")


def is_page_of_its_own(name: str) -> bool:
    return name.lower() == "srcdoc"


def is_address(name: str) -> bool:
    """Does a browser take the attribute as an address, or as some of them?"""
    return name.lower() in _ADDRESSES or name.lower() in _ANIMATED


def surely_no_code(name: str, beginning: str) -> bool:
    """Can what begins so be no code, whatever follows? The attributes of an animation hold several addresses."""
    return name.lower() in _ADDRESSES and beginning.startswith(_PLAIN)


def _refused_scheme(name: str, address: str) -> str:
    """The scheme of an address that would run code in the page, "" for a good one.

    A browser passes over control characters and spaces in a scheme (the URL standard, section 4.4).
    """
    if ":" not in address or address.startswith(_PLAIN):
        return ""
    start = "".join(islice((letter for letter in address if letter > " "), len(_PICTURES))).lower()
    for scheme in _RUNNING:
        if start.startswith(scheme):
            return scheme
    # A link to `data:` leads nowhere in a browser; what is loaded into the page would be a page.
    if name != "href" and start.startswith(_PAGES) and start != _PICTURES:
        return _PAGES
    return ""


MAKERS = {
    "MARKUP": make_markup,
    "ATTRIBUTE": make_attribute,
}
