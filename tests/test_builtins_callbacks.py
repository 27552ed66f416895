"""The builtins that are written in Quillo: what they give, when they end, and how errors pass through them."""

from __future__ import annotations

import tempfile

import pytest

from qvm.host import Question
from qvm.program import Program, Returned
from server.host import ProgramHost, World
from tests.programs import Ran, compiled, ran, straight

NOTES = """db.open(":memory:")
db.exec("create table notes (id integer primary key, text text not null unique)")
fn count() -> int with db = db.one("select count(*) as n from notes").n
fn add(text: any) with db = db.exec("insert into notes (text) values (?)", text)
"""


def run(text: str) -> Ran:
    return ran(compiled(text))


def printed(text: str) -> list[str]:
    done = run(text)
    assert done.stop is None, done.stop
    return done.lines


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[1, 2] | map(x => x * 2)", "[2, 4]"),
        ("[] | map(x => x * 2)", "[]"),
        ("['1', '2'] | map(int)".replace("'", '"'), "[1, 2]"),
        ('["a"] | map(upper)', '["A"]'),
        ("[1, 2, 3] | filter(x => x != 2)", "[1, 3]"),
        ("[1, 2, 3] | reduce((a, x) => a * x, 1)", "6"),
        ("[] | reduce((a, x) => a * x, 1)", "1"),
        ('["a", "b"] | reduce((a, x) => a + x, "")', "ab"),
        ("[1, 5, 2] | reduce(max, 0)", "5"),
        ("[1, 2, 3] | find(x => x > 1)", "2"),
        ("[1, 2, 3] | find(x => x > 3)", "null"),
        ("[1, 2] | any(x => x == 2)", "true"),
        ("[] | any(x => x == 2)", "false"),
        ("[1, 2] | all(x => x == 2)", "false"),
        ("[] | all(x => x == 2)", "true"),
        ("sort([3, 1, 2])", "[1, 2, 3]"),
        ("sort([3, 1, 2], x => -x)", "[3, 2, 1]"),
        ("sort([{ n: 2, t: 1 }, { n: 1, t: 2 }, { n: 2, t: 3 }], r => r.n) | map(r => r.t)", "[2, 1, 3]"),
        ("sort([1.5, 1, -2])", "[-2, 1, 1.5]"),
        ('sort(["b", "B", "ä", "a"])', '["B", "a", "b", "ä"]'),
        ("sort([])", "[]"),
        ("unique([1, 1.0, true, 2])", "[1, true, 2]"),
        ("unique([1, 2, 3, 4], x => x % 2)", "[1, 2]"),
        ('group_by([1, 2, 3], x => if x == 2 { "even" } else { "odd" })', '{"odd": [1, 3], "even": [2]}'),
        ("parallel([() => 1, () => 2])", "[1, 2]"),
        ("parallel([])", "[]"),
        ("[[2, 1], [4, 3]] | map(sort)", "[[1, 2], [3, 4]]"),
        ("[[1, 2], [3]] | map(xs => xs | map(x => x + 1))", "[[2, 3], [4]]"),
    ],
)
def test_what_they_give(expression: str, value: str) -> None:
    assert printed(f"print({expression})") == [value]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("[1] | filter(x => some(x))", "the function given to `filter` must give bool, got int"),
        ("[1] | find(x => some(null))", "the function given to `find` must give bool, got null"),
        ('[1] | any(x => some("yes"))', "the function given to `any` must give bool, got str"),
        ("[1] | all(some)", "the function given to `all` must give bool, got int"),
        ("[1] | group_by(some)", "the function given to `group_by` must give str, got int"),
        ("sort([1, true], some)", "`sort` can't put bool in order: what it sorts by must be numbers or texts"),
        ("some(1) | map(some)", "argument 1 of `map` must be list<any>, got int"),
    ],
)
def test_what_is_wrong_stops_where_the_builtin_is_called(expression: str, message: str) -> None:
    done = run(f"fn some(v: any) -> any = v\nprint(\n  {expression}\n)")
    assert done.stop is not None
    assert done.stop.message == message
    assert done.stop.error is None
    assert [(place.line, place.function) for place in done.stop.places] == [(3, "")]


def test_find_any_and_all_end_at_the_first_item_that_settles_it() -> None:
    lines = printed("""
fn loud(x: int) -> int {
  print(x)
  x
}
[1, 2, 3] | find(x => loud(x) == 2)
[4, 5, 6] | any(x => loud(x) == 4)
[7, 8, 9] | all(x => loud(x) == 7)
""")
    assert lines == ["1", "2", "4", "7", "8"]


def test_a_key_is_asked_for_once_an_item() -> None:
    lines = printed("""
let calls = 0
fn key(x: int) -> int {
  calls += 1
  -x
}
print(sort([1, 2, 3, 4, 5], key))
print(calls)
""")
    assert lines == ["[5, 4, 3, 2, 1]", "5"]


@pytest.mark.parametrize(
    "expression",
    [
        "map(xs, fails)",
        "filter(xs, fails)",
        "reduce(xs, (a, x) => fails(x) + a, 0)",
        "find(xs, fails)",
        "any(xs, fails)",
        "all(xs, fails)",
        "sort(xs, fails)",
        "unique(xs, fails)",
        "group_by(xs, fails)",
        "parallel([() => 1, () => fails(2)])",
        "xs | map(x => xs | map(fails)) | len",
    ],
)
def test_an_error_that_the_function_gives_passes_through_whole(expression: str) -> None:
    lines = printed(f"""
let xs = [1, 2]
fn fails(x: any) -> any ! {{ kind: str }} = err({{ kind: "mine" }})
match {expression} {{ err(e) => print(e.kind), v => print(v) }}
print({expression} ?? "instead", is_err({expression}))
""")
    assert lines == ["mine", "instead true"]


def test_an_error_of_a_callback_that_nothing_takes_stops_with_its_text() -> None:
    done = run('let xs = ["1", "x"]\nprint(xs | map(int))')
    assert done.stop is not None
    assert done.stop.message == '"x" is no whole number'
    assert done.stop.places[0].line == 2


def test_a_callback_sees_and_changes_the_variables_around_it() -> None:
    assert printed("let n = 0\n[1, 2, 3] | map(x => { n += x })\nprint(n)") == ["6"]


def test_the_list_given_to_a_builtin_is_what_it_was_when_it_was_called() -> None:
    assert printed("let xs = [1, 2, 3]\nprint(xs | map(x => {\n  xs += [x]\n  x\n}))\nprint(len(xs))") == [
        "[1, 2, 3]",
        "6",
    ]


def test_callbacks_nest_as_deep_as_calls_do() -> None:
    lines = printed(
        "fn depth(n: int) -> int = if n == 0 { 0 } else { 1 + first(map([n - 1], depth)) }\nprint(depth(4000))"
    )
    assert lines == ["4000"]


def test_a_transaction_keeps_what_it_did_when_it_gives_a_value() -> None:
    lines = printed(NOTES + 'print(db.transaction(() => {\n  add("a")\n  add("b")\n  7\n}))\nprint(count())')
    assert lines == ["7", "2"]


@pytest.mark.parametrize(
    "last",
    [
        'return err("no")',
        'err("no")',
        "add(null)",
        "add(null)?",
        'add("a")',
        'int("x") + 1',
    ],
)
def test_a_transaction_takes_all_back_when_it_gives_an_error(last: str) -> None:
    lines = printed(NOTES + f'print(is_err(db.transaction(() => {{\n  add("a")\n  {last}\n}})))\nprint(count())')
    assert lines == ["true", "0"]


def test_a_transaction_hands_the_databases_error_on_whole() -> None:
    lines = printed(
        NOTES
        + """
let r = db.transaction(() => {
  add("a")
  add("a")
  1
})
print(db.error_kind(r))
match r { err(e) => print(e.kind), _ => print("?") }
"""
    )
    assert lines == ["unique", "unique"]


def test_a_mistake_in_a_transaction_stops_the_program_and_takes_all_back() -> None:
    done = run(NOTES + 'let xs = [1]\ndb.transaction(() => {\n  add("a")\n  xs[5]\n})')
    assert done.stop is not None
    assert done.stop.message == "index 5 is out of range: the list has 1 item"


def test_a_transaction_inside_another_takes_back_its_own_changes_alone() -> None:
    lines = printed(
        NOTES
        + """
db.transaction(() => {
  add("outer")
  let inner = db.transaction(() => {
    add("inner")
    err("no")
  })
  print(is_err(inner), count())
})
print(count())
"""
    )
    assert lines == ["true 1", "1"]


def test_a_transaction_before_the_database_is_open_is_a_mistake() -> None:
    done = run("db.transaction(() => 1)")
    assert done.stop is not None
    assert done.stop.message.startswith("`db.transaction` needs a database")


@pytest.mark.parametrize(
    ("expression", "sheltered"),
    [
        ('confirm("Sure?")', False),
        ('parallel([() => confirm("Sure?")])', False),
        ('db.transaction(() => confirm("Sure?"))', False),
        ('db.transaction(() => parallel([() => confirm("Sure?")]))', False),
        ('[1] | map(x => confirm("Sure?"))', True),
        ('[1] | filter(x => confirm("Sure?"))', True),
        ('sort([1], x => if confirm("Sure?") { 1 } else { 2 })', True),
        ('db.transaction(() => [1] | map(x => confirm("Sure?")))', True),
        ('[1] | map(x => parallel([() => confirm("Sure?")]))', True),
    ],
)
def test_a_question_may_be_asked_in_a_transaction_and_in_parallel_alone(expression: str, sheltered: bool) -> None:
    seen: list[bool] = []

    class Asking(ProgramHost):
        def ask(self, question: Question) -> bool | str:
            seen.append(question.sheltered)
            return True

    module = compiled(f'db.open(":memory:")\nlet answer = {expression}\nprint(answer)')
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, lambda text: None, lambda text: None)
        host = Asking(world, world.database.scope())
        program = Program(module)
        outcome, _ = straight(program, program.call(module.entries[-1], [], host), host)
        host.scope.finish()
        world.database.close()
    assert isinstance(outcome, Returned)
    assert seen == [sheltered]
