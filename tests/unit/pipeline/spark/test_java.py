"""Java that is missing or too old."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import PipelineError
from pipeline.spark import java
from tests.unit.pipeline.programs import program


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PipelineError, match="no java on the PATH. Spark needs Java 17: install"):
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
