"""The builtins of section "text" that need no regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qvm.builtins.arguments import need_int, need_list, need_number, need_text, wrong
from qvm.mistakes import check_size, check_text, text_too_big
from qvm.text import escape_html, write_out
from qvm.values import SIZE_LIMIT, TEXT_LIMIT, Stop

_DIGITS_MOST = 100  # after the point


def _upper(s: Any) -> str:
    return check_text(need_text(s, 1, "upper").upper())


def _lower(s: Any) -> str:
    return check_text(need_text(s, 1, "lower").lower())


def _trim(s: Any) -> str:
    return need_text(s, 1, "trim").strip()


def _trim_start(s: Any) -> str:
    return need_text(s, 1, "trim_start").lstrip()


def _trim_end(s: Any) -> str:
    return need_text(s, 1, "trim_end").rstrip()


def _split(s: Any, sep: Any) -> list[str]:
    need_text(s, 1, "split")
    need_text(sep, 2, "split")
    if not sep:
        return _chars(s)
    if len(s) > SIZE_LIMIT:
        check_size(s.count(sep) + 1)
    return s.split(sep)


def _join(xs: Any, sep: Any = "") -> str:
    need_list(xs, 1, "join")
    need_text(sep, 2, "join")
    try:
        # Most lists hold short texts only: both are looked at in one go, and again one by one where that fails.
        if sum(map(len, xs)) + len(sep) * len(xs) <= TEXT_LIMIT:
            return check_text(sep.join(xs))
    except TypeError:
        pass
    texts = []
    left = TEXT_LIMIT - len(sep) * (len(xs) - 1)
    for item in xs:
        text = item if type(item) is str else write_out(item)
        texts.append(text)
        left -= len(text)
        if left < 0:  # looked at here: a small list may hold one long text many times
            raise text_too_big()
    return check_text(sep.join(texts))


def _replace(s: Any, from_: Any, to: Any) -> str:
    need_text(s, 1, "replace")
    need_text(from_, 2, "replace")
    need_text(to, 3, "replace")
    growth = len(to) - len(from_)
    if growth > 0 and len(s) + growth * s.count(from_) > TEXT_LIMIT:
        raise text_too_big()
    return check_text(s.replace(from_, to))


def _starts_with(s: Any, part: Any) -> bool:
    return need_text(s, 1, "starts_with").startswith(need_text(part, 2, "starts_with"))


def _ends_with(s: Any, part: Any) -> bool:
    return need_text(s, 1, "ends_with").endswith(need_text(part, 2, "ends_with"))


def _repeat(s: Any, n: Any) -> str:
    need_text(s, 1, "repeat")
    need_int(n, 2, "repeat")
    if n < 0:
        raise Stop(f"`repeat` can't repeat a text {n} times")
    if len(s) * n > TEXT_LIMIT:
        raise text_too_big()
    return check_text(s * n)


def _filling(builtin: str, s: Any, length: Any, fill: Any) -> str:
    """What `pad_start` and `pad_end` add."""
    need_text(s, 1, builtin)
    need_int(length, 2, builtin)
    need_text(fill, 3, builtin)
    missing = length - len(s)
    if missing <= 0:
        return ""
    if not fill:
        raise Stop(f"`{builtin}` has nothing to fill with: argument 3 is empty")
    if length > TEXT_LIMIT:
        raise text_too_big()
    return (fill * (missing // len(fill) + 1))[:missing]


def _pad_start(s: Any, length: Any, fill: Any = " ") -> str:
    return check_text(_filling("pad_start", s, length, fill) + s)


def _pad_end(s: Any, length: Any, fill: Any = " ") -> str:
    filling = _filling("pad_end", s, length, fill)
    return check_text(s + filling)


def _lines(s: Any) -> list[str]:
    need_text(s, 1, "lines")
    if len(s) > SIZE_LIMIT:
        check_size(s.count("\n") + 1)
    found = s.split("\n")
    if not found[-1]:
        found.pop()
    if "\r" in s:
        ended = len(found) - (not s.endswith("\n"))  # a last line without its end keeps its "\r"
        found[:ended] = [line.removesuffix("\r") for line in found[:ended]]
    return found


def _chars(s: Any) -> list[str]:
    need_text(s, 1, "chars")
    check_size(len(s))
    return list(s)


def _slug(s: Any) -> str:
    """Latin letters lose their accents; letters and digits of other scripts stay; all else is what parts words."""
    from unicodedata import normalize

    need_text(s, 1, "slug")
    folded = normalize("NFKD", normalize("NFKD", s).casefold())
    kept = "".join(c for c in folded if not "\u0300" <= c <= "\u036f" and c not in "'’")
    kept = normalize("NFC", kept)
    words = "".join(c if c.isalnum() or _is_mark(c) else " " for c in kept).split()
    return check_text("-".join(words))


def _is_mark(c: str) -> bool:
    """A vowel sign or the like, which belongs to the letter before it."""
    if c.isascii():
        return False
    from unicodedata import category

    return category(c) in ("Mn", "Mc")


def _escape_html(s: Any) -> str:
    return check_text(escape_html(need_text(s, 1, "escape_html")))


def _format_number(n: Any, digits: Any = None) -> str:
    from qvm.builtins.numbers import decimal_text

    need_number(n, 1, "format_number")
    if digits is not None:
        if type(digits) is not int:
            raise wrong(2, "format_number", "int or null", digits)
        if not 0 <= digits <= _DIGITS_MOST:
            raise Stop(f"`format_number` can show 0 to {_DIGITS_MOST} digits after the point, not {digits}")
    text = decimal_text(n, digits)
    sign = "-" if text.startswith("-") else ""
    before, point, after = text[len(sign) :].partition(".")
    if not before.isdigit():  # inf and nan
        return text
    grouped = f"{int(before):,}" if len(before) < 40 else _grouped(before)
    return sign + grouped + point + after


def _grouped(digits: str) -> str:
    first = len(digits) % 3
    groups = [digits[:first]] if first else []
    groups += [digits[at : at + 3] for at in range(first, len(digits), 3)]
    return ",".join(groups)


NATIVES: dict[str, Callable[..., Any]] = {
    "upper": _upper,
    "lower": _lower,
    "trim": _trim,
    "trim_start": _trim_start,
    "trim_end": _trim_end,
    "split": _split,
    "join": _join,
    "replace": _replace,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "repeat": _repeat,
    "pad_start": _pad_start,
    "pad_end": _pad_end,
    "lines": _lines,
    "chars": _chars,
    "slug": _slug,
    "escape_html": _escape_html,
    "format_number": _format_number,
}
