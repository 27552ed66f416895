"""HTTP/1.1 without I/O: bytes in, requests and refusals out.

    reader = RequestReader(most_body, address)
    reader.feed(data)
    reader.ready            Requests in their order, and as the last thing perhaps the Answer that refuses the rest

httptools does the tokenizing. It knows no limits and lets some things pass that a server must not (RFC 9112): what is
looked at here is the size of head and body, the count of headers, the one Host, the form of the target, codings of the
body, upgrades, and other protocols that look like HTTP. How bytes are cut into reads makes no difference to what is
read, with one exception: of what shows nothing (see `_MOST_UNSEEN`), a single read may hold more.
"""

from __future__ import annotations

import re
from typing import Any

import httptools

from server.http_messages import Answer, Request, text_answer

MOST_HEAD = 32 * 1024  # bytes of the names and values of headers
MOST_TARGET = 8 * 1024
MOST_HEADERS = 100
# Bytes of reads that show nothing of a request: a header, a trailer or a chunk's extension without an end, which
# httptools keeps whole. More than any head that may pass, with what stands between its names and values.
_MOST_UNSEEN = 64 * 1024
_HOST = re.compile(rb"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class _Refused(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.answer = text_answer(status, text, close=True)


class RequestReader:
    """Reads the requests of one connection.

    `ready`     what was read and not yet taken
    `begun`     whether a request has begun to come that is not in `ready` yet; blank lines before one begin nothing
    `ended`     nothing more is read: a request was refused, or asked for the connection's end
    `continues` the client waits for a `100 Continue` before it sends a body; whoever sends that sets it back
    """

    def __init__(self, most_body: int, address: str) -> None:
        self.ready: list[Request | Answer] = []
        self.begun = False
        self.ended = False
        self.continues = False
        self._most_body = most_body
        self._address = address
        self._parser = httptools.HttpRequestParser(self)
        self._in_head = False
        self._shows = False  # whether the read that is being looked at shows anything
        self._unseen = 0
        self._good_host: bytes | None = None
        self._data = b""  # the read that is being looked at
        self._place = 0  # in it: the line of a request that begins in it stands at this place or behind it
        self._before = bytearray()  # earlier reads of a head that is not whole
        self._reset()

    def feed(self, data: bytes) -> None:
        """Takes what came."""
        if self.ended:
            return
        self._shows = False
        self._data, self._place = data, 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The request is complete, and is answered as if it had not asked; what follows it is unknown.
            self._end_with_last()
        except httptools.HttpParserCallbackError as problem:
            refused = problem.__context__
            if not isinstance(refused, _Refused):
                raise
            self._refuse(refused.answer)
        except httptools.HttpParserError as problem:
            self._refuse(text_answer(400, f"the request is not HTTP/1.1: {_words(problem)}", close=True))
        else:
            if self._shows:
                self._unseen = 0
            elif self.begun:
                self._unseen += len(data)
                if self._unseen > _MOST_UNSEEN:
                    self._refuse(_too_large().answer)
            if self._in_head:
                self._before += data[self._place :]
        self._data = b""

    def _refuse(self, answer: Answer) -> None:
        if not self.ended:  # else it stands behind a request that asked for the end: it is nobody's
            self.ready.append(answer)
            self.ended = True
        self.begun = False

    def _end_with_last(self) -> None:
        if self.ready and type(self.ready[-1]) is Request:
            self.ready[-1].keep_alive = False
        self.ended = True
        self.begun = False

    def _reset(self) -> None:
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._repeated: set[bytes] = set()
        self._count = 0
        self._size = 0
        self._body: bytes | bytearray = b""

    # httptools calls these.

    def on_message_begin(self) -> None:
        if self.ended:
            return
        self._reset()
        self._in_head = self._shows = self.begun = True

    def on_url(self, part: bytes) -> None:
        self._target += part
        if len(self._target) > MOST_TARGET:
            raise _Refused(414, f"the address is over {MOST_TARGET} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # a trailer: it comes when the request is decided about
        name, value = name.lower(), value.strip(b" \t")
        self._count += 1
        self._size += len(name) + len(value)
        if self._count > MOST_HEADERS:
            raise _Refused(431, f"the request has over {MOST_HEADERS} headers")
        if self._size > MOST_HEAD:
            raise _too_large()
        headers = self._headers
        if name in headers:
            self._repeated.add(name)
            headers[name] += (b"; " if name == b"cookie" else b", ") + value
        else:
            headers[name] = value

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self.ended:
            return
        parser, headers = self._parser, self._headers
        self._method = method = parser.get_method().decode("ascii")
        version = parser.get_http_version()
        if version not in ("1.1", "1.0"):
            raise _Refused(505, f"this server speaks HTTP/1.1, not HTTP/{version}")
        if method not in METHODS:
            raise _Refused(501, f"the method {method} is not known here")
        if self._is_other_protocol():
            raise _Refused(505, "this server speaks HTTP/1.1, not RTSP")
        host = headers.get(b"host")
        if host is None or b"host" in self._repeated:
            raise _Refused(400, "a request needs exactly one `Host` header")
        if host != self._good_host:
            if not _HOST.fullmatch(host):
                raise _Refused(400, "the `Host` header takes a name or an address, and perhaps a port")
            self._good_host = host
        if not self._target.startswith(b"/"):
            raise _Refused(400, "the address of a request begins with `/`")
        if b"#" in self._target:
            raise _Refused(400, "the address of a request has no `#` in it")
        coding = headers.get(b"transfer-encoding")
        if coding is not None and (coding.lower() != b"chunked" or version == "1.0"):
            raise _Refused(501, "the only transfer coding that is known here is `chunked`, over HTTP/1.1")
        length = headers.get(b"content-length", b"0")
        if len(length) > 18 or int(length) > self._most_body:
            self._give_up_body()
            return
        has_body = coding is not None or int(length) > 0
        if b"upgrade" in headers and b"upgrade" in headers.get(b"connection", b"").lower() and has_body:
            # httptools would leave the body unread, for the next request to be made of.
            raise _Refused(400, "a request with a body can't ask for an upgrade of its connection")
        expects = headers.get(b"expect")
        if expects is not None:
            if expects.lower() != b"100-continue":
                raise _Refused(417, "the only thing to expect here is `100-continue`")
            self.continues = has_body and version == "1.1"

    def _is_other_protocol(self) -> bool:
        """Does this request's own first line name one? httptools takes RTSP for HTTP, and doesn't tell."""
        data, before = self._data, len(self._before)
        if before:
            data = bytes(self._before) + data
            self._before.clear()
        line = self._parser.get_method() + b" " + self._target + b" "
        end = data.find(line, self._place) + len(line)
        self._place = max(end + self._size - before, 0)
        return data.startswith(b"RTSP/", end)

    def on_body(self, part: bytes) -> None:
        if self.ended:
            return
        self.continues, self._shows = False, True
        self._place += len(part)
        size = len(self._body) + len(part)
        if size > self._most_body:
            self._give_up_body()
        elif not self._body:
            self._body = part
        else:  # bodies of many small chunks are put together as they come: each would cost more than it holds
            if type(self._body) is bytes:
                self._body = bytearray(self._body)
            self._body += part

    def on_message_complete(self) -> None:
        if self.ended:
            return
        self.continues = False
        request = self._request()
        parser = self._parser
        request.keep_alive = parser.should_keep_alive() and parser.get_http_version() == "1.1"
        self.ready.append(request)
        self.begun = False
        self.ended = not request.keep_alive

    def _request(self) -> Request:
        return Request(
            self._method,
            self._target.decode("latin-1"),
            self._headers,
            bytes(self._body),
            self._address,
            frozenset(self._repeated) if self._repeated else _NONE,
        )

    def _give_up_body(self) -> None:
        """The body is too large: what it is answered is up to the site, and nothing is read after it."""
        if self.ended:
            return
        self._body = b""
        request = self._request()
        request.keep_alive, request.too_large = False, True
        self.ready.append(request)
        self.begun, self.ended = False, True


_NONE: frozenset[bytes] = frozenset()


def _too_large() -> _Refused:
    return _Refused(431, f"the head of a request has at most {MOST_HEAD} bytes here")


def _words(problem: Any) -> str:
    """What the tokenizer found, as the end of a sentence."""
    text = str(problem).strip().rstrip(".")
    if "-" in text.partition(" ")[0]:  # the name of a header
        return text
    return text[:1].lower() + text[1:] if text else "its bytes make no sense"
