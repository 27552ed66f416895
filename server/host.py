"""What a program can touch outside itself: the host that its top level, tests and tools run with.

    World        what all parts of one running program share: folder, database, streams, policy, clock
    ProgramHost  the host of code that nobody waits beside (a top level, a test): it may block

Each host call is a function of HANDLERS: `handler(host, arguments)` gives a value, an Err, or a Waiting.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qvm.builtins.arguments import need_int, need_text
from qvm.host import Question
from qvm.text import write_out
from qvm.values import TEXT_LIMIT, Stop, kind_of
from server import files
from server.database import Database, Scope
from server.policy import Policy
from server.web_calls import HANDLERS as WEB_HANDLERS

if TYPE_CHECKING:
    from server.visits import Visit

Handler = Callable[["ProgramHost", list[Any]], Any]

# What a host call touches, for a policy that allows some effects only.
_EFFECTS = {
    "db": ("db.open", "db.query", "db.one", "db.exec", "db.begin", "db.commit", "db.rollback"),
    "fs": ("read_file", "write_file", "append_file", "delete_file", "files"),
    "http": ("fetch",),
}


class World:
    """What all parts of one running program share.

    `output` takes what `print` writes, `flush` sends it off, `log` takes a line for standard error. `clock` gives the
    nanoseconds since 1970.
    `serving` is the command that serves the program ("" for `quillo run`): standard input belongs to it then.
    """

    def __init__(
        self,
        folder: str,
        output: Callable[[str], None],
        log: Callable[[str], None],
        policy: Policy | None = None,
        arguments: list[str] | None = None,
        serving: str = "",
        clock: Callable[[], int] | None = None,
        database: Database | None = None,
        flush: Callable[[], None] | None = None,
    ) -> None:
        import time

        self.folder = folder
        self.output = output
        self.log = log
        self.flush = flush or (lambda: None)
        self.policy = policy or Policy()
        self.arguments = arguments or []
        self.serving = serving
        self.clock = clock or time.time_ns
        self.database = database or Database(folder)
        self.rules: dict[str, Any] = {}  # the functions that `tenant_from` and `locale_from` were given
        self.handlers = _allowed(HANDLERS, self.policy)


class ProgramHost:
    """The host of a top level or a test: a question is answered at once, what waits blocks."""

    notes_changes = False  # the engine needs not say which top-level variables change

    def __init__(self, world: World, scope: Scope) -> None:
        self.world = world
        self.scope = scope
        self.visit: Visit | None = None  # the request to a site that is being answered
        self.set_answers: list[bool | str] = []  # of the open calls of `answering`

    def call(self, name: str, arguments: list[Any]) -> Any:
        handler = self.world.handlers.get(name)
        if handler is None:
            raise Stop(f"`{name}` is not supported yet")
        least, most = _COUNTS.get(name, _NONE)
        if not least <= len(arguments) <= most:
            raise _wrong_count(name, least, most, len(arguments))
        return handler(self, arguments)

    def ask(self, question: Question) -> bool | str:
        """Outside a tool's call there is nobody to ask: `confirm` is true, `about` its default.

        A test says otherwise with `answering`. Raises Stop where it gives a key that is none of the choices.
        """
        wanted = bool if question.kind == "confirm" else str
        for answer in reversed(self.set_answers):
            if type(answer) is wanted:
                if wanted is str and answer not in question.choices:
                    keys = ", ".join(f"`{key}`" for key in question.choices)
                    raise Stop(f"`answering` gives `{answer}`, and the choices of this `about` are {keys}")
                return answer
        return True if question.kind == "confirm" else question.default or ""

    def changed(self, what: str) -> None:
        """Nobody is asked here, so no change comes before a question."""

    def top_level(self) -> bool:
        return True

    # What a host that others wait beside does in another way.

    def wait(self, seconds: float) -> Any:
        """Gives None after so many seconds."""
        import time

        self.world.flush()
        time.sleep(seconds)

    def in_background(self, work: Callable[[], Any]) -> Any:
        """The value of slow work that touches nothing of the program."""
        return work()


def _allowed(handlers: dict[str, Handler], policy: Policy) -> dict[str, Handler]:
    """The handlers under a policy: those of an effect that it doesn't allow refuse."""
    if policy.effects is None:
        return handlers
    left = dict(handlers)
    for effect, names in _EFFECTS.items():
        if effect not in policy.effects:
            for name in names:
                left[name] = _refuses(f"the policy does not allow `{effect}`, which `{name}` needs")
    return left


def _refuses(message: str) -> Handler:
    def refuse(host: ProgramHost, arguments: list[Any]) -> Any:
        raise Stop(message)

    return refuse


# --- counts of arguments --------------------------------------------------------------------------------------------

# How many arguments a host call takes, at least and at most, where it takes any. The compiler counts those of a direct
# call; one of a builtin that is held in a variable is counted here.
_NONE = (0, 0)
_ANY_NUMBER = 1 << 30
_COUNTS = {
    **dict.fromkeys(("print", "log"), (0, _ANY_NUMBER)),
    **dict.fromkeys(("db.query", "db.one", "db.exec"), (1, _ANY_NUMBER)),
    **dict.fromkeys(("sleep", "env", "hash_password", "read_file", "delete_file", "files", "db.open"), (1, 1)),
    **dict.fromkeys(("tenant_from", "locale_from", "revoke_mcp_token"), (1, 1)),
    **dict.fromkeys(("random_int", "write_file", "append_file"), (2, 2)),
    **dict.fromkeys(("exit", "mcp_token"), (0, 1)),
    "_begin_answering": (1, 1),
    **dict.fromkeys(("fetch", "ask", "set_session"), (1, 2)),
}


def _wrong_count(name: str, least: int, most: int, given: int) -> Stop:
    if given < least:
        takes = f"{'at least ' if least < most else ''}{least} argument{'' if least == 1 else 's'}"
    else:
        takes = (
            f"{'at most ' if least < most else ''}{most} argument{'' if most == 1 else 's'}" if most else "no arguments"
        )
    return Stop(f"`{name}` takes {takes}, got {given}")


# --- lengths of time ------------------------------------------------------------------------------------------------


def seconds_of(value: Any, place: int, builtin: str) -> float:
    """A length of time in seconds: a number, or a text such as "100ms", "90s", "15m", "12h", "7d", "1y"."""
    from qvm.builtins.time import length_of_time

    milliseconds = length_of_time(value)
    if milliseconds is None:
        wanted = 'a length of time, such as "90s", or seconds'
        got = f'"{value}"' if type(value) is str else kind_of(value)
        raise Stop(f"argument {place} of `{builtin}` must be {wanted}, got {got}")
    return milliseconds / 1000


# --- the handlers ---------------------------------------------------------------------------------------------------


def _now(host: ProgramHost, arguments: list[Any]) -> str:
    from qvm.builtins.time import time_text

    return time_text(host.world.clock() // 1_000_000)


def _now_ms(host: ProgramHost, arguments: list[Any]) -> int:
    return host.world.clock() // 1_000_000


def _random(host: ProgramHost, arguments: list[Any]) -> float:
    return (int.from_bytes(os.urandom(7), "big") >> 3) / (1 << 53)


def _random_int(host: ProgramHost, arguments: list[Any]) -> int:
    low, high = need_int(arguments[0], 1, "random_int"), need_int(arguments[1], 2, "random_int")
    if low > high:
        raise Stop(f"`random_int` goes from the smaller to the larger number, got {low} and {high}")
    count = high - low + 1
    size = (count.bit_length() + 7) // 8
    most = (1 << 8 * size) // count * count  # numbers from here up would favour some results
    while (number := int.from_bytes(os.urandom(size), "big")) >= most:
        pass
    return low + number % count


def _uuid(host: ProgramHost, arguments: list[Any]) -> str:
    data = bytearray(os.urandom(16))
    data[6] = data[6] & 0x0F | 0x40  # RFC 9562: version 4 …
    data[8] = data[8] & 0x3F | 0x80  # … and its variant
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _hash_password(host: ProgramHost, arguments: list[Any]) -> Any:
    from qvm.builtins.identity import SALT_SIZE, password_hash

    password, salt = need_text(arguments[0], 1, "hash_password"), os.urandom(SALT_SIZE)
    return host.in_background(lambda: password_hash(password, salt))


def _sleep(host: ProgramHost, arguments: list[Any]) -> Any:
    seconds = seconds_of(arguments[0], 1, "sleep")
    if not 0 <= seconds < 1e9:
        raise Stop("`sleep` waits from 0 seconds up to some years")
    return host.wait(seconds)


def _print(host: ProgramHost, arguments: list[Any]) -> None:
    host.world.output(" ".join(map(write_out, arguments)) + "\n")


def _log(host: ProgramHost, arguments: list[Any]) -> None:
    host.world.log(" ".join(map(write_out, arguments)))


def _env(host: ProgramHost, arguments: list[Any]) -> str | None:
    name = need_text(arguments[0], 1, "env")
    if "\0" in name or "=" in name:
        return None
    value = os.environ.get(name)
    return None if value is None else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _args(host: ProgramHost, arguments: list[Any]) -> list[str]:
    return list(host.world.arguments)


_CARRIES = "standard input carries the client's messages"


def _own_input(host: ProgramHost, name: str) -> Any:
    if host.world.serving:
        why = "a server has no input" if host.world.serving == "quillo run" else _CARRIES
        raise Stop(f"`{name}` can't be used under `{host.world.serving}`: {why}")
    return sys.stdin.buffer if sys.stdin is not None else None


def _read_line(host: ProgramHost, arguments: list[Any]) -> str | None:
    stream = _own_input(host, "read_line")
    host.world.flush()
    line = stream.readline(TEXT_LIMIT + 2) if stream else b""
    return _input_text(line, "read_line").removesuffix("\n").removesuffix("\r") if line else None


def _stdin(host: ProgramHost, arguments: list[Any]) -> str:
    stream = _own_input(host, "stdin")
    return _input_text(stream.read(TEXT_LIMIT + 1) if stream else b"", "stdin")


def _input_text(data: bytes, name: str) -> str:
    if len(data) > TEXT_LIMIT:
        raise Stop(f"`{name}`: standard input is over {TEXT_LIMIT // 1024 // 1024} MiB: a text holds no more")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Stop(f"`{name}`: standard input is not UTF-8") from None


def _exit(host: ProgramHost, arguments: list[Any]) -> Any:
    code = need_int(arguments[0], 1, "exit") if arguments else 0
    if host.world.serving:
        until = "it is told to end" if host.world.serving == "quillo run" else "its client leaves"
        raise Stop(f"`exit` can't be used under `{host.world.serving}`: it serves until {until}")
    if not 0 <= code <= 255:
        raise Stop(f"`exit` takes a status from 0 to 255, got {code}")
    raise Stop(f"exit({code})", kind="exit", detail=code)


def _file(work: Callable[[str, list[Any]], Any]) -> Handler:
    def handler(host: ProgramHost, arguments: list[Any]) -> Any:
        return work(host.world.folder, arguments)

    return handler


def _fetch(host: ProgramHost, arguments: list[Any]) -> Any:
    from server import fetching

    request = fetching.request_of(arguments)
    hosts = host.world.policy.hosts
    return host.in_background(lambda: fetching.fetch(request, hosts))


def _db_open(host: ProgramHost, arguments: list[Any]) -> Any:
    if not host.top_level():
        raise Stop("`db.open` belongs to the top level of the program: a database is opened once")
    return host.world.database.open(arguments[0])


def _begin_answering(host: ProgramHost, arguments: list[Any]) -> None:
    if not host.top_level():
        raise Stop("`answering` is for tests: in a tool's call the person answers")
    answer = arguments[0]
    if type(answer) not in (bool, str):
        raise Stop(f"argument 1 of `answering` must be bool or str, got {kind_of(answer)}")
    host.set_answers.append(answer)


def _end_answering(host: ProgramHost, arguments: list[Any]) -> None:
    host.set_answers.pop()


def _ask(host: ProgramHost, arguments: list[Any]) -> Any:
    raise Stop("`ask` shows a dialog of a page: in a tool, `confirm` and `about` ask the person")


HANDLERS: dict[str, Handler] = {
    "now": _now,
    "now_ms": _now_ms,
    "random": _random,
    "random_int": _random_int,
    "uuid": _uuid,
    "hash_password": _hash_password,
    "sleep": _sleep,
    "print": _print,
    "log": _log,
    "env": _env,
    "args": _args,
    "read_line": _read_line,
    "stdin": _stdin,
    "exit": _exit,
    "read_file": _file(files.read_file),
    "write_file": _file(files.write_file),
    "append_file": _file(files.append_file),
    "delete_file": _file(files.delete_file),
    "files": _file(files.files),
    "fetch": _fetch,
    "db.open": _db_open,
    "db.query": lambda host, arguments: host.scope.query(arguments),
    "db.one": lambda host, arguments: host.scope.one(arguments),
    "db.exec": lambda host, arguments: host.scope.execute(arguments),
    "db.begin": lambda host, arguments: host.scope.begin(),
    "db.commit": lambda host, arguments: host.scope.commit(),
    "db.rollback": lambda host, arguments: host.scope.rollback(),
    **WEB_HANDLERS,
    "ask": _ask,
    "_begin_answering": _begin_answering,
    "_end_answering": _end_answering,
}
