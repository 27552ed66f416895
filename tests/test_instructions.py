"""The instruction table and its encoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qasm.instructions import (
    BUILTIN,
    CAPTURE,
    CONSTANT,
    COUNT,
    DEPTH,
    FUNCTION,
    GLOBAL,
    KEYS,
    KIND,
    LOCAL,
    NAMED,
    OPS,
    RESULTS,
    SIGNED,
    TABLE,
    TYPE,
    VARIABLE,
    BadCode,
    Instruction,
    decode,
    encode,
)
from qasm.pictures import EFFECTS

OPERAND_KINDS = {
    BUILTIN, CAPTURE, CONSTANT, COUNT, DEPTH, FUNCTION, GLOBAL, KEYS, KIND, LOCAL, RESULTS, SIGNED, TYPE, VARIABLE,
}  # fmt: skip


def instruction_of(op):
    whole = st.integers(-(2**63), 2**63 - 1)
    parts = [whole if kind == SIGNED else st.integers(0, 2**63 - 1) for kind in op.operands]
    return st.tuples(*parts).map(lambda operands: Instruction(op, operands))


def instructions():
    return st.lists(st.sampled_from(TABLE).flatmap(instruction_of), max_size=20)


def test_numbers_and_names_are_unique_and_numbers_fit_a_byte():
    assert len(OPS) == len(NAMED) == len(TABLE)
    assert all(0 < op.number < 256 for op in TABLE)


@pytest.mark.parametrize("op", TABLE, ids=lambda op: op.name)
def test_each_row_is_complete(op):
    assert set(op.operands) <= OPERAND_KINDS
    assert op.sentence.endswith((".", "?"))
    assert op.number in EFFECTS
    before, after = op.picture.split("--")
    starred = [item for item in before.split() if item.endswith("*")]
    assert len(starred) <= 1
    assert "*" not in after
    # A VARIABLE is told apart by the KIND right before it; a DEPTH stands last.
    assert [place + 1 for place, kind in enumerate(op.operands) if kind == KIND] == [
        place for place, kind in enumerate(op.operands) if kind == VARIABLE
    ]
    assert DEPTH not in op.operands[:-1]


@given(instructions())
def test_what_is_encoded_is_decoded_again(code):
    assert list(decode(encode(code))) == code


@given(st.binary(max_size=40))
def test_any_bytes_are_code_or_refused_as_bad_code(data):
    try:
        code = list(decode(data))
    except BadCode:
        return
    assert encode(code) == data


@given(instructions(), st.data())
def test_code_that_is_cut_within_an_instruction_is_refused(code, data):
    encoded = encode(code)
    ends = {len(encode(code[:count])) for count in range(len(code) + 1)}
    for end in range(len(encoded)):
        if end not in ends:
            with pytest.raises(BadCode, match="is cut off"):
                list(decode(encoded[:end]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x00", "offset 0: there is no instruction 0x00"),
        (b"\x12\xff", "offset 1: there is no instruction 0xff"),
        (b"\x12\x20", "offset 1: LOAD is cut off"),
        (b"\x12\x20\x80", "offset 1: LOAD is cut off"),
        (b"\x20\x80\x00", "offset 0: an operand of LOAD is not in its shortest form"),
        (b"\x20" + b"\x80" * 12 + b"\x01", "offset 0: an operand of LOAD is too long"),
    ],
)
def test_bad_code_says_where_and_what(data, message):
    with pytest.raises(BadCode) as refusal:
        list(decode(data))
    assert str(refusal.value) == message
