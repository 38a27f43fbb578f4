"""New columns are merged, a changed type is refused."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("kept", "wanted", "both"),
    [
        ("a INT", "a INT, b STRING", "a INT, b STRING"),
        ("a INT, b STRING", "b STRING", "a INT, b STRING"),
        ("a INT", "a INT NOT NULL", "a INT NOT NULL"),
        # Narrower than the column: all its values fit.
        ("a BIGINT, b DOUBLE", "a SMALLINT, b FLOAT", "a BIGINT, b DOUBLE"),
        ("a DECIMAL(12,2)", "a DECIMAL(10,1)", "a DECIMAL(12,2)"),
        ("s STRUCT<x: INT>", "s STRUCT<y: INT>", "s STRUCT<x: INT, y: INT>"),
        ("s ARRAY<STRUCT<x: INT>>", "s ARRAY<STRUCT<x: INT, y: INT>>", None),
        ("m MAP<STRING, STRUCT<x: INT>>", "m MAP<STRING, STRUCT<x: INT, y: INT>>", None),
    ],
)
def test_new_columns_come_behind_the_kept_ones(kept: str, wanted: str, both: str | None) -> None:
    from pipeline.columns.evolution import merged
    from pipeline.columns.schema_text import parse_schema

    read = [parse_schema("x", text) for text in (kept, wanted, both or wanted)]
    assert merged(read[0], read[1]) == read[2]


@pytest.mark.parametrize(
    ("kept", "wanted", "words"),
    [
        ("a INT", "a STRING", "column a is INT in the table and would be STRING: write into anoth"),
        ("a INT", "a BIGINT", "column a is INT in the table and would be BIGINT"),
        ("a BIGINT", "a DOUBLE", "column a is BIGINT in the table and would be DOUBLE"),
        ("a DECIMAL(10,2)", "a DECIMAL(10,4)", "would be DECIMAL.10,4."),
        ("s STRUCT<x: INT>", "s STRUCT<x: DATE>", "column s.x is INT in the table and would be DA"),
        ("s ARRAY<STRUCT<x: INT>>", "s ARRAY<STRING>", "column s.. is STRUCT<x: INT> in the"),
        ("id INT", "ID INT", "column id of the table and ID are one"),
    ],
)
def test_a_changed_type_is_refused_in_one_line(kept: str, wanted: str, words: str) -> None:
    from pipeline.columns.evolution import merged
    from pipeline.columns.schema_text import parse_schema
    from pipeline.errors import PipelineError

    with pytest.raises(PipelineError, match=words):
        merged(parse_schema("x", kept), parse_schema("x", wanted))


def test_what_is_found_in_records_adds_and_changes_nothing() -> None:
    from pipeline.columns.evolution import grown
    from pipeline.columns.schema_text import parse_schema

    kept = parse_schema("x", "a INT NOT NULL, s STRUCT<x: INT>, l ARRAY<STRUCT<x: INT>>")
    found = parse_schema(
        "x", "a DOUBLE, s STRUCT<x: STRING, y: INT>, l ARRAY<STRUCT<y: INT>>, n INT"
    )
    assert grown(kept, found) == parse_schema(
        "x",
        "a INT NOT NULL, s STRUCT<x: INT, y: INT>, l ARRAY<STRUCT<x: INT, y: INT>>, n INT",
    )
    assert grown(kept, parse_schema("x", "A INT")) == kept


def test_what_is_found_in_the_values_of_a_map_is_in_each_of_them() -> None:
    from pyspark.sql.types import IntegerType

    from pipeline.columns.evolution import grown
    from pipeline.columns.schema_text import parse_schema

    kept = parse_schema("x", "m MAP<STRING, STRUCT<x: INT>>")
    found = parse_schema("x", "m STRUCT<k: STRUCT<x: INT, y: INT>, l: STRUCT<z: STRING>>, N INT")
    found = found.add("n", IntegerType())  # one with N
    assert grown(kept, found) == parse_schema(
        "x", "m MAP<STRING, STRUCT<x: INT, y: INT, z: STRING>>, N INT"
    )
