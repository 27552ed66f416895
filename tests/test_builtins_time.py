"""The builtins of section "time" that need no clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qvm.builtins.time import length_of_time, time_of_text, time_text
from tests.native_calls import call, error_of, stop_of

DAY = 86_400_000
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999
TIMES = st.integers(FIRST, LAST)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1970-01-01", 0),
        ("1970-01-02T00:00:00Z", DAY),
        ("1970-01-01 00:00", 0),
        ("1970-01-01T00:00:00.5", 500),
        ("1970-01-01T00:00:00.123999Z", 123),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1970-01-01T02:00:00 +0200", 0),
        ("1969-12-31T23:30:00-00:30", 0),
        (" 2026-07-28T12:00:00.000Z ", 1_785_240_000_000),
        ("2024-02-29", 1_709_164_800_000),
        ("0001-01-01", FIRST),
        ("9999-12-31T23:59:59.999Z", LAST),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_texts_that_tell_a_time(text: str, time: int) -> None:
    assert call("parse_time", text) == time


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2026-02-30",
        "2023-02-29",
        "2026-13-01",
        "2026-00-01",
        "2026-7-28",
        "2026-07-28T24:00",
        "2026-07-28T12:60",
        "2026-07-28T12:00:60",
        "2026-07-28T12",
        "2026-07-28T12:00:00+25:00",
        "2026-07-28Z",
        "0000-01-01",
        "0001-01-01T00:00+01:00",
        "28.07.2026",
        "٢٠٢٦-07-28",
    ],
)
def test_texts_that_tell_none_give_an_error(text: str) -> None:
    kind, message = error_of("parse_time", text)
    assert kind == "time"
    assert message.endswith(" is no time")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("YYYY-MM-DD HH:mm:ss.SSS", "2026-07-08 15:04:05.006"),
        ("D.M.YY H:m:s", "8.7.26 15:4:5"),
        ("dddd, D MMMM YYYY", "Wednesday, 8 July 2026"),
        ("ddd MMM DD", "Wed Jul 08"),
        ("h:mm A", "3:04 PM"),
        ("hh A", "03 PM"),
        ("YYYY-MM-DDTHH:mm:ssZ", "2026-07-08T15:04:05Z"),
        ("[Day] D[s]", "Day 8s"),
        ("[]", ""),
        ("", ""),
        ("é!", "é!"),
    ],
)
def test_patterns(pattern: str, text: str) -> None:
    assert call("format_time", "2026-07-08T15:04:05.006Z", pattern) == text
    assert call("format_time", 1_783_523_045_006, pattern) == text


def test_midnight_and_noon_are_twelve() -> None:
    assert call("format_time", 0, "h A") == "12 AM"
    assert call("format_time", DAY // 2, "h A") == "12 PM"
    assert call("format_time", -1, "YYYY-MM-DD HH:mm:ss.SSS") == "1969-12-31 23:59:59.999"


@pytest.mark.parametrize(
    ("length", "milliseconds"),
    [
        ("100ms", 100),
        ("90s", 90_000),
        ("15m", 900_000),
        ("12h", 43_200_000),
        ("7d", 7 * DAY),
        ("1y", 365 * DAY),
        ("1.5h", 5_400_000),
        ("-1s", -1000),
        (" 2 d ", 2 * DAY),
        (90, 90_000),
        (1.5, 1500),
        (0.0004, 0),
        ("", None),
        ("7", None),
        ("7w", None),
        ("d", None),
        ("7 days", None),
        ("1e3s", None),
        (float("inf"), None),
        (float("nan"), None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_lengths_of_time(length: object, milliseconds: int | None) -> None:
    assert length_of_time(length) == milliseconds


def test_a_length_is_added_to_either_kind_of_time() -> None:
    assert call("add_time", "2026-07-28T12:00:00Z", "7d") == "2026-08-04T12:00:00.000Z"
    assert call("add_time", "2026-07-28", 1.5) == "2026-07-28T00:00:01.500Z"
    assert call("add_time", 1000, "-1s") == 0


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("parse_time", [1], "argument 1 of `parse_time` must be str, got int"),
        ("format_time", [1.5, ""], "argument 1 of `format_time` must be str or int, got float"),
        ("format_time", [0, 1], "argument 2 of `format_time` must be str, got int"),
        (
            "format_time",
            ["noon", ""],
            'argument 1 of `format_time` is no time: "noon": write it as `2026-07-28T12:00:00Z`',
        ),
        (
            "format_time",
            [LAST + 1, ""],
            "argument 1 of `format_time` is no time of the years 1 to 9999: 253402300800000",
        ),
        (
            "add_time",
            [0, "soon"],
            'argument 2 of `add_time` is no length of time: "soon": write "15m", "12h", "7d" or seconds',
        ),
        ("add_time", [0, True], "argument 2 of `add_time` must be str, int or float, got bool"),
        ("add_time", [LAST, "1s"], "`add_time` leaves the years 1 to 9999"),
        ("add_time", [0, 2**62], "`add_time` leaves the years 1 to 9999"),
    ],
)
def test_what_is_wrong_is_a_stop_that_says_what_was_wanted(name: str, arguments: list, message: str) -> None:
    assert stop_of(name, *arguments) == message


@given(TIMES)
def test_a_time_as_text_is_read_again_and_agrees_with_the_calendar(time: int) -> None:
    text = time_text(time)
    assert time_of_text(text) == time
    moment = EPOCH + timedelta(milliseconds=time)
    assert text == f"{moment:%Y}".zfill(4) + f"{moment:-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
    assert call("format_time", time, "YYYY-MM-DD[T]HH:mm:ss.SSS[Z]") == text
    assert call("format_time", text, "dddd") == f"{moment:%A}"
