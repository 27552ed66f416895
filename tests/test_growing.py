"""A list that a loop makes longer is changed in place, in whatever words the loop says it."""

from __future__ import annotations

import pytest

from qasm.instructions import decode
from tests.programs import compiled, ran

WAYS = ["xs += [i]", "xs = push(xs, i)", "xs = xs + [i]", "xs = [...xs, i]", "xs = xs + [i, i] + [i]"]


WHERE = ["fn f() {{\n  let xs = []\n  {loop}\n  len(xs)\n}}\nprint(f())", "let xs = []\n{loop}"]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("way", WAYS[:4])
def test_growing_is_one_instruction(way, where):
    module = compiled(where.format(loop=f"for i in 0..3 {{ {way} }}"))
    names = [instruction.op.name for function in module.functions for instruction in decode(function.code)]
    assert "EXTEND" in names
    assert not {"ADD", "LIST_SPREAD"} & set(names)


PLACES = ["r.xs += [i]", "m[`${i % 2}`] += [i]", "rows[i % 2].xs += [i]", "r.text += `${i}`", "r.any.xs += [i]"]
STARTS = """  let r = { xs: [1], text: "", any: from_json(`{"xs": []}`) }
  let m = { "0": [], "1": [] }
  let rows = [{ xs: [] }, { xs: [2] }]
"""


@pytest.mark.parametrize("way", PLACES)
def test_growing_what_stands_in_a_variable_is_one_instruction(way):
    module = compiled(f"fn f() {{\n{STARTS}  for i in 0..3 {{ {way} }}\n  [r, m, rows]\n}}\nprint(f())")
    (function,) = (function for function in module.functions if function.name == "f")
    names = [instruction.op.name for instruction in decode(function.code)]
    assert "EXTEND_PATH" in names
    assert not {"ADD", "ASSIGN"} & set(names)


def test_growing_a_place_reads_it_when_the_right_side_is_there():
    """The key is worked out first, then what is added, then the old value is read; each once."""
    text = """let r = { xs: [1], n: 0 }
fn key() { r.n += 1; print("key", r.n); "xs" }
fn more() { r.xs += [2]; print("more"); [3] }
r[key()] += more()
print(r)"""
    assert ran(compiled(text)).lines == ["key 1", "more", '{"xs": [1, 2, 3], "n": 1}']


def test_what_is_added_to_a_place_is_checked():
    text = 'let r: { xs: list<int> } = { xs: [] }\nlet more = from_json("[1, true]")\nr.xs += more ?? []\nprint(r)'
    done = ran(compiled(text))
    assert done.lines == []
    assert "what is added to `r.xs`" in str(done.stop)


@pytest.mark.parametrize("way", WAYS)
def test_each_way_gives_the_same_list(way):
    loop = f"for i in 0..3 {{\n  before = xs\n  {way}\n}}"
    done = ran(compiled(f"let xs = []\nlet before = []\n{loop}\nprint(len(xs), len(before))"))
    assert done.lines == (["9 6"] if way == WAYS[4] else ["3 2"])


def test_what_changes_the_list_meanwhile_is_not_lost():
    text = "let xs = [1]\nfn more() { xs += [2]; 3 }\nxs = push(xs, more())\nprint(xs)"
    assert ran(compiled(text)).lines == ["[1, 3]"]


def test_a_push_of_the_programs_own_is_called():
    text = "fn push(xs: list<int>, x: int) -> list<int> = [x, ...xs]\nlet xs = [1]\nxs = push(xs, 2)\nprint(xs)"
    assert ran(compiled(text)).lines == ["[2, 1]"]
