"""The HTTP door: a trio task for each connection, which reads requests, asks the site, and writes answers.

    door = Door(site, options, log)
    trio.run(door.serve, listener)          listener: a socket that listens (see `server.listening`)

Rule 1  A connection's requests are answered one after the other, in their order.
Rule 2  Nobody holds a place for long: a request has to be whole `options.patience` seconds after its first byte, an
        answer has to go on being taken, and so long may a connection be idle, too. One task looks at all connections
        every `options.look` seconds.
Rule 3  A client that hangs up while its call waits cancels the call.
Rule 4  One failure boundary a request: what goes wrong in Quillo itself is a 500 for that request alone.
Rule 5  When it is told to end, requests under way get `options.grace` seconds, and nobody else gets in.
Rule 6  Requests that come together are answered together, but neither do they hold up others for long, nor do their
        answers pile up.
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Protocol

import trio

from server.http_messages import Answer, Request, text_answer
from server.http_parser import RequestReader
from server.protocol import Unfinished

_READ = 65536
_MOST_AHEAD = 256 * 1024  # bytes that are read while a call runs, to see whether its client is still there
_MOST_JOINED = 256 * 1024  # bytes of answers that are sent as one
_TURN = 0.01  # seconds for requests that came together, until others get their turn
_LINGER = 2.0  # seconds in which a client whose request is refused may see that, and end sending
_NEVER = float("inf")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_WITHOUT_BODY = frozenset((204, 304))
_HUNG_UP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
_STATUS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Site(Protocol):
    """What answers requests: an Answer, or an Unfinished whose end is one."""

    def begin(self, request: Request) -> Answer | Unfinished: ...


class Options:
    """How the door treats its clients; times are in seconds."""

    def __init__(
        self,
        max_body: int = 1024 * 1024,
        most_connections: int = 1000,
        patience: float = 30.0,
        grace: float = 10.0,
        look: float = 1.0,
        timing: bool = False,
    ) -> None:
        self.max_body = max_body  # bytes
        self.most_connections = most_connections
        self.patience = patience
        self.grace = grace
        self.look = look  # between two looks at all connections
        self.timing = timing  # whether answers say how long they took


Log = Callable[[Request, Answer, float], None]
_NONE = Request("-", "-", {})  # what the log is told of where nothing came that is a request
_NONE.keep_alive = False


class Door:
    """Serves `site`, which may be replaced by another at any time: requests under way end where they began.

    `log(request, answer, seconds)` is told of each request, `fault(problem)` of each failure of Quillo itself; it gives
    a reference that the client may name.
    """

    def __init__(self, site: Site, options: Options, log: Log | None, fault: Callable[[BaseException], str]) -> None:
        self.site = site
        self.options = options
        self._log = log
        self._fault = fault
        self._connections: set[_Connection] = set()
        self._under_way: dict[Site, int] = {}  # calls that wait or take long, by the site that they began in
        self._ending = False
        self._empty = trio.Event()
        self._accepting = trio.CancelScope()
        self._second = 0
        self._date = b""

    async def serve(self, listener: socket.socket, ready: Callable[[], None] | None = None) -> None:
        """Serves until `end` is called and everybody is gone, or the grace is over."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sweep)
            if ready is not None:
                ready()
            with self._accepting:
                await self._accept(listener, nursery)
            listener.close()
            with trio.move_on_after(self.options.grace):
                while self._connections:
                    self._empty = trio.Event()
                    await self._empty.wait()
            nursery.cancel_scope.cancel()

    def end(self) -> None:
        """Lets nobody in any more; idle connections are closed, the others when they have their answer."""
        self._ending = True
        self._accepting.cancel()
        for connection in self._connections:
            if connection.idle and not connection.has_input():  # else a request is on its way, and is answered
                connection.scope.cancel()

    async def _accept(self, listener: socket.socket, nursery: trio.Nursery) -> None:
        while True:
            try:
                await trio.lowlevel.wait_readable(listener)
                client, address = listener.accept()
                client.setblocking(False)
            except BlockingIOError:  # another process was quicker
                continue
            except OSError as problem:
                if problem.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    await trio.sleep(0.1)  # no more descriptors: some connection has to end first
                elif problem.errno in (errno.EBADF, errno.EINVAL):
                    raise
                continue
            if len(self._connections) >= self.options.most_connections:
                self._turn_away(client)
                continue
            connection = _Connection(self, client, address[0].removeprefix("::ffff:"))
            self._connections.add(connection)
            nursery.start_soon(connection.serve)

    def _turn_away(self, client: socket.socket) -> None:
        answer = text_answer(503, "too many connections: try again later", b"retry-after: 5\r\n", close=True)
        with contextlib.suppress(OSError):
            client.send(self.written(answer, _NONE, 0.0))
        _close(client)

    async def _sweep(self) -> None:
        while True:
            await trio.sleep(self.options.look)
            now = time.monotonic()
            for connection in self._connections:
                if connection.deadline < now:
                    connection.late = True
                    connection.scope.cancel()

    def left(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()

    def answer(self, request: Request) -> Answer | Unfinished:
        try:
            return self.site.begin(request)
        except Exception as problem:
            return self.failed(problem)

    def failed(self, problem: BaseException) -> Answer:
        """The answer to a request on which Quillo itself failed."""
        return text_answer(500, f"internal error ({self._fault(problem)})")

    def written(self, answer: Answer, request: Request, seconds: float) -> bytes:
        """An answer as bytes."""
        now = int(time.time())
        if now != self._second:
            self._second = now
            self._date = b"date: " + formatdate(now, usegmt=True).encode() + b"\r\n"
        status, body = answer.status, answer.body
        parts = [_STATUS.get(status) or b"HTTP/1.1 %d \r\n" % status, answer.headers, self._date]
        if status in _WITHOUT_BODY:
            body = b""
        else:
            parts.append(b"content-length: %d\r\n" % len(body))
            if request.method == "HEAD":
                body = b""
        if answer.close or not request.keep_alive or self._ending:
            parts.append(b"connection: close\r\n")
        if self.options.timing:
            parts.append(b"server-timing: app;dur=%.2f\r\n" % (seconds * 1000))
        parts.append(b"\r\n")
        parts.append(body)
        if self._log is not None:
            self._log(request, answer, seconds)
        return b"".join(parts)

    @property
    def ending(self) -> bool:
        return self._ending

    def is_under_way(self, site: Site) -> bool:
        """Has a request that began in this site yet to end?"""
        return site in self._under_way

    @contextlib.contextmanager
    def under_way(self, site: Site) -> Iterator[None]:
        """While this lasts, a request is under way in the site."""
        self._under_way[site] = self._under_way.get(site, 0) + 1
        try:
            yield
        finally:
            self._under_way[site] -= 1
            if not self._under_way[site]:
                del self._under_way[site]


class _Connection:
    """One client's connection. `deadline`: when its time is over; `idle`: it waits for a request to begin."""

    def __init__(self, door: Door, client: socket.socket, address: str) -> None:
        self.door = door
        self.client = client
        self.scope = trio.CancelScope()
        self.reader = RequestReader(door.options.max_body, address)
        self.idle = True
        self.late = False
        self.deadline = time.monotonic() + door.options.patience
        self._ahead: list[bytes] = []  # what was read while a call ran
        self._ahead_size = 0
        self._gone = False
        self._may_send_more = False  # whether its last request was refused before all of it came

    async def serve(self) -> None:
        try:
            with self.scope, contextlib.suppress(OSError):
                await self._serve()
                if self._may_send_more:
                    await self._linger()
            if self.late and self.reader.begun:
                answer = text_answer(408, "the request did not come in time", close=True)
                with contextlib.suppress(OSError):
                    self.client.send(self.door.written(answer, _NONE, 0.0))
        except Exception as problem:  # a failure of the door itself ends this connection only
            self.door.failed(problem)
        finally:
            self.door.left(self)
            _close(self.client)

    async def _linger(self) -> None:
        """Takes what a client still sends: closing at once resets the connection, and the refusal may be lost on it."""
        self.idle = True
        self.client.shutdown(socket.SHUT_WR)
        with trio.move_on_after(_LINGER):
            while await self._receive():
                pass

    def has_input(self) -> bool:
        """Has something come that was not read yet?"""
        return bool(self._ahead) or _polled(self.client, select.POLLIN)

    async def _serve(self) -> None:
        door, reader = self.door, self.reader
        patience = door.options.patience
        with contextlib.suppress(OSError):
            self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            if self._ahead:
                data, self._ahead, self._ahead_size = b"".join(self._ahead), [], 0
            else:
                data = await self._receive()
            if not data:
                return
            begun = reader.begun
            reader.feed(data)
            if reader.ready:
                if not await self._answer():
                    return
                begun = False
                self.deadline = time.monotonic() + patience
            elif reader.begun and not begun:
                self.deadline = time.monotonic() + patience
            # What has begun has to be whole in time: bytes that dribble in don't put that off, nor do blank lines.
            if reader.continues:
                reader.continues = False
                self.client.send(_CONTINUE)
            self.idle = not reader.begun
            if self._gone or (self.idle and door.ending):
                return

    async def _answer(self) -> bool:
        """Answers what is ready; whether the connection goes on."""
        door, ready = self.door, self.reader.ready
        self.idle, self.deadline = False, _NEVER
        out: list[bytes] = []
        size, turn = 0, time.perf_counter()
        goes_on = True
        for item in ready:
            if isinstance(item, Answer):
                out.append(door.written(item, _NONE, 0.0))
                goes_on, self._may_send_more = False, True
                break
            began = time.perf_counter()
            if out and (size > _MOST_JOINED or began - turn > _TURN):
                await self._send(b"".join(out))
                out.clear()
                await trio.lowlevel.checkpoint()
                size, turn = 0, time.perf_counter()
                began = turn
            site = door.site
            outcome = door.answer(item)
            if isinstance(outcome, Unfinished):
                with door.under_way(site):
                    answer = await self._finish(outcome, b"".join(out))
                out.clear()
                if answer is None:
                    return False
                size, turn = 0, time.perf_counter()
            else:
                answer = outcome
            data = door.written(answer, item, time.perf_counter() - began)
            out.append(data)
            size += len(data)
            if answer.close or not item.keep_alive or door.ending:
                goes_on, self._may_send_more = False, item.too_large
                break
        ready.clear()
        await self._send(out[0] if len(out) == 1 else b"".join(out))
        return goes_on

    async def _receive(self) -> bytes:
        """What has come; b"" where the client has ended."""
        client = self.client
        while True:
            await trio.lowlevel.wait_readable(client)
            try:  # `contextlib.suppress` would cost every request something
                return client.recv(_READ)
            except BlockingIOError:
                continue

    async def _send(self, data: bytes) -> None:
        client = self.client
        try:
            sent = client.send(data)
        except BlockingIOError:
            sent = 0
        if sent == len(data):
            return
        left, patience = memoryview(data)[sent:], self.door.options.patience
        while left:
            self.deadline = time.monotonic() + patience
            await trio.lowlevel.wait_writable(client)
            with contextlib.suppress(BlockingIOError):
                left = left[client.send(left) :]
        self.deadline = _NEVER

    # Calls that wait or take long

    async def _finish(self, call: Unfinished, before: bytes) -> Answer | None:
        """Goes on with a call until its answer is there, None where the client has gone; `before` is sent first."""
        answer: Any = call
        try:
            if before:
                await self._send(before)
            with trio.CancelScope() as scope:
                while isinstance(answer, Unfinished):
                    answer.on_cancel = scope.cancel
                    waiting = answer.waiting
                    try:
                        if waiting is None:
                            await trio.lowlevel.checkpoint()
                            if self._has_hung_up():
                                return None
                            answer = answer.resume(None)
                        else:
                            answer = await self._wait(answer, waiting)
                    except Exception as problem:
                        if isinstance(answer, Unfinished):
                            answer.cancel()
                        answer = self.door.failed(problem)
            return answer if type(answer) is Answer else None
        finally:
            if isinstance(answer, Unfinished):
                answer.cancel()

    async def _wait(self, call: Unfinished, waiting: Any) -> Any:
        value: Any = None
        failed: Exception | None = None
        done = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, nursery.cancel_scope)
            try:
                value = await waiting.start()
            except Exception as problem:  # a Stop, or a failure of ours that ends this call only
                failed = problem
            done = True
            nursery.cancel_scope.cancel()
        if not done or self._gone:
            self._gone = True
            call.cancel()
            return None
        return call.resume(value) if failed is None else call.fail(failed)

    async def _watch(self, scope: trio.CancelScope) -> None:
        """Ends the scope when the client hangs up; what it sends meanwhile is kept for later."""
        while self._ahead_size < _MOST_AHEAD:
            try:
                data = await self._receive()
            except OSError:
                data = b""
            if not data:
                self._gone = True
                scope.cancel()
                return
            self._ahead.append(data)
            self._ahead_size += len(data)

    def _has_hung_up(self) -> bool:
        self._gone = self._gone or _polled(self.client, _HUNG_UP)
        return self._gone


def _polled(client: socket.socket, events: int) -> bool:
    poll = select.poll()
    poll.register(client.fileno(), events)
    return bool(poll.poll(0))


def _close(client: socket.socket) -> None:
    # Closing with bytes unread resets the connection, and the client may lose the answer that was on its way.
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_WR)
        for _ in range(16):
            if not client.recv(_READ):
                break
    client.close()
