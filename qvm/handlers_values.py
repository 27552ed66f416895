"""Makers for lists, records, text and SQL, for the loops over them, and for tests and checks of values.

The handlers inside a maker all have the signature of `qvm.prepare.Handler`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qvm.mistakes import SURELY_SHORT, check_size, check_text, error_stop, no_bool, refused, text_too_big
from qvm.operators import check_range, field_of, field_or_null, is_error, make_error, part
from qvm.prepare import Handler, Site
from qvm.typecheck import Check, Mismatch
from qvm.values import SIZE_LIMIT, TEXT_LIMIT, Err, IteratorState, Sql, Stop, kind_of

# reading parts


def make_slice(site: Site) -> Handler:
    following = site.following

    def take_slice(stack, locals, task):
        end = stack.pop()
        start = stack.pop()
        stack[-1] = part(stack[-1], start, end)
        return following

    return take_slice


def make_field(site: Site) -> Handler:
    name, following = site.constant(0), site.following

    def read_field(stack, locals, task):
        base = stack[-1]
        stack[-1] = base.get(name) if type(base) is dict else field_of(base, name)
        return following

    return read_field


def make_field_or_null(site: Site) -> Handler:
    name, following = site.constant(0), site.following

    def read_field_or_null(stack, locals, task):
        stack[-1] = field_or_null(stack[-1], name)
        return following

    return read_field_or_null


# lists and records that are being made


def make_list(site: Site) -> Handler:
    count, following = site.operands[0], site.following

    def make_empty(stack, locals, task):
        stack.append([])
        return following

    def make_of_items(stack, locals, task):
        stack[-count:] = [stack[-count:]]
        return following

    return make_of_items if count else make_empty


def make_list_push(site: Site) -> Handler:
    following = site.following

    def push_item(stack, locals, task):
        item = stack.pop()
        items = stack[-1]
        check_size(len(items) + 1)
        items.append(item)
        return following

    return push_item


def make_list_spread(site: Site) -> Handler:
    following = site.following

    def spread_items(stack, locals, task):
        more = stack.pop()
        if type(more) is not list:
            raise refused(f"`...` in a list needs a list, got {kind_of(more)}", more)
        items = stack[-1]
        check_size(len(items) + len(more))
        items.extend(more)
        return following

    return spread_items


def make_record(site: Site) -> Handler:
    keys, following = site.constant(0), site.following
    count = len(keys)

    def make_empty(stack, locals, task):
        stack.append({})
        return following

    def make_of_items(stack, locals, task):
        stack[-count:] = [dict(zip(keys, stack[-count:], strict=True))]
        return following

    return make_of_items if count else make_empty


def make_record_put(site: Site) -> Handler:
    key, following = site.constant(0), site.following

    def put_item(stack, locals, task):
        item = stack.pop()
        record = stack[-1]
        check_size(len(record) + 1, "record")
        record[key] = item
        return following

    return put_item


def make_record_spread(site: Site) -> Handler:
    following = site.following

    def spread_record(stack, locals, task):
        other = stack.pop()
        if type(other) is not dict:
            raise refused(f"`...` in a record needs a record, got {kind_of(other)}", other)
        record = stack[-1]
        record.update(other)
        check_size(len(record), "record")
        return following

    return spread_record


# text and SQL


def make_text(site: Site) -> Handler:
    count, following = site.operands[0], site.following

    def make_empty(stack, locals, task):
        stack.append("")
        return following

    def join(stack, locals, task):
        pieces = [item if type(item) is str else _written(item) for item in stack[-count:]]
        text = "".join(pieces)
        if len(text) > SURELY_SHORT:
            check_text(text)
        stack[-count:] = [text]
        return following

    def join_measured(stack, locals, task):
        # Many pieces, each as long as a text may be, could be far more than memory holds: measured before they join.
        pieces = [item if type(item) is str else _written(item) for item in stack[-count:]]
        if sum(map(len, pieces)) > TEXT_LIMIT:
            raise text_too_big()
        stack[-count:] = [check_text("".join(pieces))]
        return following

    if not count:
        return make_empty
    return join if count <= 4 else join_measured


def _written(item: Any) -> str:
    if type(item) is int:
        return str(item)
    if type(item) is Err:
        raise error_stop(item)
    from qvm.text import write_out

    return write_out(item)


def make_sql(site: Site) -> Handler:
    texts, following = site.constant(0), site.following
    count = len(texts) - 1

    def make_of_items(stack, locals, task):
        items = stack[-count:] if count else []
        del stack[len(stack) - count :]
        stack.append(_sql(texts, items))
        return following

    return make_of_items


def _sql(texts: list[str], items: list[Any]) -> Sql:
    """A piece of SQL: an item that is one itself is put in with its parameters, any other is a parameter."""
    pieces = [texts[0]]
    parameters: list[Any] = []
    for item, after in zip(items, texts[1:], strict=True):
        if type(item) is Err:
            raise error_stop(item)
        if type(item) is Sql:
            pieces.append(item.text)
            parameters.extend(item.parameters)
        else:
            pieces.append("?")
            parameters.append(item)
        pieces.append(after)
    if sum(map(len, pieces)) > TEXT_LIMIT:
        raise text_too_big()
    check_size(len(parameters))
    return Sql("".join(pieces), parameters)


# loops


def make_iterator(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def iterate(stack, locals, task):
        items = stack.pop()
        if type(items) is list:
            locals[slot] = IteratorState(items, None, 0, len(items))
        elif type(items) is dict:
            locals[slot] = IteratorState(list(items.values()), list(items), 0, len(items))
        else:
            raise refused(f"`for` goes over a list, a record or a range, got {kind_of(items)}", items)
        return following

    return iterate


def make_range_iterator(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def iterate_range(stack, locals, task):
        stop = stack.pop()
        start = stack.pop()
        check_range(start, stop)
        locals[slot] = IteratorState(None, None, start, stop, start)
        return following

    return iterate_range


def make_next(site: Site) -> Handler:
    slot, following, target = site.operands[0], site.following, site.target
    base, _ = site.cut(0)

    def push_next(stack, locals, task):
        iterator = locals[slot]
        index = iterator.index
        if index >= iterator.stop:
            locals[slot] = None
            if base >= 0:
                del stack[base:]
            return target
        iterator.index = index + 1
        items = iterator.keys or iterator.items
        stack.append(index if items is None else items[index])
        return following

    return push_next


def make_next_pair(site: Site) -> Handler:
    slot, following, target = site.operands[0], site.following, site.target
    base, _ = site.cut(0)

    def push_next_pair(stack, locals, task):
        iterator = locals[slot]
        index = iterator.index
        if index >= iterator.stop:
            locals[slot] = None
            if base >= 0:
                del stack[base:]
            return target
        iterator.index = index + 1
        stack.append(iterator.keys[index] if iterator.keys else index - iterator.start)
        stack.append(index if iterator.items is None else iterator.items[index])
        return following

    return push_next_pair


def make_list_begin(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def begin_list(stack, locals, task):
        locals[slot] = []
        return following

    return begin_list


def make_list_add(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def add_item(stack, locals, task):
        items = locals[slot]
        if len(items) >= SIZE_LIMIT:
            check_size(len(items) + 1)
        items.append(stack.pop())
        return following

    return add_item


def make_list_end(site: Site) -> Handler:
    slot, following = site.operands[0], site.following

    def end_list(stack, locals, task):
        stack.append(locals[slot])
        locals[slot] = None
        return following

    return end_list


# tests and checks


def make_is_list(site: Site) -> Handler:
    count, more, following = site.operands[0], bool(site.operands[1]), site.following

    def is_list(stack, locals, task):
        value = stack[-1]
        stack[-1] = type(value) is list and (len(value) >= count if more else len(value) == count)
        return following

    return is_list


def make_has_field(site: Site) -> Handler:
    name, following = site.constant(0), site.following

    def has_field(stack, locals, task):
        value = stack[-1]
        stack[-1] = type(value) is dict and name in value
        return following

    return has_field


def on_top(operate: Callable[[Any], Any]) -> Callable[[Site], Handler]:
    def make(site: Site) -> Handler:
        following = site.following

        def replace_top(stack, locals, task):
            stack[-1] = operate(stack[-1])
            return following

        return replace_top

    return make


def is_missing(value: Any) -> bool:
    return value is None or type(value) is Err


def error_value(value: Any) -> Any:
    """What an error holds."""
    if type(value) is not Err:
        raise Stop(f"only an error holds a value in this way, got {kind_of(value)}")
    return value.value


def make_use(site: Site) -> Handler:
    following = site.following

    def use(stack, locals, task):
        value = stack[-1]
        if type(value) is Err:
            raise error_stop(value)
        return following

    return use


def make_bool(site: Site) -> Handler:
    what, following = site.constant(0), site.following

    def check_bool(stack, locals, task):
        value = stack[-1]
        if value is not True and value is not False:
            raise no_bool(what, value)
        return following

    return check_bool


_KIND_OF_TYPE: dict[Any, type] = {"int": int, "str": str, "bool": bool, "float": float}


def make_check(site: Site) -> Handler:
    descriptor, what, following = site.constant(0), site.constant(1), site.following
    check = site.program.check(descriptor)

    if check is None:
        return make_use(site)
    check_all: Check = check

    def check_value(stack, locals, task):
        value = stack[-1]
        if type(value) is Err:
            raise error_stop(value)
        try:
            stack[-1] = check_all(value)
        except Mismatch as mismatch:
            raise Stop(mismatch.in_value(what)) from None
        return following

    kind = _KIND_OF_TYPE.get(descriptor) if type(descriptor) is str else None
    if kind is None:
        return check_value

    def check_kind(stack, locals, task):
        if type(stack[-1]) is kind:
            return following
        return check_value(stack, locals, task)

    return check_kind


MAKERS = {
    "SLICE": make_slice,
    "FIELD": make_field,
    "FIELD_OR_NULL": make_field_or_null,
    "LIST": make_list,
    "LIST_PUSH": make_list_push,
    "LIST_SPREAD": make_list_spread,
    "RECORD": make_record,
    "RECORD_PUT": make_record_put,
    "RECORD_SPREAD": make_record_spread,
    "TEXT": make_text,
    "SQL": make_sql,
    "ITER": make_iterator,
    "ITER_RANGE": make_range_iterator,
    "NEXT": make_next,
    "NEXT_PAIR": make_next_pair,
    "LIST_BEGIN": make_list_begin,
    "LIST_ADD": make_list_add,
    "LIST_END": make_list_end,
    "IS_LIST": make_is_list,
    "HAS_FIELD": make_has_field,
    "IS_ERR": on_top(is_error),
    "IS_MISSING": on_top(is_missing),
    "ERR_VALUE": on_top(error_value),
    "MAKE_ERR": on_top(make_error),
    "CHECK": make_check,
    "USE": make_use,
    "BOOL": make_bool,
}
