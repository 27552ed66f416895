"""Values as answers: pages, texts, JSON, and what goes with them (language.md, section 11).

    pages = Pages(module)
    answer = pages.answer(value)            raises Stop for what can't be sent

Rule 1  What a value is says what it is sent as: markup is a page, text is text, data is JSON, bytes are bytes, null is
        nothing (204). A fragment of markup becomes a whole document; one that has an `<html>` of its own is left alone.
Rule 2  Safe headers go with every answer; the program may set each by its name with `respond`.
Rule 3  What a page may load and run is told by `server.content_policy`.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from qvm.text import escape_html, to_json
from qvm.values import Markup, Response, Stop, kind_of
from server.content_policy import ContentPolicy
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

_IN_ADDRESSES = "!#$%&'()*+,/:;=?@[]~"  # what stands as it is in the address of a redirect

_HEADING = re.compile(r"<h1\b[^>]*>(.*?)</h1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*\Z")
_SPACE = re.compile(r"\s+")


class Pages:
    """Makes the answers of one program."""

    def __init__(self, module: Module) -> None:
        self._name = module.name
        texts = [constant for constant in module.constants if type(constant) is str]
        self.policy = ContentPolicy(_markup_of(module), texts)

    def answer(self, value: Any, locale: str | None = None) -> Answer:
        """What a route's value is sent as; `locale` is that of the request. Raises Stop for what is no answer."""
        kind = type(value)
        if kind is Response:
            return self._response(value, locale)
        if value is None:
            return Answer(204, _SAFE)
        content, body = self._content(value, 200, locale)
        return Answer(200, self._headers(content, body), body)

    def reply(self, response: Response, locale: str | None = None) -> Answer:
        """The answer of `reply STATUS BODY`; without a body, the status in words."""
        return self._response(response, locale)

    def _response(self, response: Response, locale: str | None) -> Answer:
        status, given = response.status, response.headers
        body = response.body
        content = ""
        kind = given.get("content-type", "").partition(";")[0].strip().lower()
        if status in (204, 205, 304) or (body is None and 300 <= status < 400):
            data = b""
        elif kind and kind != "text/html" and type(body) is Markup:
            data = body.text.encode("utf-8", "replace")  # a feed, a picture: no page
        else:
            content, data = self._content(body, status, locale)
        lines = [
            (name, quote(value, _IN_ADDRESSES) if name == "location" else value)
            for name, value in given.items()
            if name not in _NOT_FOR_PROGRAMS
        ]
        try:
            headers = header_lines(lines)
        except ValueError as problem:
            raise Stop(str(problem)) from None
        if kind and (content != HTML or kind != "text/html"):
            content = ""
        own = self._headers(content, data, frozenset(given))
        return Answer(status, own + headers, data)

    def _content(self, value: Any, status: int, locale: str | None) -> tuple[str, bytes]:
        kind = type(value)
        if kind is Markup:
            return HTML, self.document(value.text, locale).encode("utf-8", "replace")
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
        lines = b"" if "content-type" in given else b"content-type: " + content.encode("ascii") + b"\r\n"
        lines += safe
        if content == HTML and "content-security-policy" not in given:
            lines += self.policy.header(body.decode("utf-8"))
        return lines

    # pages

    def document(self, text: str, locale: str | None = None) -> str:
        """A whole document: a fragment gets the head that every page needs, with its first `h1` as the title."""
        text = text.replace("\0", "\ufffd")  # which HTML can't hold, and browsers read as that, or as nothing
        start = text[:200].lstrip().lower()
        if start.startswith("<!doctype"):
            return text
        if start.startswith("<html"):
            return f"<!DOCTYPE html>\n{text}"
        opening = f'<!DOCTYPE html>\n<html lang="{_language(locale)}">'
        if start.startswith(("<head>", "<head ")):
            return f"{opening}{text}</html>\n"
        heading = _HEADING.search(text)
        title = _SPACE.sub(" ", _TAG.sub("", heading.group(1))).strip() if heading else ""
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        title = title or escape_html(self._name)
        if start.startswith("<body"):
            return f"{opening}<head>{head}<title>{title}</title></head>{text}</html>\n"
        return f"{opening}<head>{head}<title>{title}</title></head><body>{text}</body></html>\n"


def _language(locale: str | None) -> str:
    """The language tag for a locale, `de-AT` for `de_AT`; English for none, and for what is no tag (RFC 5646)."""
    tag = (locale or "").replace("_", "-")
    return tag if _LANGUAGE.match(tag) else "en"


def _markup_of(module: Module) -> list[str]:
    """The pieces of markup that stand in the program's text."""
    found = []
    for constant in module.constants:
        if type(constant) is dict and type(constant.get("markup")) is str:
            found.append(constant["markup"])
    return found
