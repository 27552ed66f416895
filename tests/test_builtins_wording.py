"""The checker and the natives say the same of a wrong argument: one where it can see it, the other as it runs."""

from __future__ import annotations

import pytest

from compiler.builtins import Builtin, Overload
from compiler.prelude import BUILTINS
from tests.programs import DoesNotCheck, compiled, ran

# A value that fits each type that a native's signature has.
FITTING = {
    "str": '"a"',
    "int": "1",
    "float": "1.5",
    "any": "1",
    "bytes": 'bytes("a")',
    "list<str>": '["a"]',
    "list<any>": "[1]",
    "list<T>": "[1]",
    "list<U>": "[1]",
    "list<int>": "[1]",
    "list<float>": "[1.5]",
    "list<list<T>>": "[[1]]",
    "list<list<any>>": '[["a", 1]]',
    "map<any>": "{}",
    "map<T>": "{}",
    "T": "1",
    "U": "1",
    "{ headers?: map<str> }": "{}",
}
WRONG = ("null", "1", '"a"', "true", "{}", "[]")


def fitting(type: str) -> str:
    return FITTING[type.removesuffix("?").split(" | ")[0]]


PLACES = [
    (builtin, overload, place)
    for builtin in BUILTINS.values()
    if builtin.kind == "native" and not builtin.hidden
    for overload in builtin.overloads
    if not overload.variadic
    for place in range(len(overload.parameters))
    if overload.parameters[place].type not in ("any", "T", "U")
]


@pytest.mark.parametrize(
    ("builtin", "overload", "place"), PLACES, ids=lambda part: part.name if isinstance(part, Builtin) else None
)
def test_a_wrong_argument_is_told_in_the_same_words(builtin: Builtin, overload: Overload, place: int) -> None:
    refused = 0
    for value in WRONG:
        arguments = [fitting(parameter.type) for parameter in overload.parameters]
        arguments[place] = value
        try:
            compiled(f"print({builtin.name}({', '.join(arguments)}))")
        except DoesNotCheck as refusal:
            messages = [found.message for found in refusal.found if found.severity == "error"]
        else:
            continue
        arguments[place] = f"unknown({value})"
        done = ran(compiled(f"fn unknown(v: any) -> any = v\nprint({builtin.name}({', '.join(arguments)}))"))
        assert done.stop is not None, value
        assert [done.stop.message] == messages
        refused += 1
    assert refused >= 3
