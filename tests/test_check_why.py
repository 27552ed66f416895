"""`quillo check --why TOOL`: why each hint holds, or each place that stands against it."""

from __future__ import annotations

import pytest

from compiler.hint_reasons import hint_reasons
from tests.analysing import analysed
from tests.mcp.spawned import commanded

LIB = """fn deep() {
  db.exec("delete from notes")
  fetch("https://b.c")
}
fn wipe() { deep() }
"""
PROGRAM = """use "lib.qwe"
let count = 0
let handlers = { a: () => fetch("https://a.b") }

/// Reads.
fn mcp reads() -> any with db {
  let xs = db.query("select id from notes") | map(r => r.id)
  helper()
}
fn helper() = db.one("select 2")

/// Writes.
fn mcp writes() with db, fs {
  wipe()
  count += 1
  write_file("a", "b")
}

/// Calls what is out of sight.
fn mcp unseen() with db { handlers["a"]() }

/// Does not say what it uses.
fn mcp bare() = db.query("select 1")

/// Touches nothing.
fn mcp nothing() = 1

/// Neither says what it uses, nor can that be seen.
fn mcp hidden() = handlers["a"]()

/// Says more than it does.
fn mcp says() with db, net = 1
"""

WHY = {
    "reads": """main.qwe:6: tool `reads`
readOnlyHint: true holds:
  all that it may run is in sight: itself, `helper`, a function without a name
  main.qwe:7: the statement of `db.query` is a `select` written here, with functions of SQLite's own alone
  main.qwe:10: the statement of `db.one` is a `select` written here, with functions of SQLite's own alone
  it changes no session, cookie, file or top-level variable
  its `with db` has none of fs, http, net
openWorldHint: false holds:
  nothing that is in sight uses net or http
  its `with db` has none of http, net""",
    "writes": """main.qwe:13: tool `writes`
readOnlyHint: true does not hold:
  main.qwe:13: its `with` names fs
  main.qwe:15: the variable `count` is changed
  main.qwe:16: `write_file` uses fs
  main.qwe:14: it calls `wipe`
    lib.qwe:5: it calls `deep`
      lib.qwe:2: the statement of `db.exec` does not start with `select`
  main.qwe:14: it calls `wipe`
    lib.qwe:5: it calls `deep`
      lib.qwe:3: `fetch` uses http
openWorldHint: false does not hold:
  main.qwe:14: it calls `wipe`
    lib.qwe:5: it calls `deep`
      lib.qwe:3: `fetch` uses http""",
    "unseen": """main.qwe:20: tool `unseen`
readOnlyHint: true does not hold:
  main.qwe:20: what is called here is not in sight
  main.qwe:3: a function is taken as a value: `fetch` uses http
openWorldHint: false does not hold:
  main.qwe:20: what is called here is not in sight
  main.qwe:3: a function is taken as a value: `fetch` uses http""",
    "bare": """main.qwe:23: tool `bare`
readOnlyHint: true does not hold:
  main.qwe:23: it uses an effect and has no `with`
    `with db` says what it uses
openWorldHint: false does not hold:
  main.qwe:23: it uses an effect and has no `with`
    `with db` says what it uses""",
    "nothing": """main.qwe:26: tool `nothing`
readOnlyHint: true holds:
  all that it may run is in sight: itself
  it runs no statement of a database
  it changes no session, cookie, file or top-level variable
  it has no `with`, and uses no effect
openWorldHint: false holds:
  nothing that is in sight uses net or http
  it has no `with`, and uses no effect""",
    "hidden": """main.qwe:29: tool `hidden`
readOnlyHint: true does not hold:
  main.qwe:29: it uses an effect and has no `with`
    a `with` says what it may use
  main.qwe:29: what is called here is not in sight
openWorldHint: false does not hold:
  main.qwe:29: it uses an effect and has no `with`
    a `with` says what it may use""",
    "says": """main.qwe:32: tool `says`
readOnlyHint: true does not hold:
  main.qwe:32: its `with` names net
openWorldHint: false does not hold:
  main.qwe:32: its `with` names net""",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "main.qwe").write_text(PROGRAM, "utf-8")
    (tmp_path / "lib.qwe").write_text(LIB, "utf-8")
    return tmp_path


@pytest.mark.parametrize("tool", WHY)
def test_every_reason_is_told_with_its_place(folder, tool):
    done = commanded("check", "--why", tool, "main.qwe", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == WHY[tool] + "\n"


def test_the_hints_that_hold_are_those_that_a_client_is_sent():
    found = analysed(PROGRAM, {"lib.qwe": LIB})
    for tool, function in found.tools.tools:
        lines = hint_reasons(found.effects, function)
        assert ("readOnlyHint: true holds:" in lines) == ("readOnlyHint" in tool.annotations)
        assert ("openWorldHint: false holds:" in lines) == ("openWorldHint" in tool.annotations)


THERE_ARE = "there are `reads`, `writes`, `unseen`, `bare`, `nothing`, `hidden`, `says`"


@pytest.mark.parametrize(("name", "hint"), [("raeds", "did you mean `reads`?"), ("helper", THERE_ARE), ("", THERE_ARE)])
def test_a_tool_that_is_not_there_is_one_line(folder, name, hint):
    done = commanded("check", "--why", name, "main.qwe", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        f"main.qwe: error: there is no tool `{name}`: {hint}\n",
    )


def test_a_program_without_tools_or_with_errors_says_so(folder):
    (folder / "main.qwe").write_text("print(1)", "utf-8")
    done = commanded("check", "--why", "reads", "main.qwe", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "main.qwe: error: there is no tool here: `fn mcp` makes a function one\n"
    (folder / "main.qwe").write_text(PROGRAM + "let x: int = 'a'\n", "utf-8")
    done = commanded("check", "--why", "reads", "main.qwe", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("main.qwe:33: error: ")


def test_a_compiled_program_has_no_text_to_tell_of(folder):
    assert commanded("build", "main.qwe", "-o", "main.qvm", cwd=folder).returncode == 0
    done = commanded("check", "--why", "reads", "main.qvm", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "main.qvm: error: it is compiled: --why reads a program's text\n"


@pytest.mark.parametrize("flag", ["--json", "--explain"])
def test_it_goes_with_no_other_form(folder, flag):
    done = commanded("check", "--why", "reads", flag, "main.qwe", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--why tells of one tool" in done.stderr
