"""Environments of their own in which Ottla is installed, from a wheel or editable.

No network is needed: what Ottla and its tests depend on comes from this environment by links, but
without its metadata, so that pytest finds the plugins of the new environment alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.tools.packages import SERVER

ROOT = Path(__file__).resolve().parents[2]
_FILES = ("MANIFEST.in", "pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE")
SOURCES = ("ottla", *SERVER, "conf", "docs", *_FILES)
_OWN = ("__editable__", "ottla")
_METADATA = (".dist-info", ".pth")
_PYTEST = "#!{python}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n"
_TIMEOUT_S = 240


def run(
    command: Sequence[str | Path], folder: Path, variables: Mapping[str, str] | None = None
) -> str:
    """Run something apart from the sources: no PYTHONPATH but a given one, another folder."""
    clean = {key: text for key, text in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**clean, **(variables or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def copy_of_the_sources(folder: Path) -> Path:
    """So that no build folder of the sources takes part, and none comes into them."""
    sources = folder / "sources"
    sources.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, sources / name)
    return sources


def build_wheel(sources: Path, folder: Path) -> Path:
    """A source distribution of the copy, and the wheel that is made of it."""
    build = "import sys; from setuptools import build_meta as it; it.build_sdist(sys.argv[1])"
    run([sys.executable, "-c", build, folder], sources)
    (archive,) = folder.glob("ottla-*.tar.gz")
    offline = ("--no-deps", "--no-build-isolation", "-q", "-w", folder)
    run([sys.executable, "-m", "pip", "wheel", *offline, archive], folder)
    (wheel,) = folder.glob("ottla-*.whl")
    return wheel


def write_wheel(folder: Path, name: str, packages: Mapping[str, str]) -> Path:
    """A wheel of somebody else's: top-level packages, each with this text as its `__init__.py`."""
    info = f"{name}-1.0.dist-info"
    files = {
        **{f"{package}/__init__.py": text for package, text in packages.items()},
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(file, text)
    return wheel


class Environment:
    """A virtual environment in a new folder."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder / "venv", symlinks=True)
        self.bin = folder / "venv" / "bin"
        self._folder = folder
        (self.libraries,) = (folder / "venv" / "lib").glob("python3*/site-packages")
        self._link_dependencies()

    def pip(self, *words: str | Path) -> None:
        """Run this environment's pip on the new one. It never asks an index."""
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", "-q", *words]
        run(pip, self._folder, {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})

    def install(self, *what: str | Path) -> None:
        """Install a wheel or, after `-e`, a folder."""
        self.pip("install", "--no-deps", "--no-build-isolation", "--no-compile", *what)

    def run(
        self, *command: str, folder: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> str:
        """Run a program of the environment; what it said."""
        return run([self.bin / command[0], *command[1:]], folder or self._folder, variables)

    def _link_dependencies(self) -> None:
        dependencies = self._folder / "dependencies"
        dependencies.mkdir()
        for found in Path(sysconfig.get_path("purelib")).iterdir():
            strange = found.name.startswith(_OWN) or found.suffix in _METADATA
            if not strange or found.name.startswith("setuptools-"):  # it builds by its own
                (dependencies / found.name).symlink_to(found)
        (self.libraries / "dependencies.pth").write_text(f"{dependencies}\n")
        program = self.bin / "pytest"
        program.write_text(_PYTEST.format(python=self.bin / "python"))
        program.chmod(0o755)
