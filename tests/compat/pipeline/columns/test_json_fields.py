"""Which JSON fits a schema, what becomes of it, and what is said of the others."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.compat.pipeline.small_frames import ON_SPARK, checked, records, split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from pipeline.columns.columns import Columns

pytestmark = ON_SPARK

SCHEMA = (
    "id STRING NOT NULL, n INT, x DOUBLE, price DECIMAL(5,2), ok BOOLEAN, at TIMESTAMP, day DATE, "
    "place STRUCT<lat: DOUBLE, lon: DOUBLE NOT NULL>, tags ARRAY<STRUCT<n: INT, t: TIMESTAMP>>, "
    "m MAP<STRING, INT>, offset INT"
)
# What a value becomes: the fields that are not null.
FIT: tuple[tuple[str, dict[str, Any]], ...] = (
    ('{"id":"a"}', {"id": "a"}),
    (' {"n":null,"id":"a"}\n', {"id": "a"}),
    ('{"id":"a","n":-5,"x":1,"ok":false}', {"id": "a", "n": -5, "x": 1.0, "ok": False}),
    # A STRING keeps any JSON as its text.
    ('{"id":{"b":[1]}}', {"id": '{"b":[1]}'}),
    ('{"id":"a","price":1.5}', {"id": "a", "price": "1.50"}),
    (
        '{"id":"a","at":"2026-03-02T12:00:00.5+02:00"}',
        {"id": "a", "at": datetime(2026, 3, 2, 10, 0, 0, 500_000)},
    ),
    ('{"id":"a","at":1772452800}', {"id": "a", "at": datetime(2026, 3, 2, 12)}),
    ('{"id":"a","place":{"lon":2}}', {"id": "a", "place": (None, 2.0)}),
    (
        '{"id":"a","tags":[{"n":1},null],"m":{"k":1}}',
        {"id": "a", "tags": [(1, None), None], "m": 1},
    ),
    ('{"id":"a","offset":7,"more":8}', {"id": "a", "value_offset": 7}),
    ('{"id":"a","id":"b"}', {"id": "b"}),
)
MISFIT: tuple[tuple[bytes | str | None, str], ...] = (
    (None, "there is no value (a tombstone)"),
    (b'{"id":"\xff"}', "the value is no text in UTF-8"),
    ("", "the value is not JSON: "),
    ("nope", "the value is not JSON: nope"),
    ('{"id":"a"', 'the value is not JSON: {"id":"a"'),
    ('{"id":"a"}}', 'the value is not JSON: {"id":"a"}}'),
    ('{"id":"a"}{"id":"b"}', 'the value is not JSON: {"id":"a"}{"id":"b"}'),
    ('{"id":"a"},{"id":"b"}', 'the value is not JSON: {"id":"a"},{"id":"b"}'),
    ('{"id":"a",}', 'the value is not JSON: {"id":"a",}'),
    ("{'id':'a'}", "the value is not JSON: {'id':'a'}"),
    ('[{"id":"a"}]', 'the value is no JSON object: [{"id":"a"}]'),
    ("null", "the value is no JSON object: null"),
    ("5", "the value is no JSON object: 5"),
    ("{}", "field id is missing or null"),
    ('{"id":null}', "field id is missing or null"),
    ('{"ID":"a"}', "field id is missing or null"),
    ('{"id":"a","n":"5"}', "field n is STRING, not INT: 5"),
    ('{"id":"a","n":1.5}', "field n is DECIMAL(2,1), not INT: 1.5"),
    ('{"id":"a","n":3000000000}', "field n is BIGINT, not INT: 3000000000"),
    ('{"id":"a","n":{"b":1}}', 'field n is an object, not INT: {"b":1}'),
    ('{"id":"a","x":"1"}', "field x is STRING, not DOUBLE: 1"),
    ('{"id":"a","price":1000}', "field price is BIGINT, not DECIMAL(5,2): 1000"),
    ('{"id":"a","ok":1}', "field ok is BIGINT, not BOOLEAN: 1"),
    ('{"id":"a","at":"soon"}', "field at is STRING, not TIMESTAMP: soon"),
    ('{"id":"a","at":""}', "field at is STRING, not TIMESTAMP: "),
    (
        '{"id":"a","at":1772452800000}',
        "field at is a time after the year 9999: a number is read as seconds",
    ),
    (
        '{"id":"a","at":-631152000000}',
        "field at is a time before the year 1: a number is read as seconds",
    ),
    (
        '{"id":"a","at":"9999-12-31T23:00-05:00"}',
        "field at is a time after the year 9999 in UTC: 9999-12-31T23:00-05:00",
    ),
    (
        '{"id":"a","at":"2026-03-02T12:00:00.1234567Z"}',
        "field at is finer than a microsecond: 2026-03-02T12:00:00.1234567Z",
    ),
    ('{"id":"a","at":"12:30"}', "field at is STRING, not TIMESTAMP: 12:30"),
    ('{"id":"a","day":"2026-02-30"}', "field day is STRING, not DATE: 2026-02-30"),
    ('{"id":"a","day":"20261128"}', "field day is STRING, not DATE: 20261128"),
    ('{"id":"a","day":20261128}', "field day is BIGINT, not DATE: 20261128"),
    # A name that an object has twice: nothing is known of what is in it.
    ('{"id":"a","n":{"b":1,"b":2}}', "a field is not of its type in the schema"),
    ('{"id":"a","day":{"b":1,"b":2}}', "a field is not of its type in the schema"),
    ('{"id":"a","place":{"lat":1}}', "field place.lon is missing or null"),
    (
        '{"id":"a","place":{"lat":"x","lon":1}}',
        'field place does not fit STRUCT<lat: DOUBLE, lon: DOUBLE>: {"lat":"x","lon":1}',
    ),
    ('{"id":"a","place":[]}', "field place does not fit STRUCT<lat: DOUBLE, lon: DOUBLE>: []"),
    (
        '{"id":"a","tags":[{"n":1},{"n":"x"}]}',
        'field tags does not fit ARRAY<STRUCT<n: INT, t: TIMESTAMP>>: [{"n":1},{"n":"x"}]',
    ),
    (
        '{"id":"a","tags":[{"t":1772452800000}]}',
        "field tags[].t is a time after the year 9999: a number is read as seconds",
    ),
    ('{"id":"a","m":{"k":"v"}}', 'field m does not fit MAP<STRING, INT>: {"k":"v"}'),
)


def json_columns(schema: str, new_fields: str = "ignore") -> Columns:
    from pipeline.columns.columns import Columns
    from pipeline.columns.json_fields import Json
    from pipeline.columns.plain import Raw
    from pipeline.columns.schema_text import parse_schema

    return Columns(Json(parse_schema("x", schema), new_fields), Raw("key"))


def texts(spark: SparkSession, *values: bytes | str | None) -> DataFrame:
    return records(spark, *(one.encode() if isinstance(one, str) else one for one in values))


def there(row: Row) -> dict[str, Any]:
    """The fields of a value that are not null, as the table above has them."""
    found = {name: value for name, value in row.asDict().items() if value is not None}
    plain: dict[str, Any] = {}
    for name, value in found.items():
        if name == "price":
            plain[name] = str(value)
        elif name == "place":
            plain[name] = tuple(value)
        elif name == "tags":
            plain[name] = [one and tuple(one) for one in value]
        elif name == "m":
            plain[name] = value["k"]
        elif name not in ("topic", "partition", "offset", "timestamp", "key", "headers"):
            plain[name] = value
    return plain


def test_what_fits_becomes_columns(spark: SparkSession) -> None:
    columns = json_columns(SCHEMA)
    rows, misfits = split(columns, texts(spark, *(text for text, _ in FIT)))
    assert misfits.collect() == []
    found = rows.orderBy("offset").collect()
    assert [(row.offset, there(row)) for row in found] == [
        (n, fields) for n, (_, fields) in enumerate(FIT)
    ]
    assert rows.schema.simpleString() == columns.schema.simpleString()


def test_what_does_not_fit_is_said_in_a_sentence(spark: SparkSession) -> None:
    columns = json_columns(SCHEMA)
    rows, misfits = split(columns, texts(spark, *(text for text, _ in MISFIT)))
    assert rows.collect() == []
    found = misfits.orderBy("offset").collect()
    assert [row.reason for row in found] == [words for _, words in MISFIT]


def test_fields_that_the_schema_lacks(spark: SparkSession) -> None:
    frame = texts(spark, '{"id":1}', '{"id":1,"b":2,"c":3}', '{"id":"x","b":2}', '{"ID":1}')

    def found(new_fields: str) -> tuple[list[int], list[str]]:
        columns = json_columns("id INT", new_fields)
        rows, misfits = split(columns, frame)
        return [row.offset for row in rows.collect()], [row.reason for row in misfits.collect()]

    other_type = "field id is STRING, not INT: x"
    assert found("ignore") == ([0, 1, 3], [other_type])
    assert found("misfit") == (
        [0],
        ["field b is not in the schema", other_type, "field ID is not in the schema"],
    )
    no_column = "no column was found for a field of the value: b"
    twin = "field ID differs from a column in case alone"
    assert found("add") == ([0], [no_column, other_type, twin]), "nobody asked for its column"


def test_a_new_field_becomes_a_column_and_an_empty_one_waits(spark: SparkSession) -> None:
    columns = json_columns("id INT, s STRUCT<a: INT>", "add")
    frame = texts(
        spark,
        '{"id":1,"s":{"a":1}}',
        '{"id":2,"b":1,"c":null,"d":[]}',
        '{"id":3,"b":1.5,"s":{"e":"x"}}',
        '{"id":"x","f":1}',
    )
    wider = columns.grown(checked(columns, frame))
    assert wider.schema.simpleString().endswith("id:int,s:struct<a:int,e:string>,b:double>")
    assert wider.grown(checked(wider, frame)) is wider
    rows, misfits = split(wider, frame)
    assert [tuple(row)[6:] for row in rows.orderBy("id").collect()] == [
        (1, (1, None), None),
        (2, None, 1.0),
        (3, (None, "x"), 1.5),
    ]
    assert misfits.count() == 1
    same = json_columns("id INT, s STRUCT<a: INT>", "ignore")
    assert same.grown(checked(same, frame)) is same


def test_a_new_field_that_the_table_cannot_hold_makes_a_misfit(spark: SparkSession) -> None:
    from pipeline.columns.held_names import Names

    columns = json_columns("id INT, s STRUCT<a: INT>", "add")
    columns = replace(columns, value=replace(columns.value, names=Names("iceberg")))
    frame = texts(spark, '{"id":1,"s":{"a":1}}', '{"id":2,"s":{"":1}}', '{"id":3,"s.a":1}')
    looked = checked(columns, frame)
    assert columns.grown(looked) is columns
    rows, misfits = columns.split(looked)
    assert [row.id for row in rows.collect()] == [1]
    assert [row.reason for row in misfits.orderBy("offset").collect()] == [
        "no column was found for a field of the value: s.",
        "no column was found for a field of the value: s.a",
    ]


def test_a_new_field_of_one_record_among_many_is_seen(spark: SparkSession) -> None:
    columns = json_columns("id INT", "add")
    often = [f'{{"id":{n},"often":1,"never":null}}' for n in range(1_100)]
    frame = texts(spark, *often, '{"id":1,"it\'s [rare]":{"x":true},"never":{}}')
    wider = columns.grown(checked(columns, frame))
    assert wider.schema.names[6:] == ["id", "often", "it's [rare]"]


def test_a_key_of_json_is_one_column(spark: SparkSession) -> None:
    from pipeline.columns.columns import Columns
    from pipeline.columns.json_fields import Json
    from pipeline.columns.plain import Raw
    from pipeline.columns.schema_text import parse_schema

    columns = Columns(Raw(), Json(parse_schema("x", "id INT NOT NULL, b STRING"), name="key"))
    frame = records(spark, b"v", key=b'{"id":1}').unionAll(records(spark, b"v", key=None))
    rows, misfits = split(columns, frame.unionAll(records(spark, b"v", key=b"{}")))
    assert [row.key and tuple(row.key) for row in rows.collect()] == [(1, None), None]
    assert [row.reason for row in misfits.collect()] == ["field id is missing or null"]
    assert rows.schema.simpleString() == columns.schema.simpleString()


def test_a_value_is_parsed_once(spark: SparkSession) -> None:
    """Reasons and columns name what was parsed; none of them holds the parsing."""
    for schema in ("id INT NOT NULL, b STRING", "id INT NOT NULL, at TIMESTAMP, day DATE"):
        plan = _plan(json_columns(schema, "add").checked(texts(spark, "{}")))
        assert plan.count("from_json(StructField(object") == 1


def _plan(frame: DataFrame) -> str:
    import contextlib
    import io

    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        frame.explain()
    return told.getvalue()


def test_what_is_kept_is_the_schema(spark: SparkSession) -> None:
    kept = json.loads(json_columns("id INT NOT NULL").to_text())
    assert kept["value"]["format"] == "json"
    assert json.loads(kept["value"]["fields"])["fields"][0]["nullable"] is False
