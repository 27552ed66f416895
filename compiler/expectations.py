"""The words of a syntax error: what was found, what would have fitted, and what people of other languages meant."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.tokens import KEYWORDS, Token, types

# What the parser could go on with, from what it names first to what it names last.
_NAMES = {
    "NAME": "a name",
    "INT": "a number",
    "FLOAT": "a number",
    "TEXT": "a text",
    "METHOD": "a method such as `GET`",
    "PATH": "a path",
    "STATUS": "a status (a whole number or a name)",
    "FN": "`fn`",
    "TYPE": "`type`",
    "LET": "`let`",
    "COMPONENT": "`component`",
    "SERVER": "`server`",
    "IN": "`in`",
    "USE": "`use`",
    "PARAMETERS": "`(`",
    "RARROW": "`->`",
    "BANG": "`!`",
    "WITH": "`with`",
    "COLON": "`:`",
    "EQ": "`=`",
    "ARROW": "`=>`",
    "THEN": "`=>`",
    "IF": "`if`",
    "PIPE": "`|`",
    "DOT": "`.`",
    "COMMA": "`,`",
    "ELLIPSIS": "`...`",
    "BLOCK": "a block's `{`",
    "ARMS": "the `{` of the arms",
    "TGT": "`>`",
    "RPAREN": "`)`",
    "RBRACKET": "`]`",
    "RBRACE": "`}`",
    "NL": "the line's end",
    "TAG": "an element",
}
_ORDER = {name: place for place, name in enumerate(_NAMES)}
_BEGINS_EXPRESSION = types(
    "NAME INT FLOAT TEXT TRUE FALSE NULL LPAREN LIST RECORD MINUS BANG TEMPLATE SQL TAG DOCTYPE FN IF MATCH FOR LAMBDA"
)
_BEGINS_STATEMENT = _BEGINS_EXPRESSION | types(
    "ASSERT BREAK BUILD COMPONENT CONTINUE IMPORT LET PRIVATE PUBLIC REPLY RETURN ROUTE SERVER SERVICE "
    "STATE TEST TYPE USE WHILE"
)
_BEGINS_TYPE = types("NAME INT FLOAT TEXT TRUE FALSE NULL LPAREN RECORD MINUS FN PIPE")
_BEGINS_PATTERN = types("NAME INT FLOAT TEXT TRUE FALSE NULL LIST RECORD MINUS")
_OPERATORS = types("COALESCE OR AND EQUALITY IN COMPARE RANGE PLUS MINUS TIMES")
_POSTFIX = types("CALL DOT QDOT INDEX QUESTION")


def expected(acceptable: Iterable[str]) -> str:
    """What would have fitted, as in "`:` or `=`", from the types of the tokens that the parser could go on with."""
    left = set(acceptable) - {"error"}
    words: list[str] = []
    if "TEMPLATE" in left and "LET" in left:
        words.append("a statement")
        left -= _BEGINS_STATEMENT
        left.discard("END")
    elif "TEMPLATE" in left:
        words.append("an expression")
        left -= _BEGINS_EXPRESSION
    elif {"RECORD", "NULL", "LPAREN"} <= left:
        words.append("a type")
        left -= _BEGINS_TYPE
    elif {"LIST", "NULL"} <= left:
        words.append("a name or a pattern")
        left -= _BEGINS_PATTERN
    elif "PLUS" in left:
        if left <= _OPERATORS | _POSTFIX | {"PIPE", "NL", "END", "RBRACE", "EQ", "ASSIGN", "ARROW"}:
            words.append("an operator")
        # What would make a lambda, an argument's name or an assignment of what stands before is rarely meant.
        left -= _OPERATORS | _POSTFIX | {"PIPE", "ARROW", "COLON", "EQ", "ASSIGN"}
    elif "QUESTION" in left:
        left -= {"QUESTION", "PIPE", "DOT", "TLT"}
    if words:
        left.discard("ELLIPSIS")
    if "END" in left:
        left.discard("END")
        left.add("NL")
    if "NL" in left:
        left.discard("RBRACE")
        if "COMMA" in left:
            left.discard("COMMA")
    for type in sorted(left, key=lambda type: _ORDER.get(type, 99)):
        word = _NAMES.get(type)
        if word is not None and word not in words:
            words.append(word)
    if not words:
        return ""
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}"


def found(token: Token, text: str) -> str:
    """What a token is called in a sentence."""
    type = token.type
    if type == "NL":
        return "`;`" if token.value == ";" else "the line's end"
    if type == "END":
        return "the file's end"
    spelling = text[token.start : token.end]
    if type in ("INT", "FLOAT") or (type == "STATUS" and spelling[:1].isdigit()):
        return f"the number `{_short(spelling)}`"
    if type == "TEXT":
        return f"the text `{_short(spelling)}`"
    if type in ("NAME", "STATUS", "METHOD"):
        return f"the keyword `{spelling}`" if spelling in KEYWORDS else f"the name `{_short(spelling)}`"
    if type in ("TEMPLATE", "SQL"):
        return "a template"
    if type == "PATH":
        return f"the path `{_short(spelling)}`"
    if type == "TAG":
        return f"the tag `{_short(spelling)}`"
    return f"`{_short(spelling)}`"


def _short(spelling: str) -> str:
    spelling = spelling.split("\n", 1)[0]
    return spelling if len(spelling) <= 40 else spelling[:39] + "…"


# --- what people of other languages write -------------------------------------------------------------------------

_STATEMENT_WORDS = {
    "class": "there are no classes here: a record type and functions do that, `type Point = { x: int, y: int }`",
    "struct": "a record type is written `type Point = { x: int, y: int }` here",
    "interface": "a record type is written `type Point = { x: int, y: int }` here",
    "enum": 'a choice is written `type Color = "red" | "green"` here',
    "const": "`const` is written `let` here",
    "var": "`var` is written `let` here",
    "function": "`function` is written `fn` here",
    "def": "`def` is written `fn` here",
    "func": "`func` is written `fn` here",
    "fun": "`fun` is written `fn` here",
    "elif": "`elif` is written `else if` here, on the line of the `}`",
    "elsif": "`elsif` is written `else if` here, on the line of the `}`",
    "elseif": "`elseif` is written `else if` here, on the line of the `}`",
    "unless": "`unless c` is written `if !c` here",
    "until": "`until c` is written `while !c` here",
    "foreach": "`foreach` is written `for x in xs` here",
    "switch": "`switch` is written `match v { 1 => …, _ => … }` here",
    "case": "the arms of a `match` are written `1 => …` here",
    "do": "there is no `do` here: a loop is `while c { … }` or `for x in xs { … }`",
    "loop": "an endless loop is written `while true { … }` here",
    "try": "errors are values here: handle one with `a ?? b`, `a?` or `match a { err(e) => …, v => … }`",
    "catch": "errors are values here: handle one with `a ?? b`, `a?` or `match a { err(e) => …, v => … }`",
    "except": "errors are values here: handle one with `a ?? b`, `a?` or `match a { err(e) => …, v => … }`",
    "throw": 'an error is given with `return err("…")` here',
    "raise": 'an error is given with `return err("…")` here',
    "async": "there is no `async` here: what waits never stops other requests",
    "await": "there is no `await` here: what waits never stops other requests",
    "export": "there is no `export` here: what is not `private` can be used by other files",
    "pub": "`pub` is written `public` here, and may be left out",
    "from": 'names of another file come with `use "lib.qwe"` or `import lib.qwe use a, b`',
    "import": 'a file is used with `use "lib.qwe"` or `import lib.qwe use a, b`',
    "new": "there is no `new` here: a record is written `{ x: 1, y: 2 }`",
    "print": "`print` is a function: `print(…)`",
    "echo": "`echo` is written `print(…)` here",
    "lambda": "a lambda is written `x => …` here",
    "delete": "nothing is deleted in place here: `without(record, key)` and `remove(list, place)` give a new value",
    "with": "`with` stands in the head of a function only, before its effects",
    "select": 'SQL stands in a text: `db.query("select …")`',
}
_OPERATOR_WORDS = {
    "of": "`for x of xs` is written `for x in xs` here",
    "from": 'names of another file come with `use "lib.qwe"` or `import lib.qwe use a, b`',
    "and": "`and` is written `&&` here",
    "or": "`or` is written `||` here",
    "not": "`not` is written `!` here",
    "is": "`is` is written `==` here: it compares by content",
    "instanceof": 'the kind of a value is given by `type_of(x)`, as in `type_of(x) == "int"`',
    "then": "`then` is not written here: a block stands in `{ … }`",
    "do": "`do` is not written here: a block stands in `{ … }`",
    "div": "whole numbers are divided with `/` here",
    "mod": "the rest of a division is `%` here",
    "as": "there is no `as` here but after `use`: `int(x)`, `float(x)` and `str(x)` turn one kind into another",
    "xor": "`xor` of two bools is written `a != b` here",
    "elif": "`elif` is written `else if` here",
    "elsif": "`elsif` is written `else if` here",
    "elseif": "`elseif` is written `else if` here",
    "catch": "errors are values here: handle one with `a ?? b`, `a?` or `match a { err(e) => …, v => … }`",
}


def advice(before: Token | None, token: Token, text: str, begins: bool) -> str:
    """What was meant where a word or sign of another language stands, or "".

    `before` is the token before the one that does not fit, `begins` whether it began its statement.
    """
    word = text[token.start : token.end]
    if token.type in ("NAME", "AS") and word in _OPERATOR_WORDS and not begins:
        return _OPERATOR_WORDS[word]
    if before is None:
        return ""
    if before.type == "IMPORT" and token.type == "TEXT":
        return "after `import` a path stands without quotes, as in `import lib.qwe use a, b`"
    if before.type == "USE" and token.type == "NAME":
        return 'after `use` a path stands in quotes, as in `use "lib.qwe"`'
    earlier = text[before.start : before.end]
    if before.type in ("NAME", "BAD") and earlier in _STATEMENT_WORDS:
        return _STATEMENT_WORDS[earlier]
    if before.type == "NAME" and earlier in ("f", "r", "b") and token.type == "TEXT" and before.end == token.start:
        return "a text with values in it is written `` `…${value}…` `` here"
    if before.type == token.type == "TEXT" and before.end == token.start:
        return "a text that runs over lines stands between backticks: `` `…` ``"
    if before.type == "FOR" and token.type == "LPAREN":
        return "a loop is written `for x in xs { … }` or `for i in 0..10 { … }` here"
    if before.type == "QUESTION" and token.type in _BEGINS_EXPRESSION:
        return "there is no `a ? b : c` here: write `if a { b } else { c }`"
    if token.type == "RARROW":
        return "a lambda and an arm are written with `=>` here"
    if before.type == "NAME" and token.type == "INDEX" and text.startswith("[]", token.start):
        return f"a list of `{earlier}` is written `list<{earlier}>` here"
    return ""
