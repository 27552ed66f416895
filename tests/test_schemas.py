"""Promises of `compiler.schemas`: JSON Schema 2020-12 of types, exactly as language.md section 3 has it."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from compiler.schemas import NoSchema, input_schema, output_schema, schema_of
from compiler.types import (
    ANY,
    BOOL,
    BYTES,
    FLOAT,
    HTML,
    INT,
    NULL,
    RESPONSE,
    STR,
    FieldType,
    FunctionType,
    ListType,
    LiteralType,
    MapType,
    Named,
    RecordType,
    Type,
    union,
)


def record(**fields: Type) -> RecordType:
    """A record type; a field whose name ends in `_` may be left out."""
    return RecordType(tuple(FieldType(name.rstrip("_"), type, not name.endswith("_")) for name, type in fields.items()))


def named(name: str, target: Type, qualified: str = "") -> Named:
    return Named(name, qualified or name, target)


@pytest.mark.parametrize(
    ("type", "schema"),
    [
        (INT, {"type": "integer"}),
        (FLOAT, {"type": "number"}),
        (STR, {"type": "string"}),
        (BOOL, {"type": "boolean"}),
        (NULL, {"type": "null"}),
        (BYTES, {"type": "string", "contentEncoding": "base64"}),
        (ANY, {}),
        (ListType(INT), {"type": "array", "items": {"type": "integer"}}),
        (ListType(ANY), {"type": "array", "items": {}}),
        (MapType(STR), {"type": "object", "additionalProperties": {"type": "string"}}),
        (
            record(a=INT, b_=STR),
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
        (record(), {"type": "object", "properties": {}, "additionalProperties": False}),
        (
            record(b_=STR),
            {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": False},
        ),
        (union(INT, NULL), {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (union(LiteralType("asc"), LiteralType("desc")), {"enum": ["asc", "desc"]}),
        (union(LiteralType(1), LiteralType(2)), {"enum": [1, 2]}),
        (LiteralType("only"), {"enum": ["only"]}),
        (
            union(LiteralType("asc"), LiteralType("desc"), NULL),
            {"anyOf": [{"enum": ["asc", "desc"]}, {"type": "null"}]},
        ),
        (union(LiteralType("no"), INT, LiteralType("yes")), {"anyOf": [{"enum": ["no", "yes"]}, {"type": "integer"}]}),
        (union(STR, INT), {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    ],
)
def test_each_type_has_its_schema(type: Type, schema: dict[str, Any]) -> None:
    assert schema_of(type) == schema
    assert list(schema_of(type)) == list(schema)


@pytest.mark.parametrize(
    ("type", "kind"),
    [
        (HTML, "markup"),
        (RESPONSE, "a response"),
        (FunctionType((INT,), STR), "a function"),
        (ListType(FunctionType((), INT)), "a function"),
        (named("Page", record(body=HTML)), "markup"),
        (union(INT, RESPONSE), "a response"),
    ],
)
def test_what_is_no_data_has_no_schema(type: Type, kind: str) -> None:
    with pytest.raises(NoSchema) as caught:
        schema_of(type)
    assert caught.value.kind == kind


NOTE = named("Note", record(id=INT, text=STR))
NOTE_SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "text": {"type": "string"}},
    "required": ["id", "text"],
    "additionalProperties": False,
}


def test_a_named_record_is_written_once_and_referred_to() -> None:
    pair = record(first=NOTE, others=ListType(NOTE))
    assert schema_of(pair) == {
        "type": "object",
        "properties": {
            "first": {"$ref": "#/$defs/Note"},
            "others": {"type": "array", "items": {"$ref": "#/$defs/Note"}},
        },
        "required": ["first", "others"],
        "additionalProperties": False,
        "$defs": {"Note": NOTE_SCHEMA},
    }


def test_a_name_for_another_name_is_that_one_and_other_named_types_are_written_out() -> None:
    alias = named("Memo", NOTE)
    order = named("Order", union(LiteralType("asc"), LiteralType("desc")))
    assert schema_of(ListType(alias)) == {
        "type": "array",
        "items": {"$ref": "#/$defs/Note"},
        "$defs": {"Note": NOTE_SCHEMA},
    }
    assert schema_of(ListType(order)) == {"type": "array", "items": {"enum": ["asc", "desc"]}}


def test_two_types_of_one_name_are_told_apart_by_their_files() -> None:
    ours, theirs = named("Size", record(width=INT)), named("Size", record(label=STR), "shapes.Size")
    schema = schema_of(record(a=ours, b=theirs))
    assert schema["properties"] == {"a": {"$ref": "#/$defs/Size"}, "b": {"$ref": "#/$defs/shapes.Size"}}
    assert list(schema["$defs"]) == ["Size", "shapes.Size"]


def test_an_answer_that_is_a_record_stands_at_the_root_and_anything_else_is_held_as_result() -> None:
    assert output_schema(NOTE) == (NOTE_SCHEMA, False)
    assert output_schema(record(id=INT, text=STR)) == (NOTE_SCHEMA, False)
    for type, inner in (
        (INT, {"type": "integer"}),
        (ANY, {}),
        (NULL, {"type": "null"}),
        (MapType(INT), {"type": "object", "additionalProperties": {"type": "integer"}}),
    ):
        assert output_schema(type) == (
            {"type": "object", "properties": {"result": inner}, "required": ["result"], "additionalProperties": False},
            True,
        )
    assert output_schema(union(NOTE, NULL)) == (
        {
            "type": "object",
            "properties": {"result": {"anyOf": [{"$ref": "#/$defs/Note"}, {"type": "null"}]}},
            "required": ["result"],
            "additionalProperties": False,
            "$defs": {"Note": NOTE_SCHEMA},
        },
        True,
    )


def test_a_root_that_refers_to_itself_is_written_out_and_stands_under_defs_too() -> None:
    node = named("Node", ANY)
    node.target = record(value=INT, next_=union(node, NULL))
    written = {
        "type": "object",
        "properties": {
            "value": {"type": "integer"},
            "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        },
        "required": ["value"],
        "additionalProperties": False,
    }
    assert output_schema(node) == ({**written, "$defs": {"Node": written}}, False)


def test_types_that_refer_to_each_other_are_written_once_each() -> None:
    tree, leaf = named("Tree", ANY), named("Leaf", ANY)
    tree.target = record(leaves=ListType(leaf))
    leaf.target = record(of_=tree)
    schema = schema_of(ListType(tree))
    assert schema["items"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["leaves"]["items"] == {"$ref": "#/$defs/Leaf"}
    assert schema["$defs"]["Leaf"]["properties"]["of"] == {"$ref": "#/$defs/Tree"}


def test_a_long_row_of_types_that_refer_to_the_next_is_written() -> None:
    names = [named(f"T{number}", INT) for number in range(3_000)]
    for this, following in pairwise(names):
        this.target = record(a=following)
    names[-1].target = record(end=INT)
    assert list(schema_of(names[0])["$defs"]) == [name.qualified for name in names]


def test_a_named_list_that_holds_itself_stands_under_defs() -> None:
    tree = named("Tree", ANY)
    tree.target = ListType(tree)
    assert schema_of(tree) == {
        "$ref": "#/$defs/Tree",
        "$defs": {"Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    }


def test_arguments_keep_their_order_and_constant_defaults() -> None:
    parameters = [("word", STR, True), ("limit", INT, False), ("note", NOTE, False), ("anything", ANY, True)]
    schema = input_schema(parameters, {"limit": 20, "note": {"id": 1, "text": "a"}})
    assert list(schema) == ["type", "properties", "required", "additionalProperties", "$defs"]
    assert schema == {
        "type": "object",
        "properties": {
            "word": {"type": "string"},
            "limit": {"type": "integer", "default": 20},
            "note": {"$ref": "#/$defs/Note", "default": {"id": 1, "text": "a"}},
            "anything": {},
        },
        "required": ["word", "anything"],
        "additionalProperties": False,
        "$defs": {"Note": NOTE_SCHEMA},
    }


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    assert input_schema([], {}) == {"type": "object", "properties": {}, "additionalProperties": False}


SIMPLE = st.sampled_from([INT, FLOAT, STR, BOOL, NULL, BYTES, ANY, LiteralType("a"), LiteralType(2), NOTE])
TYPES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(ListType, inner),
        st.builds(MapType, inner),
        st.builds(lambda a, b: union(a, b), inner, inner),
        st.builds(lambda a, b: record(a=a, b_=b), inner, inner),
        st.builds(lambda a: named("Inner", record(a=a)), inner),
    ),
    max_leaves=6,
)


@given(TYPES)
def test_every_schema_is_one_by_the_2020_12_dialect_and_an_object_at_the_root(type: Type) -> None:
    schema, wrapped = output_schema(type)
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert wrapped == (schema.get("required") == ["result"])
