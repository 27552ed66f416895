"""Runs the program's functions for requests to its site: routes, server functions, and the rules of a request.

A rule (`tenant_from`, `locale_from`) runs before the function that asks for what it tells; nobody can be asked there.
"""

from __future__ import annotations

from typing import Any

from qvm.host import Question
from qvm.program import Failed, Returned
from qvm.values import Err, Stop, kind_of
from server.calls import WaitingHost
from server.programs import RunningProgram
from server.stages import Stages, run_task
from server.visits import Visit

RULES = {"tenant_from": "tenant", "locale_from": "locale"}


class SiteHost(WaitingHost):
    """The host of a route or a server function: `confirm` is true and `about` its default, at once."""

    notes_changes = False

    def __init__(self, running: RunningProgram, visit: Visit) -> None:
        super().__init__(running.world, running.world.database.scope())
        self.visit = visit

    def top_level(self) -> bool:
        return False


class RuleHost(SiteHost):
    """The host of a rule."""

    def ask(self, question: Question) -> bool | str:
        raise Stop(
            f"`{question.kind}` stands in a rule of the site, where nobody can be asked"
            f' (the question was "{question.text}")',
            kind="question",
        )


def run_rules(visit: Visit) -> Stages:
    """Tells a request's tenant and locale, where the program has rules for them. Raises Stop.

    A token's tenant is that in which it was made.
    """
    running = visit.web.running
    for name, what in RULES.items():
        rule = running.world.rules.get(name)
        if rule is None or (name == "tenant_from" and visit.token is not None):
            continue
        host = RuleHost(running, visit)
        value = yield from call_function(running, host, rule, [visit.record])
        if type(value) is Err:
            raise Stop(f"the rule of `{name}` gave an error")
        if value is not None and type(value) is not str:
            raise Stop(f"the rule of `{name}` must give str or null, got {kind_of(value)}")
        setattr(visit, what, value)


def call_function(running: RunningProgram, host: SiteHost, function: Any, arguments: list[Any]) -> Stages:
    """The value of a call: `function` is a number of the Module, or a function value. Raises Stop."""
    visit = host.visit
    assert visit is not None
    try:
        if type(function) is int:
            task = running.program.call(function, arguments, host, running.max_compute)
        else:
            task = running.program.call_value(function, arguments, host, running.max_compute)
        scope = host.scope
        scope.task, scope.max_compute, scope.request = task, running.max_compute, visit.request
        outcome = yield from run_task(task)
        visit.steps += task.steps
    finally:
        host.scope.finish()
    if type(outcome) is Failed:
        raise outcome.stop
    assert type(outcome) is Returned
    return outcome.value
