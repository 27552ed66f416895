"""The verifier: what it lets pass keeps all that the engines assume; each rule has its sentence."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qasm import module as parts
from qasm.instructions import LOCAL, NAMED, TABLE, Instruction, decode, encode
from qasm.module import BadModule, Function, Parameter, Route, SourceFile, Tool
from qasm.pictures import effect
from qasm.verifier import control_flow, verify
from tests.building import Builder, build, builder
from tests.random_modules import make_module, modules


def refusal(module):
    with pytest.raises(BadModule) as refused:
        verify(module)
    return str(refused.value)


def refused_with(module):
    """Why the Module is refused, which is one line; "" where it passes. Anything but BadModule is an error."""
    try:
        verify(module)
    except BadModule as refused:
        text = str(refused)
    else:
        return ""
    assert text.isprintable()
    return text


# What is let pass.


@given(modules())
def test_code_that_keeps_the_rules_passes(module):
    verify(module)


def walk(module, number, rng):
    """Runs a function on nothing but kinds, in a random way through it: all that an engine assumes must be so."""
    function = module.functions[number]
    flow = control_flow(module, number)
    pc, stack, charged = 0, [], set()
    slots = ["absent" if rng.random() < 0.5 and not item.required else "value" for item in function.parameters]
    slots += ["value"] * (function.local_count - len(slots))
    for _ in range(400):
        op, operands = flow.instructions[pc]
        name = op.name
        assert flow.height[pc] == len(stack)
        assert len(stack) <= flow.max_stack
        if name == "CHARGE":
            charged = set()
        assert pc not in charged, "a turn of a loop is not paid for"
        charged.add(pc)
        if flow.handler[pc] >= 0 and rng.random() < 0.1:
            handler = flow.handler[pc]
            assert flow.instructions[handler].op.name == "TRY"
            assert len(stack) >= flow.base[handler]
            stack = [*stack[: flow.base[handler]], "value"]
            pc = flow.target[handler]
            continue
        taken, put = effect(module, flow.instructions[pc])
        assert taken <= len(stack)
        items = stack[len(stack) - taken :]
        del stack[len(stack) - taken :]
        check_items(module, name, operands, items)
        check_locals(module, name, op, operands, slots, function)
        if op.ends and name != "BR":
            return
        branches = name == "BR" or (flow.base[pc] >= 0 and name in BRANCHES and rng.random() < 0.4)
        if name in ("ELSE", "CATCH"):
            pc = flow.target[pc]
            continue
        if name == "IF":
            pc = flow.target[pc] if rng.random() < 0.5 else pc + 1
            continue
        if name == "IF_ABSENT":
            pc = pc + 1 if slots[operands[0]] == "absent" else flow.target[pc]
            continue
        if branches:
            base, keep = flow.base[pc], flow.keep[pc]
            assert base + keep <= len(stack)
            kept = stack[len(stack) - keep :]
            assert "absent" not in kept
            stack = stack[:base] + ["value"] * keep
            if name in ("NEXT", "NEXT_PAIR"):
                slots[operands[0]] = "value"
            pc = flow.target[pc]
            continue
        stack += [PUTS.get(name, "value")] * put
        pc += 1


BRANCHES = ("BR_IF", "BR_UNLESS", "NEXT", "NEXT_PAIR")
PUTS = {
    "ABSENT": "absent",
    "LIST": "list", "LIST_PUSH": "list", "LIST_SPREAD": "list", "LIST_END": "list",
    "RECORD": "record", "RECORD_PUT": "record", "RECORD_SPREAD": "record",
}  # fmt: skip
WANTS = {
    "LOAD": "value", "CELL": "value", "LOAD_CELL": "cell", "STORE_CELL": "cell",
    "NEXT": "iterator", "NEXT_PAIR": "iterator", "LIST_ADD": "growing", "LIST_END": "growing",
}  # fmt: skip
MAKES = {
    "STORE": "value", "CELL": "cell", "ITER": "iterator", "ITER_RANGE": "iterator",
    "LIST_BEGIN": "growing", "LIST_END": "value",
}  # fmt: skip


def check_items(module, name, operands, items):
    if name == "CALL":
        for item, parameter in zip(items, module.functions[operands[0]].parameters, strict=True):
            assert item != "absent" or not parameter.required
        assert not module.functions[operands[0]].captures
    else:
        assert "absent" not in items
    if name in ("LIST_PUSH", "LIST_SPREAD"):
        assert items[0] == "list"
    if name in ("RECORD_PUT", "RECORD_SPREAD"):
        assert items[0] == "record"


def check_locals(module, name, op, operands, slots, function):
    if op.operands[:1] == (LOCAL,):
        slot = operands[0]
        assert slots[slot] == WANTS.get(name, slots[slot])
        slots[slot] = MAKES.get(name, slots[slot])
    elif op.operands[:1] == ("kind",) and operands[0] < 2:
        assert slots[operands[1]] == ("value", "cell")[operands[0]]
    elif name == "CLOSURE":
        for kind, place in module.functions[operands[0]].captures:
            assert place < len(function.captures) if kind else slots[place] == "cell"


@given(modules(), st.randoms(use_true_random=False))
def test_every_way_through_code_that_passes_keeps_what_the_engines_assume(module, rng):
    for number in range(len(module.functions)):
        for _ in range(3):
            walk(module, number, rng)


def change_somewhere(module, rng):
    """Changes the code of one function at random: instructions go, come, change places, or get other operands."""
    function = rng.choice(module.functions)
    code = list(decode(function.code))
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(code) + 1)
        match rng.randint(0, 4):
            case 0:
                del code[place : place + rng.randint(1, 3)]
            case 1:
                op = rng.choice(TABLE)
                code.insert(place, Instruction(op, tuple(rng.randint(0, 6) for _ in op.operands)))
            case 2:
                code[place:place] = code[place - rng.randint(0, 3) : place]
            case 3 if code:
                place = rng.randrange(len(code))
                op, operands = code[place]
                code[place] = Instruction(op, tuple(rng.choice((it, rng.randint(0, 6))) for it in operands))
            case _ if len(code) > 1:
                place = rng.randrange(len(code) - 1)
                code[place], code[place + 1] = code[place + 1], code[place]
    function.code = encode(code)
    function.lines = [(0, 1)]


@given(st.randoms(use_true_random=False))
def test_changed_code_is_refused_or_keeps_what_the_engines_assume(rng):
    module = make_module(rng)
    change_somewhere(module, rng)
    if refused_with(module):
        return
    for number in range(len(module.functions)):
        for _ in range(3):
            walk(module, number, rng)


@given(st.lists(st.sampled_from(TABLE).flatmap(
    lambda op: st.tuples(*[st.integers(0, 4) for _ in op.operands]).map(lambda operands: Instruction(op, operands))
), max_size=30))  # fmt: skip
def test_random_code_is_accepted_or_refused(code):
    made = builder()
    made.module.constants += ["a", ["k"], "int", ".[", 5]
    made.module.builtins.append("print")
    made.module.globals.append("total")
    made.function("f", "NULL", "RETURN", parameters=["x", Parameter("y", "int", False)])
    made.function("g", "NULL", "RETURN", captures=[(0, 1)])
    made.module.functions.append(Function("main", 0, [], 4, [(1, 0)], None, encode(code), [(0, 1)], [""] * 4, False, 1))
    refused_with(made.module)


@given(st.binary(max_size=60))
def test_random_bytes_as_code_are_accepted_or_refused(data):
    module = build("NULL", "RETURN")
    module.functions[0].code = data
    refused_with(module)


def test_deep_blocks_are_no_problem():
    depth = 5000
    verify(build(*["BLOCK 0"] * depth, *["END"] * depth, "NULL", "RETURN"))


# What an engine is told.


def test_control_flow_tells_where_branches_go_and_what_they_leave():
    module = build(
        "INT 1",         # 0
        "BLOCK 1",       # 1
        "INT 2",         # 2
        "INT 3",         # 3
        "TRUE",          # 4
        "BR_IF 0",       # 5   to 14 with one item
        "POP",           # 6
        "TRUE",          # 7
        "IF 0",          # 8   to 11
        "NULL",          # 9
        "RETURN",        # 10
        "ELSE",          # 11
        "END",           # 12
        "END",           # 13
        "ADD",           # 14
        "RETURN",        # 15
    )  # fmt: skip
    flow = control_flow(module, 0)
    assert (flow.target[5], flow.base[5], flow.keep[5]) == (14, 1, 1)
    assert (flow.target[8], flow.base[8], flow.divider[8], flow.end[8]) == (12, 2, 11, 12)
    assert (flow.target[11], flow.end[11]) == (13, 8)
    assert (flow.end[1], flow.end[13], flow.target[1]) == (13, 1, 14)
    assert flow.height == [0, 1, 1, 2, 3, 4, 3, 2, 3, 2, 3, -1, 2, 2, 2, 1]
    assert flow.max_stack == 4


def test_control_flow_tells_which_try_catches():
    flow = control_flow(
        build("NULL", "TRY 1", "TRY 1", "NULL", "CATCH", "USE", "END", "CATCH", "END", "ADD", "RETURN"), 0
    )
    assert flow.handler == [-1, -1, 1, 2, 1, 1, 1, -1, -1, -1, -1]
    assert (flow.target[1], flow.base[1], flow.target[2], flow.base[2]) == (8, 1, 5, 1)
    assert flow.divider[1:3] == [7, 4]


def test_control_flow_sends_loops_to_their_charge():
    module = build("CHARGE 1", "LOOP", "CHARGE 1", "BR 0", "END")
    flow = control_flow(module, 0)
    assert (flow.target[3], flow.base[3], flow.keep[3]) == (2, 0, 0)
    assert flow.height[4] == -1


# One sentence a rule.

LIST = 'CONST ["a"]'


@pytest.mark.parametrize(
    ("code", "message"),
    [
        # blocks
        (("END",), "pc 0: END closes no block"),
        (("BLOCK 0", "ELSE", "END"), "pc 1: ELSE stands in no IF"),
        (("TRUE", "IF 0", "CATCH", "END"), "pc 2: CATCH stands in no TRY"),
        (("TRUE", "IF 0", "ELSE", "ELSE", "END"), "pc 3: ELSE stands in a block that has one"),
        (("TRY 0", "END"), "pc 0: TRY has no CATCH"),
        (("TRUE", "IF 1", "NULL", "END", "RETURN"), "pc 1: IF gives a result and has no ELSE"),
        (("BLOCK 0", "NULL", "RETURN"), "pc 0: BLOCK has no END"),
        (("BLOCK 0", "BR 1", "END"), "pc 1: BR leaves 2 blocks and 1 are open"),
        # heights
        (("ADD", "RETURN"), "pc 0: ADD takes 2 items, its block has 0"),
        (("INT 1", "BLOCK 1", "INT 2", "ADD", "END", "RETURN"), "pc 3: ADD takes 2 items, its block has 1"),
        (("BLOCK 1", "END", "RETURN"), "pc 1: END is reached with 0 items, its block gives 1"),
        (("BLOCK 0", "NULL", "END"), "pc 2: END is reached with 1 item, its block gives 0"),
        (("TRUE", "IF 0", "NULL", "ELSE", "END"), "pc 3: ELSE is reached with 1 item, its block gives 0"),
        (("TRY 1", "CATCH", "END", "RETURN"), "pc 1: CATCH is reached with 0 items, its block gives 1"),
        (("BLOCK 1", "BR 0", "END", "RETURN"), "pc 1: BR is reached with 0 items, its block gives 1"),
        (("BLOCK 1", "TRUE", "BR_IF 0", "NULL", "END"), "pc 2: BR_IF is reached with 0 items, its block gives 1"),
        # charges
        (("LOOP", "CHARGE 1", "BR 0", "END"), "pc 0: LOOP in a function that doesn't begin with CHARGE"),
        (("NULL", "CALL_VALUE 0 []"), "pc 1: CALL_VALUE in a function that doesn't begin with CHARGE"),
        (("CHARGE 1", "LOOP", "BR 0", "END"), "pc 1: LOOP doesn't begin with CHARGE"),
        (("CHARGE 1", "LOOP"), "pc 1: LOOP doesn't begin with CHARGE"),
        (("CHARGE 0",), "pc 0: CHARGE takes no steps"),
        # operands
        (("BLOCK 2", "END"), "pc 0: BLOCK takes 0 or 1, not 2"),
        (("CONST 7",), "pc 0: there is no constant 7, only 0"),
        (("CALL_BUILTIN 7 0",), "pc 0: there is no builtin 7, only 0"),
        (("LOAD_GLOBAL 7",), "pc 0: there is no top-level variable 7, only 0"),
        (("LOAD_SHARED 3 7",), "pc 0: there is no top-level variable 7, only 0"),
        (("LOAD_SHARED 2 7",), "pc 0: there is no capture 7, only 0"),
        (("LOAD_SHARED 4 0",), "pc 0: there is no kind of variable 4"),
        (("LOAD_CAPTURE 0",), "pc 0: there is no capture 0, only 0"),
        (("CHARGE 1", "CALL 7"), "pc 1: there is no function 7, only 1"),
        (("CLOSURE 7",), "pc 0: there is no function 7, only 1"),
        ((f"INT {2**63}",), "pc 0: 9223372036854775808 doesn't fit in 64 bits"),
        (("TRUE", 'ASSERT "a" 1'), "pc 1: ASSERT takes 0 or 2 items, not 1"),
        (("NULL", "FIELD null"), "pc 1: FIELD wants a text, constant 0 is none"),
        (("NULL", 'CHECK "int" 7'), "pc 1: there is no constant 7, only 1"),
        (("NULL", 'CHECK "integer" "x"'), "pc 1: constant 0 is no type: there is no type 'integer'"),
        (('RECORD "k"',), "pc 0: RECORD wants a list of texts, constant 0 is none"),
        (("NULL", "NULL", 'RECORD ["k", "k"]'), "pc 2: RECORD has a key twice in constant 0"),
        (("SQL []",), "pc 0: SQL wants at least one text"),
        (
            ("CHARGE 1", "NULL", 'CALL_VALUE 0 ["n"]'),
            "pc 2: CALL_VALUE has 0 arguments, constant 0 can't name the last 1",
        ),
        (("CHARGE 1", "NULL", "CALL_VALUE 0 null"), "pc 2: CALL_VALUE wants a list of texts, constant 0 is none"),
        (("NULL", "NULL", 'ASSIGN 3 0 ""'), "pc 2: there is no top-level variable 0, only 0"),
        (("NULL", "NULL", 'ASSIGN global total "x"'), "pc 2: ASSIGN wants a path of `.` and `[`, constant 0 is none"),
        (
            ("NULL", "NULL", 'EXTEND_PATH global total "x"'),
            "pc 2: EXTEND_PATH wants a path of `.` and `[`, constant 0 is none",
        ),
        (("NULL", "NULL", 'ASSIGN global total ""'), "pc 2: ASSIGN wants a path of `.` and `[`, constant 0 is none"),
        # items
        (("ABSENT", "RETURN"), "pc 1: RETURN takes the mark of an argument that is left out"),
        (("ABSENT", "DUP"), "pc 1: DUP takes the mark of an argument that is left out"),
        (("BLOCK 1", "ABSENT", "END"), "pc 2: END takes the mark of an argument that is left out"),
        (("BLOCK 1", "ABSENT", "BR 0", "END"), "pc 2: BR takes the mark of an argument that is left out"),
        ((LIST, "NULL", "LIST_PUSH"), "pc 2: LIST_PUSH wants a list that is being made"),
        (("LIST 0", "DUP", "LIST_SPREAD"), "pc 2: LIST_SPREAD wants a list that is being made"),
        (("LIST 0", "NULL", 'RECORD_PUT "k"'), "pc 2: RECORD_PUT wants a record that is being made"),
        (("BLOCK 1", "LIST 0", "END", "NULL", "LIST_PUSH"), "pc 4: LIST_PUSH wants a list that is being made"),
        # locals
        (("LOAD_CELL 0",), "pc 0: LOAD_CELL wants a cell in local 0, which is a value"),
        (("CELL 0", "LOAD 0"), "pc 1: LOAD wants a value in local 0, which is a cell"),
        (("CELL 0", "CELL 0"), "pc 1: CELL wants a value in local 0, which is a cell"),
        (("CELL 0", "LOAD_SHARED local 0"), "pc 1: LOAD_SHARED wants a value in local 0, which is a cell"),
        (("NULL", "EXTEND cell 0"), "pc 1: EXTEND wants a cell in local 0, which is a value"),
        (
            ("TRUE", "IF 0", "CELL 0", "END", "LOAD 0"),
            "pc 4: LOAD wants a value in local 0, which is not the same on all ways here",
        ),
        (
            ("TRY 0", "CELL 0", "CATCH", "POP", "LOAD 0", "END"),
            "pc 4: LOAD wants a value in local 0, which is not the same on all ways here",
        ),
        (
            ("CHARGE 1", "LOOP", "CHARGE 1", "LOAD 0", "POP", "CELL 0", "BR 0", "END"),
            "pc 3: LOAD wants a value in local 0, which is not the same on all ways here",
        ),
        (("BLOCK 0", "NEXT 0 0", "POP", "END"), "pc 1: NEXT wants an iterator in local 0, which is a value"),
        (
            ("NULL", "ITER 0", "BLOCK 0", "NEXT 0 0", "POP", "END", "BLOCK 0", "NEXT 0 0", "END"),
            "pc 7: NEXT wants an iterator in local 0, which is not the same on all ways here",
        ),
        (("LIST_END 0",), "pc 0: LIST_END wants a list that is being made in local 0, which is a value"),
        (
            ("LIST_BEGIN 0", "LIST_END 0", "LIST_ADD 0"),
            "pc 2: LIST_ADD wants a list that is being made in local 0, which is a value",
        ),
        (("LIST_BEGIN 0", "LOAD 0"), "pc 1: local 0 is used for a list that is being made and for a value"),
        (("NULL", "ITER 0", "NULL", "STORE 0"), "pc 3: local 0 is used for an iterator and for a value"),
        (("IF_ABSENT 0", "END"), "pc 0: local 0 is no parameter that may be left out"),
    ],
)  # fmt: skip
def test_a_refusal_of_code_says_where_and_what(code, message):
    assert refusal(build(*code)) == f"function 0 `main`, {message}"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ((), "its code can run past its end"),
        (("NULL",), "its code can run past its end"),
        (("TRUE", "IF 0", "NULL", "RETURN", "END"), "its code can run past its end"),
    ],
)
def test_code_that_runs_past_its_end_is_refused(code, message):
    module = build("NULL", "RETURN")
    module.functions[0].code = encode(Builder().assemble(code)[0])
    assert refusal(module) == f"function 0 `main`: {message}"


def test_a_local_that_is_not_there_is_refused():
    assert refusal(build("LOAD 3", "RETURN", local_count=1)) == (
        "function 0 `main`, pc 0: there is no local 3, only 1"
    )  # fmt: skip


def test_bad_code_is_refused_with_its_offset():
    module = build("NULL", "RETURN")
    module.functions[0].code = b"\x12\xff"
    assert refusal(module) == "function 0 `main`: offset 1: there is no instruction 0xff"


def called(*code, parameters=(), captures=None):
    """A Module whose top level, of this code, can call function 0."""
    made = builder()
    made.function("f", "NULL", "RETURN", parameters=list(parameters), captures=captures)
    made.entry("CHARGE 1", *code)
    return made.module


def test_arguments_are_counted_and_only_those_may_be_left_out_that_have_a_default():
    optional = Parameter("y", "int", False)
    verify(called("NULL", "ABSENT", "CALL 0", "RETURN", parameters=["x", optional]))
    assert refusal(called("NULL", "CALL 0", "RETURN", parameters=["x", optional])) == (
        "function 1 `main`, pc 2: CALL takes 2 items, its block has 1"
    )
    assert refusal(called("ABSENT", "NULL", "CALL 0", "RETURN", parameters=["x", optional])) == (
        "function 1 `main`, pc 3: CALL leaves out argument 1, which must be given"
    )


def test_a_function_that_captures_is_only_reached_through_its_closure():
    assert refusal(called("CALL 0", "RETURN", captures=[(0, 0)])) == (
        "function 1 `main`, pc 1: CALL of function 0, which captures variables"
    )
    verify(called("CELL 0", "CLOSURE 0", "RETURN", captures=[(0, 0)]))
    assert refusal(called("NULL", "STORE 0", "CLOSURE 0", "RETURN", captures=[(0, 0)])) == (
        "function 1 `main`, pc 3: CLOSURE wants a cell in local 0, which is a value"
    )
    assert refusal(called("CLOSURE 0", "RETURN", captures=[(0, 9)])) == (
        "function 1 `main`, pc 1: CLOSURE captures local 9, and there are 0"
    )
    assert refusal(called("CLOSURE 0", "RETURN", captures=[(1, 0)])) == (
        "function 1 `main`, pc 1: CLOSURE captures capture 0, and there are 0"
    )


def optional(*code):
    made = builder()
    made.function("f", *code, parameters=["x", Parameter("y", "int", False)])
    return made.module


def test_a_parameter_that_may_be_left_out_is_read_only_where_it_is_there():
    verify(optional("IF_ABSENT 1", "INT 5", "STORE 1", "END", "LOAD 1", "RETURN"))
    assert refusal(optional("LOAD 1", "RETURN")) == (
        "function 0 `f`, pc 0: LOAD wants a value in local 1, which is a parameter that may be left out"
    )
    assert refusal(optional("IF_ABSENT 1", "END", "LOAD 1", "RETURN")) == (
        "function 0 `f`, pc 2: LOAD wants a value in local 1, which is not the same on all ways here"
    )
    assert refusal(optional("IF_ABSENT 0", "END", "LOAD 0", "RETURN")) == (
        "function 0 `f`, pc 0: local 0 is no parameter that may be left out"
    )
    assert refusal(optional("LIST_BEGIN 0", "NULL", "RETURN")) == (
        "function 0 `f`: parameter 0 is used for a list that is being made"
    )


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        ("integer", "there is no type 'integer'"),
        (5, "a type is a name or a list of a kind and what it is of"),
        (["list"], "a type is a name or a list of a kind and what it is of"),
        (["set", "int"], "there is no kind of type 'set'"),
        (["list", "x"], "there is no type 'x'"),
        (["type", 1], "it names type 1 and there are 1"),
        (["type", True], "it names type True and there are 1"),
        (["union", []], "a union type needs at least one member"),
        (["union", "int"], "a union type takes a list"),
        (["literal", []], "a literal type needs at least one member"),
        (["literal", [None]], "a literal type takes texts, numbers and bools"),
        (["record", [["a", "int"]]], "a record type's field is a list of a name, a type and whether it is required"),
        (["record", [["a", "int", 1]]], "a record type's field is a list of a name, a type and whether it is required"),
        (["record", [["a", "int", True], ["a", "int", True]]], "a record type has the field 'a' twice"),
    ],
)
def test_a_type_that_is_not_well_made_is_refused(descriptor, message):
    made = builder()
    made.type("T", descriptor)
    assert refusal(made.module) == f"type 0 `T`: {message}"


def test_types_are_checked_wherever_they_stand():
    made = builder()
    number = made.function("f", "NULL", "RETURN", parameters=[Parameter("x", "odd", True)])
    assert refusal(made.module) == "function 0 `f`, parameter `x`: there is no type 'odd'"
    made.module.functions[number].parameters = []
    made.module.functions[number].result = "odd"
    assert refusal(made.module) == "function 0 `f`, result: there is no type 'odd'"
    made.module.functions[number].result = None
    made.module.tools.append(Tool("t", number, "", {}, {}, {}, False, "odd", False, False))
    assert refusal(made.module) == "tool `t`, result: there is no type 'odd'"


def test_a_type_that_nests_without_end_is_refused():
    descriptor = "int"
    for _ in range(70):
        descriptor = ["list", descriptor]
    made = builder()
    made.type("T", descriptor)
    assert refusal(made.module) == "type 0 `T`: a type nests more than 64 types"


def test_types_may_go_in_circles_only_through_lists_maps_and_records():
    made = builder()
    made.type("Tree", ["record", [["children", ["list", ["type", 0]], True], ["next", ["type", 1], False]]])
    made.type("Next", ["union", [["type", 0], "null"]])
    verify(made.module)
    made.type("A", ["union", ["int", ["type", 3]]])
    made.type("B", ["union", ["str", ["type", 4]]])
    made.type("C", ["type", 3])
    assert refusal(made.module) == "type 3 `B` is itself"


def test_a_long_chain_of_types_is_no_problem():
    made = builder()
    for number in range(20_000):
        made.type("T", ["type", number + 1])
    made.type("T", "int")
    verify(made.module)


def changed(change):
    module = build("NULL", "RETURN", local_count=1)
    change(module, module.functions[0])
    return module


def route(kind, method, path, number=0):
    return lambda module, function: module.routes.append(Route(kind, method, path, number))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, f: setattr(f, "file", 1), "function 0 `main`: there is no file 1, only 1"),
        (lambda m, f: f.local_names.append("x"), "function 0 `main`: 2 names for 1 locals"),
        (
            lambda m, f: f.parameters.extend([Parameter("a", "any", True), Parameter("b", "any", True)]),
            "function 0 `main`: 2 parameters and 1 locals",
        ),
        (
            lambda m, f: f.parameters.append(Parameter("a", "any", True, 1, True)),
            "function 0 `main`: parameter `a` has a default and must be given",
        ),
        (
            lambda m, f: f.parameters.append(Parameter("a", "any", False, 1, False)),
            "function 0 `main`: parameter `a` holds a default that it doesn't have",
        ),
        (lambda m, f: f.captures.append((2, 0)), "function 0 `main`: there is no capture of kind 2, number 0"),
        (lambda m, f: f.lines.append((0, 2)), "function 0 `main`: its line table names pc 0 behind 0 of 2"),
        (lambda m, f: f.lines.append((2, 2)), "function 0 `main`: its line table names pc 2 behind 0 of 2"),
        (lambda m, f: f.lines.append((1, 0)), "function 0 `main`: its line table names line 0"),
        (lambda m, f: f.lines.clear(), "function 0 `main`: its line table doesn't begin at pc 0"),
        (lambda m, f: m.entries.append(1), "a top level: there is no function 1, only 1"),
        (lambda m, f: m.entries.append(0), "a top level is listed twice"),
        (lambda m, f: f.captures.append((0, 0)), "a top level: function 0 captures variables"),
        (
            lambda m, f: f.parameters.append(Parameter("a", "any", True)),
            "a top level: function 0 takes 1 parameters",
        ),
        (lambda m, f: m.tests.append(parts.Test("t", 1)), "test `t`: there is no function 1, only 1"),
        (
            lambda m, f: m.tools.extend([Tool("t", 0, "", {}, {}, {}, False, None, False, False)] * 2),
            "tool `t` is there twice",
        ),
        (
            lambda m, f: m.tools.append(Tool("t", 1, "", {}, {}, {}, False, None, False, False)),
            "tool `t`: there is no function 1, only 1",
        ),
        (route("page", "GET", "/"), "there is no kind of route 'page'"),
        (route("route", "", "/"), "route `/`: it has no method"),
        (route("route", "GET", "a"), "route `GET a`: its path doesn't begin with `/`"),
        (route("rpc", "", "add", 1), "rpc `add`: there is no function 1, only 1"),
        (
            lambda m, f: m.instructions.update(smtp="hello"),
            "the instructions are for 'smtp', which is neither stdio nor http",
        ),
    ],
)
def test_a_refusal_of_a_module_says_where_and_what(change, message):
    assert refusal(changed(change)) == message


def test_messages_stay_on_one_line_whatever_names_there_are():
    made = Builder()
    made.module.files = [SourceFile("a", "")]
    made.function("two\nlines", "RETURN")
    assert refusal(made.module) == r"function 0 'two\nlines', pc 0: RETURN takes 1 item, its block has 0"


def test_the_random_modules_hold_every_instruction():
    seen = set()
    for seed in range(150):
        for function in make_module(random.Random(seed)).functions:
            seen.update(instruction.op.name for instruction in decode(function.code))
    assert seen == set(NAMED)
