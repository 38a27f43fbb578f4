"""What an executor makes of batches of Arrow."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import pyarrow as pa

from pipeline.columns.json.batches import ReadRecords, SeeFields, arrow_type
from pipeline.columns.json.sightings import sighting_of
from pipeline.columns.schema_text import parse_schema


def batch(*values: Any, **others: list[Any]) -> pa.RecordBatch:
    data = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
    return pa.RecordBatch.from_pydict({**others, "value": data})


def test_a_column_is_added_and_the_others_stay() -> None:
    kind = "id BIGINT NOT NULL, p DECIMAL(5,2), d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, `` STRING"
    reader = ReadRecords(parse_schema("x", kind.replace("``", "`e e`")), "add", "value", "read")
    good = {"id": 1, "p": 1.5, "d": "9999-12-31", "t": "0001-01-01", "n": "2026-01-01", "e e": []}
    given = [batch(good, b"x", offset=[7, 8]), batch({"id": 2, "new": 1}, offset=[9])]
    first, second = reader(given)
    assert first.schema.names == ["offset", "value", "read"]
    assert first.column("offset").to_pylist() == [7, 8]
    fields, misfit = first.column("read").to_pylist()
    assert misfit == {"fields": None, "reason": "the value is not JSON: x", "new": None}
    assert fields["fields"] == {
        "id": 1,
        "p": Decimal("1.50"),
        "d": date(9999, 12, 31),
        "t": datetime(1, 1, 1, tzinfo=UTC),
        "n": datetime(2026, 1, 1),
        "e e": "[]",
    }
    assert second.column("read").to_pylist()[0]["new"] == ["new"]


def test_types_of_arrow() -> None:
    kind = parse_schema("x", "s STRUCT<a: ARRAY<SMALLINT>, b: MAP<STRING, FLOAT>>, i INT, x DOUBLE")
    assert str(arrow_type(kind)) == (
        "struct<s: struct<a: list<item: int16>, b: map<string, float>>, i: int32, x: double>"
    )


def seen(bytes_max: int | None, *batches: pa.RecordBatch) -> dict[str, Any]:
    (row,) = next(iter(SeeFields(3, bytes_max)(batches))).to_pylist()
    return {**row, "seen": sighting_of(row["seen"])}


def test_what_a_task_has_seen() -> None:
    values = ({"a": 1}, b"nope", b"\xff", b'{"a":1,"a":2}', 5, {"a": {"b": 1}})
    row = seen(None, batch(*values), batch({"a": None, "c": True}))
    assert (row["records"], row["objects"], row["wide"]) == (7, 3, 0)
    assert row["seen"].fields["a"].count == 3 and row["seen"].fields["a"].kinds == {
        "long",
        "object",
    }


def test_a_record_with_too_many_fields_is_counted_alone() -> None:
    row = seen(None, batch({"a": 1}, {"a": {"b": 1, "c": [{"d": 1}]}}))
    assert (row["records"], row["objects"], row["wide"]) == (2, 2, 1)
    assert row["seen"].fields["a"].kinds == {"long"}


def test_a_task_looks_no_further_behind_so_many_bytes() -> None:
    taken = []

    def batches() -> Any:
        for n in range(10):
            taken.append(n)
            yield batch({"a": n}, {"a": n})

    (done,) = SeeFields(3, 20)(batches())
    assert done.to_pylist()[0]["records"] == 4 and taken == [0, 1]
    assert next(iter(SeeFields(3, 20)([]))).to_pylist()[0]["records"] == 0
