"""Packages have rooms: folders of files about one subject.

Contracts in pyproject.toml hold the direction of imports: "circles" for all files, and one for the
rooms of each package.
"""

from __future__ import annotations

import pytest

from tests.architecture.sources import PACKAGES, PIPELINE, ROOT

FLAT_FILES_MAX = 15


@pytest.mark.parametrize("package", [*PACKAGES, PIPELINE])
def test_few_files_lie_flat_in_a_packages_top(package: str) -> None:
    flat = [path.name for path in (ROOT / package).glob("*.py") if path.name != "__init__.py"]
    assert len(flat) <= FLAT_FILES_MAX, flat
