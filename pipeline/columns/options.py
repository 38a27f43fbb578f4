"""The options that say how values and keys become columns, and the `Columns` for them.

`check` rejects wrong options before Spark starts. Writes nothing: the owner of the table keeps the
text of `Columns.to_text()` with the table and passes the text to the next run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from pipeline.columns.avro.avro_fields import PACKAGE, Avro, Framed
from pipeline.columns.avro.avro_schema import AvroSchema
from pipeline.columns.avro.registry import Registry
from pipeline.columns.columns import VERSION, Columns, Format
from pipeline.columns.evolution import merged
from pipeline.columns.held_names import Names, check_names
from pipeline.columns.json.converters import ADD, IGNORE
from pipeline.columns.json_fields import NEW_FIELDS, Json, fields_of_sample
from pipeline.columns.plain import Raw, Text
from pipeline.columns.records import HEADERS_FIELD, PLACE_FIELDS, column_names
from pipeline.columns.schema_text import read_schema, text_of
from pipeline.errors import PipelineError

FORMATS = ("raw", "text", "json", "avro")
_WITH_SCHEMA = ("json", "avro")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a job reads the records' values and keys."""
    group = parser.add_argument_group("the columns")
    add = group.add_argument
    add(
        "--value-format",
        choices=FORMATS,
        default="raw",
        help="Read values in this format. raw: bytes as they are; text: UTF-8; json, avro: a "
        "column for each field. [default: %(default)s]",
    )
    add(
        "--schema",
        metavar="DDL|FILE",
        help="Read values by this schema. For JSON: 'id BIGINT NOT NULL, name STRING', or a file "
        "with such a line or with a schema of Spark as JSON. For Avro: a file with the schema, "
        "with --registry the reader's schema. [default for JSON: found in a sample, and kept]",
    )
    add(
        "--new-fields",
        choices=NEW_FIELDS,
        help="Choose what happens to fields of JSON that the schema lacks. add: they become "
        "columns; ignore: they are left out; misfit: the record is a dead letter. [default: add "
        "without --schema, ignore with it]",
    )
    add(
        "--key-format",
        choices=FORMATS,
        default="raw",
        help="Read keys in this format; json: the column key is a STRUCT. [default: %(default)s]",
    )
    add("--key-schema", metavar="DDL|FILE", help="Read keys of JSON or Avro by this schema.")
    add(
        "--registry",
        metavar="URL",
        help="Get the schemas of Avro from this registry, http://USER:PASSWORD@HOST:PORT; each "
        "value then begins with its schema's id.",
    )
    add(
        "--subject",
        metavar="NAME",
        help="Take the values' schemas of this subject of the registry. [default: TOPIC-value]",
    )


def check(options: argparse.Namespace) -> None:
    """Check the options before Spark starts; raise PipelineError for options that do not fit.

    Asks the registry for its schemas, so that a registry which does not answer is an error at once.
    Raises Unreachable, a PipelineError, then.
    """
    formats = {"value": options.value_format, "key": options.key_format}
    for what, name in (("value", "schema"), ("key", "key_schema")):
        if getattr(options, name) is not None and formats[what] not in _WITH_SCHEMA:
            option = name.replace("_", "-")
            raise PipelineError(
                f"--{option} is for JSON and Avro: say --{what}-format json, or avro"
            )
    if options.key_format == "json" and options.key_schema is None:
        raise PipelineError("--key-format json wants --key-schema: none is found for keys")
    if options.new_fields is not None and options.value_format != "json":
        raise PipelineError("--new-fields is for --value-format json")
    if options.registry is not None and "avro" not in formats.values():
        raise PipelineError("--registry is for Avro: say --value-format avro, or --key-format avro")
    if options.subject is not None and options.registry is None:
        raise PipelineError("--subject is a name in a registry: say --registry URL")
    given = {what: _given_columns(options, what, form) for what, form in formats.items()}
    own = (*PLACE_FIELDS, *given["key"], HEADERS_FIELD)
    check_names(options.to, StructType([*own, *given["value"]]))


def _given_columns(options: argparse.Namespace, what: str, form: str) -> StructType:
    """Return the columns that a given schema has; no columns if the schema is found later, or if
    the format needs none."""
    name = "key" if what == "key" else None
    if form == "avro":
        reader, framed, _ = _reader(options, what)
        return Avro.of(reader, None, framed, name).schema
    given = _given(options, what) if form == "json" else None
    return StructType([]) if given is None else Json(given, name=name).schema


def packages(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the Maven coordinates of the jars that these formats need."""
    return (PACKAGE,) if "avro" in (options.value_format, options.key_format) else ()


def columns_of(
    options: argparse.Namespace, kept: str | None, sample: Callable[[], DataFrame]
) -> Columns:
    """Return the columns that the options ask for, in agreement with the columns of the table.

    `kept` is the text that `Columns.to_text` gave when the table was last written, None for a new
    table. `sample` returns some records of the topic; it is called only if a schema has to be found
    in them. Raises PipelineError if the kept columns and the options do not agree.
    """
    there = {} if kept is None else _from_text(kept)
    value = _kept_of(there, "value", options.value_format)
    key = _kept_of(there, "key", options.key_format)
    of_key = _key(options, key)
    names = Names(options.to, (*PLACE_FIELDS, *of_key.schema, HEADERS_FIELD))
    columns = Columns(_value(options, value, sample, names), of_key)
    check_names(options.to, columns.schema)
    return columns


def _value(
    options: argparse.Namespace,
    kept: dict[str, str],
    sample: Callable[[], DataFrame],
    names: Names,
) -> Format:
    if options.value_format == "avro":
        return _avro(options, kept, "value")
    if options.value_format != "json":
        return Raw() if options.value_format == "raw" else Text()
    given = _given(options, "value")
    if kept:
        there = _fields(kept)
        fields = there if given is None else merged(there, given, options.to)
    else:
        fields = _of_sample(sample(), names) if given is None else given
    return Json(fields, options.new_fields or (ADD if given is None else IGNORE), names=names)


def _of_sample(sample: DataFrame, names: Names) -> StructType:
    """Return the fields of a sample that a table can hold. Raises PipelineError if a column would
    be lost."""
    sampled = fields_of_sample(sample)
    return names.held_in_all(sampled.fields, sampled.rare)


def _key(options: argparse.Namespace, kept: dict[str, str]) -> Format:
    if options.key_format == "avro":
        return _avro(options, kept, "key")
    if options.key_format != "json":
        return Raw("key") if options.key_format == "raw" else Text("key")
    given = _given(options, "key")
    assert given is not None, "it was checked"
    if kept:
        given = merged(_fields(kept), given, options.to, "key.")
    return Json(given, name="key")


def _avro(options: argparse.Namespace, kept: dict[str, str], what: str) -> Format:
    reader, framed, number = _reader(options, what)
    name = "key" if what == "key" else None
    units = json.loads(kept["units"]) if "units" in kept else None
    fields = _fields(kept) if kept else None
    avro = Avro.of(reader, fields, framed, name, options.to, units)
    if framed is None:
        return avro
    seen = set(json.loads(kept["ids"])) if kept else set()
    ids = sorted(seen | ({number} if number is not None else set()))
    return avro.with_ids(ids) if ids else avro


def _reader(options: argparse.Namespace, what: str) -> tuple[AvroSchema, Framed | None, int | None]:
    """Return the reader's schema, the registry with its schemas, and the reader's schema id there.
    The registry or the id is None if there is none."""
    name = "key_schema" if what == "key" else "schema"
    given, option = getattr(options, name), name.replace("_", "-")
    registry = None if options.registry is None else Registry(options.registry)
    if registry is not None:
        registry.check()
    if given is not None:
        if registry is not None:
            registry.by_id(0)  # raises PipelineError if the registry does not answer
        schema = AvroSchema(f"--{option}", text_of(option, given))
        return schema, None if registry is None else Framed(registry, None, {}), None
    if registry is None:
        raise PipelineError(f"--{what}-format avro wants --{option} FILE, or --registry URL")
    subject = options.subject if what == "value" and options.subject else None
    subject = subject or f"{options.topic}-{what}"
    number, text = registry.latest(subject)
    schema = AvroSchema(f"schema id {number} of the registry", text)
    return schema, Framed(registry, subject, {}), number


def _given(options: argparse.Namespace, what: str) -> StructType | None:
    """Return the schema of JSON that an option gives, None without the option."""
    given = options.key_schema if what == "key" else options.schema
    if given is None:
        return None
    schema = read_schema("key-schema" if what == "key" else "schema", given)
    if what == "value":
        column_names(schema.names)
    return schema


def _fields(kept: dict[str, str]) -> StructType:
    return StructType.fromJson(json.loads(kept["fields"]))


def _from_text(kept: str) -> dict[str, dict[str, str]]:
    formats = json.loads(kept)
    if formats.get("version") != VERSION:
        raise PipelineError(
            f"the table's columns were kept by another version of ottla-pipeline "
            f"({formats.get('version')}, this one knows {VERSION}): use that one"
        )
    return {what: formats[what] for what in ("value", "key")}


def _kept_of(there: dict[str, dict[str, str]], what: str, wanted: str) -> dict[str, str]:
    form = there.get(what, {})
    if form and form["format"] != wanted:
        raise PipelineError(
            f"the table holds a {what} that is {form['format']}: say --{what}-format "
            f"{form['format']}, or write into another table"
        )
    return form
