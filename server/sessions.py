"""Sessions: a signed cookie that holds a record (language.md, section 12). Nothing of it is kept on the server.

A cookie's value is base64url (no padding) of

    offset  bytes
    0       1      format version
    1       16     random session id, kept while the record's `user` stays the same
    17      8      when it lapses: seconds since 1970, big-endian
    25      1      1 where the program said how long it lasts (`max_age`), else 0
    26      n      the record, as JSON
    end-32  32     keyed BLAKE3 of the site's name and everything before it

Rule 1  Nothing in a cookie is looked at before its signature is found good; a comparison takes constant time.
Rule 2  A cookie that is cut, foreign, lapsed or of another format is no cookie: no one is signed in.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import Any

import orjson

from qvm.values import Stop

COOKIE = "quillo_session"
LIFETIME = 30 * 86400  # seconds that a session lasts where the program doesn't say
_FORMAT = 1
_HEAD, _MAC = 26, 32
_LONGEST = 4000  # characters of a cookie that every browser takes
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")


class Session:
    """Who is signed in. `record` is what the program gave, `said` whether it gave a `max_age`."""

    __slots__ = ("ends", "id", "record", "said")

    def __init__(self, id: bytes, record: dict[str, Any], ends: int, said: bool) -> None:
        self.id = id
        self.record = record
        self.ends = ends  # seconds since 1970
        self.said = said

    @property
    def user(self) -> Any:
        return self.record.get("user")


class Sessions:
    """Makes and reads the cookies of one site. `path` is where it lies, `secure` whether it is served under https."""

    def __init__(self, secret: bytes, name: str, path: str = "/", secure: bool = False) -> None:
        from hmac import compare_digest

        from blake3 import blake3

        from server.secrets import key_of

        self._key = key_of(secret, "session cookies")
        self._blake3: Any = blake3
        self._same = compare_digest  # takes constant time
        self._name = name.encode("utf-8", "surrogatepass") + b"\0"
        self._where = f"; Path={path}; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")

    def read(self, value: str, now: float) -> Session | None:
        """The session of a cookie's value; None where it is not good."""
        if len(value) > _LONGEST:
            return None
        try:
            data = a2b_base64(value.encode("ascii").translate(_FROM_URL) + b"=" * (-len(value) % 4), strict_mode=True)
        except ValueError:
            return None
        body = data[:-_MAC]
        if len(body) < _HEAD or not self._same(self._signature(body), data[-_MAC:]):
            return None
        ends = int.from_bytes(body[17:25], "big")
        if body[0] != _FORMAT or ends <= now:
            return None
        return Session(body[1:17], record_of(body[_HEAD:]), ends, body[25] == 1)

    def _signature(self, body: bytes) -> bytes:
        made: bytes = self._blake3(self._name + body, key=self._key).digest()
        return made

    def line(self, session: Session, record: bytes) -> str:
        """The `Set-Cookie` that gives a browser a session, whose record is this JSON. Raises Stop for a large one."""
        body = b"".join(
            (bytes((_FORMAT,)), session.id, session.ends.to_bytes(8, "big"), bytes((session.said,)), record)
        )
        signed = b2a_base64(body + self._signature(body), newline=False)
        value = signed.rstrip(b"=").translate(_TO_URL).decode("ascii")
        if len(value) > _LONGEST:
            raise Stop(
                f"`set_session`: the session's cookie has {len(value)} characters, and browsers take about {_LONGEST}:"
                " keep what is large in the database"
            )
        lasts = ""
        if session.said:
            from email.utils import formatdate

            lasts = f"; Expires={formatdate(session.ends, usegmt=True)}"
        return f"{COOKIE}={value}{lasts}{self._where}"

    def end_line(self) -> str:
        """The `Set-Cookie` that takes a session from a browser."""
        return f"{COOKIE}=; Max-Age=0{self._where}"


def session_json(record: dict[str, Any]) -> bytes:
    """A session's record as JSON. Raises Stop where it is no data."""
    from qvm.text import to_json

    try:
        return to_json(record, "set_session").encode("utf-8")
    except UnicodeEncodeError:
        raise Stop("`set_session`: a text in the session has half of a surrogate pair") from None


def record_of(data: bytes | str) -> dict[str, Any]:
    """A session's record from its JSON. Raises Stop for one that is nested too deep."""
    try:
        record: dict[str, Any] = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise Stop("`set_session`: the session is nested too deep") from None
    return record


def cookies_of(header: str) -> dict[str, str]:
    """The cookies of a request by name (RFC 6265, section 4.2.1); of several with one name the first counts."""
    found: dict[str, str] = {}
    for part in header.split(";"):
        name, equals, value = part.strip().partition("=")
        if equals and name and name not in found:
            found[name] = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    return found
