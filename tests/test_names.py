"""What names stand for: symbols, captures, what is assigned and changed, and files that use each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from compiler import syntax
from compiler.diagnostics import Diagnostics
from compiler.names import Program, Symbol, resolve
from compiler.source import Source, SourceError


def resolved(text: str, /, **files: str) -> tuple[Program, list[str]]:
    def load(path: str) -> Source:
        name = path.removesuffix(".qwe")
        if name not in files:
            raise SourceError("is not there")
        return Source(path, files[name])

    diagnostics = Diagnostics()
    program = resolve(Source("main.qwe", text), load, diagnostics)
    return program, [str(found) for found in diagnostics.in_order()]


def nodes(root: Any) -> Iterator[syntax.Node]:
    """All nodes of a tree, from the top."""
    left = [root]
    while left:
        node = left.pop()
        if isinstance(node, list | tuple):
            left += reversed(node)
        elif isinstance(node, syntax.Node):
            yield node
            # What the parser writes: the rest is found later, and leads back up.
            left += [getattr(node, name) for name in reversed(type(node).__match_args__)]


def uses(program: Program, name: str) -> list[Symbol | None]:
    """The symbols of all uses of a name, in order."""
    found = [n for n in nodes(program.main.file.statements) if isinstance(n, syntax.Name) and n.name == name]
    return [n.symbol for n in found]


def function(program: Program, name: str) -> syntax.Function:
    """The declared function of that name, wherever it stands."""
    found = [n for n in nodes(program.main.file.statements) if isinstance(n, syntax.Function) and n.name == name]
    assert len(found) == 1
    return found[0]


def lambdas(program: Program) -> list[syntax.Function]:
    return [n for n in nodes(program.main.file.statements) if isinstance(n, syntax.Function) and n.name is None]


def test_a_name_stands_for_what_is_declared_nearest() -> None:
    program, found = resolved(
        "let x = 1\nfn f(x) {\n  print(x)\n  if true {\n    let x = 2\n    print(x)\n  }\n  print(x)\n}\nprint(x)"
    )
    assert found == []
    kinds = [symbol.kind for symbol in uses(program, "x") if symbol is not None]
    assert kinds == ["parameter", "local", "parameter", "global"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("fn it() = 1\nprint(it)", "function"),
        ("let it = 1\nprint(it)", "global"),
        ("fn f(it) = it", "parameter"),
        ("fn f() {\n  let it = 1\n  it\n}", "local"),
        ("fn f() {\n  fn it() = 1\n  it\n}", "local"),
        ("for it in [1] { print(it) }", "local"),
        ("match 1 { it => print(it) }", "local"),
        ("component Box(it) = <p>{it}</p>", "parameter"),
        ("route GET /:it = it", "parameter"),
        ("component Box() {\n  state it = 1\n  <p>{it}</p>\n}", "local"),
    ],
)
def test_symbols_have_kinds(text: str, kind: str) -> None:
    program, _ = resolved(text)
    assert [symbol.kind for symbol in uses(program, "it") if symbol is not None] == [kind]


def test_builtins_have_symbols_also_those_with_a_dot() -> None:
    program, found = resolved('print(upper("a"))\ndb.query("select 1")')
    assert found == []
    (upper,) = uses(program, "upper")
    assert upper is not None
    assert (upper.kind, upper.name) == ("builtin", "upper")
    (query,) = [n.symbol for n in nodes(program.main.file.statements) if isinstance(n, syntax.Field)]
    assert query is not None
    assert (query.kind, query.name) == ("builtin", "db.query")


def test_a_function_captures_what_it_uses_of_the_functions_around_it() -> None:
    program, _ = resolved("let top = 1\nfn f(a, b) {\n  let c = 1\n  let g = d => a + c + d + top\n  g(b)\n}")
    (inner,) = lambdas(program)
    assert [symbol.name for symbol in inner.captures] == ["a", "c"]
    outer = function(program, "f")
    assert outer.captures == []
    captured = {symbol.name: symbol.captured for symbol in outer.owned}
    assert captured == {"a": True, "b": False, "c": True, "g": False}


def test_functions_in_between_capture_as_well() -> None:
    program, _ = resolved("fn f(a) = () => () => a")
    outer, inner = lambdas(program)
    assert [symbol.name for symbol in outer.captures] == ["a"]
    assert outer.captures == inner.captures


def test_what_is_only_assigned_is_captured_too() -> None:
    program, _ = resolved("fn f() {\n  let n = 0\n  let g = () => { n = 1 }\n  g()\n  n\n}")
    (inner,) = lambdas(program)
    assert [symbol.name for symbol in inner.captures] == ["n"]
    assert inner.captures[0].assigned


def test_top_level_variables_are_not_captured_but_locals_of_top_level_blocks_are() -> None:
    program, _ = resolved("let a = 1\nif true {\n  let b = 2\n  let f = () => a + b\n  f()\n}")
    (inner,) = lambdas(program)
    assert [symbol.name for symbol in inner.captures] == ["b"]
    assert [symbol.name for symbol in program.main.owned] == ["b", "f"]


def test_a_local_function_that_calls_itself_captures_itself() -> None:
    program, _ = resolved("fn f() {\n  fn again(n) = again(n - 1)\n  again(1)\n}")
    inner = function(program, "again")
    assert [symbol.name for symbol in inner.captures] == ["again"]


def test_a_function_owns_all_that_is_declared_in_it_but_not_in_inner_functions() -> None:
    program, _ = resolved(
        "fn f(a) {\n  let { b, c } = a\n  for i, x in b { print(i, x) }\n  match c { [y] => y, _ => 0 }\n"
        "  let g = z => z\n  fn h() = 1\n  g(h())\n}"
    )
    names = {symbol.name for symbol in function(program, "f").owned}
    assert names == {"a", "b", "c", "i", "x", "y", "g", "h"}
    assert all(symbol.function is function(program, "f") for symbol in function(program, "f").owned)


def test_each_side_of_a_pattern_binds_the_same_symbol() -> None:
    program, _ = resolved("match [1] { [a] | [_, a] => print(a), _ => 0 }")
    patterns = [n.symbol for n in nodes(program.main.file.statements) if isinstance(n, syntax.NamePattern)]
    assert len(patterns) == 2
    assert patterns[0] is patterns[1]
    assert uses(program, "a") == [patterns[0]]


@pytest.mark.parametrize(
    ("statement", "assigned", "changed", "indexed"),
    [
        ("x = 1", True, False, set()),
        ("x += 1", True, True, set()),
        ("x.a = 1", False, True, set()),
        ("x[0] = 1", False, True, set()),
        ("x[-1] = 1", False, True, set()),
        ("x[key] = 1", False, True, {0}),
        ('x["a"] = 1', False, True, {0}),
        ("x.a.b[key] = 1", False, True, {2}),
        ("x[key].a = 1", False, True, set()),
        ("print(x)", False, False, set()),
    ],
)
def test_variables_know_how_they_are_given_values(
    statement: str, assigned: bool, changed: bool, indexed: set[int]
) -> None:
    program, _ = resolved(f"fn f(x, key) {{\n  {statement}\n}}")
    symbol = function(program, "f").owned[0]
    assert (symbol.assigned, symbol.changed, symbol.indexed) == (assigned, changed, indexed)


def test_a_loop_knows_what_its_turns_change() -> None:
    program, _ = resolved(
        "fn f() {\n  let a = 1\n  let b = [1]\n  let c = 1\n"
        "  while true {\n    for x in b { a += x }\n    b[0] = 2\n  }\n  c\n}"
    )
    changes = {
        type(loop).__name__: {symbol.name for symbol in symbols} for loop, symbols in program.loop_changes.items()
    }
    assert changes == {"While": {"a", "b"}, "For": {"a"}}


def test_uses_count_reads_only() -> None:
    program, _ = resolved("fn f() {\n  let n = 0\n  n = 1\n  n += 1\n  print(n, n)\n}")
    assert function(program, "f").owned[0].uses == 2


def test_files_run_in_the_order_in_which_they_are_used_each_once() -> None:
    program, found = resolved(
        'use "a.qwe"\nuse "b.qwe"\nprint(a(), b())',
        a='use "c.qwe"\nfn a() = c()',
        b='use "c.qwe"\nfn b() = c()',
        c="fn c() = 1",
    )
    assert found == []
    assert [unit.path for unit in program.units] == ["c.qwe", "a.qwe", "b.qwe", ""]
    assert program.main is program.units[-1]


def test_names_of_used_files_stand_for_what_is_declared_there() -> None:
    program, found = resolved(
        'use "a.qwe"\nuse "b.qwe" as b\nimport c.qwe use three\nprint(one(), b.two(), three())',
        a="fn one() = 1",
        b="fn two() = 2",
        c="fn three() = 3",
    )
    assert found == []
    units = {unit.path: unit for unit in program.units}
    assert uses(program, "one") == [units["a.qwe"].names["one"]]
    (two,) = [n.symbol for n in nodes(program.main.file.statements) if isinstance(n, syntax.Field)]
    assert two is units["b.qwe"].names["two"]
    assert uses(program, "three") == [units["c.qwe"].names["three"]]


def test_a_file_of_ten_thousand_uses_is_read_without_deep_recursion() -> None:
    files = {f"f{n}": f'use "f{n + 1}.qwe" as next\nfn g() = 1' for n in range(2000)}
    files["f2000"] = "fn g() = 1"
    program, found = resolved('use "f0.qwe" as next\nprint(next.g())', **files)
    assert found == []
    assert len(program.units) == 2002


def test_what_a_loader_says_is_passed_on() -> None:
    def load(path: str) -> Source:
        raise SourceError(f"{path}:3: error: byte 0xff is not UTF-8: save the file as UTF-8")

    diagnostics = Diagnostics()
    resolve(Source("main.qwe", 'use "a.qwe"'), load, diagnostics)
    assert [str(found) for found in diagnostics.in_order()] == [
        "main.qwe:1: error: `a.qwe:3` can't be used: byte 0xff is not UTF-8: save the file as UTF-8"
    ]


def test_the_languages_own_code_may_use_hidden_builtins() -> None:
    source = Source("main.qwe", "fn f(xs) = _sort_by(xs, xs)")
    for hidden, found in ((True, 0), (False, 1)):
        diagnostics = Diagnostics()
        resolve(source, lambda path: source, diagnostics, hidden=hidden)
        assert len(diagnostics.in_order()) == found


def test_the_parts_of_a_symbols_place_are_known() -> None:
    program, _ = resolved("fn f(abc) {\n  let def_ = abc\n  def_\n}")
    text = program.main.source.text
    for symbol in function(program, "f").owned:
        assert text[symbol.start : symbol.start + len(symbol.name)] == symbol.name


def test_nearest_names_are_looked_for_only_so_often() -> None:
    text = "\n".join(f"print(unknown_{number}_name)" for number in range(2000))
    assert len(resolved(text)[1]) == 50


@pytest.mark.parametrize(
    "text",
    [
        "let x = 1" + " + y" * 10_000,
        "fn f(a) = a" + ".b" * 10_000,
        "fn f(a) = if a { 1 }" + " else if a { 1 }" * 5_000,
        "let x = 1" + " | str" * 10_000,
        "let x = " + "[" * 200 + "]" * 200,
        "let x = " + "x => " * 199 + "1",
        "fn f() {" + "if true { " * 190 + "1" + " }" * 190 + "}",
    ],
)
def test_deep_and_long_programs_are_walked(text: str) -> None:
    resolved(text)
