"""One way to call tools over stdio, twice: with raw messages, and with the official SDK's client.

A test that is written for a Wire holds for both. A call gives the result as JSON has it, or raises Refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.mcp.spawned import ROOT, Server, environment, request
from tests.talking import hold_to_schema, meta

Response = dict[str, Any]


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Wire:
    """A connection to a server of its own."""

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        self._read = 0

    def call(self, name: str, arguments: Any = None, can_ask: bool = True, **more: Any) -> dict[str, Any]:
        """The result of one round. `more` are `requestState` and `inputResponses`."""
        raise NotImplementedError

    def log(self) -> str:
        """What went to standard error since it was asked for last. A call's log is there before its answer."""
        text = self._errors.read_text("utf-8")
        new, self._read = text[self._read :], len(text)
        return new

    # What tests say in short.

    def value(self, name: str, **arguments: Any) -> Any:
        """The structured answer of a call that goes well at once."""
        return structured(self.call(name, arguments))

    def again(self, asked: dict[str, Any], name: str, response: Response | None, **arguments: Any) -> dict[str, Any]:
        """The next round, with a response to what was asked; None leaves it out."""
        question(asked)
        responses = {} if response is None else {"ask": response}
        return self.call(name, arguments, requestState=asked["requestState"], inputResponses=responses)

    def through(self, name: str, *responses: Response, **arguments: Any) -> tuple[dict[str, Any], list[str]]:
        """A whole call with these responses in turn: its result, and the questions."""
        asked = []
        result = self.call(name, arguments)
        for response in responses:
            asked.append(question(result))
            result = self.again(result, name, response, **arguments)
        return result, asked


class RawWire(Wire):
    """Messages as bytes over pipes."""

    def __init__(self, server: Server, errors: Path) -> None:
        super().__init__(errors)
        self.server = server
        self.last_id = 0

    def message(self, name: str, arguments: Any = None, can_ask: bool = True, **more: Any) -> dict[str, Any]:
        self.last_id += 1
        given = {} if arguments is None else {"arguments": arguments}
        message = request(self.last_id, "tools/call", {"name": name, **given, **more})
        if not can_ask:
            message["params"]["_meta"] = meta({})
        return message

    def call(self, name: str, arguments: Any = None, can_ask: bool = True, **more: Any) -> dict[str, Any]:
        answer = self.server.ask(self.message(name, arguments, can_ask, **more))
        assert answer["id"] == self.last_id
        if "error" in answer:
            raise Refused(answer["error"]["code"], answer["error"]["message"])
        hold_to_schema(answer, "tools/call")
        return answer["result"]


class OfficialWire(Wire):
    """The official client, driven round by round. One connection says that it can ask, one does not."""

    def __init__(self, portal: Any, asking: Any, silent: Any, errors: Path) -> None:
        super().__init__(errors)
        self._portal = portal
        self._clients = {True: asking, False: silent}

    def call(self, name: str, arguments: Any = None, can_ask: bool = True, **more: Any) -> dict[str, Any]:
        from mcp import MCPError

        async def one() -> Any:
            return await self._clients[can_ask].session.call_tool(
                name,
                arguments,
                allow_input_required=True,
                request_state=more.get("requestState"),
                input_responses=more.get("inputResponses"),
            )

        try:
            result = self._portal.call(one)
        except MCPError as error:
            raise Refused(error.error.code, error.error.message) from None
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)


@contextlib.contextmanager
def raw_wire(program: Path, **env: str) -> Iterator[RawWire]:
    errors = program.parent / "raw.log"
    with open(errors, "ab") as sink, Server(program, stderr=sink, env=env) as server:
        wire = RawWire(server, errors)
        server.ask(request("first", "server/discover"))
        wire.log()  # what was said at the start, which is over once there is an answer
        yield wire


@contextlib.contextmanager
def official_wire(program: Path, **env: str) -> Iterator[OfficialWire]:
    """Two connections, each to a server of its own, to one program."""
    import sys

    from anyio.from_thread import start_blocking_portal
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "cli.quillo", "mcp", str(program)], env=environment(**env), cwd=ROOT
    )

    async def nobody(context: Any, params: Any) -> Any:
        raise AssertionError("a session that is driven round by round asks nobody")

    errors = program.parent / "official.log"
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(open(errors, "a"))
        portal = stack.enter_context(start_blocking_portal())
        asking, silent = (
            stack.enter_context(
                portal.wrap_async_context_manager(
                    Client(stdio_client(parameters, errlog=sink), elicitation_callback=callback)
                )
            )
            for callback in (nobody, None)
        )
        wire = OfficialWire(portal, asking, silent, errors)
        wire.log()
        yield wire


WIRES = {"raw": raw_wire, "official": official_wire}


# --- what a result holds


def question(result: dict[str, Any]) -> str:
    """The question that a result asks."""
    assert result["resultType"] == "input_required", result
    [(key, asked)] = result["inputRequests"].items()
    assert (key, asked["method"], asked["params"]["mode"]) == ("ask", "elicitation/create", "form")
    return asked["params"]["message"]


def structured(result: dict[str, Any]) -> Any:
    assert not result.get("isError"), result
    return result["structuredContent"]["result"]


def texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"]]


def failure(result: dict[str, Any]) -> str:
    """The text of a call that failed."""
    assert result.get("isError") is True, result
    assert "structuredContent" not in result
    return texts(result)[0]


def accept(**content: Any) -> Response:
    return {"action": "accept", "content": content}


YES, NO = accept(yes=True), accept(yes=False)
