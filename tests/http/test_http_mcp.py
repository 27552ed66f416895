"""The door for AI clients over HTTP: each row of the table in mcp.md, section 5, and the order of the rows."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import trio

from server.http_messages import Answer, Request
from server.protocol import Unfinished
from tests.http.hosting import DOOR, HOST, Client, Hosted, Reply, hosted
from tests.talking import Talk, meta, yes

TOOLS = """
/// Adds.
fn mcp add(a: int, b: int) -> int = a + b

/// Greets.
fn mcp greet(name: str) = `Hello, ${name}.`

/// Who calls?
fn mcp who() -> any = { session: session(), tenant: tenant(), locale: locale() }

/// Asks.
fn mcp clear(what: str) -> str ! str {
  if !confirm(`Delete ${what}?`) { return err("kept") }
  `deleted ${what}`
}

/// Signs someone else in.
fn mcp become(user: str) -> str { set_session({ user }); session().user }

/// Who asks?
server fn mcp client() -> any = { mcp: request.mcp, method: request.method, path: request.path }

/// Reads.
server fn mcp body() -> any = { body: request.body, json: request.json, form: request.form }

/// Waits.
fn mcp wait() -> int { sleep("1ms"); 1 }

route POST /in { set_session({ user: request.query.as }); "in" }
route POST /visit { set_session({ seen: true }); "in" }
route POST /token = mcp_token()
route GET /who = session()
"""


def signed_in(site: Hosted, user: str = "ana") -> Client:
    visitor = site.visitor()
    assert visitor.post(f"/in?as={user}").text == "in"
    return visitor.client


@pytest.fixture
def site() -> Any:
    with hosted(TOOLS) as site:
        yield site


# The rows, from top to bottom: each is a request that this row refuses, and that would pass without what it says. A
# later row's mistake never hides an earlier one's.


class Attempt:
    """A request to the door in the making: each row spoils it in its own way."""

    def __init__(self) -> None:
        self.method = "POST"
        self.headers: dict[str, str | None] = {}
        self.signed_in = True
        self.message: Any = None
        self.body: bytes | None = None
        self.repeated: tuple[str, ...] = ()
        self.too_large = False

    def send(self, site: Hosted) -> Reply:
        client = signed_in(site)
        if self.message is None:
            message = client.message("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        else:
            message = self.message
        whole = {"method": "tools/call", "params": {"name": "add"}}
        headers: dict[str, Any] = {**client.headers_of(whole), **self.headers}
        if not self.signed_in:
            headers["cookie"] = None
        body = json.dumps(message).encode() if self.body is None else self.body
        return site.request(self.method, DOOR, headers, body, self.repeated, self.too_large)


def by_get(attempt: Attempt) -> None:
    attempt.method = "GET"


def from_elsewhere(attempt: Attempt) -> None:
    attempt.headers["origin"] = "https://evil.example"


def by_nobody(attempt: Attempt) -> None:
    attempt.signed_in = False


def as_text(attempt: Attempt) -> None:
    attempt.headers["content-type"] = "text/plain"


def too_large(attempt: Attempt) -> None:
    attempt.too_large = True


def not_json(attempt: Attempt) -> None:
    attempt.body = b"{"


def without_meta(attempt: Attempt) -> None:
    attempt.message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add"}}


def other_headers(attempt: Attempt) -> None:
    attempt.headers |= {"mcp-name": "other", "mcp-method": "other", "mcp-protocol-version": "other"}


def other_version(attempt: Attempt) -> None:
    attempt.headers["mcp-protocol-version"] = "2025-11-25"
    params = {"name": "add", "_meta": meta(version="2025-11-25")}
    attempt.message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def other_method(attempt: Attempt) -> None:
    attempt.headers["mcp-method"] = "ping"
    version = "2026-07-28" if attempt.message is None else "2025-11-25"
    params = {"name": "add", "_meta": meta(version=version)}
    attempt.message = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params}


# Each with the status, and the code of the JSON-RPC error.
ROWS: list[tuple[Any, int, int]] = [
    (by_get, 405, 405),
    (from_elsewhere, 403, 403),
    (by_nobody, 401, 401),
    (as_text, 415, 415),
    (too_large, 413, 413),
    (not_json, 400, -32700),
    (without_meta, 400, -32602),
    (other_headers, 400, -32020),
    (other_version, 400, -32022),
    (other_method, 404, -32601),
]


def test_the_request_that_the_rows_spoil_is_answered(site: Hosted) -> None:
    assert Attempt().send(site).value == 3


@pytest.mark.parametrize(("spoil", "status", "code"), ROWS)
def test_each_row_refuses_what_it_says(site: Hosted, spoil: Any, status: int, code: int) -> None:
    attempt = Attempt()
    spoil(attempt)
    assert attempt.send(site).error[:2] == (status, code)
    assert Attempt().send(site).value == 3  # and the next one is served


def test_a_refusal_bears_the_id_of_the_request_where_one_can_be_read(site: Hosted) -> None:
    client = Client(site, {})
    answer = client.ask("tools/list")
    assert (answer.error[0], answer.json["id"]) == (401, 1)
    for body in (b"", b"{", b"[1]", b'{"id": null}', b'{"id": 1.5}', b'{"id": 1, "x": "' + b"x" * 70_000 + b'"}'):
        assert "id" not in site.request("POST", DOOR, {}, body).json


ORDERS = [(first, second) for place, first in enumerate(ROWS) for second in ROWS[place + 1 :]]


@pytest.mark.parametrize(("first", "second"), ORDERS, ids=lambda row: row[0].__name__)
def test_an_earlier_row_is_met_before_a_later_one(site: Hosted, first: Any, second: Any) -> None:
    attempt = Attempt()
    second[0](attempt)
    first[0](attempt)
    if (first[0], second[0]) == (other_version, other_method):
        attempt.headers["mcp-method"] = "ping"
        attempt.message["method"] = "ping"
    assert attempt.send(site).error[:2] == first[1:]


# 405


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE"])
def test_the_door_takes_post_only(site: Hosted, method: str) -> None:
    answer = site.request(method, DOOR)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


# 403


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://127.0.0.1",
        "http://127.0.0.1:8081",
        "http://localhost:8080",
        "null",
        "",
        "file://",
        f"http://{HOST}, http://{HOST}",
        f"http://{HOST}.evil.example",
        f"http://evil@{HOST}",
    ],
)
def test_a_page_of_another_site_is_refused(site: Hosted, origin: str) -> None:
    assert signed_in(site).ask("tools/list", origin=origin).status == 403


def test_a_page_of_the_site_itself_is_not(site: Hosted) -> None:
    assert signed_in(site).ask("tools/list", origin=f"http://{HOST}").status == 200


def test_the_origin_that_the_command_line_names_is_the_only_one() -> None:
    with hosted(TOOLS, origin="https://example.com", local=False) as site:
        client = signed_in(site)
        assert client.ask("tools/list", origin="https://example.com").status == 200
        assert client.ask("tools/list", origin=f"http://{HOST}").status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "", "127.0.0.1.evil.example", "localhost.evil"])
def test_a_server_on_this_machine_alone_answers_to_local_names(site: Hosted, host: str) -> None:
    assert signed_in(site).ask("tools/list", host=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "127.9.9.9", "LOCALHOST"])
def test_every_local_name_will_do(site: Hosted, host: str) -> None:
    assert signed_in(site).ask("tools/list", host=host).status == 200


# 401


def test_nobody_is_told_to_sign_in(site: Hosted) -> None:
    for headers in ({}, {"cookie": "quillo_session=x"}, {"authorization": "Basic YTpi"}, {"authorization": "qmcp_x"}):
        answer = Client(site, headers).ask("tools/list")
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_a_session_without_a_user_is_nobody(site: Hosted) -> None:
    visitor = site.visitor()
    visitor.post("/visit")
    assert visitor.get("/who").json == {"seen": True}
    assert visitor.client.ask("tools/list").status == 401


def test_a_wrong_token_is_refused_whatever_cookie_is_beside_it(site: Hosted) -> None:
    client = signed_in(site)
    for text in ("qmcp_" + "A" * 43, "", "x", "qmcp_"):
        assert client.ask("tools/list", authorization=f"Bearer {text}").status == 401


def test_a_token_decides_over_a_cookie(site: Hosted) -> None:
    ana, ben = site.visitor(), signed_in(site, "ben")
    ana.post("/in?as=ana")
    token = ana.post("/token").text
    ben.headers["authorization"] = f"bearer  {token}"
    assert ben.call("who").value["session"] == {"user": "ana"}


def test_a_token_sent_twice_is_none(site: Hosted) -> None:
    ana = site.visitor()
    ana.post("/in?as=ana")
    client = site.client(ana.post("/token").text)
    assert client.send(client.message("tools/list")).status == 200
    assert client.send(client.message("tools/list"), repeated=("authorization",)).status == 401


# 415


def test_the_content_type_is_json_with_or_without_parameters(site: Hosted) -> None:
    client = signed_in(site)
    for good in ("application/json", "application/json; charset=utf-8", "Application/JSON"):
        assert client.ask("tools/list", content_type=good).status == 200
    for bad in (None, "", "application/jsonx", "text/json", "application/json, text/plain", "x/application/json"):
        assert client.ask("tools/list", content_type=bad).status == 415


# 400


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"nul", b"{'a': 1}", b"[" * 2000])
def test_what_is_not_json(site: Hosted, body: bytes) -> None:
    client = signed_in(site)
    headers = client.headers_of(client.message("tools/list"))
    answer = site.request("POST", DOOR, headers, body)
    assert answer.error[:2] == (400, -32700)
    assert "id" not in answer.json


@pytest.mark.parametrize("message", [[], 1, "x", None, {}, {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": 1}])
def test_what_is_no_request(site: Hosted, message: Any) -> None:
    client = signed_in(site)
    headers = client.headers_of(client.message("tools/list"))
    assert site.request("POST", DOOR, headers, json.dumps(message).encode()).error[:2] == (400, -32600)


@pytest.mark.parametrize("id", [None, 1.5, True, [], {}])
def test_an_id_is_a_text_or_a_whole_number(site: Hosted, id: Any) -> None:
    client = signed_in(site)
    assert client.send({**client.message("tools/list"), "id": id}).error[:2] == (400, -32600)


@pytest.mark.parametrize("id", [0, -1, 2**53 + 1, 2**63, 10**40, "", "ü", 'a"b'])
def test_an_id_comes_back_as_it_was(site: Hosted, id: Any) -> None:
    client = signed_in(site)
    answer = client.send({**client.message("tools/list"), "id": id})
    assert answer.status == 200
    assert answer.json["id"] == id
    assert type(answer.json["id"]) is type(id)


def test_an_older_client_is_told_which_version_is_spoken(site: Hosted) -> None:
    client = signed_in(site)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    answer = client.send(message, mcp_protocol_version=None, mcp_method=None)
    status, code, words = answer.error
    assert (status, code) == (400, -32022)
    assert words == "this server speaks MCP revision 2026-07-28 only, not 2025-11-25"
    assert answer.json["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}


@pytest.mark.parametrize("left_out", ["protocolVersion", "clientCapabilities"])
def test_what_is_missing_in_meta_is_named(site: Hosted, left_out: str) -> None:
    client = signed_in(site)
    message = client.message("tools/list")
    del message["params"]["_meta"][f"io.modelcontextprotocol/{left_out}"]
    status, code, words = client.send(message).error
    assert (status, code) == (400, -32602)
    assert left_out in words


# 202


@pytest.mark.parametrize("method", ["notifications/cancelled", "notifications/none", "tools/call"])
def test_a_notification_is_taken_and_not_answered(site: Hosted, method: str) -> None:
    client = signed_in(site)
    message = client.message(method, {"name": "become", "arguments": {"user": "ben"}, "requestId": 1})
    del message["id"]
    answer = client.send(message, mcp_method=None, mcp_name=None, mcp_protocol_version=None)
    assert (answer.status, answer.body, answer.cookies_set) == (202, b"", [])


def test_a_call_of_one_is_not_cancelled_by_another(site: Hosted) -> None:
    ana, ben = signed_in(site), signed_in(site, "ben")
    headers = {name.encode(): value.encode() for name, value in ana.headers_of(ana.message("tools/list")).items()}
    message = ana.message("tools/call", {"name": "wait", "arguments": {}})
    headers |= {b"host": HOST.encode(), b"mcp-name": b"wait", b"mcp-method": b"tools/call"}
    call = site.site.begin(Request("POST", DOOR, headers, json.dumps(message).encode()))
    assert isinstance(call, Unfinished)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}}
    assert ben.send(cancel).status == 202

    async def on() -> Any:
        assert call.waiting is not None
        return call.resume(await call.waiting.start())

    answer = trio.run(on)
    assert isinstance(answer, Answer)
    assert json.loads(answer.body)["result"]["structuredContent"] == {"result": 1}


# -32020

HEADERS = ["mcp-protocol-version", "mcp-method", "mcp-name"]


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_that_is_missing_or_twice_or_unlike_the_message(site: Hosted, header: str) -> None:
    client = signed_in(site)
    message = client.message("tools/call", {"name": "greet", "arguments": {"name": "Ana"}})
    key = header.replace("-", "_")
    cases = [
        (client.send(message, **{key: None}), "is missing"),
        (client.send(message, repeated=(header,)), "is there twice"),
        (client.send(message, **{key: "other"}), "is not what the message says"),
        (client.send(message, **{key: ""}), "is not what the message says"),
        (
            client.send(message, **{key: client.headers_of(message)[header].upper() + "X"}),
            "is not what the message says",
        ),
    ]
    for answer, words in cases:
        status, code, text = answer.error
        assert (status, code) == (400, -32020)
        assert text.lower() == f"the header `{header}` {words}"
        assert answer.json["id"] == message["id"]


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def test_a_header_may_be_encoded(site: Hosted) -> None:
    client = signed_in(site)
    message = client.message("tools/call", {"name": "greet", "arguments": {"name": "Ana"}})
    assert client.send(message, mcp_name=encoded("greet"), mcp_method=encoded("tools/call")).status == 200
    for wrong in (encoded("other"), "=?base64??=", "=?base64?Z3JlZXQ?=", "=?base64?!!!!?=", "=?BASE64?Z3JlZXQ=?="):
        assert client.send(message, mcp_name=wrong).error[:2] == (400, -32020)


def test_a_name_beyond_ascii_is_told_encoded(site: Hosted) -> None:
    client = signed_in(site)
    message = client.message("tools/call", {"name": "größe", "arguments": {}})
    status, code, words = client.send(message, mcp_name=encoded("größe")).error
    assert (status, code, words) == (200, -32602, "Unknown tool: größe")
    assert client.send(message, mcp_name="größe".encode().decode("latin-1")).error[:2] == (400, -32020)


def test_a_call_without_a_name_fits_no_header(site: Hosted) -> None:
    client = signed_in(site)
    for params in ({}, {"name": 1}, {"name": None}):
        message = client.message("tools/call", params)
        for header in (None, "greet", "1"):
            answer = site.request(
                "POST",
                DOOR,
                {
                    **client.headers,
                    "content-type": "application/json",
                    "mcp-protocol-version": "2026-07-28",
                    "mcp-method": "tools/call",
                    "mcp-name": header,  # type: ignore[dict-item]
                },
                json.dumps(message).encode(),
            )
            assert answer.error[:2] == (400, -32020)


def test_a_name_is_asked_for_with_calls_only(site: Hosted) -> None:
    client = signed_in(site)
    assert client.ask("tools/list", mcp_name="whatever").status == 200


# -32022, -32601


def test_another_version_is_told_which_there_is(site: Hosted) -> None:
    client = signed_in(site)
    message = client.message("tools/list")
    message["params"]["_meta"] = meta(version="2027-01-01")
    answer = client.send(message, mcp_protocol_version="2027-01-01")
    assert answer.error[:2] == (400, -32022)
    assert answer.json["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2027-01-01"}


@pytest.mark.parametrize("method", ["ping", "initialize", "subscriptions/listen", "resources/list", "tools/callx", "x"])
def test_an_unknown_method_is_not_found(site: Hosted, method: str) -> None:
    assert signed_in(site).ask(method).error == (404, -32601, f"there is no method `{method}`")


# 200


def test_the_door_says_whose_calls_they_are(site: Hosted) -> None:
    client = signed_in(site)
    result = client.ask("server/discover").result
    assert result["instructions"].startswith(
        "main: 8 tools. A call acts as the person whose cookie or token it carries.\n"
    )
    assert result["capabilities"] == {"tools": {}}
    assert (result["ttlMs"], result["cacheScope"]) == (300_000, "private")
    assert [tool["name"] for tool in client.ask("tools/list").result["tools"]] == [
        tool.name for tool in site.module.tools
    ]


def test_what_a_call_asks_and_cannot_be_given_is_an_answer(site: Hosted) -> None:
    client = signed_in(site)
    assert client.call("none").error == (200, -32602, "Unknown tool: none")
    assert client.ask("tools/list", {"cursor": "x"}).error[:2] == (200, -32602)
    assert client.call("add", requestState="x").error[:2] == (200, -32602)
    assert client.call("add", {"a": "x", "b": 1}).failure == "`a` of `add` must be int, got str"


def test_an_answer_is_kept_by_nobody(site: Hosted) -> None:
    answer = signed_in(site).ask("tools/list")
    assert answer.headers["cache-control"] == "no-store"


def test_the_door_lies_below_the_base() -> None:
    with hosted(TOOLS, base="/shop") as site:
        assert signed_in(site).call("add", {"a": 1, "b": 2}).value == 3
        assert site.request("POST", DOOR).status == 404


def test_a_program_without_tools_has_no_door() -> None:
    with hosted('route GET / = "x"') as site:
        assert site.request("POST", DOOR).status == 404


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
