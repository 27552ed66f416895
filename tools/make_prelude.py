"""Makes `compiler/prelude.py`, the compiler's table of builtins, of `compiler/prelude.qwe`.

    python -m tools.make_prelude            writes the file
    python -m tools.make_prelude --check    compares it, and ends with status 1 where it differs

The file is committed, so that a start neither parses the prelude nor reads a file.
"""

from __future__ import annotations

import sys

from compiler.builtins import Overload
from tools.prelude_reader import ROOT, Entry, PreludeError, read_prelude

TABLE = ROOT / "compiler" / "prelude.py"

_HEAD = '''"""Every builtin, by its name in programs: made by `tools/make_prelude.py` of `prelude.qwe`."""

# fmt: off
# ruff: noqa: E501

from compiler.builtins import Builtin, Overload
from compiler.builtins import BuiltinParameter as P

BUILTINS: dict[str, Builtin] = {
'''


def table_text(entries: list[Entry]) -> str:
    rows = []
    for entry in entries:
        builtin = entry.builtin
        overloads = ", ".join(map(_overload, builtin.overloads))
        rest = [builtin.kind, builtin.effect, builtin.change, builtin.doc, builtin.source, builtin.hidden]
        written = ", ".join(map(repr, rest))
        rows.append(f"    {builtin.name!r}: Builtin({builtin.name!r}, ({overloads},), {written}),\n")
    return _HEAD + "".join(rows) + "}\n"


def _overload(overload: Overload) -> str:
    parameters = []
    for name, type, has_default, default in overload.parameters:
        written = f", True, {default!r}" if has_default else ""
        parameters.append(f"P({name!r}, {type!r}{written}),")
    return f"Overload(({' '.join(parameters)}), {overload.variadic}, {overload.result!r}, {overload.fails})"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("make_prelude takes nothing or --check", file=sys.stderr)
        return 2
    try:
        text = table_text(read_prelude())
    except PreludeError as error:
        print(error, file=sys.stderr)
        return 1
    if arguments and (not TABLE.exists() or TABLE.read_text(encoding="utf-8") != text):
        print(f"{TABLE.name} is not what prelude.qwe makes: run python -m tools.make_prelude", file=sys.stderr)
        return 1
    if not arguments:
        TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
