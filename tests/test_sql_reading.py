"""Promises of `compiler.sql_reading`: a statement counts as reading only where that is sure."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.sql_reading import SHIPPED, first_word, may_change, reads_only, tokens, why_not_reading

READING = [
    "select 1",
    "SELECT id, text FROM notes",
    " \n\t\f\r select 1",
    "-- a comment\nselect 1",
    "/* a; 'comment */ select 1",
    "/* ** / */ select 1",
    "select 1;",
    "select 1 ; -- done",
    "select 1;;",
    "select 'a;b', \"c;d\", `e;f`, [g;h] from t",
    "select 'it''s', \"a\"\"b\"",
    "select ';delete from notes'",
    "select count(*), Max(id), coalesce(a, b) from notes",
    'select "count"(*) from notes',
    "select * from notes where id in (1, 2) and (a or b) and exists (select 1)",
    "select * from (select id from notes) where not (id = ?1)",
    "select case when (a) then (b) else (c) end from t",
    "select a from t union all select b from u except select c from v order by (1) limit (2) offset (3)",
    "select cast(a as int), a between (1) and (2), a like ('x') escape ('y') from t",
    "select rank() over (partition by a order by b), sum(a) filter (where b) over w from t window w as (order by b)",
    "select json_extract(data, '$.a'), data ->> '$.b' from t, json_each(t.list)",
    "select x'00ff', 1.5e-3, .5, 0x10, :name, @name, $name, ?, ?12",
    "select highlight(notes, 0, '<b>', '</b>') from notes where notes match ('milk')",
    "select größe, 列 from t",
    "select replace(a, 'b', 'c') from t",
]

NOT_READING = [
    ("", "is empty"),
    (" -- nothing\n", "is empty"),
    (";", "is empty"),
    ("insert into notes values (1)", "does not start with `select`"),
    ("with a as (select 1) select * from a", "does not start with `select`"),
    ("values (1)", "does not start with `select`"),
    ("explain select 1", "does not start with `select`"),
    ("pragma user_version", "does not start with `select`"),
    ("(select 1)", "does not start with `select`"),
    ('"select" 1', "does not start with `select`"),
    ("selects 1", "does not start with `select`"),
    ("select 1; select 2", "is more than one statement"),
    ("select 1; delete from notes", "is more than one statement"),
    ("select 1;-- x\ndelete from notes", "is more than one statement"),
    ("; select 1", "does not start with `select`"),
    ("select load_extension('x')", "calls `load_extension`, which SQLite does not ship"),
    ("select LOAD_EXTENSION('x')", "calls `load_extension`, which SQLite does not ship"),
    ('select "load_extension"(1)', "calls `load_extension`, which SQLite does not ship"),
    ("select [load_extension](1)", "calls `load_extension`, which SQLite does not ship"),
    ("select `load_extension`(1)", "calls `load_extension`, which SQLite does not ship"),
    ("select load_extension /* far */ \n (1)", "calls `load_extension`, which SQLite does not ship"),
    ("select a from b where fts3_tokenizer('x', y)", "calls `fts3_tokenizer`, which SQLite does not ship"),
    ("select my_function(1)", "calls `my_function`, which SQLite does not ship"),
    ("select a regexp 'x' from t", "uses `regexp`, which SQLite does not ship"),
    ("select filter(1)", "calls `filter`, which SQLite does not ship"),
    ("select over(1) from t", "calls `over`, which SQLite does not ship"),
    ("select a from t where offset(1)", "calls `offset`, which SQLite does not ship"),
    ("select a, match('x', b) from t", "calls `match`, which SQLite does not ship"),
    ("select sum(a) over (order by b rows offset(1) preceding) from t", "calls `offset`, which SQLite does not ship"),
    ("select by(1), desc(1), partition(1)", "calls `by`, which SQLite does not ship"),
    ("select materialized(1)", "calls `materialized`, which SQLite does not ship"),
    ("select :x(') , load_extension('a", "has `(` right after the parameter `:x`"),
    ("select 'never closed", "has a ' that is never closed"),
    ('select "never closed', 'has a " that is never closed'),
    ("select [never closed", "has a [ that is never closed"),
]


@pytest.mark.parametrize("sql", READING)
def test_a_select_that_calls_only_what_sqlite_ships_reads(sql: str) -> None:
    assert why_not_reading(sql) == ""
    assert reads_only(sql)
    assert not may_change(sql)


@pytest.mark.parametrize(("sql", "reason"), NOT_READING)
def test_anything_doubtful_does_not_count_as_reading(sql: str, reason: str) -> None:
    assert why_not_reading(sql) == reason
    assert not reads_only(sql)


CHANGING = [
    "insert into notes (text) values (?) returning id",
    "update notes set a = 1",
    "delete from notes",
    "replace into notes values (1)",
    "create table t (a)",
    "drop table t",
    "/* x */ vacuum",
    "reindex",
    "analyze",
    "; insert into notes values (1)",
    "with a as (select 1) insert into t select * from a",
    "with a as (select replace('x', 'y', 'z')) delete from t",
    "with a (n) as (select my_function(n)) select * from a",
    "with my_function as (select my_function(1)) select 1",
    "values (load_extension('x'))",
    "select load_extension('x')",
    "select a regexp 'x' from t",
    "select :x(') , load_extension('a",
    "select 1; delete from notes",
    "pragma user_version = 3",
    "pragma user_version(3)",
    "pragma main.user_version(3)",
    "pragma journal_mode = delete",
    "pragma wal_checkpoint",
    "pragma optimize",
    "pragma incremental_vacuum",
    "pragma user_version pragma",
    "explain pragma user_version = 3",
    "explain query plan pragma user_version = 3",
    "explain",
    "explain attach 'x' as y",
    "select 'never closed",
    "(select 1)",
    '"select" 1',
    "nonsense",
    "",
    ";",
]

NOT_CHANGING = [
    "values (1), (abs(-1))",
    "explain query plan select 1",
    "explain delete from notes",
    "with a as (select 1) select * from a",
    "with a as (select replace('x', 'y', 'z') as update_) select * from a",
    "with recursive n(i) as (values (1) union all select i + 1 from n) select i from n limit 3",
    "with a(i) as not materialized (select 1), b(i, j) as materialized (select 1, 2) select * from a, b",
    "select * from (with n(i) as (select 1) select i from n)",
    "pragma table_info(notes)",
    "pragma main.table_info('notes')",
    "PRAGMA user_version",
    "pragma main.user_version;",
    "select name from pragma_table_info('notes')",
    "\ufeff select 1",
    "; select 1",
]


@pytest.mark.parametrize("sql", CHANGING)
def test_what_is_not_known_to_read_may_change(sql: str) -> None:
    assert may_change(sql)


@pytest.mark.parametrize("sql", NOT_CHANGING)
def test_other_statements_than_select_are_known_to_read(sql: str) -> None:
    assert not may_change(sql)


def test_the_first_word_is_told_through_comments() -> None:
    assert first_word("/* a */ -- b\n  INSERT into t") == "insert"
    assert first_word("; -- c\n;;\ufeff attach 'x' as y") == "attach"
    assert first_word("  ") == ""
    assert first_word("'select'") == ""


def test_functions_that_do_more_than_read_are_not_among_the_shipped() -> None:
    assert not SHIPPED & {"load_extension", "fts3_tokenizer", "optimize", "readfile", "writefile", "edit", "regexp"}


WORDS = (
    "select , ; ( ) ' \" ` [ ] * + - -- /* */ \n 1 a notes from where in delete insert into values ( count ( "
    "load_extension( abs( \"abs\"( 'x' x'00' ? :p $p @p ?1 . = as ( with union all order by limit over ( "
    "replace( with recursive n(i) n(i,j) materialized not a( my_f( values( explain query plan pragma user_version "
    "table_info( pragma_table_info( optimize update set returning"
)
PIECES = st.sampled_from(WORDS.split(" "))


TEXTS = st.lists(PIECES, max_size=12).map(" ".join) | st.lists(PIECES, max_size=12).map("".join)
READING_ACTIONS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)


def actions_of(sql: str) -> list[tuple[int, str | None, str | None]]:
    """What SQLite's own authorizer is asked for a statement: up to where it is found wrong, if it is."""
    actions: list[tuple[int, str | None, str | None]] = []

    def note(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        actions.append((action, first, second))
        return sqlite3.SQLITE_OK

    database = sqlite3.connect(":memory:")
    database.execute("create table notes (a)")
    # A function that SQLite does not ship, as one that does anything might be.
    database.create_function("my_f", -1, lambda *_: 1)
    database.set_authorizer(note)
    # Bounds a recursion that has no end.
    database.set_progress_handler(lambda: 1, 10_000)
    try:
        database.execute(sql, dict.fromkeys("p", 1) if ":" in sql else [1] * sql.count("?"))
    except (sqlite3.Error, sqlite3.Warning, ValueError):
        pass
    finally:
        database.close()
    return actions


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_sqlite_agrees_that_what_reads_only_reads(rest: str) -> None:
    """What is taken for reading is, by SQLite's own authorizer, a select that calls shipped functions, or an error."""
    sql = "select " + rest
    if reads_only(sql):
        actions = actions_of(sql)
        assert all(action in READING_ACTIONS for action, _, _ in actions), actions
        called = {second.lower() for action, _, second in actions if action == sqlite3.SQLITE_FUNCTION and second}
        assert called <= SHIPPED


@given(st.sampled_from(("select ", "with ", "values ", "pragma ", "explain ", "; ", "")), TEXTS)
@settings(max_examples=600, deadline=None)
def test_sqlite_agrees_that_what_is_known_to_read_changes_nothing(start: str, rest: str) -> None:
    """By its authorizer: reading, shipped functions, and pragmas without a value, unless the statement is explained."""
    sql = start + rest
    if may_change(sql) or first_word(sql) == "explain":
        return
    actions = actions_of(sql)
    for action, first, second in actions:
        if action == sqlite3.SQLITE_PRAGMA:
            assert first_word(sql) == "pragma" or "pragma_" in sql.lower()
            assert second is None or first in ("table_info",), actions
        elif action != sqlite3.SQLITE_CREATE_VTABLE:  # how a table-valued function comes to be
            assert action in READING_ACTIONS, actions
        if action == sqlite3.SQLITE_FUNCTION and second:
            assert second.lower() in SHIPPED


# --- SQLite's own grammar judges: it needs no table to be there, so that it sees a statement to its end


def parsed(sql: str) -> list[dict[str, Any] | None]:
    """The statements of an SQL text by SQLite's grammar; none where it is wrong."""
    from syntaqlite import Syntaqlite, SyntaqliteError

    if not KEPT:
        KEPT.append(Syntaqlite())
    try:
        return KEPT[0].parse_raw(sql)
    except SyntaqliteError:
        return []


KEPT: list[Any] = []
FROM_ROWS = {"SelectStmt", "CompoundSelect"}


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for inner in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(inner)


def called_in(tree: Any) -> set[str]:
    """The functions that a statement calls, also those that give tables."""
    names = set()
    for node in nodes(tree):
        name = node.get("func_name") or (node.get("has_parens") and node.get("table_name"))
        if name:
            names.add(name.strip('"`[]').lower())
        if node.get("type") == "LikeExpr" and "REGEXP" in str(node.get("keyword")):
            names.add("regexp")
    return names


def is_writing(tree: Any) -> bool:
    ends = ("InsertStmt", "UpdateStmt", "DeleteStmt", "CreateTableStmt", "DropStmt", "AttachStmt", "VacuumStmt")
    return any(node.get("type") in ends for node in nodes(tree))


@pytest.mark.parametrize("sql", READING)
def test_the_grammar_takes_what_reads_for_one_select(sql: str) -> None:
    """So that what the properties below say is not said of texts that the grammar refuses."""
    [statement] = [one for one in parsed(sql) if one is not None]
    assert statement["type"] in FROM_ROWS
    assert called_in(statement) <= SHIPPED


@pytest.mark.parametrize("sql", ["select load_extension('x')", 'select "load_extension"(1)', "select * from f(1)"])
def test_the_grammar_sees_what_is_called(sql: str) -> None:
    assert not called_in(parsed(sql)) <= SHIPPED


# Statements that are right as often as not, with tables and functions that are nowhere.
NAMES = st.sampled_from(("a", "t", '"count"', "[replace]", "`load_extension`", "größe", "window", "filter"))
FUNCTIONS = st.sampled_from(("count", "replace", "load_extension", "my_f", '"abs"', "[my f]", "filter", "exists", "if"))
VALUES = st.sampled_from(("1", "'x'", "x'00'", "?", "?1", ":p", "$p::a", "@p", "null", "*", "'it''s; delete'", "1.5e3"))


def expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.builds("{}({})".format, FUNCTIONS, inner)
        | st.builds("{} /* ( */ ({}, {})".format, FUNCTIONS, inner, inner)
        | st.builds("({})".format, inner)
        | st.builds("{} {} {}".format, inner, st.sampled_from(("+", "and", "like", "regexp", "match", "->>")), inner)
        | st.builds("case when {} then {} end".format, inner, inner)
        | st.builds("(select {} from {})".format, inner, NAMES)
        | st.builds("{} in {}({})".format, inner, NAMES, inner)
        | st.builds("exists (select {} from {}({}))".format, inner, NAMES, inner)
        | st.builds("{}({}) over (partition by {})".format, FUNCTIONS, inner, inner)
    )


EXPRESSIONS = st.recursive(NAMES | VALUES, expressions, max_leaves=6)
SELECTS = st.builds(
    "{}select {} from {}{} where {}{}".format,
    st.sampled_from(
        ("", "with t as (select 1) ", "with t(a) as (delete from a returning *) ", "explain ", "-- x\n", ";")
    ),
    EXPRESSIONS,
    NAMES,
    st.sampled_from(("", ", json_each(t.a)", " join my_f(1)", " as x")),
    EXPRESSIONS,
    st.sampled_from(("", ";", "; delete from t", " union select load_extension(1)", " -- ;\n", " order by (1)", "; ;")),
)
CHANGES = st.builds(
    "{}{}".format,
    st.sampled_from(("", "with t as (select 1) ", "with t(a) as (values (1)) ", "explain ", "/* select */ ")),
    st.builds("insert into {} select {}".format, NAMES, EXPRESSIONS)
    | st.builds("replace into {} values ({})".format, NAMES, EXPRESSIONS)
    | st.builds("update {} set a = {}".format, NAMES, EXPRESSIONS)
    | st.builds("delete from {} where {} returning *".format, NAMES, EXPRESSIONS),
)


@given(SELECTS | CHANGES | TEXTS.map("select ".__add__))
@settings(max_examples=600, deadline=None)
def test_the_grammar_agrees_that_what_reads_only_reads(sql: str) -> None:
    statements = parsed(sql)
    if reads_only(sql) and any(statements):
        [statement] = [one for one in statements if one is not None]
        assert statement["type"] in FROM_ROWS
        assert not is_writing(statement)
        assert called_in(statement) <= SHIPPED


@given(SELECTS | CHANGES | TEXTS)
@settings(max_examples=600, deadline=None)
def test_the_grammar_agrees_that_what_is_known_to_read_changes_nothing(sql: str) -> None:
    statements = parsed(sql)
    if not may_change(sql) and any(statements):
        [statement] = [one for one in statements if one is not None]
        if statement["type"] == "ExplainStmt":
            return
        assert statement["type"] in FROM_ROWS | {"ValuesClause", "WithClause", "PragmaStmt"}
        assert not is_writing(statement)
        assert {name for name in called_in(statement) if not name.startswith("pragma_")} <= SHIPPED


@given(st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_without_an_exception(sql: str) -> None:
    assert all(isinstance(kind, str) and text is not None for kind, text in tokens(sql))
    assert reads_only(sql) == (why_not_reading(sql) == "")
