"""A program's site: takes requests, gives answers, without I/O (language.md, sections 10 to 12).

    site = Site(web, door)
    answer = site.begin(request)            an Answer, or an Unfinished (see server.protocol) whose end is one

What is Quillo's own lies below `/_quillo/`: the door for AI clients, `server fn`s, `health`, and `describe`.
"""

from __future__ import annotations

import mimetypes
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from qvm.descriptions import wanted_text
from qvm.text import to_json
from qvm.values import Err, Markup, Response, Stop
from server.arguments import Arguments, Refusal
from server.compression import Kept, finish
from server.error_page import diagnostics_page, error_page
from server.http_messages import Answer, Request, text_answer
from server.messages import written
from server.origins import SAFE_METHODS, foreign_host, foreign_origin, is_own
from server.pages import Pages
from server.protocol import Unfinished
from server.render import render
from server.request_values import json_value
from server.routing import BadPath, RouteTable, plain
from server.site_calls import SiteHost, call_function, run_rules
from server.stages import Stages, begun
from server.visits import Visit, Web

if TYPE_CHECKING:
    from qasm.module import Route
    from server.http_mcp import ToolDoor

_OWN = "/_quillo/"
_RPC = "/_quillo/rpc/"
_OTHER_SITE = "another site may not change anything here"
_JSON = b"content-type: application/json\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n"
_MOST_IN_HEADER = 200  # characters
_TEXT_TYPES = {".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml"}


class Site:
    """The site of a running program. `door` serves its tools, None where it has none. `watched` shows why a request
    failed to whoever sent it. `problems` are the lines of what is wrong with a newer version of the program.
    """

    def __init__(self, web: Web, door: ToolDoor | None, watched: bool = False) -> None:
        self.web = web
        self.watched = watched
        self.problems: list[str] = []
        self._door = door
        self._running = running = web.running
        self._pages = Pages(running.module)
        self._routes = RouteTable(running.module.routes)
        self._functions = {route.path: route.function for route in running.module.routes if route.kind == "rpc"}
        self._arguments: dict[str, Arguments] = {}
        self._builds: dict[str, Kept] = {}

    def build(self) -> None:
        """Works out what `build` declares, once, before anything is served. Raises Stop."""
        for route in self._running.module.routes:
            if route.kind == "build":
                self._builds[unquote(route.path)] = Kept(self._built(route))

    def begin(self, request: Request) -> Answer | Unfinished:
        """Takes one request."""
        path, base = request.path, self.web.base
        if base:
            if path != base and not path.startswith(base + "/"):
                return text_answer(404, "there is nothing here")
            path = path[len(base) :] or "/"
        if path == "/_quillo/mcp" and self._door is not None:
            return self._door.begin(request)
        problem = foreign_host(self.web, request)
        if problem:
            return text_answer(403, problem)
        if request.too_large:
            return text_answer(413, "the body of the request is too large", close=True)
        if path.startswith(_OWN):
            return self._own(path, request)
        method = "GET" if request.method == "HEAD" else request.method
        try:
            if self._builds and method == "GET":
                built = self._builds.get(plain(path))
                if built is not None:
                    return built.answer(request)
            found = self._routes.find(method, path)
            if found is None:
                return self._not_found(path, request)
        except BadPath as bad:
            return text_answer(400, str(bad))
        if request.method not in SAFE_METHODS and foreign_origin(self.web, request):
            return text_answer(403, _OTHER_SITE)
        answer: Answer | Unfinished = begun(self._route(found[0], found[1], request))
        return answer

    def _not_found(self, path: str, request: Request) -> Answer:
        methods = self._routes.methods(path)
        if plain(path) in self._builds and "GET" not in methods:
            methods.append("GET")
        if not methods:
            if self.problems and b"text/html" in request.headers.get(b"accept", b""):
                return diagnostics_page(404, self.problems)  # the newer version may have it
            return text_answer(404, "there is nothing here")
        if "GET" in methods:
            methods.append("HEAD")
        allow = f"allow: {', '.join(sorted({*methods, 'OPTIONS'}))}\r\n".encode()
        if request.method == "OPTIONS":
            return Answer(204, allow)
        return text_answer(405, f"{request.method} is not for this address", allow)

    # routes

    def _route(self, route: Route, values: list[Any], request: Request) -> Stages:
        visit = Visit(self.web, request)
        try:
            yield from run_rules(visit)
            value = yield from call_function(self._running, SiteHost(self._running, visit), route.function, values)
            answer = self._pages.answer(self._unerring(value), visit.locale)
            if self.watched and type(value) is Response and "location" in value.headers:
                self._tell_of_stopped_form(request, value.headers["location"])
        except Stop as stop:
            answer = self._stopped(stop, visit)
        return self._sent(answer, visit)

    def _tell_of_stopped_form(self, request: Request, address: str) -> None:
        """A browser that sends a form and is led to another site says nothing to its person where it stops there."""
        if request.method != "POST" or request.headers.get(b"sec-fetch-mode") != b"navigate":
            return
        origin = self._pages.policy.stops(address)
        if origin and not is_own(self.web, request, origin):
            self._running.world.log(
                f"quillo: browsers stop a form that leads to {origin}, which no text of the program begins with:"
                " give the form's page a `Content-Security-Policy` of its own with `respond`"
            )

    def _sent(self, answer: Answer, visit: Visit) -> Answer:
        request = visit.request
        if self.problems:
            _tell_problems(answer, self.problems)
        answer.headers += visit.cookie_lines
        if b"cache-control:" not in answer.headers:
            # A page that is somebody's is nobody else's; all others may be kept as long as the tag is looked at.
            private = b"private, " if visit.session is not None else b""
            answer.headers += b"cache-control: " + private + b"no-cache\r\n"
        answer.steps, answer.caller = visit.steps, visit.caller
        return finish(answer, request)

    def _unerring(self, value: Any) -> Any:
        if type(value) is Err:
            held = value.value
            text = held["message"] if type(held) is dict and type(held.get("message")) is str else None
            from qvm.text import write_out

            raise Stop(f"the request ended with the error {text or write_out(held)}", kind="error", error=value)
        return value

    def _stopped(self, stop: Stop, visit: Visit) -> Answer:
        """The answer to a request that stopped: what it replied, else a failure."""
        if stop.kind == "reply":
            try:
                return self._pages.reply(stop.detail, visit.locale)
            except Stop as inner:
                stop = inner
        if stop.kind == "cancelled":  # in the middle of a statement: nobody is there to read an answer
            return Answer(499, close=True)
        reference = os.urandom(4).hex()
        self._running.world.log(f"[{reference}] {render(stop, self._running.main_file)}")
        if self.watched:
            return error_page(stop, self._running.module, reference)
        return text_answer(500, f"internal error ({reference})")

    # `build`

    def _built(self, route: Route) -> Answer:
        from server.host import ProgramHost
        from server.programs import run

        running = self._running
        host = ProgramHost(running.world, running.world.database.scope())
        try:
            value = run(running.program.call(route.function, [], host))
        finally:
            host.scope.finish()
        value = self._unerring(value)
        if type(value) is str or type(value) is bytes:
            value = Response(200, value, {"content-type": _type_of(route.path, value)})
        elif type(value) is not Markup and type(value) is not Response:
            value = Response(200, to_json(value, "build"), {"content-type": "application/json"})
        answer = self._pages.answer(value)
        if b"cache-control:" not in answer.headers:
            answer.headers += b"cache-control: no-cache\r\n"
        return answer

    # what is Quillo's own

    def _own(self, path: str, request: Request) -> Answer | Unfinished:
        if path == "/_quillo/health":
            if request.method not in ("GET", "HEAD"):
                return text_answer(405, f"{request.method} is not for this address", b"allow: GET, HEAD\r\n")
            return text_answer(200, "ok", b"cache-control: no-store\r\n")
        if path == "/_quillo/describe" and self.watched and self.web.local and request.method in ("GET", "HEAD"):
            return Answer(200, _JSON, written(self.description()))
        if path.startswith(_RPC):
            return self._remote(path[len(_RPC) :], request)
        return text_answer(404, "there is nothing here")

    def _remote(self, name: str, request: Request) -> Answer | Unfinished:
        """`POST /_quillo/rpc/NAME`: a page calls a `server fn`."""
        function = self._functions.get(name)
        if function is None:
            return _error(404, f"there is no server function `{name}`" if name.isprintable() else "there is none")
        if request.method != "POST":
            answer = _error(405, "a server function is called with POST")
            answer.headers += b"allow: POST\r\n"
            return answer
        if foreign_origin(self.web, request):
            return _error(403, _OTHER_SITE)
        if request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            return _error(415, "the arguments are sent with `Content-Type: application/json`")
        answer_: Answer | Unfinished = begun(self._call(name, function, request))
        return answer_

    def _call(self, name: str, function: int, request: Request) -> Stages:
        visit = Visit(self.web, request)
        try:
            answer = yield from self._called(name, function, visit)
        except Stop as stop:
            answer = self._stopped(stop, visit)
            if answer.status == 500:
                answer = _error(
                    500, answer.body.decode("utf-8", "replace").strip() if not self.watched else stop.message
                )
        return self._sent(answer, visit)

    def _called(self, name: str, function: int, visit: Visit) -> Stages:
        running = self._running
        arguments = self._arguments.get(name)
        if arguments is None:
            parameters = running.module.functions[function].parameters
            arguments = self._arguments[name] = Arguments(name, parameters, running.program)
        given = json_value(visit.request.body)
        if type(given) is not dict:
            return _error(400, "the arguments of a server function are a JSON object, by their names")
        try:
            values = arguments.check(given)
        except Refusal as refusal:
            return _error(400, str(refusal))
        yield from run_rules(visit)
        value = yield from call_function(running, SiteHost(running, visit), function, values)
        if type(value) is Err:
            if value.builtin:
                self._unerring(value)
            return Answer(422, _JSON, b'{"error":' + to_json(value.value, name).encode("utf-8", "replace") + b"}")
        if type(value) is Response or type(value) is Markup:
            return self._pages.answer(value, visit.locale)
        return Answer(200, _JSON, b'{"result":' + to_json(value, name).encode("utf-8", "replace") + b"}")

    def description(self) -> dict[str, Any]:
        """What the program offers, as data: for tools that a developer uses."""
        module = self._running.module
        functions = []
        for name, number in self._functions.items():
            parameters = module.functions[number].parameters
            takes = {
                one.name: {"type": wanted_text(one.type, module.types), "required": one.required} for one in parameters
            }
            functions.append({"name": name, "parameters": takes})
        return {
            "name": module.name,
            "base": self.web.base,
            "routes": [
                {"method": route.method or "GET", "path": route.path}
                for route in module.routes
                if route.kind in ("route", "build")
            ],
            "functions": functions,
            "tools": [
                {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
                for tool in module.tools
            ],
        }


def _error(status: int, text: str) -> Answer:
    return Answer(status, _JSON, b'{"error":' + written(text) + b"}")


def _type_of(path: str, value: str | bytes) -> str:
    """What a built file is sent as: its name says so."""
    extension = os.path.splitext(path)[1].lower()
    kind = _TEXT_TYPES.get(extension) or mimetypes.guess_type(path)[0]
    if kind is None:
        kind = "text/plain" if type(value) is str else "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") or kind == "image/svg+xml" else kind


def _tell_problems(answer: Answer, problems: list[str]) -> None:
    """Says what is wrong with the program's newer version: at the top of a page, else in a header."""
    from qvm.text import escape_html

    if not answer.headers.startswith(b"content-type: text/html"):
        first = problems[0].partition("\n")[0][:_MOST_IN_HEADER]
        shown = "".join(letter if " " <= letter <= "~" else "?" for letter in first)
        answer.headers += f"quillo-problem: {shown}\r\n".encode()
        return
    rows = "\n".join(escape_html(line) for line in problems)
    notice = f'<pre role="alert">The program has errors; this is what it was before them.\n{rows}</pre><hr>'.encode()
    body = answer.body
    place = body.find(b">", body.lower().find(b"<body")) + 1 if b"<body" in body.lower() else 0
    answer.body = body[:place] + notice + body[place:]
