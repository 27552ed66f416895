"""A site in the test's own process, and who visits it: requests go in as values, and answers come out.

with hosted(PROGRAM) as site:
    answer = site.get("/")
    ana = site.visitor()            keeps its cookies, as a browser does
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Any

import trio

from qvm.values import Stop
from server.asking import Asking, UsedInDatabase, UsedInMemory
from server.host import World
from server.http_mcp import ToolDoor
from server.http_messages import Answer, Request
from server.limits import CallCount
from server.policy import Policy
from server.programs import RunningProgram
from server.protocol import Unfinished
from server.site import Site
from server.visits import Web
from tests.programs import compiled
from tests.talking import SECRET, VERSION, Clock, hold_to_schema, meta

DOOR = "/_quillo/mcp"
HOST = "127.0.0.1:8080"


class Reply:
    """An answer as a client reads it. `headers` are by name in small letters; of `set-cookie` there is a list."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.status = answer.status
        self.body = bytes(answer.body)
        read = BytesHeaderParser().parsebytes(answer.headers + b"\r\n")
        self.headers = {name.lower(): value for name, value in read.items()}
        self.cookies_set = [str(line) for line in read.get_all("set-cookie", [])]

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, int, str]:
        """The status of HTTP, and the code and the words of a JSON-RPC error."""
        assert self.headers["content-type"] == "application/json"
        hold_to_schema(self.json)
        error = self.json["error"]
        return self.status, error["code"], error["message"]

    @property
    def result(self) -> dict[str, Any]:
        assert self.status == 200, (self.status, self.body)
        assert self.headers["content-type"] == "application/json"
        hold_to_schema(self.json)
        result: dict[str, Any] = self.json["result"]
        return result

    @property
    def value(self) -> Any:
        """The structured answer of a tool's call that has to go well, out of its `result`."""
        assert not self.result.get("isError"), self.result
        held = self.result["structuredContent"]
        return held["result"] if list(held) == ["result"] else held

    @property
    def failure(self) -> str:
        """The text of a tool's call that has to fail."""
        assert self.result.get("isError") is True, self.result
        text: str = self.result["content"][0]["text"]
        return text


class Hosted:
    """A running program and its site. `log` is what went to standard error."""

    def __init__(
        self,
        text: str,
        folder: Path | str = ".",
        base: str = "",
        origin: str = "",
        local: bool = True,
        limit: int | None = 60,
        policy: Policy | None = None,
        secret: bytes = SECRET,
        watched: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.module = compiled(text)
        self.log: list[str] = []
        self.printed: list[str] = []
        self.clock = clock or Clock()
        world = World(str(folder), self.printed.append, self.log.append, policy)
        self.running = RunningProgram(self.module, world)
        self.running.run_top_level()
        world.serving = "quillo run"
        self.web = Web(self.running, secret, base, origin, local, self.clock)
        database = world.database
        used = UsedInDatabase(database) if database.is_open else UsedInMemory()
        asking = Asking(secret, self.running.digest, used, self.clock)
        count = None if limit is None else CallCount(limit, self.clock)
        self.door = ToolDoor(self.web, asking, count) if self.module.tools else None
        self.site = Site(self.web, self.door, watched)
        self.site.build()

    def close(self) -> None:
        self.running.close()

    def request(
        self,
        method: str,
        target: str,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        repeated: tuple[str, ...] = (),
        too_large: bool = False,
    ) -> Reply:
        """Sends one request, and waits for its answer. A header of None is left out."""
        given = {"host": HOST, **(headers or {})}
        lines = {name.lower().encode(): value.encode("latin-1") for name, value in given.items() if value is not None}
        names = frozenset(name.lower().encode() for name in repeated)
        request = Request(method, target, lines, body, repeated=names)
        request.too_large = too_large
        answer: Any = self.site.begin(request)
        if isinstance(answer, Unfinished):
            answer = trio.run(_finished, answer)
        assert isinstance(answer, Answer)
        for header in answer.headers.lower().split(b"\r\n"):
            assert not header.startswith(b"access-control-"), "no header that lets other sites in is ever sent"
        return Reply(answer)

    def get(self, target: str, **headers: str) -> Reply:
        return self.request("GET", target, headers)

    def visitor(self) -> Visitor:
        return Visitor(self)

    def client(self, token: str) -> Client:
        """An AI client with a token."""
        return Client(self, {"authorization": f"Bearer {token}"})


class Visitor:
    """A browser at a site: it keeps the cookies that it is given."""

    def __init__(self, site: Hosted) -> None:
        self.site = site
        self.cookies: dict[str, str] = {}

    @property
    def header(self) -> dict[str, str]:
        held = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"cookie": held} if held else {}

    def send(self, method: str, target: str, body: bytes = b"", **headers: str) -> Reply:
        answer = self.site.request(method, self.site.web.base + target, {**self.header, **headers}, body)
        for line in answer.cookies_set:
            pair, _, attributes = line.partition(";")
            name, _, value = pair.partition("=")
            if "max-age=0" in attributes.lower():
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer

    def get(self, target: str) -> Reply:
        return self.send("GET", target)

    def post(self, target: str) -> Reply:
        return self.send("POST", target, **{"sec-fetch-site": "same-origin"})

    @property
    def client(self) -> Client:
        """An AI client that has this browser's cookies."""
        return Client(self.site, self.header)


class Client:
    """An AI client: writes MCP's messages and the headers that go with them."""

    def __init__(self, site: Hosted, headers: dict[str, str]) -> None:
        self.site = site
        self.headers = headers
        self.last_id = 0

    def message(self, method: str, params: dict[str, Any] | None = None, capabilities: Any = None) -> dict[str, Any]:
        self.last_id += 1
        params = {**(params or {}), "_meta": meta(capabilities)}
        return {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}

    def headers_of(self, message: dict[str, Any]) -> dict[str, str]:
        headers = {
            **self.headers,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": VERSION,
            "mcp-method": message["method"],
        }
        if message["method"] == "tools/call":
            headers["mcp-name"] = message["params"]["name"]
        return headers

    def send(self, message: dict[str, Any], repeated: tuple[str, ...] = (), **headers: Any) -> Reply:
        """Sends a message with its headers, but for those that are given here (None: left out; `_` stands for `-`)."""
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        body = json.dumps(message).encode()
        target = self.site.web.base + DOOR
        return self.site.request("POST", target, {**self.headers_of(message), **changed}, body, repeated)

    def ask(self, method: str, params: dict[str, Any] | None = None, capabilities: Any = None, **headers: Any) -> Reply:
        return self.send(self.message(method, params, capabilities), **headers)

    def call(self, name: str, arguments: dict[str, Any] | None = None, capabilities: Any = None, **more: Any) -> Reply:
        return self.ask("tools/call", {"name": name, "arguments": arguments or {}, **more}, capabilities)

    def again(self, asked: dict[str, Any], name: str, response: Any, **arguments: Any) -> Reply:
        """The next round of a call, with this response to what was asked."""
        responses = {} if response is None else {"ask": response}
        return self.call(name, arguments, requestState=asked["requestState"], inputResponses=responses)


@contextlib.contextmanager
def hosted(text: str, **settings: Any) -> Iterator[Hosted]:
    site = Hosted(text, **settings)
    try:
        yield site
    finally:
        site.close()


async def _finished(call: Unfinished) -> Answer:
    answer: Any = call
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
    assert isinstance(answer, Answer)
    return answer
