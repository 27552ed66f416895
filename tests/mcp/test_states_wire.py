"""The states of questions under attack, in a race, and over restarts (docs/tools.md, section 3), over stdio.

A forger here knows the secret and the program: what is refused is refused for what it is bound to, not for luck.
"""

from __future__ import annotations

import sqlite3
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from server.asking import NO_CHOICE, NONE, Answers, Asking, Entry, UsedInMemory
from server.host import World
from server.programs import RunningProgram, compile_file
from tests.mcp.spawned import PATIENCE, Server
from tests.mcp.wire import WIRES, YES, RawWire, Refused, Wire, question, raw_wire, structured

SECRET = "0123456789abcdef0123456789abcdef"
OTHER_SECRET = "fedcba9876543210fedcba9876543210"
PROGRAM = """
db.open("notes.db")
db.exec("create table if not exists notes (text text not null)")
db.exec("delete from notes")
db.exec("insert into notes values ('milk'), ('eggs')")

/// How many notes there are.
fn mcp notes() -> int with db = db.one("select count(*) as n from notes").n

/// Asks once.
fn mcp once(a: any = null, b: any = null) -> bool = confirm("Sure?")

/// Asks once, too.
fn mcp other() -> bool = confirm("Sure?")

/// Asks often, and at length.
fn mcp often(n: int, word: str) -> int {
  for i in 0..n { confirm(`${i} ${word}?`) }
  n
}

/// Deletes one note.
fn mcp delete_one() -> int with db {
  if !confirm("Delete one?") { return 0 }
  db.exec("delete from notes where rowid = (select min(rowid) from notes)").changes
}

/// Deletes all in a transaction, and waits in it.
fn mcp delete_within() -> int with db {
  if !confirm("Delete all?") { return 0 }
  db.transaction(() => {
    db.exec("delete from notes")
    print("deleted")
    sleep("1h")
  })
  0
}

/// Deletes all, and waits then.
fn mcp delete_and_wait() -> int with db {
  if !confirm("Delete all?") { return 0 }
  db.exec("delete from notes")
  print("deleted")
  sleep("1h")
  0
}

/// Holds a transaction until there is a file "go"; then it keeps what it did, or stops.
fn mcp hold(keeps: bool) -> int with db, fs = db.transaction(() => {
  db.exec("insert into notes values ('held')")
  while is_err(read_file("go")) { sleep("1ms") }
  if keeps { 1 } else { 1 / len([]) }
})
"""
WITHOUT_DATABASE = """
/// Asks once.
fn mcp once(a: any = null) -> bool = confirm("Sure?")

/// Asks once, too.
fn mcp other() -> bool = confirm("Sure?")
"""


def write(folder: Path, text: str = PROGRAM) -> Path:
    (folder / "main.qwe").write_text(text, "utf-8")
    return folder / "main.qwe"


@pytest.fixture(scope="module", params=WIRES)
def wire(request, tmp_path_factory):
    with WIRES[request.param](write(tmp_path_factory.mktemp("states")), QUILLO_SECRET=SECRET) as made:
        yield made


class Everlasting(UsedInMemory):
    lasting = True


def forger(program: Path, secret: str = SECRET, clock: Callable[[], float] = time.time) -> Asking:
    """Makes states as the server of a program does that has this secret."""
    module, _ = compile_file(str(program))
    assert module is not None
    world = World(str(program.parent), lambda text: None, lambda line: None)
    return Asking(secret.encode(), RunningProgram(module, world).digest, Everlasting(), clock)


def forged(maker: Asking, caller: str = "stdio", tool: str = "once", arguments: Any = None) -> str:
    entry = Entry(maker.digest("place", "p"), maker.digest("question", "Sure?"), NONE, 0, NO_CHOICE)
    answers = Answers()
    answers.entries[entry.place], answers.waiting, answers.asked = entry, entry, 1
    return maker.seal(answers, caller, tool, arguments or {})


def data_of(state: str) -> bytes:
    return urlsafe_b64decode(state + "=" * (-len(state) % 4))


def state_of(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def signed(body: bytes, secret: str, purpose: str) -> str:
    return state_of(body + blake3(body, key=blake3(secret.encode(), derive_key_context=purpose).digest()).digest())


STATES = "quillo: signatures of question states, 1"


def refusal(wire: Wire, state: str, tool: str = "once", arguments: Any = None) -> str:
    """Why a state is refused; nothing is used up by that, and nothing runs."""
    with pytest.raises(Refused) as refused:
        wire.call(tool, arguments or {}, requestState=state, inputResponses={"ask": YES})
    assert refused.value.code == -32602
    start, end = "`requestState` ", f": call `{tool}` again without it"
    assert refused.value.message.startswith(start)
    assert refused.value.message.endswith(end)
    return refused.value.message.removeprefix(start).removesuffix(end)


# --- attacks


def test_every_attack_is_refused_with_its_own_true_text(wire: Wire, tmp_path):
    program = write(tmp_path)
    changed = tmp_path / "changed"
    changed.mkdir()
    maker = forger(program)
    asked = wire.call("once", {"a": 1})
    own = asked["requestState"]
    used = wire.call("other", {})["requestState"]
    wire.call("other", {}, requestState=used, inputResponses={"ask": YES})
    data = data_of(own)
    body = data[:-32]
    older = bytes([body[0] - 1]) + body[1:]
    a1 = {"a": 1}
    found = {
        "another caller's": refusal(wire, forged(maker, caller="ana")),
        "another tool's": refusal(wire, own, "other"),
        "another's arguments": refusal(wire, own, "once", {"a": 2}),
        "another program's": refusal(wire, forged(forger(write(changed, PROGRAM + "let more = 1\n")))),
        "expired": refusal(wire, forged(forger(program, clock=lambda: time.time() - 601))),
        "used": refusal(wire, used, "other"),
        "cut": refusal(wire, own[:-10], "once", a1),
        "changed": refusal(wire, own[:100] + ("A" if own[100] != "A" else "B") + own[101:], "once", a1),
        "of an older version": refusal(wire, signed(older, SECRET, STATES), "once", a1),
        "1 MB": refusal(wire, "x" * 1_000_000, "once", a1),
    }
    assert found == {
        "another caller's": "was made for another caller",
        "another tool's": "was made for another tool",
        "another's arguments": "was made for other arguments",
        "another program's": "was made before the program changed",
        "expired": "has expired: an answer may take 10 minutes",
        "used": "was used already: each is good once",
        "cut": "was cut, extended or rewritten on the way, or this server did not make it",
        "changed": "was changed on the way, or this server did not make it",
        "of an older version": "was made by another version of Quillo",
        "1 MB": "is longer than any that a server makes, or this server did not make it",
    }
    assert refusal(wire, state_of(data + b"\0"), "once", a1) == found["cut"], "extended"
    assert refusal(wire, own + "=", "once", a1) == found["cut"], "written in another way"
    assert refusal(wire, state_of(body + bytes(50) + data[-32:]), "once", a1) == found["changed"], "by one question"
    for key in (OTHER_SECRET, "quillo" * 6):
        assert refusal(wire, signed(body, key, STATES), "once", a1) == found["changed"], "with another secret"
    for purpose in ("quillo: tokens, 1", "quillo: digests in question states, 1", ""):
        assert refusal(wire, signed(body, SECRET, purpose), "once", a1) == found["changed"], "for another purpose"
    assert refusal(wire, forged(forger(program, OTHER_SECRET))) == found["changed"], "made with another secret"
    # None of all this has used the state up.
    assert structured(wire.call("once", a1, requestState=own, inputResponses={"ask": YES})) is True


def test_what_the_forger_makes_rightly_is_taken(wire: Wire, tmp_path):
    """So that the refusals above are for what they say: the same state, but for the one thing, is good."""
    maker = forger(write(tmp_path))
    state = forged(maker)
    assert question(wire.call("once", {}, requestState=state)) == "Sure?"
    assert refusal(wire, state) == "was used already: each is good once"


@pytest.mark.parametrize("state", ["", "x", "é", "😀", "....", "AAAA" * 100, "null", " " * 200])
def test_foreign_texts_are_refused(wire: Wire, state):
    assert refusal(wire, state).endswith(", or this server did not make it")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": {"x": [1, {"y": 2, "z": 3}], "w": None}}, {"a": {"w": None, "x": [1, {"z": 3, "y": 2}]}}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": -0.0}, {"a": 0}),
        ({"a": "é"}, {"a": "\u00e9"}),
    ],
)
def test_arguments_are_compared_as_json_values(wire: Wire, one, other):
    asked = wire.call("once", one)
    assert structured(wire.again(asked, "once", YES, **other)) is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": None}, {}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": [1]}, {"a": [1, None]}),
        ({"a": 1}, {"b": 1}),
    ],
)
def test_other_arguments_are_other_arguments(wire: Wire, one, other):
    asked = wire.call("once", one)
    assert refusal(wire, asked["requestState"], "once", other) == "was made for other arguments"


def test_the_state_of_ten_questions_is_under_4_kb_and_tells_nothing(wire: Wire):
    word = "a long word of the question " * 100
    result = wire.call("often", {"n": 10, "word": word})
    for n in range(9):
        assert question(result).startswith(f"{n} a long word")
        result = wire.again(result, "often", YES, n=10, word=word)
    state = result["requestState"]
    assert len(state) < 4096
    for told in (b"long", b"word", b"often", b"stdio"):
        assert told not in data_of(state)


# --- races


def answers_of(wire: RawWire, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    wire.server.send(*messages)
    return [wire.server.read() for _ in messages]


def fifty(wire: RawWire, state: str) -> list[dict[str, Any]]:
    return [wire.message("once", {}, requestState=state, inputResponses={"ask": YES}) for _ in range(50)]


def went_on(answers: list[dict[str, Any]]) -> int:
    """How many calls went on; all others were refused for having come too late."""
    results = [answer for answer in answers if "result" in answer]
    for answer in answers:
        if "error" in answer:
            assert answer["error"]["code"] == -32602
            assert "was used already: each is good once" in answer["error"]["message"]
    return len(results)


IN_MEMORY = PROGRAM.replace("notes.db", ":memory:")


@pytest.mark.parametrize("text", [PROGRAM, IN_MEMORY, WITHOUT_DATABASE], ids=["file", "memory", "none"])
def test_of_fifty_that_send_one_state_at_once_one_goes_on(tmp_path, text):
    with raw_wire(write(tmp_path, text)) as wire:
        answers = answers_of(wire, fifty(wire, wire.call("once")["requestState"]))
        assert went_on(answers) == 1


@pytest.mark.parametrize("text", [PROGRAM, IN_MEMORY], ids=["file", "memory"])
@pytest.mark.parametrize("keeps", [True, False])
def test_of_fifty_that_wait_for_one_transaction_one_goes_on(tmp_path, text, keeps):
    with raw_wire(write(tmp_path, text)) as wire:
        state = wire.call("once")["requestState"]
        hold = wire.message("hold", {"keeps": keeps})
        wire.server.send(hold, *fifty(wire, state))
        assert question(wire.call("other")) == "Sure?", "all before it have begun, and wait"
        (tmp_path / "go").touch()
        answers = {answer["id"]: answer for answer in (wire.server.read() for _ in range(51))}
        held = answers.pop(hold["id"])["result"]
        assert went_on(list(answers.values())) == 1
        assert held.get("isError", False) is not keeps
        assert wire.value("notes") == (3 if keeps else 2)
        # A transaction that is taken back takes nothing with it of what others have used.
        assert refusal(wire, state) == "was used already: each is good once"


def test_of_two_processes_that_are_sent_one_state_one_goes_on(tmp_path):
    program = write(tmp_path)
    with raw_wire(program, QUILLO_SECRET=SECRET) as one, raw_wire(program, QUILLO_SECRET=SECRET) as other:
        for _ in range(10):
            state = one.call("once")["requestState"]
            for wire in (one, other):
                wire.server.send(wire.message("once", {}, requestState=state, inputResponses={"ask": YES}))
            assert went_on([one.server.read(), other.server.read()]) == 1


# --- restarts


@pytest.mark.parametrize("door", WIRES)
def test_a_restart_between_question_and_answer_is_not_noticed(tmp_path, door):
    program = write(tmp_path)
    with WIRES[door](program, QUILLO_SECRET=SECRET) as wire:
        asked = wire.call("delete_one")
        assert question(asked) == "Delete one?"
    with WIRES[door](program, QUILLO_SECRET=SECRET) as wire:
        assert structured(wire.again(asked, "delete_one", YES)) == 1
        assert wire.value("notes") == 1
    with WIRES[door](program, QUILLO_SECRET=SECRET) as wire:
        assert refusal(wire, asked["requestState"], "delete_one") == "was used already: each is good once"


@pytest.mark.parametrize(("before", "after"), [(SECRET, OTHER_SECRET), (SECRET, None), (None, SECRET), (None, None)])
def test_a_restart_with_another_secret_refuses_what_was_asked(tmp_path, before, after):
    def env(secret: str | None) -> dict[str, str]:
        return {} if secret is None else {"QUILLO_SECRET": secret}

    program = write(tmp_path)
    with raw_wire(program, **env(before)) as wire:
        state = wire.call("delete_one")["requestState"]
    with raw_wire(program, **env(after)) as wire:
        changed = "was changed on the way, or this server did not make it"
        assert refusal(wire, state, "delete_one") == changed
        assert wire.value("notes") == 2


def test_a_program_that_keeps_nothing_takes_no_state_of_an_earlier_process(tmp_path):
    """It has forgotten which were used: none may be good twice."""
    program = write(tmp_path, WITHOUT_DATABASE)
    with raw_wire(program, QUILLO_SECRET=SECRET) as wire:
        asked = wire.call("once")
        assert structured(wire.again(asked, "once", YES)) is True
    with raw_wire(program, QUILLO_SECRET=SECRET) as wire:
        changed = "was changed on the way, or this server did not make it"
        assert refusal(wire, asked["requestState"]) == changed


def test_a_program_that_changed_takes_no_state_of_the_earlier_one(tmp_path):
    with raw_wire(write(tmp_path), QUILLO_SECRET=SECRET) as wire:
        state = wire.call("delete_one")["requestState"]
    with raw_wire(write(tmp_path, PROGRAM + "\nlet more = 1\n"), QUILLO_SECRET=SECRET) as wire:
        assert refusal(wire, state, "delete_one") == "was made before the program changed"


@pytest.mark.parametrize(("tool", "left"), [("delete_within", 2), ("delete_and_wait", 0)])
def test_a_server_that_is_killed_before_its_answer_has_used_the_state_up(tmp_path, tool, left):
    """The change is whole (it stood by itself), or not there (it stood in a transaction that was not over)."""
    program = write(tmp_path)
    with Server(program, env={"QUILLO_SECRET": SECRET}) as server:
        wire = RawWire(server, tmp_path / "none")
        asked = wire.call(tool)
        server.send(wire.message(tool, {}, requestState=asked["requestState"], inputResponses={"ask": YES}))
        while server.read_error() != "deleted":
            pass
        server.process.kill()
        server.process.wait(PATIENCE)
    # Looked at before the next start, where the program's top level makes its notes anew.
    database = sqlite3.connect(tmp_path / "notes.db")
    assert database.execute("select count(*) from notes").fetchone() == (left,)
    assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    database.close()
    with raw_wire(program, QUILLO_SECRET=SECRET) as restarted:
        assert refusal(restarted, asked["requestState"], tool) == "was used already: each is good once"
        assert restarted.value("notes") == 2
