"""The brokers of a run of pytest, each with the fixture or the test that made it.

A broker ends with its maker: the fixture that is being set up, or otherwise the test. A failed test
shows the output of the brokers that it used: those of the fixtures that it asks for, directly or
through others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ottla.testing.broker import Broker

Maker = tuple[str, str]
"""A fixture: the place that defines it, and its name. Or a test: its id, and an empty name."""


@dataclass
class MadeBrokers:
    """The brokers of a run of pytest, by their makers."""

    under_way: list[Maker] = field(default_factory=list)
    """The fixtures that are being set up, innermost last, above the test."""
    _brokers: dict[Maker, list[tuple[Broker, int]]] = field(default_factory=dict)
    """The brokers of each maker, with the offset in their output from which it is shown."""

    @property
    def maker(self) -> Maker:
        """The fixture that is being set up, or otherwise the test that runs; `("", "")` outside of
        a test."""
        return self.under_way[-1] if self.under_way else ("", "")

    def add(self, *brokers: Broker, offset: int = 0) -> None:
        """Assign brokers to the current maker. Their output is shown from `offset` (bytes) on."""
        self._brokers.setdefault(self.maker, []).extend((broker, offset) for broker in brokers)

    def used_by(self, item: pytest.Item) -> list[tuple[Broker, int]]:
        """Return the brokers of a test and of the fixtures that it uses, with the offsets of their
        output."""
        makers = {(item.nodeid, ""), *_fixtures_of(item)}
        return [
            broker for maker, made in self._brokers.items() if maker in makers for broker in made
        ]

    def pop_maker(self, maker: Maker) -> list[Broker]:
        """Forget a maker that has ended, and return its brokers, which are not closed; none for an
        unknown maker."""
        return [broker for broker, _ in self._brokers.pop(maker, ())]


def _fixtures_of(item: pytest.Item) -> Iterator[Maker]:
    """Yield the fixtures that a test asks for, and those that these ask for. If several have the
    same name, the last one overrides the others. The one before it is used too if the last one asks
    for its own name."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return
    by_value = getattr(getattr(item, "_request", None), "_fixture_defs", {})  # getfixturevalue()
    definitions = {name: [key] for name, key in by_value.items()} | info.name2fixturedefs
    open_names = [(name, -1) for name in (*info.names_closure, *by_value)]
    visited: set[tuple[str, int]] = set()
    while open_names:
        name, place = key = open_names.pop()
        if key in visited or len(definitions.get(name, ())) < -place:
            continue
        visited.add(key)
        fixture = definitions[name][place]
        yield fixture.baseid, name
        open_names += [(other, place - 1 if other == name else -1) for other in fixture.argnames]
