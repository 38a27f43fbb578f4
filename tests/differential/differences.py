"""The deliberate differences as data: the rows of `differences.toml`, each beside its matcher.

Owns their reading and checking. `row_of` finds the row that explains a difference; a row without a
matcher is about what no request can show.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.differential import share_matchers
from tests.differential.matchers import MATCHERS, MatchedDifference

DATA = Path(__file__).parent / "differences.toml"
assert share_matchers, "imported for the matchers that it registers"
SECTIONS = ("process", "behaviour", "requests", "not served")


@dataclass(frozen=True)
class Row:
    """One deliberate difference."""

    id: str
    section: str
    what: str
    ottla: str
    kafka: str = ""
    why: str = ""
    parts_ways: bool = False

    @property
    def can_be_met(self) -> bool:
        """Whether the tester can meet it, and has to in a full run."""
        return self.id in MATCHERS


@cache
def rows() -> tuple[Row, ...]:
    """All of them, in the order of the file. AssertionError where one is not complete."""
    found = tuple(Row(**one) for one in tomllib.loads(DATA.read_text())["difference"])
    ids = [row.id for row in found]
    assert len(set(ids)) == len(ids), [one for one in ids if ids.count(one) > 1]
    assert set(MATCHERS) <= set(ids), set(MATCHERS) - set(ids)
    for row in found:
        assert row.section in SECTIONS, row
        assert row.section == "not served" or (row.kafka and row.why), row
    return found


def row_of(met: MatchedDifference) -> Row | None:
    """The row that explains it, if one does."""
    return next((row for row in rows() if row.can_be_met and MATCHERS[row.id](met)), None)


def stale(counted: dict[str, int]) -> list[str]:
    """The rows that could be met and were not."""
    return [row.id for row in rows() if row.can_be_met and not counted.get(row.id)]
