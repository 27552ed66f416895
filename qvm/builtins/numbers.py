"""The builtins of section "numbers" that work on one number or two.

Whole numbers stay exact and inside 64 bits. Rounding is half away from zero, and looks at a float as it is written out:
`round(2.675, 2)` is `2.68`, though the double nearest to 2.675 is a little less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from qvm.builtins.arguments import need_number, wrong
from qvm.operators import over_64_bits
from qvm.values import INT_MAX, INT_MIN, Stop

_MISSING: Any = object()
_NUMBER = "int or float"
_DIGITS_MOST = 400  # more digits than this change no double
_WHOLE_FLOATS = 2**53  # from here on, every float is a whole number


def decimal_text(number: float, digits: int | None) -> str:
    """A number without an exponent, with `digits` digits after the point (None: as many as it has, at least none)."""
    if type(number) is float and not math.isfinite(number):
        return repr(number)
    if type(number) is int and not digits:
        return str(number)
    from decimal import ROUND_HALF_UP, Context, Decimal

    exact = Decimal(repr(number))
    if digits is None:
        text = f"{exact:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, Context(prec=1000)):f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def _in_64_bits(value: int, builtin: str) -> int:
    if value > INT_MAX or value < INT_MIN:
        raise over_64_bits(f"`{builtin}`")
    return value


def _abs(x: Any) -> int | float:
    need_number(x, 1, "abs", _NUMBER)
    return _in_64_bits(abs(x), "abs") if type(x) is int else abs(x)


def _whole_of(x: Any, builtin: str, cut: Callable[[float], int]) -> int:
    need_number(x, 1, builtin)
    if type(x) is int:
        return x
    if not math.isfinite(x):
        raise Stop(f"`{builtin}` can't make a whole number of {x!r}")
    return _in_64_bits(cut(x), builtin)


def _floor(x: Any) -> int:
    return _whole_of(x, "floor", math.floor)


def _ceil(x: Any) -> int:
    return _whole_of(x, "ceil", math.ceil)


def _nearest(x: float) -> int:
    cut = math.trunc(x)
    if abs(x) < _WHOLE_FLOATS and abs(x - cut) >= 0.5:
        return cut + (1 if x > 0 else -1)
    return cut


def _round(x: Any, digits: Any = _MISSING) -> int | float:
    if digits is _MISSING:
        return _whole_of(x, "round", _nearest)
    need_number(x, 1, "round")
    if type(digits) is not int:
        raise wrong(2, "round", "int", digits)
    number = float(x)
    if digits > _DIGITS_MOST or not math.isfinite(number):
        return number
    return float(decimal_text(number, max(digits, -_DIGITS_MOST)))


def _sqrt(x: Any) -> float:
    need_number(x, 1, "sqrt")
    if x < 0:
        raise Stop(f"`sqrt` of a number below 0: {x!r}")
    return math.sqrt(x)


def _pow(x: Any, y: Any) -> int | float:
    need_number(x, 1, "pow", _NUMBER)
    need_number(y, 2, "pow", "float" if type(x) is float else _NUMBER)
    if type(x) is int and type(y) is int:
        if y < 0:
            raise Stop(f"`pow` of whole numbers needs a power from 0 up, got {y}: write {x}.0 for a float")
        if y > 63 and not -1 <= x <= 1:  # surely over 64 bits, and not worth working out
            raise over_64_bits("`pow`")
        return _in_64_bits(x**y, "pow")
    if x == 0 and y < 0:
        raise Stop(f"`pow` of 0 needs a power from 0 up, got {y!r}")
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        raise Stop(f"`pow` of a number below 0 needs a whole power, got {y!r}") from None


NATIVES: dict[str, Callable[..., Any]] = {
    "abs": _abs,
    "floor": _floor,
    "ceil": _ceil,
    "round": _round,
    "sqrt": _sqrt,
    "pow": _pow,
}
