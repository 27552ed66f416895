"""The builtins that take a regular expression.

The syntax is RE2's: a match takes time linear in the text, whatever the pattern, so no pattern hangs a server.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from qvm.builtins.arguments import need_text, utf8
from qvm.mistakes import check_size, check_text, counted, text_too_big
from qvm.values import SIZE_LIMIT, TEXT_LIMIT, Stop


@lru_cache(maxsize=128)
def _compiled(regex: str, builtin: str) -> Any:
    import re2

    utf8(regex, 2, builtin)
    options = re2.Options()
    options.log_errors = False  # it writes them to standard error
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise Stop(f"argument 2 of `{builtin}` is no regular expression: {reason}") from None


def _prepared(s: Any, regex: Any, builtin: str) -> Any:
    """The compiled expression, once both arguments are known to be text."""
    need_text(s, 1, builtin)
    need_text(regex, 2, builtin)
    if not s.isascii():
        utf8(s, 1, builtin)
    return _compiled(regex, builtin)


def _parts(found: Any) -> list[str]:
    """The whole match, then its groups; a group that took no part is empty."""
    return [found.group(), *found.groups("")]


def _match_text(s: Any, regex: Any) -> list[str] | None:
    found = _prepared(s, regex, "match_text").search(s)
    return None if found is None else _parts(found)


def _match_all(s: Any, regex: Any) -> list[list[str]]:
    all_found = []
    for found in _prepared(s, regex, "match_all").finditer(s):
        all_found.append(_parts(found))
        if len(all_found) > SIZE_LIMIT:
            check_size(len(all_found))
    return all_found


def _replace_text(s: Any, regex: Any, to: Any) -> str:
    compiled = _prepared(s, regex, "replace_text")
    pieces = _replacement(need_text(to, 3, "replace_text"), compiled.groups)
    made: list[str] = []
    size = at = 0
    for found in compiled.finditer(s):
        made.append(s[at : found.start()])
        for piece in pieces:
            made.append(piece if type(piece) is str else found.group(piece) or "")
            size += len(made[-1])
        at = found.end()
        if size > TEXT_LIMIT:
            raise text_too_big()
    made.append(s[at:])
    return check_text("".join(made))


def _replacement(to: str, groups: int) -> list[str | int]:
    """Texts, and numbers of groups, of `to`: `$1` is a group, `$0` the match, `$$` a dollar; another `$` is itself."""
    import re

    pieces: list[str | int] = []
    at = 0
    for found in re.finditer(r"\$(\$|[0-9]{1,2})", to):
        pieces.append(to[at : found.start()])
        at = found.end()
        mark = found[1]
        if mark == "$":
            pieces.append(mark)
            continue
        if len(mark) == 2 and int(mark) > groups:  # `$12` is `$1` and a 2 where there are no 12 groups
            mark = mark[0]
            at -= 1
        if int(mark) > groups:
            there = counted(groups, "group")
            raise Stop(f"argument 3 of `replace_text` has ${mark}: the regular expression has {there}")
        pieces.append(int(mark))
    pieces.append(to[at:])
    return [piece for piece in pieces if piece != ""]


NATIVES: dict[str, Callable[..., Any]] = {
    "match_text": _match_text,
    "match_all": _match_all,
    "replace_text": _replace_text,
}
