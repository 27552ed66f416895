"""Sessions: what a cookie carries, for how long, and that only the site can make one (language.md, section 12)."""

from __future__ import annotations

import base64
from email.utils import formatdate
from typing import Any

import pytest

from server.request_values import MOST_FIELDS
from server.sessions import COOKIE, LIFETIME, Sessions, cookies_of
from tests.http.hosting import Hosted, hosted
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


# --- what a cookie carries, byte by byte

COOKIES = """
route POST /in { set_session({ user: request.query.as, roles: ["reader"] }); session() }
route POST /cart { set_session({ cart: [1, 2.5, null, true, "ü"] }); "kept" }
route GET /who = session()
route GET /cookies = request.cookies
"""


def signed_in(site: Hosted) -> str:
    """The value of a session's cookie."""
    [line] = site.visitor().post("/in?as=ana").cookies_set
    return line.partition(";")[0].partition("=")[2]


def who(site: Hosted, value: str) -> Any:
    return site.request("GET", "/who", {"cookie": f"{COOKIE}={value}"}).json


def data_of(value: str) -> bytearray:
    return bytearray(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))


def written(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_every_bit_of_a_cookie_is_signed() -> None:
    with hosted(COOKIES) as site:
        whole = data_of(signed_in(site))
        assert who(site, written(whole)) == {"user": "ana", "roles": ["reader"]}
        for place in range(8 * len(whole)):
            changed = bytearray(whole)
            changed[place // 8] ^= 1 << place % 8
            assert who(site, written(changed)) == {}
        for length in range(len(whole)):
            assert who(site, written(whole[:length])) == {}
        assert who(site, written(whole + b"x")) == {}


def test_a_cookie_signed_with_another_key_signs_nobody_in() -> None:
    from blake3 import blake3

    from server.secrets import key_of

    with hosted(COOKIES) as site:
        body = bytes(data_of(signed_in(site))[:-32])
        for purpose, name, good in (
            ("session cookies", b"main\0", True),
            ("session cookies", b"other\0", False),
            ("tokens for AI clients", b"main\0", False),
        ):
            made = written(body + blake3(name + body, key=key_of(SECRET, purpose)).digest())
            assert (who(site, made) != {}) is good


def test_a_record_comes_back_as_it_was_given() -> None:
    with hosted(COOKIES) as site:
        visitor = site.visitor()
        visitor.post("/cart")
        assert visitor.get("/who").json == {"cart": [1, 2.5, None, True, "ü"]}


def test_a_session_ends_at_its_second() -> None:
    program = 'route POST /in { set_session({ user: "ana" }, { max_age: "7d" }); "in" }\nroute GET /who = session()'
    with hosted(program) as site:
        ana = site.visitor()
        [line] = ana.post("/in").cookies_set
        assert f"; Expires={formatdate(site.clock.now + 7 * 86400, usegmt=True)};" in line
        site.clock.now += 7 * 86400 - 1
        assert ana.get("/who").json == {"user": "ana"}
        site.clock.now += 1
        assert ana.get("/who").json == {}


@pytest.mark.parametrize(("origin", "secure"), [("https://a.example", True), ("http://a.example", False), ("", False)])
def test_the_cookie_is_for_https_only_where_the_site_is_served_so(origin: str, secure: bool) -> None:
    with hosted(COOKIES, origin=origin) as site:
        [line] = site.visitor().post("/in?as=ana").cookies_set
        assert line.endswith("; Secure") is secure


def test_users_of_two_kinds_are_two_users() -> None:
    program = """
    route POST /number { set_session({ user: 1 }); "" }
    route POST /bool { set_session({ user: true }); "" }
    """
    with hosted(program) as site:
        visitor = site.visitor()
        ids = []
        for path in ("/number", "/bool", "/bool"):
            visitor.post(path)
            ids.append(bytes(data_of(visitor.cookies[COOKIE])[1:17]))
        assert ids[0] != ids[1] == ids[2]


def test_a_program_changes_a_session_by_setting_it_only() -> None:
    program = """
    route POST /in {
      let record = { user: "ana", roles: ["reader"] }
      set_session(record)
      record.user = "root"
      record.roles = push(record.roles, "admin")
      let held = session()
      held.user = "root"
      held.roles = push(held.roles, "admin")
      session()
    }
    """
    with hosted(program) as site:
        assert site.visitor().post("/in").json == {"user": "ana", "roles": ["reader"]}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("set_session({ f: x => x })", "`set_session` can't write a function: it is no data"),
        ('set_session({ user: "ana" }, { max_age: "soon" })', "argument 2 of `set_session` must be a length of time"),
        ('set_session({ user: "ana" }, { max_age: 0 })', "`max_age` of `set_session` must be from a second to"),
        ('set_session({ user: "ana" }, { max_age: "101y" })', "`max_age` of `set_session` must be from a second to"),
        ("let held: any = []; for i in range(0, 1100) { held = [held] }; set_session({ held })", "is nested too deep"),
    ],
)
def test_a_session_that_cannot_be_kept_stops_the_request(call: str, words: str) -> None:
    with hosted(f"route POST /in {{ {call} }}") as site:
        answer = site.visitor().post("/in")
        assert (answer.status, answer.cookies_set) == (500, [])
        assert words in site.log[0]


def test_the_sessions_cookie_is_not_the_programs_to_read() -> None:
    with hosted(COOKIES) as site:
        ana = site.visitor()
        ana.post("/in?as=ana")
        ana.cookies["lang"] = "en"
        assert ana.get("/cookies").json == {"lang": "en"}


def test_of_two_cookies_of_one_name_the_first_counts() -> None:
    with hosted(COOKIES) as site:
        value = signed_in(site)
        assert who(site, f"{value}; {COOKIE}=x")["user"] == "ana"
        assert who(site, f"x; {COOKIE}={value}") == {}


def test_a_rule_belongs_to_the_top_level() -> None:
    with hosted('route GET / { tenant_from(r => "x"); tenant() }') as site:
        assert site.get("/").status == 500
        assert "`tenant_from` belongs to the top level of the program" in site.log[0]
