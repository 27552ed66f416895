"""Calls side by side: transactions, waiting, and what is left when a call ends in the middle."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.protocol import Unfinished
from tests.talking import Talk, finished, hold_to_schema, meta, yes

PROGRAM = """
db.open("PLACE")
db.exec("create table t (n integer)")

/// Adds a number, with a pause in its transaction.
fn mcp slowly(n: int) -> int with db {
  db.transaction(() => {
    db.exec("insert into t values (?)", n)
    sleep("1ms")
    count()
  })
}

fn count() -> int = db.one("select count(*) as n from t").n

/// Adds a number.
fn mcp quickly(n: int) -> int with db {
  db.exec("insert into t values (?)", n)
  count()
}

/// Counts.
fn mcp reads() -> int with db = count()

/// Counts twice.
fn mcp reads_twice() -> list<int> with db {
  let before = count()
  sleep("1ms")
  [before, count()]
}

/// Adds a number if the person says so.
fn mcp asks(n: int) -> bool with db {
  if !confirm("Add it?") { return false }
  db.exec("insert into t values (?)", n)
  true
}

/// Fails in its transaction.
fn mcp fails(how: str) -> int with db {
  db.transaction(() => {
    db.exec("insert into t values (1)")
    if how == "stop" { 1 / len([]) }
    if how == "loop" { while true { } }
    if how == "err" { return err("no") }
    1
  })
}

/// Calls a builtin that it holds.
fn mcp holds(how: str) -> any with db {
  let held: any = { query: db.query, exec: db.exec, env: env, print: print }
  if how == "none" { return held.query() }
  if how == "many" { return held.env("a", "b") }
  if how == "kind" { return held.exec(5) }
  held.print(held.query("select 1 as one")[0].one)
}

/// Waits for a site.
fn mcp fetches() -> any with http = fetch("http://127.0.0.1:1/") ?? "refused"

/// Makes a hash.
fn mcp hashes() -> bool = check_password("a", hash_password("a"))
"""


@pytest.fixture(params=["data.db", ":memory:"])
def talk(request, tmp_path):
    made = Talk(PROGRAM.replace("PLACE", request.param), tmp_path)
    yield made
    made.close()


def begin(talk: Talk, name: str, **arguments: Any) -> Any:
    return talk.protocol.begin(json.dumps(talk.message("tools/call", {"name": name, "arguments": arguments})).encode())


def value(answer: Any) -> Any:
    assert isinstance(answer, bytes), answer
    result = json.loads(answer)["result"]
    assert "structuredContent" in result, result
    return result["structuredContent"]["result"]


def together(*calls: Any) -> list[Any]:
    """The values of calls that are finished side by side."""
    answers: list[Any] = [None] * len(calls)

    async def finish(place: int, call: Any) -> None:
        answers[place] = value(await finished(call) if isinstance(call, Unfinished) else call)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for place, call in enumerate(calls):
                nursery.start_soon(finish, place, call)

    trio.run(main)
    return answers


def test_a_write_waits_for_the_end_of_anothers_transaction(talk):
    slow, quick = begin(talk, "slowly", n=1), begin(talk, "quickly", n=2)
    assert isinstance(slow, Unfinished)
    assert isinstance(quick, Unfinished)
    assert together(slow, quick) == [1, 2]


def test_many_transactions_come_one_after_the_other(talk):
    calls = [begin(talk, "slowly", n=n) for n in range(10)]
    assert sorted(together(*calls)) == list(range(1, 11))
    assert talk.running.world.database.holder is None


def test_a_read_is_never_of_a_transaction_that_is_still_open(talk):
    slow, read = begin(talk, "slowly", n=1), begin(talk, "reads")
    if talk.running.world.database.in_memory:
        assert together(slow, read) == [1, 1]
    else:
        assert value(read) == 0, "a file is read beside its writer"
        assert together(slow) == [1]


def test_what_a_call_reads_stays_the_same_while_it_waits(talk):
    reading = begin(talk, "reads_twice")
    assert value(begin(talk, "quickly", n=1)) == 1
    before, after = together(reading)[0]
    assert (before, after) == ((0, 1) if talk.running.world.database.in_memory else (0, 0))


def test_a_state_waits_for_the_end_of_anothers_transaction(talk):
    asked = talk.call("asks", {"n": 5})
    slow = begin(talk, "slowly", n=1)
    params = {
        "name": "asks",
        "arguments": {"n": 5},
        "requestState": asked["requestState"],
        "inputResponses": {"ask": yes()},
    }
    again = talk.protocol.begin(json.dumps(talk.message("tools/call", params)).encode())
    assert isinstance(again, Unfinished)
    assert together(slow, again) == [1, True]
    assert talk.value("reads") == 2


@pytest.mark.parametrize(("how", "text"), [("stop", "internal error"), ("loop", "internal error"), ("err", "no")])
def test_a_transaction_that_fails_is_taken_back(talk, how, text):
    assert talk.failure("fails", {"how": how}) == text
    assert talk.value("reads") == 0
    assert talk.value("quickly", n=1) == 1


def test_a_cancelled_call_takes_its_transaction_back_and_lets_others_go_on(talk):
    slow, quick = begin(talk, "slowly", n=1), begin(talk, "quickly", n=2)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": talk.last_id - 1}}
    assert talk.send(cancel) is None
    assert slow.cancelled
    assert together(quick) == [1]


def test_a_suspended_call_holds_nothing(talk):
    talk.call("asks", {"n": 5})
    assert value(begin(talk, "quickly", n=1)) == 1
    assert talk.protocol.under_way == {}


@pytest.mark.parametrize("how", ["none", "many", "kind"])
def test_a_builtin_that_is_held_is_called_rightly_or_says_so(talk, how):
    assert talk.failure("holds", {"how": how}) == "internal error"
    [entry] = talk.log
    assert entry.startswith("line ")
    talk.call("holds", {"how": ""})
    assert talk.printed == ["1\n"]


def test_slow_work_is_done_beside_the_server(talk):
    fetching, hashing = begin(talk, "fetches"), begin(talk, "hashes")
    assert isinstance(fetching, Unfinished)
    assert isinstance(hashing, Unfinished)
    assert value(begin(talk, "quickly", n=1)) == 1
    assert together(fetching, hashing) == ["refused", True]


# --- messages of every shape

words = st.text(max_size=5)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6
)


def mostly(*usual: Any) -> st.SearchStrategy[Any]:
    """One of these three times out of four, else any value."""
    return st.integers(0, 3).flatmap(lambda turn: st.sampled_from(usual) if turn else values)


responses = st.fixed_dictionaries({"action": mostly("accept", "decline"), "content": mostly({"yes": True}, {})})
params = st.fixed_dictionaries(
    {"_meta": mostly(meta())},
    optional={
        "name": mostly("asks", "quickly", "slowly", "reads"),
        "arguments": mostly({"n": 1}, {}, {"m": 1}),
        "requestState": values,
        "inputResponses": values | st.fixed_dictionaries({"ask": responses}),
        "requestId": mostly(7),
    },
)
methods = ("tools/call", "tools/call", "tools/list", "server/discover", "notifications/cancelled", "initialize")
requests = st.fixed_dictionaries(
    {}, optional={"jsonrpc": mostly("2.0"), "id": mostly(7), "method": mostly(*methods), "params": params | values}
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests | values)
def test_no_message_is_a_fault_of_ours(talk, message):
    talk.log.clear()
    answer = talk.send(message)
    assert not [entry for entry in talk.log if "fault of Quillo" in entry]
    if answer is not None:
        hold_to_schema(answer)
        assert answer.get("error", {}).get("code") != -32603
    if isinstance(message, dict) and "id" in message and not isinstance(message["id"], float):
        assert answer is not None


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60))
def test_no_bytes_are_a_fault_of_ours(talk, data):
    talk.log.clear()
    answer = talk.raw(data)
    assert talk.log == []
    assert answer is None or answer["error"]["code"] in (-32700, -32600)
