"""Lowers expressions: literals, names, operators, fields, lists and records, templates, lambdas.

Calls are in `lower_calls`, blocks and `if` in `lower_statements`, `match` in `lower_patterns`.

Operators, fields, indexes, templates' texts and loops look for errors themselves as they run. What would not notice an
error (a list's items, a record's fields, parameters of SQL) is looked at with USE first, where it may be one.
"""

from __future__ import annotations

from compiler import syntax, types
from compiler.borrowing import is_simple
from compiler.function_lowering import (
    EXPRESSIONS,
    SPINES,
    FunctionLowering,
    Opening,
)
from compiler.prelude_functions import prelude_function

_OPERATORS = {
    "+": "ADD",
    "-": "SUB",
    "*": "MUL",
    "/": "DIV",
    "%": "MOD",
    "==": "EQ",
    "!=": "NE",
    "<": "LT",
    "<=": "LE",
    ">": "GT",
    ">=": "GE",
    "in": "IN",
    "..": "RANGE",
}


def operator_name(operator: str) -> str:
    """The instruction of an arithmetic operator or comparison."""
    return _OPERATORS[operator]


# --- literals and names -----------------------------------------------------------------------------------------------


def _literal(lowering: FunctionLowering, node: syntax.Literal) -> None:
    lowering.at(node.start)
    lowering.constant(node.value)


def _name(lowering: FunctionLowering, node: syntax.Name) -> None:
    lowering.at(node.start)
    assert node.symbol is not None
    load_symbol(lowering, node.symbol)


def load_symbol(lowering: FunctionLowering, symbol: object) -> None:
    """Pushes the value that a symbol stands for: a variable's, or a function."""
    from compiler.names import Symbol

    assert isinstance(symbol, Symbol)
    if symbol.kind == "builtin":
        load_builtin(lowering, symbol.name)
    elif symbol.kind == "request":
        lowering.code.emit("CALL_BUILTIN", lowering.tables.builtin("request"), 0)
    elif lowering.tables.is_plain_function(symbol):
        assert isinstance(symbol.node, syntax.Function)
        lowering.code.emit("CLOSURE", lowering.tables.function(symbol.node, symbol.source).number)
    else:
        lowering.load_name(symbol)


def load_builtin(lowering: FunctionLowering, name: str) -> None:
    """Pushes a builtin as a value."""
    from compiler.prelude import BUILTINS

    builtin = BUILTINS[name]
    tables = lowering.tables
    if builtin.kind == "quillo":
        function, source = prelude_function(builtin)
        lowering.code.emit("CLOSURE", tables.function(function, source, builtin.name, builtin=True).number)
    elif builtin.kind == "inline":
        lowering.code.emit("CLOSURE", tables.inline_builtin(name).number)
    else:
        lowering.code.emit("BUILTIN", tables.builtin(name))


def _function(lowering: FunctionLowering, node: syntax.Function) -> None:
    lowering.at(node.start)
    lowering.closure(lowering.tables.function(node, lowering.source))


# --- operators --------------------------------------------------------------------------------------------------------


def _unary(lowering: FunctionLowering, node: syntax.Unary) -> Opening:
    def finish(lowering: FunctionLowering) -> None:
        lowering.at(node.start)
        lowering.code.emit("NEG" if node.operator == "-" else "NOT")

    return Opening(node.operand, finish, borrow=True)


def _binary(lowering: FunctionLowering, node: syntax.Binary) -> Opening:
    if node.operator == "??":
        return _otherwise(lowering, node)
    if node.operator in ("&&", "||"):
        return _logical(node)
    name = _OPERATORS[node.operator]

    def finish(lowering: FunctionLowering) -> None:
        lowering.value(node.right, borrow=True)
        lowering.at_end_of(node.left)
        lowering.code.emit(name)

    return Opening(node.left, finish, borrow=lowering.may_lend(node.left, node.right))


def _logical(node: syntax.Binary) -> Opening:
    def finish(lowering: FunctionLowering) -> None:
        code = lowering.code
        _expect_bool(lowering, node.left, node.operator)
        code.open("IF", 1)
        if node.operator == "||":
            code.emit("TRUE")
            code.divide("ELSE")
        lowering.value(node.right)
        _expect_bool(lowering, node.right, node.operator)
        if node.right.fails and node.right.type == types.BOOL:
            code.emit("USE")
        if node.operator == "&&":
            code.divide("ELSE")
            code.emit("FALSE")
        code.close()

    return Opening(node.left, finish)


def _expect_bool(lowering: FunctionLowering, node: syntax.Expression, operator: str) -> None:
    if lowering.needs_check(node, types.BOOL):
        lowering.at(node.start)
        lowering.code.emit("BOOL", lowering.tables.constant(f"`{operator}`"))


def _otherwise(lowering: FunctionLowering, node: syntax.Binary) -> Opening:
    """`a ?? b ?? c`: each but the last is tried in turn, all in one block."""
    code = lowering.code
    first: syntax.Expression = node
    others: list[syntax.Expression] = []
    while isinstance(first, syntax.Binary) and first.operator == "??":
        others.append(first.right)
        first = first.left
    others.reverse()
    code.open("BLOCK", 1)
    block = code.blocks[-1]
    open_attempt(lowering, first)

    def finish(lowering: FunctionLowering) -> None:
        tried = first
        for other in others:
            close_attempt(lowering, tried)
            lowering.at_end_of(tried)
            code.emit("DUP")
            code.emit("IS_MISSING")
            code.branch("BR_UNLESS", block)
            code.emit("POP")
            tried = other
            if other is not others[-1]:
                open_attempt(lowering, other)
            lowering.value(other)
        code.close()

    return Opening(first, finish)


def open_attempt(lowering: FunctionLowering, node: syntax.Expression) -> None:
    """Opens a TRY around an expression in which an error may stop; goes with `close_attempt`."""
    if not is_quiet(node):
        lowering.code.open("TRY", 1)


def close_attempt(lowering: FunctionLowering, node: syntax.Expression) -> None:
    """Leaves the expression's value, or the error that stopped it, on the stack."""
    if not is_quiet(node):
        lowering.code.divide("CATCH")
        lowering.code.close()


def attempt(lowering: FunctionLowering, node: syntax.Expression) -> None:
    """Pushes an expression's value, or the error that it gives or that stopped it."""
    open_attempt(lowering, node)
    lowering.value(node)
    close_attempt(lowering, node)


def is_quiet(node: syntax.Node | None, depth: int = 6) -> bool:
    """Can no error stop in this expression? (It may still *be* an error, or stop for good.)"""

    def quiet(*parts: syntax.Node | None) -> bool:
        """Are the parts quiet, and surely no errors, which would stop where they are used?"""
        return all(
            part is None or (is_quiet(part, depth - 1) and not (isinstance(part, syntax.Expression) and part.fails))
            for part in parts
        )

    match node:
        case None | syntax.Literal() | syntax.Name() | syntax.Function():
            return True
        case _ if depth == 0:
            return False
        case syntax.Field(value=value, optional=optional):
            return node.symbol is not None or (is_quiet(value, depth - 1) if optional else quiet(value))
        case syntax.Unary(operand=operand) | syntax.Propagate(value=operand):
            return quiet(operand)
        case syntax.Index(value=value, index=index):
            return quiet(value, index)
        case syntax.Slice(value=value, low=low, high=high):
            return quiet(value, low, high)
        case syntax.Binary(operator="??", right=right):
            return is_quiet(right, depth - 1)
        case syntax.Binary(left=left, right=right):
            return quiet(left, right)
        case syntax.Call(target=target, arguments=arguments):
            from compiler.builtins import Builtin

            plain = isinstance(target, Builtin) and target.kind in ("native", "inline")
            return plain and quiet(*(argument.value for argument in arguments))
        case syntax.Template(parts=parts):
            return quiet(*(part for part in parts if not isinstance(part, str)))
        case syntax.ListLiteral(items=items):
            return quiet(*(item for item in items))
    return False


def _propagate(lowering: FunctionLowering, node: syntax.Propagate) -> Opening | None:
    """`a?`: leaves the function with an error. At a file's top level the error stops the program."""
    code = lowering.code
    if lowering.top_level:

        def stop(lowering: FunctionLowering) -> None:
            if node.value.fails:
                lowering.at_end_of(node)
                code.emit("USE")

        return Opening(node.value, stop)
    if is_quiet(node.value) and not node.value.fails:
        return Opening(node.value, lambda lowering: None)
    code.open("BLOCK", 1)
    block = code.blocks[-1]
    open_attempt(lowering, node.value)

    def finish(lowering: FunctionLowering) -> None:
        close_attempt(lowering, node.value)
        lowering.at_end_of(node)
        code.emit("DUP")
        code.emit("IS_ERR")
        code.branch("BR_UNLESS", block)
        code.emit("RETURN")
        code.close()

    return Opening(node.value, finish)


# --- fields, indexes, slices ------------------------------------------------------------------------------------------


def _field(lowering: FunctionLowering, node: syntax.Field) -> Opening | None:
    if node.symbol is not None:
        return None

    def finish(lowering: FunctionLowering) -> None:
        lowering.at(node.name_start)
        name = "FIELD_OR_NULL" if node.optional else "FIELD"
        lowering.code.emit(name, lowering.tables.constant(node.name))

    return Opening(node.value, finish, borrow=True)


def _qualified(lowering: FunctionLowering, node: syntax.Field) -> None:
    """`lib.name`, `db.query` as a value."""
    lowering.at(node.name_start)
    load_symbol(lowering, node.symbol)


def _index(lowering: FunctionLowering, node: syntax.Index) -> Opening:
    def finish(lowering: FunctionLowering) -> None:
        lowering.value(node.index, borrow=True)
        lowering.at_end_of(node.value)
        lowering.code.emit("INDEX")

    return Opening(node.value, finish, borrow=lowering.may_lend(node.value, node.index))


def _slice(lowering: FunctionLowering, node: syntax.Slice) -> Opening:
    def finish(lowering: FunctionLowering) -> None:
        for bound in (node.low, node.high):
            if bound is None:
                lowering.constant(None)
            else:
                lowering.value(bound, borrow=True)
        lowering.at_end_of(node.value)
        lowering.code.emit("SLICE")

    return Opening(node.value, finish, borrow=lowering.may_lend(node.value, node.low, node.high))


# --- lists, records, texts --------------------------------------------------------------------------------------------


def _list(lowering: FunctionLowering, node: syntax.ListLiteral) -> None:
    code = lowering.code
    lowering.at(node.start)
    count = 0
    items = node.items
    while count < len(items) and isinstance(item := items[count], syntax.Expression):
        lowering.used_value(item)
        count += 1
    lowering.at(node.start)
    code.emit("LIST", count)
    for item in items[count:]:
        if isinstance(item, syntax.Spread):
            lowering.used_value(item.value, borrow=True)
            lowering.at(item.start)
            code.emit("LIST_SPREAD")
        else:
            lowering.used_value(item)
            code.emit("LIST_PUSH")


def _record(lowering: FunctionLowering, node: syntax.RecordLiteral) -> None:
    """A key that is written twice has the later value, at the place of the first."""
    code, tables = lowering.code, lowering.tables
    lowering.at(node.start)
    keys: dict[str, None] = {}
    fields = node.fields
    while len(keys) < len(fields):
        field = fields[len(keys)]
        if isinstance(field, syntax.Spread) or field.name in keys:
            break
        lowering.used_value(field.value)
        keys[field.name] = None
    lowering.at(node.start)
    code.emit("RECORD", tables.constant(list(keys)), items=len(keys))
    for field in fields[len(keys) :]:
        if isinstance(field, syntax.Spread):
            lowering.used_value(field.value, borrow=True)
            lowering.at(field.start)
            code.emit("RECORD_SPREAD")
        else:
            lowering.used_value(field.value)
            code.emit("RECORD_PUT", tables.constant(field.name))


def _template(lowering: FunctionLowering, node: syntax.Template) -> None:
    lowering.at(node.start)
    parts = [part for part in node.parts if part != ""]
    if all(isinstance(part, str) for part in parts):
        lowering.constant("".join(part for part in parts if isinstance(part, str)))
        return
    for place, part in enumerate(parts):
        if isinstance(part, str):
            lowering.constant(part)
        else:
            lowering.value(part, borrow=all(isinstance(p, str) or is_simple(p) for p in parts[place + 1 :]))
    lowering.at(node.start)
    lowering.code.emit("TEXT", len(parts))


def _sql(lowering: FunctionLowering, node: syntax.SqlTemplate) -> None:
    texts = [""]
    items = 0
    for part in node.parts:
        if isinstance(part, str):
            texts[-1] += part
        else:
            lowering.used_value(part)
            items += 1
            texts.append("")
    lowering.at(node.start)
    lowering.code.emit("SQL", lowering.tables.constant(texts), items=items)


def register() -> None:
    EXPRESSIONS.update(
        {
            syntax.Literal: _literal,
            syntax.Name: _name,
            syntax.Function: _function,
            syntax.Field: _qualified,
            syntax.ListLiteral: _list,
            syntax.RecordLiteral: _record,
            syntax.Template: _template,
            syntax.SqlTemplate: _sql,
        }
    )
    SPINES.update(
        {
            syntax.Unary: _unary,
            syntax.Binary: _binary,
            syntax.Propagate: _propagate,
            syntax.Field: _field,
            syntax.Index: _index,
            syntax.Slice: _slice,
        }
    )
