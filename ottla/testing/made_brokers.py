"""Who has made which brokers in a run of pytest: with whom they end, with whose failure they are
shown.

Who makes them is a fixture while it is set up, or else the test. A test has used the brokers of the
fixtures that it asks for, itself or by others, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ottla.testing.broker import Broker

Maker = tuple[str, str]
"""A fixture, by where it is defined and its name; or a test, by its id and no name."""


@dataclass
class MadeBrokers:
    """Of one run."""

    under_way: list[Maker] = field(default_factory=list)
    """The fixtures that are set up now, innermost last, and the test below them."""
    _brokers: dict[Maker, list[tuple[Broker, int]]] = field(default_factory=dict)
    """With where in each one's output that begins which is of interest here."""

    @property
    def maker(self) -> Maker:
        """Who is under way."""
        return self.under_way[-1] if self.under_way else ("", "")

    def add(self, *brokers: Broker, offset: int = 0) -> None:
        """Whoever is under way has these; of their output counts what comes after `offset`."""
        self._brokers.setdefault(self.maker, []).extend((one, offset) for one in brokers)

    def used_by(self, item: pytest.Item) -> list[tuple[Broker, int]]:
        """Those of a test and of its fixtures, with their offsets."""
        makers = {(item.nodeid, ""), *_fixtures_of(item)}
        return [one for maker, made in self._brokers.items() if maker in makers for one in made]

    def let_go(self, maker: Maker) -> list[Broker]:
        """The maker is through: its brokers, which are not kept here any more."""
        return [one for one, _ in self._brokers.pop(maker, ())]


def _fixtures_of(item: pytest.Item) -> Iterator[Maker]:
    """The fixtures that a test asks for, and those that these ask for. Where there are several of a
    name, the last one counts, and the one before it if that asks for its own name."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return
    by_value = getattr(getattr(item, "_request", None), "_fixture_defs", {})  # getfixturevalue()
    known = {name: [one] for name, one in by_value.items()} | info.name2fixturedefs
    asked = [(name, -1) for name in (*info.names_closure, *by_value)]
    found: set[tuple[str, int]] = set()
    while asked:
        name, place = one = asked.pop()
        if one in found or len(known.get(name, ())) < -place:
            continue
        found.add(one)
        fixture = known[name][place]
        yield fixture.baseid, name
        asked += [(other, place - 1 if other == name else -1) for other in fixture.argnames]
