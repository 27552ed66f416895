"""The host calls that belong to a request to a site: sessions, tenants, tokens, and the request itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qvm.host import Waiting
from qvm.values import Stop, kind_of

if TYPE_CHECKING:
    from server.host import ProgramHost
    from server.visits import Visit

Handler = Callable[["ProgramHost", list[Any]], Any]


def _session(host: ProgramHost, arguments: list[Any]) -> dict[str, Any]:
    session = None if host.visit is None else host.visit.session
    return {} if session is None else dict(session.record)


def _set_session(host: ProgramHost, arguments: list[Any]) -> None:
    visit = _needed(host, "set_session")
    record = arguments[0]
    if type(record) is not dict:
        raise Stop(f"argument 1 of `set_session` must be a record, got {kind_of(record)}")
    visit.set_session(record, _max_age(arguments, 1, "set_session"))


def _end_session(host: ProgramHost, arguments: list[Any]) -> Any:
    id = _needed(host, "end_session").end_session()
    if id is None or host.visit is None:
        return None
    tokens = host.visit.web.tokens
    return _in_turn(host, lambda: tokens.end_session(id))


def _tenant(host: ProgramHost, arguments: list[Any]) -> str | None:
    return None if host.visit is None else host.visit.tenant


def _locale(host: ProgramHost, arguments: list[Any]) -> str | None:
    return None if host.visit is None else host.visit.locale


def _rule(name: str) -> Handler:
    """`tenant_from` and `locale_from`: keeps the rule for the requests that come."""

    def handler(host: ProgramHost, arguments: list[Any]) -> None:
        if not host.top_level():
            raise Stop(f"`{name}` belongs to the top level of the program")
        if kind_of(arguments[0]) != "function":
            raise Stop(f"argument 1 of `{name}` must be a function, got {kind_of(arguments[0])}")
        host.world.rules[name] = arguments[0]

    return handler


def _request(host: ProgramHost, arguments: list[Any]) -> dict[str, Any]:
    if host.visit is None:
        from server.calls import CallHost

        if isinstance(host, CallHost):  # over stdio there is a client, but no request of HTTP
            from server.protocol import client_of
            from server.request_values import no_request

            return no_request(client_of(host.meta))
    return _needed(host, "request").record


# --- tokens for AI clients


def _mcp_token(host: ProgramHost, arguments: list[Any]) -> Any:
    from server import tokens

    visit = _signed_in(host, "mcp_token")
    session = visit.session
    assert session is not None
    lasts = _max_age(arguments, 0, "mcp_token")
    if lasts is None:
        left = session.ends - visit.web.clock()
        lasts = left if session.said else tokens.LIFETIME
    if not lasts >= 1:
        raise Stop("`max_age` of `mcp_token` must be at least a second")
    from qvm.text import to_json
    from server.visits import user_text

    seconds = int(min(lasts, tokens.LONGEST))
    record, user = to_json(session.record, "mcp_token"), user_text(session.user)
    return _in_turn(host, lambda: visit.web.tokens.make(user, visit.tenant, session.id, record, seconds))


def _mcp_tokens(host: ProgramHost, arguments: list[Any]) -> Any:
    from qvm.builtins.time import time_text
    from server.visits import user_text

    visit = _signed_in(host, "mcp_tokens", reads=True)
    assert visit.session is not None
    user = user_text(visit.session.user)

    def listed() -> list[dict[str, Any]]:
        return [
            {
                "id": token.id,
                "created": time_text(token.created * 1000),
                "expires": time_text(token.ends * 1000),
                "last_used": None if token.last_used is None else time_text(token.last_used * 1000),
                "client": token.client,
            }
            for token in visit.web.tokens.of_user(user, visit.tenant)
        ]

    return _in_turn(host, listed)


def _revoke_mcp_token(host: ProgramHost, arguments: list[Any]) -> Any:
    from server.visits import user_text

    visit = _signed_in(host, "revoke_mcp_token")
    if type(arguments[0]) is not str:
        raise Stop(f"argument 1 of `revoke_mcp_token` must be str, got {kind_of(arguments[0])}")
    assert visit.session is not None
    user = user_text(visit.session.user)
    return _in_turn(host, lambda: visit.web.tokens.revoke(arguments[0], user, visit.tenant))


# --- what they share


def _needed(host: ProgramHost, name: str) -> Visit:
    if host.visit is None:
        raise Stop(f"`{name}` needs a request to a site: there is none here")
    return host.visit


def _signed_in(host: ProgramHost, name: str, reads: bool = False) -> Visit:
    visit = _needed(host, name)
    if visit.token is not None and not reads:
        raise Stop(f"`{name}` can't be used by a call that came with a token: a person who is signed in makes tokens")
    if visit.session is None or visit.session.user is None:
        raise Stop(f"`{name}` needs someone signed in: a session with a `user`")
    return visit


def _in_turn(host: ProgramHost, work: Callable[[], Any]) -> Any:
    """Does what writes to the database outside any other call's transaction."""
    database = host.world.database
    if database.holder is None or database.holder is host.scope:
        return work()

    async def start() -> Any:
        while database.holder is not None:
            await database.changed_hands()
        return work()

    return Waiting(start)


def _max_age(arguments: list[Any], place: int, name: str) -> float | None:
    from server.host import seconds_of

    options = arguments[place] if len(arguments) > place else None
    if options is None:
        return None
    if type(options) is not dict:
        raise Stop(
            f"argument {place + 1} of `{name}` must be {{ max_age?: str | int | float }}, got {kind_of(options)}"
        )
    for key in options:
        if key != "max_age":
            raise Stop(f"argument {place + 1} of `{name}` has no `{key}`: it takes `max_age`")
    value = options.get("max_age")
    if value is None:
        return None
    seconds = seconds_of(value, place + 1, name)
    if not 1 <= seconds <= 100 * 365 * 86400:
        raise Stop(f"`max_age` of `{name}` must be from a second to a hundred years")
    return seconds


HANDLERS: dict[str, Handler] = {
    "session": _session,
    "set_session": _set_session,
    "end_session": _end_session,
    "tenant": _tenant,
    "tenant_from": _rule("tenant_from"),
    "locale": _locale,
    "locale_from": _rule("locale_from"),
    "request": _request,
    "mcp_token": _mcp_token,
    "mcp_tokens": _mcp_tokens,
    "revoke_mcp_token": _revoke_mcp_token,
}
