"""How the checker's messages name types: `must be str or null, got list<int>`."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.types import (
    ANY,
    ERROR,
    NEVER,
    FunctionType,
    ListType,
    LiteralType,
    MapType,
    RecordType,
    Type,
    UnionType,
    Variable,
    resolved,
    written,
)

_LONGEST = 60  # a written type that is longer is named by its kind


def wanted_text(type: Type) -> str:
    """What a value must be: a declared type's name, `int or str`, `"asc", "desc" or null`."""
    if isinstance(type, UnionType):
        return one_of(wanted_text(member) for member in type.members)
    return _plain(type)


def one_of(texts: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`; what stands twice is said once."""
    choices = list(dict.fromkeys(texts))
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"


def got_text(type: Type) -> str:
    """What a value is."""
    if isinstance(type, UnionType):
        text = one_of(_plain(member) for member in type.members)
        return text if len(text) <= _LONGEST else "one of several types"
    return _plain(type)


def _plain(type: Type) -> str:
    match type:
        case ListType(item):
            return "list" if _says_nothing(item) else _short(type, "list")
        case MapType(value):
            return "record" if _says_nothing(value) else _short(type, "record")
        case RecordType(fields, is_open):
            return "record" if is_open and not fields else _short(type, "record")
        case FunctionType(parameters, result):
            if parameters is None or (parameters and all(map(_says_nothing, (*parameters, result)))):
                return "function"
            return _short(type, "function")
    return "error" if type == ERROR else _short(type, "any")


def _says_nothing(type: Type) -> bool:
    if isinstance(type, RecordType):
        return type.open and not type.fields
    return type in (ANY, NEVER) or isinstance(type, Variable)


def _short(type: Type, kind: str) -> str:
    if isinstance(type, LiteralType) and isinstance(type.value, str) and len(type.value) > _LONGEST:
        return "str"
    # Types can be big where they are inferred: one that is cut off is not written out first.
    text = written(type)
    return text if len(text) <= _LONGEST else kind


def named(type: Type) -> str:
    """A type at the start of a sentence: `Note`, `int`, `the record`."""
    inner = resolved(type)
    if inner is type and isinstance(type, RecordType):
        return "the record"
    return _plain(type)


def counted(count: int, one: str) -> str:
    return f"{count} {one}" if count == 1 else f"{count} {one}s"
