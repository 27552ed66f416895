"""`quillo mcp --record`, `qvm replay` and `qvm snapshot`, as people meet them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli import qvm
from cli.mcp import options_of
from tests.recordings import RecordedTalk
from tests.talking import meta, yes

PROGRAM = """\
db.open("shop.db")
db.exec("create table if not exists items (name text, price int)")
db.exec("delete from items")
db.exec("insert into items values ('cup', 3), ('jug', 4)")

fn total(rows: list<{ name: str, price: int }>) -> int {
  let sum = 0
  for row in rows {
    sum += row.price
  }
  sum
}

/// Sells what costs less.
fn mcp sell(limit: int) -> str with db {
  let rows = db.query("select name, price from items where price < ?", limit)
  let sum = total(rows)
  if !confirm(`Sell ${len(rows)} for ${sum}?`) {
    return "kept"
  }
  db.exec("delete from items where price < ?", limit)
  `sold for ${sum}`
}
"""


def run(*arguments: object, input: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(qvm.group, [str(argument) for argument in arguments], input=input, prog_name="qvm")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def output(*arguments: object, input: str | None = None) -> str:
    status, out, err = run(*arguments, input=input)
    assert (status, err) == (0, "")
    return out


def refusal(*arguments: object) -> str:
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    return err


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The recordings of a question, and of the round that answered it."""
    monkeypatch.chdir(tmp_path)
    talk = RecordedTalk(PROGRAM, tmp_path)
    talk.again(talk.call("sell", {"limit": 5}), "sell", yes(), limit=5)
    talk.close()
    asked, answered = talk.files()
    Path("asked.qrec").write_bytes(asked.read_bytes())
    Path("answered.qrec").write_bytes(answered.read_bytes())


def other_program(old: str, new: str) -> str:
    assert old in PROGRAM
    Path("other.qwe").write_text(PROGRAM.replace(old, new))
    return "other.qwe"


# --- replay ---------------------------------------------------------------------------------------------------------


def test_replay_says_that_all_is_the_same(files):
    head, end, counts = output("replay", "answered.qrec").splitlines()
    assert head.startswith("sell, called by stdio at ")
    assert head.endswith(" UTC: the same")
    assert end == '    "sold for 7"'
    assert counts.startswith("    1 question, ")
    assert output("replay", "asked.qrec").splitlines()[1] == '    asks "Sell 2 for 7?"'


def test_replay_needs_no_database(files):
    Path("shop.db").unlink()
    assert ": the same" in output("replay", "answered.qrec")
    assert not Path("shop.db").exists()


def test_replay_as_data(files):
    data = json.loads(output("replay", "answered.qrec", "--json"))
    assert (data["tool"], data["caller"], data["arguments"]) == ("sell", "stdio", {"limit": 5})
    assert (data["same"], data["ending"], data["end"]) == (True, "returned", '"sold for 7"')
    assert [event["call"].partition("(")[0] for event in data["events"]] == ["db.query", "confirm", "db.exec"]
    assert data["events"][1]["value"] is True


def test_replay_with_a_changed_program_says_where_it_goes_another_way(files):
    status, out, _ = run("replay", "answered.qrec", "--with", other_program("sum += row.price", "sum += 2 * row.price"))
    assert status == 1
    assert out.splitlines()[1:] == [
        "    goes another way at other.qwe:18",
        '        recorded: confirm("Sell 2 for 7?")',
        '        now:      confirm("Sell 2 for 14?")',
        "    the lines part here",
        "        recorded: main.qwe:9  sum += row.price",
        "        now:      other.qwe:9  sum += 2 * row.price",
    ]


def test_replay_with_a_changed_program_as_data(files):
    status, out, _ = run("replay", "answered.qrec", "--json", "--with", other_program("`sold for", "`Sold for"))
    data = json.loads(out)
    assert status == 1
    assert data["same"] is False
    assert data["differences"] == [{"what": "result", "recorded": '"sold for 7"', "now": '"Sold for 7"'}]
    assert data["lines_part"]["now"] == {"file": "other.qwe", "line": 22, "source": "`Sold for ${sum}`"}


def test_replay_with_a_program_that_changed_elsewhere_is_the_same(files):
    assert ": the same" in output(
        "replay", "answered.qrec", "--with", other_program("fn total", "// Adds up.\nfn total")
    )


def test_replay_with_a_program_that_does_not_check(files):
    other = other_program('return "kept"', "return 1")
    assert refusal("replay", "answered.qrec", "--with", other).startswith("other.qwe:19: error:")


def test_replay_at_a_line_shows_names_and_values(files):
    assert output("replay", "answered.qrec", "--at", "9") == (
        "main.qwe:9 in `total`  sum += row.price\n"
        '    rows = [{"name": "cup", "price": 3}, {"name": "jug", "price": 4}]\n'
        "    sum = 0\n"
        '    row = {"name": "cup", "price": 3}\n'
        "main.qwe:17 in `sell`  let sum = total(rows)\n"
        "    limit = 5\n"
        '    rows = [{"name": "cup", "price": 3}, {"name": "jug", "price": 4}]\n'
    )
    data = json.loads(output("replay", "answered.qrec", "--at", "main.qwe:9", "--json"))
    assert data["calls"][0]["variables"]["row"] == {"name": "cup", "price": 3}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("19", "the call never comes to main.qwe:19"),
        ("x", "`x` is no line: give a number, or FILE:NUMBER"),
        ("999", "`main.qwe` has 23 lines: there is no line 999"),
        ("0", "`0` is no line: give a number, or FILE:NUMBER"),
        ("a.qwe:3", "the program has no file `a.qwe`: it has `main.qwe`"),
    ],
)
def test_a_line_that_is_none(files, line, message):
    assert refusal("replay", "answered.qrec", "--at", line) == f"answered.qrec: error: {message}\n"


def test_walking_through_a_call(files):
    commands = "next\nn\ninto\nprint rows\np nothing\nlist\nout\nback\nbreak 21\nbreak x\ngo\nn\nn\nn\nn\nwhat\nq\n"
    assert output("replay", "answered.qrec", "--step", input=commands).splitlines() == [
        "main.qwe:15 in `sell`  fn mcp sell(limit: int) -> str with db {",
        'main.qwe:16 in `sell`  let rows = db.query("select name, price from items where price < ?", limit)',
        '    db.query("select name, price from items where price < ?", 5) gave '
        '[{"name": "cup", "price": 3}, {"name": "jug", "price": 4}]',
        "main.qwe:17 in `sell`  let sum = total(rows)",
        "main.qwe:6 in `total`  fn total(rows: list<{ name: str, price: int }>) -> int {",
        'rows = [{"name": "cup", "price": 3}, {"name": "jug", "price": 4}]',
        "there is no `nothing` that is set here",
        "     1  db.open(\"shop.db\")",
        '     2  db.exec("create table if not exists items (name text, price int)")',
        '     3  db.exec("delete from items")',
        "     4  db.exec(\"insert into items values ('cup', 3), ('jug', 4)\")",
        "     5",
        ">    6  fn total(rows: list<{ name: str, price: int }>) -> int {",
        "     7    let sum = 0",
        "     8    for row in rows {",
        "     9      sum += row.price",
        "    10    }",
        "    11    sum",
        "main.qwe:17 in `sell`  let sum = total(rows)",
        "main.qwe:6 in `total`  fn total(rows: list<{ name: str, price: int }>) -> int {",
        "a break at main.qwe:21",
        "`x` is no line: give a number, or FILE:NUMBER",
        '    confirm("Sell 2 for 7?") gave true',
        'main.qwe:21 in `sell`  db.exec("delete from items where price < ?", limit)',
        '    db.exec("delete from items where price < ?", 5) gave {"changes": 2, "last_id": null}',
        "main.qwe:22 in `sell`  `sold for ${sum}`",
        'the end: "sold for 7"',
        "the call is over: `back` goes back, `quit` leaves",
        "the call is over: `back` goes back, `quit` leaves",
        "there is no command `what`: `help` lists them",
    ]  # fmt: skip


def test_walking_starts_at_a_line_and_ends_with_the_input(files):
    came_in, line, again, rows, *_ = output(
        "replay", "answered.qrec", "--step", "--at", "9", input="names\n"
    ).splitlines()
    assert came_in.startswith("    db.query(")
    assert line == again == "main.qwe:9 in `total`  sum += row.price"
    assert rows.startswith("    rows = ")


# --- snapshot -------------------------------------------------------------------------------------------------------


def test_snapshot_shows_where_a_call_asks(files):
    head, *rows = output("snapshot", "asked.qrec").splitlines()
    assert head.startswith("sell, called by stdio at ")
    assert rows == [
        '    "Sell 2 for 7?"',
        "main.qwe:18 in `sell`  if !confirm(`Sell ${len(rows)} for ${sum}?`) {",
        "    limit = 5",
        '    rows = [{"name": "cup", "price": 3}, {"name": "jug", "price": 4}]',
        "    sum = 7",
    ]


def test_snapshot_as_data(files):
    data = json.loads(output("snapshot", "asked.qrec", "--json"))
    assert data["question"]["text"] == "Sell 2 for 7?"
    assert data["calls"][0]["variables"]["sum"] == 7


def test_a_call_that_did_not_ask_has_no_snapshot(files):
    assert refusal("snapshot", "answered.qrec") == (
        "answered.qrec: error: this call of `sell` did not end with a question: `qvm replay` walks through it\n"
    )


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["replay", "snapshot"])
def test_what_is_no_recording_or_damaged_is_refused_in_one_line(files, command):
    data = Path("asked.qrec").read_bytes()
    for bad, message in (
        (b"", "it is empty"),
        (PROGRAM.encode(), "it is not a recording of a call"),
        (data[:20], "it is cut off: 20 of the 46 bytes of its frame are there"),
        (data[:-1], f"it is cut off: {len(data) - 47} of the {len(data) - 46} bytes of its payload are there"),
        (data[:-1] + bytes([data[-1] ^ 1]), "it is damaged: its bytes don't have the digest that is written in it"),
    ):
        Path("bad.qrec").write_bytes(bad)
        assert refusal(command, "bad.qrec") == f"bad.qrec: error: {message}\n"
    assert refusal(command, "none.qrec") == "none.qrec: error: it is not there\n"


def test_step_goes_not_with_json(files):
    status, _, err = run("replay", "asked.qrec", "--step", "--json")
    assert status == 2
    assert "--step talks with you: it goes not with --json" in err


# --- quillo mcp --record --------------------------------------------------------------------------------------------


def served(*arguments: str, lines: list[bytes]) -> subprocess.CompletedProcess[bytes]:
    root = Path(__file__).resolve().parent.parent
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from cli.quillo import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, str(root), "mcp", *arguments],
        input=b"\n".join(lines),
        capture_output=True,
        timeout=60,
        env={**os.environ, "QUILLO_SECRET": "0123456789abcdef" * 4, "SHOP_KEY": "key-of-the-shop"},
    )


def test_the_calls_of_a_server_are_recorded_and_replayed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("main.qwe").write_text('let key = env("SHOP_KEY")\nlet secret = env("QUILLO_SECRET")\n' + PROGRAM)
    params = {"name": "sell", "arguments": {"limit": 4}, "_meta": meta()}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    done = served("main.qwe", "--record", "calls", lines=[call])
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["result"]["resultType"] == "input_required"
    [file] = Path("calls").iterdir()
    assert b"key-of-the-shop" not in file.read_bytes()
    assert b"0123456789abcdef" not in file.read_bytes()
    assert ": the same" in output("replay", file)
    assert '"Sell 1 for 3?"' in output("snapshot", file)


def test_a_folder_that_cannot_be_written_is_refused_at_the_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("main.qwe").write_text(PROGRAM)
    Path("calls").write_text("a file")
    done = served("main.qwe", "--record", "calls", lines=[])
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"calls: error: calls can't be recorded there: file exists\n"


def test_record_as_a_flag():
    assert options_of(["main.qwe", "--record", "calls"]) == ("main.qwe", None, None, "calls", False)
    assert options_of(["main.qwe", "--record=calls"]) == ("main.qwe", None, None, "calls", False)
    assert options_of(["main.qwe", "--record"]) is None
