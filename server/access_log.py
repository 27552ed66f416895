"""A line for each request (`quillo run --log`).

    text    2026-12-01T12:00:00.000Z GET /notes 200 1.3ms 4f2a90c1 57
    json    {"time": …, "method": …, "path": …, "status": …, "ms": …, "caller": …, "steps": …}

`caller` is a digest that says who is the same, not who; "-" (null) for no one. A path is shown without its query, which
may hold what is private.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import lru_cache

from server.http_messages import Answer, Request


class AccessLog:
    """Writes lines through `write`, which must not wait. `format` is "text" or "json". `key` is that of the digests, of
    32 bytes: processes with the same write the same for one caller.
    """

    def __init__(self, format: str, write: Callable[[bytes], None], key: bytes | None = None) -> None:
        self._line = _json_line if format == "json" else _text_line
        self._write = write
        self._key = key or os.urandom(32)

    def __call__(self, request: Request, answer: Answer, seconds: float) -> None:
        now = time.time()
        self._write(self._line(now, request, answer, seconds * 1000, self._digest(answer.caller)))

    def _digest(self, caller: str) -> str:
        if not caller or caller == "nobody":
            return ""
        from blake3 import blake3

        return blake3(caller.encode("utf-8", "surrogatepass"), key=self._key).hexdigest(length=4)


@lru_cache(maxsize=2)
def _second(whole: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))


def _stamp(now: float) -> str:
    whole = int(now)
    return f"{_second(whole)}.{int((now - whole) * 1000):03}Z"


def _shown(path: str) -> str:
    """A path with all that a terminal or a reader of lines could take for something else percent-encoded."""
    if path.isascii() and path.isprintable() and " " not in path:
        return path
    data = path.encode("latin-1", "backslashreplace")
    return "".join(chr(byte) if 32 < byte < 127 else f"%{byte:02X}" for byte in data)


def _text_line(now: float, request: Request, answer: Answer, ms: float, caller: str) -> bytes:
    path = _shown(request.path)
    row = f"{_stamp(now)} {request.method} {path} {answer.status} {ms:.1f}ms {caller or '-'} {answer.steps}\n"
    return row.encode("ascii", "backslashreplace")


def _json_line(now: float, request: Request, answer: Answer, ms: float, caller: str) -> bytes:
    import orjson

    row = {
        "time": _stamp(now),
        "method": request.method,
        "path": _shown(request.path),
        "status": answer.status,
        "ms": round(ms, 3),
        "caller": caller or None,
        "steps": answer.steps,
    }
    return orjson.dumps(row) + b"\n"
