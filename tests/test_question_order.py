"""Promises of the order of questions (mcp.md section 3): a tool asks before it changes anything.

Each program is a tool's body or a whole program; a line that ends in `// !` is where the error must stand, and it names
the change that is written behind it. There is no other error.
"""

import pytest

from tests.analysing import analysed

HEAD = """
let n = 0
fn save(id: int) { db.exec("insert into t values (?)", id) }
fn sure() -> bool { confirm("Sure?") }
fn fails() -> int { return err("no") }
fn later() { sure() }
"""


def expected(text: str) -> list[str]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        code, mark, change = line.partition("// !")
        if mark:
            name = "about" if "about(" in code else "confirm"
            found.append(
                f"{number}: error: `{name}` comes after {change.strip()}: "
                "ask before changing anything: the call runs again with the answer"
            )
    return found


def check(text: str) -> None:
    result = analysed(text)
    assert [d for d in result.reported() if ": error: " in d] == expected(text)


REFUSED = {
    "a change and then a question": """
        db.exec("delete from t")
        confirm("Sure?") // ! `db.exec`
    """,
    "about, likewise": """
        db.exec("delete from t")
        about("Who?", { a: "A", b: "B" }, "a") // ! `db.exec`
    """,
    "a question in a pipe": """
        db.exec("delete from t")
        "Sure?" | confirm // ! `db.exec`
    """,
    "the first change is named": """
        db.exec("delete from t")
        write_file("a", "b")
        confirm("Sure?") // ! `db.exec`
    """,
    "every question after it": """
        confirm("Sure?")
        n = 1
        confirm("Really?") // ! a change of the variable `n`
        confirm("Really, really?") // ! a change of the variable `n`
    """,
    "a top-level variable, by a path or an operator": """
        n += 1
        confirm("Sure?") // ! a change of the variable `n`
    """,
    "a file": """
        write_file("a", "b")
        confirm("Sure?") // ! `write_file`
    """,
    "a request": """
        let r = fetch("https://example.com")
        confirm("Sure?") // ! `fetch`
    """,
    "the session": """
        set_session({ user: "ana" })
        confirm("Sure?") // ! `set_session`
    """,
    "an insert that returns": """
        let id = db.one("insert into t values (1) returning id").id
        confirm("Sure?") // ! `db.one`
    """,
    "a change in one branch": """
        if x > 0 { db.exec("delete from t") }
        confirm("Sure?") // ! `db.exec`
    """,
    "a change in the last of many branches": """
        if x == 0 { 1 } else if x == 1 { 2 } else if x == 2 { 3 } else { n = 4 }
        confirm("Sure?") // ! a change of the variable `n`
    """,
    "a change in an arm": """
        match x { 0 => 1, 1 => save(1), _ => 3 }
        confirm("Sure?") // ! `db.exec`
    """,
    "a question in an arm": """
        save(1)
        match x {
          0 => 1
          _ => confirm("Sure?") // ! `db.exec`
        }
    """,
    "a change in a guard": """
        match x { m if save(m) == null => 1, _ => 2 }
        confirm("Sure?") // ! `db.exec`
    """,
    "a change in the turn before": """
        for i in 0..x {
          confirm("Sure?") // ! `db.exec`
          save(i)
        }
    """,
    "a change in a loop": """
        while x > 3 { save(x) }
        confirm("Sure?") // ! `db.exec`
    """,
    "a change before a break": """
        while true {
          if x == 1 { n = 1
            break }
          if x == 2 { return }
        }
        confirm("Sure?") // ! a change of the variable `n`
    """,
    "a change before a continue": """
        for i in 0..x {
          confirm("Sure?") // ! a change of the variable `n`
          if i == 1 { n = 1
            continue }
        }
    """,
    "loops in loops": """
        for i in 0..x { for j in 0..i { for k in 0..j {
          confirm("Sure?") // ! a change of the variable `n`
        } }
          n = 1
        }
    """,
    "a comprehension": """
        let all = for i in 0..x => save(i)
        confirm("Sure?") // ! `db.exec`
    """,
    "a question in a comprehension": """
        let all = for i in 0..x => [confirm("Sure?"), save(i)] // ! `db.exec`
    """,
    "a change in a called function": """
        save(1)
        confirm("Sure?") // ! `db.exec`
    """,
    "a change in an argument": """
        print(save(1), confirm("Sure?")) // ! `db.exec`
    """,
    "a change on the left of an operator": """
        save(1) == null && confirm("Sure?") // ! `db.exec`
    """,
    "a change that only the right side makes": """
        x == 1 && save(1) == null
        confirm("Sure?") // ! `db.exec`
    """,
    "a change in a default value for an error": """
        let m = fails() ?? save(1)
        confirm("Sure?") // ! `db.exec`
    """,
    "a change before an error that is caught": """
        let m = [save(1), fails()] ?? [2]
        confirm("Sure?") // ! `db.exec`
    """,
    "a change in a function given to a builtin": """
        [1, 2] | map(i => save(i))
        confirm("Sure?") // ! `db.exec`
    """,
    "a change in a named function given to a builtin": """
        [1, 2] | map(save)
        confirm("Sure?") // ! `db.exec`
    """,
    "a change in a transaction": """
        db.transaction(() => save(1))
        confirm("Sure?") // ! `db.exec`
    """,
    "a question in a transaction": """
        db.transaction(() => {
          save(1)
          confirm("Sure?") // ! `db.exec`
        })
    """,
    "functions at once run one after another": """
        parallel([
          () => save(1),
          () => confirm("Sure?"), // ! `db.exec`
        ])
    """,
    "functions at once that a loop makes": """
        parallel(for i in 0..x => () => {
          confirm("Sure?") // ! `db.exec`
          save(i)
        })
    """,
    "a lambda that is called at once": """
        x | (m => save(m))
        confirm("Sure?") // ! `db.exec`
    """,
    "a local function": """
        fn store() { n = 1 }
        store()
        confirm("Sure?") // ! a change of the variable `n`
    """,
    "a way that leaves only sometimes": """
        if x == 0 {
          save(0)
          if x == 1 { return }
        }
        confirm("Sure?") // ! `db.exec`
    """,
    "an error that is handed on leaves only sometimes": """
        let row = db.one("insert into t values (1) returning id")?
        confirm("Sure?") // ! `db.one`
    """,
    "an error that stops after a change may be caught": """
        let r = (if x == 0 { [save(1), err("no")] } else { [1] }) ?? [2]
        confirm("Sure?") // ! `db.exec`
    """,
}

REFUSED |= {
    "a builtin given to a builtin": """
        ["a", "b"] | map(delete_file)
        confirm("Sure?") // ! `delete_file`
    """,
    "a builtin given to run once": """
        parallel([end_session])
        confirm("Sure?") // ! `end_session`
    """,
    "a statement that is worked out, by the way that is there to write": """
        db.exec(json(x))
        confirm("Sure?") // ! `db.exec`
    """,
    "a question in a loop's condition": """
        while confirm("More?") { save(1) } // ! `db.exec`
    """,
}

ALLOWED = {
    "a question and then a change": """
        if !confirm("Sure?") { return }
        db.exec("delete from t")
    """,
    "reading first": """
        let m = db.one("select count(*) as m from t").m
        let rows = db.query("with a as (select 1) select * from a")
        let text = read_file("a")
        confirm("Sure?")
    """,
    "a change on a way that returns": """
        if x == 0 { save(0)
          return false }
        confirm("Sure?")
    """,
    "a change on a way that replies": """
        if x == 0 { save(0)
          reply 404 "no" }
        confirm("Sure?")
    """,
    "a change on a way that stops": """
        if x == 0 { save(0)
          err("no") }
        confirm("Sure?")
    """,
    "a change on a way that exits": """
        if x == 0 { save(0)
          exit(1) }
        confirm("Sure?")
    """,
    "an arm that returns": """
        match x {
          0 => { save(0)
            return false }
          _ => 1
        }
        confirm("Sure?")
    """,
    "a change before a break out of all that asks": """
        for i in 0..x {
          confirm("Sure?")
          if i == 1 { save(1)
            break }
        }
    """,
    "a change in the other branch": """
        if x == 0 { save(0) } else { confirm("Sure?") }
    """,
    "a change in another arm": """
        match x { 0 => save(0), _ => confirm("Sure?") }
    """,
    "a variable of its own": """
        let m = 0
        m = 1
        let all = [m]
        all[0] = 2
        confirm("Sure?")
    """,
    "a local function that is not called before": """
        fn store() { n = 1 }
        confirm("Sure?")
        store()
    """,
    "a lambda that is not called": """
        let f = () => save(1)
        confirm("Sure?")
    """,
    "a function held in a variable is out of sight": """
        let f = () => save(1)
        f()
        confirm("Sure?")
    """,
    "a question in a function given to a builtin is left to the run": """
        save(1)
        [1, 2] | map(i => confirm("Sure?"))
    """,
    "a question in a function that a builtin runs indirectly is left to the run": """
        save(1)
        [1, 2] | filter(i => sure())
    """,
    "a statement that is out of sight is left to the run": """
        let sql = if x == 0 { read_file("a") } else { "select 1" }
        db.query(sql)
        confirm("Sure?")
    """,
    "a select by the third way": """
        db.exec("select 1")
        confirm("Sure?")
    """,
    "a question given to a builtin is left to the run": """
        save(1)
        ["Sure?"] | map(confirm)
    """,
    "functions at once, the question first": """
        parallel([() => confirm("Sure?"), () => save(1)])
    """,
    "a question after a return is never asked": """
        save(1)
        return
        confirm("Sure?")
    """,
    "questions one after another": """
        let who = about("Who?", { a: "A", b: "B" }, "a")
        for i in 0..3 { confirm(`Sure, ${i}?`) }
        save(1)
    """,
}


def as_tool(body: str) -> str:
    return f"{HEAD}/// Does it.\nfn mcp go(x: int) with db, fs, http {{{body}}}\n"


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_a_question_that_may_come_after_a_change_is_refused(body: str) -> None:
    assert expected(body)
    check(as_tool(body))


@pytest.mark.parametrize("body", ALLOWED.values(), ids=ALLOWED)
def test_a_question_that_comes_after_no_change_is_allowed(body: str) -> None:
    assert not expected(body)
    check(as_tool(body))


def test_a_question_in_a_called_function_is_refused_there() -> None:
    check("""
fn ask_now() { confirm("Sure?") } // ! `db.exec`
fn between() { ask_now() }
/// Does it.
fn mcp go() with db {
  db.exec("delete from t")
  between()
}
""")


def test_a_function_that_is_called_before_and_after_a_change_is_refused() -> None:
    check("""
fn sure() { confirm("Sure?") } // ! `db.exec`
/// Does it.
fn mcp go() with db {
  sure()
  db.exec("delete from t")
  sure()
}
""")


def test_the_change_is_pointed_at() -> None:
    result = analysed("""
fn save() { db.exec("delete from t") }
/// Does it.
fn mcp go() with db {
  save()
  confirm("Sure?")
}
""")
    found = result.diagnostics.in_order()
    assert [(d.code, d.hint) for d in found] == [("Q0402", "the change is at main.qwe:2")]
    assert found[0].source.text[found[0].start : found[0].end] == "confirm"


def test_code_that_no_tool_reaches_is_not_looked_at() -> None:
    check("""
fn page() {
  db.exec("delete from t")
  confirm("Sure?")
}
db.exec("delete from t")
confirm("Sure?")
route POST /go { db.exec("delete from t")
  confirm("Sure?") }
/// Does it.
fn mcp go() -> bool = confirm("Sure?")
""")


def test_a_change_on_a_way_that_leaves_a_called_function_counts_for_its_caller() -> None:
    check("""
fn save(id: int) { db.exec("insert into t values (?)", id) }
fn first(id: int) -> bool {
  if id == 0 { save(0)
    return false }
  confirm("First?")
}
/// Does it.
fn mcp go(id: int) with db {
  first(id)
  confirm("Second?") // ! `db.exec`
}
""")


def test_a_function_that_never_comes_back_ends_the_way() -> None:
    check("""
fn refuse(text: str) { db.exec("insert into log values (?)", text)
  reply 403 text }
/// Does it.
fn mcp go(id: int) with db {
  if id == 0 { refuse("zero") }
  confirm("Sure?")
}
""")


def test_functions_that_call_each_other_are_followed() -> None:
    check("""
fn even(n: int) -> bool {
  confirm("Even?") // ! `db.exec`
  if n == 0 { true } else { odd(n - 1) }
}
fn odd(n: int) -> bool {
  db.exec("delete from t")
  if n == 0 { false } else { even(n - 1) }
}
/// Does it.
fn mcp go(n: int) -> bool with db = even(n)
""")


def test_a_ring_without_a_change_is_allowed() -> None:
    check("""
fn even(n: int) -> bool { confirm("Even?") && (n == 0 || odd(n - 1)) }
fn odd(n: int) -> bool { n != 0 && even(n - 1) }
/// Does it.
fn mcp go(n: int) -> bool = even(n)
""")


def test_a_default_value_runs_in_the_called_function() -> None:
    check("""
let n = 0
fn next_number() -> int { n += 1
  n }
fn named(a: int, b: int = next_number()) { confirm(`${a} ${b}`) } // ! a change of the variable `n`
/// Does it.
fn mcp go() { named(1) }
""")


def test_questions_in_used_files_are_refused_in_their_file() -> None:
    result = analysed(
        'use "lib.qwe"\n/// Does it.\nfn mcp go() with db {\n  db.exec("delete from t")\n  sure()\n}\n',
        {"lib.qwe": '\nfn sure() -> bool = confirm("Sure?")\n'},
    )
    assert [str(d) for d in result.diagnostics.in_order()] == [
        "lib.qwe:2: error: `confirm` comes after `db.exec`: ask before changing anything: "
        "the call runs again with the answer"
    ]


@pytest.mark.slow
def test_long_chains_and_deep_loops_are_followed() -> None:
    """Chains have no limit, brackets 200: neither is a matter of the machine's stack, nor of time squared."""
    chain = " + ".join(["1"] * 5_000)
    branches = " else ".join(f"if x == {i} {{ {i} }}" for i in range(3_000))
    loops = "for i in 0..x { " * 150 + "\nsave(1)\n" + "}" * 150
    check(as_tool(f'\nlet a = {chain}\n{branches}\nconfirm("Sure?")\n{loops}\nconfirm("Sure?") // ! `db.exec`\n'))


@pytest.mark.parametrize("builtin", ["db.query", "db.one", "db.exec"])
@pytest.mark.parametrize(
    "statement",
    [
        "select 1",
        "with t as (select 1) select * from t",
        "with t as (select 1) delete from t",
        "pragma table_info(t)",
        "pragma user_version(3)",
        "explain delete from t",
        "insert into t values (1)",
        "; delete from t",
        "select my_function(1)",
    ],
)
def test_a_statement_counts_for_the_checker_as_it_does_when_it_runs(builtin: str, statement: str) -> None:
    from server.database import may_change

    found = analysed(f'/// Does it.\nfn mcp go() with db {{\n  {builtin}("{statement}")\n  confirm("Sure?")\n}}\n')
    assert bool(found.reported("Q0402")) == may_change(statement)
