"""What lies inside a value is called by its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import DataType

from pipeline.columns.schema_text import parse_schema, told
from pipeline.columns.walks import checks


def test_each_value_is_called_by_its_place_the_outer_ones_first() -> None:
    def own(kind: DataType, nullable: bool, name: str) -> Iterator[tuple[str, Any]]:
        yield f"{name} {told(kind).partition('<')[0]}{'' if nullable else '!'}", None

    schema = parse_schema(
        "x", "a INT NOT NULL, s STRUCT<b: INT NOT NULL, l: ARRAY<ARRAY<INT>>>, m MAP<STRING, INT>"
    )
    assert [words for words, _ in checks(schema, own)] == [
        *("a INT!", "s STRUCT", "s.b INT!", "s.l ARRAY", "s.l[] ARRAY", "s.l[][] INT"),
        *("m MAP", "m[] INT"),
    ]
