"""`quillo run` as people meet it: what it says, its options, reloading, instances, logs, and the end."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.http.spawned import ACCOUNTS, Running
from tests.mcp.spawned import PATIENCE, quillo
from tests.talking import meta

SECRET = {"QUILLO_SECRET": "0123456789abcdef0123456789abcdef"}
PAGE = "route GET / = <h1>one</h1>\n"
TOOL = "/// Adds.\nfn mcp add(a: int, b: int) -> int = a + b\n"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "main.qwe"
    path.write_text(PAGE)
    return path


def until(done: Any, what: str) -> Any:
    """Asks until it is so, or the patience of a test is over."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = done()
        if found:
            return found
    raise AssertionError(what)


def tool_call(server: Running, token: str, name: str, arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments, "_meta": meta()},
        }
    )
    headers = {
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=PATIENCE)
    try:
        connection.request("POST", "/_quillo/mcp", body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


# --- what it says


def test_it_says_where_the_program_is_served_and_ends_with_status_0(program):
    server = Running(program, env=SECRET)
    assert server.said == [f"quillo: {program} is served at {server.address}/\n"]
    assert "<h1>one</h1>" in server.send("GET", "/")[2]
    assert server.end() == ""
    assert server.process.returncode == 0


def test_without_a_secret_it_warns(program):
    with Running(program) as server:
        assert server.end() == (
            "quillo: QUILLO_SECRET is not set: sessions, tokens and open questions end with this process\n"
        )


def test_a_program_of_tools_alone_is_served_too_and_its_door_is_named(program):
    program.write_text(TOOL)
    with Running(program, "--base", "/shop", env=SECRET) as server:
        assert server.next_line() == f"quillo: MCP door for AI clients at {server.address}/shop/_quillo/mcp\n"
        assert server.send("GET", "/shop/_quillo/mcp")[0] == 405
        assert server.send("GET", "/")[0] == 404


def test_under_watch_a_token_for_trying_the_door_is_printed(program):
    program.write_text(TOOL)
    with Running(program, "--watch", env=SECRET) as server:
        door = f"{server.address}/_quillo/mcp"
        line = server.next_line()
        found = re.fullmatch(
            rf"quillo: MCP door for AI clients at {re.escape(door)}, with the header"
            r" Authorization: Bearer (qmcp_[A-Za-z0-9_-]{43}) \(good while this runs\)\n",
            line,
        )
        assert found is not None
        token = found[1]
        assert server.next_line() == (
            f'quillo: claude mcp add --transport http main {door} --header "Authorization: Bearer {token}"\n'
        )
        status, answer = tool_call(server, token, "add", {"a": 1, "b": 2})
        assert (status, answer["result"]["structuredContent"]) == (200, {"result": 3})


def test_behind_a_proxy_both_addresses_are_told(program):
    with Running(program, "--origin", "https://Example.com/", env=SECRET) as server:
        found = re.fullmatch(
            rf"quillo: {program} is served at https://example\.com/, and listens at (http://127\.0\.0\.1:\d+)\n",
            server.said[0],
        )
        assert found is not None
        assert found[1] == server.address


def test_under_watch_the_door_is_named_when_the_first_tool_is_there(program):
    with Running(program, "--watch", env=SECRET) as server:
        program.write_text(PAGE + TOOL)
        assert "with the header Authorization: Bearer qmcp_" in server.next_line()
        assert server.next_line().startswith("quillo: claude mcp add --transport http main ")


def test_under_watch_warnings_are_told_at_the_start_too(program):
    program.write_text(PAGE + "fn mcp add(a: int) -> int = a\n")
    for _ in range(2):  # compiled, and from the cache
        with Running(program, "--watch", env=SECRET) as server:
            assert "main.qwe:2: warning: tool `add` has no `///` comment" in server.end()


def test_a_program_that_serves_nothing_ends_and_has_no_use_for_watch(program):
    program.write_text('print("done")\n')
    done = quillo("run", str(program), "--watch")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr == "quillo: there is nothing to serve here: --watch is for programs with routes or tools\n"


def test_an_interrupt_before_it_serves_ends_it_without_a_word(program):
    program.write_text('print("top")\nsleep("1h")\n' + PAGE)
    environment = {**_environment(), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*_command(), str(program), "--port", "0"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    assert process.stdout.readline() == b"top\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE) == (b"", b"")
    assert process.returncode == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_it_serves_is_its_end_with_status_0(program, number):
    server = Running(program, env=SECRET)
    server.process.send_signal(number)
    _, errors = server.process.communicate(timeout=PATIENCE)
    assert (server.process.returncode, errors) == (0, b"")


def test_what_is_printed_goes_to_standard_output_and_failures_to_standard_error(program):
    program.write_text('print("top")\nroute GET / { print("in a request")\n 1 / 0 }\n')
    process = subprocess.Popen(
        [*_command(), str(program), "--port", "0"], env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    assert process.stdout.readline() == b"top\n"
    process.terminate()
    process.communicate(timeout=PATIENCE)


def _command() -> list[str]:
    from tests.mcp.spawned import QUILLO

    return [*QUILLO, "run"]


def _environment() -> dict[str, str]:
    from tests.mcp.spawned import environment

    return environment(**SECRET)


# --- what is refused


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--port", "99999"], 2, "99999 is not in the range"),
        (["--port", "x"], 2, "'x' is not a valid integer"),
        (["--host", "192.0.2.1"], 1, "`192.0.2.1` is no address of this machine"),
        (["--base", "shop"], 2, "--base takes a path such as /shop, got shop"),
        (["--base", "/a b"], 2, "--base takes a path such as /shop"),
        (["--origin", "example.com"], 2, "--origin takes an address such as https://example.com"),
        (["--origin", "https://example.com/x"], 2, "--origin takes an address such as https://example.com"),
        (["--origin", "https://a b"], 2, "--origin takes an address such as https://example.com"),
        (["--origin", "https://ana@example.com"], 2, "--origin takes an address such as https://example.com"),
        (["--origin", "https://example.com:99999"], 2, "--origin takes an address such as https://example.com"),
        (["--host", ""], 2, "--host takes an address of this machine"),
        (["--host", "nobody.invalid"], 1, "there is no host `nobody.invalid` here"),
        (["--policy", ""], 2, "--policy takes a file, got nothing"),
        (["--record", ""], 2, "--record takes a folder, got nothing"),
        (["--record", "/dev/null/x"], 1, "/dev/null/x: error: calls can't be recorded there"),
        (["--instances", "0"], 2, "0 is not in the range"),
        (["--instances", "2", "--watch"], 2, "--watch serves from one process: leave --instances out"),
        (["--log", "xml"], 2, "'xml' is not one of"),
        (["--max-tool-calls", "0"], 2, "0 is not in the range"),
        (["--policy", "none.toml"], 1, "none.toml: the policy can't be read"),
        (["--prot", "80"], 2, "No such option '--prot'. Did you mean '--port'?"),
    ],
)
def test_a_wrong_option_is_one_clear_error(program, options, status, words):
    done = quillo("run", str(program), *options, env=SECRET)
    assert done.returncode == status
    assert words in done.stderr
    assert done.stdout == ""


def test_a_port_that_is_taken_and_a_secret_that_is_too_short_end_the_start(program):
    with Running(program, env=SECRET) as server:
        port = server.address.rpartition(":")[2]
        done = quillo("run", str(program), "--port", port, env=SECRET)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"port {port} of 127.0.0.1 is in use" in done.stderr
    done = quillo("run", str(program), "--port", "0", env={"QUILLO_SECRET": "short"})
    assert done.returncode == 1
    assert done.stderr.startswith("quillo: error: QUILLO_SECRET has 5 bytes: it needs at least 32")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("route GET / = nope\n", "nope"),
        (PAGE + "let a = 1 / 0\n", "division by zero"),
        (PAGE + 'build "/x" = 1 / (0 * 1)\n', "division by zero"),
    ],
)
def test_a_program_that_cannot_start_ends_with_status_1(program, text, words):
    program.write_text(text)
    done = quillo("run", str(program), "--port", "0", env=SECRET)
    assert done.returncode == 1
    assert words in done.stderr


def test_a_program_may_end_itself_at_the_start_and_not_later(program):
    program.write_text("exit(3)\n" + PAGE)
    assert quillo("run", str(program), "--port", "0", env=SECRET).returncode == 3
    program.write_text("route GET / = exit(3)\n")
    with Running(program, env=SECRET) as server:
        assert server.send("GET", "/")[0] == 500
        assert server.send("GET", "/_quillo/health")[0] == 200
        assert "`exit` can't be used under `quillo run`" in server.end()


def test_arguments_are_the_programs_and_options_stand_before_or_after_the_file(program):
    program.write_text("route GET / = args()\n")
    with Running(program, "one", "--", "--two", env=SECRET) as server:
        assert json.loads(server.send("GET", "/")[2]) == ["one", "--two"]


def test_a_compiled_program_is_served_too(program, tmp_path):
    assert quillo("build", str(program), "-o", str(tmp_path / "out.qvm")).returncode == 0
    with Running(tmp_path / "out.qvm", env=SECRET) as server:
        assert "<h1>one</h1>" in server.send("GET", "/")[2]


def test_a_policy_lowers_what_a_body_and_a_minute_hold(program, tmp_path):
    (tmp_path / "quillo.policy.toml").write_text('[limits]\nmax_body = "1kb"\nmax_tool_calls = 2\n')
    program.write_text(TOOL + ACCOUNTS + "route POST / = len(request.body)\n")
    with Running(program, env=SECRET) as server:
        import urllib.error
        import urllib.request

        assert urllib.request.urlopen(f"{server.address}/", data=b"x" * 1024).read() == b"1024"
        with pytest.raises(urllib.error.HTTPError, match="413"):
            urllib.request.urlopen(f"{server.address}/", data=b"x" * 1025)
        token = server.token()
        statuses = [tool_call(server, token, "add", {"a": 1, "b": 1})[0] for _ in range(3)]
        assert statuses == [200, 200, 429]


# --- logs and recordings


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_line_a_request_without_what_is_private(program, format):
    with Running(program, "--log", format, env=SECRET) as server:
        server.send("GET", "/?password=secret")
        server.send("GET", "/no%0Asuch")
        errors = server.end()
    first, second = errors.splitlines()
    assert "secret" not in errors
    if format == "json":
        line = json.loads(first)
        assert (line["method"], line["path"], line["status"], line["caller"]) == ("GET", "/", 200, None)
        assert {"time", "ms", "steps"} <= set(line)
        assert json.loads(second)["status"] == 404
    else:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z GET / 200 [\d.]+ms - \d+", first)
        assert " GET /no%0Asuch 404 " in second


def test_a_caller_has_one_digest_over_restarts_with_one_secret_and_another_with_another(program):
    program.write_text(PAGE + ACCOUNTS)
    digests = []
    for secret in (SECRET, SECRET, {"QUILLO_SECRET": "another secret of thirty-two bytes"}):
        with Running(program, "--log", "json", env=secret) as server:
            server.token("ana")
            digests.append({json.loads(line)["caller"] for line in server.end().splitlines()})
    assert [len(found) for found in digests] == [1, 1, 1]
    assert digests[0] == digests[1] != digests[2]


def test_calls_over_http_are_recorded_too(program, tmp_path):
    program.write_text(TOOL + ACCOUNTS)
    with Running(program, "--record", str(tmp_path / "calls"), env=SECRET) as server:
        tool_call(server, server.token(), "add", {"a": 1, "b": 2})
    [recording] = (tmp_path / "calls").iterdir()
    from tests.mcp.spawned import commanded

    del commanded
    done = subprocess.run(
        [*_qvm(), "replay", str(recording)], env=_environment(), capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"qmcp_" not in recording.read_bytes()


def _qvm() -> list[str]:
    import sys

    return [sys.executable, "-m", "cli.qvm"]


# --- reloading


def test_a_change_is_served_and_a_mistake_leaves_what_was(program, tmp_path):
    program.write_text('use "lib.qwe" as lib\nroute GET / = <h1>{lib.word()}</h1>\n' + TOOL)
    lib = tmp_path / "lib.qwe"
    lib.write_text('fn word() -> str = "one"\n')
    with Running(program, "--watch", env=SECRET) as server:
        token = re.search(r"qmcp_[\w-]+", server.next_line())
        assert token is not None
        assert "<h1>one</h1>" in server.send("GET", "/")[2]

        lib.write_text('fn word() -> str = "two"\n')
        until(lambda: "<h1>two</h1>" in server.send("GET", "/")[2], "the change is not served")

        lib.write_text("fn word() -> str = 2\n")
        page = until(lambda: 'role="alert"' in (page := server.send("GET", "/")[2]) and page, "nothing is said")
        assert "<h1>two</h1>" in page
        assert "lib.qwe:1: error: " in page

        other = tmp_path / "written beside"
        other.write_text('fn word() -> str = "three"\n')
        os.replace(other, lib)
        until(lambda: (page := server.send("GET", "/")[2]) and "<h1>three</h1>" in page, "the mended one is not served")
        assert 'role="alert"' not in server.send("GET", "/")[2]
        assert tool_call(server, token[0], "add", {"a": 1, "b": 2})[0] == 200

        lib.unlink()
        until(lambda: "lib.qwe" in server.send("GET", "/")[2], "a file that is gone is not noticed")
        lib.write_text('fn word() -> str = "four"\n')
        until(lambda: "<h1>four</h1>" in server.send("GET", "/")[2], "a file that is back is not noticed")
        errors = server.end()
    assert errors.count("quillo: reloaded") == 3
    assert "quillo: the program before this change goes on serving" in errors


def test_a_top_level_that_stops_leaves_what_was(program):
    with Running(program, "--watch", env=SECRET) as server:
        program.write_text(PAGE + "let z = 0\nprint(1 / z)\n")
        page = until(lambda: 'role="alert"' in (page := server.send("GET", "/")[2]) and page, "nothing is said")
        assert "division by zero" in page
        assert "server-timing" in server.send("GET", "/")[1]


# --- instances

COUNTING = """
db.open("notes.db")
db.exec("create table if not exists notes (id integer primary key, text text not null)")
/// Adds a note.
fn mcp add_note(text: str) -> int with db = db.one("insert into notes (text) values (?) returning id", text).id
route GET /process = env("QUILLO_TEST_NOTHING")
"""


def workers(server: Running) -> list[int]:
    found = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, timeout=PATIENCE, check=True
    ).stdout
    pairs = [line.split() for line in found.splitlines()]
    return [int(pid) for pid, parent in pairs if int(parent) == server.process.pid]


@pytest.mark.slow
def test_instances_share_the_port_and_a_killed_one_loses_nothing_that_was_answered(program, tmp_path):
    program.write_text(COUNTING + ACCOUNTS)
    with Running(program, "--instances", "2", "--max-tool-calls", "100000", env=SECRET) as server:
        token = server.token()
        assert len(workers(server)) == 2
        answered: list[str] = []
        others: list[Any] = []
        stop = threading.Event()

        def add(client: int) -> None:
            number = 0
            while not stop.is_set():
                text = f"{client} {number}"
                number += 1
                try:
                    status, answer = tool_call(server, token, "add_note", {"text": text})
                except (OSError, ValueError, http.client.HTTPException):  # its instance was killed before it answered
                    continue
                if status == 200 and "isError" not in answer["result"]:
                    answered.append(text)
                else:
                    others.append(answer)

        threads = [threading.Thread(target=add, args=(client,)) for client in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            goal = len(answered) + 20
            until(lambda goal=goal: len(answered) >= goal, "calls are not answered")
            victim = until(lambda: workers(server), "no instance is there")[0]
            os.kill(victim, signal.SIGKILL)
        goal = len(answered) + 20
        until(lambda: len(answered) >= goal, "calls are not answered")
        until(lambda: len(workers(server)) == 2, "a killed instance is not started again")
        stop.set()
        for thread in threads:
            thread.join()
        errors = server.end()
    assert server.process.returncode == 0
    assert errors.count("it is started again") == 3
    with sqlite3.connect(tmp_path / "notes.db") as connection:
        kept = {text for (text,) in connection.execute("select text from notes")}
    assert kept.issuperset(answered)
    assert len(answered) == len(set(answered))
    assert others == []


def test_instances_of_a_program_that_cannot_start_end_with_its_words(program):
    program.write_text(PAGE + "let z = 0\nprint(1 / z)\n")
    done = quillo("run", str(program), "--port", "0", "--instances", "2", env=SECRET)
    assert done.returncode == 1
    assert done.stderr.count("division by zero") == 1


def test_instances_end_with_their_parent(program):
    server = Running(program, "--instances", "2", env=SECRET)
    children = workers(server)
    assert len(children) == 2
    server.process.kill()
    server.process.wait(timeout=PATIENCE)
    for child in children:
        until(lambda child=child: not Path(f"/proc/{child}").exists() or not _alive(child), "an instance lives on")
    server.process.communicate(timeout=PATIENCE)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")
