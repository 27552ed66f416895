"""Which values are only looked at: a variable there is lent out, and still owns its list or record afterwards.

A variable that hands its list out for keeps is copied at its next change (LOAD_SHARED). Where nothing keeps it, that
would make a loop that looks at a list and changes it quadratic. What is looked at must not change while it lies on the
stack, so what is worked out after it must be simple.
"""

from __future__ import annotations

from compiler import syntax
from compiler.builtins import Builtin

# By builtin, the arguments that its result may be, or hold as they are. Of a list's *items* it may hold any: what lies
# inside a variable's list is told apart by the count of its references. A builtin that isn't here may keep them all.
_NONE: tuple[int, ...] = ()
KEPT: dict[str, tuple[int, ...]] = {
    "push": (1,),
    "insert": (2,),
    **dict.fromkeys(
        (
            *("len", "join", "contains", "index_of", "starts_with", "slice", "remove", "reverse", "flat", "zip"),
            *("sum", "first", "last", "keys", "values", "entries", "from_entries", "has", "merge", "without"),
            *("json", "str", "type_of", "print", "log"),
        ),
        _NONE,
    ),
}


def is_lent(target: Builtin, place: int) -> bool:
    """Does the builtin only look at this argument?"""
    kept = KEPT.get(target.name)
    return kept is not None and place not in kept


def is_simple(node: syntax.Node | None, depth: int = 6, calls: bool = False) -> bool:
    """Is it an expression that only looks at values, and changes nothing?

    Builtins that are plain Python functions change nothing. With `calls` it may call any function, and so may change
    all but the locals of this one. No, where it is deep.
    """

    def simple(*parts: syntax.Node | str | None) -> bool:
        return all(isinstance(part, str) or is_simple(part, depth - 1, calls) for part in parts)

    match node:
        case None | syntax.Literal() | syntax.Name() | syntax.Function():
            return True
        case _ if depth == 0:
            return False
        case syntax.Field(value=value):
            return node.symbol is not None or simple(value)
        case syntax.Unary(operand=operand):
            return simple(operand)
        case syntax.Index(value=value, index=index):
            return simple(value, index)
        case syntax.Slice(value=value, low=low, high=high):
            return simple(value, low, high)
        case syntax.Binary(left=left, right=right):
            return simple(left, right)
        case syntax.Template(parts=parts):
            return simple(*parts)
        case syntax.ListLiteral(items=items):
            return simple(*(item.value if isinstance(item, syntax.Spread) else item for item in items))
        case syntax.RecordLiteral(fields=fields):
            return simple(*(field.value for field in fields))
        case syntax.Call(target=Builtin(kind="native"), arguments=arguments):
            return simple(*(argument.value for argument in arguments))
        case syntax.Call(callee=callee, arguments=arguments) if calls:
            return simple(callee, *(argument.value for argument in arguments))
    return False
