"""What each function touches: effects, changes, questions, and whether all of it is in sight.

The rules are those of language.md section 8 and mcp.md section 1. Facts spread over the call graph from what is called
to what calls it, each with the place where it comes in, so that `Effects.why` can tell the whole way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from compiler import syntax
from compiler.call_graph import CALL, OWN, SHELTERED, VALUE, Body, CallGraph, Link, Use, children, function_of
from compiler.diagnostics import Diagnostics
from compiler.names import Program
from compiler.source import Source
from compiler.sql_reading import may_change, why_not_reading

EFFECTS = ("db", "fs", "http", "net")  # in the order in which messages name them

# Further facts about a function, beside its effects.
UNSEEN = "unseen"  # it may run code that is out of sight
STATEMENT = "statement"  # it may run a statement that is not surely a `select` written in the program
CHANGE = "change"  # it changes a session, a cookie, a file, a top-level variable … (the database apart)
ASKS = "asks"  # it asks the person

STATEMENTS = ("db.query", "db.one", "db.exec")
QUESTIONS = ("confirm", "about")
# What makes a question's text another one in each round.
_CHANGING = ("now", "random", "uuid")


class Step(NamedTuple):
    """One line of a reason: what is found where."""

    text: str
    source: Source
    start: int


class Finding(NamedTuple):
    """A fact that a body brings in by itself, at `node`."""

    fact: str
    node: syntax.Node
    text: str


class _Fact(NamedTuple):
    """Where a fact comes in: at `node`, by itself (`text`) or through `through`, a function that it comes to."""

    node: syntax.Node
    text: str
    through: syntax.Function | None


class Reason(NamedTuple):
    """Why a hint is not given: `body` has the `fact`, or, where `fact` is "", what `text` says of it."""

    body: Body
    fact: str
    text: str = ""


class Hints(NamedTuple):
    """What an AI client may be told of a tool (mcp.md section 1), and the reasons where it may not be."""

    read_only: bool
    closed_world: bool
    against_read_only: list[Reason]
    against_closed_world: list[Reason]


class Effects:
    """The facts about every function of a program. Functions that the program does not have, have no facts."""

    def __init__(self, graph: CallGraph) -> None:
        self.graph = graph
        self._facts: dict[Body, dict[str, _Fact]] = {body: self._own_facts(body) for body in graph.bodies}
        self._spread()
        self._escaping = self._facts_of_escaping()

    def uses(self, function: syntax.Function) -> tuple[str, ...]:
        """The effects that a function uses through every call in sight, in the order of EFFECTS."""
        facts = self._of(function)
        return tuple(effect for effect in EFFECTS if effect in facts)

    def missing(self, function: syntax.Function) -> tuple[str, ...]:
        """The effects that a function uses and its `with` does not say; none where it has no `with`."""
        if function.effects is None:
            return ()
        return tuple(effect for effect in self.uses(function) if effect not in function.effects)

    def asks(self, function: syntax.Function) -> bool:
        """Whether it may ask the person; a question where nobody can be asked (in `map` …) is none."""
        return ASKS in self._of(function)

    def in_sight(self, function: syntax.Function) -> bool:
        """Whether everything that it may run is in sight."""
        return UNSEEN not in self._of(function)

    def hints(self, function: syntax.Function) -> Hints:
        body, facts = self.graph.of[function], self._of(function)
        said = () if function.effects is None else tuple(function.effects)
        hidden = self._escaping if UNSEEN in facts else {}
        if function.effects is None and any(effect in facts or effect in hidden for effect in EFFECTS):
            reason = Reason(body, "", "it uses an effect and has no `with`")
            return Hints(False, False, [reason], [reason])
        against_read_only = [Reason(body, fact) for fact in (UNSEEN, STATEMENT, CHANGE) if fact in facts]
        against_closed_world = []
        for effect in ("fs", "net", "http"):
            if effect in facts:
                reason = Reason(body, effect)
            elif effect in said:
                reason = Reason(body, "", f"its `with` names {effect}")
            elif effect in hidden:
                reason = hidden[effect]
            else:
                continue
            against_read_only.append(reason)
            if effect != "fs":
                against_closed_world.append(reason)
        return Hints(not against_read_only, not against_closed_world, against_read_only, against_closed_world)

    def steps(self, reason: Reason) -> list[Step]:
        """A reason in full: the way to what is against the hint."""
        if reason.fact:
            return self._way(reason.body, reason.fact)
        return [Step(reason.text, reason.body.source, reason.body.function.start if reason.body.function else 0)]

    def why(self, function: syntax.Function, fact: str) -> list[Step]:
        """The way by which a fact comes to a function: first its own call, last what brings the fact in."""
        body = self.graph.of.get(function)
        return [] if body is None else self._way(body, fact)

    def _way(self, start: Body, fact: str) -> list[Step]:
        steps: list[Step] = []
        body: Body | None = start
        while body is not None and fact in self._facts[body]:
            found = self._facts[body][fact]
            steps.append(Step(found.text, body.source, found.node.start))
            # The next one had the fact before this one, so that a ring is never gone round.
            body = None if found.through is None else self.graph.of.get(found.through)
        return steps

    def _of(self, function: syntax.Function) -> dict[str, _Fact]:
        body = self.graph.of.get(function)
        return {} if body is None else self._facts[body]

    # --- facts ---------------------------------------------------------------------------------------------------

    def _own_facts(self, body: Body) -> dict[str, _Fact]:
        facts: dict[str, _Fact] = {}
        for fact, node, text in self.findings(body):
            facts.setdefault(fact, _Fact(node, text, None))
        return facts

    def findings(self, body: Body) -> Iterator[Finding]:
        """All that a body does by itself."""
        for use in body.uses:
            name = use.builtin.name
            if use.builtin.effect:
                yield Finding(use.builtin.effect, use.node, f"`{name}` uses {use.builtin.effect}")
            if name in STATEMENTS:
                reason = self._against_statement(use)
                if reason:
                    yield Finding(STATEMENT, use.node, reason)
            elif use.builtin.change or name == "db.open":
                yield Finding(CHANGE, use.node, f"`{name}` changes something")
            if name in QUESTIONS and not use.handed:
                yield Finding(ASKS, use.node, f"`{name}` asks")
        for symbol, node in body.writes:
            yield Finding(CHANGE, node, f"the variable `{symbol.name}` is changed")
        for node in body.unseen:
            yield Finding(UNSEEN, node, "what is called here is not in sight")

    def _against_statement(self, use: Use) -> str:
        texts = statements_of(self.graph, use)
        if texts is None:
            return f"the statement of `{use.builtin.name}` is not written in the program"
        for text in texts:
            reason = why_not_reading(text)
            if reason:
                return f"the statement of `{use.builtin.name}` {reason}"
        return ""

    def _spread(self) -> None:
        """Carries facts from what is called to what calls it, until nothing is new: each once over each link."""
        callers: dict[syntax.Function, list[tuple[Body, Link]]] = {}
        for body in self.graph.bodies:
            for link in body.links:
                callers.setdefault(link.function, []).append((body, link))
        pending = deque((body, fact) for body in self.graph.bodies for fact in self._facts[body])
        while pending:
            body, fact = pending.popleft()
            if body.function is None:
                continue
            for caller, link in callers.get(body.function, ()):
                if fact in self._facts[caller] or (fact == ASKS and link.kind == SHELTERED):
                    continue
                text = way_text(link, body)
                self._facts[caller][fact] = _Fact(link.node, text, body.function)
                pending.append((caller, fact))

    def _facts_of_escaping(self) -> dict[str, Reason]:
        """The facts of all functions that the program takes as values: what a call out of sight may come to."""
        found: dict[str, Reason] = {}
        for body in self.graph.bodies:
            for link in body.links:
                if link.kind == VALUE:
                    for fact in self._of(link.function):
                        found.setdefault(fact, Reason(self.graph.of[link.function], fact))
            for use in body.uses:
                if use.call is None and use.builtin.effect:
                    found.setdefault(use.builtin.effect, Reason(body, use.builtin.effect))
        return found


_WAYS = {
    CALL: "it calls {}",
    OWN: "it runs {}",
    SHELTERED: "it has {} run",
    VALUE: "it takes {} as a value",
}


def way_text(link: Link, target: Body) -> str:
    """How a body comes to another: "it calls `f`"."""
    return _WAYS[link.kind].format(target.title)


def statements_of(graph: CallGraph, use: Use) -> list[str] | None:
    """The texts of the statement that a call of `db.query`, `db.one` or `db.exec` may run; None: not all in sight."""
    if use.call is None:
        return None
    first = next((a.value for a in use.call.arguments if a.name in (None, "statement")), None)
    return None if first is None else graph.constants.texts(first)


def is_change(graph: CallGraph, use: Use) -> bool:
    """Whether a call surely changes something that a question may not follow (mcp.md section 3).

    A statement that is written in the program counts where it is not known to read. One that is not is left to the run,
    but for `db.exec`, which is there to write.
    """
    if use.builtin.name not in STATEMENTS:
        return bool(use.builtin.change)
    texts = statements_of(graph, use)
    if texts is None:
        return use.builtin.name == "db.exec"
    return any(may_change(text) for text in texts)


def analyse(program: Program, diagnostics: Diagnostics) -> Effects:
    """Finds out what every function does, and reports what is wrong with effects and questions (codes Q04xx).

    What is wrong with tools as such (codes Q05xx, among them a tool's `with`) is `compiler.tools`' to report.
    """
    graph = CallGraph(program)
    effects = Effects(graph)
    for body in graph.bodies:
        if body.function is not None:
            _check_with(effects, body, body.function, diagnostics)
        _check_questions(graph, body, diagnostics)
    functions = [node for unit in program.units for node in unit.file.statements if isinstance(node, syntax.Function)]
    tools = [function for function in functions if function.mcp]
    _check_dialogs(graph, tools, diagnostics)
    if any(effects.asks(tool) for tool in tools):
        from compiler.question_order import check_order

        check_order(effects, tools, diagnostics)
    return effects


def _check_dialogs(graph: CallGraph, tools: list[syntax.Function], diagnostics: Diagnostics) -> None:
    """`ask` shows a dialog in the browser: an error in all that a tool may run."""
    for body in graph.reached(tools):
        for use in body.uses:
            # With three arguments it is refused wherever it stands.
            if use.builtin.name == "ask" and (use.call is None or len(use.call.arguments) < 3):
                diagnostics.error(
                    "Q0404",
                    "`ask` shows a dialog in the browser, and a tool has none: use `about(question, choices, default)`",
                    body.source,
                    use.node.start,
                    use.node.end,
                )


def with_clause(names: Iterable[str]) -> str:
    return "with " + ", ".join(names)


def _check_with(effects: Effects, body: Body, function: syntax.Function, diagnostics: Diagnostics) -> None:
    missing = effects.missing(function)
    if missing and not function.mcp:
        place = function.name_start or function.start
        diagnostics.warning(
            "Q0401",
            f"{body.title} uses {', '.join(missing)}, and its `with` does not say so: "
            f"`{with_clause([*(function.effects or ()), *missing])}`",
            body.source,
            place,
            place + len(function.name or ""),
        )


def _check_questions(graph: CallGraph, body: Body, diagnostics: Diagnostics) -> None:
    for use in body.uses:
        name = use.builtin.name
        if name in QUESTIONS and use.call is not None:
            text = next((a.value for a in use.call.arguments if a.name in (None, "question")), None)
            changing = None if text is None else _changing_part(graph, text)
            if changing is not None:
                diagnostics.warning(
                    "Q0403",
                    f"`{changing}()` makes another question of this each time the call runs: "
                    "the answer never reaches it",
                    body.source,
                    use.call.start,
                    use.call.end,
                )
        if name == "about" and body.kind == "component":
            diagnostics.error(
                "Q0405",
                "a component can't use `about`: `ask(message, options)` asks in the page",
                body.source,
                use.node.start,
                use.node.end,
            )


def _changing_part(graph: CallGraph, text: syntax.Expression) -> str | None:
    """The first of `now`, `random` and `uuid` that is called in a text, also in a variable that stands in it."""
    seen: set[syntax.Node] = set()
    pending: list[syntax.Node] = [text]
    while pending:
        node = pending.pop()
        if node in seen or isinstance(node, syntax.Function):
            continue
        if isinstance(node, syntax.Field) and isinstance(node.value, syntax.Name):
            continue  # one field of a variable: not what the whole of it was made with
        seen.add(node)
        if isinstance(node, syntax.Call):
            target = function_of(node.callee)
            if target is not None and not isinstance(target, syntax.Function) and target.name in _CHANGING:
                return target.name
        if isinstance(node, syntax.Name) and node.symbol is not None and node.symbol.kind != "global":
            value = graph.constants.values.get(node.symbol)
            if isinstance(value, (syntax.Call, syntax.Template, syntax.Binary)):
                pending.append(value)
        pending += reversed(list(children(node)))
    return None
