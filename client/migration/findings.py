"""The findings of a migration's check: lines that say what Ottla would refuse or ignore, and where.

Pure values: never decides what is found (`client.migration.check`), never prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

PLACES_SHOWN = 5


class Severity(StrEnum):
    """The weight of a finding. All but IGNORED stand against a migration."""

    REFUSED = "REFUSED"
    """Ottla rejects it, or does not start with it."""
    UNKNOWN = "UNKNOWN"
    """This release of Ottla has never heard of it."""
    WAIT = "WAIT"
    """The cluster must leave this state before a node is replaced."""
    UNREAD = "UNREAD"
    """The check could not read it, so nothing is known about it."""
    IGNORED = "IGNORED"
    """Ottla runs with it, but it has no effect there."""


class Finding(NamedTuple):
    """A finding: what it is about, in which places of the cluster, and what to do."""

    severity: Severity
    places: tuple[str, ...]
    """Places such as `broker 1`, `topic orders` or `feature metadata.version`."""
    what: str
    advice: str

    def __str__(self) -> str:
        """Return the finding as a line, with at most PLACES_SHOWN places."""
        places = ", ".join(self.places[:PLACES_SHOWN])
        more = len(self.places) - PLACES_SHOWN
        if more > 0:
            places += f" and {more} more"
        return f"{self.severity:7}  {places}: {self.what} -> {self.advice}"


def refused(place: str, what: str, advice: str) -> Finding:
    """Return a finding of the severity REFUSED."""
    return Finding(Severity.REFUSED, (place,), what, advice)


def unknown(place: str, what: str, advice: str) -> Finding:
    """Return a finding of the severity UNKNOWN."""
    return Finding(Severity.UNKNOWN, (place,), what, advice)


def wait(place: str, what: str, advice: str) -> Finding:
    """Return a finding of the severity WAIT."""
    return Finding(Severity.WAIT, (place,), what, advice)


def ignored(place: str, what: str, advice: str) -> Finding:
    """Return a finding of the severity IGNORED."""
    return Finding(Severity.IGNORED, (place,), what, advice)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by severity, with the places of equal findings in one finding."""
    places: dict[tuple[Severity, str, str], dict[str, None]] = {}
    for severity, names, what, advice in findings:
        places.setdefault((severity, what, advice), {}).update(dict.fromkeys(names))
    return list(_ordered(places))


def _ordered(places: dict[tuple[Severity, str, str], dict[str, None]]) -> Iterator[Finding]:
    """Yield the findings in the order of Severity, else in the order in which they came."""
    for wanted in Severity:
        for (severity, what, advice), names in places.items():
            if severity is wanted:
                yield Finding(severity, tuple(names), what, advice)
