"""The instruction set: one table, from which the encoder, the decoder, the verifier and the disassembler are made.

The machine has a stack a frame and numbered locals. Control is structured: BLOCK, LOOP, IF, IF_ABSENT and TRY open a
block that END closes, and a branch names how many open blocks it leaves (0: the innermost). A branch to a LOOP goes to
its start, any other to behind its END. A block gives RESULTS values (0 or 1) and never takes items that lay on the
stack before it.

A row's picture shows the top of the stack before and after, rightmost on top. `name*` stands for as many items as the
row's COUNT (or KEYS, FUNCTION) operand says. Numbers are part of the file format: they are never reused.

Code is a sequence of one byte for the opcode and its operands, each an LEB128 number (SIGNED ones in zigzag form).
Everywhere outside this file, a place in code ("pc") is an index into the decoded sequence of instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Kinds of operands.
COUNT = "count"  # how many items
DEPTH = "depth"  # how many open blocks are left
RESULTS = "results"  # 0 or 1
LOCAL = "local"  # a local's number
CAPTURE = "capture"  # a captured variable's number in this function
GLOBAL = "global"  # a top-level variable's number
CONSTANT = "constant"  # a place in the Module's constants
KEYS = "keys"  # a constant that is a list of texts; as many items as it has
FUNCTION = "function"  # a place in the Module's functions
BUILTIN = "builtin"  # a place in the Module's list of builtins' names
TYPE = "type"  # a constant that holds a type descriptor (see qasm/module.py)
SIGNED = "signed"  # a whole number
KIND = "kind"  # of a variable: 0 local, 1 a local's cell, 2 capture, 3 global
VARIABLE = "variable"  # the number that goes with the KIND before it

KINDS = ("local", "cell", "capture", "global")


class Op(NamedTuple):
    number: int
    name: str
    operands: tuple[str, ...]
    picture: str
    sentence: str
    opens: bool = False  # opens a block that END closes
    ends: bool = False  # nothing after it in its block is reached


# ruff: noqa: E501 (a row is a line)
# fmt: off
TABLE: tuple[Op, ...] = (
    # control
    Op(0x01, "BLOCK",        (RESULTS,),            "--",                   "Open a block that a branch leaves to its end.", opens=True),
    Op(0x02, "LOOP",         (),                    "--",                   "Open a loop: a branch to it goes to its start, where a CHARGE stands.", opens=True),
    Op(0x03, "IF",           (RESULTS,),            "test --",              "Run what follows if the test is true, else what stands behind ELSE; a test that is no bool is a stop.", opens=True),
    Op(0x04, "ELSE",         (),                    "--",                   "Divide an IF."),
    Op(0x05, "END",          (),                    "--",                   "Close the innermost open block."),
    Op(0x06, "BR",           (DEPTH,),              "--",                   "Branch.", ends=True),
    Op(0x07, "BR_IF",        (DEPTH,),              "test --",              "Branch if the test is true; a test that is no bool is a stop."),
    Op(0x08, "BR_UNLESS",    (DEPTH,),              "test --",              "Branch if the test is false; a test that is no bool is a stop."),
    Op(0x09, "RETURN",       (),                    "value --",             "Leave the function with a value, which may be an error.", ends=True),
    Op(0x0A, "TRY",          (RESULTS,),            "--",                   "Open a block whose error stops, also those of functions called in it, go to its CATCH.", opens=True),
    Op(0x0B, "CATCH",        (),                    "-- error",             "Divide a TRY: what follows runs after an error stop, with the error on the stack as it was at TRY."),
    Op(0x0C, "CHARGE",       (COUNT,),              "--",                   "Pay for the steps of a function's entry or of a loop's turn."),
    Op(0x0D, "IF_ABSENT",    (LOCAL,),              "--",                   "Run what follows if the caller left this parameter out.", opens=True),
    Op(0x0E, "STOP",         (CONSTANT,),           "--",                   "Stop with a message; never caught.", ends=True),
    # the stack
    Op(0x10, "CONST",        (CONSTANT,),           "-- value",             "Push a constant."),
    Op(0x11, "INT",          (SIGNED,),             "-- value",             "Push a whole number."),
    Op(0x12, "NULL",         (),                    "-- value",             "Push null."),
    Op(0x13, "TRUE",         (),                    "-- value",             "Push true."),
    Op(0x14, "FALSE",        (),                    "-- value",             "Push false."),
    Op(0x15, "ABSENT",       (),                    "-- absent",            "Push the mark of an argument that is left out."),
    Op(0x16, "POP",          (),                    "value --",             "Drop the top."),
    Op(0x17, "DUP",          (),                    "value -- value value", "Double the top."),
    # variables
    Op(0x20, "LOAD",         (LOCAL,),              "-- value",             "Push a local."),
    Op(0x21, "STORE",        (LOCAL,),              "value --",             "Set a local."),
    Op(0x22, "CELL",         (LOCAL,),              "--",                   "Put a local's value into a new cell, for functions to capture; the local holds the cell from here on."),
    Op(0x23, "LOAD_CELL",    (LOCAL,),              "-- value",             "Push what a local's cell holds."),
    Op(0x24, "STORE_CELL",   (LOCAL,),              "value --",             "Set what a local's cell holds."),
    Op(0x25, "LOAD_CAPTURE", (CAPTURE,),            "-- value",             "Push what a captured cell holds."),
    Op(0x26, "STORE_CAPTURE", (CAPTURE,),           "value --",             "Set what a captured cell holds."),
    Op(0x27, "LOAD_GLOBAL",  (GLOBAL,),             "-- value",             "Push a top-level variable; one that is not set yet is a stop."),
    Op(0x28, "STORE_GLOBAL", (GLOBAL,),             "value --",             "Set a top-level variable."),
    Op(0x29, "LOAD_SHARED",  (KIND, VARIABLE),      "-- value",             "Push a variable's value, which others may hold from now on: its next change in place copies first."),
    Op(0x2A, "EXTEND",       (KIND, VARIABLE),      "value --",             "`x += value`, in place where the variable alone holds its list; else as ADD."),
    Op(0x2B, "ASSIGN",       (KIND, VARIABLE, CONSTANT), "key* value --",   "`x.a[i] = value`: the constant is a text with a `.` for each field and a `[` for each index of the path, one key each; in place where the variable alone holds its list or record."),
    Op(0x2C, "EXTEND_PATH",  (KIND, VARIABLE, CONSTANT), "key* value --",   "`x.a[i] += value`: reads the place as FIELD and INDEX do, adds as ADD does and sets it as ASSIGN does; in place where nothing else holds the list or text there."),
    # calls
    Op(0x30, "CALL",         (FUNCTION,),           "argument* -- result",  "Call a function with as many arguments as it has parameters; those left out are ABSENT."),
    Op(0x31, "CALL_VALUE",   (COUNT, CONSTANT),     "function argument* -- result", "Call a function value; the constant lists the names of the last arguments (an empty list for none)."),
    Op(0x32, "CALL_BUILTIN", (BUILTIN, COUNT),      "argument* -- result",  "Call a builtin."),
    Op(0x33, "CLOSURE",      (FUNCTION,),           "-- function",          "Push a function with the cells that it captures."),
    Op(0x34, "BUILTIN",      (BUILTIN,),            "-- function",          "Push a builtin as a value."),
    # operators
    Op(0x40, "ADD",          (),                    "a b -- value",         "Add numbers; join texts or lists."),
    Op(0x41, "SUB",          (),                    "a b -- value",         "Subtract."),
    Op(0x42, "MUL",          (),                    "a b -- value",         "Multiply."),
    Op(0x43, "DIV",          (),                    "a b -- value",         "Divide; whole numbers are cut toward zero."),
    Op(0x44, "MOD",          (),                    "a b -- value",         "The rest of a division, with the sign of a."),
    Op(0x45, "NEG",          (),                    "a -- value",           "Change a number's sign."),
    Op(0x46, "NOT",          (),                    "a -- value",           "Turn a bool over."),
    Op(0x47, "EQ",           (),                    "a b -- value",         "Equal by content."),
    Op(0x48, "NE",           (),                    "a b -- value",         "Not equal."),
    Op(0x49, "LT",           (),                    "a b -- value",         "Less."),
    Op(0x4A, "LE",           (),                    "a b -- value",         "Less or equal."),
    Op(0x4B, "GT",           (),                    "a b -- value",         "Greater."),
    Op(0x4C, "GE",           (),                    "a b -- value",         "Greater or equal."),
    Op(0x4D, "IN",           (),                    "a b -- value",         "Is a in the list, a key of the record, or a part of the text b?"),
    Op(0x4E, "RANGE",        (),                    "a b -- value",         "The list of the whole numbers from a up to, not with, b."),
    # values
    Op(0x50, "INDEX",        (),                    "a i -- value",         "An element, a code point, or a key's value."),
    Op(0x51, "SLICE",        (),                    "a from to -- value",   "A part of a list or text; null for an open end."),
    Op(0x52, "FIELD",        (CONSTANT,),           "a -- value",           "A record's field, null where it lacks it; a field of null is a stop."),
    Op(0x53, "FIELD_OR_NULL", (CONSTANT,),          "a -- value",           "A record's field, or null; null and errors stay as they are."),
    Op(0x54, "LIST",         (COUNT,),              "item* -- list",        "Make a list."),
    Op(0x55, "LIST_PUSH",    (),                    "list item -- list",    "Add an item to the list that is being made."),
    Op(0x56, "LIST_SPREAD",  (),                    "list items -- list",   "Add a list's items to the list that is being made."),
    Op(0x57, "RECORD",       (KEYS,),               "item* -- record",      "Make a record of these keys."),
    Op(0x58, "RECORD_PUT",   (CONSTANT,),           "record item -- record", "Set a key of the record that is being made."),
    Op(0x59, "RECORD_SPREAD", (),                   "record other -- record", "Set all keys of another record in the record that is being made."),
    Op(0x5A, "TEXT",         (COUNT,),              "item* -- text",        "Write items out and join them."),
    Op(0x5B, "SQL",          (KEYS,),               "item* -- sql",         "Make a piece of SQL of texts (the constant, one more than items) and parameters between them."),
    # loops
    Op(0x60, "ITER",         (LOCAL,),              "a --",                 "Put an iterator over a list or record into a local."),
    Op(0x61, "ITER_RANGE",   (LOCAL,),              "a b --",               "Put an iterator over whole numbers into a local."),
    Op(0x62, "NEXT",         (LOCAL, DEPTH),        "-- item",              "Push the next item (a record's next key), or branch, pushing nothing, when there is none."),
    Op(0x63, "NEXT_PAIR",    (LOCAL, DEPTH),        "-- key item",          "Push the next place or key and its value, or branch, pushing nothing."),
    Op(0x64, "LIST_BEGIN",   (LOCAL,),              "--",                   "Begin a list in a local that only LIST_ADD and LIST_END touch."),
    Op(0x65, "LIST_ADD",     (LOCAL,),              "item --",              "Add to that list."),
    Op(0x66, "LIST_END",     (LOCAL,),              "-- list",              "Push that list; the local is null from here on."),
    # tests
    Op(0x68, "IS_LIST",      (COUNT, RESULTS),      "a -- value",           "Is it a list of COUNT items (1: at least as many)?"),
    Op(0x69, "HAS_FIELD",    (CONSTANT,),           "a -- value",           "Is it a record with this key?"),
    Op(0x6A, "IS_ERR",       (),                    "a -- value",           "Is it an error?"),
    Op(0x6B, "IS_MISSING",   (),                    "a -- value",           "Is it null or an error?"),
    Op(0x6C, "ERR_VALUE",    (),                    "error -- value",       "What an error holds."),
    Op(0x6D, "MAKE_ERR",     (),                    "value -- error",       "Make an error of the program's own."),
    Op(0x70, "CHECK",        (TYPE, CONSTANT),      "value -- value",       "Stop unless the value fits the type; a whole number where a float is wanted becomes one. The constant names the value."),
    Op(0x71, "USE",          (),                    "value -- value",       "Stop, so that it can be caught, if the value is an error."),
    Op(0x72, "BOOL",         (CONSTANT,),           "value -- value",       "Stop unless it is a bool; the constant names what wants one."),
    # markup
    Op(0x78, "MARKUP",       (COUNT,),              "item* -- markup",      "Join pieces, each written as content: text escaped, lists one by one, null and bools nothing."),
    Op(0x79, "ATTRIBUTE",    (CONSTANT,),           "value -- markup",      "An attribute of this name with a space before it, or nothing for false and null."),
    Op(0x7A, "REPLY",        (),                    "status body --",       "End the request with this answer; never caught.", ends=True),
    Op(0x7B, "ASSERT",       (CONSTANT, COUNT),     "item* test --",        "Stop unless the test is true; the constant is its text, the items (0 or 2) its two sides."),
)
# fmt: on

OPS: dict[int, Op] = {op.number: op for op in TABLE}
NAMED: dict[str, Op] = {op.name: op for op in TABLE}


class Instruction(NamedTuple):
    """One decoded instruction. Operands are ints, in the order of its row."""

    op: Op
    operands: tuple[int, ...]


class BadCode(Exception):
    """Code that can't be decoded; the text is one sentence with the byte's offset."""


def encode(instructions: Iterable[Instruction]) -> bytes:
    out = bytearray()
    for op, operands in instructions:
        out.append(op.number)
        for kind, value in zip(op.operands, operands, strict=True):
            number = (value << 1 if value >= 0 else (-value << 1) - 1) if kind is SIGNED else value
            while number > 0x7F:
                out.append(number & 0x7F | 0x80)
                number >>= 7
            out.append(number)
    return bytes(out)


def decode(code: bytes) -> Iterator[Instruction]:
    """The instructions of `code`. Raises BadCode; only the shortest form of a number is taken."""
    at, end = 0, len(code)
    while at < end:
        start = at
        op = OPS.get(code[at])
        if op is None:
            raise BadCode(f"offset {at}: there is no instruction 0x{code[at]:02x}")
        at += 1
        operands = []
        for kind in op.operands:
            number = shift = 0
            while True:
                if at >= end:
                    raise BadCode(f"offset {start}: {op.name} is cut off")
                byte = code[at]
                at += 1
                number |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
                if shift > 70:
                    raise BadCode(f"offset {start}: an operand of {op.name} is too long")
            if byte == 0 and shift > 7:
                raise BadCode(f"offset {start}: an operand of {op.name} is not in its shortest form")
            operands.append((number >> 1 if not number & 1 else -((number + 1) >> 1)) if kind is SIGNED else number)
        yield Instruction(op, tuple(operands))
