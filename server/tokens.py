"""Tokens for AI clients: a text that stands for the session in which it was made (mcp.md, section 5).

A token is `qmcp_` and 43 url-safe characters, 256 random bits. It is given once; what is kept is its keyed hash, who
made it and where, the session's record as it was, and when it ends.

Rule 1  Kept in the program's database, in `_quillo_mcp_tokens`, so that each of its processes knows it; in memory for a
        program with none: 100 a user, 10,000 in all, the oldest goes. The table is made with the first token. Each
        write makes sure of it, since a transaction that is taken back takes a table with it that was made there.
Rule 2  A token that was revoked is none from then on; one that another process revoked, after a second at most: so long
        is remembered what the database says of it.
Rule 3  When a token was last used is remembered in memory, and written down now and then, without waiting for the disk
        or for another process: a call pays no write for it. What can't be written is left out.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from qvm.values import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.database import Database

PREFIX = "qmcp_"
LIFETIME = 30 * 86400  # seconds, where neither the session nor the program says
LONGEST = 365 * 86400
MOST_OF_A_USER = 100
MOST = 10_000
_LENGTH = len(PREFIX) + 43
_WRITE_USE = 300  # seconds between two writes of when a token was last used

_TABLE = """create table if not exists _quillo_mcp_tokens (
  id text primary key, hash blob not null unique, user text not null, tenant text, session blob not null,
  record text not null, created integer not null, ends integer not null, last_used integer, client text)"""
_MISSING = "no such table"
_COLUMNS = "id, hash, user, tenant, session, record, created, ends, last_used, client"


class Token:
    """One token, without its text. `user` and `record` are JSON; times are seconds since 1970."""

    # fmt: off
    __slots__ = ("client", "created", "ends", "hash", "id", "last_used", "record", "session", "tenant", "user")
    # fmt: on

    def __init__(
        self,
        id: str,
        hash: bytes,
        user: str,
        tenant: str | None,
        session: bytes,
        record: str,
        created: int,
        ends: int,
        last_used: int | None = None,
        client: str | None = None,
    ) -> None:
        self.id = id
        self.hash = hash
        self.user = user
        self.tenant = tenant
        self.session = session
        self.record = record
        self.created = created
        self.ends = ends
        self.last_used = last_used
        self.client = client


class Tokens:
    """The tokens of one program. `clock` gives the seconds since 1970."""

    def __init__(self, secret: bytes, database: Database, clock: Callable[[], float]) -> None:
        from hmac import compare_digest

        from blake3 import blake3

        from server.secrets import key_of

        self._key = key_of(secret, "tokens for AI clients")
        self._blake3: Any = blake3
        self._same = compare_digest  # takes constant time
        self._database = database
        self._clock = clock
        self._memory: dict[bytes, Token] = {}  # of a program with no database, the oldest first
        self._used: dict[str, tuple[int, str | None, int]] = {}  # last used, by which client, and when that was written
        self._known: dict[bytes, tuple[float, Token]] = {}  # what was looked up within the last second
        self.trial: Token | None = None

    def make(self, user: str, tenant: str | None, session: bytes, record: str, lasts: int) -> str:
        """A new token's text."""
        from base64 import urlsafe_b64encode

        text = PREFIX + urlsafe_b64encode(os.urandom(32)).decode("ascii").rstrip("=")
        now = int(self._clock())
        token = Token(os.urandom(8).hex(), self._hash(text), user, tenant, session, record, now, now + lasts)
        if not self._database.is_open:
            self._keep(token, now)
            return text
        self._execute(_TABLE, ())
        self._execute("delete from _quillo_mcp_tokens where ends <= ?", (now,))
        values = (token.id, token.hash, user, tenant, session, record, token.created, token.ends, None, None)
        self._execute(f"insert into _quillo_mcp_tokens ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        return text

    def make_trial(self) -> str:
        """A token for trying the door, with no one signed in; good while this process, or its reloads, run."""
        from base64 import urlsafe_b64encode

        text = PREFIX + urlsafe_b64encode(os.urandom(32)).decode("ascii").rstrip("=")
        self.trial = Token("trial", self._hash(text), "null", None, b"", "{}", 0, 1 << 62)
        return text

    def take_over(self, old: Tokens) -> None:
        """Goes on with the tokens that the program had before it was loaded anew."""
        self.trial, self._memory, self._used = old.trial, old._memory, old._used

    def find(self, text: str) -> Token | None:
        """The token of a text that a request brought; None where it is not good, or no longer. Raises Stop."""
        if len(text) != _LENGTH or not text.startswith(PREFIX) or not text.isascii():
            return None
        hash = self._hash(text)
        token = self.trial
        if token is None or not self._same(token.hash, hash):
            token = self._stored(hash)
        if token is None or not self._same(token.hash, hash) or token.ends <= self._clock():
            return None
        return token

    def note_use(self, token: Token, client: str | None) -> None:
        """Remembers that a call came with a token, and from which client."""
        now = int(self._clock())
        _, known, written = self._used.get(token.id, (0, None, token.last_used or 0))
        client = client or known or token.client
        if now - written >= _WRITE_USE and token is not self.trial and self._writable():
            self._write_use(token.id, now, client)
            written = now
        self._used[token.id] = (now, client, written)
        if len(self._used) > MOST:
            del self._used[next(iter(self._used))]

    def close(self) -> None:
        """Writes down when tokens were last used, where that is not yet done: the server ends."""
        if not self._writable():
            return
        for id, (used, client, written) in self._used.items():
            if used > written and (self.trial is None or id != self.trial.id):
                self._write_use(id, used, client)
                self._used[id] = (used, client, used)

    def _write_use(self, id: str, now: int, client: str | None) -> None:
        import sqlite3

        from server.database import BUSY_SECONDS

        connection = self._database.writer("mcp_token")
        update = "update _quillo_mcp_tokens set last_used = ?, client = ? where id = ?"
        with contextlib.suppress(sqlite3.Error):
            try:
                connection.execute("pragma busy_timeout = 0").close()
                connection.execute("pragma synchronous = normal")
                connection.execute(update, (now, client, id))
            finally:
                connection.execute("pragma synchronous = full")
                connection.execute(f"pragma busy_timeout = {int(BUSY_SECONDS * 1000)}").close()

    def of_user(self, user: str, tenant: str | None) -> list[Token]:
        """A user's tokens that are good, the oldest first, with when they were last used. Raises Stop."""
        now = int(self._clock())
        if self._database.is_open:
            select = f"select {_COLUMNS} from _quillo_mcp_tokens where user = ? and tenant is ? and ends > ?"
            found = [Token(*row) for row in self._rows(f"{select} order by created, rowid", (user, tenant, now))]
        else:
            found = [token for token in self._memory.values() if _is(token, user, tenant) and token.ends > now]
        for token in found:
            used, client, _ = self._used.get(token.id, (0, None, 0))
            if used > (token.last_used or 0):  # else another process has seen it later
                token.last_used, token.client = used, client
        return found

    def revoke(self, id: str, user: str, tenant: str | None) -> bool:
        """Ends one token of a user; false where there is none of that id. Raises Stop."""
        self._known.clear()
        if self._database.is_open:
            self._execute(_TABLE, ())
            delete = "delete from _quillo_mcp_tokens where id = ? and user = ? and tenant is ?"
            return self._execute(delete, (id, user, tenant)).rowcount > 0
        for hash, token in self._memory.items():
            if token.id == id and _is(token, user, tenant):
                del self._memory[hash]
                return True
        return False

    def end_session(self, session: bytes) -> None:
        """Ends the tokens that were made in a session. Raises Stop."""
        self._known.clear()
        if self._database.is_open:
            # Most programs make no tokens: to end a session then takes no write.
            if self._rows("select 1 from _quillo_mcp_tokens where session = ? limit 1", (session,)):
                self._execute("delete from _quillo_mcp_tokens where session = ?", (session,))
            return
        for hash in [hash for hash, token in self._memory.items() if token.session == session]:
            del self._memory[hash]

    def _hash(self, text: str) -> bytes:
        digest: bytes = self._blake3(text.encode("ascii"), key=self._key).digest()
        return digest

    def _keep(self, token: Token, now: int) -> None:
        memory = self._memory
        for hash in [hash for hash, old in memory.items() if old.ends <= now]:
            del memory[hash]
        own = [hash for hash, old in memory.items() if _is(old, token.user, token.tenant)]
        if len(own) >= MOST_OF_A_USER:
            del memory[own[0]]
        elif len(memory) >= MOST:
            del memory[next(iter(memory))]
        memory[token.hash] = token

    def _stored(self, hash: bytes) -> Token | None:
        if not self._database.is_open:
            return self._memory.get(hash)
        now = self._clock()
        until, token = self._known.get(hash, (0.0, None))
        if token is not None and now < until <= now + 1:
            return token
        rows = self._rows(f"select {_COLUMNS} from _quillo_mcp_tokens where hash = ?", (hash,))
        if not rows:
            self._known.pop(hash, None)
            return None
        if len(self._known) >= MOST:
            self._known.clear()
        token = Token(*rows[0])
        self._known[hash] = (now + 1, token)
        return token

    def _writable(self) -> bool:
        """Is there a database, with no call's transaction open on it?"""
        return self._database.is_open and self._database.holder is None

    def _rows(self, select: str, values: tuple[Any, ...]) -> list[Any]:
        """What a statement finds; nothing where no token was ever made."""
        import sqlite3

        try:
            rows: list[Any] = self._database.writer("mcp_token").execute(select, values).fetchall()
        except (sqlite3.Error, UnicodeEncodeError) as error:
            if _MISSING in str(error):
                return []
            raise Stop(f"the database can't tell the tokens for AI clients: {error}") from None
        return rows

    def _execute(self, statement: str, values: tuple[Any, ...]) -> Any:
        import sqlite3

        try:
            return self._database.writer("mcp_token").execute(statement, values)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise Stop(f"the database can't keep the tokens for AI clients: {error}") from None


def _is(token: Token, user: str, tenant: str | None) -> bool:
    return token.user == user and token.tenant == tenant
