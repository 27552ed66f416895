"""QUILLO_SECRET, and the keys that are made from it: one for each purpose, so that what is signed for one is nothing
for another.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

SHORTEST_SECRET = 32  # bytes of QUILLO_SECRET


class SecretError(Exception):
    """A QUILLO_SECRET that can't be used; the text is one line."""


def secret_of(environment: Mapping[str, str]) -> bytes | None:
    """What QUILLO_SECRET holds, None where it is not set. Raises SecretError for one that is too short."""
    text = environment.get("QUILLO_SECRET")
    if text is None:
        return None
    secret = os.fsencode(text)
    if len(secret) < SHORTEST_SECRET:
        raise SecretError(
            f"QUILLO_SECRET has {len(secret)} bytes: it needs at least {SHORTEST_SECRET}, and should be random"
        )
    return secret


def key_of(secret: bytes, purpose: str) -> bytes:
    """The 32 bytes of the key for one purpose (BLAKE3's key derivation)."""
    from blake3 import blake3

    return bytes(blake3(secret, derive_key_context=f"quillo: {purpose}, 1").digest())
