"""Whatever a native is given, it gives a value of the language or a Stop, and never another failure."""

from __future__ import annotations

import copy
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qvm.builtins import GROUP_OF, argument_counts, native
from qvm.text import write_out
from qvm.values import INT_MAX, INT_MIN, BuiltinFunction, Closure, Err, Markup, Response, Sql, Stop

KINDS = {int, float, str, bool, type(None), bytes, list, dict, Closure, BuiltinFunction, Markup, Sql, Response}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([INT_MIN, INT_MAX, 10**18, -(10**18), 2**53, 1000])
    | st.sampled_from([0.0, -0.0, 0.5, -2.5, 1e300, 5e-324, math.inf, -math.inf, math.nan])
    | st.text(max_size=5)
    | st.sampled_from(
        ["", " ", "\ud800", "(", "(a)*", "$1", "2026-07-28", "1e5", "-1", "7d", "[1]", '{"a": 1}', "aGk="]
    )
    | st.binary(max_size=3)
    | st.builds(Closure, st.integers(0, 3))
    | st.builds(BuiltinFunction, st.sampled_from(["len", "upper"]))
    | st.builds(Markup, st.text(max_size=3))
    | st.builds(Sql, st.text(max_size=3), st.just([]))
    | st.builds(Response, st.just(404), st.none(), st.just({}))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)
PUBLIC = sorted(name for name in GROUP_OF if not name.startswith("_"))


def outcome(name: str, arguments: list) -> object:
    """What a native gives; for a Stop, the Stop."""
    try:
        return native(name)(*arguments)
    except Stop as stop:
        return stop


@pytest.mark.parametrize("name", PUBLIC)
@settings(max_examples=40)
@given(data=st.data())
def test_a_native_gives_a_value_or_a_stop(name: str, data: st.DataObject) -> None:
    least, most = argument_counts(name)
    count = data.draw(st.integers(least, most if most is not None else 3))
    arguments = [data.draw(VALUES) for _ in range(count)]
    before = copy.deepcopy(arguments)
    value = outcome(name, arguments)
    assert write_out(arguments) == write_out(before)
    if isinstance(value, Stop):
        assert value.message
        assert "\n" not in value.message
        assert "<class" not in value.message
        return
    if isinstance(value, Err):
        assert set(value.value) == {"kind", "message"}
        assert "\n" not in value.value["message"]
        return
    waiting = [value]
    while waiting:
        each = waiting.pop()
        assert type(each) in KINDS
        assert type(each) is not int or INT_MIN <= each <= INT_MAX
        waiting += each if type(each) is list else each.values() if type(each) is dict else ()
