"""The Java that Spark needs, and the error if it is missing or too old. Starts no Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from pipeline.errors import PipelineError

JAVA_MIN = 17
_VERSION_TIMEOUT_S = 60


def java_path() -> str | None:
    """Return the path of `java` as Spark's scripts look for it, JAVA_HOME first; None if there is
    none."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")


def check_java() -> None:
    """Raise PipelineError if there is no Java, or if it is too old for Spark."""
    advice = f"Spark needs Java {JAVA_MIN}: install it (on Debian openjdk-{JAVA_MIN}-jre-headless)"
    path = java_path()
    if path is None:
        raise PipelineError(f"there is no java on the PATH. {advice}, or set JAVA_HOME")
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java
            [path, "-version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PipelineError(f"{path} does not run. {advice} and set JAVA_HOME to it") from error
    version = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if version is not None and int(version[1]) < JAVA_MIN:
        raise PipelineError(f"{path} is Java {version[1]}. {advice} and set JAVA_HOME to it")
