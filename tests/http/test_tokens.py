"""Tokens for AI clients: who makes them, what they stand for, and when they end (mcp.md, section 5)."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from server.tokens import LIFETIME, LONGEST, MOST_OF_A_USER
from tests.http.hosting import Hosted, Visitor, hosted
from tests.talking import Talk

ROUTES = """
/// Who calls?
fn mcp who() -> any = { session: session(), tenant: tenant() }

/// Takes what is the person's.
server fn mcp take(what: str) -> any {
  if what == "token" { return mcp_token() }
  if what == "list" { return mcp_tokens() }
  if what == "end" { end_session(); return "ended" }
  revoke_mcp_token(what)
}

tenant_from(r => r.headers["x-tenant"])
route POST /in { set_session({ user: request.query.as, role: "reader" }); "in" }
route POST /day { set_session({ user: "ana" }, { max_age: "1d" }); "in" }
route POST /out { end_session(); "out" }
route POST /token = mcp_token()
route POST /token/:age = mcp_token({ max_age: age })
route GET /tokens = mcp_tokens()
route POST /revoke/:id = revoke_mcp_token(id)
"""
IN_MEMORY = ROUTES
IN_DATABASE = 'db.open("data.db")\n' + ROUTES
DAY = 86400


@pytest.fixture(params=["memory", "database"])
def site(request: Any, tmp_path: Path) -> Any:
    with hosted(IN_MEMORY if request.param == "memory" else IN_DATABASE, folder=tmp_path) as site:
        yield site


def signed_in(site: Hosted, user: str = "ana") -> Visitor:
    visitor = site.visitor()
    assert visitor.post(f"/in?as={user}").text == "in"
    return visitor


def is_good(site: Hosted, token: str) -> bool:
    answer = site.client(token).ask("tools/list")
    assert answer.status in (200, 401)
    return answer.status == 200


def listed(visitor: Visitor) -> list[dict[str, Any]]:
    answer = visitor.get("/tokens")
    assert answer.status == 200, answer.body
    tokens: list[dict[str, Any]] = answer.json
    return tokens


def test_a_token_is_random_and_of_one_form(site: Hosted) -> None:
    ana = signed_in(site)
    tokens = {ana.post("/token").text for _ in range(5)}
    assert len(tokens) == 5
    for token in tokens:
        assert re.fullmatch(r"qmcp_[A-Za-z0-9_-]{43}", token)


def test_a_token_is_the_session_in_which_it_was_made_as_it_was(site: Hosted) -> None:
    ana = site.visitor()
    ana.send("POST", "/in?as=ana", **{"x-tenant": "acme"})
    client = site.client(ana.send("POST", "/token", **{"x-tenant": "acme"}).text)
    was = {"session": {"user": "ana", "role": "reader"}, "tenant": "acme"}
    assert client.call("who").value == was
    ana.post("/day")  # the session's record is another now
    client.headers["x-tenant"] = "other"
    assert client.call("who").value == was


def test_every_change_of_a_token_is_found(site: Hosted) -> None:
    token = signed_in(site).post("/token").text
    assert is_good(site, token)
    for place in range(len(token)):
        other = "B" if token[place] != "B" else "C"
        assert not is_good(site, token[:place] + other + token[place + 1 :])
    for wrong in (token[:-1], token + "A", token.upper(), token[5:], "qmcp_", "ü" + token[1:]):
        assert not is_good(site, wrong)


# Who may make one


def test_nobody_gets_a_token(site: Hosted) -> None:
    for path in ("/token", "/revoke/x"):
        assert site.visitor().post(path).status == 500
    assert "`mcp_token` needs someone signed in: a session with a `user`" in site.log[0]
    assert "`revoke_mcp_token` needs someone signed in" in site.log[1]


def test_a_tokens_caller_makes_and_revokes_none_but_sees_them(site: Hosted) -> None:
    ana = signed_in(site)
    client = site.client(ana.post("/token").text)
    [token] = client.call("take", {"what": "list"}).value
    assert client.call("take", {"what": "token"}).failure == "internal error"
    assert client.call("take", {"what": token["id"]}).failure == "internal error"
    assert "`mcp_token` can't be used by a call that came with a token" in site.log[0]
    assert "`revoke_mcp_token` can't be used by a call that came with a token" in site.log[1]


def test_a_cookies_caller_makes_them_in_a_tool(site: Hosted) -> None:
    ana = signed_in(site)
    token = ana.client.call("take", {"what": "token"}).value
    assert site.client(token).call("who").value["session"]["user"] == "ana"


def test_on_stdio_there_are_no_tokens(tmp_path: Path) -> None:
    talk = Talk(IN_DATABASE, folder=tmp_path)
    for what in ("token", "list", "x"):
        assert talk.failure("take", {"what": what}) == "internal error"
    assert "`mcp_token` needs a request to a site: there is none here" in talk.log[0]
    talk.close()


def test_making_and_revoking_are_changes() -> None:
    for call in ("mcp_token()", 'revoke_mcp_token("x")'):
        program = f'/// Asks.\nserver fn mcp f() -> any {{ let g = () => {call}; g(); confirm("Sure?") }}\n' + ROUTES
        with hosted(program) as site:
            assert signed_in(site).client.call("f").failure == "internal error"
            assert f"`confirm` comes after `{call.partition('(')[0]}`" in site.log[0]


# How long one lasts


def lasts(site: Hosted, token: str, seconds: int) -> None:
    """Holds a token to its end: good until a second before it, and then no more."""
    began = site.clock.now
    site.clock.now = began + seconds - 1
    assert is_good(site, token)
    site.clock.now = began + seconds
    assert not is_good(site, token)
    site.clock.now = began


def test_a_token_lasts_30_days(site: Hosted) -> None:
    lasts(site, signed_in(site).post("/token").text, LIFETIME)


def test_a_token_lasts_what_the_session_has_left_where_the_program_said_so(site: Hosted) -> None:
    ana = site.visitor()
    ana.post("/day")
    site.clock.now += 3600
    lasts(site, ana.post("/token").text, DAY - 3600)


def test_a_token_lasts_as_is_said_and_a_year_at_most(site: Hosted) -> None:
    ana = site.visitor()
    ana.post("/day")
    lasts(site, ana.post("/token/90s").text, 90)
    lasts(site, ana.post("/token/7d").text, 7 * DAY)  # longer than the session
    lasts(site, ana.post("/token/50y").text, LONGEST)


@pytest.mark.parametrize("age", ["0s", "x"])
def test_what_is_no_length_of_time(site: Hosted, age: str) -> None:
    assert signed_in(site).post(f"/token/{age}").status == 500
    assert "`mcp_token`" in site.log[0]


# What is told of them, and how they end


def test_tokens_are_told_without_themselves(site: Hosted) -> None:
    ana = signed_in(site)
    token = ana.post("/token/7d").text
    answer = ana.get("/tokens")
    [told] = answer.json
    assert token not in answer.text
    assert len(told.pop("id")) == 16
    assert told == {
        "created": "2026-07-28T12:00:00.000Z",
        "expires": "2026-08-04T12:00:00.000Z",
        "last_used": None,
        "client": None,
    }
    site.clock.now += 60
    site.client(token).call("who")
    assert (listed(ana)[0]["last_used"], listed(ana)[0]["client"]) == ("2026-07-28T12:01:00.000Z", "test")
    site.clock.now += 1
    site.client(token).call("who")
    assert listed(ana)[0]["last_used"] == "2026-07-28T12:01:01.000Z"


def test_the_oldest_stands_first_and_what_has_ended_is_not_told(site: Hosted) -> None:
    ana = signed_in(site)
    for age in ("3d", "1d", "2d"):
        ana.post(f"/token/{age}")
        site.clock.now += 1
    assert [token["expires"][8:10] for token in listed(ana)] == ["31", "29", "30"]
    site.clock.now += DAY
    assert [token["expires"][8:10] for token in listed(ana)] == ["31", "30"]


def test_a_revoked_token_is_none_from_then_on(site: Hosted) -> None:
    ana = signed_in(site)
    first, second = ana.post("/token").text, ana.post("/token").text
    assert is_good(site, first)
    id = listed(ana)[0]["id"]
    assert ana.post(f"/revoke/{id}").json is True
    assert (is_good(site, first), is_good(site, second)) == (False, True)
    assert ana.post(f"/revoke/{id}").json is False
    assert len(listed(ana)) == 1


def test_a_token_is_ones_own_to_revoke_and_to_see(site: Hosted) -> None:
    ana, ben = signed_in(site), signed_in(site, "ben")
    token = ana.post("/token").text
    id = listed(ana)[0]["id"]
    assert listed(ben) == []
    assert ben.post(f"/revoke/{id}").json is False
    assert ana.send("POST", f"/revoke/{id}", **{"x-tenant": "other"}).json is False
    assert ana.send("GET", "/tokens", **{"x-tenant": "other"}).json == []
    assert is_good(site, token)
    elsewhere = signed_in(site)  # the same user, in another session
    assert elsewhere.post(f"/revoke/{id}").json is True


def test_ending_a_session_ends_the_tokens_made_in_it(site: Hosted) -> None:
    ana, elsewhere = signed_in(site), signed_in(site)
    ended, stays = ana.post("/token").text, elsewhere.post("/token").text
    assert (is_good(site, ended), is_good(site, stays)) == (True, True)
    ana.post("/day")  # the same session goes on
    also_ended = ana.post("/token").text
    ana.post("/out")
    assert [is_good(site, token) for token in (ended, also_ended, stays)] == [False, False, True]


def test_a_tokens_call_may_end_its_session(site: Hosted) -> None:
    token = signed_in(site).post("/token").text
    answer = site.client(token).call("take", {"what": "end"})
    assert (answer.value, answer.cookies_set) == ("ended", [])
    assert not is_good(site, token)


def test_the_trial_token_is_nobody_and_good_while_it_runs(site: Hosted) -> None:
    token = site.web.tokens.make_trial()
    assert re.fullmatch(r"qmcp_[A-Za-z0-9_-]{43}", token)
    client = site.client(token)
    assert client.call("who").value == {"session": {}, "tenant": None}
    site.clock.now += 10 * LONGEST
    assert is_good(site, token)
    assert client.call("take", {"what": "list"}).failure == "internal error"  # nobody's tokens


# In memory


def test_in_memory_the_oldest_of_a_user_goes() -> None:
    with hosted(IN_MEMORY) as site:
        ana, ben = signed_in(site), signed_in(site, "ben")
        bens = ben.post("/token").text
        tokens = [ana.post("/token").text for _ in range(MOST_OF_A_USER + 1)]
        assert [is_good(site, token) for token in (tokens[0], tokens[1], tokens[-1], bens)] == [False, True, True, True]
        assert len(listed(ana)) == MOST_OF_A_USER


def test_in_memory_the_oldest_of_all_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.tokens.MOST", 3)
    with hosted(IN_MEMORY) as site:
        tokens = [signed_in(site, user).post("/token").text for user in "abcd"]
        assert [is_good(site, token) for token in tokens] == [False, True, True, True]


def test_tokens_outlive_a_reload_of_the_program() -> None:
    with hosted(IN_MEMORY) as old, hosted(IN_MEMORY) as new:
        token, trial = signed_in(old).post("/token").text, old.web.tokens.make_trial()
        assert not is_good(new, token)
        new.web.tokens.take_over(old.web.tokens)
        assert is_good(new, token)
        assert is_good(new, trial)


# In the database


def rows(folder: Path, statement: str) -> list[Any]:
    connection = sqlite3.connect(folder / "data.db")
    try:
        found = connection.execute(statement).fetchall()
        connection.commit()
        return found
    finally:
        connection.close()


def test_what_is_kept_does_not_give_the_token_away(tmp_path: Path) -> None:
    with hosted(IN_DATABASE, folder=tmp_path) as site:
        token = signed_in(site).post("/token").text
        for path in tmp_path.iterdir():
            assert token.encode() not in path.read_bytes()
            assert token[5:].encode() not in path.read_bytes()
        [kept] = rows(tmp_path, "select hash, user, record from _quillo_mcp_tokens")
        assert len(kept[0]) == 32
        assert kept[1:] == ('"ana"', '{"user": "ana", "role": "reader"}')


def test_tokens_outlive_the_process_and_its_siblings_know_them(tmp_path: Path) -> None:
    with hosted(IN_DATABASE, folder=tmp_path) as one, hosted(IN_DATABASE, folder=tmp_path) as other:
        token = signed_in(one).post("/token").text
        assert is_good(other, token)
    with hosted(IN_DATABASE, folder=tmp_path) as site:
        assert is_good(site, token)
    with hosted(IN_DATABASE, folder=tmp_path, secret=b"another secret of thirty-two bytes") as site:
        assert not is_good(site, token)


def test_a_sibling_sees_a_revocation_within_a_second(tmp_path: Path) -> None:
    with hosted(IN_DATABASE, folder=tmp_path) as one, hosted(IN_DATABASE, folder=tmp_path) as other:
        ana = signed_in(one)
        token = ana.post("/token").text
        assert is_good(other, token)
        ana.post(f"/revoke/{listed(ana)[0]['id']}")
        assert not is_good(one, token)
        other.clock.now += 1
        assert not is_good(other, token)


def test_when_a_token_was_used_is_written_down_now_and_then(tmp_path: Path) -> None:
    with hosted(IN_DATABASE, folder=tmp_path) as site:
        client = site.client(signed_in(site).post("/token").text)
        select = "select last_used, client from _quillo_mcp_tokens"
        assert rows(tmp_path, select) == [(None, None)]
        client.call("who")
        first = int(site.clock.now)
        assert rows(tmp_path, select) == [(first, "test")]
        site.clock.now += 299
        client.call("who")
        assert rows(tmp_path, select) == [(first, "test")]
        site.clock.now += 1
        client.call("who")
        assert rows(tmp_path, select) == [(first + 300, "test")]


def test_when_a_token_was_used_is_written_down_when_the_server_ends(tmp_path: Path) -> None:
    with hosted(IN_DATABASE, folder=tmp_path) as site:
        client = site.client(signed_in(site).post("/token").text)
        client.call("who")
        site.clock.now += 7
        client.call("who")
        last = int(site.clock.now)
        site.web.tokens.close()
    assert rows(tmp_path, "select last_used, client from _quillo_mcp_tokens") == [(last, "test")]


def test_a_database_that_another_process_holds_does_not_hold_up_a_call(tmp_path: Path) -> None:
    with hosted(IN_DATABASE, folder=tmp_path) as site:
        client = site.client(signed_in(site).post("/token").text)
        other = sqlite3.connect(tmp_path / "data.db", isolation_level=None)
        other.execute("begin immediate")
        assert client.call("who").value["session"]["user"] == "ana"
        other.close()
        assert site.log == []
        [(timeout,)] = site.running.world.database.writer("").execute("pragma busy_timeout").fetchall()
        assert timeout == 5000


def test_a_token_made_in_a_transaction_that_is_taken_back_was_never_made(tmp_path: Path) -> None:
    program = (
        IN_DATABASE
        + """
    route POST /taken-back {
      db.transaction(() => { mcp_token(); err("no") }) ?? "nothing"
    }
    """
    )
    with hosted(program, folder=tmp_path) as site:
        ana = signed_in(site)
        assert ana.post("/taken-back").text == "nothing"
        assert listed(ana) == []
        token = ana.post("/token").text  # the table went with the transaction, and is made again
        assert is_good(site, token)


def test_while_a_call_holds_a_transaction_tokens_are_found_and_made_outside_it(tmp_path: Path) -> None:
    program = (
        IN_DATABASE
        + """
    db.exec("create table t (n int)")
    route POST /slow { db.transaction(() => { db.exec("insert into t values (1)"); sleep("1h"); 1 }) }
    """
    )
    from server.http_messages import Request
    from server.protocol import Unfinished

    with hosted(program, folder=tmp_path) as site:
        ana = signed_in(site)
        slow = site.site.begin(Request("POST", "/slow", {b"host": b"localhost"}))
        assert isinstance(slow, Unfinished)
        assert not is_good(site, "qmcp_" + "A" * 43)  # no table is made inside the transaction of another
        cookie = ana.header["cookie"].encode()
        making = site.site.begin(Request("POST", "/token", {b"host": b"localhost", b"cookie": cookie}))
        assert isinstance(making, Unfinished)
        slow.cancel()
        token = site_answer(making)
        assert is_good(site, token)


def site_answer(call: Any) -> str:
    import trio

    async def on() -> Any:
        return call.resume(await call.waiting.start())

    body: bytes = trio.run(on).body
    return body.decode()


def test_a_tenant_that_no_database_can_hold_gets_no_token(tmp_path: Path) -> None:
    program = IN_DATABASE.replace('r => r.headers["x-tenant"]', 'r => from_json(r.headers["x-tenant"])?')
    with hosted(program, folder=tmp_path) as site:
        ana = site.visitor()
        ana.send("POST", "/in?as=ana", **{"x-tenant": '"a"'})
        answer = ana.send("POST", "/token", **{"x-tenant": '"\\ud800"'})
        assert answer.status == 500
        assert len(site.log) == 1


def test_a_database_that_is_gone_is_a_failed_request(tmp_path: Path) -> None:
    with hosted(IN_DATABASE, folder=tmp_path) as site:
        token = signed_in(site).post("/token").text
        site.running.world.database.close()
        assert site.client(token).ask("tools/list").error == (500, -32603, "internal error")
        assert "the database can't tell the tokens for AI clients" in site.log[0]
