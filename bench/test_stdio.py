"""stdio beside the official SDK: start to first answer, calls one after another, calls in flight, question rounds.

    make bench          (or: python -m pytest bench -s)

Each test also gives its own time to pytest-benchmark, so that runs of one machine can be compared with each other.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from conftest import HERE, OURS, PEER
from stdio_client import Server

ROUNDS = 7
CALLS = 1500


def start(command: list[str]) -> float:
    """Seconds from spawning a server until its answer to `server/discover` is there."""
    server = Server(command)
    try:
        server.ask("server/discover")
        return time.perf_counter() - server.started
    finally:
        server.close()


def add_rate(server: Server) -> float:
    """`add` calls a second, one after another; answers are looked at when the clock has stopped."""
    requests = [server.message("tools/call", {"name": "add", "arguments": {"a": n, "b": 2}}) for n in range(CALLS)]
    answers = []
    begin = time.perf_counter()
    for request in requests:
        server.write(request)
        answers += server.lines(1)
    elapsed = time.perf_counter() - begin
    for n, answer in enumerate(answers):
        assert json.loads(answer)["result"]["structuredContent"] == {"result": n + 2}
    return CALLS / elapsed


def window_rate(server: Server, window: int = 64) -> float:
    """`add` calls a second with `window` in flight."""
    requests = [server.message("tools/call", {"name": "add", "arguments": {"a": 1, "b": n}}) for n in range(CALLS)]
    batches = [b"".join(requests[at : at + window]) for at in range(0, CALLS, window)]
    sizes = [len(requests[at : at + window]) for at in range(0, CALLS, window)]
    begin = time.perf_counter()
    answers = []
    for batch, size in zip(batches, sizes, strict=True):
        server.write(batch)
        answers += server.lines(size)
    elapsed = time.perf_counter() - begin
    assert sorted(json.loads(a)["result"]["structuredContent"]["result"] for a in answers) == list(range(1, CALLS + 1))
    return CALLS / elapsed


def search_rate(server: Server) -> float:
    request = server.message("tools/call", {"name": "search_notes", "arguments": {"word": "needle"}})
    begin = time.perf_counter()
    for _ in range(CALLS // 3):
        server.write(request)
        [answer] = server.lines(1)
    elapsed = time.perf_counter() - begin
    assert len(json.loads(answer)["result"]["structuredContent"]["result"]) == 20
    return CALLS // 3 / elapsed


def confirm_rate(server: Server) -> float:
    begin = time.perf_counter()
    for _ in range(CALLS // 10):
        assert server.confirmed("clear_notes")["resultType"] == "complete"
    return CALLS // 10 / (time.perf_counter() - begin)


@pytest.mark.benchmark(group="start")
def test_start_to_first_answer(benchmark, ratio):
    start(OURS), start(PEER)  # the disk's cache is warm for both
    figures = ratio("start", "s")
    for _ in range(ROUNDS):
        figures.add(start(OURS), start(PEER))
    benchmark.extra_info["ratio"] = figures.report()
    benchmark.pedantic(start, args=(OURS,), rounds=3)


@pytest.mark.benchmark(group="calls")
@pytest.mark.parametrize("measure", [add_rate, window_rate, search_rate, confirm_rate], ids=lambda f: f.__name__)
def test_calls(benchmark, ratio, measure):
    ours, peer = Server(OURS), Server(PEER)
    try:
        for server in (ours, peer):
            for number in range(100):
                word = "needle" if number % 4 == 0 else "hay"
                server.call("add_note", {"text": f"note number {number} about a {word} and other things"})
        figures = ratio(measure.__name__, "calls/s")
        for _ in range(ROUNDS):
            figures.add(measure(ours), measure(peer))
        benchmark.extra_info["ratio"] = figures.report()
        benchmark.pedantic(measure, args=(ours,), rounds=3)
    finally:
        ours.close()
        peer.close()


@pytest.mark.benchmark(group="calls")
def test_questions_on_a_file(benchmark, ratio, tmp_path):
    """Each round deletes a note, so that each has a write that must come to the disk."""
    shutil.copy(HERE / "notes.qwe", tmp_path)
    ours = Server([*OURS[:-1], str(tmp_path / "notes.qwe")], "notes.db")
    peer = Server(PEER, str(tmp_path / "peer.db"))

    def measure(server: Server) -> float:
        elapsed = 0.0
        for _ in range(CALLS // 15):
            server.call("add_note", {"text": "milk"})
            begin = time.perf_counter()
            assert server.confirmed("clear_notes")["structuredContent"] == {"result": 1}
            elapsed += time.perf_counter() - begin
        return CALLS // 15 / elapsed

    try:
        measure(ours), measure(peer)  # both files are as large as they get
        figures = ratio("confirm_rate_file", "calls/s")
        for _ in range(ROUNDS):
            figures.add(measure(ours), measure(peer))
        benchmark.extra_info["ratio"] = figures.report()
        benchmark.pedantic(measure, args=(ours,), rounds=3)
    finally:
        ours.close()
        peer.close()


def peak_memory(command: list[str]) -> float:
    """MiB that a server has held at most, after a thousand calls."""
    server = Server(command)
    try:
        for number in range(100):
            server.call("add_note", {"text": f"note number {number} about a needle"})
        for _ in range(450):
            server.call("add", {"a": 1, "b": 2})
            server.call("search_notes", {"word": "needle"})
        status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
        [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
        return int(peak) / 1024
    finally:
        server.close()


@pytest.mark.benchmark(group="memory")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_peak_memory(benchmark, ratio):
    figures = ratio("memory", "MiB")
    for _ in range(3):
        figures.add(peak_memory(OURS), peak_memory(PEER))
    benchmark.extra_info["ratio"] = figures.report()
    benchmark.pedantic(peak_memory, args=(OURS,), rounds=1)
