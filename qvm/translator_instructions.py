"""What each instruction becomes in Python: the bare operation where the kinds of its operands are known, else a call
of what the interpreter does.
"""

from __future__ import annotations

import ast
from typing import Any

from qvm import translator_types as types
from qvm.handlers_variables import constant_value
from qvm.mistakes import SURELY_SHORT
from qvm.translator_emitter import INSTRUCTIONS, Emitter, Item
from qvm.translator_nodes import Piece
from qvm.values import SIZE_LIMIT, Markup

Operands = tuple[int, ...]
_BY_PYTHON = (int, str, float, bool, type(None))


def instruction(*names: str) -> Any:
    def register(write: Any) -> Any:
        for name in names:
            INSTRUCTIONS[name] = write
        return write

    return register


def result_of(emitter: Emitter, pc: int) -> types.Type:
    """What the instruction puts on the stack, from what is known of the next one."""
    known = emitter.known.stack
    following = known[pc + 1] if pc + 1 < len(known) else None
    height = emitter.flow.height
    if following is None or pc + 1 >= len(height) or not following:
        return types.ANY
    return following[-1]


@instruction("END", "POP_NOTHING")
def _nothing(emitter: Emitter, pc: int, operands: Operands) -> None:
    pass


@instruction("CHARGE")
def _charge(emitter: Emitter, pc: int, operands: Operands) -> None:
    emitter.spill()
    if pc == 0 and emitter.deep:
        emitter.charge_entry(operands[0])
    else:
        emitter.charge(operands[0])


@instruction("INT")
def _int(emitter: Emitter, pc: int, operands: Operands) -> None:
    emitter.push(emitter.constant(operands[0]), types.whole(operands[0], operands[0]), atom=True)


@instruction("CONST")
def _constant(emitter: Emitter, pc: int, operands: Operands) -> None:
    value = constant_value(emitter.module.constants[operands[0]])
    if type(value) in _BY_PYTHON:
        emitter.push(emitter.constant(value), types.of_value(value), atom=True)
        return
    kept = emitter.name(emitter.bound.name("constant", operands[0]))
    kind = types.of_value(emitter.module.constants[operands[0]])
    if type(value) in (list, dict):
        emitter.push(emitter.call(emitter.attribute(kept, "copy")), kind)
    else:
        emitter.push(kept, kind, atom=True)
        if type(value) is Markup:
            emitter.stack[-1].pieces = [Piece(emitter.constant(value.text), False)]


@instruction("NULL", "TRUE", "FALSE")
def _literal(emitter: Emitter, pc: int, operands: Operands) -> None:
    value = {"NULL": None, "TRUE": True, "FALSE": False}[emitter.flow.instructions[pc].op.name]
    emitter.push(emitter.constant(value), types.of_value(value), atom=True)


@instruction("ABSENT")
def _absent(emitter: Emitter, pc: int, operands: Operands) -> None:
    emitter.push(emitter.name("ABSENT"), types.LEFT_OUT, atom=True)


@instruction("POP")
def _pop(emitter: Emitter, pc: int, operands: Operands) -> None:
    item = emitter.pop()
    if not item.atom:
        emitter.spill()
        emitter.do(item.node)


@instruction("DUP")
def _double(emitter: Emitter, pc: int, operands: Operands) -> None:
    item = emitter.kept(emitter.stack[-1])
    emitter.push(item.node, item.type, atom=True, slot=item.slot)


# variables


@instruction("LOAD")
def _load(emitter: Emitter, pc: int, operands: Operands) -> None:
    slot = operands[0]
    kind = emitter.known.local[pc]
    if kind.kinds & types.UNSET:
        emitter.unset.add(slot)
    emitter.push(emitter.name(f"v{slot}"), _value(kind), atom=True, slot=slot)


def _value(kind: types.Type) -> types.Type:
    kinds = kind.kinds & ~(types.UNSET | types.ABSENT)
    return kind._replace(kinds=kinds | types.NULL if kind.kinds & types.UNSET else kinds)


@instruction("STORE")
def _store(emitter: Emitter, pc: int, operands: Operands) -> None:
    value = emitter.pop()
    emitter.spill()
    emitter.forget_local(operands[0])
    emitter.set(f"v{operands[0]}", value.node)


@instruction("CELL")
def _cell(emitter: Emitter, pc: int, operands: Operands) -> None:
    if operands[0] in emitter.known.plain:
        return
    emitter.spill()
    emitter.forget_local(operands[0])
    if emitter.known.local[pc].kinds & types.UNSET:
        emitter.unset.add(operands[0])
    name = f"v{operands[0]}"
    emitter.set(name, emitter.call("Cell", emitter.name(name)))


def _cell_node(emitter: Emitter, kind: int, number: int) -> ast.expr:
    if kind == 1:
        return emitter.name(f"v{number}")
    if kind == 2:
        return emitter.name(f"c{number}")
    return emitter.name(emitter.bound.name("global", number))


def _cell_type(emitter: Emitter, kind: int, number: int) -> types.Type:
    if kind == 3:
        return emitter.inference.globals[number]
    inference = emitter.inference
    return inference.cells.get(inference.cell((emitter.number, kind - 1, number)), types.ANY)


def _push_cell(emitter: Emitter, kind: int, number: int) -> None:
    node = emitter.attribute(_cell_node(emitter, kind, number), "value")
    if kind == 3:
        emitter.spill()
        name = emitter.fresh()
        emitter.set(name, node)
        node = emitter.name(name)
        unset = emitter.compare(node, ast.Is(), emitter.name("UNSET"))
        stop = emitter.call("unset", emitter.constant(emitter.module.globals[number]))
        emitter.if_(unset, [emitter.placed(ast.Expr(stop))])
        emitter.push(node, _cell_type(emitter, kind, number), atom=True)
    else:
        emitter.push(node, _cell_type(emitter, kind, number))


@instruction("LOAD_CELL", "LOAD_CAPTURE", "LOAD_GLOBAL")
def _load_cell(emitter: Emitter, pc: int, operands: Operands) -> None:
    kind = {"LOAD_CELL": 1, "LOAD_CAPTURE": 2, "LOAD_GLOBAL": 3}[emitter.flow.instructions[pc].op.name]
    _push_cell(emitter, kind, operands[0])


@instruction("STORE_CELL", "STORE_CAPTURE", "STORE_GLOBAL")
def _store_cell(emitter: Emitter, pc: int, operands: Operands) -> None:
    name = emitter.flow.instructions[pc].op.name
    value = emitter.pop()
    emitter.spill()
    if name == "STORE_GLOBAL":
        cell = _cell_node(emitter, 3, operands[0])
        what = emitter.constant(emitter.module.globals[operands[0]])
        emitter.do(emitter.call("set_global", cell, value.node, what))
        return
    cell = _cell_node(emitter, 1 if name == "STORE_CELL" else 2, operands[0])
    target = emitter.attribute(cell, "value", store=True)
    emitter.out.append(emitter.placed(ast.Assign([target], value.node)))


@instruction("LOAD_SHARED")
def _load_shared(emitter: Emitter, pc: int, operands: Operands) -> None:
    kind, number = operands
    if kind == 0:
        _load(emitter, pc, (number,))
        if emitter.shape.is_changed(number):
            emitter.owners.add(number)
            emitter.spill()
            emitter.set(f"o{number}", emitter.constant(None))
        return
    emitter.spill()
    _push_cell(emitter, kind, number)
    emitter.kept(emitter.stack[-1])
    owned = emitter.attribute(_cell_node(emitter, kind, number), "owned", store=True)
    emitter.out.append(emitter.placed(ast.Assign([owned], emitter.constant(None))))


@instruction("EXTEND")
def _extend(emitter: Emitter, pc: int, operands: Operands) -> None:
    kind, number = operands
    value = emitter.pop()
    emitter.spill()
    if kind:
        what = emitter.constant(emitter.module.globals[number] if kind == 3 else "")
        emitter.do(emitter.call("extend_cell", _cell_node(emitter, kind, number), value.node, what))
        return
    emitter.forget_local(number)
    held = emitter.known.local[pc]
    if held.kinds & types.UNSET:
        emitter.unset.add(number)
    name, owner = f"v{number}", f"o{number}"
    variable = emitter.name(name)
    if held.kinds == types.LIST == value.type.kinds:
        emitter.owners.add(number)
        one = isinstance(value.node, ast.List) and len(value.node.elts) == 1
        value = value if one else emitter.kept(value)
        assert isinstance(value.node, ast.expr)
        grow = "append" if one else "extend"
        what = value.node.elts[0] if one and isinstance(value.node, ast.List) else value.node
        if one and not isinstance(what, ast.Name | ast.Constant):
            kept = emitter.fresh()
            emitter.set(kept, what)
            what = emitter.name(kept)
            value = Item(emitter.placed(ast.List([what], ast.Load())), value.type)
        if pc not in emitter.known.sized:
            size = emitter.call("len", variable)
            if one:
                test = emitter.compare(size, ast.GtE(), emitter.constant(SIZE_LIMIT))
            else:
                both = emitter.binary(size, ast.Add(), emitter.call("len", value.node))
                test = emitter.compare(both, ast.Gt(), emitter.constant(SIZE_LIMIT))
            emitter.if_(test, [emitter.placed(ast.Expr(emitter.call("check_size", emitter.constant(SIZE_LIMIT + 1))))])
        in_place = emitter.placed(ast.Expr(emitter.call(emitter.attribute(variable, grow), what)))
        both = emitter.placed(
            ast.Assign(
                [emitter.placed(ast.Name(name, ast.Store())), emitter.placed(ast.Name(owner, ast.Store()))],
                emitter.binary(variable, ast.Add(), value.node),
            )
        )
        emitter.if_(emitter.compare(emitter.name(owner), ast.Is(), variable), [in_place], [both])
        return
    if held.kinds == types.STR == value.type.kinds:
        target = emitter.placed(ast.Name(name, ast.Store()))
        emitter.out.append(emitter.placed(ast.AugAssign(target, ast.Add(), value.node)))
        if held.most + value.type.most >= SIZE_LIMIT:
            text_checked(emitter, variable)
        return
    if not (held.kinds & types.LIST):
        from qvm.translator_operators import arithmetic

        emitter.push(variable, _value(held), atom=True)
        emitter.stack.append(value)
        arithmetic(emitter, "ADD", types.ANY)
        made = emitter.pop()
        emitter.spill()
        emitter.set(name, made.node)
        return
    emitter.owners.add(number)
    pair = emitter.placed(
        ast.Tuple(
            [emitter.placed(ast.Name(name, ast.Store())), emitter.placed(ast.Name(owner, ast.Store()))], ast.Store()
        )
    )
    emitter.out.append(
        emitter.placed(ast.Assign([pair], emitter.call("extend", variable, emitter.name(owner), value.node)))
    )


def text_checked(emitter: Emitter, text: ast.expr) -> None:
    test = emitter.compare(emitter.call("len", text), ast.Gt(), emitter.constant(SURELY_SHORT))
    emitter.if_(test, [emitter.placed(ast.Expr(emitter.call("check_text", text)))])


@instruction("ASSIGN", "EXTEND_PATH")
def _assign(emitter: Emitter, pc: int, operands: Operands) -> None:
    kind, number, path = operands
    steps = emitter.module.constants[path]
    extends = emitter.flow.instructions[pc].op.name == "EXTEND_PATH"
    arguments = emitter.popped(len(steps) + 1)
    emitter.spill()
    if kind == 0:
        emitter.forget_local(number)
    for argument in arguments:
        if not argument.atom:
            emitter._keep(argument)
    keys = emitter.placed(ast.List([argument.node for argument in arguments[:-1]], ast.Load()))
    value = arguments[-1]
    if kind:
        what = emitter.constant(emitter.module.globals[number] if kind == 3 else "")
        cell = _cell_node(emitter, kind, number)
        emitter.do(
            emitter.call(
                "extend_path_of_cell" if extends else "assign_cell",
                cell,
                emitter.constant(steps),
                keys,
                value.node,
                what,
            )
        )
        return
    held = emitter.known.local[pc]
    if held.kinds & types.UNSET:
        emitter.unset.add(number)
    emitter.owners.add(number)
    name, owner = f"v{number}", f"o{number}"
    variable, owned = emitter.name(name), emitter.name(owner)
    slow = emitter.placed(
        ast.Assign(
            [emitter.placed(ast.Name(name, ast.Store())), emitter.placed(ast.Name(owner, ast.Store()))],
            emitter.call(
                "extend_path" if extends else "assign", variable, owned, emitter.constant(steps), keys, value.node
            ),
        )
    )
    index = arguments[0]
    by_index = held.kinds == types.LIST and index.type.kinds == types.INT and steps == "["
    by_key = held.kinds == types.RECORD and index.type.kinds == types.STR
    if not extends and len(steps) == 1 and not value.type.kinds & types.ERROR and (by_index or by_key):
        target = emitter.subscript(variable, index.node, store=True)
        test = emitter.compare(owned, ast.Is(), variable)
        if by_key and not (index.type.text is not None and types.has_field(held, index.type.text)):
            room = emitter.compare(emitter.call("len", variable), ast.Lt(), emitter.constant(SIZE_LIMIT))
            test = emitter.placed(ast.BoolOp(ast.And(), [test, room]))
        emitter.if_(test, [emitter.placed(ast.Assign([target], value.node))], [slow])
        return
    emitter.out.append(slow)


# values


@instruction("INDEX")
def _index(emitter: Emitter, pc: int, operands: Operands) -> None:
    a, b = emitter.popped(2)
    result = result_of(emitter, pc)
    if a.type.kinds in (types.LIST, types.STR) and b.type.kinds == types.INT:
        # An index that is out of range raises Python's own error; what it was is looked up then.
        emitter.stack += [a, b]
        a, b = emitter.take(2)
        emitter.indexes[pc] = (emitter.operand(a.node), emitter.operand(b.node))
        emitter.push(emitter.subscript(a.node, b.node), result)
    elif a.type.kinds == types.RECORD and b.type.kinds == types.STR:
        emitter.push(emitter.call(emitter.attribute(a.node, "get"), b.node), result)
    else:
        emitter.push(emitter.call("element", a.node, b.node), result)


@instruction("FIELD")
def _field(emitter: Emitter, pc: int, operands: Operands) -> None:
    a = emitter.pop()
    name = emitter.constant(emitter.module.constants[operands[0]])
    result = result_of(emitter, pc)
    if a.type.kinds == types.RECORD and types.has_field(a.type, emitter.module.constants[operands[0]]):
        emitter.push(emitter.subscript(a.node, name), result)
    elif a.type.kinds & types.ERROR or isinstance(a.node, ast.Constant):
        emitter.push(emitter.call("field_of", a.node, name), result)
    else:
        # What is no record has no `get`: Python's own error is made a stop where the call ends.
        emitter.push(emitter.call(emitter.attribute(a.node, "get"), name), result)


@instruction("FIELD_OR_NULL")
def _field_or_null(emitter: Emitter, pc: int, operands: Operands) -> None:
    if emitter.stack[-1].type.kinds & types.ERROR or isinstance(emitter.stack[-1].node, ast.Constant):
        handled(emitter, pc, operands)
        return
    a = emitter.kept(emitter.stack[-1])
    emitter.pop()
    is_null = emitter.compare(a.node, ast.Is(), emitter.constant(None))
    value = emitter.call(emitter.attribute(a.node, "get"), emitter.constant(emitter.module.constants[operands[0]]))
    emitter.push(emitter.placed(ast.IfExp(is_null, a.node, value)), result_of(emitter, pc))


@instruction("LIST")
def _list(emitter: Emitter, pc: int, operands: Operands) -> None:
    items = [item.node for item in emitter.popped(operands[0])]
    emitter.push(emitter.placed(ast.List(items, ast.Load())), result_of(emitter, pc))


@instruction("RECORD")
def _record(emitter: Emitter, pc: int, operands: Operands) -> None:
    keys = emitter.module.constants[operands[0]]
    items = [item.node for item in emitter.popped(len(keys))]
    emitter.push(emitter.placed(ast.Dict([emitter.constant(key) for key in keys], items)), result_of(emitter, pc))


@instruction("TEXT")
def _text(emitter: Emitter, pc: int, operands: Operands) -> None:
    count = operands[0]
    items = emitter.stack[len(emitter.stack) - count :] if count else []
    long = [item for item in items if item.type.kinds != types.INT and not _is_text(item.node)]
    if not count or len(long) > 4 or any(item.type.kinds not in (types.STR, types.INT) for item in items):
        handled(emitter, pc, operands)
        return
    kind = result_of(emitter, pc)
    items = emitter.popped(count)
    parts: list[ast.expr] = [
        item.node if _is_text(item.node) else emitter.placed(ast.FormattedValue(item.node, -1, None)) for item in items
    ]
    text = emitter.placed(ast.JoinedStr(parts))
    if kind.most < SIZE_LIMIT:
        emitter.push(text, kind)
        emitter.stack[-1].parts = items
        return
    emitter.spill()
    made = emitter.fresh()
    emitter.set(made, text)
    text_checked(emitter, emitter.name(made))
    emitter.push(emitter.name(made), kind, atom=True)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is str


# tests and checks


@instruction("IS_ERR", "IS_MISSING")
def _is_missing(emitter: Emitter, pc: int, operands: Operands) -> None:
    a = emitter.pop()
    name = emitter.flow.instructions[pc].op.name
    if isinstance(a.node, ast.Constant):
        emitter.push(emitter.constant(name == "IS_MISSING" and a.node.value is None), types.TRUTH, atom=True)
    elif not a.type.kinds & types.ERROR and name == "IS_MISSING":
        emitter.push(emitter.compare(a.node, ast.Is(), emitter.constant(None)), types.TRUTH)
    else:
        emitter.push(emitter.call("is_error" if name == "IS_ERR" else "is_missing", a.node), types.TRUTH)


@instruction("USE")
def _use(emitter: Emitter, pc: int, operands: Operands) -> None:
    if emitter.stack[-1].type.kinds & types.ERROR:
        handled(emitter, pc, operands)


@instruction("BOOL")
def _bool(emitter: Emitter, pc: int, operands: Operands) -> None:
    if emitter.stack[-1].type.kinds != types.BOOL:
        handled(emitter, pc, operands)


@instruction("CHECK")
def _check(emitter: Emitter, pc: int, operands: Operands) -> None:
    descriptor = emitter.module.constants[operands[0]]
    if not types.fits(emitter.stack[-1].type, descriptor, emitter.module.types):
        handled(emitter, pc, operands)


def handled(emitter: Emitter, pc: int, operands: Operands) -> None:
    """What the interpreter's own handler does with these items of the stack."""
    from qasm.pictures import effect

    taken, put = effect(emitter.module, emitter.flow.instructions[pc])
    nodes = [item.node for item in emitter.popped(taken)]
    name = emitter.flow.instructions[pc].op.name
    result = emitter.call(emitter.bound.name("handler", name, operands, emitter.number, pc), *nodes)
    if put:
        emitter.push(result, result_of(emitter, pc))
    else:
        emitter.spill()
        emitter.do(result)


for _name in (
    "STOP",
    "SLICE",
    "LIST_PUSH",
    "LIST_SPREAD",
    "RECORD_PUT",
    "RECORD_SPREAD",
    "SQL",
    "IS_LIST",
    "HAS_FIELD",
    "ERR_VALUE",
    "MAKE_ERR",
    "REPLY",
    "ASSERT",
):
    INSTRUCTIONS[_name] = handled
