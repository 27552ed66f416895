"""What translated functions call: the interpreter's own operations, and the ways out to the host and the interpreter.

A Runtime belongs to a Program. Its functions share one counter of steps; `task` is the call that runs now.
"""

from __future__ import annotations

import sys
from itertools import islice, repeat
from math import sqrt
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from qvm import operators
from qvm.builtins import native
from qvm.builtins.lists import checked_range as numbers_of_range
from qvm.calling import _check, _placed, too_deep
from qvm.changing import assign
from qvm.changing import extend as extend_path
from qvm.frames import Frame
from qvm.handlers_markup import attribute, content
from qvm.handlers_operators import COMPARERS
from qvm.handlers_values import is_missing
from qvm.handlers_variables import constant_value, unset
from qvm.host import Unanswered, Waiting
from qvm.mistakes import SURELY_SHORT, check_size, check_text, error_stop, no_bool, refused, text_too_big
from qvm.operators import check_range, equal_operands, out_of_range
from qvm.prepare import Site, shelters
from qvm.questions import question
from qvm.text import escape_html, short_to_json
from qvm.translator_nodes import FILE_NAME
from qvm.values import (
    ABSENT,
    DEPTH_LIMIT,
    TEXT_LIMIT,
    UNSET,
    BuiltinFunction,
    CallPlace,
    Cell,
    Closure,
    Err,
    IteratorState,
    Markup,
    Stop,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from qvm.program import Program
    from qvm.translator import Translation
    from qvm.translator_task import TranslatedTask

MOST_PYTHON_CALLS = 30_000  # within one another; Quillo's own limit comes long before


class Runtime:
    """The bound functions of a Program, by number: `functions`."""

    def __init__(self, program: Program, translation: Translation) -> None:
        self.program = program
        self.task: TranslatedTask = None  # type: ignore[assignment]
        self.indexes = translation.indexes
        self._ahead = translation.ahead
        names: dict[str, Any] = {**_HELPERS, **self._ways_out()}
        for name, what in translation.bound.items():
            names[name] = self._bind(*what)
        exec(translation.code, names)
        self.get_fuel, self.set_fuel, functions = names["make"]()
        # `f1` is a function, `g1` the same one without its first case.
        self.functions: dict[int, Callable[..., Any]] = {
            int(name[1:]): code for name, code in functions.items() if name[0] == "f"
        }
        self._numbers: dict[CodeType, int] = {code.__code__: int(name[1:]) for name, code in functions.items()}
        self._positions: dict[CodeType, list[Any]] = {}
        self._held_back = translation.held_back
        self._functions = program.module.functions
        # Functions whose arguments need no look but for errors, with how many they take.
        self._plain = {
            number: (code, len(self._functions[number].parameters))
            for number, code in self.functions.items()
            if all(parameter.type == "any" for parameter in self._functions[number].parameters)
        }
        if sys.getrecursionlimit() < MOST_PYTHON_CALLS:
            sys.setrecursionlimit(MOST_PYTHON_CALLS)

    def _ways_out(self) -> dict[str, Any]:
        names: tuple[str, ...] = ("refill", "enter", "turns", "turns_of", "fewer_turns", "caught", "call_host", "ask")
        names += (
            "call_value",
            "interpreted",
            "handed_over",
            "set_global",
            "extend_cell",
            "assign_cell",
            "extend_path_of_cell",
        )
        return {name: getattr(self, name) for name in names}

    def _bind(self, kind: str, *what: Any) -> Any:
        program = self.program
        if kind == "constant":
            return constant_value(program.module.constants[what[0]])
        if kind == "global":
            return program.globals[what[0]]
        if kind == "native":
            return native(what[0])
        if kind == "closure":
            return Closure(what[0])
        if kind == "builtin":
            return BuiltinFunction(what[0])
        return self._handler(*what[2:])

    def _handler(self, number: int, pc: int) -> Callable[..., Any]:
        """An instruction as the interpreter does it, as a function of what it takes from the stack."""
        handler: Any = None

        def operate(*items: Any) -> Any:
            nonlocal handler
            if handler is None:
                from qvm.handlers import MAKERS

                prepared = self.program.prepared_function(number)
                site = Site(self.program, prepared, False)
                site.move(pc)
                handler = MAKERS[prepared.flow.instructions[pc].op.number](site)
            stack = list(items)
            handler(stack, (), self.task)
            return stack[-1] if stack else None

        return operate

    # steps

    def refill(self, count: int) -> None:
        """What a CHARGE does when the slice doesn't hold its steps, which have been taken already."""
        task = self.task
        task.fuel = self.get_fuel()
        try:
            task.more_fuel(count)
        finally:
            self.set_fuel(task.fuel)

    def enter(self, count: int, depth: int) -> None:
        """The entry of a function, where its steps don't fit or calls go too deep."""
        if depth > DEPTH_LIMIT + 1:
            self.set_fuel(self.get_fuel() + count)
            stop = too_deep()
            stop.at_caller = True
            raise stop
        self.refill(count)

    def turns(self, count: int) -> Any:
        """As many turns of a `while` as the slice holds, one at least, which are charged."""
        fuel = self.get_fuel()
        most = fuel // count
        if most < 1:
            self.set_fuel(fuel - count)
            self.refill(count)
            most = 1
        else:
            self.set_fuel(fuel - most * count)
        return repeat(None, most)

    def fewer_turns(self, iterator: Any, count: int) -> tuple[Any, int]:
        """`turns_of`, where all of the iterator's turns have been charged and don't fit."""
        self.set_fuel(self.get_fuel() + iterator.__length_hint__() * count)
        return self.turns_of(iterator, count)

    def turns_of(self, iterator: Any, count: int) -> tuple[Any, int]:
        """As many items of an iterator as the slice holds turns for, which are charged, and how many are left."""
        size = iterator.__length_hint__()
        if not size:
            return iterator, 0
        fuel = self.get_fuel()
        most = fuel // count
        if most >= size:
            self.set_fuel(fuel - size * count)
            return iterator, 0
        if most < 1:
            self.set_fuel(fuel - count)
            self.refill(count)
            most = 1
        else:
            self.set_fuel(fuel - most * count)
        return islice(iterator, most), size - most

    def caught(self, stop: Stop, pc: int) -> Any:
        """The error of a stop that the TRY at `pc` catches."""
        self._give_back(stop.__traceback__, pc)
        stop.__traceback__ = stop.__context__ = None
        stop.inner = []
        return stop.error

    def _give_back(self, trace: TracebackType | None, opener: int) -> None:
        """Gives back what was charged ahead in loops that a stop leaves.

        `opener` is the TRY that catches it: in the first function, only loops behind that are left.
        """
        while trace is not None:
            code = trace.tb_frame.f_code
            number = self._numbers.get(code)
            if number is not None:
                if number in self._ahead:
                    pc = self._pc(code, trace.tb_lasti)
                    for first, end, iterator, left, count in self._ahead[number]:
                        if first <= pc < end and first > opener:
                            known = trace.tb_frame.f_locals
                            turns = known[iterator].__length_hint__() - (known[left] if left else 0)
                            self.set_fuel(self.get_fuel() + turns * count)
                opener = -1
            trace = trace.tb_next

    def shelters(self) -> bool:
        """Whether nobody may be asked in what the functions under way call."""
        return any(shelters(self._functions[number]) for number, _ in self.active())

    def holds_back(self) -> bool:
        """Whether no other call may get its turn now (see `qvm.turns`)."""
        held = self._held_back
        return bool(held) and any(pc in held[number] for number, pc in self.active() if number in held)

    def active(self) -> list[tuple[int, int]]:
        """The translated functions under way, innermost first, each with its pc."""
        found = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            number = self._numbers.get(frame.f_code)
            if number is not None:
                found.append((number, self._pc(frame.f_code, frame.f_lasti)))
            frame = frame.f_back
        return found

    def _pc(self, code: CodeType, at: int) -> int:
        positions = self._positions.get(code)
        if positions is None:
            positions = self._positions[code] = list(code.co_positions())
        return positions[at // 2][2] or 0

    # out to the host

    def call_host(self, name: str, arguments: list[Any]) -> Any:
        for argument in arguments:
            if type(argument) is Err:
                raise error_stop(argument)
        task = self.task
        task.fuel = self.get_fuel()
        try:
            result = task.host.call(name, arguments)
        except Unanswered as unanswered:
            result = task.wait_for("host", name, arguments, unanswered)
        if type(result) is Waiting:
            result = task.wait_for("host", name, arguments, result)
        self.set_fuel(task.fuel)
        return result

    def ask(self, name: str, arguments: list[Any], place: str) -> Any:
        pc = int(place.partition(":")[2])
        return self._as_interpreter(lambda task: task.ask(question(task, name, arguments, pc), pc, 0))

    def _as_interpreter(self, operate: Callable[[Any], int]) -> Any:
        """What a handler does that needs frames: they are made of what is under way."""
        task = self.task
        task.fuel = self.get_fuel()
        frames = [Frame(number, []) for number, _ in reversed(self.active())]
        try:
            return task.as_interpreter(frames, operate)
        finally:
            self.set_fuel(task.fuel)

    # calls

    def call_value(self, depth: int, place: str, names: Any, function: Any, *given: Any) -> Any:
        """A call of a function value."""
        if type(function) is Closure and not names and depth <= DEPTH_LIMIT:
            plain = self._plain.get(function.function)
            if plain is not None and plain[1] == len(given):
                for argument in given:
                    if type(argument) is Err:
                        raise error_stop(argument)
                return plain[0](*function.cells, *given, depth + 1)
        if type(function) is not Closure:
            pc = int(place.partition(":")[2])
            return self._as_interpreter(lambda task: task.call_builtin_value(function, list(given), names, pc, 0))
        for argument in given:
            if type(argument) is Err:
                raise error_stop(argument)
        if depth > DEPTH_LIMIT:
            raise too_deep()
        number = function.function
        called = self._functions[number]
        if names or called.parameters:
            prepared = self.program.prepared_function(number)
            arguments = list(given)
            if names or len(arguments) != len(called.parameters):
                arguments = _placed(called, arguments, names)
            if prepared.has_checks:
                _check(prepared, arguments)
        elif given:
            arguments = _placed(called, list(given), names)
        else:
            arguments = []
        code = self.functions.get(number)
        if code is None:
            return self.interpreted(number, arguments, depth, function.cells)
        return code(*function.cells, *arguments, depth + 1)

    def interpreted(self, number: int, arguments: list[Any], depth: int, cells: tuple[Cell, ...] = ()) -> Any:
        """A call of a function that stays with the interpreter."""
        if depth > DEPTH_LIMIT:
            raise too_deep()
        task = self.task
        task.fuel = self.get_fuel()
        function = self._functions[number]
        padding = [None] * (function.local_count - len(function.parameters))
        try:
            return task.interpret(Frame(number, [*arguments, *padding], cells), depth)
        finally:
            self.set_fuel(task.fuel)

    def handed_over(self, number: int, count: int, depth: int, arguments: list[Any], cells: tuple[Cell, ...]) -> Any:
        """A translated function that finds, at its entry, that the interpreter has to run it."""
        self.set_fuel(self.get_fuel() + count)
        try:
            return self.interpreted(number, arguments, depth - 1, cells)
        except Stop as stop:
            stop.at_caller = True  # the function is among the places that the interpreter has found
            raise

    # variables

    def set_global(self, cell: Cell, value: Any, name: str) -> None:
        first = cell.value is UNSET
        cell.value = value
        if not first:
            self._changed(name)

    def _changed(self, name: str) -> None:
        if name and self.task.note_change is not None:
            self.task.note_change(f"the variable `{name}`")

    def extend_cell(self, cell: Cell, value: Any, name: str) -> None:
        current = cell.value
        if current is UNSET:
            raise unset(name)
        kind = type(current)
        if kind is list and type(value) is list:
            check_size(len(current) + len(value))
            if cell.owned is current:
                current.extend(value)
            else:
                cell.value = cell.owned = current + value
        elif kind is str and type(value) is str and len(current) + len(value) <= SURELY_SHORT:
            cell.value = None
            current += value
            cell.value = current
        else:
            cell.value = operators.add(current, value)
        self._changed(name)

    def assign_cell(self, cell: Cell, path: str, keys: list[Any], value: Any, name: str) -> None:
        if cell.value is UNSET:
            raise unset(name)
        cell.value = cell.owned = assign(cell.value, cell.owned, path, keys, value)
        self._changed(name)

    def extend_path_of_cell(self, cell: Cell, path: str, keys: list[Any], value: Any, name: str) -> None:
        if cell.value is UNSET:
            raise unset(name)
        cell.value = cell.owned = extend_path(cell.value, cell.owned, path, keys, value)
        self._changed(name)

    # stops

    def as_stop(self, problem: BaseException) -> Stop:
        """What ended a translated function, as a Stop that knows its places."""
        trace = problem.__traceback__
        self._give_back(trace, -1)
        if isinstance(problem, Stop):
            stop = problem
        elif isinstance(problem, IndexError):
            stop = self._out_of_range(trace)
        elif isinstance(problem, AttributeError):
            stop = self._no_record(trace, problem)
        elif isinstance(problem, ZeroDivisionError):
            stop = Stop("division by zero")
        else:
            deep = isinstance(problem, RecursionError)
            stop = Stop("a value is nested too deep" if deep else "there is not enough memory")
        if not stop.places:
            stop.places = stop.inner + self._places(trace, stop.at_caller)
            stop.inner = []
        stop.__traceback__ = stop.__context__ = None
        return stop

    def _places(self, trace: TracebackType | None, at_caller: bool) -> list[CallPlace]:
        module = self.program.module
        found: list[CallPlace] = []
        last = -1
        while trace is not None:
            code = trace.tb_frame.f_code
            number = self._numbers.get(code)
            if number is not None:
                last = number
                function = self._functions[number]
                if not function.builtin:
                    name = "" if number in module.entries else function.name
                    found.append(CallPlace(module.files[function.file].name, trace.tb_lineno, name))
            trace = trace.tb_next
        if at_caller and last >= 0 and not self._functions[last].builtin:
            found.pop()
        return found[::-1]

    def _no_record(self, trace: TracebackType | None, problem: AttributeError) -> Stop:
        """The stop of a FIELD of what has no fields. Raises any other `problem` again."""
        number = -1
        while trace is not None:
            number = self._numbers.get(trace.tb_frame.f_code, number)
            if trace.tb_next is None and number >= 0 and trace.tb_frame.f_code.co_filename == FILE_NAME:
                flow = self.program.prepared_function(number).flow
                op, operands = flow.instructions[self._pc(trace.tb_frame.f_code, trace.tb_lasti)]
                read = {"FIELD": operators.field_of, "FIELD_OR_NULL": operators.field_or_null}.get(op.name)
                if read is not None:
                    try:
                        read(problem.obj, self.program.module.constants[operands[0]])
                    except Stop as stop:
                        return stop
            trace = trace.tb_next
        raise problem

    def _out_of_range(self, trace: TracebackType | None) -> Stop:
        last = trace
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        assert last is not None
        frame = last.tb_frame
        number = self._numbers[frame.f_code]
        names = self.indexes[number, self._pc(frame.f_code, last.tb_lasti)]
        base, index = (name[0] if type(name) is tuple else frame.f_locals[name] for name in names)
        return out_of_range(base, index)


def truth(value: Any) -> bool:
    if value is True or value is False:
        return value
    raise no_bool("a condition", value)


def extend(current: Any, owned: Any, value: Any) -> tuple[Any, Any]:
    """`x += value`: what the variable holds then, and what of it the variable alone holds."""
    if type(current) is list and type(value) is list:
        check_size(len(current) + len(value))
        if owned is current:
            current.extend(value)
            return current, owned
        made = current + value
        return made, made
    return operators.add(current, value), owned


def iterator(items: Any) -> IteratorState:
    if type(items) is list:
        return IteratorState(items, None, 0, len(items))
    if type(items) is dict:
        return IteratorState(list(items.values()), list(items), 0, len(items))
    raise _not_iterable(items)


def _not_iterable(items: Any) -> Stop:
    return refused(f"`for` goes over a list, a record or a range, got {kind_of(items)}", items)


def range_iterator(start: Any, stop: Any) -> IteratorState:
    check_range(start, stop)
    return IteratorState(None, None, start, stop, start)


def next_item(state: IteratorState) -> Any:
    index = state.index
    state.index = index + 1
    items = state.keys or state.items
    return index if items is None else items[index]


def next_pair(state: IteratorState) -> tuple[Any, Any]:
    index = state.index
    state.index = index + 1
    key = state.keys[index] if state.keys else index - state.start
    return key, index if state.items is None else state.items[index]


def items_of(items: Any) -> list[Any]:
    if type(items) is list:
        return items
    if type(items) is dict:
        return list(items)
    raise _not_iterable(items)


def pairs_of(items: Any) -> Any:
    if type(items) is list:
        return enumerate(items)
    if type(items) is dict:
        return list(items.items())
    raise _not_iterable(items)


def checked_range(start: Any, stop: Any) -> range:
    check_range(start, stop)
    return range(start, stop)


def escaped(text: str) -> str:
    text = escape_html(text)
    return text if len(text) <= SURELY_SHORT else check_text(text)


def escaped_with(text: str, more: int) -> str:
    """A text, escaped, that has to be short enough with `more` characters around it."""
    text = escape_html(text)
    if len(text) + more > SURELY_SHORT:
        check_text(text + " " * more)
    return text


def markup_of(text: str) -> Markup:
    if len(text) > SURELY_SHORT:
        check_text(text)
    return Markup(text)


def markup_of_texts(*texts: str) -> Markup:
    if sum(map(len, texts)) > TEXT_LIMIT:
        raise text_too_big()
    return Markup(check_text("".join(texts)))


def raise_unset(name: str) -> None:
    raise unset(name)


_HELPERS: dict[str, Any] = {
    "ABSENT": ABSENT,
    "UNSET": UNSET,
    "Cell": Cell,
    "Closure": Closure,
    "Markup": Markup,
    "Stop": Stop,
    "attribute": attribute,
    "content": content,
    "escaped": escaped,
    "escaped_with": escaped_with,
    "markup_of": markup_of,
    "markup_of_texts": markup_of_texts,
    "Err": Err,
    "short_to_json": short_to_json,
    "square_root": sqrt,
    "numbers_of_range": numbers_of_range,
    **COMPARERS,
    "add": operators.add,
    "subtract": operators.subtract,
    "multiply": operators.multiply,
    "divide": operators.divide,
    "remainder": operators.remainder,
    "negate": operators.negate,
    "negated": operators.negated,
    "contains": operators.contains,
    "whole_range": operators.whole_range,
    "element": operators.element,
    "field_of": operators.field_of,
    "is_error": operators.is_error,
    "is_missing": is_missing,
    "equal_operands": equal_operands,
    "assign": assign,
    "extend_path": extend_path,
    "check_size": check_size,
    "check_text": check_text,
    "unset": raise_unset,
    "truth": truth,
    "extend": extend,
    "iterator": iterator,
    "range_iterator": range_iterator,
    "next_item": next_item,
    "next_pair": next_pair,
    "items_of": items_of,
    "pairs_of": pairs_of,
    "checked_range": checked_range,
}
