"""What the collector looks at: what has come since the last full collection, and rarely all."""

from __future__ import annotations

from broker.process.garbage import FACTOR, REVIEW_EVERY, Garbage

FULL = {"generation": 2, "collected": 0, "uncollectable": 0}
YOUNG = {**FULL, "generation": 1}


class Counted:
    """Notes what is asked of it."""

    def __init__(self, aside: int) -> None:
        self.aside = aside
        self.asked: list[str] = []

    def freeze(self) -> None:
        self.asked.append("freeze")

    def unfreeze(self) -> None:
        self.asked.append("unfreeze")

    def blocks(self) -> int:
        return self.aside


def full_collections(garbage: Garbage, count: int = 1) -> None:
    for _ in range(count):
        garbage.collected("start", FULL)
        garbage.collected("stop", FULL)


def test_what_outlives_a_full_collection_is_set_aside_and_of_no_other() -> None:
    collector = Counted(1000)
    garbage = Garbage(collector, collector.blocks)
    assert collector.asked == ["freeze"]
    garbage.collected("stop", YOUNG)
    garbage.collected("start", FULL)
    assert collector.asked == ["freeze"]
    garbage.collected("stop", FULL)
    assert collector.asked == ["freeze"] * 2


def test_when_much_more_is_set_aside_all_is_looked_at_once() -> None:
    collector = Counted(1000)
    garbage = Garbage(collector, collector.blocks)
    collector.aside = FACTOR * 1000
    full_collections(garbage, REVIEW_EVERY)
    assert "unfreeze" not in collector.asked
    collector.aside += 1
    full_collections(garbage, REVIEW_EVERY)
    assert collector.asked[-2:] == ["freeze", "unfreeze"]
    full_collections(garbage, REVIEW_EVERY)  # what was left of it counts now
    assert collector.asked[-REVIEW_EVERY:] == ["freeze"] * REVIEW_EVERY
    collector.aside *= FACTOR
    full_collections(garbage, REVIEW_EVERY)
    assert collector.asked.count("unfreeze") == 1
    collector.aside += 1
    full_collections(garbage, REVIEW_EVERY)
    assert collector.asked.count("unfreeze") == 2


def test_what_comes_and_goes_is_not_looked_at() -> None:
    collector = Counted(1000)
    garbage = Garbage(collector, collector.blocks)
    collector.aside = 100_000
    full_collections(garbage, REVIEW_EVERY - 1)
    collector.aside = 1000
    full_collections(garbage)
    assert "unfreeze" not in collector.asked
    collector.aside = 100_000
    full_collections(garbage, REVIEW_EVERY)
    assert "unfreeze" in collector.asked, "it stays"
