"""How `quillo run` serves: what it says at the start, and whether one process does it or several."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import trio

from cli.modules import Refusal, refused
from cli.run import flush
from qvm.values import Stop
from server.access_log import AccessLog
from server.compiled_cache import CompiledCache, cache_folder
from server.line_writer import LineWriter
from server.listening import CannotListen, address_of, listen
from server.origins import is_local
from server.programs import shown
from server.render import main_file, render
from server.secrets import SecretError, key_of, secret_of
from server.serving import Served, ServeOptions
from server.serving import serve as serve_site

if TYPE_CHECKING:
    import socket

    from qasm.module import Module
    from server.policy import Policy


# A scheme, a host, perhaps a port; group 1 is without the slash that may stand behind, group 2 the port.
_ORIGIN = re.compile(r"(https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?)/?", re.IGNORECASE)


@dataclass(slots=True)
class Settings:
    """What the command line says."""

    file: str
    arguments: list[str]
    host: str
    port: int
    base: str
    origin: str
    watch: bool
    instances: int
    max_tool_calls: int | None
    policy: str | None
    record: str | None
    log_format: str | None
    no_cache: bool


def base_of(text: str) -> str:
    """The value of --base: "" or a path with no slash at its end. Raises UsageError."""
    base = text.rstrip("/")
    if not base:
        return ""
    if not base.startswith("/") or any(letter in base for letter in "?#%;\\\" '") or not base.isprintable():
        raise click.UsageError(f"--base takes a path such as /shop, got {text}")
    if not base.isascii() or "//" in base or any(part in (".", "..") for part in base.split("/")):
        raise click.UsageError(f"--base takes a path such as /shop, got {text}")
    return base


def origin_of(text: str) -> str:
    """The value of --origin: "" or a scheme, a host and perhaps a port. Raises UsageError."""
    if not text:
        return ""
    found = _ORIGIN.fullmatch(text)
    if found is None or not 0 < int(found[2] or 80) < 65536:
        raise click.UsageError(f"--origin takes an address such as https://example.com, got {text}")
    return found[1].lower()


def serve(settings: Settings, module: Module, policy: Policy) -> int:
    """Serves, in this process or in several. Gives the status to end with."""
    if settings.watch and settings.instances > 1:
        raise click.UsageError("--watch serves from one process: leave --instances out")
    secret = _secret()
    try:
        listener = listen(settings.host, settings.port)
    except CannotListen as problem:
        raise Refusal(f"quillo: error: {problem}") from None
    with listener:
        if settings.instances > 1:
            return _serve_instances(settings, module, listener, secret)
        return _serve_here(settings, module, policy, listener, secret)


def work(settings: Settings, module: Module, policy: Policy, descriptors: str) -> int:
    """Serves as one of several processes."""
    import socket

    numbers = [int(number) for number in descriptors.split(",")]
    listener = socket.socket(fileno=numbers[0])
    listener.setblocking(False)

    def ready() -> None:
        with contextlib.suppress(OSError):  # its parent is gone: it will see that, and end
            os.write(numbers[1], b"r")
        os.close(numbers[1])

    return _serve_here(settings, module, policy, listener, _secret(), ready, numbers[2])


def _secret() -> bytes:
    try:
        secret = secret_of(os.environ)
    except SecretError as problem:
        raise Refusal(f"quillo: error: {problem}") from None
    if secret is not None:
        return secret
    click.echo("quillo: QUILLO_SECRET is not set: sessions, tokens and open questions end with this process", err=True)
    return secrets.token_bytes(32)


def _log(line: str) -> None:
    click.echo(line, err=True)


def _serve_here(
    settings: Settings,
    module: Module,
    policy: Policy,
    listener: socket.socket,
    secret: bytes,
    ready: Any = None,
    alive: int = -1,
) -> int:
    address, local = _address(listener)
    flush()
    out, errors = LineWriter(1), LineWriter(2)

    def log(line: str) -> None:
        errors.put((line + "\n").encode("utf-8", "backslashreplace"))

    options = ServeOptions(
        secret,
        lambda text: out.put(text.encode("utf-8", "backslashreplace")),
        log,
        lambda: None,
        settings.policy,
        settings.base,
        settings.origin,
        address,
        local,
        settings.watch,
        settings.max_tool_calls,
        settings.record,
        settings.arguments,
        CompiledCache("" if settings.no_cache else cache_folder(os.environ, sys.platform)),
    )
    try:
        try:
            served = Served(settings.file, module, options, policy)
        except OSError as problem:
            reason = (problem.strerror or "").lower()
            raise refused(shown(settings.record or ""), f"calls can't be recorded there: {reason}") from None
        format = settings.log_format or ("text" if settings.watch else None)
        access = None if format is None else AccessLog(format, errors.put, key_of(secret, "access log"))

        def say(lines: list[str]) -> None:
            out.put("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))

        def announce(new: Served, old: Served) -> None:
            if new.module.tools and new.web.tokens.trial is None:  # the first version that has tools
                say(_lines(settings, new, address, local)[1:])

        lines = [] if ready is not None else _lines(settings, served, address, local)
        trio.run(serve_site, served, listener, access, ready or (lambda: say(lines)), alive, announce)
    except Stop as stop:
        if stop.kind == "exit":
            return int(stop.detail)
        log(render(stop, main_file(module)))
        return 1
    except KeyboardInterrupt:  # while the top level ran; once it serves, it ends with 0
        return 130
    finally:
        out.close()
        errors.close()
    return 0


def _serve_instances(settings: Settings, module: Module, listener: socket.socket, secret: bytes) -> int:
    from server.instances import Instances

    address, local = _address(listener)
    arguments = ["--instances", str(settings.instances), "--host", settings.host]
    for name, value in (
        ("--base", settings.base),
        ("--origin", settings.origin),
        ("--max-tool-calls", settings.max_tool_calls),
        ("--policy", settings.policy),
        ("--record", settings.record),
        ("--log", settings.log_format),
    ):
        if value:
            arguments += [name, str(value)]
    if settings.no_cache:
        arguments.append("--no-cache")

    def command(listening: int, ready: int, alive: int) -> list[str]:
        descriptors = f"{listening},{ready},{alive}"
        start = [sys.executable, "-m", "cli.quillo", "run", *arguments, "--worker", descriptors]
        return [*start, "--", settings.file, *settings.arguments]

    environment = dict(os.environ)
    if "QUILLO_SECRET" not in environment:  # one for all of them
        environment["QUILLO_SECRET"] = secret.hex()
    instances = Instances(command, listener.fileno(), settings.instances, _log, environment)
    lines = _lines(settings, None, address, local)
    if not module.tools:
        lines = lines[:1]
    return trio.run(instances.run, lambda: _say(lines))


def _address(listener: socket.socket) -> tuple[str, bool]:
    """Where it listens, as people see it, and whether that is on this machine alone."""
    host, port = address_of(listener)
    local = is_local(host)
    return f"http://{'localhost' if host in ('0.0.0.0', '[::]') else host}:{port}", local


def _lines(settings: Settings, served: Served | None, address: str, local: bool) -> list[str]:
    """What is said once it serves."""
    listening = f", and listens at {address}" if settings.origin else ""
    address = settings.origin or address
    lines = [f"quillo: {shown(settings.file)} is served at {address}{settings.base}/{listening}"]
    door = f"{address}{settings.base}/_quillo/mcp"
    if served is None:
        lines.append(f"quillo: MCP door for AI clients at {door}")
        return lines
    if not served.module.tools:
        return lines
    if not (settings.watch and local):
        lines.append(f"quillo: MCP door for AI clients at {door}")
        return lines
    header = f"Authorization: Bearer {served.trial_token()}"
    lines.append(f"quillo: MCP door for AI clients at {door}, with the header {header} (good while this runs)")
    lines.append(f'quillo: claude mcp add --transport http {served.module.name} {door} --header "{header}"')
    return lines


def _say(lines: list[str]) -> None:
    for line in lines:
        click.echo(line)
    flush()
