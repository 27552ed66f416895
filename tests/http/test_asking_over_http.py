"""Asking the person over HTTP (docs/tools.md, sections 3 and 5): whose a question is; its answer counts once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.hosting import Client, Hosted
from tests.mcp.wire import NO, YES, question
from tests.talking import Clock

PROGRAM = """
db.open("a.db")
db.exec("create table if not exists notes (text text not null)")
tenant_from(r => r.headers["x-tenant"])
route POST /in/:user { set_session({ user }) }
route POST /token = mcp_token()

/// How many notes there are.
fn mcp notes() -> int with db = db.one("select count(*) as n from notes").n
/// Adds one.
fn mcp add() with db { db.exec("insert into notes values ('milk')") }
/// Deletes all.
fn mcp clear(word: str = "all") -> int with db {
  if !confirm(`Delete ${word}?`) { return 0 }
  db.exec("delete from notes").changes
}
"""
USED = "`requestState` was used already: each is good once: call `clear` again without it"
OTHERS = "`requestState` was made for another caller: call `clear` again without it"
CHANGED = "`requestState` was changed on the way, or this server did not make it: call `clear` again without it"


@pytest.fixture
def site(tmp_path):
    made = Hosted(PROGRAM, tmp_path)
    yield made
    made.close()


def signed_in(site: Hosted, user: str, tenant: str = "acme") -> Client:
    """An AI client with a token of this user."""
    visitor = site.visitor()
    visitor.send("POST", f"/in/{user}", **{"sec-fetch-site": "same-origin", "x-tenant": tenant})
    token = visitor.send("POST", "/token", **{"sec-fetch-site": "same-origin", "x-tenant": tenant}).text
    return site.client(token)


def refused(client: Client, asked: dict[str, Any], response: Any = YES, **arguments: Any) -> str:
    """Why a state is refused: always with status 200 and -32602."""
    status, code, words = client.again(asked, "clear", response, **arguments).error
    assert (status, code) == (200, -32602)
    return words


def test_a_question_is_asked_and_its_answer_counts(site):
    ana = signed_in(site, "ana")
    ana.call("add")
    asked = ana.call("clear").result
    assert question(asked) == "Delete all?"
    assert ana.again(asked, "clear", NO).value == 0
    asked = ana.call("clear").result
    assert ana.again(asked, "clear", YES).value == 1
    assert refused(ana, asked) == USED


@pytest.mark.parametrize(("user", "tenant"), [("ben", "acme"), ("ana", "other"), ("ben", "other")])
def test_nobody_answers_for_another_user_or_tenant(site, user, tenant):
    ana = signed_in(site, "ana")
    ana.call("add")
    asked = ana.call("clear").result
    assert refused(signed_in(site, user, tenant), asked) == OTHERS
    assert ana.call("notes").value == 1
    assert ana.again(asked, "clear", YES).value == 1, "the attempt has used nothing up"


def test_no_user_and_tenant_read_like_another_user_and_tenant(site):
    """Their names are put together: they must come apart again in one way only."""
    names = ("a", "a%20of%20b", "a%22%20of%20%22b")
    callers = set()
    for user in names:
        for tenant in ("b", "b of c", 'b" of "c', "c", "of"):
            visitor = site.visitor()
            visitor.send("POST", f"/in/{user}", **{"sec-fetch-site": "same-origin", "x-tenant": tenant})
            reply = visitor.client.send(visitor.client.message("tools/list"), x_tenant=tenant)
            callers.add(reply.answer.caller)
    assert len(callers) == len(names) * 5


def test_one_user_may_answer_with_the_cookie_what_was_asked_with_a_token(site):
    """A caller is who it is, however it has shown that."""
    visitor = site.visitor()
    headers = {"sec-fetch-site": "same-origin"}
    visitor.send("POST", "/in/ana", **headers)
    token = visitor.send("POST", "/token", **headers).text
    asked = site.client(token).call("clear").result
    assert visitor.client.again(asked, "clear", YES).value == 0


def test_of_fifty_answers_to_one_question_one_goes_on(site):
    ana = signed_in(site, "ana")
    ana.call("add")
    asked = ana.call("clear").result
    answers = [ana.again(asked, "clear", YES) for _ in range(50)]
    assert [answer.value for answer in answers if "result" in answer.json] == [1]
    assert {answer.error for answer in answers if "error" in answer.json} == {(200, -32602, USED)}


def test_of_two_processes_with_one_database_one_goes_on(site, tmp_path):
    """As instances of one site are: the answer may come to another one than the question came from."""
    other = Hosted(PROGRAM, tmp_path)
    try:
        ana = signed_in(site, "ana")
        there = other.client(ana.headers["authorization"].removeprefix("Bearer "))
        ana.call("add")
        asked = ana.call("clear").result
        assert there.again(asked, "clear", YES).value == 1
        assert refused(ana, asked) == USED
        assert refused(there, asked) == USED
    finally:
        other.close()


def test_a_restart_takes_what_was_asked_with_the_same_secret_only(site, tmp_path):
    ana = signed_in(site, "ana")
    asked = ana.call("clear").result
    for secret, word in ((b"x" * 32, CHANGED), (b"y" * 32, CHANGED)):
        other = Hosted(PROGRAM, tmp_path, secret=secret)
        assert refused(signed_in(other, "ana"), asked) == word
        other.close()
    again = Hosted(PROGRAM, tmp_path)
    assert signed_in(again, "ana").again(asked, "clear", YES).value == 0
    again.close()


def test_a_state_of_stdio_is_not_one_of_http(site):
    """Both know the program and its secret: who calls is part of a state."""
    asking = site.door._protocol.asking
    from server.asking import Answers

    state = asking.seal(Answers(), "stdio", "clear", {})
    assert refused(signed_in(site, "ana"), {"requestState": state, **_ASKED}) == OTHERS


_ASKED = {
    "resultType": "input_required",
    "inputRequests": {"ask": {"method": "elicitation/create", "params": {"mode": "form", "message": "x"}}},
}


def test_the_other_refusals_have_their_own_words(site):
    ana = signed_in(site, "ana")
    asked = ana.call("clear").result
    assert "was made for other arguments" in refused(ana, asked, word="some")
    assert "is longer than any that a server makes" in refused(ana, {**asked, "requestState": "x" * 1_000_000})
    assert "was cut, extended or rewritten" in refused(ana, {**asked, "requestState": asked["requestState"][:-9]})


def test_a_question_expires_and_an_answer_is_not_counted(tmp_path):
    clock = Clock()
    site = Hosted(PROGRAM, tmp_path, clock=clock, limit=2)
    try:
        ana = signed_in(site, "ana")
        asked = ana.call("clear").result
        late = ana.call("clear").result
        assert ana.call("notes").status == 429
        assert ana.again(asked, "clear", YES).value == 0, "a round that brings an answer is not counted"
        assert ana.again(asked, "clear", YES).status == 200, "nor a state that is refused"
        clock.now += 600
        assert "has expired" in refused(ana, late)
    finally:
        site.close()


def test_a_client_that_cannot_ask_is_refused(site):
    ana = signed_in(site, "ana")
    assert ana.call("clear", {}, {}).failure == "this needs the user's yes, and this client cannot ask"
