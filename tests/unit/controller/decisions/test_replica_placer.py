"""`replica_placer`: spread over racks, live leaders, refusals in Kafka's words."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from controller.decisions.replica_placer import UsableBroker, place_replicas
from protocol.errors import ApiError, ErrorCode


def brokers(*racks: str | None, fenced: tuple[int, ...] = ()) -> list[UsableBroker]:
    return [UsableBroker(i, rack, i in fenced) for i, rack in enumerate(racks, 1)]


def place(
    usable: list[UsableBroker], partitions: int, factor: int, seed: int = 1
) -> list[list[int]]:
    placed = place_replicas(usable, partitions, factor, random.Random(seed).randrange)
    assert not isinstance(placed, ApiError)
    return placed


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_leaders_and_replicas_are_even_over_brokers_without_racks(factor: int) -> None:
    placed = place(brokers(None, None, None), 30, factor)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {10}
    assert set(Counter(r for replicas in placed for r in replicas).values()) == {10 * factor}
    assert all(len(dict.fromkeys(replicas)) == factor for replicas in placed)


def test_each_partition_is_on_every_rack() -> None:
    """KIP-36."""
    usable = brokers("a", "a", "b", "b", "c", "c")
    racks = {broker.id: broker.rack for broker in usable}
    placed = place(usable, 60, 3)
    assert all(sorted(str(racks[r]) for r in replicas) == ["a", "b", "c"] for replicas in placed)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {10}


def test_a_rack_that_is_left_out_does_not_lose_its_turn() -> None:
    """With fewer replicas than racks each broker still leads as often as the others."""
    placed = place(brokers("a", "a", "b", "b"), 40, 1)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {10}


def test_a_rack_without_a_live_broker_follows() -> None:
    placed = place(brokers("a", "b", "c", fenced=(2,)), 30, 2)
    assert 2 not in [leader for leader, _ in placed]
    assert 2 in [follower for _, follower in placed]


def test_uneven_racks_still_give_distinct_replicas() -> None:
    placed = place(brokers("a", "b", "b", "b"), 40, 3)
    assert all(len(dict.fromkeys(replicas)) == 3 for replicas in placed)


def test_a_fenced_broker_follows_but_never_leads() -> None:
    placed = place(brokers(None, None, None, fenced=(2,)), 20, 3)
    assert 2 not in [replicas[0] for replicas in placed]
    assert all(2 in replicas for replicas in placed)
    alone = place(brokers("a", "b", fenced=(1,)), 5, 1)
    assert alone == [[2]] * 5


def test_the_same_seed_gives_the_same_places() -> None:
    usable = brokers("a", "b", None, None)
    assert place(usable, 20, 2, seed=7) == place(usable, 20, 2, seed=7)
    assert place(usable, 20, 2, seed=7) != place(usable, 20, 2, seed=8)


@pytest.mark.parametrize(
    ("usable", "factor", "text"),
    [
        (brokers(None), 0, "Invalid replication factor 0: the replication factor must be "
         "positive."),
        (brokers(None, fenced=(1,)), 1, "All brokers are currently fenced."),
        (brokers(None), 2, "The target replication factor of 2 cannot be reached because only 1 "
         "broker(s) are registered or some brokers have all their log directories cordoned."),
    ],
)  # fmt: skip
def test_refusals(usable: list[UsableBroker], factor: int, text: str) -> None:
    assert place_replicas(usable, 1, factor, lambda _: 0) == ApiError(
        ErrorCode.INVALID_REPLICATION_FACTOR, text
    )
