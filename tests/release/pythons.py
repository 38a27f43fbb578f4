"""The Pythons of this machine that Ottla supports, one of each minor version."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

LOWEST = "3.11"
_MINORS = range(11, 30)
_PRINT = "import sys; print(sys.implementation.name, *sys.version_info[:2], sys.executable)"


def pythons(variables: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Return the interpreter of each version (`3.12`) that starts, found by its name
    (`python3.12`) in the folders of PATH and among pyenv's versions."""
    found: dict[str, Path] = {}
    for version, path in _named(variables):
        if version not in found and (interpreter := _interpreter(version, path)) is not None:
            found[version] = interpreter
    return found


def _named(variables: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield the files that have the name of a supported Python, with the version in it."""
    folders = [Path(name) for name in variables.get("PATH", "").split(os.pathsep) if name]
    if root := variables.get("PYENV_ROOT"):
        folders += sorted(Path(root, "versions").glob("3.*/bin"), reverse=True)
    for minor in _MINORS:
        for folder in folders:
            if (file := folder / f"python3.{minor}").exists():
                yield f"3.{minor}", file


def _interpreter(version: str, path: Path) -> Path | None:
    """Return the real path of a CPython of this version; None if the file starts no such one."""
    try:
        done = subprocess.run([path, "-c", _PRINT], capture_output=True, text=True, timeout=60)
    except OSError:
        return None
    words = done.stdout.split(maxsplit=3)
    if done.returncode or words[:3] != ["cpython", *version.split(".")]:
        return None
    return Path(words[3].strip())
