"""The text form of a Module is exact in both directions, and says where a text is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qasm.assembler import assemble
from qasm.disassembler import disassemble
from qasm.instructions import NAMED
from qasm.literals import BadLiteral, Row, write
from qasm.module import BadModule, Module, Parameter, SourceFile
from qasm.module_file import dump
from qasm.verifier import verify
from tests.building import build, builder
from tests.random_modules import modules
from tests.test_module_file import full_module


@given(modules())
def test_a_module_comes_back_from_its_text(module):
    text = disassemble(module)
    again = assemble(text)
    assert again == module
    assert dump(again) == dump(module)
    assert disassemble(again) == text


def test_every_field_comes_back_from_the_text():
    assert assemble(disassemble(full_module())) == full_module()


def constants():
    simple = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary()
    simple |= st.text(st.characters(exclude_categories=["Cs"]))
    keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    return st.recursive(simple, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4))


@given(constants())
def test_a_constant_comes_back_as_the_very_same(value):
    text = write(value)
    row = Row(text)
    again = row.value()
    row.end()
    assert "\n" not in text
    assert repr(again) == repr(value)


@given(st.text())
def test_any_text_is_a_module_or_refused(text):
    with pytest.raises(BadModule):
        assemble(text)
    try:
        module = assemble(f'qasm 1\nmodule "m"\n{text}')
    except BadModule as refused:
        located = str(refused)
    else:
        assert assemble(disassemble(module)) == module
        return
    assert located.startswith("line ")


@given(modules(), st.data())
def test_a_text_that_is_changed_anywhere_is_a_module_or_refused(module, data):
    text = disassemble(module)
    place = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.sampled_from(["", "0", "9" * 30, '"', "\n", " ", ";", "[", "{", "}", "-", "x", "@", "é"]))
    changed = text[:place] + put + text[place + 1 :]
    try:
        again = assemble(changed)
        verify(again)
        written = dump(again)
    except BadModule:
        return
    assert dump(assemble(disassemble(again))) == written


def test_the_text_shows_lines_nesting_and_what_operands_mean():
    made = builder()
    made.module.files = [SourceFile("a.qwe", "let x = 1\nx")]
    made.function("twice", "LOAD 0", "INT -2", "MUL", "RETURN", parameters=["x"], result="int")
    made.entry("TRUE", "IF 1", "@2", 'CONST "a;b"', "ELSE", "LOAD_GLOBAL total", "END", "RETURN")
    assert disassemble(made.module) == "\n".join(
        [
            "qasm 1",
            'module "test"',
            'file "a.qwe"',
            r'    text "let x = 1\n"',
            '    text "x"',
            'constant 0 "a;b"',
            'variable 0 "total"',
            'function 0 "twice" file 0 line 1',
            '    parameter 0 "x" "any" required',
            '    result "int"',
            '    local 0 "x"',
            "    @1",
            "    LOAD 0                               ; x",
            "    INT -2",
            "    MUL",
            "    RETURN",
            'function 1 "main" file 0 line 1',
            "    @1",
            "    TRUE",
            "    IF 1",
            "        @2",
            '        CONST 0                          ; "a;b"',
            "    ELSE",
            "        LOAD_GLOBAL 0                    ; total",
            "    END",
            "    RETURN",
            "entry 1",
            "",
        ]
    )


def test_spaces_comments_and_empty_lines_mean_nothing():
    text = disassemble(full_module())
    loose = "".join(f"\t{line.lstrip()}\t; a comment\r\n\n" for line in text.split("\n"))
    assert assemble(loose) == full_module()


def test_a_name_with_a_line_end_in_it_stays_on_its_line():
    made = builder()
    made.function("f", "CALL_BUILTIN 0 0", "LOAD 0", "RETURN", parameters=[Parameter("a\nRETURN", "any", True)])
    made.module.builtins.append("b\nRETURN")
    assert assemble(disassemble(made.module)) == made.module


@pytest.mark.parametrize("name", sorted(NAMED))
def test_every_instruction_has_its_text(name):
    op = NAMED[name]
    module = build("NULL", "RETURN")
    module.functions[0].code = bytes([op.number, *[2 for _ in op.operands]])
    again = assemble(disassemble(module))
    assert again.functions[0].code == module.functions[0].code


HEAD = 'qasm 1\nmodule "m"\n'
FUNCTION = HEAD + 'function 0 "f" file 0 line 1\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text ends before `module`"),
        ("; nothing\n", "the text ends before `module`"),
        ('module "m"', "line 1: `qasm` is wanted and module is found"),
        ("qasm 2", "line 1: the text is in format 2, and this build reads format 1"),
        ("qasm 1\nconstant 0 1", "line 2: `module` is wanted and constant is found"),
        (HEAD + "module", "line 3: no statement begins with module"),
        (HEAD + "12", "line 3: no statement begins with 12"),
        (HEAD + "constant 1 null", "line 3: constant 0 is wanted and constant 1 is found"),
        (HEAD + "constant 0", "line 3: a value is wanted and the end of the line is found"),
        (HEAD + "constant 0 1 2", "line 3: the end of the line is wanted and 2 is found"),
        (HEAD + "constant 0 [1 2]", "line 3: `,` is wanted and 2 is found"),
        (HEAD + "constant 0 {1: 2}", "line 3: a text is wanted and 1 is found"),
        (HEAD + 'constant 0 {"a" 2}', "line 3: `:` is wanted and 2 is found"),
        (HEAD + 'constant 0 {"a": 1, "a": 2}', 'line 3: the key "a" is there twice'),
        (HEAD + 'constant 0 x"123"', 'line 3: x"123" has half a byte'),
        (HEAD + 'constant 0 "open', "line 3: column 12 has '\"', which begins nothing"),
        (HEAD + r'constant 0 "\q"', r'line 3: a text is wanted and "\q" is found'),
        (HEAD + r'constant 0 "\ud800"', r'line 3: a text is wanted and "\ud800" is found'),
        (HEAD + "constant 0 " + "[" * 300, "line 3: a value nests more than 256 lists and maps"),
        (HEAD + "constant 0 " + "1" * 30, f"line 3: {'1' * 30} is too long a number"),
        (HEAD + 'type 0 "T" 5', "line 3: a type is a text or a list"),
        (HEAD + 'text "a"', "line 3: `text` stands behind no `file`"),
        (HEAD + 'instructions "stdio" "a"\ninstructions "stdio" "b"',
         "line 4: the instructions for stdio are there twice"),
        (HEAD + 'function 0 "f" file -1', "line 3: a number from 0 is wanted and -1 is found"),
        (HEAD + 'function 0 "f" line 1', "line 3: `file` is wanted and line is found"),
        (HEAD + 'parameter 0 "x" "any"', "line 3: parameter stands in no function"),
        (HEAD + "@3", "line 3: @3 stands in no function"),
        (HEAD + "NULL", "line 3: NULL stands in no function"),
        (HEAD + "result 1", "line 3: result stands in no function and no tool"),
        (HEAD + 'description ""', "line 3: description stands in no tool"),
        (FUNCTION + "NOTHING", "line 4: there is no instruction NOTHING"),
        (FUNCTION + "LOAD x", "line 4: a whole number is wanted and x is found"),
        (FUNCTION + "LOAD -1", "line 4: a number from 0 is wanted and -1 is found"),
        (FUNCTION + "NULL 1", "line 4: the end of the line is wanted and 1 is found"),
        (FUNCTION + f"INT {2**63}", "line 4: an operand of INT doesn't fit in 64 bits"),
        (FUNCTION + "capture 0 global 1", "line 4: `local` or `capture` is wanted and global is found"),
        (FUNCTION + 'result "int"\nresult "int"', "line 5: `result` is there twice"),
        (HEAD + 'tool "t" function 0\ninput []', "line 4: `input` takes a map"),
        (HEAD + 'tool "t" function 0\ninput {}\ninput {}', "line 5: `input` is there twice"),
    ],
)  # fmt: skip
def test_a_refusal_says_where_and_what(text, message):
    with pytest.raises(BadModule) as refused:
        assemble(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: setattr(f, "code", b"\xff"), "function 0: offset 0: there is no instruction 0xff"),
        (lambda f: f.lines.append((0, 2)), "function 0: its line table is out of order"),
        (lambda f: f.lines.append((2, 2)), "function 0: its line table goes on behind its code"),
        (lambda f: f.local_names.append("x"), "function 0: 1 names for 0 locals can't be written"),
        (
            lambda f: f.parameters.append(Parameter("x", "any", False, 1, False)),
            "parameter `x` holds a default that it doesn't have",
        ),
    ],
)
def test_what_the_text_can_not_say_is_refused(change, message):
    module = build("NULL", "RETURN")
    change(module.functions[0])
    with pytest.raises(BadModule) as refused:
        disassemble(module)
    assert str(refused.value) == message


def test_a_value_needs_more_than_a_mark():
    with pytest.raises(BadLiteral, match="a value is wanted and , is found"):
        Row(",").value()


def test_an_empty_module_comes_back():
    assert assemble(disassemble(Module(""))) == Module("")
