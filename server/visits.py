"""One request to a site, as the program sees it: who sent it, and what `session()`, `tenant()` and `request` give.

Web     what all requests to one running program share: keys, tokens, rules, where the site lies
Visit   one request: made by the door, read by host calls (`server.web_calls`), and asked for its cookies at the end
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import orjson

from server.http_messages import Request
from server.sessions import COOKIE, LIFETIME, Session, Sessions, cookies_of, record_of, session_json
from server.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.programs import RunningProgram
    from server.tokens import Token


class Web:
    """What the requests to one running program share.

    `secret` is what all keys are made from. `base` is the path under which the site lies: "" or "/shop". `origin` is
    where browsers see it, such as "https://example.com"; "" for where it listens. `local` is true where it listens on
    an address of this machine alone.
    """

    def __init__(
        self,
        running: RunningProgram,
        secret: bytes,
        base: str = "",
        origin: str = "",
        local: bool = True,
        clock: Callable[[], float] | None = None,
    ) -> None:
        import time

        self.running = running
        self.secret = secret
        self.base = base
        self.origin = origin
        self.local = local
        self.clock = clock or time.time
        secure = origin.startswith("https://")
        self.sessions = Sessions(secret, running.module.name, base or "/", secure)
        self.tokens = Tokens(secret, running.world.database, self.clock)
        running.world.database.give_up_when(_nobody_waits)

    def rule(self, name: str) -> Any:
        """The function that `tenant_from` or `locale_from` was given; None for none."""
        return self.running.world.rules.get(name)


class Visit:
    """One request. `token` is what it came with, where that was good; `steps` is what it has cost so far.

    `tool_call` is true where it came to the door for AI clients.
    `tenant` and `locale` are worked out before the program's function runs (`server.site_calls`).
    """

    # fmt: off
    __slots__ = (
        "_caller", "_cookies", "_lines", "_record", "_session", "_session_read", "locale", "mcp", "request", "steps",
        "tenant", "token", "tool_call", "web",
    )
    # fmt: on

    def __init__(self, web: Web, request: Request, token: Token | None = None) -> None:
        self.web = web
        self.request = request
        self.token = token
        self.tool_call = False
        self.tenant: str | None = None
        self.locale: str | None = None
        self.mcp: dict[str, Any] | None = None  # what an AI client says of itself
        self.steps = 0
        self._caller = ""
        self._session: Session | None = None
        self._session_read = False
        self._cookies: dict[str, str] | None = None
        self._record: dict[str, Any] | None = None
        self._lines: dict[str, str] = {}  # of cookies to set, by their names
        if token is not None:
            self.tenant = token.tenant

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies that came, but for the session's."""
        if self._cookies is None:
            self._cookies = cookies_of(self.request.text(b"cookie"))
        return {name: value for name, value in self._cookies.items() if name != COOKIE}

    @property
    def session(self) -> Session | None:
        """Who is signed in; None for no one."""
        if not self._session_read:
            self._session_read = True
            if self.token is not None:
                if self.token.session:
                    record = record_of(self.token.record)
                    self._session = Session(self.token.session, record, self.token.ends, True)
                return self._session
            if self._cookies is None:
                self._cookies = cookies_of(self.request.text(b"cookie"))
            value = self._cookies.get(COOKIE)
            if value:
                self._session = self.web.sessions.read(value, self.web.clock())
        return self._session

    @property
    def caller(self) -> str:
        """Who calls, as the count, states and recordings know them: a user of a tenant, else a session or a token."""
        if not self._caller:
            self._caller = self._named()
        return self._caller

    def _named(self) -> str:
        token = self.token
        if token is not None:
            if token.session:
                return f"user {token.user} of {_tenant_text(self.tenant)}"
            return f"token {token.id}"
        session = self.session
        if session is not None and session.user is not None:
            return f"user {user_text(session.user)} of {_tenant_text(self.tenant)}"
        return f"session {session.id.hex()}" if session is not None else "nobody"

    @property
    def record(self) -> dict[str, Any]:
        """What `request` gives. Raises a Stop that replies, where what was sent is malformed."""
        if self._record is None:
            from server.request_values import request_record

            self._record = request_record(self)
        return self._record

    # What the program does

    def set_session(self, record: dict[str, Any], max_age: float | None) -> None:
        """Starts or replaces the session. Raises Stop where the record is no data, or too large for a cookie."""
        data = session_json(record)
        kept = record_of(data)  # what the next request will find, not what the program holds on to
        old, now = self.session, int(self.web.clock())
        same = old is not None and user_text(old.user) == user_text(kept.get("user"))
        id = old.id if same and old is not None else os.urandom(16)
        ends = now + (LIFETIME if max_age is None else int(max_age))
        session = Session(id, kept, ends, max_age is not None)
        line = self.web.sessions.line(session, data)
        self._session, self._session_read = session, True
        if self.token is None:  # a token's caller keeps no cookies
            self._lines[COOKIE] = line

    def end_session(self) -> bytes | None:
        """Ends the session; gives its id, for its tokens to be ended, too."""
        session = self.session
        self._session, self._session_read = None, True
        if self.token is None:
            self._lines[COOKIE] = self.web.sessions.end_line()
        return None if session is None else session.id

    @property
    def cookie_lines(self) -> bytes:
        """The `Set-Cookie` headers of the answer."""
        return "".join(f"set-cookie: {line}\r\n" for line in self._lines.values()).encode("latin-1")


def _nobody_waits(request: Request | None) -> bool:
    """Has the client hung up whose request a long statement runs for?"""
    return request is not None and request.gone()


def user_text(user: Any) -> str:
    """A session's user in one form, to be compared."""
    return orjson.dumps(user, option=orjson.OPT_SORT_KEYS).decode()


def _tenant_text(tenant: str | None) -> str:
    from qvm.text import json_text

    return "null" if tenant is None else json_text(tenant)
