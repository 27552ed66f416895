"""Values as answers: pages, texts, JSON, and what goes with them (language.md, section 11).

    pages = Pages(module)
    answer = pages.answer(value)            raises Stop for what can't be sent

Rule 1  What a value is says what it is sent as: markup is a page, text is text, data is JSON, bytes are bytes, null is
        nothing (204). A fragment of markup becomes a whole document; one that has an `<html>` of its own is left alone.
Rule 2  Safe headers go with every answer; the program may set each by its name with `respond`.
Rule 3  What a page may run is what the program's own markup says, to the letter: the `Content-Security-Policy` has the
        digests of the scripts that stand in the source, so a script that got into a page in any other way does not run.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from qvm.text import escape_html, to_json
from qvm.values import Markup, Response, Stop, kind_of
from server.http_messages import Answer, header_lines

if TYPE_CHECKING:
    from qasm.module import Module

HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
BYTES = "application/octet-stream"

_SAFE = (
    b"x-content-type-options: nosniff\r\n"
    b"referrer-policy: strict-origin-when-cross-origin\r\n"
    b"x-frame-options: SAMEORIGIN\r\n"
)
_SAFE_NAMES = ("x-content-type-options", "referrer-policy", "x-frame-options")
_NOT_FOR_PROGRAMS = frozenset(("content-length", "connection", "transfer-encoding", "date", "keep-alive", "upgrade"))

# The start of an element whose attributes are worked out as the program runs stands in a piece of its own.
_SCRIPT = re.compile(r"(?:<script\b[^>]*|\A[^<>]*)>(.*?)</script\s*>", re.IGNORECASE | re.DOTALL)
_STYLE = re.compile(r"(?:<style\b[^>]*|\A[^<>]*)>(.*?)</style\s*>", re.IGNORECASE | re.DOTALL)
_HANDLER = re.compile(r"""<[a-z][^<>]*?\son[a-z]+\s*=""", re.IGNORECASE)
_HANDLER_VALUE = re.compile(r"""\son[a-z]+="([^"]*)\"""", re.IGNORECASE)
_SOURCE = re.compile(
    r"""<(script|img|link|iframe|audio|video|source|form|object|embed|track)\b[^>]*?"""
    r"""\b(?:src|href|action|data|poster)="(https?://[^/"?#\s;,']+)""",
    re.IGNORECASE,
)
_DIRECTIVES = {
    "script": "script-src",
    "img": "img-src",
    "link": "style-src",
    "iframe": "frame-src",
    "audio": "media-src",
    "video": "media-src",
    "source": "media-src",
    "track": "media-src",
    "form": "form-action",
    "object": "object-src",
    "embed": "object-src",
}
_HEADING = re.compile(r"<h1\b[^>]*>(.*?)</h1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SPACE = re.compile(r"\s+")


class Pages:
    """Makes the answers of one program."""

    def __init__(self, module: Module) -> None:
        self._name = module.name
        written = _markup_of(module)
        self._scripts = sorted({_digest(text) for piece in written for text in _SCRIPT.findall(piece) if text})
        self._styles = sorted({_digest(text) for piece in written for text in _STYLE.findall(piece)})
        self._handlers = sorted(
            {_digest(_plain(value)) for piece in written for value in _HANDLER_VALUE.findall(piece)}
        )
        # Whence scripts, frames and styles may come is for the program's text to say, not for what is in a page.
        self._own_sources = {(tag.lower(), source) for piece in written for tag, source in _SOURCE.findall(piece)}
        self._policies: dict[Any, bytes] = {}

    def answer(self, value: Any, status: int = 200) -> Answer:
        """What a route's value is sent as. Raises Stop for what is no answer."""
        kind = type(value)
        if kind is Response:
            return self._response(value)
        if value is None and status == 200:
            return Answer(204, _SAFE)
        content, body = self._content(value, status)
        return Answer(status, self._headers(content, body), body)

    def reply(self, response: Response) -> Answer:
        """The answer of `reply STATUS BODY`; without a body, the status in words."""
        return self._response(response)

    def _response(self, response: Response) -> Answer:
        status, given = response.status, response.headers
        body = response.body
        content = ""
        if status in (204, 304) or (body is None and 300 <= status < 400):
            data = b""
        else:
            content, data = self._content(body, status)
        lines = [(name, value) for name, value in given.items() if name not in _NOT_FOR_PROGRAMS]
        try:
            headers = header_lines(lines)
        except ValueError as problem:
            raise Stop(str(problem)) from None
        if "content-type" in given:
            content = ""
        own = self._headers(content, data, frozenset(given))
        return Answer(status, own + headers, data)

    def _content(self, value: Any, status: int) -> tuple[str, bytes]:
        kind = type(value)
        if kind is Markup:
            return HTML, self.document(value.text).encode("utf-8", "replace")
        if kind is str:
            return TEXT, value.encode("utf-8", "replace")
        if value is None:
            try:
                return TEXT, f"{HTTPStatus(status).phrase}\n".encode()
            except ValueError:
                return TEXT, b""
        if kind is bytes:
            return BYTES, value
        if kind in (list, dict, int, float, bool):
            return JSON, to_json(value, "the route's answer").encode("utf-8", "replace")
        raise Stop(f"a route answers with markup, text, data or bytes, not with a {kind_of(value)}")

    def _headers(self, content: str, body: bytes, given: frozenset[str] = frozenset()) -> bytes:
        if not given.isdisjoint(_SAFE_NAMES):
            safe = b"".join(
                line + b"\r\n" for line in _SAFE.split(b"\r\n")[:-1] if line.split(b":")[0].decode() not in given
            )
        else:
            safe = _SAFE
        if not content:
            return safe
        lines = b"content-type: " + content.encode("ascii") + b"\r\n" + safe
        if content == HTML and "content-security-policy" not in given:
            lines += self._policy(body.decode("utf-8"))
        return lines

    # pages

    def document(self, text: str) -> str:
        """A whole document: a fragment gets the head that every page needs, with its first `h1` as the title."""
        start = text[:200].lstrip().lower()
        if start.startswith("<!doctype"):
            return text
        if start.startswith("<html"):
            return f"<!DOCTYPE html>\n{text}"
        heading = _HEADING.search(text)
        title = _SPACE.sub(" ", _TAG.sub("", heading.group(1))).strip() if heading else ""
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        title = title or escape_html(self._name)
        if start.startswith("<body"):
            return f'<!DOCTYPE html>\n<html lang="en"><head>{head}<title>{title}</title></head>{text}</html>\n'
        return f'<!DOCTYPE html>\n<html lang="en"><head>{head}<title>{title}</title></head><body>{text}</body></html>\n'

    def _policy(self, text: str) -> bytes:
        """The `Content-Security-Policy` that fits a page (CSP level 3)."""
        sources: dict[str, set[str]] = {}
        if "://" in text:
            for tag, source in _SOURCE.findall(text):
                tag = tag.lower()
                if tag in ("img", "audio", "video", "source", "track") or (tag, source) in self._own_sources:
                    sources.setdefault(_DIRECTIVES[tag], set()).add(source)
        low = text.lower() if "<S" in text or "STYLE" in text else text
        scripts = bool(self._scripts) and "<script" in low
        styles = bool(self._styles) and "<style" in low
        attributes = " style=" in low
        handlers = bool(self._handlers) and _HANDLER.search(text) is not None
        key = (
            scripts,
            styles,
            attributes,
            handlers,
            tuple(sorted((name, *sorted(of)) for name, of in sources.items())),
        )
        policy = self._policies.get(key)
        if policy is None:
            policy = self._written_policy(scripts, styles, attributes, handlers, sources)
            if len(self._policies) < 1000:
                self._policies[key] = policy
        return policy

    def _written_policy(
        self, scripts: bool, styles: bool, attributes: bool, handlers: bool, sources: dict[str, set[str]]
    ) -> bytes:
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
        rows += [of(name) for name in ("media-src", "frame-src") if name in sources]
        return b"content-security-policy: " + "; ".join(rows).encode("ascii", "ignore") + b"\r\n"


def _markup_of(module: Module) -> list[str]:
    """The pieces of markup that stand in the program's text."""
    found = []
    for constant in module.constants:
        if type(constant) is dict and type(constant.get("markup")) is str:
            found.append(constant["markup"])
    return found


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _plain(value: str) -> str:
    from html import unescape

    return unescape(value)
