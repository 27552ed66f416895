"""What one tool's call runs with: its host, which knows the answers to its questions and what it has changed.

The order in which `ask` looks at things is that of mcp.md, section 3: a question that nobody may be asked, a change
before it, a client that can't ask, an answer that is there, and then the limits of what is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, NoReturn, Self

from qvm.host import Question, Unanswered, Waiting
from qvm.values import Stop
from server.asking import DECLINED, MOST_QUESTIONS, NO, NO_CHOICE, NONE, YES, Answers, Asking, Entry
from server.database import Scope, may_change
from server.host import ProgramHost, World

if TYPE_CHECKING:
    from qvm.together import Group

# Host calls that change something, whatever they are given.
CHANGES = frozenset(
    ("write_file", "append_file", "delete_file", "fetch", "set_session", "end_session", "mcp_token", "revoke_mcp_token")
)
# Those that may, as their statement says.
STATEMENTS = frozenset(("db.query", "db.one", "db.exec"))

CANNOT_ASK = "this needs the user's yes, and this client cannot ask"
TOO_MANY = f"this call asked {MOST_QUESTIONS} times without coming to an end"
CHANGING = "this question changes each time it is asked"


class WaitingHost(ProgramHost):
    """A host that others wait beside: what takes time gives Waiting."""

    def wait(self, seconds: float) -> Waiting:
        async def start() -> None:
            import trio

            await trio.sleep(seconds)

        return Waiting(start)

    def in_background(self, work: Callable[[], Any]) -> Waiting:
        async def start() -> Any:
            import trio

            return await trio.to_thread.run_sync(work, abandon_on_cancel=True)

        return Waiting(start)

    # --- `parallel` (see qvm.host.Host)

    def beside(self) -> Self | None:
        """The host of a function that runs beside others: with statements and transactions of its own."""
        if self.scope.depth:
            return None  # the statements of a transaction stand in one order
        host = copy(self)
        host.scope = self.scope.beside()
        return host

    def side_by_side(self, group: Group) -> Waiting:
        from server.side_by_side import side_by_side

        return side_by_side(group)

    def joined(self, host: Self) -> None:
        if host.scope is not self.scope:
            host.scope.finish()


class CallHost(WaitingHost):
    """The host of one tool's call. `notes` are the questions that were not asked, for the model to know."""

    notes_changes = True

    def __init__(
        self,
        world: World,
        scope: Scope,
        asking: Asking,
        answers: Answers | None,
        can_ask: bool,
        read_only: bool = False,
    ) -> None:
        super().__init__(world, scope)
        self.asking = asking
        self.answers = answers
        self.can_ask = can_ask
        self.read_only = read_only
        self.meta: dict[str, Any] = {}  # what the client sends with each request
        self.may_ask = True  # the door says otherwise of a tool that never asks
        self.change = ""  # the first change of this call
        self.notes: list[str] = []
        self._seen: dict[str, int] = {}  # how often a place in the code has asked in this run

    def call(self, name: str, arguments: list[Any]) -> Any:
        if not self.change and (name in CHANGES or (name in STATEMENTS and self._may_change(arguments))):
            self.change = f"`{name}`"
        return super().call(name, arguments)

    def _may_change(self, arguments: list[Any]) -> bool:
        """May a statement change the database? In a call that only reads the database itself refuses that."""
        return not self.read_only and bool(arguments) and may_change(arguments[0])

    def changed(self, what: str) -> None:
        self.change = self.change or what

    def top_level(self) -> bool:
        return False

    def beside(self) -> Self | None:
        return None if self.may_ask else super().beside()

    def joined(self, host: Self) -> None:
        super().joined(host)
        self.change = self.change or host.change

    # --- questions

    def ask(self, question: Question) -> bool | str:
        name = question.kind
        if question.sheltered:
            raise Stop(
                f"`{name}` stands in a function that was given to a builtin, where nobody can be asked:"
                f" ask before (the question was {_quoted(question.text)})",
                kind="question",
            )
        if self.change:
            raise Stop(
                f"`{name}` comes after {self.change}: ask before changing anything: the call runs again with the"
                f" answer (the question was {_quoted(question.text)})",
                kind="question",
            )
        if not self.can_ask:
            return self._not_asked(question)
        entry = self._entry(question)
        if entry.answer == NONE:
            self._ask_anew(question, entry)
        if name == "confirm":
            return entry.answer == YES
        if entry.answer == DECLINED:
            raise Stop(f"the user did not answer {_quoted(question.text)}", kind="declined")
        for key in question.choices:
            if self.asking.digest("choice", key) == entry.choice:
                return key
        # It is none of them: the client sent something else, or the choices are no longer the same.
        entry.answer = NONE
        self._ask_anew(question, entry)

    def _not_asked(self, question: Question) -> str:
        if question.kind == "confirm" or question.default is None:
            raise Stop(CANNOT_ASK, kind="cannot_ask")
        label = question.choices.get(question.default, question.default)
        note = f"the user was not asked {_quoted(question.text)}: the default {_quoted(label)} was taken"
        if note not in self.notes:
            if len(self.notes) >= MOST_QUESTIONS:
                raise Stop(TOO_MANY, kind="too_many")
            self.notes.append(note)
        return question.default

    def _entry(self, question: Question) -> Entry:
        """What is known of a question: of the same place in the code, count there, and text."""
        count = self._seen[question.place] = self._seen.get(question.place, 0) + 1
        if self.answers is None:
            self.answers = Answers()
        place = self.asking.digest("place", f"{question.kind} {question.place} {count}")
        text = self.asking.digest("question", question.text)
        entry = self.answers.entries.get(place)
        if entry is None:
            entry = self.answers.entries[place] = Entry(place, text, NONE, 0, NO_CHOICE)
        elif entry.text != text:
            entry.text, entry.answer, entry.choice = text, NONE, NO_CHOICE
            entry.changes += 1
        else:
            entry.changes = 0
        return entry

    def _ask_anew(self, question: Question, entry: Entry) -> NoReturn:
        assert self.answers is not None
        if entry.changes >= 2:
            raise Stop(CHANGING, kind="changing")
        if self.answers.asked >= MOST_QUESTIONS:
            raise Stop(TOO_MANY, kind="too_many")
        self.answers.asked += 1
        self.answers.waiting = entry
        raise Unanswered(question)


def take_answer(answers: Answers, asking: Asking, response: dict[str, Any] | None) -> bool:
    """Puts the client's response with the question that waits for it; False where it brings none.

    `response` is an elicitation result, { action, content }, already checked for its shape. Whether the question is a
    `confirm` or an `about`, and what can be chosen, is seen when the function asks again.
    """
    entry = answers.waiting
    if entry is None or response is None:
        return False
    if response["action"] != "accept":
        entry.answer = DECLINED
        return True
    content = response.get("content") or {}
    entry.answer = YES if content.get("yes") is True else NO
    choice = content.get("choice")
    entry.choice = asking.digest("choice", choice) if type(choice) is str else NO_CHOICE
    return True


def form_of(question: Question) -> dict[str, Any]:
    """The input request that asks a question: `elicitation/create` with a form of one field."""
    if question.kind == "confirm":
        field: dict[str, Any] = {"type": "boolean", "title": question.text, "default": False}
        properties, required = {"yes": field}, None
    else:
        field = {
            "type": "string",
            "oneOf": [{"const": key, "title": label} for key, label in question.choices.items()],
            "default": question.default,
        }
        properties, required = {"choice": field}, ["choice"]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    params = {"mode": "form", "message": question.text, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def _quoted(text: str) -> str:
    return f'"{text}"'
