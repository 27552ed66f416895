"""Types become descriptors that a Module may hold, with named types in its table."""

from __future__ import annotations

from compiler.descriptors import Descriptors
from compiler.types import (
    ANY,
    INT,
    NULL,
    SQL,
    STR,
    FieldType,
    FunctionType,
    ListType,
    LiteralType,
    MapType,
    Named,
    RecordType,
    Variable,
    union,
)
from qasm.descriptors import circle, problem


def test_plain_types_go_by_their_names():
    assert Descriptors().of(INT) == "int"
    assert Descriptors().of(None) == "any"


def test_what_no_value_can_be_checked_for_is_any():
    assert Descriptors().of(SQL) == "any"
    assert Descriptors().of(Variable("T")) == "any"
    assert Descriptors().of(union(INT, SQL)) == "any"


def test_lists_maps_records_and_functions():
    made = Descriptors()
    assert made.of(ListType(INT)) == ["list", "int"]
    assert made.of(MapType(ListType(STR))) == ["map", ["list", "str"]]
    record = RecordType((FieldType("a", INT), FieldType("b", STR, required=False)))
    assert made.of(record) == ["record", [["a", "int", True], ["b", "str", False]]]
    assert made.of(FunctionType((INT,), STR)) == "function"


def test_a_record_that_may_have_further_fields_is_a_map_of_anything():
    assert Descriptors().of(RecordType((FieldType("a", INT),), open=True)) == ["map", "any"]


def test_literal_members_of_a_union_are_joined_and_null_stays_last():
    wanted = union(LiteralType("asc"), LiteralType("desc"), INT, NULL)
    assert Descriptors().of(wanted) == ["union", [["literal", ["asc", "desc"]], "int", "null"]]
    assert Descriptors().of(union(LiteralType(1), LiteralType(2))) == ["literal", [1, 2]]


def test_named_types_may_refer_to_themselves():
    made = Descriptors()
    tree = Named("Tree", "Tree")
    tree.target = RecordType((FieldType("children", ListType(tree)),))
    assert made.of(ListType(tree)) == ["list", ["type", 0]]
    assert made.table == [("Tree", ["record", [["children", ["list", ["type", 0]], True]]])]


def test_named_types_are_numbered_as_they_are_met():
    made = Descriptors()
    inner, outer = Named("Inner", "Inner", INT), Named("Outer", "Outer")
    outer.target = ListType(inner)
    made.of(outer)
    made.of(inner)
    assert [name for name, _ in made.table] == ["Outer", "Inner"]


def test_types_that_nest_deeper_than_a_module_allows_are_given_names():
    deep = ANY
    for _ in range(199):
        deep = ListType(deep)
    made = Descriptors()
    assert problem(made.of(deep), len(made.table)) == ""
    assert all(problem(descriptor, len(made.table)) == "" for _, descriptor in made.table)
    assert circle(made.table) == -1
