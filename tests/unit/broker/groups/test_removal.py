"""`removal`: batch by batch, slice by slice, and where a batch is refused."""

from __future__ import annotations

import pytest

from broker.coordinator.outcome import RECORDS_PER_BATCH, Outcome
from broker.groups.removal import LOOKS_A_SLICE, LOOKS_A_TOMBSTONE, ShardRemoval
from ground.sliced_work import Steps, in_one_go
from protocol.errors import ErrorCode

Found = list[tuple[bytes, None] | None]

GONE: Found = [(b"key", None)]


def batches(found: Found) -> list[Outcome[int]]:
    """All outcomes, each of which is appended."""
    outcomes = [in_one_go(ShardRemoval(iter(found)).next_batch())]
    while (then := outcomes[-1].then) is not None:
        following = then(ErrorCode.NONE)
        assert following is not None and not isinstance(following, Outcome)
        outcomes.append(in_one_go(following))
    return outcomes


@pytest.mark.parametrize(
    ("tombstones", "sizes"),
    [
        (0, [0]),
        (3, [3, 0]),
        (RECORDS_PER_BATCH, [RECORDS_PER_BATCH, 0]),
        (2 * RECORDS_PER_BATCH + 1, [RECORDS_PER_BATCH, RECORDS_PER_BATCH, 1, 0]),
    ],
)
def test_a_batch_follows_the_other_and_the_last_tells_the_number(
    tombstones: int, sizes: list[int]
) -> None:
    outcomes = batches([None, *(GONE * tombstones), None])
    assert [len(one.records) for one in outcomes] == sizes
    assert outcomes[-1].reply == tombstones


def test_a_refused_batch_is_the_last() -> None:
    outcome = in_one_go(ShardRemoval(iter(GONE * (RECORDS_PER_BATCH + 1))).next_batch())
    assert outcome.then is not None
    assert outcome.then(ErrorCode.NOT_ENOUGH_REPLICAS) is None


@pytest.mark.parametrize(
    ("found", "slices"),
    [
        ([None] * (LOOKS_A_SLICE - 1), 1),
        ([None] * (3 * LOOKS_A_SLICE - 1), 3),
        (GONE * (LOOKS_A_SLICE // LOOKS_A_TOMBSTONE + 1), 2),
    ],
)
def test_a_slice_looks_at_some(found: Found, slices: int) -> None:
    steps: Steps[Outcome[int]] = ShardRemoval(iter(found)).next_batch()
    assert len(list(steps)) + 1 == slices
