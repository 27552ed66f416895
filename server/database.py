"""A program's SQLite database, as its `db.` builtins meet it (language.md, section 9).

    Database   one a program: a connection that may write, and readers for calls that only read
    Scope      one a call (or top level): its statements and its transaction

Rule 1  While a scope holds a transaction, statements of others on that connection wait for its end: what they would
        do belongs to another call. They give a Waiting, which a door awaits.
Rule 2  A scope that ends takes an open transaction back.
Rule 3  A scope that only reads has a connection of its own, on which the database refuses every write, inside one read
        transaction: all that it reads is of one moment. In memory there is only one connection; there the refusal is
        switched on around each statement.
Rule 4  A statement runs in place, and the thread with it. It is charged to its call as it goes on, and broken off, by a
        stop that nothing catches, where that is out of compute or nobody waits for it any more. What it is charged is
        no part of the call's own steps, which are the same in every run.
Rule 5  A failure of the database is an Err { kind, message }; a statement used wrongly (the count of its parameters, a
        value that a database can't hold) is a mistake of the program: a Stop.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from typing import Any

from qvm.host import Waiting
from qvm.values import SIZE_LIMIT, Err, Sql, Stop, kind_of

BUSY_SECONDS = 5.0  # that a statement waits for another process's lock
MOST_READERS = 16  # connections for calls that only read; further ones wait
IN_MEMORY = ":memory:"
OPERATIONS = 10_000  # of SQLite's virtual machine, a fraction of a millisecond, until a statement is charged for them
STEPS = 1_000  # that they are charged: an operation takes about a tenth of a step's time
_LOOK_AROUND = 20  # charges, some milliseconds, between two looks at whether anybody waits for the statement

_INSERTS = re.compile(r"\b(?:insert|replace)\s+(?:or\s+\w+\s+)?into\b", re.IGNORECASE)
_QUERY_ONLY = re.compile(r"\bpragma\b.*\bquery_only\b", re.IGNORECASE | re.DOTALL)
_BINDINGS = re.compile(r"uses (\d+), and there (?:is|are) (\d+)")
_TRANSACTIONS = frozenset(("begin", "commit", "end", "rollback", "savepoint", "release"))

_MOST_KNOWN = 1000  # statements seen before, of which something is kept
_facts: dict[str, tuple[str, bool]] = {}
_changing: dict[str, bool] = {}


def facts(sql: str) -> tuple[str, bool]:
    """A statement's first word in small letters ("" if there is none), and whether it inserts rows."""
    known = _facts.get(sql)
    if known is None:
        from compiler.sql_reading import first_word

        word = first_word(sql)
        known = word, word in ("insert", "replace") or (word == "with" and _INSERTS.search(sql) is not None)
        _keep(_facts, sql, known)
    return known


def may_change(statement: Any) -> bool:
    """May it change the database, for the rule that a tool asks before it changes? The checker judges by the same."""
    sql = statement.text if isinstance(statement, Sql) else statement
    if not isinstance(sql, str):
        return True
    known = _changing.get(sql)
    if known is None:
        from compiler.sql_reading import may_change as judged

        known = judged(sql)
        _keep(_changing, sql, known)
    return known


def _keep(known: dict[str, Any], sql: str, what: Any) -> None:
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[sql] = what


class Database:
    """The database of one program; closed until `open`. `memory_only` has every place opened as ":memory:" (tests)."""

    def __init__(self, folder: str, memory_only: bool = False) -> None:
        self.folder = folder
        self.memory_only = memory_only
        self.place = ""  # as `db.open` was given it
        self.main: sqlite3.Connection | None = None
        self.holder: Scope | None = None  # that has an open transaction on `main`
        self._path = ""
        self._closed = False
        self._readers: list[sqlite3.Connection] = []  # that no scope uses now
        self._reader_count = 0
        self._waiting: list[Any] = []  # events of those who wait for the holder or a reader
        self._ending: Callable[[Any], bool] | None = None
        self._at_work: Scope | None = None  # whose statement runs now
        self._charges = 0
        self.stop: Stop | None = None  # why the statement that runs now is broken off

    @property
    def is_open(self) -> bool:
        return self.main is not None

    @property
    def in_memory(self) -> bool:
        return self._path == IN_MEMORY

    def open(self, place: Any) -> Err | None:
        """`db.open(place)`. A place that can't be opened gives an Err; a wrong use raises Stop."""
        if type(place) is not str:
            raise Stop(f"argument 1 of `db.open` must be str, got {kind_of(place)}")
        if self.main is not None or self._closed:
            raise Stop(f'the database "{self.place}" is open already: a program has one')
        if "://" in place:
            what = "PostgreSQL" if place.startswith(("postgres://", "postgresql://")) else "databases over a network"
            return _failure("other", f"{what} is not supported yet: give a file's name", "db.open")
        try:
            path = IN_MEMORY if self.memory_only else self._inside(place)
            connection = self._connect(path)
        except (sqlite3.Error, OSError, ValueError) as error:
            kind, message = _kind_and_message(error)
            return _failure(kind, f'cannot open the database "{place}": {message}', "db.open")
        self.place, self._path, self.main = place, path, connection
        return None

    def _inside(self, place: str) -> str:
        """The file that `place` names: in the program's folder, also when links are followed."""
        if place == IN_MEMORY:
            return place
        if not place or "\0" in place:
            raise ValueError("a database needs a file's name")
        folder = os.path.realpath(self.folder)
        path = os.path.realpath(os.path.join(folder, place))
        if os.path.isabs(place) or os.path.commonpath((folder, path)) != folder:
            raise ValueError("it must lie in the program's folder")
        if os.path.isdir(path):
            raise ValueError("it is a folder")
        return path

    def _connect(self, path: str, read_only: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            if path != IN_MEMORY and not read_only:
                connection.execute("pragma journal_mode = wal").fetchall()
            # FULL: a write is on disk when its statement returns, also in WAL mode.
            connection.execute("pragma synchronous = full")
            connection.execute("pragma foreign_keys = on")
            if read_only:
                connection.execute("pragma query_only = on")
            elif path != IN_MEMORY:
                connection.execute("select count(*) from sqlite_master").fetchall()  # is it a database at all?
        except BaseException:
            connection.close()
            raise
        connection.set_progress_handler(self._charge, OPERATIONS)
        return connection

    def give_up_when(self, ending: Callable[[Any], bool]) -> None:
        """From now on a statement that runs for long is broken off once `ending(request)` is true.

        `request` is that of the scope, whose call then stops as one that is cancelled.
        """
        self._ending = ending

    def _charge(self) -> bool:
        """Called by SQLite in the middle of a statement; true breaks it off."""
        scope = self._at_work
        if scope is None:
            return False
        scope.work += STEPS
        if scope.max_compute is not None and scope.task.steps + scope.work > scope.max_compute:
            self.stop = Stop(f"out of compute: it takes more than {scope.max_compute:,} steps", "compute")
            return True
        self._charges += 1
        if self._ending is not None and not self._charges % _LOOK_AROUND and self._ending(scope.request):
            self.stop = Stop("the call was cancelled", "cancelled")
            return True
        return False

    def run(
        self, scope: Scope, operation: Callable[[sqlite3.Connection], Any], on: sqlite3.Connection, name: str
    ) -> Any:
        """Does what the builtin `name` does on a connection. Raises Stop, also where it was broken off."""
        self._at_work, self.stop = scope, None
        try:
            value = _guarded(operation, on, name)
        finally:
            self._at_work = None
        if self.stop is not None:
            raise self.stop
        return value

    def scope(self, read_only: bool = False) -> Scope:
        if not read_only:
            return Scope(self)
        return MemoryReader(self) if self.in_memory else Reader(self)

    def close(self) -> None:
        """Closes all connections; an open transaction is taken back. Later statements give the kind "closed"."""
        self._closed = True
        for connection in (self.main, *self._readers):
            if connection is not None:
                connection.close()
        self._readers.clear()

    # What scopes use.

    def writer(self, builtin: str) -> sqlite3.Connection:
        if self.main is None:
            raise Stop(f'`{builtin}` needs a database: open one at the top level, with db.open("data.db")')
        return self.main

    def take_reader(self) -> sqlite3.Connection | None:
        """A reader in a new read transaction; None when all are in use."""
        if self._readers:
            connection = self._readers.pop()
        elif self._reader_count < MOST_READERS:
            connection = self._connect(self._path, read_only=True)
            self._reader_count += 1
        else:
            return None
        connection.execute("begin")
        return connection

    def give_reader(self, connection: sqlite3.Connection) -> None:
        try:
            connection.rollback()
        except sqlite3.Error:
            connection.close()
            self._reader_count -= 1
        else:
            if self._closed:
                connection.close()
            else:
                self._readers.append(connection)
        self.wake()

    def wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            event.set()

    async def changed_hands(self) -> None:
        """Waits until a holder or a reader has been given up."""
        import trio

        event = trio.Event()
        self._waiting.append(event)
        await event.wait()

    def until_free(self) -> Waiting:
        """A Waiting that ends, with None, when no scope holds a transaction."""

        async def start() -> None:
            while self.holder is not None:
                await self.changed_hands()

        return Waiting(start)


class Scope:
    """The statements of one call, which may write. A method gives its value, an Err, or a Waiting; or raises Stop."""

    __slots__ = ("_sides", "database", "depth", "max_compute", "request", "task", "work")

    def __init__(self, database: Database) -> None:
        self.database = database
        self.request: Any = None  # what the door knows the call's request by
        self.task: Any = None  # the call, with the `steps` that it was charged
        self.max_compute: int | None = None  # of its steps and `work` together
        self.work = 0  # steps that its statements were charged
        self.depth = 0  # of nested transactions
        self._sides: list[Scope] = []

    def beside(self) -> Scope:
        """The statements of a part of the call that runs beside others: its transactions are its own."""
        side = _Side(self)
        self._sides.append(side)
        return side

    # Each statement goes through `_do`, which subclasses bring to another connection.

    def _do(self, operation: Callable[[sqlite3.Connection], Any], builtin: str, select: bool) -> Any:
        database = self.database
        connection = database.writer(builtin)
        if database.holder is None or database.holder is self:
            return database.run(self, operation, connection, builtin)

        async def start() -> Any:
            while database.holder is not None and database.holder is not self:
                await database.changed_hands()
            return database.run(self, operation, connection, builtin)

        return Waiting(start)

    def query(self, arguments: list[Any]) -> Any:
        """`db.query`: the list of records."""
        sql, values = _statement(arguments, "db.query")
        return self._do(lambda connection: _records(connection, sql, values), "db.query", facts(sql)[0] == "select")

    def one(self, arguments: list[Any]) -> Any:
        """`db.one`: the first record, None without one."""
        sql, values = _statement(arguments, "db.one")
        return self._do(lambda connection: _first(connection, sql, values), "db.one", facts(sql)[0] == "select")

    def execute(self, arguments: list[Any]) -> Any:
        """`db.exec`: { changes, last_id }."""
        sql, values = _statement(arguments, "db.exec")
        return self._do(lambda connection: _changes(connection, sql, values), "db.exec", facts(sql)[0] == "select")

    def begin(self) -> Any:
        """Opens a transaction, or one inside the one that is open."""

        def operation(connection: sqlite3.Connection) -> None:
            # IMMEDIATE: the lock is taken here, so that a write further on can't fail for having read before.
            connection.execute(f"savepoint quillo_{self.depth}" if self.depth else "begin immediate")
            self.depth += 1
            self.database.holder = self

        return self._do(operation, "db.transaction", False)

    def commit(self) -> Any:
        """Keeps what the innermost transaction did. One that can't be kept stays open, to be taken back."""
        if not self.depth:
            raise Stop("no transaction is open")

        def operation(connection: sqlite3.Connection) -> None:
            connection.execute(f"release quillo_{self.depth - 1}" if self.depth > 1 else "commit")
            self._left()

        return self._do(operation, "db.transaction", False)

    def rollback(self) -> Any:
        """Takes back what the innermost transaction did."""
        if not self.depth:
            return None

        def operation(connection: sqlite3.Connection) -> None:
            if self.depth > 1:
                connection.execute(f"rollback to quillo_{self.depth - 1}")
                connection.execute(f"release quillo_{self.depth - 1}")
            elif connection.in_transaction:  # a full disk and the like have ended it already
                connection.execute("rollback")
            self._left()

        return self._do(operation, "db.transaction", False)

    def _left(self) -> None:
        self.depth -= 1
        if not self.depth:
            self.database.holder = None
            self.database.wake()

    def finish(self) -> None:
        """Ends the scope: an open transaction is taken back, what it used is given up. May be called again."""
        for side in self._sides:
            side.finish()
        if self.depth:
            self.depth = 0
            try:
                if self.database.main is not None and self.database.main.in_transaction:
                    self.database.main.execute("rollback")
            except sqlite3.Error:
                pass  # the connection is closed: then nothing is open any more
            self.database.holder = None
            self.database.wake()


class _Side(Scope):
    """The statements of a part of a call; they are charged to the call."""

    __slots__ = ("_call",)

    def __init__(self, call: Scope) -> None:
        self._call = call
        work = call.work
        super().__init__(call.database)
        self.work = work
        self.request, self.task, self.max_compute = call.request, call.task, call.max_compute

    @property
    def work(self) -> int:
        return self._call.work

    @work.setter
    def work(self, steps: int) -> None:
        self._call.work = steps


class Reader(Scope):
    """The statements of a call that only reads: a reader of its own, from its first statement on.

    What runs beside it reads from the same one: with a reader each, calls could wait for each other's without end.
    """

    __slots__ = ("_connection",)

    def beside(self) -> Scope:
        return self

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._connection: sqlite3.Connection | None = None

    def _do(self, operation: Callable[[sqlite3.Connection], Any], builtin: str, select: bool) -> Any:
        database = self.database
        database.writer(builtin)
        if database._closed:
            return _failure("closed", "the database is closed", builtin)
        if self._connection is None:
            try:
                self._connection = database.take_reader()
            except sqlite3.Error as error:
                return _failure(*_kind_and_message(error), builtin)
        if self._connection is not None:
            return database.run(self, operation, self._connection, builtin)

        async def start() -> Any:
            while self._connection is None:
                await database.changed_hands()
                try:
                    self._connection = database.take_reader()
                except sqlite3.Error as error:
                    return _failure(*_kind_and_message(error), builtin)
            return database.run(self, operation, self._connection, builtin)

        return Waiting(start)

    def begin(self) -> Any:
        def operation(connection: sqlite3.Connection) -> None:
            connection.execute(f"savepoint quillo_{self.depth}")
            self.depth += 1

        return self._do(operation, "db.transaction", False)

    def commit(self) -> Any:
        return self._end("release")

    def rollback(self) -> Any:
        return self._end("rollback to") if self.depth else None

    def _end(self, how: str) -> Any:
        if not self.depth:
            raise Stop("no transaction is open")

        def operation(connection: sqlite3.Connection) -> None:
            self.depth -= 1
            connection.execute(f"{how} quillo_{self.depth}")
            if how != "release":
                connection.execute(f"release quillo_{self.depth}")

        return self._do(operation, "db.transaction", False)

    def finish(self) -> None:
        self.depth = 0
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self.database.give_reader(connection)


class MemoryReader(Scope):
    """The statements of a call that only reads, on the one connection that a database in memory has."""

    __slots__ = ()

    def beside(self) -> Scope:
        return self

    def _do(self, operation: Callable[[sqlite3.Connection], Any], builtin: str, select: bool) -> Any:
        if (
            select or builtin == "db.transaction"
        ):  # SQLite lets no `select` write, and a transaction alone writes nothing
            return super()._do(operation, builtin, select)

        def guarded(connection: sqlite3.Connection) -> Any:
            connection.execute("pragma query_only = on")
            try:
                return operation(connection)
            finally:
                connection.execute("pragma query_only = off")

        return super()._do(guarded, builtin, select)


# --- statements -----------------------------------------------------------------------------------------------------


def _statement(arguments: list[Any], builtin: str) -> tuple[str, list[Any]]:
    """The text and the values of a statement, from a builtin's arguments. Raises Stop for what is no statement."""
    first = arguments[0]
    if type(first) is str:
        sql = first
        values = [_stored(value, number, builtin) for number, value in enumerate(arguments[1:], 2)]
    elif isinstance(first, Sql):
        sql = first.text
        values = [_stored(value, 1, builtin) for value in first.parameters]
        values += [_stored(value, number, builtin) for number, value in enumerate(arguments[1:], 2)]
    else:
        raise Stop(f"argument 1 of `{builtin}` must be str or sql, got {kind_of(first)}")
    word = facts(sql)[0]
    if word in _TRANSACTIONS:
        raise Stop(f"`{word}` is not a statement for `{builtin}`: db.transaction(() => …) begins and ends one")
    if word in ("attach", "detach"):
        raise Stop(f"`{word}` is not a statement for `{builtin}`: a program has one database")
    if word == "vacuum" and re.search(r"\binto\b", sql, re.IGNORECASE):
        raise Stop(f"`vacuum into` is not a statement for `{builtin}`: a program has one database")
    if word in ("pragma", "explain") and _QUERY_ONLY.search(sql):  # a pragma that is explained is set all the same
        raise Stop("`pragma query_only` is not a program's to set: what a tool may do follows from its code")
    return sql, values


def _stored(value: Any, number: int, builtin: str) -> Any:
    """A value as SQLite takes it: bools as 0 and 1, lists and records as JSON text."""
    kind = type(value)
    if value is None or kind is int or kind is str or kind is bytes:
        return value
    if kind is bool:
        return int(value)
    if kind is float:
        if value - value != 0:
            raise Stop(f"argument {number} of `{builtin}` is a float that a database can't hold: {value}")
        return value
    if kind is list or kind is dict:
        from qvm.text import to_json

        return to_json(value)
    raise Stop(f"argument {number} of `{builtin}` must be a value that a database can hold, got {kind_of(value)}")


def _records(connection: sqlite3.Connection, sql: str, values: list[Any]) -> list[dict[str, Any]]:
    cursor = connection.execute(sql, values)
    if cursor.description is None:
        return []
    names = [column[0] for column in cursor.description]
    rows = cursor.fetchmany(SIZE_LIMIT)
    if len(rows) == SIZE_LIMIT and cursor.fetchone() is not None:
        raise Stop(f"the statement gives over {SIZE_LIMIT:_} rows: a list holds no more".replace("_", ","))
    return [dict(zip(names, row, strict=False)) for row in rows]


def _first(connection: sqlite3.Connection, sql: str, values: list[Any]) -> dict[str, Any] | None:
    cursor = connection.execute(sql, values)
    row = cursor.fetchone()
    if row is None:
        return None
    found = dict(zip([column[0] for column in cursor.description], row, strict=False))
    if facts(sql)[0] == "select":
        cursor.close()
    else:
        while cursor.fetchmany(1000):  # `insert … returning`: all rows are written only when all are read
            pass
    return found


def _changes(connection: sqlite3.Connection, sql: str, values: list[Any]) -> dict[str, Any]:
    cursor = connection.execute(sql, values)
    if cursor.description is not None:
        while cursor.fetchmany(1000):
            pass
    changes = max(cursor.rowcount, 0)
    return {"changes": changes, "last_id": cursor.lastrowid if changes and facts(sql)[1] else None}


# --- failures -------------------------------------------------------------------------------------------------------


def _guarded(operation: Callable[[sqlite3.Connection], Any], connection: sqlite3.Connection, builtin: str) -> Any:
    try:
        return operation(connection)
    except sqlite3.ProgrammingError as error:
        text = str(error)
        if match := _BINDINGS.search(text):
            raise Stop(
                f"the statement of `{builtin}` has {_count(int(match[1]), 'parameter')},"
                f" and {_count(int(match[2]), 'value')} {'was' if match[2] == '1' else 'were'} given"
            ) from None
        return _failure(*_kind_and_message(error), builtin)
    except (sqlite3.Error, sqlite3.Warning) as error:
        return _failure(*_kind_and_message(error), builtin)
    except UnicodeEncodeError:
        raise Stop(f"a text given to `{builtin}` has half of a surrogate pair: a database can't hold it") from None


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _failure(kind: str, message: str, builtin: str) -> Err:
    return Err({"kind": kind, "message": message}, builtin)


_CONSTRAINTS = {
    "SQLITE_CONSTRAINT_UNIQUE": "unique",
    "SQLITE_CONSTRAINT_PRIMARYKEY": "unique",
    "SQLITE_CONSTRAINT_ROWID": "unique",
    "SQLITE_CONSTRAINT_FOREIGNKEY": "foreign_key",
    "SQLITE_CONSTRAINT_NOTNULL": "not_null",
    "SQLITE_CONSTRAINT_CHECK": "check",
}
_SYNTAX = ("syntax error", "unrecognized token", "incomplete input")
_MISSING = re.compile(r"no such (?:table|column|view)\b|has no column named")


def _kind_and_message(error: BaseException) -> tuple[str, str]:
    """The kind (see `db.error_kind`) and the message of a failure."""
    message = str(error)
    name = getattr(error, "sqlite_errorname", None) or ""
    if kind := _CONSTRAINTS.get(name):
        return kind, message
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "busy", message
    if name.startswith("SQLITE_READONLY"):
        return "read_only", message
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.Warning):
        if "closed database" in message:
            return "closed", "the database is closed"
        if "one statement" in message:
            return "syntax", "one statement at a time"
        if "null character" in message:
            return "syntax", "the statement has a null character in it"
    if isinstance(error, OSError):
        return "other", (error.strerror or message).lower()
    if any(part in message for part in _SYNTAX):
        return "syntax", message
    if _MISSING.search(message):
        return "missing", message
    return "other", message
