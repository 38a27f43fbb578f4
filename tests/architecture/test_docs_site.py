"""The generator of the docs' site, `docs/site`: its parts that need no installed packages."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from docs.site import check
from docs.site.repository_files import is_page, located
from tests.architecture.sources import ROOT


def test_a_code_span_that_names_a_file_leads_to_it() -> None:
    log = "storage/log/unified_log.py"
    assert located(log, None, short=False) == (log, "storage/log")
    assert located("indexes.py", "storage/log", short=True) == (
        "storage/log/indexes.py",
        "storage/log",
    )
    assert located("indexes.py", "storage/log", short=False) == (None, "storage/log")
    assert located("storage/log/", None, short=True) == (None, "storage/log")
    assert located("purgatory/purgatory", None, short=True)[0] == "broker/purgatory/purgatory.py"
    assert located("gone.py", "storage/log", short=True) == (None, "storage/log")
    assert located("ottla consume a/b", None, short=True) == (None, None)


def test_what_has_a_page() -> None:
    assert is_page("storage/log/unified_log.py") and is_page("bench/results")
    assert not is_page("storage/gone.py") and not is_page("../etc") and not is_page(".git/HEAD")


def test_a_picture_of_two_themes_follows_the_switch_of_the_site(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    markdown = importlib.import_module("github_markdown")
    page = [(ROOT / "docs" / "console.md").read_text()]
    pictures = page[0].count("<picture>")
    markdown.adapt(None, "docs/console", page)
    assert pictures > 0 and "<picture>" not in page[0]
    assert page[0].count("-dark.png){.only-dark}") == page[0].count("{.only-light}") == pictures
    home = [""]
    markdown.adapt(None, markdown.HOME, home)
    assert "/docs/how-it-works\n" in home[0]


def test_the_check_of_a_site_sees_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<link href="https://example.org/x.css"><img src="data:,"><a href="https://example.org">'
        '<a href="b.html#here"><a href="b.html#gone"><a href="#top"><img src="gone.png">'
    )
    (tmp_path / "b.html").write_text('<h1 id="here"></h1><a href="./"><a href="a.html?q=1">')
    assert list(check.faults(tmp_path)) == [
        "a.html: https://example.org/x.css comes from elsewhere",
        "a.html: b.html#gone has no such heading",
        "a.html: #top has no such heading",
        "a.html: gone.png leads nowhere",
        "b.html: ./ leads nowhere",
    ]
