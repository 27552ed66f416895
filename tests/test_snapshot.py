"""A call that is saved and loaded goes on to the same result, stop and steps; what is no snapshot is refused.

`python -m tests.test_snapshot` writes the golden files of the present format version, which then stay as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qasm import module_file
from qasm.module import Module
from qasm.verifier import verify
from qvm import snapshot
from qvm.host import Waiting
from qvm.operators import equal
from qvm.program import Pending, Program, Returned, Suspended, Task, Yielded
from qvm.snapshot import BadSnapshot
from qvm.values import Response
from tests.building import build, builder
from tests.engine import RecordingHost, ending, finish, saved_every, started, straight
from tests.test_engine_control import countdown
from tests.test_instruction_pictures import every_instruction

GOLDEN = Path(__file__).resolve().parent / "golden"
RESULTS = {"now": "2026-07-28T12:00:00.000Z", "fetch": Response(201, ["made"], {"X-A": "b"})}


async def nothing():
    return None


def save_and_load(task: Task, host: Any = None, module: Module | None = None) -> Task:
    """The Task saved, and loaded as in another process."""
    return snapshot.load(Program(module or task.program.module), snapshot.save(task), host or RecordingHost(RESULTS))


def all_kinds() -> Module:
    """A call that asks a question deep down, while variables and stacks hold values of every kind."""
    b = builder()
    bump = b.function(
        "bump", "LOAD_CAPTURE 0", "INT 1", "ADD", "STORE_CAPTURE 0", "LOAD_CAPTURE 0", "RETURN", captures=[(0, 0)]
    )
    asks = b.function(
        "asks", "CHARGE 2", "LOAD 0", 'CONST "Really?"', "CALL_BUILTIN confirm 1", "LIST 2", "RETURN", parameters=["x"]
    )
    b.entry(
        "CHARGE 3", "INT 10", "STORE 0", "CELL 0", f"CLOSURE {bump}", "STORE 1", f"CLOSURE {bump}", "STORE_GLOBAL bump",
        'CONST "no"', "MAKE_ERR", "STORE 2",
        'CONST "<i>"', "MARKUP 1", "STORE 3",
        "INT 1", 'SQL ["a = ", ""]', "STORE 4",
        "CALL_BUILTIN fetch 0", "STORE 5",
        "BUILTIN len", "STORE 6",
        'CONST {"a": 1.5, "b": [true, null, "\\u00e9"]}', "STORE 7",
        "CONST [7, 8, 9]", "ITER 8", 'CONST {"k": 5, "l": 6}', "ITER 9", "INT 3", "INT 6", "ITER_RANGE 10",
        "LIST_BEGIN 11", "BLOCK 0", "LOOP", "CHARGE 4", "NEXT 8 1", "LIST_ADD 11",
        "NEXT_PAIR 9 1", "LIST 2", "LIST_ADD 11", "NEXT 10 1", "LIST_ADD 11",
        "LOAD 1", "CALL_VALUE 0 []", "LIST_ADD 11", "LOAD_GLOBAL bump", "CALL_VALUE 0 []", "LIST_ADD 11",
        'CONST "left"', f"CALL {asks}", "LIST_ADD 11", "BR 0", "END", "END", "LIST_END 11",
        "LOAD 2", "ERR_VALUE", "LOAD 3", "LOAD 4", "LOAD 5", "LOAD 6", "LOAD 7", "LOAD_CELL 0",
        "INT 2", "STORE_GLOBAL late", "LIST 8", "RETURN",
    )  # fmt: skip
    return b.module


@pytest.mark.parametrize("distance", [1, 2, 5])
@pytest.mark.parametrize("entry", [0, 1, 2])
def test_saving_after_every_instruction_changes_nothing(distance, entry):
    module = every_instruction()
    endings = []
    for drive in (straight, saved_every(distance)):
        program, host = Program(module), RecordingHost(RESULTS)
        outcome, task = drive(program, program.call(module.entries[entry], [], host, 1_000), host)
        endings.append((ending(outcome, task), host.changes))
    assert endings[0] == endings[1]


def test_every_kind_of_value_comes_through():
    module = all_kinds()
    verify(module)
    wanted = finish(started(module, RecordingHost(RESULTS, answers=[True] * 9)))
    host = RecordingHost(RESULTS, answers=[True] * 9)
    program = Program(module)
    outcome, task = saved_every(1)(program, program.call(module.entries[0], [], host), host)
    assert isinstance(wanted, Returned)
    assert ending(outcome, task)[1] == ending(wanted, task)[1]


def test_functions_go_on_sharing_their_variables():
    b = builder()
    bump = b.function(
        "bump", "LOAD_CAPTURE 0", "INT 1", "ADD", "STORE_CAPTURE 0", "LOAD_CAPTURE 0", "RETURN", captures=[(0, 0)]
    )
    b.entry(
        "CHARGE 1", "INT 0", "STORE 0", "CELL 0", f"CLOSURE {bump}", "STORE 1", f"CLOSURE {bump}", "STORE_GLOBAL up",
        "CALL_BUILTIN sleep 0", "POP",
        "LOAD 1", "CALL_VALUE 0 []", "LOAD_GLOBAL up", "CALL_VALUE 0 []", "LOAD_CELL 0", "LIST 3", "RETURN",
    )  # fmt: skip
    task = started(b.module, RecordingHost({"sleep": Waiting(nothing)}))
    assert isinstance(task.run(), Pending)
    loaded = save_and_load(task)
    loaded.resume(None)
    outcome = finish(loaded)
    assert isinstance(outcome, Returned)
    assert outcome.value == [1, 2, 2]


def test_a_function_that_holds_itself_can_be_saved():
    b = builder()
    itself = b.function("itself", "LOAD_CAPTURE 0", "RETURN", captures=[(0, 0)])
    b.entry(
        "CHARGE 1", "NULL", "STORE 0", "CELL 0", f"CLOSURE {itself}", "STORE_CELL 0",
        "LOAD_CELL 0", "CALL_VALUE 0 []", "LOAD_CELL 0", "EQ", "RETURN",
    )  # fmt: skip
    program = Program(b.module)
    outcome, _ = saved_every(1)(program, started(b.module, program=program), RecordingHost())
    assert isinstance(outcome, Returned)
    assert outcome.value is True


def test_a_list_in_many_frames_is_written_once():
    def size(depth: int) -> int:
        b = builder()
        b.function(
            "down", "CHARGE 1", "LOAD 1", "INT 0", "EQ", "IF 0", "CALL_BUILTIN sleep 0", "RETURN", "END",
            "LOAD 0", "LOAD 1", "INT 1", "SUB", "CALL 0", "RETURN", parameters=["xs", "n"],
        )  # fmt: skip
        b.entry("CHARGE 1", "INT 0", "INT 10000", "RANGE", f"INT {depth}", "CALL 0", "RETURN")
        task = started(b.module, RecordingHost({"sleep": Waiting(nothing)}))
        assert isinstance(finish(task), Pending)
        loaded = save_and_load(task)
        assert loaded.frames[1].locals[0] is loaded.frames[-1].locals[0]
        return len(snapshot.save(task))

    assert size(200) < size(1) + 200 * 50


def test_the_deepest_recursion_can_be_saved():
    b = countdown(builtin_between=False)
    b.entry("CHARGE 1", "INT 9999", "CALL 0", "RETURN")
    task = started(b.module)
    while len(task.frames) < 10_001:
        assert isinstance(task.run(1), Yielded)
    loaded = save_and_load(task)
    outcome = finish(loaded)
    assert isinstance(outcome, Returned)
    assert outcome.value == 9_999
    assert loaded.steps == 1 + 2 * 10_000


def test_a_call_that_waits_makes_its_host_call_again_when_it_is_loaded():
    module = build("CHARGE 1", "INT 5", "CALL_BUILTIN fetch 1", "RETURN")
    task = started(module, RecordingHost({"fetch": Waiting(nothing)}))
    assert isinstance(task.run(), Pending)
    host = RecordingHost({"fetch": "fetched"})
    outcome = finish(save_and_load(task, host))
    assert isinstance(outcome, Returned)
    assert outcome.value == "fetched"
    assert host.calls == [("fetch", [5])]


def test_a_suspended_call_asks_again_when_it_is_loaded():
    about = ('CONST "Who?"', 'CONST {"a": "All", "m": "Me"}', 'CONST "m"', "CALL_BUILTIN about 3", "RETURN")
    task = started(build("CHARGE 1", *about))
    first = task.run()
    assert isinstance(first, Suspended)
    host = RecordingHost()
    loaded = save_and_load(task, host)
    again = loaded.run()
    assert isinstance(again, Suspended)
    for name in type(first.question).__slots__:
        assert getattr(first.question, name) == getattr(again.question, name), name
    host.answers = ["a"]
    outcome = loaded.run()
    assert isinstance(outcome, Returned)
    assert outcome.value == "a"


def test_top_level_variables_steps_and_the_limit_come_along():
    module = build("CHARGE 7", "INT 5", "STORE_GLOBAL n", "LOOP", "CHARGE 2", "BR 0", "END")
    task = started(module, max_steps=30)
    assert isinstance(task.run(10), Yielded)
    loaded = save_and_load(task)
    assert loaded.steps == task.steps == 11
    assert loaded.program.globals[0].value == 5
    finish(loaded)
    finish(task)
    assert loaded.steps == task.steps
    assert loaded.max_steps == 30


def test_text_with_half_of_a_surrogate_pair_comes_through():
    module = build("CHARGE 1", "CALL_BUILTIN read_line 0", "STORE 0", "CALL_BUILTIN sleep 0", "POP", "LOAD 0", "RETURN")
    task = started(module, RecordingHost({"read_line": "a\ud800", "sleep": Waiting(nothing)}))
    task.run()
    loaded = save_and_load(task, RecordingHost())
    outcome = loaded.run()
    assert isinstance(outcome, Returned)
    assert outcome.value == "a\ud800"


# what is refused


def refusal(data: bytes, program: Program | None = None) -> str:
    with pytest.raises(BadSnapshot) as refused:
        snapshot.load(program or Program(build("NULL", "RETURN")), data, RecordingHost())
    return str(refused.value)


def saved() -> bytes:
    return snapshot.save(started(build("NULL", "RETURN")))


def test_a_call_that_is_over_cannot_be_saved():
    task = started(build("NULL", "RETURN"))
    task.run()
    with pytest.raises(BadSnapshot, match=r"^the call is over: there is nothing to save$"):
        snapshot.save(task)


def test_a_value_that_is_nested_too_deep_cannot_be_saved():
    module = build(
        "CHARGE 1", "NULL", "STORE 0", "INT 0", "INT 5000", "ITER_RANGE 1", "BLOCK 0", "LOOP", "CHARGE 1",
        "NEXT 1 1", "POP", "LOAD 0", "LIST 1", "STORE 0", "BR 0", "END", "END",
        "CALL_BUILTIN sleep 0", "RETURN",
    )  # fmt: skip
    task = started(module, RecordingHost({"sleep": Waiting(nothing)}))
    assert isinstance(finish(task), Pending)
    with pytest.raises(BadSnapshot, match=r"^it holds a value that is nested too deep to be saved$"):
        snapshot.save(task)


@pytest.mark.parametrize("depth", [100, 400, 500, 520, 600, 1_000, 1_100, 2_000])
def test_what_can_be_saved_can_be_loaded(depth):
    module = build("CHARGE 1", "CALL_BUILTIN sleep 0", "STORE 0", "CALL_BUILTIN sleep 0", "POP", "LOAD 0", "RETURN")
    for wrap in (lambda value: [value], lambda value: {"a": value}, lambda value: [{"a": value}]):
        value: Any = 1
        for _ in range(depth):
            value = wrap(value)
        task = started(module, RecordingHost({"sleep": Waiting(nothing)}))
        task.run()
        task.resume(value)
        task.run()
        try:
            data = snapshot.save(task)
        except BadSnapshot:
            assert depth > 500
            continue
        loaded = snapshot.load(Program(module), data, RecordingHost())
        assert equal(loaded.frames[0].locals[0], value)


def test_what_is_no_snapshot_is_refused():
    assert refusal(b"") == "it is not a Quillo snapshot"
    assert refusal(b"hello") == "it is not a Quillo snapshot"
    assert refusal(module_file.dump(build("NULL", "RETURN"))) == "it is not a Quillo snapshot"


def test_another_version_is_refused():
    data = saved()
    assert refusal(data[:5] + b"\x07" + data[6:]) == "it is written in format 7, and this build reads format 1"


def test_another_program_s_snapshot_is_refused():
    other = Program(build("TRUE", "RETURN"))
    assert refusal(saved(), other) == "it is of another program, or of another version of this one"


def test_a_snapshot_that_is_cut_off_is_refused():
    data = saved()
    for length in range(4, len(data)):
        assert "it is cut off" in refusal(data[:length]) or "it is damaged" in refusal(data[:length])


def test_any_flipped_bit_is_refused():
    data = saved()
    for place in range(len(data)):
        for bit in (1, 128):
            changed = bytearray(data)
            changed[place] ^= bit
            assert refusal(bytes(changed))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x01",
        [1, 2, 3],
        ["frames", [], []],
    ],
)
def test_a_payload_that_no_snapshot_has_is_refused(payload):
    assert refusal(framed(payload)) == "its payload is not what a snapshot holds"


@pytest.mark.parametrize(
    "frame",
    [
        [7, 0, [], [], []],
        [-1, 0, [], [], []],
        [0, 9, [], [], []],
        [0, -1, [], [], []],
        [0, 0, [1], [], []],
        [0, 0, [], [1], []],
        [0, 1, [], [], []],
    ],
)
def test_frames_that_the_engine_cannot_have_left_are_refused(frame):
    import msgpack

    state = msgpack.packb([0, None, None, [frame], []])
    assert refusal(framed([state, [], []])) == "its frames don't belong to this program"
    empty = msgpack.packb([0, None, None, [], []])
    assert refusal(framed([empty, [], []])) == "its frames don't belong to this program"


def framed(payload: Any) -> bytes:
    """A snapshot of `build("NULL", "RETURN")` with a right digest of any payload."""
    import blake3
    import msgpack

    data = payload if isinstance(payload, bytes) else msgpack.packb(payload)
    module = bytes.fromhex(module_file.digest(build("NULL", "RETURN")))
    digest = blake3.blake3(data).digest()
    return snapshot.FRAME.pack(snapshot.MAGIC, snapshot.VERSION, module, digest, len(data)) + data


# the format


def golden_paths() -> tuple[Path, Path]:
    return GOLDEN / f"snapshot_{snapshot.VERSION}.qvm", GOLDEN / f"snapshot_{snapshot.VERSION}.qss"


def test_a_snapshot_of_an_earlier_build_still_goes_on():
    module_path, snapshot_path = golden_paths()
    program = Program(module_file.load(module_path.read_bytes()))
    host = RecordingHost(RESULTS, answers=[True] * 9)
    outcome = finish(snapshot.load(program, snapshot_path.read_bytes(), host))
    wanted = finish(started(all_kinds(), RecordingHost(RESULTS, answers=[True] * 9)))
    assert isinstance(outcome, Returned)
    task = started(build("NULL", "RETURN"))
    assert ending(outcome, task) == ending(wanted, task)


def test_the_drawing_of_the_format_is_true():
    drawn = []
    for line in (snapshot.__doc__ or "").split("\n"):
        words = line.split()
        if line.startswith("    ") and words and words[0].isdigit():
            drawn.append([int(word) for word in words[:2] if word.isdigit()])
    sizes = [4, 2, 32, 32, 8]
    offsets = [sum(sizes[:place]) for place in range(len(sizes) + 1)]
    assert drawn == [[offset, size] for offset, size in zip(offsets, sizes, strict=False)] + [[offsets[-1]]]
    assert offsets[-1] == snapshot.FRAME.size
    magic = " ".join(f"{byte:02x}" for byte in snapshot.MAGIC)
    assert magic in (snapshot.__doc__ or "")
    assert f"the format's number, {snapshot.VERSION}" in (snapshot.__doc__ or "")


def write_golden_files() -> None:
    module_path, snapshot_path = golden_paths()
    module = all_kinds()
    host = RecordingHost(RESULTS, answers=[True])
    task = started(module, host)
    finish(task)
    module_path.write_bytes(module_file.dump(module))
    snapshot_path.write_bytes(snapshot.save(task))


if __name__ == "__main__":
    write_golden_files()
