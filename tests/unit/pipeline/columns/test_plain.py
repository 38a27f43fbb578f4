"""Keys and values that are kept as they are: their columns."""

from __future__ import annotations


def test_each_has_one_column() -> None:
    from pipeline.columns.plain import Raw, Text

    assert Raw("key").schema.simpleString() == "struct<key:binary>"
    assert Text().schema.simpleString() == "struct<value:string>"
