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
    from pipeline.tables.files import Files

    files = Files(spark, str(tmp_path / "f"))
    assert files.is_local
    files.write_json("a/b.json", {"x": [1, "ü"]})
    assert files.read_json("a/b.json") == {"x": [1, "ü"]}
    assert files.names("a") == ["b.json"] and files.files_below("") == ["a/b.json"]
    with pytest.raises(FileExistsError):
        files.write_json("a/b.json", {})
    assert (tmp_path / "f" / "a" / ".b.json.crc").exists(), "as Hadoop writes"
    files.move("a/b.json", "c/d.json")
    assert [one.name for one in (tmp_path / "f" / "c").iterdir()].count(".d.json.crc") == 1
    assert files.read_json("c/d.json") == {"x": [1, "ü"]}, "the checksum came with it"
    assert files.exists("c/d.json") and not files.exists("a/b.json")
    files.delete("c")
    files.delete("not there")
    assert files.names("c") == []


def test_other_file_systems_are_asked_through_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    """The same of a file system that is not known to be local."""
    from pipeline.tables.files import Files

    local, other = (Files(spark, str(tmp_path / "f")) for _ in range(2))
    other._local = None
    assert not other.is_local
    local.write_json("a/b/c.json", 1)
    assert other.files_below("a") == ["b/c.json"] == local.files_below("a")
    other.move("a/b/c.json", "d/e.json")
    for files in (local, other):
        assert files.exists("d/e.json") and not files.exists("a/b/c.json")
        assert files.files_below("d") == ["e.json"]


def test_an_address_of_a_local_file_is_local(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.tables.files import Files

    files = Files(spark, f"file://{tmp_path}/a b/")
    files.write_json("x.json", 1)
    assert files._local == tmp_path / "a b"
    assert files.exists("x.json") and (tmp_path / "a b" / "x.json").exists()
