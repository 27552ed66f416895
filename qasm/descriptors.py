"""Whether a type descriptor (see qasm/module.py) is well made."""

from __future__ import annotations

from typing import Any

SIMPLE = frozenset(
    ("any", "int", "float", "str", "bool", "null", "bytes", "html", "response", "error", "never", "function")
)
DEEPEST = 64  # descriptors within one another; a named type starts afresh


def problem(descriptor: Any, type_count: int, depth: int = 0) -> str:
    """What is wrong with the descriptor, as the end of a sentence; "" where it is well made."""
    if isinstance(descriptor, str):
        return "" if descriptor in SIMPLE else f"there is no type {descriptor!r}"
    if not isinstance(descriptor, list) or len(descriptor) != 2 or not isinstance(descriptor[0], str):
        return "a type is a name or a list of a kind and what it is of"
    if depth == DEEPEST:
        return f"a type nests more than {DEEPEST} types"
    kind, of = descriptor
    if kind in ("list", "map"):
        return problem(of, type_count, depth + 1)
    if kind == "type":
        if type(of) is not int or not 0 <= of < type_count:
            return f"it names type {of!r} and there are {type_count}"
        return ""
    if kind not in ("literal", "union", "record"):
        return f"there is no kind of type {kind!r}"
    if not isinstance(of, list):
        return f"a {kind} type takes a list"
    if kind == "record":
        return _record_problem(of, type_count, depth)
    if not of:
        return f"a {kind} type needs at least one member"
    if kind == "literal":
        fits = all(isinstance(value, str | bool | int | float) for value in of)
        return "" if fits else "a literal type takes texts, numbers and bools"
    return next(filter(None, (problem(member, type_count, depth + 1) for member in of)), "")


def _record_problem(fields: list[Any], type_count: int, depth: int) -> str:
    seen = set()
    for field in fields:
        if not isinstance(field, list) or len(field) != 3:
            return "a record type's field is a list of a name, a type and whether it is required"
        name, descriptor, required = field
        if not isinstance(name, str) or not isinstance(required, bool):
            return "a record type's field is a list of a name, a type and whether it is required"
        if name in seen:
            return f"a record type has the field {name!r} twice"
        seen.add(name)
        if found := problem(descriptor, type_count, depth + 1):
            return found
    return ""


def _named_at_once(descriptor: Any) -> list[int]:
    """The named types that a value must be checked against before anything inside it is looked at."""
    if not isinstance(descriptor, list):
        return []
    if descriptor[0] == "type":
        return [descriptor[1]]
    if descriptor[0] == "union":
        return [number for member in descriptor[1] for number in _named_at_once(member)]
    return []


def circle(types: list[tuple[str, Any]]) -> int:
    """The number of a named type that is itself without a list, map or record between; -1 for none.

    The descriptors must be well made. Checking a value against such a type would never end.
    """
    edges = [_named_at_once(descriptor) for _, descriptor in types]
    done = [False] * len(types)
    for first in range(len(types)):
        if done[first]:
            continue
        path, on_path = [(first, 0)], {first}
        while path:
            number, edge = path.pop()
            if edge == len(edges[number]):
                done[number] = True
                on_path.discard(number)
                continue
            path.append((number, edge + 1))
            following = edges[number][edge]
            if following in on_path:
                return following
            if not done[following]:
                path.append((following, 0))
                on_path.add(following)
    return -1
