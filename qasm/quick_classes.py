"""Classes that hold fields, as `dataclasses` makes them with `slots=True`, but quick to make.

The tree of the compiler has some seventy classes. `dataclasses` writes three methods for each while it is imported,
which took 27 ms of every start, and its own import 10 ms more; here an `__init__` is written when the first object of
its class is made: 5 ms in all. For a type checker the module that uses this imports the real `dataclass` instead.
`dataclasses.fields` works on these classes too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)
_MISSING: Any = object()


class FieldMark:
    """What `field(…)` says of a field."""

    __slots__ = ("default", "default_factory", "init", "repr")

    def __init__(
        self, default: Any = _MISSING, default_factory: Any = _MISSING, init: bool = True, repr: bool = True
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr


field = FieldMark


def dataclass(*, slots: bool, eq: bool = True) -> Callable[[_Class], _Class]:
    """Makes a class of a class's annotations: slots, `__init__`, `__repr__`, `__match_args__`, `__eq__` if wanted."""
    if not slots:
        raise TypeError("only classes with slots=True are made here")

    def make(cls: _Class) -> _Class:
        marks: dict[str, FieldMark] = dict(getattr(cls, "_marks", {}))
        namespace = dict(cls.__dict__)
        own = namespace.get("__annotations__", {})
        for name in own:
            default = namespace.pop(name, _MISSING)
            marks[name] = default if isinstance(default, FieldMark) else FieldMark(default)
        namespace.pop("__dict__", None)
        namespace.pop("__weakref__", None)
        namespace["__slots__"] = tuple(own)
        namespace["__match_args__"] = tuple(name for name, mark in marks.items() if mark.init)
        namespace["__init__"] = _first_init
        namespace["__repr__"] = _repr
        if eq:
            namespace["__eq__"] = _equal
            namespace["__hash__"] = None
        namespace["_marks"] = marks
        namespace["__dataclass_fields__"] = _RealFields()
        return type(cls)(cls.__name__, cls.__bases__, namespace)

    return make


def _first_init(self: Any, *values: Any, **named: Any) -> None:
    """Stands in for a class's `__init__` until the first object is made; then writes it."""
    cls = type(self)
    cls.__init__ = _written_init(cls._marks)
    cls.__init__(self, *values, **named)


def _written_init(marks: dict[str, FieldMark]) -> Any:
    parameters = ["self"]
    lines = []
    names: dict[str, Any] = {}
    for name, mark in marks.items():
        value = name
        if mark.default_factory is not _MISSING:
            names[f"_make_{name}"] = mark.default_factory
            value = f"_make_{name}()" if not mark.init else f"_make_{name}() if {name} is _missing else {name}"
        elif not mark.init:
            names[f"_default_{name}"] = mark.default
            value = f"_default_{name}"
        if mark.init:
            default = ""
            if mark.default_factory is not _MISSING:
                default = "=_missing"
            elif mark.default is not _MISSING:
                names[f"_default_{name}"] = mark.default
                default = f"=_default_{name}"
            parameters.append(name + default)
        lines.append(f"  self.{name} = {value}")
    names["_missing"] = _MISSING
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines), names)
    return names["__init__"]


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, mark in self._marks.items() if mark.repr)
    return f"{type(self).__name__}({shown})"


def _equal(self: Any, other: Any) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    marks: dict[str, FieldMark] = type(self)._marks
    return all(getattr(self, name) == getattr(other, name) for name in marks)


class _RealFields:
    """Gives `dataclasses.fields` what it wants to see, if it ever asks."""

    def __get__(self, instance: Any, owner: type) -> dict[str, Any]:
        import dataclasses

        made = {}
        for name, mark in owner._marks.items():  # type: ignore[attr-defined]
            made[name] = one = dataclasses.field(init=mark.init, repr=mark.repr)
            one.name = name
            one.type = owner.__annotations__.get(name, Any)
            one._field_type = dataclasses._FIELD  # type: ignore[attr-defined]
        return made
