"""Moves standard input and output out of a program's reach, before anything else is imported (see server/stdio.py)."""

from __future__ import annotations

import os


def take_over_descriptors() -> tuple[int, int]:
    """Moves standard input and output to other descriptors, so that nothing but the door can touch them.

    Afterwards 0 reads nothing and 1 is standard error. Gives (input, output), -1 for one that was closed at the start.
    """
    there = [_is_open(number) for number in (0, 1, 2)]
    nothing = os.open(os.devnull, os.O_RDWR)
    # A closed 0, 1 or 2 must not become the number of a file that is opened later.
    for number in (0, 1, 2):
        if not there[number] and nothing != number:
            os.dup2(nothing, number)
    taken = [_moved(number) if there[number] else -1 for number in (0, 1)]
    if nothing != 0:
        os.dup2(nothing, 0)
    os.dup2(2, 1)
    if nothing > 2:
        os.close(nothing)
    return taken[0], taken[1]


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _moved(number: int) -> int:
    """A copy of a descriptor above the first three, which programs that are started don't get."""
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    return fcntl(number, F_DUPFD_CLOEXEC, 3)
