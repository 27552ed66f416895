"""A program's site in the test's own process: requests in, answers out, without a socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import trio

from server.http_messages import Answer, Request
from server.policy import Policy
from server.protocol import Unfinished
from server.serving import Served, ServeOptions
from tests.programs import compiled
from tests.talking import FORMS, SECRET, hold_to_schema, meta

HOST = b"localhost:8080"


class Browser:
    """Sends requests to a site and keeps its cookies. `log` is what went to standard error."""

    def __init__(
        self,
        text: str,
        folder: Path | str = ".",
        files: dict[str, str] | None = None,
        policy: Policy | None = None,
        secret: bytes = SECRET,
        **options: Any,
    ) -> None:
        self.log: list[str] = []
        self.printed: list[str] = []
        given = ServeOptions(secret, self.printed.append, self.log.append, lambda: None, **options)
        self.served = Served(str(Path(folder) / "main.qwe"), compiled(text, files), given, policy or Policy())
        self.site = self.served.site
        self.cookies: dict[str, str] = {}
        self.last_id = 0

    def close(self) -> None:
        self.served.close()

    def send(self, method: str, target: str, body: bytes = b"", **headers: str) -> Page:
        """One request; a header's name has `_` for `-`."""
        sent = {b"host": HOST}
        for name, value in headers.items():
            sent[name.replace("_", "-").lower().encode()] = value.encode()
        if self.cookies and b"cookie" not in sent:
            sent[b"cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items()).encode()
        return self.answer(Request(method, target, sent, body))

    def answer(self, request: Request) -> Page:
        answer = self.site.begin(request)
        if isinstance(answer, Unfinished):
            answer = trio.run(_finished, answer)
        assert type(answer) is Answer
        page = Page(answer)
        for line in page.cookies:
            pair, *more = line.split("; ")
            name, _, value = pair.partition("=")
            if "Max-Age=0" in more:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return page

    def get(self, target: str, **headers: str) -> Page:
        return self.send("GET", target, **headers)

    def post(self, target: str, fields: dict[str, Any] | None = None, **headers: str) -> Page:
        body = urlencode(fields or {}, doseq=True).encode()
        return self.send("POST", target, body, content_type="application/x-www-form-urlencoded", **headers)

    def post_json(self, target: str, value: Any, **headers: str) -> Page:
        return self.send("POST", target, json.dumps(value).encode(), content_type="application/json", **headers)

    # AI clients

    def message(self, method: str, params: dict[str, Any] | None = None, capabilities: Any = None) -> dict[str, Any]:
        self.last_id += 1
        params = {**(params or {}), "_meta": meta(FORMS if capabilities is None else capabilities)}
        return {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}

    def mcp(self, message: Any, token: str = "", **headers: str) -> Page:
        """One message to the door for AI clients, with the headers that belong to it."""
        sent = {"content_type": "application/json"}
        if isinstance(message, dict) and isinstance(message.get("params"), dict):
            sent["mcp_protocol_version"] = "2026-07-28"
            sent["mcp_method"] = str(message.get("method"))
            if "name" in message["params"]:
                sent["mcp_name"] = str(message["params"]["name"])
        if token:
            sent["authorization"] = f"Bearer {token}"
        sent.update(headers)
        sent = {name: value for name, value in sent.items() if value}
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.send("POST", "/_quillo/mcp", body, **sent)

    def call(self, name: str, arguments: dict[str, Any] | None = None, token: str = "", **more: Any) -> dict[str, Any]:
        """The result of a tool's call."""
        page = self.mcp(self.message("tools/call", {"name": name, "arguments": arguments or {}, **more}), token)
        assert page.status == 200, page.text
        read: dict[str, Any] = page.json
        hold_to_schema(read, "tools/call")
        result: dict[str, Any] = read["result"]
        return result


class Page:
    """An answer, read."""

    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        self.body = answer.body
        self.lines = [line.split(": ", 1) for line in answer.headers.decode().split("\r\n") if line]
        self.headers = {name.lower(): value for name, value in self.lines}
        self.cookies = [value for name, value in self.lines if name == "set-cookie"]
        self.steps = answer.steps

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def _finished(call: Unfinished) -> Any:
    answer: Any = call
    while isinstance(answer, Unfinished):
        if answer.waiting is None:
            await trio.lowlevel.checkpoint()
            answer = answer.resume(None)
            continue
        try:
            value = await answer.waiting.start()
        except Exception as problem:
            answer = answer.fail(problem)
        else:
            answer = answer.resume(value)
    return answer
