"""Says of a tool's hints why they hold, or what stands against them: `quillo check --why` (mcp.md, section 1).

The judgement is `Effects.hints`; here it is put into words, with every place that counts and the calls that lead there.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler import syntax
from compiler.call_graph import Body, Link
from compiler.effects import (
    CHANGE,
    EFFECTS,
    STATEMENT,
    STATEMENTS,
    UNSEEN,
    Effects,
    Hints,
    Reason,
    Step,
    way_text,
    with_clause,
)
from compiler.source import Source

_OTHER_SITES = ("net", "http")
_NOT_READING = ("fs", *_OTHER_SITES)  # effects


def hint_reasons(effects: Effects, function: syntax.Function) -> list[str]:
    """The lines that tell of both hints of a tool: `FILE:LINE: …` for each place that counts."""
    return _Reasons(effects, function).lines()


class _Reasons:
    def __init__(self, effects: Effects, function: syntax.Function) -> None:
        self.effects = effects
        self.function = function
        self.body = effects.graph.of[function]
        self.reached = effects.graph.reached([function])
        self.ways = self._ways()

    def lines(self) -> list[str]:
        hints = self.effects.hints(self.function)
        place = _place(self.body.source, self.function.name_start or self.function.start)
        return [
            f"{place}: tool {self.body.title}",
            *self._hint("readOnlyHint: true", hints.read_only, self._for_read_only(), self._against_read_only(hints)),
            *self._hint(
                "openWorldHint: false", hints.closed_world, self._for_closed_world(), self._against_closed_world(hints)
            ),
        ]

    @staticmethod
    def _hint(hint: str, holds: bool, reasons: Iterator[str], against: Iterator[str]) -> Iterator[str]:
        yield f"{hint} {'holds' if holds else 'does not hold'}:"
        yield from reasons if holds else against

    # --- why a hint holds ----------------------------------------------------------------------------------------

    def _for_read_only(self) -> Iterator[str]:
        others = [body for body in self.reached if body is not self.body]
        parts = ["itself", *dict.fromkeys(body.title for body in others if body.kind != "lambda")]
        nameless = sum(body.kind == "lambda" for body in others)
        if nameless:
            parts.append("a function without a name" if nameless == 1 else f"{nameless} functions without a name")
        yield f"  all that it may run is in sight: {', '.join(parts)}"
        statements = False
        for body in self.reached:
            for use in body.uses:
                if use.builtin.name in STATEMENTS:
                    statements = True
                    place = _place(body.source, use.node.start)
                    statement = f"the statement of `{use.builtin.name}`"
                    yield f"  {place}: {statement} is a `select` written here, with functions of SQLite's own alone"
        if not statements:
            yield "  it runs no statement of a database"
        yield "  it changes no session, cookie, file or top-level variable"
        yield f"  {self._with(_NOT_READING)}"

    def _for_closed_world(self) -> Iterator[str]:
        for body in self.reached:
            for node in body.unseen:
                place = _place(body.source, node.start)
                yield f"  {place}: what is called here is not in sight, but no function that it may be uses net or http"
        yield "  nothing that is in sight uses net or http"
        yield f"  {self._with(_OTHER_SITES)}"

    def _with(self, against: tuple[str, ...]) -> str:
        if self.function.effects is None:
            return "it has no `with`, and uses no effect"
        names = f"`{with_clause(self.function.effects)}`" if self.function.effects else "`with` alone"
        return f"its {names} has none of {', '.join(effect for effect in EFFECTS if effect in against)}"

    # --- what stands against it ----------------------------------------------------------------------------------

    def _against_read_only(self, hints: Hints) -> Iterator[str]:
        yield from self._against(hints.against_read_only, (UNSEEN, STATEMENT, CHANGE, *_NOT_READING))

    def _against_closed_world(self, hints: Hints) -> Iterator[str]:
        out_of_sight = any(reason.fact and reason.body not in self.ways for reason in hints.against_closed_world)
        yield from self._against(hints.against_closed_world, ((UNSEEN,) if out_of_sight else ()) + _OTHER_SITES)

    def _against(self, reasons: list[Reason], facts: tuple[str, ...]) -> Iterator[str]:
        """First what the head of the tool says, then each place in the code, then what is out of sight."""
        head = _place(self.body.source, self.function.name_start or self.function.start)
        if self.function.effects is None:
            for reason in reasons:
                if not reason.fact:
                    yield f"  {head}: {reason.text}"
                    used = self.effects.uses(self.function)
                    yield (
                        f"    `{with_clause(used)}` says what it uses" if used else "    a `with` says what it may use"
                    )
        else:
            yield from (f"  {head}: its `with` names {effect}" for effect in self.function.effects if effect in facts)
        for body in self.reached:
            seen: set[syntax.Node] = set()
            for finding in sorted(self.effects.findings(body), key=lambda finding: finding.node.start):
                if finding.fact in facts and finding.node not in seen:
                    seen.add(finding.node)
                    yield from _steps([*self.ways[body], Step(finding.text, body.source, finding.node.start)])
        for reason in reasons:
            if reason.fact and reason.body not in self.ways:
                place = "" if reason.body.function is None else f"{reason.body.title} is taken as a value: "
                steps = self.effects.steps(reason)
                yield from _steps([Step(f"{place}{steps[0].text}", steps[0].source, steps[0].start), *steps[1:]])

    def _ways(self) -> dict[Body, list[Step]]:
        """The shortest way from the tool to each body that it may run."""
        ways: dict[Body, list[Step]] = {self.body: []}
        for body in self.reached:
            for link in body.links:
                target = self.effects.graph.of.get(link.function)
                if target is not None and target not in ways:
                    ways[target] = [*ways[body], _way(body, link, target)]
        return ways


def _way(body: Body, link: Link, target: Body) -> Step:
    return Step(way_text(link, target), body.source, link.node.start)


def _steps(steps: list[Step]) -> Iterator[str]:
    """A way, each step further in than the one before."""
    for depth, step in enumerate(steps, 1):
        yield f"{'  ' * depth}{_place(step.source, step.start)}: {step.text}"


def _place(source: Source, start: int) -> str:
    return f"{source.name}:{source.line(start)}"
