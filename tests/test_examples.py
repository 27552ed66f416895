"""The examples do what they say: their own tests pass, and a person and an AI client can use them over HTTP."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.http.sites import Browser
from tests.mcp.spawned import commanded

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/main.qwe"))


def opened(name: str, folder: Path, **options: Any) -> Browser:
    return Browser((EXAMPLES / name / "main.qwe").read_text("utf-8"), folder, **options)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_checks_without_a_warning_is_in_the_one_style_and_passes_its_tests(name):
    path = str(EXAMPLES / name / "main.qwe")
    for command in (["check", path], ["fmt", "--check", path], ["test", path]):
        done = commanded(*command)
        assert done.returncode == 0, done.stdout + done.stderr
    assert commanded("check", path).stdout == ""


def test_notes(tmp_path):
    browser = opened("notes", tmp_path)
    token = browser.served.trial_token()
    for text in ("buy milk", "<b>milk</b>"):
        browser.call("add_note", {"text": text}, token)
    found = browser.call("search_notes", {"word": "milk"}, token)["structuredContent"]["result"]
    assert [note["text"] for note in found] == ["<b>milk</b>", "buy milk"]
    assert "<li>&lt;b&gt;milk&lt;/b&gt;</li>" in browser.get("/").text
    asked = browser.call("clear_notes", {}, token)
    assert asked["inputRequests"]["ask"]["params"]["message"] == "Delete all 2 notes?"
    answer = {"ask": {"action": "accept", "content": {"yes": True}}}
    done = browser.call("clear_notes", {}, token, requestState=asked["requestState"], inputResponses=answer)
    assert done["structuredContent"] == {"result": 2}
    browser.close()


def test_shop(tmp_path):
    browser = opened("shop", tmp_path)
    database = browser.served.running.world.database.main
    assert database is not None
    for tenant, good in (("acme", "tea pot"), ("zeta", "kite")):
        database.execute("insert into goods (tenant, name, price) values (?, ?, 1999)", (tenant, good))
    acme, zeta = {"host": "acme.localhost:8080"}, {"host": "zeta.localhost:8080"}

    assert browser.post("/sign-up", {"name": "ana", "password": "short"}, **acme).status == 400
    assert browser.post("/sign-up", {"name": "ana", "password": "long enough"}, **acme).status == 303
    assert "Hello ana" in browser.get("/", **acme).text
    assert "Hello" not in browser.get("/", **zeta).text  # the cookie of another merchant's site
    assert "tea pot" in browser.get("/", **acme).text
    assert "kite" not in browser.get("/", **acme).text
    assert browser.post("/order/1", **acme).status == 303
    assert browser.post("/order/2", **acme).status == 404
    assert browser.post("/order/2", **zeta).status == 401

    page = browser.post("/settings/tokens", **acme)
    token = re.search(r"qmcp_[\w-]{43}", page.text)
    assert token is not None
    browser.post("/sign-out", **acme)
    assert browser.get("/settings", **acme).status == 401
    assert browser.post("/sign-in", {"name": "ana", "password": "wrong"}, **acme).status == 403
    assert browser.post("/sign-up", {"name": "ana", "password": "long enough"}, **acme).status == 409
    assert browser.mcp(browser.message("tools/list"), token[0], **acme).status == 401  # it ended with its session

    browser.post("/sign-in", {"name": "ana", "password": "long enough"}, **acme)
    token = re.search(r"qmcp_[\w-]{43}", browser.post("/settings/tokens", **acme).text)
    assert token is not None
    browser.cookies.clear()
    found = browser.call("find_goods", {"word": "t"}, token[0])["structuredContent"]["result"]
    assert [good["name"] for good in found] == ["tea pot"]
    assert len(browser.call("my_orders", {}, token[0])["structuredContent"]["result"]) == 1
    asked = browser.call("place_order", {"good": 1}, token[0])
    assert asked["inputRequests"]["ask"]["params"]["message"] == "Order tea pot for 19.99?"
    answer = {"ask": {"action": "accept", "content": {"yes": True}}}
    browser.call("place_order", {"good": 1}, token[0], requestState=asked["requestState"], inputResponses=answer)
    assert len(browser.call("my_orders", {}, token[0])["structuredContent"]["result"]) == 2
    assert browser.call("place_order", {"good": 2}, token[0])["isError"]
    browser.close()


def multipart(fields: dict[str, str], picture: tuple[str, str, bytes]) -> bytes:
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{text}'.encode() for name, text in fields.items()]
    name, kind, data = picture
    head = f'Content-Disposition: form-data; name="picture"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'
    parts.append(head.encode() + data)
    return b"".join(b"--XX\r\n" + part + b"\r\n" for part in parts) + b"--XX--\r\n"


def test_guest_book(tmp_path):
    browser = opened("guestbook", tmp_path)
    kind = "multipart/form-data; boundary=XX"
    picture = b"\x89PNG\r\n\x1a\n\x00\xff"
    good = multipart({"name": "Ana", "text": "<script>alert(1)</script>"}, ("a.png", "image/png", picture))
    assert browser.send("POST", "/", good, content_type=kind).status == 303
    page = browser.get("/").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert 'src="/pictures/1"' in page
    shown = browser.get("/pictures/1")
    assert (shown.body, shown.headers["content-type"]) == (picture, "image/png")
    assert browser.get("/pictures/2").status == 404
    bad = multipart({"name": "Ben", "text": "Hi"}, ("a.html", "text/html", b"<b>"))
    page = browser.send("POST", "/", bad, content_type=kind)
    assert page.status == 400
    assert "A picture is PNG, JPEG, GIF or WebP" in page.text
    assert 'value="Ben"' in page.text
    without = multipart({"name": "Cat", "text": "Hi"}, ("", "application/octet-stream", b""))
    assert browser.send("POST", "/", without, content_type=kind).status == 303
    token = browser.served.trial_token()
    found = browser.call("read_entries", {}, token)["structuredContent"]["result"]
    assert [(entry["name"], entry["pictured"]) for entry in found] == [("Cat", 0), ("Ana", 1)]
    browser.close()


def test_newsletter(tmp_path):
    browser = opened("newsletter", tmp_path)
    for address, weekly in (("a@example.com", {}), ("B@example.com", {"weekly": "1"})):
        assert browser.post("/subscribe", {"address": address, **weekly}).status == 200
    assert browser.post("/subscribe", {"address": "nobody"}).status == 400
    assert "2 people read it" in browser.get("/").text
    token = browser.served.trial_token()
    assert browser.call("count_subscribers", {}, token)["structuredContent"] == {"all": 2, "weekly": 1}
    letter = {"subject": "News", "text": "Spring"}
    asked = browser.call("send_letter", letter, token)
    assert asked["inputRequests"]["ask"]["params"]["message"] == "Who gets this letter?"
    picked = {"ask": {"action": "accept", "content": {"choice": "all"}}}
    asked = browser.call("send_letter", letter, token, requestState=asked["requestState"], inputResponses=picked)
    assert asked["inputRequests"]["ask"]["params"]["message"] == 'Send "News" to 2 people?'
    yes = {"ask": {"action": "accept", "content": {"yes": True}}}
    done = browser.call("send_letter", letter, token, requestState=asked["requestState"], inputResponses=yes)
    assert done["structuredContent"] == {"result": 2}
    browser.close()
