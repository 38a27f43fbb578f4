"""What a person asks for, and the columns that it makes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import PipelineError
from tests.unit.pipeline.columns.avro.fake_registry import fake_registry, record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.columns.columns import Columns

JSON, AVRO = ("--value-format", "json"), ("--value-format", "avro")


def given(*words: str) -> argparse.Namespace:
    from pipeline.columns import options

    parser = argparse.ArgumentParser()
    options.add_arguments(parser)
    parser.add_argument("--to", default="delta")
    parser.set_defaults(topic="t")
    found = parser.parse_args(words)
    options.check(found)
    return found


def no_sample() -> DataFrame:
    raise AssertionError("no sample is wanted")


def columns_of(*words: str, kept: str | None = None) -> Columns:
    from pipeline.columns import options

    return options.columns_of(given(*words), kept, no_sample)


def kind_of(columns: Columns, name: str) -> str:
    return columns.schema[name].dataType.simpleString()


def test_bytes_and_text() -> None:
    text = ("--value-format", "text", "--key-format", "text")
    for words, kind in (((), "binary"), (text, "string")):
        assert {kind_of(columns_of(*words), name) for name in ("key", "value")} == {kind}


def test_a_schema_is_given_once_and_widened_later() -> None:
    first = columns_of(*JSON, "--schema", "id BIGINT, offset INT")
    assert first.schema.names[-2:] == ["id", "value_offset"]
    again = columns_of(*JSON, kept=first.to_text())
    assert again.schema == first.schema
    wider = columns_of(*JSON, "--schema", "id INT, name STRING", kept=first.to_text())
    assert wider.schema.names[-3:] == ["id", "value_offset", "name"]
    assert kind_of(wider, "id") == "bigint"
    grown = columns_of(*JSON, "--schema", "offset DOUBLE", kept=wider.to_text())
    assert kind_of(grown, "value_offset") == "double"
    with pytest.raises(PipelineError, match="would be DOUBLE, which Iceberg does not change"):
        columns_of(*JSON, "--schema", "offset DOUBLE", "--to", "iceberg", kept=wider.to_text())


def test_new_fields_are_added_where_no_schema_is_given() -> None:
    from pipeline.columns.json_fields import Json

    kept = columns_of(*JSON, "--schema", "id INT").to_text()
    found = [
        columns_of(*JSON, *words, kept=kept).value
        for words in ((), ("--schema", "id INT"), ("--new-fields", "misfit"))
    ]
    assert [isinstance(one, Json) and one.new_fields for one in found] == [
        "add",
        "ignore",
        "misfit",
    ]


def test_keys_of_json() -> None:
    words = ("--key-format", "json", "--key-schema")
    first = columns_of(*words, "id INT")
    assert kind_of(first, "key") == "struct<id:int>"
    wider = columns_of(*words, "id INT, b STRING", kept=first.to_text())
    assert kind_of(wider, "key") == "struct<id:int,b:string>"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--schema", "a INT"), "--schema is for JSON and Avro: say --value-format json, or avro"),
        (("--key-schema", "a INT"), "--key-schema is for JSON and Avro: say --key-format json"),
        (("--key-format", "json"), "--key-format json wants --key-schema"),
        (("--new-fields", "add"), "--new-fields is for --value-format json"),
        ((*JSON, "--schema", "a NUMBER"), "--schema: column a: there is no type NUMBER"),
        ((*JSON, "--schema", "offset INT, value_offset INT"), "would have one column"),
        ((*JSON, "--schema", "nofile.json"), "--schema nofile.json: No such file"),
        ((*JSON, "--registry", "http://r"), "--registry is for Avro: say --value-format avro"),
        (("--subject", "s"), "--subject is a name in a registry: say --registry URL"),
        (AVRO, "--value-format avro wants --schema FILE, or --registry URL"),
        (("--key-format", "avro"), "--key-format avro wants --key-schema FILE, or --registry URL"),
        ((*AVRO, "--schema", "nofile.avsc"), "--schema nofile.avsc: No such file"),
        ((*AVRO, "--schema", '{"type": "no"}'), "--schema: the type no is not defined in it"),
        ((*AVRO, "--registry", "r:1"), "--registry r:1: http://HOST:PORT is wanted"),
    ],
)
def test_what_cannot_be_is_said_before_spark_starts(words: tuple[str, ...], line: str) -> None:
    with pytest.raises(PipelineError, match=line):
        given(*words)


def test_a_table_of_other_columns_is_refused() -> None:
    kept = columns_of(*JSON, "--schema", "id BIGINT").to_text()
    for words, line in (
        ((), "the table holds a value that is json: say --value-format json, or write into"),
        ((*JSON, "--key-format", "text"), "the table holds a key that is raw"),
        ((*JSON, "--schema", "id STRING"), "column id is BIGINT in the table and would be STRING"),
    ):
        with pytest.raises(PipelineError, match=line):
            columns_of(*words, kept=kept)
    with pytest.raises(PipelineError, match=r"another version of ottla-pipeline \(2, this one"):
        columns_of(*JSON, kept=kept.replace('"version":1', '"version":2'))


def test_avro_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(record(("id", "int"), ("offset", ["null", "string"])))
    words = (*AVRO, "--schema", str(file), "--key-format", "avro", "--key-schema", '"long"')
    first = columns_of(*words)
    assert [kind_of(first, name) for name in ("key", "id", "value_offset")] == [
        "bigint",
        "int",
        "string",
    ]
    file.write_text(record(("id", "int"), ("name", "string")))
    assert columns_of(*words, kept=first.to_text()).schema.names[6:] == [
        "id",
        "value_offset",
        "name",
    ]
    file.write_text(record(("id", "long")))
    assert kind_of(columns_of(*words, kept=first.to_text()), "id") == "bigint"
    with pytest.raises(PipelineError, match="column id is INT in the table and would be BIGINT"):
        columns_of(*words, "--to", "parquet", kept=first.to_text())


def test_a_time_of_day_of_avro_keeps_its_unit(tmp_path: Path) -> None:
    def schema(unit: str) -> str:
        kind = {"type": "int" if unit == "millis" else "long", "logicalType": f"time-{unit}"}
        return record(("t", ["null", kind]), ("ts", {"type": "array", "items": kind}))

    file = tmp_path / "s.avsc"
    words = (*AVRO, "--schema", str(file))
    for unit, other, ours in (("millis", "micros", "int"), ("micros", "millis", "bigint")):
        file.write_text(schema(unit))
        kept = columns_of(*words).to_text()
        file.write_text(schema(other))
        for text in (kept, without_units(kept)):
            columns = columns_of(*words, "--to", "parquet", kept=text)
            assert (kind_of(columns, "t"), kind_of(columns, "ts")) == (ours, f"array<{ours}>")
            units = json.loads(json.loads(columns.to_text())["value"]["units"])
            assert units == {"t": f"time-{unit}", "ts[]": f"time-{unit}"}
    file.write_text(record(("t", "int")))
    number = columns_of(*words).to_text()
    file.write_text(record(("t", {"type": "long", "logicalType": "time-micros"})))
    assert kind_of(columns_of(*words, kept=number), "t") == "bigint"


def without_units(kept: str) -> str:
    """The text as an older version kept it."""
    text = json.loads(kept)
    del text["value"]["units"]
    return json.dumps(text)


def test_avro_of_a_registry() -> None:
    with fake_registry() as served:
        served.register("t-value", 1, record(("id", "int"), ("old", "string")))
        served.register("other", 3, '"string"')
        words = (*AVRO, "--registry", served.url)
        first = columns_of(*words)
        assert first.schema.names[6:] == ["id", "old"]
        served.register("t-value", 2, record(("id", "int"), ("new", "string")))
        again = columns_of(*words, kept=first.to_text())
        assert again.schema.names[6:] == ["id", "old", "new"]
        assert json.loads(json.loads(again.to_text())["value"]["ids"]) == [1, 2]
        other = columns_of(*words, "--subject", "other")
        assert kind_of(other, "value") == "string"
        reader = columns_of(*words, "--schema", record(("id", "int")))
        assert reader.schema.names[6:] == ["id"]
        with pytest.raises(PipelineError, match="has no subject none: name another"):
            given(*words, "--subject", "none")
    with pytest.raises(PipelineError, match="does not answer: Connection refused"):
        given(*words, "--schema", record(("id", "int")))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((*JSON, "--schema", '{"type":"struct","fields":[%s]}'), "no field without a name"),
        ((*JSON, "--schema", "_file STRING"), "Iceberg has a column _file of its own: give a"),
        (
            ("--key-format", "json", "--key-schema", "id INT", *JSON, "--schema", "`key.id` INT"),
            "two fields are key.id to Iceberg",
        ),
        ((*JSON, "--schema", "`headers.element` INT"), "two fields are headers.element to"),
        ((*AVRO, "--schema", "%s"), "Iceberg has a column _pos of its own: give a"),
    ],
)
def test_names_that_a_table_refuses_are_known_before_spark_starts(
    words: tuple[str, ...], line: str
) -> None:
    inside = {"type": "struct", "fields": [{"name": "", "type": "long", "nullable": True}]}
    spark = json.dumps({"name": "s", "type": inside, "nullable": True})
    avro = record(("_pos", "int"))
    words = tuple(one.replace("%s", avro if words[1] == "avro" else spark) for one in words)
    given(*words)
    with pytest.raises(PipelineError, match=line):
        given(*words, "--to", "iceberg")


def test_fields_of_avro_that_are_one_are_refused_in_every_format() -> None:
    inside = {"type": "record", "name": "I", "fields": [{"name": "a", "type": "int"}]}
    inside["fields"] = [{"name": "a", "type": "int"}, {"name": "A", "type": "int"}]
    with pytest.raises(PipelineError, match=r"s\.A is there twice, for engines ignore case"):
        given(*AVRO, "--schema", record(("s", inside)), "--to", "parquet")


def test_the_jar_of_avro_is_wanted_where_avro_is() -> None:
    from pipeline.columns.options import packages

    schema = ("--schema", '"string"')
    assert packages(given()) == ()
    assert packages(given(*AVRO, *schema)) == ("org.apache.spark:spark-avro_2.13:4.0.0",)
