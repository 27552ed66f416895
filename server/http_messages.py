"""One request and one answer of HTTP as values: what the HTTP door reads is a Request, what a site gives an Answer.

    answer = site.begin(request)            an Answer, or an Unfinished (see server.protocol) whose end is an Answer

Nothing here does I/O; `server.http_parser` makes Requests of bytes, and `server.http_door` writes Answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


class Request:
    """A request whose head passed the parser's rules and whose body is whole.

    `method`    in capital letters
    `target`    as it came, in origin form: the path, still percent-encoded, and `?` and the query where there is one
    `headers`   by name in small letters, values without blanks around them; those of a name that came several times
                are joined by `, ` (RFC 9110, section 5.2), cookies by `; `
    `repeated`  the names that came more than once
    `body`      all of it, decoded from its chunks
    `address`   of the client, without a port
    `keep_alive` is false where the connection ends with its answer
    `too_large` is true where its body is over the limit: then it was not read, and `body` is empty
    `gone`      tells whether the client has hung up meanwhile, so that nobody waits for the answer
    """

    __slots__ = ("address", "body", "gone", "headers", "keep_alive", "method", "repeated", "target", "too_large")

    def __init__(
        self,
        method: str,
        target: str,
        headers: dict[bytes, bytes],
        body: bytes = b"",
        address: str = "127.0.0.1",
        repeated: frozenset[bytes] = frozenset(),
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.address = address
        self.repeated = repeated
        self.keep_alive = True
        self.too_large = False
        self.gone: Callable[[], bool] = _stays

    @property
    def path(self) -> str:
        """The path of the target, still percent-encoded."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What stands behind the first `?` of the target, still percent-encoded; "" for nothing."""
        return self.target.partition("?")[2]

    def text(self, name: bytes) -> str:
        """A header as text; "" where it is missing."""
        return self.headers.get(name, b"").decode("latin-1")


def _stays() -> bool:
    return False


class Answer:
    """What is sent back.

    `headers` are whole lines with their ends: `b"content-type: text/plain\\r\\n"` (see `header_lines`). The door adds
    `date`, `content-length` and `connection`, leaves the body of an answer to HEAD out, and gives statuses that have no
    body none. `steps` and `caller` are for the log: the steps that it took, and who called, as a digest.
    """

    __slots__ = ("body", "caller", "close", "headers", "status", "steps")

    def __init__(self, status: int, headers: bytes = b"", body: bytes = b"", close: bool = False) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.close = close  # the connection ends with it
        self.steps = 0
        self.caller = ""


def header_lines(headers: Iterable[tuple[str, str]]) -> bytes:
    """Headers as the lines of a message. Raises ValueError for a line end or another control character in one."""
    lines = []
    for name, value in headers:
        if any(ord(letter) < 32 or ord(letter) == 127 for letter in name + value):
            raise ValueError(f"the header {name!r} has a control character in it")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode("utf-8")


def text_answer(status: int, text: str, headers: bytes = b"", close: bool = False) -> Answer:
    """A line of text for whoever sent the request."""
    lines = b"content-type: text/plain; charset=utf-8\r\nx-content-type-options: nosniff\r\n" + headers
    return Answer(status, lines, (text + "\n").encode("utf-8"), close)
