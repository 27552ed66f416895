"""The notes app as real clients meet it over HTTP, with a token of someone signed in."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from tests.http.spawned import ACCOUNTS, Running
from tests.mcp.spawned import PATIENCE, ROOT, call
from tests.mcp.test_official_client import Person

NOTES = (ROOT / "examples" / "notes" / "main.qwe").read_text("utf-8")


def talk(server: Running, token: str, person: Person | None, conversation: Callable[[Client], Awaitable[None]]) -> None:
    """One client with a token, in the way that it is connected out of the box."""

    async def main() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(server.door, http_client=http), elicitation_callback=person) as client,
        ):
            await conversation(client)

    asyncio.run(main())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    program = tmp_path_factory.mktemp("notes") / "main.qwe"
    program.write_text(NOTES + ACCOUNTS, "utf-8")
    with Running(program) as running:
        yield running


def test_the_story_of_the_notes(server: Running) -> None:
    person = Person(
        ElicitResult(action="accept", content={"yes": False}), ElicitResult(action="accept", content={"yes": True})
    )

    async def story(client: Client) -> None:
        assert client.instructions is not None
        assert "A call acts as the person whose cookie or token it carries." in client.instructions
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == ["search_notes", "add_note", "clear_notes"]
        for text in ("milk", "bread and milk"):
            added = await client.call_tool("add_note", {"text": text})
            assert not added.is_error
        found = await client.call_tool("search_notes", {"word": "milk"})
        assert [note["text"] for note in found.structured_content["result"]] == ["bread and milk", "milk"]
        kept = await client.call_tool("clear_notes", {})
        assert kept.is_error
        assert kept.content[0].text == "nothing was deleted: the user said no"
        cleared = await client.call_tool("clear_notes", {})
        assert cleared.structured_content == {"result": 2}
        left = await client.call_tool("search_notes", {"word": "milk"})
        assert left.structured_content == {"result": []}

    talk(server, server.token(), person, story)
    assert person.asked == ["Delete all 2 notes?"] * 2


def test_a_client_that_shows_no_forms_is_refused_what_needs_a_yes(server: Running) -> None:
    async def story(client: Client) -> None:
        refused = await client.call_tool("clear_notes", {})
        assert refused.is_error
        assert refused.content[0].text == "this needs the user's yes, and this client cannot ask"

    talk(server, server.token(), None, story)


def test_a_client_with_a_wrong_token_is_told_what_to_do(server: Running) -> None:
    async def story(client: Client) -> None:
        await client.list_tools()

    with pytest.raises(BaseExceptionGroup) as caught:
        talk(server, "qmcp_" + "A" * 43, None, story)
    problem: BaseException = caught.value
    while isinstance(problem, BaseExceptionGroup):
        [problem] = problem.exceptions
    assert str(problem) == "sign in, or send a good token: `Authorization: Bearer qmcp_…`"


def test_a_client_that_hangs_up_ends_its_call(tmp_path: Path) -> None:
    program = """
    db.open("data.db")
    db.exec("create table t (n int)")
    /// Waits.
    fn mcp slow() -> int with db {
      db.transaction(() => { db.exec("insert into t values (1)"); print("waits"); sleep("1h"); 1 })
    }
    /// Counts, once nobody else is writing.
    fn mcp count() -> int with db {
      db.exec("insert into t values (2)")
      db.one("select count(*) as n from t").n
    }
    """
    path = tmp_path / "main.qwe"
    path.write_text(program + ACCOUNTS, "utf-8")
    with Running(path, "--watch") as server:  # which says what the program prints at once
        token = server.token()
        headers = {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
        }
        connection = http.client.HTTPConnection(server.address.removeprefix("http://"), timeout=PATIENCE)
        body = json.dumps(call(1, "slow"))
        connection.request("POST", "/_quillo/mcp", body, {**headers, "mcp-name": "slow"})
        while server.next_line() != "waits\n":
            pass
        connection.close()
        status, _, answer = server.send(
            "POST", "/_quillo/mcp", json.dumps(call(2, "count")), **{**headers, "mcp-name": "count"}
        )
        assert status == 200
        assert json.loads(answer)["result"]["structuredContent"] == {"result": 1}


# Clients that are no part of what is installed for the tests: run where the environment says where they are.

STORY = """\
search_notes, add_note, clear_notes
add_note: {"result":1}
add_note: {"result":2}
search_notes: {"result":[{"id":2,"text":"bread and milk"},{"id":1,"text":"milk"}]}
asked: Delete all 2 notes?
clear_notes failed: nothing was deleted: the user said no
asked: Delete all 2 notes?
clear_notes: {"result":2}
search_notes: {"result":[]}
"""
CLIENTS = Path(__file__).parent / "clients"


def told(command: list[str], tmp_path: Path) -> str:
    """What a client tells of the story, which it has with a server of its own."""
    path = tmp_path / "main.qwe"
    path.write_text(NOTES + ACCOUNTS, "utf-8")
    with Running(path) as server:
        done = subprocess.run(
            [*command, server.door, server.token()], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif("QUILLO_NODE" not in os.environ, reason='QUILLO_NODE says where they are: "NODE,NODE_MODULES"')
def test_the_typescript_client(tmp_path: Path) -> None:
    node, modules = os.environ["QUILLO_NODE"].split(",")
    (tmp_path / "node_modules").symlink_to(modules)
    script = shutil.copy(CLIENTS / "notes.mjs", tmp_path)
    assert told([node, "--preserve-symlinks", str(script)], tmp_path) == STORY


@pytest.mark.skipif("QUILLO_FASTMCP" not in os.environ, reason="QUILLO_FASTMCP says which Python has fastmcp")
def test_fastmcps_client(tmp_path: Path) -> None:
    assert told([os.environ["QUILLO_FASTMCP"], str(CLIENTS / "notes_fastmcp.py")], tmp_path) == STORY
