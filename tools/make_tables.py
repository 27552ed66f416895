"""Makes `compiler/tables.py`, the parser's tables, from the rules in `compiler/grammar.py`.

    python -m tools.make_tables            writes the file
    python -m tools.make_tables --check    ends with status 1 where the file is not what would be written

This is the only place that imports PLY. It uses PLY's `Grammar` and `LRGeneratedTable` themselves, with the rules as
texts, and refuses any conflict that the table of precedence does not settle.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from compiler.grammar import PRECEDENCE, RULES, START, fingerprint

TARGET = Path(__file__).resolve().parent.parent / "compiler" / "tables.py"

HEADER = '''"""The parser's tables, made by `tools/make_tables.py` from the rules in `grammar.py`: don't edit.

`ROWS[STATES[s]]` gives, for a token's type in state s, what to do: n > 0 shifts and goes to state n, n < 0 reduces by
rule -n - 1. `DEFAULTS[s]` is such a reduction where a state has no other choice, else 0. `GOTO[s]` gives the state
after a reduction, by the rule's left side.
"""

'''


class GrammarProblem(Exception):
    """A grammar from which no tables can be made; the text says why."""


def make_tables() -> dict[str, Any]:
    """The tables' contents by name, as `compiler/tables.py` holds them."""
    from ply.yacc import Grammar, LRGeneratedTable

    split = [text.split() for text in RULES]
    left_sides = {words[0] for words in split}
    terminals = sorted(
        {word for words in split for word in _symbols(words) if word not in left_sides and word != "error"}
    )
    grammar = Grammar(terminals)
    for level, (associativity, *symbols) in enumerate(PRECEDENCE, 1):
        for symbol in symbols:
            grammar.set_precedence(symbol, associativity, level)
    for number, words in enumerate(split):
        grammar.add_production(words[0], words[2:], str(number), "grammar", number)
    grammar.set_start(START)
    _refuse(grammar.undefined_symbols(), "symbols without a rule")
    _refuse(grammar.find_unreachable(), "symbols that no rule reaches")
    _refuse(grammar.infinite_cycles(), "symbols that never end")
    grammar.build_lritems()
    grammar.compute_first()
    grammar.compute_follow()
    table = LRGeneratedTable(grammar)
    _refuse(table.sr_conflicts, "shift/reduce conflicts")
    _refuse(table.rr_conflicts, "reduce/reduce conflicts")
    return _pack(table, grammar)


def _symbols(words: list[str]) -> list[str]:
    symbols = words[2:]
    return symbols[:-2] if "%prec" in symbols else symbols


def _refuse(found: Any, what: str) -> None:
    if found:
        raise GrammarProblem(f"the grammar has {what}: {found}")


def _pack(table: Any, grammar: Any) -> dict[str, Any]:
    rows: list[dict[str, int]] = []
    places: dict[tuple[tuple[str, int], ...], int] = {}
    states, defaults, goto = [], [], []
    for state in range(len(table.lr_action)):
        row = {}
        for terminal, action in sorted(table.lr_action[state].items()):
            # A comparison that can't be chained leaves None, and the end of the input, behind END, is never read.
            if action is not None and action != 0:
                row[terminal] = action
        if set(row) == {"$end"}:
            row = {"END": row["$end"]}
        row.pop("$end", None)
        key = tuple(row.items())
        if key not in places:
            places[key] = len(rows)
            rows.append(row)
        states.append(places[key])
        actions = set(row.values())
        only = actions.pop() if len(actions) == 1 else 0
        defaults.append(only if only < 0 else 0)
        goto.append(dict(sorted(table.lr_goto.get(state, {}).items())))
    return {"FINGERPRINT": fingerprint(), "ROWS": rows, "STATES": states, "DEFAULTS": defaults, "GOTO": goto}


def as_text() -> str:
    """The text of `compiler/tables.py`."""
    tables = make_tables()
    lines = [HEADER, f"FINGERPRINT = {tables['FINGERPRINT']}\n\n"]
    for name in ("ROWS", "GOTO"):
        lines.append(f"{name} = [\n")
        lines.extend(f"    {row!r},\n" for row in tables[name])
        lines.append("]\n\n")
    lines.append(f"STATES = {tables['STATES']!r}\n\n")
    lines.append(f"DEFAULTS = {tables['DEFAULTS']!r}\n")
    return "".join(lines)


def main(arguments: list[str]) -> int:
    """Runs the program; gives its exit status."""
    try:
        text = as_text()
    except GrammarProblem as problem:
        print(f"make_tables: {problem}", file=sys.stderr)
        return 1
    if arguments == ["--check"]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            print("compiler/tables.py does not fit the grammar: run `make tables`", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
