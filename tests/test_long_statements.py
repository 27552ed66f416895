"""Statements that would never end: what breaks them off. Each test would hang where it is not so."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import pytest

from server.policy import Policy
from server.stdio import GRACE, Door, Patience, Signals
from tests.mcp.spawned import Server, call, line
from tests.talking import Talk

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n)"
PROGRAM = f"""
db.open("PLACE")
db.exec("create table t (n integer)")

/// Never ends.
fn mcp never() -> any with db = db.query("{ENDLESS} select count(*) from n") ?? "caught"

/// Never ends, in a transaction.
fn mcp never_writes() -> any with db {{
  db.transaction(() => {{
    db.exec("insert into t values (1)")
    db.exec("insert into t {ENDLESS} select 1 from n where i < 0")
  }}) ?? "caught"
}}

/// Counts.
fn mcp count() -> int with db = db.one("select count(*) as n from t").n
"""
NEVER = pytest.mark.parametrize("name", ["never", "never_writes"])


@pytest.fixture(params=["data.db", ":memory:"])
def talk(request, tmp_path):
    made = Talk(PROGRAM.replace("PLACE", request.param), tmp_path, policy=Policy(max_compute=50_000))
    yield made
    made.close()


class Line:
    """A client's end of a door's input."""

    def __init__(self, talk: Talk, clock: Any) -> None:
        self.talk = talk
        talk.protocol.running.max_compute = 1 << 60
        self.input, self.client = os.pipe()
        self.door = Door(talk.protocol, 1_000_000)
        self.signals = Signals()
        patience = Patience(self.door, self.input, self.signals, clock)
        talk.protocol.running.world.database.give_up_when(patience.is_over)

    def close(self) -> None:
        for number in (self.input, self.client, self.signals.wake, self.signals._waker):
            with contextlib.suppress(OSError):
                os.close(number)

    def call(self, id: Any, name: str) -> bytes:
        return line({**self.talk.message("tools/call", {"name": name, "arguments": {}}), "id": id})

    def take(self) -> dict[Any, Any]:
        """Begins with all that is there; the answers by their ids."""
        while self.door.pending:
            self.door.take_next()
        answers = [json.loads(answer) for answer in self.door.answers]
        self.door.answers.clear()
        return {answer["id"]: answer["result"]["structuredContent"]["result"] for answer in answers}


@pytest.fixture
def connect(talk):
    made: list[Line] = []

    def make(clock: Any) -> Line:
        made.append(Line(talk, clock))
        return made[-1]

    yield make
    for client in made:
        client.close()


def cancellation(id: Any) -> bytes:
    return line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})


@NEVER
def test_out_of_compute_ends_it_and_nothing_catches_that(talk, name):
    answer = talk.call(name)
    assert answer["isError"]
    assert answer["content"][0]["text"] == "internal error"
    assert "out of compute: it takes more than 50,000 steps" in "".join(talk.log)
    assert talk.call("count")["structuredContent"]["result"] == 0


@NEVER
@pytest.mark.parametrize("read_already", [True, False])
def test_its_cancellation_ends_it_and_others_keep_their_order(talk, connect, name, read_already):
    client = connect(lambda: 0.0)
    behind = cancellation("1") + cancellation(7) + client.call(2, "count") + cancellation(1) + client.call(3, "count")
    client.door.read(client.call(1, name) + (behind if read_already else b""))
    if not read_already:
        os.write(client.client, behind)
    answers = client.take()
    assert list(answers.items()) == [(2, 0), (3, 0)]
    assert talk.log == []


def test_an_id_that_comes_again_is_cancelled_again(talk, connect):
    client = connect(lambda: 0.0)
    for _ in range(2):
        client.door.read(client.call(1, "never") + cancellation(1) + client.call(2, "count"))
        assert client.take() == {2: 0}


@NEVER
def test_the_end_of_input_ends_it_when_its_time_is_over(talk, connect, name):
    times = iter(range(100))
    client = connect(lambda: float(next(times)))
    client.door.read(client.call(1, name))
    os.close(client.client)
    assert client.take() == {}
    assert next(times) > GRACE
    assert talk.call("count")["structuredContent"]["result"] == 0


@NEVER
def test_a_signal_ends_it(talk, connect, name):
    client = connect(lambda: 0.0)
    client.signals.came = True
    client.door.read(client.call(1, name))
    assert client.take() == {}
    assert talk.call("count")["structuredContent"]["result"] == 0


@pytest.mark.parametrize("waiting", [False, True])
def test_a_server_goes_on_with_what_came_while_a_statement_ran(tmp_path, waiting):
    path = tmp_path / "main.qwe"
    begun = """
/// Never ends.
fn mcp begins() -> any with db {
  print("begun")
  never()
}

/// Waits.
fn mcp waits() -> int {
  sleep("1ms")
  1
}
"""
    path.write_text(PROGRAM.replace("PLACE", "data.db") + begun, "utf-8")
    (tmp_path / "quillo.policy.toml").write_text(f"[limits]\nmax_compute = {10**15}\n", "utf-8")
    with Server(path) as server:
        if waiting:
            server.ask(call(1, "waits"))
        server.send(call(2, "begins"))
        assert server.read_error() == "begun"
        server.write(line(call(3, "count")) + line(call(4, "waits")) + cancellation(2) + line(call(5, "count")))
        assert [server.read()["id"] for _ in range(3)] == [3, 5, 4]
        assert server.end()[:2] == (0, b"")
