"""The questions to the person: the arguments of `confirm` and `about` are looked at and made into a Question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qvm.host import Question
from qvm.mistakes import refuse_error
from qvm.values import Stop, kind_of

if TYPE_CHECKING:
    from qvm.interpreter import Task

QUESTIONS = {"confirm": ("question",), "about": ("question", "choices", "default")}


def question(task: Task, name: str, arguments: list[Any], pc: int) -> Question:
    """The question that stands at `pc` of the top frame."""
    parameters = QUESTIONS[name]
    if len(arguments) != len(parameters):
        from qvm.calling import missing, too_many

        if len(arguments) > len(parameters):
            raise too_many(f"`{name}`", len(parameters), len(parameters), len(arguments))
        raise missing(parameters[len(arguments)], f"`{name}`")
    for argument in arguments:
        refuse_error(argument)
    text = arguments[0]
    if type(text) is not str:
        raise Stop(f"argument 1 of `{name}` must be str, got {kind_of(text)}")
    if not text.strip():
        raise Stop(f"`{name}`'s question is empty: say what the user is asked")
    choices: dict[str, str] = {}
    default = None
    if name == "about":
        choices, default = _checked_choices(arguments[1]), arguments[2]
        if type(default) is not str:
            raise Stop(f"argument 3 of `about` must be str, got {kind_of(default)}")
        if default not in choices:
            keys = ", ".join(f"`{key}`" for key in choices)
            raise Stop(f"`about`'s default must be one of its keys, {keys}, got `{default}`")
    place = f"{task.frames[-1].function}:{pc}"
    return Question(name, text, choices, default, place, _sheltered(task))


def _checked_choices(choices: Any) -> dict[str, str]:
    if type(choices) is not dict:
        raise Stop(f"argument 2 of `about` must be a record of choices, got {kind_of(choices)}")
    if len(choices) < 2:
        raise Stop(f"`about` needs at least two choices, got {len(choices)}")
    for key, label in choices.items():
        if type(label) is not str:
            raise Stop(f"the label of `about`'s choice `{key}` must be str, got {kind_of(label)}")
    return choices


def _sheltered(task: Task) -> bool:
    """Whether a builtin other than `parallel` and `db.transaction` has called the function that asks."""
    return task.sheltered or any(task.program.prepared_function(frame.function).shelters for frame in task.frames)
