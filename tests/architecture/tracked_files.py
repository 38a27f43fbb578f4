"""The files of the repository that git tracks."""

from __future__ import annotations

import subprocess

import pytest

from tests.architecture.sources import ROOT


def tracked() -> list[str]:
    """Return their paths from the root; skip the test if there is no repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git repository")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
