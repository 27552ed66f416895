"""Follows values that are written in the program: constant defaults, and the texts of SQL statements.

A statement is "written in the program" when its text is a literal, is joined of such, or is held by a variable that is
given one value and never another. Where an `if` chooses between texts, each of them counts.
"""

from __future__ import annotations

from typing import Any

from compiler import syntax
from compiler.names import Symbol
from compiler.types import ANY, SQL, UnionType, resolved

_MOST_TEXTS = 32  # that one expression may stand for; more are not followed
_LONGEST = 1_000_000  # characters; longer texts are not followed
_DEEPEST = 60  # variables and brackets inside one another; deeper ones are not followed


class NoConstant(Exception):
    """The expression is worked out as the program runs."""


def constant_value(node: syntax.Node) -> Any:
    """The value of an expression made of literals alone, as JSON would hold it. Raises NoConstant for any other."""
    match node:
        case syntax.Literal(value=value):
            return value
        case syntax.Template(parts=parts) if all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
        case syntax.Unary(operator="-", operand=syntax.Literal(value=value)) if _is_number(value):
            return -value  # type: ignore[operator]
        case syntax.ListLiteral(items=items):
            return [constant_value(item) for item in items]
        case syntax.RecordLiteral(fields=fields):
            pairs = [field for field in fields if isinstance(field, syntax.RecordField)]
            if len(pairs) == len(fields):
                return {pair.name: constant_value(pair.value) for pair in pairs}
    raise NoConstant


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Constants:
    """What is known of variables that never change: their `values`; for loops' names, `origins`: what is gone over."""

    def __init__(self) -> None:
        self.values: dict[Symbol, syntax.Expression] = {}
        self.origins: dict[Symbol, syntax.Expression] = {}
        self._known: dict[Symbol, list[str] | None] = {}

    def add(self, node: syntax.Let | syntax.For | syntax.ForExpression) -> None:
        """Takes note of what a `let` or a loop gives to a name."""
        if isinstance(node, syntax.Let):
            pattern, value, into = node.pattern, node.value, self.values
        else:
            pattern, value, into = node.item, node.iterable, self.origins
        if isinstance(pattern, syntax.NamePattern) and pattern.symbol is not None:
            symbol = pattern.symbol
            if not symbol.assigned and not symbol.changed:
                into[symbol] = value

    def texts(self, node: syntax.Node | None, depth: int = 0) -> list[str] | None:
        """Every text that an expression may be, SQL with its parameters as `?`; None where that can't be told."""
        if depth > _DEEPEST:
            return None
        match node:
            case syntax.Literal(value=str() as text):
                return [text]
            case syntax.Template(parts=parts):
                return self._joined(parts, self.texts, depth)
            case syntax.SqlTemplate(parts=parts):
                return self._joined(parts, self._piece, depth)
            case syntax.Binary(operator="+"):
                return self._joined(_operands(node), self.texts, depth)
            case syntax.Name(symbol=Symbol() as symbol) | syntax.Field(symbol=Symbol() as symbol) if (
                symbol in self.values
            ):
                if symbol not in self._known:
                    self._known[symbol] = None  # while it is being followed
                    self._known[symbol] = self.texts(self.values[symbol], depth + 1)
                return self._known[symbol]
            case syntax.If():
                return self._either(node, depth)
            case syntax.Block(statements=[syntax.ExpressionStatement(expression=inside)]):
                return self.texts(inside, depth + 1)
        return None

    def _joined(self, parts: Any, follow: Any, depth: int) -> list[str] | None:
        found = [""]
        for part in parts:
            more = [part] if isinstance(part, str) else follow(part, depth + 1)
            if more is None or len(found) * len(more) > _MOST_TEXTS:
                return None
            found = [text + end for text in found for end in more]
            if len(found[0]) > _LONGEST:
                return None
        return found

    def _either(self, node: syntax.If, depth: int) -> list[str] | None:
        found: list[str] = []
        branch: syntax.Expression | None = node
        while isinstance(branch, syntax.If):
            texts = self.texts(branch.then, depth + 1)
            if texts is None or len(found) > _MOST_TEXTS:
                return None
            found += texts
            branch = branch.otherwise
        last = self.texts(branch, depth + 1)
        return None if last is None else found + last

    def _piece(self, node: syntax.Expression, depth: int) -> list[str] | None:
        """What `${node}` is in sql`…`: a piece of SQL that is written in the program, or a parameter."""
        value: syntax.Node | None = node
        if isinstance(node, syntax.Name) and node.symbol is not None:
            value = self.values.get(node.symbol, node)
        if isinstance(value, (syntax.SqlTemplate, syntax.If)):
            return self.texts(node, depth)
        return None if self._may_be_sql(node) else ["?"]

    def _may_be_sql(self, node: syntax.Expression) -> bool:
        if isinstance(node, (syntax.Literal, syntax.Template)):
            return False
        type = resolved(node.type) if node.type is not None else ANY
        members = type.members if isinstance(type, UnionType) else (type,)
        if SQL in members:
            return True
        return ANY in members and not self._from_outside(node)

    def _from_outside(self, node: syntax.Expression) -> bool:
        """Whether a value comes from a builtin (a row, the session, JSON): such a value is never a piece of SQL."""
        for _ in range(_DEEPEST):
            match node:
                case syntax.Field(symbol=None, value=inner) | syntax.Index(value=inner):
                    node = inner
                case syntax.Slice(value=inner) | syntax.Propagate(value=inner):
                    node = inner
                case syntax.Binary(operator="??", left=inner, right=syntax.Literal()):
                    node = inner
                case syntax.Name(symbol=Symbol() as symbol):
                    if symbol.kind == "request":
                        return True
                    origin = self.values.get(symbol) or self.origins.get(symbol)
                    if origin is None:
                        return False
                    node = origin
                case syntax.Call(callee=(syntax.Name() | syntax.Field()) as callee):
                    symbol = callee.symbol  # type: ignore[assignment]
                    return symbol is not None and symbol.kind == "builtin" and symbol.name in _OUTSIDE
                case _:
                    return False
        return False


# Builtins whose values come from outside the program as plain data.
_OUTSIDE = frozenset(("db.query", "db.one", "db.exec", "session", "from_json", "request", "mcp_tokens", "fetch"))


def _operands(node: syntax.Binary) -> list[syntax.Expression]:
    """The operands of `a + b + c`, however long it is, from the left."""
    operands = []
    left: syntax.Expression = node
    while isinstance(left, syntax.Binary) and left.operator == "+":
        operands.append(left.right)
        left = left.left
    operands.append(left)
    return operands[::-1]
