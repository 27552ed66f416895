"""Finds the known name that somebody may have meant.

A name is offered only when it is near: one slip in a short name, two in a longer one, three in a long one. Words of
other languages have their own table.
"""

from __future__ import annotations

from collections.abc import Iterable

# What people write who come from other languages, and what it is called here.
ELSEWHERE = {
    "None": "null",
    "nil": "null",
    "undefined": "null",
    "NULL": "null",
    "True": "true",
    "False": "false",
    "println": "print",
    "printf": "print",
    "echo": "print",
    "puts": "print",
    "length": "len",
    "size": "len",
    "count": "len",
    "append": "push",
    "parse_int": "int",
    "parseInt": "int",
    "parseFloat": "float",
    "toString": "str",
    "to_string": "str",
    "upcase": "upper",
    "downcase": "lower",
    "toUpperCase": "upper",
    "toLowerCase": "lower",
    "toupper": "upper",
    "tolower": "lower",
    "strip": "trim",
    "includes": "contains",
    "indexOf": "index_of",
    "startsWith": "starts_with",
    "endsWith": "ends_with",
    "forEach": "map",
    "flat_map": "flat",
    "flatten": "flat",
    "fold": "reduce",
    "sorted": "sort",
    "reversed": "reverse",
    "some": "any",
    "every": "all",
    "typeof": "type_of",
    "Error": "err",
    "error": "err",
    "Err": "err",
}
ELSEWHERE_TYPES = {
    "string": "str",
    "String": "str",
    "text": "str",
    "integer": "int",
    "Int": "int",
    "Integer": "int",
    "i64": "int",
    "number": "float",
    "double": "float",
    "f64": "float",
    "Float": "float",
    "boolean": "bool",
    "Bool": "bool",
    "Boolean": "bool",
    "array": "list",
    "Array": "list",
    "List": "list",
    "Vec": "list",
    "dict": "map",
    "object": "map",
    "Map": "map",
    "record": "map",
    "None": "null",
    "nil": "null",
    "void": "null",
    "unit": "null",
    "undefined": "null",
    "unknown": "any",
    "Any": "any",
    "blob": "bytes",
    "function": "fn",
}


def nearest(name: str, known: Iterable[str], elsewhere: dict[str, str] | None = None) -> str | None:
    """The known name nearest to `name`, None where none is near. Of equally near ones the first in the alphabet."""
    names = set(known)
    names.discard(name)
    limit = 1 if len(name) <= 4 else 2 if len(name) <= 8 else 3
    if len(name) <= 1:
        limit = 0
    best: str | None = None
    best_distance = 0
    folded = name.lower()
    for candidate in sorted(names):
        if abs(len(candidate) - len(name)) > limit:
            continue
        if candidate.lower() == folded:
            return candidate
        # A name as long as its distance shares nothing with the other.
        found = distance(name, candidate, min(limit, len(candidate) - 1))
        if found is not None and (best is None or found < best_distance):
            best, best_distance = candidate, found
    if elsewhere and (best is None or best_distance > 1):
        meant = elsewhere.get(name)
        if meant is not None and (meant in names or meant in ("null", "true", "false")):
            return meant
    return best


def distance(a: str, b: str, limit: int) -> int | None:
    """How many letters must be put in, taken out, changed or swapped to make `b` of `a`; None if over `limit`."""
    if limit < 0 or abs(len(a) - len(b)) > limit:
        return None
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        two_before, before, row = before, row, [i]
        for j, other in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, two_before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
    return row[-1] if row[-1] <= limit else None


def list_of(names: Iterable[str], most: int = 8) -> str:
    """`a`, `b`, `c`: names in backticks, cut with an ellipsis where there are many."""
    shown = list(names)
    text = ", ".join(f"`{name}`" for name in shown[:most])
    return text + ", …" if len(shown) > most else text
