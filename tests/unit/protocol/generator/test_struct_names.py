from __future__ import annotations

import pytest

from protocol.generator.schema import parse_message
from protocol.generator.struct_names import StructNames
from tests.unit.protocol.made_up import Definition, definition, field, parsed

NODE: Definition = {"fields": [field("Id", "int32")]}


def test_a_struct_of_two_messages_gets_the_messages_name_before_its_own() -> None:
    messages = [
        parse_message(
            definition(
                name,
                field("Topics", "[]Topic", fields=[field("A", "int8")]),
                field(only, f"[]{only}", fields=[field("B", "int8")]),
            )
        )
        for name, only in (("PingRequest", "Host"), ("PingResponse", "Rack"))
    ]
    names = StructNames(messages)
    found = [[names.class_names[id(s)] for s in message.structs] for message in messages]
    assert found == [
        ["PingRequestTopic", "Host", "PingRequest"],
        ["PingResponseTopic", "Rack", "PingResponse"],
    ]


def test_a_run_of_fixed_fields_has_one_struct() -> None:
    message = parsed(field("A", "int8"), field("B", "bool"), field("C", "uuid"))
    names = StructNames([message])
    assert names.struct_of(message.structs[-1].fields) == ("_bTU", 1 + 1 + 16)
    assert names.formats == {"b?16s": "_bTU"}


@pytest.mark.parametrize(
    ("spec", "annotation", "default", "in_signature"),
    [
        (field("A", "int8", default="-1"), "int", "-1", "-1"),
        (field("A", "float64"), "float", "0.0", "0.0"),
        (field("A", "uuid"), "bytes", "p.ZERO_UUID", "p.ZERO_UUID"),
        (field("A", "string"), "str", '""', '""'),
        (field("A", "string", nullableVersions="1+"), "str | None", '""', '""'),
        (field("A", "string", nullableVersions="1+", default="null"), "str | None", "None", "None"),
        (field("A", "records", nullableVersions="0+"), "p.Records | None", 'b""', 'b""'),
        (field("A", "[]string"), "list[str]", "[]", "NEW"),
        (field("A", "[]Node", nullableVersions="0+", **NODE), "list[Node] | None", "[]", "NEW"),
        (field("A", "Node", **NODE), "Node", "Node()", "NEW"),
        (
            field("A", "Node", None, taggedVersions="0+", tag=0, **NODE),
            "Node | None",
            "None",
            "None",
        ),
    ],
)
def test_types_and_defaults(
    spec: Definition, annotation: str, default: str, in_signature: str
) -> None:
    message = parsed(spec, flexible="0+")
    names, (made,) = StructNames([message]), message.structs[-1].fields
    assert names.annotation(made) == annotation
    assert names.may_be_none(made) == annotation.endswith("None")
    assert names.default(made, in_signature=False) == default
    assert names.default(made, in_signature=True) == in_signature
