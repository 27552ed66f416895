"""Finds the route of a request: by method and path, the more exact path first (language.md, section 11).

    table = RouteTable(module.routes)
    match = table.find("GET", "/notes/7")           (route, ["7"]), or None
    table.methods("/notes/7")                       those that a path has routes for

A part of a path is more exact as text than as a whole number, that than as any text, and that than as the rest.
A text in a route's path means what it decodes to: `/a%20b` and a request's `/a%20b` are the same.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from qasm.module import Route

_TEXT, _INT, _ANY, _REST = range(4)
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class BadPath(Exception):
    """A path that no route can have; the text says why."""


class _Pattern:
    __slots__ = ("method", "parts", "route")

    def __init__(self, route: Route) -> None:
        self.route = route
        self.method = route.method
        self.parts = [_part(piece) for piece in _pieces(route.path)]

    @property
    def order(self) -> list[int]:
        return [kind for kind, _ in self.parts]

    def fits(self, pieces: list[str]) -> list[Any] | None:
        """The values of the path's names; None where it doesn't fit."""
        parts = self.parts
        if not pieces and len(parts) == 1 and parts[0][0] == _REST:
            return [""]  # `/` is to `/*rest` what `/files/` is to `/files/*rest`
        if len(pieces) != len(parts) and not (parts and parts[-1][0] == _REST and len(pieces) >= len(parts)):
            return None
        values: list[Any] = []
        for place, (kind, text) in enumerate(parts):
            piece = pieces[place]
            if kind == _TEXT:
                if piece != text:
                    return None
            elif kind == _REST:
                values.append("/".join(pieces[place:]))
            elif kind == _ANY:
                if not piece:
                    return None
                values.append(piece)
            else:
                number = _whole(piece)
                if number is None:
                    return None
                values.append(number)
        return values


class RouteTable:
    """The routes of a program."""

    def __init__(self, routes: list[Route]) -> None:
        patterns = [_Pattern(route) for route in routes if route.kind == "route"]
        self._fixed: dict[tuple[str, str], Route] = {}
        self._patterns: list[_Pattern] = []
        for pattern in patterns:
            if all(kind == _TEXT for kind, _ in pattern.parts):
                self._fixed[pattern.method, "/" + "/".join(text for _, text in pattern.parts)] = pattern.route
            else:
                self._patterns.append(pattern)
        self._patterns.sort(key=lambda pattern: pattern.order)

    def find(self, method: str, path: str) -> tuple[Route, list[Any]] | None:
        """The route for a path, still percent-encoded, and the values of the names in it. Raises BadPath."""
        if "%" not in path:
            fixed = self._fixed.get((method, path))
            if fixed is not None:
                return fixed, []
        pieces = decoded(path)
        if "%" in path:
            fixed = self._fixed.get((method, _joined(pieces)))
            if fixed is not None:
                return fixed, []
        for pattern in self._patterns:
            if pattern.method == method:
                values = pattern.fits(pieces)
                if values is not None:
                    return pattern.route, values
        return None

    def methods(self, path: str) -> list[str]:
        """The methods that have a route for a path, sorted. Raises BadPath."""
        pieces = decoded(path)
        joined = _joined(pieces)
        found = {method for method, fixed in self._fixed if fixed == joined}
        found.update(pattern.method for pattern in self._patterns if pattern.fits(pieces) is not None)
        return sorted(found)


def decoded(path: str) -> list[str]:
    """The pieces between the slashes of a path, each decoded alone, so that `%2F` divides nothing. Raises BadPath."""
    pieces = _pieces(path)
    if "%" not in path:
        return pieces
    try:
        return [unquote_to_bytes(piece).decode("utf-8") for piece in pieces]
    except UnicodeDecodeError:
        raise BadPath("the address is not UTF-8") from None


def plain(path: str) -> str:
    """A path decoded as a whole, as `build` names it; "" where a part holds a `/` of its own. Raises BadPath."""
    return _joined(decoded(path)) if "%" in path else path


def _joined(pieces: list[str]) -> str:
    if any("/" in piece for piece in pieces):
        return ""
    return "/" + "/".join(pieces)


def _pieces(path: str) -> list[str]:
    return [] if path == "/" else path[1:].split("/")


def _part(piece: str) -> tuple[int, str]:
    if piece.startswith(":"):
        return (_INT if piece.endswith(":int") else _ANY), ""
    if piece.startswith("*"):
        return _REST, ""
    return _TEXT, unquote(piece) if "%" in piece else piece


def _whole(piece: str) -> int | None:
    digits = piece.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 19:
        return None
    number = int(piece)
    return number if _LEAST <= number <= _MOST else None
