"""Lists, records, text, SQL, markup, loops and checks; and that no variable ever sees another one's change."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qvm.handlers_markup import attribute, content
from qvm.values import SIZE_LIMIT, TEXT_LIMIT, Err, Markup, Sql
from tests.building import build, builder
from tests.engine import RecordingHost, finish, message_of, refusal, started, stop_of, value, value_of

ERROR = ('CONST "no"', "MAKE_ERR")


def test_lists_and_records_are_made():
    assert value_of("INT 1", "INT 2", "LIST 2", "RETURN") == [1, 2]
    made = value_of("INT 1", "INT 2", 'RECORD ["b", "a"]', "INT 3", 'RECORD_PUT "b"', "RETURN")
    assert list(made.items()) == [("b", 3), ("a", 2)]
    spread = ("LIST 0", "INT 1", "LIST_PUSH", "INT 2", "INT 3", "LIST 2", "LIST_SPREAD", "RETURN")
    assert value_of(*spread) == [1, 2, 3]
    records = ("INT 1", 'RECORD ["a"]', "INT 2", "INT 3", 'RECORD ["a", "b"]', "RECORD_SPREAD", "RETURN")
    assert value_of(*records) == {"a": 2, "b": 3}


def test_a_spread_needs_its_kind():
    assert message_of("LIST 0", "NULL", "LIST_SPREAD", "RETURN") == "`...` in a list needs a list, got null"
    assert message_of("RECORD []", "LIST 0", "RECORD_SPREAD", "RETURN") == "`...` in a record needs a record, got list"


def test_a_constant_list_stays_as_it_is():
    module = build("CONST [1, [2]]", "STORE 0", "INT 3", "LIST 1", "EXTEND local 0", "LOAD 0", "RETURN")
    assert value(module) == [1, [2], 3]
    assert value(module) == [1, [2], 3]
    deep = build("CONST [[1]]", "STORE 0", "INT 0", "INT 0", "INT 9", 'ASSIGN local 0 "[["', "LOAD 0", "RETURN")
    assert value(deep) == [[9]]
    assert value(deep) == [[9]]
    assert deep.constants[0] == [[1]]


def test_text_is_written_out():
    items = ("INT 1", 'CONST "é"', "NULL", "TRUE", "CONST -0.5", "LIST 0", "INT 1", "LIST 1")
    assert value_of(*items, "LIST 1", "TEXT 7", "RETURN") == "1énulltrue-0.5[][[1]]"
    assert value_of("TEXT 0", "RETURN") == ""


def test_a_text_that_is_joined_too_big_stops():
    big = ('CONST "aaaaaaaaaaaaaaaa"', f"INT {TEXT_LIMIT // 16}", "CALL_BUILTIN repeat 2", "STORE 0")
    for count in (2, 5):
        loads = ["LOAD 0"] * count
        assert message_of(*big, *loads, f"TEXT {count}", "RETURN") == "a text can't grow over 64 MiB"


def test_sql_takes_parameters_and_other_sql():
    inner = ("INT 2", 'SQL ["b = ", ""]')
    made = value_of("INT 1", *inner, 'SQL ["a = ", " and ", " limit 1"]', "RETURN")
    assert isinstance(made, Sql)
    assert (made.text, made.parameters) == ("a = ? and b = ? limit 1", [1, 2])


# loops

START = ("CHARGE 1",)
EACH = ("LIST_BEGIN 0", "BLOCK 0", "LOOP", "CHARGE 1")
DONE = ("BR 0", "END", "END", "LIST_END 0", "RETURN")


def test_loops_over_lists_records_and_ranges():
    assert value_of(*START, 'CONST ["a", "b"]', "ITER 1", *EACH, "NEXT 1 1", "LIST_ADD 0", *DONE) == ["a", "b"]
    assert value_of(*START, 'CONST {"x": 1, "y": 2}', "ITER 1", *EACH, "NEXT 1 1", "LIST_ADD 0", *DONE) == ["x", "y"]
    assert value_of(*START, "INT 2", "INT 5", "ITER_RANGE 1", *EACH, "NEXT 1 1", "LIST_ADD 0", *DONE) == [2, 3, 4]


PAIR = ("NEXT_PAIR 1 1", "LIST 2", "LIST_ADD 0")


def test_loops_over_places_and_values():
    assert value_of(*START, 'CONST ["a", "b"]', "ITER 1", *EACH, *PAIR, *DONE) == [[0, "a"], [1, "b"]]
    assert value_of(*START, 'CONST {"x": 1, "y": 2}', "ITER 1", *EACH, *PAIR, *DONE) == [["x", 1], ["y", 2]]
    assert value_of(*START, "INT 5", "INT 7", "ITER_RANGE 1", *EACH, *PAIR, *DONE) == [[0, 5], [1, 6]]
    assert value_of(*START, "RECORD []", "ITER 1", *EACH, *PAIR, *DONE) == []


def test_a_loop_that_ends_leaves_what_its_block_has_more():
    code = (
        "CHARGE 1",
        "INT 1",
        "LIST 1",
        "ITER 0",
        "INT 7",
        "BLOCK 0",
        "INT 8",
        "LOOP",
        "CHARGE 1",
        "NEXT 0 1",
        "POP",
        "BR 0",
    )
    assert value_of(*code, "END", "POP", "END", "RETURN") == 7


def test_a_loop_needs_something_to_go_over():
    assert (
        message_of('CONST "ab"', "ITER 0", "NULL", "RETURN") == "`for` goes over a list, a record or a range, got str"
    )
    assert message_of("INT 1", "NULL", "ITER_RANGE 0", "NULL", "RETURN") == (
        "`..` needs two whole numbers, got int and null"
    )


def test_a_loop_goes_over_what_the_list_held_when_it_began():
    code = (
        "CHARGE 1", "INT 1", "INT 2", "LIST 2", "STORE 1", "LOAD_SHARED local 1", "ITER 2", "LIST_BEGIN 0",
        "BLOCK 0", "LOOP", "CHARGE 1", "NEXT 2 1", "STORE 3",
        "INT 9", "LIST 1", "EXTEND local 1", "LOAD 3", "LIST_ADD 0",
    )  # fmt: skip
    assert value_of(*code, *DONE) == [1, 2]


# an error used as a value


@pytest.mark.parametrize(
    "use",
    [
        ("USE",),
        ("NEG",),
        ("NOT",),
        ("INT 1", "ADD"),
        ("INT 0", "INDEX"),
        ("NULL", "NULL", "SLICE"),
        ('FIELD "a"',),
        ("TEXT 1",),
        ("MARKUP 1",),
        ('ATTRIBUTE "id"',),
        ('SQL ["", ""]',),
        ("MAKE_ERR",),
        ('CHECK "int" "`x`"',),
        ('CHECK "any" "`x`"',),
        ('BOOL "`&&`"',),
        ("STORE 0", "LIST 0", "STORE 1", "LOAD 0", "EXTEND local 1", "NULL"),
        ("STORE 0", "RECORD []", "STORE 1", 'CONST "a"', "LOAD 0", 'ASSIGN local 1 "."', "NULL"),
        ("STORE 0", "LIST 0", "LOAD 0", "LIST_SPREAD"),
        ("STORE 0", "RECORD []", "LOAD 0", "RECORD_SPREAD"),
        ("ITER 0", "NULL"),
        ("INT 1", "ITER_RANGE 0", "NULL"),
        ("STORE 0", 'CONST {"a": 1}', "STORE 1", "LOAD 0", "INT 1", 'ASSIGN local 1 "["', "NULL"),
    ],
)
def test_a_use_that_keeps_no_error_is_an_error_stop(use):
    stopped = stop_of(*ERROR, *use, "RETURN")
    assert (stopped.kind, stopped.message) == ("error", "no")
    caught = value_of("TRY 1", *ERROR, *use, "CATCH", "ERR_VALUE", "END", "RETURN")
    assert caught == "no"


def test_what_keeps_an_error_whole():
    for keep in [
        ("STORE 0", "LOAD 0"),
        ("STORE 0", "CELL 0", "LOAD_CELL 0"),
        ("STORE_GLOBAL e", "LOAD_GLOBAL e"),
        ('FIELD_OR_NULL "a"',),
        ("DUP", "POP"),
    ]:
        kept = value_of(*ERROR, *keep, "RETURN")
        assert isinstance(kept, Err), keep
    assert value_of(*ERROR, "IS_ERR", "RETURN") is True
    assert value_of(*ERROR, "IS_MISSING", "RETURN") is True
    assert value_of(*ERROR, "ERR_VALUE", "RETURN") == "no"


# tests and checks


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        (("LIST 0", "IS_LIST 0 0"), True),
        (("INT 1", "LIST 1", "IS_LIST 0 0"), False),
        (("INT 1", "LIST 1", "IS_LIST 0 1"), True),
        (("NULL", "IS_LIST 0 1"), False),
        (('CONST {"a": null}', 'HAS_FIELD "a"'), True),
        (("LIST 0", 'HAS_FIELD "a"'), False),
        (("NULL", "IS_MISSING"), True),
        (("FALSE", "IS_MISSING"), False),
        (("NULL", "IS_ERR"), False),
        (("TRUE", 'BOOL "`&&`"'), True),
        (("INT 1", 'CHECK "float" "`x`"'), 1.0),
    ],
)
def test_tests_and_checks(code, wanted):
    found = value_of(*code, "RETURN")
    assert found == wanted
    assert type(found) is type(wanted)


def test_a_check_names_the_value():
    assert message_of("NULL", 'CHECK "int" "`n`"', "RETURN") == "`n` must be int, got null"
    nested = ("NULL", 'RECORD ["id"]', "LIST 1", 'CHECK ["list", ["map", "int"]] "argument 1 of `f`"', "RETURN")
    assert message_of(*nested) == "`[0].id` of argument 1 of `f` must be int, got null"
    assert (
        message_of("INT 1", 'BOOL "the left side of `&&`"', "RETURN") == "the left side of `&&` must be bool, got int"
    )
    assert message_of("NULL", "ERR_VALUE", "RETURN") == "only an error holds a value in this way, got null"


# markup


def test_content_is_escaped_and_lists_give_each():
    items = ["<b>&\"'", Markup("<i>x</i>"), None, True, False, [1, ["a", [2.5]], None], {"k": "<"}]
    assert content(items) == ("&lt;b&gt;&amp;&quot;&#39;<i>x</i>1a2.5{&quot;k&quot;: &quot;&lt;&quot;}")


def test_content_of_a_list_nested_very_deep():
    nested: list = ["x"]
    for _ in range(50_000):
        nested = [nested]
    assert content([nested]) == "x"


def test_attributes():
    assert attribute("id", 'a"b<') == ' id="a&quot;b&lt;"'
    assert attribute("hidden", True) == " hidden"
    assert attribute("hidden", False) == attribute("hidden", None) == ""
    assert attribute("value", 0) == ' value="0"'
    assert attribute("href", "/javascript:") == ' href="/javascript:"'
    assert attribute("title", "javascript:x") == ' title="javascript:x"'


@pytest.mark.parametrize("name", ["href", "src", "SRC", "formaction"])
@pytest.mark.parametrize(
    "address",
    ["javascript:x()", " JavaScript:x()", "java\nscript:x()", "\x01\tj\ravascript:", " " * 999 + "javascript:"],
)
def test_an_address_that_runs_code_is_refused(name, address):
    assert refusal(lambda: attribute(name, address)) == f"`{name}` can't begin with `javascript:`"


def test_what_markup_cannot_show():
    assert message_of("BUILTIN len", "MARKUP 1", "RETURN") == "markup can't show a function"
    assert message_of("BUILTIN len", 'ATTRIBUTE "id"', "RETURN") == "the attribute `id` can't be a function"


# variables change, values never


def test_a_change_is_seen_through_no_other_name():
    code = (
        "INT 1", "INT 2", "LIST 2", "STORE 0", "LOAD_SHARED local 0", "STORE 1",
        "INT 0", "INT 9", 'ASSIGN local 0 "["', "INT 3", "LIST 1", "EXTEND local 0",
        "LOAD_SHARED local 0", "STORE 2", "INT 4", "LIST 1", "EXTEND local 0",
        "LOAD 0", "LOAD 1", "LOAD 2", "LIST 3", "RETURN",
    )  # fmt: skip
    assert value_of(*code) == [[9, 2, 3, 4], [1, 2], [9, 2, 3]]


def test_a_change_deep_inside_is_seen_through_no_other_name():
    code = (
        'CONST {"rows": [[1, 2], [3]]}', "STORE 0",
        "LOAD 0", 'FIELD "rows"', "INT 0", "INDEX", "STORE 1",
        'CONST "rows"', "INT 0", "INT 1", "INT 9", 'ASSIGN local 0 ".[["',
        "LOAD 0", 'FIELD "rows"', "INT 0", "INDEX", "STORE 2",
        'CONST "rows"', "INT 0", "INT 0", "INT 8", 'ASSIGN local 0 ".[["',
        "LOAD 0", "LOAD 1", "LOAD 2", "LIST 3", "RETURN",
    )  # fmt: skip
    assert value_of(*code) == [{"rows": [[8, 9], [3]]}, [1, 2], [1, 9]]


def test_a_list_that_a_variable_alone_holds_is_changed_in_place():
    code = ("INT 0", "LIST 1", "STORE 0", "INT 0", "INT 1", 'ASSIGN local 0 "["')
    task = started(build(*code, "LOAD 0", "POP", "INT 0", "INT 2", 'ASSIGN local 0 "["', "INT 5", "LIST 1",
                         "EXTEND local 0", "NULL", "RETURN"))  # fmt: skip
    seen = []
    while task.step() is None:
        seen.append(task.frames[-1].locals[0])
    lists = [item for item in seen if isinstance(item, list)]
    assert lists[-1] == [2, 5]
    assert len({id(item) for item in lists}) == 2, "copied once, then changed in place"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (("INT 3", "NULL", 'ASSIGN local 0 "["'), "index 3 is out of range: the list has 2 items"),
        (('CONST "a"', "NULL", 'ASSIGN local 0 "["'), "an index must be int, got str"),
        (('CONST "a"', "NULL", 'ASSIGN local 0 "."'), "cannot set `a` of list"),
        (("INT 0", 'CONST "a"', "NULL", 'ASSIGN local 0 "[."'), "cannot set `a` of int"),
        (("INT 1", 'CONST "b"', 'CONST "c"', "NULL", 'ASSIGN local 0 "[.."'), "cannot set `c` of null"),
        (("INT 1", "INT 0", "NULL", 'ASSIGN local 0 "[["'), "a record's key must be str, got int"),
        (("INT 0", "INT 0", "NULL", 'ASSIGN local 0 "[["'), "cannot set an element of int"),
    ],
)
def test_what_cannot_be_set(code, message):
    start = ("INT 1", 'CONST {"k": 1}', "LIST 2", "STORE 0")
    assert message_of(*start, *code, "NULL", "RETURN") == message


def test_extend_is_plus_for_everything_else():
    for start, more, wanted in [("INT 1", "INT 2", 3), ('CONST "a"', 'CONST "b"', "ab")]:
        assert value_of(start, "STORE 0", more, "EXTEND local 0", "LOAD 0", "RETURN") == wanted
        assert value_of(start, "STORE 0", "CELL 0", more, "EXTEND cell 0", "LOAD_CELL 0", "RETURN") == wanted
    mixed = ("LIST 0", "STORE 0", "INT 1", "EXTEND local 0", "NULL", "RETURN")
    assert message_of(*mixed) == "`+` can't join list and int: to add one item to a list, put it in a list, too"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (("INT 3", "LIST 0", 'EXTEND_PATH local 0 "["'), "index 3 is out of range: the list has 2 items"),
        (('CONST "a"', "LIST 0", 'EXTEND_PATH local 0 "."'), "cannot read `a` of list"),
        (("LIST 0", "LIST 0", 'EXTEND_PATH local 0 "."'), "an index must be int, got list"),
        (("INT 1", 'CONST "b"', 'CONST "c"', "NULL", 'EXTEND_PATH local 0 "[.."'), "cannot read `c` of null"),
        (("INT 1", "INT 0", "NULL", 'EXTEND_PATH local 0 "[["'), "a record's key must be str, got int"),
        (("INT 0", "LIST 0", 'EXTEND_PATH local 0 "["'), "`+` can't join int and list"),
        (("INT 1", 'CONST "s"', "INT 0", 'CONST "t"', 'EXTEND_PATH local 0 "[.["'), "cannot set an element of str"),
    ],
)
def test_what_cannot_be_added_to(code, message):
    start = ("INT 1", 'CONST {"k": 1, "s": "text"}', "LIST 2", "STORE 0")
    assert message in message_of(*start, *code, "NULL", "RETURN")


def test_extend_path_is_plus_for_everything_else():
    for kind, made in [("local", ()), ("cell", ("CELL 0",))]:
        load = "LOAD_CELL 0" if made else "LOAD 0"
        code = ('CONST {"n": 1, "s": "a", "l": [1]}', "STORE 0", *made)
        for key, more in [("n", "INT 2"), ("s", 'CONST "b"'), ("l", "CONST [2]")]:
            code += (f'CONST "{key}"', more, f'EXTEND_PATH {kind} 0 "."')
        assert value_of(*code, load, "RETURN") == {"n": 3, "s": "ab", "l": [1, 2]}


def test_a_list_never_comes_to_hold_itself():
    code = ("LIST 0", "LIST 1", "STORE 0", "INT 0", "LIST 0", 'ASSIGN local 0 "["')
    grown = ("INT 0", "LOAD 0", 'EXTEND_PATH local 0 "["')
    assert value_of(*code, *grown, *grown, "LOAD 0", "RETURN") == [[[], [[]]]]


def test_a_list_that_grows_too_big_in_place_stops():
    code = (
        f"INT {SIZE_LIMIT - 1}", "STORE 1", "INT 0", "LOAD 1", "RANGE", "STORE 0",
        "INT 1", "LIST 1", "EXTEND local 0", "INT 1", "LIST 1", "EXTEND local 0", "NULL", "RETURN",
    )  # fmt: skip
    assert message_of(*code) == "a list can't have over 10,000,000 entries"


KINDS = {
    "local": ("STORE {n}", "LOAD {n}"),
    "cell": ("STORE {n}\nCELL {n}", "LOAD_CELL {n}"),
    "global": ("STORE_GLOBAL v{n}", "LOAD_GLOBAL v{n}"),
}
MOVES = st.lists(
    st.tuples(st.sampled_from(["copy", "extend", "set", "inner", "row", "grow"]), st.integers(0, 2), st.integers(0, 2)),
    max_size=12,
)


@given(moves=MOVES, kind=st.sampled_from(sorted(KINDS)))
@settings(max_examples=200, deadline=None)
def test_variables_behave_as_if_every_value_were_copied(moves, kind):
    """Three variables hold lists of lists, which moves copy about and change. Python's deep copies are the judge."""
    store, load = KINDS[kind]
    code: list[str] = ["CHARGE 1"]
    judge: list[list] = []

    def name(number: int) -> str:
        return f"v{number}" if kind == "global" else str(number)

    for number in range(3):
        code += [f"CONST [[{number}], [7]]", *store.format(n=number).split("\n")]
        judge.append([[number], [7]])
    for turn, (move, a, b) in enumerate(moves):
        match move:
            case "copy":
                code.append(f"LOAD_SHARED {kind} {name(b)}")
                code.append(store.format(n=a).split("\n")[0] if kind != "cell" else f"STORE_CELL {a}")
                judge[a] = [row.copy() for row in judge[b]]
            case "extend":
                code += [f"LOAD_SHARED {kind} {name(b)}", f"EXTEND {kind} {name(a)}"]
                judge[a] = judge[a] + [row.copy() for row in judge[b]]
            case "set":
                code += ["INT -1", f"INT {turn}", "LIST 1", f'ASSIGN {kind} {name(a)} "["']
                judge[a][-1] = [turn]
            case "inner":
                code += ["INT 0", "INT 0", f"INT {turn}", f'ASSIGN {kind} {name(a)} "[["']
                judge[a][0][0] = turn
            case "grow":
                code += ["INT 0", load.format(n=b), "INT 1", "INDEX", f'EXTEND_PATH {kind} {name(a)} "["']
                judge[a][0] = judge[a][0] + judge[b][1]
            case "row":
                code += ["INT 0", load.format(n=b), "INT 1", "INDEX", f'ASSIGN {kind} {name(a)} "["']
                judge[a][0] = judge[b][1].copy()
    code += [load.format(n=number) for number in range(3)]
    b = builder()
    b.entry(*code, "LIST 3", "RETURN")
    assert value(b.module) == judge


def test_building_a_text_or_a_list_by_one_at_a_time_costs_no_copy_each():
    b = builder()
    b.entry(
        "CHARGE 1", 'CONST ""', "STORE_GLOBAL text", 'CONST ""', "STORE 0",
        "LIST 0", "STORE 1", 'CONST {"l": [], "s": ""}', "STORE 3", "INT 0", "INT 200000", "ITER_RANGE 2",
        "BLOCK 0", "LOOP", "CHARGE 1", "NEXT 2 1", "POP",
        'CONST "abcdefghij"', "EXTEND local 0", "NULL", "LIST 1", "EXTEND local 1",
        'CONST "l"', "NULL", "LIST 1", 'EXTEND_PATH local 3 "."',
        'CONST "s"', 'CONST "abcdefghij"', 'EXTEND_PATH local 3 "."',
        "LOAD 0", 'CONST "abcdefghij"', "ADD", "STORE 0",
        "LOAD_GLOBAL text", 'CONST "abcdefghij"', "ADD", "STORE_GLOBAL text",
        "BR 0", "END", "END",
        "LOAD_GLOBAL text", "CALL_BUILTIN len 1", "LOAD 0", "CALL_BUILTIN len 1", "LOAD 1", "CALL_BUILTIN len 1",
        "LOAD 3", 'FIELD "l"', "CALL_BUILTIN len 1", "LOAD 3", 'FIELD "s"', "CALL_BUILTIN len 1",
        "LIST 5", "RETURN",
    )  # fmt: skip
    # With a copy each this would move 400 GB; it is here to end at all.
    outcome = finish(started(b.module, RecordingHost(), max_steps=None))
    assert outcome.value == [2_000_000, 4_000_000, 200_000, 200_000, 2_000_000]  # type: ignore[attr-defined]
