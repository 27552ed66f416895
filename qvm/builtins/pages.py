"""The builtins of section "pages" that make values: markup and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qvm.builtins.arguments import need_int, need_text, wrong
from qvm.mistakes import check_text
from qvm.text import quoted
from qvm.values import Markup, Response, Stop, kind_of

_REDIRECTS = (301, 302, 303, 307, 308)
_NAME_CHARACTERS = frozenset("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def _raw(text: Any) -> Markup:
    return Markup(need_text(text, 1, "raw"))


def _redirect(path: Any, status: Any = 303) -> Response:
    need_text(path, 1, "redirect")
    need_int(status, 2, "redirect")
    if status not in _REDIRECTS:
        raise Stop(f"argument 2 of `redirect` must be 301, 302, 303, 307 or 308, got {status}")
    _need_one_line(path, "argument 1 of `redirect`")
    return Response(status, None, {"location": path})


def _respond(status: Any, body: Any = None, options: Any = None) -> Response:
    need_int(status, 1, "respond")
    if options is not None and type(options) is not dict:
        raise wrong(3, "respond", "{ headers?: map<str> } or null", options)
    if not 200 <= status <= 599:
        raise Stop(f"argument 1 of `respond` must be a status from 200 to 599, got {status}")
    headers: dict[str, str] = {}
    if options:
        for name in options:
            if name != "headers":
                raise Stop(f"argument 3 of `respond` has no {quoted(name)}: it takes `headers`")
        headers = _headers(options.get("headers"))
    return Response(status, body, headers)


def _headers(given: Any) -> dict[str, str]:
    """Headers by their names in small letters, so that a door finds each one."""
    if given is None:
        return {}
    if type(given) is not dict:
        raise Stop(f"`headers` of argument 3 of `respond` must be a record, got {kind_of(given)}")
    headers = {}
    for name, value in given.items():
        if not name or not _NAME_CHARACTERS.issuperset(name):
            raise Stop(f"{quoted(name)} can't be the name of a header")
        if type(value) is not str:
            raise Stop(f"the header `{name}` must be str, got {kind_of(value)}")
        _need_one_line(value, f"the header `{name}`")
        headers[name.lower()] = value
    return headers


def _need_one_line(value: str, what: str) -> None:
    """A line's end in a header would begin another header."""
    if any(ord(c) < 32 or ord(c) == 127 for c in value):
        raise Stop(f"{what} can't have a line's end or another control character in it")


def _classes(*given: Any) -> str:
    """Texts, lists of such, records whose true fields count; `null` and false are nothing."""
    names: list[str] = []
    waiting = list(reversed(given))
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is str:
            names += value.split()
        elif kind is list:
            waiting += reversed(value)
        elif kind is dict:
            for name, wanted in value.items():
                if type(wanted) is not bool and wanted is not None:
                    raise Stop(f"{quoted(name)} of `classes` must be bool, got {kind_of(wanted)}")
                names += name.split() if wanted else ()
        elif value is not None and value is not False:
            raise Stop(f"`classes` takes str, list, record, false and null, got {kind_of(value)}")
    return check_text(" ".join(dict.fromkeys(names)))


def _markdown_page(s: Any) -> Markup:
    from qvm.builtins.markdown import markdown_to_html

    return Markup(check_text(markdown_to_html(need_text(s, 1, "markdown_page"))))


NATIVES: dict[str, Callable[..., Any]] = {
    "classes": _classes,
    "markdown_page": _markdown_page,
    "raw": _raw,
    "redirect": _redirect,
    "respond": _respond,
}
