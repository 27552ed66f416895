"""The frame around the files of this project: who they are, in which format, and whether they are whole.

Magic (4 bytes), version (2), BLAKE3 digest of the payload (32), length of the payload (8), payload; numbers are
big-endian. `unframe` looks at magic, version, length and digest in this order and says which failed.
"""

from __future__ import annotations

import struct

FRAME = struct.Struct(">4sH32sQ")  # magic, version, digest, length


class BadFrame(Exception):
    """A file that is refused; the text is one sentence."""


def blake3(payload: bytes) -> bytes:
    """The payload's digest, 32 bytes. The library is loaded by the first call: a start may need none."""
    from blake3 import blake3

    return bytes(blake3(payload).digest())


def frame(magic: bytes, version: int, payload: bytes) -> bytes:
    return FRAME.pack(magic, version, blake3(payload), len(payload)) + payload


def unframe(data: bytes, magic: bytes, version: int, kind: str, remedy: str = "") -> bytes:
    """The payload of a file. `kind` names what it should be, `remedy` what to do about another format's number.

    Raises BadFrame.
    """
    if not data:
        raise BadFrame("it is empty")
    if not data.startswith(magic):
        raise BadFrame(f"it is not {kind}")
    if len(data) < FRAME.size:
        raise BadFrame(f"it is cut off: {len(data)} of the {FRAME.size} bytes of its frame are there")
    _, written, digest, length = FRAME.unpack_from(data)
    if written != version:
        raise BadFrame(f"it is written in format {written}, and this build reads format {version}{remedy}")
    payload = data[FRAME.size :]
    if len(payload) < length:
        raise BadFrame(f"it is cut off: {len(payload)} of the {length} bytes of its payload are there")
    if len(payload) > length:
        raise BadFrame(f"it is too long: {len(payload) - length} bytes stand behind its payload")
    if blake3(payload) != digest:
        raise BadFrame("it is damaged: its bytes don't have the digest that is written in it")
    return payload
