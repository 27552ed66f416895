"""Finds questions that may come after a change, in all that a tool may run (mcp.md section 3).

A call runs again from the top when a question is answered, so what was changed before the question would be changed
twice. Two steps over the ways through each function (`compiler.control_flow`):

1. Summaries, to a fixpoint over the call graph: entered with nothing changed, may the function come back, may an error
   leave it, and may a change have happened by then? Entered after a change, it comes back, if at all, after a change.
2. From each tool, every function is gone through once with nothing changed and once with a change before it, as it is
   reached; a question met after a change is reported.

The state at a point is None (not reached), CLEAN, or the first Change that may have happened.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from compiler import control_flow as ways
from compiler import syntax
from compiler.control_flow import Change, Flow, Point, Question, flow_of
from compiler.diagnostics import Diagnostics
from compiler.effects import Effects, is_change

CLEAN = Change("", "")

State = Change | None


class _Summary:
    """How a function that is entered with nothing changed comes back, and how an error leaves it."""

    __slots__ = ("exit", "stop")

    def __init__(self) -> None:
        self.exit: State = None
        self.stop: State = None

    def join(self, exit: State, stop: State) -> bool:
        """Adds what is found; gives whether that is new. A change that is once known stays the one that is named."""
        before = (self.exit, self.stop)
        self.exit, self.stop = _either(self.exit, exit), _either(self.stop, stop)
        return self.exit is not before[0] or self.stop is not before[1]


class _Order:
    def __init__(self, effects: Effects, diagnostics: Diagnostics) -> None:
        self.effects = effects
        self.diagnostics = diagnostics
        self.flows: dict[syntax.Function, Flow] = {}
        self.summaries: dict[syntax.Function, _Summary] = {}
        self.callers: dict[syntax.Function, list[syntax.Function]] = {}
        self.reported: set[syntax.Call] = set()

    def check(self, tools: list[syntax.Function]) -> None:
        self.summarise(tools)
        entered: set[tuple[syntax.Function, bool]] = {(tool, False) for tool in tools}
        pending: deque[tuple[syntax.Function, Change]] = deque((tool, CLEAN) for tool in tools)
        while pending:
            function, entry = pending.popleft()
            states = self.states(self.flows[function], entry)
            for point in self.flows[function].points:
                state = states[point.number]
                if state is None:
                    continue
                if point.question is not None and state is not CLEAN:
                    self.report(function, point.question, state)
                callee = point.function
                if callee is None or point.sheltered or (callee, state is not CLEAN) in entered:
                    continue
                if callee in self.flows and self.effects.asks(callee):
                    entered.add((callee, state is not CLEAN))
                    pending.append((callee, state))

    def report(self, function: syntax.Function, question: Question, change: Change) -> None:
        if question.call in self.reported:
            return
        self.reported.add(question.call)
        self.diagnostics.error(
            "Q0402",
            f"`{question.name}` comes after {change.name}: ask before changing anything: "
            "the call runs again with the answer",
            self.effects.graph.of[function].source,
            question.call.callee.start,
            question.call.callee.end,
            hint=f"the change is at {change.place}",
        )

    def summarise(self, tools: list[syntax.Function]) -> None:
        """Works out the summaries of all that the tools may run: what is called first, rings until nothing changes."""
        order: list[syntax.Function] = []
        for body in self.effects.graph.reached(tools):
            if body.function is not None:
                order.append(body.function)
                self.flows[body.function] = flow_of(self.effects.graph, body.function, is_change)
                self.summaries[body.function] = _Summary()
        for function in order:
            for point in self.flows[function].points:
                if point.function is not None:
                    self.callers.setdefault(point.function, []).append(function)
        pending = deque(reversed(order))
        waiting = set(order)
        while pending:
            function = pending.popleft()
            waiting.discard(function)
            flow, summary = self.flows[function], self.summaries[function]
            states = self.states(flow, CLEAN)
            if summary.join(states[flow.exit.number], states[flow.stop.number]):
                for caller in self.callers.get(function, ()):
                    if caller not in waiting:
                        waiting.add(caller)
                        pending.append(caller)

    def states(self, flow: Flow, entry: Change) -> list[State]:
        """The state before each point, by its number, where the function is entered in a state."""
        states: list[State] = [None] * len(flow.points)
        states[flow.entry.number] = entry
        # Points are worked off in the order of the text, so that it is the first change there that is named.
        pending = [flow.entry.number]
        while pending:
            point = flow.points[heappop(pending)]
            state = states[point.number]
            assert state is not None
            after, failed = self.step(point, state)
            if after is not None:
                for target in point.next:
                    self.arrive(states, pending, target, after)
            if failed is not None and point.handler is not None:
                self.arrive(states, pending, point.handler, failed)
        return states

    @staticmethod
    def arrive(states: list[State], pending: list[int], point: Point, state: Change) -> None:
        before = states[point.number]
        joined = _either(before, state)
        if joined is not before:
            states[point.number] = joined
            heappush(pending, point.number)

    def step(self, point: Point, state: Change) -> tuple[State, State]:
        """The states after a point and, where an error may stop there, at its handler."""
        if point.kind == ways.CHANGE:
            return (point.change if state is CLEAN else state), None
        if point.kind == ways.FAIL:
            return state, state
        if point.kind == ways.CALL:
            summary = self.summaries.get(point.function) if point.function is not None else None
            if summary is None:
                return state, state
            return _after(state, summary.exit), _after(state, summary.stop)
        return state, None


def _either(known: State, found: State) -> State:
    """The state where two ways meet: a change counts more than none, and the one that is known stays."""
    return found if known is None or (known is CLEAN and found is not None) else known


def _after(state: Change, left: State) -> State:
    """The state after a call that is left, when entered clean, in the state `left`."""
    return left if state is CLEAN or left is None else state


def check_order(effects: Effects, tools: list[syntax.Function], diagnostics: Diagnostics) -> None:
    """Reports each question that may come after a change in something that one of `tools` may run (code Q0402)."""
    _Order(effects, diagnostics).check(tools)
