"""A type descriptor (see qasm/module.py) in words, for messages: as a person writes it in a program."""

from __future__ import annotations

from typing import Any

Types = list[tuple[str, Any]]  # Module.types: names and descriptors


def wanted_text(descriptor: Any, types: Types) -> str:
    """What a value must be, for "must be …": choices are joined with commas and "or"."""
    choices = _choices(descriptor, types)
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"


def _choices(descriptor: Any, types: Types) -> list[str]:
    if type(descriptor) is list and descriptor[0] == "union":
        return [choice for member in descriptor[1] for choice in _choices(member, types)]
    if type(descriptor) is list and descriptor[0] == "literal":
        return [_literal(value) for value in descriptor[1]]
    return [written(descriptor, types)]


def written(descriptor: Any, types: Types) -> str:
    """The type itself: `list<Note>`, `str?`, `int | str`."""
    if type(descriptor) is str:
        return descriptor
    kind, of = descriptor
    if kind == "type":
        return types[of][0]
    if kind == "list" or kind == "map":
        return f"{kind}<{written(of, types)}>"
    if kind == "literal":
        return " | ".join(map(_literal, of))
    if kind == "record":
        fields = [f"{name}{'' if required else '?'}: {written(field, types)}" for name, field, required in of]
        return "{ " + ", ".join(fields) + " }" if fields else "{}"
    if len(of) == 2 and of[1] == "null" and (type(of[0]) is str or of[0][0] in ("type", "list", "map", "record")):
        return f"{written(of[0], types)}?"
    return " | ".join(written(member, types) for member in of)


def _literal(value: Any) -> str:
    if type(value) is str:
        from qvm.text import json_text

        return json_text(value)
    if type(value) is bool:
        return "true" if value else "false"
    return repr(value)
