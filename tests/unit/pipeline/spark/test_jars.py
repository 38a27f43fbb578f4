"""Where the jars come from: named, from the cache, by Maven, by Spark."""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path

import pytest

from pipeline.errors import PipelineError
from pipeline.spark import jars
from tests.tools.java_tools import PROJECT_DIR
from tests.unit.pipeline.programs import program

DELTA = "io.delta:delta-spark_2.13:4.0.0"
AVRO = "org.apache.spark:spark-avro_2.13:4.0.0"
# Maven: one jar of the name in its pom, one that PySpark ships, and its progress.
MAVEN = """
for one in "$@"; do
  case $one in
    -DoutputDirectory=*) out=${one#*=} ;;
    *pom.xml) pom=$one ;;
  esac
done
mkdir -p "$out"
name=$(sed -n 's:.*<artifactId>\\(delta-[^<]*\\|spark-avro[^<]*\\)</artifactId>.*:\\1:p' "$pom")
: > "$out/${name:-kafka}-4.0.0.jar"
: > "$out/scala-library-2.13.99.jar"
"""


@pytest.fixture(autouse=True)
def nothing_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(jars.JARS_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(jars, "_of_pyspark", lambda: {"scala-library"})


def test_jars_that_are_named_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(jars.JARS_VARIABLE, "/a.jar,/delta-spark_2.13-4.0.0.jar")
    assert jars.jar_settings([DELTA]) == {"spark.jars": "/a.jar,/delta-spark_2.13-4.0.0.jar"}


def test_one_that_is_not_named_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(jars.JARS_VARIABLE, "/a.jar")
    with pytest.raises(PipelineError, match="names no spark-avro_2.13: add the jar of org.apache"):
        jars.jar_settings([AVRO])


def test_without_maven_spark_resolves_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert jars.jar_settings([DELTA]) == {"spark.jars.packages": f"{jars.PACKAGE},{DELTA}"}


def test_maven_fills_the_cache_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    maven = program(tmp_path, "mvn", MAVEN)
    kafka = str(jars.jar_folder() / "kafka-4.0.0.jar")
    assert jars.jar_settings() == {"spark.jars": kafka}
    delta = str(jars.jar_folder(DELTA) / "delta-spark_2.13-4.0.0.jar")
    assert jars.jar_settings([DELTA]) == {"spark.jars": f"{kafka},{delta}"}
    said = capsys.readouterr().err
    assert said.count("fetching spark-sql-kafka") == said.count("fetching delta-spark") == 1
    assert "fetching delta-spark_2.13 for Spark (1 of 1), once, into " in said
    maven.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert jars.jar_settings([DELTA]) == {"spark.jars": f"{kafka},{delta}"}
    assert sorted(one.name for one in (tmp_path / "cache" / "ottla").rglob(".fetching-*")) == []


def test_maven_that_fails_is_one_line(tmp_path: Path) -> None:
    program(tmp_path, "mvn", "echo '[ERROR] no route'; echo '[ERROR] more'; exit 1")
    with pytest.raises(PipelineError, match=r"fetch io.delta.*\(no route\): check the network"):
        jars._fetch(DELTA, jars.jar_folder(DELTA), str(tmp_path / "mvn"))
    assert not jars.jar_folder(DELTA).exists()


def test_maven_that_brings_nothing_is_said(tmp_path: Path) -> None:
    program(tmp_path, "mvn", "true")
    with pytest.raises(PipelineError, match="could not fetch"):
        jars.jar_settings()


def test_its_progress_is_told_every_two_seconds() -> None:
    said: list[str] = []
    maven = io.BytesIO(
        b"Progress (1): 1/47 MB\rProgress (1): 2/47 MB\rProgress (1): 3/47 MB\r\n"
        b"Downloaded from central: https://host/maven2/a/b-1.jar (47 MB at 9.1 MB/s)\n"
        b"Downloaded from central: https://host/maven2/a/c-1.jar (7 kB at 9.1 MB/s)\n[ERROR] x\n"
    )
    clock = itertools.count().__next__
    assert jars.follow(maven, clock, said.append) == "x"
    assert said == ["  … 2/47 MB", "  b-1.jar, 47 MB"]


def test_one_version_of_spark_everywhere() -> None:
    version = re.search(r"<spark.version>([0-9.]+)<", jars.POM.read_text())
    assert version is not None
    assert jars.PACKAGE.endswith(f":{version[1]}")
    assert f'"pyspark=={version[1]}"' in (PROJECT_DIR / "pyproject.toml").read_text()
