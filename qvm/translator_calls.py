"""What calls become in Python: of functions by their names, of function values, of builtins."""

from __future__ import annotations

import ast

from qvm import translator_types as types
from qvm.mistakes import SURELY_SHORT
from qvm.questions import QUESTIONS
from qvm.translator_emitter import Emitter
from qvm.translator_instructions import Operands, handled, instruction, result_of
from qvm.values import SIZE_LIMIT


@instruction("CALL")
def _call(emitter: Emitter, pc: int, operands: Operands) -> None:
    number = operands[0]
    count = len(emitter.module.functions[number].parameters)
    result = emitter.inference.results[number]
    first = emitter.first_cases.get(number)
    if first is None or isinstance(emitter.stack[first.slot - count].node, ast.Constant):
        arguments = [item.node for item in emitter.popped(count)]
        emitter.push(emitter.call_function(number, arguments), result)
        return
    # The callee's first case, in which it does nothing, stands here: half the calls of a recursive function end so.
    emitter.used_fuel = True
    items = emitter.take(count)
    given = [item.node for item in items]
    test = emitter.compare(given[first.slot], first.operator(), emitter.constant(first.bound))
    paid = emitter.compare(emitter.name("fuel"), ast.GtE(), emitter.constant(first.charge))
    value = emitter.constant(first.value) if first.result < 0 else given[first.result]
    made = _only_here(emitter, value) or emitter.fresh()

    def store(node: ast.expr) -> list[ast.stmt]:
        if isinstance(node, ast.Name) and node.id == made:
            return []
        return [emitter.placed(ast.Assign([emitter.placed(ast.Name(made, ast.Store()))], node))]

    fuel = emitter.placed(ast.Name("fuel", ast.Store()))
    paying = emitter.placed(ast.AugAssign(fuel, ast.Sub(), emitter.constant(first.charge)))
    called = store(emitter.call_function(number, given))
    others = store(emitter.call(f"g{number}", *given, emitter.below()))
    emitter.if_(test, [emitter.placed(ast.If(paid, [paying, *store(value)], called))], others)
    emitter.push(emitter.name(made), result, atom=True)


def _only_here(emitter: Emitter, value: ast.expr) -> str:
    """The name of an intermediate result that nothing else on the stack is, "" for anything else."""
    if not isinstance(value, ast.Name) or not value.id.startswith("t"):
        return ""
    used = any(isinstance(item.node, ast.Name) and item.node.id == value.id for item in emitter.stack)
    return "" if used else value.id


@instruction("CALL_VALUE")
def _call_value(emitter: Emitter, pc: int, operands: Operands) -> None:
    count, names = operands
    function, *arguments = [item.node for item in emitter.popped(count + 1)]
    if emitter.module.constants[names]:
        names_node = emitter.name(emitter.bound.name("constant", names))
    else:
        names_node = emitter.placed(ast.Tuple([], ast.Load()))
    place = emitter.constant(f"{emitter.number}:{pc}")
    result = result_of(emitter, pc)
    emitter.push(emitter.call("call_value", emitter.name("d"), place, names_node, function, *arguments), result)


@instruction("CALL_BUILTIN")
def _call_builtin(emitter: Emitter, pc: int, operands: Operands) -> None:
    from qvm.builtins import is_native

    name, count = emitter.module.builtins[operands[0]], operands[1]
    if name not in QUESTIONS and is_native(name):
        _call_native(emitter, pc, name, operands)
        return
    arguments = emitter.placed(ast.List([item.node for item in emitter.popped(count)], ast.Load()))
    if name in QUESTIONS:
        place = emitter.constant(f"{emitter.number}:{pc}")
        emitter.push(emitter.call("ask", emitter.constant(name), arguments, place), types.ANY)
    else:
        emitter.push(emitter.call("call_host", emitter.constant(name), arguments), result_of(emitter, pc))


def _call_native(emitter: Emitter, pc: int, name: str, operands: Operands) -> None:
    count = operands[1]
    known = emitter.known.stack[pc] or []
    arguments = known[len(known) - count :] if count else []
    result = result_of(emitter, pc)
    sized = types.LIST | types.STR | types.RECORD
    if name == "len" and count == 1 and arguments[0].kinds & sized and not arguments[0].kinds & ~sized:
        emitter.push(emitter.call("len", emitter.pop().node), result)
        return
    if name == "_verdict" and count == 2 and emitter.stack[-2].type.kinds == types.BOOL and emitter.stack[-1].atom:
        emitter.pop()
        return
    if name in _INLINED and _INLINED[name](emitter, pc, arguments):
        return
    from qvm.builtins import native
    from qvm.calling import wrong_count

    safe = not any(argument.kinds & types.ERROR for argument in arguments)
    if safe and not wrong_count(name, native(name), count):
        nodes = [item.node for item in emitter.popped(count)]
        emitter.push(emitter.call(emitter.bound.name("native", name), *nodes), result)
        return
    handled(emitter, pc, operands)


def _range(emitter: Emitter, pc: int, arguments: list[types.Type]) -> bool:
    """`range` that is only gone over makes no list."""
    from qvm.translator_loops import for_block

    instructions = emitter.flow.instructions
    place = pc + 1 + (instructions[pc + 1].op.name == "LIST_BEGIN")
    op, operands = instructions[place]
    if len(arguments) != 3 or op.name != "ITER" or for_block(emitter, place, operands[0]) < 0:
        return False
    if any(argument.kinds & types.ERROR for argument in arguments):
        return False
    nodes = [item.node for item in emitter.popped(3)]
    result = result_of(emitter, pc)
    plain = all(argument.kinds == types.INT for argument in arguments) and arguments[2].low > 0
    if plain and types.range_length(arguments) <= SIZE_LIMIT:
        if arguments[2].high == 1:
            nodes.pop()
        emitter.push(emitter.call("range", *nodes), result)
    else:
        emitter.push(emitter.call("numbers_of_range", *nodes), result)
    return True


def _chosen(emitter: Emitter, pc: int, arguments: list[types.Type]) -> bool:
    """`min` and `max` of two whole numbers."""
    if len(arguments) != 2 or any(argument.kinds != types.INT for argument in arguments):
        return False
    name = emitter.module.builtins[emitter.flow.instructions[pc].operands[0]]
    a, b = emitter.take(2)
    test = emitter.compare(b.node, ast.Gt() if name == "max" else ast.Lt(), a.node)
    emitter.push(emitter.placed(ast.IfExp(test, b.node, a.node)), result_of(emitter, pc))
    return True


def _square_root(emitter: Emitter, pc: int, arguments: list[types.Type]) -> bool:
    if len(arguments) != 1 or arguments[0].kinds not in (types.INT, types.FLOAT):
        return False
    [a] = emitter.take(1)
    test = emitter.compare(a.node, ast.GtE(), emitter.constant(0))
    refused = emitter.call(emitter.bound.name("native", "sqrt"), a.node)
    emitter.push(emitter.placed(ast.IfExp(test, emitter.call("square_root", a.node), refused)), result_of(emitter, pc))
    return True


def _joined(emitter: Emitter, pc: int, arguments: list[types.Type]) -> bool:
    """`join` of texts that are surely short enough together."""
    if len(arguments) != 2 or arguments[0].kinds != types.LIST or arguments[1].kinds != types.STR:
        return False
    item = types.known_item(arguments[0])
    size = arguments[0].most * (item.most + arguments[1].most)
    if item.kinds != types.STR or item.most == SIZE_LIMIT or arguments[1].most == SIZE_LIMIT or size > SURELY_SHORT:
        return False
    texts, between = emitter.popped(2)
    emitter.push(emitter.call(emitter.attribute(between.node, "join"), texts.node), result_of(emitter, pc))
    return True


def _written(emitter: Emitter, pc: int, arguments: list[types.Type]) -> bool:
    """`json` of what is surely short: it need not be measured."""
    if len(arguments) != 1 or types.json_most(arguments[0]) > SURELY_SHORT:
        return False
    emitter.push(emitter.call("short_to_json", emitter.pop().node), result_of(emitter, pc))
    return True


_INLINED = {"json": _written, "join": _joined, "range": _range, "max": _chosen, "min": _chosen, "sqrt": _square_root}


@instruction("CLOSURE")
def _closure(emitter: Emitter, pc: int, operands: Operands) -> None:
    captures = emitter.module.functions[operands[0]].captures
    if not captures:
        emitter.push(emitter.name(emitter.bound.name("closure", operands[0])), types.OTHER_KIND, atom=True)
        return
    cells: list[ast.expr] = [emitter.name(f"c{place}" if kind else f"v{place}") for kind, place in captures]
    made = emitter.call("Closure", emitter.constant(operands[0]), emitter.placed(ast.Tuple(cells, ast.Load())))
    emitter.spill()
    emitter.push(made, types.OTHER_KIND)
    emitter.kept(emitter.stack[-1])


@instruction("BUILTIN")
def _builtin(emitter: Emitter, pc: int, operands: Operands) -> None:
    name = emitter.module.builtins[operands[0]]
    emitter.push(emitter.name(emitter.bound.name("builtin", name)), types.OTHER_KIND, atom=True)
