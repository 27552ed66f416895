"""What `request` gives a program: the parts of a request as Quillo values.

    { method, path, query, form, headers, cookies, body, json, ip, mcp }

Rule 1  `query`, `form`, `headers` and `cookies` are records of texts. Of a name that comes several times the last
        counts; one that ends in `[]` gives a list of all, under the name without it.
Rule 2  `body` is text where it is UTF-8, else bytes. `form` is `{}` and `json` null where it is no form or no JSON.
Rule 3  In a tool's call, the body is the client's message, which is the door's to read: there `body` is "" and `json`
        null.
Rule 4  A form or JSON that is malformed ends the request with a 400 that says what is wrong: it never gets half read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from qvm.values import Response, Stop
from server import messages
from server.messages import MOST_DEPTH, NotJson, depth_over

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from server.visits import Visit

MOST_FIELDS = 1_000  # of a query or a form
_MOST_HEADER = 8 * 1024  # bytes of a part's headers, in a multipart form
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def request_record(visit: Visit) -> dict[str, Any]:
    """The value of `request`. Raises a Stop that replies 400 for what is malformed."""
    request = visit.request
    body = b"" if visit.tool_call else request.body
    kind, options = _content_type(request.text(b"content-type"))
    form: dict[str, Any] = {}
    data = None
    if body:
        if kind == "application/x-www-form-urlencoded":
            form = _fields(_pairs(_utf8(body, "form"), "form"))
        elif kind == "multipart/form-data":
            form = _fields(_multipart(body, options.get("boundary", "")))
        elif kind == "application/json" or kind.endswith("+json"):
            data = json_value(body)
    headers = {
        name.decode("latin-1"): value.decode("utf-8", "replace")
        for name, value in request.headers.items()
        if name != b"cookie"
    }
    return {
        "method": request.method,
        "path": site_path(visit),
        "query": _fields(_pairs(request.query, "query")),
        "form": form,
        "headers": headers,
        "cookies": visit.cookies,
        "body": _text_or_bytes(body),
        "json": data,
        "ip": request.address,
        "mcp": visit.mcp,
    }


def no_request(mcp: dict[str, Any] | None) -> dict[str, Any]:
    """The value of `request` where a call came from an AI client on the same machine, and not over HTTP."""
    empty: dict[str, Any] = {"method": "", "path": "", "query": {}, "form": {}, "headers": {}, "cookies": {}}
    return {**empty, "body": "", "json": None, "ip": "", "mcp": mcp}


def site_path(visit: Visit) -> str:
    """The path of a request below the site's base, decoded."""
    return unquote(visit.request.path.removeprefix(visit.web.base)) or "/"


def json_value(body: bytes) -> Any:
    """A body's JSON as a Quillo value. Raises a Stop that replies 400."""
    try:
        value = messages.read(body)
    except NotJson as problem:
        raise malformed(str(problem).replace("the message", "the request's body")) from None
    if depth_over(value):
        raise malformed(f"the JSON of the request's body is over {MOST_DEPTH} levels deep")
    _check_values(value)
    return value


def _check_values(value: Any) -> None:
    """JSON may hold numbers and texts that no Quillo value can be. Raises a Stop that replies 400."""
    waiting: list[Collection[Any]] = [[value]]
    while waiting:
        items = waiting.pop()
        kinds = set(map(type, items))
        if dict in kinds or list in kinds:
            for item in items:
                if type(item) is dict:
                    waiting += (item.values(), item)
                elif type(item) is list:
                    waiting.append(item)
        if int in kinds:
            numbers = [item for item in items if type(item) is int]
            if min(numbers) < _LEAST or max(numbers) > _MOST:
                raise malformed("the JSON of the request's body has a whole number past 64 bits in it")
        # orjson reads a whole number past 64 bits as a float.
        if float in kinds and any(type(item) is float and item - item != 0 for item in items):
            raise malformed("the JSON of the request's body has a number in it that is too large")
        if str in kinds and not _is_text("".join([item for item in items if type(item) is str])):
            raise malformed("the JSON of the request's body has half of a surrogate pair in a text")


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def malformed(text: str) -> Stop:
    """A stop that answers the request with 400."""
    return Stop(text, kind="reply", detail=Response(400, text, {}))


def _content_type(header: str) -> tuple[str, dict[str, str]]:
    if not header:
        return "", {}
    kind, semicolon, _ = header.partition(";")
    if not semicolon:
        return kind.strip().lower(), {}
    import multipart

    _, options = multipart.parse_options_header(header)
    return kind.strip().lower(), {name.lower(): value for name, value in options.items()}


def _utf8(body: bytes, what: str) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise malformed(f"the request's {what} is not UTF-8") from None


def _pairs(text: str, what: str) -> list[tuple[str, Any]]:
    if not text:
        return []
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except UnicodeDecodeError:
        raise malformed(f"the request's {what} is not UTF-8") from None
    except ValueError:
        raise malformed(f"the request's {what} has over {MOST_FIELDS} fields") from None


def _fields(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name.endswith("[]") and len(name) > 2:
            listed = fields.get(name[:-2])
            if type(listed) is list:
                listed.append(value)
            else:
                fields[name[:-2]] = [value]
        else:
            fields[name] = value
    return fields


def _text_or_bytes(body: bytes) -> str | bytes:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body


def _multipart(body: bytes, boundary: str) -> list[tuple[str, Any]]:
    """The fields of a multipart form (RFC 7578): texts, a file as { name, type, bytes }, null for no file."""
    import multipart

    if not boundary:
        raise malformed("a multipart form needs its `boundary` in the `Content-Type`")
    fields: list[tuple[str, Any]] = []
    chunks: list[bytes] = []
    segment: Any = None
    try:
        with multipart.PushMultipartParser(
            boundary, content_length=len(body), max_header_size=_MOST_HEADER, max_segment_count=MOST_FIELDS
        ) as parser:
            for event in parser.parse(body):
                if event is None:
                    fields.append((segment.name, _part(segment, b"".join(chunks))))
                    chunks.clear()
                elif isinstance(event, bytes | bytearray):
                    chunks.append(bytes(event))
                else:
                    segment = event
    except multipart.ParserLimitReached:
        raise malformed("the multipart form of the request has too many fields, or too long a header") from None
    except (multipart.MultipartError, UnicodeError, ValueError):
        raise malformed("the multipart form of the request is malformed, or not whole") from None
    return fields


def _part(segment: Any, data: bytes) -> Any:
    if segment.filename is not None:
        if not segment.filename and not data:
            return None  # a browser's word for a file field in which nothing was chosen
        return {
            "name": segment.filename.replace("\\", "/").rpartition("/")[2],
            "type": segment.content_type or "application/octet-stream",
            "bytes": data,
        }
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise malformed(f"the field `{segment.name}` of the request's form is not UTF-8") from None
