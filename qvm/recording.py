"""A recording: one call of a program as bytes, with all that came into it, so that it can be run again anywhere.

    offset  bytes  field    what it is
         0      4  magic    91 51 52 43: no text begins so
         4      2  version  the format's number, 1
         6     32  digest   BLAKE3 of the payload
        38      8  length   of the payload in bytes
        46         payload  the recording in msgpack, to the end of the file

Numbers are big-endian. `load` looks at magic, version, length and digest in this order and says which failed. The
payload is the list of the fields of `Recording`, in the order in which `dump` writes them; the Module is in it,
compressed by zlib, so that one file is enough.

Rule 1  How the call began, where it asked, and where other calls changed what it shares with them, are snapshots
        (qvm/snapshot.py): frames are plain data. All else that came in is an Event, in the order in which it came.
Rule 2  Values are packed by `pack_value`, which keeps every kind apart and the order of records: two values are the
        same if their bytes are. Functions are kept as marks only: they never come in from outside.
Rule 3  Secrets are not in it (qvm/marks.py): `change_texts` puts the marks in their place before it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qasm.framing import BadFrame, blake3, frame, unframe
from qvm import snapshot
from qvm.values import ABSENT, BuiltinFunction, CallPlace, Closure, Err, Markup, Response, Sql, Stop

if TYPE_CHECKING:
    from qvm.host import Question

MAGIC = b"\x91QRC"
VERSION = 1
MOST_MODULE_BYTES = 100 * 1024 * 1024

# How a call ended.
RETURNED, STOPPED, ASKED, CANCELLED, CUT = "returned", "stopped", "asked", "cancelled", "cut"
_ENDINGS = (RETURNED, STOPPED, ASKED, CANCELLED, CUT)

# What came of an event. NOTHING: the call was cancelled while it waited.
VALUE, STOP, UNANSWERED, NOTHING = "value", "stop", "unanswered", "nothing"

_FUNCTION = 100  # the msgpack extension of a function; the others are those of a snapshot
_LONGEST_NAME = 12
_Change = Callable[[str], str]


class BadRecording(Exception):
    """A recording that is refused; the text is one sentence."""


class Event:
    """One thing that came into a call.

    `kind` is "call" (a host call: `name`, `arguments`), "ask" (a question: its kind as `name`, [text, choices,
    default, place, sheltered] as `arguments`), or "turn" (it gave way after `steps` steps, and others ran; with the
    outcome NOTHING it was cancelled there).
    `outcome` is VALUE (`value` is packed), STOP (`value` is a stop, as `stop_fields`, packed), UNANSWERED or NOTHING.
    `waited`: the call had to wait for it. `state` is a snapshot of the call where others had run meanwhile, else empty.
    """

    __slots__ = ("arguments", "kind", "name", "outcome", "state", "steps", "value", "waited")

    def __init__(
        self,
        kind: str,
        name: str = "",
        arguments: bytes = b"",
        outcome: str = NOTHING,
        value: bytes = b"",
        waited: bool = False,
        state: bytes = b"",
        steps: int = 0,
    ) -> None:
        self.kind = kind
        self.name = name
        self.arguments = arguments
        self.outcome = outcome
        self.value = value
        self.waited = waited
        self.state = state
        self.steps = steps

    def change_texts(self, change: _Change) -> None:
        """Changes the texts that came in."""
        self.arguments = change_value(self.arguments, change, _QUESTION_TEXTS if self.kind == "ask" else None)
        self.value = change_value(self.value, change, _STOP_TEXTS if self.outcome == STOP else None)
        self.state = change_snapshot(self.state, change)

    def fields(self) -> list[Any]:
        return [
            self.kind,
            self.name,
            self.arguments,
            self.outcome,
            self.value,
            self.waited,
            self.state,
            self.steps,
        ]


_EVENT = (str, str, bytes, str, bytes, bool, bytes, int)


class Recording:
    """One call.

    `module` is the Module's file. `tool`, `caller` and `time` (milliseconds since 1970) say which call it was and
    `given` its arguments, packed. `top_level` are the events of the program's start, None where they were too many to
    be kept. `start` is the call before its first instruction. `ending` is one of RETURNED (`result` is packed), STOPPED
    (`result` is a stop, packed), ASKED (`result` is a question, packed, and `asked` a snapshot of the call where it
    stands), CANCELLED, or CUT: the recording would have been too large, `note` says why. `steps` is what the call was
    charged, `marks` stand for what was secret.
    """

    __slots__ = (
        "asked",
        "caller",
        "ending",
        "events",
        "given",
        "marks",
        "module",
        "note",
        "result",
        "start",
        "steps",
        "time",
        "tool",
        "top_level",
    )

    def __init__(self, module: bytes, tool: str, caller: str, time: int, given: bytes, start: bytes) -> None:
        self.module = module
        self.tool = tool
        self.caller = caller
        self.time = time
        self.given = given
        self.top_level: list[Event] | None = None
        self.start = start
        self.events: list[Event] = []
        self.ending = CUT
        self.result = b""
        self.asked = b""
        self.steps = 0
        self.marks: list[str] = []
        self.note = ""

    def change_texts(self, change: _Change) -> None:
        """Changes the texts of the call's own part; the program and its start, which calls share, stay as they are."""
        self.given = change_value(self.given, change)
        self.start = change_snapshot(self.start, change)
        self.asked = change_snapshot(self.asked, change)
        self.result = change_value(self.result, change, {STOPPED: _STOP_TEXTS, ASKED: _QUESTION_TEXTS}.get(self.ending))
        for event in self.events:
            event.change_texts(change)


# --- values ---------------------------------------------------------------------------------------------------------


def pack_value(value: Any) -> bytes:
    """A value as bytes. Raises BadRecording for one that is nested too deep."""
    from msgpack import packb

    try:
        packed = packb(value, default=_other, strict_types=True, use_bin_type=True, unicode_errors="surrogatepass")
    except (ValueError, RecursionError, OverflowError):
        raise BadRecording("a value is nested too deep to be recorded") from None
    assert isinstance(packed, bytes)
    return packed


def _other(value: Any) -> Any:
    from msgpack import ExtType

    match value:
        case Err():
            return ExtType(snapshot.ERR, pack_value([value.value, value.builtin]))
        case Markup():
            return ExtType(snapshot.MARKUP, pack_value([value.text]))
        case Sql():
            return ExtType(snapshot.SQL, pack_value([value.text, value.parameters]))
        case Response():
            return ExtType(snapshot.RESPONSE, pack_value([value.status, value.body, value.headers]))
        case BuiltinFunction():
            return ExtType(snapshot.BUILTIN, pack_value([value.name]))
        case Closure():
            return ExtType(_FUNCTION, pack_value([]))
    if value is ABSENT:
        return ExtType(snapshot.MARK, b"a")
    return ExtType(_FUNCTION, pack_value([type(value).__name__]))


def unpack_value(packed: bytes) -> Any:
    """The value of `pack_value`'s bytes. Raises BadRecording."""
    from msgpack import unpackb

    try:
        return unpackb(packed, ext_hook=_extension, strict_map_key=True, unicode_errors="surrogatepass")
    except Exception:
        raise _no_recording() from None


def _extension(code: int, data: bytes) -> Any:
    if code == snapshot.MARK:
        return ABSENT
    if code == _FUNCTION:
        return Closure(-1)
    fields = unpack_value(data)
    kinds: dict[int, Any] = {
        snapshot.ERR: Err,
        snapshot.MARKUP: Markup,
        snapshot.SQL: Sql,
        snapshot.RESPONSE: Response,
        snapshot.BUILTIN: BuiltinFunction,
    }
    return kinds[code](*fields)


def stop_fields(stop: Stop) -> list[Any]:
    """A stop as a value that can be packed, with its places."""
    places = [[place.file, place.line, place.function] for place in stop.places]
    return [stop.message, stop.kind, stop.error, stop.detail, places]


def make_stop(fields: list[Any]) -> Stop:
    """The stop of `stop_fields`."""
    message, kind, error, detail, places = fields
    if type(message) is not str or type(kind) is not str or not (error is None or type(error) is Err):
        raise _no_recording()
    stop = Stop(message, kind, error, detail)
    stop.places = [CallPlace(*place) for place in places]
    return stop


def question_fields(question: Question) -> list[Any]:
    """A question as a value that can be packed: text, choices, default, place, sheltered."""
    return [question.text, question.choices, question.default, question.place, question.sheltered]


# --- texts within packed things ------------------------------------------------------------------------------------


# What of a packed list is the program's own text; the rest are words of the format.
_STOP_TEXTS = (0, 2, 3)  # message, error, detail
_QUESTION_TEXTS = (0, 1, 2)  # text, choices, default
_UNSETTLED_TEXTS = {"host": (2,), "question": (2, 3, 4)}


def change_value(packed: bytes, change: _Change, only: tuple[int, ...] | None = None) -> bytes:
    """Packed bytes with every text in them changed, or those in the items `only` of a list. Nothing stays nothing."""
    if not packed:
        return packed
    value = _unpack(packed, change)
    return _pack(_walk(value, change) if only is None else _walk_items(value, change, only))


def _unpack(packed: bytes, change: _Change) -> Any:
    from msgpack import ExtType, unpackb

    def extension(code: int, data: bytes) -> Any:
        if code == snapshot.MARK or code == snapshot.BUILTIN:  # one byte that is no msgpack, and a name of ours
            return ExtType(code, data)
        return ExtType(code, change_value(data, change, (0,) if code == snapshot.ERR else None))

    return unpackb(packed, ext_hook=extension, strict_map_key=True, unicode_errors="surrogatepass")


def _pack(value: Any) -> bytes:
    from msgpack import packb

    packed = packb(value, use_bin_type=True, unicode_errors="surrogatepass")
    assert isinstance(packed, bytes)
    return packed


def _walk_items(value: list[Any], change: _Change, only: tuple[int, ...]) -> list[Any]:
    return [_walk(item, change) if number in only else item for number, item in enumerate(value)]


def _walk(value: Any, change: _Change) -> Any:
    kind = type(value)
    if kind is str:
        return change(value)
    if kind is list:
        return [_walk(item, change) for item in value]
    if kind is dict:
        # Short keys are names of fields: they must stay what the program calls them, whatever somebody's password is.
        return {change(key) if len(key) > _LONGEST_NAME else key: _walk(item, change) for key, item in value.items()}
    if kind is bytes:
        # One character a byte where it is no text: a secret of plain letters is found between any other bytes.
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        made = change(text)
        return value if made == text else made.encode("utf-8", "surrogatepass")
    return value


def change_snapshot(data: bytes, change: _Change) -> bytes:
    """A snapshot with every text of its values changed. Nothing stays nothing."""
    from msgpack import unpackb

    if not data:
        return data
    magic, version, module, _, _ = snapshot.FRAME.unpack_from(data)
    packed, are_cells, table = unpackb(data[snapshot.FRAME.size :])
    steps, max_steps, unsettled, frames, variables = _unpack(packed, change)
    if unsettled is not None:
        unsettled = _walk_items(unsettled, change, _UNSETTLED_TEXTS[unsettled[0]])
    state = _pack([steps, max_steps, unsettled, _walk(frames, change), _walk(variables, change)])
    made = _pack([state, are_cells, [change_value(entry, change) for entry in table]])
    return snapshot.FRAME.pack(magic, version, module, blake3(made), len(made)) + made


# --- the file ------------------------------------------------------------------------------------------------------


def compress(module_file: bytes) -> bytes:
    """A Module's file as a recording holds it."""
    import zlib

    return zlib.compress(module_file, 9)


def dump(recording: Recording, compressed: bytes | None = None) -> bytes:
    """The file of a recording. `compressed` is its Module's, where whoever writes many of them has it already."""
    from msgpack import packb

    payload = packb(
        [
            compress(recording.module) if compressed is None else compressed,
            recording.tool,
            recording.caller,
            recording.time,
            recording.given,
            None if recording.top_level is None else [event.fields() for event in recording.top_level],
            recording.start,
            [event.fields() for event in recording.events],
            recording.ending,
            recording.result,
            recording.asked,
            recording.steps,
            recording.marks,
            recording.note,
        ],
        unicode_errors="surrogatepass",
    )
    assert isinstance(payload, bytes)
    return frame(MAGIC, VERSION, payload)


_FIELDS = (bytes, str, str, int, bytes, object, bytes, list, str, bytes, bytes, int, list, str)


def load(data: bytes) -> Recording:
    """The recording of a file's bytes. Raises BadRecording. Its Module must still be loaded and verified."""
    from msgpack import unpackb

    try:
        payload = unframe(data, MAGIC, VERSION, "a recording of a call")
    except BadFrame as bad:
        raise BadRecording(str(bad)) from None
    try:
        fields = unpackb(payload, strict_map_key=True, unicode_errors="surrogatepass")
        _hold_to(fields, _FIELDS)
        return _recording(fields)
    except BadRecording:
        raise
    except Exception:
        # Its digest is right, so it was written so; what msgpack and zlib say is not for people.
        raise _no_recording() from None


def _recording(fields: list[Any]) -> Recording:
    import zlib

    packed, tool, caller, time, given, top_level, start, events, ending, result, asked, steps, marks, note = fields
    module = zlib.decompressobj().decompress(packed, MOST_MODULE_BYTES)
    recording = Recording(module, tool, caller, time, given, start)
    recording.top_level = None if top_level is None else [_event(event) for event in top_level]
    recording.events = [_event(event) for event in events]
    if ending not in _ENDINGS:
        raise _no_recording()
    recording.ending = ending
    recording.result = result
    if ending == STOPPED:
        make_stop(unpack_value(result))
    elif (ending == ASKED and not _is_question(unpack_value(result))) or type(unpack_value(given)) is not dict:
        raise _no_recording()
    recording.asked = asked
    recording.steps = steps
    recording.marks = [str(text) for text in marks]
    recording.note = note
    return recording


def _event(fields: Any) -> Event:
    _hold_to(fields, _EVENT)
    event = Event(*fields)
    if event.kind not in ("call", "ask", "turn") or event.outcome not in (VALUE, STOP, UNANSWERED, NOTHING):
        raise _no_recording()
    if event.kind != "turn":
        arguments = unpack_value(event.arguments)
        if type(arguments) is not list or (event.kind == "ask" and not _is_question(arguments)):
            raise _no_recording()
        if event.outcome == STOP:
            make_stop(unpack_value(event.value))
        elif event.outcome == UNANSWERED and event.kind == "call" and not _is_question(unpack_value(event.value)):
            raise _no_recording()
    return event


def _is_question(fields: Any) -> bool:
    return (
        type(fields) is list
        and len(fields) == 5
        and type(fields[0]) is str
        and type(fields[1]) is dict
        and (fields[2] is None or type(fields[2]) is str)
        and type(fields[3]) is str
        and type(fields[4]) is bool
    )


def _hold_to(fields: Any, kinds: tuple[type, ...]) -> None:
    if (
        type(fields) is not list
        or len(fields) != len(kinds)
        or any(kind is not object and type(field) is not kind for field, kind in zip(fields, kinds, strict=True))
    ):
        raise _no_recording()


def _no_recording() -> BadRecording:
    return BadRecording("its payload is not what a recording holds")
