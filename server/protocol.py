"""MCP without I/O: a message's bytes in, an answer's bytes out (mcp.md, sections 1 to 3).

    protocol = Protocol(running, asking)
    answer = protocol.begin(line)

`begin` gives the answer, a line of JSON; None where there is none; or an Unfinished, a call that waits or has used up
its slice of compute. A door awaits `unfinished.waiting` (None: nothing but its turn) and goes on:

    answer = unfinished.resume(value)       bytes, None or an Unfinished again

A message meets its checks in the order of mcp.md, section 2, from top to bottom of this file. A failure of Quillo
itself ends in one place, `_guarded`: the call fails, the server goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qasm.module import Tool
from qvm.host import Waiting
from qvm.program import Failed, Pending, Returned, Suspended
from qvm.text import write_out
from qvm.typecheck import Check, Mismatch
from qvm.values import CallPlace, Err, Markup, Response, Stop
from server import listing, messages
from server.answers import INTERNAL_ERROR, MOST_BYTES, OVER_SIZE, Results, TooMuch, body_of, encode
from server.arguments import Arguments, Refusal
from server.asking import Answers, Asking, Refused, is_too_long, too_long
from server.calls import CallHost, form_of, take_answer
from server.limits import CallCount
from server.messages import BAD_PARAMS, BAD_REQUEST, error
from server.programs import RunningProgram

if TYPE_CHECKING:
    from server.recorder import Recorder
    from server.visits import Visit


_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
_MOST_WORDS = 200  # characters of what a client says of itself

# What the stops of questions tell the model; all other stops are failures of the program.
_FOR_THE_MODEL = frozenset(("declined", "cannot_ask", "changing", "too_many"))


class Unfinished:
    """A message whose answer is not there yet. `waiting` is what to await first, None for nothing."""

    __slots__ = ("cancelled", "on_cancel", "waiting")

    waiting: Waiting | None
    on_cancel: Callable[[], None] | None  # set by a door that has to be told
    cancelled: bool

    def resume(self, value: Any) -> bytes | Unfinished | None:
        """Goes on, with the value of what was awaited."""
        raise NotImplementedError

    def fail(self, problem: Exception) -> bytes | Unfinished | None:
        """Goes on where what was awaited raised something: a Stop, or what is a failure of Quillo itself."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Ends it without an answer; an open transaction is taken back."""


class Protocol:
    """The MCP server of one running program, for one door.

    `caller` is who calls, as states know them. `count` limits the tool calls, None for no limit. `recorder` records
    them.
    """

    def __init__(
        self,
        running: RunningProgram,
        asking: Asking,
        caller: str = "stdio",
        door: str = "stdio",
        count: CallCount | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        module = running.module
        self.running = running
        self.asking = asking
        self.caller = caller
        self.count = count
        self.recorder = recorder
        self.results = Results(listing.server_info(module))
        self.tools = {tool.name: _Entry(tool, running) for tool in module.tools}
        self.under_way: dict[Any, Unfinished] = {}  # by the id of their request
        self.steps = 0  # of all tools' runs that have ended
        self._discover = messages.written(listing.discover(module, door))[1:-1]
        self._list = messages.written(listing.tools_list(module))[1:-1]

    def begin(self, data: bytes, visit: Visit | None = None) -> bytes | Unfinished | None:
        """Takes one message; `visit` is the request that brought it, where the door is HTTP."""
        return self._guarded(None, self._begin, data, visit)

    def caller_of(self, visit: Visit | None) -> str:
        """Who calls, as states, the count and recordings know them."""
        return self.caller if visit is None else visit.caller

    def refused(self, id: bytes, message: dict[str, Any], version: str, visit: Visit | None) -> bytes | None:
        """What a door has against a request, beside what is the same at all doors."""
        return None

    def _guarded(self, id: bytes | None, step: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return step(*arguments)
        except Exception as problem:
            self.running.world.log(fault(problem))
            if id is not None:
                return self.results.failure(id, INTERNAL_ERROR)
            return error(None, messages.INTERNAL, INTERNAL_ERROR)

    # 1. The message

    def _begin(self, data: bytes, visit: Visit | None) -> bytes | Unfinished | None:
        try:
            message = messages.read(data)
        except messages.NotJson as problem:
            return error(None, messages.NOT_JSON, str(problem))
        if type(message) is not dict:
            what = "batches are not a part of this revision" if type(message) is list else "it is no object"
            return error(None, BAD_REQUEST, f"the message is not a request: {what}")
        method = message.get("method")
        if "id" not in message:
            if type(method) is not str or message.get("jsonrpc") != "2.0":
                return error(None, BAD_REQUEST, 'the message is not a request: it needs `jsonrpc` "2.0" and a `method`')
            if visit is None:  # a client over HTTP ends a call by closing its connection
                self._notified(method, message.get("params"))
            return None
        id = messages.id_of(message, data)
        if id is None:
            return error(None, BAD_REQUEST, "`id` must be a text or a whole number")
        if type(method) is not str or message.get("jsonrpc") != "2.0":
            return error(id, BAD_REQUEST, 'the message is not a request: it needs `jsonrpc` "2.0" and a `method`')
        return self._guarded(id, self._request, id, message, method, data, visit)

    def _notified(self, method: str, params: Any) -> None:
        """A notification is never answered."""
        call = self.under_way.pop(_cancelled(method, params), None)
        if call is not None:
            call.cancel()
            if call.on_cancel is not None:
                call.on_cancel()

    # 2. `_meta` and the version

    def _request(
        self, id: bytes, message: dict[str, Any], method: str, data: bytes, visit: Visit | None
    ) -> bytes | Unfinished | None:
        params = message.get("params", {})
        if method == "initialize" and not _speaks_this(params):  # an older client, which begins with it
            requested = params.get("protocolVersion") if type(params) is dict else None
            return _other_version(id, requested if type(requested) is str else "")
        if type(params) is not dict:
            return error(id, BAD_PARAMS, "`params` must be an object", status=400)
        meta = params.get("_meta", {})
        if type(meta) is not dict:
            return error(id, BAD_PARAMS, "`_meta` must be an object", status=400)
        version, capabilities = meta.get(_VERSION_KEY), meta.get(_CAPABILITIES_KEY)
        if type(version) is not str or type(capabilities) is not dict:
            return error(id, BAD_PARAMS, _meta_problem(meta), status=400)
        problem = None if visit is None else self.refused(id, message, version, visit)
        if problem is not None:
            return problem
        if version != messages.VERSION:
            return _other_version(id, version)
        # 3. The method
        if method == "tools/call":
            return self._call(id, message["id"], params, capabilities, data, visit)
        if method == "tools/list":
            if "cursor" in params:
                return error(id, BAD_PARAMS, "there is one page of tools: a `cursor` names none")
            return self.results.whole(id, self._list)
        if method == "server/discover":
            return self.results.whole(id, self._discover)
        return error(id, messages.NO_METHOD, f"there is no method `{method}`")

    # 4. The tool

    def _call(
        self,
        id: bytes,
        key: Any,
        params: dict[str, Any],
        capabilities: dict[str, Any],
        data: bytes,
        visit: Visit | None,
    ) -> bytes | Unfinished | None:
        name = params.get("name")
        if type(name) is not str:
            return error(id, BAD_PARAMS, "`name` must be a text: the tool to call")
        entry = self.tools.get(name)
        if entry is None:
            return error(id, BAD_PARAMS, f"Unknown tool: {name}")
        given = params.get("arguments", {})
        if type(given) is not dict:
            return error(id, BAD_PARAMS, "`arguments` must be an object")
        state = params.get("requestState")
        if type(state) is str and is_too_long(state):
            return error(id, BAD_PARAMS, too_long(name))
        if data.count(b"{") + data.count(b"[") > messages.MOST_DEPTH and messages.depth_over(given):
            text = f"the arguments of `{name}` are over {messages.MOST_DEPTH} levels deep"
            return self.results.failure(id, text)
        call = ToolCall(self, entry, id, key, given, _can_ask(capabilities), visit, params["_meta"])
        if "requestState" in params or "inputResponses" in params:
            problem = call.bring(params)
            if problem is not None:
                return error(id, BAD_PARAMS, problem)
        return call.start()


class ToolCall(Unfinished):
    """One call of a tool, from its state to its answer."""

    # fmt: off
    __slots__ = (
        "_answers", "_can_ask", "_entry", "_given", "_host", "_id", "_key", "_meta", "_protocol", "_response", "_state",
        "_task", "_visit",
    )
    # fmt: on

    def __init__(
        self,
        protocol: Protocol,
        entry: _Entry,
        id: bytes,
        key: Any,
        given: dict[str, Any],
        can_ask: bool,
        visit: Visit | None,
        meta: dict[str, Any],
    ) -> None:
        self._visit = visit
        self._meta = meta
        self.waiting = None
        self.on_cancel = None
        self.cancelled = False
        self._protocol = protocol
        self._entry = entry
        self._id = id
        self._key = key
        self._given = given
        self._can_ask = can_ask
        self._state: str | None = None
        self._response: dict[str, Any] | None = None
        self._answers: Answers | None = None
        self._host: CallHost | None = None
        self._task: Any = None

    # 5. The state

    def bring(self, params: dict[str, Any]) -> str | None:
        """Takes the state and the response of a call that comes again; gives what is wrong with their shape."""
        state, responses = params.get("requestState"), params.get("inputResponses", {})
        if "requestState" in params and type(state) is not str:
            return "`requestState` must be a text: what the server sent"
        if type(responses) is not dict:
            return "`inputResponses` must be an object"
        response = responses.get("ask")
        if response is not None:
            if type(response) is not dict or response.get("action") not in ("accept", "decline", "cancel"):
                return '`inputResponses.ask` must be an object whose `action` is "accept", "decline" or "cancel"'
            if type(response.get("content", {})) is not dict:
                return "`inputResponses.ask.content` must be an object"
        if state is not None:  # without one, a response answers nothing: the call starts over
            self._state, self._response = state, response
        return None

    def start(self) -> bytes | Unfinished | None:
        protocol, answered = self._protocol, False
        if self._state is not None:
            database = protocol.running.world.database
            if database.holder is not None:
                # That a state is used is written outside every call's transaction.
                return self._wait(database.until_free())
            state, self._state = self._state, None
            name = self._entry.tool.name
            try:
                self._answers = protocol.asking.open(state, protocol.caller_of(self._visit), name, self._given)
            except Refused as refused:
                return error(self._id, BAD_PARAMS, str(refused))
            except Stop as stop:
                protocol.running.log(stop)
                return protocol.results.failure(self._id, INTERNAL_ERROR)
            answered = take_answer(self._answers, protocol.asking, self._response)
        if protocol.count is not None and not answered:
            seconds = protocol.count.take(protocol.caller_of(self._visit))
            if seconds:
                limit = f"{protocol.count.limit} tool calls a minute are allowed"
                text = f"{limit}: one more may come in {seconds} s"
                return error(self._id, messages.TOO_MANY_CALLS, text, retry_after=seconds)
        # 6. The arguments
        try:
            values = self._entry.arguments.check(self._given)
        except Refusal as refusal:
            return protocol.results.failure(self._id, str(refusal))
        # 7. The function runs
        running, read_only = protocol.running, self._entry.tool.read_only
        scope = running.world.database.scope(read_only)
        self._host = CallHost(running.world, scope, protocol.asking, self._answers, self._can_ask, read_only)
        self._host.visit, self._host.meta = self._visit, self._meta
        self._host.may_ask = self._entry.tool.asks
        self._task = running.program.call(self._entry.tool.function, values, self._host, running.max_compute)
        scope.request = self._key if self._visit is None else self._visit.request
        scope.task, scope.max_compute = self._task, running.max_compute
        if protocol.recorder is not None:
            self._task = protocol.recorder.call(
                self._task, self._entry.tool.name, self._given, protocol.caller_of(self._visit)
            )
        return self._run()

    def resume(self, value: Any) -> bytes | Unfinished | None:
        return self._protocol._guarded(self._id, self._resume, value)

    def _resume(self, value: Any) -> bytes | Unfinished | None:
        if self.cancelled:
            return None
        if self._task is None:
            self._leave()
            return self.start()
        if self.waiting is not None:
            self._task.resume(value)
        return self._run()

    def fail(self, problem: Exception) -> bytes | Unfinished | None:
        return self._protocol._guarded(self._id, self._fail, problem)

    def _fail(self, problem: Exception) -> bytes | Unfinished | None:
        if self.cancelled:
            return None
        if not isinstance(problem, Stop):
            self.cancel()
            raise problem
        self._task.fail(problem)
        return self._run()

    def cancel(self) -> None:
        self.cancelled = True
        self._leave()
        if self._task is not None:
            self._task.cancel()
        if self._host is not None:
            self._host.scope.finish()

    def _wait(self, waiting: Waiting | None) -> Unfinished:
        self.waiting = waiting
        if self._visit is None:
            self._protocol.under_way[self._key] = self
        return self

    def _leave(self) -> None:
        """It is no longer under way; another call may have come under the same id."""
        under_way = self._protocol.under_way
        if under_way and under_way.get(self._key) is self:
            del under_way[self._key]

    def _run(self) -> bytes | Unfinished | None:
        try:
            outcome = self._task.run()
        except BaseException:  # a failure of Quillo itself: what the call holds is given up before it is reported
            self.cancel()
            raise
        kind = type(outcome)
        if kind is Pending:
            return self._wait(outcome.waiting)
        if kind is not Returned and kind is not Failed and kind is not Suspended:
            return self._wait(None)
        self._leave()
        assert self._host is not None
        self._host.scope.finish()
        self._protocol.steps += self._task.steps
        if self._visit is not None:
            self._visit.steps += self._task.steps
        if kind is Returned:
            return self._returned(outcome.value)
        if kind is Failed:
            if outcome.stop.kind == "cancelled":  # in the middle of a statement
                self.cancelled = True
                return None
            return self._failed(outcome.stop)
        protocol, answers = self._protocol, self._host.answers
        assert answers is not None
        state = protocol.asking.seal(answers, protocol.caller_of(self._visit), self._entry.tool.name, self._given)
        return protocol.results.input_required(self._id, form_of(outcome.question), state)

    # 8. The answer

    def _returned(self, value: Any) -> bytes:
        kind = type(value)
        if kind is Err:
            if not value.builtin:
                return self._tell(write_out(value.value))
            held = value.value
            message = held["message"] if type(held) is dict and "message" in held else write_out(held)
            return self._failed(Stop(f"`{value.builtin}`: {message}", kind="error", error=value))
        if kind is Markup or kind is Response:
            return self._tell(body_of(value))
        entry, results = self._entry, self._protocol.results
        try:
            if entry.tool.result is None:
                text = encode(value) if kind is str else messages.written(encode(value).decode())
                return results.complete(self._id, [text, *self._notes()])
            data = encode({"result": entry.checked(value)} if entry.tool.wrapped else entry.checked(value))
        except TooMuch as problem:
            return self._tell(str(problem))
        except Stop as stop:
            return self._failed(stop)
        return results.complete(self._id, [messages.written(data.decode()), *self._notes()], data)

    def _failed(self, stop: Stop) -> bytes:
        if stop.kind in _FOR_THE_MODEL:
            return self._tell(stop.message)
        if stop.kind == "reply":
            return self._tell(body_of(stop.detail))
        if not stop.places:
            stop.places.append(self._entry.place)
        self._protocol.running.log(stop)
        return self._tell(INTERNAL_ERROR)

    def _tell(self, text: str) -> bytes:
        assert self._host is not None
        if len(text) > MOST_BYTES:
            text = OVER_SIZE
        return self._protocol.results.failure(self._id, text, self._host.notes)

    def _notes(self) -> list[bytes]:
        assert self._host is not None
        return [messages.written(note) for note in self._host.notes] if self._host.notes else []


class _Entry:
    """A tool as calls find it: its checks are made when it is called first."""

    __slots__ = ("_arguments", "_looked", "_result", "_running", "place", "tool")

    def __init__(self, tool: Tool, running: RunningProgram) -> None:
        self.tool = tool
        self._running = running
        self._arguments: Arguments | None = None
        self._result: Check | None = None
        self._looked = False
        function = running.module.functions[tool.function]
        # Where a stop stood that has no place of its own: an answer that doesn't fit.
        self.place = CallPlace(running.module.files[function.file].name, function.line, function.name)

    @property
    def arguments(self) -> Arguments:
        if self._arguments is None:
            running = self._running
            parameters = running.module.functions[self.tool.function].parameters
            self._arguments = Arguments(self.tool.name, parameters, running.program)
        return self._arguments

    def checked(self, value: Any) -> Any:
        """The answer, if it fits the `->` type. Raises Stop."""
        if not self._looked:
            self._result, self._looked = self._running.program.check(self.tool.result or "any"), True
        if self._result is None:
            return value
        try:
            return self._result(value)
        except Mismatch as mismatch:
            raise Stop(mismatch.in_value(f"the answer of `{self.tool.name}`")) from None


def cancels(line: bytes, key: Any) -> bool:
    """Is this line the cancellation of the request with this id?"""
    if b"notifications/cancelled" not in line:
        return False
    try:
        message = messages.read(line)
    except messages.NotJson:
        return False
    if type(message) is not dict or "id" in message or message.get("jsonrpc") != "2.0":
        return False
    named = _cancelled(message.get("method"), message.get("params"))
    return type(named) is type(key) and bool(named == key)


def _cancelled(method: Any, params: Any) -> str | int | None:
    """The id of the request that a notification cancels; None where it cancels none."""
    if method != "notifications/cancelled" or type(params) is not dict:
        return None
    key = params.get("requestId")
    return key if type(key) is str or type(key) is int else None


def _can_ask(capabilities: dict[str, Any]) -> bool:
    """Can this client show a form? One that names neither form nor URL means forms, as before there were others."""
    elicitation = capabilities.get("elicitation")
    return type(elicitation) is dict and ("form" in elicitation or "url" not in elicitation)


def client_of(meta: dict[str, Any]) -> dict[str, Any] | None:
    """What a client says of itself, as `request.mcp` gives it: { client, version }."""
    info = meta.get(_CLIENT_KEY)
    if type(info) is not dict or type(info.get("name")) is not str:
        return None
    version = info.get("version")
    return {"client": _words(info["name"]), "version": _words(version) if type(version) is str else ""}


def _words(text: str) -> str:
    """A client's text, cut, and without halves of surrogate pairs: programs put it into databases and pages."""
    return text[:_MOST_WORDS].encode("utf-8", "replace").decode()


def _speaks_this(params: Any) -> bool:
    """Does a request say that it is of this server's revision?"""
    meta = params.get("_meta") if type(params) is dict else None
    return type(meta) is dict and meta.get(_VERSION_KEY) == messages.VERSION


def _meta_problem(meta: dict[str, Any]) -> str:
    missing = [key for key in (_VERSION_KEY, _CAPABILITIES_KEY) if key not in meta]
    if missing:
        return f"`_meta` needs {' and '.join(f'`{key}`' for key in missing)}"
    if type(meta[_VERSION_KEY]) is not str:
        return f"`{_VERSION_KEY}` must be a text"
    return f"`{_CAPABILITIES_KEY}` must be an object"


def _other_version(id: bytes, requested: str) -> bytes:
    text = f"this server speaks MCP revision {messages.VERSION} only"
    if requested:
        text += f", not {requested}"
    return error(id, messages.OTHER_VERSION, text, {"supported": [messages.VERSION], "requested": requested})


def fault(problem: BaseException) -> str:
    """One line about a failure of Quillo itself."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return f"quillo: a fault of Quillo itself, please report it: {type(problem).__name__}: {problem}{place}"
