"""The command around the jobs: one line for what goes wrong, exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.java_tools import PROJECT_DIR


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "pipeline", *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT_DIR), **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_no_broker_is_one_line_before_any_java() -> None:
    done = run("generate", "--bootstrap-server", "127.0.0.1:9")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("ottla-pipeline: no broker answers at 127.0.0.1:9: is it running")


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
    assert done.stderr == (
        "ottla-pipeline: pyspark is not installed: pip install 'ottla[pipeline]'\n"
    )


def test_every_job_has_its_help() -> None:
    shown = run("--help").stdout
    for job in ("generate", "stream", "load", "replay", "audit"):
        assert f"    {job} " in shown
