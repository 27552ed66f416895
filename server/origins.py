"""Whether a request may come from where it does: other sites in a browser may not act for the person in front of it.

Rule 1  What changes something must not come from another site: browsers say so in `Sec-Fetch-Site`, older ones in
        `Origin`. Who sends neither is no browser.
Rule 2  A server that listens on this machine alone answers to local names only: else a page elsewhere could have its
        own name lead here (DNS rebinding), and be of the same origin.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from server.http_messages import Request
from server.visits import Web

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_OWN = frozenset((b"same-origin", b"none"))
_PORTS = {"http": ":80", "https": ":443"}  # which an `Origin` leaves out, and a `Host` may name


def foreign_host(web: Web, request: Request) -> str:
    """What is wrong with the `Host` of a request, "" for nothing (Rule 2)."""
    if not web.local:
        return ""
    host = request.text(b"host").lower()
    if host == _host_of(web.origin) or is_local(_without_port(host)):
        return ""
    return "this server listens on this machine alone, and answers to `localhost` only: --origin names another address"


def foreign_origin(web: Web, request: Request) -> bool:
    """Does a browser say that another site sent this request (Rule 1)?"""
    site = request.headers.get(b"sec-fetch-site")
    origin = request.headers.get(b"origin")
    if site is not None:
        return site not in _OWN and not (origin is not None and is_own(web, request, origin.decode("latin-1")))
    return origin is not None and not is_own(web, request, origin.decode("latin-1"))


def is_own(web: Web, request: Request, origin: str) -> bool:
    """Is an `Origin` that of the site itself: of the request's own `Host`, or the one that --origin names?"""
    if web.origin:
        return origin.lower() == web.origin.lower()
    scheme, _, own = origin.lower().partition("://")
    port = _PORTS.get(scheme)
    return port is not None and own.removesuffix(port) == request.text(b"host").lower().removesuffix(port)


@lru_cache(maxsize=64)
def is_local(name: str) -> bool:
    """Is this a name of this machine that nobody else can give away?"""
    if name == "localhost" or name.endswith(".localhost") or name == "[::1]" or name == "::1":
        return True
    parts = name.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isdigit() and int(part) < 256 for part in parts)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _host_of(origin: str) -> str | None:
    return urlsplit(origin.lower()).netloc if origin else None
