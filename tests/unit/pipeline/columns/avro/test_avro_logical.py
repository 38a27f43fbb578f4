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
        (DAY_US, DAY_MS, DAY_MS),
        (DAY_MS, DAY_US, DAY_US),
        (DAY_MS, DAY_MS, DAY_MS),
        (DAY_US, "int", DAY_US),
        (DAY_US, time("timestamp-micros"), None),
        (["null", DAY_MS], ["null", DAY_US], ["null", DAY_US]),
        (["null", DAY_US], DAY_MS, ["null", DAY_MS]),
        ([DAY_MS, "long"], DAY_US, [DAY_MS, "long"]),
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


def test_units_of_times_of_day_by_their_names() -> None:
    from pipeline.columns.avro.avro_schema import AvroSchema

    def units(schema: object) -> dict[str, str]:
        return AvroSchema("x", json.dumps(schema)).units_of_day("value")

    inner = {"type": "record", "name": "R", "fields": [{"name": "t", "type": ["null", DAY_US]}]}
    fields = (
        ("a", DAY_MS),
        ("b", {"type": "array", "items": inner}),
        ("c", {"type": "map", "values": ["string", "R", DAY_MS]}),
        ("d", {"type": "int", "logicalType": "time-micros"}),
        ("e", {"type": "long", "logicalType": "time-millis"}),
    )
    assert units(json.loads(record(*fields))) == {
        "a": "time-millis",
        "b[].t": "time-micros",
        "c[].member1.t": "time-micros",
        "c[].member2": "time-millis",
    }
    assert units({"type": "array", "items": DAY_US}) == {"value[]": "time-micros"}
    assert units("int") == {}


def test_a_time_of_day_in_a_wider_column_keeps_its_unit() -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    from pipeline.columns.avro.avro_schema import AvroSchema

    wide = AvroSchema("x", record(("t", DAY_MS))).widened(
        StructType([StructField("t", LongType())])
    )
    assert wide.kind.simpleString() == "struct<t:bigint>"
    assert wide.units_of_day("value") == {"t": "time-millis"}
    written = wide.as_written(AvroSchema("x", record(("t", DAY_US))))
    assert written is not None and written.units_of_day("value") == {"t": "time-micros"}
