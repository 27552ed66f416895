"""The order of questions agrees with a second, naive account of the ways through a program.

Random programs of two helper functions and a tool: the naive account walks them with sets of states, statement by
statement, and notes each question that it meets after a change. The checker must report exactly those.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysing import analysed

# A statement is a tuple of its kind and its parts; a block is a list of statements.
LEAVES = [("change",), ("ask",), ("return",), ("return err",), ("stop",), ("reply",), ("call", "f"), ("call", "g")]
CAUGHT = [("try", "f"), ("try", "g"), ("lambda",)]
LEAVING = ("return", "return err", "stop", "reply", "break", "continue")


def blocks(depth: int, in_loop: bool) -> st.SearchStrategy[list[tuple]]:
    leaves = LEAVES + CAUGHT + ([("break",), ("continue",)] if in_loop else [])
    parts = [st.sampled_from(leaves)]
    if depth > 0:
        inner, turn = blocks(depth - 1, in_loop), blocks(depth - 1, True)
        parts += [
            st.tuples(st.just("if"), inner, inner),
            st.tuples(st.just("match"), inner, inner),
            st.tuples(st.just("while"), turn),
            st.tuples(st.just("for"), turn),
            st.tuples(st.just("map"), blocks(depth - 1, False)),
            st.tuples(st.just("parallel"), blocks(depth - 1, False), blocks(depth - 1, False)),
        ]
    return st.lists(st.one_of(parts), max_size=4).map(cut)


def cut(block: list[tuple]) -> list[tuple]:
    """A block up to the first statement that surely leaves it: code behind that is a matter of its own."""
    for place, statement in enumerate(block):
        if leaves(statement):
            return block[: place + 1]
    return block


def leaves(statement: tuple) -> bool:
    if statement[0] in ("if", "match"):
        return all(part and leaves(part[-1]) for part in statement[1:])
    return statement[0] in LEAVING


class Writer:
    """Writes a program out, one statement a line, and remembers the line of each question."""

    def __init__(self) -> None:
        self.lines = ["let n = 0"]
        self.questions: dict[int, int] = {}  # the id of a statement's place to its line

    def block(self, block: list[tuple], path: tuple) -> None:
        for place, statement in enumerate(block):
            self.statement(statement, (*path, place))

    def statement(self, statement: tuple, path: tuple) -> None:
        match statement:
            case ("change",):
                self.lines.append("n = 1")
            case ("ask",):
                self.lines.append('confirm("Sure?")')
                self.questions[path] = len(self.lines)
            case ("return" | "break" | "continue",):
                self.lines.append(statement[0])
            case ("return err",):
                self.lines.append('return err("no")')
            case ("stop",):
                self.lines.append('err("no")')
            case ("reply",):
                self.lines.append('reply 404 "no"')
            case ("call", name):
                self.lines.append(f"{name}(x)")
            case ("try", name):
                self.lines.append(f"let _ = {name}(x) ?? null")
            case ("lambda",):
                self.lines.append("let _ = () => { n = 1 }")
            case ("if", first, second):
                self.around("if x == 1 {", first, (*path, 1), "} else {", second, (*path, 2), "}")
            case ("match", first, second):
                self.around("match x { 1 => {", first, (*path, 1), "}\n_ => {", second, (*path, 2), "} }")
            case ("while", body):
                self.around("while x > 1 {", body, (*path, 1), "}")
            case ("for", body):
                self.around("for i in 0..x {", body, (*path, 1), "}")
            case ("map", body):
                self.around("map([1], i => { let _ = i", body, (*path, 1), "null })")
            case ("parallel", first, second):
                self.around("parallel([() => { let _ = 1", first, (*path, 1), "null }, () => { let _ = 2", second,
                            (*path, 2), "null }])")  # fmt: skip

    def around(self, *parts: object) -> None:
        block: list[tuple] = []
        for part in parts:
            if isinstance(part, str):
                self.lines += part.split("\n")
            elif isinstance(part, list):
                block = part
            else:
                self.block(block, part)  # type: ignore[arg-type]


class Naive:
    """Walks a program with every state at once. An outcome is a pair of how code is left and whether n was changed."""

    def __init__(self, functions: dict[str, list[tuple]]) -> None:
        self.functions = functions
        self.refused: set[tuple] = set()
        self.sheltered = 0

    def block(self, block: list[tuple], path: tuple, changed: bool) -> set[tuple[str, bool]]:
        states, left = {changed}, set()
        for place, statement in enumerate(block):
            after = set()
            for state in states:
                for outcome, then in self.statement(statement, (*path, place), state):
                    (after.add(then) if outcome == "on" else left.add((outcome, then)))
            states = after
        return left | {("on", state) for state in states}

    def call(self, name: str, changed: bool) -> set[tuple[str, bool]]:
        """As a caller meets it: on (a value), err (an error as its value), stop, reply."""
        return self.run(self.functions[name], (name,), changed)

    def run(self, body: list[tuple], path: tuple, changed: bool) -> set[tuple[str, bool]]:
        ends = {"on": "on", "return": "on", "return err": "err", "stop": "stop", "reply": "reply"}
        return {(ends[outcome], then) for outcome, then in self.block(body, path, changed)}

    @staticmethod
    def used(outcomes: set[tuple[str, bool]], may_fail: bool = True) -> set[tuple[str, bool]]:
        """What comes back, used at once. Values are not looked at: where one may be an error, each may be either."""
        back = {then for outcome, then in outcomes if outcome in ("on", "err")}
        left = {(outcome, then) for outcome, then in outcomes if outcome in ("stop", "reply")}
        return left | {("on", then) for then in back} | {("stop", then) for then in back if may_fail}

    def statement(self, statement: tuple, path: tuple, changed: bool) -> set[tuple[str, bool]]:
        match statement:
            case ("change",):
                return {("on", True)}
            case ("ask",):
                if changed and not self.sheltered:
                    self.refused.add(path)
                return {("on", changed)}
            case ("lambda",):
                return {("on", changed)}
            case ("call", name):
                outcomes = self.call(name, changed)
                if not any(outcome == "on" for outcome, _ in outcomes):  # it surely gives an error, where it comes back
                    return {("stop" if outcome == "err" else outcome, then) for outcome, then in outcomes}
                return self.used(outcomes, gives_errors(self.functions[name]))
            case ("try", name):
                outcomes = self.call(name, changed)
                return {("reply" if outcome == "reply" else "on", then) for outcome, then in outcomes}
            case ("if" | "match", first, second):
                return self.block(first, (*path, 1), changed) | self.block(second, (*path, 2), changed)
            case ("while" | "for", body):
                return self.loop(lambda state: self.block(body, (*path, 1), state), changed)
            case ("map", body):
                self.sheltered += 1
                found = self.loop(lambda state: self.used(self.run(body, (*path, 1), state)), changed)
                self.sheltered -= 1
                return found
            case ("parallel", first, second):
                found = set()
                for outcome, then in self.used(self.run(first, (*path, 1), changed)):
                    found |= self.used(self.run(second, (*path, 2), then)) if outcome == "on" else {(outcome, then)}
                return found
        return {(statement[0], changed)}

    @staticmethod
    def loop(turn, changed: bool) -> set[tuple[str, bool]]:
        heads, left, pending = {changed}, set(), [changed]
        while pending:
            for outcome, then in turn(pending.pop()):
                if outcome in ("on", "continue"):
                    if then not in heads:
                        heads.add(then)
                        pending.append(then)
                else:
                    left.add(("on" if outcome == "break" else outcome, then))
        return left | {("on", state) for state in heads}


@pytest.mark.slow
@given(blocks(2, False), blocks(2, False), blocks(2, False))
@settings(max_examples=100, deadline=None)
def test_the_questions_that_are_refused_are_those_that_a_way_leads_to_after_a_change(f, g, tool) -> None:
    f = [s for s in f if not calls(s)]
    g = [s for s in g if not calls(s, "g")]
    functions = {"f": f, "g": g, "tool": tool}
    writer = Writer()
    for name in ("f", "g"):
        writer.lines.append(f"fn {name}(x: int) {{")
        writer.block(functions[name], (name,))
        writer.lines += ["null", "}"]
    writer.lines += ["/// Does it.", "fn mcp tool(x: int) {"]
    writer.block(tool, ("tool",))
    writer.lines += ["null", "}"]
    naive = Naive(functions)
    naive.run(tool, ("tool",), False)
    result = analysed("\n".join(writer.lines))
    assert not [d for d in result.diagnostics.in_order() if d.severity == "error" and d.code != "Q0402"]
    reported = {d.line for d in result.diagnostics.in_order() if d.code == "Q0402"}
    assert reported == {writer.questions[path] for path in naive.refused}, "\n".join(writer.lines)


def gives_errors(block: list[tuple]) -> bool:
    """Whether a function with this body may give an error: it has a `return err` of its own."""
    return any(
        statement[0] == "return err"
        or (
            statement[0] not in ("map", "parallel")
            and any(gives_errors(part) for part in statement[1:] if part and isinstance(part, list))
        )
        for statement in block
    )


def calls(statement: tuple, *names: str) -> bool:
    """Whether a statement calls one of these functions (any function, without names), at whatever depth."""
    if statement[0] in ("call", "try"):
        return not names or statement[1] in names
    return any(calls(inner, *names) for part in statement[1:] if isinstance(part, list) for inner in part)
