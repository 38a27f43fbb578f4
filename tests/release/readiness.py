"""The reasons against a release now: an unknown owner, a changed tree, a used version."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.release.changelog import notes

_VERSION = re.compile(r"\d+\.\d+\.\d+")
_ADDRESSES = ("homepage", "source", "issues", "documentation", "changelog")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


@dataclass(frozen=True)
class Checkout:
    """The facts about a checkout that decide whether it can be released."""

    owner: Mapping[str, str]
    version: str
    changelog: str
    changed: Sequence[str]
    """The lines of `git status --porcelain`."""
    tags: Sequence[str]

    @classmethod
    def read(cls, root: Path) -> Checkout:
        """Read the facts from the files and the git repository at `root`."""
        pyproject = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
        return cls(
            pyproject["tool"]["ottla"]["owner"],
            pyproject["project"]["version"],
            (root / "CHANGELOG.md").read_text("utf-8"),
            git(root, "status", "--porcelain").splitlines(),
            git(root, "tag", "--list").splitlines(),
        )

    @property
    def tag(self) -> str:
        """The git tag of the version."""
        return f"v{self.version}"


def git(root: Path, *words: str) -> str:
    """Run git in a folder and return its output. Raises CalledProcessError if git fails."""
    return subprocess.run(
        ["git", *words], cwd=root, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def refusal(checkout: Checkout) -> str | None:
    """Return the first reason against a release, as one line with its remedy; None if there is
    none."""
    return _owner_refusal(checkout.owner) or _tree_refusal(checkout) or _version_refusal(checkout)


def _owner_refusal(owner: Mapping[str, str]) -> str | None:
    """Return why the owner's table cannot be published, or None."""
    if empty := [key for key, value in owner.items() if not value.strip()]:
        return (
            f"[tool.ottla.owner] in pyproject.toml has no {', '.join(empty)}: "
            "the owner fills it in and commits it"
        )
    for key in _ADDRESSES:
        if not owner[key].startswith("https://"):
            return f"{key} in [tool.ottla.owner] is no https address: {owner[key]}"
    if not _MAIL.fullmatch(owner["author-email"]):
        return f"author-email in [tool.ottla.owner] is no mail address: {owner['author-email']}"
    if not owner["security"].startswith("https://") and not _MAIL.fullmatch(owner["security"]):
        return (
            "security in [tool.ottla.owner] is neither a mail address nor an https address: "
            f"{owner['security']}"
        )
    return None


def _tree_refusal(checkout: Checkout) -> str | None:
    """Return which file is not as committed, or None."""
    if not checkout.changed:
        return None
    count = len(checkout.changed)
    others = f" and {count - 1} others" if count > 1 else ""
    return f"not as committed: {checkout.changed[0][3:]}{others}: commit or remove them"


def _version_refusal(checkout: Checkout) -> str | None:
    """Return why the version cannot be released, or None."""
    version = checkout.version
    if not _VERSION.fullmatch(version):
        return f"the version {version} in pyproject.toml is not X.Y.Z: set it to the release's"
    if checkout.tag in checkout.tags:
        return f"the version {version} is released: the tag {checkout.tag} exists"
    if not notes(checkout.changelog, version):
        return (
            f'CHANGELOG.md has no heading "## {version} (YYYY-MM-DD)": give "Unreleased" this name'
        )
    return None
