"""What operators and assignments can give, for operands whose kinds and bounds are known."""

from __future__ import annotations

from qvm import translator_types as types
from qvm.translator_types import NEVER, Type, join


def added(a: Type, b: Type) -> Type:
    """`a + b`."""
    found = arithmetic("ADD", a, b)
    if a.kinds & b.kinds & types.STR:
        found = join(found, types.text_of([a, b]) if a.kinds == types.STR == b.kinds else types.TEXT)
    if a.kinds & b.kinds & types.LIST:
        item = join(types.known_item(a), types.known_item(b))
        found = join(found, types.list_of(item, a.most + b.most))
    return found


def bounds(name: str, a: Type, b: Type) -> tuple[int, int]:
    """The least and the greatest that an operator's exact result can be, for whole numbers."""
    if name == "ADD":
        return a.low + b.low, a.high + b.high
    if name == "SUB":
        return a.low - b.high, a.high - b.low
    corners = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    return min(corners), max(corners)


def arithmetic(name: str, a: Type, b: Type) -> Type:
    found = NEVER
    if a.kinds & types.INT and b.kinds & types.INT:
        found = types.whole(*bounds(name, a, b))
        if found.low > found.high:
            found = types.INTEGER
    numbers = types.INT | types.FLOAT
    if (a.kinds & types.FLOAT and b.kinds & numbers) or (b.kinds & types.FLOAT and a.kinds & numbers):
        found = join(found, types.NUMBER)
    return found


def divided(a: Type, b: Type) -> Type:
    found = types.INTEGER if a.kinds & b.kinds & types.INT else NEVER
    if found.kinds and a.low >= 0 and b.low >= 0:
        found = types.whole(0, a.high)
    if (a.kinds | b.kinds) & types.FLOAT:
        found = join(found, types.NUMBER)
    return found


def rest(a: Type, b: Type) -> Type:
    found = NEVER
    if a.kinds & b.kinds & types.INT:
        most = max(abs(b.low), abs(b.high)) - 1
        found = types.whole(0 if a.low >= 0 else -most, most if a.high > 0 else 0)
        if found.low > found.high:
            found = types.INTEGER
    if (a.kinds | b.kinds) & types.FLOAT:
        found = join(found, types.NUMBER)
    return found


def assigned(root: Type, path: str, keys: list[Type], value: Type) -> Type:
    """What a variable holds once a part of it has been set."""
    if not path or not root.kinds:
        return value
    kinds = root.kinds & (types.LIST | types.RECORD)
    item, fields, values = root.item, root.fields, root.values
    if kinds & types.LIST and item is not None:
        item = join(item, assigned(item, path[1:], keys[1:], value))
    if kinds & types.RECORD:
        name = keys[0].text if keys[0].kinds == types.STR else None
        if name is not None:
            old = types.field(root, name)
            known = dict(fields)
            known[name] = assigned(old, path[1:], keys[1:], value)
            fields = tuple(sorted(known.items()))
        else:
            fields = tuple((name, join(of, assigned(of, path[1:], keys[1:], value))) for name, of in fields)
            if values is not None:
                values = join(values, assigned(values, path[1:], keys[1:], value))
    return Type(kinds, item=item, fields=fields, values=values, most=root.most)
