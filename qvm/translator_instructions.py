"""What each instruction becomes in Python: the bare operation where the kinds of its operands are known, else a call
of what the interpreter does.
"""

from __future__ import annotations

import ast
from typing import Any

from qvm import translator_types as types
from qvm.handlers_operators import LEAST, MOST
from qvm.handlers_variables import constant_value
from qvm.mistakes import SURELY_SHORT
from qvm.questions import QUESTIONS
from qvm.translator_emitter import INSTRUCTIONS, Emitter, Item
from qvm.translator_inference import bounds
from qvm.values import INT_MAX, INT_MIN, SIZE_LIMIT

_Operands = tuple[int, ...]
_BY_PYTHON = (int, str, float, bool, type(None))
_NUMBERS = types.INT | types.FLOAT


def _instruction(*names: str) -> Any:
    def register(write: Any) -> Any:
        for name in names:
            INSTRUCTIONS[name] = write
        return write

    return register


def _result(emitter: Emitter, pc: int) -> types.Type:
    """What the instruction puts on the stack, from what is known of the next one."""
    known = emitter.known.stack
    following = known[pc + 1] if pc + 1 < len(known) else None
    height = emitter.flow.height
    if following is None or pc + 1 >= len(height) or not following:
        return types.ANY
    return following[-1]


@_instruction("END", "POP_NOTHING")
def _nothing(emitter: Emitter, pc: int, operands: _Operands) -> None:
    pass


@_instruction("CHARGE")
def _charge(emitter: Emitter, pc: int, operands: _Operands) -> None:
    emitter.spill()
    if pc == 0 and emitter.deep:
        emitter.charge_entry(operands[0])
    else:
        emitter.charge(operands[0])


@_instruction("INT")
def _int(emitter: Emitter, pc: int, operands: _Operands) -> None:
    emitter.push(emitter.constant(operands[0]), types.whole(operands[0], operands[0]), atom=True)


@_instruction("CONST")
def _constant(emitter: Emitter, pc: int, operands: _Operands) -> None:
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


@_instruction("NULL", "TRUE", "FALSE")
def _literal(emitter: Emitter, pc: int, operands: _Operands) -> None:
    value = {"NULL": None, "TRUE": True, "FALSE": False}[emitter.flow.instructions[pc].op.name]
    emitter.push(emitter.constant(value), types.of_value(value), atom=True)


@_instruction("ABSENT")
def _absent(emitter: Emitter, pc: int, operands: _Operands) -> None:
    emitter.push(emitter.name("ABSENT"), types.LEFT_OUT, atom=True)


@_instruction("POP")
def _pop(emitter: Emitter, pc: int, operands: _Operands) -> None:
    item = emitter.pop()
    if not item.atom:
        emitter.spill()
        emitter.do(item.node)


@_instruction("DUP")
def _double(emitter: Emitter, pc: int, operands: _Operands) -> None:
    item = emitter.kept(emitter.stack[-1])
    emitter.push(item.node, item.type, atom=True, slot=item.slot)


# variables


@_instruction("LOAD")
def _load(emitter: Emitter, pc: int, operands: _Operands) -> None:
    slot = operands[0]
    kind = emitter.known.local[pc]
    if kind.kinds & types.UNSET:
        emitter.unset.add(slot)
    emitter.push(emitter.name(f"v{slot}"), _value(kind), atom=True, slot=slot)


def _value(kind: types.Type) -> types.Type:
    kinds = kind.kinds & ~(types.UNSET | types.ABSENT)
    return kind._replace(kinds=kinds | types.NULL if kind.kinds & types.UNSET else kinds)


@_instruction("STORE")
def _store(emitter: Emitter, pc: int, operands: _Operands) -> None:
    value = emitter.pop()
    emitter.spill()
    emitter.forget_local(operands[0])
    emitter.set(f"v{operands[0]}", value.node)


@_instruction("CELL")
def _cell(emitter: Emitter, pc: int, operands: _Operands) -> None:
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
        emitter.if_(unset, [emitter._placed(ast.Expr(stop))])
        emitter.push(node, _cell_type(emitter, kind, number), atom=True)
    else:
        emitter.push(node, _cell_type(emitter, kind, number))


@_instruction("LOAD_CELL", "LOAD_CAPTURE", "LOAD_GLOBAL")
def _load_cell(emitter: Emitter, pc: int, operands: _Operands) -> None:
    kind = {"LOAD_CELL": 1, "LOAD_CAPTURE": 2, "LOAD_GLOBAL": 3}[emitter.flow.instructions[pc].op.name]
    _push_cell(emitter, kind, operands[0])


@_instruction("STORE_CELL", "STORE_CAPTURE", "STORE_GLOBAL")
def _store_cell(emitter: Emitter, pc: int, operands: _Operands) -> None:
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
    emitter.out.append(emitter._placed(ast.Assign([target], value.node)))


@_instruction("LOAD_SHARED")
def _load_shared(emitter: Emitter, pc: int, operands: _Operands) -> None:
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
    emitter.out.append(emitter._placed(ast.Assign([owned], emitter.constant(None))))


@_instruction("EXTEND")
def _extend(emitter: Emitter, pc: int, operands: _Operands) -> None:
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
            value = Item(emitter._placed(ast.List([what], ast.Load())), value.type)
        size = emitter.call("len", variable)
        if one:
            test = emitter.compare(size, ast.GtE(), emitter.constant(SIZE_LIMIT))
        else:
            both = emitter.binary(size, ast.Add(), emitter.call("len", value.node))
            test = emitter.compare(both, ast.Gt(), emitter.constant(SIZE_LIMIT))
        emitter.if_(test, [emitter._placed(ast.Expr(emitter.call("check_size", emitter.constant(SIZE_LIMIT + 1))))])
        in_place = emitter._placed(ast.Expr(emitter.call(emitter.attribute(variable, grow), what)))
        both = emitter._placed(
            ast.Assign(
                [emitter._placed(ast.Name(name, ast.Store())), emitter._placed(ast.Name(owner, ast.Store()))],
                emitter.binary(variable, ast.Add(), value.node),
            )
        )
        emitter.if_(emitter.compare(emitter.name(owner), ast.Is(), variable), [in_place], [both])
        return
    if held.kinds == types.STR == value.type.kinds:
        target = emitter._placed(ast.Name(name, ast.Store()))
        emitter.out.append(emitter._placed(ast.AugAssign(target, ast.Add(), value.node)))
        _check_text(emitter, variable)
        return
    if not (held.kinds & types.LIST):
        emitter.set(name, emitter.call("add", variable, value.node))
        return
    emitter.owners.add(number)
    pair = emitter._placed(
        ast.Tuple(
            [emitter._placed(ast.Name(name, ast.Store())), emitter._placed(ast.Name(owner, ast.Store()))], ast.Store()
        )
    )
    emitter.out.append(
        emitter._placed(ast.Assign([pair], emitter.call("extend", variable, emitter.name(owner), value.node)))
    )


def _check_text(emitter: Emitter, text: ast.expr) -> None:
    test = emitter.compare(emitter.call("len", text), ast.Gt(), emitter.constant(SURELY_SHORT))
    emitter.if_(test, [emitter._placed(ast.Expr(emitter.call("check_text", text)))])


@_instruction("ASSIGN")
def _assign(emitter: Emitter, pc: int, operands: _Operands) -> None:
    kind, number, path = operands
    steps = emitter.module.constants[path]
    arguments = emitter.popped(len(steps) + 1)
    emitter.spill()
    if kind == 0:
        emitter.forget_local(number)
    for argument in arguments:
        if not argument.atom:
            emitter._keep(argument)
    keys = emitter._placed(ast.List([argument.node for argument in arguments[:-1]], ast.Load()))
    value = arguments[-1]
    if kind:
        what = emitter.constant(emitter.module.globals[number] if kind == 3 else "")
        cell = _cell_node(emitter, kind, number)
        emitter.do(emitter.call("assign_cell", cell, emitter.constant(steps), keys, value.node, what))
        return
    held = emitter.known.local[pc]
    if held.kinds & types.UNSET:
        emitter.unset.add(number)
    emitter.owners.add(number)
    name, owner = f"v{number}", f"o{number}"
    variable, owned = emitter.name(name), emitter.name(owner)
    slow = emitter._placed(
        ast.Assign(
            [emitter._placed(ast.Name(name, ast.Store())), emitter._placed(ast.Name(owner, ast.Store()))],
            emitter.call("assign", variable, owned, emitter.constant(steps), keys, value.node),
        )
    )
    index = arguments[0]
    by_index = held.kinds == types.LIST and index.type.kinds == types.INT and steps == "["
    by_key = held.kinds == types.RECORD and index.type.kinds == types.STR
    if len(steps) == 1 and not value.type.kinds & types.ERROR and (by_index or by_key):
        target = emitter.subscript(variable, index.node, store=True)
        test = emitter.compare(owned, ast.Is(), variable)
        if by_key and not (index.type.text is not None and types.has_field(held, index.type.text)):
            known = emitter.compare(index.node, ast.In(), variable)
            test = emitter._placed(ast.BoolOp(ast.And(), [test, known]))
        emitter.if_(test, [emitter._placed(ast.Assign([target], value.node))], [slow])
        return
    emitter.out.append(slow)


# calls


@_instruction("CALL")
def _call(emitter: Emitter, pc: int, operands: _Operands) -> None:
    number = operands[0]
    arguments = [item.node for item in emitter.popped(len(emitter.module.functions[number].parameters))]
    emitter.push(emitter.call_function(number, arguments), emitter.inference.results[number])


@_instruction("CALL_VALUE")
def _call_value(emitter: Emitter, pc: int, operands: _Operands) -> None:
    count, names = operands
    function, *arguments = [item.node for item in emitter.popped(count + 1)]
    if emitter.module.constants[names]:
        names_node = emitter.name(emitter.bound.name("constant", names))
    else:
        names_node = emitter._placed(ast.Tuple([], ast.Load()))
    place = emitter.constant(f"{emitter.number}:{pc}")
    emitter.push(emitter.call("call_value", emitter.name("d"), place, names_node, function, *arguments), types.ANY)


@_instruction("CALL_BUILTIN")
def _call_builtin(emitter: Emitter, pc: int, operands: _Operands) -> None:
    from qvm.builtins import is_native

    name, count = emitter.module.builtins[operands[0]], operands[1]
    if name not in QUESTIONS and is_native(name):
        _call_native(emitter, pc, name, operands)
        return
    arguments = emitter._placed(ast.List([item.node for item in emitter.popped(count)], ast.Load()))
    if name in QUESTIONS:
        place = emitter.constant(f"{emitter.number}:{pc}")
        emitter.push(emitter.call("ask", emitter.constant(name), arguments, place), types.ANY)
    else:
        emitter.push(emitter.call("call_host", emitter.constant(name), arguments), types.ANY)


def _call_native(emitter: Emitter, pc: int, name: str, operands: _Operands) -> None:
    count = operands[1]
    known = emitter.known.stack[pc] or []
    arguments = known[len(known) - count :] if count else []
    result = _result(emitter, pc)
    sized = types.LIST | types.STR | types.RECORD
    if name == "len" and count == 1 and arguments[0].kinds & sized and not arguments[0].kinds & ~sized:
        emitter.push(emitter.call("len", emitter.pop().node), result)
        return
    if name == "_verdict" and count == 2 and emitter.stack[-2].type.kinds == types.BOOL and emitter.stack[-1].atom:
        emitter.pop()
        return
    from qvm.builtins import native
    from qvm.calling import wrong_count

    safe = not any(argument.kinds & types.ERROR for argument in arguments)
    if safe and not wrong_count(name, native(name), count):
        nodes = [item.node for item in emitter.popped(count)]
        emitter.push(emitter.call(emitter.bound.name("native", name), *nodes), result)
        return
    _handled(emitter, pc, operands)


@_instruction("CLOSURE")
def _closure(emitter: Emitter, pc: int, operands: _Operands) -> None:
    captures = emitter.module.functions[operands[0]].captures
    if not captures:
        emitter.push(emitter.name(emitter.bound.name("closure", operands[0])), types.OTHER_KIND, atom=True)
        return
    cells: list[ast.expr] = [emitter.name(f"c{place}" if kind else f"v{place}") for kind, place in captures]
    made = emitter.call("Closure", emitter.constant(operands[0]), emitter._placed(ast.Tuple(cells, ast.Load())))
    emitter.spill()
    emitter.push(made, types.OTHER_KIND)
    emitter.kept(emitter.stack[-1])


@_instruction("BUILTIN")
def _builtin(emitter: Emitter, pc: int, operands: _Operands) -> None:
    name = emitter.module.builtins[operands[0]]
    emitter.push(emitter.name(emitter.bound.name("builtin", name)), types.OTHER_KIND, atom=True)


# operators

_ARITHMETIC: dict[str, tuple[Any, str]] = {
    "ADD": (ast.Add, "add"),
    "SUB": (ast.Sub, "subtract"),
    "MUL": (ast.Mult, "multiply"),
}


@_instruction("ADD", "SUB", "MUL")
def _arithmetic(emitter: Emitter, pc: int, operands: _Operands) -> None:
    name = emitter.flow.instructions[pc].op.name
    operator, helper = _ARITHMETIC[name]
    a, b = emitter.stack[-2:]
    kinds = a.type.kinds | b.type.kinds
    result = _result(emitter, pc)
    if kinds == types.INT:
        low, high = bounds(name, a.type, b.type)
        if low >= INT_MIN and high <= INT_MAX:
            emitter.popped(2)
            emitter.push(emitter.binary(a.node, operator(), b.node), result)
            return
        a, b = emitter.take(2)
        made = emitter.fresh()
        emitter.set(made, emitter.binary(a.node, operator(), b.node))
        value = emitter.name(made)
        above = emitter.compare(value, ast.Gt(), emitter.constant(MOST))
        below = emitter.compare(value, ast.Lt(), emitter.constant(LEAST))
        test = above if low >= LEAST else below if high <= MOST else emitter.either(above, below)
        emitter.if_(test, [emitter._placed(ast.Expr(emitter.call(helper, a.node, b.node)))])
        emitter.push(value, result, atom=True)
        return
    if not kinds & ~_NUMBERS and types.FLOAT in (a.type.kinds, b.type.kinds):
        emitter.popped(2)
        emitter.push(emitter.binary(a.node, operator(), b.node), result)
        return
    if name == "ADD" and kinds == types.STR:
        a, b = emitter.take(2)
        made = emitter.fresh()
        emitter.set(made, emitter.binary(a.node, ast.Add(), b.node))
        value = emitter.name(made)
        _check_text(emitter, value)
        emitter.push(value, result, atom=True)
        return
    emitter.popped(2)
    emitter.push(emitter.call(helper, a.node, b.node), result)


@_instruction("DIV", "MOD")
def _divide(emitter: Emitter, pc: int, operands: _Operands) -> None:
    name = emitter.flow.instructions[pc].op.name
    a, b = emitter.popped(2)
    result = _result(emitter, pc)
    if a.type.kinds == types.INT == b.type.kinds and a.type.low >= 0 and b.type.low > 0:
        operator = ast.FloorDiv() if name == "DIV" else ast.Mod()
        emitter.push(emitter.binary(a.node, operator, b.node), result)
        return
    numbers = not (a.type.kinds | b.type.kinds) & ~_NUMBERS
    if name == "DIV" and numbers and types.FLOAT in (a.type.kinds, b.type.kinds):
        emitter.stack += [a, b]
        a, b = emitter.take(2)
        test = emitter.compare(b.node, ast.Eq(), emitter.constant(0))
        emitter.if_(test, [emitter._placed(ast.Expr(emitter.call("divide", a.node, b.node)))])
        emitter.push(emitter.binary(a.node, ast.Div(), b.node), result)
        return
    emitter.push(emitter.call("divide" if name == "DIV" else "remainder", a.node, b.node), result)


@_instruction("NEG")
def _negate(emitter: Emitter, pc: int, operands: _Operands) -> None:
    a = emitter.pop()
    result = _result(emitter, pc)
    if a.type.kinds == types.FLOAT or (a.type.kinds == types.INT and a.type.low > INT_MIN):
        emitter.push(emitter._placed(ast.UnaryOp(ast.USub(), a.node)), result)
    else:
        emitter.push(emitter.call("negate", a.node), result)


@_instruction("NOT")
def _not(emitter: Emitter, pc: int, operands: _Operands) -> None:
    a = emitter.pop()
    if a.type.kinds == types.BOOL:
        emitter.push(emitter.negated(a.node), types.TRUTH)
    else:
        emitter.push(emitter.call("negated", a.node), types.TRUTH)


_COMPARISONS: dict[str, Any] = {"LT": ast.Lt, "LE": ast.LtE, "GT": ast.Gt, "GE": ast.GtE, "EQ": ast.Eq, "NE": ast.NotEq}


@_instruction("LT", "LE", "GT", "GE")
def _compare(emitter: Emitter, pc: int, operands: _Operands) -> None:
    name = emitter.flow.instructions[pc].op.name
    a, b = emitter.popped(2)
    kinds = a.type.kinds | b.type.kinds
    if not kinds & ~_NUMBERS or kinds == types.STR:
        emitter.push(emitter.compare(a.node, _COMPARISONS[name](), b.node), types.TRUTH)
    else:
        emitter.push(emitter.call(name, a.node, b.node), types.TRUTH)


_PLAIN = types.INT | types.FLOAT | types.STR | types.NULL


@_instruction("EQ", "NE")
def _equal(emitter: Emitter, pc: int, operands: _Operands) -> None:
    name = emitter.flow.instructions[pc].op.name
    a, b = emitter.popped(2)
    kinds = a.type.kinds | b.type.kinds
    one_is_text = types.STR in (a.type.kinds, b.type.kinds) and not kinds & types.ERROR
    if not kinds & ~_PLAIN or kinds == types.BOOL or one_is_text:
        emitter.push(emitter.compare(a.node, _COMPARISONS[name](), b.node), types.TRUTH)
        return
    test = emitter.call("equal_operands", a.node, b.node)
    emitter.push(test if name == "EQ" else emitter.negated(test), types.TRUTH)


@_instruction("IN")
def _in(emitter: Emitter, pc: int, operands: _Operands) -> None:
    a, b = emitter.popped(2)
    if a.type.kinds == types.STR and b.type.kinds in (types.RECORD, types.STR):
        emitter.push(emitter.compare(a.node, ast.In(), b.node), types.TRUTH)
    else:
        emitter.push(emitter.call("contains", a.node, b.node), types.TRUTH)


@_instruction("RANGE")
def _range(emitter: Emitter, pc: int, operands: _Operands) -> None:
    a, b = emitter.popped(2)
    emitter.push(emitter.call("whole_range", a.node, b.node), types.list_of(types.INTEGER))


# values


@_instruction("INDEX")
def _index(emitter: Emitter, pc: int, operands: _Operands) -> None:
    a, b = emitter.popped(2)
    result = _result(emitter, pc)
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


@_instruction("FIELD")
def _field(emitter: Emitter, pc: int, operands: _Operands) -> None:
    a = emitter.pop()
    name = emitter.constant(emitter.module.constants[operands[0]])
    result = _result(emitter, pc)
    if a.type.kinds != types.RECORD:
        emitter.push(emitter.call("field_of", a.node, name), result)
    elif types.has_field(a.type, emitter.module.constants[operands[0]]):
        emitter.push(emitter.subscript(a.node, name), result)
    else:
        emitter.push(emitter.call(emitter.attribute(a.node, "get"), name), result)


@_instruction("LIST")
def _list(emitter: Emitter, pc: int, operands: _Operands) -> None:
    items = [item.node for item in emitter.popped(operands[0])]
    emitter.push(emitter._placed(ast.List(items, ast.Load())), _result(emitter, pc))


@_instruction("RECORD")
def _record(emitter: Emitter, pc: int, operands: _Operands) -> None:
    keys = emitter.module.constants[operands[0]]
    items = [item.node for item in emitter.popped(len(keys))]
    emitter.push(emitter._placed(ast.Dict([emitter.constant(key) for key in keys], items)), _result(emitter, pc))


@_instruction("TEXT")
def _text(emitter: Emitter, pc: int, operands: _Operands) -> None:
    count = operands[0]
    items = emitter.stack[len(emitter.stack) - count :] if count else []
    if not 1 <= count <= 4 or any(item.type.kinds not in (types.STR, types.INT) for item in items):
        _handled(emitter, pc, operands)
        return
    parts: list[ast.expr] = [emitter._placed(ast.FormattedValue(item.node, -1, None)) for item in emitter.popped(count)]
    emitter.spill()
    made = emitter.fresh()
    emitter.set(made, emitter._placed(ast.JoinedStr(parts)))
    _check_text(emitter, emitter.name(made))
    emitter.push(emitter.name(made), types.TEXT, atom=True)


# loops


def _for_block(emitter: Emitter, pc: int, slot: int) -> int:
    """The BLOCK of a loop that a Python `for` can be, right behind this ITER; -1 for none."""
    flow = emitter.flow
    names = [instruction.op.name for instruction in flow.instructions[pc + 1 : pc + 5]]
    if names[:3] != ["BLOCK", "LOOP", "CHARGE"] or names[3:] not in (["NEXT"], ["NEXT_PAIR"]):
        return -1
    block, following = pc + 1, flow.instructions[pc + 4]
    if following.operands[0] != slot or emitter.shape.target_block[pc + 4] != block:
        return -1
    if flow.end[pc + 2] + 1 != flow.end[block] or flow.instructions[block].operands[0]:
        return -1
    uses = [
        place
        for place in range(pc + 5, flow.end[block])
        if flow.instructions[place].op.name in ("NEXT", "NEXT_PAIR") and flow.instructions[place].operands[0] == slot
    ]
    # A loop further in may have an iterator of its own in the same local only if it begins there.
    return -1 if uses else block


@_instruction("ITER")
def _iterate(emitter: Emitter, pc: int, operands: _Operands) -> None:
    item = emitter.pop()
    emitter.spill()
    block = _for_block(emitter, pc, operands[0])
    if block < 0:
        emitter.set(f"v{operands[0]}", emitter.call("iterator", item.node))
        return
    by_pair = emitter.flow.instructions[pc + 4].op.name == "NEXT_PAIR"
    node = item.node
    if item.type.kinds == types.LIST:
        changed = item.slot >= 0 and emitter.shape.is_changed(item.slot)
        if changed:
            node = emitter.call("list", node)
        if by_pair:
            node = emitter.call("enumerate", node)
    else:
        node = emitter.call("pairs_of" if by_pair else "items_of", node)
    name = emitter.fresh("i")
    emitter.set(name, node)
    emitter.sources[block] = (emitter.name(name), by_pair)


@_instruction("ITER_RANGE")
def _iterate_range(emitter: Emitter, pc: int, operands: _Operands) -> None:
    a, b = emitter.popped(2)
    emitter.spill()
    block = _for_block(emitter, pc, operands[0])
    proved = a.type.kinds == types.INT == b.type.kinds
    if block < 0:
        emitter.set(f"v{operands[0]}", emitter.call("range_iterator", a.node, b.node))
        return
    by_pair = emitter.flow.instructions[pc + 4].op.name == "NEXT_PAIR"
    node = emitter.call("range" if proved else "checked_range", a.node, b.node)
    if by_pair:
        node = emitter.call("enumerate", node)
    name = emitter.fresh("i")
    emitter.set(name, node)
    emitter.sources[block] = (emitter.name(name), by_pair)


@_instruction("NEXT", "NEXT_PAIR")
def _next(emitter: Emitter, pc: int, operands: _Operands) -> None:
    emitter.spill()
    iterator = emitter.name(f"v{operands[0]}")
    index, stop = emitter.attribute(iterator, "index"), emitter.attribute(iterator, "stop")
    by_pair = emitter.flow.instructions[pc].op.name == "NEXT_PAIR"
    taken = emitter.arm(lambda: emitter._branch(emitter.shape.target_block[pc], 0, frozenset()))
    emitter.if_(emitter.compare(index, ast.GtE(), stop), taken)
    made = emitter.fresh()
    emitter.set(made, emitter.call("next_pair" if by_pair else "next_item", iterator))
    known = emitter.known.stack[pc + 1] or []
    if by_pair:
        for place in (0, 1):
            node = emitter.subscript(emitter.name(made), emitter.constant(place))
            emitter.push(node, known[place - 2] if len(known) > 1 else types.ANY)
        emitter.spill()
    else:
        emitter.push(emitter.name(made), known[-1] if known else types.ANY, atom=True)


@_instruction("LIST_BEGIN")
def _list_begin(emitter: Emitter, pc: int, operands: _Operands) -> None:
    emitter.spill()
    emitter.set(f"v{operands[0]}", emitter._placed(ast.List([], ast.Load())))


@_instruction("LIST_ADD")
def _list_add(emitter: Emitter, pc: int, operands: _Operands) -> None:
    item = emitter.pop()
    emitter.spill()
    items = emitter.name(f"v{operands[0]}")
    if not item.atom:
        emitter._keep(item)
    test = emitter.compare(emitter.call("len", items), ast.GtE(), emitter.constant(SIZE_LIMIT))
    emitter.if_(test, [emitter._placed(ast.Expr(emitter.call("check_size", emitter.constant(SIZE_LIMIT + 1))))])
    emitter.do(emitter.call(emitter.attribute(items, "append"), item.node))


@_instruction("LIST_END")
def _list_end(emitter: Emitter, pc: int, operands: _Operands) -> None:
    emitter.spill()
    made = emitter.fresh()
    emitter.set(made, emitter.name(f"v{operands[0]}"))
    emitter.push(emitter.name(made), _result(emitter, pc), atom=True)


# tests and checks


@_instruction("IS_ERR", "IS_MISSING")
def _is_missing(emitter: Emitter, pc: int, operands: _Operands) -> None:
    a = emitter.pop()
    name = emitter.flow.instructions[pc].op.name
    if isinstance(a.node, ast.Constant):
        emitter.push(emitter.constant(name == "IS_MISSING" and a.node.value is None), types.TRUTH, atom=True)
    elif not a.type.kinds & types.ERROR and name == "IS_MISSING":
        emitter.push(emitter.compare(a.node, ast.Is(), emitter.constant(None)), types.TRUTH)
    else:
        emitter.push(emitter.call("is_error" if name == "IS_ERR" else "is_missing", a.node), types.TRUTH)


@_instruction("USE")
def _use(emitter: Emitter, pc: int, operands: _Operands) -> None:
    if emitter.stack[-1].type.kinds & types.ERROR:
        _handled(emitter, pc, operands)


@_instruction("BOOL")
def _bool(emitter: Emitter, pc: int, operands: _Operands) -> None:
    if emitter.stack[-1].type.kinds != types.BOOL:
        _handled(emitter, pc, operands)


_CHECKED = {"int": types.INT, "float": types.FLOAT, "str": types.STR, "bool": types.BOOL}


@_instruction("CHECK")
def _check(emitter: Emitter, pc: int, operands: _Operands) -> None:
    descriptor = emitter.module.constants[operands[0]]
    kind = _CHECKED.get(descriptor) if type(descriptor) is str else None
    if kind is None or emitter.stack[-1].type.kinds != kind:
        _handled(emitter, pc, operands)


def _handled(emitter: Emitter, pc: int, operands: _Operands) -> None:
    """What the interpreter's own handler does with these items of the stack."""
    from qasm.pictures import effect

    taken, put = effect(emitter.module, emitter.flow.instructions[pc])
    nodes = [item.node for item in emitter.popped(taken)]
    name = emitter.flow.instructions[pc].op.name
    result = emitter.call(emitter.bound.name("handler", name, operands, emitter.number, pc), *nodes)
    if put:
        emitter.push(result, _result(emitter, pc))
    else:
        emitter.spill()
        emitter.do(result)


for _name in (
    "STOP",
    "SLICE",
    "FIELD_OR_NULL",
    "LIST_PUSH",
    "LIST_SPREAD",
    "RECORD_PUT",
    "RECORD_SPREAD",
    "SQL",
    "IS_LIST",
    "HAS_FIELD",
    "ERR_VALUE",
    "MAKE_ERR",
    "MARKUP",
    "ATTRIBUTE",
    "REPLY",
    "ASSERT",
):
    INSTRUCTIONS[_name] = _handled
