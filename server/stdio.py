"""The stdio door: `quillo mcp` (mcp.md, section 4). One JSON message a line in, one a line out.

    input, output = take_over_descriptors()     before any other import: see server/descriptors.py
    serve(protocol, input, output, most)        until input ends, whoever reads is gone, or a signal comes

Two loops share a Door, which is without I/O. `_plain_loop` serves calls that finish by themselves, by poll, read and
write alone. The first call that waits, or has used up a slice of compute, makes `_trio_loop` take over for good: most
programs never need trio, and its import is longer than all the rest of the start.

Rule 1  The descriptors stay blocking: they may be shared with others (a terminal, standard error), who would be
        surprised. A read or write is made only where poll says that it won't block; to a pipe at most PIPE_BUF bytes.
Rule 2  A client may write long before it reads: what can't be written is queued, and reading goes on, until too
        much is queued.
Rule 3  The answers to what was read at once go out together; after 2 ms those that are there don't wait for others.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from server.messages import BAD_REQUEST, error
from server.protocol import Protocol, Unfinished, cancels

GRACE = 2.0  # seconds for calls under way when standard input has ended
_HUNG_UP = select.POLLHUP | getattr(select, "POLLRDHUP", 0)  # the other side writes no more; RDHUP is Linux's
MOST_QUEUED = 32 * 1024 * 1024  # bytes of answers; while there are more, nothing is read
_READ = 65536
_MOST_EARLY = 4 * 1024 * 1024  # bytes that are read while a statement holds everything up
TURN = 0.002  # seconds of work before answers go out


class Gone(Exception):
    """Whoever reads our answers is gone."""


class Output:
    """Writes answers as far as the other side takes them, and queues the rest."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.queued = bytearray()
        self._poll = select.poll()
        self._poll.register(number, select.POLLOUT)
        mode = os.fstat(number).st_mode
        # Only a pipe's poll promises anything about a size; other kinds take what they can, or never block.
        self._most = select.PIPE_BUF if not stat.S_ISREG(mode) else _READ
        self._socket: Any = None
        if stat.S_ISSOCK(mode):
            import socket

            self._socket = socket.socket(fileno=os.dup(number))

    def put(self, data: bytes) -> None:
        """Writes `data` after what is queued. Raises Gone."""
        if self.queued:
            self.queued += data
            return
        left = self._write(memoryview(data))
        if left:
            self.queued += left

    def drain(self) -> None:
        """Writes what is queued, as far as it goes. Raises Gone."""
        written = len(self.queued)
        with memoryview(self.queued) as whole:
            written -= len(self._write(whole))
        del self.queued[:written]

    def _write(self, data: memoryview) -> memoryview:
        """Writes as much as can be written now; gives the rest."""
        try:
            while data:
                if self._socket is not None:
                    import socket

                    try:
                        data = data[self._socket.send(data, socket.MSG_DONTWAIT) :]
                    except BlockingIOError:
                        break
                elif not self._poll.poll(0):
                    break
                else:
                    data = data[os.write(self.number, data[: self._most]) :]
        except (BrokenPipeError, ConnectionResetError):
            raise Gone from None
        except BlockingIOError:  # somebody else made it non-blocking
            pass
        except OSError:
            raise Gone from None  # a full disk, a closed terminal: there is nobody left to tell
        return data


class Door:
    """Bytes in, answers out, calls that go on: without I/O and without a clock."""

    def __init__(self, protocol: Protocol, most: int) -> None:
        self._protocol = protocol
        self._most = most  # bytes of a line
        self._rest = bytearray()
        self._skipping = False  # the rest of a line that is too long
        self.pending: deque[bytes] = deque()  # whole lines, not yet begun with
        self.reads = 0  # how often something came
        self.answers: list[bytes] = []  # not yet sent
        self.unfinished: list[Unfinished] = []  # calls that the loop has to go on with
        self.ended = False

    def read(self, data: bytes) -> None:
        """Makes whole lines of `data`, to be taken one by one; what is too long is answered here."""
        self.reads += 1
        if self._rest:
            self._rest += data
            if b"\n" not in data:
                self._look_at_rest()
                return
            data, self._rest = bytes(self._rest), bytearray()
        *lines, rest = data.split(b"\n")
        if rest:
            self._rest += rest
        if lines and self._skipping:
            self._skipping = False
            del lines[0]
        self._look_at_rest()
        self.pending += lines

    def _look_at_rest(self) -> None:
        if self._skipping:
            self._rest.clear()
        elif len(self._rest) > self._most:
            self._refuse()
            self._skipping = True
            self._rest.clear()

    def _refuse(self) -> None:
        self.answers.append(error(None, BAD_REQUEST, f"the message is over {self._most} bytes"))

    def cancelled(self, request: Any) -> bool:
        """Is the cancellation of a request among the pending lines? It is taken out; the others keep their order."""
        for line in self.pending:
            if cancels(line, request):
                self.pending.remove(line)
                return True
        return False

    def take_next(self) -> None:
        """Begins with the first pending line."""
        self.take(self.pending.popleft())

    def take(self, line: bytes) -> None:
        """Begins with one line."""
        if len(line) > self._most:
            self._refuse()
            return
        if not line or line.isspace():
            return
        self.done(self._protocol.begin(line))

    def end(self) -> None:
        """The input has ended: a last line need not have an end."""
        self.ended = True
        line, self._rest = bytes(self._rest), bytearray()
        if line and not self._skipping:
            self.take(line)

    def done(self, answer: bytes | Unfinished | None) -> None:
        """Keeps what a step of a call gave."""
        if isinstance(answer, Unfinished):
            self.unfinished.append(answer)
        elif answer is not None:
            self.answers.append(answer)

    def taken(self) -> bytes:
        """All answers that are there, to be sent."""
        data = self.answers[0] if len(self.answers) == 1 else b"".join(self.answers)
        self.answers.clear()
        return data


class Signals:
    """Notes SIGTERM and SIGINT instead of being ended by them: `came`. `wake` is readable when one has come.

    Python's own wake-up writes to the pipe as soon as the signal is there; the handler, which runs somewhat later, does
    so where somebody else has taken the wake-up over (trio).
    """

    def __init__(self) -> None:
        self.came = False
        self.wake, self._waker = os.pipe()

    def __enter__(self) -> Signals:
        os.set_blocking(self._waker, False)
        self._before = [(number, signal.signal(number, self._note)) for number in (signal.SIGTERM, signal.SIGINT)]
        signal.set_wakeup_fd(self._waker)
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.came = True
        with contextlib.suppress(OSError):
            os.write(self._waker, b"!")

    def release_wake_up(self) -> None:
        """Leaves Python's own wake-up, of which there is one, to another loop."""
        signal.set_wakeup_fd(-1)

    def __exit__(self, *_: object) -> None:
        self.release_wake_up()
        for number, handler in self._before:
            signal.signal(number, handler)
        os.close(self.wake)
        os.close(self._waker)


class Patience:
    """Says to a statement that runs for long, and holds everything up meanwhile, when nobody waits for it any more.

    It reads on while the statement runs: what comes is kept in the door for later, but for the cancellation of this
    very call. `clock` gives seconds, from any start.
    """

    def __init__(self, door: Door, input: int, signals: Signals, clock: Callable[[], float] = time.monotonic) -> None:
        self._door = door
        self._input = input
        self._signals = signals
        self._clock = clock
        self._poll = select.poll()
        self._poll.register(input, select.POLLIN | _HUNG_UP)
        self._early = 0  # bytes read since nothing was pending
        self._searched: tuple[Any, int] | None = None  # the request, and the door's reads, of the last search
        self._until: float | None = None  # when the calls under way have had their time

    def is_over(self, request: Any) -> bool:
        """Is the statement of the call with this id to be broken off?"""
        if self._signals.came:
            return True
        door, ended = self._door, self._until is not None
        if not door.pending:
            self._early = 0
        if not ended:
            for _, events in self._poll.poll(0):
                ended = bool(events & _HUNG_UP)
                if events & select.POLLIN and self._early < _MOST_EARLY:
                    data = read(self._input)
                    self._early += len(data)
                    if data:
                        door.read(data)
                    else:
                        ended = True
        if self._searched != (request, door.reads):
            if door.cancelled(request):
                return True
            self._searched = request, door.reads
        if not ended:
            return False
        if self._until is None:
            self._until = self._clock() + GRACE
        return self._clock() > self._until


def serve(protocol: Protocol, input: int, output: int, most: int) -> None:
    """Serves until there is nobody to serve; `most` is the size of the longest line, in bytes."""
    if input < 0 or output < 0:
        return
    door = Door(protocol, most)
    with Signals() as signals:
        protocol.running.world.database.give_up_when(Patience(door, input, signals).is_over)
        try:
            out = Output(output)
            if not _plain_loop(door, input, out, signals):
                from server.stdio_tasks import serve_tasks

                signals.release_wake_up()
                serve_tasks(door, input, out, signals)
        except Gone:
            pass


def _plain_loop(door: Door, input: int, out: Output, signals: Signals) -> bool:
    """Serves until the end (true), or until a call can't finish by itself (false)."""
    wake = signals.wake
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    poll.register(input, select.POLLIN)
    reading, writing = True, False
    while True:
        ready = {number for number, _ in poll.poll()}
        if signals.came:
            return True
        if out.queued:
            out.drain()
        if input in ready:
            data = read(input)
            if data:
                door.read(data)
                _take(door, out)
            else:
                door.end()
            if door.answers:
                out.put(door.taken())
            if door.unfinished:
                return False
            if door.ended:
                _last_words(out, signals)
                return True
        if reading != (len(out.queued) < MOST_QUEUED):
            reading = not reading
            if reading:
                poll.register(input, select.POLLIN)
            else:
                poll.unregister(input)
        if writing != bool(out.queued):
            writing = not writing
            if writing:
                poll.register(out.number, select.POLLOUT)
            else:
                poll.unregister(out.number)


def read(input: int) -> bytes:
    """What there is to read; nothing at the end, also where the other side broke off."""
    try:
        return os.read(input, _READ)
    except OSError:
        return b""


def _take(door: Door, out: Output) -> None:
    """Begins with each pending line; answers that are ready don't wait for a long one behind them."""
    if len(door.pending) == 1:
        door.take_next()
    if not door.pending:
        return
    began = time.monotonic()
    while door.pending:
        door.take_next()
        if door.answers and time.monotonic() - began > TURN:
            out.put(door.taken())
            began = time.monotonic()


def _last_words(out: Output, signals: Signals) -> None:
    """The input has ended: answers that are queued are sent as long as somebody takes them."""
    poll = select.poll()
    poll.register(signals.wake, select.POLLIN)
    poll.register(out.number, select.POLLOUT)
    while out.queued and poll.poll(GRACE * 1000) and not signals.came:
        out.drain()
