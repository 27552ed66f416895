"""A line for each request, written by a thread of its own: a log that nobody reads holds up no answer.

    text    2026-12-01T12:00:00.000Z GET /notes 200 1.3ms 4f2a90c1 57
    json    {"time": …, "method": …, "path": …, "status": …, "ms": …, "caller": …, "steps": …}

`caller` is a digest that says who is the same, not who; "-" (null) for no one. A path is shown without its query, which
may hold what is private.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable

from server.http_messages import Answer, Request

FORMATS = ("text", "json")
_MOST_WAITING = 10_000  # lines; further ones are left out, and counted


class AccessLog:
    """Writes lines through `write`. `format` is one of FORMATS."""

    def __init__(self, format: str, write: Callable[[bytes], None]) -> None:
        self._line = _json_line if format == "json" else _text_line
        self._write = write
        self._key = os.urandom(32)
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_MOST_WAITING)
        self._left_out = 0
        self._thread = threading.Thread(target=self._run, name="access log", daemon=True)
        self._thread.start()

    def __call__(self, request: Request, answer: Answer, seconds: float) -> None:
        now = time.time()
        line = self._line(now, request, answer, seconds * 1000, self._digest(answer.caller))
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            self._left_out += 1

    def close(self) -> None:
        """Writes what is still waiting."""
        self._waiting.put(None)
        self._thread.join(timeout=2)

    def _digest(self, caller: str) -> str:
        if not caller or caller == "nobody":
            return ""
        from blake3 import blake3

        return blake3(caller.encode("utf-8", "surrogatepass"), key=self._key).hexdigest(length=4)

    def _run(self) -> None:
        while True:
            line = self._waiting.get()
            if line is None:
                return
            lines = [line]
            while len(lines) < 100 and not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    self._waiting.put(None)
                    break
                lines.append(following)
            if self._left_out:
                count, self._left_out = self._left_out, 0
                lines.append(b"quillo: %d lines of the log were left out: nobody took them in time\n" % count)
            try:
                self._write(b"".join(lines))
            except OSError:
                return  # whoever reads the log is gone


def _stamp(now: float) -> str:
    whole = int(now)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((now - whole) * 1000):03}Z"


def _text_line(now: float, request: Request, answer: Answer, ms: float, caller: str) -> bytes:
    path = "".join(
        letter if letter.isprintable() and letter != " " else f"%{ord(letter):02X}" for letter in request.path
    )
    row = f"{_stamp(now)} {request.method} {path} {answer.status} {ms:.1f}ms {caller or '-'} {answer.steps}\n"
    return row.encode("utf-8", "backslashreplace")


def _json_line(now: float, request: Request, answer: Answer, ms: float, caller: str) -> bytes:
    import orjson

    row = {
        "time": _stamp(now),
        "method": request.method,
        "path": request.path,
        "status": answer.status,
        "ms": round(ms, 3),
        "caller": caller or None,
        "steps": answer.steps,
    }
    return orjson.dumps(row) + b"\n"
