"""The Pythons of this machine that Ottla supports, one of each version."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

LOWEST = "3.11"
_MINORS = range(11, 30)
_PRINT = "import sys; print(sys.implementation.name, *sys.version_info[:3], sys.executable)"


def pythons(variables: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Return the interpreter of each version (`3.12.1`) that starts, found by its name
    (`python3.12`) in the folders of PATH and among pyenv's versions.

    All of them, for a bug fix of Python may be what Ottla needs: Debian's is the oldest.
    """
    found: dict[str, Path] = {}
    for minor, path in _named(variables):
        version, interpreter = _interpreter(minor, path)
        if interpreter is not None:
            found.setdefault(version, interpreter)
    return dict(sorted(found.items(), key=lambda item: [int(part) for part in item[0].split(".")]))


def _named(variables: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield the files that have the name of a supported Python, with the version in it."""
    folders = [Path(name) for name in variables.get("PATH", "").split(os.pathsep) if name]
    if root := variables.get("PYENV_ROOT"):
        folders += sorted(Path(root, "versions").glob("3.*/bin"), reverse=True)
    for minor in _MINORS:
        for folder in folders:
            if (file := folder / f"python3.{minor}").exists():
                yield f"3.{minor}", file


def _interpreter(minor: str, path: Path) -> tuple[str, Path | None]:
    """Return the version and the real path of a CPython of this minor version; None if the file
    starts no such one."""
    try:
        done = subprocess.run([path, "-c", _PRINT], capture_output=True, text=True, timeout=60)
    except OSError:
        return "", None
    name, *numbers, executable = done.stdout.strip().split(maxsplit=4) or ("", "")
    if done.returncode or name != "cpython" or ".".join(numbers[:2]) != minor:
        return "", None
    return ".".join(numbers), Path(executable)
