"""An archive of classes that the JVMs of Spark share (JEP 350): read and checked once for all.

Without it Spark's start is 18 s of a slow machine's processor, with it 10. Owns the archive in
`.cache/`, made once by a JVM that loads what most of Spark's jobs do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tests.tools.java_tools import CACHE_DIR, PROJECT_DIR, built_once, digest, java_version

_ARCHIVE = "classes.jsa"
_PROGRAM = PROJECT_DIR / "tests" / "tools" / "spark_classes.py"
_MADE_WITHIN_S = 300
# A JVM with another class path does without the archive, and would say so on its standard output.
_QUIET = "-Xlog:cds*=off"
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def share_sparks_classes() -> None:
    """Have the drivers that this process starts use the archive; OSError, RuntimeError if not."""
    # The archive holds for these files only: not for the same jars that were installed once more.
    installed = (_spark_home() / "jars").stat().st_mtime_ns
    name = f"spark-java{java_version()}-{digest(_PROGRAM)}-{installed}"
    archive = built_once(CACHE_DIR / "archives" / name, _make) / _ARCHIVE
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:SharedArchiveFile={archive} {_QUIET}"


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _make(folder: Path) -> None:
    options = f"-XX:ArchiveClassesAtExit={folder / _ARCHIVE} {_QUICK} {_QUIET}"
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [
                *(str(_spark_home() / "bin" / "spark-submit"), "--master", "local[2]"),
                *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"),
                *("--driver-java-options", options, str(_PROGRAM), scratch),
            ],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=_MADE_WITHIN_S,
        )
    if done.returncode != 0 or not (folder / _ARCHIVE).is_file():
        raise RuntimeError(f"no archive of Spark's classes: {done.stderr[-2000:]}")
