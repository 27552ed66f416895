"""Makes a Python comprehension of a loop that does nothing but add to a list."""

from __future__ import annotations

import ast

_PLAIN = (
    ast.Name,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.List,
    ast.Dict,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)


def comprehension(body: list[ast.stmt], target: ast.expr, source: ast.expr, line: int, pc: int) -> ast.stmt | None:
    """`items += [value for target in source if test]` for the body of such a loop, None for any other.

    What can stop has to stand on `line`: a stop in a comprehension is one at its place, `pc`.
    """
    tests: list[ast.expr] = []
    if len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        tests, body = [body[0].test], body[0].body
    temporary = None
    if len(body) == 2 and isinstance(body[0], ast.Assign) and isinstance(body[0].targets[0], ast.Name):
        temporary, body = body[0], body[1:]
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or not isinstance(target, ast.Name):
        return None
    adding = body[0].value
    if not isinstance(adding, ast.Call) or not isinstance(adding.func, ast.Attribute) or adding.func.attr != "append":
        return None
    items, value = adding.func.value, adding.args[0]
    if temporary is not None:
        kept = temporary.targets[0]
        if not (isinstance(kept, ast.Name) and isinstance(value, ast.Name) and kept.id == value.id):
            return None
        if not kept.id.startswith("t"):
            return None
        value = temporary.value
    if not isinstance(items, ast.Name) or not all(_fits(part, items.id, line) for part in (*tests, value)):
        return None

    def placed(node: ast.AST) -> ast.AST:
        node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
        node.col_offset = node.end_col_offset = pc  # type: ignore[attr-defined]
        return node

    made = placed(ast.ListComp(value, [ast.comprehension(target, source, tests, 0)]))
    name = placed(ast.Name(items.id, ast.Store()))
    grown = placed(ast.AugAssign(name, ast.Add(), made))  # type: ignore[arg-type]
    assert isinstance(grown, ast.stmt)
    return grown


def _fits(value: ast.expr, items: str, line: int) -> bool:
    """Can this stand in a comprehension that adds to `items`?"""
    for node in ast.walk(value):
        if not isinstance(node, _PLAIN) or (isinstance(node, ast.Name) and node.id == items):
            return False
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return False
        if isinstance(node, ast.Subscript) and not isinstance(node.slice.value, str):  # type: ignore[attr-defined]
            return False  # an index that is out of range is looked up in the function itself
        if isinstance(node, ast.Call) and node.lineno != line:
            return False
        if isinstance(node, ast.BinOp) and isinstance(node.op, _DIVISIONS) and node.lineno != line:
            return False
    return True
