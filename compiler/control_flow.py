"""The ways through a function, as a graph: where a change comes, where a question, where it is left.

Only what the order of questions and changes needs is kept. The ways follow `if`, `match`, loops, `return`, `reply`,
`break`, `continue`, `?`, `??` and errors that stop; values are not looked at: each condition may be either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from compiler import syntax
from compiler.builtins import Builtin
from compiler.call_graph import OWN, RULES, Callbacks, CallGraph, Use, children, component_of, drawn, root_of, target_of
from compiler.source import Source
from compiler.types import ERROR, NEVER
from compiler.walking import Walk, run

# Kinds of points.
PASS = "pass"
CHANGE = "change"
QUESTION = "question"
CALL = "call"  # runs a function of the program
FAIL = "fail"  # an error may stop here


class Change(NamedTuple):
    """What is changed, as a message names it (`db.exec`, "a change of the variable `n`"), and where ("a.qwe:3")."""

    name: str
    place: str


class Question(NamedTuple):
    """A call of `confirm` or `about`."""

    name: str
    call: syntax.Call


class Point:
    """A point on a way. `next` are the points that may follow; `handler` is where an error goes that stops here.

    `sheltered`: the function of a CALL is run by a builtin that lets nobody be asked.
    """

    __slots__ = ("change", "function", "handler", "kind", "next", "number", "question", "sheltered")

    def __init__(self, number: int, kind: str) -> None:
        self.number = number
        self.kind = kind
        self.next: list[Point] = []
        self.handler: Point | None = None
        self.change: Change | None = None
        self.question: Question | None = None
        self.function: syntax.Function | None = None
        self.sheltered = False


class Flow:
    """The points of one function: its `entry`, the `exit` of what it gives back, and `stop`, where errors leave it."""

    __slots__ = ("entry", "exit", "points", "stop")

    def __init__(self, points: list[Point], entry: Point, exit: Point, stop: Point) -> None:
        self.points = points
        self.entry = entry
        self.exit = exit
        self.stop = stop


IsChange = Callable[[CallGraph, Use], bool]


def flow_of(graph: CallGraph, function: syntax.Function, is_change: IsChange) -> Flow:
    """The ways through a function. `is_change` says of a builtin's call whether it surely changes something."""
    builder = _Builder(graph, is_change, graph.of[function].source)
    run(builder.function(function))
    return Flow(builder.points, builder.entry, builder.exit, builder.stop)


class _Builder:
    """Goes through the code in the order in which it runs. `at` is the point that the way has come to; after a
    `return` and its like it is a point that nothing leads to."""

    def __init__(self, graph: CallGraph, is_change: IsChange, source: Source) -> None:
        self.graph = graph
        self.is_change = is_change
        self.source = source
        self.points: list[Point] = []
        self.entry = self.at = self.point()
        self.exit = self.point()
        self.stop = self.point()
        self.handlers = [self.stop]
        self.loops: list[tuple[Point, Point]] = []  # (where `continue` goes, where `break` goes)

    def function(self, function: syntax.Function) -> Walk:
        for parameter in function.parameters:
            if parameter.default is not None:
                yield self.only_if_needed(parameter.default)
        yield self.visit(function.body)
        self.leave()

    # --- points --------------------------------------------------------------------------------------------------

    def point(self, kind: str = PASS) -> Point:
        point = Point(len(self.points), kind)
        self.points.append(point)
        return point

    def come_to(self, point: Point) -> None:
        self.at.next.append(point)
        self.at = point

    def branch_from(self, start: Point) -> None:
        """Begins a branch at a point that the way came through before."""
        self.at = self.point()
        start.next.append(self.at)

    def end_branch(self, after: Point) -> None:
        self.at.next.append(after)
        self.at = after

    def dead(self) -> None:
        """What follows is not reached."""
        self.at = self.point()

    def fail(self) -> None:
        """An error may stop here."""
        point = self.point(FAIL)
        point.handler = self.handlers[-1]
        self.come_to(point)

    def leave(self) -> None:
        self.at.next.append(self.exit)
        self.dead()

    # --- control -------------------------------------------------------------------------------------------------

    def visit(self, node: syntax.Node) -> Walk:
        return _VISITS.get(type(node), _Builder.others)(self, node)

    def others(self, node: syntax.Node) -> Walk:
        for child in children(node):
            yield self.visit(child)

    def nothing(self, node: syntax.Node) -> Walk:
        yield from ()

    def name(self, node: syntax.Name) -> Walk:
        if node.fails and node.symbol is not None and node.symbol.kind in ("local", "global"):
            self.fail()
        yield from ()

    def field(self, node: syntax.Field) -> Walk:
        if node.symbol is None:
            yield self.visit(node.value)

    def block(self, node: syntax.Block, dropped: bool = False) -> Walk:
        """`dropped`: its value is not used, so an error as its value stops."""
        for place, statement in enumerate(node.statements):
            is_value = place == len(node.statements) - 1 and not dropped
            if is_value and isinstance(statement, syntax.ExpressionStatement):
                yield self.visit(statement.expression)
            else:
                yield self.visit(statement)

    def statement(self, node: syntax.ExpressionStatement) -> Walk:
        yield self.inside(node.expression, dropped=True)

    def inside(self, node: syntax.Node, dropped: bool) -> Walk:
        """Code whose value is `dropped`, or is the value of what it stands in."""
        if not dropped:
            yield self.visit(node)
        elif isinstance(node, syntax.If):
            yield self.branches(node, dropped=True)
        elif isinstance(node, syntax.Match):
            yield self.arms(node, dropped=True)
        elif isinstance(node, syntax.Block):
            yield self.block(node, dropped=True)
        else:
            yield self.visit(node)
            if isinstance(node, syntax.Expression) and node.type == ERROR:
                self.fail()
                self.dead()

    def branches(self, node: syntax.If, dropped: bool = False) -> Walk:
        after = self.point()
        branch: syntax.Block | syntax.If | None = node
        while isinstance(branch, syntax.If):
            yield self.visit(branch.condition)
            start = self.at
            self.branch_from(start)
            yield self.inside(branch.then, dropped)
            self.end_branch(after)
            self.branch_from(start)
            branch = branch.otherwise
        if branch is not None:
            yield self.inside(branch, dropped)
        self.end_branch(after)

    def arms(self, node: syntax.Match, dropped: bool = False) -> Walk:
        if any(_has_err(arm.pattern) for arm in node.arms):
            yield self.tried(node.subject)
        else:
            yield self.visit(node.subject)
        after = self.point()
        for arm in node.arms:
            if arm.guard is not None:
                yield self.visit(arm.guard)
            start = self.at
            self.branch_from(start)
            yield self.inside(arm.body, dropped)
            self.end_branch(after)
            self.branch_from(start)
        self.at = after  # where no arm fits, the program stops

    def while_loop(self, node: syntax.While) -> Walk:
        head, after = self.point(), self.point()
        self.come_to(head)
        yield self.visit(node.condition)
        self.at.next.append(after)
        yield self.loop_body(node.body, head, after)

    def for_loop(self, node: syntax.For) -> Walk:
        yield self.visit(node.iterable)
        head, after = self.point(), self.point()
        self.come_to(head)
        head.next.append(after)
        yield self.loop_body(node.body, head, after)

    def loop_body(self, body: syntax.Block, head: Point, after: Point) -> Walk:
        self.loops.append((head, after))
        yield self.block(body, dropped=True)
        self.loops.pop()
        self.at.next.append(head)
        self.at = after

    def for_expression(self, node: syntax.ForExpression) -> Walk:
        yield self.visit(node.iterable)
        head, after = self.point(), self.point()
        self.come_to(head)
        head.next.append(after)
        if node.condition is not None:
            yield self.visit(node.condition)
            self.at.next.append(head)
        self.loops.append((head, after))
        yield self.visit(node.body)
        self.loops.pop()
        self.at.next.append(head)
        self.at = after

    def jump(self, node: syntax.Break | syntax.Continue) -> Walk:
        if self.loops:
            self.at.next.append(self.loops[-1][isinstance(node, syntax.Break)])
        self.dead()
        yield from ()

    def give_back(self, node: syntax.Return) -> Walk:
        if node.value is not None:
            yield self.visit(node.value)
        self.leave()

    def reply(self, node: syntax.Reply) -> Walk:
        yield self.others(node)
        self.dead()

    # --- errors --------------------------------------------------------------------------------------------------

    def tried(self, node: syntax.Expression) -> Walk:
        """An expression whose errors are caught: the way goes on behind it, with an error as with a value."""
        caught = self.point()
        self.handlers.append(caught)
        yield self.visit(node)
        self.handlers.pop()
        self.end_branch(caught)

    def propagate(self, node: syntax.Propagate) -> Walk:
        caught = self.point()
        self.handlers.append(caught)
        yield self.visit(node.value)
        self.handlers.pop()
        caught.next.append(self.exit)
        self.at.next.append(self.exit)  # the value may be an error, too

    def binary(self, node: syntax.Binary) -> Walk:
        if node.operator == "??":
            yield self.tried(node.left)
            yield self.only_if_needed(node.right)
        elif node.operator in ("&&", "||"):
            yield self.visit(node.left)
            yield self.only_if_needed(node.right)
        else:
            yield self.visit(node.left)
            yield self.visit(node.right)

    def only_if_needed(self, node: syntax.Expression) -> Walk:
        start, after = self.at, self.point()
        start.next.append(after)
        self.branch_from(start)
        yield self.visit(node)
        self.end_branch(after)

    # --- calls and changes ---------------------------------------------------------------------------------------

    def call(self, node: syntax.Call) -> Walk:
        target = target_of(node)
        if target is None:  # out of sight: left to the run
            yield self.others(node)
            self.fail()
        elif isinstance(target, syntax.Function):
            for argument in node.arguments:
                yield self.visit(argument.value)
            self.run_function(target, sheltered=False)
            if node.fails:
                self.fail()
        elif target.name == "is_err" and node.arguments:
            yield self.tried(node.arguments[0].value)
        else:
            for argument in node.arguments:
                yield self.visit(argument.value)
            self.call_builtin(node, Use(target, node, node))

    def call_builtin(self, node: syntax.Call, use: Use) -> None:
        callbacks = self.graph.callbacks.get(node)
        if callbacks is not None and use.builtin.name not in RULES.values():
            self.run_callbacks(callbacks, node)
        elif use.builtin.name in ("confirm", "about"):
            point = self.point(QUESTION)
            point.question = Question(use.builtin.name, node)
            self.come_to(point)
        if any(overload.fails for overload in use.builtin.overloads):
            self.fail()  # before its change: a builtin that fails has changed nothing
        if self.is_change(self.graph, use):
            self.change(f"`{use.builtin.name}`", node)
        if node.type == NEVER:
            self.dead()

    def run_callbacks(self, callbacks: Callbacks, call: syntax.Call) -> None:
        sheltered = callbacks.kind != OWN
        if callbacks.once:
            for function in callbacks.functions:
                self.run_callback(function, sheltered, call)
            return
        head = self.point()
        self.come_to(head)
        for function in callbacks.functions:
            self.at = head
            self.run_callback(function, sheltered, call)
            self.at.next.append(head)
        self.branch_from(head)

    def run_callback(self, function: syntax.Function | Builtin, sheltered: bool, call: syntax.Call) -> None:
        if isinstance(function, syntax.Function):
            self.run_function(function, sheltered)
            self.fail()  # what it gives may be an error
        elif self.is_change(self.graph, Use(function, call, None, handed=True)):
            self.change(f"`{function.name}`", call)

    def run_function(self, function: syntax.Function, sheltered: bool) -> None:
        point = self.point(CALL)
        point.function = function
        point.sheltered = sheltered
        point.handler = self.handlers[-1]
        self.come_to(point)

    def change(self, name: str, node: syntax.Node) -> None:
        point = self.point(CHANGE)
        point.change = Change(name, f"{self.source.name}:{self.source.line(node.start)}")
        self.come_to(point)

    def assign(self, node: syntax.Assign) -> Walk:
        yield self.others(node)
        symbol = root_of(node.target)
        if symbol is not None and symbol.kind == "global":
            self.change(f"a change of the variable `{symbol.name}`", node)

    def element(self, node: syntax.Element) -> Walk:
        for part in drawn(node):
            yield self.visit(part)
        component = component_of(node)
        if component is not None:
            self.run_function(component, sheltered=False)


def _has_err(pattern: syntax.Pattern) -> bool:
    if isinstance(pattern, syntax.OrPattern):
        return any(_has_err(alternative) for alternative in pattern.alternatives)
    return isinstance(pattern, syntax.ErrPattern)


_VISITS: dict[type, Callable[..., Walk]] = {
    syntax.Literal: _Builder.nothing,
    syntax.Function: _Builder.nothing,
    syntax.Name: _Builder.name,
    syntax.Field: _Builder.field,
    syntax.Block: _Builder.block,
    syntax.ExpressionStatement: _Builder.statement,
    syntax.If: _Builder.branches,
    syntax.Match: _Builder.arms,
    syntax.For: _Builder.for_loop,
    syntax.While: _Builder.while_loop,
    syntax.ForExpression: _Builder.for_expression,
    syntax.Break: _Builder.jump,
    syntax.Continue: _Builder.jump,
    syntax.Return: _Builder.give_back,
    syntax.Reply: _Builder.reply,
    syntax.Propagate: _Builder.propagate,
    syntax.Binary: _Builder.binary,
    syntax.Call: _Builder.call,
    syntax.Assign: _Builder.assign,
    syntax.Element: _Builder.element,
}
