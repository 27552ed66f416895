"""The official conformance suite of MCP holds, where there is one to run (docs/conformance.md)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.mcp.spawned import ROOT, environment

PLACE = os.environ.get("QUILLO_CONFORMANCE", "")  # Node.js and the suite's main file: "NODE,INDEX"


@pytest.mark.skipif(not PLACE, reason="QUILLO_CONFORMANCE doesn't say where the suite is")
def test_every_check_that_applies_holds() -> None:
    command = [sys.executable, "-m", "tests.conformance.suite", *PLACE.split(",")]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("every check that applies holds\n")
