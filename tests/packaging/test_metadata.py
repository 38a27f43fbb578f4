"""What PyPI shows of the distribution: the owner's names and links, and the README."""

from __future__ import annotations

import email
import re
import shutil
import sys
import tomllib
from email.message import Message
from pathlib import Path

import pytest

from tests.packaging.installation import ROOT, run
from tests.tools.markdown_links import links

FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE")
FOLDERS = ("conf", "ottla", "ottla/plugins", "ottla/testing", "ottla/testing/simulation")
PREPARE = """
import sys
from setuptools import build_meta
print(build_meta.prepare_metadata_for_build_wheel(sys.argv[1]))
"""
OWNER = {
    "author": "An Author",
    "author-email": "author@example.org",
    "security": "https://example.org/security",
    "homepage": "https://example.org/",
    "source": "https://example.org/owner/ottla",
    "issues": "https://example.org/issues",
    "documentation": "https://example.org/docs",
    "changelog": "https://example.org/changelog",
}


def metadata(folder: Path, owner: dict[str, str], version: str | None = None) -> Message:
    """Return the metadata that setuptools writes with these values in the owner's table."""
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
    text = (folder / "pyproject.toml").read_text()
    for key, value in owner.items():
        text, places = re.subn(rf'^{key} = ".*"$', f'{key} = "{value}"', text, flags=re.MULTILINE)
        assert places == 1, f"{key} does not stand in one place"
    if version is not None:
        text = re.sub(r'^version = ".*"$', f'version = "{version}"', text, flags=re.MULTILINE)
    (folder / "pyproject.toml").write_text(text)
    run([sys.executable, "-c", PREPARE, folder], folder)
    (file,) = folder.glob("*.dist-info/METADATA")
    return email.message_from_string(file.read_text("utf-8"))


def readme_links(shown: Message) -> list[str]:
    """Return the links of the README that the metadata has."""
    return list(links(str(shown.get_payload())))


def test_it_is_built_while_the_owner_is_unknown(tmp_path: Path) -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ottla"]["owner"]
    if any(table.values()):
        pytest.skip("the owner has filled in the table")
    shown = metadata(tmp_path, {})
    assert not shown["Author"] and not shown["Author-email"]
    assert shown.get_all("Project-URL") is None
    assert shown["Description-Content-Type"] == "text/markdown"
    assert str(shown.get_payload()) == (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(("version", "ref"), [("0.3.0.dev0", "HEAD"), ("0.3.0", "v0.3.0")])
def test_the_owner_and_absolute_links_are_shown(tmp_path: Path, version: str, ref: str) -> None:
    shown = metadata(tmp_path, OWNER, version)
    assert shown["Version"] == version
    assert (shown["Author"], shown["Author-email"]) == (OWNER["author"], OWNER["author-email"])
    assert sorted(shown.get_all("Project-URL") or ()) == [
        "Changelog, https://example.org/changelog",
        "Documentation, https://example.org/docs",
        "Homepage, https://example.org/",
        "Issues, https://example.org/issues",
        "Security, https://example.org/security",
        "Source, https://example.org/owner/ottla",
    ]
    assert [link for link in readme_links(shown) if not link.startswith(("https://", "#"))] == []
    assert f"https://example.org/owner/ottla/raw/{ref}/docs/speed.svg" in readme_links(shown)
    assert f"https://example.org/owner/ottla/blob/{ref}/docs/testing.md" in readme_links(shown)


def test_a_mail_address_for_reports_is_no_link(tmp_path: Path) -> None:
    shown = metadata(tmp_path, {**OWNER, "security": "reports@example.org"})
    assert "Security" not in " ".join(shown.get_all("Project-URL") or ())


def test_the_classifiers_say_that_it_is_typed(tmp_path: Path) -> None:
    classifiers = metadata(tmp_path, {}).get_all("Classifier") or []
    assert "Typing :: Typed" in classifiers
    assert [c for c in classifiers if c.startswith("Topic :: ")] != []
