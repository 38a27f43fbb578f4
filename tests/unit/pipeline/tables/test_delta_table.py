"""The commits of a history of Delta that count, and the names of columns in its files."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Row
from pyspark.sql.types import ArrayType, MapType, StringType, StructType

from pipeline.tables.delta_table import lineage, newest, odd_name
from pipeline.tables.progress import Progress


def commit(version: int, run: int | None = None, operation: str = "WRITE", to: str = "") -> Row:
    said = None if run is None else Progress("t", "id", run, {}, {0: run * 10}).text()
    return Row(
        version=version, operation=operation, operationParameters={"version": to}, userMetadata=said
    )


def test_the_newest_commit_of_ours_counts_behind_those_of_others() -> None:
    history = [commit(4, None, "OPTIMIZE"), commit(3, 2), commit(2, 1), commit(1)]
    found = newest(history)
    assert found is not None and (found.run, found.ends) == (2, {0: 20})
    assert newest([commit(1)]) is None


def test_a_restored_table_holds_what_it_held_then() -> None:
    history = [commit(4, None, "RESTORE", to="2"), commit(3, 2), commit(2, 1), commit(1)]
    assert [row.version for row in lineage(history)] == [4, 2, 1]
    found = newest(history)
    assert found is not None and found.ends == {0: 10}
    assert found.run == 2, "its number is taken: Delta keeps it"


def test_a_table_that_was_made_anew_has_nothing_of_the_old_one() -> None:
    anew = commit(3, None, "CREATE OR REPLACE TABLE AS SELECT")
    assert newest([commit(4), anew, commit(2, 1)]) is None


def test_columns_whose_names_delta_does_not_take_get_others_in_its_files() -> None:
    plain = StructType().add("a.b`c", "long").add("s", StructType().add("ü", "long"))
    assert odd_name(plain) is None
    inside = StructType().add(
        "x", MapType(StringType(), ArrayType(StructType().add("a b", "long")))
    )
    assert odd_name(StructType().add("a,b", "long")) == "a,b"
    assert odd_name(inside) == "a b"
