"""Answers to questions in shapes that no form sends (docs/tools.md, section 3), as raw messages over stdio."""

from __future__ import annotations

import pytest

from tests.mcp.wire import YES, RawWire, Refused, accept, question, raw_wire, structured

PROGRAM = """
/// Asks the same at two places.
fn mcp twice() -> list<bool> = [confirm("Sure?"), confirm("Sure?")]
"""


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    (folder / "main.qwe").write_text(PROGRAM, "utf-8")
    with raw_wire(folder / "main.qwe") as made:
        yield made


RESPONSE = '`inputResponses.ask` must be an object whose `action` is "accept", "decline" or "cancel"'


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"inputResponses": []}, "`inputResponses` must be an object"),
        ({"inputResponses": None}, "`inputResponses` must be an object"),
        ({"inputResponses": {"ask": []}}, RESPONSE),
        ({"inputResponses": {"ask": "accept"}}, RESPONSE),
        ({"inputResponses": {"ask": {}}}, RESPONSE),
        ({"inputResponses": {"ask": {"action": None}}}, RESPONSE),
        ({"inputResponses": {"ask": {"action": ["accept"]}}}, RESPONSE),
        ({"inputResponses": {"ask": {"action": {"a": 1}}}}, RESPONSE),
        ({"inputResponses": {"ask": {"action": "yes"}}}, RESPONSE),
        ({"inputResponses": {"ask": accept() | {"content": []}}}, "`inputResponses.ask.content` must be an object"),
        ({"inputResponses": {"ask": accept() | {"content": "yes"}}}, "`inputResponses.ask.content` must be an object"),
        ({"requestState": None}, "`requestState` must be a text: what the server sent"),
        ({"requestState": 7}, "`requestState` must be a text: what the server sent"),
        ({"requestState": ["x"]}, "`requestState` must be a text: what the server sent"),
        ({"requestState": {}}, "`requestState` must be a text: what the server sent"),
    ],
)
def test_what_is_no_response_is_refused_and_uses_up_nothing(raw: RawWire, more, words):
    asked = raw.call("twice")
    with pytest.raises(Refused) as refused:
        raw.call("twice", {}, **{"requestState": asked["requestState"], "inputResponses": {"ask": YES}, **more})
    assert (refused.value.code, refused.value.message) == (-32602, words)
    assert question(raw.again(asked, "twice", YES)) == "Sure?"


@pytest.mark.parametrize(
    "content",
    [{"yes": [True]}, {"yes": {"a": 1}}, {"yes": None}, {"yes": 1e300}, {"": True}, {"yes ": True}, {"YES": True},
     {"choice": {"a": 1}, "yes": 1}, {"x" * 10_000: True}, {str(n): True for n in range(1000)}],
)  # fmt: skip
def test_no_other_content_is_a_yes(raw: RawWire, content):
    asked = raw.again(raw.call("twice"), "twice", {"action": "accept", "content": content})
    assert structured(raw.again(asked, "twice", YES)) == [False, True]
