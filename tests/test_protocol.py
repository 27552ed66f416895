"""MCP without I/O: what each message meets, in the order of docs/tools.md, section 2."""

from __future__ import annotations

import json

import pytest

from server import VERSION as QUILLO_VERSION
from tests.talking import FORMS, VERSION, Talk, meta

PROGRAM = """
//! Call add first.

type Note = { id: int, text: str }
type Many = { notes: list<Note>, more?: bool }

let calls = 0

/// Adds two numbers.
fn mcp add(a: int, b: int = 2) -> int = a + b

/// All kinds.
fn mcp kinds(i: int = 0, f: float = 0.5, s: str = "", b: bool = false, y: bytes = bytes(""), o: "asc" | "desc" = "asc",
  m: map<int> = {}, u: int | str = 0, n: str? = null, x: any = null) -> any = [i, f, s, b, y, o, m, u, n, x]

/// Adds notes.
fn mcp add_all(notes: list<Note>) -> int = len(notes)

/// Gives a record.
fn mcp record(more: bool) -> Many = if more { { notes: [{ id: 1, text: "a" }], more: true } } else { { notes: [] } }

/// Gives what it is given, without a type.
fn mcp echo(x: any) = x

/// Fails in a way of its own.
fn mcp failing(how: str) -> int {
  if how == "err" { return err("not for you") }
  if how == "err record" { return err({ code: 7 }) }
  if how == "builtin" { return int("x") }
  if how == "stop" { return 1 / len([]) }
  if how == "dropped" { err("inner") + 1 }
  if how == "loop" { while true { calls += 1 } }
  if how == "deep" { return failing(how) }
  1
}

/// Says what doesn't fit.
fn mcp lying(x: any) -> list<Note> = x

/// Prints.
fn mcp prints() -> int { print("hello", 1)
  log("logged")
  1 }

/// Nests.
fn mcp nested(depth: int) -> any {
  let x = [1]
  for i in 1..depth { x = [x] }
  x
}

/// Is long.
fn mcp long(n: int) -> str = repeat("x", n)

/// Doubles a list.
fn mcp doubled(n: int) -> any {
  let x = ["0123456789"]
  for i in 0..n { x = [x, x] }
  x
}

/// Sleeps.
fn mcp sleeps() -> str { sleep("1ms")
  "slept" }

/// Counts for long.
fn mcp counts(n: int) -> int { let i = 0
  while i < n { i += 1 }
  i }
"""


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    made = Talk(PROGRAM, tmp_path_factory.mktemp("program"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def fresh_log(talk):
    talk.log.clear()
    talk.printed.clear()


# --- 1. the message


@pytest.mark.parametrize("data", [b"{", b"nonsense", b'{"a":}', b"\xff", b'{"a":NaN}', b'{"a":"\\x"}', b"[" * 5000])
def test_what_is_no_json_is_32700(talk, data):
    answer = talk.raw(data)
    assert answer["error"]["code"] == -32700
    assert "id" not in answer


@pytest.mark.parametrize(
    "message",
    [
        [],
        [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}],
        5,
        "x",
        None,
        {},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "method": 5},
        {"method": "tools/list"},
        {"jsonrpc": "2.0", "id": None, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": True, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": [1], "method": "tools/list"},
    ],
)
def test_what_is_no_request_is_32600_without_an_id(talk, message):
    answer = talk.send(message)
    assert answer["error"]["code"] == -32600
    assert "id" not in answer


@pytest.mark.parametrize(
    "message",
    [
        {"id": 7, "method": "tools/list"},
        {"jsonrpc": "1.0", "id": 7, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 7},
        {"jsonrpc": "2.0", "id": 7, "method": None},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
    ],
)
def test_a_request_that_is_wrong_keeps_its_id(talk, message):
    answer = talk.send(message)
    assert answer["error"]["code"] == -32600
    assert answer["id"] == 7


@pytest.mark.parametrize("id", ["a", "", 'é\n"', 0, -5, 2**53, 2**64 - 1, 10**30, "\ud800"])
def test_an_id_comes_back_as_it_was(talk, id):
    answer = talk.send({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": meta()}})
    assert answer["id"] == id
    assert "result" in answer


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5},
        {"jsonrpc": "2.0", "method": "whatever", "params": []},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "prints", "_meta": meta()}},
    ],
)
def test_a_notification_is_never_answered_and_calls_nothing(talk, message):
    assert talk.send(message) is None
    assert talk.printed == []


# --- 2. _meta


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (
            None,
            "`_meta` needs `io.modelcontextprotocol/protocolVersion` and `io.modelcontextprotocol/clientCapabilities`",
        ),
        (
            {"io.modelcontextprotocol/protocolVersion": VERSION},
            "`_meta` needs `io.modelcontextprotocol/clientCapabilities`",
        ),
        ({"io.modelcontextprotocol/clientCapabilities": {}}, "`_meta` needs `io.modelcontextprotocol/protocolVersion`"),
        (
            {"io.modelcontextprotocol/protocolVersion": 5, "io.modelcontextprotocol/clientCapabilities": {}},
            "`io.modelcontextprotocol/protocolVersion` must be a text",
        ),
        (
            {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": 1},
            "`io.modelcontextprotocol/clientCapabilities` must be an object",
        ),
        (5, "`_meta` must be an object"),
    ],
)
@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call", "ping"])
def test_what_meta_lacks_is_named(talk, sent, message, method):
    params = {} if sent is None else {"_meta": sent}
    answer = talk.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert (answer["error"]["code"], answer["error"]["message"]) == (-32602, message)


def test_a_request_without_params_lacks_meta_too(talk):
    answer = talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert answer["error"]["code"] == -32602
    answer = talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]})
    assert (answer["error"]["code"], answer["error"]["message"]) == (-32602, "`params` must be an object")


def test_another_version_is_32022(talk):
    params = {"_meta": meta(version="2025-11-25")}
    answer = talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params})
    assert answer["error"] == {
        "code": -32022,
        "message": "this server speaks MCP revision 2026-07-28 only, not 2025-11-25",
        "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"},
    }


def test_an_older_client_is_told_in_words(talk):
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    answer = talk.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    assert answer["error"] == {
        "code": -32022,
        "message": "this server speaks MCP revision 2026-07-28 only, not 2025-06-18",
        "data": {"supported": ["2026-07-28"], "requested": "2025-06-18"},
    }
    answer = talk.send({"jsonrpc": "2.0", "id": 0, "method": "initialize"})
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": ""}


# --- 3. the method


def test_discover(talk):
    assert talk.result("server/discover") == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "instructions": talk.module.instructions["stdio"],
        "ttlMs": 300000,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "main", "version": QUILLO_VERSION}},
    }


def test_list(talk):
    result = talk.result("tools/list")
    assert [tool["name"] for tool in result["tools"]] == [tool.name for tool in talk.module.tools]
    assert (result["ttlMs"], result["cacheScope"]) == (300000, "private")
    assert result["tools"][0] == {
        "name": "add",
        "description": "Adds two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
            "required": ["a"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"result": {"type": "integer"}},
            "required": ["result"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }
    assert "outputSchema" not in next(tool for tool in result["tools"] if tool["name"] == "echo")


@pytest.mark.parametrize("cursor", ["x", "", None])
def test_there_is_one_page(talk, cursor):
    assert talk.error("tools/list", {"cursor": cursor})[0] == -32602


@pytest.mark.parametrize(
    "method", ["ping", "resources/list", "subscriptions/listen", "tools/lists", "", "notifications/x"]
)
def test_another_method_is_32601(talk, method):
    message = talk.message(method)
    answer = talk.send(message)
    assert (answer["error"]["code"], answer["error"]["message"]) == (-32601, f"there is no method `{method}`")


# --- 4. the tool


def test_an_unknown_tool(talk):
    assert talk.error("tools/call", {"name": "nope"}) == (-32602, "Unknown tool: nope")


@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": None}, {"name": ["add"]}])
def test_a_call_names_its_tool(talk, params):
    assert talk.error("tools/call", params) == (-32602, "`name` must be a text: the tool to call")


@pytest.mark.parametrize("arguments", [[], None, "x", 5])
def test_arguments_are_an_object(talk, arguments):
    assert talk.error("tools/call", {"name": "add", "arguments": arguments}) == (
        -32602,
        "`arguments` must be an object",
    )


def test_arguments_that_are_missing_count_as_none(talk):
    assert talk.call("prints")["structuredContent"] == {"result": 1}


@pytest.mark.parametrize(
    "more",
    [
        {"requestState": 5},
        {"requestState": None},
        {"inputResponses": []},
        {"inputResponses": {"ask": 5}},
        {"inputResponses": {"ask": {}}},
        {"inputResponses": {"ask": {"action": "maybe"}}},
        {"inputResponses": {"ask": {"action": "accept", "content": [1]}}},
    ],
)
def test_the_shape_of_an_answer_is_looked_at(talk, more):
    assert talk.error("tools/call", {"name": "add", "arguments": {"a": 1}, **more})[0] == -32602


def test_an_answer_without_a_state_answers_nothing(talk):
    more = {"inputResponses": {"ask": {"action": "accept", "content": {"yes": True}}}}
    assert talk.call("add", {"a": 1}, **more)["structuredContent"] == {"result": 3}


# --- 6. the arguments


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("add", {"a": 1, "extra": 1}, "`add` has no argument `extra`: it takes `a`, `b`"),
        ("prints", {"x": 1}, "`prints` has no argument `x`: it takes none"),
        ("add", {}, "`add` needs `a`: int"),
        ("add_all", {}, "`add_all` needs `notes`: list<Note>"),
        ("add", {"a": "x"}, "`a` of `add` must be int, got str"),
        ("add", {"a": None}, "`a` of `add` must be int, got null"),
        ("add", {"a": True}, "`a` of `add` must be int, got bool"),
        ("add", {"a": 1.5}, "`a` of `add` must be int, got float"),
        ("add", {"a": 2**63}, "`a` of `add` must be int, got a number past 64 bits"),
        ("add", {"a": 10**30}, "`a` of `add` must be int, got a number past 64 bits"),
        ("add_all", {"notes": {}}, "`notes` of `add_all` must be list<Note>, got record"),
        (
            "add_all",
            {"notes": [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}, {"id": 3, "text": None}]},
            "`notes[2].text` of `add_all` must be str, got null",
        ),
        ("kinds", {"o": "up"}, '`o` of `kinds` must be "asc" or "desc", got "up"'),
        ("kinds", {"m": {"a b": "x"}}, '`m["a b"]` of `kinds` must be int, got str'),
        ("kinds", {"s": "\ud800"}, "`s` of `kinds` must be str, got text with half of a surrogate pair"),
        ("kinds", {"u": []}, "`u` of `kinds` must be int or str, got list"),
    ],
)
def test_arguments_that_do_not_fit_are_the_models_to_mend(talk, tool, arguments, text):
    assert talk.failure(tool, arguments) == text
    assert talk.log == []


@pytest.mark.parametrize("digits", [b"1" * 400, b"1" * 5000, b"-" + b"9" * 5000, b"1e400"], ids=len)
def test_a_number_of_any_length_is_an_argument_that_does_not_fit(talk, digits):
    message = talk.message("tools/call", {"name": "add", "arguments": {"a": 0}})
    data = json.dumps(message).encode().replace(b'"a": 0', b'"a": ' + digits)
    answer = talk.raw(data)
    assert answer["id"] == message["id"]
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"][0]["text"] == "`a` of `add` must be int, got a number past 64 bits"


def test_a_whole_number_may_have_a_point(talk):
    assert talk.value("add", a=3.0) == 5


def test_an_int_goes_where_a_float_is_asked_for(talk):
    assert talk.value("kinds", f=3)[1] == 3.0


def test_arguments_are_not_nested_for_ever(talk):
    inner: list = []
    for _ in range(128):
        inner = [inner]
    assert talk.failure("echo", {"x": inner}) == "the arguments of `echo` are over 128 levels deep"
    assert talk.call("echo", {"x": inner[0][0]})["content"][0]["text"].startswith("[[[")


# --- 8. the answer


def test_a_typed_answer_is_structured_and_text(talk):
    assert talk.call("add", {"a": 1}) == {
        "resultType": "complete",
        "content": [{"type": "text", "text": '{"result":3}'}],
        "structuredContent": {"result": 3},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "main", "version": QUILLO_VERSION}},
    }


def test_a_record_stands_at_the_root(talk):
    assert talk.value("record", more=True) == {"notes": [{"id": 1, "text": "a"}], "more": True}
    assert talk.value("record", more=False) == {"notes": []}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it\nis é", "as it\nis é"),
        ({"a": [1, None, 1.5]}, '{"a":[1,null,1.5]}'),
        (None, "null"),
        (3, "3"),
        (True, "true"),
    ],
)
def test_an_answer_without_a_type_is_text_alone(talk, value, text):
    result = talk.call("echo", {"x": value})
    assert result["content"] == [{"type": "text", "text": text}]
    assert "structuredContent" not in result
    assert "isError" not in result


def test_an_error_of_the_program_is_for_the_model(talk):
    assert talk.failure("failing", {"how": "err"}) == "not for you"
    assert talk.failure("failing", {"how": "err record"}) == '{"code": 7}'
    assert talk.log == []


@pytest.mark.parametrize(
    ("how", "logged"),
    [
        ("builtin", "int"),
        ("stop", "division by zero"),
        ("dropped", "inner"),
        ("loop", "out of compute"),
        ("deep", "10,000"),
    ],
)
def test_a_failure_says_only_internal_error_and_the_log_says_all(talk, how, logged):
    assert talk.failure("failing", {"how": how}) == "internal error"
    [entry] = talk.log
    assert entry.startswith("line ")
    assert logged in entry
    assert talk.value("add", a=1) == 3


def test_an_answer_that_does_not_fit_its_type_is_a_failure(talk):
    assert talk.failure("lying", {"x": [{"id": 1}]}) == "internal error"
    [entry] = talk.log
    assert "`lying`" in entry
    assert talk.value("lying", x=[{"id": 1, "text": "a"}]) == [{"id": 1, "text": "a"}]


@pytest.mark.parametrize(("what", "text"), [("reply", "no such note"), ("respond", '{"a": 1}'), ("raw", "<b>x</b>")])
def test_a_page_is_an_error_with_its_body(what, text):
    # The checker refuses such tools; this is what is left of them in a compiled program.
    source = 'fn page(what: str) {\n if what == "reply" { reply 404 "no such note" }\n'
    source += ' if what == "respond" { return respond(200, { a: 1 }) }\n raw("<b>x</b>")\n}\n'
    source += "let held: any = [page]\n/// Replies.\nfn mcp replies(what: str) = held[0](what)\n"
    talk = Talk(source)
    assert talk.failure("replies", {"what": what}) == text
    assert talk.log == []


def test_print_and_log_do_not_touch_the_answer(talk):
    assert talk.value("prints") == 1
    assert talk.printed == ["hello 1\n"]
    assert talk.log == ["logged"]


def test_depth_of_answers(talk):
    assert json.dumps(talk.value("nested", depth=127)).count("[") == 127
    assert talk.failure("nested", {"depth": 128}) == "the answer is over 128 levels deep"
    assert talk.failure("nested", {"depth": 5000}) == "the answer is over 128 levels deep"


def test_size_of_answers(talk):
    room = 10 * 1024 * 1024 - len('{"result":""}')
    assert len(talk.value("long", n=room)) == room
    assert talk.failure("long", {"n": room + 1}) == "the answer is over 10 MiB"


def test_an_answer_that_would_never_end_is_not_even_begun(talk):
    assert talk.failure("doubled", {"n": 60}) == "the answer is over 10 MiB"


# --- waiting, slices and cancelling


def test_a_call_that_waits_is_answered_later(talk):
    assert talk.value("sleeps") == "slept"


def test_a_long_call_gives_way_and_ends(talk):
    assert talk.value("counts", n=100_000) == 100_000


def test_a_call_that_is_cancelled_is_not_answered(talk):
    message = talk.message("tools/call", {"name": "counts", "arguments": {"n": 10**9}})
    call = talk.protocol.begin(json.dumps(message).encode())
    told: list[bool] = []
    call.on_cancel = lambda: told.append(True)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}}
    assert talk.send(cancel) is None
    assert told == [True]
    assert call.resume(None) is None
    assert talk.protocol.under_way == {}
    assert talk.log == []


# --- the count


def test_calls_over_the_limit_are_told_when_to_come_again(tmp_path):
    talk = Talk(
        '/// One.\nfn mcp one() -> int = 1\n/// Asks.\nfn mcp sure() -> bool = confirm("Sure?")\n', tmp_path, limit=3
    )
    for _ in range(2):
        talk.value("one")
    asked = talk.call("sure")
    assert talk.error("tools/call", {"name": "one"}) == (
        429,
        "3 tool calls a minute are allowed: one more may come in 60 s",
    )
    # Listing is no call, and neither is a round that brings an answer.
    talk.result("tools/list")
    assert talk.again(asked, "sure", {"action": "accept", "content": {"yes": True}})["structuredContent"] == {
        "result": True
    }
    talk.clock.now += 59
    assert talk.error("tools/call", {"name": "one"})[0] == 429
    talk.clock.now += 1
    assert talk.value("one") == 1


# --- one failure boundary


def test_a_fault_of_ours_ends_one_call_only(talk, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("server.protocol.encode", lambda value: 1 / 0)
        assert talk.failure("add", {"a": 1}) == "internal error"
        [entry] = talk.log
        assert entry.startswith("quillo: a fault of Quillo itself, please report it: ZeroDivisionError")
        assert "\n" not in entry
    assert talk.value("add", a=1) == 3


def test_capabilities_of_every_shape_are_taken(talk):
    for capabilities in ({}, FORMS, {"elicitation": {}}, {"elicitation": 5}, {"sampling": {}, "x/y": {"a": 1}}):
        assert talk.call("add", {"a": 1}, capabilities)["structuredContent"] == {"result": 3}
