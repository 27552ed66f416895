"""Waits for the functions of a `parallel` that run side by side: a trio task for each that isn't done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qvm.host import Waiting
from qvm.values import Stop

if TYPE_CHECKING:
    from qvm.together import Group


def side_by_side(group: Group) -> Waiting:
    """A Waiting that gives the list of what the functions give, or raises the stop of the first that stops."""

    async def start() -> list[Any]:
        import trio

        problems: list[Exception] = []

        async def go_on(number: int, ended: trio.CancelScope) -> None:
            try:
                while not group.over and number in group.unfinished():
                    waiting = group.waits_for(number)
                    if waiting is None:
                        await trio.lowlevel.checkpoint()
                        group.advance(number)
                        continue
                    try:
                        value = await waiting.start()
                    except Stop as stop:
                        group.fail(number, stop)
                    else:
                        group.resume(number, value)
            except Exception as problem:  # a failure of ours: it ends this call as any other does
                problems.append(problem)
            if problems or group.stop is not None:
                ended.cancel()

        try:
            if not group.begun:
                group.begin()
            if not group.over:
                async with trio.open_nursery() as nursery:
                    for number in group.unfinished():
                        nursery.start_soon(go_on, number, nursery.cancel_scope)
            if problems:
                raise problems[0]
            return group.values()
        finally:
            group.task.charge(group.end())

    return Waiting(start)
