"""Routes: which one a request meets, what it is given, and what its value is sent as (language.md, section 11)."""

from __future__ import annotations

import gzip

import brotli
import pytest

from qvm.values import Stop
from server.http_messages import Request
from server.protocol import Unfinished
from tests.http.sites import Browser, Page

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
route GET /deep/er = "two parts"
route GET /a%20place = "a place"
route GET /straße = "a street"
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
        ("/deep/er", "two parts"),
        ("/d%65ep/er", "two parts"),
        ("/a%20place", "a place"),
        ("/%61%20place", "a place"),
        ("/stra%C3%9Fe", "a street"),
    ],
)
def test_the_more_exact_path_wins_and_its_names_are_values(routes, path, text):
    page = routes.get(path)
    assert page.status == (200 if text is not None else 500)
    if text is not None:
        assert page.text == text
        assert page.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_slash_that_is_encoded_divides_nothing(routes):
    for path in ("/deep%2Fer", "/deep%2fer", "/notes%2Fnew", "/slash%2F"):
        for method in ("GET", "POST", "OPTIONS"):
            assert routes.send(method, path).status == 404, path


def test_the_rest_of_a_path_may_be_nothing():
    browser = Browser("route GET /*rest = `<${rest}>`\nroute GET /files/*rest = `files <${rest}>`")
    for path, text in (("/", "<>"), ("/x", "<x>"), ("/x/", "<x/>"), ("/files/", "files <>"), ("/files", "<files>")):
        assert browser.get(path).text == text
    browser.close()


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
route GET /feed = respond(200, <rss><item>a &lt; b</item></rss>, { headers: { "Content-Type": "application/rss+xml" } })
route GET /told = respond(200, <h1>Told</h1>, { headers: { "Content-Type": "text/html; charset=utf-8" } })
route GET /reset = respond(205, "x")
route GET /wide = redirect("/café/a b?q=%20&r=[1]#é")
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


def test_the_address_of_a_redirect_is_one_that_every_client_can_read(values):
    assert values.get("/wide").headers["location"] == "/caf%C3%A9/a%20b?q=%20&r=[1]#%C3%A9"


def test_markup_that_is_said_to_be_something_else_is_no_page(values):
    page = values.get("/feed")
    assert (page.headers["content-type"], page.text) == ("application/rss+xml", "<rss><item>a &lt; b</item></rss>")
    assert "content-security-policy" not in page.headers
    page = values.get("/told")
    assert [value for name, value in page.lines if name == "content-type"] == ["text/html; charset=utf-8"]
    assert "<title>Told</title>" in page.text
    assert "content-security-policy" in page.headers


def test_a_status_that_has_no_body_is_sent_without_one(values):
    assert values.get("/reset").body == b""


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
    assert browser.get("/app%2Ecss").text == "/* 1 */"
    assert browser.send("HEAD", "/app.css").headers["etag"] == first.headers["etag"]
    browser.close()


def test_what_is_built_is_made_small_once_for_each_client_that_takes_it():
    text = 'build "/long.css" = repeat("p { color: red }\\n", 500)\nbuild "/own.txt" = respond(200, "x", own)\n'
    browser = Browser(
        text + 'let own = { headers: { "etag": "\\"mine\\"", "cache-control": "max-age=60" } }\nroute GET / = 1'
    )
    whole = browser.get("/long.css")
    for accepted, coding, undo in (("gzip", "gzip", gzip.decompress), ("br, gzip", "br", brotli.decompress)):
        page = browser.get("/long.css", Accept_Encoding=accepted)
        assert page.headers["content-encoding"] == coding
        assert undo(page.body) == whole.body
        assert browser.get("/long.css", Accept_Encoding=accepted).body is page.body
        assert page.headers["etag"] == whole.headers["etag"]
    assert browser.get("/long.css", Accept_Encoding="gzip", If_None_Match=whole.headers["etag"]).status == 304
    assert "content-encoding" not in browser.get("/long.css", Accept_Encoding="identity").headers
    own = browser.get("/own.txt")
    assert (own.headers["etag"], own.headers["cache-control"]) == ('"mine"', "max-age=60")
    assert browser.get("/own.txt", If_None_Match='"mine"').status == 304
    browser.close()


# --- requests beside each other

WAITING = """
db.open(":memory:")
db.exec("create table t (n integer)")
tenant_from(r => r.headers["x-tenant"])
route GET /who/:name {
  set_session({ user: name })
  sleep("1h")
  { user: session().user, tenant: tenant(), path: request.path }
}
route POST /slow {
  db.transaction(() => {
    db.exec("insert into t values (1)")
    sleep("1h")
  })
  "kept"
}
route POST /quick { db.exec("insert into t values (2)").changes }
route GET /rows = for row in db.query("select n from t") => row.n
route GET /now = 1
"""


@pytest.fixture
def waiting():
    made = Browser(WAITING)
    yield made
    made.close()


def begin(browser, method, path, **headers):
    given = {
        b"host": b"localhost",
        **{name.replace("_", "-").encode(): value.encode() for name, value in headers.items()},
    }
    return browser.site.begin(Request(method, path, given))


def test_requests_that_wait_beside_each_other_keep_their_own_session_tenant_and_request(waiting):
    ana = begin(waiting, "GET", "/who/ana", x_tenant="north")
    ben = begin(waiting, "GET", "/who/ben", x_tenant="south")
    assert isinstance(ana, Unfinished)
    assert isinstance(ben, Unfinished)
    assert waiting.get("/now").text == "1"
    for call, name, tenant in ((ben, "ben", "south"), (ana, "ana", "north")):
        page = Page(call.resume(None))
        assert page.json == {"user": name, "tenant": tenant, "path": f"/who/{name}"}
        assert page.cookies
        assert page.headers["cache-control"] == "private, no-cache"


def test_a_request_whose_client_has_gone_takes_its_transaction_back_and_others_go_on(waiting):
    slow = begin(waiting, "POST", "/slow")
    assert isinstance(slow, Unfinished)
    slow.cancel()
    assert waiting.post("/quick").json == 1
    assert waiting.get("/rows").json == [2]


def test_what_fails_while_it_waits_is_a_failure_of_its_request_alone(waiting):
    slow = begin(waiting, "POST", "/slow")
    answer = Page(slow.fail(Stop("the wait broke")))
    assert (answer.status, answer.text[:16]) == (500, "internal error (")
    assert "the wait broke" in waiting.log[-1]
    assert waiting.get("/rows").json == []


def test_each_request_has_its_own_values(waiting):
    browser = Browser("""
        route GET /request {
          let mine = request
          mine.path = "changed"
          mine.query["more"] = "1"
          [mine.path, request.path, request.query]
        }
        route GET /session {
          set_session({ user: "a", list: [1] })
          let mine = session()
          mine.list[0] = 2
          mine.user = "b"
          [mine, session()]
        }
    """)
    assert browser.get("/request?q=1").json == ["changed", "/request", {"q": "1"}]
    assert browser.get("/session").json == [{"user": "b", "list": [2]}, {"user": "a", "list": [1]}]
    browser.close()


@pytest.mark.parametrize("code", ["exit(3)", "read_line()", 'tenant_from(r => "x")', 'db.open("other.db")'])
def test_a_request_does_not_do_what_is_the_programs_start_or_end(code):
    browser = Browser(f"route GET / {{ {code} }}\nroute GET /ok = 1")
    assert browser.get("/").status == 500
    assert browser.get("/ok").status == 200
    browser.close()


def test_nobody_is_asked_by_a_page():
    browser = Browser('route GET / = [confirm("Sure?"), about("Who?", { a: "All", b: "None" }, "b")]')
    assert browser.get("/").json == [True, "b"]
    browser.close()


def test_health_is_told_to_whoever_asks():
    browser = Browser("route GET / = 1")
    assert (browser.get("/_quillo/health").text, browser.send("HEAD", "/_quillo/health").status) == ("ok\n", 200)
    page = browser.post("/_quillo/health")
    assert (page.status, page.headers["allow"]) == (405, "GET, HEAD")
    assert browser.get("/_quillo/nothing").status == 404
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
