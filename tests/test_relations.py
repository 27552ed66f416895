"""How types stand to each other: what may fit, what surely fits, and what several have in common."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.relations import (
    bind,
    bounded,
    fits,
    join,
    kinds_of,
    merged,
    only,
    substituted,
    surely_fits,
    widened,
    without_null,
)
from compiler.types import (
    ANY,
    BOOL,
    BYTES,
    ERROR,
    FLOAT,
    INT,
    NEVER,
    NULL,
    STR,
    FieldType,
    FunctionType,
    ListType,
    LiteralType,
    MapType,
    Named,
    RecordType,
    Type,
    UnionType,
    union,
)
from compiler.written_types import signature_type

T = signature_type


def closed(**fields: Type) -> RecordType:
    """A record type; a name that ends in `_` is optional."""
    return RecordType(tuple(FieldType(n.rstrip("_"), t, not n.endswith("_")) for n, t in fields.items()))


NOTE = Named("Note", "Note", closed(id=INT, text=STR))
TREE = Named("Tree", "Tree")
TREE.target = RecordType((FieldType("value", INT), FieldType("children", ListType(TREE))))
BUSH = Named("Bush", "Bush")
BUSH.target = RecordType((FieldType("value", INT), FieldType("children", ListType(BUSH))))

NO, MAY, SURELY = "no", "may", "surely"


@pytest.mark.parametrize(
    ("value", "wanted", "how"),
    [
        ("int", "int", SURELY),
        ("int", "float", MAY),  # it must be converted
        ("float", "int", NO),
        ("int", "str", NO),
        ("str", "int", NO),
        ("bool", "int", NO),
        ("null", "int", NO),
        ("int", "any", SURELY),
        ("any", "int", MAY),
        ("any", "any", SURELY),
        ("never", "int", SURELY),
        ("error", "int", MAY),
        ("int?", "int", MAY),
        ("int", "int?", SURELY),
        ("null", "int?", SURELY),
        ("str?", "int", NO),
        ("str?", "int?", MAY),  # both may be null
        ("int | str", "str | bool", MAY),
        ("int | str", "str | int | bool", SURELY),
        ("int", "str | bool", NO),
        ('"a"', "str", SURELY),
        ("str", '"a" | "b"', MAY),
        ('"a"', '"a" | "b"', SURELY),
        ('"c"', '"a" | "b"', NO),
        ("1", "float", MAY),
        ("1", "int", SURELY),
        ("1", '"a"', NO),
        ("int", "1 | 2", MAY),
        ("list<int>", "list<int>", SURELY),
        ("list<int>", "list<float>", MAY),
        ("list<int>", "list<str>", NO),
        ("list<never>", "list<str>", SURELY),
        ("list<any>", "list<str>", MAY),
        ("list<int?>", "list<int>", MAY),
        ("list<int>", "map<int>", NO),
        ("map<int>", "map<int>", SURELY),
        ("map<int>", "map<str>", NO),
        ("{ a: int }", "map<int>", SURELY),
        ("{ a: int, b: str }", "map<int>", NO),
        ("map<int>", "{ a: int }", MAY),
        ("map<int>", "{ a: str }", NO),
        ("map<int>", "{ a?: str }", MAY),
        ("{ a: int }", "{ a: int }", SURELY),
        ("{ a: int }", "{ a: float }", MAY),
        ("{ a: int }", "{ a: str }", NO),
        ("{ a: int, b: int }", "{ a: int }", NO),  # one field too many
        ("{ a: int }", "{ a: int, b: int }", NO),
        ("{ a: int }", "{ a: int, b?: int }", SURELY),
        ("{ a: int, b?: int }", "{ a: int }", MAY),
        ("{ a?: int }", "{ a: int }", MAY),
        ("{}", "{ a: int }", MAY),  # an open record: nothing is known of it
        ("{ a: int }", "{}", SURELY),
        ("bytes", "str", NO),
        ("html", "str", NO),
        ("sql", "str | sql", SURELY),
        ("fn(int) -> str", "fn(int) -> str", SURELY),
        ("fn(str) -> str", "fn(int) -> str", NO),
        ("fn(int) -> str", "int", NO),
    ],
)
def test_fitting(value: str, wanted: str, how: str) -> None:
    assert fits(T(value), T(wanted)) is (how != NO)
    assert surely_fits(T(value), T(wanted)) is (how == SURELY)


def test_functions_fit_by_what_they_take_and_give() -> None:
    takes_two = FunctionType((INT, STR), INT)
    assert fits(takes_two, FunctionType((INT, STR), ANY))
    assert not fits(takes_two, FunctionType((INT,), ANY))
    assert fits(FunctionType((INT, STR), INT, optional=1), FunctionType((INT,), ANY))
    assert not fits(takes_two, FunctionType((INT, INT), ANY))
    assert not fits(takes_two, FunctionType((INT, STR), STR))
    assert fits(FunctionType(None, ANY), takes_two)
    assert fits(takes_two, FunctionType(None, ANY))


def test_named_types_are_looked_through() -> None:
    assert surely_fits(closed(id=INT, text=STR), NOTE)
    assert surely_fits(NOTE, closed(id=INT, text=STR))
    assert not fits(closed(id=INT), NOTE)
    assert fits(union(NOTE, NULL), NOTE)


def test_types_that_refer_to_themselves_are_compared() -> None:
    assert surely_fits(TREE, BUSH)
    leaf = RecordType((FieldType("value", INT), FieldType("children", ListType(NEVER))))
    assert surely_fits(leaf, TREE)
    wrong = RecordType((FieldType("value", INT), FieldType("children", ListType(closed(value=STR)))))
    assert not fits(wrong, TREE)


def test_a_long_row_of_types_that_name_each_other_is_compared_without_deep_recursion() -> None:
    def row(name: str) -> Type:
        last: Type = closed(end=INT)
        for number in range(3000):
            last = Named(f"{name}{number}", name, closed(next=union(last, NULL), also=union(last, STR)))
        return last

    assert fits(row("a"), row("b"))
    assert not surely_fits(row("a"), row("b"))  # nothing is promised of what was not looked at


def test_both_literals_of_bool_are_bool() -> None:
    both = UnionType((LiteralType(True), LiteralType(False)))
    assert surely_fits(BOOL, both)
    assert surely_fits(both, BOOL)
    assert not surely_fits(BOOL, LiteralType(True))


def test_one_a_float_one_and_true_are_three_literals() -> None:
    assert len({LiteralType(1), LiteralType(1.0), LiteralType(True)}) == 3
    assert not fits(LiteralType(True), LiteralType(1))


types = st.recursive(
    st.sampled_from([INT, FLOAT, STR, BOOL, NULL, BYTES, ANY, LiteralType("a"), LiteralType(1), NOTE, TREE]),
    lambda inner: st.one_of(
        inner.map(ListType),
        inner.map(MapType),
        st.lists(inner, min_size=1, max_size=3).map(lambda members: union(*members)),
        st.dictionaries(st.sampled_from(["a", "b", "c_"]), inner, max_size=3).map(lambda fields: closed(**fields)),
        st.tuples(inner, inner).map(lambda pair: FunctionType((pair[0],), pair[1])),
    ),
    max_leaves=6,
)


@given(types)
def test_every_type_fits_itself(type: Type) -> None:
    assert fits(type, type)
    assert surely_fits(type, type)


@given(types, types)
def test_what_surely_fits_may_fit(a: Type, b: Type) -> None:
    if surely_fits(a, b):
        assert fits(a, b)


@given(types, types)
def test_each_surely_fits_what_both_are_joined_to(a: Type, b: Type) -> None:
    assert surely_fits(a, join(a, b))
    assert surely_fits(b, join(a, b))
    assert surely_fits(a, merged(a, b))
    assert surely_fits(b, merged(a, b))


@settings(max_examples=50)
@given(types, types, types)
def test_what_surely_fits_goes_on(a: Type, b: Type, c: Type) -> None:
    if surely_fits(a, b) and surely_fits(b, c):
        assert surely_fits(a, c)


@given(types)
def test_a_type_surely_fits_without_its_literals(type: Type) -> None:
    assert surely_fits(type, widened(type))


@given(types)
def test_null_can_be_told_apart(type: Type) -> None:
    kinds = kinds_of(without_null(type))
    assert kinds is None or "null" not in kinds
    assert surely_fits(without_null(type), type)


def test_joining_keeps_the_order_and_null_last() -> None:
    assert join(INT, NULL, STR, INT) == UnionType((INT, STR, NULL))
    assert join(INT, INT) == INT
    assert join(INT, NEVER) == INT
    assert join(INT, ERROR) == INT
    assert join() == NEVER
    assert join(INT, ANY) == ANY


def test_lists_are_joined_to_one_list() -> None:
    assert join(ListType(INT), ListType(STR)) == ListType(UnionType((INT, STR)))
    assert join(ListType(NEVER), ListType(INT)) == ListType(INT)


def test_a_join_of_very_many_is_unknown() -> None:
    assert join(*(closed(**{f"field{n}": INT}) for n in range(100))) == ANY
    assert join(*(LiteralType(f"text {n}") for n in range(100))) == STR


def test_inferred_types_are_kept_small() -> None:
    deep: Type = INT
    for _ in range(100):
        deep = ListType(deep)
    assert bounded(deep) == ANY
    assert bounded(ListType(ListType(INT))) == ListType(ListType(INT))
    assert bounded(closed(**{f"field{n}": INT for n in range(1000)})) == ANY


def test_merging_makes_one_record_of_two_that_are_alike() -> None:
    assert merged(closed(a=INT, b=STR), closed(a=FLOAT, b=STR)) == closed(a=UnionType((INT, FLOAT)), b=STR)
    assert merged(closed(a=INT), closed(b=INT)) == UnionType((closed(a=INT), closed(b=INT)))


def test_only_keeps_members() -> None:
    assert only(UnionType((INT, STR, NULL)), lambda member: member != STR) == UnionType((INT, NULL))
    assert only(INT, lambda member: False) == NEVER


@pytest.mark.parametrize(
    ("parameter", "value", "result", "expected"),
    [
        ("list<T>", "list<int>", "T", "int"),
        ("list<T>", "any", "T", "any"),
        ("list<T>", "list<int>?", "T", "int"),
        ("map<T>", "{ a: int, b: str }", "list<T>", "list<int | str>"),
        ("fn(T) -> U", "fn(int) -> str", "list<U>", "list<str>"),
        ("list<list<T>>", "list<list<int>>", "list<T>", "list<int>"),
        ("T?", "int?", "T", "int"),
        ("list<fn() -> T>", "list<fn() -> int>", "list<T>", "list<int>"),
        ("list<T>", "list<int>", "U", "any"),
    ],
)
def test_type_variables_are_filled_in(parameter: str, value: str, result: str, expected: str) -> None:
    bindings: dict[str, Type] = {}
    bind(T(parameter), T(value), bindings)
    assert substituted(T(result), bindings) == T(expected)


@pytest.mark.parametrize("text", ["", "lst<int>", "list<int", "{ a }", "fn(int", "int |", "int int", "{ a: int"])
def test_a_signature_that_is_none_is_refused(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        signature_type(text)
