"""Sessions: what a cookie carries, for how long, and that only the site can make one (language.md, section 12)."""

from __future__ import annotations

import pytest

from server.request_values import MOST_FIELDS
from server.sessions import COOKIE, LIFETIME, Sessions, cookies_of
from tests.http.sites import Browser
from tests.talking import SECRET

PROGRAM = """
route GET / = session()
route POST /in/:user {
  set_session({ user, role: "x" })
  session()
}
route POST /long { set_session({ user: "ana" }, { max_age: "7d" }) }
route POST /anonymous { set_session({ cart: [1] }) }
route POST /out {
  end_session()
  session()
}
route POST /twice {
  set_session({ user: "a" })
  set_session({ user: "b" })
}
route POST /large { set_session({ user: "a", text: repeat("x", 5000) }) }
route POST /odd { set_session({ user: x => x }) }
route POST /typo { set_session({ user: "a" }, from_json("{\\"max-age\\": 1}")?) }
"""


@pytest.fixture
def browser():
    made = Browser(PROGRAM)
    yield made
    made.close()


def session_id(browser: Browser) -> bytes:
    found = browser.served.web.sessions.read(browser.cookies[COOKIE], browser.served.web.clock())
    assert found is not None
    return found.id


def test_a_session_is_the_cookies_record_and_ends_when_it_is_ended(browser):
    assert browser.get("/").json == {}
    assert browser.post("/in/ana").json == {"user": "ana", "role": "x"}
    assert browser.get("/").json == {"user": "ana", "role": "x"}
    assert browser.post("/out").json == {}
    assert browser.get("/").json == {}
    assert COOKIE not in browser.cookies


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(browser):
    [line] = browser.post("/in/ana").cookies
    assert line.startswith(f"{COOKIE}=")
    assert line.split("; ")[1:] == ["Path=/", "HttpOnly", "SameSite=Lax"]
    [line] = browser.post("/long").cookies
    assert "; Expires=" in line
    with_origin = Browser(PROGRAM, origin="https://shop.example", base="/shop")
    [line] = with_origin.post("/shop/in/ana").cookies
    assert line.split("; ")[1:] == ["Path=/shop", "HttpOnly", "SameSite=Lax", "Secure"]
    with_origin.close()


def test_the_session_id_stays_while_the_user_does(browser):
    browser.post("/in/ana")
    first = session_id(browser)
    browser.post("/in/ana")
    browser.post("/long")
    assert session_id(browser) == first
    browser.post("/in/ben")
    second = session_id(browser)
    assert second != first
    browser.post("/out")
    browser.post("/in/ben")
    assert session_id(browser) not in (first, second)
    browser.post("/anonymous")
    third = session_id(browser)
    assert third != second
    browser.post("/anonymous")
    assert session_id(browser) == third  # what a visitor had before signing in, and not after
    browser.post("/in/ana")
    assert session_id(browser) != third


def test_the_last_word_counts(browser):
    assert len(browser.post("/twice").cookies) == 1
    assert browser.get("/").json == {"user": "b"}


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/large", "browsers take about"), ("/odd", "function"), ("/typo", "has no `max-age`: it takes `max_age`")],
)
def test_a_session_that_no_cookie_can_hold_is_a_failure(browser, path, reason):
    assert browser.post(path).status == 500
    assert reason in browser.log[-1]
    assert not browser.cookies


def test_a_cookie_that_is_changed_anywhere_is_no_cookie(browser):
    browser.post("/in/ana")
    good = browser.cookies[COOKIE]
    for place in range(len(good)):
        other = "A" if good[place] != "A" else "B"
        browser.cookies[COOKIE] = good[:place] + other + good[place + 1 :]
        found = browser.get("/").json
        # The last letter of base64 has bits that stand for nothing.
        assert found == {} or (place == len(good) - 1 and found["user"] == "ana")
    for bad in (good[:-1], good + "A", good + "AAAA", "", "x", good * 2, "é"):
        browser.cookies[COOKIE] = bad
        assert browser.get("/").json == {}


def test_a_cookie_is_good_for_one_secret_and_one_site_and_until_it_lapses(browser):
    browser.post("/in/ana")
    good = browser.cookies[COOKIE]
    now = browser.served.web.clock()
    web = browser.served.web
    assert web.sessions.read(good, now + LIFETIME - 60) is not None
    assert web.sessions.read(good, now + LIFETIME + 60) is None
    assert Sessions(b"x" * 32, "main").read(good, now) is None
    assert Sessions(SECRET, "other").read(good, now) is None
    assert Sessions(SECRET, "main").read(good, now) is not None


def test_what_was_signed_for_another_purpose_is_no_session():
    from server.secrets import key_of

    assert key_of(SECRET, "session cookies") != key_of(SECRET, "tokens for AI clients")


def test_cookies_are_read_as_browsers_write_them():
    assert cookies_of('a=1; b="two"; a=3; =x; c; d=') == {"a": "1", "b": "two", "d": ""}


# --- tenants and locales

TENANTS = """
tenant_from(r => r.headers["x-tenant"])
locale_from(r => if r.query["lang"] == "de" { "de" } else { null })
route GET / = { tenant: tenant(), locale: locale() }
route POST / = { tenant: tenant(), form: request.form }
"""


def test_rules_tell_a_requests_tenant_and_locale():
    browser = Browser(TENANTS)
    assert browser.get("/").json == {"tenant": None, "locale": None}
    assert browser.get("/?lang=de", X_Tenant="acme").json == {"tenant": "acme", "locale": "de"}
    assert browser.post("/", {"a": 1}, X_Tenant="b").json == {"tenant": "b", "form": {"a": "1"}}
    browser.close()


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ('r => if confirm(`${r.path}?`) { "a" } else { null }', "nobody can be asked"),
        ('r => { let n = from_json("5") ?? 0\n n }', "must give str or null, got int"),
        ("r => { let z = 0\n `${1 / z}` }", "division by zero"),
    ],
)
def test_a_rule_that_asks_or_gives_something_else_fails_the_request(rule, reason):
    browser = Browser(f"tenant_from({rule})\nroute GET / = tenant()\n/// x\nfn mcp t() -> int = 1", watch=False)
    page = browser.get("/")
    assert page.status == 500
    assert reason in browser.log[-1]
    browser.close()


def test_a_rule_may_wait():
    browser = Browser('tenant_from(r => { sleep(0)\n "slow" })\nroute GET / = tenant()')
    assert browser.get("/").text == "slow"
    browser.close()


def test_a_request_of_too_many_fields_is_refused():
    browser = Browser("route GET / = request.query")
    assert browser.get("/?" + "&".join(f"a{n}=1" for n in range(MOST_FIELDS + 1))).status == 400
    browser.close()
