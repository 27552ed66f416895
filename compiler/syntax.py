"""The tree: what the parser makes, the checker annotates, and the lowering reads.

Each node has `start` and `end` (offsets in its file's text). Expressions also carry what the checker finds:
`type` (a `compiler.types.Type`, None before the checker ran). Names carry `symbol`, put there by `compiler.names`.
Chains (`a + b + c`, `a.b.c`, `else if`) are as deep as they are long: walk them with care (see `left_spine`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.source import Source

if TYPE_CHECKING:
    from dataclasses import dataclass, field

    from compiler.names import Symbol
    from compiler.types import Type
else:
    from qasm.quick_classes import dataclass, field


@dataclass(slots=True, eq=False)
class Node:
    start: int
    end: int


@dataclass(slots=True, eq=False)
class Expression(Node):
    """`fails`: its value may be an error (so a strict use of it must look); the checker clears it where it can't be."""

    type: Type | None = field(default=None, init=False, repr=False)
    fails: bool = field(default=True, init=False, repr=False)


# --- types as written -------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class TypeNode(Node):
    pass


@dataclass(slots=True, eq=False)
class NamedType(TypeNode):
    """`int`, `Note`, `lib.Note`, `list<T>`, `map<T>`. `symbol` is the declaration it names (None: built in)."""

    name: str
    qualifier: str | None
    arguments: list[TypeNode]
    symbol: Symbol | None = field(default=None, init=False, repr=False)


@dataclass(slots=True, eq=False)
class LiteralType(TypeNode):
    value: str | int | float | bool | None


@dataclass(slots=True, eq=False)
class TypeField(Node):
    name: str
    type: TypeNode
    optional: bool


@dataclass(slots=True, eq=False)
class RecordType(TypeNode):
    fields: list[TypeField]


@dataclass(slots=True, eq=False)
class OptionalType(TypeNode):
    inner: TypeNode


@dataclass(slots=True, eq=False)
class UnionType(TypeNode):
    members: list[TypeNode]


@dataclass(slots=True, eq=False)
class FunctionType(TypeNode):
    parameters: list[TypeNode]
    result: TypeNode | None


# --- patterns ---------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Pattern(Node):
    pass


@dataclass(slots=True, eq=False)
class NamePattern(Pattern):
    """Binds a name; `_` is the wildcard, `Wildcard` below."""

    name: str
    symbol: Symbol | None = field(default=None, init=False, repr=False)


@dataclass(slots=True, eq=False)
class Wildcard(Pattern):
    pass


@dataclass(slots=True, eq=False)
class LiteralPattern(Pattern):
    value: str | int | float | bool | None


@dataclass(slots=True, eq=False)
class OrPattern(Pattern):
    alternatives: list[Pattern]


@dataclass(slots=True, eq=False)
class FieldPattern(Node):
    """`size`, `kind: "a"`, `"b c": x`. `pattern` is a NamePattern of the same name where none is written."""

    name: str
    pattern: Pattern


@dataclass(slots=True, eq=False)
class RecordPattern(Pattern):
    fields: list[FieldPattern]


@dataclass(slots=True, eq=False)
class ListPattern(Pattern):
    """`rest` is None without `...`, a NamePattern or Wildcard with it; it stands last."""

    items: list[Pattern]
    rest: Pattern | None


@dataclass(slots=True, eq=False)
class ErrPattern(Pattern):
    inner: Pattern


# --- expressions ------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Literal(Expression):
    """An int, float, str, bool or null. `value`'s Python type says which."""

    value: str | int | float | bool | None


@dataclass(slots=True, eq=False)
class Template(Expression):
    """`` `a ${b} c` ``: texts and expressions in order."""

    parts: list[str | Expression]


@dataclass(slots=True, eq=False)
class SqlTemplate(Expression):
    """``sql`…` ``: texts and expressions in order."""

    parts: list[str | Expression]


@dataclass(slots=True, eq=False)
class Name(Expression):
    name: str
    symbol: Symbol | None = field(default=None, init=False, repr=False)


@dataclass(slots=True, eq=False)
class Spread(Node):
    value: Expression


@dataclass(slots=True, eq=False)
class ListLiteral(Expression):
    items: list[Expression | Spread]


@dataclass(slots=True, eq=False)
class RecordField(Node):
    """`a: e`, `"b c": e`, or `a` alone (then `value` is a Name)."""

    name: str
    value: Expression


@dataclass(slots=True, eq=False)
class RecordLiteral(Expression):
    fields: list[RecordField | Spread]


@dataclass(slots=True, eq=False)
class Unary(Expression):
    """`operator` is "-" or "!"."""

    operator: str
    operand: Expression


@dataclass(slots=True, eq=False)
class Binary(Expression):
    """`operator`: + - * / % == != in < <= > >= .. && || ??."""

    operator: str
    left: Expression
    right: Expression


@dataclass(slots=True, eq=False)
class Argument(Node):
    name: str | None
    value: Expression


@dataclass(slots=True, eq=False)
class Call(Expression):
    """`f(a, name: b)`; a pipe `a | f(b)` is the call `f(a, b)` with `piped` set (`a | (x => …)` too)."""

    callee: Expression
    arguments: list[Argument]
    piped: bool = False
    # From the checker: the `Function` node or `Builtin` that is called, None for a function value; with it, the
    # arguments in the order of its parameters (None: left out) and, for a variadic builtin, the further ones.
    target: Any = field(default=None, init=False, repr=False)
    overload: int = field(default=0, init=False, repr=False)
    ordered: list[Expression | None] | None = field(default=None, init=False, repr=False)
    rest: list[Expression] = field(default_factory=list, init=False, repr=False)


@dataclass(slots=True, eq=False)
class Field(Expression):
    """`a.b`, or `a?.b` with `optional` set. `symbol`: set where `a` names a used file (`lib.name`) or `db`."""

    value: Expression
    name: str
    optional: bool = False
    name_start: int = 0
    symbol: Symbol | None = field(default=None, init=False, repr=False)


@dataclass(slots=True, eq=False)
class Index(Expression):
    value: Expression
    index: Expression


@dataclass(slots=True, eq=False)
class Slice(Expression):
    value: Expression
    low: Expression | None
    high: Expression | None


@dataclass(slots=True, eq=False)
class Propagate(Expression):
    """`a?`: hands an error on."""

    value: Expression


@dataclass(slots=True, eq=False)
class Block(Expression):
    """Its value is its last statement's expression; `null` where it ends in a statement that is none."""

    statements: list[Node]


@dataclass(slots=True, eq=False)
class If(Expression):
    condition: Expression
    then: Block
    otherwise: Block | If | None


@dataclass(slots=True, eq=False)
class Arm(Node):
    """`body` is an expression, a Block, or one of Return, Break, Continue, Reply, Assign."""

    pattern: Pattern
    guard: Expression | None
    body: Node


@dataclass(slots=True, eq=False)
class Match(Expression):
    subject: Expression
    arms: list[Arm]


@dataclass(slots=True, eq=False)
class ForExpression(Expression):
    """`for x in xs if c => e`. `index` is the first name of `for i, x in xs`, a NamePattern or Wildcard."""

    index: Pattern | None
    item: Pattern
    iterable: Expression
    condition: Expression | None
    body: Expression


@dataclass(slots=True, eq=False)
class Parameter(Node):
    name: str
    type: TypeNode | None
    default: Expression | None
    symbol: Symbol | None = field(default=None, init=False, repr=False)


@dataclass(slots=True, eq=False)
class Function(Expression):
    """A declared function, a local one, or a lambda (`name` None). `body` is an expression or a Block.

    After `compiler.names`: `symbol` (declared ones), `captures` (the outer symbols it reads or changes, of functions
    around it; top-level variables are not captured, they are globals) and `owned` (every symbol declared in it).
    """

    name: str | None
    parameters: list[Parameter]
    result: TypeNode | None
    error: TypeNode | None
    effects: list[str] | None
    body: Expression
    doc: str | None = None
    private: bool = False
    server: bool = False
    mcp: bool = False
    name_start: int = 0
    # The end of the head: where `with` would be written.
    head_end: int = 0
    symbol: Symbol | None = field(default=None, init=False, repr=False)
    captures: list[Symbol] = field(default_factory=list, init=False, repr=False)
    owned: list[Symbol] = field(default_factory=list, init=False, repr=False)
    # From the checker: the written or inferred result (ANY where unknown), without errors.
    result_type: Type | None = field(default=None, init=False, repr=False)
    source: Source | None = field(default=None, init=False, repr=False)


@dataclass(slots=True, eq=False)
class Attribute(Node):
    """`kind`: "plain" (`value` a str, an Expression, or True alone), "event" (`@click`, a Block), "bind", "spread"."""

    name: str
    value: Any
    kind: str = "plain"


@dataclass(slots=True, eq=False)
class MarkupText(Node):
    """Text between tags, with white space already folded (grammar of language.md section 10)."""

    text: str


@dataclass(slots=True, eq=False)
class Element(Expression):
    """`<ul class="a">…</ul>`; `name` "" is `<>…</>`; "Card" or "lib.Card" is a component.

    `doctype` is true where `<!DOCTYPE html>` stands before it. `raw` elements (script, style) hold one MarkupText.
    Children are MarkupText, Element, or Expression.
    """

    name: str
    attributes: list[Attribute]
    children: list[Node]
    doctype: bool = False
    component: bool = False
    raw: bool = False
    void: bool = False
    symbol: Symbol | None = field(default=None, init=False, repr=False)


@dataclass(slots=True, eq=False)
class Invalid(Expression):
    """Stands where parsing failed; later passes accept it in silence."""


# --- statements -------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class ExpressionStatement(Node):
    expression: Expression


@dataclass(slots=True, eq=False)
class Let(Node):
    pattern: Pattern
    type: TypeNode | None
    value: Expression
    private: bool = False
    doc: str | None = None


@dataclass(slots=True, eq=False)
class Assign(Node):
    """`target` is a Name, Field or Index; `operator` is "" for `=`, or one of + - * / %."""

    target: Expression
    operator: str
    value: Expression


@dataclass(slots=True, eq=False)
class While(Node):
    condition: Expression
    body: Block


@dataclass(slots=True, eq=False)
class For(Node):
    index: Pattern | None
    item: Pattern
    iterable: Expression
    body: Block


@dataclass(slots=True, eq=False)
class Break(Node):
    pass


@dataclass(slots=True, eq=False)
class Continue(Node):
    pass


@dataclass(slots=True, eq=False)
class Return(Node):
    value: Expression | None


@dataclass(slots=True, eq=False)
class Reply(Node):
    """`reply 404 "no such note"`: `status` is an int literal or a Name."""

    status: Expression
    body: Expression | None


@dataclass(slots=True, eq=False)
class State(Node):
    """`state n = 0` in a component."""

    name: str
    type: TypeNode | None
    value: Expression
    symbol: Symbol | None = field(default=None, init=False, repr=False)


@dataclass(slots=True, eq=False)
class Assert(Node):
    """`assert expr` in a `test` block."""

    value: Expression


# --- declarations -----------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Use(Node):
    """`use "lib.qwe"`, `use "lib.qwe" as lib`, `import lib.qwe use a, b` (then `names`)."""

    path: str
    alias: str | None
    names: list[tuple[str, int]] | None
    path_start: int = 0


@dataclass(slots=True, eq=False)
class TypeDeclaration(Node):
    name: str
    type: TypeNode
    private: bool = False
    doc: str | None = None
    name_start: int = 0
    symbol: Symbol | None = field(default=None, init=False, repr=False)


@dataclass(slots=True, eq=False)
class PathPart(Node):
    """`kind`: "text" (`value` is it), "parameter" (`:id`, `:id:int`: `type` "str" or "int"), "rest" (`*rest`)."""

    kind: str
    value: str
    type: str = "str"


@dataclass(slots=True, eq=False)
class Route(Node):
    """`function` has the path's names as its parameters."""

    method: str
    path: str
    parts: list[PathPart]
    function: Function


@dataclass(slots=True, eq=False)
class Build(Node):
    path: str
    value: Function


@dataclass(slots=True, eq=False)
class Component(Node):
    function: Function


@dataclass(slots=True, eq=False)
class Service(Node):
    """`service [mcp] /billing = "billing.qwe"`; `path` is "/billing" (or "crm" as written, for `service mcp crm`)."""

    path: str
    target: str
    mcp: bool


@dataclass(slots=True, eq=False)
class Test(Node):
    """`test "name" { … }`."""

    name: str
    function: Function


@dataclass(slots=True, eq=False)
class File(Node):
    """One parsed file. `statements` holds declarations and top-level statements in order (`Function` for `fn`).

    `notes` is the `//!` block (text, offset of its first line), None without one. `comments`: (start, end)
    of every comment, for the formatter.
    """

    source: Source
    statements: list[Node]
    notes: tuple[str, int] | None = None
    comments: list[tuple[int, int]] = field(default_factory=list)
    has_errors: bool = False
