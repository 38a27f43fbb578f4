"""Records of Avro become columns, each by the schema that wrote it."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK, checked, records, split
from tests.unit.pipeline.columns.avro.fake_registry import E, FakeRegistry, fake_registry, record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline.columns.avro.avro_fields import Avro
    from pipeline.columns.columns import Columns

pytestmark = ON_SPARK

ONE = record(("id", "int"), ("b", "string"))
TWO = record(("id", "int"), ("c", ["null", E], None))
FRAMED = "the value is not framed as a registry's client does it: it begins with "


def framed(number: int, body: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + body


def columns_of(value: Avro) -> Columns:
    from pipeline.columns.columns import Columns
    from pipeline.columns.plain import Raw

    return Columns(value, Raw("key"))


def of_subject(served: FakeRegistry, *ids: int) -> Avro:
    from pipeline.columns.avro.avro_fields import Avro, Framed
    from pipeline.columns.avro.avro_schema import AvroSchema
    from pipeline.columns.avro.registry import Registry

    registry = Registry(served.url)
    number, text = registry.latest("t-value")
    known = Framed(registry, "t-value", {})
    return Avro.of(AvroSchema("x", text), None, known, None).with_ids([number, *ids])


def found(columns: Columns, frame: DataFrame) -> tuple[list[Any], list[tuple[int, str]]]:
    rows, misfits = split(columns, frame)
    assert rows.schema.simpleString() == columns.schema.simpleString()
    fit = [(row.offset, *tuple(row)[6:]) for row in rows.orderBy("offset").collect()]
    return fit, [(row.offset, row.reason) for row in misfits.orderBy("offset").collect()]


def test_values_of_one_schema(spark: SparkSession) -> None:
    from pipeline.columns.avro.avro_fields import Avro
    from pipeline.columns.avro.avro_schema import AvroSchema

    columns = columns_of(Avro.of(AvroSchema("x", ONE), None, None, None))
    values = (b"\x02\x02x", None, b"\x02", b"\x02\x02x\0", b"", b"\x02\x7fx")
    fit, misfits = found(columns, records(spark, *values))
    assert fit == [(0, 1, "x")]
    assert misfits == [
        (1, "there is no value (a tombstone)"),
        (2, "the value cannot be read by the schema"),
        (3, "bytes of the value are left over, read by the schema"),
        (4, "the value cannot be read by the schema"),
        (5, "the value cannot be read by the schema"),
    ]


def test_each_record_is_read_by_the_schema_that_wrote_it(spark: SparkSession) -> None:
    frame = records(
        spark,
        framed(1, b"\x02\x02x"),
        framed(2, b"\x04\x02\x02"),
        framed(9, b"\x04"),
        b'{"a":1}',
        b"\0\0",
        framed(2, b"\x04\x02\x07"),
        framed(2, b"\x04\x00\x00"),
    )
    with fake_registry() as served:
        served.register("t-value", 1, ONE)
        served.register("t-value", 2, TWO)
        first = columns_of(of_subject(served))
        assert first.schema.names[6:] == ["id", "c"]
        asked = "the registry was not asked for schema id "
        assert found(first, frame)[1][:2] == [(0, f"{asked}1"), (2, f"{asked}9")]
        columns = first.grown(checked(first, frame))
        assert columns.grown(checked(columns, frame)) is columns
    cannot = "the value cannot be read by schema id 2, or not brought to the reader's schema"
    assert found(columns, frame) == (
        # The field b was taken away in the latest schema: it is read on.
        [(0, 1, None, "x"), (1, 2, "B", None)],
        [
            (2, "the registry knows no schema of id 9"),
            (3, f"{FRAMED}7B226122"),
            (4, f"{FRAMED}0000"),
            (5, cannot),
            (6, "bytes of the value are left over, read by schema id 2"),
        ],
    )


def test_a_registry_whose_schema_changes_a_type(spark: SparkSession) -> None:
    from pipeline.errors import PipelineError

    with fake_registry() as served:
        served.register("t-value", 1, ONE)
        columns = columns_of(of_subject(served))
        served.register("t-value", 2, record(("id", "string"), ("b", "string")))
        frame = records(spark, framed(2, b"\x02x\x02x"))
        with pytest.raises(PipelineError, match="column id is INT in the table and would be STR"):
            columns.grown(checked(columns, frame))


def test_a_narrower_reader_and_columns_that_it_lacks(spark: SparkSession) -> None:
    from pipeline.columns.avro.avro_fields import Avro
    from pipeline.columns.avro.avro_schema import AvroSchema
    from pipeline.columns.schema_text import parse_schema

    inner = {"type": "record", "name": "S", "fields": [{"name": "x", "type": "int"}]}
    reader = AvroSchema(
        "x",
        record(
            ("id", "int"),
            ("s", ["null", inner]),
            ("l", {"type": "array", "items": "S"}),
            ("m", {"type": "map", "values": "S"}),
        ),
    )
    kept = parse_schema(
        "x",
        "id BIGINT, old STRING, s STRUCT<w: INT, x: BIGINT>, l ARRAY<STRUCT<x: INT, y: INT>>, "
        "m MAP<STRING, STRUCT<x: BIGINT>>",
    )
    columns = columns_of(Avro.of(reader, kept, None, None))
    full = b"\x02" + b"\x02\x04" + b"\x02\x06\x00" + b"\x02\x02k\x08\x00"
    fit, misfits = found(columns, records(spark, full, b"\x02\x00\x00\x00"))
    assert misfits == []
    assert fit == [
        (0, 1, None, (None, 2), [(3, None)], {"k": (4,)}),
        (1, 1, None, None, [], {}),
    ]


def test_numbers_whose_type_grows_keep_their_digits(spark: SparkSession) -> None:
    """Avro alone would read an int as a float by rounding, and refuse a long for an int."""
    from pipeline.columns.avro.avro_fields import Avro, Framed
    from pipeline.columns.avro.avro_schema import AvroSchema
    from pipeline.columns.avro.registry import Registry
    from pipeline.columns.schema_text import parse_schema

    older = {"a": "int", "b": "int", "c": "int", "d": "long"}
    newer = {"a": "long", "b": "float", "c": "double", "d": "int"}
    with fake_registry() as served:
        for number, fields in enumerate((older, newer), 1):
            served.register("t-value", number, record(*fields.items()))
        known = Framed(Registry(served.url), "t-value", {})
        kept = parse_schema("x", "a INT, b INT, c INT, d BIGINT")
        reader = AvroSchema("x", known.registry.latest("t-value")[1])
        value = Avro.of(reader, kept, known, None, "delta").with_ids([1, 2])
        assert value.schema.simpleString() == "struct<a:bigint,b:double,c:double,d:bigint>"
        odd, wide = 2**24 + 1, 2**40
        old = 3 * zigzag(odd) + zigzag(wide)
        new = zigzag(wide) + struct.pack("<fd", 0.1, 0.1) + zigzag(odd)
        frame = records(spark, framed(1, old), framed(2, new))
        fit, misfits = found(columns_of(value), frame)
    assert misfits == []
    (nearest,) = struct.unpack("<f", struct.pack("<f", 0.1))
    assert fit == [(0, odd, float(odd), float(odd), wide), (1, wide, nearest, 0.1, odd)]


DATE = {"type": "int", "logicalType": "date"}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "local-timestamp-micros"}
LAST_MICROSECOND = 253_402_300_799_999_999


def zigzag(number: int) -> bytes:
    """A whole number as Avro writes it."""
    left, written = (number << 1) ^ (number >> 63), b""
    while left > 0x7F:
        written += bytes([left & 0x7F | 0x80])
        left >>= 7
    return written + bytes([left])


def test_dates_and_times_outside_of_the_years_1_to_9999(spark: SparkSession) -> None:
    from pipeline.columns.avro.avro_fields import Avro
    from pipeline.columns.avro.avro_schema import AvroSchema

    fields = ("d", DATE), ("t", MILLIS), ("l", {"type": "array", "items": MICROS})
    columns = columns_of(Avro.of(AvroSchema("x", record(*fields)), None, None, None))
    bounds = {"d": (-719_162, 2_932_896), "t": (-62_135_596_800_000, 253_402_300_799_999)}
    bounds["l"] = (-62_135_596_800_000_000, LAST_MICROSECOND)

    def value(d: int = 0, t: int = 0, n: int = 0) -> bytes:
        return zigzag(d) + zigzag(t) + zigzag(2) + zigzag(0) + zigzag(n) + zigzag(0)

    first, last = zip(*bounds.values(), strict=True)
    values = [value(*first), value(*last)]
    for name in ("d", "t", "n"):
        low, high = bounds["l" if name == "n" else name]
        values += [value(**{name: low - 1}), value(**{name: high + 1})]
    rows, misfits = split(columns, records(spark, *values, value(t=2**62)))
    fit = rows.orderBy("offset").toArrow().to_pylist()
    years = [(row["d"].year, row["t"].year, row["l"][1].year) for row in fit]
    assert years == [(1, 1, 1), (9999, 9999, 9999)]
    assert [row.reason for row in misfits.orderBy("offset").collect()] == [
        "field d is a date before the year 1",
        "field d is a date after the year 9999",
        "field t is a time before the year 1",
        "field t is a time after the year 9999",
        "field l[] is a time before the year 1",
        "field l[] is a time after the year 9999",
        "the value cannot be read by the schema",
    ]


def test_a_key_that_is_a_date_outside_of_the_bounds(spark: SparkSession) -> None:
    from pipeline.columns.avro.avro_fields import Avro
    from pipeline.columns.avro.avro_schema import AvroSchema
    from pipeline.columns.columns import Columns
    from pipeline.columns.plain import Raw

    reader = AvroSchema("x", json.dumps(DATE))
    columns = Columns(Raw(), Avro.of(reader, None, None, "key"))
    rows, misfits = split(columns, records(spark, b"v", key=zigzag(2_932_897)))
    assert rows.collect() == []
    assert [row.reason for row in misfits.collect()] == ["field key is a date after the year 9999"]


def test_keys_of_avro_are_one_column(spark: SparkSession) -> None:
    from pipeline.columns.avro.avro_fields import Avro, Framed
    from pipeline.columns.avro.avro_schema import AvroSchema
    from pipeline.columns.avro.registry import Registry
    from pipeline.columns.columns import Columns
    from pipeline.columns.plain import Raw

    with fake_registry() as served:
        served.register("t-key", 3, '"long"')
        known = Framed(Registry(served.url), None, {})
        columns = Columns(Raw(), Avro.of(AvroSchema("x", '"long"'), None, known, "key"))
        frame = records(spark, b"v", key=framed(3, b"\x0e"))
        frame = frame.unionAll(records(spark, b"w", key=None)).unionAll(records(spark, b"x"))
        columns = columns.grown(checked(columns, frame))
    rows, misfits = split(columns, frame)
    assert [(row.key, bytes(row.value)) for row in rows.collect()] == [(7, b"v"), (None, b"w")]
    (misfit,) = misfits.collect()
    assert misfit.reason.startswith("the key is not framed") and bytes(misfit.key) == b"S1"


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def unscaled(number: int) -> bytes:
    data = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    return bytes([2 * len(data)]) + data


def test_a_value_is_read_with_the_units_of_its_writer(spark: SparkSession) -> None:
    times = [{"type": "long", "logicalType": f"timestamp-{unit}s"} for unit in ("milli", "micro")]
    with fake_registry() as served:
        for number, dec, time in ((1, decimal(10, 2), times[0]), (3, decimal(14, 6), times[1])):
            served.register("t-value", number, record(("d", ["null", dec]), ("t", time)))
        served.register("t-value", 2, record(("d", ["null", decimal(12, 4)]), ("t", times[1])))
        columns = columns_of(of_subject(served, 1, 3))
        values = [
            framed(1, b"\x02" + unscaled(1234) + b"\xd0\x0f"),
            framed(2, b"\x02" + unscaled(123456) + b"\xd0\x0f"),
            framed(3, b"\x02" + unscaled(12345600) + b"\xd0\x0f"),
            framed(3, b"\x02" + unscaled(12345678) + b"\xd0\x0f"),
            framed(1, b"\x00\xd0\x0f"),
        ]
        fit, misfits = found(columns, records(spark, *values))
    seen = [(n, d if d is None else str(d), t.microsecond) for n, d, t in fit]
    assert seen == [
        (0, "12.3400", 0),
        (1, "12.3456", 1000),
        (2, "12.3456", 1000),
        (4, None, 0),
    ]
    assert misfits == [(3, "field d does not fit DECIMAL(12,4)")]


def of_day(unit: str) -> dict[str, str]:
    return {"type": "int" if unit == "millis" else "long", "logicalType": f"time-{unit}"}


def whole(*numbers: int) -> bytes:
    """Numbers from 0 as Avro writes them, one after the other."""
    data = bytearray()
    for number in numbers:
        left = 2 * number
        while left > 0x7F:
            data.append(left & 0x7F | 0x80)
            left >>= 7
        data.append(left)
    return bytes(data)


@pytest.mark.parametrize(
    ("kept", "later", "kind", "noon"),
    [("millis", "micros", "int", 43_200_000), ("micros", "millis", "bigint", 43_200_000_000)],
)
def test_a_time_of_day_keeps_the_unit_of_its_column(
    spark: SparkSession, kept: str, later: str, kind: str, noon: int
) -> None:
    def schema(unit: str) -> str:
        items = {"type": "array", "items": of_day(unit)}
        return record(("t", of_day(unit)), ("n", ["null", of_day(unit)]), ("a", items))

    def value(unit: str, *numbers: int) -> bytes:
        factor = 1 if unit == "millis" else 1000
        t, n, item = (number * factor for number in numbers)
        return whole(t, 1, n, 1, item, 0)

    with fake_registry() as served:
        served.register("t-value", 1, schema(kept))
        first = columns_of(of_subject(served))
        served.register("t-value", 2, schema(later))
        times = (43_200_000, 1, 2)
        frame = records(
            spark,
            framed(1, value(kept, *times)),
            framed(2, value(later, *times)),
            framed(2, whole(0, 0, 1, 0, 0)),
        )
        columns = first.grown(checked(first, frame))
        assert columns.schema == first.schema
        assert columns.schema["t"].dataType.simpleString() == kind
        fit, misfits = found(columns, frame)
    ms = noon // 43_200_000
    assert fit == [
        (0, noon, ms, [2 * ms]),
        (1, noon, ms, [2 * ms]),
        (2, 0, None, [0]),
    ]
    assert misfits == []


def test_a_time_of_day_that_its_column_does_not_hold(spark: SparkSession) -> None:
    from pipeline.columns.avro.avro_fields import Avro
    from pipeline.columns.avro.avro_schema import AvroSchema

    schema = AvroSchema("x", record(("t", ["null", of_day("micros")])))
    older = Avro.of(AvroSchema("x", record(("t", of_day("millis")))), None, None, None)
    columns = columns_of(Avro.of(schema, older.fields, None, None, units=older.units))
    values = (1_000, 1_001, 2**31 * 1000, (2**31 - 1) * 1000)
    fit, misfits = found(columns, records(spark, *(whole(1, number) for number in values)))
    assert fit == [(0, 1), (3, 2**31 - 1)]
    assert misfits == [
        (1, "field t is finer than a millisecond, the unit of its column"),
        (2, "field t does not fit INT"),
    ]


def test_a_time_of_day_in_a_column_that_was_a_whole_number(spark: SparkSession) -> None:
    from pipeline.columns.avro.avro_fields import Avro
    from pipeline.columns.avro.avro_schema import AvroSchema

    older = Avro.of(AvroSchema("x", record(("t", "long"))), None, None, None)
    with fake_registry() as served:
        for number, kind in ((1, "long"), (2, of_day("millis")), (3, of_day("micros"))):
            served.register("t-value", number, record(("t", kind)))
        served.register("t-value", 2, record(("t", of_day("millis"))))
        again = of_subject(served, 1, 3)
        avro = Avro.of(again.reader, older.fields, again.framed, None, units=older.units).with_ids(
            [1]
        )
        columns = columns_of(avro)
        values = (framed(1, whole(2**40)), framed(2, whole(5)), framed(3, whole(7000)))
        fit, misfits = found(columns, records(spark, *values))
    assert fit == [(0, 2**40), (1, 5), (2, 7)]
    assert misfits == []


def test_a_decimal_that_is_longer_than_its_schema_says(spark: SparkSession) -> None:
    from pipeline.columns.avro.avro_fields import Avro
    from pipeline.columns.avro.avro_schema import AvroSchema

    items = {"type": "array", "items": decimal(10, 2)}
    columns = columns_of(Avro.of(AvroSchema("x", record(("d", items))), None, None, None))
    numbers = (1234, -9_999_999_999, 10**10, 2**64 + 5, 2**70, -(2**64) - 1)
    values = [b"\x02" + unscaled(number) + b"\x00" for number in numbers]
    fit, misfits = found(columns, records(spark, *values))
    assert [(n, str(d[0])) for n, d in fit] == [(0, "12.34"), (1, "-99999999.99")]
    assert misfits == [(n, "field d[] does not fit DECIMAL(10,2)") for n in range(2, 6)]


def test_a_text_that_is_not_in_utf_8(spark: SparkSession) -> None:
    from pipeline.columns.avro.avro_fields import Avro
    from pipeline.columns.avro.avro_schema import AvroSchema

    schema = record(("s", ["null", "string"]), ("m", {"type": "map", "values": "string"}))
    columns = columns_of(Avro.of(AvroSchema("x", schema), None, None, None))
    text = "ü".encode()
    values = [
        b"\x02\x04" + text + b"\x02\x04" + text + b"\x02x\x00",
        b"\x02\x02\xff\x00",
        b"\x00\x02\x02\xff\x02x\x00",
        b"\x00\x02\x02x\x02\xff\x00",
    ]
    fit, misfits = found(columns, records(spark, *values))
    assert fit == [(0, "ü", {"ü": "x"})]
    words = "has a text that is not in UTF-8"
    assert misfits == [(1, f"field s {words}"), (2, f"field m {words}"), (3, f"field m[] {words}")]
