"""The policy: read, understood, and only ever lowering."""

from __future__ import annotations

import pytest

from qvm.values import Stop
from server.host import ProgramHost, World
from server.policy import Policy, PolicyError, read_policies, read_policy


def written(tmp_path, text: str) -> str:
    path = tmp_path / "p.toml"
    path.write_text(text, "utf-8")
    return str(path)


def test_every_key_is_read(tmp_path):
    policy = read_policy(
        written(
            tmp_path,
            '[limits]\nmax_tool_calls = 60\nmax_compute = 50_000_000\nmax_body = "1mb"\n'
            '[allow]\neffects = ["db", "http"]\nhosts = ["API.example.com", "127.0.0.1", "::1"]\n',
        )
    )
    assert policy.max_tool_calls == 60
    assert policy.max_compute == 50_000_000
    assert policy.max_body == 1024 * 1024
    assert policy.effects == {"db", "http"}
    assert policy.hosts == {"api.example.com", "127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("size", "expected"), [("100", 100), ('"100"', 100), ('"2 kb"', 2048), ('"3MB"', 3 << 20), ('"10b"', 10)]
)
def test_sizes(tmp_path, size, expected):
    assert read_policy(written(tmp_path, f"[limits]\nmax_body = {size}")).max_body == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[limits]\nmax_tool_cals = 5", "unknown key `max_tool_cals` in [limits]: did you mean `max_tool_calls`?"),
        ("[limit]\nmax_compute = 5", "unknown key `limit`: did you mean `limits`?"),
        ("[allow]\nfoo = 5", "unknown key `foo` in [allow]: known are `effects`, `hosts`"),
        ('[allow]\neffects = ["htp"]', "`effects` has the unknown effect `htp`: did you mean `http`?"),
        ("[limits]\nmax_compute = 0", "`max_compute` must be a whole number from 1 up"),
        ("[limits]\nmax_compute = true", "`max_compute` must be a whole number from 1 up"),
        ('[limits]\nmax_compute = "5"', "`max_compute` must be a whole number from 1 up"),
        ('[limits]\nmax_body = "1gb"', '`max_body` must be a size such as 65536, "512kb" or "1mb"'),
        ("[limits]\nmax_body = 0", '`max_body` must be a size such as 65536, "512kb" or "1mb"'),
        ("limits = 5", "`limits` is a section: write [limits] on a line of its own"),
        ('[allow]\neffects = "db"', '`effects` must be a list of texts, such as ["db"]'),
        ("[allow]\nhosts = [5]", '`hosts` must be a list of texts, such as ["example.com"]'),
        ('[allow]\nhosts = ["http://x"]', '`hosts` takes names of hosts such as "api.example.com", got "http://x"'),
    ],
)
def test_what_is_not_understood_is_one_line_that_helps(tmp_path, text, problem):
    path = written(tmp_path, text)
    with pytest.raises(PolicyError) as refused:
        read_policy(path)
    assert str(refused.value) == f"{path}: {problem}"


def test_what_is_no_toml_says_where(tmp_path):
    with pytest.raises(PolicyError, match=r"p\.toml: the policy is not TOML: .*line 2"):
        read_policy(written(tmp_path, "[limits]\nmax_compute 5\n"))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(PolicyError, match="the policy can't be read: no such file"):
        read_policy(str(tmp_path / "none.toml"))
    with pytest.raises(PolicyError, match="can't be read"):
        read_policies(str(tmp_path), str(tmp_path / "none.toml"))


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "p.toml").write_bytes(b"\xff")
    with pytest.raises(PolicyError, match="is not UTF-8"):
        read_policy(str(tmp_path / "p.toml"))


def test_nothing_said_is_no_limit(tmp_path):
    policy = read_policies(str(tmp_path), None)
    assert (policy.max_tool_calls, policy.max_compute, policy.max_body, policy.effects, policy.hosts) == (None,) * 5


def test_of_two_policies_the_lower_counts(tmp_path):
    (tmp_path / "quillo.policy.toml").write_text(
        '[limits]\nmax_compute = 100\nmax_body = 7\n[allow]\neffects = ["db", "fs"]', "utf-8"
    )
    given = written(tmp_path, '[limits]\nmax_compute = 200\nmax_tool_calls = 5\n[allow]\neffects = ["db", "http"]')
    policy = read_policies(str(tmp_path), given)
    assert (policy.max_compute, policy.max_body, policy.max_tool_calls) == (100, 7, 5)
    assert policy.effects == {"db"}


@pytest.mark.parametrize(
    ("name", "arguments", "effect"),
    [("db.exec", ["select 1"], "db"), ("read_file", ["x"], "fs"), ("fetch", ["http://example.com", None], "http")],
)
def test_an_effect_that_is_not_allowed_is_refused_as_it_runs(tmp_path, name, arguments, effect):
    world = World(str(tmp_path), print, print, Policy(effects=frozenset(("net",))))
    host = ProgramHost(world, world.database.scope())
    with pytest.raises(Stop) as stopped:
        host.call(name, arguments)
    assert stopped.value.message == f"the policy does not allow `{effect}`, which `{name}` needs"
    assert stopped.value.error is None, "nothing catches it"
    host.call("now_ms", [])


def test_a_host_that_the_policy_does_not_name_is_not_reached(tmp_path):
    world = World(str(tmp_path), print, print, Policy(hosts=frozenset(("api.example.com",))))
    failed = ProgramHost(world, world.database.scope()).call("fetch", ["http://other.example.com/x", None])
    assert failed.value == {
        "kind": "refused",
        "message": "http://other.example.com/x: the policy does not name the host `other.example.com`",
    }
