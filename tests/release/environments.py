"""Fresh environments with a built distribution, and the lowest or the newest dependencies.

pip installs them from its index. The lowest version of a dependency is the lowest that its
specifier in pyproject.toml allows, and that has a wheel for the Python of the environment.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from tests.packaging.installation import ROOT, run

EXTRAS = ("console", "decode", "security")
_QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def requirements(pyproject: str) -> list[Requirement]:
    """Return the dependencies of the base install and of the extras that add to the broker."""
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    return [Requirement(line) for line in lines]


def allowed(requirement: Requirement, versions: Iterable[str]) -> list[str]:
    """Return the released versions that the requirement allows, lowest first."""
    released = [version for version in versions if not Version(version).is_prerelease]
    return sorted(requirement.specifier.filter(released), key=Version)


@dataclass(frozen=True)
class FreshEnvironment:
    """A virtual environment of its own in `folder`."""

    folder: Path

    @property
    def bin(self) -> Path:
        """The folder of the environment's programs."""
        return self.folder / "venv" / "bin"

    @classmethod
    def make(cls, python: Path, folder: Path) -> FreshEnvironment:
        """Make the environment with this interpreter, in a new folder."""
        folder.mkdir(parents=True)
        run([python, "-m", "venv", folder / "venv"], folder)
        return cls(folder)

    def run(self, *command: str | Path) -> str:
        """Run a program of the environment and return its output. Raises AssertionError with the
        output if the program fails."""
        return run([self.bin / command[0], *command[1:]], self.folder, _QUIET)

    def remove(self) -> None:
        """Delete the environment and its folder."""
        shutil.rmtree(self.folder)

    def pip(self, *words: str | Path) -> str:
        """Run the environment's pip and return its output."""
        return self.run("python", "-m", "pip", *words)

    def install(self, distribution: Path, constraints: Sequence[str]) -> dict[str, str]:
        """Install a distribution with its extras, and pytest. Return the version by package."""
        file = self.folder / "constraints.txt"
        file.write_text("".join(f"{line}\n" for line in constraints))
        what = f"{distribution}[{','.join(EXTRAS)}]"
        self.pip("install", "-q", "--prefer-binary", "-c", file, what, "pytest")
        self.pip("check")
        lines = self.pip("list", "--format=freeze").splitlines()
        return dict(line.split("==", 1) for line in lines if "==" in line)

    def lowest(self, wanted: Iterable[Requirement]) -> list[str]:
        """Return each requirement with its lowest version, as `name==version`.

        Raises AssertionError if a requirement has no version with a wheel.
        """
        here = [one for one in wanted if one.marker is None or one.marker.evaluate()]
        return [f"{one.name}=={self._lowest_version(one)}" for one in here]

    def _lowest_version(self, requirement: Requirement) -> str:
        listed = self.pip("index", "versions", requirement.name)
        line = re.search(r"^Available versions: (.*)$", listed, re.MULTILINE)
        assert line is not None, listed
        candidates = allowed(requirement, line[1].split(", "))
        for version in candidates:
            if self._has_wheel(f"{requirement.name}=={version}"):
                return version
        raise AssertionError(f"{requirement} has no version with a wheel for this Python")

    def _has_wheel(self, pinned: str) -> bool:
        pip = [self.bin / "python", "-m", "pip", "install", "-q", "--dry-run", "--no-deps"]
        words = [*pip, "--only-binary", ":all:", pinned]
        return subprocess.run(words, cwd=self.folder, capture_output=True).returncode == 0


def root_pyproject() -> str:
    """Return the text of this checkout's pyproject.toml."""
    return (ROOT / "pyproject.toml").read_text("utf-8")
