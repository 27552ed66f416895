"""Random programs with tools, as text: they check, ask, wait, change what they share, and often stop."""

from __future__ import annotations

import random

PRELUDE = """\
let count = 0
let seen = [0]
let table = { a: 1, b: "x" }

fn helper(n: int, deep: int = 3) -> int {
  if deep <= 0 { return n }
  helper(n + 1, deep - 1) + 1
}

fn risky(n: int) -> int ! str {
  if n % 3 == 0 { return err(`bad ${n}`) }
  n * 2
}

fn parts(n: int) {
  let step = n
  fn(k) { step += k
    step }
}
"""


class _Tool:
    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self.rows: list[str] = []
        self.names = ["n"]

    def number(self, depth: int = 2) -> str:
        rng = self.random
        ways = [str(rng.randint(-5, 40)), rng.choice(self.names), rng.choice(self.names), "count", "len(seen)"]
        if depth:
            inner = self.number(depth - 1)
            ways += [
                f"({inner} {rng.choice('+-*')} {self.number(depth - 1)})",
                f"({inner} % {rng.randint(1, 7)})",
                f"helper({inner})",
                f"(risky({inner}) ?? {self.number(0)})",
                "random_int(1, 9)",
                "len(now())",
                f"len(map([1, 2, {inner}], fn(x) {{ x + 1 }}))",
                f"sum(map([{inner}, 4], fn(x) {{ x * 2 }}))",
                f"seen[{inner} % 4]" if rng.random() < 0.2 else inner,
            ]
        return rng.choice(ways)

    def test(self) -> str:
        return f"{self.number(1)} {self.random.choice(['<', '>', '==', '!='])} {self.number(1)}"

    def let(self, indent: str) -> None:
        name = f"v{len(self.names)}"
        self.rows.append(f"{indent}let {name} = {self.number()}")
        self.names.append(name)

    def ask(self, indent: str) -> None:
        rng = self.random
        name = f"v{len(self.names)}"
        if rng.random() < 0.7:
            self.rows.append(
                f"{indent}let {name} = if confirm(`Go on with ${{{self.number(1)}}}?`) {{ 1 }} else {{ 2 }}"
            )
        else:
            choices = '{ one: "The first", three: "The third one" }'
            self.rows.append(f'{indent}let {name} = len(about(`Which of ${{{self.number(0)}}}?`, {choices}, "one"))')
        self.names.append(name)

    def statement(self, indent: str, depth: int) -> None:
        rng = self.random
        kind = rng.randint(0, 9)
        if kind <= 2:
            self.let(indent)
        elif kind == 3:
            self.rows.append(f"{indent}count += {self.number(1)} % 10")
        elif kind == 4:
            self.rows.append(f"{indent}seen += [{self.number(1)} % 100]")
        elif kind == 5:
            self.rows.append(f"{indent}table.a = {self.number(0)}")
        elif kind == 6:
            self.rows.append(f"{indent}sleep(0)")
        elif kind == 7:
            self.rows.append(f"{indent}print({self.number(1)}, table)")
        elif depth and kind == 8:
            self.block(f"{indent}if {self.test()} {{", indent, depth)
        elif depth:
            start = len(self.rows)
            self.block(f"{indent}for i{depth} in 0..10 {{", indent, 0)
            if rng.random() < 0.3 and not any("sleep" in row or "print" in row for row in self.rows[start:]):
                self.rows[start] = self.rows[start].replace("0..10", "0..4000")  # gives way in its middle

    def block(self, head: str, indent: str, depth: int) -> None:
        names = self.names[:]
        self.rows.append(head)
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent + "  ", depth - 1 if depth else 0)
        self.rows.append(indent + "}")
        self.names = names


def make_program(seed: int) -> str:
    """A program with the tools `first` and `second`, each of one parameter, `n`."""
    rng = random.Random(seed)
    rows = [PRELUDE]
    for name in ("first", "second"):
        tool = _Tool(rng)
        for _ in range(rng.randint(0, 2)):
            tool.ask("  ")
            tool.let("  ")
        tool.rows.append(f"  let part = parts({tool.number(0)})")
        for _ in range(rng.randint(2, 7)):
            tool.statement("  ", 2)
        end = rng.choice(
            (f"[{tool.number()}, count, seen, part(2) + part(3)]", "{ count, table }", f"`${{{tool.number()}}}`")
        )
        rows += [f"/// A tool.\nfn mcp {name}(n: int) {{", *tool.rows, f"  {end}", "}\n"]
    return "\n".join(rows)
