"""The page's addresses: links.js alone makes them, and address.js alone changes the browser's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from console.endpoints import STATIC

MAKES = re.compile(r"""["'`]#(/|\$\{)""")
"""The beginning of an address of the page in a string or a template."""
CHANGES = re.compile(r"\b(location\.(hash|href) *=|history\.\w+\()")


def modules(*without: str) -> Iterator[Path]:
    for path in STATIC.rglob("*.js"):
        if "vendor" not in path.parts and path.relative_to(STATIC).as_posix() not in without:
            yield path


def lines_with(pattern: re.Pattern[str], paths: Iterator[Path]) -> list[str]:
    return [
        f"{path.relative_to(STATIC)}: {line.strip()}"
        for path in paths
        for line in path.read_text().splitlines()
        if pattern.search(line)
    ]


def test_only_links_makes_addresses() -> None:
    assert lines_with(MAKES, modules("links.js")) == []


def test_only_address_changes_the_address_of_the_browser() -> None:
    assert lines_with(CHANGES, modules("address.js")) == []


def test_the_patterns_recognize_addresses() -> None:
    for line in ('href="#/topics"', "`#${path(name)}`", "'#/groups/'"):
        assert MAKES.search(line)
    for line in ("location.hash = x", "history.pushState(null)"):
        assert CHANGES.search(line)
