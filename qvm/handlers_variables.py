"""Makers for constants and variables, and for what changes a variable's list or record.

A variable is a local, or a Cell: a local's own, a captured one, or a top-level variable. The handlers inside a maker
all have the signature of `qvm.prepare.Handler`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qasm.instructions import KINDS
from qvm.changing import assign, extend
from qvm.mistakes import SURELY_SHORT, check_size
from qvm.operators import add, out_of_range
from qvm.prepare import Handler, Site
from qvm.values import ABSENT, UNSET, Cell, Err, Markup, Stop

# constants and the stack


def push(value: Any) -> Callable[[Site], Handler]:
    def make(site: Site) -> Handler:
        following = site.following

        def push_value(stack, locals, task):
            stack.append(value)
            return following

        return push_value

    return make


def make_int(site: Site) -> Handler:
    return push(site.operands[0])(site)


def make_constant(site: Site) -> Handler:
    value, following = constant_value(site.constant(0)), site.following
    if type(value) is not list and type(value) is not dict:
        return push(value)(site)

    def push_copy(stack, locals, task):
        # What is pushed may become a list that is being made; the constant must stay as it is.
        stack.append(value.copy())
        return following

    return push_copy


def constant_value(constant: Any) -> Any:
    """The value that a constant of the Module stands for: `{"markup": text}` is markup."""
    if type(constant) is dict and constant.keys() == {"markup"}:
        return Markup(constant["markup"])
    return constant


def make_pop(site: Site) -> Handler:
    following = site.following

    def pop(stack, locals, task):
        del stack[-1]
        return following

    return pop


def make_double(site: Site) -> Handler:
    following = site.following

    def double(stack, locals, task):
        stack.append(stack[-1])
        return following

    return double


# locals


def make_load(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def load(stack, locals, task):
        stack.append(locals[slot])
        return following

    return load


def make_store(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def store(stack, locals, task):
        locals[slot] = stack.pop()
        return following

    return store


# cells


def make_cell(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def put_into_cell(stack, locals, task):
        locals[slot] = Cell(locals[slot])
        return following

    return put_into_cell


def make_load_cell(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def load_cell(stack, locals, task):
        stack.append(locals[slot].value)
        return following

    return load_cell


def make_store_cell(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def store_cell(stack, locals, task):
        locals[slot].value = stack.pop()
        return following

    return store_cell


def make_load_capture(site: Site) -> Handler:
    number, following = site.operands[0], site.following

    def load_capture(stack, locals, task):
        stack.append(task.frames[-1].cells[number].value)
        return following

    return load_capture


def make_store_capture(site: Site) -> Handler:
    number, following = site.operands[0], site.following

    def store_capture(stack, locals, task):
        task.frames[-1].cells[number].value = stack.pop()
        return following

    return store_capture


# top-level variables


def unset(name: str) -> Stop:
    return Stop(f"`{name}` is used before it is set")


def make_load_global(site: Site) -> Handler:
    number, following = site.operands[0], site.following
    cell, name = site.program.globals[number], site.module.globals[number]

    def load_global(stack, locals, task):
        value = cell.value
        if value is UNSET:
            raise unset(name)
        stack.append(value)
        return following

    return load_global


def make_store_global(site: Site) -> Handler:
    number, following = site.operands[0], site.following
    cell, name = site.program.globals[number], site.module.globals[number]
    what = f"the variable `{name}`"

    def store_global(stack, locals, task):
        first = cell.value is UNSET  # the `let` itself is no change
        cell.value = stack.pop()
        if task.note_change is not None and not first:
            task.note_change(what)
        return following

    return store_global


# any kind of variable

LOCAL, OWN_CELL, CAPTURE, GLOBAL = range(len(KINDS))


def cell_getter(site: Site) -> Callable[[list[Any], Any], Cell]:
    """A function that finds the Cell of the variable that the operands KIND and VARIABLE name."""
    kind, number = site.operands[0], site.operands[1]
    if kind == OWN_CELL:
        return lambda locals, task: locals[number]
    if kind == CAPTURE:
        return lambda locals, task: task.frames[-1].cells[number]
    cell, name = site.program.globals[number], site.module.globals[number]

    def global_cell(locals, task):
        if cell.value is UNSET:
            raise unset(name)
        return cell

    return global_cell


def change_named(site: Site) -> str:
    """What a change of this variable is called for the host: "" where the host needn't know."""
    return f"the variable `{site.module.globals[site.operands[1]]}`" if site.operands[0] == GLOBAL else ""


def make_load_shared(site: Site) -> Handler:
    following, slot = site.following, site.operands[1]

    def load_shared_local(stack, locals, task):
        owned = task.frames[-1].owned
        if owned is not None:
            owned.pop(slot, None)
        stack.append(locals[slot])
        return following

    if site.operands[0] == LOCAL:
        return load_shared_local
    cell_of = cell_getter(site)

    def load_shared_cell(stack, locals, task):
        cell = cell_of(locals, task)
        cell.owned = None
        stack.append(cell.value)
        return following

    return load_shared_cell


def make_extend(site: Site) -> Handler:
    following, slot = site.following, site.operands[1]

    def extend_local(stack, locals, task):
        value = stack.pop()
        current = locals[slot]
        kind = type(current)
        if kind is list and type(value) is list:
            size = len(current) + len(value)
            check_size(size)
            frame = task.frames[-1]
            owned = frame.owned
            if owned is None:
                owned = frame.owned = {}
            elif owned.get(slot) is current:
                current.extend(value)
                return following
            locals[slot] = owned[slot] = current + value
        elif kind is str and type(value) is str and len(current) + len(value) <= SURELY_SHORT:
            # With no other reference to it, Python lengthens a text in place, so that a loop of these is linear.
            locals[slot] = None
            current += value
            locals[slot] = current
        else:
            locals[slot] = add(current, value)
        return following

    if site.operands[0] == LOCAL:
        return extend_local
    cell_of, what = cell_getter(site), change_named(site)

    def extend_cell(stack, locals, task):
        cell = cell_of(locals, task)
        value = stack.pop()
        current = cell.value
        kind = type(current)
        if kind is list and type(value) is list:
            check_size(len(current) + len(value))
            if cell.owned is current:
                current.extend(value)
            else:
                cell.value = cell.owned = current + value
        elif kind is str and type(value) is str and len(current) + len(value) <= SURELY_SHORT:
            cell.value = None
            current += value
            cell.value = current
        else:
            cell.value = add(current, value)
        if what and task.note_change is not None:
            task.note_change(what)
        return following

    return extend_cell


def path_changer(change: Callable[[Any, Any, str, list[Any], Any], Any]) -> Callable[[Site], Handler]:
    """A maker for what changes a variable at a path: `change` gives its new value (see qvm/changing.py)."""

    def make(site: Site) -> Handler:
        following, slot, path = site.following, site.operands[1], site.constant(2)
        count = len(path)

        def change_local(stack, locals, task):
            value = stack.pop()
            keys = stack[-count:]
            del stack[-count:]
            frame = task.frames[-1]
            owned = frame.owned
            if owned is None:
                owned = frame.owned = {}
            locals[slot] = owned[slot] = change(locals[slot], owned.get(slot), path, keys, value)
            return following

        if site.operands[0] == LOCAL:
            return change_local
        cell_of, what = cell_getter(site), change_named(site)

        def change_cell(stack, locals, task):
            cell = cell_of(locals, task)
            value = stack.pop()
            keys = stack[-count:]
            del stack[-count:]
            cell.value = cell.owned = change(cell.value, cell.owned, path, keys, value)
            if what and task.note_change is not None:
                task.note_change(what)
            return following

        return change_cell

    return make


def make_assign(site: Site) -> Handler:
    anywhere = path_changer(assign)(site)
    if site.operands[0] != LOCAL or site.constant(2) != "[":
        return anywhere
    following, slot = site.following, site.operands[1]

    def assign_element_of_local(stack, locals, task):
        owned = task.frames[-1].owned
        items, index, value = locals[slot], stack[-2], stack[-1]
        if owned is None or owned.get(slot) is not items or type(value) is Err:
            return anywhere(stack, locals, task)
        if type(items) is list and type(index) is int:
            del stack[-2:]
            try:
                items[index] = value
            except IndexError:
                raise out_of_range(items, index) from None
        elif type(items) is dict and type(index) is str and index in items:
            del stack[-2:]
            items[index] = value
        else:
            return anywhere(stack, locals, task)
        return following

    return assign_element_of_local


MAKERS = {
    "CONST": make_constant,
    "INT": make_int,
    "NULL": push(None),
    "TRUE": push(True),
    "FALSE": push(False),
    "ABSENT": push(ABSENT),
    "POP": make_pop,
    "DUP": make_double,
    "LOAD": make_load,
    "STORE": make_store,
    "CELL": make_cell,
    "LOAD_CELL": make_load_cell,
    "STORE_CELL": make_store_cell,
    "LOAD_CAPTURE": make_load_capture,
    "STORE_CAPTURE": make_store_capture,
    "LOAD_GLOBAL": make_load_global,
    "STORE_GLOBAL": make_store_global,
    "LOAD_SHARED": make_load_shared,
    "EXTEND": make_extend,
    "ASSIGN": make_assign,
    "EXTEND_PATH": path_changer(extend),
}
