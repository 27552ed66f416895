"""Rules for types as written and for patterns, and how their nodes are built."""

from __future__ import annotations

from typing import Any

from compiler.productions import Builder, rule, same
from compiler.syntax import (
    ErrPattern,
    FieldPattern,
    FunctionType,
    ListPattern,
    LiteralPattern,
    LiteralType,
    NamedType,
    NamePattern,
    OptionalType,
    OrPattern,
    Pattern,
    RecordPattern,
    RecordType,
    TypeField,
    TypeNode,
    UnionType,
    Wildcard,
)
from compiler.tokens import KEYWORDS, Token

# --- types --------------------------------------------------------------------------------------------------------

same("type : union")


@rule("type : PIPE union")
def leading_bar(build: Builder, bar: Token, union: TypeNode) -> TypeNode:
    build.error("Q0105", "a type does not begin with `|`: leave the first one out", bar.start, bar.end)
    return union


same("union : type_member %prec LAMBDA")


@rule("union : union PIPE type_member")
def union(build: Builder, left: TypeNode, bar: Token, right: TypeNode) -> TypeNode:
    if type(left) is UnionType and left not in build.grouped:
        left.members.append(right)
        left.end = right.end
        return left
    return UnionType(left.start, right.end, [left, right])


@rule("type_member : NAME")
def named_type(build: Builder, word: Token) -> TypeNode:
    return NamedType(word.start, word.end, word.value, None, [])


@rule("type_member : NAME DOT NAME")
def qualified_type(build: Builder, qualifier: Token, dot: Token, word: Token) -> TypeNode:
    return NamedType(qualifier.start, word.end, word.value, qualifier.value, [])


@rule("type_member : NAME TLT type TGT")
def type_with_argument(build: Builder, word: Token, opening: Token, argument: TypeNode, closing: Token) -> TypeNode:
    if word.value not in ("list", "map"):
        build.error(
            "Q0105",
            f"`{word.value}` takes no type in `<…>`: only `list` and `map` do",
            opening.start,
            closing.end,
        )
        return NamedType(word.start, closing.end, word.value, None, [])
    return NamedType(word.start, closing.end, word.value, None, [argument])


@rule("type_member : TEXT", "type_member : INT", "type_member : FLOAT")
def literal_type(build: Builder, token: Token) -> TypeNode:
    return LiteralType(token.start, token.end, token.value)


@rule("type_member : MINUS INT", "type_member : MINUS FLOAT")
def negative_literal_type(build: Builder, minus: Token, token: Token) -> TypeNode:
    return LiteralType(minus.start, token.end, -token.value)


@rule("type_member : TRUE", "type_member : FALSE", "type_member : NULL")
def word_type(build: Builder, token: Token) -> TypeNode:
    return LiteralType(token.start, token.end, {"TRUE": True, "FALSE": False, "NULL": None}[token.type])


@rule("type_member : type_member QUESTION")
def optional_type(build: Builder, inner: TypeNode, question: Token) -> TypeNode:
    if type(inner) is OptionalType:
        inner.end = question.end
        return inner
    return OptionalType(inner.start, question.end, inner)


@rule("type_member : LPAREN type RPAREN")
def grouped_type(build: Builder, opening: Token, inner: TypeNode, closing: Token) -> TypeNode:
    build.grouped.add(inner)
    return inner


@rule("type_member : FN PARAMETERS RPAREN %prec LAMBDA", "type_member : FN PARAMETERS types RPAREN %prec LAMBDA")
def function_type(build: Builder, word: Token, opening: Token, *rest: Any) -> TypeNode:
    return FunctionType(word.start, rest[-1].end, rest[0] if len(rest) > 1 else [], None)


@rule(
    "type_member : FN PARAMETERS RPAREN RARROW union %prec LAMBDA",
    "type_member : FN PARAMETERS types RPAREN RARROW union %prec LAMBDA",
)
def function_type_with_result(build: Builder, word: Token, opening: Token, *rest: Any) -> TypeNode:
    result: TypeNode = rest[-1]
    return FunctionType(word.start, result.end, rest[0] if len(rest) > 3 else [], result)


@rule("types : type")
def first_type(build: Builder, first: TypeNode) -> list[TypeNode]:
    return [first]


@rule("types : types COMMA type")
def next_type(build: Builder, types: list[TypeNode], comma: Token, one: TypeNode) -> list[TypeNode]:
    types.append(one)
    return types


@rule(
    "type_member : RECORD RBRACE",
    "type_member : RECORD type_fields RBRACE",
    "type_member : RECORD type_fields COMMA RBRACE",
)
def record_type(build: Builder, opening: Token, *rest: Any) -> TypeNode:
    fields: list[TypeField] = rest[0] if len(rest) > 1 else []
    seen: set[str] = set()
    for one in fields:
        if one.name in seen:
            build.error("Q0114", f"the field `{one.name}` is given twice", one.start, one.end)
        seen.add(one.name)
    return RecordType(opening.start, rest[-1].end, fields)


@rule("type_fields : type_field")
def first_type_field(build: Builder, first: TypeField) -> list[TypeField]:
    return [first]


@rule("type_fields : type_fields COMMA type_field")
def next_type_field(build: Builder, fields: list[TypeField], comma: Token, one: TypeField) -> list[TypeField]:
    fields.append(one)
    return fields


@rule("type_field : NAME COLON type", "type_field : TEXT COLON type")
def type_field(build: Builder, key: Token, colon: Token, type: TypeNode) -> TypeField:
    return TypeField(key.start, type.end, key.value, type, False)


@rule("type_field : NAME QUESTION COLON type", "type_field : TEXT QUESTION COLON type")
def optional_type_field(build: Builder, key: Token, question: Token, colon: Token, type: TypeNode) -> TypeField:
    return TypeField(key.start, type.end, key.value, type, True)


# The types of a head: `-> T ! E`. The value is (result, error, where they end).


@rule("results :")
def no_results(build: Builder) -> tuple[None, None, int]:
    return None, None, -1


@rule("results : RARROW type")
def result(build: Builder, arrow: Token, type: TypeNode) -> tuple[TypeNode | None, TypeNode | None, int]:
    return type, None, type.end


@rule("results : RARROW type BANG type")
def result_and_error(
    build: Builder, arrow: Token, type: TypeNode, bang: Token, error: TypeNode
) -> tuple[TypeNode | None, TypeNode | None, int]:
    return type, error, error.end


# --- patterns -----------------------------------------------------------------------------------------------------

same("patterns : pattern")


@rule("patterns : patterns PIPE pattern")
def or_pattern(build: Builder, left: Pattern, bar: Token, right: Pattern) -> Pattern:
    if type(left) is OrPattern:
        left.alternatives.append(right)
        left.end = right.end
        return left
    return OrPattern(left.start, right.end, [left, right])


@rule("pattern : NAME")
def name_pattern(build: Builder, word: Token) -> Pattern:
    if word.value == "_":
        return Wildcard(word.start, word.end)
    return NamePattern(word.start, word.end, word.value)


@rule("pattern : INT", "pattern : FLOAT", "pattern : TEXT")
def literal_pattern(build: Builder, token: Token) -> Pattern:
    return LiteralPattern(token.start, token.end, token.value)


@rule("pattern : MINUS INT", "pattern : MINUS FLOAT")
def negative_pattern(build: Builder, minus: Token, token: Token) -> Pattern:
    return LiteralPattern(minus.start, token.end, -token.value)


@rule("pattern : TRUE", "pattern : FALSE", "pattern : NULL")
def word_pattern(build: Builder, token: Token) -> Pattern:
    return LiteralPattern(token.start, token.end, {"TRUE": True, "FALSE": False, "NULL": None}[token.type])


@rule("pattern : NAME CALL patterns RPAREN")
def error_pattern(build: Builder, word: Token, opening: Token, inner: Pattern, closing: Token) -> Pattern:
    if word.value != "err":
        build.error("Q0108", f"only `err(…)` is a pattern: `{word.value}(…)` is none", word.start, closing.end)
        return Wildcard(word.start, closing.end)
    return ErrPattern(word.start, closing.end, inner)


@rule(
    "pattern : RECORD RBRACE",
    "pattern : RECORD field_patterns RBRACE",
    "pattern : RECORD field_patterns COMMA RBRACE",
)
def record_pattern(build: Builder, opening: Token, *rest: Any) -> Pattern:
    fields: list[FieldPattern] = rest[0] if len(rest) > 1 else []
    names: dict[str, Pattern] = {}
    for one in fields:
        before = names.get(one.name)
        # `{ a, a }` binds one name twice, which is reported as that.
        if before is not None and not _same_name(before, one.pattern):
            build.error("Q0114", f"the field `{one.name}` is taken twice", one.start, one.end)
        names[one.name] = one.pattern
    return RecordPattern(opening.start, rest[-1].end, fields)


def _same_name(a: Pattern, b: Pattern) -> bool:
    return isinstance(a, NamePattern) and isinstance(b, NamePattern) and a.name == b.name


@rule("field_patterns : field_pattern")
def first_field_pattern(build: Builder, first: FieldPattern) -> list[FieldPattern]:
    return [first]


@rule("field_patterns : field_patterns COMMA field_pattern")
def next_field_pattern(
    build: Builder, fields: list[FieldPattern], comma: Token, one: FieldPattern
) -> list[FieldPattern]:
    fields.append(one)
    return fields


@rule("field_pattern : NAME")
def field_pattern_of_name(build: Builder, word: Token) -> FieldPattern:
    return FieldPattern(word.start, word.end, word.value, NamePattern(word.start, word.end, word.value))


@rule("field_pattern : NAME COLON patterns", "field_pattern : TEXT COLON patterns")
def field_pattern(build: Builder, key: Token, colon: Token, pattern: Pattern) -> FieldPattern:
    return FieldPattern(key.start, pattern.end, key.value, pattern)


@rule("pattern : LIST RBRACKET")
def empty_list_pattern(build: Builder, opening: Token, closing: Token) -> Pattern:
    return ListPattern(opening.start, closing.end, [], None)


@rule("pattern : LIST item_patterns RBRACKET", "pattern : LIST item_patterns COMMA RBRACKET")
def list_pattern(build: Builder, opening: Token, items: list[Pattern], *rest: Token) -> Pattern:
    return ListPattern(opening.start, rest[-1].end, items, None)


@rule("pattern : LIST item_patterns COMMA rest_pattern RBRACKET")
def list_pattern_with_rest(
    build: Builder, opening: Token, items: list[Pattern], comma: Token, rest: Pattern, closing: Token
) -> Pattern:
    return ListPattern(opening.start, closing.end, items, rest)


@rule("pattern : LIST rest_pattern RBRACKET")
def list_pattern_of_rest(build: Builder, opening: Token, rest: Pattern, closing: Token) -> Pattern:
    return ListPattern(opening.start, closing.end, [], rest)


@rule("item_patterns : patterns")
def first_item_pattern(build: Builder, first: Pattern) -> list[Pattern]:
    return [first]


@rule("item_patterns : item_patterns COMMA patterns")
def next_item_pattern(build: Builder, items: list[Pattern], comma: Token, one: Pattern) -> list[Pattern]:
    items.append(one)
    return items


@rule("rest_pattern : ELLIPSIS", "rest_pattern : ELLIPSIS NAME")
def rest_pattern(build: Builder, dots: Token, *name: Token) -> Pattern:
    if not name or name[0].value == "_":
        return Wildcard(dots.start, name[0].end if name else dots.end)
    return NamePattern(name[0].start, name[0].end, name[0].value)


def only_names(build: Builder, pattern: Pattern, where: str) -> None:
    """Refuses, after `let` and `for`, a pattern that might not fit: these take names alone, in `{…}` and `[…]` too."""
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        if isinstance(one, RecordPattern):
            waiting.extend(entry.pattern for entry in one.fields)
        elif isinstance(one, ListPattern):
            waiting.extend(one.items)
        elif not isinstance(one, NamePattern | Wildcard):
            build.error(
                "Q0108",
                f"after {where} stands a name, `{{ … }}` or `[ … ]` of names: only `match` can choose by a value",
                one.start,
                one.end,
            )
            return


def refuse_keyword(build: Builder, word: Token, what: str) -> None:
    """Refuses a keyword as the name of a parameter or a variable."""
    if word.value in KEYWORDS:
        build.error("Q0107", f"`{word.value}` is a keyword: {what} can't have it as its name", word.start, word.end)
