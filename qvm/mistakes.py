"""The stops that the engine and the builtins raise again and again, worded once.

A *mistake* is a Stop with no error in it: nothing catches it. An *error stop* carries an Err: `??`, `?`, `match` and
`is_err` catch it. The limits of section 15 of the language are looked at here, too.
"""

from __future__ import annotations

from typing import Any

from qvm.values import SIZE_LIMIT, TEXT_LIMIT, Err, Stop, kind_of

SURELY_SHORT = TEXT_LIMIT // 4  # code points: none takes more than 4 bytes of UTF-8


def error_stop(error: Err) -> Stop:
    """The stop of an error that is used as if it were a plain value."""
    return Stop(error_text(error), "error", error)


def error_text(error: Err) -> str:
    """What an error says: a text as it is, a builtin's error its message, anything else written out."""
    value = error.value
    if type(value) is str:
        return value
    if error.builtin and type(value) is dict and type(value.get("message")) is str:
        return value["message"]
    from qvm.text import write_out

    return write_out(value)


def refuse_error(value: Any) -> None:
    """Raises an error stop if `value` is an error: it is used in a way that keeps no error."""
    if type(value) is Err:
        raise error_stop(value)


def refused(message: str, *operands: Any) -> Stop:
    """The stop for operands that don't do: an error among them comes first, else it is a mistake."""
    for operand in operands:
        if type(operand) is Err:
            return error_stop(operand)
    return Stop(message)


def counted(count: int, one: str, many: str = "") -> str:
    """`1 item`, `3 items`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def check_text(text: str) -> str:
    """Gives `text` back, or stops if it is over 64 MiB."""
    if len(text) > SURELY_SHORT and (
        len(text) > TEXT_LIMIT or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > TEXT_LIMIT)
    ):
        raise text_too_big()
    return text


def text_too_big() -> Stop:
    return Stop("a text can't grow over 64 MiB")


def check_size(size: int, kind: str = "list") -> None:
    """Stops if a list, map or record of `size` entries would be too big."""
    if size > SIZE_LIMIT:
        raise Stop(f"a {kind} can't have over {SIZE_LIMIT:,} entries")


def no_bool(what: str, value: Any) -> Stop:
    """The stop for a value that must be a bool: `a condition must be bool, got int`."""
    return refused(f"{what} must be bool, got {kind_of(value)}", value)
