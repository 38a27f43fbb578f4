"""The versions and notes of `CHANGELOG.md`."""

from __future__ import annotations

import re

_HEADING = re.compile(r"^## (\S+) \(\d{4}-\d{2}-\d{2}\)$", re.MULTILINE)


def versions(changelog: str) -> list[str]:
    """Return the versions with a dated heading, newest first."""
    return _HEADING.findall(changelog)


def notes(changelog: str, version: str) -> str | None:
    """Return the text below the dated heading of a version; None if there is no such heading."""
    heading = next((h for h in _HEADING.finditer(changelog) if h[1] == version), None)
    if heading is None:
        return None
    return changelog[heading.end() :].partition("\n## ")[0].strip() + "\n"
