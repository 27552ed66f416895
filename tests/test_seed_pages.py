"""The programs of the pages "Tools for AI clients" and `confirm` check, and say what the pages show."""

import pytest

from tests.analysing import Analysed, analysed
from tests.programs import DoesNotCheck, compiled, ran

OPEN = 'db.open(":memory:")\n'

PUBLISH_POST = """
/// Publishes a post. It is public at once.
fn mcp publish_post(title: str, body: str) -> int with db {
  let who = about("Who can see it?", { public: "Everyone", draft: "Only me, as a draft" }, "draft")
  if !confirm(`Publish "${title}" now?`) {
    return err("not published: the user said no")
  }
  db.one("insert into posts (title, body, draft) values (?, ?, ?) returning id", title, body, who == "draft").id
}
"""

SEND_NEWSLETTER = """
/// Puts the newsletter in the outbox for every subscriber.
fn mcp send_newsletter(subject: str) -> int ! str with db {
  let n = db.one("select count(*) as n from subscribers").n
  if !confirm(`Send "${subject}" to ${n} people?`) {
    return err("not sent: the user said no")
  }
  db.exec("insert into outbox (subscriber, subject) select id, ? from subscribers", subject)
  n
}
"""

CALLERS_NOTES = """
type Note = { id: int, text: str }

/// The caller's notes whose text contains `word`, newest first.
fn mcp search_notes(word: str, limit: int = 20) -> list<Note> with db =
  db.query("select id, text from notes where owner = ? and text like ? order by id desc limit ?",
    session().user, `%${word}%`, limit)

route POST /settings/ai/token {
  if session().user == null {
    reply 401 "Sign in first"
  }
  <p>Paste this into your AI client. It is shown only now: <code>{mcp_token({ max_age: "7d" })}</code></p>
}
"""

CLEAR_NOTES = """
/// Deletes every note, after asking the person.
fn mcp clear_notes() -> int ! str with db {
  let n = db.one("select count(*) as n from notes").n
  if !confirm(`Delete all ${n} notes?`) {
    return err("nothing was deleted: the user said no")
  }
  db.exec("delete from notes")
  n
}
"""


@pytest.mark.parametrize(
    ("program", "hints", "asks"),
    [
        (PUBLISH_POST, {"openWorldHint": False}, True),
        (SEND_NEWSLETTER, {"openWorldHint": False}, True),
        (CLEAR_NOTES, {"openWorldHint": False}, True),
        (CALLERS_NOTES, {"readOnlyHint": True, "openWorldHint": False}, False),
    ],
)
def test_the_tools_of_the_pages_check_without_a_word(program: str, hints: dict[str, bool], asks: bool) -> None:
    result = analysed(OPEN + program)
    assert result.reported() == []
    tool, _ = result.tools.tools[0]
    assert tool.annotations == hints
    assert tool.asks is asks
    assert compiled(OPEN + program).tools[0].name == tool.name


def test_what_check_says_of_tools_is_what_the_page_shows() -> None:
    program = """\
db.open("notes.db")

fn mcp count_notes() = db.one("select count(*) as n from notes").n

/// What time it is there.
fn mcp clock(zone) = format_time(now(), zone)

/// Goes there.
fn mcp go() = redirect("/")
"""
    assert [str(d) for d in analysed(program).diagnostics.in_order()] == [
        "main.qwe:3: warning: tool `count_notes` has no `///` comment: an AI client sees only its name and its "
        "parameters; say what it does on a `///` line above it",
        "main.qwe:3: warning: tool `count_notes` has no `with`, so an AI client is told it may change anything and "
        "reach anywhere; it uses db: `with db`",
        "main.qwe:6: warning: parameter `zone` of tool `clock` has no type: its schema is `{}`, and the model guesses "
        "what to send",
        "main.qwe:9: error: a tool answers with data, not a page: `go` answers with a response, as `redirect(...)` "
        "makes",
    ]


def errors(result: Analysed) -> list[str]:
    return [d.message for d in result.diagnostics.in_order() if d.severity == "error"]


def test_a_question_after_a_change_is_refused_in_the_words_of_the_page() -> None:
    program = OPEN + '/// Does it.\nfn mcp clear() with db {\n  db.exec("delete from notes")\n  confirm("Sure?")\n}\n'
    assert errors(analysed(program)) == [
        "`confirm` comes after `db.exec`: ask before changing anything: the call runs again with the answer"
    ]


def test_a_change_on_a_way_that_leaves_first_is_no_change_before_a_question() -> None:
    program = """
fn save(id: int) { db.exec("insert into t values (?)", id) }
/// Does it.
fn mcp keep(id: int) -> bool with db {
  if id == 0 { save(0); return false }
  confirm("Sure?")
}
"""
    assert analysed(OPEN + program).reported() == []


def test_outside_a_tools_call_a_yes_is_taken() -> None:
    assert ran(compiled('print(confirm("Delete all notes?"))')).lines == ["true"]
    assert ran(compiled('print("Send the newsletter now?" | confirm)')).lines == ["true"]
    assert ran(compiled('print(about("Who?", { a: "Everyone", b: "Me" }, "b"))')).lines == ["b"]


def test_an_empty_question_stops() -> None:
    done = ran(compiled('print(confirm(trim(" ")))'))
    assert done.stop is not None
    assert done.stop.message == "`confirm`'s question is empty: say what the user is asked"
    assert done.stop.places[0].line == 1


def test_a_question_that_is_no_text_is_refused() -> None:
    with pytest.raises(DoesNotCheck) as caught:
        compiled("print(confirm(1))")
    assert [d.message for d in caught.value.found] == ["argument 1 of `confirm` must be str, got int"]
