"""What ALTER TABLE has to do before rows are added, and which names a person has changed."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import StructType

from pipeline.columns.schema_text import parse_schema
from pipeline.errors import PipelineError
from pipeline.tables.column_changes import fitted, growths, refuse_renamed


def schema(text: str) -> StructType:
    return parse_schema("x", text)


def test_each_type_that_is_too_narrow_is_found_with_its_path() -> None:
    there = schema(
        "a INT, b BIGINT, `c.d` STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<x: FLOAT>>, "
        "m MAP<STRING, INT>, ll ARRAY<ARRAY<DECIMAL(5,2)>>, mine STRING"
    )
    rows = schema(
        "a BIGINT, b INT, `c.d` STRUCT<x: BIGINT, y: STRING, new: INT>, "
        "l ARRAY<STRUCT<x: DOUBLE>>, m MAP<STRING, DOUBLE>, ll ARRAY<ARRAY<DECIMAL(9,2)>>, new INT"
    )
    found = list(growths(there, rows))
    assert [growth.path for growth in found] == [
        ("a",),
        ("c.d", "x"),
        ("l", "element", "x"),
        ("m", "value"),
        ("ll", "element", "element"),
    ]
    assert str(found[-1]) == (
        "column ll.element.element is DECIMAL(9,2) from now on (DECIMAL(5,2) before)"
    )
    back = [growth.path for growth in growths(rows, there)]
    assert back == [("b",)], "what is narrower fits"


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ("number INT, s STRUCT<x: INT>", "column id of /t was renamed by hand, perhaps to number"),
        ("ID INT, s STRUCT<x: INT>", "column id of /t was renamed by hand, perhaps to ID"),
        ("id INT, s STRUCT<z: INT>", "column s.x of /t was renamed by hand, perhaps to s.z"),
        ("n INT, m INT, s STRUCT<x: INT>", "column id of /t was renamed .* perhaps to n or m: re"),
    ],
)
def test_a_name_that_is_gone_beside_one_that_the_job_did_not_make_is_a_renamed_one(
    there: str, words: str
) -> None:
    with pytest.raises(PipelineError, match=words):
        refuse_renamed("/t", schema("id INT, s STRUCT<x: INT>"), schema(there))


def test_a_field_in_a_list_or_a_map_may_be_renamed_too() -> None:
    for kind in ("ARRAY<STRUCT<x: INT>>", "MAP<STRING, STRUCT<x: INT>>"):
        with pytest.raises(PipelineError, match=r"column c\.(element|value)\.x of /t was renamed"):
            refuse_renamed("/t", schema(f"c {kind}"), schema(f"c {kind.replace('x', 'y')}"))


@pytest.mark.parametrize("there", ["id INT, s STRUCT<x: INT>, mine INT", "id INT", "s STRING"])
def test_a_column_that_was_added_or_dropped_is_none(there: str) -> None:
    refuse_renamed("/t", schema("id INT, s STRUCT<x: INT>"), schema(there))


def test_a_column_that_was_there_together_with_the_missing_one_is_no_new_name() -> None:
    kept, known = schema("id INT, s STRUCT<x: INT>"), schema("id INT, s STRUCT<x: INT, y: INT>")
    there = schema("id INT, s STRUCT<y: INT>")
    refuse_renamed("/t", kept, there, known)
    with pytest.raises(PipelineError, match=r"column s\.x of /t was renamed .* to s\.y"):
        refuse_renamed("/t", kept, there)
    with pytest.raises(PipelineError, match=r"perhaps to s\.z: rename"):
        refuse_renamed("/t", kept, schema("id INT, s STRUCT<y: INT, z: INT>"), known)


def test_rows_get_types_as_wide_as_the_table_has_them() -> None:
    rows = schema(
        "a INT NOT NULL, s STRUCT<x: INT, new: INT>, l ARRAY<FLOAT>, m MAP<STRING, INT>, b BIGINT"
    )
    there = schema("b INT, a BIGINT, s STRUCT<y: INT, x: BIGINT>, l ARRAY<DOUBLE>, m STRING")
    assert fitted(rows, there) == schema(
        "a BIGINT NOT NULL, s STRUCT<x: BIGINT, new: INT>, l ARRAY<DOUBLE>, m MAP<STRING, INT>, "
        "b BIGINT"
    )
    assert fitted(rows, rows) == rows
