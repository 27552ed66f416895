"""The signed states of questions (mcp.md, section 3).

A call that needs an answer ends; what it has to remember travels through the client as `requestState` and comes back
with the answer. A state is base64url (no padding) of

    offset  bytes
    0       1      format version
    1       16     nonce
    17      8      when it ends: seconds since 1970, big-endian
    25      1      how many questions this call has asked so far
    26      1      the place in the entries of the question that waits for an answer
    27      16     digest of the Module         (what the state is bound to …
    43      16     digest of the caller
    59      16     digest of the tool's name
    75      16     digest of the arguments, as JSON values …)
    91      50 n   an entry for each question of the call
    end-32  32     keyed BLAKE3 of everything before it

and an entry is

    0       16     digest of the question's place in the code and its count there
    16      16     digest of the question's text
    32      1      answer: 0 none yet, 1 accepted with a yes, 2 accepted without one, 3 declined or dismissed
    33      1      in how many rounds, one after the other, its text has changed
    34      16     digest of the key that was chosen (zeros if none was)

Rule 1  It holds answers, no data of the program: texts and keys are in it as keyed digests only.
Rule 2  The keys are made from one secret, one for each purpose; what is signed for another purpose is not a state.
Rule 3  Nothing in it is looked at before its signature is found good; comparisons take constant time.
Rule 4  A good state is used up when it comes, once and atomically; a bad one uses up nothing.
Rule 5  A text that is longer than any state is refused by its length, before anything in it is looked at.
Rule 6  Where what was used is forgotten with the process, the keys are, too: else a state would be good once more after
        a restart with the same secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from qvm.values import Stop

if TYPE_CHECKING:
    from sqlite3 import Connection

    from server.database import Database

FORMAT = 2
LIFETIME = 600  # seconds
MOST_QUESTIONS = 100  # a call
_HEAD, _ENTRY, _MAC = 91, 50, 32
_LONGEST = -(-(_HEAD + _ENTRY * MOST_QUESTIONS + _MAC) * 4 // 3)  # characters: as many as a state of all questions has
_MOST_KEPT = 65_536  # used states that are kept in memory

_TOO_LONG = "is longer than any that a server makes"
_NOT_WHOLE = "was cut, extended or rewritten on the way"

NONE, YES, NO, DECLINED = range(4)
NO_CHOICE = bytes(16)


class Refused(Exception):
    """A state that is not taken; the text says why and what to do."""


class Entry:
    """One question of a call and its answer so far."""

    __slots__ = ("answer", "changes", "choice", "place", "text")

    def __init__(self, place: bytes, text: bytes, answer: int, changes: int, choice: bytes) -> None:
        self.place = place
        self.text = text
        self.answer = answer
        self.changes = changes
        self.choice = choice


class Answers:
    """What a call knows of its questions. `waiting` is the entry that was asked last, None before the first."""

    __slots__ = ("asked", "entries", "waiting")

    def __init__(self) -> None:
        self.asked = 0
        self.entries: dict[bytes, Entry] = {}
        self.waiting: Entry | None = None


class UsedStates(Protocol):
    """Remembers which states have been used. `lasting`: the next process still knows."""

    @property
    def lasting(self) -> bool: ...

    def take(self, nonce: bytes, ends: int, now: int) -> bool:
        """Uses a state up: true the first time, false ever after."""


class Asking:
    """Makes and opens the states of one program.

    `secret` is what the keys are made from, None for a random one (see Rule 6, too). `program` gives the Module's
    digest, `clock` the seconds since 1970.
    """

    def __init__(
        self, secret: bytes | None, program: Callable[[], str], used: UsedStates, clock: Callable[[], float]
    ) -> None:
        self._secret = secret if used.lasting else None
        self._program_name = program
        self._used = used
        self._clock = clock
        self._blake3: Any = None

    def _prepare(self) -> None:
        """Makes the keys, at the first question: programs that ask nothing don't pay for it."""
        import os

        from blake3 import blake3

        secret = self._secret if self._secret is not None else os.urandom(32)
        self._seal_key = blake3(secret, derive_key_context="quillo: signatures of question states, 1").digest()
        self._digest_key = blake3(secret, derive_key_context="quillo: digests in question states, 1").digest()
        self._blake3 = blake3
        self._program = self.digest("program", self._program_name())

    def digest(self, kind: str, text: str | bytes) -> bytes:
        """16 bytes that stand for a text of one kind; nobody without the secret can guess the text from them."""
        if self._blake3 is None:
            self._prepare()
        data = text if type(text) is bytes else text.encode("utf-8", "surrogatepass")  # type: ignore[union-attr]
        data = kind.encode("ascii") + b"\0" + data
        return self._blake3(data, key=self._digest_key).digest(length=16)

    def open(self, state: str, caller: str, tool: str, arguments: Any) -> Answers:
        """The answers in a state, which is used up by this. Raises Refused."""
        again = f"call `{tool}` again without it"
        if self._blake3 is None:
            self._prepare()
        body, problem = (b"", _TOO_LONG) if is_too_long(state) else self._verified(state)
        if problem:
            raise Refused(_not_ours(problem, tool))
        if body[0] != FORMAT or len(body) < _HEAD:
            raise Refused(f"`requestState` was made by another version of Quillo: {again}")
        for at, digest, problem in (
            (27, self._program, "was made before the program changed"),
            (43, self.digest("caller", caller), "was made for another caller"),
            (59, self.digest("tool", tool), "was made for another tool"),
        ):
            if not _same(body[at : at + 16], digest):
                raise Refused(f"`requestState` {problem}: {again}")
        # Last, as the only one whose cost is in the client's hands: up to here a state costs what its length allows.
        if not _same(body[75:91], self.digest("arguments", canonical(arguments))):
            raise Refused(f"`requestState` was made for other arguments: {again}")
        ends, now = int.from_bytes(body[17:25], "big"), int(self._clock())
        if now >= ends:
            raise Refused(f"`requestState` has expired: an answer may take {LIFETIME // 60} minutes: {again}")
        if not self._used.take(body[1:17], ends, now):
            raise Refused(f"`requestState` was used already: each is good once: {again}")
        answers = Answers()
        answers.asked = body[25]
        for number, at in enumerate(range(_HEAD, len(body), _ENTRY)):
            entry = Entry(
                body[at : at + 16], body[at + 16 : at + 32], body[at + 32], body[at + 33], body[at + 34 : at + 50]
            )
            answers.entries[entry.place] = entry
            if number == body[26]:
                answers.waiting = entry
        return answers

    def seal(self, answers: Answers, caller: str, tool: str, arguments: Any) -> str:
        """The state that carries these answers to the next round."""
        import os

        if self._blake3 is None:
            self._prepare()
        entries = list(answers.entries.values())
        body = bytearray((FORMAT,))
        body += os.urandom(16)
        body += (int(self._clock()) + LIFETIME).to_bytes(8, "big")
        body.append(answers.asked)
        body.append(next((number for number, entry in enumerate(entries) if entry is answers.waiting), 255))
        body += self._program
        body += self.digest("caller", caller)
        body += self.digest("tool", tool)
        body += self.digest("arguments", canonical(arguments))
        for entry in entries:
            body += entry.place + entry.text + bytes((entry.answer, entry.changes)) + entry.choice
        body += self._blake3(bytes(body), key=self._seal_key).digest()
        return _written(bytes(body))

    def _verified(self, state: str) -> tuple[bytes, str]:
        """What a state signed by us holds, without its signature; or nothing, and what seems to have happened to it."""
        from binascii import Error, a2b_base64

        try:
            text = state.encode("ascii").translate(_FROM_URL)
            data = a2b_base64(text + b"=" * (-len(text) % 4))
        except (Error, UnicodeEncodeError):
            return b"", _NOT_WHOLE
        # There is one way to write a state: the last character has bits to spare, and foreign ones are passed over.
        if _written(data) != state:
            return b"", _NOT_WHOLE
        body, signature = data[:-_MAC], data[-_MAC:]
        if _same(signature, self._blake3(body, key=self._seal_key).digest()):
            return body, ""
        whole = len(body) >= _HEAD and (len(body) - _HEAD) % _ENTRY == 0
        return b"", "was changed on the way" if whole else _NOT_WHOLE


_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")


def _written(data: bytes) -> str:
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL).decode("ascii")


def _same(a: bytes, b: bytes) -> bool:
    """Are they equal? In a time that doesn't depend on where they differ."""
    from hmac import compare_digest

    return compare_digest(a, b)


def is_too_long(state: str) -> bool:
    """Is this text longer than any state? Seen by its length alone, so that nothing of it is read or decoded."""
    return len(state) > _LONGEST


def too_long(tool: str) -> str:
    """Why such a text is refused, for a call of `tool`."""
    return _not_ours(_TOO_LONG, tool)


def _not_ours(problem: str, tool: str) -> str:
    return f"`requestState` {problem}, or this server did not make it: call `{tool}` again without it"


# A float without a fraction, as orjson writes it. Within a text it may look so, too: that is looked at once more.
_WHOLE_FLOAT = rb"[:,\[]-?\d+(?:\.0|(?:\.\d+)?e\+?\d+)[,\]}]"


def canonical(value: Any) -> bytes:
    """One text for each JSON value, an object or a list: keys in order, and 1.0 as 1, since JSON knows numbers only."""
    import orjson

    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        if re.search(_WHOLE_FLOAT, text) is None:
            return text
        return orjson.dumps(_whole(value), option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError):  # an int past 64 bits, half of a surrogate pair
        import json

        return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def _whole(value: Any) -> Any:
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind is list:
        return [_whole(item) for item in value]
    if kind is dict:
        return {key: _whole(item) for key, item in value.items()}
    return value


class UsedInMemory:
    """Used states of a program without a database. At most `most` are kept.

    When that is too few, those that end first are forgotten, and no state that ends by then is good any more: a state
    is never good twice.
    """

    lasting = False

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._ends: dict[bytes, int] = {}
        self._floor = 0

    def take(self, nonce: bytes, ends: int, now: int) -> bool:
        if nonce in self._ends or ends <= self._floor:
            return False
        if len(self._ends) >= self._most:
            self._ends = {key: value for key, value in self._ends.items() if value > now}
            if len(self._ends) >= self._most:
                self._floor = sorted(self._ends.values())[self._most // 2]
                self._ends = {key: value for key, value in self._ends.items() if value > self._floor}
                if ends <= self._floor:
                    return False
        self._ends[nonce] = ends
        return True


class UsedInDatabase:
    """Used states in the program's database: several processes that share it share them, and so does the next start."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._swept = 0

    @property
    def lasting(self) -> bool:
        return not self._database.in_memory

    def take(self, nonce: bytes, ends: int, now: int) -> bool:
        import sqlite3

        connection = self._database.writer("confirm")
        try:
            # Not waited for until it is on disk: what the call itself then writes stands behind it in the same log, and
            # is never there without it. A crash of the process loses nothing; after one of the machine, a state may be
            # good again whose call wrote nothing to the database.
            connection.execute("pragma synchronous = normal")
            try:
                return self._insert(connection, nonce, ends, now)
            finally:
                connection.execute("pragma synchronous = full")
        except sqlite3.Error as error:
            raise Stop(f"the database can't keep that a question's state was used: {error}") from None

    def _insert(self, connection: Connection, nonce: bytes, ends: int, now: int) -> bool:
        columns = "nonce blob primary key, ends integer not null"
        connection.execute(f"create table if not exists _quillo_ask_states ({columns}) without rowid")
        if now >= self._swept + 60:
            connection.execute("delete from _quillo_ask_states where ends <= ?", (now,))
            self._swept = now
        # One statement, so it is atomic among processes, too.
        insert = "insert into _quillo_ask_states (nonce, ends) values (?, ?) on conflict do nothing"
        return connection.execute(insert, (nonce, ends)).rowcount == 1
