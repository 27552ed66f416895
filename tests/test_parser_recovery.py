"""What is said about a text that is no program: each mistake once, at its place, in exact words; and what goes on."""

from __future__ import annotations

import re

import pytest

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.parser import parse
from compiler.source import Source
from tests.trees import mistakes, written

EXPRESSION = "Q0101 expected an expression, found"


# --- one mistake, one report --------------------------------------------------------------------------------------

ONE_MISTAKE = [
    ("let x b = 1", "1:7 Q0101 expected `:` or `=`, found the name `b`"),
    ("let = 3", "1:5 Q0101 expected a name or a pattern, found `=`"),
    ("let let = 3", "1:5 Q0101 `let` is a keyword: nothing can have it as its name"),
    ("let x = * a", f"1:9 {EXPRESSION} `*`"),
    ("let x = a b", "1:11 Q0101 expected an operator or the line's end, found the name `b`"),
    ("let x = 1 2", "1:11 Q0101 expected an operator or the line's end, found the number `2`"),
    ('let x = a "t"', '1:11 Q0101 expected an operator or the line\'s end, found the text `"t"`'),
    ("let x = a;; = b", "1:13 Q0101 expected a statement, found `=`"),
    ("let x = 3 let y = 4", "1:11 Q0101 expected an operator or the line's end, found `let`"),
    ("let x; y", "1:6 Q0101 expected `:` or `=`, found `;`"),
    ("let x =", f"1:8 {EXPRESSION} the file's end"),
    ("let x =\nlet y = 2", f"1:8 {EXPRESSION} the line's end"),
    ("let a = b +\nlet c = 3", f"1:12 {EXPRESSION} the line's end"),
    ("type T =\nfn foo() = 3", "1:9 Q0101 expected a type, found the line's end"),
    ("type T { a: int }", "1:8 Q0101 expected `=`, found `{`"),
    ("type T = { a int }", "1:14 Q0101 expected `:`, found the name `int`"),
    ("let x: list<int = 3", "1:17 Q0101 expected `>`, found `=`"),
    ("f(a b)", "1:5 Q0101 expected `,` or `)`, found the name `b`"),
    ("f(a, , b)", "1:6 Q0101 expected an expression or `)`, found `,`"),
    ("f(\n  a\n  b\n)", "3:3 Q0101 expected `,` or `)`, found the name `b`"),
    ("f(a))", "1:5 Q0008 this `)` closes nothing"),
    ("f(a])", "1:4 Q0008 this `]` closes nothing"),
    ("f(a]", "1:4 Q0008 `(` is closed by `)`, not by `]`"),
    ("[a)", "1:3 Q0008 `[` is closed by `]`, not by `)`"),
    ("[1, 2\nlet b = 3", "1:1 Q0007 `[` is not closed"),
    ("f(a\nlet b = 3", "1:2 Q0007 `(` is not closed"),
    ("f(a\ng(b)", "1:2 Q0007 `(` is not closed"),
    ("f(a", "1:2 Q0007 `(` is not closed"),
    ("x = { a: (1 }", "1:10 Q0007 `(` is not closed before the `}`"),
    ("x = {\n  a: f(1\n}", "2:7 Q0007 `(` is not closed before the `}` on line 3"),
    ("[1, 2\n  3]", "2:3 Q0101 expected `,` or `]`, found the number `3`"),
    ("x = { a: 1, b 2 }", "1:15 Q0101 expected `:`, `,` or `}`, found the number `2`"),
    ("x = {\n  a: 1,\n  b 2,\n  c: 3\n}", "3:5 Q0101 expected `:`, `,` or `}`, found the number `2`"),
    ("a.1", "1:3 Q0101 expected a name, found the number `1`"),
    ("return return", "1:8 Q0101 expected an expression or the line's end, found `return`"),
    ("return 1, 2", "1:9 Q0101 expected an operator or the line's end, found `,`"),
    ("if a b { c } else { d }", "1:6 Q0101 expected a block's `{`, found the name `b`"),
    ("if a b {\n  c\n} else if d {\n  e\n} else {\n  f\n}", "1:6 Q0101 expected a block's `{`, found the name `b`"),
    ("if a = b { c }", "1:6 Q0101 expected a block's `{`, found `=`"),
    ("fn f() = if a { 1 } else 2", "1:26 Q0101 expected `if` or a block's `{`, found the number `2`"),
    ("fn f(x)\n  x + 1\n}", "1:8 Q0101 expected `->`, `with`, `=` or a block's `{`, found the line's end"),
    ("fn f(x)\n{\n  x + 1\n}", "2:1 Q0101 the `{` of a block stands on the line of its head"),
    ("fn f(x y) -> int {\n  x\n}", "1:8 Q0101 expected `:`, `=`, `,` or `)`, found the name `y`"),
    ("fn f(x {\n  a\n}", "1:8 Q0101 expected `:`, `=`, `,` or `)`, found `{`"),
    ("fn f x) { a }", "1:6 Q0101 expected `(`, found the name `x`"),
    ("for x in xs\n  print(x)\n}", "1:12 Q0101 expected `=>`, `if` or a block's `{`, found the line's end"),
    ("while a\n  b\n}", "1:8 Q0101 expected a block's `{`, found the line's end"),
    ("while a\n  b\n", "1:8 Q0101 expected a block's `{`, found the line's end"),
    ("match a\n  1 => 2\n}", "1:8 Q0101 expected the `{` of the arms, found the line's end"),
    ("match x {\n  1 => a\n  2 b => c\n  3 => d\n}", "3:5 Q0101 expected `=>`, `if` or `|`, found the name `b`"),
    ("match x {\n  1 =>\n  2 => c\n}", None),
    ("match x { }", "1:9 Q0105 a `match` needs at least one arm, such as `_ => null`"),
    (
        "fn f() {\n  if a {\n    b\n}\nfn g() {\n  1\n}",
        "2:8 Q0007 `{` is not closed: by its place, the `}` on line 4 does not belong to it",
    ),
    (
        "fn f() {\n  a\n\nfn g() = 1",
        "1:8 Q0007 `{` is not closed: by its place, the `fn` on line 4 does not belong to it",
    ),
    ("fn f() {\n  a", "1:8 Q0007 `{` is not closed"),
    (
        "fn f() {\n  if a {\n    b\n  }\n  }\n  c\n}",
        "5:3 Q0008 this `}` closes nothing: by its place, no `{` before it is open",
    ),
    ("fn f() = 1 }", "1:12 Q0008 this `}` closes nothing"),
    ("reply 99", "1:7 Q0105 a status is a number from 100 to 599"),
    ('reply "x"', '1:7 Q0101 expected a status (a whole number or a name), found the text `"x"`'),
    ("private x = 3", "1:9 Q0101 expected `fn`, `type`, `let`, `component` or `server`, found the name `x`"),
    ("server x = 3", "1:8 Q0101 expected `fn`, found the name `x`"),
    ("let f = (a, b) = a", "1:16 Q0101 expected `=>`, found `=`"),
    ("f(a: 1, 2)", "1:9 Q0112 an argument by place can't stand after one by name"),
    ("fn f() with disk = 1", "1:13 Q0115 `disk` is no effect: they are `db`, `fs`, `http` and `net`"),
    ("component card() = <p/>", "1:11 Q0116 a component's name begins with a capital letter: `Card`"),
    ('service /a-b = "x"', "1:9 Q0109 a service's path is `/` and a name of letters, digits and `_`, as in `/billing`"),
    ('build "app.css" = 1', '1:7 Q0109 the path of a `build` begins with `/`, as in `"/app.css"`'),
    ("type T = { a: int, a: str }", "1:20 Q0114 the field `a` is given twice"),
    ("let x: Note<int> = 1", "1:12 Q0105 `Note` takes no type in `<…>`: only `list` and `map` do"),
    ("match x { ok(a) => 1 }", "1:11 Q0108 only `err(…)` is a pattern: `ok(…)` is none"),
    ("for { a }, b in xs { c }", "1:5 Q0108 the first of two in a `for` is a name: the place, or the key"),
    ("let x = `a ${b c} d`", "1:16 Q0101 expected an operator or `}`, found the name `c`"),
    ("let x = `a ${} d`", f"1:14 {EXPRESSION} `}}`"),
    ("let x = `a", "1:9 Q0006 this template is never closed: its last `` ` `` is missing"),
    ("let x = `a\nlet y = * 2\n", "1:9 Q0006 this template is never closed: its last `` ` `` is missing"),
]


@pytest.mark.parametrize(("text", "message"), [(text, message) for text, message in ONE_MISTAKE if message])
def test_one_mistake_gives_one_report(text: str, message: str) -> None:
    assert mistakes(text) == [message]


@pytest.mark.parametrize(
    ("text", "message"), [(text, message) for text, message in ONE_MISTAKE if message and "`a" not in text]
)
def test_a_second_mistake_further_down_is_told_as_well(text: str, message: str) -> None:
    line = text.count("\n") + 2
    assert mistakes(f"{text}\nlet later = * 2")[-1] == f"{line}:13 {EXPRESSION} `*`"
    assert len(mistakes(f"{text}\nlet later = * 2")) == 2


@pytest.mark.parametrize(("text", "message"), [(text, message) for text, message in ONE_MISTAKE if message])
def test_a_mistake_before_it_changes_nothing(text: str, message: str) -> None:
    line, rest = message.split(":", 1)
    shifted = f"{int(line) + 1}:{rest}"
    shifted = re.sub(r"on line (\d+)", lambda found: f"on line {int(found[1]) + 1}", shifted)
    assert mistakes(f"let first = * 2\n{text}") == [f"1:13 {EXPRESSION} `*`", shifted]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fn f() {\n  let a = * 1\n  let b = 2\n  let c = / 3\n}", ["2:11", "4:11"]),
        ("fn f(a b) {\n  let c = * 3\n}", ["1:8", "2:11"]),
        ("if a b {\n  let c = * 3\n} else {\n  let d = * 4\n}", ["1:6", "2:11", "4:11"]),
        ("x = f(y => {\n  a b\n}, c d)", ["2:5", "3:6"]),
        ("match x {\n  1 => * 2\n  2 => 3\n  4 => * 5\n}", ["2:8", "4:8"]),
        ("<p>{a b} c {d e}</p>", ["1:7", "1:15"]),
        ("<p id={a b} class={c d}/>", ["1:10", "1:22"]),
        ("x = `${a b} ${c d}`", ["1:10", "1:17"]),
        ("let a = * 1; let b = / 2", ["1:9", "1:22"]),
        ("fn f() = <ul>\n  <li>{a b}</li>\n  <b>x</i>\n</ul>", ["2:10", "3:7"]),
    ],
)
def test_mistakes_in_different_places_are_all_told(text: str, found: list[str]) -> None:
    assert [message.split(" ")[0] for message in mistakes(text)] == found


# --- mistakes in blocks that stand on one line --------------------------------------------------------------------

IN_ONE_LINE = [
    (
        "fn mcp a() -> int { let i = 0; while true { i += 1 } i }",
        "1:54 Q0101 expected the line's end, found the name `i`",
    ),
    ("fn a() { if x { 1 } 2 }", "1:21 Q0101 expected the line's end, found the number `2`"),
    ("fn a() { if x { 1 } if y { 2 } else { 3 } }", "1:21 Q0101 expected the line's end, found `if`"),
    ("fn a() { for x in xs { y } z }", "1:28 Q0101 expected the line's end, found the name `z`"),
    ("fn a() { while x { 1 } while y { 2 } }", "1:24 Q0101 expected the line's end, found `while`"),
    ("fn a() { while x { 1 } while y {\n    b\n  }\n}", "1:24 Q0101 expected the line's end, found `while`"),
    ("fn a() { while x { 1 } let q = {\n    b: 1\n  }\n}", "1:24 Q0101 expected the line's end, found `let`"),
    ("fn a() {\n  while x {\n    1\n  } i }", "4:5 Q0101 expected the line's end, found the name `i`"),
    ("fn a() {\n  while x { 1 } i\n}", "2:17 Q0101 expected the line's end, found the name `i`"),
    ("fn a() {\n  fn b() { while x { 1 } i }\n  b()\n}", "2:26 Q0101 expected the line's end, found the name `i`"),
    ("fn a() { match x { 1 => { 2 } 3 => { 4 } } }", "1:31 Q0101 expected the line's end, found the number `3`"),
    ("fn a() { match x { 1 => if c { 2 } 3 => 4 } }", "1:36 Q0101 expected the line's end, found the number `3`"),
    ("let f = g((x) => { while x { 1 } b }, 3)", "1:34 Q0101 expected the line's end, found the name `b`"),
    ("route GET /a { if x { 1 } reply 3 }", "1:27 Q0101 expected the line's end, found the name `reply`"),
    ("<p @click={ if x { 1 } b }>c</p>", "1:24 Q0101 expected the line's end, found the name `b`"),
]


@pytest.mark.parametrize(("text", "message"), IN_ONE_LINE)
@pytest.mark.parametrize("end", ["", " // a comment", "\n\n/// What stands below."])
def test_a_block_that_closes_on_its_line_stays_closed_after_a_mistake_in_it(text: str, message: str, end: str) -> None:
    below = "fn mcp later() -> int { 1 }"
    assert mistakes(f"{text}{end}\n{below}") == [message]
    assert statements(f"{text}{end}\n{below}")[-1] == written(
        parse(Source("main.qwe", below), Diagnostics()).statements[0]
    )
    assert len(mistakes(f"{text}{end}\n{below}\nlet last = * 2")) == 2


# --- markup -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<p>a</p><p>b</p>", "1:9 Q0110 elements side by side need `<>…</>` around them"),
        ("f(<br>\n<br> <br>)", "2:1 Q0110 elements side by side need `<>…</>` around them"),
        ("<ul><li>a</ul>", "1:5 Q0009 `<li>` is never closed: `</li>` is missing"),
        ("<ul>{for x in xs => <li>{x}}</ul>", "1:21 Q0009 `<li>` is never closed: `</li>` is missing"),
        ("<ul>{f(x</ul>", "1:5 Q0007 `{` is not closed before `</ul>`"),
        ("<p>a</span></p>", "1:5 Q0010 `</span>` closes nothing"),
        ("<p>a<br></br></p>", "1:9 Q0010 `<br>` has no end tag: leave `</br>` out"),
        ("<b>a</i>", "1:5 Q0010 `</i>` does not close `<b>` from line 1: `</b>` does"),
        ("x = </p>", "1:5 Q0010 `</p>` closes nothing"),
        ("<div>\n  <p>a</p>\nlet y = * 3", "1:1 Q0009 `<div>` is never closed: `</div>` is missing"),
        ("<div>\n  {a b}\n", None),
        ("x = <script>a", "1:5 Q0009 `<script>` is never closed: `</script>` is missing"),
        ("x = <p a", "1:5 Q0011 the tag `<p` is not finished: `>` is missing"),
        ('<h1 class="t"Order {x}</h1>', "1:1 Q0011 the tag `<h1` is not finished: `>` is missing"),
        ("<p a <b>x</b></p>", "1:1 Q0011 the tag `<p` is not finished: `>` is missing"),
        ('<p class="t>Order</p>\nlet x = "a"', '1:4 Q0011 the value of `class` is not closed: a `"` is missing'),
        (
            '<p class=t">a</p>',
            '1:4 Q0011 a `"` is missing: the value of `class` stands between two of them, or has none in it',
        ),
        ("<p class=>x</p>", "1:4 Q0011 the value of `class` is missing after the `=`"),
        ('<p @click="x">a</p>', "1:4 Q0011 `@click` takes statements in braces: `@click={…}`"),
        ('<p bind:value="x">a</p>', "1:4 Q0011 `bind:value` takes a variable in braces: `bind:value={…}`"),
        ("<p a=1 a=2/>", "1:8 Q0113 `a` is given twice"),
        ("<p.a class={b}/>", "1:6 Q0113 `class` is given twice"),
        ("x = <!doc>", "1:5 Q0011 `<!` begins `<!DOCTYPE html>` or a comment, `<!-- … -->`"),
        ("<p>a</p ", None),
    ],
)
def test_mistakes_in_markup_are_told_at_the_tag(text: str, message: str | None) -> None:
    found = mistakes(text)
    assert len(found) == 1 if message is None else found == [message]


# --- templates ----------------------------------------------------------------------------------------------------


def test_a_template_over_lines_before_the_first_error_of_its_statement_is_the_error_and_the_last() -> None:
    text = "let a = `x\nlet b = `y`\nlet c = * 3\nlet d = `z`\n"
    assert mistakes(text) == [
        "1:9 Q0006 this template runs over lines, and line 2 can't be read after it: is a `` ` `` missing?"
    ]


def test_a_template_over_lines_is_no_reason_to_doubt_the_statements_around() -> None:
    assert mistakes("let a = `x\ny`\nlet b = * 2\nlet c = `z\n`") == [f"3:9 {EXPRESSION} `*`"]


# --- words and signs of other languages ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("const x = 3", "1:1 Q0013 `const` is written `let` here"),
        ("var x = 3", "1:1 Q0013 `var` is written `let` here"),
        ("let mut x = 3", "1:5 Q0013 every variable can be given a new value: leave `mut` out"),
        ("function f(a) { a }", "1:1 Q0013 `function` is written `fn` here"),
        ("def f(a) { a }", "1:1 Q0013 `def` is written `fn` here"),
        ("let f = function(x) { x }", "1:9 Q0013 `function` is written `fn` here"),
        ("if a and b { c }", "1:6 Q0013 `and` is written `&&` here"),
        ("if a or b { c }", "1:6 Q0013 `or` is written `||` here"),
        ("if not a { c }", "1:4 Q0013 `not` is written `!` here"),
        ("if a not in b { c }", "1:6 Q0013 `a not in b` is written `!(a in b)` here"),
        ("if a { b } elif c { d }", "1:12 Q0013 `elif` is written `else if` here"),
        ("if a { b }\nelif c { d }", "2:6 Q0101 `elif` is written `else if` here, on the line of the `}`"),
        ("a === b", "1:3 Q0013 `===` is written `==` here: it compares by content"),
        ("a !== b", "1:3 Q0013 `!==` is written `!=` here: it compares by content"),
        ("x++", "1:2 Q0013 there is no `++` here: to add 1 to a variable write `x += 1`"),
        ("++x", "1:1 Q0013 there is no `++` here: to add 1 to a variable write `x += 1`"),
        ("x--", "1:2 Q0013 there is no `--` here: to take 1 from a variable write `x -= 1`"),
        ("a ++ b", "1:3 Q0013 `++` is written `+` here: it adds numbers, and joins texts and lists"),
        ("a ** b", "1:3 Q0013 there is no `**` here: a power is `pow(a, b)`"),
        ("a |> f", "1:3 Q0013 `|>` is written `|` here"),
        ("x := 3", "1:3 Q0013 `:=` is written `=` here, with `let` before a new name"),
        ("0..=9", "1:2 Q0013 there is no `..=` here: `a..b` goes up to, not with, `b`, so write `a..b + 1`"),
        ("f(...xs)", "1:3 Q0105 a call takes no `...`: give the function a list, or each argument on its own"),
        ("type T = | A | B", "1:10 Q0105 a type does not begin with `|`: leave the first one out"),
        ("x = a ? b : c", "1:9 Q0101 there is no `a ? b : c` here: write `if a { b } else { c }`"),
        ("let f = x -> x + 1", "1:11 Q0101 a lambda and an arm are written with `=>` here"),
        ("match x {\n  1 -> 2\n}", "2:5 Q0101 a lambda and an arm are written with `=>` here"),
        ("fn f(a) => a", "1:9 Q0101 the body of a function stands after `=`, or in `{ … }`"),
        ("fn f(a): int { a }", "1:8 Q0101 the type of a result is written `-> int` here"),
        ("let x: int[] = 1", "1:11 Q0101 a list of `int` is written `list<int>` here"),
        (
            "for (let i = 0; i < 3; i++) {\n  x\n}",
            "1:5 Q0101 a loop is written `for x in xs { … }` or `for i in 0..10 { … }` here",
        ),
        ("for x of xs { y }", "1:7 Q0101 `for x of xs` is written `for x in xs` here"),
        (
            'import x from "y"',
            '1:10 Q0101 names of another file come with `use "lib.qwe"` or `import lib.qwe use a, b`',
        ),
        ('import "y"', "1:8 Q0101 after `import` a path stands without quotes, as in `import lib.qwe use a, b`"),
        ("use lib", '1:5 Q0101 after `use` a path stands in quotes, as in `use "lib.qwe"`'),
        (
            "class A {\n  x\n}",
            "1:7 Q0101 there are no classes here: "
            "a record type and functions do that, `type Point = { x: int, y: int }`",
        ),
        (
            "try { a }",
            "1:5 Q0101 errors are values here: handle one with `a ?? b`, `a?` or `match a { err(e) => …, v => … }`",
        ),
        ('throw "a"', '1:7 Q0101 an error is given with `return err("…")` here'),
        ("let x = if a then b else c", "1:14 Q0101 `then` is not written here: a block stands in `{ … }`"),
        ("match x {\n  case 1: a\n  2 => b\n}", "2:8 Q0101 the arms of a `match` are written `1 => …` here"),
        ('print "x"', "1:7 Q0101 `print` is a function: `print(…)`"),
        ("a is b", "1:3 Q0101 `is` is written `==` here: it compares by content"),
        ('f"x {a}"', "1:2 Q0101 a text with values in it is written `` `…${value}…` `` here"),
        ('let s = """abc"""', "1:11 Q0101 a text that runs over lines stands between backticks: `` `…` ``"),
        ("let x = await f()", "1:15 Q0101 there is no `await` here: what waits never stops other requests"),
    ],
)
def test_words_and_signs_of_other_languages_are_told_with_what_to_write(text: str, message: str) -> None:
    assert mistakes(text) == [message]
    assert mistakes(f"{text}\nlet later = 1") == [message]


@pytest.mark.parametrize(
    "text", ["f(not, and, or)", "not(x)", "let var = 1", "const = def", "function(x)", "a.and.or", "mut = elif"]
)
def test_these_words_are_ordinary_names_elsewhere(text: str) -> None:
    assert mistakes(text) == []


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("type T = int", "a `type` stands at the top of a file, not in a block: only `fn` can stand in one"),
        ("route GET / = 1", "a `route` stands at the top of a file, not in a block: only `fn` can stand in one"),
        (
            "component A() = <p/>",
            "a `component` stands at the top of a file, not in a block: only `fn` can stand in one",
        ),
        ('service /a = "a.qwe"', "a `service` stands at the top of a file, not in a block: only `fn` can stand in one"),
        ('use "a.qwe"', "`use` and `import` stand at the top of a file, not in a block: only `fn` can stand in one"),
        ('build "/a" = 1', "a `build` stands at the top of a file, not in a block: only `fn` can stand in one"),
        ('test "a" {}', "a `test` stands at the top of a file, not in a block: only `fn` can stand in one"),
        ("private let x = 1", "`private` is for what stands at the top of a file: leave it out in a block"),
        ("server fn f() = 1", "`server` is for what stands at the top of a file: leave it out in a block"),
        ("fn mcp f() = 1", "`mcp` is for what stands at the top of a file: leave it out in a block"),
    ],
)
def test_only_functions_can_be_declared_in_a_block(declaration: str, message: str) -> None:
    assert mistakes(f"fn outer() {{\n  {declaration}\n  1\n}}") == [f"2:3 Q0106 {message}"]
    assert mistakes(declaration) == []


@pytest.mark.parametrize("word", ["if", "null", "return", "in"])
def test_a_parameter_and_a_variable_can_not_have_a_keywords_name(word: str) -> None:
    (found,) = mistakes(f"fn f({word}: int) = 1")
    assert found == f"1:6 Q0107 `{word}` is a keyword: a parameter can't have it as its name"
    assert len(mistakes(f"let {word}x = 1\nfn f({word}) = 1\nlet y = 1")) == 1


@pytest.mark.parametrize("pattern", ["{ a: 1 }", "[1, a]", "1", '"a"', "err(e)", "null", "[[true]]"])
def test_let_and_for_take_names_only(pattern: str) -> None:
    for text, word in ((f"let {pattern} = x", "let"), (f"for {pattern} in xs {{ y }}", "for")):
        (found,) = mistakes(text)
        assert found.endswith(
            f"Q0108 after `{word}` stands a name, `{{ … }}` or `[ … ]` of names: only `match` can choose by a value"
        )


# --- what goes on -------------------------------------------------------------------------------------------------


def statements(text: str) -> list[str]:
    file = parse(Source("main.qwe", text), Diagnostics())
    assert file.has_errors
    return [written(statement) for statement in file.statements]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("let x = * a\nlet y = x", ["(let x INVALID)", "(let y x)"]),
        ("let x: int b = 1", ["(let x INVALID)"]),
        ("fn f(a b) {\n  a\n}\nf(1)", ["(let f INVALID)", "(call f 1)"]),
        ("fn f(a) = * a\nf(1)", ["(fn f (a) INVALID)", "(call f 1)"]),
        ("private fn f(a\n}", None),
        ("type T = * a\nlet y: T = 1", ["(type T any)", "(let y: T 1)"]),
        ("component A(a b) = <p/>", ["(component (fn A () INVALID))"]),
        ("route GET /a = * 1", ["(route GET text:a:str (fn () INVALID))"]),
        ("component C() {\n  state n = * 1\n  n\n}", ["(component (fn C () (block (state n INVALID) n)))"]),
        ("x = f(1 2)\ny", ["INVALID", "y"]),
        ("<p>{a b}c</p>", ['<p INVALID "c">']),
        ("`a ${b c} d`", ['(template "a " INVALID " d")']),
        ("match x {\n  1 => * 2\n  3 => 4\n}", ["(match x [3 => 4])"]),
        ("a | 3", ["INVALID"]),
    ],
)
def test_what_is_broken_becomes_invalid_and_names_stay_known(text: str, expected: list[str] | None) -> None:
    found = statements(text)
    assert expected is None or found == expected


def test_what_stands_above_and_below_a_mistake_is_read_as_ever() -> None:
    above, below = "fn a() = 1\nlet b = { c: 1 }", "route GET / { d }\n<p>e</p>"
    for text, _ in ONE_MISTAKE:
        if "`a" in text or text.count("{") != text.count("}"):
            continue
        found = statements(f"{above}\n{text}\n{below}")
        assert found[:2] == ["(fn a () 1)", "(let b {c: 1})"]
        assert found[-2:] == ["(route GET  (fn () (block d)))", '<p "e">']


def test_a_program_with_many_mistakes_is_read_to_its_end() -> None:
    file = parse(Source("main.qwe", "let = 1\n" * 3_000 + "let last = 1"), Diagnostics())
    assert isinstance(file.statements[-1], syntax.Let)


def test_a_broken_program_is_not_warned_of_doc_comments_that_its_mistakes_orphaned() -> None:
    assert mistakes("/// a\nprint(1)\nlet = 1") == ["3:5 Q0101 expected a name or a pattern, found `=`"]
