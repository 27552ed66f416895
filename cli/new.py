"""`quillo new NAME`: makes a folder with a small program to start from, its tests, and what connects it to a client."""

from __future__ import annotations

import json
import os
import re

import click

from cli.modules import Refusal, reason, refused
from qvm.text import quoted
from server.programs import shown

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

_PROGRAM = """\
//! A notebook of short notes.
//! Call search_notes before add_note, so the same note is not written twice.

db.open("notes.db")
db.exec("create table if not exists notes (id integer primary key, text text not null)")

type Note = { id: int, text: str }

/// The notes whose text contains `word`, newest first.
fn mcp search_notes(word: str, limit: int = 20) -> list<Note> with db =
  db.query("select id, text from notes where text like ? order by id desc limit ?", `%${word}%`, limit)

/// Adds a note, and gives its id.
fn mcp add_note(text: str) -> int with db =
  db.one("insert into notes (text) values (?) returning id", text).id

/// Deletes every note, after asking the person.
fn mcp clear_notes() -> int ! str with db {
  let n = db.one("select count(*) as n from notes").n
  if !confirm(`Delete all ${n} notes?`) {
    return err("nothing was deleted: the user said no")
  }
  db.exec("delete from notes")
  n
}

route GET / with db = <main>
  <h1>Notes</h1>
  <form method="post" action="/"><input name="text" required> <button>Add</button></form>
  <ul>{for n in search_notes("") => <li>{n.text}</li>}</ul>
</main>

route POST / with db {
  let text = trim(request.form.text ?? "")
  if text != "" {
    add_note(text)
  }
  redirect("/")
}

test "a note is found by a word in it" {
  let id = add_note("Buy milk")
  add_note("Buy bread")
  assert search_notes("milk") == [{ id: id, text: "Buy milk" }]
}

test "a yes deletes every note" {
  add_note("Buy milk")
  assert answering(true, () => clear_notes()) == 1
  assert search_notes("") == []
}

test "a no deletes nothing" {
  add_note("Buy milk")
  assert is_err(answering(false, () => clear_notes()))
  assert len(search_notes("milk")) == 1
}
"""

_POLICY = """\
# What the program may do, and how much of it; a limit that is left out has its usual value.
[limits]
max_tool_calls = 60 # a minute for each user
max_body = "1mb"    # what a form or a call may bring

[allow]
effects = ["db"] # anything else is refused: "fs" files, "http" other sites, "net" any other network
"""

_IGNORED = "*.db\n*.db-shm\n*.db-wal\n*.qvm\n"

_README = """\
# {name}
`main.qwe` is the program: its functions marked `fn mcp` are tools for AI clients. Type the commands in this folder:
`quillo run main.qwe --watch` serves its page and its tools; `quillo test main.qwe` runs its tests, and
`quillo ask main.qwe add_note '{{"text": "Buy milk"}}'` calls a tool; `quillo mcp main.qwe` serves the tools over stdio.
`.mcp.json` connects AI clients to it, by its absolute path; `quillo.policy.toml` says what it may do, and how much.
"""


@click.command("new")
@click.argument("name")
def command(name: str) -> None:
    """Makes a folder with a program to start from.

    NAME is the folder, which must not be there or be empty. It gets a notes app with its tests, a policy, and what
    connects it to an AI client.
    """
    folder = os.path.abspath(name)
    title = os.path.basename(folder)
    if not name.strip("/") or _NAME.fullmatch(title) is None or os.path.basename(name.rstrip("/")) != title:
        raise Refusal(
            f"{quoted(shown(name))} is no name for a program: it is made of letters, digits, `-` and `_`, and begins"
            " with a letter or a digit"
        )
    _make_folder(folder, name)
    files = _files(folder, title)
    for file, text in files.items():
        path = os.path.join(folder, file)
        try:
            with open(path, "x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except OSError as error:
            raise refused(shown(os.path.join(name, file)), f"it can't be written: {reason(error)}") from None
    click.echo(f"made {shown(name.rstrip('/'))} with {', '.join(files)}")
    click.echo("what to type next:")
    for line in (f"cd {shown(name.rstrip('/'))}", "quillo test main.qwe", "quillo run main.qwe --watch"):
        click.echo(f"  {line}")


def _make_folder(folder: str, name: str) -> None:
    """Makes the folder, unless it is there and empty. Raises Refusal."""
    try:
        os.mkdir(folder)
    except FileExistsError:
        try:
            empty = not os.listdir(folder)
        except OSError as error:
            raise refused(shown(name), _why_not(error)) from None
        if not empty:
            raise refused(shown(name), "the folder is there and holds files: take another name") from None
    except OSError as error:
        raise refused(shown(name), _why_not(error)) from None


def _why_not(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "the folder that it would stand in is not there"
    if isinstance(error, NotADirectoryError):
        return "a file of this name, or of a part of its path, is there: take another name"
    return f"the folder can't be made: {reason(error)}"


def _files(folder: str, title: str) -> dict[str, str]:
    """The files of a new program, by name."""
    server = {"command": "quillo", "args": ["mcp", os.path.join(folder, "main.qwe")]}
    return {
        "main.qwe": _PROGRAM,
        "quillo.policy.toml": _POLICY,
        ".mcp.json": json.dumps({"mcpServers": {title: server}}, indent=2, ensure_ascii=False) + "\n",
        ".gitignore": _IGNORED,
        "README.md": _README.format(name=title),
    }
