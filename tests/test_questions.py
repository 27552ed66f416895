"""Asking the person: `confirm` and `about` in a tool's call (docs/tools.md, section 3)."""

from __future__ import annotations

import pytest

from tests.talking import FORMS, Talk, yes

NOTES = """
db.open("notes.db")
db.exec("create table if not exists notes (id integer primary key, text text not null)")

/// Adds a note.
fn mcp add_note(text: str) -> int with db =
  db.one("insert into notes (text) values (?) returning id", text).id

/// Deletes every note, after asking the person.
fn mcp clear_notes() -> int ! str with db {
  let n = db.one("select count(*) as n from notes").n
  if !confirm(`Delete all ${n} notes?`) {
    return err("nothing was deleted: the user said no")
  }
  db.exec("delete from notes")
  n
}

/// How many notes there are, if the person says so.
fn mcp peek() -> int with db {
  if !confirm("Look?") { return 0 }
  db.one("select count(*) as n from notes").n
}

/// Publishes a post.
fn mcp publish(title: str) -> str with db {
  let who = about("Who can see it?", { public: "Everyone", draft: "Only me, as a draft" }, "draft")
  if !confirm(`Publish "${title}" now?`) { return "no" }
  db.exec("insert into notes (text) values (?)", title)
  who
}

/// Asks often.
fn mcp often(n: int) -> int {
  let said = 0
  for i in 0..n { if confirm("Go on?") { said += 1 } }
  said
}

/// Never the same.
fn mcp changing() -> bool = confirm(`Now ${uuid()}?`)

fn ask_it(x: any) { confirm("Inside?") }
let held = [ask_it]

/// Asks in a function given to a builtin.
fn mcp sheltered(caught: bool) -> any {
  if caught { map([1], x => held[0](x)) ?? "caught" } else { map([1], x => held[0](x)) }
}

/// Asks in a transaction and at once.
fn mcp inside() -> any with db = db.transaction(() => parallel([() => confirm("One?"), () => confirm("Two?")]))

let count = 0

/// Changes and asks: what the checker can't see.
fn mcp late(how: str) -> any with db, fs, http {
  let does = {
    exec: x => db.exec("insert into notes (text) values ('late')"),
    one: x => db.one("insert into notes (text) values ('late') returning id"),
    select: x => db.one("select 1"),
    file: x => write_file("late.txt", "x"),
    read: x => read_file("late.txt"),
    variable: x => { count += 1 },
    fetch: x => fetch("ftp://x"),
    print: x => print("x")
  }
  does[how](1) ?? null
  held[0](1) ?? "caught"
}

/// Asks what may be gone.
fn mcp pick(word: str) -> str with db {
  let found = db.query("select text from notes order by id")
  let choices = from_entries(for n in found => [n.text, n.text])
  about("Which?", choices, found[0].text)
}
"""


@pytest.fixture
def talk(tmp_path):
    made = Talk(NOTES, tmp_path)
    for text in ("milk", "eggs"):
        made.value("add_note", text=text)
    yield made
    made.close()


def count(talk: Talk) -> int:
    return talk.running.world.database.main.execute("select count(*) from notes").fetchone()[0]


def test_a_confirm_is_a_form_with_one_box(talk):
    result = talk.call("clear_notes")
    assert result["inputRequests"] == {
        "ask": {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Delete all 2 notes?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"yes": {"type": "boolean", "title": "Delete all 2 notes?", "default": False}},
                },
            },
        }
    }
    assert isinstance(result["requestState"], str)
    assert count(talk) == 2


def test_an_about_is_a_form_with_one_choice(talk):
    assert talk.call("publish", {"title": "x"})["inputRequests"]["ask"]["params"] == {
        "mode": "form",
        "message": "Who can see it?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "choice": {
                    "type": "string",
                    "oneOf": [
                        {"const": "public", "title": "Everyone"},
                        {"const": "draft", "title": "Only me, as a draft"},
                    ],
                    "default": "draft",
                }
            },
            "required": ["choice"],
        },
    }


def test_a_yes_goes_on(talk):
    result = talk.again(talk.call("clear_notes"), "clear_notes", yes())
    assert result["structuredContent"] == {"result": 2}
    assert count(talk) == 0


@pytest.mark.parametrize(
    "response",
    [
        {"action": "accept", "content": {"yes": False}},
        {"action": "accept", "content": {}},
        {"action": "accept"},
        {"action": "accept", "content": {"yes": "true"}},
        {"action": "accept", "content": {"yes": 1}},
        {"action": "accept", "content": {"no": True}},
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "decline", "content": {"yes": True}},
    ],
)
def test_everything_else_is_a_no(talk, response):
    result = talk.again(talk.call("clear_notes"), "clear_notes", response)
    assert result["isError"]
    assert result["content"][0]["text"] == "nothing was deleted: the user said no"
    assert count(talk) == 2


def test_two_questions_come_one_after_the_other(talk):
    first = talk.call("publish", {"title": "x"})
    second = talk.again(first, "publish", yes(choice="public"), title="x")
    assert talk.asked(second) == 'Publish "x" now?'
    assert count(talk) == 2
    assert talk.again(second, "publish", yes(), title="x")["structuredContent"] == {"result": "public"}
    assert count(talk) == 3


@pytest.mark.parametrize("content", [{"choice": "nobody"}, {"choice": 5}, {}, {"yes": True}])
def test_a_choice_that_is_none_is_asked_again(talk, content):
    asked = talk.call("publish", {"title": "x"})
    again = talk.again(asked, "publish", {"action": "accept", "content": content}, title="x")
    assert talk.asked(again) == "Who can see it?"


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_an_about_that_is_declined_ends_the_call(talk, action):
    result = talk.again(talk.call("publish", {"title": "x"}), "publish", {"action": action}, title="x")
    assert result["isError"]
    assert result["content"] == [{"type": "text", "text": 'the user did not answer "Who can see it?"'}]
    assert talk.log == []


def test_what_the_first_run_read_is_read_again(talk):
    asked = talk.call("clear_notes")
    talk.value("add_note", text="bread")
    again = talk.again(asked, "clear_notes", yes())
    assert talk.asked(again) == "Delete all 3 notes?"
    assert talk.again(again, "clear_notes", yes())["structuredContent"] == {"result": 3}


def test_an_answer_left_out_is_asked_for_again_with_a_new_state(talk):
    asked = talk.call("clear_notes")
    again = talk.again(asked, "clear_notes", None)
    assert talk.asked(again) == "Delete all 2 notes?"
    assert again["requestState"] != asked["requestState"]
    code, text = talk.error(
        "tools/call", {"name": "clear_notes", "requestState": asked["requestState"], "inputResponses": {"ask": yes()}}
    )
    assert (code, text) == (
        -32602,
        "`requestState` was used already: each is good once: call `clear_notes` again without it",
    )
    assert talk.again(again, "clear_notes", yes())["structuredContent"] == {"result": 2}


def test_a_refused_state_starts_over_and_uses_up_nothing(talk):
    asked = talk.call("clear_notes")
    state = asked["requestState"]
    assert talk.error("tools/call", {"name": "peek", "requestState": state})[0] == -32602
    assert talk.error("tools/call", {"name": "clear_notes", "arguments": {"x": 1}, "requestState": state})[0] == -32602
    assert talk.again(asked, "clear_notes", yes())["structuredContent"] == {"result": 2}


def test_a_state_lasts_ten_minutes(talk):
    asked = talk.call("clear_notes")
    talk.clock.now += 600
    code, text = talk.error("tools/call", {"name": "clear_notes", "requestState": asked["requestState"]})
    assert (code, text) == (
        -32602,
        "`requestState` has expired: an answer may take 10 minutes: call `clear_notes` again without it",
    )


def test_a_state_outlives_a_restart_but_no_other_program(talk, tmp_path):
    asked = talk.call("clear_notes")
    talk.close()
    restarted = Talk(NOTES, tmp_path)
    changed = Talk(NOTES.replace("Look?", "Look now?"), tmp_path)
    params = {"name": "clear_notes", "requestState": asked["requestState"], "inputResponses": {"ask": yes()}}
    assert "before the program changed" in changed.error("tools/call", params)[1]
    assert restarted.again(asked, "clear_notes", yes())["structuredContent"] == {"result": 2}
    changed.close()
    restarted.close()


def test_a_tool_that_only_reads_may_ask(talk):
    assert next(tool for tool in talk.module.tools if tool.name == "peek").read_only
    assert talk.again(talk.call("peek"), "peek", yes())["structuredContent"] == {"result": 2}


def test_a_question_in_a_loop_is_a_new_one_each_turn(talk):
    result = talk.call("often", {"n": 3})
    for answer in (True, False, True):
        assert talk.asked(result) == "Go on?"
        result = talk.again(result, "often", yes(yes=answer), n=3)
    assert result["structuredContent"] == {"result": 2}


def test_a_hundred_questions_are_enough(talk):
    result = talk.call("often", {"n": 101})
    for _ in range(100):
        result = talk.again(result, "often", yes(), n=101)
    assert result["content"][0]["text"] == "this call asked 100 times without coming to an end"
    assert result["isError"]
    result = talk.call("often", {"n": 100})
    for _ in range(100):
        result = talk.again(result, "often", yes(), n=100)
    assert result["structuredContent"] == {"result": 100}


def test_an_answer_always_left_out_comes_to_an_end_too(talk):
    result = talk.call("clear_notes")
    for _ in range(99):
        result = talk.again(result, "clear_notes", None)
        assert result["resultType"] == "input_required"
    result = talk.again(result, "clear_notes", None)
    assert result["content"][0]["text"] == "this call asked 100 times without coming to an end"


def test_a_question_that_changes_each_time_ends_the_call(talk):
    first = talk.call("changing")
    second = talk.again(first, "changing", yes())
    third = talk.again(second, "changing", yes())
    assert third["isError"]
    assert third["content"][0]["text"] == "this question changes each time it is asked"


# --- a client that can't ask


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"sampling": {}}])
def test_a_client_that_cannot_ask(talk, capabilities):
    assert talk.failure("clear_notes", {}, capabilities) == "this needs the user's yes, and this client cannot ask"
    assert count(talk) == 2
    result = talk.call("pick", {"word": ""}, capabilities)
    assert result["structuredContent"] == {"result": "milk"}
    assert result["content"][1] == {
        "type": "text",
        "text": 'the user was not asked "Which?": the default "milk" was taken',
    }


def test_what_was_not_asked_is_told_with_a_failure_too(talk):
    result = talk.call("publish", {"title": "x"}, {})
    assert [block["text"] for block in result["content"]] == [
        "this needs the user's yes, and this client cannot ask",
        'the user was not asked "Who can see it?": the default "Only me, as a draft" was taken',
    ]
    assert result["isError"]


@pytest.mark.parametrize("capabilities", [FORMS, {"elicitation": {}}, {"elicitation": {"form": {}, "url": {}}}])
def test_a_client_that_can_ask(talk, capabilities):
    assert talk.call("clear_notes", {}, capabilities)["resultType"] == "input_required"


# --- ask first


@pytest.mark.parametrize(
    ("how", "change"),
    [
        ("exec", "`db.exec`"),
        ("one", "`db.one`"),
        ("file", "`write_file`"),
        ("variable", "the variable `count`"),
        ("fetch", "`fetch`"),
    ],
)
@pytest.mark.parametrize("capabilities", [FORMS, {}])
def test_a_question_after_a_change_is_refused(talk, how, change, capabilities):
    assert talk.failure("late", {"how": how}, capabilities) == "internal error"
    [entry] = talk.log
    assert f"`confirm` comes after {change}: ask before changing anything" in entry
    assert '"Inside?"' in entry
    if how == "exec":
        assert count(talk) == 3, "the change stands"


def test_what_counts_as_a_change_is_what_the_language_says():
    from compiler.prelude import BUILTINS
    from server.calls import CHANGES, STATEMENTS

    assert {name for name, builtin in BUILTINS.items() if builtin.change} - STATEMENTS == CHANGES


@pytest.mark.parametrize("how", ["select", "read", "print"])
def test_what_changes_nothing_may_come_before_a_question(talk, how):
    assert talk.asked(talk.call("late", {"how": how})) == "Inside?"


@pytest.mark.parametrize("caught", [False, True])
def test_nobody_is_asked_in_a_function_that_a_builtin_calls(talk, caught):
    assert talk.failure("sheltered", {"caught": caught}) == "internal error"
    assert "`confirm` stands in a function that was given to a builtin" in talk.log[0]


def test_parallel_and_transactions_run_the_tools_own_code(talk):
    result = talk.call("inside")
    for question in ("One?", "Two?"):
        assert talk.asked(result) == question
        assert talk.running.world.database.holder is None
        result = talk.again(result, "inside", yes())
    assert result["structuredContent"] == {"result": [True, True]}


def test_outside_a_call_nobody_is_asked(tmp_path):
    text = 'print(confirm("Sure?"), about("Which?", { a: "A", b: "B" }, "b"))\n/// One.\nfn mcp one() -> int = 1\n'
    assert Talk(text, tmp_path).printed == ["true b\n"]


def test_a_choice_that_is_gone_is_asked_for_again(talk):
    asked = talk.call("pick", {"word": "a"})
    talk.running.world.database.main.execute("update notes set text = 'oats' where text = 'eggs'")
    again = talk.again(asked, "pick", yes(choice="eggs"), word="a")
    assert talk.asked(again) == "Which?"
    assert talk.again(again, "pick", yes(choice="oats"), word="a")["structuredContent"] == {"result": "oats"}
