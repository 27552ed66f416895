"""The builtins of section "identity": hashes, passwords, comparing secrets."""

from __future__ import annotations

import pytest

from qvm.builtins.identity import SALT_SIZE, password_hash
from qvm.values import Stop
from tests.native_calls import call, stop_of

STORED = password_hash("correct horse", b"\x01" * SALT_SIZE)


def test_the_hash_is_blake3() -> None:
    assert call("hash", "") == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    assert call("hash", "abc") == "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
    assert call("hash", b"abc") == call("hash", "abc")
    assert stop_of("hash", 1) == "argument 1 of `hash` must be str or bytes, got int"


def test_a_password_fits_its_own_hash_alone() -> None:
    assert call("check_password", "correct horse", STORED) is True
    assert call("check_password", "correct horse ", STORED) is False
    assert call("check_password", "", STORED) is False


def test_the_hash_of_a_password_does_not_show_it_and_depends_on_the_salt() -> None:
    assert STORED.startswith("$scrypt$n=32768,r=8,p=1$")
    assert "horse" not in STORED
    assert password_hash("correct horse", b"\x02" * SALT_SIZE) != STORED


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "correct horse",
        "$scrypt$",
        STORED[:-8],
        STORED + "=",
        STORED.replace("32768", "32767"),
        STORED.replace("32768", "16384"),
        STORED.replace("n=32768", "n=67108864"),  # would ask for 64 GiB
        STORED.replace("p=1", "p=999"),  # would take minutes
        STORED.replace("r=8", "r=0"),
        STORED.replace("n=32768", "n=1"),
        STORED.replace("$scrypt", "$argon2"),
        STORED.rpartition("$")[0] + "$",
        STORED.rpartition("$")[0] + "$AAAA",
    ],
)
def test_what_is_no_hash_of_it_fits_nothing(stored: str) -> None:
    assert call("check_password", "correct horse", stored) is False


def test_passwords_and_hashes_are_texts() -> None:
    assert stop_of("check_password", 1, STORED) == "argument 1 of `check_password` must be str, got int"
    assert stop_of("check_password", "a", None) == "argument 2 of `check_password` must be str, got null"
    with pytest.raises(Stop, match="argument 1 of `hash_password` must be str, got null"):
        password_hash(None, b"")


def test_comparing_secrets() -> None:
    assert call("same", "tökén", "tökén") is True
    assert call("same", "token", "t0ken") is False
    assert call("same", "a", "ab") is False
    assert call("same", b"a", b"a") is True
    assert call("same", b"a", "a") is False
    assert stop_of("same", "a", None) == "argument 2 of `same` must be str or bytes, got null"
