"""The lexer: what a text is cut into, mode by mode, and what it says about text that can't be cut."""

from __future__ import annotations

import pytest

from compiler.diagnostics import Diagnostics
from compiler.lexer import Lexer
from compiler.parser import parse
from compiler.source import Source
from compiler.tokens import Token
from tests.trees import mistakes


def tokens(text: str) -> list[Token]:
    """All tokens of a text but the last, END; the text has to be without mistakes."""
    reports: list[str] = []
    lexer = Lexer(Source("main.qwe", text), lambda code, message, *rest: reports.append(message))
    found = []
    while (token := lexer.next_token()).type != "END":
        found.append(token)
    assert not reports
    return found


def types(text: str) -> str:
    return " ".join(token.type for token in tokens(text))


# --- words, numbers, texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("1_000", 1000),
        ("0xff", 255),
        ("0xF_f", 255),
        ("0b1_01", 5),
        ("9223372036854775807", 2**63 - 1),
        ("1.5", 1.5),
        ("1_0.2_5", 10.25),
        ("1e-9", 1e-9),
        ("1e5", 100000.0),
        ("2.0e3", 2000.0),
        ("1E+2", 100.0),
    ],
)
def test_a_number_has_the_value_that_it_spells(text: str, value: float) -> None:
    (token,) = tokens(text)
    assert (token.type, token.value) == ("FLOAT" if isinstance(value, float) else "INT", value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.", "a float needs a digit after the point, as in `1.0`"),
        ("1. + 2", "a float needs a digit after the point, as in `1.0`"),
        ("1.e5", "a float needs a digit after the point, as in `1.0`"),
        (".5", "a float needs a digit before the point, as in `0.5`"),
        ("007", "a number does not begin with 0: write `7`"),
        ("00", "a number does not begin with 0: write `0`"),
        ("0xg", "`0xg` is no number: after `0x` stand the digits 0-9 and a-f, as in `0xff`"),
        ("0x", "`0x` is no number: after `0x` stand the digits 0-9 and a-f, as in `0xff`"),
        ("0b12", "`0b12` is no number: after `0b` stand only 0 and 1, as in `0b101`"),
        ("0o17", "`0o17` is no number: octal ones are not there, write it as `0x…` or in tens"),
        ("1__0", "`1__0` is no number: a `_` stands between two digits, as in `1_000`"),
        ("1_", "`1_` is no number: a `_` stands between two digits, as in `1_000`"),
        ("12abc", "`12abc` is neither a number nor a name: a name does not begin with a digit"),
        ("1e", "`1e` is no number: digits are missing after the `e`, as in `1e5`"),
        (
            "9223372036854775808",
            "`9223372036854775808` is too big: whole numbers go from -9223372036854775808 to 9223372036854775807",
        ),
        (
            "1 - 9223372036854775808",
            "`9223372036854775808` is too big: whole numbers go from -9223372036854775808 to 9223372036854775807",
        ),
        ("1e999", "`1e999` is too big for a float: they go up to about 1.8e308"),
        (
            "9" * 5000,
            f"`{'9' * 36}…` is too big: whole numbers go from -9223372036854775808 to 9223372036854775807",
        ),
    ],
)
def test_what_is_no_number_is_told_once_in_its_own_words(text: str, message: str) -> None:
    (found,) = mistakes(f"let x = {text}\nlet y = 1")
    assert found.startswith("1:")
    assert found.endswith(f" Q0004 {message}")


def test_a_range_of_numbers_is_no_float() -> None:
    assert types("1..2") == "INT RANGE INT"


def test_escapes_of_a_text_stand_for_what_they_say() -> None:
    (token,) = tokens(r'"\n\r\t\\\"\'\0\u{1F600}é"')
    assert token.value == "\n\r\t\\\"'\0\U0001f600é"


def test_a_template_has_two_escapes_of_its_own() -> None:
    assert [token.value for token in tokens(r"`\`\${}$ $x\n`")[1:-1]] == ["`${}$ $x\n"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (
            r'"a\q"',
            3,
            r"`\q` is no escape: `\n` `\r` `\t` `\\` `\"` `\'` `\0` `\u{…}` are; a `\` itself is written `\\`",
        ),
        (
            r'"\$"',
            2,
            r"`\$` is no escape: `\n` `\r` `\t` `\\` `\"` `\'` `\0` `\u{…}` are; a `\` itself is written `\\`",
        ),
        (r'"\u12"', 2, r"`\u` needs a code point in braces, such as `\u{1F600}`"),
        (r'"\u{110000}"', 2, r"`\u{110000}` is no code point: they go from 0 to 10FFFF, without D800 to DFFF"),
        (r'"\u{D800}"', 2, r"`\u{D800}` is no code point: they go from 0 to 10FFFF, without D800 to DFFF"),
        (r'"\u{}"', 2, r"`\u{}` is no code point: they go from 0 to 10FFFF, without D800 to DFFF"),
        (
            r"`${1}\q`",
            6,
            r"`\q` is no escape: `\n` `\r` `\t` `\\` `\"` `\'` `\0` `\u{…}` are; a `\` itself is written `\\`",
        ),
    ],
)
def test_a_wrong_escape_is_told_at_its_place(text: str, place: int, message: str) -> None:
    assert mistakes(text) == [f"1:{place} Q0003 {message}"]


def test_words_that_begin_declarations_are_names_where_none_may_begin() -> None:
    for word in ("build", "component", "import", "private", "public", "reply", "route", "server", "service", "state"):
        assert types(f"f({word}, {word}.a)") == "NAME CALL NAME COMMA NAME DOT NAME RPAREN"
        assert types(f"{word} = 1") == "NAME EQ INT"
        assert types(f"{word} in xs") == "NAME IN NAME"
        assert types(f"{word}(1)") == "NAME CALL INT RPAREN"
    for word in ("type", "use", "test", "with", "mcp", "sql", "as"):
        assert types(f"{word} = {word} + 1") == "NAME EQ NAME PLUS INT"
        assert types(f"fn {word}() = 1") == "FN NAME PARAMETERS RPAREN EQ INT"


def test_any_word_names_a_field_or_an_argument() -> None:
    assert types("a.if?.match") == "NAME DOT NAME QDOT NAME"
    assert types("f(in: 1, null: 2)") == "NAME CALL NAME COLON INT COMMA NAME COLON INT RPAREN"
    assert types("x = { type: 1, true: 2, fn : 3 }") == (
        "NAME EQ RECORD NAME COLON INT COMMA NAME COLON INT COMMA NAME COLON INT RBRACE"
    )
    assert types("type T = { for?: int }") == "TYPE NAME EQ RECORD NAME QUESTION COLON NAME RBRACE"


def test_assert_and_test_are_statements_only_before_what_they_take() -> None:
    assert types('test "adds" { assert a }').startswith("TEST TEXT BLOCK ASSERT NAME")
    assert types("test = 1") == "NAME EQ INT"
    assert types("test(1)") == "NAME CALL INT RPAREN"
    for operand in ("a", "1", '"t"', "`t`", "(a)", "[a]", "{ a }", "!a", "-a", "<p/>"):
        assert types(f"assert {operand}").startswith("ASSERT ")
    assert types("assert(a) == b") == "ASSERT LPAREN NAME RPAREN EQUALITY NAME"
    for ordinary in ("= 1", ".x", "[0]", "- 1", "== 1", "in xs", "!= 1"):
        separator = "" if ordinary[0] in ".[" else " "
        assert types(f"assert{separator}{ordinary}").startswith("NAME ")


# --- lines --------------------------------------------------------------------------------------------------------


def test_a_line_break_ends_a_statement_and_never_stands_first_last_or_twice() -> None:
    assert types("\n\na\n\n\nb // c\n\n") == "NAME NL NAME"
    assert types("while a {\n\n b\n\n}\n") == "WHILE NAME BLOCK NAME RBRACE"
    assert types("while a { b; ; c; }") == "WHILE NAME BLOCK NAME NL NAME RBRACE"
    assert types(";;a;;b;;") == "NAME NL NAME"


@pytest.mark.parametrize(
    "sign", ["+", "-", "*", "==", "in", "..", "&&", "||", "|", "??", "<", ">=", ",", "=", "=>", "->", "."]
)
def test_a_line_that_ends_in_an_operator_goes_on(sign: str) -> None:
    assert "NL" not in types(f"a {sign}\n  b").split()


@pytest.mark.parametrize("sign", [".b", "?.b", "| b", "?? b", "&& b", "|| b", "else {}"])
def test_a_line_that_begins_with_an_operator_goes_on_the_line_before(sign: str) -> None:
    assert "NL" not in types(f"a\n  // not this\n\n  {sign}").split()


@pytest.mark.parametrize("sign", ["+ b", "- b", "(b)", "[b]", "{ b }", "<p/>", "..b", "elsewhere", "&x"[1:]])
def test_other_lines_begin_a_statement(sign: str) -> None:
    assert "NL" in types(f"a\n  {sign}").split()


def test_brackets_join_lines_but_a_block_in_them_does_not() -> None:
    assert types("f(a\n,\nb\n)") == "NAME CALL NAME COMMA NAME RPAREN"
    assert types("f(x => {\na\nb\n})") == "NAME CALL NAME ARROW BLOCK NAME NL NAME RBRACE RPAREN"
    assert types("x = {\na: 1,\nb: 2\n}") == "NAME EQ RECORD NAME COLON INT COMMA NAME COLON INT RBRACE"


def test_a_closing_angle_and_a_path_end_their_line() -> None:
    assert types("let a: list<int>\nb").endswith("NAME TLT NAME TGT NL NAME")
    assert types("<p/>\nb") == "TAG EMPTY_END NL NAME"
    assert types("a >\nb") == "NAME COMPARE NAME"
    assert types("import a/*\nb") == "IMPORT PATH NL NAME"


def test_a_call_and_an_index_stand_on_the_line_of_what_they_follow() -> None:
    assert types("[a\n(b)]") == "LIST NAME LPAREN NAME RPAREN RBRACKET"
    assert types("[a\n[b]]") == "LIST NAME LIST NAME RBRACKET RBRACKET"
    assert types("a (b)") == "NAME CALL NAME RPAREN"


# --- brackets, arrows and angles ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a)", "LPAREN"),
        ("(a) => b", "LAMBDA"),
        ("() => b", "LAMBDA"),
        ("(a, b) => c", "LAMBDA"),
        ("(a: int) => c", "LAMBDA"),
        ("(a = 1) => c", "LAMBDA"),
        ("(a == 1)", "LPAREN"),
        ("(a /* , */ + b)", "LPAREN"),
        ("( // one\n a, b) => c", "LAMBDA"),
        ("((a) => b)", "LPAREN LAMBDA"),
    ],
)
def test_a_round_bracket_is_a_lambdas_where_its_start_says_so(text: str, expected: str) -> None:
    assert types(text).startswith(expected)


def test_in_a_head_an_arrow_is_the_heads_own() -> None:
    assert types("for x in (xs) => x") == "FOR NAME IN LPAREN NAME RPAREN THEN NAME"
    assert types("match a { n if (n) => x => y }") == (
        "MATCH NAME ARMS NAME IF LPAREN NAME RPAREN THEN NAME ARROW NAME RBRACE"
    )
    assert types("for x in f(y => y) => x") == "FOR NAME IN NAME CALL NAME ARROW NAME RPAREN THEN NAME"


@pytest.mark.parametrize(
    ("text", "brace"),
    [
        ("x = {}", "RECORD"),
        ("{ a }", "RECORD"),
        ("f(a => {})", "RECORD"),
        ("a => { b: 1 }", "RECORD"),
        ("a => { b, c }", "RECORD"),
        ('a => { "b": 1 }', "RECORD"),
        ("a => { ...b }", "RECORD"),
        ("a => { // why\n b: 1 }", "RECORD"),
        ("a => { b }", "BLOCK"),
        ("a => { b() }", "BLOCK"),
        ('a => { "b" }', "BLOCK"),
        ("if a { b }", "BLOCK"),
        ("fn f() { a }", "BLOCK"),
        ("fn f() -> int { a }", "BLOCK"),
        ("fn f() -> { a: int } = b", "RECORD"),
        ("match a { b => c }", "ARMS"),
        ("match if a { b } else { c } { d => e }", "BLOCK"),
        ("return { a }", "RECORD"),
        ("reply 404 { a }", "RECORD"),
        ("let { a } = b", "RECORD"),
    ],
)
def test_a_curly_bracket_is_told_from_where_it_stands(text: str, brace: str) -> None:
    kinds = [token.type for token in tokens(text) if token.type in ("RECORD", "BLOCK", "ARMS")]
    assert kinds[0] == brace


def test_an_angle_opens_a_type_argument_only_in_a_type() -> None:
    assert types("list < 3") == "NAME COMPARE INT"
    assert types("let a: list<map<int>>= b") == "LET NAME COLON NAME TLT NAME TLT NAME TGT TGT EQ NAME"
    assert types("fn f(a: list<int> = b < c) = 1").count("COMPARE") == 1
    assert types("x = { a: list < 3 }").count("COMPARE") == 1


def test_an_angle_begins_a_tag_only_where_an_operand_may_begin() -> None:
    assert types("a <b") == "NAME COMPARE NAME"
    for before in ("", "x = ", "f(", "return ", "[1, ", "a => ", "x || ", "reply 200 "):
        text = before + "<b/>" + {"f(": ")", "[1, ": "]"}.get(before, "")
        assert "TAG EMPTY_END" in types(text)


# --- templates and markup -----------------------------------------------------------------------------------------


def test_a_template_is_text_and_code_in_turn() -> None:
    assert types("`a ${b} c`") == "TEMPLATE TEMPLATE_TEXT HOLE NAME RBRACE TEMPLATE_TEXT TEMPLATE_END"
    assert types("sql`${a}`") == "SQL HOLE NAME RBRACE TEMPLATE_END"
    assert types("`${`${a}`}`") == "TEMPLATE HOLE TEMPLATE HOLE NAME RBRACE TEMPLATE_END RBRACE TEMPLATE_END"
    assert types("sql `a`") == "NAME TEMPLATE TEMPLATE_TEXT TEMPLATE_END"


def test_comments_are_none_in_paths_attributes_and_text() -> None:
    assert [t.value for t in tokens("route GET /a//b/*c = 1") if t.type == "PATH"] == ["/a//b/*c"]
    assert [t.value for t in tokens("<a href=//x/*y>a // b /* c</a>") if t.type in ("ATTRIBUTE", "MARKUP_TEXT")] == [
        ("href", "//x/*y"),
        "a // b /* c",
    ]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ('a="x y"', ("a", "x y")),
        ("a='x \"y\"'", ("a", 'x "y"')),
        ("a = x", ("a", "x")),
        ("a=x/y", ("a", "x/y")),
        ("a", ("a", True)),
        ("data-a.b:c", ("data-a.b:c", True)),
        ('a="x\n  y"', ("a", "x\n  y")),
        (r'a="\n"', ("a", r"\n")),
    ],
)
def test_an_attributes_value_is_taken_as_it_stands(attribute: str, value: object) -> None:
    for end in (">", "/>", " >"):
        found = [token.value for token in tokens(f"<br {attribute}{end}") if token.type == "ATTRIBUTE"]
        assert found == [value]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>a  b\n c</p>", ["a b c"]),
        ("<p>\n  a\n</p>", ["a"]),
        ("<p> a </p>", [" a "]),
        ("<p>\n</p>", []),
        ("<p> </p>", [" "]),
        ("<p>a\n<b>c</b>\nd</p>", ["a", "c", "d"]),
        ("<p>a <b>c</b> d</p>", ["a ", "c", " d"]),
        ("<p>\n{a}\n{b}\n</p>", [" "]),
        ("<p>\n a {b}\n c</p>", ["a ", " c"]),
        ("<p>a <!-- x --> b</p>", ["a b"]),
        ("<p>\n<!-- x -->\n</p>", []),
        ("<p>a&nbsp;\xa0 b</p>", ["a&nbsp;\xa0 b"]),
        ("<p>1 < 2 <3 <= } ></p>", ["1 < 2 <3 <= } >"]),
        ("<pre>\n a\n</pre>", ["\n a\n"]),
        ("<pre><b> a\n</b></pre>", [" a\n"]),
    ],
)
def test_white_space_between_tags_is_folded(text: str, expected: list[str]) -> None:
    assert [token.value for token in tokens(text) if token.type == "MARKUP_TEXT"] == expected


def test_scripts_and_styles_are_taken_as_they_stand() -> None:
    for name in ("script", "style"):
        raw = "\n a < b { c } <p> </b> `${\n"
        found = tokens(f"<{name} async>{raw}</{name}>")
        assert [token.type for token in found] == ["TAG", "ATTRIBUTE", "TAG_END", "RAW_TEXT", "END_TAG"]
        assert found[3].value == raw


# --- comments, `///` and `//!` ------------------------------------------------------------------------------------


def test_comments_nest_and_are_kept_with_their_places() -> None:
    text = "/* a /* b */ c */ x // d\n/// e\nfn f() = 1 /// f\n<p><!-- g --></p>"
    file = parse(Source("main.qwe", text), Diagnostics())
    assert [text[start:end] for start, end in file.comments] == [
        "/* a /* b */ c */",
        "// d",
        "/// e",
        "/// f",
        "<!-- g -->",
    ]


def test_a_comment_never_closed_is_told_at_its_start() -> None:
    assert mistakes("x\n /* a /* b */\nlet = 2") == ["2:2 Q0005 this comment is never closed: `*/` is missing"]
    assert mistakes("x = <p>a <!-- b</p>")[0] == "1:10 Q0005 this comment is never closed: `-->` is missing"


def notes(text: str) -> tuple[str, int] | None:
    return parse(Source("main.qwe", text), Diagnostics()).notes


def test_the_notes_stand_at_the_top_behind_blank_lines_and_comments_only() -> None:
    assert notes("//! One.\n//!Two.\n//!\n//!  Three.\nx") == ("One.\nTwo.\n\n Three.", 0)
    assert notes("\n// c\n/* d */\n//// e\n  //! One.\nx") == ("One.", 23)
    for before in ("/// doc\nfn f() = 1\n", 'use "a.qwe"\n', "x\n"):
        assert notes(before + "//! late") is None
    assert notes("") is None


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\u200b", "U+200B (a zero-width character)"),
        ("\u202e", "U+202E (a bidirectional mark)"),
        ("\u2066", "U+2066 (a bidirectional mark)"),
        ("\x07", "U+0007 (a control character)"),
        ("\r", "U+000D (a control character)"),
        ("\x85", "U+0085 (a control character)"),
        ("\u00ad", "U+00AD (a zero-width character)"),
        ("\ufeff", "U+FEFF (a zero-width character)"),
        ("\U000e0041", "U+E0041 (a zero-width character)"),
    ],
)
def test_what_a_reader_does_not_see_is_refused_in_the_notes(character: str, name: str) -> None:
    assert mistakes(f"//! One.\n//! a{character}b\nx") == [
        f"2:6 Q0020 the `//!` block holds {name}, which a reader does not see: delete it"
    ]
    assert mistakes(f"// a{character}b".replace("\r", "") + '\nprint("tab\there")\n//! Tab\tand é 😀') == []


def test_a_doc_comment_belongs_to_the_definition_below_it() -> None:
    text = "/// One.\n///  Two.\n///\n\n// between\nprivate fn f() = 1\n/// T.\ntype T = int\n/// L.\nlet x = 1\n"
    file = parse(Source("main.qwe", text), Diagnostics())
    assert [statement.doc for statement in file.statements] == ["One.\n Two.\n", "T.", "L."]  # type: ignore[attr-defined]


@pytest.mark.parametrize("definition", ["route GET / = 1", "component A() = <p/>", 'test "a" {}', 'build "/a" = 1'])
def test_other_definitions_can_be_documented_too(definition: str) -> None:
    assert mistakes(f"/// Says it.\n{definition}") == []


@pytest.mark.parametrize("text", ["/// a\nprint(1)", "/// a", "print(1) /// a\nfn f() = 1", '/// a\nuse "b.qwe"'])
def test_a_doc_comment_of_nothing_is_a_warning(text: str) -> None:
    (found,) = mistakes(text)
    assert found.endswith("Q0111 this `///` documents nothing: no definition stands below it")
    assert mistakes(text.replace("///", "////")) == []


# --- characters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x # y", "1:3 Q0001 `#` begins no comment here: comments begin with `//`"),
        ("x = 'it is'", "1:5 Q0001 a text stands between `\"`, not between `'`"),
        ("x = a & b", "1:7 Q0001 there is no `&` here: and is written `&&`"),
        ("x = $a", "1:5 Q0001 `$` has no place in code"),
        ("x\u00a0= 1", "1:2 Q0001 U+00A0 (a special space) has no place in code: delete it, or write a space"),
        ("x =\u200b 1", "1:4 Q0001 U+200B (a zero-width character) has no place in code: delete it, or write a space"),
        ("x = é", "1:5 Q0001 `é` has no place in code"),
        ("x = \x00", "1:5 Q0001 U+0000 (a control character) has no place in code: delete it, or write a space"),
    ],
)
def test_a_character_without_a_place_in_code_is_told_once(text: str, message: str) -> None:
    assert mistakes(f"{text}\nlet y = 1")[0] == message


def test_a_text_ends_on_its_line() -> None:
    assert mistakes('let x = "a\nlet y = 1\nprint("b)\nprint(2)') == [
        "1:9 Q0002 this text is not closed: a `\"` is missing before the line's end",
        "3:7 Q0002 this text is not closed: a `\"` is missing before the line's end",
    ]
