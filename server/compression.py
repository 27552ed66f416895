"""Answers made smaller where the client takes it, and left out where it has them."""

from __future__ import annotations

import re

from server.http_messages import Answer, Request

LEAST = 1024  # bytes that are worth it
_MOST_TAGGED = 1024 * 1024  # bytes of an answer that gets an `ETag`
_WORTH = re.compile(
    rb"^content-type: (?:text/|application/(?:json|javascript|xml|[a-z.+-]*\+(?:json|xml))|image/svg)",
    re.MULTILINE | re.IGNORECASE,
)


def finish(answer: Answer, request: Request) -> Answer:
    """Tags an answer to GET or HEAD, leaves it out if the client has it (RFC 9110, section 13.1.2), compresses it."""
    body = answer.body
    if (
        answer.status == 200
        and request.method in ("GET", "HEAD")
        and 0 < len(body) <= _MOST_TAGGED
        and b"set-cookie:" not in answer.headers
    ):
        if b"etag:" in answer.headers:
            found = re.search(rb"^etag: *([^\r]*)\r", answer.headers, re.MULTILINE)
            tag = found.group(1) if found else b""
        else:
            tag = tag_of(body)
            answer.headers += b"etag: " + tag + b"\r\n"
        if b"if-none-match" in request.headers and has(request.headers[b"if-none-match"], tag):
            answer.status, answer.body = 304, b""
            return answer
    if len(body) >= LEAST and _WORTH.search(answer.headers) and b"content-encoding:" not in answer.headers:
        answer.headers += b"vary: accept-encoding\r\n"
        coding = best(request.headers.get(b"accept-encoding", b""))
        if coding:
            answer.body = compressed(body, coding)
            answer.headers += b"content-encoding: " + coding.encode() + b"\r\n"
    return answer


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


def compressed(body: bytes, coding: str) -> bytes:
    if coding == "br":
        import brotli

        return bytes(brotli.compress(body, quality=4))
    import gzip

    return gzip.compress(body, compresslevel=5, mtime=0)
