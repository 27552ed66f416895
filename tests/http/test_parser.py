"""HTTP/1.1 from bytes: what is a request, and what is refused, however it comes in pieces (RFC 9112)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.http_messages import Answer, Request
from server.http_parser import MOST_HEAD, MOST_HEADERS, MOST_TARGET, RequestReader

MOST_BODY = 1000


def read(*parts: bytes) -> RequestReader:
    reader = RequestReader(MOST_BODY, "127.0.0.1")
    for part in parts:
        reader.feed(part)
    return reader


def seen(reader: RequestReader) -> list[Any]:
    """What was read, in a form that can be compared."""
    return [
        (one.method, one.target, one.headers, one.body, one.keep_alive, one.too_large, one.repeated)
        if isinstance(one, Request)
        else (one.status, one.body)
        for one in reader.ready
    ]


def test_requests_on_one_connection_come_in_their_order():
    reader = read(
        b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-Own:  spaced \t\r\n\r\n"
        b"POST /b HTTP/1.1\r\nHOST: x\r\nContent-Length: 5\r\n\r\nhello"
        b"GET /c HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    first, second, third = reader.ready
    assert isinstance(first, Request)
    assert (first.path, first.query, first.headers[b"x-own"]) == ("/a", "b=c", b"spaced")
    assert (second.body, third.target) == (b"hello", "/c")  # type: ignore[union-attr]
    assert not reader.begun
    assert not reader.ended


def test_headers_of_one_name_are_joined_and_known_to_be_several():
    [request] = read(b"GET / HTTP/1.1\r\nHost: x\r\nA: 1\r\na: 2\r\nCookie: b=1\r\nCookie: c=2\r\n\r\n").ready
    assert isinstance(request, Request)
    assert request.headers == {b"host": b"x", b"a": b"1, 2", b"cookie": b"b=1; c=2"}
    assert request.repeated == {b"a", b"cookie"}


def test_chunks_are_put_together_and_trailers_are_no_headers():
    [request, after] = read(
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nX-Trailer: 1\r\nHost: evil\r\n\r\nGET /after HTTP/1.1\r\nHost: y\r\n\r\n"
    ).ready
    assert isinstance(request, Request)
    assert request.body == b"abcde"
    assert set(request.headers) == {b"host", b"transfer-encoding"}
    assert isinstance(after, Request)


HOST = b"Host: x\r\n"
BAD = {
    "no request": (b"hello\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "HTTP/0.9": (b"GET /\r\n\r\n", 505),
    "HTTP/1.2": (b"GET / HTTP/1.2\r\n" + HOST + b"\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    "no name of a host": (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
    "a host with a user": (b"GET / HTTP/1.1\r\nHost: someone@x\r\n\r\n", 400),
    "a host with a path": (b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400),
    "a host with a blank": (b"GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400),
    "markup for a host": (b"GET / HTTP/1.1\r\nHost: <script>\r\n\r\n", 400),
    "a fragment": (b"GET /a#b HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "RTSP": (b"GET / RTSP/1.1\r\n" + HOST + b"\r\n", 505),
    "RTSP 1.0": (b"OPTIONS /a RTSP/1.0\r\n" + HOST + b"\r\n", 505),
    "ICE": (b"SOURCE / ICE/1.0\r\n" + HOST + b"\r\n", 501),
    "no length": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length:\r\n\r\n", 400),
    "length with an underscore": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1_0\r\n\r\n0123456789", 400),
    "length in base 16": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 0x1\r\n\r\n0", 400),
    "a length behind chunks": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\nhello",
        400,
    ),
    "chunked and more": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", 501),
    "bare line feed in chunks": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n", 400),
    "chunk without an end": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        400,
    ),
    "endless extension of a chunk": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 6 * MOST_HEAD,
        431,
    ),
    "endless trailer": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * 6 * MOST_HEAD,
        431,
    ),
    "absolute form": (b"GET http://x/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "asterisk form": (b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "authority form": (b"CONNECT x:443 HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "unknown method": (b"TRACE / HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "no method": (b"BREW / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "space before the colon": (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
    "folded line": (b"GET / HTTP/1.1\r\nHost: x\r\nA: 1\r\n 2\r\n\r\n", 400),
    "bare line feed": (b"GET / HTTP/1.1\nHost: x\n\n", 400),
    "NUL": (b"GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n", 400),
    "length and chunks": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "two lengths": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
    "signed length": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +1\r\n\r\nx", 400),
    "listed length": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1, 1\r\n\r\nx", 400),
    "another coding": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    "chunks over 1.0": (b"POST / HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
    "odd chunk": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n", 400),
    "unknown expectation": (b"POST / HTTP/1.1\r\n" + HOST + b"Expect: a miracle\r\nContent-Length: 1\r\n\r\nx", 417),
    "upgrade with a body": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nGET /",
        400,
    ),
    "long address": (b"GET /" + b"a" * MOST_TARGET + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
    "long header": (b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * MOST_HEAD + b"\r\n\r\n", 431),
    "endless header": (b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * 3 * MOST_HEAD, 431),
    "endless name": (b"GET / HTTP/1.1\r\n" + HOST + b"x" * 3 * MOST_HEAD, 431),
    "many headers": (b"GET / HTTP/1.1\r\n" + HOST + b"A: 1\r\n" * MOST_HEADERS + b"\r\n", 431),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_is_refused_in_words_and_ends_the_connection(name):
    data, status = BAD[name]
    reader = read(*[data[at : at + 4096] for at in range(0, len(data), 4096)])
    [answer] = reader.ready
    assert isinstance(answer, Answer)
    assert (answer.status, answer.close, reader.ended) == (status, True, True)
    assert answer.body.endswith(b"\n")
    assert len(answer.body) > 10
    reader.feed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert reader.ready == [answer]


@pytest.mark.parametrize("name", BAD)
def test_a_good_request_before_a_bad_one_is_still_answered(name):
    data, status = BAD[name]
    data = b"GET /good HTTP/1.1\r\nHost: x\r\n\r\n" + data
    reader = read(*[data[at : at + 4096] for at in range(0, len(data), 4096)])
    good, bad = reader.ready
    assert isinstance(good, Request)
    assert isinstance(bad, Answer)
    assert bad.status == status


@pytest.mark.parametrize(
    "host", [b"x", b"my_app", b"a.b-c:8080", b"127.0.0.1:1", b"[::1]:8080", b"[fe80::1]", b"xn--bcher-kva.de"]
)
def test_hosts_are_names_or_addresses_and_perhaps_a_port(host):
    [request] = read(b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n").ready
    assert isinstance(request, Request)
    assert request.headers[b"host"] == host


def test_blank_lines_before_a_request_begin_nothing():
    reader = read(b"\r\n\r\n")
    assert not reader.begun
    reader.feed(b"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n\r\n")
    [request] = reader.ready
    assert isinstance(request, Request)
    assert not reader.begun
    reader.feed(b"G")
    assert reader.begun


def test_words_in_a_request_name_no_other_protocol():
    data = (
        b"POST /rtsp HTTP/1.1\r\nHost: x\r\nA: GET /rtsp RTSP/1.0\r\nContent-Length: 20\r\n\r\n"
        b"GET / RTSP/1.0\r\n\r\n\r\n"
    )
    for size in (len(data), 50, 1):
        [request] = read(*[data[at : at + size] for at in range(0, len(data), size)]).ready
        assert isinstance(request, Request)
    one, other = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / RTSP/1.1\r\nHost: x\r\n\r\n"
    stream = one * 3 + other
    for size in range(1, len(stream) + 1):
        reader = read(*[stream[at : at + size] for at in range(0, len(stream), size)])
        assert [type(found) for found in reader.ready] == [Request, Request, Request, Answer]


def test_a_head_up_to_the_limits_passes_however_it_comes():
    head = b"GET /" + b"a" * (MOST_TARGET - 1) + b" HTTP/1.1\r\nHost: x\r\n"
    for number in range(MOST_HEADERS - 1):
        head += b"%02d: %s\r\n" % (number, b"x" * (MOST_HEAD // MOST_HEADERS - 2))
    head += b"\r\n"
    for size in (len(head), 65536, 5000, 7):
        [request] = read(*[head[at : at + size] for at in range(0, len(head), size)]).ready
        assert isinstance(request, Request)
        assert len(request.headers) == MOST_HEADERS


def test_many_requests_in_a_row_are_no_long_head():
    stream = b"GET /abc HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n" * 6000
    for size in (65536, 65521, 40_001):
        reader = read(*[stream[at : at + size] for at in range(0, len(stream), size)])
        assert len(reader.ready) == 6000
        assert not reader.ended


def test_a_body_of_many_small_chunks_costs_no_more_than_it_holds():
    import tracemalloc

    reader = RequestReader(1_000_000, "127.0.0.1")
    reader.feed(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"1\r\nx\r\n" * 10_000
    tracemalloc.start()
    try:
        for _ in range(10):
            reader.feed(piece)
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 300_000
    reader.feed(b"0\r\n\r\n")
    [request] = reader.ready
    assert isinstance(request, Request)
    assert request.body == b"x" * 100_000


def test_nothing_is_read_behind_the_last_request_of_a_connection():
    for head in (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"GET / HTTP/1.0\r\nHost: x\r\n\r\n"):
        for behind in (b"", b"GET /more HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00rubbish"):
            reader = read(head + behind)
            [request] = reader.ready
            assert isinstance(request, Request)
            assert not request.keep_alive
            assert reader.ended


def test_an_upgrade_that_is_not_taken_up_is_an_ordinary_request():
    reader = read(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n")
    [request] = reader.ready
    assert isinstance(request, Request)
    assert not request.keep_alive


@pytest.mark.parametrize(
    "data",
    [
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + b"x" * 1000 + b"\r\n1\r\nx\r\n",
    ],
)
def test_a_body_that_is_too_large_is_said_before_it_is_read(data):
    reader = read(data)
    [one] = reader.ready
    if isinstance(one, Answer):  # a length that no number holds
        assert one.status == 400
    else:
        assert (one.too_large, one.keep_alive, one.body) == (True, False, b"")
    assert reader.ended


def test_a_client_that_waits_to_send_its_body_is_told_once():
    head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    reader = read(head)
    assert reader.continues
    reader.continues = False
    reader.feed(b"ok")
    assert not reader.continues
    [request] = reader.ready
    assert isinstance(request, Request)
    assert not read(head + b"ok").continues
    assert not read(b"GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n").continues


def test_nobody_is_asked_for_a_body_that_is_refused_or_too_large():
    for wrong in (b"Content-Length: 1001\r\n", b"Content-Length: 5\r\nTransfer-Encoding: gzip\r\n", b"Host: y\r\n"):
        reader = read(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" + wrong + b"\r\n")
        assert not reader.continues
        assert reader.ended


STREAMS = [data for data, _ in BAD.values() if len(data) < 400] + [
    b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n",
    b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
]


@pytest.mark.parametrize("stream", STREAMS)
def test_a_stream_may_be_cut_anywhere(stream):
    whole = seen(read(stream))
    for place in range(1, len(stream)):
        assert seen(read(stream[:place], stream[place:])) == whole
    assert seen(read(*[stream[at : at + 1] for at in range(len(stream))])) == whole


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(STREAMS), st.lists(st.integers(1, 40), max_size=30))
def test_how_bytes_are_cut_into_reads_makes_no_difference(stream, sizes):
    parts, at = [], 0
    for size in sizes:
        parts.append(stream[at : at + size])
        at += size
    parts.append(stream[at:])
    whole, cut = read(stream), read(*[part for part in parts if part])
    assert seen(cut) == seen(whole)
    assert (cut.ended, cut.begun) == (whole.ended, whole.begun)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(STREAMS)), max_size=6), st.data())
def test_no_bytes_whatever_raise_anything(parts, data):
    stream = b"".join(parts)
    if stream:
        place = data.draw(st.integers(0, len(stream) - 1))
        stream = stream[:place] + bytes((stream[place] ^ data.draw(st.integers(0, 255)),)) + stream[place + 1 :]
    reader = read(*[stream[at : at + 17] for at in range(0, len(stream), 17)])
    for one in reader.ready[:-1]:
        assert isinstance(one, Request)
    if stream:
        whole = read(stream)
        assert (seen(reader), reader.ended, reader.begun) == (seen(whole), whole.ended, whole.begun)
