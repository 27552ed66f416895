"""The HTTP door over real sockets: connections, their limits, calls that wait, and the end."""

from __future__ import annotations

import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing

from qvm.host import Waiting
from server.http_door import Door, Options
from server.http_messages import Answer, Request, text_answer
from server.listening import CannotListen, address_of, listen
from server.protocol import Unfinished

GET = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE = 0.3  # seconds that the door has in tests of slow clients


class Call(Unfinished):
    """A call that goes on when the test says so."""

    def __init__(self, waiting: Waiting | None) -> None:
        self.waiting = waiting
        self.on_cancel = None
        self.cancelled = False
        self.turns = 0

    def resume(self, value: Any) -> Any:
        self.turns += 1
        if self.waiting is None and value is None and self.turns < 1000:
            return self
        return text_answer(200, f"resumed with {value}")

    def fail(self, problem: Exception) -> Any:
        return text_answer(500, str(problem))

    def cancel(self) -> None:
        self.cancelled = True


class Site:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.go = trio.Event()
        self.began = trio.Event()
        self.slowly = trio.Event()

    def begin(self, request: Request) -> Answer | Unfinished:
        if request.target == "/fails":
            raise ZeroDivisionError("a fault")
        if request.target == "/slowly":
            self.slowly.set()
            end = time.perf_counter() + 0.0005
            while time.perf_counter() < end:
                pass
            return text_answer(200, "slowly done")
        if request.target == "/large":
            return text_answer(200, "x" * 8_000_000)
        if request.too_large:
            return Answer(413, b"", b"too large\n", close=True)
        if request.target == "/none":
            return Answer(204)
        if request.target in ("/waits", "/turns", "/stops"):
            self.calls.append(Call(None if request.target == "/turns" else Waiting(getattr(self, request.target[1:]))))
            self.began.set()
            return self.calls[-1]
        return text_answer(200, f"{request.method} {request.target} {len(request.body)}")

    async def waits(self) -> str:
        await self.go.wait()
        return "it"

    async def stops(self) -> str:
        raise ValueError("it stopped")


class Served:
    """A door that serves on a free port while the test runs."""

    def __init__(self, door: Door, site: Site, address: tuple[str, int]) -> None:
        self.door = door
        self.site = site
        self.address = address
        self.log: list[tuple[str, int]] = []

    async def client(self, *parts: bytes) -> trio.SocketStream:
        stream = await trio.open_tcp_stream(*self.address)
        for part in parts:
            await stream.send_all(part)
        return stream

    async def exchange(self, data: bytes) -> bytes:
        """All that comes until the door closes the connection."""
        stream = await self.client(data)
        await stream.send_eof()
        return await everything(stream)


async def everything(stream: trio.SocketStream) -> bytes:
    found = b""
    try:
        while part := await stream.receive_some():
            found += part
    except trio.BrokenResourceError:
        pass
    return found


async def until(stream: trio.SocketStream, end: bytes) -> bytes:
    found = b""
    while not found.endswith(end):
        part = await stream.receive_some()
        assert part, found
        found += part
    return found


def serving(test: Callable[[Served], Awaitable[None]], **options: Any) -> Served:
    async def main() -> Served:
        listener = listen("127.0.0.1", 0)
        site = Site()
        faults: list[str] = []

        def fault(problem: BaseException) -> str:
            faults.append(str(problem))
            return "ref"

        log: list[tuple[str, int]] = []
        door = Door(
            site, Options(**options), lambda request, answer, _: log.append((request.target, answer.status)), fault
        )
        served = Served(door, site, address_of(listener))
        served.log = log
        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(door.serve, listener)
                await test(served)
                door.end()
        return served

    return trio.run(main)


def test_one_connection_serves_many_requests_and_pipelined_ones_in_their_order():
    async def test(served: Served) -> None:
        stream = await served.client(GET % b"/a")
        assert (await until(stream, b"GET /a 0\n")).startswith(b"HTTP/1.1 200 OK\r\n")
        await stream.send_all(GET % b"/b" + GET % b"/c" + b"POST /d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab")
        found = await until(stream, b"GET /c 0\n")
        assert found.index(b"GET /b 0") < found.index(b"GET /c 0")
        await stream.send_all(b"c")
        await until(stream, b"POST /d 3\n")
        await stream.aclose()

    assert serving(test).log == [("/a", 200), ("/b", 200), ("/c", 200), ("/d", 200)]


def test_an_answer_has_a_date_a_length_and_the_end_that_was_asked_for():
    async def test(served: Served) -> None:
        found = await served.exchange(b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head, _, body = found.partition(b"\r\n\r\n")
        lines = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        assert lines[b"content-length"] == b"%d" % len(body)
        assert lines[b"date"].endswith(b" GMT")
        assert lines[b"connection"] == b"close"
        assert b"server-timing" not in lines

    serving(test)


def test_head_has_the_headers_and_no_body():
    async def test(served: Served) -> None:
        found = await served.exchange(b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" + GET % b"/b")
        first, _, rest = found.partition(b"\r\n\r\n")
        assert b"content-length: 10" in first
        assert rest.startswith(b"HTTP/1.1 200 OK")

    serving(test)


def test_no_content_has_neither_body_nor_length():
    async def test(served: Served) -> None:
        found = await served.exchange(GET % b"/none")
        assert found.startswith(b"HTTP/1.1 204 No Content\r\n")
        assert b"content-length" not in found

    serving(test)


def test_a_fault_is_a_500_for_that_request_alone():
    async def test(served: Served) -> None:
        found = await served.exchange(GET % b"/fails" + GET % b"/fine")
        assert found.count(b"HTTP/1.1 500") == 1
        assert b"internal error (ref)" in found
        assert b"a fault" not in found
        assert b"GET /fine 0" in found

    serving(test)


def test_rubbish_is_refused_after_what_was_good():
    async def test(served: Served) -> None:
        found = await served.exchange(GET % b"/a" + b"rubbish\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 200")
        assert b"HTTP/1.1 400" in found

    serving(test)


def test_a_client_that_wants_to_be_told_is_told_to_go_on():
    async def test(served: Served) -> None:
        stream = await served.client(
            b"POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        assert await until(stream, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await stream.send_all(b"ok")
        await until(stream, b"POST /p 2\n")
        await stream.aclose()

    serving(test)


def test_who_asks_to_go_on_is_told_after_what_came_before_is_answered():
    async def test(served: Served) -> None:
        stream = await served.client(
            GET % b"/first" + b"POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        found = await until(stream, b"HTTP/1.1 100 Continue\r\n\r\n")
        assert b"GET /first 0\n" in found
        await stream.send_all(b"ok")
        await until(stream, b"POST /p 2\n")
        await stream.aclose()

    serving(test)


def test_a_refused_upload_gets_its_answer_though_it_is_still_sending():
    async def test(served: Served) -> None:
        for head in (b"Content-Length: 40000000", b"Transfer-Encoding: gzip"):
            stream = await served.client(b"POST /p HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n")
            for _ in range(300):
                await stream.send_all(b"x" * 65536)
            found = await everything(stream)
            assert found.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 501 "))
            assert b"connection: close\r\n" in found
            await stream.aclose()

    serving(test)


def test_requests_that_come_together_do_not_hold_up_others():
    async def test(served: Served) -> None:
        many = await served.client()

        async def send() -> None:
            await many.send_all(GET % b"/slowly" * 600 + b"GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            await served.site.slowly.wait()
            assert b"GET /quick 0" in await served.exchange(GET % b"/quick")
            found = await everything(many)
        assert found.count(b"slowly done") == 600
        assert found.endswith(b"GET /end 0\n")

    log = [target for target, _ in serving(test).log]
    assert log.index("/quick") < log.index("/end") - 100


def test_answers_to_a_client_that_takes_none_do_not_pile_up():
    async def test(served: Served) -> None:
        stream = await served.client(GET % b"/large" * 50)
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert len(served.log) < 10
        await stream.aclose()

    serving(test)


def test_a_call_behind_an_answer_that_nobody_takes_is_cancelled_when_the_client_goes(monkeypatch):
    monkeypatch.setattr("server.http_door._MOST_JOINED", 100_000_000)
    monkeypatch.setattr("server.http_door._TURN", 60.0)

    async def test(served: Served) -> None:
        stream = await served.client(GET % b"/large" + GET % b"/waits")
        await served.site.began.wait()
        await stream.aclose()
        while not served.site.calls[0].cancelled:
            await trio.lowlevel.checkpoint()

    serving(test)


def test_what_is_no_request_is_logged_too():
    async def test(served: Served) -> None:
        await served.exchange(GET % b"/a" + b"rubbish\r\n\r\n")

    assert serving(test).log == [("/a", 200), ("-", 400)]


def test_a_large_answer_arrives_whole():
    async def test(served: Served) -> None:
        found = await served.exchange(GET % b"/large")
        assert found.endswith(b"x" * 1000 + b"\n")
        assert len(found.partition(b"\r\n\r\n")[2]) == 8_000_001

    serving(test)


# --- calls that wait


def test_a_call_that_waits_holds_up_nobody_else():
    async def test(served: Served) -> None:
        stream = await served.client(GET % b"/waits" + GET % b"/after")
        await served.site.began.wait()
        assert b"GET /other 0" in await served.exchange(GET % b"/other")
        served.site.go.set()
        found = await until(stream, b"GET /after 0\n")
        assert b"resumed with it" in found
        await stream.aclose()

    serving(test)


def test_what_a_call_waits_for_may_fail():
    async def test(served: Served) -> None:
        assert b"it stopped" in await until(await served.client(GET % b"/stops"), b"it stopped\n")

    serving(test)


def test_a_client_that_hangs_up_cancels_its_call():
    async def test(served: Served) -> None:
        stream = await served.client(GET % b"/waits")
        await served.site.began.wait()
        await stream.aclose()
        while not served.site.calls[0].cancelled:
            await trio.lowlevel.checkpoint()

    serving(test)


def test_a_client_that_hangs_up_cancels_a_call_that_computes():
    async def test(served: Served) -> None:
        stream = await served.client(GET % b"/turns")
        await served.site.began.wait()
        await stream.aclose()
        while not served.site.calls[0].cancelled:
            await trio.lowlevel.checkpoint()
        assert served.site.calls[0].turns < 1000

    serving(test)


def test_what_a_client_sends_while_its_call_waits_is_answered_after_it():
    async def test(served: Served) -> None:
        stream = await served.client(GET % b"/waits")
        await served.site.began.wait()
        await stream.send_all(GET % b"/next")
        await trio.testing.wait_all_tasks_blocked()
        served.site.go.set()
        found = await until(stream, b"GET /next 0\n")
        assert found.index(b"resumed with it") < found.index(b"GET /next 0")
        await stream.aclose()

    serving(test)


# --- slow clients, and too many


def test_a_request_that_dribbles_in_is_given_up_in_time():
    async def test(served: Served) -> None:
        stream = await served.client(b"GET /slow HTTP/1.1\r\n")

        async def dribble() -> None:
            try:
                while True:
                    await stream.send_all(b"A: 1\r\n")
                    await trio.sleep(PATIENCE / 10)
            except trio.BrokenResourceError:
                pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(dribble)
            found = await everything(stream)
            nursery.cancel_scope.cancel()
        assert found == b"" or found.startswith(b"HTTP/1.1 408 ")

    serving(test, patience=PATIENCE, look=0.05)


def test_blank_lines_keep_no_connection():
    async def test(served: Served) -> None:
        stream = await served.client()

        async def dribble() -> None:
            try:
                while True:
                    await stream.send_all(b"\r\n")
                    await trio.sleep(PATIENCE / 10)
            except trio.BrokenResourceError:
                pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(dribble)
            assert await everything(stream) == b""
            nursery.cancel_scope.cancel()

    serving(test, patience=PATIENCE, look=0.05)


def test_an_idle_connection_is_closed_without_a_word():
    async def test(served: Served) -> None:
        assert await everything(await served.client()) == b""
        stream = await served.client(GET % b"/a")
        found = await everything(stream)
        assert found.endswith(b"GET /a 0\n")

    serving(test, patience=PATIENCE, look=0.05)


def test_a_client_that_takes_no_answer_is_given_up():
    async def test(served: Served) -> None:
        stream = await served.client(*[GET % b"/large"] * 3)
        while served.door._connections:
            await trio.lowlevel.checkpoint()
        await stream.aclose()

    serving(test, patience=PATIENCE, look=0.05)


def test_one_too_many_is_told_so_and_the_others_go_on():
    async def test(served: Served) -> None:
        first, second = await served.client(GET % b"/a"), await served.client(GET % b"/b")
        await until(first, b"GET /a 0\n")
        await until(second, b"GET /b 0\n")
        found = await everything(await served.client())
        assert found.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: " in found
        await first.send_all(GET % b"/c")
        await until(first, b"GET /c 0\n")
        await second.aclose()
        while len(served.door._connections) > 1:
            await trio.lowlevel.checkpoint()
        assert b"GET /d 0" in await served.exchange(GET % b"/d")
        await first.aclose()

    serving(test, most_connections=2)


def test_many_slow_and_rude_clients_take_nothing_from_the_others():
    async def test(served: Served) -> None:
        slow = [await served.client(b"GET / HTTP/1.1\r\nHost: x\r\nA: ") for _ in range(300)]
        rude = [await served.client(bytes(range(256)) * 20) for _ in range(100)]
        stream = await served.client()
        for number in range(500):
            await stream.send_all(GET % (b"/%d" % number))
            await until(stream, b"GET /%d 0\n" % number)
        for one in (*slow, *rude, stream):
            await one.aclose()

    log = serving(test).log
    assert len([status for _, status in log if status == 200]) == 500


# --- the end


def test_at_the_end_requests_under_way_are_answered_and_nobody_else_gets_in():
    async def test(served: Served) -> None:
        idle = await served.client(GET % b"/a")
        await until(idle, b"GET /a 0\n")
        stream = await served.client(GET % b"/waits")
        await served.site.began.wait()
        served.door.end()
        assert await everything(idle) == b""
        served.site.go.set()
        found = await everything(stream)
        assert b"connection: close\r\n" in found
        assert b"resumed with it" in found

    serving(test)


def test_at_the_end_what_has_come_is_answered():
    async def test(served: Served) -> None:
        streams = [await served.client(GET % b"/a") for _ in range(20)]
        for stream in streams:
            await until(stream, b"GET /a 0\n")
        for stream in streams:
            await stream.send_all(GET % b"/b")
        served.door.end()
        for stream in streams:
            found = await everything(stream)
            assert found.endswith(b"GET /b 0\n")

    serving(test)


def test_at_the_end_those_who_take_too_long_are_left():
    async def test(served: Served) -> None:
        await served.client(GET % b"/waits")
        await served.site.began.wait()

    served = serving(test, grace=0.05)
    assert served.site.calls[0].cancelled


def test_a_site_may_be_replaced_while_it_serves():
    class Other:
        def begin(self, request: Request) -> Answer:
            return text_answer(200, "new")

    async def test(served: Served) -> None:
        stream = await served.client(GET % b"/waits")
        await served.site.began.wait()
        served.door.site = Other()
        assert b"new" in await served.exchange(GET % b"/a")
        served.site.go.set()
        await until(stream, b"resumed with it\n")
        await stream.aclose()

    serving(test)


# --- listening


def test_an_address_that_cannot_be_served_is_one_clear_sentence():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=rf"port {port} of 127\.0\.0\.1 is in use"):
            listen("127.0.0.1", port)
    for host, words in (("192.0.2.1", "is no address of this machine"), ("no such host", "there is no host")):
        with pytest.raises(CannotListen, match=words):
            listen(host, 0)


def test_a_name_is_served_where_every_client_finds_it():
    with listen("localhost", 0) as listener:
        assert address_of(listener)[0] == "127.0.0.1"


def test_addresses_of_ipv6():
    if socket.has_ipv6:
        try:
            six, every = listen("::1", 0), listen("::", 0)
        except CannotListen:
            return
        with six, every:
            assert address_of(six)[0] == "[::1]"
            # All addresses are those of IPv4 too.
            with socket.create_connection(("127.0.0.1", address_of(every)[1])):
                assert every.accept()[1][0] == "::ffff:127.0.0.1"
