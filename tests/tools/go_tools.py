"""Go for the tests: builds the programs under `tests/go/` when their sources change."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.tools.java_tools import CACHE_DIR, PROJECT_DIR, built_once, digest

GO_DIR = PROJECT_DIR / "tests" / "go"


def go_program(name: str) -> Path:
    """Return the path of the executable of `tests/go/<name>`; its go.sum pins the modules.

    Build it if needed. Raises RuntimeError if the build fails.
    """
    sources = sorted(GO_DIR.joinpath(name).glob("*.*"))

    def build(scratch: Path) -> None:
        command = ["go", "build", "-mod=readonly", "-o", str(scratch / name), "."]
        done = subprocess.run(
            command, cwd=GO_DIR / name, capture_output=True, text=True, timeout=600
        )
        if done.returncode != 0:
            raise RuntimeError(f"go build failed for {name}:\n{done.stderr[-4000:]}")

    return built_once(CACHE_DIR / "go" / digest(*sources), build) / name


def run_go(name: str, *args: str, timeout: float = 90) -> subprocess.CompletedProcess[str]:
    """Run `tests/go/<name>`, built if needed, and return its exit code and output."""
    return subprocess.run(
        [str(go_program(name)), *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
