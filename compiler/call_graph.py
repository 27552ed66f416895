"""Who calls whom, and what each piece of code does by itself: the ground that effects and tools are judged on.

A `Body` is the code of one function (declared, local, a lambda, a route's, a component's …) or of one file's top level.
What can't be followed, a call of a function that a variable, a parameter or a field holds, is kept as `unseen`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from compiler import syntax
from compiler.builtins import Builtin
from compiler.constants import Constants
from compiler.names import Program, Symbol
from compiler.prelude import BUILTINS
from compiler.source import Source

# How a body comes to another function.
CALL = "call"  # it calls it
OWN = "own"  # `parallel` and `db.transaction` run it as the body's own code
SHELTERED = "sheltered"  # another builtin runs it (`map`, `sort` …): nobody can be asked there
VALUE = "value"  # it takes it as a value: who calls it, and when, is out of sight

# Builtins that run the functions they are given as the caller's own code, which may ask the person.
_OWN_CODE = ("parallel", "db.transaction")
# Builtins that run a rule that another builtin was given before.
RULES = {"tenant": "tenant_from", "locale": "locale_from"}


class Link(NamedTuple):
    """A body comes to `function` at `node`."""

    function: syntax.Function
    node: syntax.Node
    kind: str


class Use(NamedTuple):
    """A body calls a builtin. `call`: None where it takes it as a value; `handed`: another builtin is given it."""

    builtin: Builtin
    node: syntax.Node
    call: syntax.Call | None
    handed: bool = False


@dataclass(slots=True, eq=False)
class Body:
    """One piece of code: `function`, or a file's top level (then None). `title` names it in a message.

    `kind`: "function", "lambda", "route", "build", "component", "test" or "file".
    """

    function: syntax.Function | None
    source: Source
    title: str
    kind: str
    links: list[Link] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    unseen: list[syntax.Node] = field(default_factory=list)
    reads: list[Symbol] = field(default_factory=list)  # top-level variables
    writes: list[tuple[Symbol, syntax.Node]] = field(default_factory=list)
    replies: list[syntax.Reply] = field(default_factory=list)
    inner: list[Body] = field(default_factory=list)  # the bodies that stand in it


class Callbacks(NamedTuple):
    """Functions that a call hands to a builtin. `once`: each runs exactly once, in this order."""

    functions: list[syntax.Function | Builtin]
    kind: str  # OWN or SHELTERED
    once: bool


class CallGraph:
    """All bodies of a program: a file's top level, its declared functions, then what stands in them.

    `callbacks` tells what a call of a builtin that is given functions runs. Any tree will do, also one with errors.
    """

    def __init__(self, program: Program) -> None:
        self.bodies: list[Body] = []
        self.of: dict[syntax.Function, Body] = {}
        self.constants = Constants()
        self.callbacks: dict[syntax.Call, Callbacks] = {}
        self._rules: dict[str, list[syntax.Function]] = {}
        self._unseen_rules: set[str] = set()
        self._todo: list[tuple[Body, list[syntax.Node]]] = []
        for unit in program.units:
            body = Body(None, unit.source, unit.source.name, "file")
            self.bodies.append(body)
            self._todo.append((body, _code_of(unit.file.statements)))
            for statement in unit.file.statements:
                self._declare(statement, unit.source)
        while self._todo:
            body, nodes = self._todo.pop()
            _Walk(self, body).run(nodes)
        self._link_rules()

    def _declare(self, statement: syntax.Node, source: Source) -> None:
        match statement:
            case syntax.Function():
                self.add(statement, source, f"`{statement.name}`", "function")
            case syntax.Route(method=method, path=path, function=function):
                self.add(function, source, f"the route `{method} {path}`", "route")
            case syntax.Build(path=path, value=function):
                self.add(function, source, f'the build "{path}"', "build")
            case syntax.Component(function=function):
                self.add(function, source, f"the component `{function.name}`", "component")
            case syntax.Test(name=name, function=function):
                self.add(function, source, f'the test "{name}"', "test")

    def add(self, function: syntax.Function, source: Source, title: str, kind: str) -> Body:
        body = self.of.get(function)
        if body is None:
            body = Body(function, function.source or source, title, kind)
            self.of[function] = body
            self.bodies.append(body)
            defaults = [parameter.default for parameter in function.parameters if parameter.default is not None]
            self._todo.append((body, [*defaults, function.body]))
        return body

    def add_rules(self, builtin: str, functions: list[syntax.Function] | None) -> None:
        """Takes note of the rule that a call of `tenant_from` or `locale_from` gives."""
        if functions is None:
            self._unseen_rules.add(builtin)
        else:
            self._rules.setdefault(builtin, []).extend(functions)

    def _link_rules(self) -> None:
        for body in self.bodies:
            for use in body.uses:
                giver = RULES.get(use.builtin.name)
                if giver is None:
                    continue
                body.links += [Link(function, use.node, SHELTERED) for function in self._rules.get(giver, ())]
                if giver in self._unseen_rules:
                    body.unseen.append(use.node)

    def reached(self, functions: Iterable[syntax.Function]) -> list[Body]:
        """The bodies that may run when these functions do, themselves first, each once, nearest first."""
        found = [self.of[function] for function in functions if function in self.of]
        seen = set(found)
        for body in found:
            for link in body.links:
                target = self.of.get(link.function)
                if target is not None and target not in seen:
                    seen.add(target)
                    found.append(target)
        return found


def target_of(call: syntax.Call) -> syntax.Function | Builtin | None:
    """What a call calls, where that is in sight: a declared or local function, a lambda, or a builtin."""
    return function_of(call.callee)


def function_of(node: syntax.Node) -> syntax.Function | Builtin | None:
    """The function that an expression surely is; None where it is another value, or held in a variable."""
    if isinstance(node, syntax.Function):
        return node
    if isinstance(node, (syntax.Name, syntax.Field)) and node.symbol is not None:
        symbol = node.symbol
        if symbol.kind == "builtin":
            return BUILTINS.get(symbol.name)
        if isinstance(symbol.node, syntax.Function) and symbol.kind != "parameter" and not symbol.assigned:
            return symbol.node
    return None


def root_of(target: syntax.Expression) -> Symbol | None:
    """The variable that an assignment's left side gives a new value: `x` of `x.a[1] = …`."""
    while isinstance(target, (syntax.Field, syntax.Index)) and getattr(target, "symbol", None) is None:
        target = target.value
    return target.symbol if isinstance(target, (syntax.Name, syntax.Field)) else None


def children(node: syntax.Node) -> Iterator[syntax.Node]:
    """The nodes directly inside a node that are code, in the order in which they stand. Types and patterns are none."""
    names = _FIELDS.get(type(node))
    if names is None:
        init = type(node).__dataclass_fields__
        names = tuple(name for name in init if name not in _NO_CODE and init[name].init)
        _FIELDS[type(node)] = names
    for name in names:
        value = getattr(node, name)
        if isinstance(value, syntax.Node):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, syntax.Node):
                    yield item


_FIELDS: dict[type, tuple[str, ...]] = {}
_NO_CODE = ("start", "end", "type", "pattern", "item", "name", "operator", "doc", "private")


def _code_of(statements: list[syntax.Node]) -> list[syntax.Node]:
    """A file's top-level statements without its declarations."""
    declarations = (syntax.Function, syntax.Route, syntax.Build, syntax.Component, syntax.Test)
    others = (syntax.TypeDeclaration, syntax.Use, syntax.Service)
    return [statement for statement in statements if not isinstance(statement, declarations + others)]


class _Walk:
    """Goes through one body's code, without recursion: chains of operators may be tens of thousands long."""

    def __init__(self, graph: CallGraph, body: Body) -> None:
        self.graph = graph
        self.body = body
        self.known: set[syntax.Node] = set()  # functions' names and lambdas whose use is already told

    def run(self, nodes: list[syntax.Node]) -> None:
        pending = nodes[::-1]
        while pending:
            node = pending.pop()
            inside: list[syntax.Node] = []
            match node:
                case syntax.Call():
                    self.call(node)
                    inside = list(children(node))
                case syntax.Function():
                    self.function(node)
                case syntax.Name():
                    self.name(node)
                case syntax.Field():
                    if node.symbol is not None:
                        self.name(node)
                    else:
                        inside = [node.value]
                case syntax.Element():
                    inside = self.element(node)
                case syntax.Assign():
                    self.assign(node)
                    inside = list(children(node))
                case syntax.Reply():
                    self.body.replies.append(node)
                    inside = list(children(node))
                case syntax.Let() | syntax.For() | syntax.ForExpression():
                    self.graph.constants.add(node)
                    inside = list(children(node))
                case syntax.Literal() | syntax.Pattern() | syntax.TypeNode():
                    pass
                case _:
                    inside = list(children(node))
            pending += reversed(inside)

    def call(self, call: syntax.Call) -> None:
        target = target_of(call)
        if target is None:
            if not isinstance(call.callee, syntax.Invalid):
                self.body.unseen.append(call)
            return
        self.known.add(call.callee)
        if isinstance(target, syntax.Function):
            self.link(target, call, CALL)
            return
        self.body.uses.append(Use(target, call, call))
        for parameter, value in builtin_arguments(call, target):
            if "fn(" in parameter and value is not None:
                self.hand_over(call, target, value)

    def hand_over(self, call: syntax.Call, builtin: Builtin, value: syntax.Expression) -> None:
        """A builtin is given a function, or a list of them, to run."""
        kind = OWN if builtin.name in _OWN_CODE else SHELTERED
        found = _functions_in(value)
        functions: list[syntax.Function | Builtin] = []
        rules = []
        for node in found.nodes:
            self.known.add(node)
            target = function_of(node)
            if isinstance(target, syntax.Function):
                rules.append(target)
                self.link(target, call, kind)
            elif target is not None:
                self.body.uses.append(Use(target, node, None, handed=True))
            if target is not None:
                functions.append(target)
        if builtin.name in RULES.values():
            self.graph.add_rules(builtin.name, rules if found.all else None)
        if not found.all:
            self.body.unseen.append(value)
        self.graph.callbacks[call] = Callbacks(functions, kind, found.once and kind == OWN)

    def link(self, function: syntax.Function, node: syntax.Node, kind: str) -> None:
        self.body_of(function)
        self.body.links.append(Link(function, node, kind))

    def function(self, function: syntax.Function) -> None:
        """A lambda, or a function that is declared in a block."""
        if function.name is None and function not in self.known:
            self.link(function, function, VALUE)
        self.body.inner.append(self.body_of(function))

    def body_of(self, function: syntax.Function) -> Body:
        title, kind = (f"`{function.name}`", "function") if function.name else ("a function", "lambda")
        return self.graph.add(function, self.body.source, title, kind)

    def name(self, node: syntax.Name | syntax.Field) -> None:
        symbol = node.symbol
        if symbol is None or node in self.known:
            return
        if symbol.kind == "global":
            self.body.reads.append(symbol)
            return
        target = function_of(node)
        if isinstance(target, syntax.Function):
            self.link(target, node, VALUE)
        elif target is not None:
            self.body.uses.append(Use(target, node, None))

    def assign(self, node: syntax.Assign) -> None:
        symbol = root_of(node.target)
        if symbol is not None and symbol.kind == "global":
            self.body.writes.append((symbol, node))

    def element(self, node: syntax.Element) -> list[syntax.Node]:
        component = component_of(node)
        if component is not None:
            self.link(component, node, CALL)
        return list(drawn(node))


def component_of(node: syntax.Element) -> syntax.Function | None:
    """The function of the component that an element draws."""
    declaration = None if node.symbol is None else node.symbol.node
    if isinstance(declaration, syntax.Component):
        return declaration.function
    return declaration if isinstance(declaration, syntax.Function) else None


def drawn(node: syntax.Element) -> Iterator[syntax.Node]:
    """The code of an element that runs as it is drawn: not its `@event`s, which run in the browser."""
    for attribute in node.attributes:
        if attribute.kind != "event" and isinstance(attribute.value, syntax.Node):
            yield attribute.value
    yield from node.children


def builtin_arguments(call: syntax.Call, builtin: Builtin) -> list[tuple[str, syntax.Expression | None]]:
    """The parameters of a called builtin, each as its type in the prelude and the argument that it gets."""
    overload = builtin.overloads[call.overload if call.overload < len(builtin.overloads) else 0]
    parameters = overload.parameters
    if call.ordered is not None:
        return [(parameter.type, value) for parameter, value in zip(parameters, call.ordered, strict=False)]
    by_name = {argument.name: argument.value for argument in call.arguments if argument.name is not None}
    by_place = [argument.value for argument in call.arguments if argument.name is None]
    pairs: list[tuple[str, syntax.Expression | None]] = []
    for place, parameter in enumerate(parameters):
        value = by_place[place] if place < len(by_place) else by_name.get(parameter.name)
        pairs.append((parameter.type, value))
    return pairs


class _Found(NamedTuple):
    """Nodes that are functions. `all`: there are no others; `once`: each runs once, in order, where all run."""

    nodes: list[syntax.Node]
    all: bool
    once: bool


def _functions_in(value: syntax.Expression) -> _Found:
    """The functions that an argument is or lists, through lists, `for … => f`, `if` and blocks."""
    nodes: list[syntax.Node] = []
    everything = once = True
    pending: list[syntax.Node | None] = [value]
    while pending:
        node = pending.pop()
        match node:
            case syntax.ListLiteral(items=items):
                pending += [item.value if isinstance(item, syntax.Spread) else item for item in reversed(items)]
            case syntax.ForExpression(body=body):
                once = False
                pending.append(body)
            case syntax.If(then=then, otherwise=otherwise):
                once = False
                pending += [otherwise, then]
            case syntax.Block(statements=[*_, syntax.ExpressionStatement(expression=last)]):
                pending.append(last)
            case None:
                pass
            case _ if function_of(node) is not None:
                nodes.append(node)
            case _:
                everything = False
    return _Found(nodes, everything, once and everything)
