"""Walks one function for what is on its stack and in its locals at each instruction, until that is settled.

Branches flow together where they meet; what comes round in a loop is widened until it stands still. What a function
tells others (arguments, results, cells, top-level variables) goes to the Inference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qasm.instructions import KIND, NAMED, Instruction
from qasm.pictures import effect
from qvm import translator_types as types
from qvm.translator_arithmetic import added, arithmetic, assigned, divided, rest
from qvm.translator_growth import Growing, growth_of
from qvm.translator_types import ANY, NEVER, Type, join

if TYPE_CHECKING:
    from qasm.verifier import ControlFlow
    from qvm.translator_inference import Inference

_MOST_COUNTS = 100  # flows around a loop while what it adds to a variable is counted by its turns
_WITH_PLACES = frozenset(("CALL", "CALL_VALUE", "CALL_BUILTIN"))  # which must be told of in any case
_KEEPING = frozenset(("LIST", "LIST_PUSH", "LIST_ADD", "RECORD", "RECORD_PUT"))
PATIENCE = 3  # changes of one thing until its bounds are widened
_TRUTHS = frozenset(
    ("NOT", "EQ", "NE", "LT", "LE", "GT", "GE", "IN", "IS_LIST", "HAS_FIELD", "IS_ERR", "IS_MISSING", "BOOL")
)


class TooHard(Exception):
    """A Module or function that is left to the interpreter."""


class Known:
    """What is known of one function: `flow`, and for each pc the types on the stack before it and of its local."""

    def __init__(self, flow: ControlFlow, captured: set[int]) -> None:
        self.flow = flow
        self.plain = _as_plain(flow, captured)  # locals whose cell no function has
        self.stack: list[list[Type] | None] = [None] * len(flow.instructions)
        self.local: list[Type] = [ANY] * len(flow.instructions)
        self.growth = growth_of(flow)
        self.sized: set[int] = set()  # pcs that add to a list that never gets too long


_PLAIN_OPS = {"LOAD_CELL": NAMED["LOAD"], "STORE_CELL": NAMED["STORE"]}


def _as_plain(flow: ControlFlow, captured: set[int]) -> set[int]:
    """The locals that get a cell which no function captures: their lambdas have been put in place. They need none."""
    plain = {operands[0] for op, operands in flow.instructions if op.name == "CELL"} - captured
    if plain:
        for pc, (op, operands) in enumerate(flow.instructions):
            if op.name in _PLAIN_OPS and operands[0] in plain:
                flow.instructions[pc] = Instruction(_PLAIN_OPS[op.name], operands)
            elif op.operands[:1] == (KIND,) and operands[0] == 1 and operands[1] in plain:
                flow.instructions[pc] = Instruction(op, (0, *operands[1:]))
    return plain


class _State:
    __slots__ = ("locals", "stack")

    def __init__(self, stack: list[Type], locals: list[Type]) -> None:
        self.stack = stack
        self.locals = locals

    def copy(self) -> _State:
        return _State(self.stack.copy(), self.locals.copy())


class Walk:
    """One function, walked until its own types are settled for what it is called with now."""

    def __init__(self, inference: Inference, number: int) -> None:
        self.inference = inference
        self.module = inference.module
        self.number = number
        self.known = inference.known[number]
        self.flow = self.known.flow
        self.function = self.module.functions[number]
        self.incoming: dict[int, _State] = {}
        self.visits: dict[int, int] = {}
        self.again = False
        self.state: _State | None = None
        self.growing = Growing(self.known.growth)

    def run(self) -> None:
        unset = Type(types.UNSET)
        parameters = self.inference.parameters[self.number]
        padding = [unset] * (self.function.local_count - len(parameters))
        self.again = True
        while self.again:
            self.again = False
            self.state = _State([], [*parameters, *padding])
            for pc in range(len(self.flow.instructions)):
                self._step(pc)
        self.known.sized = self.growing.sized()

    def _flow_to(self, pc: int, target: int, state: _State, base: int, keep: int) -> None:
        stack = state.stack[:base] + state.stack[len(state.stack) - keep :] if keep else state.stack[:base]
        old = self.incoming.get(target)
        if old is None:
            self.incoming[target] = _State(stack, state.locals.copy())
            changed = True
        else:
            changed = False
            visits = self.visits[target] = self.visits.get(target, 0) + 1
            wide = visits > 2 * PATIENCE
            locals = state.locals
            counted: dict[int, Type] = {}
            if target <= pc and visits < _MOST_COUNTS:
                counted = self.growing.around(target, locals)
                if counted:
                    locals = [counted.get(slot, kind) for slot, kind in enumerate(locals)]
            for mine, other in ((old.stack, stack), (old.locals, locals)):
                for place, kind in enumerate(other):
                    if mine[place] is not kind and mine[place] != kind:
                        joined = types.cut(join(mine[place], kind))
                        if joined != mine[place]:
                            exact = not wide or (other is locals and place in counted)
                            mine[place] = joined if exact else types.widen(mine[place], joined)
                            changed = True
        if changed and target <= pc:
            self.again = True

    def _step(self, pc: int) -> None:
        flow = self.flow
        arriving = self.incoming.get(pc)
        if arriving is not None:
            if self.state is None:
                self.state = arriving.copy()
            else:
                self._flow_to(pc - 1, pc, self.state, len(self.state.stack), 0)
                self.state = self.incoming[pc].copy()
        state = self.state
        if state is None or flow.height[pc] < 0:
            return
        op, operands = flow.instructions[pc]
        name = op.name
        if name == "LOOP":
            # What comes round again joins here.
            self.growing.entered(pc, state.locals)
            self._flow_to(pc, pc + 1, state, len(state.stack), 0)
            return
        self.known.stack[pc] = state.stack.copy()
        if operands and op.operands[0] == "local":
            self.known.local[pc] = state.locals[operands[0]]
        elif op.operands[:1] == ("kind",) and operands[0] == 0:
            self.known.local[pc] = state.locals[operands[1]]
        if flow.handler[pc] >= 0:
            self._to_handler(pc, state)
        if name in _CONTROL:
            self._control(pc, name, operands, state)
        elif op.ends:
            if name == "RETURN":
                self.inference.give_result(self.number, state.stack[-1])
            self.state = None
        else:
            self._instruction(pc, name, operands, state)

    def _to_handler(self, pc: int, state: _State) -> None:
        opener = self.flow.handler[pc]
        base = self.flow.base[opener]
        caught = _State([*state.stack[:base], types.FAILURE], state.locals)
        self._flow_to(pc, self.flow.target[opener], caught, base + 1, 0)

    def _control(self, pc: int, name: str, operands: tuple[int, ...], state: _State) -> None:
        flow = self.flow
        stack = state.stack
        if name in ("BLOCK", "TRY", "CHARGE", "END"):
            return
        if name == "IF":
            stack.pop()
            otherwise = state.copy()
            self._narrow(pc, state, True)
            self._narrow(pc, otherwise, False)
            self._flow_to(pc, flow.target[pc], otherwise, len(stack), 0)
        elif name in ("ELSE", "CATCH"):
            self._flow_to(pc, flow.target[pc], state, len(stack), 0)
            self.state = None
        elif name == "IF_ABSENT":
            slot = operands[0]
            given = state.copy()
            given.locals[slot] = types.without(given.locals[slot], types.ABSENT)
            self._flow_to(pc, flow.target[pc], given, len(stack), 0)
            state.locals[slot] = types.LEFT_OUT
        elif name == "BR":
            self._flow_to(pc, flow.target[pc], state, flow.base[pc], flow.keep[pc])
            self.state = None
        elif name in ("BR_IF", "BR_UNLESS"):
            stack.pop()
            taken = state
            looked_for = _looked_for(flow, pc)
            if looked_for:
                there, missing = state.copy(), state.copy()
                there.stack[-1] = types.without(stack[-1], looked_for)
                missing.stack[-1] = stack[-1]._replace(kinds=stack[-1].kinds & looked_for)
                taken, stays = (missing, there) if name == "BR_IF" else (there, missing)
                self.state = stays
            else:
                taken = state.copy()
                self._narrow(pc, taken, name == "BR_IF")
                self._narrow(pc, state, name == "BR_UNLESS")
            self._flow_to(pc, flow.target[pc], taken, flow.base[pc], flow.keep[pc])
        else:  # NEXT, NEXT_PAIR
            done = state.copy()
            done.locals[operands[0]] = types.NOTHING
            self._flow_to(pc, flow.target[pc], done, flow.base[pc], 0)
            iterator = state.locals[operands[0]]
            self.growing.counted(pc, iterator.most)
            item = NEVER if not iterator.kinds else types.VALUE if iterator.item is None else iterator.item
            by_key = iterator.kinds & types.RECORD
            key = types.TEXT if by_key else NEVER
            if name == "NEXT_PAIR":
                if iterator.kinds & ~types.RECORD:
                    key = join(key, types.whole(0, types.INT_MAX))
                stack.append(key)
            elif by_key:
                item = join(item, key) if iterator.kinds & types.LIST else key
            stack.append(item)

    def _narrow(self, pc: int, state: _State, holds: bool) -> None:
        """Bounds a local by the comparison with a number, or another local, that was tested right before."""
        instructions = self.flow.instructions
        if pc < 3 or instructions[pc - 3].op.name != "LOAD":
            return
        symbol = instructions[pc - 1].op.name
        other = instructions[pc - 2]
        if symbol not in _NARROWING or other.op.name not in ("INT", "LOAD"):
            return
        slot = instructions[pc - 3].operands[0]
        kind = state.locals[slot]
        bound = state.locals[other.operands[0]] if other.op.name == "LOAD" else types.whole(*other.operands * 2)
        if kind.kinds != types.INT or bound.kinds != types.INT:
            return
        if not holds:
            symbol = _NARROWING[symbol]
        low, high = kind.low, kind.high
        if symbol in ("LT", "LE"):
            high = min(high, bound.high - (symbol == "LT"))
        else:
            low = max(low, bound.low + (symbol == "GT"))
        if low <= high:
            state.locals[slot] = kind._replace(low=low, high=high)

    def _instruction(self, pc: int, name: str, operands: tuple[int, ...], state: _State) -> None:
        stack, locals = state.stack, state.locals
        taken, put = effect(self.module, self.flow.instructions[pc])
        special = _EFFECTS.get(name)
        arguments = stack[len(stack) - taken :] if taken else []
        del stack[len(stack) - taken :]
        self.growing.added(pc, arguments)
        if name in _KEEPING and any(argument.kinds & types.ERROR for argument in arguments):
            raise TooHard("an error is put into a list or a record")
        if put and name not in _WITH_PLACES and any(not argument.kinds for argument in arguments):
            # Nothing has come to here yet: what it gives is known once something does.
            stack.extend([NEVER] * put)
        elif special is not None:
            result = special(self, pc, operands, arguments, locals)
            if put:
                stack.extend([types.cut(result)] * put)
        elif put:
            stack.extend([types.TRUTH if name in _TRUTHS else ANY] * put)

    # variables

    def load(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        return _value(locals[operands[0]])

    def store(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        locals[operands[0]] = arguments[0]
        return NEVER

    def make_cell(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        if operands[0] in self.known.plain:
            return NEVER
        self.inference.give_cell((self.number, 0, operands[0]), _value(locals[operands[0]]))
        locals[operands[0]] = types.OTHER_KIND
        return NEVER

    def variable(self, kind: int, number: int, locals: list[Type]) -> Type:
        if kind == 0:
            return _value(locals[number])
        if kind == 3:
            self.inference.read(self.number, ("global", number))
            return self.inference.globals[number]
        name = self.inference.cell((self.number, kind - 1, number))
        self.inference.read(self.number, name)
        return self.inference.cells.get(name, NEVER)

    def give(self, kind: int, number: int, value: Type, locals: list[Type]) -> None:
        if kind == 0:
            locals[number] = value
        elif kind == 3:
            self.inference.give_global(number, value)
        else:
            self.inference.give_cell((self.number, kind - 1, number), value)

    def extend(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        kind, number = operands
        self.give(kind, number, types.cut(added(self.variable(kind, number, locals), arguments[0])), locals)
        return NEVER

    def assign(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        kind, number, path = operands
        steps = self.module.constants[path]
        root = self.variable(kind, number, locals)
        self.give(kind, number, types.cut(assigned(root, steps, arguments[:-1], arguments[-1])), locals)
        return NEVER

    def extend_path(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        # What is there already stays a part of what is there then: that it is any value is all that is said of it.
        return self.assign(pc, operands, [*arguments[:-1], types.VALUE], locals)

    # calls

    def call(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        return self.inference.call(self.number, operands[0], arguments)

    def call_value(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        named = bool(self.module.constants[operands[1]])
        return self.inference.call_value(self.number, arguments[1:], named)

    def builtin_value(self, *_: Any) -> Type:
        self.inference.builtin_value()
        return types.OTHER_KIND

    def closure(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        self.inference.closure(operands[0])
        return types.OTHER_KIND

    def builtin(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        from qvm.builtins import is_native

        name = self.module.builtins[operands[0]]
        if is_native(name):
            unknown = any(not argument.kinds for argument in arguments)
            return NEVER if unknown else types.native_result(name, arguments)
        if any(argument.kinds & types.OTHER for argument in arguments):
            self.inference.escape()
        return types.VALUE if name in types.SURE else ANY

    # values

    def check(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        descriptor = self.module.constants[operands[0]]
        found = types.without(types.of_descriptor(descriptor, self.module.types), types.ERROR)
        value = types.without(arguments[0], types.ERROR)
        if types.fits(value, descriptor, self.module.types):
            return value
        if found.kinds == types.INT == value.kinds:
            return value
        if found.kinds & ~value.kinds == 0 or found.kinds & types.FLOAT:
            return found
        both = found.kinds & value.kinds
        return found._replace(kinds=both) if both else found

    def make_list(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        found = NEVER
        for argument in arguments:
            found = join(found, argument)
        return types.list_of(found, len(arguments))

    def list_push(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        return types.list_of(join(types.known_item(arguments[0]), arguments[1]), arguments[0].most + 1)

    def list_spread(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        most = arguments[0].most + arguments[1].most
        return types.list_of(join(types.known_item(arguments[0]), types.known_item(arguments[1])), most)

    def record(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        keys = self.module.constants[operands[0]]
        fields = dict(zip(keys, arguments, strict=True))
        return Type(types.RECORD, fields=tuple(sorted(fields.items())), values=NEVER)

    def record_put(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        return types.with_field(arguments[0], self.module.constants[operands[0]], arguments[1])

    def record_spread(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        return Type(types.RECORD)

    def field(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        return types.field(arguments[0], self.module.constants[operands[0]])

    def field_or_null(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        base = arguments[0]
        found = types.field(base, self.module.constants[operands[0]]) if base.kinds & types.RECORD else NEVER
        if base.kinds & types.NULL:
            found = join(found, types.NOTHING)
        return join(found, types.FAILURE) if base.kinds & types.ERROR else found

    def index(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        base = arguments[0]
        found = types.known_item(base) if base.kinds & types.LIST else NEVER
        if base.kinds & types.STR:
            found = join(found, types.TEXT)
        if base.kinds & types.RECORD:
            found = join(found, join(types.any_value(base), types.NOTHING))
        return found

    def take_slice(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        base = arguments[0]
        return base._replace(kinds=base.kinds & (types.LIST | types.STR))

    # loops

    def iterate(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        base = arguments[0]
        item = NEVER
        if base.kinds & types.LIST:
            item = types.known_item(base)
        if base.kinds & types.RECORD:
            item = join(item, types.any_value(base))
        most = base.most if base.kinds == types.LIST else types.SIZE_LIMIT
        locals[operands[0]] = Type(
            base.kinds & (types.LIST | types.RECORD), item=item, fields=base.fields, values=base.values, most=most
        )
        return NEVER

    def iterate_range(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        low, high = arguments
        item = (
            types.whole(low.low, max(high.high - 1, low.low)) if low.kinds & high.kinds & types.INT else types.INTEGER
        )
        most = max(high.high - low.low, 0) if low.kinds == types.INT == high.kinds else types.INT_MAX
        locals[operands[0]] = Type(types.INT, item=item, most=most)
        return NEVER

    def list_begin(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        locals[operands[0]] = types.list_of(NEVER, 0)
        return NEVER

    def list_add(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        held = locals[operands[0]]
        item = join(types.known_item(held), arguments[0])
        locals[operands[0]] = types.cut(types.list_of(item, held.most + 1))
        return NEVER

    def list_end(self, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
        found = locals[operands[0]]
        locals[operands[0]] = types.NOTHING
        return found


_CONTROL = frozenset(
    (
        "BLOCK",
        "TRY",
        "CHARGE",
        "END",
        "IF",
        "ELSE",
        "CATCH",
        "IF_ABSENT",
        "BR",
        "BR_IF",
        "BR_UNLESS",
        "NEXT",
        "NEXT_PAIR",
    )
)


_NARROWING = {"LT": "GE", "LE": "GT", "GT": "LE", "GE": "LT"}  # and what holds where it doesn't


def _value(kind: Type) -> Type:
    """What a local holds as a value: one that was never set is null."""
    kinds = kind.kinds & ~(types.UNSET | types.ABSENT)
    return kind._replace(kinds=kinds | types.NULL if kind.kinds & types.UNSET else kinds)


_LOOKED_FOR = {"IS_MISSING": types.NULL | types.ERROR, "IS_ERR": types.ERROR}


def _looked_for(flow: ControlFlow, pc: int) -> int:
    """The kinds that a branch tells from all others, if it is about the value on top: it follows DUP and a test."""
    instructions = flow.instructions
    return _LOOKED_FOR.get(instructions[pc - 1].op.name, 0) if pc >= 2 and instructions[pc - 2].op.name == "DUP" else 0


def _constant(walk: Walk, pc: int, operands: tuple[int, ...], arguments: list[Type], locals: list[Type]) -> Type:
    return types.of_value(walk.module.constants[operands[0]])


_EFFECTS: dict[str, Any] = {
    "CONST": _constant,
    "INT": lambda walk, pc, operands, arguments, locals: types.whole(operands[0], operands[0]),
    "NULL": lambda *_: types.NOTHING,
    "TRUE": lambda *_: types.TRUTH,
    "FALSE": lambda *_: types.TRUTH,
    "ABSENT": lambda *_: types.LEFT_OUT,
    "LOAD": Walk.load,
    "STORE": Walk.store,
    "CELL": Walk.make_cell,
    "LOAD_CELL": lambda walk, pc, operands, arguments, locals: walk.variable(1, operands[0], locals),
    "STORE_CELL": lambda walk, pc, operands, arguments, locals: walk.give(1, operands[0], arguments[0], locals),
    "LOAD_CAPTURE": lambda walk, pc, operands, arguments, locals: walk.variable(2, operands[0], locals),
    "STORE_CAPTURE": lambda walk, pc, operands, arguments, locals: walk.give(2, operands[0], arguments[0], locals),
    "LOAD_GLOBAL": lambda walk, pc, operands, arguments, locals: walk.variable(3, operands[0], locals),
    "STORE_GLOBAL": lambda walk, pc, operands, arguments, locals: walk.give(3, operands[0], arguments[0], locals),
    "LOAD_SHARED": lambda walk, pc, operands, arguments, locals: walk.variable(*operands, locals),
    "EXTEND": Walk.extend,
    "ASSIGN": Walk.assign,
    "EXTEND_PATH": Walk.extend_path,
    "CALL": Walk.call,
    "CLOSURE": Walk.closure,
    "BUILTIN": Walk.builtin_value,
    "CALL_VALUE": Walk.call_value,
    "CALL_BUILTIN": Walk.builtin,
    "ADD": lambda walk, pc, operands, arguments, locals: added(*arguments),
    "SUB": lambda walk, pc, operands, arguments, locals: arithmetic("SUB", *arguments),
    "MUL": lambda walk, pc, operands, arguments, locals: arithmetic("MUL", *arguments),
    "DIV": lambda walk, pc, operands, arguments, locals: divided(*arguments),
    "MOD": lambda walk, pc, operands, arguments, locals: rest(*arguments),
    "NEG": lambda walk, pc, operands, arguments, locals: arithmetic("SUB", types.whole(0, 0), arguments[0]),
    "RANGE": lambda *_: types.list_of(types.INTEGER),
    "INDEX": Walk.index,
    "SLICE": Walk.take_slice,
    "FIELD": Walk.field,
    "FIELD_OR_NULL": Walk.field_or_null,
    "LIST": Walk.make_list,
    "LIST_PUSH": Walk.list_push,
    "LIST_SPREAD": Walk.list_spread,
    "RECORD": Walk.record,
    "RECORD_PUT": Walk.record_put,
    "RECORD_SPREAD": Walk.record_spread,
    "TEXT": lambda walk, pc, operands, arguments, locals: types.text_of(arguments),
    "ITER": Walk.iterate,
    "ITER_RANGE": Walk.iterate_range,
    "LIST_BEGIN": Walk.list_begin,
    "LIST_ADD": Walk.list_add,
    "LIST_END": Walk.list_end,
    "MARKUP": lambda *_: types.OTHER_KIND,
    "ATTRIBUTE": lambda *_: types.OTHER_KIND,
    "SQL": lambda *_: types.OTHER_KIND,
    "MAKE_ERR": lambda *_: types.FAILURE,
    "CHECK": Walk.check,
    "USE": lambda walk, pc, operands, arguments, locals: types.without(arguments[0], types.ERROR),
    "DUP": lambda walk, pc, operands, arguments, locals: arguments[0],
}
