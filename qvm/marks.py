"""What a recording must not hold, and the marks that stand in its place.

`Secrets` looks at each host call of a call (`observe`), learns from it which texts are secret, and changes texts
(`changed`): a secret becomes a mark that says what stood there, `‹env API_KEY›`. One secret has one mark wherever it
stands: in arguments, values, variables, questions, the result. So a call that only hands a secret on is replayed as it
ran; one that looks into it (its length, its hash) may go another way.

Rule 1  Secret is: what `env` gives; the password that `hash_password` takes, and an argument of a call, or a field in
        one, whose name ends in `password` or the like; a token that `mcp_token` gives; what stands in a header such as
        `Authorization` or `Cookie`, also in an argument; what whoever made the Secrets names.
Rule 2  Secret by its look, wherever it comes from: a password's hash, a token of Quillo, what follows `Bearer`, the
        password in an address (`postgres://ann:…@host`).
Rule 3  What has fewer than four characters would be found everywhere and is no secret: only the very value that `env`
        or `hash_password` gave or took becomes a mark.
Rule 4  What `env` gives is no secret if it stands in the program's text, which is in the recording: `env("MODE")` may
        be compared with "production".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from qvm.values import Response

SHORTEST = 4  # characters of a secret that is looked for in other texts
_DEPTH = 4  # lists and records within one another in which headers are looked for
_HEADERS = {
    "authorization": "authorization",
    "proxy-authorization": "authorization",
    "x-api-key": "authorization",
    "x-auth-token": "authorization",
    "cookie": "cookie",
    "set-cookie": "cookie",
}
# By their look: the kind, and the pattern whose group `secret` (or all of it) becomes the mark.
_LOOKS = (
    ("password hash", re.compile(r"\$(?:scrypt|argon2\w*|2[aby]|pbkdf2[\w-]*)\$[\w$=,.+/-]{8,}", re.ASCII)),
    ("token", re.compile(r"qmcp_[\w-]{20,}", re.ASCII)),
    ("authorization", re.compile(r"(?i:\bbearer )(?P<secret>[\w.~+/-]{8,}=*)", re.ASCII)),
    ("password", re.compile(r"://[^\s/:@?#‹]*+:(?P<secret>[^\s/@?#‹][^\s/@?#]*+)@", re.ASCII)),
)
_LONGEST_NAME = 40  # of a name in a mark
# How the names of arguments and fields end whose value is secret, in small letters without `_`, `-` and digits behind.
_NAMED = (
    *("password", "passwd", "passphrase", "passcode", "secret", "token", "credential", "credentials"),
    *("apikey", "accesskey", "secretkey", "privatekey", "signingkey", "encryptionkey"),
)
_NOT_IN_NAME = str.maketrans("", "", "_- ")
# What a text must have one of to have such a look.
_HINTS = ("$", "qmcp_", "earer ", "EARER ", "://")


def mark(what: str) -> str:
    """The text that stands for a secret."""
    return f"‹{what}›"


def _is_mark(text: str) -> bool:
    return text.startswith("‹") and text.endswith("›")


class Secrets:
    """The secrets of one call. `known` are (text, what it is) that are secret from the start; `used` the marks set.

    `public` is the program's text.
    """

    def __init__(self, known: Iterable[tuple[str, str]] = (), public: str = "") -> None:
        self._public = public
        self.used: set[str] = set()
        self._marks: dict[str, str] = {}  # by secret
        self._pattern: re.Pattern[str] | None = None
        for text, what in known:
            self.learn(text, what)

    def learn(self, text: Any, what: str) -> None:
        """Makes a text a secret."""
        if type(text) is str and len(text) >= SHORTEST and not _is_mark(text) and text not in self._marks:
            self._marks[text] = mark(what)
            self._pattern = None

    def learned(self) -> list[tuple[str, str]]:
        """The secrets, each with what it is."""
        return [(text, made[1:-1]) for text, made in self._marks.items()]

    def observe(self, name: str, arguments: list[Any], value: Any) -> None:
        """Learns what is secret in a host call: its arguments, and the value that it gave (None for none)."""
        if name == "env":
            if type(value) is not str or value in self._public:
                return
            self.learn(value, f"env {arguments[0]}" if arguments else "env")
        elif name == "hash_password" and arguments:
            self.learn(arguments[0], "password")
        elif name == "mcp_token":
            self.learn(value, "token")
        elif name == "fetch":
            self._find_headers(arguments, _DEPTH)
            self._find_headers(value, _DEPTH)

    def learn_arguments(self, given: Any) -> None:
        """Learns what is secret in the arguments of the call, by their names."""
        self._find_headers(given, _DEPTH)
        self._find_named(given)

    def _find_named(self, value: Any) -> None:
        if type(value) is list:
            for item in value:
                self._find_named(item)
        elif type(value) is dict:
            for name, item in value.items():
                if _is_secret_name(name):
                    self._learn_all(item, name.lower()[-_LONGEST_NAME:])
                else:
                    self._find_named(item)

    def _learn_all(self, value: Any, what: str) -> None:
        """Makes every text within a value a secret."""
        if type(value) is list or type(value) is dict:
            for item in value.values() if type(value) is dict else value:
                self._learn_all(item, what)
        else:
            self.learn(value, what)

    def replaced(self, name: str, arguments: list[Any], value: Any) -> tuple[list[Any], Any]:
        """A host call's arguments and value with the whole secrets of Rule 3 replaced; others are left to `changed`."""
        if name == "env" and type(value) is str and value not in self._public and not _is_mark(value):
            value = mark(f"env {arguments[0]}" if arguments else "env")
            self.used.add(value)
        elif name == "hash_password" and arguments and type(arguments[0]) is str and not _is_mark(arguments[0]):
            arguments = [mark("password"), *arguments[1:]]
            self.used.add(arguments[0])
        return arguments, value

    def changed(self, text: str) -> str:
        """A text with marks for all secrets in it."""
        if any(hint in text for hint in _HINTS):
            for what, pattern in _LOOKS:
                text = pattern.sub(lambda found, what=what: self._mark_in(found, what), text)  # type: ignore[misc]
        if self._marks:
            if self._pattern is None:
                # The longest first: one secret may be a part of another, or of a mark that is there already.
                secrets = sorted({*self._marks, *self._marks.values()}, key=len, reverse=True)
                self._pattern = re.compile("|".join(map(re.escape, secrets)))
            text = self._pattern.sub(self._mark_of, text)
        return text

    def _mark_of(self, found: re.Match[str]) -> str:
        made = self._marks.get(found.group(), found.group())
        self.used.add(made)
        return made

    def _mark_in(self, found: re.Match[str], what: str) -> str:
        made = mark(what)
        self.used.add(made)
        start, end = found.span("secret" if "secret" in found.re.groupindex else 0)
        return found.string[found.start() : start] + made + found.string[end : found.end()]

    def _find_headers(self, value: Any, depth: int) -> None:
        if isinstance(value, Response):
            value = value.headers
        if depth == 0:
            return
        if type(value) is list:
            for item in value:
                self._find_headers(item, depth - 1)
        elif type(value) is dict:
            for key, item in value.items():
                what = _HEADERS.get(key.lower())
                if what is None:
                    self._find_headers(item, depth - 1)
                elif type(item) is str:
                    for part in _secret_parts(item, what):
                        self.learn(part, what)


def _is_secret_name(name: str) -> bool:
    return name.lower().rstrip("0123456789_- ").translate(_NOT_IN_NAME).endswith(_NAMED)


def _secret_parts(value: str, what: str) -> list[str]:
    """What is secret in a header's value: a scheme (`Bearer`) and the names of cookies are not."""
    if what == "authorization":
        return [value.partition(" ")[2] or value]
    parts = [part.strip().partition("=")[2] for part in value.split(";")]
    return [part for part in parts if len(part) > 7]
