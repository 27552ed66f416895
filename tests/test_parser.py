"""The parser: what each construct of the language means, as a tree. How trees are written is in `trees.py`."""

from __future__ import annotations

import sys

import pytest

from compiler import automaton, syntax, tables
from compiler.diagnostics import Diagnostics
from compiler.parser import parse
from compiler.source import Source
from tests.trees import mistakes, tree
from tools import make_tables
from tools.make_tables import TARGET, as_text


def parsed(text: str) -> syntax.File:
    diagnostics = Diagnostics()
    file = parse(Source("main.qwe", text), diagnostics)
    assert not diagnostics.in_order()
    return file


# --- operators ----------------------------------------------------------------------------------------------------

# Binary operators from the loosest to the tightest; the second word says how a chain of one level is read.
LEVELS = [
    (["|", "??"], "left"),
    (["||"], "left"),
    (["&&"], "left"),
    (["==", "!=", "in"], "none"),
    (["<", "<=", ">", ">="], "none"),
    ([".."], "none"),
    (["+", "-"], "left"),
    (["*", "/", "%"], "left"),
]


def apply(operator: str, left: str, right: str) -> str:
    return f"(pipe {right} {left})" if operator == "|" else f"({operator} {left} {right})"


@pytest.mark.parametrize(
    ("loose", "tight"),
    [
        (loose, tight)
        for number, (level, _) in enumerate(LEVELS)
        for tighter, _ in LEVELS[number + 1 :]
        for loose in level
        for tight in tighter
        if loose != "|"  # what stands after a pipe is no operation, see below
    ],
)
def test_a_tighter_operator_binds_first_on_either_side(loose: str, tight: str) -> None:
    assert tree(f"a {loose} b {tight} c") == apply(loose, "a", apply(tight, "b", "c"))
    assert tree(f"a {tight} b {loose} c") == apply(loose, apply(tight, "a", "b"), "c")


@pytest.mark.parametrize(
    ("first", "second"),
    [(a, b) for level, way in LEVELS if way == "left" for a in level for b in level],
)
def test_operators_of_one_level_are_read_from_left_to_right(first: str, second: str) -> None:
    assert tree(f"a {first} b {second} c") == apply(second, apply(first, "a", "b"), "c")


@pytest.mark.parametrize(
    ("first", "second"),
    [(a, b) for level, way in LEVELS if way == "none" for a in level for b in level],
)
def test_comparisons_and_ranges_can_not_be_chained(first: str, second: str) -> None:
    (found,) = mistakes(f"a {first} b {second} c")
    way = "put one in brackets" if first == ".." else "join two comparisons with `&&`, as in `a < b && b < c`"
    assert found == f"1:{6 + len(first)} Q0102 `{second}` can't be chained: {way}"
    assert mistakes(f"(a {first} b) {second} c") == []


@pytest.mark.parametrize("loose", ["||", "&&", "==", "<", "..", "+", "*"])
def test_a_pipe_takes_all_that_stands_before_it(loose: str) -> None:
    assert tree(f"a {loose} b | f") == f"(pipe f ({loose} a b))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-a * b", "(* (- a) b)"),
        ("a * -b", "(* a (- b))"),
        ("!a && b", "(&& (! a) b)"),
        ("!a == b", "(== (! a) b)"),
        ("-a..b", "(.. (- a) b)"),
        ("-a.b", "(- (. a b))"),
        ("!f(x)", "(! (call f x))"),
        ("!a[0]?", "(! (? (index a 0)))"),
        ("!!a", "(! (! a))"),
        ("- -a", "(- (- a))"),
        ("a - -b", "(- a (- b))"),
        ("-x.y[0](z)?", "(- (? (call (index (. x y) 0) z)))"),
        ("a?.b?.c", "(?. (?. a b) c)"),
        ("(f()?).b", "(. (? (call f)) b)"),
        ("a? ?? b", "(?? (? a) b)"),
        ("(a + b) * c", "(* (+ a b) c)"),
        ("a + (b + c)", "(+ a (+ b c))"),
    ],
)
def test_prefixes_bind_tighter_than_operators_and_looser_than_what_follows_an_operand(text: str, expected: str) -> None:
    assert tree(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-1", "-1"),
        ("- 1.5", "-1.5"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("- 9223372036854775808 + 1", "(+ -9223372036854775808 1)"),
        ("--1", "(- -1)"),
        ("-(1)", "(- 1)"),
        ("a - 1", "(- a 1)"),
        ("-1.5e3", "-1500.0"),
        ("-1[0]", "(- (index 1 0))"),
    ],
)
def test_a_minus_before_a_number_is_part_of_it(text: str, expected: str) -> None:
    assert tree(text) == expected


# --- pipes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a | f", "(pipe f a)"),
        ("a | f(b, c: d)", "(pipe f a b c: d)"),
        ("a | f | g(b)", "(pipe g (pipe f a) b)"),
        ("a | lib.f", "(pipe (. lib f) a)"),
        ("a | lib.f(b)", "(pipe (. lib f) a b)"),
        ("a | f(b)(c)", "(pipe (call f b) a c)"),
        ("a | x => x + 1 | g", "(pipe (fn (x) (pipe g (+ x 1))) a)"),
        ("a | (x => x + 1) | g", "(pipe g (pipe (fn (x) (+ x 1)) a))"),
        ("a | fn(x) { x } | g", "(pipe g (pipe (fn (x) (block x)) a))"),
        ("text | int ?? 0", "(?? (pipe int text) 0)"),
        ("a ?? b | f", "(pipe f (?? a b))"),
        ("a || b | f", "(pipe f (|| a b))"),
    ],
)
def test_a_pipe_is_a_call_with_one_more_argument_in_front(text: str, expected: str) -> None:
    assert tree(text) == expected


@pytest.mark.parametrize("right", ["1", '"t"', "f + 1", "[f]", "f?", "f.a?", "fs[0]", "a?.b", "if a { f } else { g }"])
def test_what_can_not_be_called_is_refused_behind_a_pipe(right: str) -> None:
    assert mistakes(f"x | {right}") == [
        "1:5 Q0104 after `|` stands what is called: a function's name, a call or a lambda"
    ]


# --- operands -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(x, name: y)", "(call f x name: y)"),
        ("f(x,)", "(call f x)"),
        ("f()()", "(call (call f))"),
        ("a[1]", "(index a 1)"),
        ("a[-1]", "(index a -1)"),
        ("a[1..3]", "(slice a 1 3)"),
        ("a[1..]", "(slice a 1 _)"),
        ("a[..3]", "(slice a _ 3)"),
        ("a[..]", "(slice a _ _)"),
        ("a[i + 1..-1]", "(slice a (+ i 1) -1)"),
        ("a[(1..3)]", "(index a (.. 1 3))"),
        ("[]", "(list)"),
        ("[1, ...more, 2,]", "(list 1 (... more) 2)"),
        ("{}", "{}"),
        ('{ a: 1, "b c": 2, ...other, d, }', "{a: 1, b c: 2, (... other), d: d}"),
        ("`a ${b} c ${`d ${e}`}`", '(template "a " b " c " (template "d " e))'),
        ("sql`select ${x}`", '(sql "select " x)'),
        ("true == false != null", None),
        ("[true, false, null]", "(list true false null)"),
    ],
)
def test_operands(text: str, expected: str | None) -> None:
    if expected is not None:
        assert tree(text) == expected
    else:
        assert len(mistakes(text)) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x => y => x + y", "(fn (x) (fn (y) (+ x y)))"),
        ("() => 1", "(fn () 1)"),
        ("(a: int, b = 2) => a + b", "(fn (a: int b = 2) (+ a b))"),
        ("fn(a: int) -> int ! str with db { a }", "(fn (a: int) -> int ! str with db (block a))"),
        ("f = x => x == 1 || y", "(= f (fn (x) (|| (== x 1) y)))"),
        ("f(x => x, y)", "(call f (fn (x) x) y)"),
        ("x => { x }", "(fn (x) (block x))"),
        ("x => { x, y }", "(fn (x) {x: x, y: y})"),
        ("x => {}", "(fn (x) {})"),
        ("1 + x => 2 + 3", "(+ 1 (fn (x) (+ 2 3)))"),
    ],
)
def test_a_lambdas_body_takes_all_that_follows(text: str, expected: str) -> None:
    assert tree(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a { 1 } else { 2 } + 3", "(+ (if a (block 1) (block 2)) 3)"),
        ("if a { 1 } else if b { 2 } else { 3 }", "(if a (block 1) (if b (block 2) (block 3)))"),
        ("if a {}\n\n// why\nelse {}", "(if a (block) (block))"),
        ("if a == { b: 1 } { c }", "(if (== a {b: 1}) (block c))"),
        ("match if a { b } else { c } { 1 => 2 }", "(match (if a (block b) (block c)) [1 => 2])"),
        ("for x in xs => x", "(for-list x in xs x)"),
        ("for x in xs if x > 1 => x + 1 | f", "(for-list x in xs if (> x 1) (pipe f (+ x 1)))"),
        ("for i, x in xs => i", "(for-list i, x in xs i)"),
        ("for { id, text: t } in notes => id", "(for-list {id: id, text: t} in notes id)"),
        ("for x in if a { b } else { c } => x", "(for-list x in (if a (block b) (block c)) x)"),
        ("for x in xs => for y in x => y", "(for-list x in xs (for-list y in x y))"),
        ("for x in xs => { y: x }", "(for-list x in xs {y: x})"),
        ("for x in xs => { y }", "(for-list x in xs (block y))"),
    ],
)
def test_if_match_and_for_are_expressions(text: str, expected: str) -> None:
    assert tree(text) == expected


@pytest.mark.parametrize(
    ("arm", "expected"),
    [
        ("0 => 1", "[0 => 1]"),
        ("-1 | 2.5 => 1", "[(or -1 2.5) => 1]"),
        ('"x" | true | null => 1', '[(or "x" true null) => 1]'),
        ("n if n > 100 => 1", "[n if (> n 100) => 1]"),
        ('{ kind: "a", size, "b c": [x] } => 1', '[{kind: "a", size: size, b c: [x]} => 1]'),
        ('{ kind: "a" | "b" } => 1', '[{kind: (or "a" "b")} => 1]'),
        ("[] => 1", "[[] => 1]"),
        ("[a, [b], ...rest] => 1", "[[a, [b] ...rest] => 1]"),
        ("[...] => 1", "[[ ..._] => 1]"),
        ("[..._] => 1", "[[ ..._] => 1]"),
        ("err(e) => e", "[(err e) => e]"),
        ("err({ kind }) => kind", "[(err {kind: kind}) => kind]"),
        ("_ => null", "[_ => null]"),
        ("a => x => y", "[a => (fn (x) y)]"),
        ("a => { b }", "[a => (block b)]"),
        ("a => { b: 1 }", "[a => {b: 1}]"),
        ("a => return", "[a => (return)]"),
        ("a => return b", "[a => (return b)]"),
        ("a => break", "[a => (break)]"),
        ("a => continue", "[a => (continue)]"),
        ('a => reply 404 "x"', '[a => (reply 404 "x")]'),
        ("a => x = 1", "[a => (= x 1)]"),
        ("a => x.y += 1", "[a => (+= (. x y) 1)]"),
        ("a => if b { c } else { d }", "[a => (if b (block c) (block d))]"),
        ("a => match b { c => d }", "[a => (match b [c => d])]"),
        ("a => for x in xs if x => x", "[a => (for-list x in xs if x x)]"),
    ],
)
def test_arms_of_a_match_end_at_a_comma_or_a_line(arm: str, expected: str) -> None:
    assert tree(f"match v {{ {arm}, z => 1 }}") == f"(match v {expected} [z => 1])"
    assert tree(f"match v {{\n  {arm}\n\n  // why\n  z => 1\n}}") == f"(match v {expected} [z => 1])"
    assert tree(f"match v {{\n  {arm},\n  z => 1,\n}}") == f"(match v {expected} [z => 1])"


# --- statements ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("let x = 1", "(let x 1)"),
        ("let x: list<map<int>>= y", "(let x: list<map<int>> y)"),
        ("let x: int | str? = 1", "(let x: (int | (opt str)) 1)"),
        ("let { id, text: t } = note", "(let {id: id, text: t} note)"),
        ("let [a, { b }, ...c] = pair", "(let [a, {b: b} ...c] pair)"),
        ("let _ = f()", "(let _ (call f))"),
        ("private let x = 1", "(private let x 1)"),
        ("public let x = 1", "(let x 1)"),
        ("x = 1", "(= x 1)"),
        ("x -= 1; x *= 2; x /= 3; x %= 4", "(-= x 1); (*= x 2); (/= x 3); (%= x 4)"),
        ('m["k"].list[2] = e', '(= (index (. (index m "k") list) 2) e)'),
        ("while a { b }", "(while a (block b))"),
        ("for x in 0..10 { y }", "(for x in (.. 0 10) (block y))"),
        ("for _, [a, b] in xs { y }", "(for _, [a, b] in xs (block y))"),
        ("while a { break; continue }", "(while a (block (break) (continue)))"),
        ("return", "(return)"),
        ("return { a }", "(return {a: a})"),
        ("reply 404", "(reply 404)"),
        ("reply code [1]", "(reply code (list 1))"),
        ("reply 404 -1", "(reply 404 -1)"),
        ("reply 200 <p/>", "(reply 200 <p>)"),
        ("reply 401 { a: 1 }", "(reply 401 {a: 1})"),
        ("a; b", "a; b"),
        ("a /* one\n two */ b", "a; b"),
        ('use "lib.qwe"', "(use lib.qwe)"),
        ('use "lib.qwe" as lib', "(use lib.qwe as lib)"),
        ("import ../a/lib.qwe use a, b", "(use ../a/lib.qwe names a,b)"),
        ('service /billing = "billing.qwe"', "(service /billing billing.qwe)"),
        ('service mcp /billing = "billing.qwe"', "(service mcp /billing billing.qwe)"),
        ('service mcp crm = "https://crm"', "(service mcp crm https://crm)"),
        ('build "/app.css" = css', "(build /app.css (fn () css))"),
        ('test "adds" { assert 1 + 1 == 2 }', '(test "adds" (fn () (block (assert (== (+ 1 1) 2)))))'),
    ],
)
def test_statements(text: str, expected: str) -> None:
    assert tree(text) == expected


@pytest.mark.parametrize(
    "target", ["f()", "1", "a + b", "a?.b", "f().x", "[a]", "{ a }", "a?", "-a", "a[1..2]", "`a`", "a.b?.c.d"]
)
def test_only_a_variable_and_what_is_in_it_can_be_given_a_value(target: str) -> None:
    for sign in ("=", "+="):
        assert mistakes(f"{target} {sign} 1") == [
            "1:1 Q0103 only a variable, and a field or an element of one, can be given a value"
        ]


# --- functions and types ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fn f() = 1", "(fn f () 1)"),
        ("fn f(a, b: int = 1, c = [],) { a }", "(fn f (a b: int = 1 c = (list)) (block a))"),
        ("fn f() -> int = 1", "(fn f () -> int 1)"),
        ("fn f() -> int ! str { 1 }", "(fn f () -> int ! str (block 1))"),
        ("fn f() with db, http = 1", "(fn f () with db,http 1)"),
        ("fn f() -> { a: int } ! { b: str } with fs { 1 }", "(fn f () -> {a: int} ! {b: str} with fs (block 1))"),
        ("private fn f() = 1", "(private fn f () 1)"),
        ("public server fn mcp f() = 1", "(server mcp fn f () 1)"),
        ("fn mcp(x) = x", "(fn mcp (x) x)"),
        ("fn mcp mcp() = 1", "(mcp fn mcp () 1)"),
        ("fn f(g: fn(int) -> int = x => x) = g", "(fn f (g: (fn int -> int) = (fn (x) x)) g)"),
        ("fn f() { fn g() = 1\n g }", "(fn f () (block (fn g () 1) g))"),
    ],
)
def test_functions(text: str, expected: str) -> None:
    assert tree(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", "int"),
        ("lib.Note", "lib.Note"),
        ("list<list<int>>", "list<list<int>>"),
        ("map<{ a: int }>", "map<{a: int}>"),
        ("list", "list"),
        ('{ a: int, b?: str, "c d": any, type: T, if?: T, }', "{a: int, b?: str, c d: any, type: T, if?: T}"),
        ("{}", "{}"),
        ("T?", "(opt T)"),
        ("list<T?>?", "(opt list<(opt T)>)"),
        ("A | B | null", "(A | B | null)"),
        ("A | B?", "(A | (opt B))"),
        ("(A | B)?", "(opt (A | B))"),
        ("A | (B | C)", "(A | (B | C))"),
        ('"asc" | -1 | 1.5 | true | false', '("asc" | -1 | 1.5 | true | false)'),
        ("fn()", "(fn)"),
        ("fn(int, list<str>) -> bool", "(fn int list<str> -> bool)"),
        ("fn() -> A | B", "(fn -> (A | B))"),
        ("(fn() -> A) | B", "((fn -> A) | B)"),
        ("fn() -> fn() -> A", "(fn -> (fn -> A))"),
        ("fn() -> A?", "(fn -> (opt A))"),
        ("{\n  a: int,\n  b: A\n    | B,\n}", "{a: int, b: (A | B)}"),
    ],
)
def test_types_mean_the_same_wherever_they_are_written(text: str, expected: str) -> None:
    assert tree(f"type T = {text}") == f"(type T {expected})"
    assert tree(f"let x: {text} = y") == f"(let x: {expected} y)"
    assert tree(f"fn f(x: {text} = y) = x") == f"(fn f (x: {expected} = y) x)"
    assert tree(f"fn f() -> {text} = x") == f"(fn f () -> {expected} x)"
    assert tree(f"fn f() -> {text} {{ x }}") == f"(fn f () -> {expected} (block x))"
    assert tree(f"fn f() -> T ! {text} with db {{ x }}") == f"(fn f () -> T ! {expected} with db (block x))"


# --- routes, components and markup --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("route GET / = 1", "(route GET  (fn () 1))"),
        ("route GET /notes/:id = id", "(route GET text:notes:str parameter:id:str (fn (id: str) id))"),
        ("route PUT /a/:id:int/b { id }", None),
        ("route GET /files/*path = path", "(route GET text:files:str rest:path:str (fn (path: str) path))"),
        ("route POST /a/ = 1", "(route POST text:a:str text::str (fn () 1))"),
        ("route GET /a.b-c//d = 1", None),
        ("route DELETE /x with db { 1 }", "(route DELETE text:x:str (fn () with db (block 1)))"),
        ("route GET /=<p/>", "(route GET  (fn () <p>))"),
    ],
)
def test_routes(text: str, expected: str | None) -> None:
    if expected is not None:
        assert tree(text) == expected
    elif "//" in text:
        assert mistakes(text) == ["1:18 Q0109 a part between two slashes of this path is empty"]
    else:
        assert tree(text) == ("(route PUT text:a:str parameter:id:int text:b:str (fn (id: int) (block id)))")


@pytest.mark.parametrize(
    ("route", "message"),
    [
        ("GET notes", "11 Q0109 the path of a route begins with `/`: `/notes`"),
        ("get /a", "7 Q0109 `get` is no method: methods are written in capital letters, `GET`"),
        ("HEAD /a", "7 Q0109 `HEAD` needs no route: it answers as `GET` does"),
        ("FETCH /a", "7 Q0109 `FETCH` is no method: they are `GET`, `POST`, `PUT`, `PATCH` and `DELETE`"),
        ("/a", "7 Q0101 expected a method such as `GET`, found the path `/a`"),
        ("GET /:a/b/:a", "17 Q0109 `a` names two parts of this path"),
        ("GET /*a/b", "12 Q0109 `*a` takes the rest of a path, so it stands last in it"),
        ("GET /:", "12 Q0109 a `:name` or a `*name` is a name alone between two slashes: letters, digits and `_`"),
        (
            "GET /:a.html",
            "12 Q0109 a `:name` or a `*name` is a name alone between two slashes: letters, digits and `_`",
        ),
        ("GET /:if", "12 Q0109 `if` is a keyword: a part of a path can't have it as its name"),
        ("GET /:a:bool", "12 Q0109 `:a:bool` is no part of a path: `:a` takes any text, `:a:int` whole numbers"),
    ],
)
def test_what_is_wrong_with_a_route_is_told_at_its_place(route: str, message: str) -> None:
    assert mistakes(f"route {route} = 1") == [f"1:{message}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '<ul class="a" id={x} hidden>text {expr} <br></ul>',
            '<ul class="a" id=x hidden=true "text " expr " " <br void>>',
        ),
        ("<p.note.big#main>x</p>", '<p class="note big" id="main" "x">'),
        ('<p.note class="x y">a</p>', '<p class="note x y" "a">'),
        ("<button @click={a; b += 1}>x</button>", '<button @click=(block a (+= b 1)) "x">'),
        ("<button @click={}>x</button>", '<button @click=(block) "x">'),
        ("<input bind:value={name}>", "<input void bind:value=name>"),
        ("<p id={} {...attrs}/>", "<p id=null ...=attrs>"),
        ("<Card title='x'>inside</Card>", '<Card component title="x" "inside">'),
        ("<lib.Card.big/>", '<lib.Card component class="big">'),
        ("<lib.Card>a</lib.Card>", '<lib.Card component "a">'),
        ("<my-card/>", "<my-card>"),
        ("<></>", "<>"),
        ("<><p>a</p> <!-- gone --> <p>b</p></>", '< <p "a"> " " <p "b">>'),
        ("<!DOCTYPE html>\n<html></html>", "<html doctype>"),
        ("x = <!-- a --> <p/>", "(= x <p>)"),
        ("<p>{/* nothing */}{}{a}</p>", "<p a>"),
        ("<p>{if a { <b>x</b> } else { `${c}` }}</p>", '<p (if a (block <b "x">) (block (template c)))>'),
        ("<ul>\n  {for x in xs =>\n    <li>{x}</li>}\n</ul>", "<ul (for-list x in xs <li x>)>"),
        ("<script>a < b</script>", '<script raw "a < b">'),
        ("<img src=/a.png/>", '<img void src="/a.png">'),
        ("f(<p>x</p>, a < b)", '(call f <p "x"> (< a b))'),
        ("<p/> == <b/>", "(== <p> <b>)"),
    ],
)
def test_markup(text: str, expected: str) -> None:
    assert tree(text) == expected


def test_a_component_holds_state_and_markup() -> None:
    head = "component Counter(start: int = 0) with db"
    text = f"{head} {{\n  state n = start\n  state m: int = 1\n  <b @click={{n += 1}}>{{n}}</b>\n}}"
    assert tree(text) == (
        "(component (fn Counter (start: int = 0) with db "
        "(block (state n start) (state m: int 1) <b @click=(block (+= n 1)) n>)))"
    )


# --- places -------------------------------------------------------------------------------------------------------


def every_node(node: object) -> list[syntax.Node]:
    found: list[syntax.Node] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, syntax.Node):
            found.append(one)
            for kind in type(one).__mro__:
                waiting.extend(
                    getattr(one, name) for name in getattr(kind, "__slots__", ()) if name not in ("symbol", "type")
                )
            if not isinstance(one, syntax.Expression):
                waiting.append(getattr(one, "type", None))
        elif isinstance(one, list):
            waiting.extend(one)
    return found


NOTES = """//! A notebook of short notes.

db.open("notes.db")
type Note = { id: int, text: str }

/// The notes whose text contains `word`, newest first.
fn mcp search_notes(word: str, limit: int = 20) -> list<Note> with db =
  db.query("select id, text from notes where text like ? order by id desc limit ?", `%${word}%`, limit)

/// Deletes every note, after asking the person.
fn mcp clear_notes() -> int ! str with db {
  let n = db.one("select count(*) as n from notes").n
  if !confirm(`Delete all ${n} notes?`) { return err("nothing was deleted: the user said no") }
  n
}

route GET / with db = <ul>{for n in db.query("select id, text from notes") => <li>{n.text}</li>}</ul>
component Card(title: str) = <h2>{title}</h2>
test "it works" { assert clear_notes() == 0 }
let double = x => x * 2
"""


def test_every_node_lies_within_its_file_and_every_function_knows_it() -> None:
    file = parsed(NOTES)
    nodes = every_node(file.statements)
    assert len(nodes) > 80
    functions = [node for node in nodes if isinstance(node, syntax.Function)]
    assert len(functions) == 6
    assert all(function.source is file.source for function in functions)
    for node in nodes:
        assert 0 <= node.start <= node.end <= len(NOTES)
        if isinstance(node, syntax.Name):
            assert NOTES[node.start : node.end] == node.name


def test_a_function_knows_where_its_name_and_its_head_end() -> None:
    heads = {
        "fn f(a: int) -> int ! str": "fn f(a: int) -> int ! str with db { 1 }",
        "private fn f()": "private fn f() = 1",
        "server fn mcp f() -> list<int>": "server fn mcp f() -> list<int> = 1",
    }
    for head, text in heads.items():
        (function,) = parsed(text).statements
        assert isinstance(function, syntax.Function)
        assert text[: function.head_end] == head
        assert text[function.name_start :].startswith("f(")
    (route,) = parsed("route GET /a/:b = 1").statements
    assert isinstance(route, syntax.Route)
    assert route.function.head_end == len("route GET /a/:b")


# --- size ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "x = 1" + " + 1" * 10_000,
        "x = a" + ".b" * 10_000,
        "x = a" + " | f" * 10_000,
        "x = a" + " ?? b" * 10_000,
        "x = a" + " && b" * 10_000,
        "x = a" + "()[0]?" * 3_000,
        "if a { 1 }" + " else if b { 2 }" * 5_000,
        "x = [" + "1, " * 20_000 + "]",
        "type T = " + " | ".join(["int"] * 10_000),
    ],
    ids=lambda text: text[:20],
)
def test_chains_have_no_limit(text: str) -> None:
    assert mistakes(text) == []


NESTED = {
    "brackets": ("(", ")", 200),
    "lists": ("[", "]", 200),
    "records": ("{ a: ", " }", 200),
    "calls": ("f(", ")", 200),
    "elements": ("<b>{", "}</b>", 100),
    "lambdas": ("x => ", "", 200),
    "templates": ("`${", "}`", 200),
    "prefixes": ("!", "", 200),
    "ifs": ("if a { ", " }", 200),
    "loops": ("for x in xs => ", "", 200),
}


@pytest.mark.parametrize("kind", NESTED)
def test_nesting_ends_at_200_with_one_report(kind: str) -> None:
    opening, closing, most = NESTED[kind]
    assert mistakes("y = " + opening * most + "1" + closing * most) == []
    (found,) = mistakes("y = " + opening * (most + 3) + "1" + closing * (most + 3) + "\nlet = 2")
    assert found.startswith("1:")
    assert found.endswith(
        " Q0012 brackets, elements and lambdas nest more than 200 deep here: give an inner part a name of its own"
    )


# --- the tables ---------------------------------------------------------------------------------------------------


def test_the_tables_are_those_of_the_grammar() -> None:
    assert as_text() == TARGET.read_text(encoding="utf-8")


def test_a_grammar_that_can_be_read_in_two_ways_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_tables, "RULES", [*make_tables.RULES, "expression : expression BANG expression"])
    with pytest.raises(make_tables.GrammarProblem, match="shift/reduce conflicts"):
        make_tables.make_tables()


def test_tables_of_another_grammar_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FINGERPRINT", 0)
    rows, defaults, goto = automaton._load()
    assert (rows, defaults, goto) == (automaton.ROWS, automaton.DEFAULTS, automaton.GOTO)


def test_without_ply_stale_tables_stop_the_program_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FINGERPRINT", 0)
    monkeypatch.setitem(sys.modules, "ply.yacc", None)
    with pytest.raises(SystemExit, match=r"^quillo: the parser's tables do not fit its grammar: run `make tables`$"):
        automaton._load()
