"""Promises of `compiler.effects`: what a function uses, what an AI client may be told of it, and the warnings."""

import random

import pytest

from compiler.effects import EFFECTS, UNSEEN
from tests.analysing import analysed

READS = "select id from notes"


def uses(text: str, name: str = "go") -> str:
    result = analysed(text)
    return ", ".join(result.effects.uses(result.function(name)))


@pytest.mark.parametrize(
    ("body", "used"),
    [
        ("1 + 1", ""),
        ("print(1)", ""),
        ('db.query("select 1")', "db"),
        ('db.exec("delete from t")', "db"),
        ("db.transaction(() => 1)", "db"),
        ('read_file("a")', "fs"),
        ('fetch("https://example.com")', "http"),
        ('[db.one("select 1"), write_file("a", "b"), fetch("https://a.b")]', "db, fs, http"),
        ("helper()", "fs"),
        ("outer()", "fs"),
        ("map([1], x => helper())", "fs"),
        ("[1] | map(take)", "db"),
        ("parallel([helper, () => take(1)])", "db, fs"),
        ("let f = () => helper()", "fs"),
        ("let f = helper", "fs"),
        ("ring(1)", "db"),
        ("even(1)", "http"),
        ("(x => helper())(1)", "fs"),
        ("if false { helper() }", "fs"),
        ("`a ${helper()}`", "fs"),
        ("{ a: [helper()] }", "fs"),
        ("match 1 { 1 => helper(), _ => 2 }", "fs"),
        ("<p class={helper()}>text</p>", "fs"),
        ("<p>{helper()}</p>", "fs"),
        ("<Card/>", "fs"),
        ("tenant()", "db"),
        ("locale()", ""),
    ],
)
def test_effects_are_found_through_every_call_in_sight(body: str, used: str) -> None:
    program = f"""
fn helper() -> str = read_file("a") ?? ""
fn outer() = helper()
fn take(n: int) = db.one("select ?", n)
fn ring(n: int) -> int {{ if n == 0 {{ take(1)
    0 }} else {{ ring(n - 1) }} }}
fn even(n: int) -> bool = n == 0 || odd(n - 1)
fn odd(n: int) -> bool {{ fetch("https://a.b") ?? null
    n != 0 && even(n - 1) }}
component Card() = <p>{{helper()}}</p>
tenant_from(r => db.one("select name from tenants").name)
fn go() {{ {body} }}
"""
    assert uses(program) == used


def test_a_default_value_is_part_of_the_function() -> None:
    assert uses('fn go(a: str = read_file("a") ?? "") = a') == "fs"


def test_a_local_function_counts_where_it_is_called() -> None:
    program = 'fn go() { fn inner() = read_file("a")\n1 }\nfn other() { fn inner() = read_file("a")\ninner() }'
    assert uses(program) == ""
    assert uses(program, "other") == "fs"


def test_effects_are_found_through_used_files() -> None:
    result = analysed(
        'use "lib.qwe" as lib\nfn go() = lib.read()\nfn text() = lib.read', {"lib.qwe": 'fn read() = read_file("a")'}
    )
    assert result.effects.uses(result.function("go")) == ("fs",)
    assert result.effects.uses(result.function("text")) == ("fs",)


def test_a_statement_held_in_a_used_file_is_written_in_the_program() -> None:
    result = analysed(
        'use "lib.qwe" as lib\n/// Does it.\nfn mcp go() with db = db.query(lib.ALL)',
        {"lib.qwe": 'let ALL = "select 1"'},
    )
    assert result.hints("go")["readOnlyHint"]


def test_the_way_to_an_effect_can_be_told() -> None:
    result = analysed('fn a() = b()\nfn b() = c()\nfn c() {\n  1\n  db.exec("delete from t")\n}\n')
    steps = result.effects.why(result.function("a"), "db")
    assert [(step.source.line(step.start), step.text) for step in steps] == [
        (1, "it calls `b`"),
        (2, "it calls `c`"),
        (5, "`db.exec` uses db"),
    ]
    assert result.effects.why(result.function("a"), "fs") == []


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("1", True),
        ("helper()", True),
        ("[1] | map(x => x + 1)", True),
        ("[1] | map(helper)", True),
        ("[1] | map(if true { helper } else { other })", True),
        ("parallel(for i in 0..3 => () => i)", True),
        ("parallel([other, () => 1])", True),
        ("let f = () => 1\nf()", False),
        ("f()", False),
        ("[1] | map(f)", False),
        ("parallel([f])", False),
        ("parallel([...fs])", False),
        ("r.f()", False),
        ("runs(() => 1)", False),
    ],
)
def test_calls_of_functions_held_in_variables_parameters_and_fields_are_out_of_sight(body: str, seen: bool) -> None:
    program = f"""
fn helper(n: any) = 1
fn other() = 2
fn runs(f: fn() -> any) = f()
fn go(f: any, fs: list<any>, r: any) {{ {body} }}
"""
    result = analysed(program)
    assert result.effects.in_sight(result.function("go")) is seen
    assert bool(result.effects.why(result.function("go"), UNSEEN)) is not seen


# --- hints -----------------------------------------------------------------------------------------------------------

READ_ONLY = {
    "nothing at all": "1",
    "a select": 'db.query("select 1")',
    "one row": 'db.one("select count(*) as n from t").n',
    "a select by the third way": 'db.exec("select 1")',
    "a select after a comment": 'db.query("-- the notes\\n select 1")',
    "a statement over several lines": "db.query(`\n  select id\n  from notes\n`)",
    "a statement joined of constants": 'db.query("select " + "id" + " from notes")',
    "a statement held in a variable": 'let sql = "select 1"\ndb.query(sql)',
    "a statement held at the top level": "db.query(ALL)",
    "one of two statements": 'db.query(if n > 1 { "select 1" } else { ALL })',
    "a piece of SQL": 'db.query(sql`select id from notes where id = ${n} and text = ${"a"}`)',
    "a piece of SQL in another": "let part = sql`id = ${n}`\ndb.query(sql`select id from notes where ${part}`)",
    "a piece of SQL with a row's value": (
        'let row = db.one("select 1 as id")\nfor r in db.query(sql`select ${row.id}`) { db.one(sql`select ${r.id}`) }'
    ),
    "a piece of SQL with the caller's name": "db.query(sql`select id from notes where owner = ${session().user}`)",
    "functions that SQLite ships": "db.query(\"select upper(text), json_extract(data, '$.a') from notes\")",
    "a transaction": "db.transaction(() => db.query(ALL))",
    "what it calls": "reads()",
    "a function given to a builtin": "[1] | map(i => db.one(ALL))",
    "a question": 'confirm("Sure?")',
    "a variable of its own": "let m = 1\nm = 2",
    "a top-level variable that it reads": "count",
    "printing": "print(1)",
    "the session": "session()",
}

NOT_READ_ONLY = {
    "an insert": 'db.one("insert into t values (1) returning id")',
    "a delete": 'db.exec("delete from t")',
    "with": 'db.query("with a as (select 1) select * from a")',
    "two statements": 'db.query("select 1; select 2")',
    "a function that SQLite does not ship": "db.query(\"select load_extension('x')\")",
    "a statement that is worked out": "db.query(json(n))",
    "a statement that is a parameter": "db.query(text)",
    "a statement in a variable that changes": 'let sql = "select 1"\nsql = "delete from t"\ndb.query(sql)',
    "one statement of two": 'db.query(if n > 1 { "select 1" } else { "delete from t" })',
    "a piece of SQL that is handed in": "db.query(sql`select ${anything}`)",
    "a statement through a value": "[ALL] | map(db.query)",
    "a top-level variable": "count += 1",
    "a part of a top-level variable": "record.a = 1",
    "the session": 'set_session({ user: "ana" })',
    "the end of the session": "end_session()",
    "a token": "mcp_token()",
    "what it calls": "writes()",
    "a function given to a builtin": '[1] | map(i => db.exec("delete from t"))',
    "a function held in a variable": "let f = () => 1\nf()",
    "a function that is a parameter": "run(() => 1)",
    "reading a file": 'read_file("a")',
    "a request": 'fetch("https://example.com")',
}

HINTS = """
let ALL = "select id from notes"
let count = 0
let record = {{ a: 1 }}
fn reads() = db.query("select 1")
fn writes() = db.exec("delete from t")
fn run(f: fn() -> any) = f()
/// Does it.
fn mcp go(n: int, text: str, anything: any){effects} {{ {body} }}
"""


@pytest.mark.parametrize("body", READ_ONLY.values(), ids=READ_ONLY)
def test_a_tool_that_only_reads_says_so(body: str) -> None:
    assert analysed(HINTS.format(effects=" with db", body=body)).hints("go") == {
        "readOnlyHint": True,
        "openWorldHint": False,
    }


@pytest.mark.parametrize("body", NOT_READ_ONLY.values(), ids=NOT_READ_ONLY)
def test_a_tool_that_may_do_more_than_read_does_not_say_that_it_only_reads(body: str) -> None:
    assert "readOnlyHint" not in analysed(HINTS.format(effects=" with db", body=body)).hints("go")


@pytest.mark.parametrize(
    ("effects", "body", "hints"),
    [
        ("", "1", {"readOnlyHint": True, "openWorldHint": False}),
        ("", "db.query(ALL)", {}),
        (" with db", "1", {"readOnlyHint": True, "openWorldHint": False}),
        (" with db, http", "1", {}),
        (" with db, fs", "1", {"openWorldHint": False}),
        (" with net", "1", {}),
        (" with db", 'fetch("https://a.b")', {}),
        (" with db", 'read_file("a")', {"openWorldHint": False}),
        (" with db", "writes()", {"openWorldHint": False}),
        (" with db", "let f = () => 1\nf()", {"openWorldHint": False}),
    ],
)
def test_each_hint_is_given_only_where_it_is_true(effects: str, body: str, hints: dict[str, bool]) -> None:
    found = analysed(HINTS.format(effects=effects, body=body)).hints("go")
    assert found == hints
    assert list(found) == list(hints)


def test_a_call_out_of_sight_that_may_come_to_a_request_leaves_the_world_open() -> None:
    program = HINTS + 'let handlers = {{ a: () => fetch("https://a.b") }}\n'
    assert analysed(program.format(effects=" with db", body="anything()")).hints("go") == {}
    assert analysed(program.format(effects="", body="anything()")).hints("go") == {}


def test_a_rule_for_tenants_is_part_of_what_a_tool_runs() -> None:
    program = HINTS + 'tenant_from(r => db.one("insert into seen values (1) returning name").name)\n'
    assert analysed(program.format(effects=" with db", body="tenant()")).hints("go") == {"openWorldHint": False}


def test_the_reasons_against_a_hint_are_kept() -> None:
    result = analysed(HINTS.format(effects=" with db, fs", body="writes()\ncount += 1"))
    hints = result.effects.hints(result.function("go"))
    assert [[step.text for step in result.effects.steps(reason)] for reason in hints.against_read_only] == [
        ["it calls `writes`", "the statement of `db.exec` does not start with `select`"],
        ["the variable `count` is changed"],
        ["its `with` names fs"],
    ]
    assert hints.against_closed_world == []


# --- warnings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declaration", "report"),
    [
        ('fn go() with db = read_file("a")', "1: warning: `go` uses fs, and its `with` does not say so: `with db, fs`"),
        (
            'fn go() with http = [read_file("a"), db.one("select 1")]',
            "1: warning: `go` uses db, fs, and its `with` does not say so: `with http, db, fs`",
        ),
        (
            'route GET /a with db = read_file("a") ?? ""',
            "1: warning: the route `GET /a` uses fs, and its `with` does not say so: `with db, fs`",
        ),
    ],
)
def test_a_with_that_leaves_out_an_effect_is_reported(declaration: str, report: str) -> None:
    assert analysed(declaration).reported("Q04") == [report]


@pytest.mark.parametrize(
    "declaration",
    [
        'fn go() = read_file("a")',
        'fn go() with fs = read_file("a")',
        "fn go() with db, fs, http, net = 1",
        'read_file("a")',
        'route GET / = read_file("a") ?? ""',
    ],
)
def test_code_without_with_is_free_and_a_with_may_say_too_much(declaration: str) -> None:
    assert analysed(declaration).reported("Q04") == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("`At ${now()}?`", "now"),
        ('"Draw " + str(random())', "random"),
        ("`Code ${upper(uuid())}?`", "uuid"),
        ("`At ${t}?`", "now"),
        ("question", "now"),
        ('"Sure?"', None),
        ("`Send ${post.title}?`", None),
        ("`Number ${random_int(1, 6)}?`", None),
    ],
)
def test_a_question_that_is_another_one_in_each_round_is_warned_of(text: str, named: str | None) -> None:
    program = f"""
fn go() {{
  let t = now()
  let question = `At ${{t}}?`
  let post = {{ title: "a", id: uuid() }}
  print(question, post)
  confirm({text})
}}
"""
    expected = (
        f"7: warning: `{named}()` makes another question of this each time the call runs: the answer never reaches it"
    )
    assert analysed(program).reported("Q0403") == ([expected] if named else [])


def test_a_dialog_in_a_tool_names_about() -> None:
    message = "error: `ask` shows a dialog in the browser, and a tool has none: use `about(question, choices, default)`"
    program = 'fn helper() = ask("Sure?", ["a"])\n/// Does it.\nfn mcp go() {\n  helper()\n  ask("Really?", ["a"])\n}\n'
    assert analysed(program).reported("Q0404") == [f"1: {message}", f"5: {message}"]
    assert analysed('fn helper() = ask("Sure?", ["a"])').reported("Q0404") == []


def test_a_dialog_with_three_arguments_names_about_wherever_it_stands() -> None:
    message = "error: `ask` takes a message and its options: `about(question, choices, default)` asks the person"
    assert analysed('fn helper() = ask("Who?", { a: "A", b: "B" }, "a")').reported() == [f"1: {message}"]
    assert analysed('/// Asks.\nfn mcp go() = ask("Who?", { a: "A", b: "B" }, "a")').reported() == [f"2: {message}"]


def test_about_in_a_component_is_an_error() -> None:
    program = 'component Card() = <p>{about("Who?", { a: "A", b: "B" }, "a")}</p>'
    assert analysed(program).reported("Q04") == [
        "1: error: a component can't use `about`: `ask(message, options)` asks in the page"
    ]


def test_the_effects_are_those_of_the_language() -> None:
    assert EFFECTS == ("db", "fs", "http", "net")


@pytest.mark.slow
def test_programs_with_errors_are_analysed_without_an_exception() -> None:
    """Mutants of the programs above: whatever the tree, and whatever names and types are unknown."""
    chance = random.Random(8)
    bodies = [*READ_ONLY.values(), *NOT_READ_ONLY.values()]
    for _ in range(150):
        text = HINTS.format(effects=" with db", body=chance.choice(bodies))
        for _ in range(chance.randint(1, 3)):
            start = chance.randrange(len(text))
            piece = chance.choice(
                ["", "(", "}", "`", "=> ", "confirm(", "db.exec", " ?? ", "return ", text[start : start + 30]]
            )
            text = text[:start] + piece + text[start + chance.randint(0, 9) :]
        result = analysed(text)
        assert all(d.message for d in result.diagnostics.in_order())
