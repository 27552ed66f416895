"""From a source to its tree: the loop that runs the tables, and the way on after an error.

`parse` never raises, whatever the text. What can't be parsed becomes `Invalid`, is reported once, and parsing goes on:
in a `${…}`, a `{…}` of markup or an attribute behind its `}`, else at the next line that does not belong to the broken
statement, with the brackets that it opened thrown away. The rules are in `parser_recovery.py`, the words in
`expectations.py`.
"""

from __future__ import annotations

from typing import Any

from compiler import parser_recovery
from compiler.automaton import DEFAULTS, GOTO, LEFT_SIDES, LENGTHS, ROWS
from compiler.diagnostics import MOST, Diagnostic, Diagnostics
from compiler.grammar import ACTIONS, START
from compiler.lexer import Lexer
from compiler.productions import Builder
from compiler.source import Source
from compiler.syntax import File, Node
from compiler.tokens import Token


def parse(source: Source, diagnostics: Diagnostics) -> File:
    """The tree of a source. Adds what it finds wrong to `diagnostics`, and says in `has_errors` if there was any."""
    reading = Reading(source, False)
    statements = reading.run()
    if reading.lexer.unbalanced and reading.lexer.never_closed < 0 and not reading.silent:
        # A brace is missing or too much, somewhere: where, the indentation tells better.
        second = Reading(source, True)
        second_statements = second.run()
        if second.problems:
            reading, statements = second, second_statements
    problems = reading.problems_to_tell()
    diagnostics.extend(problems)
    lexer = reading.lexer
    result = File(0, len(source.text), source, statements, lexer.notes, sorted(set(lexer.comments)), bool(problems))
    if not problems:
        places = [place for place, _ in lexer.docs.values()] + lexer.stray_docs
        for place in sorted(set(places)):
            end = source.text.find("\n", place)
            diagnostics.warning(
                "Q0111",
                "this `///` documents nothing: no definition stands below it",
                source,
                place,
                len(source.text) if end < 0 else end,
            )
    return result


class Reading:
    """One reading of one source: the stacks of the automaton, the lexer that feeds it, and what was found wrong."""

    def __init__(self, source: Source, trust_indentation: bool) -> None:
        self.source = source
        self.text = source.text
        self.problems: list[Diagnostic] = []
        self.silent = False  # nothing that is found from here on can be trusted
        self.reports = 0  # how many errors of the grammar were reported
        self.lexical: tuple[int, str] = (-1, "")  # place and code of the lexer's furthest report
        self.lexer: Lexer = Lexer(source, self._lexer_report, trust_indentation)
        self.build = Builder(source, self.lexer.docs, self.report)
        # The three stacks stand side by side: state, value, and where the value begins.
        self.states = [0]
        self.values: list[Any] = [None]
        self.places = [0]
        self.last: Token | None = None  # the last token that was read, before the one at hand
        self.restarted_at = -1
        self.opened_at: set[int] = set()  # places at which a missing `{` was put in

    # --- reports ------------------------------------------------------------------------------------------------

    def report(self, code: str, message: str, start: int, end: int, hint: str = "") -> None:
        """Adds an error, unless nothing is to be trusted any more."""
        if not self.silent:
            self.problems.append(Diagnostic("error", code, message, self.source, start, end, hint))

    def _lexer_report(self, code: str, message: str, start: int, end: int, hint: str) -> None:
        if self.lexer.skipping:
            return
        if start > self.lexical[0]:
            self.lexical = (start, code)
        if len(self.problems) < 20 * MOST:
            self.report(code, message, start, end, hint)

    def problems_to_tell(self) -> list[Diagnostic]:
        """What was found, without what lies behind an element or a template that is never closed: that is its text."""
        limit = self.lexer.never_closed
        if limit < 0:
            return self.problems
        return [problem for problem in self.problems if problem.start <= limit]

    # --- the automaton ------------------------------------------------------------------------------------------

    def run(self) -> list[Node]:
        """Reads the source to its end; gives its statements.

        Reductions are put off until the token that they were made for is read. Where it turns out not to fit, they are
        undone, so that an error is found with all that stands before it still as it was.
        """
        rows, defaults, goto, lengths, left_sides = ROWS, DEFAULTS, GOTO, LENGTHS, LEFT_SIDES
        actions = [None, *ACTIONS]
        states, values, places, build = self.states, self.values, self.places, self.build
        waiting: list[int] = []  # the rules of the reductions that are put off
        popped: list[list[int]] = []  # the states that each of them took off the stack
        next_token = self.lexer.next_token
        token = next_token()
        last = None
        state = 0
        while True:
            move = defaults[state] or rows[state].get(token.type)
            if move is None:
                while waiting:
                    waiting.pop()
                    states.pop()
                    states.extend(popped.pop())
                self.last = last
                token = parser_recovery.recover(self, token)
                last = self.last
                next_token = self.lexer.next_token
                state = states[-1]
            elif move < 0:
                rule = -move
                length = lengths[rule]
                waiting.append(rule)
                if length == 1:
                    popped.append([states.pop()])
                elif length:
                    popped.append(states[-length:])
                    del states[-length:]
                else:
                    popped.append([])
                left = left_sides[rule]
                if left == START:  # behind END, so that nothing else is waiting
                    return actions[rule](build, *values[-length:])  # type: ignore[misc]
                state = goto[states[-1]][left]
                states.append(state)
            else:
                if waiting:
                    popped.clear()
                    for rule in waiting:
                        length = lengths[rule]
                        action = actions[rule]
                        if length == 1:
                            if action is not None:
                                values[-1] = action(build, values[-1])
                        elif length:
                            value = action(build, *values[-length:])  # type: ignore[misc]
                            del values[1 - length :], places[1 - length :]
                            values[-1] = value
                        else:
                            values.append(action(build))  # type: ignore[misc]
                            places.append(token.start)
                    waiting.clear()
                state = move
                states.append(state)
                values.append(token)
                places.append(token.start)
                last = token
                token = next_token()
