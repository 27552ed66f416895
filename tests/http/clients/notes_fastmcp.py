"""The story of the notes, had by fastmcp's client: python notes_fastmcp.py URL TOKEN"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def main(url: str, token: str) -> None:
    answers = [False, True]  # what the person answers

    async def ask(message: str, form: Any, *_: Any) -> Any:
        print(f"asked: {message}")
        return form(yes=answers.pop(0))

    transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {token}"})
    async with Client(transport, elicitation_handler=ask) as client:

        async def call(name: str, **arguments: str) -> None:
            result = await client.call_tool(name, arguments, raise_on_error=False)
            print(f"{name}{' failed' if result.is_error else ''}: {result.content[0].text}")

        print(", ".join(tool.name for tool in await client.list_tools()))
        await call("add_note", text="milk")
        await call("add_note", text="bread and milk")
        await call("search_notes", word="milk")
        await call("clear_notes")
        await call("clear_notes")
        await call("search_notes", word="milk")


asyncio.run(main(*sys.argv[1:]))
