"""Who answers the questions of `quillo ask`: the person at the terminal, a flag, or a file.

Each gives, for what an input request asks, a response as MCP has it: { action, content }.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Protocol

import click

from cli.modules import Refusal
from qvm.text import visible
from server.messages import NotJson, read

_ACTIONS = ("accept", "decline", "cancel")

Response = dict[str, Any]


class Answering(Protocol):
    def answer(self, asked: dict[str, Any]) -> Response:
        """The response to a question, `asked` being the params of an elicitation."""

    def end(self) -> None:
        """The call has ended."""


def choices_of(asked: dict[str, Any]) -> list[tuple[str, str]]:
    """The (key, label) of each choice; none for a question of yes or no."""
    field = asked["requestedSchema"]["properties"].get("choice")
    return [] if field is None else [(choice["const"], choice["title"]) for choice in field["oneOf"]]


def default_of(asked: dict[str, Any]) -> str:
    key: str = asked["requestedSchema"]["properties"]["choice"]["default"]
    return key


def accepted(asked: dict[str, Any], value: Any) -> Response:
    return {"action": "accept", "content": {"choice" if choices_of(asked) else "yes": value}}


class Decided:
    """Says yes to all questions and takes the defaults, or says no and declines the choices."""

    def __init__(self, yes: bool) -> None:
        self._yes = yes

    def answer(self, asked: dict[str, Any]) -> Response:
        value: Any = self._yes
        if choices_of(asked):
            if not self._yes:
                _told(asked, "declined")
                return {"action": "decline"}
            value = default_of(asked)
        _told(asked, value if type(value) is str else "yes" if value else "no")
        return accepted(asked, value)

    def end(self) -> None:
        pass


class Listed:
    """Answers from a JSON list, in the order of the questions; `path` names it. Raises Refusal for what is no list."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        self._next = 0
        try:
            answers = read(data)
        except NotJson as problem:
            raise Refusal(f"{path}: error: {str(problem).replace('the message', 'the file')}") from None
        if type(answers) is not list:
            raise Refusal(f'{path}: error: it must be a JSON list of answers, such as [true, "draft"]')
        self._answers: list[Any] = answers

    def answer(self, asked: dict[str, Any]) -> Response:
        number = self._next + 1
        if number > len(self._answers):
            has = f"{len(self._answers)} answer{'' if len(self._answers) == 1 else 's'}"
            question = visible(asked["message"])
            raise Refusal(f'{self._path}: error: it has {has}, and question {number} is "{question}"')
        value = self._answers[self._next]
        self._next = number
        response = self._response(asked, value)
        if response is None:
            keys = [key for key, _ in choices_of(asked)]
            takes = ", ".join(json.dumps(key, ensure_ascii=False) for key in keys) if keys else "true, false"
            raise Refusal(
                f"{self._path}: error: answer {number} is {json.dumps(value, ensure_ascii=False)}, and"
                f' "{visible(asked["message"])}" takes {takes}, "decline" or "cancel"'
            )
        _told(asked, json.dumps(value, ensure_ascii=False))
        return response

    @staticmethod
    def _response(asked: dict[str, Any], value: Any) -> Response | None:
        """What an answer of the list stands for; None for one that doesn't fit the question."""
        keys = [key for key, _ in choices_of(asked)]
        # A choice may have the key "decline": then that is what is meant.
        if type(value) is str and value in keys:
            return accepted(asked, value)
        if value in ("decline", "cancel"):
            return {"action": value}
        if type(value) is bool and not keys:
            return accepted(asked, value)
        # A whole response, to see what a tool makes of one that no form would send.
        if type(value) is dict and value.get("action") in _ACTIONS and type(value.get("content", {})) is dict:
            return value
        return None

    def end(self) -> None:
        left = len(self._answers) - self._next
        if left:
            what = "1 answer was" if left == 1 else f"{left} answers were"
            click.echo(f"{self._path}: {what} not needed", err=True)


class Terminal:
    """Asks on standard error and reads standard input, line by line, until an answer is one."""

    def answer(self, asked: dict[str, Any]) -> Response:
        choices = choices_of(asked)
        click.echo(visible(asked["message"]), err=True)
        for number, (key, label) in enumerate(choices, 1):
            mark = "  (default)" if key == default_of(asked) else ""
            click.echo(f"  {number}. {visible(label)}{mark}", err=True)
        try:
            return self._chosen(asked, choices) if choices else self._ticked(asked)
        except (EOFError, KeyboardInterrupt):
            click.echo("\ncancelled: the question is left unanswered", err=True)
            return {"action": "cancel"}

    def _ticked(self, asked: dict[str, Any]) -> Response:
        while True:
            word = _line("yes or no? ").lower()
            if word in ("y", "yes", "n", "no"):
                return accepted(asked, word.startswith("y"))

    def _chosen(self, asked: dict[str, Any], choices: list[tuple[str, str]]) -> Response:
        keys = [key for key, _ in choices]
        while True:
            word = _line(f"1 to {len(choices)}? ")
            if not word:
                return accepted(asked, default_of(asked))
            if word in keys:
                return accepted(asked, word)
            if word.isascii() and word.isdigit() and 1 <= int(word[:10]) <= len(keys):
                return accepted(asked, keys[int(word) - 1])

    def end(self) -> None:
        pass


def _line(prompt: str) -> str:
    """A line that the person types, without white space around it. Raises EOFError at the end of the input."""
    click.echo(prompt, err=True, nl=False)
    sys.stderr.flush()
    line = sys.stdin.readline() if sys.stdin is not None else ""
    if not line:
        raise EOFError
    return line.strip()


def _told(asked: dict[str, Any], answer: str) -> None:
    """Shows a question that nobody was asked, and what was answered."""
    click.echo(visible(f"{asked['message']} {answer}"), err=True)
