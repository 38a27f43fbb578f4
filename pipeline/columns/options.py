"""The options that say how values and keys become columns, and the `Columns` that they ask for.

All that can be wrong with them is found before Spark starts. Writes nothing: whoever owns the table
keeps `Columns.to_text()` beside it and gives it back at the next run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from pipeline.columns.columns import VERSION, Columns, Format
from pipeline.columns.evolution import merged
from pipeline.columns.inference import SAMPLE, objects, schema_of
from pipeline.columns.json_fields import ADD, IGNORE, NEW_FIELDS, Json
from pipeline.columns.plain import Raw, Text
from pipeline.columns.records import column_names
from pipeline.columns.schema_text import read_schema
from pipeline.errors import PipelineError

FORMATS = ("raw", "text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How the records' values and keys are read."""
    group = parser.add_argument_group("the columns")
    add = group.add_argument
    add(
        "--value-format",
        choices=FORMATS,
        default="raw",
        help="raw: bytes as they are (the default); text: UTF-8; json: a column for each field",
    )
    add(
        "--schema",
        metavar="DDL|FILE",
        help="of the values: 'id BIGINT NOT NULL, name STRING', or a file with it, or with the "
        "JSON of a schema of Spark; json without it: found once in a sample, and kept",
    )
    add(
        "--new-fields",
        choices=NEW_FIELDS,
        help="fields of JSON that the schema lacks: add them as columns (the default without "
        "--schema), ignore them (with --schema), or take the record as a misfit",
    )
    add("--key-format", choices=FORMATS, default="raw", help="of the column key; json: a STRUCT")
    add("--key-schema", metavar="DDL|FILE", help="of keys that are JSON")


def check(options: argparse.Namespace) -> None:
    """Before Spark starts or anything is written; PipelineError for what cannot be."""
    _given(options, "schema", options.value_format)
    _given(options, "key_schema", options.key_format)
    if options.key_format == "json" and options.key_schema is None:
        raise PipelineError("--key-format json wants --key-schema: none is found for keys")
    if options.new_fields is not None and options.value_format != "json":
        raise PipelineError("--new-fields is for --value-format json")


def columns_of(
    options: argparse.Namespace, kept: str | None, sample: Callable[[], DataFrame]
) -> Columns:
    """As the options ask for, in agreement with what the table has kept.

    `kept` is the text that `Columns.to_text` gave when the table was last written, None for a new
    one. `sample` gives some records of the topic; it is called only where a schema is to be found
    in them. PipelineError where the kept columns and the options do not agree.
    """
    there = {} if kept is None else _from_text(kept)
    value = _kept_of(there, "value", options.value_format)
    key = _kept_of(there, "key", options.key_format)
    return Columns(_value(options, value, sample), _key(options, key))


def _value(
    options: argparse.Namespace, kept: dict[str, str], sample: Callable[[], DataFrame]
) -> Format:
    if options.value_format != "json":
        return Raw() if options.value_format == "raw" else Text()
    given = _given(options, "schema", "json")
    if kept:
        there = StructType.fromJson(json.loads(kept["fields"]))
        fields = there if given is None else merged(there, given)
    else:
        fields = _found(sample()) if given is None else given
    return Json(fields, options.new_fields or (ADD if given is None else IGNORE))


def _key(options: argparse.Namespace, kept: dict[str, str]) -> Format:
    if options.key_format != "json":
        return Raw("key") if options.key_format == "raw" else Text("key")
    given = _given(options, "key_schema", "json")
    assert given is not None, "it was checked"
    if kept:
        given = merged(StructType.fromJson(json.loads(kept["fields"])), given, "key.")
    return Json(given, name="key")


def _given(options: argparse.Namespace, name: str, kind: str) -> StructType | None:
    """The schema that an option gives."""
    given, option = getattr(options, name), name.replace("_", "-")
    if given is None:
        return None
    if kind != "json":
        what = "key" if name == "key_schema" else "value"
        raise PipelineError(f"--{option} is for JSON: say --{what}-format json")
    schema = read_schema(option, given)
    if name == "schema":
        column_names(schema.names)
    return schema


def _found(sample: DataFrame) -> StructType:
    """The schema of a sample. PipelineError where there is none."""
    rows = sample.select("value").where("value IS NOT NULL").limit(SAMPLE).collect()
    if not rows:
        raise PipelineError(
            "the topic has no record in which a schema could be found: give --schema, or run again "
            "when records are there"
        )
    schema = schema_of(objects(row.value for row in rows))
    if not schema.fields:
        raise PipelineError(
            f"none of {len(rows)} records is a JSON object with fields: is --value-format json "
            "right?"
        )
    column_names(schema.names)
    return schema


def _from_text(kept: str) -> dict[str, dict[str, str]]:
    found = json.loads(kept)
    if found.get("version") != VERSION:
        raise PipelineError(
            f"the table's columns were kept by another version of ottla-pipeline "
            f"({found.get('version')}, this one knows {VERSION}): use that one"
        )
    return {what: found[what] for what in ("value", "key")}


def _kept_of(there: dict[str, dict[str, str]], what: str, wanted: str) -> dict[str, str]:
    found = there.get(what, {})
    if found and found["format"] != wanted:
        raise PipelineError(
            f"the table holds a {what} that is {found['format']}: say --{what}-format "
            f"{found['format']}, or write into another table"
        )
    return found
