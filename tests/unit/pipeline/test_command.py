"""The command around the jobs: one line for what goes wrong, exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from ottla.launcher import install_command
from tests.tools.java_tools import PROJECT_DIR


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "pipeline", *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT_DIR), **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_no_broker_is_one_line_before_any_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pipeline import command

    monkeypatch.setattr("pipeline.topics._TIMEOUT_S", 0.2)
    monkeypatch.setattr("pipeline.spark.session.check", lambda _: None)
    monkeypatch.setattr("pipeline.spark.session.make_session", None)
    arguments = ("--bootstrap-server", "127.0.0.1:9", "--table", str(tmp_path / "table"))
    for job in (["generate", *arguments[:2]], ["load", *arguments]):
        assert command.main(job) == 2
        said = capsys.readouterr()
        (line,) = said.err.splitlines()
        assert line.startswith("ottla-pipeline: no broker answers at 127.0.0.1:9: is it running")
        assert said.out == "" and not (tmp_path / "table").exists()


def test_no_java_is_one_line(tmp_path: Path) -> None:
    done = run("load", "--bootstrap-server", "127.0.0.1:9", JAVA_HOME=str(tmp_path))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "bin/java does not run. Spark needs Java 17" in line


def test_a_missing_package_is_one_line(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'version \"17\"' >&2\n")
    java.chmod(0o755)
    code = (
        "import sys; sys.modules['pyspark'] = None; "
        "from pipeline.command import main; sys.exit(main(['load']))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PYTHONPATH": str(PROJECT_DIR), "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 2
    names = ("confluent-kafka", "numpy", "pyarrow", "pyspark==4.0.0")
    assert done.stderr == (f"ottla-pipeline: pyspark is not installed: {install_command(*names)}\n")


class Admin:
    """A cluster with one topic, or none at all."""

    away = False

    def list_topics(self, timeout: float) -> Any:
        if self.away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        topics = {"cdr": SimpleNamespace(partitions={0: None})}
        return SimpleNamespace(cluster_id="id", brokers={1: None}, topics=topics)

    def poll(self, seconds: float) -> None:
        pass


@pytest.mark.parametrize(
    "arguments",
    [
        ("load", "--topic", "nope"),
        ("stream", "--topic", "nope"),
        ("audit", "--topic", "nope"),
        ("audit", "--table", ".", "--results-topic", "nope"),
        ("audit", "--dead-letters", "nope"),
        ("replay", "--topic", "nope", "--files", "."),
    ],
)
def test_what_is_missing_is_one_line_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    pytest.importorskip("pyspark")
    from pipeline import command, topics
    from pipeline.spark import session

    def no_spark(*_: Any) -> Any:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "check_java", lambda: None)
    monkeypatch.setattr(session, "make_session", no_spark)
    monkeypatch.setattr(topics, "AdminClient", lambda _: Admin())
    if arguments[0] != "replay":  # which makes its topic
        assert command.main(arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(
            "ottla-pipeline: there is no topic nope at localhost:9092 (there: cdr)"
        )
    monkeypatch.setattr(Admin, "away", True)
    assert command.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ottla-pipeline: no broker answers at localhost:9092: is it running")


def test_an_audit_of_nothing_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark")
    from pipeline import command
    from pipeline.spark import session

    monkeypatch.setattr(session, "check_java", lambda: None)
    assert command.main(["audit"]) == 2
    assert capsys.readouterr().err == (
        "ottla-pipeline: audit: name something with --topic, --table or --aggregates\n"
    )
