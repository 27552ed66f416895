"""`quillo repl`: what inputs give, what a session keeps of them, and what it does when one is wrong."""

from __future__ import annotations

import pytest

from cli import repl
from compiler.unfinished import is_unfinished
from server.host import World
from server.interactive import InteractiveProgram
from tests.mcp.spawned import commanded, quillo


@pytest.fixture
def session(tmp_path):
    """Gives what a session prints and says of a text, as lines of standard output and of standard error."""

    def typed(text: str) -> tuple[list[str], list[str]]:
        done = commanded("repl", cwd=tmp_path, input=text.encode())
        assert done.returncode == 0
        return done.stdout.splitlines(), done.stderr.splitlines()

    return typed


def shown(session, text: str) -> list[str]:
    """What a session prints of a text that nothing is wrong with."""
    output, errors = session(text)
    assert errors == []
    return output


# --- what an input gives --------------------------------------------------------------------------------------------


def test_a_value_is_shown_as_print_writes_it_and_text_in_quotes(session):
    text = '1 + 2\n1.5\n"a\\"b"\n[1, "x"]\n{ a: null }\nif true { 4 }\nfor i in [1, 2] => i * 2\nx => x\n'
    assert shown(session, text) == ["3", "1.5", '"a\\"b"', '[1, "x"]', '{"a": null}', "4", "[2, 4]", "<function>"]


def test_what_gives_nothing_but_null_shows_nothing(session):
    assert shown(session, 'print("once")\nlet x = 1\nx = 2\nfn f() = print("twice")\nf()\n') == ["once", "twice"]


def test_null_is_shown_where_another_value_could_be(session):
    assert shown(session, 'let m = { a: 1 }\nm["b"]\n') == ["null"]


def test_of_several_statements_in_one_input_the_last_value_is_shown(session):
    assert shown(session, "1; 2\nlet a = 3; a\n") == ["2", "3"]


# --- what stays -----------------------------------------------------------------------------------------------------


def test_variables_functions_and_types_stay(session):
    text = """type Note = { id: int }
let note: Note = { id: 1 }
fn twice(n: int) -> int = n * 2
note.id = twice(note.id + 1)
note
"""
    assert shown(session, text) == ['{"id": 4}']


def test_functions_see_what_a_variable_holds_now(session):
    assert shown(session, "let n = 1\nfn f() = n * 10\nlet g = () => n\nn = 5\nf()\ng()\n") == ["50", "5"]


def test_a_function_can_change_a_variable_of_an_earlier_input(session):
    assert shown(session, "let n = 0\nfn up() {\n  n += 1\n}\nup()\nup()\nn\n") == ["2"]


def test_nothing_is_done_twice(session):
    assert shown(session, 'print("made")\nlet x = [1]\nx += [2]\nx\nx\n') == ["made", "[1, 2]", "[1, 2]"]


def test_a_list_that_was_handed_out_does_not_change_with_its_variable(session):
    text = "let xs = [1]\nfn get() = xs\nxs += [2]\nlet kept = get()\nxs += [3]\nxs[0] = 9\nkept\nxs\n"
    assert shown(session, text) == ["[1, 2]", "[9, 2, 3]"]


def test_a_variable_without_a_written_type_takes_any_later_value(session):
    text = 'let x = 1\nfn show() = `${x}`\nx = "a"\nshow()\nx = null\nshow()\nx = [1]\nshow()\n'
    assert shown(session, text) == ['"a"', '"null"', '"[1]"']


def test_a_function_of_an_earlier_input_notices_an_error_that_a_variable_holds_later(session):
    output, errors = session('let x = 1\nfn f() = x + 1\nx = err("broken")\nf() ?? "none"\nf()\n')
    assert output == ['"none"']
    assert errors[0] == "input 2: line 1: broken"


def test_a_written_type_is_held_to(session):
    output, errors = session('let x: int = 1\nx = "a"\nfn any_text(t) = t\nx = any_text("a")\nx\n')
    assert output == ["1"]
    assert errors[0] == "input 2:1: error: `x` must be int, got str"
    assert errors[-1] == "line 1: `x` must be int, got str"


def test_a_name_declared_again_hides_the_earlier_one_and_old_functions_go_on(session):
    text = (
        'let x = 1\nfn f() = x\nlet x = "new"\nx\nf()\nfn f() = 2\nf()\ntype T = int\ntype T = str\nlet t: T = "a"\nt\n'
    )
    assert shown(session, text) == ['"new"', "1", "2", '"a"']


def test_a_name_may_be_made_of_the_one_it_hides(session):
    assert shown(session, "let base = 1\nlet other = base + 1\nlet more = other + base\nmore\n") == ["3"]


def test_a_builtin_can_be_hidden(session):
    assert shown(session, 'fn upper(s) = "mine"\nupper("a")\nlower("A")\n') == ['"mine"', '"a"']


def test_callbacks_of_earlier_inputs_run_in_builtins(session):
    text = "fn odd(n) = n % 2 == 1\nlet add = (a, b) => a + b\nfilter([1, 2, 3], odd)\nreduce([1, 2, 3], add, 0)\n"
    assert shown(session, text) == ["[1, 3]", "6"]


def test_the_database_stays_open(session):
    text = """db.open(":memory:")
db.exec("create table t (n int)")
db.exec("insert into t values (?)", 7).changes
db.query("select n from t")
"""
    assert shown(session, text) == ['{"changes": 0, "last_id": null}', "1", '[{"n": 7}]']


def test_questions_have_their_default_unless_answering(session):
    text = 'fn ask_me() = confirm("Sure?")\nask_me()\nanswering(false, () => ask_me())\nask_me()\n'
    assert shown(session, text) == ["true", "false", "true"]


def test_tools_are_functions_here(session):
    assert shown(session, "/// One.\nfn mcp one() -> int = 1\none() + 1\n") == ["2"]


# --- files ----------------------------------------------------------------------------------------------------------


def test_a_used_file_runs_once(session, tmp_path):
    (tmp_path / "lib.qwe").write_text('print("lib runs")\nlet n = 1\nfn up() {\n  n += 1\n  n\n}\n', "utf-8")
    text = 'use "lib.qwe" as lib\nlib.up()\nuse "lib.qwe"\nup()\nimport lib.qwe use n\nn\nlib.up()\nn\n'
    assert shown(session, text) == ["lib runs", "2", "3", "3", "4", "4"]


def test_a_variable_of_a_used_file_is_changed_only_there(session, tmp_path):
    (tmp_path / "lib.qwe").write_text("let n = 1\n", "utf-8")
    output, errors = session('use "lib.qwe"\nn = 2\nn\n')
    assert output == ["1"]
    assert errors[0] == "input 2:1: error: `n` belongs to another file: only code there can give it a new value"


def test_a_used_file_that_stops_can_be_used_again(session, tmp_path):
    (tmp_path / "lib.qwe").write_text('print("lib runs")\nlet n = 1 / 0\n', "utf-8")
    output, errors = session('use "lib.qwe" as lib\nlib.n\nuse "lib.qwe" as lib\n')
    assert output == ["lib runs", "lib runs"]
    assert [line for line in errors if not line.startswith(" ")] == [
        "lib.qwe: line 2: division by zero",
        "input 2:1: error: nothing is called `lib`",
        "lib.qwe: line 2: division by zero",
    ]


# --- what is wrong --------------------------------------------------------------------------------------------------


def test_a_finding_shows_its_place_and_changes_nothing(session):
    output, errors = session("let x = 1\nlet x = nope\nx\n")
    assert output == ["1"]
    assert errors[:3] == ["input 2:1: error: nothing is called `nope`", " 1 | let x = nope", "   |         ^^^^"]


def test_the_nearest_name_of_an_earlier_input_is_named(session):
    assert session("let total = 1\ntotl\n")[1][0] == "input 2:1: error: nothing is called `totl`: did you mean `total`?"


def test_after_a_stop_what_was_set_is_there_and_the_rest_is_as_before(session):
    output, errors = session("let y = 1\nlet x = 2; let y = x / 0\nx\ny\n")
    assert output == ["2", "1"]
    assert errors == ["line 1: division by zero"]


def test_a_stop_names_the_inputs_that_led_there(session):
    assert session("fn f(n) = n / 0\nfn g() = f(1)\ng()\n")[1] == [
        "input 1: line 1: division by zero",
        "  called at input 2: line 1 in `g`",
        "  called at line 1",
    ]


def test_a_value_that_is_an_error_is_a_stop_and_can_be_kept(session):
    output, errors = session('int("x")\nlet r = int("x")\nr ?? 5\n')
    assert output == ["5"]
    assert errors == ['line 1: "x" is no whole number']


@pytest.mark.parametrize(
    ("text", "what"),
    [("route GET /a = 1", "a route"), ('test "a" { assert true }', "a test"), ('build "/a" = "b"', "a `build`")],
)
def test_what_only_a_served_program_has_is_refused(session, text, what):
    _, errors = session(f"{text}\n1\n")
    assert errors[0] == f"input 1:1: error: {what} has no place here: it belongs in a program's file"


def test_a_warning_is_shown_and_the_input_runs(session):
    output, errors = session("fn f() {\n  let unused = 1\n  2\n}\nf()\n")
    assert output == ["2"]
    assert errors[0] == "input 1:2: warning: `unused` is never used"


def test_exit_ends_with_its_status(tmp_path):
    done = commanded("repl", cwd=tmp_path, input=b"print(1)\nexit(3)\nprint(2)\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, "1\n", "")


# --- lines ----------------------------------------------------------------------------------------------------------


def test_an_input_goes_on_over_lines(session):
    text = (
        "fn f(a) {\n  let b = a +\n    1\n\n  b * 2\n}\nf(\n  4\n)\n[1, 2] |\n  map(n => n + 1)\n`a\nb`\n/* a\n*/ 7\n"
    )
    assert shown(session, text) == ["10", "[2, 3]", '"a\\nb"', "7"]


@pytest.mark.parametrize(
    "text",
    ["f(", "[1,", "{ a: 1,", "fn f() {", "1 +", "let x =", "x =>", "a ??", "a.", "`a", "`a ${", "<p>a", "<p", "/* a",
     "/// Documents.", "if a {\n  1", "fn f() ->", "!"],
)  # fmt: skip
def test_an_unfinished_text_goes_on(text):
    assert is_unfinished(text)


@pytest.mark.parametrize(
    "text",
    ["", "1", "f()", "fn f() = 1", "fn f() { 1 }", '"a', "a)", "(]", "`a`", "<p>a</p>", "/* a */", "// a", "a?", "1;",
     'f("a', "let x: list<int>"],
)  # fmt: skip
def test_a_finished_or_broken_text_does_not(text):
    assert not is_unfinished(text)


def test_what_is_unfinished_at_the_end_of_input_is_told(session):
    assert session("fn f( {\n")[1][0].startswith("input 1:1: error:")


def test_read_line_takes_the_next_line(session):
    assert shown(session, "let name = read_line()\nAna\nname\n") == ['"Ana"']


def test_line_ends_of_windows_and_bytes_that_are_no_utf8_do_no_harm(tmp_path):
    done = commanded("repl", cwd=tmp_path, input=b'1 + 1\r\n"\xff"\r\n')
    assert (done.returncode, done.stdout) == (0, '2\n"\ufffd"\n')


# --- commands -------------------------------------------------------------------------------------------------------


def test_type_tells_a_type_and_runs_nothing(session):
    text = "fn f(n: int) -> str = `${n}`\n:type f\n:type f(print(1))\n:type [1, 2]\nlet x = 1\n:type x\n:type x == 1\n"
    output, errors = session(text)
    assert output == ["fn(int) -> str", "list<int>", "any, int now", "bool"]
    assert errors[0] == "input:1: error: argument 1 of `f` must be int, got null"


def test_type_says_what_is_wrong(session):
    _, errors = session(":type nope\n:type let x = 1\n:type\n")
    assert [line for line in errors if not line.startswith(" ")] == [
        "input:1: error: nothing is called `nope`",
        "input:1: error: an expression is wanted here, such as `1 + 2`",
        "`:type` takes an expression, such as `:type 1 + 2`",
    ]


def test_type_leaves_no_trace(session):
    output, errors = session("let x = 1\n:type (x => x)(nope)\n:type x\nx + 1\n")
    assert output == ["any, int now", "2"]
    assert errors[0] == "input:1: error: nothing is called `nope`"


def test_disasm_shows_a_function_or_the_last_input(session):
    output, errors = session(":disasm\nfn f(a) = a * 2\nfn f(a) = a * 3\n1 + 1\n:disasm\n:disasm f\n:disasm g\n")
    assert errors == [
        "nothing was typed yet: `:disasm` shows the instructions of the last input",
        "there is no function `g` here",
    ]
    assert any("the top level of input 3" in line for line in output)
    assert any(line.endswith("INT 3") for line in output)
    assert not any("INT 2" in line for line in output)


def test_quit_ends_and_help_names_the_commands(session):
    output = shown(session, ":help\n:quit\n1\n")
    assert "\n".join(output) == repl.HELP


def test_an_unknown_command_is_told(session):
    assert session(":nope\n")[1] == ["there is no `:nope`: there are :type, :disasm, :help and :quit"]


def test_the_policy_of_the_folder_holds(session, tmp_path):
    (tmp_path / "quillo.policy.toml").write_text("[allow]\neffects = []\n", "utf-8")
    assert session('read_file("a")\n')[1] == ["line 1: the policy does not allow `fs`, which `read_file` needs"]


# --- at a terminal --------------------------------------------------------------------------------------------------


class Typist:
    """In place of a terminal: gives lines, and Ctrl-C where one is KeyboardInterrupt."""

    def __init__(self, lines: list[object]) -> None:
        self.lines = lines
        self.prompts: list[str] = []

    def line(self, prompt: str) -> str | None:
        self.prompts.append(prompt)
        line = self.lines.pop(0) if self.lines else None
        if line is KeyboardInterrupt:
            raise KeyboardInterrupt
        assert line is None or isinstance(line, str)
        return line


def running(tmp_path, log: list[str] | None = None) -> InteractiveProgram:
    return InteractiveProgram(World(str(tmp_path), lambda text: None, (log if log is not None else []).append))


def test_ctrl_c_leaves_the_line_and_the_session_goes_on(tmp_path, capsys):
    typist = Typist(["let x = [1,", KeyboardInterrupt, "2 + 3"])
    repl.run_session(running(tmp_path), typist)
    assert typist.prompts == ["> ", "… ", "> ", "> "]
    assert capsys.readouterr().out == "\n5\n"


def test_ctrl_c_stops_what_runs_and_what_was_set_stays(tmp_path, capsys):
    program = running(tmp_path)

    def interrupted(text: str) -> None:
        raise KeyboardInterrupt

    program.world.output = interrupted
    repl.run_session(program, Typist(["let x = 1; print(x)", "x"]))
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("1\n", "stopped\n")


def test_the_history_is_kept_for_the_next_session(tmp_path, monkeypatch):
    readline = pytest.importorskip("readline")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    first = repl.Terminal()
    readline.clear_history()
    readline.add_history("let x = 1")
    first.end()
    readline.clear_history()
    repl.Terminal()
    assert readline.get_history_item(1) == "let x = 1"
    readline.clear_history()


def test_a_pipe_gets_no_prompt_and_no_greeting(tmp_path):
    done = quillo("repl", input=b"1\n", cwd=tmp_path, env={"XDG_STATE_HOME": str(tmp_path / "state")})
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert list(tmp_path.iterdir()) == []
