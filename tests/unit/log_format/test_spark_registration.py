"""The package that Spark's workers get."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from log_format.spark_registration import packed_package

ROOT = Path(__file__).resolve().parents[3]


def test_the_artifact_is_the_package_and_the_same_each_time() -> None:
    with zipfile.ZipFile(io.BytesIO(packed_package())) as archive:
        names = archive.namelist()
        assert sorted(names) == sorted(
            path.relative_to(ROOT).as_posix() for path in (ROOT / "log_format").rglob("*.py")
        )
        assert archive.read("log_format/files.py") == (ROOT / "log_format/files.py").read_bytes()
    assert packed_package() == packed_package()
