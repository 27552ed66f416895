"""Several processes behind one port: their start, their ends, and what signals do to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from server import instances
from server.instances import Instances
from server.listening import listen
from tests.http.spawned import Running

# A process that serves nothing, but says that it would, and lives as long as its parent.
SERVES = "import os, sys; ready, alive = map(int, sys.argv[1:3]); os.write(ready, b'r'); os.close(ready);"
LIVES = SERVES + "os.read(alive, 1)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + LIVES


class Kept:
    """Instances of a script, until one of them, or the test, ends it."""

    def __init__(self, *scripts: str, ready: Callable[[], None] = lambda: None) -> None:
        """`scripts`: the first processes run these, all others the last."""
        self.started = 0
        self.lines: list[str] = []
        self.ready = 0

        def command(listener: int, ready: int, alive: int) -> list[str]:
            script = scripts[min(self.started, len(scripts) - 1)]
            self.started += 1
            if not script:
                return ["/there is/no such program"]
            return [sys.executable, "-S", "-c", script, str(ready), str(alive)]

        def all_ready() -> None:
            self.ready += 1
            ready()

        with listen("127.0.0.1", 0) as listener:
            kept = Instances(command, listener.fileno(), 2, self.lines.append, dict(os.environ))
            self.status = trio.run(kept.run, all_ready)


def end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def alive(pid: int) -> bool:
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(found.stdout.strip()) and not found.stdout.startswith("Z")


def test_all_are_ready_before_it_is_said_and_all_end_when_told():
    kept = Kept(LIVES, ready=end)
    assert (kept.status, kept.started, kept.ready, kept.lines) == (0, 2, 1, [])


def test_a_second_one_begins_when_the_first_is_ready(tmp_path):
    note = f"open({str(tmp_path / 'note')!r}, 'x').close();"  # fails where it is there
    first = LIVES.replace("os.write", note + "os.write")
    second = LIVES.replace("os.write", f"os.unlink({str(tmp_path / 'note')!r}); os.write")
    assert Kept(first, second, ready=end).status == 0


@pytest.mark.parametrize(("code", "status"), [("3", 3), ("0", 0)])
def test_a_program_that_does_not_come_to_serve_ends_all_with_its_status(code, status):
    kept = Kept(f"raise SystemExit({code})", LIVES)
    assert (kept.status, kept.started, kept.ready, kept.lines) == (status, 1, 0, [])


def test_one_that_is_killed_before_it_serves_is_told_of():
    kept = Kept("import os; os.kill(os.getpid(), 9)")
    assert (kept.status, kept.lines) == (1, ["quillo: instance 1 ended (SIGKILL) before it served"])


def test_one_that_ends_is_started_again_and_again_until_it_is_given_up(monkeypatch):
    monkeypatch.setattr(instances, "_FIRST_WAIT", 0.0)
    monkeypatch.setattr(instances, "_MOST_QUICK", 3)
    kept = Kept(LIVES, SERVES + "raise SystemExit(5)")
    assert (kept.status, kept.started) == (1, 4)
    assert kept.lines == [
        "quillo: instance 2 ended (status 5): it is started again",
        "quillo: instance 2 ended (status 5): it is started again",
        "quillo: instance 2 ended (status 5): it is started again",
        "quillo: instance 2 ended 3 times at once: giving up",
    ]


def test_one_that_ends_once_is_back(monkeypatch):
    monkeypatch.setattr(instances, "_FIRST_WAIT", 0.0)
    back = f"os.kill({os.getpid()}, 15);"
    kept = Kept(LIVES, SERVES, LIVES.replace("os.write", back + "os.write"))
    assert (kept.status, kept.started) == (0, 3)
    assert kept.lines == ["quillo: instance 2 ended (status 0): it is started again"]


def test_a_process_that_cannot_be_made_is_one_clear_line():
    kept = Kept("")
    assert (kept.status, kept.lines) == (1, ["quillo: instance 1 can't be started: no such file or directory"])


def test_one_that_does_not_end_is_killed(monkeypatch, tmp_path):
    monkeypatch.setattr(instances, "_GRACE", 0.2)
    note = tmp_path / "pids"
    noted = f"import os; open({str(note)!r}, 'a').write(str(os.getpid()) + ' ');"
    kept = Kept(noted + DEAF.replace("os.read(alive, 1)", "signal.pause()"), ready=end)
    assert kept.status == 0
    pids = [int(pid) for pid in note.read_text().split()]
    assert len(pids) == 2
    while any(alive(pid) for pid in pids):
        pass


SLOW = """
route GET /slow { print("begun"); sleep("600ms"); "done" }
"""


@pytest.mark.slow
@pytest.mark.parametrize("to_all", [True, False])
def test_an_interrupt_of_the_terminal_lets_requests_under_way_end(tmp_path: Path, to_all: bool):
    program = tmp_path / "main.qwe"
    program.write_text(SLOW)
    server = Running(
        program, "--instances", "2", env={"QUILLO_SECRET": "0123456789abcdef0123456789abcdef"}, start_new_session=True
    )
    found: list[tuple[int, str]] = []

    def ask() -> None:
        status, _, body = server.send("GET", "/slow")
        found.append((status, body))

    thread = threading.Thread(target=ask)
    thread.start()
    while "begun" not in server.next_line():
        pass
    # A terminal sends it to each process of the group that is in front.
    (os.killpg if to_all else os.kill)(server.process.pid, signal.SIGINT)
    thread.join()
    server.end()
    assert found == [(200, "done")]
    assert server.process.returncode == 0
