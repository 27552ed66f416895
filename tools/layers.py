"""Checks that imports go down only, and that what does no I/O imports nothing that does.

    python -m tools.layers

Prints `path:line: PACKAGE may not import MODULE` for each import against the picture in ARCHITECTURE.md, also where it
stands inside a function; exit status 1 if there was one.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What each package may import besides itself and the standard library.
MAY_IMPORT = {
    "qasm": {"msgpack", "blake3"},
    "qvm": {"qasm", "msgpack", "blake3", "orjson", "re2", "markupsafe", "greenlet"},
    "compiler": {"qasm", "ply"},
    "server": {
        *("qasm", "qvm", "compiler", "trio", "httptools", "multipart", "brotli", "orjson", "blake3", "msgpack"),
        *("outcome", "exceptiongroup"),
    },
    "cli": {"qasm", "qvm", "compiler", "server", "click", "trio"},
}

# These packages touch no file, clock, socket, process or stream.
PURE = {"qasm", "qvm", "compiler"}
NOT_PURE = {
    "asyncio", "glob", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "select",
    "selectors", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "urllib",
}  # fmt: skip
# `time` is there for its calendar arithmetic, `datetime` likewise; calls of their clocks are refused below.
CLOCKS = {"time", "time_ns", "monotonic", "perf_counter", "now", "utcnow", "today"}
# ply builds tables; only `tools` and, where the shipped tables are stale, the parser may ask for it.
OUTPUT = {"print", "open", "input"}


def findings(path: Path, package: str) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    place = path.relative_to(ROOT)
    found = []
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module]
        for module in modules:
            top = module.split(".")[0]
            known = top in MAY_IMPORT or top not in sys.stdlib_module_names
            if known and top != package and top not in MAY_IMPORT[package] and top != "__future__":
                found.append(f"{place}:{node.lineno}: {package} may not import {module}")
            if package in PURE and top in NOT_PURE:
                found.append(f"{place}:{node.lineno}: {package} does no I/O: it may not import {module}")
        if package in PURE and isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id in OUTPUT:
                found.append(f"{place}:{node.lineno}: {package} does no I/O: it may not call {function.id}")
            if (
                isinstance(function, ast.Attribute)
                and function.attr in CLOCKS
                and isinstance(function.value, ast.Name)
                and function.value.id in ("time", "datetime", "date")
            ):
                found.append(f"{place}:{node.lineno}: {package} reads no clock: {function.value.id}.{function.attr}")
    return found


def main() -> int:
    found = []
    for package in MAY_IMPORT:
        for path in sorted((ROOT / package).rglob("*.py")):
            found += findings(path, package)
    print("\n".join(found) if found else "layers: imports go down only")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
