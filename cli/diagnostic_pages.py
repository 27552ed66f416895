"""The pages of `docs/diagnostics`, for `quillo check --explain CODE`: from a checkout, or as they were installed."""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path

from cli.modules import Refusal

_INSTALLED = ("share", "quillo", "diagnostics")  # as pyproject.toml says, below the scheme's data folder


def is_code(name: str) -> bool:
    """Is it a diagnostic's code, in any case of its letter? A file of that name comes first."""
    return re.fullmatch(r"[Qq][0-9]{4}", name) is not None and not os.path.exists(name)


def page(code: str) -> str:
    """The page of a code; its title alone where the pages are not installed. Raises Refusal for a code there is not."""
    from compiler.codes import CODES

    code = code.upper()
    if code not in CODES:
        raise Refusal(f"no diagnostic has the code {code}: `quillo check FILE --explain` shows those of a program")
    for folder in _folders():
        try:
            return (folder / f"{code}.md").read_text(encoding="utf-8")
        except OSError:
            continue
    return f"# {code}: {CODES[code]}\n"


def _folders() -> list[Path]:
    """Where the pages may be."""
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    installed = [Path(sysconfig.get_path("data", scheme), *_INSTALLED) for scheme in schemes]
    return [Path(__file__).resolve().parent.parent / "docs" / "diagnostics", *installed]
