"""What the compiler knows of a builtin. The table is made from `prelude.qwe` (see `compiler.prelude`).

In `prelude.qwe` a builtin is a `fn` whose body says where it lives: `= native` (a Python function in `qvm/builtins`),
`= host` (a host call), `= inline` (instructions that the lowering writes itself), or a body of its own in Quillo: then
it is compiled into each Module that uses it, and its callbacks are ordinary frames. A name declared twice has two
overloads. `db_query` there is `db.query` in programs. A type that is one capital letter is a type variable. A last
parameter named `rest` takes any number of arguments. A doc line `@change TEXT` names the change that a call makes
(`db.exec`, a file …). Names that begin with `_`, and those with a doc line `@hidden`, are for the language's own use:
no program finds them.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class BuiltinParameter(NamedTuple):
    """`type` is as written in the prelude ("list<T>", "any"); `default` counts where `has_default`."""

    name: str
    type: str
    has_default: bool = False
    default: Any = None


class Overload(NamedTuple):
    """`fails`: it may give an error (`T ! E`). `variadic`: the last parameter takes all further arguments."""

    parameters: tuple[BuiltinParameter, ...]
    variadic: bool
    result: str
    fails: bool


class Builtin(NamedTuple):
    """`name` is as in programs ("db.query"). `kind`: "native", "host", "inline" or "quillo".

    `source`, of kind "quillo": its declaration, in which type variables are written `any` and `db_query` stays as it is
    in its head, so that it is a program's own function in all but its place.
    `effect`: "" or "db", "fs", "http", "net". `change`: "" or what a call changes, as a diagnostic names it.
    `doc` is the first paragraph. `hidden`: only the prelude's own code may use it.
    """

    name: str
    overloads: tuple[Overload, ...]
    kind: str
    effect: str
    change: str
    doc: str
    source: str
    hidden: bool = False
