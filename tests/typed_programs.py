"""Makes programs at random that check: typed functions with loops, calls, closures, records, errors and edges of int.

    text = program(seed)          the same text for the same seed

None uses `any`, so that none may stop for the kind of a value: see `tests.test_typed_programs.py`.
"""

from __future__ import annotations

import random

INTS = (0, 1, 2, 3, 7, -1, -2, 10, 100, 1 << 30, (1 << 30) - 1, -(1 << 30), 1 << 62, (1 << 63) - 1, -(1 << 63) + 1)
FLOATS = ("0.0", "0.5", "-1.25", "3.0", "1e10")
TEXTS = ('""', '"a"', '"bc"', '"<x> & y"', '"\\n"', '"\u00e9\U0001f600"')
TYPES = ("int", "float", "str", "bool", "list<int>", "Pair", "int?", "map<int>")


class Maker:
    """Writes one program. `scope`: the variables that can be seen, by type; `depth` bounds what is within what."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.functions: list[tuple[str, list[str], str]] = []  # name, types of its parameters, type of its result
        self.names = 0
        self.scope: list[tuple[str, str, bool]] = []  # name, type, whether it may be assigned to
        self.indent = 1
        self.loops = 0

    def fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def seen(self, kind: str) -> list[str]:
        return [name for name, of, _ in self.scope if of == kind]

    # expressions

    def value(self, kind: str, depth: int = 3) -> str:
        names = self.seen(kind)
        if names and self.random.random() < (0.35 if depth else 0.8):
            return self.random.choice(names)
        if depth <= 0:
            return self.literal(kind)
        called = [function for function in self.functions if function[2] == kind]
        if called and self.random.random() < 0.2:
            name, parameters, _ = self.random.choice(called)
            return f"{name}({', '.join(self.value(of, depth - 1) for of in parameters)})"
        if self.random.random() < 0.12:
            inner = [self.value("bool", depth - 1), self.value(kind, depth - 1), self.value(kind, depth - 1)]
            return f"(if {inner[0]} {{ {inner[1]} }} else {{ {inner[2]} }})"
        return getattr(self, "_" + kind.replace("<", "_").rstrip(">?").lower() + ("_or_null" if "?" in kind else ""))(
            depth - 1
        )

    def literal(self, kind: str) -> str:
        if kind == "int":
            return str(self.random.choice(INTS if self.random.random() < 0.15 else INTS[:9]))
        if kind == "float":
            return self.random.choice(FLOATS)
        if kind == "str":
            return self.random.choice(TEXTS)
        if kind == "bool":
            return self.pick("true", "false")
        if kind == "int?":
            return self.pick("null", "1", "null")
        return {"list<int>": self.pick("[]", "[1, 2, 3]"), "Pair": '{ n: 1, s: "p" }', "map<int>": "{ a: 1 }"}[kind]

    def _int(self, depth: int) -> str:
        a, b = self.value("int", depth), self.value("int", depth)
        shape = self.random.randrange(12)
        if shape < 5:
            if self.random.random() < 0.3:
                return f"({a} {self.pick('/', '%')} {self.pick('3', '-2', '7', b)})"
            return f"({a} {self.pick('+', '-', '*')} {b})"
        if shape == 5:
            return f"len({self.value(self.pick('str', 'list<int>'), depth)})"
        if shape == 6:
            return f"{self.value('Pair', depth)}.n"
        if shape == 7:
            return f"({self.value('int?', depth)} ?? {b})"
        if shape == 8:
            return f"({self.value('map<int>', depth)}[{self.value('str', depth)}] ?? {a})"
        if shape == 9:
            return f"({self.value('list<int>', depth)} + [{a}])[{self.pick('0', '-1', '0', '1')}]"
        if shape == 10:
            return f"{self.pick('min', 'max')}({a}, {b})"
        return f"(halved({a}) ?? {b})"

    def _float(self, depth: int) -> str:
        a = self.value("float", depth)
        return f"({a} {self.pick('+', '-', '*', '/')} {self.value(self.pick('float', 'int'), depth)})"

    def _str(self, depth: int) -> str:
        a = self.value("str", depth)
        shape = self.random.randrange(5)
        if shape == 0:
            return f"({a} + {self.value('str', depth)})"
        if shape == 1:
            return f"`{{x}}${{{self.value('int', depth)}}}-${{{a}}}`"
        if shape == 2:
            return f"str({self.value(self.pick('int', 'bool', 'list<int>', 'Pair'), depth)})"
        if shape == 3:
            return f"{self.value('Pair', depth)}.s"
        return f"str(<b title={{{a}}} id={{{self.value('int', depth)}}}>{{{a}}}</b>)"

    def _bool(self, depth: int) -> str:
        shape = self.random.randrange(5)
        if shape == 0:
            return (
                f"({self.value('int', depth)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.value('int', depth)})"
            )
        if shape == 1:
            return f"({self.value('bool', depth)} {self.pick('&&', '||')} {self.value('bool', depth)})"
        if shape == 2:
            return f"!{self.value('bool', depth)}"
        if shape == 3:
            return f"({self.value('int?', depth)} == null)"
        return f"({self.value('int', depth)} in {self.value('list<int>', depth)})"

    def _list_int(self, depth: int) -> str:
        xs = self.value("list<int>", depth)
        shape = self.random.randrange(6)
        if shape == 0:
            return f"[{self.value('int', depth)}, ...{xs}]"
        if shape == 1:
            return f"({xs} + [{self.value('int', depth)}])"
        if shape == 2:
            return f"{xs}[{self.random.randrange(-2, 3)}..{self.random.randrange(-1, 4)}]"
        name = self.fresh()
        self.scope.append((name, "int", False))
        item, test = self.value("int", depth), self.value("bool", depth)
        self.scope.pop()
        if shape == 3:
            return f"map({xs}, {name} => {item})"
        if shape == 4:
            return f"(for {name} in range(0, {self.random.randrange(0, 9)}) => {item})"
        return f"(for {name} in {xs} if {test} => {item})"

    def _pair(self, depth: int) -> str:
        return f"{{ n: {self.value('int', depth)}, s: {self.value('str', depth)} }}"

    def _int_or_null(self, depth: int) -> str:
        return self.pick(f"first({self.value('list<int>', depth)})", self.value("int", depth), "null")

    def _map_int(self, depth: int) -> str:
        return f"{{ a: {self.value('int', depth)}, b: {self.value('int', depth)} }}"

    # statements

    def write(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def block(self, opening: str, names: list[tuple[str, str, bool]], depth: int, closing: str = "}") -> None:
        self.write(opening)
        seen = len(self.scope)
        self.scope += names
        self.indent += 1
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth - 1)
        self.indent -= 1
        del self.scope[seen:]
        self.write(closing)

    def statement(self, depth: int) -> None:
        shape = self.random.randrange(12)
        changed = [(name, of) for name, of, may in self.scope if may]
        if shape < 3 or not changed:
            kind, name = self.random.choice(TYPES), self.fresh()
            self.write(f"let {name}: {kind} = {self.value(kind)}")
            self.scope.append((name, kind, True))
        elif shape < 7 or depth <= 0:
            self.assignment(*self.random.choice(changed))
        elif shape == 7:
            self.block(f"if {self.value('bool')} {{", [], depth)
        elif shape == 8:
            name = self.fresh()
            self.block(f"for {name} in {self.value('list<int>', 2)} {{", [(name, "int", False)], depth)
        elif shape == 9:
            name = self.fresh()
            bounds = f"{self.random.randrange(-2, 3)}, {self.random.randrange(0, 8)}"
            self.block(f"for {name} in range({bounds}) {{", [(name, "int", False)], depth)
        elif shape == 10:
            name, most = self.fresh(), self.random.randrange(0, 9)
            self.write(f"let {name} = {self.random.randrange(-3, 3)}")
            self.block(f"while {name} {self.pick('<', '<=')} {most} {{", [(name, "int", False)], depth, "  ")
            self.write(f"  {name} += {self.random.randrange(1, 4)}")
            self.write("}")
        else:
            self.write(f"print({self.value(self.random.choice(TYPES), 2)})")

    def assignment(self, name: str, kind: str) -> None:
        if kind == "list<int>" and self.random.random() < 0.7:
            value = self.value("int", 2)
            self.write(
                self.pick(
                    f"{name} += [{value}]", f"if len({name}) > 0 {{ {name}[0] = {value} }}", f"{name} += {name}[..2]"
                )
            )
        elif kind == "map<int>":
            self.write(f"{name}[{self.value('str', 1)}] = {self.value('int', 2)}")
        elif kind == "Pair":
            self.write(self.pick(f"{name}.n = {self.value('int', 2)}", f"{name}.s += {self.value('str', 1)}"))
        elif kind in ("int", "float") and self.random.random() < 0.6:
            self.write(f"{name} {self.pick('+=', '-=', '*=')} {self.value('int', 2)}")
        else:
            self.write(f"{name} = {self.value(kind, 2)}")

    # programs

    def function(self) -> None:
        name, result = f"f{len(self.functions)}", self.random.choice(TYPES)
        parameters = [self.random.choice(TYPES) for _ in range(self.random.randrange(0, 4))]
        self.scope = [(f"p{place}", of, True) for place, of in enumerate(parameters)]
        given = ", ".join(f"p{place}: {of}" for place, of in enumerate(parameters))
        self.lines.append(f"fn {name}({given}) -> {result} {{")
        for _ in range(self.random.randrange(1, 5)):
            self.statement(2)
        self.write(self.value(result))
        self.lines.append("}")
        self.functions.append((name, parameters, result))

    def text(self) -> str:
        self.lines += [
            "type Pair = { n: int, s: str }",
            'fn halved(n: int) -> int ! str = if n % 2 == 0 { n / 2 } else { err("odd") }',
            "fn down(n: int, by: int) -> int = if n <= 0 { by } else { 1 + down(n - 1, by) }",
        ]
        self.functions.append(("halved0", ["int"], "int"))
        self.lines.append("fn halved0(n: int) -> int = halved(n) ?? n")
        for _ in range(self.random.randrange(1, 4)):
            self.function()
        self.scope = []
        for name, parameters, _ in self.functions:
            self.lines.append(f"print({name}({', '.join(self.value(of, 1) for of in parameters)}))")
        if self.random.random() < 0.1:
            self.lines.append(f"print(down({self.random.randrange(9_990, 10_010)}, {self.value('int', 1)}))")
        return "\n".join(self.lines) + "\n"


def program(seed: int) -> str:
    """A program's text."""
    return Maker(seed).text()
