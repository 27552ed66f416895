"""What a program can touch: files in its folder only, the clock, random numbers, other sites."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from qvm.values import Closure, Err, Stop
from server import VERSION, fetching
from server.host import HANDLERS, ProgramHost, World
from server.policy import Policy


@pytest.fixture
def host(tmp_path):
    folder = tmp_path / "program"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    printed: list[str] = []
    world = World(
        str(folder), printed.append, printed.append, arguments=["a", "b"], clock=lambda: 1_785_240_000_123_456_789
    )
    made = ProgramHost(world, world.database.scope())
    made.printed = printed
    return made


def kind(value: Any) -> str:
    assert isinstance(value, Err), value
    return value.value["kind"]


def test_every_host_builtin_has_a_handler():
    from compiler.prelude import BUILTINS

    of_the_engine = {"confirm", "about", "_together"}
    declared = {name for name, builtin in BUILTINS.items() if builtin.kind == "host"} - of_the_engine
    assert declared == set(HANDLERS)


def test_every_host_call_counts_its_arguments_as_the_language_does(host):
    from compiler.prelude import BUILTINS

    for name in HANDLERS:
        [overload] = BUILTINS[name].overloads
        least = sum(not parameter.has_default for parameter in overload.parameters) - overload.variadic
        wrong = [least - 1] if least else []
        if not overload.variadic:
            wrong.append(len(overload.parameters) + 1)
        for count in wrong:
            with pytest.raises(Stop, match=rf"^`{name}` takes .*, got {count}$"):
                host.call(name, [None] * count)


# --- files


def test_files_are_written_read_added_to_and_deleted(host):
    assert host.call("write_file", ["a.txt", "é\n"]) is None
    assert host.call("append_file", ["a.txt", "b"]) is None
    assert host.call("read_file", ["a.txt"]) == "é\nb"
    assert host.call("write_file", ["a.txt", "c"]) is None
    assert host.call("read_file", ["./a.txt"]) == "c"
    assert host.call("files", ["."]) == ["a.txt"]
    assert host.call("files", [""]).value["kind"] == "outside"
    assert host.call("delete_file", ["a.txt"]) is None
    assert host.call("files", ["."]) == []


OUTSIDE = ["../secret.txt", "/etc/passwd", "a/../../secret.txt", "link.txt", "folder/secret.txt", "", "a\0b", ".."]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("call", ["read_file", "write_file", "append_file", "delete_file", "files"])
def test_nothing_leads_out_of_the_folder(host, tmp_path, path, call):
    folder = tmp_path / "program"
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "folder").symlink_to(tmp_path)
    arguments = [path, "changed"] if call in ("write_file", "append_file") else [path]
    result = host.call(call, arguments)
    if call == "delete_file" and path == "link.txt":
        assert result is None, "the link itself lies in the folder"
    else:
        assert kind(result) in ("outside", "missing")
    assert (tmp_path / "secret.txt").read_text("utf-8") == "secret"


def test_failures_of_files_have_kinds(host, tmp_path):
    folder = tmp_path / "program"
    (folder / "inner").mkdir()
    (folder / "bytes").write_bytes(b"\xff")
    os.mkfifo(folder / "pipe")
    assert host.call("read_file", ["none.txt"]).value == {"kind": "missing", "message": "`none.txt` is not there"}
    assert host.call("write_file", ["none/a.txt", ""]).value["kind"] == "missing"
    assert kind(host.call("read_file", ["inner"])) == "folder"
    assert kind(host.call("write_file", ["inner", ""])) == "folder"
    assert kind(host.call("delete_file", ["inner"])) == "folder"
    assert kind(host.call("read_file", ["bytes"])) == "not_text"
    assert kind(host.call("read_file", ["pipe"])) == "folder"
    assert kind(host.call("files", ["bytes"])) == "missing"


@pytest.mark.parametrize("call", ["read_file", "write_file", "files", "delete_file"])
def test_a_path_is_text(host, call):
    arguments = [5, "x"] if call == "write_file" else [5]
    with pytest.raises(Stop, match=f"argument 1 of `{call}` must be str, got int"):
        host.call(call, arguments)


# --- the clock and random numbers


def test_the_clock_is_the_worlds(host):
    assert host.call("now", []) == "2026-07-28T12:00:00.123Z"
    assert host.call("now_ms", []) == 1_785_240_000_123


def test_random_numbers_are_in_their_ranges(host):
    assert all(0 <= host.call("random", []) < 1 for _ in range(1000))
    assert {host.call("random_int", [1, 6]) for _ in range(1000)} == {1, 2, 3, 4, 5, 6}
    assert host.call("random_int", [5, 5]) == 5
    assert -(2**63) <= host.call("random_int", [-(2**63), 2**63 - 1]) < 2**63
    with pytest.raises(Stop, match="from the smaller to the larger"):
        host.call("random_int", [6, 1])


def test_a_uuid_is_of_version_4(host):
    import uuid

    made = uuid.UUID(host.call("uuid", []))
    assert made.version == 4
    assert made.variant == uuid.RFC_4122
    assert host.call("uuid", []) != host.call("uuid", [])


def test_a_password_is_known_by_its_hash(host):
    from qvm.builtins import native

    made = host.call("hash_password", ["secret"])
    assert made != host.call("hash_password", ["secret"])
    assert native("check_password")("secret", made)
    assert not native("check_password")("Secret", made)


# --- the process


def test_print_writes_values_as_people_see_them(host):
    host.call("print", ["a", 1, [1.0, None], {"k": "v"}])
    host.call("print", [])
    host.call("log", ["x", True])
    assert host.printed == ['a 1 [1.0, null] {"k": "v"}\n', "\n", "x true"]


def test_env_and_args(host, monkeypatch):
    monkeypatch.setenv("QUILLO_TEST_VALUE", "here")
    assert host.call("env", ["QUILLO_TEST_VALUE"]) == "here"
    assert host.call("env", ["QUILLO_TEST_NOTHING"]) is None
    assert host.call("env", ["A=B"]) is None
    assert host.call("args", []) == ["a", "b"]


@pytest.mark.parametrize("code", [0, 1, 255])
def test_exit_is_a_stop_with_its_status(host, code):
    with pytest.raises(Stop) as stopped:
        host.call("exit", [code])
    assert (stopped.value.kind, stopped.value.detail, stopped.value.error) == ("exit", code, None)


@pytest.mark.parametrize("code", [-1, 256])
def test_a_status_is_a_byte(host, code):
    with pytest.raises(Stop, match="`exit` takes a status from 0 to 255"):
        host.call("exit", [code])


@pytest.mark.parametrize("value", ["soon", "5 weeks", None, [], -1])
def test_sleep_takes_a_length_of_time(host, value):
    with pytest.raises(Stop, match="sleep"):
        host.call("sleep", [value])


def test_what_needs_a_request_says_so(host):
    assert host.call("session", []) == {}
    assert host.call("tenant", []) is None
    assert host.call("tenant_from", [Closure(0)]) is None
    for name in ("set_session", "end_session", "request", "mcp_token", "mcp_tokens", "revoke_mcp_token"):
        with pytest.raises(Stop, match=f"`{name}` needs a request to a site: there is none here"):
            host.call(name, [{}] if name in ("set_session", "revoke_mcp_token") else [])


# --- other sites


class Site(BaseHTTPRequestHandler):
    """A site on this machine that tells what it was asked."""

    def do_GET(self) -> None:
        if self.path == "/to":
            self.send_response(302)
            self.send_header("Location", "/hello?x=1")
            self.end_headers()
            return
        if self.path == "/ring":
            self.send_response(302)
            self.send_header("Location", "/ring")
            self.end_headers()
            return
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        names = ("user-agent", "content-type", "x-mine", "host")
        told = [self.command, self.path, *(f"{name}={self.headers.get(name)}" for name in names), body.decode()]
        data = "\n".join(told).encode() if self.path != "/bytes" else b"\xff\xfe"
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        """Nothing on standard error."""


@pytest.fixture
def site():
    server = HTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def reaching(tmp_path):
    """A host whose policy names this machine."""
    world = World(str(tmp_path), print, print, Policy(hosts=frozenset(("127.0.0.1",))))
    return ProgramHost(world, world.database.scope())


def test_fetch_sends_and_gives(reaching, site):
    got = reaching.call("fetch", [f"{site}/hello?x=é y#part".replace(" ", "+"), {"headers": {"X-Mine": "1"}}])
    assert got["status"] == 200
    assert got["headers"]["content-type"] == "text/plain; charset=utf-8"
    lines = got["body"].split("\n")
    assert lines[:2] == ["GET", "/hello?x=%C3%A9+y"]
    assert "x-mine=1" in lines
    assert lines[-2] == f"host={site.removeprefix('http://')}"


def test_fetch_posts_json(reaching, site):
    got = reaching.call("fetch", [f"{site}/", {"method": "post", "json": {"a": ["é"]}}])
    assert got["body"].split("\n")[0] == "POST"
    assert "content-type=application/json" in got["body"]
    assert got["body"].endswith('{"a": ["é"]}')


def test_an_answer_with_any_status_is_an_answer(reaching, site):
    assert reaching.call("fetch", [f"{site}/none", None])["status"] == 404


def test_redirects_are_followed_but_not_for_ever(reaching, site):
    assert "/hello?x=1" in reaching.call("fetch", [f"{site}/to", None])["body"]
    assert reaching.call("fetch", [f"{site}/ring", None]).value == {
        "kind": "network",
        "message": f"{site}/ring: over 5 redirects",
    }


def test_an_answer_that_is_no_text(reaching, site):
    assert kind(reaching.call("fetch", [f"{site}/bytes", None])) == "not_text"


def test_an_answer_that_is_too_big(reaching, site, monkeypatch):
    monkeypatch.setattr(fetching, "MOST_BYTES", 10)
    assert kind(reaching.call("fetch", [f"{site}/", None])) == "too_big"


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "localhost", "10.0.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]",
     "[fe80::1]", "100.64.0.1", "224.0.0.1", "2130706433", "0x7f.1"],
)  # fmt: skip
def test_private_addresses_are_never_reached(host, address):
    failed = host.call("fetch", [f"http://{address}/", {"timeout": 1}])
    assert kind(failed) in ("refused", "network")
    assert "private address" in failed.value["message"] or "there is no host" in failed.value["message"]


def test_a_redirect_to_a_private_address_is_refused(site, monkeypatch):
    # The first address counts as public here; what it redirects to is looked at anew.
    request = fetching.request_of([f"{site}/to", None])
    seen: list[str] = []
    real = fetching._connect

    def connect(host: str, port: int, named: bool, secure: bool, ends: float) -> Any:
        seen.append(host)
        return real(host, port, len(seen) == 1, secure, ends)

    monkeypatch.setattr(fetching, "_connect", connect)
    assert kind(fetching.fetch(request, None)) == "refused"
    assert len(seen) == 2


@pytest.mark.parametrize(
    "url", ["ftp://example.com", "example.com", "http://", "http://a b/", "http://me:pw@example.com"]
)
def test_what_is_no_address_of_a_site(host, url):
    assert kind(host.call("fetch", [url, None])) == "refused"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"metod": "GET"}, "has no option `metod`: it takes `method`"),
        ({"method": "TRACE"}, "`method` of `fetch` must be one of"),
        ({"headers": {"a": 1}}, "header `a` of `fetch` must be str, got int"),
        ({"headers": {"a": "x\r\nb: y"}}, "has a character that a header can't have"),
        ({"headers": {"Host": "x"}}, "is not yours to set"),
        ({"body": "x", "json": 1}, "not both"),
        ({"timeout": "never"}, "a length of time"),
        ({"timeout": 0}, "`timeout` of `fetch`"),
    ],
)
def test_wrong_options_are_mistakes(host, options, problem):
    with pytest.raises(Stop) as stopped:
        host.call("fetch", ["http://example.com", options])
    assert problem in stopped.value.message


def test_the_version_is_the_packages():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["version"] == VERSION
