"""Changing one variable never changes another, however their lists and records came to be the same.

Programs made at random give variables to one another, put them into lists and records, capture them, hand them to
functions that change their parameters, and change them at every depth. What they print is compared with a model in
which everything is copied, always.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from tests.programs import compiled, ran

VARIABLES = ("a", "b", "c")
FRESH = "[1, [2, 3], { k: [4], l: 5 }]"
STEPS = 40


class Writer:
    """Writes a program and, beside it, what it must print."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.values: dict[str, Any] = {}
        self.expected: list[str] = []
        self.count = 0
        for name in VARIABLES:
            self.values[name] = [1, [2, 3], {"k": [4], "l": 5}]

    def name(self) -> str:
        return self.random.choice(VARIABLES)

    def fresh_name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def paths(self, value: Any, text: str = "") -> list[tuple[str, Any, list[Any]]]:
        """Every place inside a value: how it is written, what stands there, and its keys."""
        found: list[tuple[str, Any, list[Any]]] = []
        steps = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
        for key, inner in steps:
            step = f"[{key}]" if isinstance(key, int) else self.random.choice((f".{key}", f'["{key}"]'))
            found.append((text + step, inner, [key]))
            found += [(t, v, [key, *keys]) for t, v, keys in self.paths(inner, text + step)]
        return found

    def expression(self) -> tuple[str, Any]:
        """An expression and its value."""
        other = self.name()
        kind = self.random.randrange(8)
        inside = self.paths(self.values[other])
        if kind == 0:
            return str(kind), kind
        if kind <= 2 and inside:
            text, value, _ = self.random.choice(inside)
            return other + text, copy.deepcopy(value)
        value = copy.deepcopy(self.values[other])
        if kind == 3:
            return f"[{other}, 7]", [value, 7]
        if kind == 4:
            return f"{{ k: {other} }}", {"k": value}
        if kind == 5:
            return f"(() => {other})()", value
        if kind == 6:
            return f"(if true {{ {other} }} else {{ 0 }})", value
        return other, value

    def place(self, name: str, want_list: bool) -> tuple[str, list[Any]] | None:
        places = [(t, keys) for t, v, keys in self.paths(self.values[name]) if not want_list or isinstance(v, list)]
        return self.random.choice(places) if places else None

    def put(self, name: str, keys: list[Any], value: Any) -> None:
        target = self.values[name]
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value

    def get(self, name: str, keys: list[Any]) -> Any:
        value = self.values[name]
        for key in keys:
            value = value[key]
        return value

    def step(self) -> None:
        name = self.name()
        if len(json.dumps(self.values[name])) > 300 or not isinstance(self.values[name], list | dict):
            self.lines.append(f"{name} = {FRESH}")
            self.values[name] = [1, [2, 3], {"k": [4], "l": 5}]
        kind = self.random.randrange(11)
        value = self.values[name]
        if kind <= 1:
            text, result = self.expression()
            self.lines.append(f"{name} = {text}")
            self.values[name] = result
        elif kind <= 4 and (place := self.place(name, want_list=False)):
            text, result = self.expression()
            self.lines.append(f"{name}{place[0]} = {text}")
            self.put(name, place[1], result)
        elif kind == 5 and (place := self.place(name, want_list=True)):
            text, result = self.expression()
            self.lines.append(f"{name}{place[0]} += [{text}]")
            self.put(name, place[1], [*self.get(name, place[1]), result])
        elif kind == 6 and isinstance(value, list):
            text, result = self.expression()
            self.lines.append(f"{name} += [{text}, {text}]")
            self.values[name] = [*value, result, copy.deepcopy(result)]
        elif kind == 7 and isinstance(value, list) and value:
            other = self.name()
            self.lines.append(f"{other} = touch({name})")
            self.values[other] = [98, *copy.deepcopy(value[1:]), 99]
        elif kind == 8 and isinstance(value, list) and value:
            other = self.name()
            kept = self.fresh_name()
            self.lines.append(f"let {kept} = {name}")
            self.lines.append(f"for item in {name} {{ {name} += [item] }}")
            self.lines.append(f"{other} = match {kept} {{ [first, ...rest] => [rest, first], _ => 0 }}")
            kept_value = copy.deepcopy(value)
            self.values[name] = [*value, *copy.deepcopy(value)]
            self.values[other] = [kept_value[1:], kept_value[0]]
        elif kind == 9 and isinstance(value, dict):
            self.lines.append(f"{name} = {{ ...{name}, m: {name} }}")
            self.values[name] = {**copy.deepcopy(value), "m": copy.deepcopy(value)}
        elif kind == 10 and (place := self.place(name, want_list=True)):
            other = self.name()
            lists = [(t, v) for t, v, _ in self.paths(self.values[other], other) if isinstance(v, list)]
            if isinstance(self.values[other], list):
                lists.append((other, self.values[other]))
            if lists:
                text, added = self.random.choice(lists)
                self.lines.append(f"{name}{place[0]} += {text}")
                self.put(name, place[1], [*self.get(name, place[1]), *copy.deepcopy(added)])
        self.lines.append("print([a, b, c])")
        self.expected.append(json.dumps([self.values[n] for n in VARIABLES]))


def program(seed: int, flavour: str) -> tuple[str, list[str]]:
    writer = Writer(seed)
    for _ in range(STEPS):
        writer.step()
    head = [f'let {name} = from_json("null")\n{name} = {FRESH}' for name in VARIABLES]
    if flavour == "captured":
        head.append("let look = () => [a, b, c]\nlook()")
    body = "\n".join([*head, *writer.lines])
    if flavour != "top level":
        body = f"fn run() {{\n{body}\nnull\n}}\nrun()"
    touch = "fn touch(x) {\n  x += [99]\n  x[0] = 98\n  x\n}\n"
    return touch + body, writer.expected


@pytest.mark.parametrize("flavour", ["locals", "top level", "captured"])
@pytest.mark.parametrize("seed", range(15))
def test_values_are_never_shared(seed, flavour):
    text, expected = program(seed, flavour)
    result = ran(compiled(text))
    assert result.stop is None, result.stop
    assert result.lines == expected, text
