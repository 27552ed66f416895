"""Recognizes an assignment that makes a list longer at its end: `xs = push(xs, e)`, `xs = xs + e`, `xs = [...xs, e]`.

They mean `xs += [e]`, and are lowered to the same instruction, so that a list built in a loop is linear however it is
written.
"""

from __future__ import annotations

from compiler import syntax


def added(node: syntax.Assign) -> syntax.Expression | list[syntax.Expression] | None:
    """What such an assignment adds: a list's expression, or the single items; None where it is none by its looks."""
    target, value = node.target, node.value
    if node.operator or not isinstance(target, syntax.Name):
        return None

    def is_target(part: syntax.Node) -> bool:
        return isinstance(part, syntax.Name) and part.name == target.name

    match value:
        case syntax.Call(callee=syntax.Name(name="push"), arguments=[first, second]):
            if first.name is None and second.name is None and is_target(first.value):
                return [second.value]
        case syntax.Binary(operator="+", left=left, right=right) if is_target(left):
            return right
        case syntax.ListLiteral(items=[syntax.Spread(value=first), *rest]) if is_target(first):
            items = [item for item in rest if isinstance(item, syntax.Expression)]
            return items if len(items) == len(rest) else None
    return None
