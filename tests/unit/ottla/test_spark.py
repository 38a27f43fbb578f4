from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.spark import register_folder_source

ROOT = Path(__file__).resolve().parents[3]
JOB = """
import sys
from ottla.spark import register_folder_source

class Spark:
    def addArtifacts(self, path, pyfile):
        self.artifact = path
    class dataSource:
        register = staticmethod(lambda source: print(source.name()))

register_folder_source(Spark())
register_folder_source(Spark())
import broker
print(broker.OWN, [name for name in sys.path if name.endswith("_server")])
"""


def installed(folder: Path) -> Path:
    """Lay out the packages as a wheel does; return the folder that is on the import path."""
    server = folder / "ottla" / "_server"
    shutil.copytree(ROOT / "ottla", folder / "ottla", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("log_format", "broker"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, server / name, ignore=ignored)
    return folder


def test_a_job_finds_the_format_and_keeps_its_own_packages(tmp_path: Path) -> None:
    job = tmp_path / "job"
    (job / "broker").mkdir(parents=True)
    (job / "broker" / "__init__.py").write_text("OWN = 'of the job'\n")
    (job / "job.py").write_text(JOB)
    site = installed(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "job.py"],
        cwd=job,
        env={**os.environ, "PYTHONPATH": f"{job}{os.pathsep}{site}"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout == "kafka-folder\nkafka-folder\nof the job []\n"


def test_another_package_of_that_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "log_format", pytest)
    with pytest.raises(ImportError, match="another package log_format is loaded, from .*pytest"):
        register_folder_source(None)
