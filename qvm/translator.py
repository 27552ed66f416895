"""The second engine: a Module's functions as Python functions.

    translation = translate(module)              what can be kept: Python code and plain data
    functions = Runtime(program, translation)    bound to a Program, ready to be called

Everything that a Module says is put into `ast` nodes, never into text. A function that no Python statement stands for
is left out and runs on the interpreter.
"""

from __future__ import annotations

import ast
import marshal
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import catch_warnings, simplefilter

from qvm.translator_emitter import Bound, Emitter
from qvm.translator_inference import Inference, TooHard
from qvm.translator_nodes import FILE_NAME
from qvm.turns import held_back

if TYPE_CHECKING:
    from qasm.module import Module

NO_LEAF = frozenset(("CHARGE", "LOOP", "CALL", "CALL_VALUE", "NEXT", "NEXT_PAIR"))
INTERPRETED = ("parallel",)  # the language's own functions that need the interpreter's frames


class Translation(NamedTuple):
    """`code` makes the functions, `bound` is what they are given, all of it plain data that `marshal` keeps.

    `indexes`: for (function, pc) of an INDEX that is Python's own, the names of its operands. `ahead`: the loops of a
    function whose turns are charged ahead: first pc, end, the names of the iterator and of how many of its items are
    not charged, steps a turn. `held_back`: the pcs at which nobody else may get a turn, of functions that have such.
    """

    code: CodeType
    numbers: tuple[int, ...]
    bound: dict[str, tuple[Any, ...]]
    indexes: dict[tuple[int, int], tuple[Any, Any]]
    ahead: dict[int, list[tuple[int, int, str, str, int]]]
    held_back: dict[int, frozenset[int]]


def dumped(translation: Translation) -> bytes:
    """The translation as bytes for this very version of Python. Raises ValueError where it has what can't be kept."""
    return marshal.dumps(tuple(translation))


def loaded(data: bytes) -> Translation:
    """What `dumped` gave the bytes of; nothing else may be given."""
    return Translation(*marshal.loads(data))


def translate(module: Module) -> Translation | None:
    """The Module's functions as Python code; None where none of them can be had."""
    import qvm.translator_calls
    import qvm.translator_loops
    import qvm.translator_markup
    import qvm.translator_operators  # noqa: F401 - they register what each instruction becomes

    try:
        inference = Inference(module)
    except (TooHard, RecursionError):
        return None
    numbers = {
        number
        for number in inference.known
        if not (module.functions[number].builtin and module.functions[number].name in INTERPRETED)
    }
    leaves = leaves_of(inference)
    while numbers:
        bound = Bound()
        indexes: dict[tuple[int, int], tuple[Any, Any]] = {}
        ahead: dict[int, list[tuple[int, int, str, str, int]]] = {}
        functions: list[ast.stmt] = []
        hard: set[int] = set()
        begun: set[int] = set()  # functions whose first case stands where they are called
        for number in sorted(numbers):
            emitter = Emitter(inference, number, bound, numbers, leaves & numbers)
            try:
                function = emitter.run()
                _compiled([function])
            except (TooHard, RecursionError, SyntaxError, MemoryError):
                hard.add(number)
                continue
            functions.append(function)
            begun.update(emitter.first_cases)
            if emitter.ahead:
                ahead[number] = [(*pcs, *names) for pcs, names in emitter.ahead.items()]
            for pc, names in emitter.indexes.items():
                indexes[number, pc] = names
        if not hard:
            for number in sorted(begun):
                functions.append(Emitter(inference, number, bound, numbers, leaves & numbers, first_case=False).run())
            held = {number: held_back(inference.known[number].flow) for number in numbers}
            held = {number: pcs for number, pcs in held.items() if pcs}
            return Translation(_compiled(functions), tuple(sorted(numbers)), bound.names, indexes, ahead, held)
        numbers -= hard
    return None


def leaves_of(inference: Inference) -> set[int]:
    """The functions that neither loop nor call nor reach the host, and that are only called by their names.

    Their callers pay for them. Since nothing is under way in them, they are not told how many calls are: their callers
    look whether there is room for one more.
    """
    from qvm.builtins import is_native

    module, found = inference.module, set()
    for number, known in inference.known.items():
        if number in inference.by_value or number in inference.closures:
            continue
        for op, operands in known.flow.instructions:
            if op.name in NO_LEAF or (op.name == "CALL_BUILTIN" and not is_native(module.builtins[operands[0]])):
                break
        else:
            found.add(number)
    return found


def _compiled(functions: list[ast.stmt]) -> CodeType:
    """A module whose `make` gives the functions, by name, and what reads and sets their fuel."""
    frame = ast.parse(
        "def make():\n"
        "    fuel = 0\n"
        "    def get_fuel():\n"
        "        return fuel\n"
        "    def set_fuel(steps):\n"
        "        nonlocal fuel\n"
        "        fuel = steps\n"
        "    return get_fuel, set_fuel, {}\n"
    )
    maker: Any = frame.body[0]
    given = maker.body[-1]
    names = [function.name for function in functions if isinstance(function, ast.FunctionDef)]
    given.value.elts[2] = ast.Dict(
        [ast.Constant(name) for name in names], [ast.Name(name, ast.Load()) for name in names]
    )
    maker.body[-1:] = [*functions, given]
    ast.fix_missing_locations(frame)
    with catch_warnings():
        simplefilter("ignore", SyntaxWarning)  # such as a constant that is compared with None
        return compile(frame, FILE_NAME, "exec", dont_inherit=True, optimize=0)
