"""New columns are merged, types grow as the table's format permits, other changes are refused."""

from __future__ import annotations

import pytest

FORMS = ("delta", "iceberg", "parquet")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kept", "wanted", "merged_columns"),
    [
        ("a INT", "a INT, b STRING", "a INT, b STRING"),
        ("a INT, b STRING", "b STRING", "a INT, b STRING"),
        ("a INT", "a INT NOT NULL", "a INT NOT NULL"),
        # Narrower than the column: all its values fit.
        ("a BIGINT, b DOUBLE", "a SMALLINT, b FLOAT", "a BIGINT, b DOUBLE"),
        ("a DOUBLE, b DOUBLE", "a SMALLINT, b INT", "a DOUBLE, b DOUBLE"),
        ("a DECIMAL(12,2)", "a DECIMAL(10,1)", "a DECIMAL(12,2)"),
        ("s STRUCT<x: INT>", "s STRUCT<y: INT>", "s STRUCT<x: INT, y: INT>"),
        ("s ARRAY<STRUCT<x: INT>>", "s ARRAY<STRUCT<x: INT, y: INT>>", None),
        ("m MAP<STRING, STRUCT<x: INT>>", "m MAP<STRING, STRUCT<x: INT, y: INT>>", None),
    ],
)
def test_new_columns_come_behind_the_kept_ones(
    form: str, kept: str, wanted: str, merged_columns: str | None
) -> None:
    from pipeline.columns.evolution import merged
    from pipeline.columns.schema_text import parse_schema

    read = [parse_schema("x", text) for text in (kept, wanted, merged_columns or wanted)]
    assert merged(read[0], read[1], form) == read[2]


@pytest.mark.parametrize(
    ("kept", "wanted", "wider", "forms"),
    [
        ("SMALLINT", "INT", "INT", "delta iceberg"),
        ("SMALLINT", "BIGINT", "BIGINT", "delta iceberg"),
        ("INT", "BIGINT", "BIGINT", "delta iceberg"),
        ("FLOAT", "DOUBLE", "DOUBLE", "delta iceberg"),
        ("DECIMAL(10,2)", "DECIMAL(12,2)", "DECIMAL(12,2)", "delta iceberg"),
        # The scale grows: the digits before the point stay.
        ("DECIMAL(10,2)", "DECIMAL(10,4)", "DECIMAL(12,4)", "delta"),
        ("DECIMAL(10,2)", "DECIMAL(15,0)", "DECIMAL(17,2)", "delta iceberg"),
        # Avro reads int as float, which does not hold each INT: DOUBLE does.
        ("INT", "DOUBLE", "DOUBLE", "delta"),
        ("INT", "FLOAT", "DOUBLE", "delta"),
        ("FLOAT", "INT", "DOUBLE", "delta iceberg"),
        # No type holds both exactly.
        ("BIGINT", "DOUBLE", "", ""),
        ("BIGINT", "FLOAT", "", ""),
        ("DECIMAL(38,2)", "DECIMAL(10,4)", "", ""),
        ("INT", "STRING", "", ""),
        ("STRING", "BINARY", "", ""),
        ("INT", "DATE", "", ""),
        ("DATE", "TIMESTAMP", "", ""),
    ],
)
@pytest.mark.parametrize("around", ["%s", "STRUCT<x: %s>", "ARRAY<%s>", "MAP<STRING, %s>"])
@pytest.mark.parametrize("form", FORMS)
def test_a_type_grows_where_the_format_permits_and_is_refused_in_one_line_elsewhere(
    form: str, around: str, kept: str, wanted: str, wider: str, forms: str
) -> None:
    from pipeline.columns.evolution import merged
    from pipeline.columns.schema_text import parse_schema
    from pipeline.errors import PipelineError

    there, asked = (parse_schema("x", f"c {around % kind}") for kind in (kept, wanted))
    if form in forms.split():
        assert merged(there, asked, form) == parse_schema("x", f"c {around % wider}")
        return
    with pytest.raises(PipelineError) as refused:
        merged(there, asked, form)
    place = {"%s": "c", "STRUCT<x: %s>": "c.x"}.get(around, "c[]")
    begins = f"column {place} is {kept} in the table and would be {wanted}"
    why = {
        "parquet": ", but columns of plain Parquet do not grow, as those of Delta and Iceberg do",
        "iceberg": ", which Iceberg does not change",
    }
    middle = why[form] if wider else ""
    assert str(refused.value) == (
        f"{begins}{middle}: write into another table, or keep {kept} in the schema"
    )


@pytest.mark.parametrize(
    ("kept", "wanted", "words"),
    [
        ("s ARRAY<STRUCT<x: INT>>", "s ARRAY<STRING>", "column s.. is STRUCT<x: INT> in the"),
        ("id INT", "ID INT", "column id of the table and ID are one"),
    ],
)
def test_another_change_is_refused_in_one_line(kept: str, wanted: str, words: str) -> None:
    from pipeline.columns.evolution import merged
    from pipeline.columns.schema_text import parse_schema
    from pipeline.errors import PipelineError

    with pytest.raises(PipelineError, match=words):
        merged(parse_schema("x", kept), parse_schema("x", wanted), "delta")


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
