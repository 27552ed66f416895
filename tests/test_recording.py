"""What a recording holds and what it doesn't: every kind of value, no secret, at most so much; damage is refused.

`python -m tests.test_recording` writes the golden file of the present format version, which then stays as it is.
"""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from qasm.framing import frame
from qvm import recording as recording_file
from qvm.host import Waiting
from qvm.marks import Secrets
from qvm.recording import BadRecording, Recording, dump, load, pack_value, unpack_value
from qvm.values import ABSENT, Closure, Err, Markup, Response, Sql
from server.calls import CallHost
from tests.engine import shown
from tests.recordings import RecordedTalk, differences
from tests.talking import Talk, yes

GOLDEN = Path(__file__).resolve().parent / "golden"

SECRET = "k-12345-of-the-shop"
PASSWORD = "correct horse"
PROGRAM = """\
let key = env("SHOP_KEY") ?? "none"
let kept = ["a"]

/// Hands a secret on.
fn mcp tell(text: str) {
  let again = env("SHOP_KEY") ?? ""
  if !confirm(`Tell ${text} about ${again}?`) { return "no" }
  kept += [text]
  { key, text: `${text}: ${again}`, at: now() }
}

/// Signs up.
fn mcp sign_up(name: str, password: str) {
  let hash = hash_password(password)
  kept += [hash]
  [name, hash, kept]
}

/// Answers with much.
fn mcp much(n: int) {
  let found = []
  for i in 0..n {
    print(repeat("x", 1000))
    found += [random()]
  }
  found
}

/// Stops with what it was given.
fn mcp fail(text: str) -> int {
  int(text)
}
"""


@pytest.fixture
def talk(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_KEY", SECRET)
    made = RecordedTalk(PROGRAM, tmp_path)
    yield made
    made.close()


def bytes_of(talk: RecordedTalk) -> bytes:
    """All that the recordings hold, the Module aside."""
    found = b""
    for recording in talk.recordings():
        assert SECRET.encode() not in recording.module
        found += dump(recording, compressed=b"")
    assert found
    return found


# --- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None, True, 1, 1.0, -0.0, math.inf, "é\ud800", b"\xff", [1, [2.5]], {"b": 1, "a": {}},
        Err({"kind": "x"}, "fetch"), Markup("<i>"), Sql("a = ?", [1]), Response(201, ["made"], {"X-A": "b"}), [ABSENT],
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_every_kind_of_value_comes_through(value: Any):
    assert shown(unpack_value(pack_value(value))) == shown(value)


def test_two_values_have_the_same_bytes_only_if_they_are_the_same():
    values: list[Any] = [
        1,
        1.0,
        True,
        "1",
        None,
        "",
        [],
        {},
        {"a": 1, "b": 2},
        {"b": 2, "a": 1},
        b"1",
        Err("1"),
        Markup("1"),
    ]
    assert len({pack_value(value) for value in values}) == len(values)
    assert pack_value(math.nan) == pack_value(math.nan)


def test_a_function_is_kept_as_a_mark():
    assert isinstance(unpack_value(pack_value([Closure(3)]))[0], Closure)


# --- secrets --------------------------------------------------------------------------------------------------------


def test_what_env_gives_is_nowhere_in_a_recording(talk):
    result = talk.again(talk.call("tell", {"text": "all"}), "tell", yes(), text="all")
    assert SECRET in result["content"][0]["text"]
    assert SECRET.encode() not in bytes_of(talk)
    last = talk.recordings()[-1]
    assert last.marks == ["‹env SHOP_KEY›"]
    assert unpack_value(last.result)["text"] == "all: ‹env SHOP_KEY›"


def test_a_call_that_hands_secrets_on_is_replayed_as_it_ran(talk):
    talk.again(talk.call("tell", {"text": "all"}), "tell", yes(), text="all")
    talk.call("sign_up", {"name": "Ann", "password": PASSWORD})
    talk.failure("fail", {"text": f"not {SECRET}"})
    for recording in talk.recordings():
        assert differences(recording) == [], recording.tool


def test_passwords_and_their_hashes_are_nowhere_in_a_recording(talk):
    result = talk.call("sign_up", {"name": "Ann", "password": PASSWORD})
    talk.call("tell", {"text": "later"})  # its start holds the variable with the hash
    found = bytes_of(talk)
    assert "$scrypt$" in result["content"][0]["text"]
    assert b"$scrypt$" not in found
    assert PASSWORD.encode() not in found
    assert b"Ann" in found


def test_a_secret_that_a_later_call_shows_is_not_in_it_either(talk):
    talk.call("sign_up", {"name": "Ann", "password": PASSWORD})
    talk.call("tell", {"text": PASSWORD})
    assert PASSWORD.encode() not in bytes_of(talk)


def test_what_is_named_from_the_start_is_secret(tmp_path):
    talk = RecordedTalk(PROGRAM, tmp_path, known=[("s" * 32, "QUILLO_SECRET")])
    talk.call("tell", {"text": f"the {'s' * 32}"})
    assert talk.recordings()[0].marks == ["‹QUILLO_SECRET›"]
    assert b"s" * 32 not in bytes_of(talk)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Bearer abcdefgh123", "Bearer ‹authorization›"),
        ("qmcp_" + "a" * 43, "‹token›"),
        ("is $scrypt$n=32768,r=8,p=1$c2FsdA==$aGFzaA== it", "is ‹password hash› it"),
        ("$2b$12$abcdefghijklmnopqrstuv", "‹password hash›"),
        ("costs $5, or $20$", "costs $5, or $20$"),
        ("a bearer of news", "a bearer of news"),
        ("at postgres://ann:pa55!word@host:5432/db?x=1", "at postgres://ann:‹password›@host:5432/db?x=1"),
        ("redis://:pa55@host, amqp://a:b:c@d", "redis://:‹password›@host, amqp://a:‹password›@d"),
        ("postgres://ann:‹password›@host", "postgres://ann:‹password›@host"),
        ("https://host:8080/a@b http://ann@host mailto:a@b", "https://host:8080/a@b http://ann@host mailto:a@b"),
    ],
)
def test_secrets_by_their_look(text, changed):
    assert Secrets().changed(text) == changed


def test_what_stands_in_a_header_for_credentials_is_secret():
    secrets = Secrets()
    options = {
        "headers": {
            "Authorization": "Basic QWxhZGRpbg==",
            "Cookie": "sid=0123456789; theme=dark",
            "Accept": "text/html",
        }
    }
    secrets.observe(
        "fetch", ["https://a.example", options], {"status": 200, "headers": {"set-cookie": "sid=9876543210; Path=/"}}
    )
    text = "QWxhZGRpbg== 0123456789 dark text/html 9876543210"
    assert secrets.changed(text) == "‹authorization› ‹cookie› dark text/html ‹cookie›"


def test_of_two_secrets_the_longer_one_is_found():
    assert Secrets([("abcd", "short"), ("abcdefgh", "long")]).changed("abcdefgh abcd") == "‹long› ‹short›"


def test_a_short_value_of_env_is_not_looked_for_elsewhere():
    secrets = Secrets()
    secrets.observe("env", ["DEBUG"], "1")
    assert secrets.changed("1 of 11") == "1 of 11"
    assert secrets.replaced("env", ["DEBUG"], "1") == (["DEBUG"], "‹env DEBUG›")


def test_what_stands_in_the_program_is_no_secret_of_env(tmp_path, monkeypatch):
    monkeypatch.setenv("MODE", "production")
    talk = RecordedTalk(
        '/// A.\nfn mcp mode() { if env("MODE") == "production" { "in production" } else { "at home" } }\n', tmp_path
    )
    assert talk.call("mode")["content"][0]["text"] == "in production"
    [recording] = talk.recordings()
    assert recording.marks == []
    assert differences(recording) == []


def test_an_argument_that_is_named_like_a_secret_is_one(tmp_path):
    text = "/// A.\nfn mcp sign_in(user: { name: str, password: str }) = [user.name, user]\n"
    talk = RecordedTalk(text, tmp_path)
    talk.call("sign_in", {"user": {"name": "Ann", "password": PASSWORD}})
    [recording] = talk.recordings()
    assert PASSWORD.encode() not in bytes_of(talk)
    assert unpack_value(recording.result) == ["Ann", {"name": "Ann", "password": "‹password›"}]
    assert differences(recording) == []


@pytest.mark.parametrize(
    "name",
    [
        *(
            "password",
            "newPassword",
            "db_password",
            "PASSWORD2",
            "passwd",
            "wifi-passphrase",
            "access_token",
            "authToken",
        ),
        *("api_key", "apiKey", "X-Api-Key", "aws_secret_access_key", "client_secret", "credentials", "private_key"),
        "Authorization",
    ],
)
def test_a_field_that_is_named_like_a_secret_is_one_wherever_it_stands(name):
    for given in ({name: "s3cr3t-value"}, {"of": [{"deep": {name: "s3cr3t-value"}}]}):
        secrets = Secrets()
        secrets.learn_arguments(given)
        assert secrets.changed("a s3cr3t-value is").startswith("a ‹"), given


def test_all_texts_in_a_field_that_is_named_like_a_secret_are_secret():
    secrets = Secrets()
    secrets.learn_arguments({"credentials": {"user": "ann-1234", "keys": ["k-123456", 7, None]}})
    assert secrets.changed("ann-1234 k-123456") == "‹credentials› ‹credentials›"


@pytest.mark.parametrize("name", ["text", "tokens", "password_hint", "author", "key", "secretary", "", "7", "passport"])
def test_other_names_make_no_secret(name):
    secrets = Secrets()
    secrets.learn_arguments({name: "milk and eggs"})
    assert secrets.changed("milk and eggs") == "milk and eggs"


def test_a_password_that_is_the_name_of_a_field_leaves_the_field(talk):
    talk.call("sign_up", {"name": "Ann", "password": "password"})
    for recording in talk.recordings():
        assert "password" in unpack_value(recording.given)
        assert differences(recording) == []


# --- limits ---------------------------------------------------------------------------------------------------------


def test_a_call_that_is_too_large_is_kept_as_far_as_it_fits(tmp_path):
    talk = RecordedTalk(PROGRAM, tmp_path, most_bytes=20_000)
    talk.call("much", {"n": 100})
    [file], [recording] = talk.files(), talk.recordings()
    assert file.stat().st_size < 30_000
    assert recording.ending == "cut"
    assert len(recording.events) > 10
    assert differences(recording) == []
    assert recording.note == "it was too large to be recorded to its end"


def test_the_oldest_files_go(tmp_path):
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "notes.txt").write_text("mine")
    talk = RecordedTalk(PROGRAM, tmp_path, most_files=3)
    for number in range(5):
        talk.failure("fail", {"text": f"n{number}"})
    kept = [unpack_value(load(file.read_bytes()).given)["text"] for file in talk.files() if file.suffix == ".qrec"]
    assert kept == ["n2", "n3", "n4"]
    again = RecordedTalk(PROGRAM, tmp_path, most_files=3)
    again.failure("fail", {"text": "n5"})
    assert len(talk.files()) == 4
    assert (tmp_path / "calls" / "notes.txt").read_text() == "mine"


def test_the_oldest_files_go_also_where_others_record_into_the_folder(tmp_path):
    """Several servers of one project record into one folder: together they keep no more for long."""
    (tmp_path / "other").mkdir()
    one = RecordedTalk(PROGRAM, tmp_path, most_files=20)
    other = RecordedTalk(PROGRAM, tmp_path / "other", most_files=20)
    other.recorder.folder = one.recorder.folder
    for number in range(50):
        for talk in (one, other):
            talk.failure("fail", {"text": f"n{number}"})
    kept = {unpack_value(load(file.read_bytes()).given)["text"] for file in one.files()}
    assert len(one.files()) <= 20 + 16
    assert {f"n{number}" for number in range(41, 50)} <= kept


def test_a_file_that_is_there_is_not_written_over(talk):
    """Nor what a link of that name leads to."""
    talk.recorder._clock = lambda: 1_800_000_000 * 10**9
    talk.failure("fail", {"text": "x"})
    [file] = talk.files()
    target = talk.calls.parent / "target"
    target.write_text("mine")
    (talk.calls / f"{file.name.replace('-000001-', '-000002-')}.part").symlink_to(target)
    talk.failure("fail", {"text": "x"})
    assert target.read_text() == "mine"


def test_recordings_are_for_their_owner_only(talk):
    talk.failure("fail", {"text": "x"})
    [file] = talk.files()
    assert file.stat().st_mode & 0o777 == 0o600
    assert talk.calls.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_is_gone_is_logged_once_and_touches_no_call(talk):
    talk.calls.rmdir()
    for _ in range(2):
        assert talk.failure("fail", {"text": "x"}) == "internal error"
    [line] = [line for line in talk.log if "recorded" in line]
    assert line == f"quillo: a call was not recorded in {talk.calls}: no such file or directory"


def test_recording_changes_no_answer(talk, tmp_path):
    plain = Talk(PROGRAM, tmp_path)
    for name, arguments in (
        ("much", {"n": 3}),
        ("fail", {"text": "7"}),
        ("fail", {"text": "x"}),
        ("tell", {"text": "a"}),
    ):
        answers = [one.call(name, arguments) for one in (talk, plain)]
        for answer in answers:
            answer.pop("requestState", None)
            if name == "much":
                answer["content"] = len(answer["content"])
                answer.pop("structuredContent", None)
        assert answers[0] == answers[1]


# --- no cost where there is no recording ----------------------------------------------------------------------------


def test_without_a_recorder_a_call_runs_with_its_own_host_and_nothing_of_recording_is_loaded():
    code = (
        "import sys; from tests.talking import Talk\n"
        "talk = Talk('/// A.\\nfn mcp a() = 1\\n')\n"
        "assert talk.call('a')['content'][0]['text'] == '1'\n"
        "assert not [name for name in sys.modules if 'record' in name or name == 'qvm.marks']\n"
    )
    root = Path(__file__).resolve().parent.parent
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True, timeout=60)


def test_without_a_recorder_the_task_has_the_calls_own_host(tmp_path):
    talk = Talk("/// Waits.\nfn mcp wait() { sleep(0) }\n", tmp_path)
    call = talk.protocol.begin(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","_meta":{'
        b'"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
    )
    assert type(call.waiting) is Waiting
    assert type(call._task.host) is CallHost


# --- the file -------------------------------------------------------------------------------------------------------


def some_recording() -> Recording:
    made = Recording(b"module", "tell", "stdio", 1_785_240_000_000, pack_value({"a": 1}), b"")
    made.events = [recording_file.Event("call", "now", pack_value([]), "value", pack_value("then"))]
    made.top_level = []
    made.ending, made.result, made.steps = "returned", pack_value([1]), 3
    return made


def test_a_recording_comes_back_as_it_was_written():
    made = some_recording()
    back = load(dump(made))
    for name in Recording.__slots__:
        if name not in ("events", "top_level"):
            assert getattr(back, name) == getattr(made, name), name
    assert [event.fields() for event in back.events] == [event.fields() for event in made.events]


def test_one_that_is_cut_anywhere_is_refused_in_one_sentence():
    data = dump(some_recording())
    for size in range(len(data)):
        assert_refused(data[:size])
    assert_refused(data + b"\0")


def test_one_with_any_bit_flipped_is_refused_in_one_sentence():
    data = dump(some_recording())
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            assert_refused(bytes(flipped))


def assert_refused(data: bytes) -> str:
    with pytest.raises(BadRecording) as refused:
        load(data)
    text = str(refused.value)
    assert text.startswith("it")
    assert "\n" not in text
    assert ". " not in text
    return text


@pytest.mark.parametrize("payload", [b"", b"\xc0", b"\xc1", b"\x90", b"\x9e" + b"\xc0" * 14])
def test_one_that_was_written_wrong_is_refused(payload):
    assert assert_refused(frame(recording_file.MAGIC, 1, payload)) == "its payload is not what a recording holds"


def test_one_of_a_later_format_is_refused():
    data = bytearray(dump(some_recording()))
    data[5] = 2
    assert assert_refused(bytes(data)) == "it is written in format 2, and this build reads format 1"


# --- golden files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("recording_*.qrec")), ids=lambda file: file.name)
def test_recordings_of_each_format_are_still_replayed(file):
    recording = load(file.read_bytes())
    assert recording.tool == "tell"
    assert differences(recording) == []


def test_there_is_a_golden_file_of_the_present_format():
    assert (GOLDEN / f"recording_{recording_file.VERSION}.qrec").exists()


def write_golden() -> None:
    import os
    import tempfile

    os.environ["SHOP_KEY"] = SECRET
    with tempfile.TemporaryDirectory() as folder:
        talk = RecordedTalk(PROGRAM, Path(folder))
        talk.again(talk.call("tell", {"text": "all"}), "tell", yes(), text="all")
        (GOLDEN / f"recording_{recording_file.VERSION}.qrec").write_bytes(talk.files()[-1].read_bytes())


if __name__ == "__main__":
    write_golden()
