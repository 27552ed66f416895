"""The values of a running program.

They are plain Python values: int (64 bits), float, str, bool, None, bytes, list, dict (records and maps, text keys),
and the kinds below. Lists and dicts are never changed once anybody else can see them (see qvm/changing.py).
"""

from __future__ import annotations

from typing import Any

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1
TEXT_LIMIT = 64 * 1024 * 1024  # bytes of UTF-8 that a text may have
SIZE_LIMIT = 10_000_000  # entries that a list, map or record may have
DEPTH_LIMIT = 10_000  # calls


class Err:
    """An error as a value. `builtin` names the builtin that gave it; "" for the program's own `err(v)`."""

    __slots__ = ("builtin", "value")

    def __init__(self, value: Any, builtin: str = "") -> None:
        self.value = value
        self.builtin = builtin

    def __repr__(self) -> str:
        return f"Err({self.value!r})"


class Cell:
    """A variable that functions share. `owned` is the list or dict that this variable alone holds, if it is `value`."""

    __slots__ = ("owned", "value")

    def __init__(self, value: Any = None) -> None:
        self.value = value
        self.owned: Any = None


class Closure:
    """A function of the Module with the cells that it captures."""

    __slots__ = ("cells", "function")

    def __init__(self, function: int, cells: tuple[Cell, ...] = ()) -> None:
        self.function = function
        self.cells = cells


class BuiltinFunction:
    """A builtin as a value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Markup:
    """HTML that is safe to send as it is."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Sql:
    """A piece of SQL with its parameters."""

    __slots__ = ("parameters", "text")

    def __init__(self, text: str, parameters: list[Any]) -> None:
        self.text = text
        self.parameters = parameters


class Response:
    """An answer of a route: status, headers, and a body that is a value."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: Any, headers: dict[str, str]) -> None:
        self.status = status
        self.body = body
        self.headers = headers


class IteratorState:
    """A loop's place: the items of a list, or a record's values and its `keys`, and the next index.

    For a range of whole numbers `items` is None and `index`, `stop` are the next number and the end; `start` is where
    it began.
    """

    __slots__ = ("index", "items", "keys", "start", "stop")

    def __init__(self, items: list[Any] | None, keys: list[str] | None, index: int, stop: int, start: int = 0) -> None:
        self.items = items
        self.keys = keys
        self.index = index
        self.stop = stop
        self.start = start


class _Absent:
    """The mark of an argument that is left out. There is one, ABSENT."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


class Unset:
    """What a top-level variable holds before its `let` has run. There is one, UNSET."""

    __slots__ = ()


UNSET = Unset()


class CallPlace:
    """One call of a stop's trace: where it stood (file, line) and in which function ("" for a top level)."""

    __slots__ = ("file", "function", "line")

    def __init__(self, file: str, line: int, function: str) -> None:
        self.file = file
        self.line = line
        self.function = function


class Stop(Exception):
    """A program, request or call that ends with a message.

    `error` is the Err of an error stop, which `??`, `?`, `match` and `is_err` catch; None where nothing catches it.
    `places` is filled by the engine: innermost first. `kind` tells apart what a door must treat in its own way:
    "mistake", "error", "compute" (out of max_compute), "cancelled", "question" (a question refused), "exit"
    (`exit(code)`; `detail` the code), "reply" (`detail` a Response), "declined" and "cannot_ask" and "changing" and
    "too_many" (questions; the message is for the model).
    """

    def __init__(self, message: str, kind: str = "mistake", error: Err | None = None, detail: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.error = error
        self.detail = detail
        self.places: list[CallPlace] = []
        self.inner: list[CallPlace] = []  # places that are known before those of the calls around them are
        self.at_caller = False  # whether it is where the innermost call stands, not in what is called


def kind_of(value: Any) -> str:
    """The name of a value's type, as `type_of` and messages give it."""
    return _KINDS.get(type(value), "any")


_KINDS: dict[type, str] = {
    int: "int",
    float: "float",
    str: "str",
    bool: "bool",
    type(None): "null",
    bytes: "bytes",
    list: "list",
    dict: "record",
    Err: "error",
    Closure: "function",
    BuiltinFunction: "function",
    Markup: "html",
    Sql: "sql",
    Response: "response",
}
