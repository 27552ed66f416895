"""Values as text: what `print`, `str` and `${…}` show, and JSON.

Rule 1: text is itself, `null` is `null`, floats have the shortest form that reads back the same, and lists and records
are JSON on one line with ", " and ": " between and text beyond ASCII as it is.
Rule 2: `write_out` shows everything, for people: `inf`, `nan` and functions have a form, too. `to_json` is for
machines: what JSON has no form for is a stop.
Rule 3: nothing here recurses by itself. The C encoder of `json` takes the common case; what is nested too deep for it,
or holds a number that JSON lacks, is written by a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from qvm.mistakes import check_text, text_too_big
from qvm.values import (
    TEXT_LIMIT,
    BuiltinFunction,
    Closure,
    Err,
    Markup,
    Response,
    Sql,
    Stop,
    kind_of,
)

_END: Any = object()
_SHOWN = 40  # code points of a text that a message quotes


def write_out(value: Any) -> str:
    """A value as `print` and `${…}` show it. Raises Stop where that is over 64 MiB."""
    kind = type(value)
    if kind is str:
        return value
    if kind is int:
        return str(value)
    if kind is list or kind is dict:
        return _encode(value, _scalar)
    return _scalar(value)


def to_json(value: Any, user: str = "json") -> str:
    """A value as JSON text. Raises Stop for a float that JSON lacks, for what is no data, and over 64 MiB.

    `user` is the builtin that a stop names.
    """
    return _encode(value, _as_data(user))


def short_to_json(value: Any) -> str:
    """`to_json` of a value of which it is known that its text is short."""
    try:
        return _encoder(_as_data("json"))(value)
    except (ValueError, RecursionError):
        return to_json(value)


@cache
def _as_data(user: str) -> Callable[[Any], str]:
    """The JSON text of what JSON has no kind of its own for, or a stop that names `user`."""

    def text_of(value: Any) -> str:
        kind = type(value)
        if kind is bytes or kind is Markup:
            return _scalar(value)
        if kind is float:
            raise Stop(f"`{user}` can't write {value!r}: JSON has no such number")
        raise Stop(f"`{user}` can't write a {kind_of(value)}: it is no data")

    return text_of


def quoted(text: str) -> str:
    """A text as a message quotes it: in `"`, on one line, cut when it is long."""
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return json_text(cut) if cut.isprintable() else f'"{ascii(cut)[1:-1]}"'


def visible(text: str) -> str:
    """A text as a terminal may show it, over several lines: what would move the cursor, colour or turn what a person
    reads becomes an escape, so that data can't pass itself off as something else."""
    from re import sub

    if text.isprintable():
        return text
    return sub(_UNSEEN, lambda found: ascii(found[0])[1:-1], text)


# Control characters but for the tab and the end of a line, bidirectional marks, other ends of lines, halves of pairs.
_UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


def json_text(text: str) -> str:
    """A text as a JSON string, with its quotes."""
    from json.encoder import encode_basestring

    return encode_basestring(text)


def escape_html(text: str) -> str:
    """A text with the five characters that mean something in HTML, in text and in quoted attributes, escaped."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#39;")


def _scalar(value: Any) -> str:
    """What is neither text, list nor record, as people see it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case bytes():
            from binascii import b2a_base64

            return check_text(b2a_base64(value, newline=False).decode("ascii"))
        case Markup() | Sql():
            return value.text
        case Response():
            return f"<response {value.status}>"
        case BuiltinFunction():
            return f"<function {value.name}>"
        case Closure():
            return "<function>"
        case Err():
            return f"err({write_out(value.value) if type(value.value) is not str else json_text(value.value)})"
    return f"<{kind_of(value)}>"


def _encode(value: Any, special: Callable[[Any], str]) -> str:
    """`value` as JSON; `special` gives the text for what JSON has no form for, or raises Stop."""
    _measure(value)
    try:
        text = _encoder(special)(value)
    except (ValueError, RecursionError):
        text = "".join(_pieces(value, special))
    return check_text(text)


@cache
def _encoder(special: Callable[[Any], str]) -> Callable[[Any], str]:
    from json import JSONEncoder

    return JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, default=special).encode


def _measure(value: Any) -> None:
    """Raises Stop where `value` written out is surely over the limit.

    A list may hold one list many times over, so what is written can be far larger than what is in memory: this must be
    known before it is written.
    """
    total = 0
    waiting = [value]
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is dict:
            total += 6 * len(value) + sum(map(len, value))
            items = value.values()
        elif kind is list:
            total += 2 * len(value)
            items = value
        else:
            continue
        for item in items:
            kind = type(item)
            if kind is str or kind is bytes:
                total += len(item)
            elif kind is list or kind is dict:
                waiting.append(item)
        if total > TEXT_LIMIT:
            raise text_too_big()


def _pieces(value: Any, special: Callable[[Any], str]) -> Iterator[str]:
    """The JSON of `value`, piece by piece, with a stack of its own in place of Python's."""
    # For each open list or record: what is still to be written of it, and whether that has keys.
    open_values: list[tuple[Iterator[Any], bool]] = []
    before = ""
    current: Any = value
    while True:
        kind = type(current)
        if kind is list:
            yield before + "["
            open_values.append((iter(current), False))
            before = ""
        elif kind is dict:
            yield before + "{"
            open_values.append((iter(current.items()), True))
            before = ""
        else:
            yield before + _piece(current, special)
            before = ", "
        while True:
            if not open_values:
                return
            items, keyed = open_values[-1]
            following: Any = next(items, _END)
            if following is not _END:
                break
            open_values.pop()
            yield "}" if keyed else "]"
            before = ", "
        if keyed:
            key, current = following
            before += json_text(key) + ": "
        else:
            current = following


def _piece(value: Any, special: Callable[[Any], str]) -> str:
    kind = type(value)
    if kind is str:
        return json_text(value)
    if value is None or kind is bool or kind is int:
        return _scalar(value)
    if kind is float:
        return repr(value) if value - value == 0.0 else special(value)
    return json_text(special(value))
