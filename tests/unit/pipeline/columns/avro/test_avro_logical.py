"""The units of a writer's decimals and times, in the schema that reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.pipeline.columns.avro.fake_registry import record


def decimal(precision: int, scale: int, **more: Any) -> dict[str, Any]:
    decimal = {"logicalType": "decimal", "precision": precision, "scale": scale}
    return {"type": "bytes", **more, **decimal}


def time(unit: str) -> dict[str, str]:
    return {"type": "long", "logicalType": unit}


MS, US, NS = (time(f"timestamp-{unit}") for unit in ("millis", "micros", "nanos"))
LOCAL_MS, LOCAL_US = (time(f"local-timestamp-{unit}") for unit in ("millis", "micros"))
DAY_MS, DAY_US = {"type": "int", "logicalType": "time-millis"}, time("time-micros")
F12: dict[str, Any] = {"type": "fixed", "name": "F", "size": 12}
F4: dict[str, Any] = {**F12, "size": 4}


def read(reader: str, writer: str) -> Any:
    """The reader's schema with the writer's units, None if there is none."""
    from pipeline.columns.avro.avro_schema import AvroSchema

    schema = AvroSchema("x", reader).as_written(AvroSchema("x", writer))
    return None if schema is None else json.loads(schema.text)


@pytest.mark.parametrize(
    ("mine", "theirs", "wanted"),
    [
        (decimal(10, 2), decimal(10, 2), decimal(38, 2)),
        (decimal(12, 4), decimal(10, 2), decimal(38, 2)),
        (decimal(30, 4), decimal(20, 2), decimal(20, 2)),
        (["null", decimal(12, 4)], decimal(10, 2), ["null", decimal(38, 2)]),
        (decimal(12, 4), ["null", decimal(10, 2)], decimal(38, 2)),
        (["string", decimal(12, 4)], ["null", decimal(9, 0)], ["string", decimal(38, 0)]),
        (decimal(12, 4, **F12), decimal(9, 1, **F12), decimal(28, 1, **F12)),
        (decimal(9, 2, **F4), decimal(9, 2, **F4), decimal(9, 2, **F4)),
        (decimal(10, 2), "bytes", decimal(38, 2)),
        ("bytes", decimal(10, 2), "bytes"),
        (US, MS, MS),
        (LOCAL_US, MS, LOCAL_MS),
        (MS, LOCAL_US, US),
        (US, "long", US),
        (time("timestamp-micros"), NS, None),
        (NS, NS, NS),
        (NS, MS, None),
        (DAY_US, DAY_MS, None),
        (DAY_MS, DAY_MS, DAY_MS),
        ({"type": "array", "items": US}, {"type": "array", "items": MS}, MS),
        ({"type": "map", "values": US}, {"type": "map", "values": NS}, None),
    ],
)
def test_a_value_is_read_with_its_writers_unit(mine: Any, theirs: Any, wanted: Any) -> None:
    if isinstance(mine, dict) and mine["type"] in ("array", "map") and wanted is not None:
        wanted = {**mine, "items": wanted}
    got = read(record(("id", "int"), ("x", mine)), record(("x", theirs), ("y", "int")))
    if wanted is None:
        assert got is None
    else:
        assert [one["type"] for one in got["fields"]] == ["int", wanted]


def test_a_field_is_found_by_its_alias_and_inside_records() -> None:
    inner = {"type": "record", "name": "R", "fields": [{"name": "t", "type": US}]}
    theirs = {**inner, "name": "n.R", "fields": [{"name": "t", "type": MS}]}
    reader = json.loads(record(("new", inner), ("u", ["null", "R"])))
    reader["fields"][0]["aliases"] = ["old"]
    got = read(json.dumps(reader), record(("old", theirs), ("u", ["null", "n.R"])))
    assert got["fields"][0]["type"]["fields"] == [{"name": "t", "type": MS}]
    assert got["fields"][1]["type"] == ["null", "R"]


def test_a_named_type_with_two_units_is_not_read() -> None:
    one, two = (
        {"type": "record", "name": name, "fields": [{"name": "t", "type": unit}]}
        for name, unit in (("A", MS), ("B", US))
    )
    reader = record(("a", {**one, "name": "R"}), ("b", "R"))
    assert read(reader, record(("a", one), ("b", two))) is None
    assert read(reader, record(("a", one))) is not None


def test_records_in_a_union_are_told_apart_by_their_names() -> None:
    a, b = (
        {"type": "record", "name": name, "fields": [{"name": "t", "type": unit}]}
        for name, unit in (("A", MS), ("B", US))
    )
    got = read(record(("u", ["null", a, b])), record(("u", [b, a])))
    assert got["fields"][0]["type"] == ["null", a, b]
    got = read(record(("u", ["null", b])), record(("u", a)))
    assert got["fields"][0]["type"][1]["fields"] == a["fields"]
