"""The checker's types. They are compared by content; named types are looked through when needed.

Gradual: ANY fits everywhere and everything fits it. An error that an expression may give is no part of its type: it is
told apart by `Expression`-level facts (see `compiler.checker`: `may_fail`).
"""

from __future__ import annotations

from dataclasses import dataclass, field


class Type:
    __slots__ = ()

    def __str__(self) -> str:
        return written(self)


@dataclass(slots=True, frozen=True)
class Simple(Type):
    """any, int, float, str, bool, null, bytes, html, response, sql, never."""

    name: str


ANY = Simple("any")
INT = Simple("int")
FLOAT = Simple("float")
STR = Simple("str")
BOOL = Simple("bool")
NULL = Simple("null")
BYTES = Simple("bytes")
HTML = Simple("html")
RESPONSE = Simple("response")
SQL = Simple("sql")
NEVER = Simple("never")  # of what does not come back: `return`, `break`, a stop
ERROR = Simple("error")  # of `err(v)`: a value that is surely an error
SIMPLE = {t.name: t for t in (ANY, INT, FLOAT, STR, BOOL, NULL, BYTES, HTML, RESPONSE)}


@dataclass(slots=True, frozen=True)
class ListType(Type):
    item: Type


@dataclass(slots=True, frozen=True)
class MapType(Type):
    value: Type


@dataclass(slots=True, frozen=True)
class FieldType:
    name: str
    type: Type
    required: bool = True


@dataclass(slots=True, frozen=True)
class RecordType(Type):
    """`open` records come from builtins and literals with a spread of unknown: further fields may be there."""

    fields: tuple[FieldType, ...]
    open: bool = False

    def get(self, name: str) -> FieldType | None:
        return next((f for f in self.fields if f.name == name), None)


@dataclass(slots=True, frozen=True, eq=False)
class LiteralType(Type):
    """One text, number or bool; several are a union of these. `1`, `1.0` and `true` are three types."""

    value: str | int | float | bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiteralType) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(slots=True, frozen=True)
class UnionType(Type):
    """At least two members, none of them a union; `T?` is T and NULL, NULL last."""

    members: tuple[Type, ...]


@dataclass(slots=True, frozen=True)
class FunctionType(Type):
    """`parameters` None: any number of any. `optional`: how many of the last ones may be left out."""

    parameters: tuple[Type, ...] | None
    result: Type
    names: tuple[str, ...] = ()
    optional: int = 0


@dataclass(slots=True, frozen=True)
class Variable(Type):
    """A type variable of a builtin's signature (`T`, `U`)."""

    name: str


@dataclass(slots=True, eq=False)
class Named(Type):
    """A declared type. `target` is filled when all declarations have been read, so types may refer to themselves.

    `qualified` is "shapes.Size" where two files have types of one name (for schemas).
    """

    name: str
    qualified: str
    target: Type = field(default=ANY, repr=False)

    def __str__(self) -> str:
        return self.name


def resolved(type: Type) -> Type:
    """The type behind a name (and behind a name of a name)."""
    seen = 0
    while isinstance(type, Named):
        type = type.target
        seen += 1
        if seen > 100:
            return ANY
    return type


def written(type: Type) -> str:
    """A type as a person writes it."""
    match type:
        case Simple(name):
            return name
        case Variable(name):
            return name
        case Named():
            return type.name
        case ListType(item):
            return f"list<{written(item)}>"
        case MapType(value):
            return f"map<{written(value)}>"
        case LiteralType(value):
            if isinstance(value, bool):
                return "true" if value else "false"
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else str(value)
        case RecordType(fields):
            inside = ", ".join(f"{f.name}{'' if f.required else '?'}: {written(f.type)}" for f in fields)
            return "{ " + inside + " }" if inside else "{}"
        case UnionType(members):
            if members[-1] == NULL and len(members) == 2 and not isinstance(members[0], FunctionType):
                return f"{written(members[0])}?"
            return " | ".join(written(m) for m in members)
        case FunctionType(parameters, result):
            if parameters is None:
                return "function"
            return f"fn({', '.join(written(p) for p in parameters)}) -> {written(result)}"
    return "any"


def union(*types: Type) -> Type:
    """The type of what is one of these. Equal members are joined; ANY takes all; NEVER adds nothing."""
    members: list[Type] = []
    has_null = False
    for type in types:
        parts = type.members if isinstance(type, UnionType) else (type,)
        for part in parts:
            if part == ANY:
                return ANY
            if part == NULL:
                has_null = True
            elif part != NEVER and part not in members:
                members.append(part)
    if has_null:
        members.append(NULL)
    if not members:
        return NEVER
    return members[0] if len(members) == 1 else UnionType(tuple(members))
