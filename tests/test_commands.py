"""The `quillo` command: what each subcommand prints, its status, and what it says of bad input."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from server import VERSION
from tests.mcp.spawned import commanded, environment
from tests.mcp.spawned import quillo as spawned


def quillo(*arguments: str, **more):
    """The command with these arguments; `mcp` moves descriptors, so it has a process of its own."""
    return (
        spawned(*arguments, **more)
        if arguments[0] == "mcp" and "--help" not in arguments
        else commanded(*arguments, **more)
    )


GOOD = 'let name = args()[0] ?? "nobody"\nprint(`Hello, ${name}!`)\n'
TOOL = "/// One.\nfn mcp one() -> int = 1\n"
WRONG = "let x = 1 +\nprint(y)\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "main.qwe").write_text(GOOD, "utf-8")
    (tmp_path / "tool.qwe").write_text(TOOL, "utf-8")
    (tmp_path / "wrong.qwe").write_text('let x = upperr(1)\nlet y: int = "a"\nprint(x, y)\n', "utf-8")
    (tmp_path / "empty.qwe").write_bytes(b"")
    (tmp_path / "latin.qwe").write_bytes(b'print(1)\nprint("\xe9")\n')
    (tmp_path / "folder.qwe").mkdir()
    (tmp_path / "large.qwe").write_bytes(b"// " + b"x" * (10 * 1024 * 1024))
    (tmp_path / "damaged.qvm").write_bytes(b"\x91QVM" + bytes(60))
    return tmp_path


def test_version(folder):
    done = quillo("--version", cwd=folder)
    assert (done.returncode, done.stdout) == (0, f"quillo {VERSION}\n")


def test_help_lists_the_commands(folder):
    done = quillo("--help", cwd=folder)
    assert done.returncode == 0
    for name in ("ask", "build", "check", "docs", "mcp", "run", "test"):
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("name", ["ask", "build", "check", "docs", "mcp", "run", "test"])
def test_each_command_has_help(folder, name):
    from cli.commands import COMMANDS

    done = quillo(name, "--help", cwd=folder)
    assert done.returncode == 0
    assert COMMANDS[name][1] in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["check"],
        ["check", "main.qwe", "--nonsense"],
        ["check", "main.qwe", "more.qwe"],
        ["check", "main.qwe", "--json", "--explain"],
        ["run"],
        ["build", "main.qwe"],
        ["build", "main.qwe", "-o", "main.qwe"],
        ["docs", "main.qwe"],
        ["mcp"],
        ["mcp", "main.qwe", "other.qwe"],
        ["mcp", "main.qwe", "--nonsense"],
        ["mcp", "tool.qwe", "--max-tool-calls", "0"],
        ["mcp", "tool.qwe", "--max-tool-calls", "many"],
        ["mcp", "tool.qwe", "--policy"],
    ],
)
def test_wrong_use_is_status_2_and_says_how(folder, arguments):
    done = quillo(*arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Error: " in done.stderr


def test_a_command_that_is_nearly_one(folder):
    assert "did you mean 'check'?" in quillo("chek", "main.qwe", cwd=folder).stderr


BAD_FILES = [
    ("none.qwe", "none.qwe: error: the file is not there"),
    ("folder.qwe", "folder.qwe: error: the file is a folder: name a file in it, such as main.qwe"),
    ("empty.qwe", "empty.qwe: error: the file is empty"),
    ("latin.qwe", "latin.qwe:2: error: byte 0xe9 is not UTF-8: save the file as UTF-8"),
    ("large.qwe", "large.qwe: error: the file is over 10 MB"),
    ("tool.qwe/x", "tool.qwe/x: error: the file can't be read: not a directory"),
]


@pytest.mark.parametrize(("file", "message"), BAD_FILES)
@pytest.mark.parametrize(
    "command", [["check"], ["run"], ["mcp"], ["docs", "--mcp"], ["build", "-o", "out.qvm"], ["test"]], ids=" ".join
)
def test_a_file_that_cannot_be_read_is_one_line(folder, command, file, message):
    done = quillo(*command, file, cwd=folder)
    assert done.returncode == 1
    assert done.stdout + done.stderr == message + "\n"
    assert (done.stdout == "") == (command != ["check"])
    assert not (folder / "out.qvm").exists()


@pytest.mark.parametrize("command", ["check", "run", "mcp"])
def test_a_module_whose_first_bytes_are_damaged_is_not_read_as_a_program(folder, command):
    (folder / "first.qvm").write_bytes(b"X" + bytes(60))
    done = quillo(command, "first.qvm", cwd=folder)
    assert (done.returncode, done.stdout + done.stderr) == (1, "first.qvm: error: it is not a Quillo module\n")


@pytest.mark.parametrize("command", [["check"], ["run"], ["mcp"], ["docs", "--mcp"], ["test"]], ids=" ".join)
def test_a_damaged_module_is_one_line(folder, command):
    done = quillo(*command, "damaged.qvm", cwd=folder)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert said.startswith("damaged.qvm: error: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "command", [["run"], ["mcp"], ["docs", "--mcp"], ["build", "-o", "out.qvm"], ["test"]], ids=" ".join
)
def test_a_program_with_errors_does_not_start(folder, command):
    done = quillo(*command, "wrong.qwe", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "wrong.qwe:1: error: " in done.stderr
    assert "wrong.qwe:2: error: " in done.stderr


# --- check


def test_check_of_a_good_program_says_nothing(folder):
    done = quillo("check", "main.qwe", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_check_prints_findings_in_order_of_place(folder):
    done = quillo("check", "wrong.qwe", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    first, second = done.stdout.splitlines()
    assert first.startswith("wrong.qwe:1: error: ")
    assert "`upper`" in first
    assert second.startswith("wrong.qwe:2: error: ")


def test_check_explains(folder):
    done = quillo("check", "wrong.qwe", "--explain", cwd=folder)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("wrong.qwe:1: error: ")
    assert lines[1] == " 1 | let x = upperr(1)"
    assert lines[2] == "   |         ^^^^^^"
    assert "   = Q0201: `quillo check --explain Q0201` says more" in lines


def test_check_explains_a_code(folder):
    done = quillo("check", "--explain", "Q0201", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# Q0201: a name that nothing has\n")
    assert "main.qwe:2: error: nothing is called `totl`: did you mean `total`?\n" in done.stdout
    assert quillo("check", "q0201", "--explain", cwd=folder).stdout == done.stdout


def test_check_explains_no_code_that_there_is_not(folder):
    done = quillo("check", "--explain", "Q0999", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "no diagnostic has the code Q0999: `quillo check FILE --explain` shows those of a program\n"


def test_a_file_that_is_called_as_a_code_is_checked(folder):
    (folder / "Q0201").write_text("let x = 1\nprint(x)\n", "utf-8")
    done = quillo("check", "--explain", "Q0201", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_check_for_machines(folder):
    done = quillo("check", "wrong.qwe", "--json", cwd=folder)
    findings = json.loads(done.stdout)
    assert done.returncode == 1
    assert [(f["file"], f["line"], f["severity"]) for f in findings] == [
        ("wrong.qwe", 1, "error"),
        ("wrong.qwe", 2, "error"),
    ]
    assert findings[0]["column"] == 9
    assert findings[0]["end"] == {"line": 1, "column": 15}
    assert quillo("check", "main.qwe", "--json", cwd=folder).stdout == "[]\n"


@pytest.mark.parametrize(("file", "line"), [("none.qwe", 1), ("latin.qwe", 2)])
def test_check_for_machines_of_a_file_that_cannot_be_read(folder, file, line):
    done = quillo("check", file, "--json", cwd=folder)
    [finding] = json.loads(done.stdout)
    assert done.returncode == 1
    assert (finding["file"], finding["line"], finding["severity"]) == (file, line, "error")
    assert not finding["message"].startswith(file)


def test_a_file_is_named_as_it_was_given(folder):
    path = str(folder / "wrong.qwe")
    assert quillo("check", path).stdout.startswith(f"{path}:1: error: ")
    assert quillo("check", "./wrong.qwe", cwd=folder).stdout.startswith("./wrong.qwe:1: error: ")


def test_used_files_are_named_from_the_main_files_folder(folder):
    (folder / "inner").mkdir()
    (folder / "inner" / "main.qwe").write_text(
        'use "lib.qwe"\nuse "none.qwe"\nuse "../main.qwe"\nprint(shout("a"))\n', "utf-8"
    )
    (folder / "inner" / "lib.qwe").write_text("fn shout(s: str) -> int = upper(s)\n", "utf-8")
    found = quillo("check", "inner/main.qwe", cwd=folder).stdout
    assert "lib.qwe:1: error: " in found
    assert "inner/main.qwe:2: error: `none.qwe` is not there\n" in found
    assert "inner/main.qwe:3: error: " in found


# --- run


def test_run_prints_and_takes_arguments(folder):
    done = quillo("run", "main.qwe", "--name", "-x", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello, --name!\n", "")


def test_a_stop_is_status_1_with_the_calls_that_led_there(folder):
    (folder / "stops.qwe").write_text(
        "print(1)\nfn inner(n: int) -> int = 10 / n\nfn outer() -> int {\n  inner(0)\n}\nouter()\n", "utf-8"
    )
    done = quillo("run", "stops.qwe", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "1\n")
    assert done.stderr == "line 2: division by zero\n  called at line 4 in `outer`\n  called at line 6\n"


def test_a_stop_in_another_file_names_it(folder):
    (folder / "lib.qwe").write_text("fn inner(n: int) -> int =\n  10 / n\n", "utf-8")
    (folder / "uses.qwe").write_text('use "lib.qwe"\n\ninner(0)\n', "utf-8")
    done = quillo("run", "uses.qwe", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "lib.qwe: line 2: division by zero\n  called at line 3\n")


@pytest.mark.parametrize(
    ("text", "status"), [("exit()", 0), ("exit(7)", 7), ('print("a")\nexit(255)\nprint("b")', 255)]
)
def test_a_program_may_say_its_status(folder, text, status):
    (folder / "exits.qwe").write_text(text, "utf-8")
    done = quillo("run", "exits.qwe", cwd=folder)
    assert (done.returncode, done.stderr) == (status, "")
    assert "b" not in done.stdout


def test_standard_input_is_the_programs(folder):
    (folder / "reads.qwe").write_text("print(read_line())\nprint(len(lines(stdin())))\nprint(read_line())\n", "utf-8")
    done = quillo("run", "reads.qwe", cwd=folder, input="é\r\na\nb\n".encode())
    assert (done.returncode, done.stdout) == (0, "é\n2\nnull\n")


def test_print_writes_utf_8_whatever_the_locale(folder):
    (folder / "text.qwe").write_text('print("é €")\nlog("ä")\n', "utf-8")
    done = spawned("run", "text.qwe", cwd=folder, env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "é €\n", "ä\n")


def test_what_is_printed_stands_before_what_is_logged_after_it(folder):
    (folder / "order.qwe").write_text("print(1)\nlog(2)\nprint(3)\nlet x = [1][5]\n", "utf-8")
    command = [sys.executable, "-m", "cli.quillo", "run", "order.qwe"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=30,
        check=False,
    )
    assert done.stdout.decode().splitlines()[:3] == ["1", "2", "3"]


def test_a_reader_that_leaves_ends_it_without_a_word(folder):
    (folder / "prints.qwe").write_text("for i in 0..100000 { print(i) }\n", "utf-8")
    command = f"{sys.executable} -m cli.quillo run prints.qwe | head -1"
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment(), capture_output=True, timeout=30, check=False
    )
    assert (done.stdout, done.stderr) == (b"0\n", b"")


def test_sleep_waits_without_trio(folder):
    (folder / "sleeps.qwe").write_text('sleep("1ms")\nprint("slept")\n', "utf-8")
    code = (
        "import sys; from cli.quillo import main\n"
        "try: main(['run', 'sleeps.qwe'])\n"
        "finally: print('trio' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment(), capture_output=True, timeout=30, check=False
    )
    assert done.stdout == b"slept\nFalse\n"


def test_a_policy_holds_a_program_that_is_run(folder):
    (folder / "reads.qwe").write_text('print(read_file("main.qwe") ?? "none")\n', "utf-8")
    (folder / "p.toml").write_text('[allow]\neffects = ["db"]\n', "utf-8")
    done = quillo("run", "--policy", "p.toml", "reads.qwe", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "line 1: the policy does not allow `fs`, which `read_file` needs\n"


@pytest.mark.parametrize("command", [["run"], ["mcp"]], ids=" ".join)
def test_a_policy_that_cannot_be_understood_is_one_line(folder, command):
    (folder / "p.toml").write_text("[limits]\nmax_copute = 5\n", "utf-8")
    done = quillo(*command, "--policy", "p.toml", "tool.qwe" if command == ["mcp"] else "main.qwe", cwd=folder)
    assert done.returncode == 1
    assert done.stderr == "p.toml: unknown key `max_copute` in [limits]: did you mean `max_compute`?\n"


# --- build


def test_a_built_program_runs_and_is_the_same_each_time(folder):
    done = quillo("build", "main.qwe", "-o", "out.qvm", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("out.qvm: ")
    again = quillo("build", str(folder / "main.qwe"), "-o", str(folder / "again.qvm"))
    assert again.returncode == 0
    assert (folder / "out.qvm").read_bytes() == (folder / "again.qvm").read_bytes()
    assert quillo("run", "out.qvm", "Ana", cwd=folder).stdout == "Hello, Ana!\n"
    assert sorted(path.name for path in folder.glob("out*")) == ["out.qvm"]


def test_a_built_program_is_served(folder):
    assert quillo("build", "tool.qwe", "-o", "tool.qvm", cwd=folder).returncode == 0
    done = quillo("docs", "--mcp", "tool.qvm", cwd=folder)
    assert json.loads(done.stdout) == json.loads(quillo("docs", "--mcp", "tool.qwe", cwd=folder).stdout)


def test_a_place_that_cannot_be_written(folder):
    done = quillo("build", "main.qwe", "-o", "none/out.qvm", cwd=folder)
    assert done.returncode == 1
    assert done.stderr == "none/out.qvm: error: it is not there\n"


# --- docs


def test_docs_show_what_each_door_sends(folder):
    shown = json.loads(quillo("docs", "--mcp", "tool.qwe", cwd=folder).stdout)
    assert list(shown) == ["stdio", "http"]
    for door in shown.values():
        assert list(door) == ["server/discover", "tools/list"]
        assert door["server/discover"]["capabilities"] == {"tools": {}}
        assert [tool["name"] for tool in door["tools/list"]["tools"]] == ["one"]
    assert "no one is signed in" in shown["stdio"]["server/discover"]["instructions"]
    assert "whose cookie or token it carries" in shown["http"]["server/discover"]["instructions"]


# --- test

TESTED = """
db.open("real.db")
db.exec("create table if not exists t (n integer)")
print("top level")
fn add(n: int) { db.exec("insert into t values (?)", n) }
fn count() -> int = db.one("select count(*) as n from t").n

test "one is added" {
  add(1)
  assert count() == 1
}

test "each test has a database of its own" {
  add(2)
  assert count() == 1
}

test "the person says yes" { assert confirm("Sure?") }
"""


def test_tests_run_each_by_itself(folder):
    (folder / "tested.qwe").write_text(TESTED, "utf-8")
    done = quillo("test", "tested.qwe", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "ok  one is added",
        "ok  each test has a database of its own",
        "ok  the person says yes",
        "3 passed",
    ]
    assert not (folder / "real.db").exists()


def test_a_test_that_fails_says_where_and_what(folder):
    (folder / "tested.qwe").write_text(TESTED.replace("count() == 1", "count() == 2", 1), "utf-8")
    done = quillo("test", "tested.qwe", cwd=folder)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[:2] == ["FAILED  one is added", "    top level"]
    assert lines[2].startswith("    line 10: ")
    assert lines[-1] == "2 passed, 1 failed"


def test_tests_can_be_chosen(folder):
    (folder / "tested.qwe").write_text(TESTED, "utf-8")
    assert quillo("test", "tested.qwe", "--filter", "own", cwd=folder).stdout.endswith("own\n1 passed\n")
    done = quillo("test", "tested.qwe", "--filter", "nothing", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith('no test of tested.qwe has "nothing" in its name: there are "one is added"')


def test_a_program_without_tests_says_how_to_write_one(folder):
    done = quillo("test", "main.qwe", cwd=folder)
    assert (done.returncode, done.stdout) == (0, 'main.qwe has no tests: `test "name" { … }` makes one\n')


# --- start-up


def test_a_command_imports_only_what_it_uses(folder):
    code = (
        "import sys; import cli; assert not {'server', 'compiler', 'qvm', 'click', 'trio'} & set(sys.modules)\n"
        "import cli.mcp; cli.mcp.options_of(['x']); assert not {'server', 'compiler', 'click'} & set(sys.modules)\n"
        "sys.argv = ['quillo', 'mcp', 'tool.qwe']\n"
        "from cli.quillo import main\n"
        "wanted = {'trio', 'click', 'ply', 'http.client', 'tomllib'}\n"
        "try: main()\n"
        "finally: print(sorted(wanted & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment(),
        input=b"",
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"[]\n")
