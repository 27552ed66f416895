"""Conversations on the wire, message by message, held against a server in this process and against a spawned one.

A transcript names its program; `>` is a line that the client sends, `<` the answer that it gets (none: a notification).
In what is sent, "$meta" stands for the client's `_meta` and "$state" for the last `requestState`; in what is expected,
"…" stands for any value.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.spawned import ROOT, Server
from tests.talking import Talk, meta

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


def steps(path: Path) -> tuple[Path, list[tuple[str, Any]]]:
    """The program of a transcript, and what is sent with what is expected (None for nothing)."""
    program, found = None, []
    for text in path.read_text("utf-8").splitlines():
        if text.startswith("program: "):
            program = ROOT / text.removeprefix("program: ")
        elif text.startswith("> "):
            found.append((text[2:], None))
        elif text.startswith("< "):
            found[-1] = (found[-1][0], json.loads(text[2:]))
        else:
            assert not text or text.startswith("#"), text
    assert program is not None
    return program, found


def fits(expected: Any, got: Any) -> bool:
    """Is it what was expected? Objects in the order of their keys, too."""
    if expected == "…":
        return True
    if isinstance(expected, dict) and isinstance(got, dict):
        return list(expected) == list(got) and all(fits(expected[key], got[key]) for key in expected)
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(fits, expected, got))
    return type(expected) is type(got) and expected == got


def converse(found: list[tuple[str, Any]], exchange: Callable[[bytes, bool], dict[str, Any] | None]) -> None:
    state = ""
    for sent, expected in found:
        text = sent.replace('"$meta"', json.dumps(meta())).replace("$state", state)
        answer = exchange(text.encode(), expected is not None)
        if expected is None:
            assert answer is None, sent
            continue
        assert fits(expected, answer), f"{sent}\nexpected {json.dumps(expected)}\ngot      {json.dumps(answer)}"
        assert answer is not None
        state = answer.get("result", {}).get("requestState", state)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_in_this_process(path, tmp_path):
    program, found = steps(path)
    talk = Talk(program.read_text("utf-8"), tmp_path)
    converse(found, lambda data, _: talk.raw(data))
    talk.close()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_over_stdio(path, tmp_path):
    program, found = steps(path)
    shutil.copy(program, tmp_path / "main.qwe")
    with Server(tmp_path / "main.qwe") as server:

        def exchange(data: bytes, answered: bool) -> dict[str, Any] | None:
            server.write(data + b"\n")
            return server.read() if answered else None

        converse(found, exchange)
        assert server.end()[:2] == (0, b""), "nothing more than was expected"
