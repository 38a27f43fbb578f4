"""Which records fit a schema, what becomes of them, and what is said of the others."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline.columns.json.parsing import DEPTH_MAX
from pipeline.columns.json.record_reader import ReadRecord, RecordReader
from pipeline.columns.schema_text import parse_schema

SCHEMA = (
    "id STRING NOT NULL, n INT, x DOUBLE, price DECIMAL(5,2), ok BOOLEAN, at TIMESTAMP, day DATE, "
    "place STRUCT<lat: DOUBLE, lon: DOUBLE NOT NULL>, tags ARRAY<STRUCT<n: INT, t: TIMESTAMP>>, "
    "m MAP<STRING, INT>, offset INT, b BINARY, f FLOAT"
)
NOON_US = 1_772_452_800_000_000
"""2026-03-02 12:00:00 in UTC."""
# What a value becomes: the fields that are not null.
FIT: tuple[tuple[str, dict[str, Any]], ...] = (
    ('{"id":"a"}', {"id": "a"}),
    (' {"n":null,"id":"a"}\n', {"id": "a"}),
    ('{"id":"a","n":-5,"x":1,"ok":false}', {"id": "a", "n": -5, "x": 1.0, "ok": False}),
    # A STRING keeps any JSON as its text.
    ('{"id":{"b":[1, 2.50]}}', {"id": '{"b":[1, 2.50]}'}),
    ('{"id":[ ],"n":1}', {"id": "[ ]", "n": 1}),
    ('{"id":true}', {"id": "true"}),
    *((f'{{"id":{number}}}', {"id": number}) for number in ("1.50", "1E5", "1e400", "-0", "0.10")),
    ('{"id":12345678901234567890.123456789}', {"id": "12345678901234567890.123456789"}),
    ('{"id":"a","price":1.5}', {"id": "a", "price": Decimal("1.50")}),
    ('{"id":"a","at":"2026-03-02T14:00:00.5+02:00"}', {"id": "a", "at": NOON_US + 500_000}),
    ('{"id":"a","at":1772452800}', {"id": "a", "at": NOON_US}),
    ('{"id":"a","place":{"lon":2}}', {"id": "a", "place": (None, 2.0)}),
    (
        '{"id":"a","tags":[{"n":1},null],"m":{"k":1,"K":null}}',
        {"id": "a", "tags": [(1, None), None], "m": [("k", 1), ("K", None)]},
    ),
    ('{"id":"a","offset":7,"more":8}', {"id": "a", "offset": 7}),
    ('{"id":"a","b":"aGk=","f":0.1}', {"id": "a", "b": b"hi", "f": 0.10000000149011612}),
)
MISFIT: tuple[tuple[bytes | str | None, str], ...] = (
    (None, "there is no value (a tombstone)"),
    (b'{"id":"\xff"}', "the value is no text in UTF-8"),
    (b'{"id":"\xed\xa0\xbd"}', "the value is no text in UTF-8"),
    ("", "the value is not JSON: "),
    ("nope", "the value is not JSON: nope"),
    ('{"id":"a"', 'the value is not JSON: {"id":"a"'),
    ('{"id":"a"}}', 'the value is not JSON: {"id":"a"}}'),
    ('{"id":"a"}{"id":"b"}', 'the value is not JSON: {"id":"a"}{"id":"b"}'),
    ('{"id":"a"},{"id":"b"}', 'the value is not JSON: {"id":"a"},{"id":"b"}'),
    ('{"id":"a",}', 'the value is not JSON: {"id":"a",}'),
    ('{"id":"a"} end', 'the value is not JSON: {"id":"a"} end'),
    ("{'id':'a'}", "the value is not JSON: {'id':'a'}"),
    ('[{"id":"a"}]', 'the value is no JSON object: [{"id":"a"}]'),
    ("null", "the value is no JSON object: null"),
    ("5", "the value is no JSON object: 5"),
    ("{}", "field id is missing or null"),
    ('{"id":null}', "field id is missing or null"),
    ('{"ID":"a"}', "field ID differs from a column in case alone"),
    ('{"id":"a","place":{"Lat":1,"lon":1}}', "field place.Lat differs from a column in case alone"),
    ('{"id":"a","tags":[{"N":1}]}', "field tags[].N differs from a column in case alone"),
    ('{"id":"a","n":"5"}', "field n is STRING, not INT: 5"),
    ('{"id":"a","n":1.5}', "field n is DECIMAL(2,1), not INT: 1.5"),
    ('{"id":"a","n":1.0}', "field n is DECIMAL(2,1), not INT: 1.0"),
    ('{"id":"a","n":1e2}', "field n is DOUBLE, not INT: 1e2"),
    ('{"id":"a","n":3000000000}', "field n is BIGINT, not INT: 3000000000"),
    (
        '{"id":"a","n":9223372036854775808}',
        "field n is DECIMAL(19,0), not INT: 9223372036854775808",
    ),
    (f'{{"id":"a","n":{10**40}}}', f"field n is a number, not INT: {10**40}"),
    ('{"id":"a","n":{"b":1}}', 'field n is an object, not INT: {"b":1}'),
    ('{"id":"a","n":[1.50,"x"]}', 'field n is an array, not INT: [1.50,"x"]'),
    ('{"id":"a","x":"1"}', "field x is STRING, not DOUBLE: 1"),
    ('{"id":"a","x":1e400}', "field x is beyond the range of DOUBLE: 1e400"),
    (
        '{"id":"a","x":9007199254740993}',
        "field x is a whole number that no DOUBLE is exactly: 9007199254740993",
    ),
    ('{"id":"a","f":1e39}', "field f is beyond the range of FLOAT: 1e39"),
    ('{"id":"a","f":16777217}', "field f is a whole number that no FLOAT is exactly: 16777217"),
    ('{"id":"a","price":1000}', "field price is BIGINT, not DECIMAL(5,2): 1000"),
    ('{"id":"a","price":1.234}', "field price is DECIMAL(4,3), not DECIMAL(5,2): 1.234"),
    ('{"id":"a","price":"1,234.50"}', "field price is STRING, not DECIMAL(5,2): 1,234.50"),
    ('{"id":"a","ok":1}', "field ok is BIGINT, not BOOLEAN: 1"),
    ('{"id":"a","b":"aGk"}', "field b is STRING, not BINARY: aGk"),
    ('{"id":"a","at":"soon"}', "field at is STRING, not TIMESTAMP: soon"),
    ('{"id":"a","at":""}', "field at is STRING, not TIMESTAMP: "),
    (
        '{"id":"a","at":1772452800000}',
        "field at is a time after the year 9999: a number is read as seconds",
    ),
    (
        f'{{"id":"a","at":{-(10**30)}}}',
        "field at is a time before the year 1: a number is read as seconds",
    ),
    (
        '{"id":"a","at":"9999-12-31T23:00-05:00"}',
        "field at is a time after the year 9999 in UTC: 9999-12-31T23:00-05:00",
    ),
    (
        '{"id":"a","at":"0001-01-01T00:00:00+00:01"}',
        "field at is a time before the year 1 in UTC: 0001-01-01T00:00:00+00:01",
    ),
    (
        '{"id":"a","at":"2026-03-02T12:00:00.1234567Z"}',
        "field at is finer than a microsecond: 2026-03-02T12:00:00.1234567Z",
    ),
    ('{"id":"a","at":"12:30"}', "field at is STRING, not TIMESTAMP: 12:30"),
    ('{"id":"a","day":"2026-02-30"}', "field day is STRING, not DATE: 2026-02-30"),
    ('{"id":"a","day":20261128}', "field day is BIGINT, not DATE: 20261128"),
    ('{"id":"a","n":{"b":1,"b":2}}', "the value has the name b twice in one object"),
    ('{"id":"a","more":"\\ud83d"}', r"the value has half a character: \ud83d"),
    ('{"id":"a","place":{"lat":1}}', "field place.lon is missing or null"),
    ('{"id":"a","place":{"lat":"x","lon":1}}', "field place.lat is STRING, not DOUBLE: x"),
    ('{"id":"a","place":[]}', "field place does not fit STRUCT<lat: DOUBLE, lon: DOUBLE>: []"),
    ('{"id":"a","tags":[{"n":1},{"n":"x"}]}', "field tags[].n is STRING, not INT: x"),
    ('{"id":"a","tags":{}}', "field tags does not fit ARRAY<STRUCT<n: INT, t: TIMESTAMP>>: {}"),
    ('{"id":"a","m":{"k":"v"}}', "field m[] is STRING, not INT: v"),
    ('{"id":"a","m":"x"}', "field m does not fit MAP<STRING, INT>: x"),
)


def reader_of(schema: str, new_fields: str = "ignore", what: str = "value") -> RecordReader:
    return RecordReader(parse_schema("x", schema), new_fields, what)


def read(reader: RecordReader, value: bytes | str | None) -> ReadRecord:
    return reader.read(value.encode() if isinstance(value, str) else value)


def test_what_fits_becomes_values() -> None:
    reader = reader_of(SCHEMA)
    names = parse_schema("x", SCHEMA).names
    for text, fields in FIT:
        values: Any = read(reader, text).values
        became = {
            name: value
            for name, value in zip(names, values or (), strict=True)
            if value is not None
        }
        assert became == fields, text


@pytest.mark.parametrize(("value", "words"), MISFIT)
def test_what_does_not_fit_is_said_in_a_sentence(value: bytes | str | None, words: str) -> None:
    assert read(reader_of(SCHEMA), value) == ReadRecord(None, words, None)


def test_a_key_that_is_missing_fits() -> None:
    reader = reader_of("id INT NOT NULL", what="key")
    assert read(reader, None) == ReadRecord(None, None, None)
    assert read(reader, "[]").reason == "the key is no JSON object: []"
    assert read(reader, "{}").reason == "field id is missing or null"


def test_nothing_in_an_array_or_a_map_is_null_where_the_schema_says_so() -> None:
    kind = (
        '{"type":"struct","fields":[{"name":"l","nullable":true,"metadata":{},"type":{"type":"array",'
        '"elementType":"long","containsNull":false}},{"name":"m","nullable":true,"metadata":{},'
        '"type":{"type":"map","keyType":"string","valueType":"long","valueContainsNull":false}}]}'
    )
    reader = reader_of(kind)
    assert read(reader, '{"l":[1],"m":{"k":1}}').values == ([1], [("k", 1)])
    assert read(reader, '{"l":[1,null]}').reason == "field l[] is null"
    assert read(reader, '{"m":{"k":null}}').reason == "field m[] is null"


@pytest.mark.parametrize(
    ("new_fields", "of_new"),
    [
        ("ignore", ReadRecord((1,), None, [])),
        ("misfit", ReadRecord(None, "field b is not in the schema", None)),
        ("add", ReadRecord((1,), None, ["b", "c"])),
    ],
)
def test_fields_that_the_schema_lacks(new_fields: str, of_new: ReadRecord) -> None:
    reader = reader_of("id INT", new_fields)
    texts = ('{"id":1}', '{"id":1,"b":2,"c":3}', '{"id":"x","b":2}', '{"id":1,"ID":null}')
    assert [read(reader, text) for text in texts] == [
        ReadRecord((1,), None, []),
        of_new,
        ReadRecord(None, "field id is STRING, not INT: x", None),
        ReadRecord(None, "field ID differs from a column in case alone", None),
    ]


DEEP = (
    "id INT, s STRUCT<a: INT, t: STRUCT<u: INT>>, tags ARRAY<STRUCT<n: INT>>, j STRING, "
    "m MAP<STRING, STRUCT<x: INT>>, ll ARRAY<ARRAY<STRUCT<n: INT>>>"
)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ('{"id":1,"s":{"a":1,"t":{"u":1}},"tags":[{"n":1},null],"m":{"k":{"x":1}}}', []),
        ('{"id":1,"s":null,"tags":null,"m":null,"ll":[[],null,[null]],"j":{"b":1}}', []),
        ('{"b":1,"s":{"b":"x"}}', ["s.b", "b"]),
        ('{"s":{"t":{"v":[{"w":1}]}}}', ["s.t.v"]),
        ('{"tags":[{"n":1},{"q":2},{"q":2,"r":0}]}', ["tags[].q", "tags[].q", "tags[].r"]),
        ('{"m":{"k":{"x":1},"l":{"y":false}}}', ["m[].y"]),
        ('{"ll":[[{"n":1}],[{"o":1}]]}', ["ll[][].o"]),
        # Nothing that says what its type is.
        ('{"s":{"e":null,"f":[[]],"g":{"BIGINT":[null]}}}', []),
        # What looks so, and is a string.
        ('{"s":{"e":"[]","f":"null","g":""}}', ["s.e", "s.f", "s.g"]),
        ('{"a.b":1,"`":{"c: d":1},"j":[1]}', ["a.b", "`"]),
    ],
)
def test_each_new_field_is_named_with_its_place(text: str, new: list[str]) -> None:
    assert read(reader_of(DEEP, "add"), text).new == new


@pytest.mark.parametrize("around", ['{"a":%s}', "[%s]"])
@pytest.mark.parametrize("kind", ["INT", "STRING", "STRUCT<b: INT>", "ARRAY<STRING>"])
def test_a_value_may_be_as_deep_as_a_record(around: str, kind: str) -> None:
    deep = "1"
    for _ in range(DEPTH_MAX - 1):
        deep = around % deep
    record = read(reader_of(f"f {kind}", "add"), f'{{"f":{deep},"other":{deep}}}')
    assert (record.reason or "").startswith("field f ") or "other" in (record.new or [])
    assert read(reader_of("f INT"), f'{{"f":[{deep}]}}').reason is not None


def test_the_frame_of_a_registrys_serializer_is_no_part_of_the_text() -> None:
    reader = RecordReader(parse_schema("", "id INT, s STRING"), "ignore", "value")
    assert reader.read(b'\0\0\0\0\7{"id":1,"s":[1, 2]}') == ReadRecord((1, "[1, 2]"), None, [])
    for data in (b"\0", b"\0\0\0\0\7", b"\0\0\0\0\7x"):
        assert str(reader.read(data).reason).startswith("the value is not JSON: ")
