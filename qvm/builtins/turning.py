"""The builtins of section "turning": one kind of value made from another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from qvm.builtins.arguments import failure, need_bytes, need_text, utf8, wrong
from qvm.mistakes import check_text
from qvm.operators import over_64_bits
from qvm.text import quoted, to_json, write_out
from qvm.values import INT_MAX, INT_MIN, Err, Stop

_WANTED = "str, int or float"


def _int(x: Any) -> int | Err:
    """A text holds decimal digits, with a sign or without; white space around them doesn't count."""
    kind = type(x)
    if kind is int:
        return x
    if kind is float:
        if not math.isfinite(x):
            raise Stop(f"`int` can't make a whole number of {x!r}")
        number = math.trunc(x)
        if not INT_MIN <= number <= INT_MAX:
            raise over_64_bits("`int`")
        return number
    if kind is not str:
        raise wrong(1, "int", _WANTED, x)
    text = x.strip()
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        return failure("int", "number", f"{quoted(x)} is no whole number")
    digits = digits.lstrip("0") or "0"
    number = int(digits) if len(digits) < 20 else INT_MAX + 2
    number = -number if text[0] == "-" else number
    if not INT_MIN <= number <= INT_MAX:
        return failure("int", "number", f"{quoted(x)} is over 64 bits")
    return number


def _float(x: Any) -> float | Err:
    """A text holds a number as Quillo writes floats, or a whole one; white space around it doesn't count."""
    kind = type(x)
    if kind is float:
        return x
    if kind is int:
        return float(x)
    if kind is not str:
        raise wrong(1, "float", _WANTED, x)
    text = x.strip()
    digits = text[1:] if text[:1] in ("-", "+") else text
    # Python's `float` takes more than this: `.5`, `5.`, `1_0`, `inf`, digits of other scripts.
    number = None
    if digits.isascii() and digits[:1].isdigit() and digits[-1:].isdigit() and "_" not in digits:
        before_power = digits.replace("E", "e").partition("e")[0]
        if before_power[-1:].isdigit():
            try:
                number = float(text)
            except ValueError:
                number = None
    if number is None:
        return failure("float", "number", f"{quoted(x)} is no number")
    if math.isinf(number):
        return failure("float", "number", f"{quoted(x)} is too big for a float")
    return number


def _str(x: Any) -> str:
    return write_out(x)


def _json(x: Any) -> str:
    return to_json(x)


def _from_json(s: Any) -> Any:
    """A key that stands twice holds its last value. A whole number over 64 bits, a number that a float can't hold, half
    of a surrogate pair and what is nested over 1,024 deep are no JSON for Quillo.
    """
    import orjson

    need_text(s, 1, "from_json")
    if not s.isascii():
        try:
            s.encode("utf-8")
        except UnicodeEncodeError:
            return failure("from_json", "json", "the text holds half of a character")
    try:
        value = orjson.loads(s)
    except orjson.JSONDecodeError as error:
        return failure("from_json", "json", _json_fault(s, error))
    big = _big_number(s)
    if big:
        return failure("from_json", "json", f"{quoted(big)} is over 64 bits")
    return value


def _json_fault(text: str, error: Any) -> str:
    """Where a text stops being JSON, in words."""
    if not text.strip():
        return "the text is empty: there is no JSON in it"
    if "infinity" in error.msg:
        return f"a number is too big for a float at line {error.lineno}, column {error.colno}"
    reason = error.msg.partition(": line ")[0]
    return f"no JSON: {reason} at line {error.lineno}, column {error.colno}"


_DIGITS_ALIKE = bytes(48 if 48 <= code <= 57 else code for code in range(256))


def _big_number(text: str) -> str | None:
    """The first whole number of a JSON text that needs over 64 bits: those come back from orjson rounded."""
    import re

    # Ten times as fast as a search for 19 digits: most texts have no such number.
    if text.encode("utf-8").translate(_DIGITS_ALIKE).find(b"0" * 19) < 0:
        return None
    for found in re.finditer(r'"(?:[^"\\]++|\\.)*+"|-?[0-9][0-9.eE+-]*', text):
        number = found.group()
        if len(number) < 19 or not number.lstrip("-").isdigit():
            continue
        if len(number) > 20 or not INT_MIN <= int(number) <= INT_MAX:
            return number
    return None


def _bytes(s: Any) -> bytes:
    return utf8(need_text(s, 1, "bytes"), 1, "bytes")


def _base64(b: Any) -> str:
    from binascii import b2a_base64

    return check_text(b2a_base64(need_bytes(b, 1, "base64"), newline=False).decode("ascii"))


def _from_base64(s: Any) -> bytes | Err:
    from binascii import Error, a2b_base64

    need_text(s, 1, "from_base64")
    try:
        return a2b_base64(s, strict_mode=True)
    except (Error, ValueError):
        return failure("from_base64", "base64", f"{quoted(s)} is no base64")


def _hex(b: Any) -> str:
    return check_text(need_bytes(b, 1, "hex").hex())


NATIVES: dict[str, Callable[..., Any]] = {
    "int": _int,
    "float": _float,
    "str": _str,
    "json": _json,
    "from_json": _from_json,
    "bytes": _bytes,
    "base64": _base64,
    "from_base64": _from_base64,
    "hex": _hex,
}
