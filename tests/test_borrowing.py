"""What the compiler says that a builtin does not keep, it does not keep."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from compiler.borrowing import KEPT
from compiler.prelude import BUILTINS
from qvm.builtins import is_native, native
from qvm.values import Stop

SAMPLES: tuple[Any, ...] = ([], ["a"], [1, 2], [["k", 1]], [[1], [2]], {}, {"a": 1}, "a", 0)


def _holds(value: Any, wanted: Any) -> bool:
    inside = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return value is wanted or any(_holds(item, wanted) for item in inside)


@pytest.mark.parametrize("name", sorted(name for name in KEPT if is_native(name)))
def test_a_builtin_keeps_only_what_the_table_says(name):
    counts = {len(overload.parameters) for overload in BUILTINS[name].overloads}
    taken = 0
    for arguments in (chosen for count in counts for chosen in product(SAMPLES, repeat=count)):
        given = [argument.copy() if isinstance(argument, list | dict) else argument for argument in arguments]
        try:
            result = native(name)(*given)
        except Stop:
            continue
        taken += 1
        for place, argument in enumerate(given):
            if isinstance(argument, list | dict) and place not in KEPT[name]:
                assert not _holds(result, argument), (arguments, place)
    assert taken


def test_the_table_names_builtins():
    assert set(KEPT) <= set(BUILTINS)
