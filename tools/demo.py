"""`make demo`: a real MCP client (the official Python SDK) uses the notes app, in words that a person can read.

    python -m tools.demo [--ask]

It works on a copy of examples/notes in a temporary folder. With --ask, or where standard input is a terminal, the
question of `clear_notes` is put to you; else it is answered with no first, then with yes.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
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


async def conversation(program: Path, person: Person) -> None:
    server = StdioServerParameters(command=str(QUILLO), args=["mcp", str(program)])
    print(f"A client starts:  quillo mcp {program.name}")
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
        asyncio.run(conversation(program, Person(None if terminal else [False, True])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
