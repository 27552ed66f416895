"""The door for AI clients over HTTP: each row of the table in mcp.md, section 5, and the order of the rows."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import trio

from server.http_messages import Answer, Request
from server.protocol import Unfinished
from tests.http.hosting import DOOR, HOST, Client, Hosted, Reply, hosted
from tests.http.tool_site import TOOLS, signed_in
from tests.talking import meta


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
