"""All makers, by opcode: exactly one for each row of the instruction table."""

from __future__ import annotations

from collections.abc import Callable

from qasm.instructions import NAMED
from qvm import (
    handlers_calls,
    handlers_control,
    handlers_markup,
    handlers_operators,
    handlers_values,
    handlers_variables,
)
from qvm.prepare import Handler, Site

GROUPS = (
    handlers_control,
    handlers_variables,
    handlers_calls,
    handlers_operators,
    handlers_values,
    handlers_markup,
)

MAKERS: dict[int, Callable[[Site], Handler]] = {
    NAMED[name].number: maker for group in GROUPS for name, maker in group.MAKERS.items()
}
