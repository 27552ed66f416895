"""`fetch`: one HTTP request to another site, with the standard library, made in a thread (language.md, section 13).

Rule 1  Never to a private address: every address that a host's name leads to is looked at, and the connection goes to
        an address that was looked at, so that no second look-up can lead elsewhere. Each redirect is looked at anew.
        A host that the policy names may be private.
Rule 2  Where the policy names hosts, only these are reached.
Rule 3  A failure of the network is an Err { kind, message } of kind "refused" (Rule 1 and 2), "timeout", "network",
        "too_big" or "not_text"; an answer with any status is no failure.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from typing import Any
from urllib.parse import urljoin, urlsplit

from qvm.builtins.arguments import failure, need_text
from qvm.text import to_json
from qvm.values import Err, Stop, kind_of
from server.host import seconds_of

MOST_BYTES = 16 * 1024 * 1024  # of an answer's body
MOST_REDIRECTS = 5
DEFAULT_TIMEOUT = 30.0  # seconds, for all of it
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_OPTIONS = ("method", "headers", "body", "json", "timeout")
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Request:
    """What is to be fetched. `timeout` is in seconds."""

    __slots__ = ("body", "headers", "method", "timeout", "url")

    def __init__(self, url: str, method: str, headers: dict[str, str], body: bytes | None, timeout: float) -> None:
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.timeout = timeout


class _Failed(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def request_of(arguments: list[Any]) -> Request:
    """The request that `fetch(url, options)` asks for. Raises Stop for wrong arguments."""
    url = need_text(arguments[0], 1, "fetch")
    options = arguments[1] if len(arguments) > 1 and arguments[1] is not None else {}
    if type(options) is not dict:
        raise Stop(f"argument 2 of `fetch` must be a record, got {kind_of(options)}")
    for key in options:
        if key not in _OPTIONS:
            raise Stop(f"`fetch` has no option `{key}`: it takes {', '.join(f'`{name}`' for name in _OPTIONS)}")
    method = options.get("method") or "GET"
    if type(method) is not str or method.upper() not in _METHODS:
        raise Stop(f"`method` of `fetch` must be one of {', '.join(_METHODS)}")
    headers = _headers(options.get("headers") or {})
    body, data = options.get("body"), options.get("json")
    if body is not None and data is not None:
        raise Stop("`fetch` sends a `body` or a `json`, not both")
    if data is not None:
        body = to_json(data, "fetch")
        headers.setdefault("content-type", "application/json")
    if body is not None and type(body) not in (str, bytes):
        raise Stop(f"`body` of `fetch` must be str, got {kind_of(body)}")
    try:
        content = body.encode("utf-8") if type(body) is str else body
    except UnicodeEncodeError:
        raise Stop("`body` of `fetch` has half of a surrogate pair in it") from None
    given = options.get("timeout")
    timeout = DEFAULT_TIMEOUT if given is None else seconds_of(given, 2, "fetch")
    if not 0 < timeout <= 3600:
        raise Stop("`timeout` of `fetch` must be above 0 and at most an hour")
    return Request(url, method.upper(), headers, content, timeout)


def _headers(given: Any) -> dict[str, str]:
    if type(given) is not dict:
        raise Stop(f"`headers` of `fetch` must be a record, got {kind_of(given)}")
    headers = {}
    for name, value in given.items():
        if type(value) is not str:
            raise Stop(f"header `{name}` of `fetch` must be str, got {kind_of(value)}")
        if not name or not set(name) <= _TOKEN or any(c in "\r\n\0" for c in value) or not value.isascii():
            raise Stop(f"header `{name}` of `fetch` has a character that a header can't have")
        if name.lower() in ("host", "content-length", "transfer-encoding", "connection"):
            raise Stop(f"header `{name}` of `fetch` is not yours to set: it follows from the request")
        headers[name.lower()] = value
    return headers


def fetch(request: Request, hosts: frozenset[str] | None) -> Any:
    """Does the request; `hosts` are those that the policy names. Gives { status, headers, body } or an Err."""
    ends = time.monotonic() + request.timeout
    url, method, body, headers = request.url, request.method, request.body, dict(request.headers)
    try:
        for _ in range(MOST_REDIRECTS + 1):
            status, received, content = _exchange(url, method, headers, body, hosts, ends)
            place = received.get("location")
            if status not in (301, 302, 303, 307, 308) or place is None or method not in ("GET", "HEAD", "POST"):
                break
            target = urljoin(url, place)
            if urlsplit(target).netloc != urlsplit(url).netloc:
                headers.pop("authorization", None)  # a secret for one site is not another's
                headers.pop("cookie", None)
            if status in (301, 302, 303) and method == "POST":
                method, body = "GET", None
                headers.pop("content-type", None)
            url = target
        else:
            raise _Failed("network", f"over {MOST_REDIRECTS} redirects")
        return {"status": status, "headers": received, "body": _text(content, received)}
    except _Failed as error:
        return failure("fetch", error.kind, f"{_short(request.url)}: {error}")
    except TimeoutError:
        return _timed_out(request)
    except ssl.SSLError as error:
        return failure("fetch", "network", f"{_short(request.url)}: no secure connection: {error.reason or error}")
    except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
        words = getattr(error, "strerror", None) or str(error) or "the connection broke off"
        return failure("fetch", "network", f"{_short(request.url)}: {words[:1].lower() + words[1:]}")


def _timed_out(request: Request) -> Err:
    return failure("fetch", "timeout", f"{_short(request.url)}: no answer in {request.timeout:g} s")


def _exchange(
    url: str, method: str, headers: dict[str, str], body: bytes | None, hosts: frozenset[str] | None, ends: float
) -> tuple[int, dict[str, str], bytes]:
    """One request and its answer: status, headers, body."""
    parts = urlsplit(url)
    host, secure = parts.hostname, parts.scheme == "https"
    if parts.scheme not in ("http", "https") or not host:
        raise _Failed("refused", "an address begins with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise _Failed("refused", "an address can't hold a name and password: send a header")
    if any(c <= " " or c == "\x7f" for c in url):
        raise _Failed("refused", "an address has no spaces")
    named = hosts is not None and host.lower() in hosts
    if hosts is not None and not named:
        raise _Failed("refused", f"the policy does not name the host `{host}`")
    port = parts.port or (443 if secure else 80)
    connection = http.client.HTTPConnection(host, port)
    try:
        connection.sock = _connect(host, port, named, secure, ends)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(
            method, _ascii(path), body, {"user-agent": "quillo", "accept-encoding": "identity", **headers}
        )
        answer = connection.getresponse()
        content = bytearray()
        while not answer.closed:
            if connection.sock is not None:
                connection.sock.settimeout(_left(ends))
            piece = answer.read1(65536)
            if not piece:
                break
            content += piece
            if len(content) > MOST_BYTES:
                raise _Failed("too_big", f"the answer is over {MOST_BYTES // 1024 // 1024} MB")
        received: dict[str, str] = {}
        for name, value in answer.getheaders():
            key = name.lower()
            received[key] = f"{received[key]}, {value}" if key in received else value
        return answer.status, received, bytes(content)
    finally:
        connection.close()


def _connect(host: str, port: int, named: bool, secure: bool, ends: float) -> socket.socket:
    """A connection to one of the host's addresses, all of which must be public unless the policy names the host."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise _Failed("network", f"there is no host `{host}`") from None
    if not named:
        for *_, place in found:
            address = ipaddress.ip_address(str(place[0]).partition("%")[0])
            inner = getattr(address, "ipv4_mapped", None) or address
            if not inner.is_global or inner.is_multicast:
                raise _Failed("refused", f"`{host}` is a private address: only a policy's `hosts` can allow it")
    problem: OSError = OSError("no address")
    for family, kind, protocol, _, place in found:
        plain = socket.socket(family, kind, protocol)
        try:
            plain.settimeout(_left(ends))
            plain.connect(place)
            if not secure:
                return plain
            return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        except OSError as error:
            plain.close()
            problem = error
    raise problem


def _left(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _ascii(path: str) -> str:
    from urllib.parse import quote

    return quote(path, safe="/%?&=;:@+$,!~*'()[]#-._")


def _text(content: bytes, headers: dict[str, str]) -> str:
    charset = "utf-8"
    for part in headers.get("content-type", "").split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name.lower() == "charset":
            charset = value.strip("\"' ") or charset
    try:
        return content.decode(charset)
    except (UnicodeDecodeError, LookupError):
        raise _Failed("not_text", "the answer is no text") from None


def _short(url: str) -> str:
    """The address without what may be secret in it."""
    return url.partition("?")[0][:200]
