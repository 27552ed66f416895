"""A client in the test's own process: sends messages to a program's Protocol and holds every answer to MCP's schema."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema
import trio

from qasm.module import Module
from qvm.values import Stop
from server.asking import Asking, UsedInDatabase, UsedInMemory
from server.host import World
from server.limits import CallCount
from server.policy import Policy
from server.programs import RunningProgram
from server.protocol import Protocol, Unfinished
from tests.programs import compiled

SCHEMA = json.loads((Path(__file__).parent / "mcp" / "schema.json").read_text("utf-8"))
VERSION = "2026-07-28"
FORMS = {"elicitation": {"form": {}}}
RESULTS = {"server/discover": "DiscoverResult", "tools/list": "ListToolsResult", "tools/call": "CallToolResult"}
SECRET = b"0123456789abcdef0123456789abcdef"


def meta(capabilities: Any = None, version: str = VERSION) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": FORMS if capabilities is None else capabilities,
    }


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


def hold_to_schema(answer: dict[str, Any], method: str = "") -> None:
    """Fails where an answer is not what MCP's own schema says."""
    if "error" in answer:
        validator("JSONRPCErrorResponse").validate(answer)
        if answer["error"]["code"] == -32022:
            validator("UnsupportedProtocolVersionError").validate(answer)
        return
    validator("JSONRPCResultResponse").validate(answer)
    result = answer["result"]
    asks = result["resultType"] == "input_required"
    if method:
        validator("InputRequiredResult" if asks else RESULTS[method]).validate(result)
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]


class Clock:
    """Seconds since 1970 that pass when the test says so."""

    now = 1_785_240_000.0

    def __call__(self) -> float:
        return self.now


class Talk:
    """`text` is a program, or a Module. `log` is what went to standard error, `printed` what `print` wrote there."""

    def __init__(
        self,
        text: str | Module,
        folder: Path | str = ".",
        files: dict[str, str] | None = None,
        policy: Policy | None = None,
        secret: bytes | None = SECRET,
        caller: str = "stdio",
        limit: int | None = None,
    ) -> None:
        self.module = compiled(text, files) if isinstance(text, str) else text
        self.log: list[str] = []
        self.printed: list[str] = []
        self.clock = Clock()
        world = World(str(folder), self.printed.append, self.log.append, policy, serving="quillo mcp")
        self.running = RunningProgram(self.module, world)
        self.start()
        database = world.database
        used = UsedInDatabase(database) if database.is_open else UsedInMemory()
        self.asking = Asking(secret, self.running.digest, used, self.clock)
        count = None if limit is None else CallCount(limit, self.clock)
        self.protocol = Protocol(self.running, self.asking, caller, count=count)
        self.last_id = 0

    def start(self) -> None:
        """Runs the program's top level."""
        self.running.run_top_level()

    def close(self) -> None:
        self.running.close()

    def raw(self, data: bytes) -> dict[str, Any] | None:
        """The answer to a message's bytes, waited for; None for none."""
        answer = self.protocol.begin(data)
        if isinstance(answer, Unfinished):
            answer = trio.run(finished, answer)
        if answer is None:
            return None
        assert isinstance(answer, bytes)
        assert answer.endswith(b"\n")
        assert answer.count(b"\n") == 1
        read = json.loads(answer)
        hold_to_schema(read)
        return read

    def send(self, message: Any) -> dict[str, Any] | None:
        return self.raw(json.dumps(message).encode())

    def message(self, method: str, params: dict[str, Any] | None = None, capabilities: Any = None) -> dict[str, Any]:
        self.last_id += 1
        params = {**(params or {}), "_meta": meta(capabilities)}
        return {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}

    def answer(self, method: str, params: dict[str, Any] | None = None, capabilities: Any = None) -> dict[str, Any]:
        answer = self.send(self.message(method, params, capabilities))
        assert answer is not None
        assert answer["id"] == self.last_id
        hold_to_schema(answer, method)
        return answer

    def result(self, method: str, params: dict[str, Any] | None = None, capabilities: Any = None) -> dict[str, Any]:
        answer = self.answer(method, params, capabilities)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, params: dict[str, Any] | None = None, capabilities: Any = None) -> tuple[int, str]:
        answer = self.answer(method, params, capabilities)
        assert "error" in answer, answer
        return answer["error"]["code"], answer["error"]["message"]

    # tools

    def call(
        self, name: str, arguments: dict[str, Any] | None = None, capabilities: Any = None, **more: Any
    ) -> dict[str, Any]:
        """The result of a tool's call."""
        params = {"name": name, **({} if arguments is None else {"arguments": arguments}), **more}
        return self.result("tools/call", params, capabilities)

    def value(self, name: str, **arguments: Any) -> Any:
        """The structured answer of a call that has to go well."""
        result = self.call(name, arguments)
        assert not result.get("isError"), (result, self.log)
        held = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == held
        wrapped = next(tool for tool in self.module.tools if tool.name == name).wrapped
        return held["result"] if wrapped else held

    def failure(self, name: str, arguments: dict[str, Any] | None = None, capabilities: Any = None, **more: Any) -> str:
        """The text of a call that has to fail."""
        result = self.call(name, arguments, capabilities, **more)
        assert result.get("isError") is True, result
        assert "structuredContent" not in result
        return result["content"][0]["text"]

    # questions

    def asked(self, result: dict[str, Any]) -> str:
        """The question that a result asks."""
        assert result["resultType"] == "input_required", result
        [(key, request)] = result["inputRequests"].items()
        assert key == "ask"
        assert request["method"] == "elicitation/create"
        assert request["params"]["mode"] == "form"
        return request["params"]["message"]

    def again(self, asked: dict[str, Any], name: str, response: Any, **arguments: Any) -> dict[str, Any]:
        """The result of the next round, with this response to what was asked."""
        self.asked(asked)
        responses = {} if response is None else {"ask": response}
        return self.call(name, arguments, requestState=asked["requestState"], inputResponses=responses)


def yes(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content or {"yes": True}}


async def finished(call: Unfinished) -> bytes | None:
    """Goes on with a call until its answer is there."""
    answer: bytes | Unfinished | None = call
    while isinstance(answer, Unfinished):
        if answer.waiting is None:
            answer = answer.resume(None)
            continue
        try:
            value = await answer.waiting.start()
        except Stop as stop:
            answer = answer.fail(stop)
        else:
            answer = answer.resume(value)
    return answer
