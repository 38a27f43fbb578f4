"""The audit of a share group's events: clean where nothing is wrong, and each fault is found."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

import pytest

from tests.chaos.share_audit import Audit, History, Settings, audit

SETTINGS = Settings(limit=4, lock_s=2.0)
PLACE = (0, 7)


@dataclass
class Story:
    """The deliveries and verdicts of a record whose value is "v"; times are in seconds."""

    events: list[tuple[str, list[object]]] = field(default_factory=list)
    requests: int = 0

    def gets(
        self, member: str, at: float, count: int = 1, asked: float | None = None, value: str = "v"
    ) -> Story:
        asked = at - 0.1 if asked is None else asked
        self.events.append((member, ["d", *PLACE, count, asked, at, value]))
        return self

    def says(self, member: str, kind: str, at: float, result: str | None = "ok") -> Story:
        self.requests += 1
        partition, offset = PLACE
        self.events.append((member, ["a", self.requests, partition, [[offset, kind]], at]))
        if result is not None:
            line = ["r", self.requests, partition, result, at + 0.1, "NONE"]
            self.events.append((member, line))
        return self

    def judged(self, letters: int = 0) -> Audit:
        history = History()
        for member in sorted({member for member, _ in self.events}):
            lines = [json.dumps(event) + "\n" for one, event in self.events if one == member]
            history.add(member, [*lines, '["d", 0, 7, 9'])  # a line that a kill cut off
        return audit(history, {PLACE: "v"}, Counter({PLACE: letters} if letters else {}), SETTINGS)


def accepted() -> Story:
    return Story().gets("a", 1).says("a", "accept", 1.2)


CLEAN = {
    "accepted": (accepted(), 0),
    "released, then accepted by another": (
        Story().gets("a", 1).says("a", "release", 1.2).gets("b", 2, 2).says("b", "accept", 2.1),
        0,
    ),
    "accept whose answer was lost": (
        Story().gets("a", 1).says("a", "accept", 1.2, None).gets("b", 5).says("b", "accept", 5.1),
        0,
    ),
    "rejected, with two letters": (Story().gets("a", 1).says("a", "reject", 1.2), 2),
    "given up": (Story().gets("a", 1).gets("a", 4, 2).gets("a", 7, 3).gets("a", 10, 4), 1),
    "asked for before the accept was confirmed": (accepted().gets("b", 1.6, asked=1.25), 0),
    "rejected, then accepted, below the start offset": (
        Story().gets("a", 1).says("a", "reject", 1.2).says("a", "accept", 1.4),
        1,
    ),
    "accepted after the lock, below the start offset": (
        Story()
        .gets("a", 1).gets("b", 4, 2).says("b", "accept", 4.1).says("a", "accept", 4.5)
        .gets("b", 4.2, 2, asked=1.5),
        0,
    ),
}  # fmt: skip
FAULTS = {
    "lost": (Story(), 0),
    "lost after a refused accept": (Story().gets("a", 1).says("a", "accept", 1.2, "refused"), 0),
    "delivered after accept": (accepted().gets("b", 3, 2, asked=2), 0),
    "delivered after reject": (
        Story().gets("a", 1).says("a", "reject", 1.2).gets("b", 3, 2, asked=2),
        1,
    ),
    "held by two": (
        Story().gets("a", 1).gets("b", 1.5, asked=1.4).says("a", "accept", 1.7),
        0,
    ),
    "delivery count": (Story().gets("a", 1, 5).says("a", "accept", 1.2), 0),
    "rejected without a letter": (Story().gets("a", 1).says("a", "reject", 1.2), 0),
    "letter of an accepted record": (accepted(), 1),
    "acknowledged without a delivery": (Story().says("a", "accept", 1.2), 0),
    "another value": (Story().gets("a", 1, value="w").says("a", "accept", 1.2), 0),
}


@pytest.mark.parametrize("name", CLEAN)
def test_a_right_history_is_clean(name: str) -> None:
    story, letters = CLEAN[name]
    assert dict(story.judged(letters).wrong) == {}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found(name: str) -> None:
    story, letters = FAULTS[name]
    found = story.judged(letters)
    assert not found.clean
    assert any(name.startswith(kind) for kind, examples in found.wrong.items() if examples)


def test_what_is_counted() -> None:
    story = Story().gets("a", 1).says("a", "release", 1.2).gets("b", 2, 2).says("b", "reject", 2.1)
    counts = story.judged(letters=2).counts
    assert counts["deliveries"] == 2
    assert counts["delivered again"] == 1
    assert counts["highest delivery count"] == 2
    assert counts["release ok"] == counts["reject ok"] == 1
    assert counts["records with two letters or more"] == 1
