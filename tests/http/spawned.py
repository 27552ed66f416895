"""`quillo run` in a process of its own, and who signs in at it."""

from __future__ import annotations

import http.client
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.mcp.spawned import PATIENCE, spawn

# What a site with accounts adds to a program with tools, so that a test can sign in.
ACCOUNTS = """
route POST /in { set_session({ user: request.query.as }); "in" }
route POST /token = mcp_token()
"""


class Running:
    """A program that is served. `address` is "http://127.0.0.1:PORT", `said` what it wrote to standard output first."""

    def __init__(self, program: Path, *options: str, **more: Any) -> None:
        self.process = spawn(["run", str(program), "--port", "0", *options], stdin=subprocess.DEVNULL, **more)
        assert self.process.stdout
        line = self.process.stdout.readline().decode()
        found = re.search(r"http://[^/\s]+", line)  # where it listens, which --origin is not
        if found is None:
            self.process.kill()
            raise AssertionError(line + self.process.communicate(timeout=PATIENCE)[1].decode())
        self.said, self.address = [line], found[0]

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> str:
        """Ends it; gives its standard error."""
        if self.process.poll() is None:
            self.process.terminate()
        _, errors = self.process.communicate(timeout=PATIENCE)
        assert b"Traceback" not in errors
        return errors.decode()

    def next_line(self) -> str:
        """The next line of standard output."""
        assert self.process.stdout
        self.said.append(self.process.stdout.readline().decode())
        return self.said[-1]

    @property
    def door(self) -> str:
        return f"{self.address}/_quillo/mcp"

    def send(self, method: str, target: str, body: str = "", **headers: str) -> tuple[int, dict[str, str], str]:
        """One request: the status, the headers and the body of its answer."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=PATIENCE)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def token(self, user: str = "ana") -> str:
        """A token of someone who signs in. The program has the routes of ACCOUNTS."""
        status, headers, _ = self.send("POST", f"/in?as={user}")
        assert status == 200
        status, _, token = self.send("POST", "/token", cookie=headers["set-cookie"].partition(";")[0])
        assert status == 200
        return token
