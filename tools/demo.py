"""`make demo`: the notes app is served, and a real MCP client (the official Python SDK) uses it, in words for people.

    python -m tools.demo [--ask] [--stay]

It works on a copy of examples/notes in a temporary folder: first its page and its door over HTTP, with a token, then
its tools over stdio. With --ask, or where standard input is a terminal, the question of `clear_notes` is put to you;
else it is answered with no first, then with yes. With --stay, or on a terminal, it is served until you press Ctrl-C.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

ROOT = Path(__file__).resolve().parent.parent
QUILLO = Path(sys.executable).with_name("quillo")


def title(text: str) -> None:
    print(f"\n== {text}")


def show(result: Any) -> None:
    for block in result.content:
        print(f"   {'error' if result.is_error else 'answer'}: {block.text}")


class Person:
    """Answers the server's questions: from the terminal, or from a list."""

    def __init__(self, answers: list[bool] | None) -> None:
        self.answers = answers

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        print(f"   the server asks the person: {params.message}")
        if self.answers is None:
            reply = (await asyncio.to_thread(input, "   your answer (yes/no): ")).strip().lower() in ("y", "yes")
        else:
            reply = self.answers.pop(0)
            print(f"   the person's answer: {'yes' if reply else 'no'}")
        return ElicitResult(action="accept", content={"yes": reply})


class Served:
    """The program, served by `quillo run` on a free port: its address, and what it says at its start."""

    def __init__(self, program: Path) -> None:
        command = [str(QUILLO), "run", str(program), "--port", "0", "--watch"]
        environment = {**os.environ, "QUILLO_SECRET": secrets.token_hex(16)}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline().rstrip() for _ in range(3)]
        said = "\n".join(self.lines)
        address, token = re.search(r"http://[^/\s]+", said), re.search(r"qmcp_[\w-]+", said)
        if address is None or token is None:
            self.process.kill()
            raise SystemExit(f"the program is not served: {said}")
        self.address, self.token = address[0], token[0]

    def page(self) -> str:
        with urllib.request.urlopen(self.address + "/", timeout=10) as answer:
            return str(answer.read().decode("utf-8"))

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)


async def over_http(served: Served, person: Person) -> None:
    """Adds notes through the door, shows the page that they are on, and has them deleted after a question."""
    headers = {"Authorization": f"Bearer {served.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(
            streamable_http_client(f"{served.address}/_quillo/mcp", http_client=http), elicitation_callback=person
        ) as client,
    ):
        for text in ("Water the plants", "<b>Not</b> bold"):
            title(f"add_note(text: {text!r}) over HTTP")
            show(await client.call_tool("add_note", {"text": text}))
        title("The page, as a browser gets it")
        print("   " + (await asyncio.to_thread(served.page)).strip().replace("\n", "\n   "))
        for _ in range(2):
            title("clear_notes() over HTTP: it asks the person before it deletes anything")
            show(await client.call_tool("clear_notes", {}))


async def over_stdio(program: Path, person: Person) -> None:
    server = StdioServerParameters(command=str(QUILLO), args=["mcp", str(program)])
    print(f"\nAnother client starts:  quillo mcp {program.name}")
    async with Client(server, elicitation_callback=person) as client:
        title("What the server tells the model")
        print("   " + (client.instructions or "").replace("\n", "\n   "))
        title("Its tools")
        for tool in (await client.list_tools()).tools:
            hints = tool.annotations.model_dump(exclude_none=True, by_alias=True) if tool.annotations else {}
            print(f"   {tool.name}({', '.join(tool.input_schema['properties'])}): {tool.description}  {hints or ''}")
        for text in ("Buy milk", "Call Ana about the milk float"):
            title(f"add_note(text: {text!r})")
            show(await client.call_tool("add_note", {"text": text}))
        title("search_notes(word: 'milk')")
        show(await client.call_tool("search_notes", {"word": "milk"}))
        title("search_notes(word: 5): a mistake that the model can mend")
        show(await client.call_tool("search_notes", {"word": 5}))
        for _ in range(2):
            title("clear_notes(): it asks the person before it deletes anything")
            show(await client.call_tool("clear_notes", {}))
        title("search_notes(word: '')")
        show(await client.call_tool("search_notes", {"word": ""}))
    print("\nThe client is gone, and so is the server.")


def main() -> int:
    terminal = "--ask" in sys.argv[1:] or (sys.stdin is not None and sys.stdin.isatty())
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "main.qwe"
        shutil.copy(ROOT / "examples" / "notes" / "main.qwe", program)
        served = Served(program)
        try:
            print("The notes app is served:")
            for line in served.lines:
                print(f"   {line}")
            asyncio.run(over_http(served, Person(None if terminal else [False, True])))
            asyncio.run(over_stdio(program, Person(None if terminal else [False, True])))
            if "--stay" in sys.argv[1:] or (terminal and "--ask" not in sys.argv[1:]):
                print(f"\nIt is still served at {served.address}/ : press Ctrl-C to end it.")
                served.process.wait()
        except KeyboardInterrupt:
            pass
        finally:
            served.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
