"""Tokens for AI clients: how they are made, what they are good for, and how they end (mcp.md, section 5)."""

from __future__ import annotations

import re

import pytest

from server.tokens import MOST, MOST_OF_A_USER
from tests.http.sites import Browser
from tests.talking import Clock

OPEN = 'db.open("a.db")\n'
PROGRAM = """
tenant_from(r => r.headers["x-tenant"])
route POST /in/:user { set_session({ user }) }
route POST /week/:user { set_session({ user }, { max_age: "7d" }) }
route POST /out { end_session() }
route POST /token = mcp_token()
route POST /hour = mcp_token({ max_age: "1h" })
route POST /forever = mcp_token({ max_age: "90y" })
route GET /tokens = mcp_tokens()
route POST /revoke/:id = { done: revoke_mcp_token(id) }
/// Who calls.
fn mcp who() -> any = { session: session(), tenant: tenant() }
/// Makes a token.
fn mcp make() -> str = mcp_token()
/// Ends one.
fn mcp revoke() -> bool = revoke_mcp_token("x")
/// Lists them.
fn mcp list_them() -> int = len(mcp_tokens())
/// Signs in.
fn mcp sign_in() -> str { set_session({ user: "other" })
  session().user }
"""


@pytest.fixture(params=[OPEN, ""], ids=["database", "memory"])
def browser(request, tmp_path):
    made = Browser(request.param + PROGRAM, tmp_path)
    made.clock = made.served.web.clock = made.served.web.tokens._clock = Clock()
    yield made
    made.close()


def who(browser: Browser, token: str) -> object:
    return browser.call("who", token=token)["structuredContent"]["result"]


def status(browser: Browser, token: str) -> int:
    return browser.mcp(browser.message("tools/list"), token).status


def test_a_token_acts_as_the_session_in_which_it_was_made(browser):
    browser.post("/in/ana")
    token = browser.post("/token", X_Tenant="acme").text
    assert re.fullmatch(r"qmcp_[A-Za-z0-9_-]{43}", token)
    browser.post("/in/ben")
    browser.cookies.clear()
    assert who(browser, token) == {"session": {"user": "ana"}, "tenant": "acme"}


def test_nobody_makes_a_token_without_being_signed_in(browser):
    assert browser.post("/token").status == 500
    assert "needs someone signed in" in browser.log[-1]


@pytest.mark.parametrize("tool", ["make", "revoke"])
def test_a_tokens_caller_makes_and_ends_none(browser, tool):
    browser.post("/in/ana")
    token = browser.post("/token").text
    result = browser.call(tool, token=token)
    assert result["isError"]
    assert "can't be used by a call that came with a token" in browser.log[-1]
    assert "isError" not in browser.call(tool)  # with the cookie it may
    assert browser.call("list_them", token=token)["structuredContent"]["result"] >= 1


def test_cookies_that_a_tokens_call_sets_are_dropped(browser):
    browser.post("/in/ana")
    token = browser.post("/token").text
    message = browser.message("tools/call", {"name": "sign_in"})
    assert browser.mcp(message, token).cookies == []
    assert browser.mcp(message).cookies != []
    assert browser.get("/tokens").json == []  # now it is `other` who is signed in


@pytest.mark.parametrize(
    ("sign_in", "make", "lasts"),
    [
        ("/in/ana", "/token", 30 * 86400),
        ("/week/ana", "/token", 7 * 86400),
        ("/week/ana", "/hour", 3600),
        ("/in/ana", "/hour", 3600),
        ("/in/ana", "/forever", 365 * 86400),
    ],
)
def test_how_long_a_token_lasts(browser, sign_in, make, lasts):
    browser.post(sign_in)
    token = browser.post(make).text
    browser.cookies.clear()
    browser.clock.now += lasts - 1
    assert status(browser, token) == 200
    browser.clock.now += 2
    assert status(browser, token) == 401


def test_one_is_listed_without_its_text_and_revoked_by_its_own_user_only(browser):
    browser.post("/in/ana")
    token = browser.post("/token").text
    other = browser.post("/token").text
    browser.mcp(browser.message("tools/list"), token)
    listed = browser.get("/tokens").json
    assert len(listed) == 2
    assert token not in str(listed)
    assert set(listed[0]) == {"id", "created", "expires", "last_used", "client"}
    assert (listed[0]["client"], listed[1]["client"]) == ("test", None)
    assert listed[0]["last_used"] is not None
    assert listed[1]["last_used"] is None
    browser.post("/in/ben")
    assert browser.get("/tokens").json == []
    assert browser.post(f"/revoke/{listed[0]['id']}").json == {"done": False}
    browser.post("/in/ana")
    assert browser.post(f"/revoke/{listed[0]['id']}", X_Tenant="acme").json == {"done": False}
    assert browser.post(f"/revoke/{listed[0]['id']}").json == {"done": True}
    assert browser.post(f"/revoke/{listed[0]['id']}").json == {"done": False}
    assert (status(browser, token), status(browser, other)) == (401, 200)


def test_the_end_of_a_session_ends_its_tokens_and_no_others(browser):
    browser.post("/in/ana")
    first = browser.post("/token").text
    elsewhere = dict(browser.cookies)
    browser.cookies.clear()
    browser.post("/in/ana")
    second = browser.post("/token").text
    browser.post("/out")
    assert (status(browser, first), status(browser, second)) == (200, 401)
    browser.cookies.update(elsewhere)
    browser.post("/out")
    assert status(browser, first) == 401


@pytest.mark.parametrize(
    "token",
    ["x", "qmcp_", "qmcp_" + "a" * 43, "qmcp_" + "a" * 42, "qmcp_" + "a" * 44, "QMCP_" + "a" * 43, "qmcp_" + "é" * 43],
)
def test_what_is_no_token_is_401(browser, token):
    assert status(browser, token) == 401


def test_only_a_keyed_hash_is_kept(tmp_path):
    browser = Browser(OPEN + PROGRAM, tmp_path)
    browser.post("/in/ana")
    token = browser.post("/token").text
    browser.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert token.encode() not in kept
    assert token[5:].encode() not in kept
    again = Browser(OPEN + PROGRAM, tmp_path)
    assert status(again, token) == 200  # the same secret
    again.close()
    other = Browser(OPEN + PROGRAM, tmp_path, secret=b"another secret, of 32 bytes or so")
    assert status(other, token) == 401
    other.close()


def test_in_memory_a_user_and_all_users_have_so_many(tmp_path):
    browser = Browser(PROGRAM)
    tokens = browser.served.web.tokens
    mine = [tokens.make('"ana"', None, b"s", "{}", 1000) for _ in range(MOST_OF_A_USER + 1)]
    assert tokens.find(mine[0]) is None
    assert tokens.find(mine[1]) is not None
    for number in range(MOST):
        tokens.make(f'"{number}"', None, b"s", "{}", 1000)
    assert tokens.find(mine[-1]) is None
    assert len(tokens._memory) == MOST
    browser.close()


def test_a_revocation_in_another_process_is_seen_after_a_second(tmp_path):
    first, second = Browser(OPEN + PROGRAM, tmp_path), Browser(OPEN + PROGRAM, tmp_path)
    clock = Clock()
    for browser in (first, second):
        browser.served.web.clock = browser.served.web.tokens._clock = clock
    first.post("/in/ana")
    token = first.post("/token").text
    assert status(second, token) == 200
    first.post(f"/revoke/{first.get('/tokens').json[0]['id']}")
    assert status(first, token) == 401
    clock.now += 1.01
    assert status(second, token) == 401
    first.close()
    second.close()


def test_over_stdio_there_are_no_tokens_and_no_one_is_signed_in(tmp_path):
    from tests.talking import Talk

    talk = Talk(PROGRAM, tmp_path)
    assert talk.call("who")["structuredContent"]["result"] == {"session": {}, "tenant": None}
    assert talk.call("make")["isError"]
    assert "needs a request to a site" in talk.log[-1]
    talk.close()
