"""Pages: whole documents, what goes with them, and that nothing in them runs but the program's own (section 10)."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import brotli
import html5lib
import pytest

from server.compression import LEAST, best
from tests.http.sites import Browser

PROGRAM = """
component Card(title: str) = <section><h2>{title}</h2>{children}</section>
route GET / = <><h1>Notes &amp; <b>more</b></h1><p>text</p></>
route GET /plain = <p>no heading</p>
route GET /body = <body class="x"><h1>B</h1></body>
route GET /whole = <html lang="de"><head><title>Own</title></head><body><p>x</p></body></html>
route GET /doctype = <!DOCTYPE html><html lang="de"><head><title>Own</title></head><body></body></html>
route GET /card = <Card title="A < B"><p>inside</p></Card>
route GET /long = <ul>{for i in range(0, 500) => <li class="item">{i} some text</li>}</ul>
route GET /script = <div>
  <script>let a = "<b>" && 1;</script><style>p { color: red }</style><p style="color: blue">x</p>
</div>
route GET /raw = <div>{raw("<script>alert(1)</script>")}</div>
route GET /far = <div><img src="https://img.example/x.png" alt=""><script src="https://cdn.example/a.js"></script></div>
route GET /far-raw = <div>{raw("<script src=\\"https://evil.example/a.js\\"></script>")}</div>
let own = { "Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY" }
route GET /own = respond(200, <p>x</p>, { headers: own })
route GET /user { set_session({ user: "a" })
  <p>x</p> }
route GET /text = repeat("text ", 1000)
route GET /head = <><head><title>Head</title></head><body class="a > b"><p>x</p></body></>
route GET /tricky = <h1 title="<b> a>b" class={request.path}>A <i title="x>y">B</i></h1>
route GET /nothing = <p title={"\\0a"}>{"b\\0"}</p>
"""


@pytest.fixture(scope="module")
def browser():
    made = Browser(PROGRAM)
    yield made
    made.close()


def tree(text: str) -> object:
    """The page as a browser reads it. Fails for what is no valid HTML."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/plain",
        "/body",
        "/whole",
        "/doctype",
        "/card",
        "/long",
        "/script",
        "/far",
        "/raw",
        "/head",
        "/tricky",
        "/nothing",
    ],
)
def test_each_page_is_a_whole_valid_document(browser, path):
    page = browser.get(path)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.text.startswith("<!DOCTYPE html>")
    found = tree(page.text)
    assert found.find("head/title") is not None
    assert found.get("lang") in ("en", "de")


def test_a_fragment_gets_a_head_and_its_first_heading_as_title(browser):
    found = tree(browser.get("/").text)
    assert found.find("head/title").text == "Notes & more"
    assert found.find("head/meta").get("charset") == "utf-8"
    assert [meta.get("name") for meta in found.findall("head/meta")][1] == "viewport"
    assert tree(browser.get("/plain").text).find("head/title").text == "main"
    assert tree(browser.get("/whole").text).find("head/title").text == "Own"


def test_a_title_is_the_headings_text_whatever_stands_in_its_attributes(browser):
    assert tree(browser.get("/tricky").text).find("head/title").text == "A B"
    assert tree(browser.get("/tricky").text).find("body/h1").get("title") == "<b> a>b"
    found = tree(browser.get("/head").text)
    assert (found.find("head/title").text, found.find("body").get("class")) == ("Head", "a > b")


@pytest.mark.parametrize(
    ("locale", "language"),
    [("de", "de"), ("de_AT", "de-AT"), ("", "en"), ("x", "en"), ('de"><script>', "en"), ("zh-Hant-TW", "zh-Hant-TW")],
)
def test_a_page_is_in_the_language_of_its_request(locale, language):
    browser = Browser("""
        locale_from(r => r.headers["x-locale"])
        route GET / = <p>x</p>
        route GET /no { reply 404 <p>y</p> }
        route GET /own = <html lang="fr"><head><title>x</title></head><body></body></html>
    """)
    for path in ("/", "/no"):
        assert tree(browser.get(path, X_Locale=locale).text).get("lang") == language
    assert tree(browser.get("/own", X_Locale=locale).text).get("lang") == "fr"
    assert tree(browser.get("/").text).get("lang") == "en"
    browser.close()


def test_a_page_holds_no_nul(browser):
    found = tree(browser.get("/nothing").text).find("body/p")
    assert (found.get("title"), found.text) == ("\ufffda", "b\ufffd")


def test_components_are_drawn_with_what_they_are_given(browser):
    assert "<section><h2>A &lt; B</h2><p>inside</p></section>" in browser.get("/card").text


# --- tags and sizes


def test_a_client_that_has_a_page_is_sent_nothing_again(browser):
    first = browser.get("/")
    tag = first.headers["etag"]
    for have in (tag, f'"x", {tag}', "*", tag.removeprefix("W/")):
        again = browser.get("/", If_None_Match=have)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert browser.get("/", If_None_Match='W/"other"').status == 200
    assert browser.get("/plain").headers["etag"] != tag


def test_what_is_left_out_has_the_headers_that_it_would_have_had(browser):
    whole = browser.get("/text")
    again = browser.get("/text", If_None_Match=whole.headers["etag"], Accept_Encoding="br")
    assert again.status == 304
    assert again.headers == whole.headers


def test_a_header_that_only_sounds_like_a_tag_is_none():
    browser = Browser('route GET / = respond(200, "x", { headers: { "x-etag": "1" } })')
    page = browser.get("/", If_None_Match='"x", ')
    assert page.status == 200
    assert page.headers["etag"].startswith('W/"')
    browser.close()


def test_a_page_that_sets_a_cookie_has_no_tag_and_is_private(browser):
    page = browser.get("/user")
    assert "etag" not in page.headers
    assert page.headers["cache-control"] == "private, no-cache"
    browser.cookies.clear()
    assert browser.get("/").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/long", "/text"])
def test_what_is_large_is_sent_small_where_the_client_takes_it(browser, path):
    whole = browser.get(path)
    assert "content-encoding" not in whole.headers
    assert whole.headers["vary"] == "accept-encoding"
    for accepted, coding, undo in (
        ("gzip", "gzip", gzip.decompress),
        ("gzip, deflate, br", "br", brotli.decompress),
        ("br;q=0, gzip;q=0.5", "gzip", gzip.decompress),
    ):
        page = browser.get(path, Accept_Encoding=accepted)
        assert page.headers["content-encoding"] == coding
        assert len(page.body) < len(whole.body) / 3
        assert undo(page.body) == whole.body
    assert "content-encoding" not in browser.get("/", Accept_Encoding="gzip").headers
    assert len(browser.get("/").body) < LEAST


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        (b"", ""),
        (b"identity", ""),
        (b"gzip;q=0", ""),
        (b"*", "br"),
        (b"*;q=0", ""),
        (b"br;q=0.1, gzip;q=0.9", "gzip"),
        (b"GZIP", "gzip"),
        (b"gzip;q=nonsense", ""),
        (b"deflate", ""),
    ],
)
def test_the_coding_is_the_one_that_the_client_likes_best(header, coding):
    assert best(header) == coding


# --- what a page may run


def policy(page: object) -> dict[str, list[str]]:
    rows = page.headers["content-security-policy"].split("; ")
    return {row.split(" ")[0]: row.split(" ")[1:] for row in rows}


def digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_a_page_may_run_what_stands_in_the_programs_text_and_nothing_else(browser):
    rules = policy(browser.get("/script"))
    assert rules["script-src"] == ["'self'", digest('let a = "<b>" && 1;')]
    assert rules["style-src"] == ["'self'", digest("p { color: red }")]
    assert rules["style-src-attr"] == ["'unsafe-inline'"]
    rules = policy(browser.get("/raw"))
    assert digest("alert(1)") not in str(rules)
    assert "'unsafe-inline'" not in str(rules)
    assert rules["object-src"] == ["'none'"]
    assert rules["base-uri"] == rules["frame-ancestors"] == ["'self'"]


def test_other_hosts_are_those_that_the_program_names(browser):
    rules = policy(browser.get("/far"))
    assert "https://cdn.example" in rules["script-src"]
    assert "https://img.example" in rules["img-src"]
    assert "evil" not in str(policy(browser.get("/far-raw")))


SOURCES = """
route GET /img = <p><img src="https://a.example/x.png" srcset="https://b.example/x 1x, https://c.example/y 2x"></p>
route GET /video = <video poster="https://a.example/x" src="https://b.example/y"></video>
route GET /form = <form action="https://a.example/x"><button formaction="https://b.example/y">x</button></form>
route GET /script = <p><script async={true} src="https://a.example/x.js"></script></p>
route GET /short = <p><script src="//a.example/x.js"></script></p>
route GET /nested = <p><script src="https://a.example/?u=https://b.example/"></script></p>
route GET /frame = <iframe src="https://a.example:8443/x"></iframe>
route GET /connect = <p><script>fetch("https://a.example/api"); new WebSocket('wss://b.example/ws')</script></p>
route GET /style = <p><style>
  @import url("https://a.example/a.css");
  p { background: url(https://b.example/x) }
</style></p>
route GET /link = <p><link rel="stylesheet" href="https://a.example/a.css" media={"all"}></p>
route GET /anchor = <p><a href="https://link.example/">x</a></p>
"""


@pytest.fixture(scope="module")
def sources():
    made = Browser(SOURCES)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("path", "directive", "hosts"),
    [
        ("/img", "img-src", ["https://a.example", "https://b.example", "https://c.example"]),
        ("/video", "img-src", ["https://a.example"]),
        ("/video", "media-src", ["https://b.example"]),
        ("/form", "form-action", ["https://a.example", "https://b.example"]),
        ("/script", "script-src", ["https://a.example"]),
        ("/short", "script-src", ["a.example"]),
        ("/nested", "script-src", ["https://a.example"]),
        ("/frame", "frame-src", ["https://a.example:8443"]),
        ("/connect", "connect-src", ["https://a.example", "wss://b.example"]),
        ("/style", "style-src", ["https://a.example"]),
        ("/style", "img-src", ["https://b.example"]),
        ("/style", "font-src", ["https://b.example"]),
        ("/link", "style-src", ["https://a.example"]),
    ],
)
def test_a_page_loads_from_where_the_programs_text_says(sources, path, directive, hosts):
    found = policy(sources.get(path))[directive]
    assert [source for source in found if source[0] != "'" and source != "data:"] == hosts


def test_what_a_page_only_links_to_is_not_loaded(sources):
    assert "example" not in sources.get("/anchor").headers["content-security-policy"]


VALUES = """
route GET / = <p><a href="https://link.example/">x</a></p>
route GET /value {
  let address = request.query.x
  <div><img src={address}><script src={address}></script><iframe src={address}></iframe></div>
}
"""


@pytest.fixture(scope="module")
def addresses():
    made = Browser(VALUES)
    yield made
    made.close()


@pytest.mark.parametrize("host", ["https://evil.example", "evil.example", "https://link.example"])
def test_values_say_whence_pictures_come_and_nothing_that_runs(addresses, host):
    address = host if "//" in host else f"//{host}"
    rules = policy(addresses.get(f"/value?x={quote(address)}/x"))
    assert host in rules.pop("img-src")
    assert "example" not in str(rules)


@pytest.mark.parametrize(
    "address",
    [
        "https://*/x",
        "https://*.example/x",
        "https://a.example;script-src */",
        "https://a.example, *",
        "https://exämple/",
        "https://a.example' 'unsafe-inline'/",
        "https://'unsafe-inline'/",
        "https://u:p@a.example/",
        "https:// */",
        "//*",
        "https:*",
    ],
)
def test_no_value_widens_a_policy(addresses, address):
    header = addresses.get(f"/value?x={quote(address)}").headers["content-security-policy"]
    for row in header.split("; "):
        for source in row.split(" ")[1:]:
            assert source in ("'self'", "'none'", "data:", "https://a.example"), header


def test_a_form_may_lead_to_where_the_programs_text_says():
    browser = Browser("""
        route GET / = <form method="post" action="/pay"></form>
        route GET /plain = <p>https://d.example/</p>
        route POST /pay = redirect("https://a.example/pay?x=1")
        route POST /login = redirect(`https://b.example/${request.query.x}`, 302)
        route POST /other = "see https://c.example/"
    """)
    assert policy(browser.get("/"))["form-action"] == ["'self'", "https://a.example", "https://b.example"]
    assert policy(browser.get("/plain"))["form-action"] == ["'self'"]
    browser.close()


def test_under_watch_the_log_tells_of_a_form_that_browsers_stop():
    program = """
        route POST /pay { redirect(request.form.to) }
        route GET / = <form method="post" action="https://b.example/"><button formaction="/pay">x</button></form>
        let known = "https://a.example/"
    """
    for watch in (True, False):
        browser = Browser(program, watch=watch)
        for address in ("/here", "https://a.example/x", "https://b.example/y", "http://localhost:8080/z"):
            browser.post("/pay", {"to": address}, Sec_Fetch_Mode="navigate", Sec_Fetch_Site="same-origin")
        browser.post("/pay", {"to": "https://pay.example/x"}, Sec_Fetch_Mode="cors", Sec_Fetch_Site="same-origin")
        assert not browser.log
        browser.post("/pay", {"to": "https://pay.example/x"}, Sec_Fetch_Mode="navigate", Sec_Fetch_Site="same-origin")
        assert [("https://pay.example," in line) for line in browser.log] == ([True] if watch else [])
        browser.close()


def test_the_digest_is_that_of_the_script_as_browsers_read_it():
    browser = Browser("route GET / = <div>\r\n<script>let a = 1\r\nlet b = 2</script></div>\r\n")
    page = browser.get("/")
    text = parsed(page).find(".//script").text
    assert digest(text) in policy(page)["script-src"]
    browser.close()


def test_a_handler_that_the_program_wrote_runs_and_no_other():
    browser = Browser(
        'route GET / = <div><button onclick="if (a > 1 && b < 2) go(&quot;x&quot;)">x</button>'
        '{raw("<p onclick=\\"evil()\\">x</p>")}</div>'
    )
    rules = policy(browser.get("/"))
    assert rules["script-src-attr"] == ["'unsafe-hashes'", digest('if (a > 1 && b < 2) go("x")')]
    assert "'unsafe-hashes'" not in rules["script-src"]
    browser.close()


def test_the_program_may_set_its_own_headers(browser):
    page = browser.get("/own")
    assert page.headers["content-security-policy"] == "default-src 'none'"
    assert page.headers["x-frame-options"] == "DENY"
    assert [name for name, _ in page.lines].count("x-frame-options") == 1
    assert page.headers["referrer-policy"] == "strict-origin-when-cross-origin"


# --- text that would be code

XSS: list[str] = json.loads((Path(__file__).parent / "xss.json").read_text("utf-8"))

CONTEXTS = """
route GET /text = <><h1>{request.query.x}</h1><p>{request.query.x}</p><textarea>{request.query.x}</textarea></>
route GET /attribute = <p title={request.query.x} class={request.query.x} data-x={request.query.x} id="a">x</p>
route GET /link = <a href={request.query.x}>x</a>
route GET /picture = <img src={request.query.x} alt="">
route GET /form = <form action={request.query.x}></form>
route GET /frame = <iframe srcdoc={request.query.x}></iframe>
route GET /handler = <p onclick={request.query.x}>x</p>
route GET /animated = <svg><a><animate attributeName="href" values={request.query.x}></animate></a></svg>
route GET /set = <svg><a><set attributeName="href" to={request.query.x}></set></a></svg>
route GET /base = <p><base href={request.query.x}></p>
route GET /object = <object data={request.query.x}></object>
route GET /button = <button formaction={request.query.x}>x</button>
route GET /xlink = <svg><a xlink:href={request.query.x}></a></svg>
route GET /json = { x: request.query.x }
route GET /echo = request.query.x
route GET /missing/:x = reply404(x)
fn reply404(x: any) { reply 404 `no ${x}` }
route GET /fails = from_json(request.query.x)
"""


@pytest.fixture(scope="module")
def contexts():
    made = Browser(CONTEXTS)
    yield made
    made.close()


def elements(found: object) -> list[tuple[str, list[str]]]:
    return [(one.tag, sorted(one.attrib)) for one in found.iter() if isinstance(one.tag, str)]


def as_browsers_see_it(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parsed(page: object) -> object:
    return html5lib.HTMLParser(namespaceHTMLElements=False).parse(page.text)


def test_there_are_a_hundred_of_them():
    assert len(set(XSS)) >= 100


@pytest.mark.parametrize("text", XSS)
def test_text_is_text_wherever_it_stands(contexts, text):
    for path in ("/text", "/attribute"):
        page, harmless = contexts.get(f"{path}?x={quote(text)}"), contexts.get(f"{path}?x=harmless")
        found = parsed(page)
        assert elements(found) == elements(parsed(harmless))
    assert found.find("body/p").get("title") == as_browsers_see_it(text)
    shown = parsed(contexts.get(f"/text?x={quote(text)}"))
    assert "".join(shown.find("body/p").itertext()) == as_browsers_see_it(text)
    assert "".join(shown.find("body/textarea").itertext()).lstrip("\n") == as_browsers_see_it(text).lstrip("\n")


@pytest.mark.parametrize("text", XSS)
def test_an_address_runs_nothing(contexts, text):
    start = "".join(letter for letter in text if letter > " ").lower()
    for path, refused in (
        ("/link", ("javascript:", "vbscript:")),
        ("/picture", ("javascript:", "vbscript:", "data:")),
        ("/form", ("javascript:", "vbscript:", "data:")),
        ("/object", ("javascript:", "vbscript:", "data:")),
        ("/button", ("javascript:", "vbscript:", "data:")),
        ("/xlink", ("javascript:", "vbscript:", "data:")),
        ("/base", ("javascript:", "vbscript:")),
        ("/animated", ("javascript:", "vbscript:")),
        ("/set", ("javascript:", "vbscript:")),
    ):
        page = contexts.get(f"{path}?x={quote(text)}")
        if start.startswith(refused) and not start.startswith("data:image/"):
            assert page.status == 500, path
        else:
            assert page.status == 200, path
            assert elements(parsed(page)) == elements(parsed(contexts.get(f"{path}?x=harmless")))


@pytest.mark.parametrize("text", ["#;javascript:alert(1)", "/a; java\tscript:alert(1)", "x;VBScript:x"])
def test_no_part_of_an_animations_values_runs_anything(contexts, text):
    assert contexts.get(f"/animated?x={quote(text)}").status == 500
    assert contexts.get("/animated?x=0;1;2").status == 200


@pytest.mark.parametrize("text", XSS)
def test_a_page_in_a_page_shows_it_as_text(contexts, text):
    inner = parsed(contexts.get(f"/frame?x={quote(text)}")).find("body/iframe").get("srcdoc")
    found = html5lib.HTMLParser(namespaceHTMLElements=False).parse(inner)
    assert [one.tag for one in found.iter() if isinstance(one.tag, str)] == ["html", "head", "body"]


def test_code_that_the_browser_runs_takes_no_value(contexts):
    assert contexts.get("/handler?x=harmless").status == 500
    assert "`onclick` is code that the browser runs: no value can be put into it" in contexts.log[-1]


@pytest.mark.parametrize("text", XSS)
def test_what_is_no_page_is_not_taken_for_one(contexts, text):
    for path in (f"/json?x={quote(text)}", f"/echo?x={quote(text)}", f"/missing/{quote(text, safe='')}"):
        page = contexts.get(path)
        assert page.headers["content-type"] in ("application/json", "text/plain; charset=utf-8")
        assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("text", [text for text in XSS if "<" in text])
def test_the_page_of_an_error_shows_it_as_text(text):
    browser = Browser(
        "fn fail(x: any) { from_json(x)? }\nroute GET / = len(str(fail(request.query.x))) + 1", watch=True
    )
    page = browser.get(f"/?x={quote(text)}")
    assert page.status == 500
    assert not any(tag in ("script", "img", "svg", "iframe") for tag, _ in elements(parsed(page)))
    browser.close()
