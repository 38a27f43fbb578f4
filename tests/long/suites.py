"""The suites of `make test-long`, and which of them a run takes.

Owns the reading of `suites.toml`. Starts nothing.
"""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

SUITES = Path(__file__).parent / "suites.toml"
PYTEST = "-P -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder"
PROGRAMS = {
    "python": (sys.executable,),
    "pytest": (sys.executable, *PYTEST.split(), "--randomly-seed={seed}"),
}


@dataclass(frozen=True)
class Suite:
    """A command that passes or fails, and when it is worth its time."""

    name: str
    command: str
    minutes: float
    guards: tuple[str, ...]
    """Paths; a change there is a reason to run the suite."""
    needs: tuple[str, ...] = ()
    figure: bool = False
    """Whether it prints figures more than it checks anything."""

    @property
    def is_seeded(self) -> bool:
        return self.words(0) != self.words(1)

    def words(self, seed: int) -> list[str]:
        """Return the command as a process takes it."""
        program, *rest = shlex.split(self.command)
        words = [*PROGRAMS.get(program, (program,)), *rest]
        return [word.replace("{seed}", str(seed)) for word in words]


def suites() -> dict[str, Suite]:
    """Return all suites by name, in the order of the file. TypeError for an unknown key."""
    tables = tomllib.loads(SUITES.read_text())
    lists = ("guards", "needs")
    return {
        name: Suite(name, **{key: tuple(it) if key in lists else it for key, it in table.items()})
        for name, table in tables.items()
    }


def unpassed_for(known: Iterable[Suite], ages: Mapping[str, int], commits: int) -> list[Suite]:
    """Return the suites that have not passed for so many commits, those of longest ago first.

    A suite without an age has never passed.
    """
    old = [suite for suite in known if ages.get(suite.name, inf) >= commits]
    return sorted(old, key=lambda suite: -ages.get(suite.name, inf))


def fitting(ordered: Iterable[Suite], minutes: float) -> list[Suite]:
    """Return those that run one after the other within so many minutes, the first ones first."""
    taken: list[Suite] = []
    for suite in ordered:
        if suite.minutes <= minutes:
            taken.append(suite)
            minutes -= suite.minutes
    return taken
