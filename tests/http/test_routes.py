"""Routes: which one a request meets, what it is given, and what its value is sent as (language.md, section 11)."""

from __future__ import annotations

import pytest

from tests.http.sites import Browser

ROUTES = """
route GET / = "home"
route GET /notes = "all"
route GET /notes/new = "new"
route GET /notes/:id:int = `number ${id + 1}`
route GET /notes/:name = `name ${name}`
route GET /notes/:id:int/edit = `edit ${id}`
route POST /notes/:name = `posted ${name}`
route GET /files/*rest = `rest ${rest}`
route GET /a/:x/:y:int = `${x} ${y}`
route GET /slash/ = "with a slash"
"""


@pytest.fixture(scope="module")
def routes():
    made = Browser(ROUTES)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/", "home"),
        ("/notes", "all"),
        ("/notes?x=1", "all"),
        ("/notes/new", "new"),
        ("/notes/7", "number 8"),
        ("/notes/-7", "number -6"),
        ("/notes/007", "number 8"),
        ("/notes/7x", "name 7x"),
        ("/notes/9223372036854775807", None),  # the program's own overflow
        ("/notes/9223372036854775808", "name 9223372036854775808"),
        ("/notes/7/edit", "edit 7"),
        ("/notes/a%2Fb", "name a/b"),
        ("/notes/caf%C3%A9", "name café"),
        ("/notes/%6eew", "new"),
        ("/files/a", "rest a"),
        ("/files/a/b%20c/", "rest a/b c/"),
        ("/files/", "rest "),
        ("/a/b/3", "b 3"),
        ("/slash/", "with a slash"),
    ],
)
def test_the_more_exact_path_wins_and_its_names_are_values(routes, path, text):
    page = routes.get(path)
    assert page.status == (200 if text is not None else 500)
    if text is not None:
        assert page.text == text
        assert page.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/nope", "/notes/7/nope", "/notes/", "/files", "/slash", "//", "/a/b/c", "/a//3"])
def test_an_unknown_path_is_404(routes, path):
    assert routes.get(path).status == 404


def test_a_path_that_is_not_utf8_is_400(routes):
    assert routes.get("/notes/%ff").status == 400


def test_a_wrong_method_is_405_and_says_which_are_right(routes):
    for method in ("DELETE", "PUT", "PATCH"):
        page = routes.send(method, "/notes/x")
        assert (page.status, page.headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
    page = routes.send("OPTIONS", "/notes")
    assert (page.status, page.headers["allow"], page.body) == (204, "GET, HEAD, OPTIONS", b"")


def test_head_is_answered_as_get(routes):
    assert routes.send("HEAD", "/notes/7").body == b"number 8"  # whose body the door leaves out
    assert routes.send("HEAD", "/nope").status == 404


def test_a_route_that_another_method_has_is_still_found(routes):
    assert routes.post("/notes/new").text == "posted new"


VALUES = """
route GET /markup = <p>Hi</p>
route GET /text = "a < b"
route GET /record = { a: 1, b: [true, null, 1.5, "é"] }
route GET /list = [1, 2]
route GET /int = 7
route GET /bool = false
route GET /null = null
route GET /bytes = bytes("abc")
route GET /created = respond(201, { id: 7 }, { headers: { "location": "/x", "X-Own": "1" } })
route GET /teapot = respond(418, "short")
route GET /empty = respond(404)
route GET /there = redirect("/text")
route GET /moved = redirect("https://example.com/x?a=b", 301)
route GET /svg = respond(200, "<svg></svg>", { headers: { "Content-Type": "image/svg+xml" } })
fn deep(n: int) -> int {
  if n == 0 { reply 404 "no such note" }
  deep(n - 1)
}
route GET /reply = deep(5)
route GET /reply-data { reply 422 { error: "no" } }
route GET /reply-alone { reply 403 }
route GET /err = err("secret reason")
route GET /stop = 1 / (0 * 1)
route GET /function = x => x
route GET /nan = { a: 0.0 / 0.0 }
route GET /sneaky = respond(200, "x", { headers: { "content-length": "99", "connection": "keep-alive" } })
"""


@pytest.fixture
def values():
    made = Browser(VALUES)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("path", "status", "kind", "body"),
    [
        ("/text", 200, "text/plain; charset=utf-8", "a < b"),
        ("/record", 200, "application/json", '{"a": 1, "b": [true, null, 1.5, "é"]}'),
        ("/list", 200, "application/json", "[1, 2]"),
        ("/int", 200, "application/json", "7"),
        ("/bool", 200, "application/json", "false"),
        ("/bytes", 200, "application/octet-stream", "abc"),
        ("/created", 201, "application/json", '{"id": 7}'),
        ("/teapot", 418, "text/plain; charset=utf-8", "short"),
        ("/empty", 404, "text/plain; charset=utf-8", "Not Found\n"),
        ("/svg", 200, "image/svg+xml", "<svg></svg>"),
        ("/reply", 404, "text/plain; charset=utf-8", "no such note"),
        ("/reply-data", 422, "application/json", '{"error": "no"}'),
        ("/reply-alone", 403, "text/plain; charset=utf-8", "Forbidden\n"),
    ],
)
def test_what_a_value_is_says_what_it_is_sent_as(values, path, status, kind, body):
    page = values.get(path)
    assert (page.status, page.headers["content-type"], page.text) == (status, kind, body)
    assert [name for name, _ in page.lines].count("content-type") == 1
    assert page.headers["x-content-type-options"] == "nosniff"


def test_null_is_204_without_a_body(values):
    page = values.get("/null")
    assert (page.status, page.body) == (204, b"")
    assert "content-type" not in page.headers


def test_a_redirect_says_where_to(values):
    page = values.get("/there")
    assert (page.status, page.headers["location"], page.body) == (303, "/text", b"")
    assert values.get("/moved").headers["location"] == "https://example.com/x?a=b"


def test_headers_of_the_connection_are_not_the_programs_to_set(values):
    page = values.get("/sneaky")
    assert "content-length" not in page.headers
    assert "connection" not in page.headers
    assert values.get("/created").headers["x-own"] == "1"


@pytest.mark.parametrize("path", ["/err", "/stop", "/function", "/nan"])
def test_a_failure_says_only_internal_error_and_a_reference_that_is_in_the_log(values, path):
    page = values.get(path)
    assert page.status == 500
    assert page.text.startswith("internal error (")
    assert "secret" not in page.text
    reference = page.text.split("(")[1].split(")")[0]
    assert values.log[-1].startswith(f"[{reference}] ")
    if path in ("/err", "/stop"):
        assert {"/err": "secret reason", "/stop": "line "}[path] in values.log[-1]


def test_under_watch_the_failure_is_shown_with_its_line_and_calls():
    browser = Browser("fn inner(n: int) -> int = 10 / n\nroute GET / = inner(0)\n", watch=True)
    page = browser.get("/")
    assert page.status == 500
    assert "inner(n: int) -&gt; int = 10 / n</mark>" in page.text
    assert "called at" in page.text
    assert "line 2" in page.text
    browser.close()


def test_a_route_that_computes_without_end_is_ended(tmp_path):
    from server.policy import Policy

    browser = Browser("route GET / { while true {} }\nroute GET /ok = 1", policy=Policy(max_compute=100_000))
    assert browser.get("/").status == 500
    assert "compute" in browser.log[-1]
    assert browser.get("/ok").status == 200
    browser.close()


def test_a_request_that_fails_takes_its_transaction_back(tmp_path):
    browser = Browser(
        'db.open("a.db")\ndb.exec("create table t (n integer)")\n'
        'route POST /bad { db.transaction(() => { db.exec("insert into t values (1)")\n reply 400 "no" }) }\n'
        'route GET / = db.one("select count(*) as n from t")',
        tmp_path,
    )
    assert browser.post("/bad").status == 400
    assert browser.get("/").json == {"n": 0}
    browser.close()


def test_build_is_worked_out_once_and_served_with_a_tag():
    browser = Browser(
        "let count = 0\nfn next() -> int { count += 1\n count }\n"
        'build "/app.css" = `/* ${next()} */`\nbuild "/data.json" = { a: 1 }\n'
        'build "/x.bin" = bytes("x")\nbuild "/about" = <h1>About</h1>\nroute GET / = count'
    )
    first = browser.get("/app.css")
    assert (first.text, first.headers["content-type"]) == ("/* 1 */", "text/css; charset=utf-8")
    assert browser.get("/app.css").text == "/* 1 */"
    assert browser.get("/app.css", If_None_Match=first.headers["etag"]).status == 304
    assert browser.get("/data.json").json == {"a": 1}
    assert browser.get("/x.bin").headers["content-type"] == "application/octet-stream"
    assert "<title>About</title>" in browser.get("/about").text
    page = browser.post("/app.css")
    assert (page.status, page.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    browser.close()


def test_a_base_is_where_the_site_lies():
    browser = Browser("route GET / = request.path\nroute GET /a = request.path", base="/shop")
    assert browser.get("/shop").text == "/"
    assert browser.get("/shop/").text == "/"
    assert browser.get("/shop/a").text == "/a"
    assert browser.get("/a").status == 404
    assert browser.get("/shopping").status == 404
    assert browser.get("/shop/_quillo/health").text == "ok\n"
    browser.close()
