"""The policy: limits and permissions that the person who runs a program sets (language.md, section 15).

    [limits]
    max_tool_calls = 60      # a minute for each user
    max_compute = 50_000_000 # VM steps for one request or call
    max_body = "1mb"         # of a request: bytes, kb or mb (of 1024)
    [allow]
    effects = ["db", "http"] # anything else is refused as it runs
    hosts = ["api.example.com"]

Rule 1  A policy only lowers: of two values for one limit the smaller counts, and what one of two policies forbids is
        forbidden.
Rule 2  What a policy says must be understood: an unknown key or effect is an error that names the nearest known one.
"""

from __future__ import annotations

import os
import re
from typing import Any

BESIDE = "quillo.policy.toml"  # read where it lies beside the main file
EFFECTS = ("db", "fs", "http", "net")
MAX_COMPUTE = 50_000_000  # steps of one call, where nothing says less
MAX_MESSAGE = 10 * 1024 * 1024  # bytes of one message over stdio, where nothing says less
_SIZES = {"": 1, "b": 1, "kb": 1024, "mb": 1024 * 1024}
_SIZE = re.compile(r"([0-9][0-9_]*)\s*(kb|mb|b|)", re.IGNORECASE)
_HOST = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")


class PolicyError(Exception):
    """A policy that can't be read or understood; the text is one line for a person."""


class Policy:
    """What may be done, and how much of it. None stands for "nothing is said"."""

    __slots__ = ("effects", "hosts", "max_body", "max_compute", "max_tool_calls")

    def __init__(
        self,
        max_tool_calls: int | None = None,
        max_compute: int | None = None,
        max_body: int | None = None,
        effects: frozenset[str] | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self.max_tool_calls = max_tool_calls
        self.max_compute = max_compute
        self.max_body = max_body
        self.effects = effects
        self.hosts = hosts

    def lowered_by(self, other: Policy) -> Policy:
        """Both at once (Rule 1)."""
        return Policy(
            _least(self.max_tool_calls, other.max_tool_calls),
            _least(self.max_compute, other.max_compute),
            _least(self.max_body, other.max_body),
            _both(self.effects, other.effects),
            _both(self.hosts, other.hosts),
        )


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _both(a: frozenset[str] | None, b: frozenset[str] | None) -> frozenset[str] | None:
    return b if a is None else a if b is None else a & b


def read_policies(folder: str, given: str | None) -> Policy:
    """The policy of a program in `folder`: that of the file beside it and that of `given`. Raises PolicyError."""
    policy = Policy()
    beside = os.path.join(folder, BESIDE)
    for path in (beside if os.path.lexists(beside) else None, given):
        if path is not None:
            policy = policy.lowered_by(read_policy(path))
    return policy


def read_policy(path: str) -> Policy:
    """The policy in one file. Raises PolicyError."""
    try:
        with open(path, "rb") as file:
            data = file.read(1024 * 1024 + 1)
    except OSError as error:
        raise PolicyError(f"{path}: the policy can't be read: {(error.strerror or 'unreadable').lower()}") from None
    if len(data) > 1024 * 1024:
        raise PolicyError(f"{path}: a policy has at most 1 MB")
    import tomllib

    try:
        document = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise PolicyError(f"{path}: the policy is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        text = str(error)
        raise PolicyError(f"{path}: the policy is not TOML: {text[:1].lower() + text[1:]}") from None
    except RecursionError:
        raise PolicyError(f"{path}: the policy is nested too deep") from None
    try:
        return _understand(document)
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def _understand(document: dict[str, Any]) -> Policy:
    _known(document, ("limits", "allow"), "")
    limits = _section(document, "limits", ("max_tool_calls", "max_compute", "max_body"))
    allow = _section(document, "allow", ("effects", "hosts"))
    effects = _names(allow, "effects")
    for effect in effects or ():
        if effect not in EFFECTS:
            raise PolicyError(f"`effects` has the unknown effect `{effect}`{_hint(effect, EFFECTS)}")
    hosts = _names(allow, "hosts")
    for host in hosts or ():
        if not _HOST.fullmatch(host):
            raise PolicyError(f'`hosts` takes names of hosts such as "api.example.com", got "{host}"')
    return Policy(
        _whole(limits, "max_tool_calls"),
        _whole(limits, "max_compute"),
        size_of(limits["max_body"]) if "max_body" in limits else None,
        None if effects is None else frozenset(effects),
        None if hosts is None else frozenset(host.lower() for host in hosts),
    )


def _section(document: dict[str, Any], name: str, keys: tuple[str, ...]) -> dict[str, Any]:
    section = document.get(name, {})
    if not isinstance(section, dict):
        raise PolicyError(f"`{name}` is a section: write [{name}] on a line of its own")
    _known(section, keys, f" in [{name}]")
    return section


def _known(table: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in keys:
            raise PolicyError(f"unknown key `{key}`{where}{_hint(key, keys)}")


def _hint(word: str, known: tuple[str, ...]) -> str:
    from compiler.spelling import nearest

    near = nearest(word, known)
    return f": did you mean `{near}`?" if near else f": known are {', '.join(f'`{name}`' for name in known)}"


def _whole(limits: dict[str, Any], key: str) -> int | None:
    value = limits.get(key)
    if value is None:
        return None
    if type(value) is not int or value < 1:
        raise PolicyError(f"`{key}` must be a whole number from 1 up")
    return value


def _names(allow: dict[str, Any], key: str) -> list[str] | None:
    value = allow.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or any(type(item) is not str for item in value):
        raise PolicyError(f'`{key}` must be a list of texts, such as ["{"db" if key == "effects" else "example.com"}"]')
    return value


def size_of(value: Any) -> int:
    """A number of bytes, as a whole number or a text such as "512kb". Raises PolicyError."""
    if type(value) is int and value > 0:
        return value
    if type(value) is str and (match := _SIZE.fullmatch(value.strip())):
        size = int(match[1].replace("_", "")) * _SIZES[match[2].lower()]
        if size > 0:
            return size
    raise PolicyError('`max_body` must be a size such as 65536, "512kb" or "1mb"')
