"""The stdio door, on a spawned process: descriptors, lines, ends, signals, and calls side by side."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess

import pytest

from tests.mcp.spawned import PATIENCE, Server, call, line, quillo, request, spawn

PROGRAM = """
/// Adds.
fn mcp add(a: int, b: int) -> int = a + b

/// Prints.
fn mcp prints() -> int {
  print("to standard error")
  1
}

/// Sleeps.
fn mcp sleeps(length: str) -> str {
  sleep(length)
  "slept"
}

/// Counts.
fn mcp counts(n: int) -> int {
  let i = 0
  while i < n { i += 1 }
  i
}

/// Is long.
fn mcp long(n: int) -> str = repeat("x", n)

/// Reads what belongs to the client.
fn mcp reads() -> str = stdin()

/// Ends.
fn mcp ends() -> int { exit(3) }
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "main.qwe"
    path.write_text(PROGRAM, "utf-8")
    return path


def result(answer):
    return answer["result"]["structuredContent"]["result"]


def test_one_message_a_line_each_way(program):
    with Server(program) as server:
        assert server.ask(request(1, "server/discover"))["result"]["capabilities"] == {"tools": {}}
        assert result(server.ask(call("two", "add", a=1, b=2))) == 3
        assert server.end() == (0, b"", "")


def test_lines_may_come_in_any_pieces(program):
    with Server(program) as server:
        data = line(call(1, "add", a=1, b=2)) + b"\n  \r\n" + line(call(2, "add", a=2, b=2)).replace(b"\n", b"\r\n")
        for place in range(len(data)):
            server.write(data[place : place + 1])
        assert [result(server.read()), result(server.read())] == [3, 4]
        assert server.end()[:2] == (0, b"")


def test_a_last_line_without_an_end_is_answered(program):
    with Server(program) as server:
        server.write(line(call(1, "add", a=1, b=2)).rstrip())
        status, output, _ = server.end()
        assert status == 0
        assert json.loads(output)["result"]["structuredContent"] == {"result": 3}


def test_a_line_that_is_too_long_is_refused_and_the_next_one_read(program, tmp_path):
    (tmp_path / "quillo.policy.toml").write_text('[limits]\nmax_body = "1kb"', "utf-8")
    with Server(program) as server:
        for size in (1025, 200_000):
            server.write(b"x" * size + b"\n" + line(call(1, "add", a=1, b=2)))
            refused = server.read()
            assert refused["error"] == {"code": -32600, "message": "the message is over 1024 bytes"}
            assert "id" not in refused
            assert result(server.read()) == 3
        server.write(b"x" * 1024 + b"\n")
        assert server.read()["error"]["code"] == -32700
        assert server.end()[:2] == (0, b"")


def test_what_the_program_prints_goes_to_standard_error(program):
    with Server(program) as server:
        assert result(server.ask(call(1, "prints"))) == 1
        assert server.end() == (0, b"", "to standard error\n")


@pytest.mark.parametrize("name", ["reads", "ends"])
def test_standard_input_and_the_process_are_not_the_programs(program, name):
    with Server(program) as server:
        answer = server.ask(call(1, name))["result"]
        assert answer["isError"]
        assert answer["content"][0]["text"] == "internal error"
        status, _, errors = server.end()
        assert status == 0
        assert "can't be used under `quillo mcp`" in errors


def test_a_client_may_write_all_before_it_reads(program):
    count = 3000
    with Server(program) as server:
        server.write(b"".join(line(call(n, "long", n=100)) for n in range(count)))
        status, output, _ = server.end()
        assert status == 0
        assert sorted(json.loads(answer)["id"] for answer in output.splitlines()) == list(range(count))


def test_an_answer_larger_than_any_buffer_comes_whole(program):
    with Server(program) as server:
        server.send(call(1, "long", n=3_000_000), call(2, "add", a=1, b=1))
        assert len(result(server.read())) == 3_000_000
        assert result(server.read()) == 2


# --- calls side by side


def test_a_call_that_waits_lets_others_go_first(program):
    with Server(program) as server:
        server.send(call(1, "sleeps", length="1h"), call(2, "sleeps", length="1ms"), call(3, "add", a=1, b=2))
        assert [server.read()["id"], server.read()["id"]] == [3, 2]
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert result(server.ask(call(4, "add", a=2, b=2))) == 4
        assert server.end()[:2] == (0, b""), "a call that was cancelled is not answered"


def test_a_call_and_its_cancellation_may_come_together(program):
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    with Server(program) as server:
        server.send(call(1, "sleeps", length="1h"), cancel, call(2, "sleeps", length="1ms"), {**cancel})
        assert server.read()["id"] == 2
        server.send(call(1, "counts", n=10**9), cancel, call(3, "add", a=1, b=2))
        assert server.read()["id"] == 3
        assert server.end()[:2] == (0, b"")


def test_a_long_computation_gives_way(program):
    with Server(program) as server:
        server.send(call(1, "counts", n=3_000_000))
        server.send(call(2, "add", a=1, b=2))
        assert [server.read()["id"], server.read()["id"]] == [2, 1]


def test_calls_under_way_may_end_when_the_input_has(program):
    with Server(program) as server:
        server.send(call(1, "sleeps", length="50ms"), call(2, "counts", n=200_000))
        status, output, _ = server.end()
        assert status == 0
        assert sorted(json.loads(answer)["id"] for answer in output.splitlines()) == [1, 2]


@pytest.mark.slow
def test_calls_that_take_too_long_then_are_left(program):
    with Server(program) as server:
        server.send(call(1, "sleeps", length="1h"))
        assert server.end() == (0, b"", "")


# --- ends


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("waiting", [False, True])
def test_a_signal_ends_it_well(program, sent, waiting):
    with Server(program) as server:
        if waiting:
            server.send(call(1, "sleeps", length="1h"), call(3, "sleeps", length="1ms"))
            assert server.read()["id"] == 3
        assert result(server.ask(call(2, "add", a=1, b=2))) == 3
        server.process.send_signal(sent)
        assert server.process.wait(PATIENCE) == 0
        assert server.process.stderr.read() == b""


@pytest.mark.parametrize("waiting", [False, True])
def test_a_reader_that_leaves_ends_it_well(program, waiting):
    with Server(program) as server:
        if waiting:
            server.send(call(1, "sleeps", length="1ms"))
            server.read()
        server.process.stdout.close()
        server.process.stdout = None
        server.write(line(call(1, "add", a=1, b=2)))
        assert server.process.wait(PATIENCE) == 0
        assert server.process.stderr.read() == b""


# --- descriptors


def messages() -> bytes:
    return line(call(1, "add", a=1, b=2)) + line(call(2, "sleeps", length="1ms")) + line(call(3, "add", a=1, b=2))


def ids(data: bytes) -> list[int]:
    return sorted(json.loads(answer)["id"] for answer in data.splitlines())


def test_files_in_place_of_pipes(program, tmp_path):
    (tmp_path / "in").write_bytes(messages())
    with open(tmp_path / "in", "rb") as source, open(tmp_path / "out", "wb") as sink:
        process = spawn(["mcp", str(program)], stdin=source, stdout=sink)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    assert ids((tmp_path / "out").read_bytes()) == [1, 2, 3]


def test_no_input_at_all(program):
    process = spawn(["mcp", str(program)], stdin=subprocess.DEVNULL)
    assert process.communicate(timeout=PATIENCE) == (b"", b"")
    assert process.returncode == 0


def test_sockets_in_place_of_pipes(program):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = spawn(["mcp", str(program)], stdin=theirs, stdout=theirs)
        theirs.close()
        ours.sendall(messages())
        ours.shutdown(socket.SHUT_WR)
        data = b"".join(iter(lambda: ours.recv(65536), b""))
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    assert ids(data) == [1, 2, 3]


@pytest.mark.parametrize("closed", [[0], [1], [0, 1], [2], [0, 1, 2]])
def test_descriptors_that_are_closed_at_the_start(program, closed, tmp_path):
    # What the program opens must not land on a number that a message is written to.
    program.write_text('db.open("data.db")\ndb.exec("create table if not exists t (n)")\n' + PROGRAM, "utf-8")
    shut = " ".join({0: "0<&-", 1: "1>&-", 2: "2>&-"}[number] for number in closed)
    command = ["sh", "-c", f'exec "$0" "$@" {shut}']
    process = subprocess.run(
        [*command, *spawned_command(program)],
        input=messages() if 0 not in closed else None,
        stdin=subprocess.DEVNULL if 0 in closed else None,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=spawned_environment(),
    )
    assert process.returncode == 0
    assert ids(process.stdout) == ([] if closed != [2] else [1, 2, 3])
    assert (tmp_path / "data.db").read_bytes().startswith(b"SQLite format 3\0")


def spawned_command(program) -> list[str]:
    from tests.mcp.spawned import QUILLO

    return [*QUILLO, "mcp", str(program)]


def spawned_environment() -> dict[str, str]:
    from tests.mcp.spawned import environment

    return environment()


def test_descriptors_stay_blocking(program):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = spawn(["mcp", str(program)], stdin=theirs, stdout=theirs)
        ours.sendall(line(call(1, "sleeps", length="1ms")))
        assert ids(ours.recv(65536)) == [1]
        assert os.get_blocking(theirs.fileno())
        ours.shutdown(socket.SHUT_WR)
        process.communicate(timeout=PATIENCE)


# --- programs that can't be served


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("let x = ", "main.qwe:1: error:"),
        ("print(1)", "main.qwe: error: there is no tool here: `fn mcp` makes a function one"),
        ("/// T.\nfn mcp t() -> int = 1\nlet x = 1 / len([])", "line 3: division by zero"),
        ('/// T.\nfn mcp t() -> int = 1\ndb.open("../x.db")', 'line 3: cannot open the database "../x.db"'),
        ("/// T.\nfn mcp t() -> int = 1\nexit(0)", "line 3: `exit` can't be used under `quillo mcp`"),
    ],
)
def test_a_program_that_cannot_be_served_says_why(program, text, message):
    program.write_text(text, "utf-8")
    done = quillo("mcp", "main.qwe", cwd=program.parent)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_warnings_are_told_and_do_not_stop_it(program):
    program.write_text("fn mcp t() -> int = 1", "utf-8")
    done = quillo("mcp", "main.qwe", cwd=program.parent, input=line(call(1, "t")))
    assert done.returncode == 0
    assert "main.qwe:1: warning: tool `t` has no `///` comment" in done.stderr
    assert json.loads(done.stdout)["result"]["structuredContent"] == {"result": 1}


def test_a_short_secret_ends_the_start(program):
    done = quillo("mcp", str(program), env={"QUILLO_SECRET": "short"})
    assert done.returncode == 1
    assert done.stderr == "QUILLO_SECRET has 5 bytes: it needs at least 32, and should be random\n"


def test_a_limit_on_calls_is_one_of_the_command_line(program):
    done = quillo("mcp", str(program), "--max-tool-calls", "1", input=messages())
    assert [json.loads(answer).get("error", {}).get("code") for answer in done.stdout.splitlines()] == [None, 429, 429]


@pytest.mark.slow  # the end of input leaves a call two seconds
@pytest.mark.parametrize("ending", ["signal", "end of input"])
@pytest.mark.parametrize("waiting", [False, True])
def test_a_statement_that_would_never_end_is_ended(program, waiting, ending):
    query = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    never = f'/// Never ends.\nfn mcp never() {{\n  print("begun")\n  db.query("{query}")\n}}\n'
    program.write_text(f'db.open(":memory:")\n{PROGRAM}\n{never}', "utf-8")
    with Server(program) as server:
        if waiting:
            server.send(call(1, "sleeps", length="1ms"))
            server.read()
        server.send(call(2, "never"))
        while server.read_error() != "begun":
            pass
        if ending == "signal":
            server.process.send_signal(signal.SIGTERM)
        else:
            server.process.stdin.close()
        assert server.process.wait(PATIENCE) == 0


def test_a_signal_during_the_top_level_ends_it(program):
    program.write_text(f'print("begun")\nsleep("1h")\n{PROGRAM}', "utf-8")
    with Server(program) as server:
        assert server.read_error() == "begun"
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 0
