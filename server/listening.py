"""Opens the socket on which the HTTP door listens."""

from __future__ import annotations

import os
import socket

_BACKLOG = 1024


class CannotListen(Exception):
    """An address that can't be served; the text is one sentence."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes one that is free. Raises CannotListen.

    A name that has addresses of both kinds, such as `localhost`, is served at the one of IPv4, which every client
    tries; `::` is all addresses, of both kinds.
    """
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise CannotListen(
            f"there is no host `{host}` here: --host takes a name or an address of this machine"
        ) from None
    family, kind, protocol, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
    try:
        listener = socket.socket(family, kind, protocol)
    except OSError as problem:  # a machine without IPv6
        raise CannotListen(_reason(problem, host, port)) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, host != "::")
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as problem:
        listener.close()
        raise CannotListen(_reason(problem, host, port)) from None
    listener.setblocking(False)
    return listener


def _reason(problem: OSError, host: str, port: int) -> str:
    import errno

    if problem.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: stop what serves there, or name another with --port (0: any free one)"
    if problem.errno == errno.EACCES:
        return f"port {port} needs permission of the system: name one from 1024 up with --port"
    if problem.errno == errno.EADDRNOTAVAIL:
        return f"`{host}` is no address of this machine: --host takes one that is"
    return f"{host}:{port} can't be served: {(problem.strerror or os.strerror(problem.errno or 0)).lower()}"


def address_of(listener: socket.socket) -> tuple[str, int]:
    """The host and the port of a listening socket; a host of IPv6 in brackets."""
    host, port = listener.getsockname()[:2]
    return (f"[{host}]" if ":" in host else host), port
