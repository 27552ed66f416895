"""Walks a file and looks every name up: expressions, statements, loops, functions, markup.

The meaning of names at each place is kept by `compiler.scopes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler import syntax
from compiler.growing import added
from compiler.names import Symbol
from compiler.resolver import pattern_names
from compiler.scopes import Scopes
from compiler.walking import Walk, run

# What can't be given a value, and how a message calls it.
_NO_VARIABLES = {
    "function": "a function",
    "component": "a component",
    "builtin": "a builtin",
    "file": "a used file",
    "service": "a service",
    "request": "the request",
    "children": "what stands inside the component",
}


class NameWalk(Scopes):
    """One file's walk."""

    def resolve(self) -> None:
        for statement in self.unit.file.statements:
            is_declaration = not isinstance(statement, syntax.ExpressionStatement)
            self.declaration = statement if is_declaration else self.unit
            run(self.top_level(statement))

    def top_level(self, statement: syntax.Node) -> Walk:
        match statement:
            case syntax.Let():
                self.types(statement.type)
                yield self.visit(statement.value)
            case syntax.TypeDeclaration():
                self.types(statement.type)
            case syntax.Route(function=function):
                self.with_request.add(function)
                yield self.function(function)
            case syntax.Build(value=function) | syntax.Test(function=function):
                yield self.function(function)
            case syntax.Component(function=function):
                yield self.function(function, component=True)
            case syntax.Function(name=str()):
                if statement.server:
                    self.with_request.add(statement)
                yield self.function(statement)
            case syntax.Use() | syntax.Service():
                pass
            case _:
                yield self.visit(statement)

    def visit(self, node: syntax.Node) -> Walk | None:
        """The walk of any expression or statement; None where there is nothing further to walk."""
        return _VISITS.get(type(node), NameWalk.nothing)(self, node)

    def nothing(self, node: syntax.Node) -> None:
        pass

    # --- functions ---

    def function(self, node: syntax.Function, component: bool = False) -> Walk:
        loops, self.loops = self.loops, 0
        self.functions.append(node)
        self.enter()
        if component:
            self.declare(Symbol("children", "children", None, self.unit.source, unit=self.unit), node.start)
        for parameter in node.parameters:
            self.types(parameter.type)
            if parameter.default is not None:
                yield self.visit(parameter.default)
            parameter.symbol = Symbol(parameter.name, "parameter", parameter, self.unit.source, unit=self.unit)
            self.declare(parameter.symbol, parameter.start)
        self.types(node.result)
        self.types(node.error)
        yield self.visit(node.body)
        self.leave()
        self.functions.pop()
        self.loops = loops

    # --- statements ---

    def block(self, node: syntax.Block) -> Walk:
        self.enter()
        lets: list[syntax.NamePattern] = []
        for statement in node.statements:
            match statement:
                case syntax.Function(name=str(name)):
                    statement.symbol = Symbol(name, "local", statement, self.unit.source, unit=self.unit)
                    self.declare(statement.symbol, statement.name_start)
                    self.names.watched.append(statement.symbol)
                case syntax.Let(pattern=pattern):
                    lets += pattern_names(pattern)
        for part in lets:
            self.coming.setdefault(part.name, []).append(part.start)
        for statement in node.statements:
            yield self.visit(statement)
        for part in lets:
            self.coming[part.name].remove(part.start)
        self.leave()

    def let(self, node: syntax.Let) -> Walk:
        self.types(node.type)
        yield self.visit(node.value)
        self.declare_pattern(node.pattern, watched=True)

    def state(self, node: syntax.State) -> Walk:
        self.types(node.type)
        yield self.visit(node.value)
        node.symbol = Symbol(node.name, "local", node, self.unit.source, unit=self.unit)
        self.declare(node.symbol, node.start)

    def assign(self, node: syntax.Assign) -> Walk:
        steps: list[syntax.Expression] = []
        target = node.target
        while isinstance(target, (syntax.Field, syntax.Index)) and not self.is_qualified(target):
            steps.append(target)
            target = target.value
        if isinstance(target, syntax.Name):
            self.assign_variable(node, target, steps)
        else:
            yield self.visit(target)
            if isinstance(target, syntax.Field) and target.symbol is not None:
                self.no_variable(target.symbol, target.name, target.name_start or target.start, target.end)
        for step in reversed(steps):
            if isinstance(step, syntax.Index):
                yield self.visit(step.index)
        yield self.visit(node.value)

    def is_qualified(self, target: syntax.Expression) -> bool:
        """Is it `lib.name`?"""
        if not isinstance(target, syntax.Field) or not isinstance(target.value, syntax.Name):
            return False
        symbol = self.lookup(target.value.name)
        return symbol is not None and symbol.kind in ("file", "service")

    def assign_variable(self, node: syntax.Assign, target: syntax.Name, steps: list[syntax.Expression]) -> None:
        symbol = self.lookup(target.name)
        if symbol is None:
            self.unknown(target, assigned=True)
            return
        target.symbol = symbol
        if symbol.kind in _NO_VARIABLES or symbol.unit is not self.unit or isinstance(symbol.node, syntax.Function):
            self.no_variable(symbol, target.name, target.start, target.end)
            return
        self.note_capture(symbol)
        self.note_change(symbol)
        if steps:
            symbol.changed = True
            last = steps[0]
            if isinstance(last, syntax.Index) and not _is_place(last.index):
                symbol.indexed.add(len(steps) - 1)
        else:
            symbol.assigned = True
            symbol.changed = symbol.changed or bool(node.operator) or added(node) is not None

    def no_variable(self, symbol: Symbol, name: str, start: int, end: int) -> None:
        if symbol.kind == "unknown":
            return
        if symbol.kind == "global":
            message = f"`{name}` belongs to another file: only code there can give it a new value"
        else:
            what = _NO_VARIABLES.get(symbol.kind) or "a function"
            message = f"`{name}` is {what}: only a variable can be given a new value"
        self.error("Q0206", message, start, end)

    def expression_statement(self, node: syntax.ExpressionStatement) -> Walk:
        yield self.visit(node.expression)

    def return_statement(self, node: syntax.Return) -> Walk:
        if not self.functions:
            self.error("Q0211", "`return` stands outside a function", node.start, node.start + 6)
        if node.value is not None:
            yield self.visit(node.value)

    def break_statement(self, node: syntax.Break) -> None:
        if not self.loops:
            self.error("Q0212", "`break` stands outside a loop", node.start, node.end)

    def continue_statement(self, node: syntax.Continue) -> None:
        if not self.loops:
            self.error("Q0212", "`continue` stands outside a loop", node.start, node.end)

    def reply(self, node: syntax.Reply) -> Walk:
        yield self.visit(node.status)
        if node.body is not None:
            yield self.visit(node.body)

    def assertion(self, node: syntax.Assert) -> Walk:
        yield self.visit(node.value)

    # --- loops ---

    def while_loop(self, node: syntax.While) -> Walk:
        self.begin_turns()
        yield self.visit(node.condition)
        self.loops += 1
        yield self.visit(node.body)
        self.loops -= 1
        self.end_turns(node)

    def for_loop(self, node: syntax.For | syntax.ForExpression) -> Walk:
        yield self.visit(node.iterable)
        self.begin_turns()
        self.enter()
        if node.index is not None:
            self.declare_pattern(node.index)
        self.declare_pattern(node.item)
        if isinstance(node, syntax.ForExpression) and node.condition is not None:
            yield self.visit(node.condition)
        self.loops += 1
        yield self.visit(node.body)
        self.loops -= 1
        self.leave()
        self.end_turns(node)

    def begin_turns(self) -> None:
        self.changes.append(set())

    def end_turns(self, node: syntax.Node) -> None:
        changed = self.changes.pop()
        self.names.program.loop_changes[node] = changed
        if self.changes:
            self.changes[-1] |= changed

    # --- expressions ---

    def name(self, node: syntax.Name) -> None:
        symbol = self.lookup(node.name)
        if symbol is None:
            self.unknown(node)
            return
        node.symbol = symbol
        if symbol.kind == "builtin" and symbol.name in self.names.namespaces:
            example = next((n for n in self.names.public_builtins() if n.startswith(f"{node.name}.")), node.name)
            message = f"`{node.name}` is no value: call one of its functions, such as `{example}`"
            self.error("Q0207", message, node.start, node.end)
        elif symbol.kind == "file":
            message = f"`{node.name}` is a used file: name something in it, as in `{node.name}.name`"
            self.error("Q0207", message, node.start, node.end)
        elif symbol.kind == "component":
            message = f"`{node.name}` is a component: write it as an element, `<{node.name}/>`"
            self.error("Q0207", message, node.start, node.end)
        self.note_use(symbol)

    def unknown(self, node: syntax.Name, assigned: bool = False) -> None:
        if node.name == "request":
            message = "`request` is there only in a route or a `server fn`"
            self.error("Q0201", message, node.start, node.end)
            return
        coming = self.coming.get(node.name)
        if coming:
            line = self.unit.source.line(coming[-1])
            message = f"`{node.name}` is used before its `let` on line {line}"
            self.error("Q0204", message, node.start, node.end)
            return
        self.names.unknown(self.unit, self.declaration, node.name, node.start, self.names_in_scope, assigned)

    def field(self, node: syntax.Field) -> Walk | None:
        if isinstance(node.value, syntax.Name):
            symbol = self.lookup(node.value.name)
            if symbol is not None:
                if symbol.kind in ("file", "service"):
                    self.qualified(node, node.value, symbol)
                    return None
                if symbol.kind == "builtin" and symbol.name in self.names.namespaces:
                    self.namespaced(node, node.value, symbol)
                    return None
        return self.only_value(node)

    def qualified(self, node: syntax.Field, base: syntax.Name, file: Symbol) -> None:
        base.symbol = file
        file.uses += 1
        used = file.unit
        if used is None:
            return
        start = node.name_start or node.end - len(node.name)
        symbol = used.names.get(node.name)
        if symbol is not None and symbol.kind != "file":
            if symbol.private:
                self.error("Q0208", f"`{node.name}` is private in `{base.name}`", start, node.end)
            elif symbol.kind == "component":
                message = f"`{base.name}.{node.name}` is a component: write `<{base.name}.{node.name}/>`"
                self.error("Q0207", message, start, node.end)
            else:
                node.symbol = symbol
                self.note_use(symbol)
        elif not used.file.has_errors:
            known = [s.name for s in used.names.values() if not s.private]
            message = f"`{base.name}` has nothing called `{node.name}`"
            self.names.unknown_in(self.unit, start, node.name, message, known)

    def namespaced(self, node: syntax.Field, base: syntax.Name, space: Symbol) -> None:
        base.symbol = space
        node.symbol = self.names.builtin(f"{base.name}.{node.name}")
        if node.symbol is None:
            start = node.name_start or node.end - len(node.name)
            lead = f"{base.name}."
            known = [name.removeprefix(lead) for name in self.names.public_builtins() if name.startswith(lead)]
            message = f"`{base.name}` has no function `{node.name}`"
            self.names.unknown_in(self.unit, start, node.name, message, known)

    def only_value(self, node: syntax.Field | syntax.Propagate) -> Walk:
        yield self.visit(node.value)

    def template(self, node: syntax.Template | syntax.SqlTemplate) -> Walk:
        for part in node.parts:
            if not isinstance(part, str):
                yield self.visit(part)

    def list_literal(self, node: syntax.ListLiteral) -> Walk:
        for item in node.items:
            yield self.visit(item.value if isinstance(item, syntax.Spread) else item)

    def record_literal(self, node: syntax.RecordLiteral) -> Walk:
        for field in node.fields:
            yield self.visit(field.value)

    def unary(self, node: syntax.Unary) -> Walk:
        yield self.visit(node.operand)

    def binary(self, node: syntax.Binary) -> Walk:
        yield self.visit(node.left)
        yield self.visit(node.right)

    def call(self, node: syntax.Call) -> Walk:
        yield self.visit(node.callee)
        for argument in node.arguments:
            yield self.visit(argument.value)

    def index(self, node: syntax.Index) -> Walk:
        yield self.visit(node.value)
        yield self.visit(node.index)

    def slice(self, node: syntax.Slice) -> Walk:
        yield self.visit(node.value)
        if node.low is not None:
            yield self.visit(node.low)
        if node.high is not None:
            yield self.visit(node.high)

    def if_expression(self, node: syntax.If) -> Walk:
        branch: syntax.Block | syntax.If | None = node
        while isinstance(branch, syntax.If):
            yield self.visit(branch.condition)
            yield self.visit(branch.then)
            branch = branch.otherwise
        if branch is not None:
            yield self.visit(branch)

    def match_expression(self, node: syntax.Match) -> Walk:
        yield self.visit(node.subject)
        for arm in node.arms:
            self.enter()
            self.declare_pattern(arm.pattern)
            if arm.guard is not None:
                yield self.visit(arm.guard)
            yield self.visit(arm.body)
            self.leave()

    # --- markup ---

    def element(self, node: syntax.Element) -> Walk:
        if node.component:
            self.component(node)
        for attribute in node.attributes:
            if isinstance(attribute.value, syntax.Node):
                yield self.visit(attribute.value)
                if attribute.kind == "bind" and isinstance(attribute.value, syntax.Name):
                    symbol = attribute.value.symbol
                    if symbol is not None and symbol.kind in ("local", "parameter", "global"):
                        symbol.assigned = True
                        self.note_change(symbol)
        for child in node.children:
            if not isinstance(child, syntax.MarkupText):
                yield self.visit(child)

    def component(self, node: syntax.Element) -> None:
        qualifier, _, name = node.name.rpartition(".")
        start, end = node.start + 1, node.start + 1 + len(node.name)
        if qualifier:
            file = self.lookup(qualifier)
            if file is None or file.kind != "file":
                message = f'`{qualifier}` is no used file: `use "FILE.qwe" as {qualifier}` makes it one'
                self.error("Q0201", message, start, end)
                return
            file.uses += 1
            if file.unit is None:
                return
            symbol = file.unit.names.get(name)
            if symbol is not None and symbol.private:
                self.error("Q0208", f"`{name}` is private in `{qualifier}`", start, end)
                return
            known = [s.name for s in file.unit.names.values() if s.kind == "component" and not s.private]
        else:
            symbol = self.unit.names.get(name) or self.unit.visible.get(name)
            both = (*self.unit.names.values(), *self.unit.visible.values())
            known = [s.name for s in both if s.kind == "component"] if symbol is None else []
        if symbol is None:
            if self.unit not in self.names.incomplete:
                message = f"no component is called `{node.name}`"
                self.names.unknown_in(self.unit, start, name, message, known)
        elif symbol.kind == "component":
            node.symbol = symbol
            symbol.uses += 1
        elif symbol.kind != "unknown":
            message = f"`{node.name}` is no component: `component {name}(…) = …` declares one"
            self.error("Q0207", message, start, end)


def _is_place(index: syntax.Expression) -> bool:
    """Is it surely a place in a list, not a key?"""
    if isinstance(index, syntax.Unary):
        index = index.operand
    return isinstance(index, syntax.Literal) and type(index.value) is int


_VISITS: dict[type, Callable[[Any, Any], Walk | None]] = {
    syntax.Name: NameWalk.name,
    syntax.Field: NameWalk.field,
    syntax.Call: NameWalk.call,
    syntax.Binary: NameWalk.binary,
    syntax.Unary: NameWalk.unary,
    syntax.Index: NameWalk.index,
    syntax.Slice: NameWalk.slice,
    syntax.Propagate: NameWalk.only_value,
    syntax.Template: NameWalk.template,
    syntax.SqlTemplate: NameWalk.template,
    syntax.ListLiteral: NameWalk.list_literal,
    syntax.RecordLiteral: NameWalk.record_literal,
    syntax.If: NameWalk.if_expression,
    syntax.Match: NameWalk.match_expression,
    syntax.ForExpression: NameWalk.for_loop,
    syntax.Function: NameWalk.function,
    syntax.Block: NameWalk.block,
    syntax.Element: NameWalk.element,
    syntax.ExpressionStatement: NameWalk.expression_statement,
    syntax.Let: NameWalk.let,
    syntax.State: NameWalk.state,
    syntax.Assign: NameWalk.assign,
    syntax.While: NameWalk.while_loop,
    syntax.For: NameWalk.for_loop,
    syntax.Break: NameWalk.break_statement,
    syntax.Continue: NameWalk.continue_statement,
    syntax.Return: NameWalk.return_statement,
    syntax.Reply: NameWalk.reply,
    syntax.Assert: NameWalk.assertion,
}
