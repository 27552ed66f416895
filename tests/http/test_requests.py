"""What `request` holds, and what is refused before a program sees half of it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qvm.values import Stop
from server.http_messages import Request
from server.visits import Visit
from tests.http.sites import Browser

PROGRAM = """
route GET /echo/*rest = request
route POST /echo = request
route POST /form = request.form
route POST /json = { json: request.json }
route POST /body = request.body
route POST /upload {
  let file = request.form.file
  { name: file.name, type: file.type, size: len(file.bytes), text: base64(file.bytes), title: request.form.title }
}
"""

WEB = Browser("route POST /form = 1")
ALL = Browser("""
server fn add(a: int, b: int = 2) -> int = a + b
/// A tool.
fn mcp tool() -> int = 1
build "/app.css" = "p {}"
route POST /form = request.form
route PUT /form = request.json
route GET /echo/*rest = request
route DELETE /echo/:id:int = id
route GET /page/:x = <p title={x} class={request.query.x}>{x}<img src={`/${x}`}></p>
""")


@pytest.fixture
def browser():
    made = Browser(PROGRAM)
    yield made
    made.close()


def test_request_has_all_that_was_sent(browser):
    browser.cookies["theme"] = "dark"
    found = browser.get("/echo/a%20b?q=x+y&n=1", X_Own=" spaced ".strip(), Accept="text/html").json
    assert found["method"] == "GET"
    assert found["path"] == "/echo/a b"
    assert found["query"] == {"q": "x y", "n": "1"}
    assert found["headers"]["x-own"] == "spaced"
    assert found["cookies"] == {"theme": "dark"}
    assert (found["form"], found["json"], found["body"], found["mcp"]) == ({}, None, "", None)
    assert found["ip"] == "127.0.0.1"


def test_a_form_is_texts_the_last_of_a_name_counts_and_brackets_gather(browser):
    page = browser.send(
        "POST",
        "/form",
        b"a=1&a=2&tag[]=x&tag[]=y&one[]=z&empty=&caf%C3%A9=%F0%9F%98%80&plus=a+b",
        content_type="application/x-www-form-urlencoded; charset=utf-8",
    )
    assert page.json == {
        "a": "2",
        "tag": ["x", "y"],
        "one": ["z"],
        "empty": "",
        "café": "😀",
        "plus": "a b",
    }


def test_letters_of_a_form_need_not_be_encoded(browser):
    page = browser.send("POST", "/form", "name=Zoë&ключ=1".encode(), content_type="application/x-www-form-urlencoded")
    assert page.json == {"name": "Zoë", "ключ": "1"}


def test_of_a_query_the_last_of_a_name_counts_and_brackets_gather(browser):
    found = browser.get("/echo/x?a=1&a=2&t[]=1&t[]=2&=x&b&c=").json["query"]
    assert found == {"a": "2", "t": ["1", "2"], "": "x", "b": "", "c": ""}


def multipart(*parts: bytes) -> bytes:
    return b"".join(b"--XX\r\n" + part + b"\r\n" for part in parts) + b"--XX--\r\n"


FILE = (
    b'Content-Disposition: form-data; name="file"; filename="C:\\\\dir\\\\no te.txt"\r\n'
    b"Content-Type: text/plain\r\n\r\nline 1\r\nline 2"
)
TITLE = 'Content-Disposition: form-data; name="title"\r\n\r\nÜber'.encode()


def test_a_multipart_form_gives_texts_and_files(browser):
    page = browser.send("POST", "/upload", multipart(FILE, TITLE), content_type="multipart/form-data; boundary=XX")
    assert page.json == {
        "name": "no te.txt",
        "type": "text/plain",
        "size": 14,
        "text": base64.b64encode(b"line 1\r\nline 2").decode(),
        "title": "Über",
    }


def test_a_file_field_in_which_nothing_was_chosen_is_null(browser):
    nothing = (
        b'Content-Disposition: form-data; name="file"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n'
    )
    page = browser.send("POST", "/form", multipart(nothing, TITLE), content_type="multipart/form-data; boundary=XX")
    assert page.json == {"file": None, "title": "Über"}


def test_files_of_one_name_are_gathered_by_brackets(browser):
    part = b'Content-Disposition: form-data; name="f[]"; filename="%s"\r\n\r\n%s'
    body = multipart(part % (b"a.txt", b"A"), part % (b"b.txt", b"B\r\n--X"))
    page = browser.send("POST", "/form", body, content_type='multipart/form-data; boundary="XX"')
    assert [(one["name"], base64.b64decode(one["bytes"])) for one in page.json["f"]] == [
        ("a.txt", b"A"),
        ("b.txt", b"B\r\n--X"),
    ]


@pytest.mark.parametrize(
    "kind", ["", ";", "a/b;", "multipart/form-data;;;=;", 'multipart/form-data; boundary="X', "multipart", "x" * 5000]
)
def test_any_content_type_is_answered(browser, kind):
    assert browser.send("POST", "/form", b"--XX\r\n\r\n", content_type=kind).status in (200, 400)
    assert not browser.log


@given(data=st.binary(max_size=200), cut=st.integers(0, 300))
def test_a_multipart_form_that_is_damaged_is_read_or_refused(data, cut):
    whole = multipart(FILE, TITLE)
    body = whole[:cut] + data + whole[cut:]
    visit = Visit(WEB.site.web, Request("POST", "/form", {b"content-type": b"multipart/form-data; boundary=XX"}, body))
    refused: Any = None
    try:
        form = visit.record["form"]
    except Stop as stop:
        form, refused = {}, stop
    assert refused is None or (refused.kind == "reply" and refused.detail.status == 400)
    assert all(type(name) is str for name in form)


VISIBLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=40)
VALUE = st.binary(max_size=60).map(lambda data: data.translate(None, bytes(range(32)) + b"\x7f").strip())
NAMES = [
    *(b"origin", b"sec-fetch-site", b"content-type", b"cookie", b"accept-encoding", b"if-none-match", b"accept"),
    *(b"authorization", b"x-other"),
]


@settings(max_examples=400)
@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]),
    start=st.sampled_from(
        ["/", "/form", "/echo/", "/app.css", "/_quillo/", "/_quillo/rpc/add", "/_quillo/mcp", "/page/"]
    ),
    rest=VISIBLE,
    headers=st.dictionaries(st.sampled_from(NAMES), VALUE),
    body=st.binary(max_size=60),
)
def test_any_request_is_answered(method, start, rest, headers, body):
    answer = ALL.answer(Request(method, start + rest, {b"host": b"localhost", **headers}, body))
    assert answer.status in (200, 204, 304, 400, 401, 403, 404, 405, 415, 422)
    assert not ALL.log


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"a=\xff", "application/x-www-form-urlencoded"),
        (multipart(FILE)[:-10], "multipart/form-data; boundary=XX"),
        (b"nothing", "multipart/form-data; boundary=XX"),
        (multipart(FILE), "multipart/form-data"),
        (multipart(FILE), "multipart/form-data; boundary=YY"),
        (multipart(b'Content-Disposition: form-data; name="x"\r\n\r\n\xff'), "multipart/form-data; boundary=XX"),
        (multipart(b"Content-Disposition: attachment\r\n\r\nx"), "multipart/form-data; boundary=XX"),
        (b"&".join(b"a%d=1" % number for number in range(1001)), "application/x-www-form-urlencoded"),
        (b"a=%ff", "application/x-www-form-urlencoded"),
        (b"{", "application/json"),
        (b'{"a": NaN}', "application/json"),
        (b'"\xff"', "application/json"),
        (b"[" * 200 + b"]" * 200, "application/json"),
        (b'["\\ud800"]', "application/json"),
        (b"[9223372036854775808]", "application/json"),
        (b"[1e999]", "application/json"),
    ],
)
def test_what_is_malformed_is_400_in_words(browser, body, kind):
    page = browser.send("POST", "/echo", body, content_type=kind)
    assert page.status == 400
    assert page.text.startswith("the ") or page.text.startswith("a ")
    assert not browser.log


@pytest.mark.parametrize("value", [1, -1.5, "é", None, True, [], {"a": [{"b": "c"}]}, 9223372036854775807])
def test_json_is_a_value(browser, value):
    assert browser.post_json("/json", value).json == {"json": value}
    sent = json.dumps(value).encode()
    assert browser.send("POST", "/json", sent, content_type="application/vnd.x+json").json == {"json": value}


def test_a_body_of_another_kind_is_left_alone(browser):
    page = browser.send("POST", "/body", b"{not json", content_type="text/plain")
    assert page.text == "{not json"
    page = browser.send("POST", "/body", b"\xff\x00", content_type="image/png")
    assert (page.body, page.headers["content-type"]) == (b"\xff\x00", "application/octet-stream")


# --- other sites


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "none"}, 200),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Origin": "http://localhost:8080"}, 200),
        ({"Origin": "http://LOCALHOST:8080"}, 200),
        ({"Origin": "http://localhost:8081"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Origin": "ftp://localhost:8080"}, 403),
        ({"Origin": "http://localhost:8080/"}, 403),
        ({"Origin": "http://localhost:8080@evil.example"}, 403),
        ({"Origin": "http://localhost:8080", "Sec_Fetch_Site": "same-site"}, 200),
        ({"Origin": "http://localhost", "host": "localhost:80"}, 200),
        ({"Origin": "https://localhost", "host": "localhost"}, 200),
        ({"Origin": "https://localhost", "host": "localhost:80"}, 403),
    ],
)
def test_another_site_may_not_change_anything(browser, headers, status):
    assert browser.post("/form", {"a": 1}, **headers).status == status
    assert browser.get("/echo/x", **headers).status == 200


def test_with_an_origin_of_its_own_a_site_knows_itself_by_that():
    browser = Browser("route POST / = 1", origin="https://shop.example", local=False)
    assert browser.post("/", host="inner:8080", Origin="https://shop.example").status == 200
    assert browser.post("/", host="inner:8080", Origin="https://other.example").status == 403
    assert browser.post("/", host="inner:8080", Origin="http://inner:8080").status == 403
    browser.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:99", 200),
        ("shop.localhost:8080", 200),
        ("127.0.0.1:8080", 200),
        ("127.9.9.9", 200),
        ("[::1]:8080", 200),
        ("evil.example", 403),
        ("evil.example:8080", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
    ],
)
def test_on_this_machine_alone_only_local_names_are_answered(host, status):
    browser = Browser("route GET / = 1\n/// x\nfn mcp t() -> int = 1")
    assert browser.get("/", host=host).status == status
    if status == 403 and host:
        assert browser.mcp({}, host=host).status == 403
    browser.close()


# --- server functions

SERVER = """
type Note = { id: int, text: str? }
server fn add(a: int, b: int = 2) -> int = a + b
server fn save(note: Note) -> Note = { id: note.id + 1, text: note.text }
server fn fails(n: int) -> int ! str = if n > 0 { n } else { err({ why: "low" }) }
server fn stops() -> int = 1 / (0 * 1)
server fn replies() { reply 418 "tea" }
server fn asks() -> bool = confirm("Sure?")
server fn who() -> any = session()
server fn mcp both(x: int) -> int = x * 2
fn plain() -> int = 1
/// A tool.
fn mcp tool() -> int = 1
"""


@pytest.fixture
def server():
    made = Browser(SERVER)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("name", "arguments", "status", "answer"),
    [
        ("add", {"a": 1}, 200, {"result": 3}),
        ("add", {"a": 1.0, "b": 5}, 200, {"result": 6}),
        ("save", {"note": {"id": 1, "text": None}}, 200, {"result": {"id": 2, "text": None}}),
        ("fails", {"n": 0}, 422, {"error": {"why": "low"}}),
        ("fails", {"n": 1}, 200, {"result": 1}),
        ("asks", {}, 200, {"result": True}),
        ("who", {}, 200, {"result": {}}),
        ("both", {"x": 4}, 200, {"result": 8}),
        ("add", {}, 400, {"error": "`add` needs `a`: int"}),
        ("add", {"a": "x"}, 400, {"error": "`a` of `add` must be int, got str"}),
        ("add", {"a": 1, "c": 1}, 400, {"error": "`add` has no argument `c`: it takes `a`, `b`"}),
        ("plain", {}, 404, {"error": "there is no server function `plain`"}),
        ("tool", {}, 404, {"error": "there is no server function `tool`"}),
        ("nope", {}, 404, {"error": "there is no server function `nope`"}),
    ],
)
def test_a_page_calls_a_server_function(server, name, arguments, status, answer):
    page = server.post_json(f"/_quillo/rpc/{name}", arguments)
    assert (page.status, page.json) == (status, answer)
    assert page.headers["content-type"] == "application/json"


def test_a_server_function_is_called_with_post_and_json_from_its_own_site(server):
    assert server.get("/_quillo/rpc/add").status == 405
    assert server.post("/_quillo/rpc/add", {"a": 1}).status == 415
    assert server.post_json("/_quillo/rpc/add", [1]).status == 400
    assert server.post_json("/_quillo/rpc/add", {"a": 1}, Sec_Fetch_Site="cross-site").status == 403
    assert server.send("POST", "/_quillo/rpc/add", b"{", content_type="application/json").status == 400


def test_a_server_function_that_fails_says_only_that(server):
    page = server.post_json("/_quillo/rpc/stops", {})
    assert page.status == 500
    assert page.json["error"].startswith("internal error (")
    assert server.post_json("/_quillo/rpc/replies", {}).status == 418


def test_describe_is_for_the_developer_alone():
    for watch, local, status in ((True, True, 200), (False, True, 404), (True, False, 404)):
        browser = Browser(SERVER, watch=watch, local=local)
        page = browser.get("/_quillo/describe")
        assert page.status == status
        if status == 200:
            assert [one["name"] for one in page.json["tools"]] == ["both", "tool"]
            assert "plain" not in page.text
            assert page.json["functions"][0] == {
                "name": "add",
                "parameters": {"a": {"type": "int", "required": True}, "b": {"type": "int", "required": False}},
            }
        browser.close()
