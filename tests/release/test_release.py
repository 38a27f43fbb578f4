"""The cores of `make release`: reasons against it, notes, Pythons and lowest versions."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.packaging.installation import ROOT
from tests.release.__main__ import tag
from tests.release.changelog import notes, versions
from tests.release.environments import allowed, requirements, root_pyproject
from tests.release.pythons import pythons
from tests.release.readiness import Checkout, git, refusal
from tests.release.trials import distribution_version

CHANGELOG = """# Changelog

## Unreleased

## 0.3.0 (2026-12-01)

### Added: much

- A thing.

## 0.2.0 (2026-11-25)

- Older.
"""
READY = Checkout(
    owner={
        "author": "An Author",
        "author-email": "author@example.org",
        "security": "reports@example.org",
        "homepage": "https://example.org/",
        "source": "https://example.org/owner/ottla",
        "issues": "https://example.org/issues",
        "documentation": "https://example.org/docs",
        "changelog": "https://example.org/changelog",
    },
    version="0.3.0",
    changelog=CHANGELOG,
    changed=(),
    tags=("v0.2.0",),
)


def test_a_checkout_that_is_ready_is_not_refused() -> None:
    assert refusal(READY) is None


@pytest.mark.parametrize(
    ("owner", "reason"),
    [
        ({"source": "", "author": " "}, "has no author, source: the owner fills it in"),
        ({"source": "git@example.org:o/ottla"}, "source in [tool.ottla.owner] is no https address"),
        ({"author-email": "example.org"}, "is no mail address: example.org"),
        ({"security": "the owner"}, "neither a mail address nor an https address: the owner"),
    ],
)
def test_the_owners_table_must_be_filled_in(owner: dict[str, str], reason: str) -> None:
    said = refusal(dataclasses.replace(READY, owner={**READY.owner, **owner}))
    assert said is not None and reason in said and "\n" not in said


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"changed": ("?? a.txt", " M b.txt")}, "not as committed: a.txt and 1 others"),
        ({"version": "0.3.0.dev0"}, "the version 0.3.0.dev0 in pyproject.toml is not X.Y.Z"),
        ({"tags": ("v0.3.0",)}, "the version 0.3.0 is released: the tag v0.3.0 exists"),
        ({"version": "0.4.0"}, 'no heading "## 0.4.0 (YYYY-MM-DD)"'),
    ],
)
def test_a_release_has_a_clean_tree_and_a_version_of_its_own(
    change: dict[str, object], reason: str
) -> None:
    said = refusal(dataclasses.replace(READY, **change))
    assert said is not None and reason in said and "\n" not in said


def test_the_notes_are_the_section_of_the_version() -> None:
    assert notes(CHANGELOG, "0.3.0") == "### Added: much\n\n- A thing.\n"
    assert notes(CHANGELOG, "0.2.0") == "- Older.\n"
    assert notes(CHANGELOG, "Unreleased") is None
    assert versions(CHANGELOG) == ["0.3.0", "0.2.0"]


def test_the_version_of_unreleased_code_is_that_of_no_release() -> None:
    checkout = Checkout.read(ROOT)
    version, released = Version(checkout.version), versions(checkout.changelog)
    unreleased = checkout.changelog.partition("\n## Unreleased")[2].partition("\n## ")[0]
    if unreleased.strip():
        assert version.is_devrelease and version > Version(released[0])
    else:
        assert checkout.version == released[0] or version.is_devrelease


def test_the_tag_has_the_notes_and_makes_the_version_a_used_one(tmp_path: Path) -> None:
    table = "".join(f'{key} = "{value}"\n' for key, value in READY.owner.items())
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nversion = "0.3.0"\n[tool.ottla.owner]\n{table}'
    )
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.name", "An Author")
    git(tmp_path, "config", "user.email", "author@example.org")
    untracked = refusal(Checkout.read(tmp_path))
    assert untracked == "not as committed: CHANGELOG.md and 1 others: commit or remove them"
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "Release 0.3.0")

    checkout = Checkout.read(tmp_path)
    assert refusal(checkout) is None
    tag(tmp_path, checkout, "HEAD")
    message = git(tmp_path, "tag", "--list", "--format=%(contents)", "v0.3.0")
    assert message.strip() == "Ottla 0.3.0\n\n### Added: much\n\n- A thing."
    assert refusal(Checkout.read(tmp_path)) == (
        "the version 0.3.0 is released: the tag v0.3.0 exists"
    )


def test_make_release_stops_with_one_line_while_the_owner_is_unknown() -> None:
    owner = Checkout.read(ROOT).owner
    if all(owner.values()):
        pytest.skip("the owner has filled in the table")
    done = subprocess.run(
        [sys.executable, "-m", "tests.release"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("no release: [tool.ottla.owner] in pyproject.toml has no author")
    assert done.stderr.count("\n") == 1


def test_the_pythons_of_path_that_start_are_found(tmp_path: Path) -> None:
    name = f"python3.{sys.version_info.minor}"
    for folder in ("dead", "alive", "old"):
        (tmp_path / folder).mkdir()
    dead = tmp_path / "dead" / name
    dead.write_text("#!/bin/sh\nexit 127\n")
    dead.chmod(0o755)
    (tmp_path / "alive" / name).symlink_to(sys.executable)
    (tmp_path / "old" / "python3.10").symlink_to(sys.executable)
    path = os.pathsep.join(str(tmp_path / folder) for folder in ("dead", "alive", "old"))
    found = pythons({"PATH": path})
    version = ".".join(map(str, sys.version_info[:3]))
    assert list(found) == [version] and found[version].exists()


def test_the_lowest_version_is_the_lowest_that_the_requirement_allows() -> None:
    listed = ["2.0", "1.10", "1.9", "1.9rc1", "1.8", "10.0"]
    assert allowed(Requirement("a>=1.9,<3"), listed) == ["1.9", "1.10", "2.0"]
    names = [requirement.name for requirement in requirements(root_pyproject())]
    assert {"click", "uvloop", "cryptography", "fastavro"} <= set(names)


@pytest.mark.parametrize("name", ["ottla-0.3.0-py3-none-any.whl", "ottla-0.3.0.tar.gz"])
def test_the_version_in_a_file_name(name: str) -> None:
    assert distribution_version(Path(name)) == "0.3.0"
