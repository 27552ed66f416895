"""Promises of `compiler.sql_reading`: a statement counts as reading only where that is sure."""

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.sql_reading import SHIPPED, first_word, reads_only, tokens, why_not_reading, writes

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
    ("select :x(') , load_extension('a", "has `(` right after the parameter `:x`"),
    ("select 'never closed", "has a ' that is never closed"),
    ('select "never closed', 'has a " that is never closed'),
    ("select [never closed", "has a [ that is never closed"),
]


@pytest.mark.parametrize("sql", READING)
def test_a_select_that_calls_only_what_sqlite_ships_reads(sql: str) -> None:
    assert why_not_reading(sql) == ""
    assert reads_only(sql)
    assert not writes(sql)


@pytest.mark.parametrize(("sql", "reason"), NOT_READING)
def test_anything_doubtful_does_not_count_as_reading(sql: str, reason: str) -> None:
    assert why_not_reading(sql) == reason
    assert not reads_only(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "insert into notes (text) values (?) returning id",
        "update notes set a = 1",
        "delete from notes",
        "replace into notes values (1)",
        "create table t (a)",
        "drop table t",
        "/* x */ vacuum",
        "with a as (select 1) insert into t select * from a",
        "with a as (select replace('x', 'y', 'z')) delete from t",
        "pragma user_version = 3",
    ],
)
def test_a_statement_that_changes_the_database_writes(sql: str) -> None:
    assert writes(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "values (1)",
        "explain query plan select 1",
        "with a as (select 1) select * from a",
        "with a as (select replace('x', 'y', 'z') as update_) select * from a",
        "pragma table_info(notes)",
        "pragma user_version",
    ],
)
def test_a_statement_that_asks_in_another_way_than_select_does_not_write(sql: str) -> None:
    assert not writes(sql)


def test_the_first_word_is_told_through_comments() -> None:
    assert first_word("/* a */ -- b\n  INSERT into t") == "insert"
    assert first_word("  ") == ""
    assert first_word("'select'") == ""


def test_functions_that_do_more_than_read_are_not_among_the_shipped() -> None:
    assert not SHIPPED & {"load_extension", "fts3_tokenizer", "optimize", "readfile", "writefile", "edit", "regexp"}


WORDS = (
    "select , ; ( ) ' \" ` [ ] * + - -- /* */ \n 1 a notes from where in delete insert into values ( count ( "
    "load_extension( abs( \"abs\"( 'x' x'00' ? :p $p @p ?1 . = as ( with union all order by limit over ( "
    "replace("
)
PIECES = st.sampled_from(WORDS.split(" "))


@given(st.lists(PIECES, max_size=12).map(" ".join) | st.lists(PIECES, max_size=12).map("".join))
@settings(max_examples=400, deadline=None)
def test_sqlite_agrees_that_what_reads_only_reads(rest: str) -> None:
    """What is taken for reading is, by SQLite's own authorizer, a select that calls shipped functions, or an error."""
    sql = "select " + rest
    if not reads_only(sql):
        return
    actions: list[tuple[int, str | None]] = []

    def note(action: int, _: str | None, second: str | None, *__: str | None) -> int:
        actions.append((action, second))
        return sqlite3.SQLITE_OK

    database = sqlite3.connect(":memory:")
    database.execute("create table notes (a)")
    database.set_authorizer(note)
    try:
        database.execute(sql, dict.fromkeys("p", 1) if ":" in sql else [1] * sql.count("?"))
    except (sqlite3.Error, sqlite3.Warning, ValueError):
        pass
    finally:
        database.close()
    allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
    assert all(action in allowed for action, _ in actions), actions
    called = {name.lower() for action, name in actions if action == sqlite3.SQLITE_FUNCTION and name}
    assert called <= SHIPPED


@given(st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_without_an_exception(sql: str) -> None:
    assert all(isinstance(kind, str) and text is not None for kind, text in tokens(sql))
    assert reads_only(sql) == (why_not_reading(sql) == "")
