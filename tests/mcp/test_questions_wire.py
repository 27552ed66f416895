"""Asking the person (docs/tools.md, section 3), row by row, over stdio: raw messages, and the official client.

| what section 3 says | where it is held |
|---|---|
| outside a tool's call: at once | `test_outside_a_call_...`; over HTTP: tests/http/test_requests.py |
| an empty question, one of one choice, `answering` in a call: a stop | `..._a_failure_of_the_program` |
| the forms; what is sent along | `test_a_confirm_is_a_form_...`, `test_an_about_is_a_form_...` |
| runs again from the top; reads again; which question is the same | `which question is which`, below |
| what is a yes; another value is asked again; declined, cancelled | `forms and answers`, below |
| a client that can't show a form | `a client that can't ask`, below |
| the state: bound to what, once, ten minutes, under 4 KB | test_states_wire.py |
| an answer left out | `test_an_answer_left_out_...` |
| 100 questions; a text that changes | `test_a_hundred_...`, `test_a_text_that_...` |
| ask first; sheltered; `parallel`, `db.transaction`; nothing catches | `ask first`, below |
| the checker sees it first; `ask`; a component | tests/check/s06_functions, tests/test_question_order.py |
| what a client sends in another shape | test_questions_shapes.py |

All but the last are held with both clients: the official one sends no other shape.
"""

from __future__ import annotations

import pytest

from tests.mcp.wire import (
    NO,
    WIRES,
    YES,
    Refused,
    Wire,
    accept,
    failure,
    question,
    structured,
    texts,
)

LIB = """
let seen = 0
let held = { list: [1], record: { a: { b: 1 } } }

fn sure(what: str) -> bool = confirm(`Sure about ${what}?`)

fn sure_of_all(words: list<str>) -> int {
  let n = 0
  for word in words { if sure(word) { n += 1 } }
  n
}

fn see() { seen += 1 }
fn hold() { held.list[0] = 2 }
fn hold_deep() { held.record.a.b += 1 }
"""

PROGRAM = """
use "lib.qwe"

db.open("notes.db")
db.exec("create table if not exists notes (id integer primary key, text text not null)")

let count = 0
let items = [1]

fn number() -> int = db.one("select count(*) as n from notes").n

/// Adds a note.
fn mcp add(text: str) -> int with db = db.one("insert into notes (text) values (?) returning id", text).id

/// How many notes there are.
fn mcp notes() -> int with db = number()

/// Deletes all notes.
fn mcp clear() -> int ! str with db {
  let n = number()
  if !confirm(`Delete all ${n} notes?`) { return err("nothing was deleted: the user said no") }
  db.exec("delete from notes")
  n
}

/// Asks the same at two places.
fn mcp twice() -> list<bool> = [confirm("Sure?"), confirm("Sure?")]

/// Asks in a loop.
fn mcp loops(n: int) -> list<bool> = for i in 0..n => confirm("Go on?")

/// Asks in a recursion.
fn mcp down(n: int) -> list<bool> = if n == 0 { [] } else { [confirm("Deeper?"), ...down(n - 1)] }

/// Asks by functions of a file that it uses.
fn mcp elsewhere() -> list<any> = [sure("this"), sure("this"), sure_of_all(["a", "b"])]

/// Asks one way or the other.
fn mcp ways() -> str {
  if confirm("Left?") {
    if confirm("Far?") { "far left" } else { "left" }
  } else {
    if confirm("Far?") { "far right" } else { "right" }
  }
}

/// Publishes a post.
fn mcp publish(title: str) -> str ! str {
  let who = about("Who can see it?", { public: "Everyone", draft: "Only me, as a draft" }, "draft")
  if !confirm(`Publish "${title}" now?`) { return err("not published: the user said no") }
  who
}

let LETTERS = { a: "A", b: "B" }

/// Chooses and asks nothing else.
fn mcp choose() -> list<str> =
  [about("Which?", LETTERS, "a"), about("Which?", LETTERS, "b"), about("Which?", LETTERS, "a")]

/// Chooses in a loop.
fn mcp chooses(n: int) -> int {
  for i in 0..n { about(`Which of ${i}?`, { a: "A", b: "B" }, "a") }
  n
}

/// Never asks the same.
fn mcp changing() -> bool = confirm(`Now ${uuid()}?`)

fn ask_it(x: any) -> any = confirm("Inside?")
let asks = [ask_it]

/// Has a builtin run a function that asks.
fn mcp sheltered(how: str) -> any {
  let ask = asks[0]
  let ways = {
    map: () => map([1], ask), filter: () => filter([1], ask), find: () => find([1], ask), any: () => any([1], ask),
    all: () => all([1], ask), sort: () => sort([2, 1], ask), unique: () => unique([1], ask),
    reduce: () => reduce([1], (sum, x) => ask(x), 0), group_by: () => group_by([1], x => str(ask(x))),
    deep: () => map([1], x => parallel([() => ask(x)])),
    caught: () => map([1], ask) ?? "caught", tried: () => is_err(map([1], ask)),
    matched: () => match map([1], ask) { err(e) => "caught", x => x }
  }
  ways[how]()
}

/// Runs its own code side by side.
fn mcp side_by_side() -> any {
  let order = []
  let answers = parallel([
    () => { order += ["first"]; confirm("First?") }, () => { order += ["second"]; confirm("Second?") }
  ])
  [order, answers]
}

/// Asks in a transaction.
fn mcp in_transaction(text: str) -> any with db =
  db.transaction(() => {
    if confirm("Keep it?") { db.one("insert into notes (text) values (?) returning id", text).id }
  })

/// Changes something, as the checker can't see, and asks then.
fn mcp late(how: str) -> any with db, fs, http {
  let does = {
    exec: () => db.exec("insert into notes (text) values ('late')"),
    one: () => db.one("insert into notes (text) values ('late') returning id"),
    query: () => db.query("insert into notes (text) values ('late') returning id"),
    with: () => db.query("with t(x) as (select 'late') insert into notes (text) select x from t"),
    pragma: () => db.query("pragma user_version(3)"),
    table: () => db.exec("create table if not exists other (n)"),
    transaction: () => db.transaction(() => db.exec("insert into notes (text) values ('late')")),
    nothing_done: () => db.exec("delete from notes where id < 0"),
    failed: () => db.exec("insert into nowhere values (1)") ?? null,
    write: () => write_file("late.txt", "x"), append: () => append_file("late.txt", "x"),
    delete: () => delete_file("late.txt") ?? null, fetch: () => fetch("ftp://x") ?? null,
    variable: () => { count = 1 }, add: () => { count += 1 },
    item: () => { items[0] = 2 }, more: () => { items += [2] },
    elsewhere: () => see(), path: () => hold(), deep: () => hold_deep()
  }
  does[how]()
  asks[0](1) ?? "caught"
}

/// Does what changes nothing, and asks then.
fn mcp early(how: str) -> any with db, fs {
  let mine = [1]
  let does = {
    select: () => db.query("select text from notes"), exec: () => db.exec("select 1"),
    with: () => db.query("with recursive n(i) as (values (1) union all select i + 1 from n) select i from n limit 3"),
    values: () => db.query("values (1)"), pragma: () => db.query("pragma table_info(notes)"),
    explain: () => db.query("explain delete from notes"), read: () => read_file("main.qwe"), files: () => files("."),
    print: () => print("x"), log: () => log("x"), env: () => env("HOME"), now: () => now(), mine: () => { mine[0] = 2 },
    nothing: () => db.transaction(() => db.query("select 1"))
  }
  does[how]()
  asks[0](1)
}

/// Tries to go on without a yes.
fn mcp insists(how: str) -> any {
  let ask = asks[0]
  if how == "??" { ask(1) ?? "went on" } else if how == "match" { match ask(1) { err(e) => "went on", x => x } }
  else if how == "is_err" { is_err(ask(1)) } else { about("Which?", { a: "A", b: "B" }, "a") ?? "went on" }
}

/// Asks nothing.
fn mcp empty(text: str) -> any = confirm(text)

let at_start = [confirm("Start?"), about("How?", { a: "A", b: "B" }, "b")]

/// What was answered at the start.
fn mcp started() -> list<any> = at_start

/// Asks what can't be asked.
fn mcp wrong(how: str) -> any {
  let does = {
    one: () => about("Which?", only(["a"]), "a"), none: () => about("Which?", only([]), "a"),
    default: () => about("Which?", only(["a", "b"]), how), label: () => about("Which?", of_numbers(), "a"),
    answering: () => answering(true, () => confirm("Sure?")), blank: () => about(trim(" "), only(["a", "b"]), "a")
  }
  does[how]()
}

fn of_numbers() -> any = { a: 1, b: 2 }

fn only(keys: list<str>) -> any {
  let choices = {}
  for key in keys { choices[key] = key }
  choices
}
"""


@pytest.fixture(scope="module", params=WIRES)
def wire(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    (folder / "main.qwe").write_text(PROGRAM, "utf-8")
    (folder / "lib.qwe").write_text(LIB, "utf-8")
    with WIRES[request.param](folder / "main.qwe") as made:
        yield made


# --- forms and answers


def test_a_confirm_is_a_form_with_one_box(wire: Wire):
    asked = wire.call("twice", {})
    assert asked["inputRequests"]["ask"]["params"] == {
        "mode": "form",
        "message": "Sure?",
        "requestedSchema": {
            "type": "object",
            "properties": {"yes": {"type": "boolean", "title": "Sure?", "default": False}},
        },
    }
    assert isinstance(asked["requestState"], str)


def test_an_about_is_a_form_with_one_choice(wire: Wire):
    form = wire.call("publish", {"title": "x"})["inputRequests"]["ask"]["params"]
    assert form["message"] == "Who can see it?"
    assert form["requestedSchema"] == {
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
    }


@pytest.mark.parametrize(
    ("response", "goes_on"),
    [
        (YES, True),
        (NO, False),
        (accept(), False),
        ({"action": "accept"}, False),
        ({"action": "decline"}, False),
        ({"action": "cancel"}, False),
        ({"action": "decline", "content": {"yes": True}}, False),
        (accept(yes="true"), False),
        (accept(yes=1), False),
        (accept(yes="yes"), False),
        (accept(choice="yes"), False),
        (accept(yes=False, choice="yes"), False),
    ],
)
def test_only_a_ticked_box_is_a_yes(wire: Wire, response, goes_on):
    wire.value("add", text="milk")
    there = wire.value("notes")
    result, asked = wire.through("clear", response)
    assert asked == [f"Delete all {there} notes?"]
    if goes_on:
        assert structured(result) == there
        assert wire.value("notes") == 0
    else:
        assert failure(result) == "nothing was deleted: the user said no"
        assert wire.value("notes") == there


@pytest.mark.parametrize("key", ["public", "draft"])
def test_an_about_gives_the_key_that_was_picked(wire: Wire, key):
    result, asked = wire.through("publish", accept(choice=key), YES, title="x")
    assert asked == ["Who can see it?", 'Publish "x" now?']
    assert structured(result) == key


@pytest.mark.parametrize(
    "response", [accept(choice="nobody"), accept(choice=5), accept(), {"action": "accept"}, accept(yes=True)]
)
def test_what_is_no_choice_is_asked_again(wire: Wire, response):
    result, asked = wire.through("publish", response, accept(choice="public"), YES, title="x")
    assert asked == ["Who can see it?", "Who can see it?", 'Publish "x" now?']
    assert structured(result) == "public"


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_an_about_that_is_not_answered_ends_the_call(wire: Wire, action):
    result, _ = wire.through("publish", {"action": action}, title="x")
    assert failure(result) == 'the user did not answer "Who can see it?"'
    assert wire.log() == ""


# --- which question is which


def test_one_text_at_two_places_is_two_questions(wire: Wire):
    result, asked = wire.through("twice", YES, NO)
    assert (structured(result), asked) == ([True, False], ["Sure?", "Sure?"])
    assert structured(wire.through("twice", NO, YES)[0]) == [False, True]


def test_each_turn_of_a_loop_is_a_question_of_its_own(wire: Wire):
    result, asked = wire.through("loops", YES, NO, YES, n=3)
    assert (structured(result), asked) == ([True, False, True], ["Go on?"] * 3)


def test_each_depth_of_a_recursion_is_a_question_of_its_own(wire: Wire):
    result, asked = wire.through("down", NO, YES, NO, YES, n=4)
    assert (structured(result), asked) == ([False, True, False, True], ["Deeper?"] * 4)


def test_functions_of_used_files_ask_too(wire: Wire):
    result, asked = wire.through("elsewhere", YES, NO, NO, YES)
    assert structured(result) == [True, False, 1]
    assert asked == ["Sure about this?", "Sure about this?", "Sure about a?", "Sure about b?"]


@pytest.mark.parametrize(
    ("responses", "way"), [((YES, YES), "far left"), ((YES, NO), "left"), ((NO, YES), "far right"), ((NO, NO), "right")]
)
def test_the_next_question_may_depend_on_an_answer(wire: Wire, responses, way):
    result, asked = wire.through("ways", *responses)
    assert (structured(result), asked) == (way, ["Left?", "Far?"])


def test_what_was_read_before_is_read_again_and_another_text_is_another_question(wire: Wire):
    wire.value("add", text="milk")
    asked = wire.call("clear")
    there = wire.value("notes")
    assert question(asked) == f"Delete all {there} notes?"
    wire.value("add", text="eggs")
    again = wire.again(asked, "clear", YES)
    assert question(again) == f"Delete all {there + 1} notes?"
    assert wire.value("notes") == there + 1
    assert structured(wire.again(again, "clear", YES)) == there + 1


def test_a_text_that_changes_in_two_rounds_one_after_the_other_ends_the_call(wire: Wire):
    result = wire.call("clear")
    for _ in range(2):
        wire.value("add", text="milk")
        question(result)
        result = wire.again(result, "clear", YES)
    assert failure(result) == "this question changes each time it is asked"
    assert failure(wire.through("changing", YES, YES)[0]) == "this question changes each time it is asked"
    assert wire.value("notes") >= 2


def test_a_text_that_stays_for_a_round_may_change_again(wire: Wire):
    result = wire.call("clear")
    for _ in range(3):
        wire.value("add", text="milk")
        result = wire.again(result, "clear", YES)
        there = wire.value("notes")
        assert question(result) == f"Delete all {there} notes?"
        result = wire.again(result, "clear", None)
        assert question(result) == f"Delete all {there} notes?"
    assert structured(wire.again(result, "clear", YES)) == there


# --- answers that are left out, and limits


@pytest.mark.parametrize("responses", [{}, None, {"other": YES}])
def test_an_answer_left_out_is_asked_for_again_and_uses_up_the_state(wire: Wire, responses):
    asked = wire.call("twice")
    more = {} if responses is None else {"inputResponses": responses}
    again = wire.call("twice", requestState=asked["requestState"], **more)
    assert question(again) == "Sure?"
    assert again["requestState"] != asked["requestState"]
    with pytest.raises(Refused) as refused:
        wire.again(asked, "twice", YES)
    assert refused.value.code == -32602
    assert refused.value.message == (
        "`requestState` was used already: each is good once: call `twice` again without it"
    )
    assert question(wire.again(again, "twice", YES)) == "Sure?"


def test_an_answer_without_a_state_answers_nothing(wire: Wire):
    assert question(wire.call("twice", inputResponses={"ask": YES})) == "Sure?"


def test_a_hundred_questions_are_the_most(wire: Wire):
    result, asked = wire.through("loops", *[YES] * 100, n=100)
    assert structured(result) == [True] * 100
    assert len(asked) == 100
    result, _ = wire.through("loops", *[NO] * 100, n=101)
    assert failure(result) == "this call asked 100 times without coming to an end"


# --- a client that can't ask


def test_a_client_that_cannot_ask_is_refused_and_nothing_after_it_runs(wire: Wire):
    wire.value("add", text="milk")
    there = wire.value("notes")
    assert failure(wire.call("clear", {}, can_ask=False)) == "this needs the user's yes, and this client cannot ask"
    assert wire.value("notes") == there
    assert wire.log() == ""


def test_an_about_takes_its_default_and_says_so(wire: Wire):
    result = wire.call("choose", {}, can_ask=False)
    assert texts(result) == [
        '{"result":["a","b","a"]}',
        'the user was not asked "Which?": the default "A" was taken',
        'the user was not asked "Which?": the default "B" was taken',
    ]
    assert structured(result) == ["a", "b", "a"]
    assert texts(wire.call("publish", {"title": "x"}, can_ask=False)) == [
        "this needs the user's yes, and this client cannot ask",
        'the user was not asked "Who can see it?": the default "Only me, as a draft" was taken',
    ]


def test_questions_that_were_not_asked_are_counted_too(wire: Wire):
    assert len(texts(wire.call("chooses", {"n": 100}, can_ask=False))) == 101
    result = wire.call("chooses", {"n": 101}, can_ask=False)
    assert failure(result) == "this call asked 100 times without coming to an end"


@pytest.mark.parametrize("how", ["??", "match", "is_err"])
def test_nothing_catches_the_refusal_of_a_client_that_cannot_ask(wire: Wire, how):
    result = wire.call("insists", {"how": how}, can_ask=False)
    assert failure(result) == "this needs the user's yes, and this client cannot ask"


def test_nothing_catches_an_about_that_is_declined(wire: Wire):
    result, _ = wire.through("insists", {"action": "decline"}, how="about")
    assert failure(result) == 'the user did not answer "Which?"'


# --- ask first

CHANGES = {
    **dict.fromkeys(("exec", "table", "transaction", "nothing_done", "failed"), "`db.exec`"),
    "one": "`db.one`",
    **dict.fromkeys(("query", "with", "pragma"), "`db.query`"),
    "write": "`write_file`",
    "append": "`append_file`",
    "delete": "`delete_file`",
    "fetch": "`fetch`",
    **dict.fromkeys(("variable", "add"), "the variable `count`"),
    **dict.fromkeys(("item", "more"), "the variable `items`"),
    "elsewhere": "the variable `seen`",
    **dict.fromkeys(("path", "deep"), "the variable `held`"),
}


@pytest.mark.parametrize("can_ask", [True, False])
@pytest.mark.parametrize("how", CHANGES)
def test_a_question_after_any_change_is_refused_and_the_log_names_both(wire: Wire, how, can_ask):
    there = wire.value("notes")
    wire.log()
    assert failure(wire.call("late", {"how": how}, can_ask)) == "internal error"
    first = wire.log().splitlines()[0]
    assert first.endswith(
        f": `confirm` comes after {CHANGES[how]}: ask before changing anything: the call runs again with the answer"
        ' (the question was "Inside?")'
    )
    assert first.startswith("line ")
    if how in ("exec", "one", "query", "with", "transaction"):
        assert wire.value("notes") == there + 1, "the change stands"


@pytest.mark.parametrize(
    "how",
    ["select", "exec", "with", "values", "pragma", "explain", "read", "files", "print", "log", "env", "now", "mine",
     "nothing"],
)  # fmt: skip
def test_what_changes_nothing_may_come_before_a_question(wire: Wire, how):
    result, asked = wire.through("early", YES, how=how)
    assert (asked, structured(result)) == (["Inside?"], True)


@pytest.mark.parametrize(
    "how",
    ["map", "filter", "find", "any", "all", "sort", "unique", "reduce", "group_by", "deep", "caught", "tried",
     "matched"],
)  # fmt: skip
def test_nobody_is_asked_in_a_function_that_a_builtin_calls(wire: Wire, how):
    wire.log()
    for can_ask in (True, False):
        assert failure(wire.call("sheltered", {"how": how}, can_ask)) == "internal error"
        assert (
            "`confirm` stands in a function that was given to a builtin, where nobody can be asked: ask before"
            ' (the question was "Inside?")'
        ) in wire.log()


def test_parallel_runs_its_functions_one_after_the_other(wire: Wire):
    result, asked = wire.through("side_by_side", YES, NO)
    assert asked == ["First?", "Second?"]
    assert structured(result) == [["first", "second"], [True, False]]


def test_a_transaction_that_asks_keeps_nothing_until_the_answer(wire: Wire):
    there = wire.value("notes")
    asked = wire.call("in_transaction", {"text": "kept"})
    assert question(asked) == "Keep it?"
    assert wire.value("notes") == there, "a question leaves no transaction open: others go on"
    wire.value("add", text="another")
    wire.again(asked, "in_transaction", YES, text="kept")
    assert wire.value("notes") == there + 2


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_question_is_a_failure_of_the_program(wire: Wire, text):
    wire.log()
    assert failure(wire.call("empty", {"text": text})) == "internal error"
    assert "`confirm`'s question is empty: say what the user is asked" in wire.log()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("one", "`about` needs at least two choices, got 1"),
        ("none", "`about` needs at least two choices, got 0"),
        ("default", "`about`'s default must be one of its keys, `a`, `b`, got `default`"),
        ("label", "`about`"),
        ("answering", "`answering`"),
        ("blank", "`about`'s question is empty: say what the user is asked"),
    ],
)
def test_what_cannot_be_asked_is_a_failure_of_the_program(wire: Wire, how, words):
    wire.log()
    for can_ask in (True, False):
        assert failure(wire.call("wrong", {"how": how}, can_ask)) == "internal error"
        assert words in wire.log()


def test_outside_a_call_a_question_has_its_answer_at_once(wire: Wire):
    assert wire.value("started") == [True, "b"]
