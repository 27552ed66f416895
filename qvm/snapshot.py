"""A running call as bytes: `load` makes of them a Task that goes on to the same result, stop and steps.

    offset  bytes  field    what it is
         0      4  magic    91 51 53 53: no text begins so
         4      2  version  the format's number, 1
         6     32  module   the digest of the Module that runs
        38     32  digest   BLAKE3 of the payload
        70      8  length   of the payload in bytes
        78         payload  the call in msgpack, to the end of the file

Numbers are big-endian. `load` looks at magic, version, length, digest and module in this order and says which failed.
The digest is there to find damage: a snapshot is trusted as much as whoever keeps it.

The payload holds the steps charged, the limit, what the call waits for, the frames, the top-level variables, and a
table of what is held in more than one place. Values are trees, and sharing inside them is not seen by a program, so
they are written as they are. Only cells, which functions share, must stay the same cells; and a list or record in the
variables of several frames is written once, so that a deep recursion over one list does not write it again and again.
What a variable owns (see qvm/changing.py) is forgotten: its next change copies once more.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from qasm.framing import blake3
from qvm.frames import Frame
from qvm.host import Question
from qvm.interpreter import Task
from qvm.values import (
    ABSENT,
    DEPTH_LIMIT,
    UNSET,
    BuiltinFunction,
    Cell,
    Closure,
    Err,
    IteratorState,
    Markup,
    Response,
    Sql,
    Unset,
)

if TYPE_CHECKING:
    from qvm.host import Host
    from qvm.program import Program

MAGIC = b"\x91QSS"
VERSION = 1
FRAME = struct.Struct(">4sH32s32sQ")  # magic, version, Module's digest, payload's digest, length

# What kind of value a msgpack extension holds.
ERR, SHARED, CLOSURE, BUILTIN, MARKUP, SQL, RESPONSE, ITERATOR, MARK = range(1, 10)
_ABSENT_MARK, _UNSET_MARK = b"a", b"u"


class BadSnapshot(Exception):
    """A call that can't be saved, or a snapshot that is refused; the text is one sentence."""


def save(task: Task) -> bytes:
    """A Task that is not over as bytes, wherever it stands. Raises BadSnapshot for values that are nested too deep.

    A Task whose `parallel` runs functions side by side can't be saved either.
    """
    if task.done:
        raise BadSnapshot("the call is over: there is nothing to save")
    if task.beside is not None or task.within is not None:
        raise BadSnapshot("functions run side by side in it: it can't be saved before they are done")
    payload = _Writer(task).payload()
    return FRAME.pack(MAGIC, VERSION, _module_digest(task.program), blake3(payload), len(payload)) + payload


def load(program: Program, data: bytes, host: Host) -> Task:
    """The Task of a snapshot; the top-level variables of `program` become those of the snapshot. Raises BadSnapshot."""
    if not data.startswith(MAGIC):
        raise BadSnapshot("it is not a Quillo snapshot")
    if len(data) < FRAME.size:
        raise BadSnapshot(f"it is cut off: {len(data)} of the {FRAME.size} bytes of its frame are there")
    _, version, module, digest, length = FRAME.unpack_from(data)
    if version != VERSION:
        raise BadSnapshot(f"it is written in format {version}, and this build reads format {VERSION}")
    payload = data[FRAME.size :]
    if len(payload) != length:
        raise BadSnapshot(f"it is damaged: its payload has {len(payload)} bytes and should have {length}")
    if blake3(payload) != digest:
        raise BadSnapshot("it is damaged: its bytes don't have the digest that is written in it")
    if module != _module_digest(program):
        raise BadSnapshot("it is of another program, or of another version of this one")
    return _Reader(program, payload).task(host)


def _module_digest(program: Program) -> bytes:
    from qasm.module_file import digest

    if program.digest is None:
        program.digest = bytes.fromhex(digest(program.module))
    return program.digest


class _Reference:
    """Stands for an entry of the table of shared things while a slot is written."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class _Writer:
    def __init__(self, task: Task) -> None:
        from msgpack import ExtType, packb

        self.task = task
        self._extension = ExtType
        self._packb = packb
        self._numbers: dict[int, int] = {}  # by the identity of a cell, list or record: its place in the table
        self._table: list[Any] = []

    def payload(self) -> bytes:
        task = self.task
        try:
            self._find_shared()
            state = self._pack(
                [
                    task.steps,
                    task.max_steps,
                    _unsettled(task),
                    [
                        [
                            frame.function,
                            frame.pc,
                            self._slots(frame.locals),
                            self._slots(frame.stack),
                            [self._cell(cell) for cell in frame.cells],
                        ]
                        for frame in task.frames
                    ],
                    self._slots([cell.value for cell in task.program.globals]),
                ]
            )
            table = []
            for entry in self._table:  # it grows while it is written, with cells that only cells lead to
                table.append(self._pack([self._slot(entry.value)] if type(entry) is Cell else entry))
            return self._pack([state, [type(entry) is Cell for entry in self._table], table])
        except (ValueError, RecursionError):
            # msgpack takes values that are nested some hundreds deep.
            raise BadSnapshot("it holds a value that is nested too deep to be saved") from None

    def _pack(self, value: Any) -> bytes:
        packed = self._packb(
            value, default=self._other, strict_types=True, use_bin_type=True, unicode_errors="surrogatepass"
        )
        assert isinstance(packed, bytes)
        return packed

    def _find_shared(self) -> None:
        """Puts the lists and records that stand in several slots into the table."""
        seen: set[int] = set()
        for slots in self._all_slots():
            for value in slots:
                if type(value) is IteratorState:
                    value = value.items
                if type(value) is list or type(value) is dict:
                    if id(value) not in seen:
                        seen.add(id(value))
                    elif id(value) not in self._numbers:
                        self._numbers[id(value)] = len(self._table)
                        self._table.append(value)

    def _all_slots(self) -> list[list[Any]]:
        found = [[cell.value for cell in self.task.program.globals]]
        for frame in self.task.frames:
            found += [frame.locals, frame.stack]
        return found

    def _slots(self, slots: list[Any]) -> list[Any]:
        return [self._slot(value) for value in slots]

    def _slot(self, value: Any) -> Any:
        if (type(value) is list or type(value) is dict) and id(value) in self._numbers:
            return _Reference(self._numbers[id(value)])
        return value

    def _cell(self, cell: Cell) -> _Reference:
        number = self._numbers.get(id(cell))
        if number is None:
            number = self._numbers[id(cell)] = len(self._table)
            self._table.append(cell)
        return _Reference(number)

    def _other(self, value: Any) -> Any:
        """The extension for a value that msgpack has no form for."""
        kind = type(value)
        if kind is _Reference:
            return self._extension(SHARED, self._pack(value.number))
        if kind is Cell:
            return self._extension(SHARED, self._pack(self._cell(value).number))
        if kind is Closure:
            return self._extension(CLOSURE, self._pack([value.function, [self._cell(cell) for cell in value.cells]]))
        if kind is Err:
            return self._extension(ERR, self._pack([value.value, value.builtin]))
        if kind is Markup:
            return self._extension(MARKUP, self._pack([value.text]))
        if kind is IteratorState:
            fields = [self._slot(value.items), value.keys, value.index, value.stop, value.start]
            return self._extension(ITERATOR, self._pack(fields))
        if kind is BuiltinFunction:
            return self._extension(BUILTIN, self._pack([value.name]))
        if kind is Sql:
            return self._extension(SQL, self._pack([value.text, value.parameters]))
        if kind is Response:
            return self._extension(RESPONSE, self._pack([value.status, value.body, value.headers]))
        if value is ABSENT:
            return self._extension(MARK, _ABSENT_MARK)
        if kind is Unset:
            return self._extension(MARK, _UNSET_MARK)
        raise AssertionError(f"a value of an unknown kind: {kind}")


def _unsettled(task: Task) -> list[Any] | None:
    if task.unsettled is None:
        return None
    kind, *what = task.unsettled
    if kind == "question":
        question: Question = what[0]
        what = [
            question.kind,
            question.text,
            question.choices,
            question.default,
            question.place,
            question.sheltered,
        ]
    return [kind, *what]


class _Reader:
    def __init__(self, program: Program, payload: bytes) -> None:
        self.program = program
        self._payload = payload
        self._table: list[Any] = []

    def task(self, host: Host) -> Task:
        try:
            state, are_cells, table = self._unpack(self._payload)
            self._table = [Cell() if is_cell else None for is_cell in are_cells]
            for number, packed in enumerate(table):
                if not are_cells[number]:
                    self._table[number] = self._unpack(packed)
            for number, packed in enumerate(table):
                if are_cells[number]:
                    (self._table[number].value,) = self._unpack(packed)
            steps, max_steps, unsettled, frames, variables = self._unpack(state)
            made = [self._frame(*fields) for fields in frames]
            if unsettled is not None:
                unsettled = (unsettled[0], Question(*unsettled[1:])) if unsettled[0] == "question" else tuple(unsettled)
        except Exception:
            # Its digest is right, so it was written so; what msgpack and the shapes above say is not for people.
            raise BadSnapshot("its payload is not what a snapshot holds") from None
        self._check(made, unsettled, variables)
        for cell, value in zip(self.program.globals, variables, strict=True):
            cell.value, cell.owned = value, None
        task = Task(self.program, made, host, max_steps)
        task.restore(steps, unsettled)
        return task

    def _unpack(self, data: bytes) -> Any:
        from msgpack import unpackb

        return unpackb(data, ext_hook=self._extension, strict_map_key=True, unicode_errors="surrogatepass")

    def _extension(self, code: int, data: bytes) -> Any:
        if code == MARK:
            return {_ABSENT_MARK: ABSENT, _UNSET_MARK: UNSET}[data]
        what = self._unpack(data)
        if code == SHARED:
            return self._table[what]
        if code == CLOSURE:
            return Closure(what[0], tuple(what[1]))
        return _MADE_OF[code](*what)

    @staticmethod
    def _frame(function: int, pc: int, locals: list[Any], stack: list[Any], cells: list[Cell]) -> Frame:
        frame = Frame(function, locals, tuple(cells))
        frame.pc = pc
        frame.stack = stack
        return frame

    def _check(self, frames: list[Frame], unsettled: tuple[Any, ...] | None, variables: list[Any]) -> None:
        """Refuses frames that the engine can't have left so."""
        functions = self.program.module.functions
        good = 0 < len(frames) <= DEPTH_LIMIT + 1 and len(variables) == len(self.program.globals)
        for place, frame in enumerate(frames if good else ()):
            if not 0 <= frame.function < len(functions):
                good = False
                break
            prepared = self.program.prepared_function(frame.function)
            waits = place < len(frames) - 1 or unsettled is not None
            height = prepared.flow.height
            good = (
                0 <= frame.pc < len(height)
                and len(frame.stack) == height[frame.pc] - waits
                and len(frame.locals) == prepared.function.local_count
                and len(frame.cells) == len(prepared.function.captures)
            )
            if not good:
                break
        if not good:
            raise BadSnapshot("its frames don't belong to this program")


_MADE_OF: dict[int, Any] = {
    ERR: Err,
    BUILTIN: BuiltinFunction,
    MARKUP: Markup,
    SQL: Sql,
    RESPONSE: Response,
    ITERATOR: IteratorState,
}
