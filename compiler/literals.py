"""Numbers and escapes: from their spelling to their value, or to a sentence that says what is wrong with it."""

from __future__ import annotations

import re

LARGEST_INT = 2**63 - 1

_ESCAPE = re.compile(r"\\(u\{([^}\n\"`]*)\}?|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'", "0": "\0"}
_IN_TEMPLATES = {"`": "`", "$": "$"}


def unescape(raw: str, in_template: bool) -> tuple[str, list[tuple[int, int, str]]]:
    """The text that `raw` (between its quotes) stands for, and what is wrong in it as (start, end, sentence)."""
    wrong: list[tuple[int, int, str]] = []

    def one(found: re.Match[str]) -> str:
        escape = found[1]
        plain = _SIMPLE.get(escape)
        if plain is None and in_template:
            plain = _IN_TEMPLATES.get(escape)
        if plain is not None:
            return plain
        place = found.start(), found.end()
        if not escape.startswith("u"):
            shown = "a line's end" if escape == "\n" else f"`\\{escape}`"
            known = r"`\n` `\r` `\t` `\\` `\"` `\'` `\0` `\u{…}`"
            wrong.append((*place, f"{shown} is no escape: {known} are; a `\\` itself is written `\\\\`"))
            return escape
        digits = found[2]
        if digits is None or not escape.endswith("}"):
            wrong.append((*place, r"`\u` needs a code point in braces, such as `\u{1F600}`"))
            return ""
        try:
            if not re.fullmatch("[0-9a-fA-F]{1,6}", digits):
                raise ValueError
            code = int(digits, 16)
            if 0xD800 <= code <= 0xDFFF:
                raise ValueError
            return chr(code)
        except (ValueError, OverflowError):
            wrong.append(
                (*place, f"`\\u{{{digits}}}` is no code point: they go from 0 to 10FFFF, without D800 to DFFF")
            )
            return ""

    return _ESCAPE.sub(one, raw), wrong


def number(spelling: str) -> tuple[str, int | float, str]:
    """(token type, value, what is wrong or "") of a number whose spelling follows the rules."""
    if spelling.startswith(("0x", "0b")):
        value = int(spelling.replace("_", ""), 0) if len(spelling) < 100 else LARGEST_INT + 2
    elif spelling.isdecimal() or spelling.replace("_", "").isdecimal():
        value = int(spelling) if len(spelling) < 100 else LARGEST_INT + 2
    else:
        result = float(spelling)
        if result in (float("inf"), float("-inf")):
            return "FLOAT", 0.0, f"`{_short(spelling)}` is too big for a float: they go up to about 1.8e308"
        return "FLOAT", result, ""
    return "INT", value, ""


def too_big(spelling: str) -> str:
    return f"`{_short(spelling)}` is too big: whole numbers go from -9223372036854775808 to 9223372036854775807"


def _short(spelling: str) -> str:
    return spelling if len(spelling) <= 40 else spelling[:36] + "…"


# What begins with a digit and is no number by the rules, for the sentence about it.
_LIKE_A_NUMBER = re.compile(r"[0-9][0-9A-Za-z_]*(?:\.[0-9][0-9A-Za-z_]*)?")


def malformed_number(text: str, start: int) -> tuple[int, str]:
    """(end, sentence) for what begins with a digit at `start` but is no number."""
    found = _LIKE_A_NUMBER.match(text, start)
    assert found is not None  # a digit stands at `start`
    spelling = found[0]
    shown = _short(spelling)
    if re.fullmatch(r"0[0-9]+", spelling):
        return found.end(), f"a number does not begin with 0: write `{_short(spelling.lstrip('0') or '0')}`"
    if spelling[:2].lower() == "0x":
        return found.end(), f"`{shown}` is no number: after `0x` stand the digits 0-9 and a-f, as in `0xff`"
    if spelling[:2].lower() == "0b":
        return found.end(), f"`{shown}` is no number: after `0b` stand only 0 and 1, as in `0b101`"
    if spelling[:2].lower() == "0o":
        return found.end(), f"`{shown}` is no number: octal ones are not there, write it as `0x…` or in tens"
    if "_" in spelling and re.fullmatch(r"[0-9_]+", spelling):
        return found.end(), f"`{shown}` is no number: a `_` stands between two digits, as in `1_000`"
    if re.search(r"[0-9][eE]_?$", spelling):
        return found.end(), f"`{shown}` is no number: digits are missing after the `e`, as in `1e5`"
    return found.end(), f"`{shown}` is neither a number nor a name: a name does not begin with a digit"
