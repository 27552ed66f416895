"""Helpers for tests of natives: calls by name, and tables of what they give."""

from __future__ import annotations

from typing import Any

import pytest

from qvm.builtins import native
from qvm.values import Err, Stop


def call(name: str, *arguments: Any) -> Any:
    return native(name)(*arguments)


def stop_of(name: str, *arguments: Any) -> str:
    """The message of the stop that a call ends with; the stop is a mistake, which nothing catches."""
    with pytest.raises(Stop) as caught:
        call(name, *arguments)
    stop = caught.value
    assert stop.error is None
    assert stop.kind == "mistake"
    return stop.message


def error_of(name: str, *arguments: Any) -> tuple[str, str]:
    """The kind and the message of the error that a call gives."""
    value = call(name, *arguments)
    assert isinstance(value, Err), value
    assert value.builtin == name
    assert set(value.value) == {"kind", "message"}
    return value.value["kind"], value.value["message"]


def same_value(a: Any, b: Any) -> bool:
    """Equal and of equal kinds, all the way in: 1 is not 1.0 here, nor true."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same_value(a[key], b[key]) for key in a)
    return a == b and repr(a) == repr(b)
