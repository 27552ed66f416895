"""`quillo ask`: calls one tool from the terminal, and asks its questions there."""

from __future__ import annotations

import json
import os
import select
import signal
from pathlib import Path

import pytest

from qvm.values import Stop
from server.render import render
from tests.mcp.spawned import PATIENCE, commanded, spawn

PROGRAM = """
db.open("posts.db")
db.exec("create table if not exists posts (title text, who text)")

/// How many there are.
fn mcp count_posts() -> int with db = db.one("select count(*) as n from posts").n

/// Publishes a post.
fn mcp publish(title: str) -> str ! str with db {
  print("looking")
  let who = about("Who can see it?", { public: "Everyone", draft: "Only me, as a draft" }, "draft")
  if !confirm(`Publish "${title}" now?`) { return err("not published: the user said no") }
  db.exec("insert into posts values (?, ?)", title, who)
  who
}

/// Says it in two lines.
fn mcp lines() = "one\\ntwo"

/// Counts.
fn mcp counts(n: int) -> int {
  let i = 0
  while i < n { i += 1 }
  i
}

/// Waits.
fn mcp waits() -> str {
  sleep("1ms")
  "waited"
}

/// Fails.
fn mcp fails() -> int = 1 / len([])

/// Has choices of unlucky names.
fn mcp unlucky() -> str = about("Which?", { accept: "A", decline: "D" }, "accept")

/// Gives much.
fn mcp much() -> list<str> = repeat("word ", 30) | split(" ")

/// Asks again and again.
fn mcp waits_for_yes() -> int {
  let n = 0
  while !confirm(`Turn ${n}?`) { n += 1 }
  n
}
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "main.qwe").write_text(PROGRAM, "utf-8")
    return tmp_path


def ask(folder: Path, *arguments: str, input: str = ""):
    return commanded("ask", "main.qwe", *arguments, cwd=folder, input=input.encode())


def published(folder: Path) -> int:
    done = ask(folder, "count_posts", "--json")
    return json.loads(done.stdout)["structuredContent"]["result"]


TITLE = '{"title": "Hello"}'


# --- results


def test_a_result_is_shown_as_the_model_is_given_it(folder):
    done = ask(folder, "count_posts")
    assert (done.returncode, done.stdout) == (0, 'text: {"result":0}\nstructuredContent: {"result": 0}\n')
    done = ask(folder, "lines")
    assert (done.returncode, done.stdout) == (0, "text:\n  one\n  two\n")


def test_a_long_result_is_set_out_over_lines(folder):
    done = ask(folder, "much")
    assert '\nstructuredContent:\n  {\n    "result": [\n      "word",\n' in done.stdout


def test_a_failure_is_status_1_and_its_reason_is_on_standard_error(folder):
    done = ask(folder, "fails")
    assert (done.returncode, done.stdout) == (1, "isError: true\ntext: internal error\n")
    assert "line 34: division by zero\n" in done.stderr


def test_arguments_that_do_not_fit_are_the_models_to_mend(folder):
    done = ask(folder, "counts", '{"n": "x"}')
    assert (done.returncode, done.stdout) == (1, "isError: true\ntext: `n` of `counts` must be int, got str\n")


def test_the_result_as_json_is_the_one_that_is_sent(folder):
    done = ask(folder, "count_posts", "--json")
    result = json.loads(done.stdout)
    assert result["structuredContent"] == {"result": 0}
    assert result["resultType"] == "complete"
    assert json.loads(ask(folder, "fails", "--json").stdout)["isError"] is True


def test_steps_rounds_and_time_go_to_standard_error(folder):
    few, many = (ask(folder, "counts", f'{{"n": {n}}}').stderr for n in (10, 100_000))
    assert few.endswith(" ms\n")
    assert int(few.partition(" steps")[0]) < int(many.partition(" steps")[0].replace(",", ""))
    assert " steps in 3 rounds, " in ask(folder, "publish", TITLE, "--yes").stderr


def test_a_tool_that_waits_is_waited_for(folder):
    assert ask(folder, "waits").stdout.startswith('text: {"result":"waited"}\n')


def test_a_compiled_program_is_taken_too(folder):
    assert commanded("build", "main.qwe", "-o", "main.qvm", cwd=folder).returncode == 0
    assert commanded("ask", "main.qvm", "lines", cwd=folder).stdout == "text:\n  one\n  two\n"


# --- questions at the terminal


@pytest.mark.parametrize(
    ("input", "who"),
    [
        ("1\nyes\n", "public"),
        ("2\ny\n", "draft"),
        ("\nYES\n", "draft"),
        ("public\ny\n", "public"),
        ("3\n0\nEveryone\n-1\n1\nperhaps\n\ny\n", "public"),
    ],
)
def test_questions_are_asked_here_until_an_answer_is_one(folder, input, who):
    done = ask(folder, "publish", TITLE, input=input)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f'text: {{"result":"{who}"}}')
    assert "Who can see it?\n  1. Everyone\n  2. Only me, as a draft  (default)\n1 to 2? " in done.stderr
    assert 'Publish "Hello" now?\nyes or no? ' in done.stderr
    assert published(folder) == 1


def test_a_no_is_an_answer(folder):
    done = ask(folder, "publish", TITLE, input="1\nno\n")
    assert (done.returncode, done.stdout) == (1, "isError: true\ntext: not published: the user said no\n")
    assert published(folder) == 0


@pytest.mark.parametrize(
    ("input", "text"),
    [("", 'the user did not answer "Who can see it?"'), ("1\n", "not published: the user said no")],
)
def test_the_end_of_the_input_cancels_a_question(folder, input, text):
    done = ask(folder, "publish", TITLE, input=input)
    assert (done.returncode, done.stdout) == (1, f"isError: true\ntext: {text}\n")
    assert "cancelled: the question is left unanswered\n" in done.stderr
    assert published(folder) == 0


def until(process, text: bytes) -> None:
    """Reads the standard error of a process until it has ended with `text`."""
    seen = b""
    while not seen.endswith(text):
        assert select.select([process.stderr], [], [], PATIENCE)[0], seen
        data = os.read(process.stderr.fileno(), 4096)
        assert data, seen
        seen += data


def test_an_interrupt_cancels_the_question_and_not_the_call(folder):
    process = spawn(["ask", str(folder / "main.qwe"), "publish", TITLE])
    with process:
        until(process, b"1 to 2? ")
        process.stdin.write(b"1\n")
        process.stdin.flush()
        until(process, b"yes or no? ")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (1, b"isError: true\ntext: not published: the user said no\n")


@pytest.mark.parametrize("body", ['sleep("1h")', "while true { }"])
def test_an_interrupt_ends_a_tool_that_runs(folder, body):
    (folder / "main.qwe").write_text(f'/// Runs.\nfn mcp runs() {{\n  print("begun")\n  {body}\n}}\n', "utf-8")
    process = spawn(["ask", str(folder / "main.qwe"), "runs"])
    with process:
        until(process, b"begun\n")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output, errors) == (130, b"", b"")


FORGED = r"""
let text = "Delete\u{0}\u{1b}[2K\r\u{9b}2KKeep \u{202e}all\u{2028}?"

/// Asks.
fn mcp ask() -> str {
  if !confirm(text) { return err(text) }
  text + about(text, { a: text, b: text }, "a")
}
"""


@pytest.mark.parametrize("options", [("--yes",), ("--no",), ("--answers", "few.json"), ("--answers", "odd.json"), ()])
def test_data_cannot_turn_the_terminal_against_the_person(tmp_path, options):
    """What moves the cursor, colours or turns a text is shown, and not done."""
    (tmp_path / "main.qwe").write_text(FORGED, "utf-8")
    (tmp_path / "few.json").write_text("[true]", "utf-8")
    (tmp_path / "odd.json").write_text('["x"]', "utf-8")
    done = ask(tmp_path, "ask", *options, input="y\n1\n")
    shown = done.stdout + done.stderr
    assert r"Delete\x00\x1b[2K\r\x9b2KKeep \u202eall\u2028?" in shown
    assert not any(letter in shown for letter in "\0\x1b\r\x9b\u202e\u2028")


def test_a_stop_that_quotes_data_is_shown_likewise():
    shown = render(Stop("no `\x1b[2K\u202e` in\na.txt\t(ü, 列\u3000, 👩\u200d🚀)"), "main.qwe")
    assert shown == "no `\\x1b[2K\\u202e` in\na.txt\t(ü, 列\u3000, 👩\u200d🚀)"


# --- questions that others answer


def test_yes_agrees_and_takes_defaults(folder):
    done = ask(folder, "publish", TITLE, "--yes")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, 'text: {"result":"draft"}')
    assert "Who can see it? draft\n" in done.stderr
    assert 'Publish "Hello" now? yes\n' in done.stderr


def test_no_declines_choices(folder):
    done = ask(folder, "publish", TITLE, "--no")
    assert (done.returncode, done.stdout) == (1, 'isError: true\ntext: the user did not answer "Who can see it?"\n')


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        (["public", True], '{"result":"public"}'),
        (["draft", False], "not published: the user said no"),
        (["public", "decline"], "not published: the user said no"),
        (["public", "cancel"], "not published: the user said no"),
        (["decline"], 'the user did not answer "Who can see it?"'),
        (["cancel"], 'the user did not answer "Who can see it?"'),
        (["public", {"action": "accept"}], "not published: the user said no"),
        ([{"action": "accept", "content": {"choice": "nobody"}}, "public", True], '{"result":"public"}'),
    ],
)
def test_answers_come_from_a_file_in_their_order(folder, answers, text):
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
    done = ask(folder, "publish", TITLE, "--answers", "answers.json")
    assert f"text: {text}\n" in done.stdout
    assert done.returncode == ("isError: true" in done.stdout)
    assert "not needed" not in done.stderr


@pytest.mark.parametrize("key", ["accept", "decline"])
def test_a_choice_of_that_key_is_meant_where_there_is_one(folder, key):
    (folder / "answers.json").write_text(json.dumps([key]), "utf-8")
    assert f'text: {{"result":"{key}"}}' in ask(folder, "unlucky", "--answers", "answers.json").stdout


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (["public"], 'it has 1 answer, and question 2 is "Publish "Hello" now?"'),
        ([], 'it has 0 answers, and question 1 is "Who can see it?"'),
        ([True], 'answer 1 is true, and "Who can see it?" takes "public", "draft", "decline" or "cancel"'),
        (["nobody"], 'answer 1 is "nobody", and "Who can see it?" takes "public", "draft", "decline" or "cancel"'),
        (
            ["public", "yes"],
            'answer 2 is "yes", and "Publish "Hello" now?" takes true, false, "decline" or "cancel"',
        ),
        (
            ["public", 1],
            'answer 2 is 1, and "Publish "Hello" now?" takes true, false, "decline" or "cancel"',
        ),
        ({"yes": True}, 'it must be a JSON list of answers, such as [true, "draft"]'),
    ],
)
def test_answers_that_do_not_fit_are_one_line(folder, answers, message):
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
    done = ask(folder, "publish", TITLE, "--answers", "answers.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == f"answers.json: error: {message}"
    assert published(folder) == 0


def test_an_answer_too_many_is_told(folder):
    (folder / "answers.json").write_text('["public", true, false, 1]', "utf-8")
    assert (
        "answers.json: 2 answers were not needed\n" in ask(folder, "publish", TITLE, "--answers", "answers.json").stderr
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "answers.json: error: it is not there"), ("[true", "answers.json: error: the file is not JSON: ")],
)
def test_a_file_of_answers_that_cannot_be_read_is_one_line(folder, text, message):
    if text is not None:
        (folder / "answers.json").write_text(text, "utf-8")
    done = ask(folder, "publish", TITLE, "--answers", "answers.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_a_client_that_cannot_show_a_form(folder):
    done = ask(folder, "publish", TITLE, "--no-client-forms")
    assert (done.returncode, done.stdout) == (
        1,
        "isError: true\ntext: this needs the user's yes, and this client cannot ask\n"
        'text: the user was not asked "Who can see it?": the default "Only me, as a draft" was taken\n',
    )


def test_what_would_never_end_is_ended(folder):
    done = ask(folder, "waits_for_yes", "--no")
    assert (done.returncode, done.stdout) == (
        1,
        "isError: true\ntext: this call asked 100 times without coming to an end\n",
    )


# --- what is wrong with a call


def test_arguments_may_be_left_out_or_come_from_standard_input(folder):
    assert ask(folder, "counts").stdout == "isError: true\ntext: `counts` needs `n`: int\n"
    assert ask(folder, "counts", "-", input='{"n":\n 3}').stdout.startswith('text: {"result":3}\n')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["counts", '{"n": 3'], "the arguments can't be read: the text is not JSON: "),
        (["counts", ""], "the arguments can't be read: the text is not JSON: "),
        (["counts", "[3]"], 'the arguments must be a JSON object, such as {"word": "milk"}'),
        (["counts", "3"], 'the arguments must be a JSON object, such as {"word": "milk"}'),
        (["count", '{"n": 3}'], "main.qwe: error: there is no tool `count`: did you mean `counts`?"),
        (["publish", TITLE, "--policy", "none.toml"], "none.toml: the policy can't be read: "),
    ],
)
def test_what_is_wrong_is_one_line_and_status_1(folder, arguments, message):
    done = ask(folder, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_a_program_that_stops_at_its_start_says_where(folder):
    (folder / "main.qwe").write_text("/// One.\nfn mcp one() -> int = 1\nlet x = 1 / len([])\n", "utf-8")
    done = ask(folder, "one")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "line 3: division by zero\n")


def test_a_program_without_tools_says_so(folder):
    (folder / "main.qwe").write_text("print(1)\n", "utf-8")
    done = ask(folder, "one")
    assert done.stderr == "main.qwe: error: there is no tool here: `fn mcp` makes a function one\n"
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["lines", "{}", "more"],
        ["lines", "--nonsense"],
        ["lines", "--yes", "--no"],
        ["lines", "--yes", "--answers", "answers.json"],
        ["lines", "--no-client-forms", "--no"],
        ["lines", "--answers"],
    ],
)
def test_wrong_use_is_status_2_and_says_how(folder, arguments):
    done = ask(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: " in done.stderr
