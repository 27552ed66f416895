"""How natives check what they are given, in one wording, which is the checker's, too."""

from __future__ import annotations

from typing import Any

from qvm.values import Err, Stop, kind_of


def wrong(place: int, builtin: str, wanted: str, value: Any) -> Stop:
    """The stop for an argument of a wrong kind; `place` counts from 1."""
    return Stop(f"argument {place} of `{builtin}` must be {wanted}, got {kind_of(value)}")


def wrong_item(index: int, place: int, builtin: str, wanted: str, value: Any) -> Stop:
    """The stop for an item of a wrong kind in an argument that is a list; `index` counts from 0, as in Quillo."""
    return Stop(f"`[{index}]` of argument {place} of `{builtin}` must be {wanted}, got {kind_of(value)}")


def need_text(value: Any, place: int, builtin: str) -> str:
    if type(value) is not str:
        raise wrong(place, builtin, "str", value)
    return value


def need_list(value: Any, place: int, builtin: str, wanted: str = "list") -> list[Any]:
    if type(value) is not list:
        raise wrong(place, builtin, wanted, value)
    return value


def need_record(value: Any, place: int, builtin: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise wrong(place, builtin, "record", value)
    return value


def need_int(value: Any, place: int, builtin: str) -> int:
    if type(value) is not int:
        raise wrong(place, builtin, "int", value)
    return value


def need_number(value: Any, place: int, builtin: str, wanted: str = "float") -> int | float:
    """An int or a float: what may stand where a float is wanted."""
    if type(value) is not float and type(value) is not int:
        raise wrong(place, builtin, wanted, value)
    return value


def need_bytes(value: Any, place: int, builtin: str) -> bytes:
    if type(value) is not bytes:
        raise wrong(place, builtin, "bytes", value)
    return value


def utf8(text: str, place: int, builtin: str) -> bytes:
    """A text's bytes. Raises Stop for half of a surrogate pair, which is no text."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise Stop(
            f"argument {place} of `{builtin}` has half of a character in it: U+{code:04X} at place {error.start}"
        ) from None


def failure(builtin: str, kind: str, message: str) -> Err:
    """The error of a builtin that failed for a reason outside the program."""
    return Err({"kind": kind, "message": message}, builtin)
