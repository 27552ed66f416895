"""The database: parameters, values, kinds of errors, transactions, and calls that only read."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
import trio
import trio.testing

from qvm.host import Waiting
from qvm.values import Err, Sql, Stop
from server.database import Database, Scope, may_change


@pytest.fixture
def database(tmp_path):
    made = Database(str(tmp_path))
    assert made.open("data.db") is None
    made.scope().execute(["create table notes (id integer primary key, text text not null unique)"])
    yield made
    made.close()


@pytest.fixture
def scope(database):
    return database.scope()


def kind(value: Any) -> str:
    assert isinstance(value, Err), value
    assert set(value.value) == {"kind", "message"}
    return value.value["kind"]


def awaited(value: Any) -> Any:
    """What a Waiting gives when nothing has to happen first."""
    assert isinstance(value, Waiting)
    return trio.run(value.start)


def texts(scope: Scope) -> list[str]:
    return [row["text"] for row in scope.query(["select text from notes order by id"])]


# --- statements


def test_rows_are_records_with_the_columns_in_their_order(scope):
    scope.execute(["insert into notes (text) values (?)", "milk"])
    assert scope.query(["select text, id from notes"]) == [{"text": "milk", "id": 1}]
    assert list(scope.one(["select text, id from notes"])) == ["text", "id"]


def test_one_gives_null_where_there_is_no_row(scope):
    assert scope.one(["select * from notes"]) is None


def test_exec_tells_changes_and_the_last_id_of_an_insert_only(scope):
    assert scope.execute(["insert into notes (text) values ('a'), ('b')"]) == {"changes": 2, "last_id": 2}
    assert scope.execute(["update notes set text = text || '!'"]) == {"changes": 2, "last_id": None}
    assert scope.execute(["insert or ignore into notes (text) values ('a!')"]) == {"changes": 0, "last_id": None}
    assert scope.execute(["create table other (n)"]) == {"changes": 0, "last_id": None}


def test_a_statement_that_returns_rows_changes_all_of_them(scope):
    scope.execute(["insert into notes (text) values ('a'), ('b'), ('c')"])
    assert scope.one(["update notes set text = text || '!' returning text"]) == {"text": "a!"}
    assert scope.execute(["update notes set text = text || '?' returning text"])["changes"] == 3
    assert texts(scope) == ["a!?", "b!?", "c!?"]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        (7, 7),
        (1.5, 1.5),
        ("é", "é"),
        (b"\0\xff", b"\0\xff"),
        (True, 1),
        (False, 0),
        ([1, {"a": None}], '[1, {"a": null}]'),
        ({"ä": [True]}, '{"ä": [true]}'),
        (-(2**63), -(2**63)),
    ],
)
def test_values_go_into_the_database_as_they_come_back(scope, value, stored):
    assert scope.one(["select ? as v", value]) == {"v": stored}


@pytest.mark.parametrize("value", [float("inf"), float("nan"), Err(1), "\ud800"])
def test_what_a_database_cannot_hold_is_a_mistake_of_the_program(scope, value):
    with pytest.raises(Stop) as stopped:
        scope.one(["select ? as v", value])
    assert stopped.value.error is None
    assert "db.one" in stopped.value.message


def test_sql_pieces_bring_their_parameters(scope):
    piece = Sql("select ? + ? as n", [1, 2])
    assert scope.one([piece]) == {"n": 3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select ?"], "the statement of `db.query` has 1 parameter, and 0 values were given"),
        (["select ?, ?", 1], "the statement of `db.query` has 2 parameters, and 1 value was given"),
        (["select 1", 1, 2], "the statement of `db.query` has 0 parameters, and 2 values were given"),
    ],
)
def test_a_count_of_parameters_that_differs_names_both(scope, arguments, message):
    with pytest.raises(Stop) as stopped:
        scope.query(arguments)
    assert stopped.value.message == message
    assert stopped.value.error is None


def test_what_is_no_statement_is_a_mistake(scope):
    with pytest.raises(Stop, match=r"argument 1 of `db\.exec` must be str or sql, got int"):
        scope.execute([5])


# --- kinds of errors


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("insert into notes (text) values ('milk')", "unique"),
        ("insert into notes (id, text) values (1, 'x')", "unique"),
        ("insert into notes (text) values (null)", "not_null"),
        ("insert into checked values (9)", "check"),
        ("insert into child values (99)", "foreign_key"),
        ("selec 1", "syntax"),
        ("select 'a", "syntax"),
        ("select (1", "syntax"),
        ("select 1; select 2", "syntax"),
        ("select 1\0", "syntax"),
        ("select * from nowhere", "missing"),
        ("select absent from notes", "missing"),
        ("insert into notes (absent) values (1)", "missing"),
        ("select no_function(1)", "other"),
    ],
)
def test_each_failure_has_its_kind(scope, statement, expected):
    scope.execute(["create table checked (n integer check (n < 5))"])
    scope.execute(["create table child (note integer references notes (id))"])
    scope.execute(["insert into notes (text) values ('milk')"])
    assert kind(scope.execute([statement])) == expected


def test_another_process_that_holds_the_lock_makes_it_busy(database, scope, tmp_path):
    database.main.execute("pragma busy_timeout = 0")
    other = sqlite3.connect(tmp_path / "data.db", isolation_level=None)
    other.execute("begin immediate")
    assert kind(scope.execute(["insert into notes (text) values ('x')"])) == "busy"
    other.close()


def test_a_closed_database_says_so(database, scope):
    reader = database.scope(read_only=True)
    database.close()
    assert kind(scope.query(["select 1"])) == "closed"
    assert kind(reader.query(["select 1"])) == "closed"


def test_the_message_is_the_databases_own(scope):
    failed = scope.query(["select * from nowhere"])
    assert failed.value["message"] == "no such table: nowhere"
    assert failed.builtin == "db.query"


# --- opening


def test_foreign_keys_wal_and_full_synchronous_are_on(database):
    main = database.main
    assert main.execute("pragma foreign_keys").fetchone() == (1,)
    assert main.execute("pragma journal_mode").fetchone() == ("wal",)
    assert main.execute("pragma synchronous").fetchone() == (2,)
    assert main.execute("pragma busy_timeout").fetchone() == (5000,)


def test_a_program_has_one_database(database):
    with pytest.raises(Stop, match="is open already"):
        database.open("other.db")


@pytest.mark.parametrize("place", ["../outside.db", "/tmp/outside.db", "a/../../outside.db", "link.db", "", "folder"])
def test_a_database_lies_in_the_programs_folder(tmp_path, place):
    inside = tmp_path / "inside"
    (inside / "folder").mkdir(parents=True)
    (inside / "link.db").symlink_to(tmp_path / "outside.db")
    failed = Database(str(inside)).open(place)
    assert kind(failed) == "other"
    assert failed.value["message"].startswith(f'cannot open the database "{place}": ')
    assert not (tmp_path / "outside.db").exists()


def test_a_file_that_is_no_database_cannot_be_opened(tmp_path):
    (tmp_path / "data.db").write_text("x" * 5000)
    failed = Database(str(tmp_path)).open("data.db")
    assert "is not a database" in failed.value["message"]


def test_postgres_is_not_there_yet(tmp_path):
    failed = Database(str(tmp_path)).open("postgres://host/db")
    assert failed.value["message"] == "PostgreSQL is not supported yet: give a file's name"


def test_a_statement_before_open_says_what_to_do(tmp_path):
    with pytest.raises(Stop, match=r"`db\.query` needs a database: open one at the top level"):
        Database(str(tmp_path)).scope().query(["select 1"])


@pytest.mark.parametrize(
    "statement",
    ["begin", "commit", " -- x\n rollback", "savepoint a", "release a", "attach 'x.db' as x", "vacuum into 'x.db'",
     "pragma query_only = off", "; begin", ";;/* x */\ufeff;attach 'x.db' as x", ";vacuum into 'x.db'",
     ";pragma main.query_only(0)", "explain pragma query_only = off"],
)  # fmt: skip
def test_what_would_break_the_promises_is_refused(scope, statement):
    with pytest.raises(Stop):
        scope.execute([statement])


# --- transactions


def test_a_transaction_that_is_taken_back_leaves_nothing(scope):
    scope.begin()
    scope.execute(["insert into notes (text) values ('a')"])
    assert scope.rollback() is None
    assert texts(scope) == []


def test_a_transaction_inside_another_is_taken_back_alone(scope):
    scope.begin()
    scope.execute(["insert into notes (text) values ('a')"])
    scope.begin()
    scope.execute(["insert into notes (text) values ('b')"])
    scope.rollback()
    scope.begin()
    scope.execute(["insert into notes (text) values ('c')"])
    scope.commit()
    scope.commit()
    assert texts(scope) == ["a", "c"]


def test_a_scope_that_ends_takes_its_transaction_back(database, scope):
    scope.begin()
    scope.begin()
    scope.execute(["insert into notes (text) values ('a')"])
    scope.finish()
    assert database.holder is None
    assert texts(database.scope()) == []


def test_a_commit_that_fails_can_be_taken_back(database, scope):
    scope.execute(["create table child (note integer references notes (id) deferrable initially deferred)"])
    scope.begin()
    scope.execute(["insert into child values (99)"])
    assert kind(scope.commit()) == "foreign_key"
    scope.rollback()
    assert database.holder is None
    assert scope.query(["select * from child"]) == []


def test_others_wait_while_a_scope_holds_a_transaction(database):
    first, second = database.scope(), database.scope()
    order: list[str] = []

    async def main() -> None:
        first.begin()
        first.execute(["insert into notes (text) values ('first')"])
        waiting = second.execute(["insert into notes (text) values ('second')"])
        assert isinstance(waiting, Waiting)

        async def wait() -> None:
            await waiting.start()
            order.append("second")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            assert texts(first) == ["first"]
            order.append("first commits")
            first.commit()

    trio.run(main)
    assert order == ["first commits", "second"]
    assert texts(database.scope()) == ["first", "second"]


# --- calls that only read


@pytest.mark.parametrize("place", ["read.db", ":memory:"])
def test_a_call_that_only_reads_cannot_write(tmp_path, place):
    database = Database(str(tmp_path))
    database.open(place)
    database.scope().execute(["create table notes (text)"])
    reader = database.scope(read_only=True)
    for statement in (
        "insert into notes values ('x')",
        "with x as (select 1) insert into notes select * from x",
        "create table other (n)",
        "delete from notes",
        "drop table notes",
    ):
        assert kind(reader.query([statement])) == "read_only", statement
    assert reader.query(["select * from notes"]) == []
    reader.finish()
    assert database.scope().execute(["insert into notes values ('x')"])["changes"] == 1
    database.close()


def test_all_that_a_call_reads_is_of_one_moment(database, scope):
    scope.execute(["insert into notes (text) values ('a')"])
    reader = database.scope(read_only=True)
    assert texts(reader) == ["a"]
    scope.execute(["insert into notes (text) values ('b')"])
    assert texts(reader) == ["a"]
    reader.finish()
    assert texts(database.scope(read_only=True)) == ["a", "b"]


def test_a_reader_does_not_wait_for_a_writer(database, scope):
    scope.begin()
    scope.execute(["insert into notes (text) values ('a')"])
    assert texts(database.scope(read_only=True)) == []


def test_a_transaction_of_a_call_that_only_reads_still_reads(database):
    reader = database.scope(read_only=True)
    reader.begin()
    reader.begin()
    assert kind(reader.execute(["delete from notes"])) == "read_only"
    reader.rollback()
    reader.commit()
    reader.finish()
    assert database.scope(read_only=True).query(["select 1 as n"]) == [{"n": 1}]


def test_readers_beyond_the_most_wait_for_one(database, monkeypatch):
    monkeypatch.setattr("server.database.MOST_READERS", 1)
    first, second = database.scope(read_only=True), database.scope(read_only=True)
    assert texts(first) == []
    waiting = second.query(["select 1 as n"])
    assert isinstance(waiting, Waiting)

    async def main() -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(let_go)
            return await waiting.start()

    async def let_go() -> None:
        first.finish()

    assert trio.run(main) == [{"n": 1}]


# --- what counts as a change


@pytest.mark.parametrize(
    "statement", ["select 1", Sql("select ?", [1]), "with a as (select 1) select * from a", "pragma table_info(notes)"]
)
def test_what_is_known_to_read_changes_nothing(statement):
    assert not may_change(statement)
    assert not may_change(statement), "also when it comes again"


@pytest.mark.parametrize("statement", ["insert into x values (1)", "pragma user_version = 1", "", 5, None])
def test_everything_else_may_change_something(statement):
    assert may_change(statement)
