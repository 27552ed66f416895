"""The `qvm` command, as people meet it: what it prints, what it refuses, and with which status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli import qvm
from qasm.module import BadModule, Parameter, SourceFile, Tool
from qasm.module_file import digest, dump, load
from tests.building import build, builder

PROGRAM = """\
fn double(n: int, times: int = 2) -> int {
  n * times
}
for i in [1, 2] { print(double(i)) }
"""


def run(*arguments):
    result = CliRunner().invoke(qvm.group, [str(argument) for argument in arguments], prog_name="qvm")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refusal(*arguments, status=1):
    """What is said of something that is refused."""
    result = run(*arguments)
    assert result.exit_code == status
    assert result.stdout == ""
    return result.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def demo():
    made = builder("demo")
    made.module.files = [SourceFile("demo.qwe", "let total = double(21)\nprint(total)\n")]
    made.type("Note", ["record", [["id", "int", True], ["text", ["union", ["str", "null"]], False]]])
    double = made.function(
        "double",
        "IF_ABSENT 1", "INT 2", "STORE 1", "END", "LOAD 0", "LOAD 1", "MUL", "RETURN",
        parameters=[Parameter("n", "int", True), Parameter("times", "int", False, 2, True)],
        result="int",
    )  # fmt: skip
    made.entry(
        "CHARGE 5", "INT 21", "ABSENT", f"CALL {double}", "STORE_GLOBAL total", "@2", "CHARGE 1", "TRY 1",
        "LOAD_GLOBAL total", "CATCH", "END", 'CHECK ["type", 0] "total"', "CALL_BUILTIN print 1", "POP",
        "LIST 0", "EXTEND global total", 'CONST "text"', "RETURN",
    )  # fmt: skip
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "title": "x" * 30}
    made.module.tools.append(
        Tool("double", double, "Doubles.\nTwice.", schema, {}, {"readOnlyHint": True}, True, "int", False, True)
    )
    return made.module


LISTING = """\
module demo
digest DIGEST
file demo.qwe
type Note = { id: int, text?: str? }

tool double: function 0, only reads, answers {"result": …}
    Doubles.
    Twice.
    annotations
        {"readOnlyHint": true}
    input
        {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
            "title": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        }

function 0 double(n: int, times: int = 2) -> int
demo.qwe:1  let total = double(21)
  0  IF_ABSENT times → 4
  1    INT 2
  2    STORE times
  3  END
  4  LOAD n
  5  LOAD times
  6  MUL
  7  RETURN

function 1, the top level of demo.qwe
demo.qwe:1  let total = double(21)
   0  CHARGE 5
   1  INT 21
   2  ABSENT
   3  CALL 0 double
   4  STORE_GLOBAL total
demo.qwe:2  print(total)
   5  CHARGE 1
   6  TRY 1 → 9
   7    LOAD_GLOBAL total
   8  CATCH → 10
   9  END
  10  CHECK Note "total"
  11  CALL_BUILTIN print 1
  12  POP
  13  LIST 0
  14  EXTEND global total
  15  CONST "text"
  16  RETURN
"""


def test_disasm_shows_what_a_module_holds_and_its_code_beside_its_lines(folder):
    Path("demo.qvm").write_bytes(dump(demo()))
    assert run("disasm", "demo.qvm").stdout == LISTING.replace("DIGEST", digest(demo()))


def test_disasm_shows_one_function_by_its_name_or_number(folder):
    Path("demo.qvm").write_bytes(dump(demo()))
    start, end = LISTING.index("function 0 "), LISTING.index("\nfunction 1,")
    assert run("disasm", "demo.qvm", "--function", "double").stdout == LISTING[start:end]
    assert run("disasm", "demo.qvm", "--function", "0").stdout == LISTING[start:end]
    assert run("disasm", "demo.qvm", "--function", "1").stdout == LISTING[end + 1 :]


def test_disasm_as_data(folder):
    Path("demo.qvm").write_bytes(dump(demo()))
    data = json.loads(run("disasm", "demo.qvm", "--json").stdout)
    assert data["digest"] == digest(demo())
    assert [function["title"] for function in data["functions"]] == [
        "function 0 double(n: int, times: int = 2) -> int",
        "function 1, the top level of demo.qwe",
    ]
    code = data["functions"][1]["code"]
    assert code[6] == {
        "pc": 6, "line": 2, "op": "TRY", "operands": [1], "shown": "1 → 9", "height": 0, "target": 9,
    }  # fmt: skip
    assert data["tools"][0]["inputSchema"]["required"] == ["n"]
    only = json.loads(run("disasm", "demo.qvm", "--function", "double", "--json").stdout)
    assert [function["name"] for function in only["functions"]] == ["double"]


def test_what_disasm_writes_as_text_is_assembled_to_the_same_file(folder):
    Path("demo.qvm").write_bytes(dump(demo()))
    Path("demo.qasm").write_bytes(run("disasm", "demo.qvm", "--text").stdout_bytes)
    result = run("assemble", "demo.qasm", "-o", "again.qvm")
    size = len(dump(demo()))
    assert result.stdout == f"again.qvm: 2 functions, {size} bytes, digest {digest(demo())}\n"
    assert Path("again.qvm").read_bytes() == Path("demo.qvm").read_bytes()


def test_verify_says_in_one_line_what_the_module_is(folder):
    Path("one.qvm").write_bytes(dump(build("NULL", "RETURN")))
    size = len(dump(build("NULL", "RETURN")))
    assert run("verify", "one.qvm").stdout == (
        f"one.qvm: ok, 1 function, {size} bytes, digest {digest(build('NULL', 'RETURN'))}\n"
    )


def test_disasm_compiles_a_program(folder):
    Path("main.qwe").write_text(PROGRAM)
    shown = run("disasm", "main.qwe").stdout
    assert "(n: int, times: int = 2) -> int\nmain.qwe:1" in shown
    assert "main.qwe:2  n * times\n" in shown
    Path("main.qasm").write_bytes(run("disasm", "main.qwe", "--text").stdout_bytes)
    assert run("assemble", "main.qasm", "-o", "main.qvm").exit_code == 0
    assert run("disasm", "main.qvm").stdout == shown
    assert load(Path("main.qvm").read_bytes()).name == "main"


def test_a_program_that_does_not_check_gives_its_errors(folder):
    Path("main.qwe").write_text("print(totl)\n")
    said = refusal("disasm", "main.qwe")
    assert said.startswith("main.qwe:1: error: ")
    assert "`totl`" in said


@pytest.mark.parametrize("command", ["disasm", "verify"])
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("lacking.qvm", None, "it is not there"),
        ("empty.qvm", b"", "it is empty"),
        ("text.qvm", b"let x = 1\n", "it is not a Quillo module"),
        ("cut.qvm", dump(build("NULL", "RETURN"))[:-1], "it is cut off: 50 of the 51 bytes of its payload are there"),
        (
            "changed.qvm",
            dump(build("NULL", "RETURN"))[:-1] + b"\xff",
            "it is damaged: its bytes don't have the digest that is written in it",
        ),
        (
            "false.qvm",
            dump(build("RETURN")),
            "function 0 `main`, pc 0: RETURN takes 1 item, its block has 0",
        ),
    ],
)
def test_a_bad_module_is_refused_in_one_line(folder, command, name, data, message):
    if data is not None:
        Path(name).write_bytes(data)
    assert refusal(command, name) == f"{name}: error: {message}\n"


@pytest.mark.parametrize("command", ["disasm", "verify"])
def test_other_things_than_files_are_refused_in_one_line(folder, command):
    Path("folder.qvm").mkdir()
    assert refusal(command, "folder.qvm") == "folder.qvm: error: it is a folder, and a file is wanted\n"
    Path("file").write_text("")
    assert refusal(command, "file/x.qvm") == (
        "file/x.qvm: error: a part of its path is a file, and a folder is wanted\n"
    )
    assert refusal(command, "x" * 5000).endswith(": error: file name too long\n")
    assert refusal(command, "a\0b") == "a\0b: error: no file can have this name\n"


def test_a_program_that_is_not_there_is_refused_in_one_line(folder):
    assert refusal("disasm", "main.qwe") == "main.qwe: error: it is not there\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("duble", "there is no function `duble`: did you mean `double`?"),
        ("entirely_other", "there is no function `entirely_other`: its functions are `double`, `main`"),
        ("2", "there is no function `2`: its functions are `double`, `main`"),
        ("", "there is no function ``: its functions are `double`, `main`"),
    ],
)
def test_a_function_that_is_not_there_is_refused_with_those_that_are(folder, name, message):
    Path("demo.qvm").write_bytes(dump(demo()))
    assert refusal("disasm", "demo.qvm", "--function", name) == f"demo.qvm: error: {message}\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the text ends before `module`"),
        (b"\xff", "line 1: byte 0xff is not UTF-8: save it as UTF-8"),
        (b'qasm 1\nmodule "m"\nnonsense', "line 3: no statement begins with nonsense"),
        (
            b'qasm 1\nmodule "m"\nfile "a"\nfunction 0 "f" file 0 line 1\n@1\nRETURN\n',
            "function 0 `f`, pc 0: RETURN takes 1 item, its block has 0",
        ),
        (b'qasm 1\nmodule "m"\nconstant 0 9223372036854775808', "its constant 0 is not a number of 64 bits"),
    ],
)
def test_a_text_that_makes_no_module_is_refused_and_nothing_is_written(folder, data, message):
    Path("a.qasm").write_bytes(data)
    assert refusal("assemble", "a.qasm", "-o", "a.qvm") == f"a.qasm: error: {message}\n"
    assert not Path("a.qvm").exists()


def test_a_place_that_can_not_be_written_is_refused(folder):
    Path("a.qasm").write_text('qasm 1\nmodule "m"\n')
    assert refusal("assemble", "a.qasm", "-o", ".") == ".: error: it is a folder, and a file is wanted\n"
    assert refusal("assemble", "a.qasm", "-o", "no/a.qvm") == "no/a.qvm: error: it is not there\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["--nothing"],
        ["verify"],
        ["verify", "a", "b"],
        ["verify", "--nothing", "a"],
        ["disasm"],
        ["disasm", "a", "--function"],
        ["disasm", "a", "--text", "--json"],
        ["disasm", "a", "--text", "--function", "f"],
        ["assemble", "a.qasm"],
    ],
)
def test_wrong_flags_have_status_2(arguments):
    said = refusal(*arguments, status=2)
    assert "Error: " in said


def test_the_overview_says_of_each_command_what_its_own_help_says():
    shown = run("--help").stdout
    for name, (place, summary) in qvm.COMMANDS.items():
        assert f"{name}  " in shown
        assert summary in shown
        command = sys.modules[place].command if place in sys.modules else qvm.group.get_command(None, name)
        assert command.name == name
        assert command.help.split("\n")[0] == summary
        assert run(name, "--help").exit_code == 0


def test_what_goes_wrong_inside_is_said_in_one_line(monkeypatch, capsys):
    def fail(*_, **__):
        raise BadModule("nobody caught this")

    monkeypatch.setattr(qvm.group, "main", fail)
    with pytest.raises(SystemExit) as ended:
        qvm.main(["verify", "a"])
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "please report it" in said.err


@pytest.mark.slow
def test_the_installed_command_prints_on_any_terminal(folder):
    Path("demo.qvm").write_bytes(dump(demo()))
    command = Path(sys.executable).parent / "qvm"
    done = subprocess.run(
        [command, "disasm", "demo.qvm", "--function", "double"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "IF_ABSENT times → 4".encode() in done.stdout
