"""The grammar: precedence, and the rules for files, statements and declarations.

`grammar_types.py`, `grammar_expressions.py` and `grammar_markup.py` hold the other rules. Nothing of PLY is imported:
`tools/make_tables.py` makes `tables.py` from `RULES` and `PRECEDENCE`, and `fingerprint` tells whether it still fits.

Three kinds of `(`, two of `[` and three of `{` are told apart by the lexer, as are the two arrows: `ARROW` of a lambda
and `THEN` of a match arm or a `for`. So the grammar has no conflict that precedence does not settle. Each `error` rule
stands as late as it can, so that the name of a broken definition survives.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from compiler import grammar_markup
from compiler.grammar_expressions import make_function
from compiler.grammar_types import only_names, refuse_keyword
from compiler.productions import ACTIONS, RULES, Builder, rule, same
from compiler.routes import path_parameters, path_parts
from compiler.syntax import (
    Assert,
    Assign,
    Block,
    Break,
    Build,
    Component,
    Continue,
    Expression,
    ExpressionStatement,
    Field,
    Function,
    Index,
    Invalid,
    Let,
    Literal,
    Name,
    NamedType,
    NamePattern,
    Node,
    Parameter,
    Pattern,
    Reply,
    Return,
    Route,
    Service,
    State,
    Test,
    TypeDeclaration,
    TypeNode,
    Use,
    While,
)
from compiler.syntax import For as ForStatement
from compiler.tokens import Token

START = "file"
_EFFECTS = ("db", "fs", "http", "net")

# Loosest first.
PRECEDENCE = (
    ("right", "LAMBDA"),
    ("left", "PIPE", "COALESCE"),
    ("left", "OR"),
    ("left", "AND"),
    ("nonassoc", "EQUALITY", "IN"),
    ("nonassoc", "COMPARE"),
    ("nonassoc", "RANGE"),
    ("left", "PLUS", "MINUS"),
    ("left", "TIMES"),
    ("right", "UNARY"),
    ("left", "CALL", "DOT", "QDOT", "INDEX", "QUESTION"),
)

# --- files and blocks ---------------------------------------------------------------------------------------------


@rule("file : END")
def empty_file(build: Builder, end: Token) -> list[Node]:
    return []


@rule("file : statements END")
def file(build: Builder, statements: list[Node], end: Token) -> list[Node]:
    return statements


@rule("statements : statement")
def first_statement(build: Builder, statement: Node) -> list[Node]:
    return [statement]


@rule("statements : statements NL statement")
def next_statement(build: Builder, statements: list[Node], end: Token, statement: Node) -> list[Node]:
    statements.append(statement)
    return statements


@rule("block : BLOCK RBRACE")
def empty_block(build: Builder, opening: Token, closing: Token) -> Block:
    return Block(opening.start, closing.end, [])


_ONLY_AT_THE_TOP = {
    TypeDeclaration: "a `type`",
    Route: "a `route`",
    Component: "a `component`",
    Service: "a `service`",
    Use: "`use` and `import`",
    Build: "a `build`",
    Test: "a `test`",
}


@rule("block : BLOCK statements RBRACE")
def block(build: Builder, opening: Token, statements: list[Node], closing: Token) -> Block:
    for statement in statements:
        kind = type(statement)
        if kind in _ONLY_AT_THE_TOP:
            what = _ONLY_AT_THE_TOP[kind]
            verb = "stand" if " and " in what else "stands"
            build.error(
                "Q0106",
                f"{what} {verb} at the top of a file, not in a block: only `fn` can stand in one",
                statement.start,
                statement.end,
            )
        elif kind is Function or kind is Let:
            _refuse_modifiers(build, statement)
    return Block(opening.start, closing.end, statements)


def _refuse_modifiers(build: Builder, statement: Any) -> None:
    word = ""
    if statement.private:
        word = "private"
    elif type(statement) is Function and (statement.server or statement.mcp):
        word = "server" if statement.server else "mcp"
    if word:
        build.error(
            "Q0106",
            f"`{word}` is for what stands at the top of a file: leave it out in a block",
            statement.start,
            statement.end,
        )


@rule("statement : expression")
def expression_statement(build: Builder, expression: Expression) -> Node:
    return ExpressionStatement(expression.start, expression.end, expression)


same("statement : simple_statement", "statement : declaration")


@rule("statement : broken", "statement : error ARMS arms RBRACE")
def broken_statement(build: Builder, broken: Node, *rest: Any) -> Node:
    return ExpressionStatement(broken.start, broken.end, Invalid(broken.start, broken.end))


# A head that can't be read still has its block read, so that its `}` has a partner and errors inside are found.
@rule(
    "broken : error",
    "broken : error block",
    "broken : broken ELSE block",
    "broken : broken ELSE IF expression block",
)
def broken(build: Builder, first: Node, *rest: Any) -> Node:
    return first


# --- statements ---------------------------------------------------------------------------------------------------


@rule("let_word : LET")
def let_word(build: Builder, word: Token) -> tuple[int, bool]:
    return word.start, False


@rule("let_word : visibility LET")
def let_word_with_visibility(build: Builder, visibility: Token, word: Token) -> tuple[int, bool]:
    return visibility.start, visibility.type == "PRIVATE"


@rule("statement : let_word pattern EQ expression", "statement : let_word pattern EQ error")
def let(build: Builder, word: tuple[int, bool], pattern: Pattern, sign: Token, value: Expression) -> Node:
    return _let(build, word, pattern, None, value)


@rule(
    "statement : let_word pattern COLON type EQ expression",
    "statement : let_word pattern COLON type EQ error",
)
def let_with_type(
    build: Builder,
    word: tuple[int, bool],
    pattern: Pattern,
    colon: Token,
    type: TypeNode,
    sign: Token,
    value: Expression,
) -> Node:
    return _let(build, word, pattern, type, value)


@rule("statement : let_word pattern error")
def broken_let(build: Builder, word: tuple[int, bool], pattern: Pattern, broken: Expression) -> Node:
    return _let(build, word, pattern, None, broken)


def _let(build: Builder, word: tuple[int, bool], pattern: Pattern, type: TypeNode | None, value: Expression) -> Node:
    start, private = word
    only_names(build, pattern, "`let`")
    node = Let(start, value.end, pattern, type, value, private)
    node.doc = build.doc(start)
    return node


@rule("simple_statement : expression EQ expression", "simple_statement : expression ASSIGN expression")
def assign(build: Builder, target: Expression, sign: Token, value: Expression) -> Node:
    inner: Any = target
    while type(inner) is Index or (type(inner) is Field and not inner.optional):
        inner = inner.value
    if type(inner) is not Name:
        if type(inner) is not Invalid:
            build.error(
                "Q0103",
                "only a variable, and a field or an element of one, can be given a value",
                target.start,
                target.end,
                "`==` compares" if sign.value == "=" else "",
            )
        target = Invalid(target.start, target.end)
    return Assign(target.start, value.end, target, "" if sign.value == "=" else sign.value[0], value)


@rule("simple_statement : BREAK")
def break_statement(build: Builder, word: Token) -> Node:
    return Break(word.start, word.end)


@rule("simple_statement : CONTINUE")
def continue_statement(build: Builder, word: Token) -> Node:
    return Continue(word.start, word.end)


@rule("simple_statement : RETURN")
def return_nothing(build: Builder, word: Token) -> Node:
    return Return(word.start, word.end, None)


@rule("simple_statement : RETURN expression")
def return_value(build: Builder, word: Token, value: Expression) -> Node:
    return Return(word.start, value.end, value)


@rule("simple_statement : REPLY STATUS", "simple_statement : REPLY STATUS expression")
def reply(build: Builder, word: Token, status: Token, *body: Expression) -> Node:
    code: Expression
    if isinstance(status.value, int):
        code = Literal(status.start, status.end, status.value)
        if not 100 <= status.value <= 599:
            build.error("Q0105", "a status is a number from 100 to 599", status.start, status.end)
    else:
        code = Name(status.start, status.end, status.value)
    return Reply(word.start, body[0].end if body else status.end, code, body[0] if body else None)


@rule("statement : WHILE expression block")
def while_statement(build: Builder, word: Token, condition: Expression, body: Block) -> Node:
    return While(word.start, body.end, condition, body)


@rule("statement : for_head block")
def for_statement(build: Builder, head: tuple[Any, ...], body: Block) -> Node:
    return ForStatement(head[0].start, body.end, head[1], head[2], head[3], body)


@rule("statement : STATE NAME EQ expression", "statement : STATE NAME EQ error")
def state(build: Builder, word: Token, name: Token, sign: Token, value: Expression) -> Node:
    refuse_keyword(build, name, "a variable")
    build.doc(word.start)
    return State(word.start, value.end, name.value, None, value)


@rule("statement : STATE NAME COLON type EQ expression", "statement : STATE NAME COLON type EQ error")
def state_with_type(
    build: Builder, word: Token, name: Token, colon: Token, type: TypeNode, sign: Token, value: Expression
) -> Node:
    refuse_keyword(build, name, "a variable")
    build.doc(word.start)
    return State(word.start, value.end, name.value, type, value)


@rule("statement : ASSERT expression")
def assert_statement(build: Builder, word: Token, value: Expression) -> Node:
    return Assert(word.start, value.end, value)


# --- functions ----------------------------------------------------------------------------------------------------

same("visibility : PRIVATE", "visibility : PUBLIC")


@rule("function_words : FN")
def function_words(build: Builder, word: Token) -> tuple[int, bool, bool]:
    return word.start, False, False


@rule("function_words : SERVER FN")
def server_words(build: Builder, server: Token, word: Token) -> tuple[int, bool, bool]:
    return server.start, False, True


@rule("function_words : visibility FN")
def visible_words(build: Builder, visibility: Token, word: Token) -> tuple[int, bool, bool]:
    return visibility.start, visibility.type == "PRIVATE", False


@rule("function_words : visibility SERVER FN")
def visible_server_words(build: Builder, visibility: Token, server: Token, word: Token) -> tuple[int, bool, bool]:
    return visibility.start, visibility.type == "PRIVATE", True


@rule("named_function : function_words NAME")
def named_function(build: Builder, words: tuple[int, bool, bool], name: Token) -> tuple[Any, ...]:
    return *words, False, name


@rule("named_function : function_words MCP NAME")
def named_tool(build: Builder, words: tuple[int, bool, bool], tag: Token, name: Token) -> tuple[Any, ...]:
    return *words, True, name


@rule(
    "declaration : named_function parameter_list results effects EQ expression",
    "declaration : named_function parameter_list results effects EQ error",
)
def function_of_expression(
    build: Builder, named: tuple[Any, ...], parameters: Any, results: Any, effects: Any, sign: Token, body: Expression
) -> Node:
    return _function(build, named, parameters, results, effects, body)


@rule("declaration : named_function parameter_list results effects block")
def function_of_block(
    build: Builder, named: tuple[Any, ...], parameters: Any, results: Any, effects: Any, body: Block
) -> Node:
    return _function(build, named, parameters, results, effects, body)


def _function(
    build: Builder,
    named: tuple[Any, ...],
    parameter_list: tuple[list[Parameter], int],
    results: tuple[TypeNode | None, TypeNode | None, int],
    effects: list[str] | None,
    body: Expression,
) -> Function:
    start, private, server, mcp, name = named
    head_end = max(parameter_list[1], results[2])
    function = make_function(
        build, start, name.value, parameter_list[0], body, head_end, results[0], results[1], effects
    )
    function.doc = build.doc(start)
    function.private = private
    function.server = server
    function.mcp = mcp
    function.name_start = name.start
    return function


@rule("declaration : named_function error", "declaration : named_function error block")
def broken_function(build: Builder, named: tuple[Any, ...], broken: Invalid, *block: Block) -> Node:
    """The name stays known, as that of something unknown: its calls are not reported too."""
    start, private, _, _, name = named
    build.doc(start)
    return Let(start, broken.end, NamePattern(name.start, name.end, name.value), None, broken, private)


@rule("effects :")
def no_effects(build: Builder) -> None:
    return None


same("effects : effect_names")


@rule("effect_names : WITH NAME")
def first_effect(build: Builder, word: Token, name: Token) -> list[str]:
    return _effect(build, [], name)


@rule("effect_names : effect_names COMMA NAME")
def next_effect(build: Builder, effects: list[str], comma: Token, name: Token) -> list[str]:
    return _effect(build, effects, name)


def _effect(build: Builder, effects: list[str], name: Token) -> list[str]:
    if name.value not in _EFFECTS:
        message = f"`{name.value}` is no effect: they are `db`, `fs`, `http` and `net`"
        build.error("Q0115", message, name.start, name.end)
        effects.extend(_EFFECTS)  # whichever was meant, nothing is said to be left out
    else:
        effects.append(name.value)
    return effects


# --- other declarations -------------------------------------------------------------------------------------------


@rule("type_name : TYPE NAME")
def type_name(build: Builder, word: Token, name: Token) -> tuple[int, bool, Token]:
    return word.start, False, name


@rule("type_name : visibility TYPE NAME")
def visible_type_name(build: Builder, visibility: Token, word: Token, name: Token) -> tuple[int, bool, Token]:
    return visibility.start, visibility.type == "PRIVATE", name


@rule("declaration : type_name EQ type")
def type_declaration(build: Builder, named: tuple[int, bool, Token], sign: Token, type: TypeNode) -> Node:
    start, private, name = named
    refuse_keyword(build, name, "a type")
    node = TypeDeclaration(start, type.end, name.value, type, private)
    node.doc = build.doc(start)
    node.name_start = name.start
    return node


@rule("declaration : type_name EQ error")
def broken_type(build: Builder, named: tuple[int, bool, Token], sign: Token, broken: Invalid) -> Node:
    return type_declaration(build, named, sign, NamedType(broken.start, broken.end, "any", None, []))


@rule("declaration : type_name error")
def broken_type_name(build: Builder, named: tuple[int, bool, Token], broken: Invalid) -> Node:
    return type_declaration(build, named, named[2], NamedType(broken.start, broken.end, "any", None, []))


@rule("component_name : COMPONENT NAME")
def component_name(build: Builder, word: Token, name: Token) -> tuple[Any, ...]:
    return word.start, False, False, False, name


@rule("component_name : visibility COMPONENT NAME")
def visible_component_name(build: Builder, visibility: Token, word: Token, name: Token) -> tuple[Any, ...]:
    return visibility.start, visibility.type == "PRIVATE", False, False, name


@rule(
    "declaration : component_name parameter_list effects EQ expression",
    "declaration : component_name parameter_list effects EQ error",
)
def component_of_expression(
    build: Builder, named: tuple[Any, ...], parameters: Any, effects: Any, sign: Token, body: Expression
) -> Node:
    return _component(build, named, parameters, effects, body)


@rule("declaration : component_name parameter_list effects block")
def component_of_block(build: Builder, named: tuple[Any, ...], parameters: Any, effects: Any, body: Block) -> Node:
    return _component(build, named, parameters, effects, body)


@rule("declaration : component_name error", "declaration : component_name error block")
def broken_component(build: Builder, named: tuple[Any, ...], broken: Invalid, *block: Block) -> Node:
    return _component(build, named, ([], named[4].end), None, broken)


def _component(
    build: Builder,
    named: tuple[Any, ...],
    parameters: tuple[list[Parameter], int],
    effects: list[str] | None,
    body: Expression,
) -> Node:
    name: Token = named[4]
    if not name.value[:1].isupper():
        build.error(
            "Q0116",
            f"a component's name begins with a capital letter: `{name.value[:1].upper()}{name.value[1:]}`",
            name.start,
            name.end,
        )
    function = _function(build, named, parameters, (None, None, -1), effects, body)
    return Component(function.start, function.end, function)


@rule("declaration : ROUTE METHOD PATH effects EQ expression", "declaration : ROUTE METHOD PATH effects EQ error")
def route_of_expression(
    build: Builder, word: Token, method: Token, path: Token, effects: Any, sign: Token, body: Expression
) -> Node:
    return _route(build, word, method, path, effects, body)


@rule("declaration : ROUTE METHOD PATH effects block")
def route_of_block(build: Builder, word: Token, method: Token, path: Token, effects: Any, body: Block) -> Node:
    return _route(build, word, method, path, effects, body)


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _route(
    build: Builder, word: Token, method: Token, path: Token, effects: list[str] | None, body: Expression
) -> Node:
    if method.value not in _METHODS:
        upper = method.value.upper()
        if upper in _METHODS:
            message = f"`{method.value}` is no method: methods are written in capital letters, `{upper}`"
        elif upper == "HEAD":
            message = "`HEAD` needs no route: it answers as `GET` does"
        else:
            message = f"`{method.value}` is no method: they are `GET`, `POST`, `PUT`, `PATCH` and `DELETE`"
        build.error("Q0109", message, method.start, method.end)
    parts = path_parts(build, path)
    function = make_function(build, word.start, None, path_parameters(parts), body, path.end, effects=effects)
    function.doc = build.doc(word.start)
    return Route(word.start, body.end, method.value, path.value, parts, function)


@rule("declaration : BUILD TEXT EQ expression", "declaration : BUILD TEXT EQ error")
def build_declaration(build: Builder, word: Token, path: Token, sign: Token, value: Expression) -> Node:
    if not path.value.startswith("/"):
        build.error("Q0109", 'the path of a `build` begins with `/`, as in `"/app.css"`', path.start, path.end)
    function = make_function(build, word.start, None, [], value, path.end)
    function.doc = build.doc(word.start)
    return Build(word.start, value.end, path.value, function)


@rule("declaration : SERVICE PATH EQ TEXT", "declaration : SERVICE MCP PATH EQ TEXT")
def service(build: Builder, word: Token, *rest: Token) -> Node:
    path, target = rest[-3], rest[-1]
    mcp = len(rest) > 3
    name = path.value.removeprefix("/")
    if not name.isidentifier() or not name.isascii():
        build.error(
            "Q0109",
            "a service's path is `/` and a name of letters, digits and `_`, as in `/billing`",
            path.start,
            path.end,
        )
    build.doc(word.start)
    return Service(word.start, target.end, path.value, target.value, mcp)


@rule("declaration : TEST TEXT block")
def test(build: Builder, word: Token, name: Token, body: Block) -> Node:
    function = make_function(build, word.start, None, [], body, name.end)
    function.doc = build.doc(word.start)
    return Test(word.start, body.end, name.value, function)


@rule("declaration : USE TEXT", "declaration : USE TEXT AS NAME")
def use(build: Builder, word: Token, path: Token, *alias: Token) -> Node:
    end = alias[-1].end if alias else path.end
    return Use(word.start, end, path.value, alias[-1].value if alias else None, None, path.start)


@rule("declaration : IMPORT PATH USE used_names")
def import_names(build: Builder, word: Token, path: Token, use: Token, names: list[tuple[str, int]]) -> Node:
    last, place = names[-1]
    return Use(word.start, place + len(last), path.value, None, names, path.start)


@rule("used_names : NAME")
def first_used_name(build: Builder, name: Token) -> list[tuple[str, int]]:
    return [(name.value, name.start)]


@rule("used_names : used_names COMMA NAME")
def next_used_name(build: Builder, names: list[tuple[str, int]], comma: Token, name: Token) -> list[tuple[str, int]]:
    names.append((name.value, name.start))
    return names


def fingerprint() -> int:
    """Tells rules and precedence from any other: what `tables.py` was made from has to have the same."""
    return crc32("\n".join([START, *RULES, *(" ".join(level) for level in PRECEDENCE)]).encode())


__all__ = ["ACTIONS", "PRECEDENCE", "RULES", "START", "fingerprint", "grammar_markup"]
