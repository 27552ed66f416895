"""A server in a process of its own, and a client that reads and writes its lines."""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.talking import hold_to_schema, meta

ROOT = Path(__file__).resolve().parent.parent.parent
QUILLO = [sys.executable, "-m", "cli.quillo"]
PATIENCE = 30  # seconds until a test that waits for a process fails


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def spawn(arguments: list[str], env: dict[str, str] | None = None, **more: Any) -> subprocess.Popen[bytes]:
    given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen([*QUILLO, *arguments], env=environment(**(env or {})), **given)


def quillo(*arguments: str, input: bytes = b"", env: dict[str, str] | None = None, **more: Any) -> Any:
    """Runs the command to its end: `returncode`, and `stdout` and `stderr` as text."""
    done = subprocess.run(
        [*QUILLO, *arguments],
        env=environment(**(env or {})),
        input=input,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        **more,
    )
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in done.stderr
    return done


def commanded(*arguments: str, cwd: Path | None = None, input: bytes = b"") -> Any:
    """Runs a subcommand in this process, which is quicker: `returncode`, and `stdout` and `stderr` as text."""
    from cli.quillo import main

    streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (input, b"", b"")]
    before, folder = (sys.stdin, sys.stdout, sys.stderr), os.getcwd()
    sys.stdin, sys.stdout, sys.stderr = streams
    os.chdir(cwd or folder)
    status: Any = 0
    try:
        main(list(arguments))
    except SystemExit as left:
        status = left.code or 0
    finally:
        os.chdir(folder)
        sys.stdin, sys.stdout, sys.stderr = before
    texts = []
    for stream in streams[1:]:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    assert "Traceback" not in texts[1]
    return subprocess.CompletedProcess(arguments, status, *texts)


def request(id: Any, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**(params or {}), "_meta": meta()}}


def call(id: Any, name: str, **arguments: Any) -> dict[str, Any]:
    return request(id, "tools/call", {"name": name, "arguments": arguments})


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


class Server:
    """A spawned `quillo mcp`, as a client sees it."""

    def __init__(self, program: Path, *options: str, **more: Any) -> None:
        self.process = spawn(["mcp", str(program), *options], **more)
        self.buffers = {self.process.stdout: b"", self.process.stderr: b""}

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
        self.process.wait(PATIENCE)

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *messages: Any) -> None:
        self.write(b"".join(map(line, messages)))

    def read(self) -> dict[str, Any]:
        """The next answer."""
        answer = json.loads(self._line(self.process.stdout, "answer"))
        hold_to_schema(answer)
        return answer

    def read_error(self) -> str:
        """The next line of standard error, without its end."""
        return self._line(self.process.stderr, "line on standard error").decode()

    def _line(self, stream: Any, what: str) -> bytes:
        while b"\n" not in self.buffers[stream]:
            ready = select.select([stream], [], [], PATIENCE)[0]
            data = os.read(stream.fileno(), 65536) if ready else b""
            assert data, f"no {what}: the server {'has ended' if ready else f'is silent for {PATIENCE} s'}"
            self.buffers[stream] += data
        line, _, self.buffers[stream] = self.buffers[stream].partition(b"\n")
        return line

    def ask(self, message: Any) -> dict[str, Any]:
        self.send(message)
        return self.read()

    def end(self) -> tuple[int, bytes, str]:
        """Closes the server's input; its status, what it still wrote, and its standard error."""
        output, errors = self.process.communicate(timeout=PATIENCE)
        output = self.buffers[self.process.stdout] + output
        errors = self.buffers[self.process.stderr] + errors
        assert "Traceback" not in errors.decode()
        return self.process.returncode, output, errors.decode()
