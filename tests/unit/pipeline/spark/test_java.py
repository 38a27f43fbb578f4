"""Java that is missing or too old, and where the connector's jars come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.errors import PipelineError
from pipeline.spark import java
from tests.tools.java_tools import PROJECT_DIR


def program(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PipelineError, match="no java on the PATH. Spark needs Java 17: install"):
        java.check_java()


def test_a_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PipelineError, match="bin/java does not run"):
        java.check_java()


@pytest.mark.parametrize(("version", "good"), [("11.0.2", False), ("1.8.0_3", False), ("21", True)])
def test_the_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, good: bool
) -> None:
    program(tmp_path, "bin/java", f"echo 'openjdk version \"{version}\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if good:
        java.check_java()
    else:
        with pytest.raises(PipelineError, match=r"is Java \d+\. Spark needs Java 17"):
            java.check_java()


def test_jars_that_are_named_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(java.JARS_VARIABLE, "/a.jar,/b.jar")
    assert java.connector_settings() == {"spark.jars": "/a.jar,/b.jar"}


def test_without_maven_spark_resolves_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(java.JARS_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert java.connector_settings() == {"spark.jars.packages": java.PACKAGE}


def test_maven_fills_the_cache_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(java.JARS_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said = (
        'for one in "$@"; do case $one in -DoutputDirectory=*) : > "${one#*=}/c.jar";; esac; done'
    )
    maven = program(tmp_path, "mvn", said)
    monkeypatch.setenv("PATH", str(tmp_path))
    wanted = {"spark.jars": str(java.jar_folder() / "c.jar")}
    assert java.connector_settings() == wanted
    maven.unlink()
    assert java.connector_settings() == wanted


def test_maven_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(java.JARS_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program(tmp_path, "mvn", "echo '[ERROR] no route'; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PipelineError, match=r"\(no route\): check the network"):
        java.connector_settings()
    assert not java.jar_folder().exists()


def test_one_version_of_spark_everywhere() -> None:
    version = re.search(r"<spark.version>([0-9.]+)<", java.POM.read_text())
    assert version is not None
    assert java.PACKAGE.endswith(f":{version[1]}")
    assert f'"pyspark=={version[1]}"' in (PROJECT_DIR / "pyproject.toml").read_text()
