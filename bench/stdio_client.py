"""A bare MCP client over stdio, for measuring: it spends as little as it can on its own side."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from typing import Any

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
PATIENCE = 30.0  # seconds that one answer may take


class Server:
    """A server process; `database` is its notes' place. `started` is the clock's reading just before it was spawned."""

    def __init__(self, command: list[str], database: str = ":memory:") -> None:
        environment = {**os.environ, "NOTES_DB": database}
        # A user's Python keeps compiled modules; a machine that forbids it would measure its own setting.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            bufsize=0,
        )
        assert self.process.stdin
        assert self.process.stdout
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.rest = b""
        self.next_id = 0

    def message(self, method: str, params: dict[str, Any]) -> bytes:
        self.next_id += 1
        body = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": {**params, "_meta": META}}
        return json.dumps(body, separators=(",", ":")).encode() + b"\n"

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.input, data) :]

    def lines(self, count: int) -> list[bytes]:
        """The next `count` lines of the server."""
        found: list[bytes] = []
        while True:
            *whole, self.rest = self.rest.split(b"\n")
            found += whole
            if len(found) >= count:
                if len(found) > count:
                    raise AssertionError("the server said more than it was asked")
                return found
            if not select.select([self.output], [], [], PATIENCE)[0]:
                raise AssertionError(f"no answer for {PATIENCE} seconds")
            data = os.read(self.output, 1 << 16)
            if not data:
                raise AssertionError(f"the server ended with status {self.process.wait()}")
            self.rest += data

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.write(self.message(method, params or {}))
        answer = json.loads(self.lines(1)[0])
        if "result" not in answer or answer["id"] != self.next_id:
            raise AssertionError(f"no result: {answer}")
        return answer["result"]

    def call(self, name: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        result = self.ask("tools/call", {"name": name, "arguments": arguments, **more})
        if result.get("isError"):
            raise AssertionError(f"the tool failed: {result}")
        return result

    def confirmed(self, name: str) -> dict[str, Any]:
        """Calls a tool that asks one yes-or-no question, and says yes."""
        asked = self.call(name, {})
        [(key, request)] = asked["inputRequests"].items()
        [box] = request["params"]["requestedSchema"]["properties"]
        answers = {key: {"action": "accept", "content": {box: True}}}
        return self.call(name, {}, inputResponses=answers, requestState=asked["requestState"])

    def close(self) -> None:
        os.close(self.input)
        self.process.stdin = None
        self.process.wait(10)
        if self.process.stdout:
            self.process.stdout.close()
