"""What the checker puts on the tree: types, whether values may be errors, and which argument goes where.

What it reports is told by the programs of tests/check.
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from compiler import checker, syntax
from compiler.builtins import Builtin
from compiler.checker import check
from compiler.checking import Checking
from compiler.diagnostics import Diagnostics
from compiler.names import Program, Symbol, resolve
from compiler.relations import surely_fits
from compiler.source import Source, SourceError
from compiler.types import Simple, written
from tests.check_programs import check_programs, checked, found_in
from tests.test_names import function, nodes


def program_of(text: str) -> Program:
    program, diagnostics = checked({"main.qwe": text})
    assert not diagnostics.has_errors, [str(found) for found in diagnostics.in_order()]
    return program


def value_of(text: str) -> syntax.Expression:
    """The value of the last top-level `let` or expression of a program."""
    statement = program_of(text).main.file.statements[-1]
    if isinstance(statement, syntax.Let):
        return statement.value
    assert isinstance(statement, syntax.ExpressionStatement)
    return statement.expression


def type_of(text: str) -> str:
    type = value_of(text).type
    assert type is not None
    return written(type)


def variable(program: Program, name: str) -> Symbol:
    """The variable of that name, wherever it is declared."""
    symbols: list[Symbol] = [*program.main.names.values(), *program.main.owned]
    for node in nodes(program.main.file.statements):
        if isinstance(node, syntax.Function):
            symbols += node.owned
    (found,) = [symbol for symbol in symbols if symbol.name == name]
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "int"),
        ("1.5", "float"),
        ('"a"', "str"),
        ("true", "bool"),
        ("null", "null"),
        ("`${1}`", "str"),
        ("sql`select ${1}`", "sql"),
        ("[1, 2]", "list<int>"),
        ("[1, 2.5, null]", "list<int | float | null>"),
        ("[]", "list<never>"),
        ("[[1], []]", "list<list<int>>"),
        ('{ a: 1, "b c": "x" }', "{ a: int, b c: str }"),
        ("{ a: 1, ...{ b: 2 } }", "{ a: int, b: int }"),
        ("1 + 2", "int"),
        ("1 + 2.5", "float"),
        ("1 / 2", "int"),
        ('"a" + "b"', "str"),
        ('[1] + ["a"]', "list<int | str>"),
        ("1 < 2", "bool"),
        ("1 == 2 || true", "bool"),
        ("0..3", "list<int>"),
        ("-(1.5)", "float"),
        ("!true", "bool"),
        ("null ?? 1", "int"),
        ('int("1") ?? "none"', "int | str"),
        ("[1, 2][0]", "int"),
        ("[1, 2][..1]", "list<int>"),
        ('"abc"[0]', "str"),
        ("{ a: 1 }.a", "int"),
        ("{ a: { b: true } }.a.b", "bool"),
        ('if true { 1 } else { "a" }', "int | str"),
        ("if true { 1 }", "int?"),
        ('match 1 { 1 => "one", _ => null }', "str?"),
        ("for x in [1, 2] => x * 1.5", "list<float>"),
        ('for k, v in { a: 1 } => [k, "x"]', "list<list<str>>"),
        ("x => x", "fn(any) -> any"),
        ("(a: int, b: str) => a", "fn(int, str) -> int"),
        ("upper", "fn(str) -> str"),
        ("print", "function"),
        ("map([1], x => `${x}`)", "list<str>"),
        ("[1, 2] | filter(x => x > 1) | first", "int?"),
        ("reduce([1], (t, x) => t + x, 0)", "int"),
        ("reduce([1.5], (t, x) => t + x, 0)", "int | float"),
        ("group_by([1], x => str(x))", "map<list<int>>"),
        ("min(1, 2)", "int"),
        ('max("a", "b")', "str"),
        ("abs(-1.5)", "float"),
        ('from_json("1")', "any"),
        ('err("no")', "error"),
        ("<p>a</p>", "html"),
        ("(x => x + 1)(1)", "int"),
        ('"a" | len | x => [x]', "list<int>"),
        ("{}", "{}"),
    ],
)
def test_types_of_expressions(text: str, expected: str) -> None:
    assert type_of(f"let it = {text}") == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("let it = 1", "int"),
        ("let it = 1\nit = 2", "int"),
        ("let it = 1\nit += 1.5", "int | float"),
        ("let it = null\nit = 1", "int?"),
        ("let it = []\nit += [1]\nit += [null]", "list<int?>"),
        ("let it = [1]\nit[0] = 1.5", "list<int | float>"),
        ("let it = { a: [] }\nit.a += [1]", "{ a: list<int> }"),
        ("let it = { a: 1 }\nlet k = args()[0]\nit[k] = 2", "{}"),
        ("let it: float = 1", "float"),
        ("let it: int? = 1\nit = null", "int?"),
        ("let it = 1\nfn f(x) { it = x }", "any"),
        ("let it = 1\nfn f() { it = 1.5 }", "int | float"),
        ("let it = [1]\nfor i in 0..9 { it = [it] }", "any"),
        ('let it = if true { "a" } else { 1 }', "str | int"),
        ("let it = err(1)", "any"),
    ],
)
def test_types_of_variables(before: str, expected: str) -> None:
    type = variable(program_of(before), "it").type
    assert type is not None
    assert written(type) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fn it() = 1", "int"),
        ("fn it() -> float = 1", "float"),
        ("fn it() { }", "null"),
        ("fn it() { print(1) }", "null"),
        ('fn it(c: bool) {\n  if c { return 1 }\n  "a"\n}', "int | str"),
        ("fn it(n: int) = if n < 2 { n } else { it(n - 1) + it(n - 2) }", "int"),
        ("fn it(n: int) = if n == 0 { [] } else { [n] + it(n - 1) }", "list<int>"),
        ("fn it(n) = other(n)\nfn other(n) = if n { 1 } else { it(n) }", "int"),
        ("fn it() = it()", "never"),
        ("fn it() { exit() }", "never"),
        ("fn it(n) = n", "any"),
        ('fn it() = err("no")', "error"),
        ('fn it(c: bool) = if c { 1 } else { err("no") }', "int"),
        ("fn it(n) = if n { [it(n)] } else { 1 }", "list<any> | int"),
    ],
)
def test_results_of_functions(text: str, expected: str) -> None:
    result = function(program_of(text), "it").result_type
    assert result is not None
    assert written(result) == expected


FAILING = 'fn bad() = err("no")\nfn maybe(n: int) -> int = if n > 0 { n } else { bad() }\nfn good(n: int) = n + 1\n'


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("1", False),
        ("bad()", True),
        ("maybe(1)", True),
        ("good(1)", False),
        ("maybe(1) + 1", False),
        ("[maybe(1)]", False),
        ("{ a: maybe(1) }.a", False),
        ("maybe(1) ?? 0", False),
        ("maybe(1) ?? bad()", True),
        ('int("1")', True),
        ("upper(1 | str)", False),
        ('fetch("https://a.example")?.status', True),
        ('err("no")', True),
        ("is_err(bad())", False),
        ("if true { maybe(1) } else { 1 }", True),
        ("if true { good(1) } else { 1 }", False),
        ("match 1 { 1 => maybe(1), _ => 2 }", True),
        ("match 1 { 1 => good(1), _ => 2 }", False),
        ("map([1], good)", False),
        ("(() => bad())()", True),
        ('db.query("select 1")', True),
        ("for x in [1] => good(x)", False),
        ("first([1])", False),
    ],
)
def test_what_may_be_an_error(text: str, fails: bool) -> None:
    assert value_of(f"{FAILING}let it = {text}").fails is fails


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("let r = maybe(1)\nr", True),
        ("let r = good(1)\nr", False),
        ("let r = 1\nr = maybe(1)\nr", True),
        ("let r = 1\nr = good(1)\nr", False),
        ("let r = maybe(1)\nlet s = r\ns", True),
        ("for x in [1] { x }\n1", False),
        ("let r = 1\nfn f() { r = bad() }\nr", True),
        ("let { a } = { a: 1 }\na", False),
        ("let r = maybe(1)\nif is_err(r) { exit(1) }\nr", False),
    ],
)
def test_variables_that_may_hold_an_error(text: str, fails: bool) -> None:
    assert value_of(FAILING + text).fails is fails


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        ("= 1", False),
        ("= bad()", True),
        ("{ return bad() }", True),
        ("{\n  let x = maybe(1)?\n  x\n}", True),
        ("{\n  bad() ?? 1\n}", False),
        ("= good(1)", False),
        ("= if true { it() } else { 1 }", False),
        ("= if true { it() } else { maybe(1) }", True),
        ("= other()\nfn other() = it()", False),
        ("= other()\nfn other() = if true { it() } else { bad() }", True),
    ],
)
def test_functions_that_never_give_an_error_are_found(body: str, fails: bool) -> None:
    assert value_of(f"{FAILING}fn it() {body}\nlet r = it()").fails is fails


def call_of(text: str) -> syntax.Call:
    found = value_of(text)
    assert isinstance(found, syntax.Call)
    return found


def shown(arguments: list[Any]) -> list[Any]:
    return [argument.value if isinstance(argument, syntax.Literal) else argument for argument in arguments]


def test_arguments_stand_in_the_order_of_the_parameters() -> None:
    call = call_of("fn f(a, b = 2, c = 3) = a\nf(c: 30, a: 10)")
    assert isinstance(call.target, syntax.Function)
    assert call.ordered is not None
    assert shown(call.ordered) == [10, None, 30]
    assert call.rest == []


def test_what_is_piped_is_the_first_argument() -> None:
    call = call_of("1 | pow(2)")
    assert isinstance(call.target, Builtin)
    assert call.target.name == "pow"
    assert call.ordered is not None
    assert shown(call.ordered) == [1, 2]


def test_a_builtin_of_any_number_takes_the_further_arguments() -> None:
    call = call_of('db.query("select ?, ?", 1, "a")')
    assert call.ordered is not None
    assert shown(call.ordered) == ["select ?, ?"]
    assert shown(call.rest) == [1, "a"]


@pytest.mark.parametrize(
    ("text", "overload"),
    [("abs(1)", 0), ("abs(1.5)", 1), ('slice("abc", 1)', 0), ("slice([1], 1)", 1), ('max("a", "b")', 3)],
)
def test_the_overload_is_the_first_that_the_arguments_fit(text: str, overload: int) -> None:
    assert call_of(text).overload == overload


def test_a_function_value_has_no_target() -> None:
    call = call_of("let f = x => x\nf(1)")
    assert call.target is None
    assert call.ordered is None


def test_a_local_function_is_a_target() -> None:
    program = program_of("fn f() {\n  fn inner(n) = n\n  inner(1)\n}")
    (call,) = [n for n in nodes(program.main.file.statements) if isinstance(n, syntax.Call)]
    assert call.target is function(program, "inner")


def test_a_lambda_takes_what_it_will_be_given() -> None:
    program = program_of('map([{ n: 1 }], x => x.n)\nlet f: fn(str) -> int = s => len(s)\n"a" | t => t')
    takes = {}
    for node in nodes(program.main.file.statements):
        if isinstance(node, syntax.Parameter):
            assert node.symbol is not None
            assert node.symbol.type is not None
            takes[node.name] = written(node.symbol.type)
    assert takes == {"x": "{ n: int }", "s": "str", "t": "str"}


def test_an_assignment_knows_what_its_target_must_be() -> None:
    program = program_of(
        "type Note = { text: str, tags: map<int> }\nfn f(n: Note) {\n  n.text = `a`\n  n.tags[`k`] = 1\n}"
    )
    targets = [n.target for n in nodes(program.main.file.statements) if isinstance(n, syntax.Assign)]
    assert [written(target.type) for target in targets if target.type is not None] == ["str", "int"]


def test_named_types_of_two_files_are_told_apart() -> None:
    files = {
        "main.qwe": 'use "shapes.qwe" as shapes\ntype Size = int\ntype Only = str\nlet a: shapes.Size = "x"\nprint(a)',
        "shapes.qwe": "type Size = str",
    }
    program, diagnostics = checked(files)
    assert diagnostics.in_order() == []
    names = {unit.path: [s.type.qualified for s in unit.types.values()] for unit in program.units}  # type: ignore[union-attr]
    assert names == {"shapes.qwe": ["shapes.Size"], "": ["main.Size", "Only"]}


def test_a_variables_type_holds_all_that_it_is_given() -> None:
    """Whatever an assignment gives to a variable whose type nobody wrote, needs no check as it runs."""
    text = (
        "let total = 0\nlet found = null\nlet list = []\nfn f(xs: list<float>, y) {\n  for x in xs {\n    total += x\n"
        "    if x > 1 { found = x }\n    list += [x]\n  }\n  let last = 1\n  last = y\n  last\n}"
    )
    program = program_of(text)
    assigned = [n for n in nodes(program.main.file.statements) if isinstance(n, syntax.Assign) and not n.operator]
    assert len(assigned) == 2
    for node in assigned:
        assert node.target.type is not None
        assert node.value.type is not None
        assert surely_fits(node.value.type, node.target.type)


LONG = {
    "sums": "let x = 1" + " + 1" * 10_000,
    "texts": 'let x = "a"' + ' + "b"' * 10_000,
    "and": "fn f(a: int?, b: bool) = b" + " && a != null" * 10_000,
    "or": "fn f(a: int?, b: bool) = b" + " || a == null" * 10_000,
    "otherwise": "let x = null" + " ?? null" * 10_000,
    "pipes": "let x = 1" + " | str" * 10_000,
    "fields": "fn f(x) = x" + ".a" * 10_000,
    "else if": 'fn f(x: str?) = if x == "a" { 1 }' + "".join(f' else if x == "b{n}" {{ {n} }}' for n in range(5000)),
    "arms": "fn f(x: str) = match x {\n" + "".join(f'"b{n}" => {n}\n' for n in range(5000)) + "}",
    "literals": "type L = " + " | ".join(f'"a{n}"' for n in range(3000)) + "\nfn f(x: L) = match x {\n"
    + "".join(f'"a{n}" => {n}\n' for n in range(3000)) + "}",
    "lists in lists": "let x = " + "[" * 200 + "]" * 200,
    "calls in calls": "let x = " + "str(" * 190 + "1" + ")" * 190,
    "ifs in ifs": "fn f(c: bool) {" + "if c { " * 190 + "1" + " }" * 190 + "}",
    "lambdas in lambdas": "let x = " + "x => " * 190 + "1",
    "callbacks in callbacks": "let x = " + "map([1], x => " * 90 + "1" + ")" * 90,
    "turns in turns": "let x = " + "reduce([1], (a, x) => a + " * 90 + "1.5" + ", 0)" * 90,
    "loops in loops": "fn f() {\n" + "let x = null\nwhile x == null { x = 1\n" * 100 + "}" * 100 + "}",
    "ever deeper types": "let a0 = [1]\n" + "".join(f"let a{n + 1} = [a{n}]\n" for n in range(1000)),
    "ever bigger types": "let a0 = { x: 1 }\n"
    + "".join(f"let a{n + 1} = {{ x: a{n}, y: a{n} }}\n" for n in range(1000)),
    "calls of calls": "".join(f"fn f{n}(n) = f{n + 1}(n) + 1\n" for n in range(5000)) + "fn f5000(n) = n",
    "a ring": "".join(f"fn f{n}(n: int) = if n == 0 {{ 1 }} else {{ f{(n + 1) % 999}(n - 1) }}\n" for n in range(999)),
    "types of types": "".join(f"type T{n} = {{ a: T{n + 1}? }}\n" for n in range(3000))
    + "type T3000 = int\nfn f(a: T0) -> T1? = a.a",
    "assignments": "fn f() {\nlet x = 0\n" + "x = x + 1\n" * 5000 + "x\n}",
    "tests for null": "fn f(a: { b: int }?) {\n" + "if a != null { print(a.b) }\n" * 3000 + "}",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_long_and_deep_programs_are_checked(text: str) -> None:
    assert [found for found in found_in(text) if "error" in found] == []


def test_types_that_nest_too_deep_are_refused() -> None:
    text = "fn f(x: " + "list<" * 150 + "int" + ">" * 150 + ") = x"
    (found,) = found_in(text)
    assert "types nest more than 100 deep" in found


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by one with each pass that the checker makes."""
    made: list[object] = []
    walk = checker._walk

    def counting(found: Checking) -> None:
        made.append(found)
        walk(found)

    monkeypatch.setattr(checker, "_walk", counting)
    return made


def test_one_pass_is_enough_where_nothing_is_leant_on(passes: list[object]) -> None:
    program_of("fn f(n: int) {\n  let total = 0\n  for i in 0..n { total += i }\n  total\n}\nprint(f(3))")
    assert len(passes) == 1


def test_passes_end_whatever_changes(passes: list[object]) -> None:
    lines = [f"  a{n} = [a{n + 1}]" for n in range(40)]
    text = "fn f() {\n" + "".join(f"  let a{n} = 1\n" for n in range(41)) + "\n".join(lines) + "\n  a40 = [a0]\n  a0\n}"
    found_in(text)
    assert len(passes) <= 9


# --- programs at random -------------------------------------------------------------------------------------------

_WORDS = re.compile(r'\w+|"[^"\n]*"|\s+|.')


def mutated(pieces: list[str], others: list[list[str]], chance: random.Random) -> str:
    pieces = list(pieces)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(pieces))
        match chance.randrange(4):
            case 0:
                del pieces[at : at + 1]
            case 1:
                pieces.insert(at, chance.choice(pieces))
            case 2:
                pieces[at] = chance.choice(chance.choice(others))
            case _:
                other = chance.choice(others)
                start = chance.randrange(len(other))
                pieces[at:at] = other[start : start + chance.randint(1, 30)]
        if not pieces:
            break
    return "".join(pieces)


def _no_file(path: str) -> Source:
    raise SourceError("is not there")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_program_brings_the_checker_down(seed: int) -> None:
    texts = [re.sub(r"// (error|warning): .*", "", text) for p in check_programs() for text in p.files.values()]
    pieces = [found for text in texts if (found := _WORDS.findall(text))]
    chance = random.Random(seed)
    for _ in range(250):
        text = mutated(chance.choice(pieces), pieces, chance)
        diagnostics = Diagnostics()
        program = resolve(Source("main.qwe", text), _no_file, diagnostics)
        check(program, diagnostics)
        for node in nodes([unit.file.statements for unit in program.units]):
            # What stands for a reported mistake inside the checker is never left on the tree.
            if isinstance(node, syntax.Expression):
                assert node.type != Simple("mistake"), text
                assert isinstance(node.fails, bool), text


def _renamed(text: str, chance: random.Random) -> str | None:
    """A program in which one name or one field, where it is read, is another that nothing has."""
    program = program_of(text)
    parsed = list(nodes(program.main.file.statements))
    written_to = {node.target for node in parsed if isinstance(node, syntax.Assign)}
    places = [
        (node.start, node.end)
        for node in parsed
        if isinstance(node, syntax.Name) and node not in written_to and text[node.start : node.end] == node.name
    ]
    places += [
        (node.name_start, node.name_start + len(node.name))
        for node in parsed
        if isinstance(node, syntax.Field) and node.symbol is None and node.name_start and node not in written_to
    ]
    if not places:
        return None
    start, end = chance.choice(places)
    return f"{text[:start]}qqzzqq{text[end:]}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_one_mistake_is_one_error(seed: int) -> None:
    programs = [p for p in check_programs() if not any(what.startswith("error") for *_, what in p.promised())]
    texts = [p.files["main.qwe"] for p in programs if len(p.files) == 1]
    chance = random.Random(seed)
    reported = 0
    for _ in range(100):
        text = _renamed(chance.choice(texts), chance)
        if text is None:
            continue
        errors = [found for found in found_in(text) if ": error: " in found]
        assert len(errors) <= 1, (text, errors)
        reported += len(errors)
    assert reported > 50
