"""Archives of loaded classes that the JVMs of the tests share (JEP 350).

Spark spends most of its start on reading and checking classes, Apache Kafka much of it. This
module owns the archives in `.cache/`. A JVM that loads the classes of most tests makes each once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import (
    ARCHIVES_DIR,
    CLASSES,
    KAFKA_ARCHIVE,
    PROJECT_DIR,
    QUICK_JVM,
    QUIET_ARCHIVE,
    built_once,
    digest,
    java_version,
    kafka_classpath,
    run_program,
)

_PROGRAM = PROJECT_DIR / "tests" / "tools" / "spark_classes.py"
_MADE_WITHIN_S = 300


def share_kafkas_classes() -> None:
    """Make the archive that `FAST_START` names. Raises OSError or RuntimeError if that fails."""
    kafka_classpath()
    built_once(KAFKA_ARCHIVE, _archive_kafkas)


def share_sparks_classes() -> None:
    """Let Spark drivers that this process starts use the archive.

    Raises OSError or RuntimeError if the archive cannot be made.
    """
    # An archive is valid for these files only: not after the same jars are installed again.
    installed = (_spark_home() / "jars").stat().st_mtime_ns
    name = f"spark-java{java_version()}-{digest(_PROGRAM)}-{installed}"
    archive = built_once(ARCHIVES_DIR / name, _archive_sparks) / CLASSES
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:SharedArchiveFile={archive} {QUIET_ARCHIVE}"


def _archive_kafkas(folder: Path) -> None:
    """Archive the classes of a broker that has served a producer and a consumer."""
    archiving = f"-XX:ArchiveClassesAtExit={folder / CLASSES}"
    with ApacheKafka(jvm_options=(*QUICK_JVM, archiving, QUIET_ARCHIVE), heap="512m") as kafka:
        done = run_program("RoundTrip", kafka.bootstrap, "10", "gzip")
    if done.returncode != 0:
        raise RuntimeError(f"no archive of Kafka's classes: {done.stdout}{done.stderr}")
    if not (folder / CLASSES).is_file():
        raise RuntimeError("no archive of Kafka's classes")


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _archive_sparks(folder: Path) -> None:
    options = (f"-XX:ArchiveClassesAtExit={folder / CLASSES}", *QUICK_JVM, QUIET_ARCHIVE)
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [
                *(str(_spark_home() / "bin" / "spark-submit"), "--master", "local[2]"),
                *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"),
                *("--conf", "spark.log.level=ERROR"),
                *("--driver-java-options", " ".join(options), str(_PROGRAM), scratch),
            ],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            cwd=scratch,
            capture_output=True,
            text=True,
            timeout=_MADE_WITHIN_S,
        )
    if done.returncode != 0 or not (folder / CLASSES).is_file():
        raise RuntimeError(f"no archive of Spark's classes: {done.stderr[-4000:]}")
