"""Small files, put in place whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK


def test_files_are_put_in_place_whole_and_once(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.errors import PipelineError
    from pipeline.tables.files import Files

    files = Files(spark, str(tmp_path / "f"))
    assert files.is_local
    files.write_json("a/b.json", {"x": [1, "ü"]})
    assert files.read_json("a/b.json") == {"x": [1, "ü"]}
    assert files.names("a") == ["b.json"] and files.files_below("") == ["a/b.json"]
    with pytest.raises(FileExistsError):
        files.write_json("a/b.json", {})
    assert not list((tmp_path / "f").rglob("*half*"))
    (tmp_path / "f" / "a" / ".b.json.crc").touch()  # as Hadoop writes beside its own
    assert files.names("a") == ["b.json"] and files.files_below("") == ["a/b.json"]
    files.move("a/b.json", "c/d.json")
    assert [one.name for one in (tmp_path / "f" / "c").iterdir()].count(".d.json.crc") == 1
    assert files.read_json("c/d.json") == {"x": [1, "ü"]}
    assert files.exists("c/d.json") and not files.exists("a/b.json")
    files.check_seen_by_spark("c/d.json")
    with pytest.raises(PipelineError, match="Spark does not see file:///.*none, which was just"):
        files.check_seen_by_spark("none")
    files.delete("c")
    files.delete("not there")
    assert files.names("c") == []


def test_other_file_systems_are_asked_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    """The same of a file system that is not known to be local."""
    from pipeline.tables.files import Files

    local, other = (Files(spark, str(tmp_path / "f [1] {2}")) for _ in range(2))
    other._local = None
    assert not other.is_local and not other.exists() and other.names() == []
    other.write_json("_own/1.json", {"x": [1, "ü"]})
    with pytest.raises(FileExistsError):
        other.write_json("_own/1.json", {})
    assert other.read_json("_own/1.json") == {"x": [1, "ü"]}
    with pytest.raises(FileNotFoundError):
        other.read_json("_own/2.json")
    assert other.names("_own") == ["1.json"] and other.names() == ["_own"]
    assert other.exists("_own/1.json") and not other.exists("_own/2.json")
    local.write_json("a/b=1/c.json", 1)
    assert other.files_below("a") == ["b=1/c.json"] == local.files_below("a")
    other.delete("a")
    assert local.exists("a"), "Spark deletes nothing"


def test_an_address_of_a_local_file_is_local(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.tables.files import Files

    files = Files(spark, f"file://{tmp_path}/a b/")
    files.write_json("x.json", 1)
    assert files._local == tmp_path / "a b"
    assert files.exists("x.json") and (tmp_path / "a b" / "x.json").exists()
