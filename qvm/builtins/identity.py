"""The builtins of section "identity" that need no random numbers, and how a host makes a password's hash.

A password's hash is `$scrypt$n=32768,r=8,p=1$SALT$HASH`, both in base64: it says how it was made, so that a later
version can ask for more work and still check what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qvm.builtins.arguments import need_text, utf8, wrong

SALT_SIZE = 16  # bytes
_HASH_SIZE = 32  # bytes
_COST, _BLOCK, _LANES = 32768, 8, 1  # n, r and p of scrypt: 32 MiB of memory
_MOST_MEMORY = 256 * 1024 * 1024  # that checking a stored hash may ask for


def _scrypt(password: bytes, salt: bytes, n: int, r: int, p: int, size: int) -> bytes:
    from hashlib import scrypt

    return scrypt(password, salt=salt, n=n, r=r, p=p, maxmem=_MOST_MEMORY + 1024 * 1024, dklen=size)


def password_hash(password: Any, salt: bytes) -> str:
    """What `hash_password` gives, for a host: it takes the salt (`SALT_SIZE` random bytes) from outside.

    Raises Stop where `password` is no text.
    """
    from binascii import b2a_base64

    secret = utf8(need_text(password, 1, "hash_password"), 1, "hash_password")
    made = _scrypt(secret, salt, _COST, _BLOCK, _LANES, _HASH_SIZE)
    written = [b2a_base64(part, newline=False).decode("ascii") for part in (salt, made)]
    return f"$scrypt$n={_COST},r={_BLOCK},p={_LANES}${written[0]}${written[1]}"


def _check_password(s: Any, hash: Any) -> bool:
    """False, too, for a hash that `hash_password` did not make."""
    import hmac
    import re
    from binascii import Error, a2b_base64

    secret = utf8(need_text(s, 1, "check_password"), 1, "check_password")
    need_text(hash, 2, "check_password")
    found = re.fullmatch(r"\$scrypt\$n=([0-9]{1,8}),r=([0-9]{1,3}),p=([0-9]{1,3})\$([^$]+)\$([^$]+)", hash)
    if found is None:
        return False
    n, r, p = (int(number) for number in found.groups()[:3])
    try:
        salt, wanted = a2b_base64(found[4], strict_mode=True), a2b_base64(found[5], strict_mode=True)
    except (Error, ValueError):
        return False
    costs_too_much = 128 * n * r > _MOST_MEMORY or n * r * p > 4 * _COST * _BLOCK
    if costs_too_much or n < 2 or n & (n - 1) or r < 1 or p < 1 or len(wanted) != _HASH_SIZE:
        return False
    return hmac.compare_digest(_scrypt(secret, salt, n, r, p, len(wanted)), wanted)


def _plain_bytes(value: Any, place: int, builtin: str) -> bytes:
    if type(value) is bytes:
        return value
    if type(value) is not str:
        raise wrong(place, builtin, "str or bytes", value)
    return utf8(value, place, builtin)


def _hash(s: Any) -> str:
    from blake3 import blake3

    return blake3(_plain_bytes(s, 1, "hash")).hexdigest()


def _same(a: Any, b: Any) -> bool:
    """A text and its bytes are not the same."""
    import hmac

    equal = hmac.compare_digest(_plain_bytes(a, 1, "same"), _plain_bytes(b, 2, "same"))
    return equal and type(a) is type(b)


NATIVES: dict[str, Callable[..., Any]] = {
    "check_password": _check_password,
    "hash": _hash,
    "same": _same,
}
