"""The builtins of section "time" that need no clock, and what hosts need to make and read times.

A time is milliseconds since the start of 1970 in UTC, or a text such as `2026-07-28T12:00:00.000Z`. Both reach from
year 1 to year 9999. Days have 86,400 seconds: there are no leap seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any

from qvm.builtins.arguments import failure, need_text, wrong
from qvm.text import quoted
from qvm.values import Err, Stop

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "y": 365 * 86_400_000}
_DAY = _UNITS["d"]
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST = (date.min.toordinal() - _EPOCH) * _DAY
_LAST = (date.max.toordinal() - _EPOCH + 1) * _DAY - 1
# fmt: off
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# fmt: on

_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)? ?([Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_LENGTH = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,15})?) ?(ms|[smhdy])")
_TOKEN = re.compile(r"\[([^\]]*)\]|YYYY|YY|M{1,4}|DD?|d{3,4}|HH?|hh?|mm?|ss?|SSS|A")


def length_of_time(length: Any) -> int | None:
    """The milliseconds of `"90s"`, `"15m"`, `"12h"`, `"7d"`, `"1y"` (365 days), `"100ms"`, or of a number of seconds.

    None for what is no length of time. May be below 0.
    """
    if type(length) is str:
        found = _LENGTH.fullmatch(length.strip())
        if found is None:
            return None
        number, unit = found.groups()
        return round(float(number) * _UNITS[unit]) if "." in number else int(number) * _UNITS[unit]
    if type(length) is int:
        return length * 1000
    if type(length) is float and abs(length) < 1e15:
        return round(length * 1000)
    return None


def time_text(time: int) -> str:
    """A time in milliseconds as `now()` gives it."""
    day, rest = divmod(time, _DAY)
    seconds, thousandths = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{date.fromordinal(day + _EPOCH)}T{hour:02}:{minute:02}:{second:02}.{thousandths:03}Z"


def time_of_text(text: str) -> int | None:
    """The milliseconds of a text such as `2026-07-28`, `2026-07-28 12:00` or `2026-07-28T12:00:00.5+02:00`.

    None where it is no time. Without a zone it is UTC; what is finer than a millisecond is cut off.
    """
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH
    except ValueError:
        return None
    if int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    minutes = days * 1440 + int(hour or 0) * 60 + int(minute or 0)
    if zone and zone not in "Zz":
        east = int(zone[1:3]) * 60 + int(zone[-2:])
        if int(zone[1:3]) > 23 or int(zone[-2:]) > 59:
            return None
        minutes += east if zone[0] == "-" else -east
    time = minutes * 60_000 + int(second or 0) * 1000 + int((fraction or "")[:3].ljust(3, "0"))
    return time if _FIRST <= time <= _LAST else None


def _need_time_kind(t: Any, builtin: str) -> None:
    if type(t) is not str and type(t) is not int:
        raise wrong(1, builtin, "str or int", t)


def _time_of(t: str | int, builtin: str) -> int:
    if type(t) is int:
        if not _FIRST <= t <= _LAST:
            raise Stop(f"argument 1 of `{builtin}` is no time of the years 1 to 9999: {t}")
        return t
    time = time_of_text(str(t))
    if time is None:
        raise Stop(f"argument 1 of `{builtin}` is no time: {quoted(str(t))}: write it as `2026-07-28T12:00:00Z`")
    return time


def _parse_time(s: Any) -> int | Err:
    time = time_of_text(need_text(s, 1, "parse_time"))
    if time is None:
        return failure("parse_time", "time", f"{quoted(s)} is no time")
    return time


def _add_time(t: Any, length: Any) -> str | int:
    """Gives the kind that it is given."""
    _need_time_kind(t, "add_time")
    if type(length) not in (str, int, float):
        raise wrong(2, "add_time", "str, int or float", length)
    time = _time_of(t, "add_time")
    added = length_of_time(length)
    if added is None:
        shown = quoted(length) if type(length) is str else repr(length)
        raise Stop(f'argument 2 of `add_time` is no length of time: {shown}: write "15m", "12h", "7d" or seconds')
    time += added
    if not _FIRST <= time <= _LAST:
        raise Stop("`add_time` leaves the years 1 to 9999")
    return time_text(time) if type(t) is str else time


def _format_time(t: Any, pattern: Any) -> str:
    _need_time_kind(t, "format_time")
    need_text(pattern, 2, "format_time")
    time = _time_of(t, "format_time")
    days, rest = divmod(time, _DAY)
    day = date.fromordinal(days + _EPOCH)
    seconds, thousandths = divmod(rest, 1000)
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    month, weekday, noon = _MONTHS[day.month - 1], _WEEKDAYS[day.weekday()], hour % 12 or 12
    written = {
        "YYYY": f"{day.year:04}",
        "YY": f"{day.year % 100:02}",
        "MMMM": month,
        "MMM": month[:3],
        "MM": f"{day.month:02}",
        "M": f"{day.month}",
        "DD": f"{day.day:02}",
        "D": f"{day.day}",
        "dddd": weekday,
        "ddd": weekday[:3],
        "HH": f"{hour:02}",
        "H": f"{hour}",
        "hh": f"{noon:02}",
        "h": f"{noon}",
        "mm": f"{minute:02}",
        "m": f"{minute}",
        "ss": f"{second:02}",
        "s": f"{second}",
        "SSS": f"{thousandths:03}",
        "A": "AM" if hour < 12 else "PM",
    }
    return _TOKEN.sub(lambda found: written[found[0]] if found[1] is None else found[1], pattern)


NATIVES: dict[str, Callable[..., Any]] = {
    "parse_time": _parse_time,
    "format_time": _format_time,
    "add_time": _add_time,
}
