"""MCP over HTTP: `POST /_quillo/mcp` (mcp.md, section 5). Rows of its table are met from top to bottom.

A caller is whoever's cookie or token a request carries; the messages themselves are `server.protocol`'s.
"""

from __future__ import annotations

from binascii import Error, a2b_base64, b2a_base64
from typing import TYPE_CHECKING, Any

from qvm.values import Response, Stop
from server import messages
from server.answers import INTERNAL_ERROR, body_of
from server.http_messages import Answer, Request
from server.messages import OTHER_HEADERS, ErrorAnswer, error
from server.origins import foreign_host, is_own
from server.protocol import Protocol, Unfinished, client_of
from server.site_calls import run_rules
from server.stages import Stages, begun, finished
from server.visits import Visit, Web

if TYPE_CHECKING:
    from server.asking import Asking
    from server.limits import CallCount
    from server.recorder import Recorder

CALLS_A_MINUTE = 60
_JSON = b"content-type: application/json\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n"
_BASE64 = "=?base64?"
_MOST_READ = 64 * 1024  # bytes of a message that isn't taken, to find its id
_MOST_WORDS = 1_000  # characters of what a rule replies that are passed on


class HttpProtocol(Protocol):
    """MCP as this door speaks it: what the headers say must be what the message says (SEP-2243 of MCP)."""

    def refused(self, id: bytes, message: dict[str, Any], version: str, visit: Visit | None) -> bytes | None:
        assert visit is not None
        params, method = message["params"], message["method"]
        visit.mcp = client_of(params["_meta"])
        headers, repeated = visit.request.headers, visit.request.repeated
        for name, key, value in (
            ("MCP-Protocol-Version", b"mcp-protocol-version", version),
            ("Mcp-Method", b"mcp-method", method),
            ("Mcp-Name", b"mcp-name", params.get("name")),
        ):
            if key == b"mcp-name" and method != "tools/call":
                continue
            given = headers.get(key)
            if given is None:
                return error(id, OTHER_HEADERS, f"the header `{name}` is missing")
            if key in repeated:
                return error(id, OTHER_HEADERS, f"the header `{name}` is there twice")
            if _decoded(given) != value:
                return error(id, OTHER_HEADERS, f"the header `{name}` is not what the message says")
        return None


class ToolDoor:
    """The door for AI clients of one site."""

    def __init__(
        self, web: Web, asking: Asking, count: CallCount | None = None, recorder: Recorder | None = None
    ) -> None:
        self._web = web
        self._protocol = HttpProtocol(web.running, asking, "http", "http", count, recorder)

    def begin(self, request: Request) -> Answer | Unfinished:
        """Takes one request for the door."""
        web = self._web
        if request.method != "POST":
            return _refusal(request, 405, "the door for AI clients takes POST only", b"allow: POST\r\n")
        problem = foreign_host(web, request)
        if problem:
            return _refusal(request, 403, problem)
        origin = request.headers.get(b"origin")
        if origin is not None and not is_own(web, request, origin.decode("latin-1")):
            return _refusal(request, 403, "a page of another site may not call this site's tools")
        try:
            visit = self._visit(request)
        except Stop as stop:  # the database doesn't tell which tokens there are
            web.running.log(stop)
            return _failure(request)
        if visit is None:
            words = "sign in, or send a good token: `Authorization: Bearer qmcp_…`"
            return _refusal(request, 401, words, b"www-authenticate: Bearer\r\n")
        kind = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            return _refusal(request, 415, "a message is sent with `Content-Type: application/json`")
        if request.too_large:
            answer = _refusal(request, 413, "the message is too large")
            answer.close = True
            return answer
        if web.running.world.rules:
            return _begun(self._with_rules(visit, request.body))
        outcome = self._protocol.begin(request.body, visit)
        if isinstance(outcome, Unfinished):
            return _begun(self._finish(outcome, visit))
        return self._answer(outcome, visit)

    def _visit(self, request: Request) -> Visit | None:
        """Who calls; None for nobody who may. A token decides, where one came."""
        web = self._web
        authorization = request.text(b"authorization")
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() == "bearer":
            token = None if b"authorization" in request.repeated else web.tokens.find(text.strip())
            if token is None:
                return None
            visit = Visit(web, request, token)
        else:
            visit = Visit(web, request)
            session = visit.session
            if session is None or session.user is None:
                return None
        visit.tool_call = True
        return visit

    def _with_rules(self, visit: Visit, body: bytes) -> Stages:
        try:
            yield from run_rules(visit)
        except Stop as stop:
            if stop.kind == "reply":  # the rule itself turns the request away
                return _turned_away(visit.request, stop)
            self._web.running.log(stop)
            return _failure(visit.request)
        return (yield from self._finish(self._protocol.begin(body, visit), visit))

    def _finish(self, outcome: Any, visit: Visit) -> Stages:
        if isinstance(outcome, Unfinished):
            outcome = yield from finished(outcome)
        return self._answer(outcome, visit)

    def _answer(self, outcome: bytes | None, visit: Visit) -> Answer:
        if visit.token is not None:
            self._web.tokens.note_use(visit.token, visit.mcp["client"] if visit.mcp else None)
        if outcome is None:
            answer = Answer(202)
        elif type(outcome) is ErrorAnswer:
            headers = _JSON + (b"retry-after: %d\r\n" % outcome.retry_after if outcome.retry_after else b"")
            answer = Answer(outcome.status, headers, bytes(outcome))
        else:
            answer = Answer(200, _JSON + visit.cookie_lines, outcome)
        answer.steps, answer.caller = visit.steps, visit.caller
        return answer


def _begun(stages: Stages) -> Answer | Unfinished:
    answer: Answer | Unfinished = begun(stages)
    return answer


def _refusal(request: Request, status: int, text: str, headers: bytes = b"") -> Answer:
    """A request that isn't taken, in words that a client can show: an error whose code is the status of HTTP."""
    return Answer(status, _JSON + headers, bytes(error(_id(request), status, text)))


def _failure(request: Request) -> Answer:
    return Answer(500, _JSON, bytes(error(_id(request), messages.INTERNAL, INTERNAL_ERROR)))


def _turned_away(request: Request, stop: Stop) -> Answer:
    """What a rule of the program replies instead of telling what it was asked for."""
    response = stop.detail
    status = response.status if isinstance(response, Response) and response.status >= 400 else 403
    return _refusal(request, status, body_of(response)[:_MOST_WORDS])


def _id(request: Request) -> bytes | None:
    """The id of a request that isn't taken; a long message, of who may be nobody, is not read for it."""
    if not 0 < len(request.body) <= _MOST_READ:
        return None
    try:
        message = messages.read(request.body)
    except messages.NotJson:
        return None
    return messages.id_of(message, request.body) if type(message) is dict and "id" in message else None


def _decoded(value: bytes) -> str | None:
    """A header's value as text: `=?base64?…?=` holds text beyond ASCII. None for what is neither."""
    text = value.decode("latin-1")
    if not text.startswith(_BASE64) or not text.endswith("?="):
        return text
    held = text[len(_BASE64) : -2]
    try:
        data = a2b_base64(held, strict_mode=True)
        # There is one way to write a text: the last character of base64 may have bits to spare.
        return data.decode("utf-8") if b2a_base64(data, newline=False).decode("ascii") == held else None
    except (Error, ValueError):
        return None
