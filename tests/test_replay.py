"""A recorded call runs again, anywhere, to the same result, stop, questions and steps; or it is said where it doesn't.

`python -m tests.test_replay 1000` replays so many calls of random programs.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from qvm.inspecting import top_variables, variable
from qvm.recording import BadRecording, Recording, unpack_value
from qvm.recording_start import own_module
from qvm.replay import Replay, at_question
from qvm.stepping import Stepper, leaving_place, parting
from server.protocol import Unfinished
from tests.programs import compiled
from tests.random_programs import make_program
from tests.recordings import RecordedTalk, differences, replayed
from tests.talking import yes


def under_way(talk: RecordedTalk, name: str, **params: Any) -> Any:
    """A call that has begun: its answer, or the call where it waits."""
    return talk.protocol.begin(json.dumps(talk.message("tools/call", {"name": name, **params})).encode())


def finish_all(talk: RecordedTalk, calls: list[Any], rng: random.Random) -> list[dict[str, Any]]:
    """The results of calls that take turns in a random order."""
    while any(isinstance(call, Unfinished) for call in calls):
        number = rng.choice([number for number, call in enumerate(calls) if isinstance(call, Unfinished)])
        calls[number] = calls[number].resume(None)
    return [json.loads(call)["result"] for call in calls]


def run_randomly(seed: int, folder: Path) -> list[Recording]:
    """The recordings of calls of a random program, side by side, in several rounds."""
    rng = random.Random(seed)
    talk = RecordedTalk(make_program(seed), folder)
    names = ["first", "second", rng.choice(("first", "second"))]
    params: list[dict[str, Any]] = [{"arguments": {"n": rng.randint(-3, 12)}} for _ in names]
    for _ in range(3):
        results = finish_all(
            talk, [under_way(talk, name, **more) for name, more in zip(names, params, strict=True)], rng
        )
        left = [(name, more, result) for name, more, result in zip(names, params, results, strict=True)]
        left = [entry for entry in left if entry[2]["resultType"] == "input_required"]
        answers = [yes(), yes(choice="three"), {"action": "decline"}, {"action": "accept", "content": {}}]
        names = [name for name, _, _ in left]
        params = [
            {
                "arguments": more["arguments"],
                "requestState": result["requestState"],
                "inputResponses": {"ask": rng.choice(answers)},
            }
            for _, more, result in left
        ]
    talk.close()
    return talk.recordings()


def replay_randomly(seeds: range, most: int, stepping: bool) -> Counter[str]:
    """Replays recorded calls of random programs; gives what kinds of calls there were."""
    kinds: Counter[str] = Counter()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            recordings = run_randomly(seed, Path(folder))
        for recording in recordings:
            assert differences(recording) == [], seed
            if stepping and recording.steps < 3_000:
                assert differences(recording, stepping=True) == [], seed
            kinds[recording.ending] += 1
            kinds["beside others"] += any(event.state for event in recording.events)
            kinds["gave way"] += any(event.kind == "turn" for event in recording.events)
            kinds["calls"] += 1
        if kinds["calls"] >= most:
            break
    return kinds


def test_calls_of_random_programs_come_to_the_same_again():
    kinds = replay_randomly(range(40), 120, stepping=True)
    assert kinds["calls"] >= 120
    assert min(kinds[kind] for kind in ("returned", "stopped", "asked", "beside others", "gave way")) > 0, kinds


PROGRAM = """\
let sold = 0
let price = 3

fn cost(n: int) -> int {
  let sum = 0
  for i in 0..n {
    sum += price
  }
  sum
}

/// Sells.
fn mcp sell(n: int) {
  let at = now_ms()
  if !confirm(`Sell ${n} for ${cost(n)}?`) { return "kept" }
  sold += n
  [sold, at, random()]
}

/// Waits.
fn mcp wait(n: int) {
  let before = sold
  sleep(0)
  [before, sold, n]
}

/// Runs for long.
fn mcp long(n: int) {
  let turns = 0
  for i in 0..n { turns += sold }
  turns
}

/// Stops.
fn mcp fail(n: int) -> int {
  let numbers = [1]
  cost(numbers[n])
}
"""


@pytest.fixture
def talk(tmp_path):
    made = RecordedTalk(PROGRAM, tmp_path)
    yield made
    made.close()


def test_each_round_of_a_question_is_a_recording_of_its_own(talk):
    asked = talk.call("sell", {"n": 2})
    talk.again(asked, "sell", yes(), n=2)
    first, second = talk.recordings()
    assert (first.ending, second.ending) == ("asked", "returned")
    assert differences(first) == differences(second) == []
    replay = replayed(second)
    assert unpack_value(second.result)[0] == 2
    assert replay.task.steps == second.steps
    assert replay.host.questions == 1


def test_a_stop_comes_again_with_its_places(talk):
    talk.failure("fail", {"n": 4})
    [recording] = talk.recordings()
    assert recording.ending == "stopped"
    assert differences(recording) == differences(recording, stepping=True) == []


def test_what_other_calls_changed_meanwhile_is_replayed(talk):
    waiting = under_way(talk, "wait", arguments={"n": 1})
    asked = talk.call("sell", {"n": 5})
    talk.again(asked, "sell", yes(), n=5)
    [result] = finish_all(talk, [waiting], random.Random(0))
    assert result["content"][0]["text"] == "[0,5,1]"
    [last] = [recording for recording in talk.recordings() if recording.tool == "wait"]
    assert unpack_value(last.result) == [0, 5, 1]
    assert differences(last) == differences(last, stepping=True) == []


def test_what_other_calls_changed_where_a_long_call_gave_way_is_replayed(talk):
    long = under_way(talk, "long", arguments={"n": 20_000})
    asked = talk.call("sell", {"n": 1})
    talk.again(asked, "sell", yes(), n=1)
    [result] = finish_all(talk, [long], random.Random(0))
    assert 0 < int(result["content"][0]["text"]) < 20_000
    recording = next(recording for recording in talk.recordings() if recording.tool == "long")
    assert differences(recording) == differences(recording, stepping=True) == []


@pytest.mark.parametrize(("tool", "n"), [("wait", 1), ("long", 20_000)])
def test_a_cancelled_call_is_replayed_as_far_as_it_came(talk, tool, n):
    call = under_way(talk, tool, arguments={"n": n})
    call.cancel()
    [recording] = talk.recordings()
    assert recording.ending == "cancelled"
    assert differences(recording) == differences(recording, stepping=True) == []


def test_a_call_that_comes_to_something_else_is_told(talk):
    asked = talk.call("sell", {"n": 2})
    talk.again(asked, "sell", yes(), n=2)
    recording = talk.recordings()[1]
    recording.steps += 1
    assert differences(recording) == [("steps", str(recording.steps), str(recording.steps - 1))]
    recording.steps -= 1
    del recording.events[0]
    [(what, recorded, now)] = differences(recording)
    assert (what, recorded, now) == ("way", 'confirm("Sell 2 for 6?")', "now_ms()")
    assert leaving_place(recording, own_module(recording)) == ("main.qwe", 14)


def test_the_question_of_a_suspended_call_can_be_looked_at(talk):
    talk.call("sell", {"n": 2})
    [recording] = talk.recordings()
    task = at_question(recording, own_module(recording))
    assert task.place == ("main.qwe", 15)
    assert variable(task, "n") == (True, 2)
    assert variable(task, "sold") == (True, 0)
    assert variable(task, "nothing") == (False, None)
    assert dict(top_variables(task)) == {"sold": 0, "price": 3}


# --- a changed program ----------------------------------------------------------------------------------------------


def changed(recording: Recording, old: str, new: str) -> Replay:
    """The replay of a recording of PROGRAM by a program that has `new` for `old`."""
    assert old in PROGRAM
    replay = Replay(recording, compiled(PROGRAM.replace(old, new)))
    replay.run()
    return replay


@pytest.fixture
def sale(talk):
    talk.again(talk.call("sell", {"n": 1}), "sell", yes(), n=1)
    talk.again(talk.call("sell", {"n": 2}), "sell", yes(), n=2)
    return talk.recordings()[-1]


def test_a_program_that_only_looks_different_comes_to_the_same(sale):
    assert changed(sale, "let price", "\n\n// What it costs.\nlet price").verdict().same
    assert changed(sale, "fn cost", "fn other(a) = a\n\nfn cost").verdict().same
    assert unpack_value(sale.result)[0] == 3  # one was sold before this call began


def test_a_changed_value_of_a_top_level_variable_counts(sale):
    [(what, recorded, now)] = changed(sale, "let price = 3", "let price = 4").verdict().differences
    assert (what, recorded, now) == ("way", 'confirm("Sell 2 for 6?")', 'confirm("Sell 2 for 8?")')


def test_the_first_line_at_which_a_changed_program_parts_is_found(sale):
    module = compiled(PROGRAM.replace("sum += price", "sum += price + 1"))
    found = parting(Replay(sale, own_module(sale)), Replay(sale, module))
    assert found is not None
    assert found.recorded is not None
    assert found.now is not None
    assert (found.recorded.place, found.recorded.source) == (("main.qwe", 7), "sum += price")
    assert (found.now.place, found.now.source) == (("main.qwe", 7), "sum += price + 1")
    assert leaving_place(sale, module) == ("main.qwe", 15)


def test_another_result_of_a_changed_program_is_told(sale):
    [(what, recorded, now)] = changed(sale, "[sold, at, random()]", "[sold, at, random(), 1]").verdict().differences
    assert what == "result"
    assert now == recorded[:-1] + ", 1]"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "fn mcp sell(n: int)",
            "fn mcp sell(m: int, n: int)",
            "`sell` now needs `m`, which the recording doesn't bring",
        ),
        ("fn mcp sell", "fn mcp sell_all", "the program has no tool `sell`, which the recording calls"),
        (
            "let price = 3",
            'let price = 3 + len(env("X") ?? "")',
            'the program\'s top level goes another way: it calls env("X")',
        ),
        ("let price = 3", "let price = [3][1]", "the program's top level stops at main.qwe:2"),
    ],
)
def test_a_program_in_which_the_call_cannot_begin_is_refused(sale, old, new, text):
    with pytest.raises(BadRecording) as refused:
        changed(sale, old, new)
    assert text in str(refused.value)


def test_an_argument_that_no_longer_fits_is_refused(talk):
    finish_all(talk, [under_way(talk, "wait", arguments={"n": 1})], random.Random(0))
    with pytest.raises(BadRecording, match="`n` of `wait` must be str, got int"):
        changed(talk.recordings()[0], "fn mcp wait(n: int)", "fn mcp wait(n: str)")


# --- walking --------------------------------------------------------------------------------------------------------


def stepper_of(recording: Recording) -> Stepper:
    module = own_module(recording)
    return Stepper(lambda: Replay(recording, module))


def test_walking_line_by_line(sale):
    stepper = stepper_of(sale)
    assert stepper.line == ("main.qwe", 13)
    stepper.next()
    stepper.next()
    assert stepper.line == ("main.qwe", 15)
    assert [event.name for event in stepper.came_in] == ["now_ms"]
    stepper.into()
    assert [call.function for call in stepper.calls] == ["cost", "sell"]
    stepper.out()
    assert stepper.line == ("main.qwe", 15)
    assert stepper.came_in == []
    stepper.next()
    assert stepper.line == ("main.qwe", 16)
    assert [event.name for event in stepper.came_in] == ["confirm"]
    stepper.go()
    assert stepper.over
    assert stepper.replay.verdict().same
    assert stepper.line is None


def test_walking_back_comes_to_where_it_stood(sale):
    stepper = stepper_of(sale)
    stood = []
    while not stepper.over:
        stood.append((stepper.line, stepper.replay.instructions, [call.variables for call in stepper.calls]))
        stepper.into()
    assert len(stood) > 8
    while stood:
        assert stepper.back()
        assert (stepper.line, stepper.replay.instructions, [call.variables for call in stepper.calls]) == stood.pop()
    assert not stepper.back()


def test_a_break_is_met_each_time_the_call_comes_to_its_line(sale):
    stepper = stepper_of(sale)
    stepper.breaks.add(("main.qwe", 7))
    sums = []
    while True:
        stepper.go()
        if stepper.over:
            break
        sums.append(variable(stepper.replay.task, "sum")[1])
    assert sums == [0, 3]


def test_a_line_that_the_call_never_comes_to(sale):
    stepper = stepper_of(sale)
    assert stepper.to_line("main.qwe", 17)
    assert variable(stepper.replay.task, "sold") == (True, 3)
    assert not stepper_of(sale).to_line("main.qwe", 23)


if __name__ == "__main__":
    print(replay_randomly(range(10_000), int(sys.argv[1]), stepping=False))
