"""Servers of the notes app over HTTP, and a bare MCP client that loads them: it spends as little as it can on its side.

Each connection is kept alive, and sends its next request when its last was answered. Every answer is looked at: its
status, its id and what it says. A server runs on the first processor, the client on the last, where there are two.
"""

from __future__ import annotations

import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stdio_client import META

VERSION = META["io.modelcontextprotocol/protocolVersion"]
HERE = Path(__file__).resolve().parent
PATIENCE = 30.0  # seconds that a start, or one answer, may take
SIGN_IN = """
route POST /in { set_session({ user: "ana" }); "in" }
route POST /token = mcp_token()
"""


class HttpServer:
    """A server process. `address` is host and port, `path` that of its MCP door, `token` what it takes, "" for none."""

    def __init__(self, command: list[str], path: str, port: int, folder: str, **environment: str) -> None:
        self.path, self.token = path, ""
        self.address = ("127.0.0.1", port)
        given = {**os.environ, "NOTES_DB": "notes.db", **environment}
        given.pop("PYTHONDONTWRITEBYTECODE", None)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=given,
            cwd=folder,
        )
        _keep_to(self.process.pid, 0)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with socket.create_connection(self.address, 1) as tried:
                    if tried.getsockname() != tried.getpeername():  # a port that nobody has may be taken for both ends
                        return
            except OSError:
                pass
            if time.monotonic() > end or self.process.poll() is not None:
                self.close()
                raise AssertionError(f"{command} doesn't serve")
            time.sleep(0.05)

    def request(self, tool: str, arguments: dict[str, Any], id: int) -> bytes:
        params = {"name": tool, "arguments": arguments, "_meta": META}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        body = json.dumps(message, separators=(",", ":")).encode()
        head = [
            f"POST {self.path} HTTP/1.1",
            f"Host: {self.address[0]}:{self.address[1]}",
            "User-Agent: bench",
            "Accept: application/json, text/event-stream",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            f"MCP-Protocol-Version: {VERSION}",
            "Mcp-Method: tools/call",
            f"Mcp-Name: {tool}",
            *([f"Authorization: Bearer {self.token}"] if self.token else []),
        ]
        return "\r\n".join(head).encode() + b"\r\n\r\n" + body

    def post(self, path: str, cookie: str = "") -> tuple[str, bytes]:
        """A request without a body: the cookie that is set, and the body of the answer."""
        import http.client

        connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE)
        try:
            connection.request("POST", path, headers={"cookie": cookie} if cookie else {})
            answer = connection.getresponse()
            return (answer.headers["set-cookie"] or "").partition(";")[0], answer.read()
        finally:
            connection.close()

    def memory(self) -> float:
        """MiB that are held in RAM."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("its memory is not known")

    def spent(self) -> float:
        """Seconds of a processor that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def ours(folder: str) -> HttpServer:
    """`quillo run` of bench/notes.qwe, with a way to sign in; its calls carry a token, and are counted."""
    program = Path(folder) / "main.qwe"
    program.write_text((HERE / "notes.qwe").read_text(encoding="utf-8") + SIGN_IN, encoding="utf-8")
    quillo = str(Path(sys.executable).with_name("quillo"))
    port = _free_port()
    command = [quillo, "run", str(program), "--port", str(port), "--max-tool-calls", "999999999"]
    server = HttpServer(command, "/_quillo/mcp", port, folder, QUILLO_SECRET="0123456789abcdef" * 2)
    cookie, _ = server.post("/in")
    server.token = server.post("/token", cookie)[1].decode()
    return server


def peer(folder: str, script: str, python: str = sys.executable) -> HttpServer:
    port = _free_port()
    return HttpServer([python, str(HERE / "peers" / script), "--http", str(port)], "/mcp", port, folder)


def filled(server: HttpServer) -> HttpServer:
    """The server, with 100 notes of which 25 have the word `needle`."""
    for number in range(100):
        word = "needle" if number % 4 == 0 else "hay"
        load(server, "add_note", {"text": f"note number {number} about a {word} and other things"}, 1, 1)
    return server


class Load:
    """What a load came to: requests a second, the time of one in milliseconds, and what one costs the server of a
    processor's time, in microseconds: that is about the same when other work runs beside it.
    """

    def __init__(self, times: list[float], elapsed: float, spent: float) -> None:
        self.cost = spent / len(times) * 1_000_000
        self.rate = len(times) / elapsed
        ordered = sorted(times)
        self.median = statistics.median(ordered) * 1000
        self.p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000


def load(server: HttpServer, tool: str, arguments: dict[str, Any], connections: int, requests: int) -> Load:
    """Calls one tool `requests` times over so many connections."""
    _keep_to(0, -1)
    poll = select.poll()
    clients = [_Client(server, tool, arguments, number) for number in range(min(connections, requests))]
    by_number = {client.socket.fileno(): client for client in clients}
    times: list[float] = []
    spent = server.spent()
    begin = time.perf_counter()
    left = requests
    for client in clients:
        poll.register(client.socket, select.POLLIN)
        client.send()
        left -= 1
    under_way = len(clients)
    while under_way:
        ready = poll.poll(PATIENCE * 1000)
        if not ready:
            raise AssertionError(f"no answer for {PATIENCE} seconds")
        for number, _ in ready:
            client = by_number[number]
            if not client.receive():
                continue
            times.append(time.perf_counter() - client.began)
            if left:
                client.send()
                left -= 1
            else:
                under_way -= 1
    elapsed = time.perf_counter() - begin
    for client in clients:
        client.socket.close()
    return Load(times, elapsed, server.spent() - spent)


class _Client:
    def __init__(self, server: HttpServer, tool: str, arguments: dict[str, Any], id: int) -> None:
        self.data, self.id = server.request(tool, arguments, id), id
        self.socket = socket.create_connection(server.address, PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.seen = b""  # a body that was looked at already
        self.began = 0.0

    def send(self) -> None:
        self.began = time.perf_counter()
        self.socket.sendall(self.data)

    def receive(self) -> bool:
        """Reads what has come; whether the answer is whole."""
        data = self.socket.recv(1 << 16)
        self.buffer = self.buffer + data if self.buffer else data
        head, blank, body = self.buffer.partition(b"\r\n\r\n")
        if not data:
            raise AssertionError(f"the connection was closed: {self.buffer[:300]!r}")
        if not blank:
            return False
        lines = head.lower()
        place = lines.find(b"\r\ncontent-length:")
        if place >= 0:
            if len(body) < int(lines[place + 17 :].partition(b"\r\n")[0]):
                return False
        elif body.endswith(b"0\r\n\r\n"):
            body = _of_chunks(body)
        else:
            return False
        self.buffer = b""
        if body != self.seen:
            self._check(lines, body)
            self.seen = body
        return True

    def _check(self, head: bytes, body: bytes) -> None:
        if not head.startswith(b"http/1.1 200"):
            raise AssertionError(f"{head[:100]!r} {body[:300]!r}")
        if b"text/event-stream" in head:
            body = next(
                line[5:] for line in reversed(body.splitlines()) if line.startswith(b"data:") and line[5:].strip()
            )
        message = json.loads(body)
        if message["id"] != self.id or message["result"].get("isError"):
            raise AssertionError(f"no good result: {body[:300]!r}")


def _of_chunks(body: bytes) -> bytes:
    parts = []
    while body:
        size, _, body = body.partition(b"\r\n")
        parts.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]
    return b"".join(parts)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def _keep_to(process: int, place: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(os.getppid()))
        if len(processors) > 1:
            os.sched_setaffinity(process, {processors[place]})


def folder() -> Any:
    return tempfile.TemporaryDirectory(prefix="quillo-bench-")
