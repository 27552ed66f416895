"""JSON Schemas of tools: what a tool takes and what it gives (language.md section 3, mcp.md section 1).

JSON Schema 2020-12. A named record type is written once, under `$defs`, and referred to by `$ref`; the root is written
out, and stands under `$defs`, too, only where it refers to itself. So does a named type of another kind, where only a
reference can write it: `type Tree = list<Tree>`.
"""

from __future__ import annotations

from typing import Any

from compiler.types import (
    ANY,
    BOOL,
    BYTES,
    FLOAT,
    HTML,
    INT,
    NULL,
    RESPONSE,
    STR,
    FunctionType,
    ListType,
    LiteralType,
    MapType,
    Named,
    RecordType,
    Simple,
    Type,
    UnionType,
    resolved,
)

Schema = dict[str, Any]


class NoSchema(Exception):
    """A value of this type can't go to or come from an AI client. `kind` says what it is, for a message."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


_SIMPLE: dict[Type, Schema] = {
    INT: {"type": "integer"},
    FLOAT: {"type": "number"},
    STR: {"type": "string"},
    BOOL: {"type": "boolean"},
    NULL: {"type": "null"},
    BYTES: {"type": "string", "contentEncoding": "base64"},
}
_NO_SCHEMA = {HTML: "markup", RESPONSE: "a response"}


class _Writer:
    """Writes one schema; collects the named types that it refers to."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self.pending: list[Named] = []  # referred to, and not written yet: types may refer on and on

    def schema(self, type: Type) -> Schema:
        if isinstance(type, Named):
            return self.named(type)
        match type:
            case Simple():
                if type in _NO_SCHEMA:
                    raise NoSchema(_NO_SCHEMA[type])
                return dict(_SIMPLE.get(type, {}))
            case FunctionType():
                raise NoSchema("a function")
            case ListType(item):
                return {"type": "array", "items": self.schema(item)}
            case MapType(value):
                return {"type": "object", "additionalProperties": self.schema(value)}
            case RecordType():
                return self.record(type)
            case LiteralType(value):
                return {"enum": [value]}
            case UnionType(members):
                return self.union(members)
        return {}

    def named(self, type: Named) -> Schema:
        type = _last_name(type)
        target = resolved(type)
        if not isinstance(target, RecordType) and not _reaches_itself(type):
            return self.schema(target)
        if type.qualified not in self.definitions:
            self.definitions[type.qualified] = {}
            self.pending.append(type)
        return {"$ref": f"#/$defs/{type.qualified}"}

    def record(self, type: RecordType) -> Schema:
        schema: Schema = {"type": "object", "properties": {f.name: self.schema(f.type) for f in type.fields}}
        required = [field.name for field in type.fields if field.required]
        if required:
            schema["required"] = required
        if not type.open:
            schema["additionalProperties"] = False
        return schema

    def union(self, members: tuple[Type, ...]) -> Schema:
        """Literals are joined into one `enum`, at the place of the first of them."""
        if ANY in members:
            return {}
        schemas: list[Schema] = []
        literals: list[Any] = []
        for member in members:
            if not isinstance(member, LiteralType):
                schemas.append(self.schema(member))
                continue
            if not literals:
                schemas.append({"enum": literals})
            literals.append(member.value)
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def finished(self, schema: Schema) -> Schema:
        for type in self.pending:
            self.definitions[type.qualified] = self.schema(resolved(type))
        if self.definitions:
            schema["$defs"] = self.definitions
        return schema


def _last_name(type: Named) -> Named:
    """A name that only names another type's name stands for that one."""
    seen = 0
    while isinstance(type.target, Named) and seen < 100:
        type = type.target
        seen += 1
    return type


def _reaches_itself(type: Named) -> bool:
    """Whether a named type comes to itself again with no named record type in between."""
    pending: list[Type] = [type.target]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        match part:
            case Named():
                part = _last_name(part)
                if part is type:
                    return True
                if id(part) not in seen and not isinstance(resolved(part), RecordType):
                    seen.add(id(part))
                    pending.append(part.target)
            case ListType(inner) | MapType(inner):
                pending.append(inner)
            case UnionType(members):
                pending += members
            case RecordType(fields):
                pending += [field.type for field in fields]
    return False


def schema_of(type: Type) -> Schema:
    """The schema of a value by itself, with its `$defs`. Raises NoSchema."""
    writer = _Writer()
    return writer.finished(writer.schema(type))


def input_schema(parameters: list[tuple[str, Type, bool]], defaults: dict[str, Any]) -> Schema:
    """The schema of a tool's arguments: of each parameter its name, its type, and whether it must be given.

    `defaults` holds the constant defaults. Raises NoSchema.
    """
    writer = _Writer()
    properties = {}
    for name, type, _ in parameters:
        properties[name] = writer.schema(type)
        if name in defaults:
            properties[name]["default"] = defaults[name]
    schema: Schema = {"type": "object", "properties": properties}
    required = [name for name, _, is_required in parameters if is_required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return writer.finished(schema)


def output_schema(type: Type) -> tuple[Schema, bool]:
    """The schema of a tool's answer, and whether the answer is held as `result` (all but records are).

    Raises NoSchema.
    """
    target = resolved(type)
    if not isinstance(target, RecordType):
        writer = _Writer()
        properties = {"result": writer.schema(type)}
        schema = {"type": "object", "properties": properties, "required": ["result"], "additionalProperties": False}
        return writer.finished(schema), True
    writer = _Writer()
    return writer.finished(writer.record(target)), False
