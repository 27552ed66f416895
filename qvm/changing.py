"""How a variable's list or record is given a new part, without another variable ever seeing it.

A variable owns its list or record while nothing else holds it: then it is changed in place; else it is copied first.
For what lies deeper (`grid[2][3] = 1`), the copy is left out where only the list or record around it holds it: the
count of references tells.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from qvm.mistakes import SURELY_SHORT, check_size, refuse_error, refused
from qvm.operators import add, element, field_of, out_of_range
from qvm.values import Stop, kind_of

_PROBE: list[Any] = [[]]
# What the count of references is for a part that only the container around it holds, asked in the very same way.
_HELD_ONCE = getrefcount(_PROBE[0])


def assign(root: Any, owned: Any, path: str, keys: list[Any], value: Any) -> Any:
    """`root.a[i] = value` for a path such as `.[`; gives the new root, which the variable then owns.

    `owned` is the list or record that the variable owned before, if any.
    """
    refuse_error(value)
    root, container = _opened(root, owned, path, keys)
    key = keys[-1]
    if type(container) is dict and key not in container:
        check_size(len(container) + 1, "record")
    container[key] = value
    return root


def extend(root: Any, owned: Any, path: str, keys: list[Any], value: Any) -> Any:
    """`root.a[i] += value`; gives the new root, which the variable then owns.

    A list or text that nothing else holds is made longer in place, so that a loop of these is linear.
    """
    current = root
    for step, key in zip(path, keys, strict=True):
        current = field_of(current, key) if step == "." and type(key) is str else element(current, key)
    kind = type(current)
    if kind is not type(value) or (kind is not list and kind is not str):
        return assign(root, owned, path, keys, add(current, value))
    size = len(current) + len(value)
    if kind is list:
        check_size(size)
    elif size > SURELY_SHORT:
        return assign(root, owned, path, keys, add(current, value))
    if value is root:
        owned = None  # what is added holds the place itself: a list must not come to hold itself
    del current
    root, container = _opened(root, owned, path, keys)
    key = keys[-1]
    if kind is str:
        # With no other reference to it, Python lengthens a text in place.
        text = container[key]
        container[key] = None
        text += value
        container[key] = text
    elif getrefcount(container[key]) > _HELD_ONCE:
        container[key] = container[key] + value
    else:
        container[key].extend(value)
    return root


def _opened(root: Any, owned: Any, path: str, keys: list[Any]) -> tuple[Any, Any]:
    """The root, and the list or record in it that holds the last key's place: both free to be changed in place."""
    _check_step(root, path[0], keys[0])
    if root is not owned:
        root = root.copy()
    container = root
    for place in range(len(path) - 1):
        key = keys[place]
        if type(container) is dict and key not in container:
            raise _cannot_set(None, path[place + 1], keys[place + 1])
        shared = getrefcount(container[key]) > _HELD_ONCE
        part = container[key]
        _check_step(part, path[place + 1], keys[place + 1])
        if shared:
            part = container[key] = part.copy()
        container = part
    return root, container


def _check_step(container: Any, step: str, key: Any) -> None:
    """Stops unless `container` has, or can be given, this part."""
    kind = type(container)
    if kind is dict:
        if type(key) is not str:
            raise refused(f"a record's key must be str, got {kind_of(key)}", key)
    elif kind is list and step == "[":
        if type(key) is not int:
            raise refused(f"an index must be int, got {kind_of(key)}", key)
        if not -len(container) <= key < len(container):
            raise out_of_range(container, key)
    else:
        raise _cannot_set(container, step, key)


def _cannot_set(container: Any, step: str, key: Any) -> Stop:
    what = f"`{key}`" if step == "." else "an element"
    return refused(f"cannot set {what} of {kind_of(container)}", container)
