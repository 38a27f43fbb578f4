"""No text tells people to install packages from an index that does not have them.

The name `ottla` belongs to nobody on the package index, so an `ottla[…]` that is installed from
there would be another author's code. In a checkout, `'.[extra]'` names the same packages, and the
program's own messages name the packages themselves.
"""

from __future__ import annotations

import re
import tomllib

from pipeline.command import PACKAGES
from tests.architecture.sources import ROOT
from tests.architecture.tracked_files import tracked

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
FROM_INDEX = re.compile(
    rf"ottla\\?\[(?:{'|'.join(EXTRAS)})\b|\b(?:pip|pipx|uv) (?:install|add) (?:-\S+ )*['\"]?ottla\b"
)
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
