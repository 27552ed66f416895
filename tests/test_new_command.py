"""`quillo new NAME`: what it makes works as it stands, and nothing that is there is touched."""

from __future__ import annotations

import json

import pytest

from tests.mcp.spawned import Server, commanded, request

MADE = {"main.qwe", "quillo.policy.toml", ".mcp.json", ".gitignore", "README.md"}


@pytest.fixture
def made(tmp_path):
    done = commanded("new", "notes", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    return tmp_path / "notes"


def test_it_makes_the_files_and_says_what_to_type_next(tmp_path):
    done = commanded("new", "my-notes_2", cwd=tmp_path)
    assert {path.name for path in (tmp_path / "my-notes_2").iterdir()} == MADE
    lines = done.stdout.splitlines()
    assert lines[0] == "made my-notes_2 with main.qwe, quillo.policy.toml, .mcp.json, .gitignore, README.md"
    assert lines[-3:] == ["  cd my-notes_2", "  quillo test main.qwe", "  quillo run main.qwe --watch"]


def test_the_program_checks_without_a_word_and_is_in_the_one_style(made):
    assert commanded("check", "main.qwe", cwd=made).stdout == ""
    assert commanded("fmt", "--check", "main.qwe", cwd=made).returncode == 0


def test_its_tests_pass(made):
    done = commanded("test", "main.qwe", cwd=made)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "3 passed")
    assert {path.name for path in made.iterdir()} == MADE


def test_its_tools_are_served_by_what_the_clients_file_names(made):
    server = json.loads((made / ".mcp.json").read_text("utf-8"))["mcpServers"]["notes"]
    assert server == {"command": "quillo", "args": ["mcp", str(made / "main.qwe")]}
    with Server(made / "main.qwe") as running:
        tools = running.ask(request(1, "tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["search_notes", "add_note", "clear_notes"]
        assert running.end()[::2] == (0, "")


def test_its_page_is_served_at_once_and_adds_notes(made):
    from tests.http.spawned import Running

    with Running(made / "main.qwe", "--watch") as server:
        assert "<ul></ul>" in server.send("GET", "/")[2]
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for text in ("text=%3Cb%3EMilk", "text=", "other=1"):
            status, headers, _ = server.send("POST", "/", text, **form)
            assert (status, headers["location"]) == (303, "/")
        assert "<ul><li>&lt;b&gt;Milk</li></ul>" in server.send("GET", "/")[2]
        assert "with the header Authorization: Bearer qmcp_" in server.next_line()


def test_the_readme_has_five_lines(made):
    text = (made / "README.md").read_text("utf-8")
    assert len(text.splitlines()) == 5
    assert text.startswith("# notes\n")


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "notes").mkdir()
    assert commanded("new", "notes", cwd=tmp_path).returncode == 0
    assert {path.name for path in (tmp_path / "notes").iterdir()} == MADE


def test_a_folder_with_files_is_left_alone(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "kept.txt").write_text("kept", "utf-8")
    done = commanded("new", "notes", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "notes: error: the folder is there and holds files: take another name\n"
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["kept.txt"]


def test_a_file_of_the_name_is_left_alone(tmp_path):
    (tmp_path / "notes").write_text("kept", "utf-8")
    done = commanded("new", "notes", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert (tmp_path / "notes").read_text("utf-8") == "kept"


@pytest.mark.parametrize("name", ["", ".", "..", "/", "a b", "é", "_a", ".a", "a/..", 'a"b', "a\nb", "x" * 65])
def test_a_bad_name_is_refused_in_one_line(tmp_path, name):
    done = commanded("new", "--", name, cwd=tmp_path)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "is no name for a program" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_one_that_is_not_there_is_refused(tmp_path):
    done = commanded("new", "apps/notes", cwd=tmp_path)
    assert done.stderr == "apps/notes: error: the folder that it would stand in is not there\n"
    assert done.returncode == 1
