"""The messages of MCP as bytes: reading one, and writing answers. Everything here is without I/O.

orjson reads and writes; where it refuses what JSON allows (half of a surrogate pair in a text, which the caller wants
to word itself), the standard library's json takes over: only odd messages pay for that.
"""

from __future__ import annotations

from typing import Any

import orjson

VERSION = "2026-07-28"  # of MCP
MOST_DEPTH = 128  # levels of an answer, and of a call's arguments
_MOST_DIGITS = 1000  # of a whole number that is read exactly

# Errors of JSON-RPC and of MCP, and of this server (TOO_MANY_CALLS).
NOT_JSON = -32700
BAD_REQUEST = -32600
NO_METHOD = -32601
BAD_PARAMS = -32602
INTERNAL = -32603
OTHER_VERSION = -32022
OTHER_HEADERS = -32020
TOO_MANY_CALLS = 429  # the status of HTTP, which is outside the reserved codes

# What the HTTP door answers with; what a call asks and can't be given is 200 (mcp.md, section 5).
_STATUSES = {
    NOT_JSON: 400,
    BAD_REQUEST: 400,
    OTHER_VERSION: 400,
    OTHER_HEADERS: 400,
    NO_METHOD: 404,
    INTERNAL: 500,
    TOO_MANY_CALLS: 429,
}


class NotJson(Exception):
    """A message that is no JSON; the text says why."""


def read(data: bytes | bytearray | memoryview) -> Any:
    """The value of a message. Raises NotJson."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return _read_again(bytes(data), error.msg)


def _read_again(data: bytes, problem: str) -> Any:
    import json

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise NotJson("the message is not UTF-8") from None

    def whole(digits: str) -> int | float:
        # Python turns no more than some thousands of digits into an int; as a float it is past every limit likewise.
        return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)

    try:
        return json.loads(text, parse_constant=refuse, parse_int=whole)
    except RecursionError:
        raise NotJson("the message is nested too deep") from None
    except ValueError:
        # orjson's words are the better ones, but its line and column are of a message that has one line.
        words = problem.split(": line", 1)[0]
        raise NotJson(f"the message is not JSON: {words}") from None


def written(value: Any) -> bytes:
    """A plain value as JSON."""
    try:
        return orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        import json

        return json.dumps(value, separators=(",", ":")).encode("ascii")


def id_of(message: dict[str, Any], data: bytes) -> bytes | None:
    """A request's id as JSON; None for what is no text or whole number."""
    value = message["id"]
    kind = type(value)
    if kind is int:
        return b"%d" % value
    if kind is str:
        return written(value)
    if kind is float:
        # A whole number past 64 bits is read as a float: an answer must carry the very same number.
        import json

        try:
            exact = json.loads(bytes(data))["id"]
            return b"%d" % exact if type(exact) is int else None
        except ValueError:  # it has thousands of digits
            return None
    return None


class ErrorAnswer(bytes):
    """An error as a message. `status` is what goes with it over HTTP, `retry_after` seconds, 0 for nothing said."""

    status: int
    retry_after: int


def error(
    id: bytes | None, code: int, message: str, data: Any = None, status: int = 0, retry_after: int = 0
) -> ErrorAnswer:
    """An error as an answer; it has no id where the request had none that can be read."""
    body: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    lead = b'{"jsonrpc":"2.0",' if id is None else b'{"jsonrpc":"2.0","id":' + id + b","
    answer = ErrorAnswer(lead + b'"error":' + written(body) + b"}\n")
    answer.status = status or _STATUSES.get(code, 200)
    answer.retry_after = retry_after
    return answer


def depth_over(value: Any, most: int = MOST_DEPTH) -> bool:
    """Is a JSON value nested over `most` levels deep? Each list and each object is a level."""
    level = [value] if type(value) is dict or type(value) is list else []
    for _ in range(most):
        if not level:
            return False
        level = [
            item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) is dict or type(item) is list
        ]
    return bool(level)
