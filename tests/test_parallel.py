"""`parallel` runs functions side by side where they wait. Time is trio's own mock clock: nothing here really waits."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
import trio.testing

from server.policy import Policy
from server.protocol import Unfinished
from tests.programs import compiled, ran
from tests.talking import Talk, finished

PROGRAM = """
db.open(":memory:")
db.exec("create table t (n integer)")

fn wait(name: str, seconds: int) -> str {
  sleep(seconds)
  name
}

fn count() -> int = db.one("select count(*) as n from t").n

fn refuse() -> int ! str {
  sleep(1)
  err("no")
}

fn spend(turns: int) -> int {
  let total = 0
  for i in 0..turns { total += i }
  total
}

/// Waits for three.
fn mcp three() -> list<str> = parallel([() => wait("a", 3), () => wait("b", 1), () => wait("c", 2)])

/// Waits for none.
fn mcp none() -> list<int> = parallel([() => 1, () => spend(10)])

/// Waits within.
fn mcp nested() -> any =
  parallel([() => parallel([() => wait("a", 2), () => wait("b", 3)]), () => parallel([() => wait("c", 4)])])

/// One stops.
fn mcp stops(late: bool) -> any with db {
  parallel([
    () => { sleep(5); db.exec("insert into t values (1)"); 1 },
    () => { if late { sleep(1) }; 1 / len([]) },
  ])
}

/// One gives an error.
fn mcp fails() -> any = parallel([() => wait("a", 5), () => refuse()]) ?? "caught"

/// In a transaction.
fn mcp within() -> list<str> with db = db.transaction(() => parallel([() => wait("a", 3), () => wait("b", 1)]))

/// Transactions beside each other.
fn mcp beside() -> any with db {
  let add = n => db.transaction(() => {
    let before = count()
    db.exec("insert into t values (?)", n)
    sleep(n)
    [before, count()]
  })
  parallel([() => add(2), () => add(1)])
}

/// Reads beside a transaction that is taken back.
fn mcp looks() -> any with db {
  let taken_back = () => db.transaction(() => {
    db.exec("insert into t values (1)")
    sleep(2)
    return err("no")
  })
  parallel([() => taken_back() ?? 7, () => { sleep(1); count() }])
}

/// Breaks off a transaction.
fn mcp breaks() -> any with db {
  parallel([
    () => db.transaction(() => { db.exec("insert into t values (1)"); sleep(5) }),
    () => { sleep(1); 1 / len([]) },
  ])
}

/// Counts.
fn mcp rows() -> int with db = count()

/// Computes.
fn mcp computes(turns: int) -> any = parallel([() => spend(turns), () => spend(turns), () => wait("a", 1)])

/// May ask.
fn mcp asks() -> any {
  if !confirm("Go on?") { return [] }
  parallel([() => wait("a", 3), () => wait("b", 1)])
}

/// Without end.
fn mcp deep() -> any = deeper()

fn deeper() -> any = parallel([() => deeper(), () => 1])
"""


class Timed:
    """A client whose calls take the time of a mock clock. `seconds` is what the last call took."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.talk = Talk(PROGRAM, policy=policy)
        self.seconds = 0.0

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        message = self.talk.message("tools/call", {"name": name, "arguments": arguments})
        answer = self.talk.protocol.begin(json.dumps(message).encode())
        self.seconds = 0.0
        if isinstance(answer, Unfinished):
            answer = trio.run(self._finish, answer, clock=trio.testing.MockClock(autojump_threshold=0))
        assert isinstance(answer, bytes)
        return json.loads(answer)["result"]

    async def _finish(self, call: Unfinished) -> bytes | None:
        began = trio.current_time()
        answer = await finished(call)
        self.seconds = trio.current_time() - began
        return answer

    def value(self, name: str, **arguments: Any) -> Any:
        result = self.call(name, **arguments)
        assert not result.get("isError"), (result, self.talk.log)
        held = result.get("structuredContent") or json.loads(result["content"][0]["text"])
        return held["result"] if isinstance(held, dict) else held

    @property
    def steps(self) -> int:
        return self.talk.protocol.steps


@pytest.fixture
def timed():
    made = Timed()
    yield made
    made.talk.close()


def test_it_takes_as_long_as_the_longest_and_keeps_the_order(timed):
    assert timed.value("three") == ["a", "b", "c"]
    assert timed.seconds == 3


def test_nothing_that_waits_needs_no_waiting(timed):
    answer = timed.talk.protocol.begin(json.dumps(timed.talk.message("tools/call", {"name": "none"})).encode())
    assert isinstance(answer, bytes)


def test_groups_within_groups_wait_side_by_side(timed):
    assert timed.value("nested") == [["a", "b"], ["c"]]
    assert timed.seconds == 4


@pytest.mark.parametrize(("late", "seconds"), [(True, 1), (False, 0)])
def test_the_first_to_stop_ends_the_others(timed, late, seconds):
    assert timed.call("stops", late=late)["isError"]
    assert timed.seconds == seconds
    assert "division by zero" in timed.talk.log[-1]
    assert "stops" in timed.talk.log[-1]
    assert timed.value("rows") == 0


def test_an_error_stops_and_can_be_caught(timed):
    assert timed.value("fails") == "caught"
    assert timed.seconds == 1


def test_in_a_transaction_they_run_one_after_another(timed):
    assert timed.value("within") == ["a", "b"]
    assert timed.seconds == 4


def test_a_transaction_keeps_the_others_statements_out(timed):
    assert timed.value("beside") == [[0, 1], [1, 2]]
    assert timed.seconds == 3


def test_nothing_is_seen_of_a_transaction_that_is_not_done(timed):
    assert timed.value("looks") == [7, 0]
    assert timed.seconds == 2


def test_a_transaction_of_one_that_is_ended_is_taken_back(timed):
    assert timed.call("breaks")["isError"]
    assert timed.seconds == 1
    assert timed.value("rows") == 0
    assert timed.value("beside")[0] == [0, 1]


def test_a_call_that_is_cancelled_before_it_waits_leaves_no_transaction(timed):
    answer = timed.talk.protocol.begin(json.dumps(timed.talk.message("tools/call", {"name": "breaks"})).encode())
    assert isinstance(answer, Unfinished)
    answer.cancel()
    assert timed.value("rows") == 0
    assert timed.talk.running.world.database.holder is None


def test_a_call_that_is_cancelled_while_it_waits_ends_all_of_them(timed):
    answer = timed.talk.protocol.begin(json.dumps(timed.talk.message("tools/call", {"name": "breaks"})).encode())

    async def main() -> float:
        with trio.move_on_after(0.5) as scope:
            await finished(answer)
        assert scope.cancelled_caught
        answer.cancel()
        return trio.current_time()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert timed.talk.running.world.database.holder is None
    assert timed.value("rows") == 0


def test_steps_of_all_are_the_callers_and_the_same_each_time(timed):
    counts = []
    for turns in (10, 10, 30_000, 30_000):
        before = timed.steps
        timed.call("computes", turns=turns)
        counts.append(timed.steps - before)
    assert counts[0] == counts[1]
    assert counts[2] == counts[3] > counts[0] + 2 * 29_000


def test_steps_of_all_are_held_to_the_limit():
    timed = Timed(Policy(max_compute=100_000))
    assert timed.call("computes", turns=5_000).get("isError") is None
    assert timed.call("computes", turns=40_000)["isError"]
    assert "it takes more than 100,000 steps" in timed.talk.log[-1]
    timed.talk.close()


def test_a_call_that_may_ask_runs_them_one_after_another(timed):
    asked = timed.call("asks")
    params = {"name": "asks", "arguments": {}, "requestState": asked["requestState"]}
    params["inputResponses"] = {"ask": {"action": "accept", "content": {"yes": True}}}
    message = timed.talk.message("tools/call", params)
    answer = timed.talk.protocol.begin(json.dumps(message).encode())
    clock = trio.testing.MockClock(autojump_threshold=0)
    assert json.loads(trio.run(timed._finish, answer, clock=clock))["result"].get("isError") is None
    assert timed.seconds == 4


def test_without_end_it_is_too_deep(timed):
    assert timed.call("deep")["isError"]
    assert "calls go too deep" in timed.talk.log[-1]


def test_at_the_top_level_they_run_one_after_another():
    text = "let seen = []\nparallel([() => { seen += [1] }, () => { seen += [2] }])\nprint(seen)"
    assert ran(compiled(text)).lines == ["[1, 2]"]
