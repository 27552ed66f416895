"""Turns types as they are written, in programs and in the signatures of builtins, into types.

Declared types are made first with nothing behind them, and filled in when all are there: so they may refer to each
other and to themselves. Signatures of builtins are read when a program first uses the builtin.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from compiler import syntax
from compiler.names import Program, Unit
from compiler.types import (
    ANY,
    ERROR,
    NEVER,
    NULL,
    SIMPLE,
    SQL,
    FieldType,
    FunctionType,
    ListType,
    LiteralType,
    MapType,
    Named,
    RecordType,
    Type,
    UnionType,
    Variable,
)
from compiler.walking import Walk, run

MOST_DEPTH = 100  # of a written type: so that all that works on types may recurse

# (code, message, start, end)
Report = Callable[[str, str, int, int], None]


def declare_types(program: Program, report: Callable[[Unit, str, str, int, int], None]) -> None:
    """Gives every `type` declaration's symbol its `Named` type, filled in. Types made of nothing are reported."""
    declared: list[tuple[Unit, syntax.TypeDeclaration, Named]] = []
    named_in: dict[str, set[Unit]] = {}
    for unit in program.units:
        for statement in unit.file.statements:
            if isinstance(statement, syntax.TypeDeclaration) and statement.symbol is not None:
                named_in.setdefault(statement.name, set()).add(unit)
    for unit in program.units:
        for statement in unit.file.statements:
            if isinstance(statement, syntax.TypeDeclaration) and statement.symbol is not None:
                shared = len(named_in[statement.name]) > 1
                type = Named(statement.name, f"{_stem(unit)}.{statement.name}" if shared else statement.name)
                statement.symbol.type = type
                declared.append((unit, statement, type))
    for unit, statement, type in declared:
        type.target = written_type(statement.type, _for(unit, report))
    for unit, statement, type in declared:
        if _made_of_itself(type):
            message = f"type `{type.name}` is made of itself alone: no value could be one"
            start = statement.name_start or statement.start
            report(unit, "Q0301", message, start, start + len(type.name))
            type.target = ANY


def _for(unit: Unit, report: Callable[[Unit, str, str, int, int], None]) -> Report:
    return lambda code, message, start, end: report(unit, code, message, start, end)


def _stem(unit: Unit) -> str:
    name = (unit.path or unit.source.name).rpartition("/")[2]
    return name.partition(".")[0]


def _made_of_itself(type: Named) -> bool:
    """Is there nothing but the type itself, or types that are, behind its name (`type A = A`, `type A = B | null`)?"""
    left: list[Type] = [type.target]
    seen: set[Named] = set()
    while left:
        part = left.pop()
        if isinstance(part, Named):
            if part is type:
                return True
            if part not in seen:
                seen.add(part)
                left.append(part.target)
        elif isinstance(part, UnionType):
            left += part.members
    return False


def written_type(node: syntax.TypeNode, report: Report) -> Type:
    """The type that a program writes. What is wrong in it is reported, and unknown from then on."""
    return run(_written(node, report, 0))


def _written(node: syntax.TypeNode, report: Report, depth: int) -> Walk:
    depth += 1
    if depth > MOST_DEPTH:
        message = f"types nest more than {MOST_DEPTH} deep: give a part a name of its own, with `type`"
        report("Q0302", message, node.start, node.end)
        return ANY
    match node:
        case syntax.NamedType():
            given = []
            for argument in node.arguments:
                given.append((yield _written(argument, report, depth)))
            return _named(node, given)
        case syntax.LiteralType(value=value):
            return NULL if value is None else LiteralType(value)
        case syntax.OptionalType(inner=inner):
            while isinstance(inner, syntax.OptionalType):
                inner = inner.inner
            return either([(yield _written(inner, report, depth)), NULL])
        case syntax.UnionType(members=members):
            parts = []
            for member in members:
                parts.append((yield _written(member, report, depth)))
            return either(parts)
        case syntax.RecordType(fields=fields):
            found: dict[str, FieldType] = {}
            for field in fields:
                type = yield _written(field.type, report, depth)
                found[field.name] = FieldType(field.name, type, not field.optional)
            return RecordType(tuple(found.values()))
        case syntax.FunctionType(parameters=parameters, result=result):
            takes = []
            for parameter in parameters:
                takes.append((yield _written(parameter, report, depth)))
            return FunctionType(tuple(takes), ANY if result is None else (yield _written(result, report, depth)))
    return ANY


def _named(node: syntax.NamedType, given: list[Type]) -> Type:
    if node.symbol is not None:
        return node.symbol.type or ANY
    if node.qualifier is not None:
        return ANY
    if node.name == "list":
        return ListType(given[0] if given else ANY)
    if node.name == "map":
        return MapType(given[0] if given else ANY)
    return SIMPLE.get(node.name, ANY)


def either(types: list[Type]) -> Type:
    """A union as it is written: in its order, null last, equal members once. Linear, however many there are."""
    members: dict[Type, None] = {}
    has_null = False
    for type in types:
        for part in type.members if isinstance(type, UnionType) else (type,):
            if part == ANY:
                return ANY
            if part == NULL:
                has_null = True
            elif part != NEVER:
                members[part] = None
    if has_null:
        members[NULL] = None
    if not members:
        return NEVER
    return next(iter(members)) if len(members) == 1 else UnionType(tuple(members))


# --- the signatures of builtins ---------------------------------------------------------------------------------

_WORDS = re.compile(r'\s*(->|[A-Za-z_]\w*|"[^"]*"|-?\d+|[<>(){},:?|])')
_FAILURE = RecordType((FieldType("kind", SIMPLE["str"]), FieldType("message", SIMPLE["str"])))
_OWN_NAMES: dict[str, Type] = {**SIMPLE, "never": NEVER, "error": ERROR, "sql": SQL, "Failure": _FAILURE}


@cache
def signature_type(text: str) -> Type:
    """The type that a builtin's signature writes: `list<T>`, `fn(T) -> U`, `{ a: int, b?: str }?`.

    A single capital letter is a type variable. Records in signatures that have no fields are open.
    Raises ValueError for what is no type: the prelude is at fault then.
    """
    words = _WORDS.findall(text)
    if "".join(words) != re.sub(r"\s", "", text):
        raise ValueError(f"`{text}` is no type")
    type, rest = _union_of(words, 0)
    if rest != len(words):
        raise ValueError(f"`{text}` is no type from its word {rest + 1} on")
    return type


def _union_of(words: list[str], at: int) -> tuple[Type, int]:
    type, at = _postfix_of(words, at)
    members = [type]
    while at < len(words) and words[at] == "|":
        type, at = _postfix_of(words, at + 1)
        members.append(type)
    # Type variables may turn out to be alike, so they are no members to be joined yet.
    return either(members) if len(members) > 1 else type, at


def _postfix_of(words: list[str], at: int) -> tuple[Type, int]:
    type, at = _single_of(words, at)
    while at < len(words) and words[at] == "?":
        type, at = either([type, NULL]), at + 1
    return type, at


def _single_of(words: list[str], at: int) -> tuple[Type, int]:
    word = words[at] if at < len(words) else ""
    if word in ("list", "map") and words[at + 1 : at + 2] == ["<"]:
        inner, at = _union_of(words, at + 2)
        return (ListType if word == "list" else MapType)(inner), _expect(words, at, ">")
    if word == "fn" and words[at + 1 : at + 2] == ["("]:
        parameters = []
        at += 2
        while words[at] != ")":
            type, at = _union_of(words, at)
            parameters.append(type)
            at += words[at] == ","
        result: Type = ANY
        at += 1
        if words[at : at + 1] == ["->"]:
            result, at = _postfix_of(words, at + 1)
        return FunctionType(tuple(parameters), result), at
    if word == "{":
        return _record_of(words, at + 1)
    if word == "(":
        type, at = _union_of(words, at + 1)
        return type, _expect(words, at, ")")
    if word == "fn" or word == "function":
        return FunctionType(None, ANY), at + 1
    if word == "list":
        return ListType(ANY), at + 1
    if word in ("map", "record"):
        return MapType(ANY), at + 1
    if word.startswith('"'):
        return LiteralType(word[1:-1]), at + 1
    if word.lstrip("-").isdigit():
        return LiteralType(int(word)), at + 1
    if len(word) == 1 and word.isupper():
        return Variable(word), at + 1
    if word in _OWN_NAMES:
        return _OWN_NAMES[word], at + 1
    raise ValueError(f"`{word}` is no type of a signature")


def _record_of(words: list[str], at: int) -> tuple[Type, int]:
    fields = []
    while words[at] != "}":
        name = words[at]
        optional = words[at + 1] == "?"
        type, at = _union_of(words, _expect(words, at + 1 + optional, ":"))
        fields.append(FieldType(name, type, not optional))
        at += words[at] == ","
    return RecordType(tuple(fields), open=not fields), at + 1


def _expect(words: list[str], at: int, word: str) -> int:
    if words[at : at + 1] != [word]:
        raise ValueError(f"`{word}` is missing")
    return at + 1
