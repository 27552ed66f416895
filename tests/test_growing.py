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
