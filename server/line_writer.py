"""Writes what a server prints and logs from a thread of its own: output that nobody takes holds up no answer.

writer = LineWriter(2)
writer.put(b"a line\\n")
writer.close()
"""

from __future__ import annotations

import os
import queue
import threading

_MOST_WAITING = 10_000  # pieces; further ones are left out, and counted
_MOST_AT_ONCE = 200


class LineWriter:
    """Writes to a file descriptor, in the order in which things are put. The thread starts with the first."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_MOST_WAITING)
        self._left_out = 0
        self._thread: threading.Thread | None = None

    def put(self, data: bytes) -> None:
        """Writes this when its turn comes; where too much is waiting, it is left out, and counted."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="output", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(data)
        except queue.Full:
            self._left_out += 1

    def close(self, patience: float = 2.0) -> None:
        """Writes what is still waiting, for so many seconds at most."""
        if self._thread is not None:
            try:
                self._waiting.put(None, timeout=patience)
            except queue.Full:
                return
            self._thread.join(patience)
            self._thread = None

    def _run(self) -> None:
        ended = False
        while not ended:
            found = self._waiting.get()
            parts = []
            while found is not None:
                parts.append(found)
                if len(parts) >= _MOST_AT_ONCE or self._waiting.empty():
                    break
                found = self._waiting.get()
            ended = found is None
            if self._left_out:
                count, self._left_out = self._left_out, 0
                parts.append(b"quillo: %d lines were left out here: nobody took them in time\n" % count)
            try:
                self._write(b"".join(parts))
            except OSError:
                return  # whoever reads it is gone

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]
