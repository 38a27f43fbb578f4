"""Which types are judged.

`tests/compat/pipeline/columns/test_table_times.py` has what becomes of their values.
"""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pipeline.columns.schema_text import parse_schema
from pipeline.columns.strict_types import as_read, is_strict


def test_a_type_that_is_judged_is_read_as_variant_wherever_it_stands() -> None:
    schema = parse_schema(
        "x",
        "id INT NOT NULL, d DATE NOT NULL, s STRUCT<t: TIMESTAMP, x: DOUBLE>, l ARRAY<DATE>, "
        "m MAP<STRING, STRUCT<n: TIMESTAMP_NTZ>>",
    )
    assert as_read(schema).simpleString() == (
        "struct<id:int,d:variant,s:struct<t:variant,x:double>,l:array<variant>,"
        "m:map<string,struct<n:variant>>>"
    )
    assert [field.nullable for field in as_read(schema)] == [False, False, True, True, True]
    assert [is_strict(field.dataType) for field in schema] == [False, True, True, True, True]
