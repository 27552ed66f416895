"""The file of a Module: exact both ways, and nothing foreign or damaged gets through."""

import copy
import re
from pathlib import Path

import msgpack
import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from qasm import module as parts
from qasm import module_file
from qasm.framing import FRAME
from qasm.module import BadModule, Module, Parameter, Route, Tool
from qasm.module_file import MAGIC, VERSION, digest, dump, load
from qasm.verifier import verify
from tests.building import build, builder
from tests.random_modules import modules

GOLDEN = Path(__file__).parent / "golden"


def full_module():
    """A Module with something in every field."""
    made = builder("full", "let total = 0\nprint(total)\n")
    made.type("Note", ["record", [["id", "int", True], ["text", ["union", ["str", "null"]], False]]])
    made.constant({"markup": "<b>"})
    made.constant([None, True, -1, 1.5, b"\0"])
    inner = made.function("inner", "LOAD_CAPTURE 0", "RETURN", captures=[(0, 1)], builtin=True)
    add = made.function(
        "add",
        "CHARGE 9", "IF_ABSENT 1", "INT 5", "STORE 1", "END", "CELL 1", f"CLOSURE {inner}", "CALL_VALUE 0 []", "RETURN",
        parameters=[Parameter("x", "int", True), Parameter("y", ["list", "int"], False, 5, True)],
        result=["type", 0],
    )  # fmt: skip
    made.entry("@1", "INT 0", "STORE_GLOBAL total", "@2", "LOAD_GLOBAL total", "CALL_BUILTIN print 1", "RETURN")
    module = made.module
    module.tools.append(
        Tool("add", add, "Adds.", {"type": "object"}, {"b": 1, "a": 2}, {"x": True}, True, "int", False, True)
    )
    module.routes.append(Route("route", "GET", "/{id}", add))
    module.tests.append(parts.Test("adds", 2))
    module.instructions = {"stdio": "first", "http": "second"}
    return module


def framed(payload, version=VERSION):
    """A file whose frame is right, whatever its payload is."""
    return FRAME.pack(MAGIC, version, blake3(payload).digest(), len(payload)) + payload


def refusal(data):
    with pytest.raises(BadModule) as refused:
        load(data)
    return str(refused.value)


@given(modules())
def test_a_module_comes_back_from_its_file(module):
    data = dump(module)
    assert load(data) == module
    assert dump(load(data)) == data


def test_the_same_module_gives_the_same_bytes():
    assert dump(full_module()) == dump(full_module())
    assert digest(full_module()) == blake3(dump(full_module())[FRAME.size :]).hexdigest()


def test_modules_that_differ_in_anything_have_different_digests():
    whole = digest(full_module())
    changed = full_module()
    changed.files[0].text += " "
    assert digest(changed) != whole
    reordered = full_module()
    reordered.tools[0].output_schema = {"a": 2, "b": 1}
    assert digest(reordered) != whole


def test_any_flipped_bit_is_refused():
    data = dump(build("INT 2", "RETURN"))
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            refusal(bytes(flipped))


def test_a_file_that_is_cut_anywhere_is_refused():
    data = dump(full_module())
    for size in range(len(data)):
        refusal(data[:size])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it is empty"),
        (b"let x = 1\n", "it is not a Quillo module"),
        (b"\x7fELF" + b"\0" * 60, "it is not a Quillo module"),
        (MAGIC[:3], "it is not a Quillo module"),
        (MAGIC, "it is cut off: 4 of the 46 bytes of its frame are there"),
        (framed(b"\xc0", version=2), "it is written in format 2, and this build reads format 1: build it again"),
        (framed(b"\xc0\xc0")[:-1], "it is cut off: 1 of the 2 bytes of its payload are there"),
        (framed(b"\xc0") + b"ab", "it is too long: 2 bytes stand behind its payload"),
        (framed(b"\xc0")[:-1] + b"\xc1", "it is damaged: its bytes don't have the digest that is written in it"),
        (framed(b"\xc1"), "its digest is right, but its payload is no msgpack"),
        (framed(b""), "its digest is right, but its payload is no msgpack"),
        (framed(b"\xc0\xc0"), "its digest is right, but its payload is no msgpack"),
        (framed(b"\xdd\xff\xff\xff\xff"), "its digest is right, but its payload is no msgpack"),
        (framed(b"\x91" * 5000 + b"\xc0"), "its digest is right, but its payload is no msgpack"),
        (framed(b"\xc0"), "its digest is right, but its payload is no Module"),
        (framed(msgpack.packb([1] * 12)), "its instructions is not a map"),
    ],
)
def test_a_refusal_says_what_failed(data, message):
    assert refusal(data) == message


def payload_of(module):
    return msgpack.unpackb(dump(module)[FRAME.size :])


def places(value, path=()):
    """The paths of all values within a payload."""
    yield path
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from places(item, (*path, number))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))


def replaced(payload, path, value):
    payload = copy.deepcopy(payload)
    inner = payload
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return payload


FOREIGN = [None, True, -1, 2**32, 2**64 - 1, 1.5, "text", b"code", [], [[]], {}, {"a": 1}, msgpack.Timestamp(1)]


@given(st.data())
def test_a_payload_with_anything_foreign_in_it_is_a_module_or_refused(data):
    payload = payload_of(full_module())
    path = data.draw(st.sampled_from([path for path in places(payload) if path]))
    packed = msgpack.packb(replaced(payload, path, data.draw(st.sampled_from(FOREIGN))))
    try:
        module = load(framed(packed))
    except BadModule:
        return
    assert dump(module) == framed(packed)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((0,), b"x", "its name is not a text"),
        ((1,), {}, "its file is not a list"),
        ((1, 0), ["a"], "its file 0 is not a list of 2 fields"),
        ((2, 0), 2**63, "its constant 0 is not a number of 64 bits"),
        ((2, 0), float("nan"), "its constant 0 is not a number"),
        ((2, 0), [msgpack.ExtType(1, b"")], "its constant 0 is not a value that a Module can hold"),
        ((3, 0, 1), 5, "its type 0 is not a type"),
        ((6, 1, 1), True, "its function 1's file is not a whole number from 0"),
        ((6, 1, 1), 1.0, "its function 1's file is not a whole number from 0"),
        ((6, 1, 3), -1, "its function 1's count of locals is not a whole number from 0"),
        ((6, 1, 6), "x", "its function 1's code is not a piece of code"),
        ((6, 1, 2, 0, 2), 1, "its function 1's parameter 0's mark of being required is not true or false"),
        ((6, 1, 7, 0), [0], "its function 1's line table 0 is not a list of 2 fields"),
        ((8, 0, 3), [], "its tool 0's input schema is not a map"),
        ((11, "stdio"), 1, "its instructions for stdio is not a text"),
    ],
)
def test_a_payload_of_another_shape_is_refused(path, value, message):
    assert refusal(framed(msgpack.packb(replaced(payload_of(full_module()), path, value)))) == message


def test_only_the_one_form_of_a_payload_is_taken():
    payload = dump(build("INT 2", "RETURN"))[FRAME.size :]
    longer = payload.replace(b"\xa4test", b"\xd9\x04test", 1)
    assert longer != payload
    assert msgpack.unpackb(longer) == msgpack.unpackb(payload)
    assert refusal(framed(longer)) == "its payload is not in the one form that a Module has"


def test_a_key_that_is_there_twice_is_refused():
    twice = msgpack.packb(payload_of(Module("m", constants=[{"a": 1}]))).replace(
        b"\x81\xa1a\x01", b"\x82\xa1a\x01\xa1a\x01", 1
    )
    assert refusal(framed(twice)) == "its payload is not in the one form that a Module has"


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_deep_nesting_is_refused_when_written_and_when_read():
    assert load(dump(Module("m", constants=[nested(module_file.NESTING)]))).constants
    message = "its constant 0 nests more than 256 lists and maps"
    with pytest.raises(BadModule, match=message):
        dump(Module("m", constants=[nested(module_file.NESTING + 1)]))
    payload = payload_of(Module("m"))
    payload[2] = [nested(module_file.NESTING + 1)]
    assert refusal(framed(msgpack.packb(payload))) == message


@pytest.mark.parametrize("constant", [2**63, (1, 2), {1: 2}, object(), float("nan"), "\ud800", ["\udc80"]])
def test_what_no_file_can_keep_is_not_written(constant):
    with pytest.raises(BadModule):
        dump(Module("m", constants=[constant]))


def test_the_frame_is_as_the_docstring_draws_it():
    rows = re.findall(r"^ +(\d+) +(\d+) +(magic|version|digest|length) +(.*)$", module_file.__doc__, re.M)
    assert [(int(offset), int(size), name) for offset, size, name, _ in rows] == [
        (0, 4, "magic"),
        (4, 2, "version"),
        (6, 32, "digest"),
        (38, 8, "length"),
    ]
    assert rows[0][3].startswith(MAGIC.hex(" "))
    assert rows[1][3].endswith(f", {VERSION}")
    data = dump(build("INT 2", "RETURN"))
    assert data[0:4] == MAGIC
    assert int.from_bytes(data[4:6], "big") == VERSION
    assert data[6:38] == blake3(data[46:]).digest()
    assert int.from_bytes(data[38:46], "big") == len(data) - 46


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_files_of_earlier_builds_are_still_read(version):
    data = (GOLDEN / f"format_{version}.qvm").read_bytes()
    assert int.from_bytes(data[4:6], "big") == version
    module = load(data)
    verify(module)
    assert (module.name, module.files[0].text) == ("full", "let total = 0\nprint(total)\n")
    if version == VERSION:
        assert module == full_module()
        assert dump(module) == data
