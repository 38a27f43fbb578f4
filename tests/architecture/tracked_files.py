"""The files of the repository that git knows."""

from __future__ import annotations

import subprocess

import pytest

from tests.architecture.sources import ROOT


def tracked() -> list[str]:
    """Their paths from the root; the test is skipped where there is no repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git repository")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
