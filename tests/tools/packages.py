"""The packages of the product, as `pyproject.toml` names them."""

from __future__ import annotations

import tomllib
from pathlib import Path

_PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

PACKAGES: tuple[str, ...] = tuple(
    tomllib.loads(_PYPROJECT.read_text())["tool"]["importlinter"]["root_packages"]
)
SERVER = tuple(package for package in PACKAGES if package != "ottla")
"""The packages that an installation keeps under `ottla/_server`."""
WITHOUT_SPARK = tuple(package for package in PACKAGES if package != "pipeline")
"""The packages of the image, which run without Spark."""
