"""What a page may load and run: the `Content-Security-Policy` that fits it (CSP level 3).

    policy = ContentPolicy(pieces, texts)   the pieces of markup, and the other texts, that stand in the program
    line = policy.header(text)              the header for a page

Rule 1  A page may run what the program's own markup says, to the letter: the policy has the digests of the scripts,
        handlers and styles that stand in the source, so code that got into a page in any other way does not run.
Rule 2  Whence scripts, styles, frames and objects may come, and where forms may go, is for the program's text to say.
        Pictures, sounds and films may come from where the page says, since they run nothing.
        (A browser holds a form to that also where its answer leads elsewhere, so where a program's texts begin with an
        address, that is where its forms may lead.)
Rule 3  The addresses in the program's own scripts are those that scripts may connect to; those in its own styles are
        where pictures, fonts and further styles may come from.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain

# The start of an element whose attributes are worked out as the program runs stands in a piece of its own. No `<` or
# `>` stands in an attribute.
_SCRIPT = re.compile(r"(?:<script\b[^>]*|\A[^<>]*)>(.*?)</script\s*>", re.IGNORECASE | re.DOTALL)
_STYLE = re.compile(r"(?:<style\b[^>]*|\A[^<>]*)>(.*?)</style\s*>", re.IGNORECASE | re.DOTALL)
_HANDLER = re.compile(r"""<[a-z][^<>]*?\son[a-z]+\s*=""", re.IGNORECASE)
_HANDLER_VALUE = re.compile(r"""\son[a-z]+="([^"]*)\"""", re.IGNORECASE)
_STYLE_VALUE = re.compile(r"""\sstyle="([^"]*)\"""", re.IGNORECASE)

_ADDRESS = re.compile(
    r"""\s(src|srcset|href|xlink:href|action|formaction|data|poster|imagesrcset)="([^"]*//[^"]*)\"""", re.IGNORECASE
)
# A host that is written in other letters, or with a `*`, is no source: a policy would read it as another one.
_HOST = r"""[a-z0-9.:\[\]_-]+(?=[/?#"'`\s,;)\\<&]|\Z)"""
_ORIGIN = re.compile(rf"\b((?:https?|wss?)://{_HOST})", re.IGNORECASE)
_FIRST = re.compile(rf"\s*((?:https?:)?//{_HOST})", re.IGNORECASE)
_LISTS = frozenset(("srcset", "imagesrcset"))  # of several addresses
_IMPORT = re.compile(r"@import\b[^;]*", re.IGNORECASE)

# What an address of an element is loaded as.
_DIRECTIVES = {
    "script": "script-src",
    "img": "img-src",
    "image": "img-src",
    "input": "img-src",
    "link": "style-src",
    "iframe": "frame-src",
    "audio": "media-src",
    "video": "media-src",
    "source": "media-src",
    "track": "media-src",
    "form": "form-action",
    "button": "form-action",
    "object": "object-src",
    "embed": "object-src",
}
_ATTRIBUTES = {
    "poster": "img-src",
    "srcset": "img-src",
    "imagesrcset": "img-src",
    "formaction": "form-action",
    "action": "form-action",
}
_HARMLESS = frozenset(("img-src", "media-src"))
_TAG = re.compile(rf"<(?i:({'|'.join(_DIRECTIVES)}))\b([^<>]*)")
_BEFORE_TAGS = re.compile(r"\A()([^<>]+)")
_ANY = ""  # the directive of an address that stands in a piece without the start of its element

Sources = dict[str, set[str]]


class ContentPolicy:
    """Makes the policies of one program's pages."""

    def __init__(self, pieces: Iterable[str], texts: Iterable[str] = ()) -> None:
        pieces = list(pieces)
        scripts = [text for piece in pieces for text in _SCRIPT.findall(piece)]
        styles = [text for piece in pieces for text in _STYLE.findall(piece)]
        handlers = [_plain(value) for piece in pieces for value in _HANDLER_VALUE.findall(piece)]
        self._scripts = sorted({_digest(text) for text in scripts if text})
        self._styles = sorted({_digest(text) for text in styles})
        self._handlers = sorted({_digest(value) for value in handlers})
        self._connected = {origin for text in (*scripts, *handlers) for origin in _ORIGIN.findall(text)}
        self._imported: set[str] = set()
        self._drawn: set[str] = set()
        for text in (*styles, *(_plain(value) for piece in pieces for value in _STYLE_VALUE.findall(piece))):
            for rule in _IMPORT.findall(text):
                self._imported.update(_ORIGIN.findall(rule))
            self._drawn.update(_ORIGIN.findall(_IMPORT.sub("", text)))
        self._led = {found.group(1) for found in map(_FIRST.match, texts) if found and found.group(1)[0] != "/"}
        self._own = {found for piece in pieces for found in _addresses(piece)}
        self._made: dict[tuple[object, ...], bytes] = {}

    def header(self, text: str) -> bytes:
        """The header for a page."""
        low = text.lower() if "<S" in text or "STYLE" in text else text
        scripts = bool(self._scripts) and "<script" in low
        styles = bool(self._styles) and "<style" in low
        attributes = " style=" in low
        handlers = bool(self._handlers) and _HANDLER.search(text) is not None
        forms = bool(self._led) and "<form" in low
        sources: Sources = {}
        if "//" in text:
            own = self._own
            for directive, origin in _addresses(text):
                if directive in _HARMLESS or (directive, origin) in own or (_ANY, origin) in own:
                    sources.setdefault(directive, set()).add(origin)
        shown = (scripts, styles, attributes, handlers, forms)
        key = (shown, *(f"{name} {sorted(of)}" for name, of in sorted(sources.items())))
        made = self._made.get(key)
        if made is None:
            made = self._written(shown, sources)
            if len(self._made) < 1000:
                self._made[key] = made
        return made

    def stops(self, address: str) -> str:
        """The origin of an address to which no form of a page may lead by its policy; "" where one may."""
        found = _FIRST.match(address)
        if found is None:
            return ""
        origin = found.group(1).removeprefix("//")
        named = origin in self._led or ("form-action", origin) in self._own or (_ANY, origin) in self._own
        return "" if named else origin

    def _written(self, shown: tuple[bool, bool, bool, bool, bool], sources: Sources) -> bytes:
        scripts, styles, attributes, handlers, forms = shown

        def add(directive: str, origins: set[str]) -> None:
            if origins:
                sources[directive] = sources.get(directive, set()) | origins

        if scripts or handlers:
            add("connect-src", self._connected)
        if styles or attributes:
            add("img-src", self._drawn)
            add("font-src", self._drawn)
        if styles:
            add("style-src", self._imported)
        if forms:
            add("form-action", self._led)

        def of(directive: str, *more: str) -> str:
            return " ".join((directive, "'self'", *more, *sorted(sources.get(directive, ()))))

        rows = [
            "default-src 'self'",
            of("script-src", *(self._scripts if scripts else ())),
            of("style-src", *(self._styles if styles else ())),
            of("img-src", "data:"),
            "object-src " + (" ".join(sorted(sources["object-src"])) if "object-src" in sources else "'none'"),
            "base-uri 'self'",
            of("form-action"),
            "frame-ancestors 'self'",
        ]
        if attributes:
            rows.append("style-src-attr 'unsafe-inline'")
        if handlers:
            rows.append(f"script-src-attr 'unsafe-hashes' {' '.join(self._handlers)}")
        rows += [of(name) for name in ("connect-src", "font-src", "frame-src", "media-src") if name in sources]
        return b"content-security-policy: " + "; ".join(rows).encode("ascii", "ignore") + b"\r\n"


def _addresses(text: str) -> Iterator[tuple[str, str]]:
    """The directives and origins of what elements load from other sites."""
    for match in chain(_BEFORE_TAGS.finditer(text), _TAG.finditer(text)):
        tag, attributes = match.groups()
        if "//" not in attributes:
            continue
        for name, value in _ADDRESS.findall(attributes):
            directive = _ATTRIBUTES.get(name.lower()) or (_DIRECTIVES[tag.lower()] if tag else _ANY)
            if name.lower() in _LISTS:
                for origin in _ORIGIN.findall(value):
                    yield directive, origin
            else:
                first = _FIRST.match(value)
                if first is not None:  # `//host` stands for the scheme of the page: a source without one does, too
                    yield directive, first.group(1).removeprefix("//")


def _digest(text: str) -> str:
    """The digest of a script as a browser reads it: a line ends with a line feed alone."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _plain(value: str) -> str:
    from html import unescape

    return unescape(value)
