"""Calls of tools over HTTP: who calls, what is asked of the person, and how much a caller may (mcp.md, section 5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from server.http_messages import Answer, Request
from server.protocol import Unfinished
from tests.http.hosting import DOOR, HOST, Hosted, hosted
from tests.http.tool_site import TOOLS, signed_in
from tests.talking import Talk, yes


@pytest.fixture
def site() -> Any:
    with hosted(TOOLS) as site:
        yield site


# Who calls


def test_a_tool_sees_its_caller(site: Hosted) -> None:
    assert signed_in(site).call("who").value == {"session": {"user": "ana"}, "tenant": None, "locale": None}


def test_a_session_that_a_tool_sets_goes_back_with_a_cookie(site: Hosted) -> None:
    visitor = site.visitor()
    visitor.post("/in?as=ana")
    answer = visitor.client.call("become", {"user": "ben"})
    assert answer.value == "ben"
    [line] = answer.cookies_set
    visitor.cookies["quillo_session"] = line.partition(";")[0].partition("=")[2]
    assert visitor.get("/who").json == {"user": "ben"}


def test_a_session_that_a_tokens_call_sets_is_dropped(site: Hosted) -> None:
    ana = site.visitor()
    ana.post("/in?as=ana")
    client = site.client(ana.post("/token").text)
    answer = client.call("become", {"user": "ben"})
    assert (answer.value, answer.cookies_set) == ("ben", [])
    assert client.call("who").value["session"] == {"user": "ana"}


def test_a_server_fn_sees_the_request_and_the_clients_own_words(site: Hosted) -> None:
    client = signed_in(site)
    told = client.call("client").value
    assert told == {"mcp": {"client": "test", "version": "1"}, "method": "POST", "path": DOOR}
    message = client.message("tools/call", {"name": "client", "arguments": {}})
    for info in (None, "x", {}, {"name": 1}):
        message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = info
        assert client.send(message).value["mcp"] is None
    page = site.request("POST", "/_quillo/rpc/client", {"content-type": "application/json"}, b"{}")
    assert page.json["result"]["mcp"] is None


def test_the_message_is_the_doors_and_not_the_programs_to_read(site: Hosted) -> None:
    client = signed_in(site)
    message = {**client.message("tools/call", {"name": "body", "arguments": {}}), "id": 2**70}  # no number of Quillo
    assert client.send(message).value == {"body": "", "json": None, "form": {}}


def test_what_a_client_says_of_itself_can_be_kept(tmp_path: Path) -> None:
    with hosted('db.open("data.db")\n' + TOOLS, folder=tmp_path) as site:
        ana = site.visitor()
        ana.post("/in?as=ana")
        client = site.client(ana.post("/token").text)
        message = client.message("tools/call", {"name": "client", "arguments": {}})
        info = {"name": "\ud800" + "x" * 300, "version": "\udfff"}
        message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = info
        assert client.send(message).value["mcp"] == {"client": "?" + "x" * 199, "version": "?"}


def test_only_a_server_fn_is_a_pages_to_call(site: Hosted) -> None:
    assert site.request("POST", "/_quillo/rpc/add", {"content-type": "application/json"}, b"{}").status == 404


# Rules

WITH_RULES = """
tenant_from(r => {
  let told = r.headers["x-tenant"]
  if told == "stop" { return str([][0] + 1) }
  if told == "no" { reply 404 "no such tenant" }
  told
})
locale_from(r => r.headers["x-lang"])
/// Where?
fn mcp where() -> any = [tenant(), locale()]
route POST /in { set_session({ user: request.query.as }); "in" }
route POST /token = mcp_token()
"""


def test_rules_hold_for_calls_and_a_tokens_tenant_is_its_own() -> None:
    with hosted(WITH_RULES) as site:
        ana = site.visitor()
        ana.send("POST", "/in?as=ana", **{"x-tenant": "acme"})
        client = ana.client
        client.headers |= {"x-tenant": "other", "x-lang": "de"}
        assert client.call("where").value == ["other", "de"]
        token = site.client(ana.send("POST", "/token", **{"x-tenant": "acme"}).text)
        token.headers |= {"x-tenant": "other", "x-lang": "de"}
        assert token.call("where").value == ["acme", "de"]


def test_a_rule_that_stops_is_a_failed_request() -> None:
    with hosted(WITH_RULES) as site:
        client = signed_in(site)
        client.headers["x-tenant"] = "stop"
        assert client.call("where").error == (500, -32603, "internal error")
        assert "line 4" in site.log[0]


def test_a_rule_may_turn_a_request_away() -> None:
    with hosted(WITH_RULES) as site:
        client = signed_in(site)
        client.headers["x-tenant"] = "no"
        assert client.call("where").error == (404, 404, "no such tenant")
        assert site.log == []


# Questions


def test_a_question_and_its_answer_over_http(site: Hosted) -> None:
    client = signed_in(site)
    asked = client.call("clear", {"what": "all"}).result
    assert asked["resultType"] == "input_required"
    assert client.again(asked, "clear", yes(), what="all").value == "deleted all"
    assert client.again(asked, "clear", yes(), what="all").error[:2] == (200, -32602)  # good once
    asked = client.call("clear", {"what": "all"}).result
    assert client.again(asked, "clear", {"action": "decline"}, what="all").failure == "kept"


def test_a_state_is_bound_to_its_caller(site: Hosted) -> None:
    ana, ben = signed_in(site), signed_in(site, "ben")
    asked = ana.call("clear", {"what": "all"}).result
    status, code, words = ben.again(asked, "clear", yes(), what="all").error
    assert (status, code) == (200, -32602)
    assert "was made for another caller" in words
    assert ana.again(asked, "clear", yes(), what="all").value == "deleted all"


def test_a_caller_is_a_user_whichever_cookie_or_token_comes(site: Hosted) -> None:
    ana, elsewhere = site.visitor(), signed_in(site)
    ana.post("/in?as=ana")
    token = site.client(ana.post("/token").text)
    asked = ana.client.call("clear", {"what": "all"}).result
    asked = token.again(asked, "clear", None, what="all").result
    assert elsewhere.again(asked, "clear", yes(), what="all").value == "deleted all"


def test_a_state_is_bound_to_the_tenant() -> None:
    program = TOOLS + 'tenant_from(r => r.headers["x-tenant"])'
    with hosted(program) as site:
        client = signed_in(site)
        client.headers["x-tenant"] = "a"
        asked = client.call("clear", {"what": "all"}).result
        client.headers["x-tenant"] = "b"
        assert "for another caller" in client.again(asked, "clear", yes(), what="all").error[2]


def test_a_client_that_cannot_ask_is_told_so(site: Hosted) -> None:
    answer = signed_in(site).call("clear", {"what": "all"}, capabilities={})
    assert answer.failure == "this needs the user's yes, and this client cannot ask"


# The count


def test_calls_over_the_count_are_told_when_one_may_come() -> None:
    with hosted(TOOLS, limit=2) as site:
        client = signed_in(site)
        assert [client.call("add", {"a": 1, "b": 1}).status for _ in range(2)] == [200, 200]
        site.clock.now += 10
        answer = client.call("add", {"a": 1, "b": 1})
        status, code, words = answer.error
        assert (status, words) == (429, "2 tool calls a minute are allowed: one more may come in 50 s")
        assert not -32768 <= code <= -32000
        assert answer.headers["retry-after"] == "50"
        assert answer.json["id"] == client.last_id
        site.clock.now += 50
        assert client.call("add", {"a": 1, "b": 1}).value == 2


def test_what_is_no_call_is_not_counted() -> None:
    with hosted(TOOLS, limit=1) as site:
        client = signed_in(site)
        for method in ("tools/list", "server/discover", "ping") * 2:
            client.ask(method)
        client.call("none")
        asked = client.call("clear", {"what": "all"}).result
        assert client.again(asked, "clear", yes(), what="all").value == "deleted all"  # brings an answer
        assert client.call("clear", {"what": "all"}).status == 429


def test_a_round_that_brings_no_answer_is_counted() -> None:
    with hosted(TOOLS, limit=1) as site:
        client = signed_in(site)
        asked = client.call("clear", {"what": "all"}).result
        assert client.again(asked, "clear", None, what="all").status == 429


def test_a_users_cookies_and_tokens_count_together_and_users_apart() -> None:
    with hosted(TOOLS, limit=2) as site:
        ana = site.visitor()
        ana.post("/in?as=ana")
        token = site.client(ana.post("/token").text)
        assert ana.client.call("add", {"a": 1, "b": 1}).status == 200
        assert token.call("add", {"a": 1, "b": 1}).status == 200
        assert token.call("add", {"a": 1, "b": 1}).status == 429
        assert signed_in(site).call("add", {"a": 1, "b": 1}).status == 429
        assert signed_in(site, "ben").call("add", {"a": 1, "b": 1}).status == 200


def test_a_user_is_counted_in_each_tenant_apart() -> None:
    with hosted(TOOLS + 'tenant_from(r => r.headers["x-tenant"])', limit=1) as site:
        client = signed_in(site)
        for tenant, status in (("a", 200), ("b", 200), ("a", 429)):
            client.headers["x-tenant"] = tenant
            assert client.call("add", {"a": 1, "b": 1}).status == status


# What goes wrong inside


def test_a_failure_of_the_program_is_for_the_log(tmp_path: Path) -> None:
    with hosted("/// Fails.\nfn mcp fail() -> int = [1][5]\n" + TOOLS) as site:
        assert signed_in(site).call("fail").failure == "internal error"
        assert len(site.log) == 1


def test_a_call_whose_client_has_gone_gives_its_transaction_back(tmp_path: Path) -> None:
    program = """
    db.open("data.db")
    db.exec("create table t (n int)")
    /// Waits.
    fn mcp slow() -> int with db { db.transaction(() => { db.exec("insert into t values (1)"); sleep("1h"); 1 }) }
    /// Counts.
    fn mcp count() -> int with db = db.one("select count(*) as n from t").n
    route POST /in { set_session({ user: request.query.as }); "in" }
    """
    with hosted(program, folder=tmp_path) as site:
        client = signed_in(site)
        message = client.message("tools/call", {"name": "slow", "arguments": {}})
        headers = {name.encode(): value.encode() for name, value in client.headers_of(message).items()}
        request = Request("POST", DOOR, {b"host": HOST.encode(), **headers}, json.dumps(message).encode())
        call = site.site.begin(request)
        assert isinstance(call, Unfinished)
        assert site.running.world.database.holder is not None
        call.cancel()
        assert site.running.world.database.holder is None
        assert client.call("count").value == 0


def test_over_stdio_a_server_fn_knows_its_client_and_nothing_of_http() -> None:
    talk = Talk(TOOLS)
    assert talk.value("client") == {"mcp": {"client": "test", "version": "1"}, "method": "", "path": ""}


LONG = """
db.open("data.db")
db.exec("create table t (n int)")

/// Takes long.
fn mcp long() -> int with db {
  db.exec("insert into t values (1)")
  db.one("with recursive c(n) as (select 1 union all select n + 1 from c where n < 1e8) select max(n) as n from c").n
}

route POST /in { set_session({ user: request.query.as }); "in" }
route POST /long = long()
route GET /count = db.one("select count(*) as n from t").n
"""


@pytest.mark.parametrize("door", ["tools", "site"])
def test_a_long_statement_is_broken_off_when_its_client_has_gone(tmp_path: Path, door: str) -> None:
    with hosted(LONG, folder=tmp_path) as site:
        client = signed_in(site)
        looks = []
        message = client.message("tools/call", {"name": "long", "arguments": {}})
        headers = {**client.headers_of(message), "host": HOST}
        lines = {name.encode(): value.encode() for name, value in headers.items()}
        request = Request("POST", DOOR if door == "tools" else "/long", lines, json.dumps(message).encode())
        request.gone = lambda: looks.append(1) or len(looks) > 2  # type: ignore[func-returns-value]
        answer = site.site.begin(request)
        assert isinstance(answer, Answer)
        assert len(looks) == 3
        assert site.log == []  # it is nobody's failure
        assert site.get("/count").json == 1  # what was changed before stands
