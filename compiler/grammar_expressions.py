"""Rules for expressions, and how their nodes are built."""

from __future__ import annotations

from typing import Any

from compiler.grammar_types import only_names, refuse_keyword
from compiler.productions import Builder, rule, same
from compiler.syntax import (
    Argument,
    Arm,
    Binary,
    Block,
    Call,
    Expression,
    Field,
    ForExpression,
    Function,
    If,
    Index,
    Invalid,
    ListLiteral,
    Literal,
    Match,
    Name,
    NamePattern,
    Node,
    Parameter,
    Pattern,
    Propagate,
    RecordField,
    RecordLiteral,
    Slice,
    Spread,
    TypeNode,
    Unary,
    Wildcard,
)
from compiler.tokens import Token

# --- operators ----------------------------------------------------------------------------------------------------


@rule(
    "expression : expression COALESCE expression",
    "expression : expression OR expression",
    "expression : expression AND expression",
    "expression : expression EQUALITY expression",
    "expression : expression IN expression",
    "expression : expression COMPARE expression",
    "expression : expression RANGE expression",
    "expression : expression PLUS expression",
    "expression : expression MINUS expression",
    "expression : expression TIMES expression",
)
def binary(build: Builder, left: Expression, operator: Token, right: Expression) -> Expression:
    return Binary(left.start, right.end, operator.value, left, right)


@rule("expression : expression PIPE expression")
def pipe(build: Builder, left: Expression, operator: Token, right: Expression) -> Expression:
    """`a | f(b)` is the call `f(a, b)`; `a | f` and `a | (x => …)` are calls with `a` alone."""
    first = Argument(left.start, left.end, None, left)
    if isinstance(right, Call) and not right.piped:
        return Call(left.start, right.end, right.callee, [first, *right.arguments], piped=True)
    if isinstance(right, Function) or _is_path(right):
        return Call(left.start, right.end, right, [first], piped=True)
    if not isinstance(right, Invalid):
        hint = ""
        if isinstance(right, Propagate):
            hint = "to hand the error on, put the pipe in brackets: `(a | f(b))?`"
        build.error(
            "Q0104",
            "after `|` stands what is called: a function's name, a call or a lambda",
            right.start,
            right.end,
            hint,
        )
    return Invalid(left.start, right.end)


def _is_path(value: Expression) -> bool:
    while isinstance(value, Field) and not value.optional:
        value = value.value
    return isinstance(value, Name)


@rule("expression : MINUS expression %prec UNARY")
def negative(build: Builder, minus: Token, operand: Expression) -> Expression:
    if type(operand) is Literal and type(operand.value) in (int, float) and operand not in build.grouped:
        value: Any = operand.value
        if value > 0 or (value == 0 and str(value)[0] != "-"):
            return Literal(minus.start, operand.end, -value)
    return Unary(minus.start, operand.end, "-", operand)


@rule("expression : BANG expression %prec UNARY")
def negation(build: Builder, bang: Token, operand: Expression) -> Expression:
    return Unary(bang.start, operand.end, "!", operand)


# --- what stands behind an operand --------------------------------------------------------------------------------


@rule("expression : expression CALL arguments RPAREN", "expression : expression CALL arguments COMMA RPAREN")
def call(build: Builder, callee: Expression, opening: Token, arguments: list[Argument], *rest: Token) -> Expression:
    named = False
    for argument in arguments:
        if argument.name is not None:
            named = True
        elif named:
            build.error(
                "Q0112",
                "an argument by place can't stand after one by name",
                argument.start,
                argument.end,
            )
            break
    return Call(callee.start, rest[-1].end, callee, arguments)


@rule("expression : expression CALL RPAREN")
def call_of_nothing(build: Builder, callee: Expression, opening: Token, closing: Token) -> Expression:
    return Call(callee.start, closing.end, callee, [])


@rule("arguments : argument")
def first_argument(build: Builder, argument: Argument) -> list[Argument]:
    return [argument]


@rule("arguments : arguments COMMA argument")
def next_argument(build: Builder, arguments: list[Argument], comma: Token, argument: Argument) -> list[Argument]:
    arguments.append(argument)
    return arguments


@rule("argument : expression")
def argument_by_place(build: Builder, value: Expression) -> Argument:
    return Argument(value.start, value.end, None, value)


@rule("argument : NAME COLON expression")
def argument_by_name(build: Builder, name: Token, colon: Token, value: Expression) -> Argument:
    return Argument(name.start, value.end, name.value, value)


@rule("argument : ELLIPSIS expression")
def spread_argument(build: Builder, dots: Token, value: Expression) -> Argument:
    build.error(
        "Q0105",
        "a call takes no `...`: give the function a list, or each argument on its own",
        dots.start,
        value.end,
    )
    return Argument(dots.start, value.end, None, Invalid(value.start, value.end))


@rule("expression : expression DOT NAME", "expression : expression QDOT NAME")
def field(build: Builder, value: Expression, dot: Token, name: Token) -> Expression:
    return Field(value.start, name.end, value, name.value, dot.type == "QDOT", name.start)


@rule("expression : expression INDEX expression RBRACKET")
def index(build: Builder, value: Expression, opening: Token, place: Expression, closing: Token) -> Expression:
    if type(place) is Binary and place.operator == ".." and place not in build.grouped:
        return Slice(value.start, closing.end, value, place.left, place.right)
    return Index(value.start, closing.end, value, place)


@rule("expression : expression INDEX expression RANGE RBRACKET")
def slice_from(
    build: Builder, value: Expression, opening: Token, low: Expression, dots: Token, closing: Token
) -> Expression:
    return Slice(value.start, closing.end, value, low, None)


@rule("expression : expression INDEX RANGE expression RBRACKET")
def slice_to(
    build: Builder, value: Expression, opening: Token, dots: Token, high: Expression, closing: Token
) -> Expression:
    return Slice(value.start, closing.end, value, None, high)


@rule("expression : expression INDEX RANGE RBRACKET")
def slice_of_all(build: Builder, value: Expression, opening: Token, dots: Token, closing: Token) -> Expression:
    return Slice(value.start, closing.end, value, None, None)


@rule("expression : expression QUESTION")
def propagate(build: Builder, value: Expression, question: Token) -> Expression:
    return Propagate(value.start, question.end, value)


# --- operands -----------------------------------------------------------------------------------------------------


@rule("expression : NAME")
def name(build: Builder, word: Token) -> Expression:
    return Name(word.start, word.end, word.value)


@rule("expression : INT", "expression : FLOAT", "expression : TEXT")
def literal(build: Builder, token: Token) -> Expression:
    return Literal(token.start, token.end, token.value)


_WORD_VALUES = {"TRUE": True, "FALSE": False, "NULL": None}


@rule("expression : TRUE", "expression : FALSE", "expression : NULL")
def word_literal(build: Builder, token: Token) -> Expression:
    return Literal(token.start, token.end, _WORD_VALUES[token.type])


@rule("expression : LPAREN expression RPAREN")
def group(build: Builder, opening: Token, inner: Expression, closing: Token) -> Expression:
    build.grouped.add(inner)
    if type(inner) is not Name:
        inner.start = opening.start
        inner.end = closing.end
    return inner


@rule("expression : LIST RBRACKET", "expression : LIST items RBRACKET", "expression : LIST items COMMA RBRACKET")
def list_literal(build: Builder, opening: Token, *rest: Any) -> Expression:
    return ListLiteral(opening.start, rest[-1].end, rest[0] if len(rest) > 1 else [])


@rule("items : item")
def first_item(build: Builder, item: Expression | Spread) -> list[Expression | Spread]:
    return [item]


@rule("items : items COMMA item")
def next_item(build: Builder, items: list[Expression | Spread], comma: Token, item: Expression | Spread) -> Any:
    items.append(item)
    return items


same("item : expression", "item : spread")


@rule("spread : ELLIPSIS expression")
def spread(build: Builder, dots: Token, value: Expression) -> Spread:
    return Spread(dots.start, value.end, value)


@rule(
    "expression : RECORD RBRACE",
    "expression : RECORD record_fields RBRACE",
    "expression : RECORD record_fields COMMA RBRACE",
)
def record_literal(build: Builder, opening: Token, *rest: Any) -> Expression:
    fields: list[RecordField | Spread] = rest[0] if len(rest) > 1 else []
    seen: set[str] = set()
    for one in fields:
        if isinstance(one, Spread):
            seen.clear()  # what is spread may hold a name again, and what follows then wins
            continue
        if one.name in seen:
            build.error("Q0114", f"the field `{one.name}` is given twice", one.start, one.end)
        seen.add(one.name)
    return RecordLiteral(opening.start, rest[-1].end, fields)


@rule("record_fields : record_field")
def first_record_field(build: Builder, entry: RecordField | Spread) -> list[RecordField | Spread]:
    return [entry]


@rule("record_fields : record_fields COMMA record_field")
def next_record_field(
    build: Builder, entries: list[RecordField | Spread], comma: Token, entry: RecordField | Spread
) -> list[RecordField | Spread]:
    entries.append(entry)
    return entries


same("record_field : spread")


@rule("record_field : NAME COLON expression", "record_field : TEXT COLON expression")
def record_field(build: Builder, key: Token, colon: Token, value: Expression) -> RecordField:
    return RecordField(key.start, value.end, key.value, value)


@rule("record_field : NAME")
def record_field_of_name(build: Builder, key: Token) -> RecordField:
    return RecordField(key.start, key.end, key.value, Name(key.start, key.end, key.value))


# --- functions ----------------------------------------------------------------------------------------------------


def make_function(
    build: Builder,
    start: int,
    name: str | None,
    parameters: list[Parameter],
    body: Expression,
    head_end: int,
    result: TypeNode | None = None,
    error: TypeNode | None = None,
    effects: list[str] | None = None,
) -> Function:
    """A Function from `start` to the end of its body, with its source set."""
    function = Function(start, body.end, name, parameters, result, error, effects, body)
    function.head_end = head_end
    function.name_start = start
    function.source = build.source
    return function


@rule("expression : NAME ARROW body %prec LAMBDA")
def lambda_of_one(build: Builder, word: Token, arrow: Token, body: Expression) -> Expression:
    parameter = Parameter(word.start, word.end, word.value, None, None)
    return make_function(build, word.start, None, [parameter], body, word.end)


@rule(
    "expression : LAMBDA parameters RPAREN ARROW body %prec LAMBDA",
    "expression : LAMBDA RPAREN ARROW body %prec LAMBDA",
)
def lambda_of_many(build: Builder, opening: Token, *rest: Any) -> Expression:
    parameters = rest[0] if len(rest) == 4 else []
    return make_function(build, opening.start, None, parameters, rest[-1], rest[-3].end)


@rule("expression : FN parameter_list results effects block")
def function_expression(
    build: Builder,
    word: Token,
    parameters: tuple[list[Parameter], int],
    results: tuple[TypeNode | None, TypeNode | None, int],
    effects: list[str] | None,
    body: Block,
) -> Expression:
    head_end = max(parameters[1], results[2])
    return make_function(build, word.start, None, parameters[0], body, head_end, results[0], results[1], effects)


@rule("parameter_list : PARAMETERS RPAREN", "parameter_list : PARAMETERS parameters RPAREN")
def parameter_list(build: Builder, opening: Token, *rest: Any) -> tuple[list[Parameter], int]:
    return rest[0] if len(rest) > 1 else [], rest[-1].end


@rule("parameters : some_parameters", "parameters : some_parameters COMMA")
def parameters(build: Builder, some: list[Parameter], *comma: Token) -> list[Parameter]:
    return some


@rule("some_parameters : parameter")
def first_parameter(build: Builder, parameter: Parameter) -> list[Parameter]:
    return [parameter]


@rule("some_parameters : some_parameters COMMA parameter")
def next_parameter(build: Builder, some: list[Parameter], comma: Token, parameter: Parameter) -> list[Parameter]:
    some.append(parameter)
    return some


@rule(
    "parameter : NAME",
    "parameter : NAME COLON type",
    "parameter : NAME EQ expression",
    "parameter : NAME COLON type EQ expression",
)
def parameter(build: Builder, word: Token, *rest: Any) -> Parameter:
    refuse_keyword(build, word, "a parameter")
    type = rest[1] if rest and rest[0].type == "COLON" else None
    default = rest[-1] if rest and rest[-2].type == "EQ" else None
    return Parameter(word.start, rest[-1].end if rest else word.end, word.value, type, default)


# --- blocks, if, match, for ---------------------------------------------------------------------------------------

same("body : expression %prec LAMBDA", "body : block")
same("expression : markup", "expression : template")


@rule("expression : if_chain")
def if_without_else(build: Builder, chain: list[tuple[Token, Expression, Block]]) -> Expression:
    return _make_if(chain, None)


@rule("expression : if_chain ELSE block")
def if_with_else(
    build: Builder, chain: list[tuple[Token, Expression, Block]], word: Token, otherwise: Block
) -> Expression:
    return _make_if(chain, otherwise)


def _make_if(chain: list[tuple[Token, Expression, Block]], otherwise: Block | If | None) -> Expression:
    end = chain[-1][2].end if otherwise is None else otherwise.end
    for word, condition, then in reversed(chain):
        otherwise = If(word.start, end, condition, then, otherwise)
    assert isinstance(otherwise, If)  # a chain has at least one link
    return otherwise


@rule("if_chain : IF expression block")
def first_if(build: Builder, word: Token, condition: Expression, then: Block) -> list[tuple[Token, Expression, Block]]:
    return [(word, condition, then)]


@rule("if_chain : if_chain ELSE IF expression block")
def next_if(
    build: Builder,
    chain: list[tuple[Token, Expression, Block]],
    otherwise: Token,
    word: Token,
    condition: Expression,
    then: Block,
) -> list[tuple[Token, Expression, Block]]:
    chain.append((word, condition, then))
    return chain


@rule(
    "expression : MATCH expression ARMS arms RBRACE",
    "expression : MATCH expression ARMS arms COMMA RBRACE",
)
def match(
    build: Builder, word: Token, subject: Expression, opening: Token, arms: list[Arm], *rest: Token
) -> Expression:
    return Match(word.start, rest[-1].end, subject, [arm for arm in arms if arm is not None])


@rule("expression : MATCH expression ARMS RBRACE")
def empty_match(build: Builder, word: Token, subject: Expression, opening: Token, closing: Token) -> Expression:
    build.error("Q0105", "a `match` needs at least one arm, such as `_ => null`", opening.start, closing.end)
    return Invalid(word.start, closing.end)


@rule("arms : arm")
def first_arm(build: Builder, arm: Arm) -> list[Arm]:
    return [arm]


@rule("arms : arms NL arm", "arms : arms COMMA arm")
def next_arm(build: Builder, arms: list[Arm], end: Token, arm: Arm) -> list[Arm]:
    arms.append(arm)
    return arms


@rule("arm : patterns THEN arm_body")
def arm(build: Builder, pattern: Pattern, arrow: Token, body: Node) -> Arm:
    return Arm(pattern.start, body.end, pattern, None, body)


@rule("arm : patterns IF expression THEN arm_body")
def guarded_arm(build: Builder, pattern: Pattern, word: Token, guard: Expression, arrow: Token, body: Node) -> Arm:
    return Arm(pattern.start, body.end, pattern, guard, body)


@rule("arm : error", "arm : error block", "arm : error ARMS arms RBRACE")
def broken_arm(build: Builder, *parts: Any) -> None:
    return None


same("arm_body : expression", "arm_body : block", "arm_body : simple_statement")


@rule("for_head : FOR pattern IN expression")
def for_head(build: Builder, word: Token, item: Pattern, within: Token, iterable: Expression) -> tuple[Any, ...]:
    only_names(build, item, "`for`")
    return word, None, item, iterable


@rule("for_head : FOR pattern COMMA pattern IN expression")
def for_head_with_index(
    build: Builder, word: Token, place: Pattern, comma: Token, item: Pattern, within: Token, iterable: Expression
) -> tuple[Any, ...]:
    if not isinstance(place, NamePattern | Wildcard):
        build.error("Q0108", "the first of two in a `for` is a name: the place, or the key", place.start, place.end)
        place = Wildcard(place.start, place.end)
    only_names(build, item, "`for`")
    return word, place, item, iterable


@rule("expression : for_head THEN body %prec LAMBDA")
def for_expression(build: Builder, head: tuple[Any, ...], arrow: Token, body: Expression) -> Expression:
    return ForExpression(head[0].start, body.end, head[1], head[2], head[3], None, body)


@rule("expression : for_head IF expression THEN body %prec LAMBDA")
def for_expression_if(
    build: Builder, head: tuple[Any, ...], word: Token, condition: Expression, arrow: Token, body: Expression
) -> Expression:
    return ForExpression(head[0].start, body.end, head[1], head[2], head[3], condition, body)
