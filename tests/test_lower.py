"""The Module that a program becomes: its code, its tables, and that long chains are no trouble."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from qasm import module_file
from qasm.instructions import BUILTIN, CONSTANT, FUNCTION, GLOBAL, KEYS, TYPE, decode
from qasm.module import Function, Module
from qasm.verifier import verify
from qvm.program import Failed, Program, Returned
from qvm.values import Err, Markup, Stop
from server.host import ProgramHost, World
from tests.programs import DoesNotCheck, compiled, ran


def function(module: Module, name: str) -> Function:
    return next(f for f in module.functions if f.name == name)


def code(module: Module, name: str) -> list[str]:
    """A function's instructions, with constants, builtins, functions and top-level variables by value or name."""
    lines = []
    for op, operands in decode(function(module, name).code):
        words = [op.name]
        for kind, operand in zip(op.operands, operands, strict=True):
            if kind in (CONSTANT, KEYS, TYPE):
                words.append(repr(module.constants[operand]))
            elif kind == BUILTIN:
                words.append(module.builtins[operand])
            elif kind == FUNCTION:
                words.append(module.functions[operand].name)
            elif kind == GLOBAL:
                words.append(module.globals[operand])
            else:
                words.append(str(operand))
        lines.append(" ".join(words))
    return lines


def code_of(body: str, name: str = "f") -> list[str]:
    module = compiled(body)
    verify(module)
    return code(module, name)


# --- code -------------------------------------------------------------------------------------------------------------


def test_recursion_is_a_direct_call_that_needs_no_checks():
    assert code_of("fn f(n: int) -> int = if n < 2 { n } else { f(n - 1) + f(n - 2) }") == [
        "CHARGE 18",
        "LOAD 0",
        "INT 2",
        "LT",
        "IF 1",
        "LOAD 0",
        "ELSE",
        "LOAD 0",
        "INT 1",
        "SUB",
        "CALL f",
        "LOAD 0",
        "INT 2",
        "SUB",
        "CALL f",
        "ADD",
        "END",
        "RETURN",
    ]


def test_a_loop_over_a_range_makes_no_list_and_changes_its_variable_in_place():
    assert code_of("fn f(n: int) {\n  let out = []\n  for i in 0..n { out += [i] }\n  out\n}") == [
        "CHARGE 12",
        "LIST 0",
        "STORE 1",
        "INT 0",
        "LOAD 0",
        "ITER_RANGE 2",
        "BLOCK 0",
        "LOOP",
        "CHARGE 7",
        "NEXT 2 1",
        "STORE 3",
        "LOAD 3",
        "LIST 1",
        "EXTEND 0 1",
        "BR 0",
        "END",
        "END",
        "LOAD_SHARED 0 1",
        "RETURN",
    ]


def test_a_comprehension_builds_its_list_in_place():
    assert code_of("fn f(xs: list<int>) = for x in xs if x > 1 => x * 2") == [
        "CHARGE 10",
        "LIST_BEGIN 1",
        "LOAD 0",
        "ITER 2",
        "BLOCK 0",
        "LOOP",
        "CHARGE 12",
        "NEXT 2 1",
        "STORE 3",
        "LOAD 3",
        "INT 1",
        "GT",
        "BR_UNLESS 0",
        "LOAD 3",
        "INT 2",
        "MUL",
        "LIST_ADD 1",
        "BR 0",
        "END",
        "END",
        "LIST_END 1",
        "RETURN",
    ]


def test_only_what_may_be_an_error_is_looked_at():
    assert code_of("fn g() = err(1)\nfn f(a: int) = [a, g()]") == [
        "CHARGE 6",
        "LOAD 0",
        "CALL g",
        "USE",
        "LIST 2",
        "RETURN",
    ]


def test_what_no_error_can_stop_in_is_not_tried():
    assert code_of("fn f(m: map<int>, k: str) = m[k] ?? 0") == [
        "BLOCK 1",
        "LOAD 0",
        "LOAD 1",
        "INDEX",
        "DUP",
        "IS_MISSING",
        "BR_UNLESS 0",
        "POP",
        "INT 0",
        "END",
        "RETURN",
    ]


def test_a_chain_of_otherwise_is_one_block():
    assert code_of("fn g() = err(1)\nfn f(a, b) = a.x ?? g() ?? b") == [
        "CHARGE 19",
        "BLOCK 1",
        "LOAD 0",
        "FIELD 'x'",
        "DUP",
        "IS_MISSING",
        "BR_UNLESS 0",
        "POP",
        "TRY 1",
        "CALL g",
        "CATCH",
        "END",
        "DUP",
        "IS_MISSING",
        "BR_UNLESS 0",
        "POP",
        "LOAD 1",
        "END",
        "RETURN",
    ]


def test_values_of_known_type_are_not_checked_and_others_are():
    assert "CHECK 'int' 'argument 1 of `g`'" not in code_of("fn g(n: int) = n\nfn f(n: int) = g(n)")
    assert "CHECK 'int' 'argument 1 of `g`'" in code_of("fn g(n: int) = n\nfn f(n) = g(n)")


def test_a_literal_int_becomes_a_float_where_one_is_wanted():
    assert code_of("fn f() -> float = 2") == ["CONST 2.0", "RETURN"]


def test_a_local_function_that_captures_nothing_needs_no_closure():
    body = "fn f(n: int) {\n  fn down(k: int) -> int = if k == 0 { 0 } else { up(k) }\n"
    body += "  fn up(k: int) -> int = down(k - 1)\n  down(n)\n}"
    assert code_of(body) == ["CHARGE 4", "LOAD 0", "CALL down", "RETURN"]


def test_a_lambda_given_to_a_builtin_is_written_in_place():
    assert code_of("fn f(xs: list<int>) = xs | map(x => x * 2)") == [
        "CHARGE 10",
        "LOAD 0",
        "LIST_BEGIN 1",
        "ITER 2",
        "BLOCK 0",
        "LOOP",
        "CHARGE 8",
        "NEXT 2 1",
        "STORE 3",
        "LOAD 3",
        "INT 2",
        "MUL",
        "LIST_ADD 1",
        "BR 0",
        "END",
        "END",
        "LIST_END 1",
        "RETURN",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "fn f(xs) = map(xs, x => int(x)?)",
        "fn f(xs) = map(xs, x => { return 1 })",
        "fn f(xs) = map(xs, fn(x: int) -> int { x })",
        "fn f(xs) = map(xs, x => { x += 1; x })",
        "fn f(xs, g) = map(xs, g)",
        "fn f(xs) = map(xs, x => g(x))\nfn g(x) = confirm(`${x}?`)",
        "fn f(xs) = map(xs, x => confirm(`${x}?`))",
        "fn f(xs) = map(xs, g)\nfn g(x) = confirm(`${x}?`)",
    ],
)
def test_a_lambda_is_left_a_function_where_the_difference_would_show(text):
    assert any(line.startswith("CALL map") for line in code_of(text))


def test_a_variable_that_is_only_looked_at_stays_its_own():
    lines = code_of("fn f() {\n  let xs = [1]\n  xs[0] = len(xs)\n  xs[0]\n}")
    assert "LOAD_SHARED 0 0" not in lines
    assert "ASSIGN 0 0 '['" in lines


@pytest.mark.parametrize(
    "looked_at",
    [
        "xs[len(xs) - 1]",
        "xs[half(xs[0])]",
        "xs[half(0)..half(1)]",
        "xs[(index_of(xs, 2) ?? 0)..]",
        "contains(xs, 2)",
        "contains(rows, xs[0])",
        "contains(xs, last(xs))",
        "first(xs)",
        "xs | last",
        "join(xs)",
        "sum(xs)",
        "slice(xs, 1, len(xs))",
        "has(r, `${first(xs)}`)",
        "keys(r)",
        "r | values",
        "push(xs, 1)",
        "len(r.xs)",
        "`${xs} ${len(xs)}`",
    ],
)
def test_what_only_looks_at_a_variable_leaves_it_its_list(looked_at):
    changes = "xs[0] = 1\n  xs += [2]\n  r.xs = []\n  rows += [1]"
    start = "let xs = [1]\n  let r = { xs: [1] }\n  let rows = [1]"
    half = "fn half(i: int) -> int = i / 2\n"
    lines = code_of(f"{half}fn f(i: int) {{\n  {start}\n  {changes}\n  let seen = {looked_at}\n  [seen]\n}}")
    assert not [line for line in lines if line.startswith("LOAD_SHARED")]


@pytest.mark.parametrize("kept", ["push(rows, xs)", "insert(rows, 0, xs)", "[xs]", "xs[g()]", "respond(200, xs)"])
def test_what_may_keep_a_variables_list_takes_it_shared(kept):
    changes = "let g = () => { xs = [3]; 0 }" if "g()" in kept else "xs[0] = 1"
    text = f"fn f() {{\n  let xs = [1]\n  let rows = [[1]]\n  {changes}\n  xs += [2]\n  let seen = {kept}\n  [seen]\n}}"
    assert any(line.startswith("LOAD_SHARED") for line in code_of(text))


def test_a_function_of_the_programs_own_hides_what_is_known_of_a_builtin():
    text = "fn len(x) = [x]\nfn f() {\n  let xs = [1]\n  xs += [2]\n  len(xs)\n}"
    assert any(line.startswith("LOAD_SHARED") for line in code_of(text))


def test_an_element_and_what_is_in_it_is_one_piece_of_markup():
    module = compiled('fn f(x) = <ul class="a"><li>{x}</li><li>b</li></ul>')
    assert code(module, "f") == [
        "CONST {'markup': '<ul class=\"a\"><li>'}",
        "LOAD 0",
        "CONST {'markup': '</li><li>b</li></ul>'}",
        "MARKUP 3",
        "RETURN",
    ]


# --- tables -----------------------------------------------------------------------------------------------------------


def test_constants_of_different_kinds_that_are_equal_in_python_stay_apart():
    module = compiled('print([1.0, 0.0, -0.0], { a: 1.0 }, "1")\nfn f() = match 1 { 1.0 => true, _ => 0.0 }')
    floats = [constant for constant in module.constants if isinstance(constant, float)]
    assert sorted(map(str, floats)) == ["-0.0", "0.0", "1.0"]
    assert ran(module).lines == ['[1.0, 0.0, -0.0] {"a": 1.0} 1']


def test_equal_constants_are_kept_once():
    module = compiled('print("a", "a", "a")\nprint({ a: 1 }, { a: 2 })')
    assert module.constants.count("a") == 1
    assert module.constants.count(["a"]) == 1


def test_the_same_program_gives_the_same_bytes():
    text = "type T = { a: int, next: T? }\nfn f(x: T) = sort([x.a])\nprint(f({ a: 1, next: null }))\n"
    assert module_file.dump(compiled(text)) == module_file.dump(compiled(text))


def test_a_module_does_not_say_where_its_program_lies():
    from compiler.compile import compile_program
    from compiler.diagnostics import Diagnostics
    from compiler.source import Source, SourceError

    def load(path: str) -> Source:
        raise SourceError("is not there")

    made = [
        compile_program(Source(name, "print(1)\n"), load, "main", Diagnostics())
        for name in ("main.qwe", "/home/ana/notes/main.qwe", "..\\notes\\main.qwe")
    ]
    assert made[0] is not None
    assert made[0] == made[1] == made[2]


def test_parameters_say_what_an_engine_must_know_of_them():
    module = compiled('fn f(a: int, b: float = 2, c = "x", d = [1]) = a')
    a, b, c, d = function(module, "f").parameters
    assert (a.name, a.type, a.required, a.has_default) == ("a", "int", True, False)
    assert (b.required, b.has_default, b.default, type(b.default)) == (False, True, 2.0, float)
    assert (c.type, c.default) == ("any", "x")
    assert (d.required, d.has_default) == (False, False)


def test_routes_tools_and_tests_name_their_functions():
    module = compiled(
        "/// Says hello.\nfn mcp hello(name: str) -> str = `hi ${name}`\n"
        "server fn ping() = 1\n"
        "route GET /notes/:id = id\n"
        'build "/a.css" = "x"\n'
        'test "adds" { assert 1 + 1 == 2 }\n'
    )
    verify(module)
    assert [(r.kind, r.method, r.path) for r in module.routes] == [
        ("rpc", "POST", "ping"),
        ("route", "GET", "/notes/:id"),
        ("build", "", "/a.css"),
    ]
    assert module.functions[module.routes[1].function].parameters[0].name == "id"
    assert module.tools[0].name == "hello"
    assert module.functions[module.tools[0].function].name == "hello"
    assert module.tools[0].result == "str"
    assert module.tests[0].name == "adds"


def test_builtins_written_in_quillo_are_part_of_the_module_and_marked():
    module = compiled("fn twice(f) = map([1], f)\nprint(twice(x => x))")
    assert function(module, "map").builtin
    assert module.files[function(module, "map").file].name == "prelude"
    assert not any(f.builtin for f in module.functions if f.name != "map")


def test_builtins_that_are_not_used_are_not_part_of_the_module():
    assert not any(f.builtin for f in compiled("print(1)").functions)


def test_used_files_run_first_and_each_has_its_place():
    module = compiled('use "lib.qwe"\nprint(shared)\n', {"lib.qwe": "let shared = 5\n"})
    assert [module.files[module.functions[entry].file].name for entry in module.entries] == ["lib.qwe", "main.qwe"]
    assert ran(module).lines == ["5"]


# --- lines ------------------------------------------------------------------------------------------------------------


def line_of_stop(text: str) -> int:
    stop = ran(compiled(text)).stop
    assert stop is not None
    return stop.places[0].line


def test_a_stop_names_the_line_of_its_operation():
    assert line_of_stop('let x = 1 +\n  2 +\n  from_json("[]")\n') == 2
    assert line_of_stop('let r = from_json("{}")\nr\n  .a\n  .b\n') == 4
    assert line_of_stop("print(\n  1,\n  [1][\n    5],\n)\n") == 3
    assert line_of_stop('print(\n  "[1]"\n  | from_json\n  | first\n  | upper\n)\n') == 5
    assert line_of_stop("let n = 0\n\nlet m = [\n  1,\n  1 / n,\n]\n") == 5


# --- long chains ------------------------------------------------------------------------------------------------------

LONG = 10_000


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("let x = 1" + " + 1" * LONG + "\nprint(x)", str(LONG + 1)),
        ("let x = 1" + " - 1" * LONG + "\nprint(x)", str(1 - LONG)),
        ("let x = true" + " && true" * LONG + "\nprint(x)", "true"),
        ("let x = false" + " || false" * LONG + "\nprint(x)", "false"),
        ("let x = null" + " ?? null" * LONG + "\nprint(x)", "null"),
        ("fn next(n: int) = n + 1\nlet x = 0" + " | next" * LONG + "\nprint(x)", str(LONG)),
        ('let r = from_json("{}")\nlet x = r' + "?.a?.b" * LONG + "\nprint(x)", "null"),
        ("let x = " + "- " * 198 + "1\nprint(x)", "1"),
        ("let x = " + "!" * 198 + "true\nprint(x)", "true"),
        (
            "fn f(n: int) {\n  if n == 0 { 0 }\n"
            + "".join(f"  else if n == {n} {{ {n} }}\n" for n in range(1, LONG))
            + "  else { -1 }\n}\nprint(f(5), f(9999), f(20000))",
            "5 9999 -1",
        ),
        ("let x = 0\n" + "x += 1\n" * LONG + "print(x)", str(LONG)),
        ("let x = [" + "1, " * LONG + "]\nprint(len(x))", str(LONG)),
        ("fn f(n) = match n {\n" + "".join(f"  {n} => {n}\n" for n in range(LONG)) + "}\nprint(f(9998))", "9998"),
    ],
    ids=[
        "sum",
        "difference",
        "and",
        "or",
        "otherwise",
        "pipe",
        "fields",
        "minus",
        "not",
        "else if",
        "statements",
        "list",
        "match",
    ],
)
@pytest.mark.slow
def test_chains_may_be_as_long_as_the_program_likes(text, printed):
    module = compiled(text)
    verify(module)
    assert ran(module).lines == [printed]


def test_nesting_up_to_the_limit_is_lowered():
    depth = 190
    for text in (
        "print(" + "[" * depth + "]" * depth + ")",
        "fn f(n: int) {\n" + "if n > 0 {\n" * depth + "n\n" + "}\n" * depth + "}\nprint(f(1))",
        "let f = " + "x => " * depth + "1\nprint(1)",
        "print(" + "<b>" * depth + "</b>" * depth + ")",
        "print(len(" + "{ a: " * depth + "1" + " }" * depth + "))",
    ):
        verify(compiled(text))


# --- what is not supported --------------------------------------------------------------------------------------------


def refused(text: str) -> list[str]:
    with pytest.raises(DoesNotCheck) as caught:
        compiled(text)
    return [f"{d.code} {d.message}" for d in caught.value.found if d.severity == "error"]


def test_what_is_not_supported_yet_is_said_once_and_clearly():
    assert refused("component Counter() {\n  state n = 0\n  <b>{n}</b>\n}\n") == [
        "Q0901 not supported yet: components with `state`"
    ]
    assert refused("component B() = <button @click={print(1)}>x</button>\n") == [
        "Q0902 not supported yet: `@click`: components that are alive in the browser"
    ]
    assert refused('service /billing = "billing.qwe"\n') == ["Q0905 not supported yet: `service`"]
    assert refused('db.open("postgres://localhost/notes")\n') == ["Q0906 not supported yet: `postgres://` databases"]


def test_two_mistakes_of_different_passes_are_both_reported():
    found = refused('let a = b\nlet c: int = "x"\nfn f( {\n}\n')
    assert len(found) >= 2


# --- routes, components and tests, as functions -----------------------------------------------------------------------


def called(text: str, pick) -> tuple[object, Stop | None]:
    """What one function of a program gives when it is called by itself, after the top level has run."""
    module = compiled(text)
    verify(module)
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, lambda text: None, lambda text: None)
        program = Program(module)
        host = ProgramHost(world, world.database.scope())
        for entry in module.entries:
            assert isinstance(program.call(entry, [], host).run(), Returned)
        number, arguments = pick(module)
        outcome = program.call(number, arguments, host).run()
        world.database.close()
    if isinstance(outcome, Failed):
        return None, outcome.stop
    assert isinstance(outcome, Returned)
    return outcome.value, None


def test_a_route_is_a_function_of_the_names_in_its_path():
    text = 'let notes = ["a", "b"]\nroute GET /notes/:id:int = <p>{notes[id]}</p>\n'
    value, _ = called(text, lambda module: (module.routes[0].function, [1]))
    assert isinstance(value, Markup)
    assert value.text == "<p>b</p>"


def test_reply_ends_a_request_from_below():
    text = 'fn need(id) {\n  if id == "0" { reply 404 "no such note" }\n  id\n}\n'
    text += 'route GET /n/:id = need(id) ?? "never"\n'
    _, stop = called(text, lambda module: (module.routes[0].function, ["0"]))
    assert stop is not None
    assert (stop.kind, stop.detail.status, stop.detail.body) == ("reply", 404, "no such note")


def test_an_error_in_a_route_is_its_value_or_stops_it():
    text = 'fn fails() = err("x")\nroute GET /a = fails()?\nroute GET /b = fails() + 1\n'
    value, _ = called(text, lambda module: (module.routes[0].function, []))
    assert isinstance(value, Err)
    _, stop = called(text, lambda module: (module.routes[1].function, []))
    assert stop is not None
    assert stop.error is not None


def test_an_assertion_that_does_not_hold_shows_both_sides():
    text = 'let xs = [1, 2]\ntest "adds" {\n  assert len(xs) == 2\n  assert xs[0] + xs[1] == 4\n}\n'
    _, stop = called(text, lambda module: (module.tests[0].function, []))
    assert stop is not None
    assert "xs[0] + xs[1] == 4" in stop.message
    assert "3" in stop.message
    assert stop.places[0].line == 4


def test_the_sides_of_an_assertion_are_worked_out_once():
    text = 'let n = 0\nfn next() {\n  n += 1\n  n\n}\ntest "t" { assert next() == 1 }\ntest "u" { assert n == 0 }\n'
    assert called(text, lambda module: (module.tests[0].function, []))[1] is None


def test_a_component_whose_body_is_an_error_stops_where_it_is_drawn():
    text = 'component Bad() = err("no page")\nprint(is_err(<Bad/>), is_err(<p><Bad/></p>))\n'
    assert ran(compiled(text)).lines == ["true true"]


CALLBACKS = sorted((Path(__file__).resolve().parent / "lang" / "s13_builtins").glob("callbacks*.qwe"))


@pytest.mark.parametrize("path", CALLBACKS, ids=lambda path: path.stem)
def test_what_is_written_in_place_does_what_the_call_does(path, monkeypatch):
    text = path.read_text("utf-8")
    in_place = compiled(text)
    monkeypatch.setattr("compiler.lower_calls.inlined", lambda *arguments: None)
    called = compiled(text)
    assert sum(f.builtin for f in in_place.functions) < sum(f.builtin for f in called.functions)
    assert ran(in_place).lines == ran(called).lines
    assert str(ran(in_place).stop) == str(ran(called).stop)
