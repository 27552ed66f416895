"""The results of tool calls as bytes (mcp.md, section 2, step 8).

A value is walked once before it is written: so that an answer that is too large is never written at all (a list may
hold one list many times over), and that what JSON has no form for is found instead of being sent as `null`.
"""

from __future__ import annotations

from typing import Any

import orjson

from qvm.text import write_out
from qvm.values import Markup, Response, Stop, kind_of
from server.messages import MOST_DEPTH, written

MOST_BYTES = 10 * 1024 * 1024
INTERNAL_ERROR = "internal error"
OVER_SIZE = f"the answer is over {MOST_BYTES // 1024 // 1024} MiB"


class TooMuch(Exception):
    """An answer that can't be sent; the text is for the model."""


def encode(value: Any) -> bytes:
    """A Quillo value as JSON. Raises TooMuch for one too large or too deep, Stop for one that JSON can't hold."""
    kind = type(value)
    if kind is list or kind is dict:
        _measure(value)
    elif kind is not str and kind is not int and kind is not bool and value is not None:
        _check(value, kind)
    try:
        data = orjson.dumps(value, default=_special)
    except (orjson.JSONEncodeError, TypeError, RecursionError) as error:
        raise Stop(f"the answer can't be written as JSON: {_words(error)}") from None
    if len(data) > MOST_BYTES:
        raise TooMuch(OVER_SIZE)
    return data


def _words(error: Exception) -> str:
    return "a text in it has half of a surrogate pair" if "surrogate" in str(error) else str(error)


def _special(value: Any) -> str:
    from binascii import b2a_base64

    return b2a_base64(value, newline=False).decode("ascii")


def _measure(value: Any) -> None:
    total, level = 0, [value]
    for _ in range(MOST_DEPTH):
        inner = []
        for outer in level:
            if type(outer) is dict:
                total += 4 * len(outer) + 2
                for key in outer:
                    total += len(key)
                items = outer.values()
            else:
                total += len(outer) + 2
                items = outer
            for item in items:
                kind = type(item)
                if kind is str:
                    total += len(item)
                elif kind is list or kind is dict:
                    inner.append(item)
                elif kind is not int and item is not None and kind is not bool:
                    total += _check(item, kind)
            if total > MOST_BYTES:
                raise TooMuch(OVER_SIZE)
        if not inner:
            return
        level = inner
    raise TooMuch(f"the answer is over {MOST_DEPTH} levels deep")


def _check(value: Any, kind: type) -> int:
    """Raises Stop for what JSON has no form for; else about how long it is."""
    if kind is float:
        if value - value != 0:
            raise Stop(f"the answer has the float {value} in it: JSON has no such number")
        return 1
    if kind is bytes:
        return len(value)
    raise Stop(f"the answer has a {kind_of(value)} in it: a tool answers with data")


def body_of(value: Any) -> str:
    """The body of a reply, a response or markup, as text."""
    if isinstance(value, Response):
        value = value.body
    if isinstance(value, Markup):
        return value.text
    return "" if value is None else write_out(value)


class Results:
    """Writes the results of one server; `server_info` is what each carries in its `_meta`."""

    def __init__(self, server_info: dict[str, str]) -> None:
        self.meta = {"io.modelcontextprotocol/serverInfo": server_info}
        self._end = b',"_meta":' + written(self.meta) + b"}}\n"

    def complete(self, id: bytes, texts: list[bytes], structured: bytes | None = None, failed: bool = False) -> bytes:
        """A finished call: its text blocks, as JSON strings, and its structured content, as JSON."""
        content = texts[0] if len(texts) == 1 else b'},{"type":"text","text":'.join(texts)
        return b"".join(
            (
                b'{"jsonrpc":"2.0","id":',
                id,
                b',"result":{"resultType":"complete","content":[{"type":"text","text":',
                content,
                b'}],"structuredContent":' + structured if structured is not None else b"}]",
                b',"isError":true' if failed else b"",
                self._end,
            )
        )

    def failure(self, id: bytes, text: str, notes: list[str] | None = None) -> bytes:
        """A call that failed, with the text that the model reads."""
        return self.complete(id, [written(part) for part in (text, *(notes or ()))], failed=True)

    def input_required(self, id: bytes, request: dict[str, Any], state: str) -> bytes:
        """A call that waits for an answer of the person."""
        return b"".join(
            (
                b'{"jsonrpc":"2.0","id":',
                id,
                b',"result":{"resultType":"input_required","inputRequests":{"ask":',
                written(request),
                b'},"requestState":"',
                state.encode("ascii"),
                b'"',
                self._end,
            )
        )

    def whole(self, id: bytes, fields: bytes) -> bytes:
        """A result whose fields, but for `_meta`, are encoded already: `"a":1,"b":2`."""
        return b'{"jsonrpc":"2.0","id":' + id + b',"result":{' + fields + self._end
