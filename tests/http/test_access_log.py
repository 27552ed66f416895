"""A line for each request: what it says, what it keeps to itself, and that nobody writes lines of his own into it."""

from __future__ import annotations

import json
import os
import re
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.access_log import AccessLog
from server.http_messages import Answer, Request
from server.line_writer import LineWriter


def lines(format: str, *requests: tuple[Request, Answer, float]) -> list[bytes]:
    written: list[bytes] = []
    log = AccessLog(format, written.append)
    for request, answer, seconds in requests:
        log(request, answer, seconds)
    return written


def answered(target: str = "/", status: int = 200, caller: str = "", steps: int = 0) -> tuple[Request, Answer, float]:
    answer = Answer(status)
    answer.caller, answer.steps = caller, steps
    return Request("GET", target, {}), answer, 0.00125


def test_a_line_of_text_says_when_what_and_how_long():
    [line] = lines("text", answered("/notes?word=secret", 404, steps=57))
    assert re.fullmatch(
        rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z GET /notes 404 1\.[23]ms - 57\n",
        line,
    )


def test_a_line_of_json_says_the_same_by_name():
    [line] = lines("json", answered("/notes?word=secret", 404, "ana", 57))
    row: dict[str, Any] = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row.pop("time"))
    assert re.fullmatch(r"[0-9a-f]{8}", row.pop("caller"))
    assert row == {"method": "GET", "path": "/notes", "status": 404, "ms": 1.25, "steps": 57}


@pytest.mark.parametrize("format", ["text", "json"])
def test_callers_can_be_told_apart_and_not_be_known(format):
    found = lines(format, answered(caller="ana"), answered(caller="ben"), answered(caller="ana"), answered())
    if format == "json":
        callers = [json.loads(line)["caller"] for line in found]
        assert callers[3] is None
    else:
        callers = [line.split()[5].decode() for line in found]
        assert callers[3] == "-"
    assert callers[0] == callers[2] != callers[1]
    assert not any(b"ana" in line or b"ben" in line for line in found)
    # Another process has other digests: they can't be looked up.
    [other] = lines(format, answered(caller="ana"))
    assert callers[0].encode() not in other


@settings(deadline=None)
@given(st.sampled_from(["text", "json"]), st.text(max_size=30), st.text(max_size=10))
def test_nobody_writes_a_line_of_his_own(format, path, caller):
    [line] = lines(format, (Request("GET", "/" + path, {}), answered(caller=caller)[1], 0.0))
    assert line.endswith(b"\n")
    text = line.decode("ascii")[:-1]
    assert text.isprintable()
    if format == "text":
        assert len(text.split(" ")) == 7
    else:
        assert isinstance(json.loads(text), dict)


def test_what_nobody_reads_holds_up_nobody_and_is_counted():
    reading, writing = os.pipe()
    writer = LineWriter(writing)
    for number in range(40_000):  # more than the pipe and the queue hold
        writer.put(b"%07d\n" % number)
    found = bytearray()

    def read() -> None:
        while data := os.read(reading, 65536):
            found.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    writer.close(30)
    os.close(writing)
    reader.join()
    os.close(reading)
    left_out = sum(int(count) for count in re.findall(rb"quillo: (\d+) lines were left out here", found))
    numbers = [int(line) for line in found.splitlines() if line.isdigit()]
    assert numbers == sorted(numbers)
    assert 0 < left_out < 40_000
    assert 39_900 <= left_out + len(numbers) <= 40_000
