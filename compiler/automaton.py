"""The automaton that the grammar's tables describe, and what it could read in a given state.

The tables (`tables.py`) are made from the rules beforehand. Where they don't fit the rules, new ones are made in memory
if PLY is there, so that a change of the grammar can be tried at once.
"""

from __future__ import annotations

from typing import Any

from compiler import tables
from compiler.grammar import RULES, START, fingerprint


def _load() -> tuple[list[dict[str, int]], list[int], list[dict[str, int]]]:
    """Rows by state, the reduction that a state makes whatever follows (0 for none), and states after a reduction."""
    if fingerprint() == tables.FINGERPRINT:
        return [tables.ROWS[row] for row in tables.STATES], tables.DEFAULTS, tables.GOTO
    try:
        from importlib import import_module

        made: dict[str, Any] = import_module("tools.make_tables").make_tables()
    except ImportError:
        raise SystemExit("quillo: the parser's tables do not fit its grammar: run `make tables`") from None
    return [made["ROWS"][row] for row in made["STATES"]], made["DEFAULTS"], made["GOTO"]


ROWS, DEFAULTS, GOTO = _load()
LEFT_SIDES = ["", *(text.split(None, 1)[0] for text in RULES)]
LENGTHS = [0, *(len(text.partition(" %prec")[0].split()) - 2 for text in RULES)]


def accepts(states: list[int], type: str) -> bool:
    """Could a token of this type be read with these states on the stack? Copies nothing of the stack."""
    depth = len(states)
    above: list[int] = []
    state = states[-1]
    while True:
        move = DEFAULTS[state] or ROWS[state].get(type, 0)
        if move >= 0:
            return move > 0
        length = LENGTHS[-move]
        if length <= len(above):
            del above[len(above) - length :]
        else:
            depth -= length - len(above)
            above.clear()
        left = LEFT_SIDES[-move]
        if left == START:
            return False
        state = GOTO[above[-1] if above else states[depth - 1]][left]
        above.append(state)


_terminals: list[str] = []


def acceptable(states: list[int]) -> list[str]:
    """The types of all tokens that could be read with these states on the stack."""
    if not _terminals:
        _terminals.extend(sorted({type for row in ROWS for type in row}))
    return [type for type in _terminals if accepts(states, type)]
