"""The columns that the text of `Columns.to_text` describes, which a table keeps.

The names are those of the table's columns and of the fields in them, so that a renamed column is
noticed. This module makes no `Columns` and asks no registry.
"""

from __future__ import annotations

import json

from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from pipeline.columns.records import HEADERS_FIELD, PLACE_FIELDS, column_names

_PLAIN = {"raw": BinaryType(), "text": StringType()}


def kept_columns(kept: str) -> StructType:
    """Return the columns of the rows that the `Columns` of the text `kept` wrote."""
    formats = json.loads(kept)
    key, value = formats["key"], formats["value"]
    return StructType([*PLACE_FIELDS, _key_field(key), HEADERS_FIELD, *_value_fields(value).fields])


def _key_field(key: dict[str, str]) -> StructField:
    if key["format"] in _PLAIN:
        return StructField("key", _PLAIN[key["format"]])
    fields = _fields(key)
    return fields["key"] if key["format"] == "avro" else StructField("key", fields)


def _value_fields(value: dict[str, str]) -> StructType:
    if value["format"] in _PLAIN:
        return StructType([StructField("value", _PLAIN[value["format"]])])
    fields = _fields(value)
    names = column_names(fields.names)
    return StructType([StructField(names[field.name], field.dataType) for field in fields])


def _fields(kept: dict[str, str]) -> StructType:
    return StructType.fromJson(json.loads(kept["fields"]))
