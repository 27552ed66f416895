"""What the operators do, for every kind of operand, with exact 64-bit whole numbers.

The engine's handlers do the common cases themselves and come here for the rest. `equal` is the language's `==`, which
builtins that look values up (`unique`, `index_of` …) use as well.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fmod, nan
from typing import Any

from qvm.mistakes import check_size, check_text, counted, refuse_error, refused
from qvm.values import (
    INT_MAX,
    INT_MIN,
    BuiltinFunction,
    Closure,
    Err,
    Markup,
    Response,
    Sql,
    Stop,
    kind_of,
)

_BY_VALUE = frozenset((str, int, float, bool, bytes, type(None)))
_NUMBERS = frozenset((int, float))


# arithmetic


def over_64_bits(operation: str) -> Stop:
    return Stop(f"the result of {operation} is over 64 bits")


def add(a: Any, b: Any) -> Any:
    """Numbers are added, texts and lists joined."""
    kind, other = type(a), type(b)
    if kind in _NUMBERS and other in _NUMBERS:
        result = a + b
        if type(result) is int and not INT_MIN <= result <= INT_MAX:
            raise over_64_bits(f"{a} + {b}")
        return result
    if kind is str and other is str:
        return check_text(a + b)
    if kind is list and other is list:
        check_size(len(a) + len(b))
        return a + b
    raise _cannot_add(a, b)


def _cannot_add(a: Any, b: Any) -> Stop:
    kinds = f"{kind_of(a)} and {kind_of(b)}"
    if {type(a), type(b)} in ({str, int}, {str, float}):
        number = kind_of(b if type(a) is str else a)
        return refused(f"`+` can't join {kinds}: turn one into the other's kind with str(…) or {number}(…)", a, b)
    if str in (type(a), type(b)):
        return refused(f"`+` can't join {kinds}: turn the other one into text with str(…)", a, b)
    if list in (type(a), type(b)):
        return refused(f"`+` can't join {kinds}: to add one item to a list, put it in a list, too", a, b)
    return refused(f"`+` takes two numbers, two texts or two lists, got {kinds}", a, b)


def subtract(a: Any, b: Any) -> Any:
    if type(a) in _NUMBERS and type(b) in _NUMBERS:
        result = a - b
        if type(result) is int and not INT_MIN <= result <= INT_MAX:
            raise over_64_bits(f"{a} - {b}")
        return result
    raise _needs_numbers("-", a, b)


def multiply(a: Any, b: Any) -> Any:
    if type(a) in _NUMBERS and type(b) in _NUMBERS:
        result = a * b
        if type(result) is int and not INT_MIN <= result <= INT_MAX:
            raise over_64_bits(f"{a} * {b}")
        return result
    raise _needs_numbers("*", a, b)


def divide(a: Any, b: Any) -> Any:
    """Whole numbers are cut toward zero."""
    if type(a) not in _NUMBERS or type(b) not in _NUMBERS:
        raise _needs_numbers("/", a, b)
    if b == 0:
        raise Stop("division by zero")
    if type(a) is int and type(b) is int:
        result = a // b if (a < 0) is (b < 0) else -(-a // b)
        if result > INT_MAX:
            raise over_64_bits(f"{a} / {b}")
        return result
    return a / b


def remainder(a: Any, b: Any) -> Any:
    """The rest of a division, with the sign of `a`."""
    if type(a) not in _NUMBERS or type(b) not in _NUMBERS:
        raise _needs_numbers("%", a, b)
    if b == 0:
        raise Stop("division by zero")
    if type(a) is int and type(b) is int:
        b = abs(b)
        return a % b if a >= 0 else -(-a % b)
    try:
        return fmod(a, b)
    except ValueError:  # the rest of an infinite number is no number
        return nan


def negate(a: Any) -> Any:
    if type(a) is int:
        if a == INT_MIN:
            raise over_64_bits(f"-({a})")
        return -a
    if type(a) is float:
        return -a
    raise refused(f"`-` needs a number, got {kind_of(a)}", a)


def _needs_numbers(symbol: str, a: Any, b: Any) -> Stop:
    return refused(f"`{symbol}` needs two numbers, got {kind_of(a)} and {kind_of(b)}", a, b)


def negated(a: Any) -> bool:
    """`!a`."""
    if type(a) is bool:
        return not a
    raise refused(f"`!` needs a bool, got {kind_of(a)}", a)


# comparing


def equal(a: Any, b: Any) -> bool:
    """`==`: by content, all the way in. An int and a float are equal by their value; other kinds never mix."""
    kind, other = type(a), type(b)
    if kind is other:
        if kind in _BY_VALUE:
            return a == b
        return _equal_inside(a, b)
    return kind in _NUMBERS and other in _NUMBERS and a == b


def _equal_inside(a: Any, b: Any) -> bool:
    """`equal` for values that hold others, with a list of what is left to compare: depth costs no recursion."""
    left = [(a, b)]
    while left:
        a, b = left.pop()
        kind, other = type(a), type(b)
        if kind is not other:
            if not (kind in _NUMBERS and other in _NUMBERS and a == b):
                return False
        elif kind in _BY_VALUE:
            if a != b:
                return False
        elif kind is list:
            if len(a) != len(b):
                return False
            left.extend(zip(a, b, strict=True))
        elif kind is dict:
            if a.keys() != b.keys():
                return False
            left.extend((value, b[key]) for key, value in a.items())
        elif kind is Markup:
            if a.text != b.text:
                return False
        elif kind is Closure:
            if a.function != b.function or len(a.cells) != len(b.cells):
                return False
            if any(mine is not other for mine, other in zip(a.cells, b.cells, strict=True)):
                return False
        elif kind is BuiltinFunction:
            if a.name != b.name:
                return False
        elif kind is Sql:
            if a.text != b.text:
                return False
            left.append((a.parameters, b.parameters))
        elif kind is Response:
            if a.status != b.status or a.headers != b.headers:
                return False
            left.append((a.body, b.body))
        elif kind is Err:
            left.append((a.value, b.value))
        elif a is not b:
            return False
    return True


def equal_operands(a: Any, b: Any) -> bool:
    """`equal` for the operator: an error on either side is a stop."""
    if type(a) is Err or type(b) is Err:
        raise refused("", a, b)
    return equal(a, b)


def comparer(symbol: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """The function of `<`, `<=`, `>` or `>=`: numbers with numbers, text with text."""

    def compared(a: Any, b: Any) -> bool:
        kind, other = type(a), type(b)
        if (kind in _NUMBERS and other in _NUMBERS) or (kind is str and other is str):
            return compare(a, b)
        raise refused(
            f"`{symbol}` can't compare {kind_of(a)} and {kind_of(b)}: it takes two numbers or two texts", a, b
        )

    return compared


def contains(part: Any, whole: Any) -> bool:
    """`part in whole`: an element of a list, a key of a record, a part of a text."""
    if type(part) is Err or type(whole) is Err:
        raise refused("", part, whole)
    kind = type(whole)
    if kind is list:
        return index_of(whole, part) >= 0
    if kind is dict:
        return type(part) is str and part in whole
    if kind is str:
        if type(part) is str:
            return part in whole
        raise Stop(f"`in` looks for a text in a text, got {kind_of(part)}")
    raise Stop(f"`in` looks in a list, a record or a text, got {kind_of(whole)}")


def index_of(items: list[Any], wanted: Any) -> int:
    """The first place of what is equal to `wanted`, -1 for none."""
    if type(wanted) is str or wanted is None or type(wanted) is bytes:
        # Only the same kind is equal to these, so the search can be left to the list itself.
        try:
            return items.index(wanted)
        except ValueError:
            return -1
    for place, item in enumerate(items):
        if equal(item, wanted):
            return place
    return -1


def whole_range(a: Any, b: Any) -> list[int]:
    """`a..b` as a list."""
    check_range(a, b)
    check_size(b - a)
    return list(range(a, b))


def check_range(a: Any, b: Any) -> None:
    if type(a) is not int or type(b) is not int:
        raise refused(f"`..` needs two whole numbers, got {kind_of(a)} and {kind_of(b)}", a, b)


# reading parts


def element(base: Any, index: Any) -> Any:
    """`base[index]`: an element of a list, a code point of a text, a key's value (null when absent)."""
    kind = type(base)
    if kind is dict:
        if type(index) is str:
            return base.get(index)
        raise refused(f"a record's key must be str, got {kind_of(index)}", index)
    if kind is list or kind is str:
        if type(index) is int:
            try:
                return base[index]
            except IndexError:
                raise out_of_range(base, index) from None
        raise refused(f"an index must be int, got {kind_of(index)}", index)
    raise refused(f"cannot read an element of {kind_of(base)}", base, index)


def out_of_range(base: list[Any] | str, index: int) -> Stop:
    kind, one = ("list", "item") if type(base) is list else ("text", "character")
    return Stop(f"index {index} is out of range: the {kind} has {counted(len(base), one)}")


def part(base: Any, start: Any, end: Any) -> Any:
    """`base[start..end]`, cut to what is there; null is an open end."""
    if type(base) is not list and type(base) is not str:
        raise refused(f"cannot take a slice of {kind_of(base)}", base, start, end)
    for bound in (start, end):
        if bound is not None and type(bound) is not int:
            raise refused(f"the ends of a slice must be int, got {kind_of(bound)}", bound)
    return base[start:end]


def field_of(base: Any, name: str) -> Any:
    """`base.name`; null where the record lacks it."""
    if type(base) is dict:
        return base.get(name)
    raise refused(f"cannot read `{name}` of {kind_of(base)}", base)


def field_or_null(base: Any, name: str) -> Any:
    """`base?.name`: null for null, and an error stays an error."""
    if type(base) is dict:
        return base.get(name)
    if base is None or type(base) is Err:
        return base
    raise Stop(f"cannot read `{name}` of {kind_of(base)}")


def is_error(value: Any) -> bool:
    return type(value) is Err


def make_error(value: Any) -> Err:
    """`err(value)`."""
    refuse_error(value)
    return Err(value)
