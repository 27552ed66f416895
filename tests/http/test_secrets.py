"""QUILLO_SECRET, and the keys that are made from it."""

from __future__ import annotations

import pytest

from server.secrets import SecretError, key_of, secret_of


def test_a_secret_is_what_the_environment_says_or_none() -> None:
    assert secret_of({}) is None
    assert secret_of({"QUILLO_SECRET": "x" * 32}) == b"x" * 32
    assert secret_of({"QUILLO_SECRET": "ü" * 16}) == "ü".encode() * 16


@pytest.mark.parametrize("text", ["", "x", "x" * 31])
def test_a_short_secret_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(SecretError) as caught:
        secret_of({"QUILLO_SECRET": text})
    assert str(caught.value).startswith(f"QUILLO_SECRET has {len(text)} bytes: it needs at least 32")


def test_each_purpose_has_a_key_of_its_own() -> None:
    secret = b"0123456789abcdef0123456789abcdef"
    keys = {key_of(secret, purpose) for purpose in ("a", "b")} | {key_of(secret + b"x", "a")}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {32}
    assert key_of(secret, "a") == key_of(secret, "a")
