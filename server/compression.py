"""Answers made smaller where the client takes it, and left out where it has them."""

from __future__ import annotations

import re

from server.http_messages import Answer, Request

LEAST = 1024  # bytes that are worth it
_MOST_TAGGED = 1024 * 1024  # bytes of an answer that gets an `ETag`
_LARGE = 256 * 1024  # bytes of what takes so long that others would notice
_TAG = re.compile(rb"^etag: *([^\r]+)\r", re.MULTILINE)
_VARY = b"vary: accept-encoding\r\n"
_WORTH = re.compile(
    rb"^content-type: (?:text/|application/(?:json|javascript|xml|[a-z.+-]*\+(?:json|xml))|image/svg)",
    re.MULTILINE | re.IGNORECASE,
)


def finish(answer: Answer, request: Request) -> Answer:
    """Tags an answer to GET or HEAD, leaves it out if the client has it (RFC 9110, section 13.1.2), compresses it.

    An answer that is left out has the headers that it would have had (section 15.4.5).
    """
    body = answer.body
    tag = b""
    if (
        answer.status == 200
        and request.method in ("GET", "HEAD")
        and 0 < len(body) <= _MOST_TAGGED
        and b"set-cookie:" not in answer.headers
    ):
        found = _TAG.search(answer.headers)
        if found is not None:
            tag = found.group(1)
        else:
            tag = tag_of(body)
            answer.headers += b"etag: " + tag + b"\r\n"
    worth = is_worth(answer)
    if worth:
        answer.headers += _VARY
    if tag and b"if-none-match" in request.headers and has(request.headers[b"if-none-match"], tag):
        answer.status, answer.body = 304, b""
    elif worth:
        coding = best(request.headers.get(b"accept-encoding", b""))
        if coding:
            answer.body = compressed(body, coding)
            answer.headers += _coded(coding)
    return answer


class Kept:
    """An answer that is made once and sent often: its tag and its smaller forms are made once, too."""

    def __init__(self, answer: Answer) -> None:
        found = _TAG.search(answer.headers)
        self._tag = found.group(1) if found is not None else tag_of(answer.body)
        self._status = answer.status
        self._headers = answer.headers if found is not None else answer.headers + b"etag: " + self._tag + b"\r\n"
        self._forms = {"": answer.body}
        self._worth = is_worth(answer)
        if self._worth:
            self._headers += _VARY

    def answer(self, request: Request) -> Answer:
        """The answer to a GET or HEAD."""
        header = request.headers.get(b"if-none-match")
        if header is not None and self._status == 200 and has(header, self._tag):
            return Answer(304, self._headers)
        coding = best(request.headers.get(b"accept-encoding", b"")) if self._worth else ""
        if coding not in self._forms:
            self._forms[coding] = compressed(self._forms[""], coding, once=True)
        headers = self._headers + _coded(coding) if coding else self._headers
        return Answer(self._status, headers, self._forms[coding])


def is_worth(answer: Answer) -> bool:
    """Is it worth it to make an answer smaller, where the client takes it?"""
    return (
        len(answer.body) >= LEAST
        and _WORTH.search(answer.headers) is not None
        and b"content-encoding:" not in answer.headers
    )


def _coded(coding: str) -> bytes:
    return b"content-encoding: " + coding.encode("ascii") + b"\r\n"


def tag_of(body: bytes) -> bytes:
    """A weak tag: the same for each coding of one body."""
    from blake3 import blake3

    return b'W/"' + blake3(body).hexdigest(length=16).encode("ascii") + b'"'


def has(header: bytes, tag: bytes) -> bool:
    """Does an `If-None-Match` name this tag? Tags are compared weakly."""
    if header.strip() == b"*":
        return True
    wanted = tag.removeprefix(b"W/")
    return any(part.strip().removeprefix(b"W/") == wanted for part in header.split(b","))


def best(header: bytes) -> str:
    """The coding that a client likes best: "br", "gzip" or "" (RFC 9110, section 12.5.3)."""
    if not header:
        return ""
    weights: dict[bytes, float] = {}
    for part in header.lower().split(b","):
        name, _, parameters = part.strip().partition(b";")
        weight = 1.0
        if parameters.strip().startswith(b"q="):
            try:
                weight = float(parameters.strip()[2:])
            except ValueError:
                weight = 0.0
        weights[name.strip()] = weight
    other = weights.get(b"*", 0.0)
    brotli, gzip = weights.get(b"br", other), weights.get(b"gzip", other)
    if brotli <= 0 and gzip <= 0:
        return ""
    return "br" if brotli >= gzip else "gzip"


def compressed(body: bytes, coding: str, once: bool = False) -> bytes:
    """A body, made smaller: well where that is done `once` or the body is small, else fast, since others wait."""
    small = len(body) <= _LARGE
    if coding == "br":
        import brotli

        return bytes(brotli.compress(body, quality=(9 if small else 5) if once else (4 if small else 1)))
    import gzip

    return gzip.compress(body, compresslevel=9 if once else (5 if small else 1), mtime=0)
