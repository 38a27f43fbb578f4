"""Small files, put in place whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.pipeline.small_frames import ON_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK


def test_files_are_put_in_place_whole_and_once(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.files import Files

    files = Files(spark, str(tmp_path / "f"))
    files.write_json("a/b.json", {"x": [1, "ü"]})
    assert files.read_json("a/b.json") == {"x": [1, "ü"]}
    assert files.names("a") == ["b.json"] and files.files_below("") == ["a/b.json"]
    with pytest.raises(FileExistsError):
        files.write_json("a/b.json", {})
    files.move("a/b.json", "c/d.json")
    assert files.exists("c/d.json") and not files.exists("a/b.json")
    files.delete("c")
    files.delete("not there")
    assert files.names("c") == []
