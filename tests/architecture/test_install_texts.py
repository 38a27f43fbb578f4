"""The texts about installing Ottla give the same answers, and these answers work.

No text tells people to install packages from an index that does not have them.

The name `ottla` belongs to nobody on the package index, so an `ottla[…]` that is installed from
there would be another author's code. In a checkout, `'.[extra]'` names the same packages, and the
program's own messages name the packages themselves.
"""

from __future__ import annotations

import re
import tomllib

import pytest

from pipeline.command import PACKAGES
from tests.architecture.sources import ROOT
from tests.architecture.tracked_files import tracked

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
FROM_INDEX = re.compile(
    rf"ottla\\?\[(?:{'|'.join(EXTRAS)})\b|\b(?:pip|pipx|uv) (?:install|add) (?:-\S+ )*['\"]?ottla\b"
)
SYSTEMS = "macOS is not tested yet; unit tests simulate it"
OWN_EXTRAS = "pyproject.toml"
"""Names the extras within each other, which pip takes from the folder."""


def texts() -> dict[str, str]:
    """Return the tracked texts of the repository by their paths, without this file."""
    contents = {}
    for name in tracked():
        data = (ROOT / name).read_bytes()
        if b"\0" not in data and name not in (
            OWN_EXTRAS,
            "tests/architecture/test_install_texts.py",
        ):
            contents[name] = data.decode(errors="replace")
    return contents


def test_the_pattern_finds_what_it_looks_for() -> None:
    for text in (
        "'ottla[console]'",
        r"ottla\[security\]",
        "pip install ottla",
        "pipx install ottla",
    ):
        assert FROM_INDEX.search(text), text
    for text in ("ottla['broker']", "ottla[name]", "pip install .", "pip install ./ottla-0.2.whl"):
        assert not FROM_INDEX.search(text), text


def test_nothing_is_installed_from_an_index_that_does_not_have_it() -> None:
    places = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in texts().items()
        for number, line in enumerate(text.splitlines(), 1)
        if FROM_INDEX.search(line)
    ]
    assert places == []


def test_the_console_is_in_the_base_installation() -> None:
    assert EXTRAS["console"] == []
    base = {re.split(r"[<>=!;\[ ]", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert {"starlette", "uvicorn"} <= base


def test_the_pipeline_names_the_packages_of_its_extra() -> None:
    names = [re.split(">=", requirement)[0] for requirement in EXTRAS["pipeline"]]
    assert list(PACKAGES) == names


@pytest.mark.parametrize(
    "page", ["README.md", "docs/first-minute.md", "docs/operations.md", "docs/testing.md"]
)
def test_every_page_for_newcomers_has_the_same_answer_about_macos(page: str) -> None:
    text = (ROOT / page).read_text()
    assert SYSTEMS in text
    for claim in ("Linux or macOS", "untried", "run on a Mac"):
        assert claim not in text, claim


def test_the_classifiers_name_the_systems_that_are_tested() -> None:
    systems = [text for text in PROJECT["classifiers"] if text.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]


def test_the_first_pages_have_an_installation_that_needs_no_other_program() -> None:
    for page in ("README.md", "docs/first-minute.md"):
        assert "`python3 -m venv v && v/bin/pip install .`" in (ROOT / page).read_text(), page


def test_the_shortest_test_says_which_client_it_needs() -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    section = page[page.index("## Three lines") : page.index("# app.py")]
    assert "from confluent_kafka import" in section
    assert "pip install confluent-kafka" in section
