"""Each third-party file of the page has a row in the manifest, with its checksum."""

from __future__ import annotations

import hashlib
import tomllib
from typing import Any

import pytest

from console.endpoints import STATIC

VENDOR = STATIC / "vendor"
MANIFEST = tomllib.loads((VENDOR / "manifest.toml").read_text())
ROWS: list[dict[str, Any]] = MANIFEST["file"]


def test_each_file_has_one_row_and_each_row_a_file() -> None:
    licences = {name for row in ROWS for name in row["licence_files"]}
    files = {path.name for path in VENDOR.iterdir()} - {"manifest.toml", *MANIFEST["own"]}
    assert sorted(row["name"] for row in ROWS) == sorted(files - licences)
    assert licences <= files


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["name"]))
def test_a_row_says_what_the_file_is(row: dict[str, Any]) -> None:
    data = (VENDOR / row["name"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == row["sha256"]
    assert row["source"].startswith(f"pkg:npm/{row['package']}@{row['version']}#")
    assert row["licence"]
    assert all((VENDOR / name).stat().st_size for name in row["licence_files"])
