"""Who is proposed for the ISR, and what becomes of the controller's answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.metadata.image import PartitionRegistration
from protocol.errors import ErrorCode
from tests.unit.broker.replication.leader_fixture import TOPIC, Leader

LAG_MS = 30_000


def leader(tmp_path: Path, **options: object) -> Leader:
    return Leader(str(tmp_path), **options)  # type: ignore[arg-type]


def test_a_replica_that_has_caught_up_is_proposed(tmp_path: Path) -> None:
    one = leader(tmp_path, isr=(1, 2))
    one.append(4)
    one.fetch(2, 3)
    one.fetch(3, 2)
    assert one.proposed() is None
    one.fetch(3, 3)
    assert one.proposed() == [1, 2, 3]
    states = one.asked[-1][0].topics[0].partitions[0].new_isr_with_epochs
    assert [state.broker_epoch for state in states] == [1, 20, 30]


def test_one_that_is_proposed_counts_before_the_answer(tmp_path: Path) -> None:
    one = leader(tmp_path, replicas=(1, 2), isr=(1,))
    one.append(1)
    one.fetch(2, 1)
    assert one.proposed() == [1, 2]
    one.run(LAG_MS * 2)
    one.append(1)
    assert one.high_watermark == 1  # the controller may have elected it already
    one.answer([1, 2])
    assert one.partition.isr == (1, 2)
    assert one.high_watermark == 1
    one.fetch(2, 2)
    assert one.high_watermark == 2


@pytest.mark.parametrize("error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_it_counts_no_more_where_nothing_was_changed(tmp_path: Path, error: ErrorCode) -> None:
    one = leader(tmp_path, replicas=(1, 2), isr=(1,))
    one.append(1)
    one.fetch(2, 1)
    assert one.proposed() == [1, 2]
    one.run(LAG_MS * 2)
    one.append(1)
    one.answer(error=error)
    assert one.partition.isr == (1,)
    assert one.high_watermark == 2


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_it_counts_on_where_only_the_metadata_can_tell(tmp_path: Path, error: ErrorCode) -> None:
    one = leader(tmp_path, replicas=(1, 2), isr=(1,))
    one.append(1)
    one.fetch(2, 1)
    assert one.proposed() == [1, 2]
    one.run(LAG_MS * 2)
    one.append(1)
    one.answer(error=error)
    assert one.partition._view.failed_isr_updates == 1
    assert one.high_watermark == 1
    one.fetch(2, 1)
    assert one.asked == []  # one proposal at a time
    one.commit([1])
    assert one.high_watermark == 2


def test_an_answer_of_a_later_leader_epoch_is_a_failed_update(tmp_path: Path) -> None:
    one = leader(tmp_path, replicas=(1, 2), isr=(1,))
    one.append(1)
    one.fetch(2, 1)
    assert one.proposed() == [1, 2]
    one.answer([1, 2], epochs_later=1)
    assert one.partition._view.failed_isr_updates == 1
    assert one.partition.isr == (1,)  # the metadata of that epoch will tell
    assert one.partition._view.isr_expands == 0


def test_what_came_of_proposals_is_counted_once(tmp_path: Path) -> None:
    one = leader(tmp_path, replicas=(1, 2), isr=(1,))
    view = one.partition._view
    one.append(1)
    one.fetch(2, 1)
    assert one.proposed() == [1, 2]
    one.answer([1, 2])
    one.commit([1, 2])  # the metadata tells the same
    assert (view.isr_expands, view.isr_shrinks) == (1, 0)
    one.append(1)
    one.run(LAG_MS * 2)
    one.partition.shrink_isr()
    assert one.proposed() == [1]
    one.commit([1])  # before the answer
    one.answer([1])
    assert (view.isr_expands, view.isr_shrinks) == (1, 1)
    one.commit([1, 2])  # the controller's own doing
    assert (view.isr_expands, view.isr_shrinks) == (1, 1)


def test_the_answer_and_the_metadata_may_come_in_either_order(tmp_path: Path) -> None:
    one = leader(tmp_path, isr=(1,))
    one.append(1)
    one.fetch(2, 1)
    assert one.proposed() == [1, 2]
    one.answer([1, 2])
    one.fetch(3, 1)
    assert one.proposed() == [1, 2, 3]
    one.run(LAG_MS * 2)
    one.append(1)
    one.fetch(2, 2)
    one.commit([1, 2])  # what the answer told before: the proposal of 3 is still under way
    assert one.high_watermark == 1
    one.commit([1, 2, 3])
    assert one.partition.isr == (1, 2, 3)
    one.answer([1, 2, 3])
    assert one.high_watermark == 1
    one.fetch(3, 2)
    assert one.high_watermark == 2


def test_metadata_older_than_an_answer_is_left_out(tmp_path: Path) -> None:
    one = leader(tmp_path, isr=(1,))
    one.append(1)
    one.fetch(2, 1)
    assert one.proposed() == [1, 2]
    partition, before = one.partition, one.partition.partition_epoch
    one.answer([1, 2])
    old = PartitionRegistration((1, 2, 3), (bytes(16),) * 3, (1,), 1, 0, before)
    assert not partition.apply(old)
    assert (partition.isr, partition.partition_epoch) == ((1, 2), before + 1)


def test_one_proposal_waits_for_the_other(tmp_path: Path) -> None:
    one = leader(tmp_path, isr=(1,))
    one.append(1)
    one.fetch(2, 1)
    one.fetch(3, 1)
    assert one.proposed() == [1, 2]
    assert one.partition.followers is not None
    assert one.partition.followers.maximal_isr == (1, 2)
    one.answer([1, 2])
    assert one.proposed() == [1, 2, 3]  # though it does not fetch again


def test_one_that_the_controller_knows_alive_now_is_tried_again(tmp_path: Path) -> None:
    one = leader(tmp_path, replicas=(1, 2), isr=(1,))
    one.append(1)
    one.replicas.register(2, 20, fenced=True)
    one.fetch(2, 1)
    one.replicas.register(2, 20)
    one.partition.brokers_changed()
    assert one.proposed() == [1, 2]


def test_one_that_misses_this_epochs_start_is_not_proposed(tmp_path: Path) -> None:
    """What lies below it may be committed though the high watermark does not say so yet."""
    one = leader(tmp_path, isr=(1, 2))
    one.append(3)
    one.fetch(2, 1)
    one.replicas.move_leader(TOPIC, 2)
    one.replicas.move_leader(TOPIC, 1)
    assert one.high_watermark == 1
    one.fetch(3, 2)
    assert one.proposed() is None
    one.fetch(3, 3)
    assert one.proposed() == [1, 2, 3]


def test_one_that_the_controller_would_refuse_is_not_proposed(tmp_path: Path) -> None:
    one = leader(tmp_path, isr=(1,))
    one.append(1)
    one.replicas.register(2, 20, fenced=True)
    one.fetch(2, 1)
    one.fetch(3, 1, broker_epoch=31)  # of a start that our metadata does not know yet
    assert one.proposed() is None
    one.replicas.register(3, 31)
    one.fetch(3, 1, broker_epoch=31)
    assert one.proposed() == [1, 3]


def test_who_lags_for_too_long_is_proposed_to_leave(tmp_path: Path) -> None:
    one = leader(tmp_path)
    one.append(2)
    one.fetch(2, 2)
    one.fetch(3, 1)
    one.run(LAG_MS - 1)
    one.partition.shrink_isr()
    assert one.proposed() is None
    one.fetch(3, 1)
    one.run(2)
    one.partition.shrink_isr()
    assert one.proposed() == [1, 2]
    one.append(1)
    one.fetch(2, 3)
    assert one.high_watermark == 1  # it counts until the controller has decided
    one.answer([1, 2])
    assert one.partition.isr == (1, 2)
    assert one.high_watermark == 3


def test_who_left_for_its_lag_does_not_come_back_without_a_fetch(tmp_path: Path) -> None:
    """Though it has all that is committed, for the high watermark stands."""
    one = leader(tmp_path, min_isr=3)
    for broker_id in (2, 3):
        one.fetch(broker_id, 0)
    one.append(1)
    one.fetch(2, 1)
    one.run(LAG_MS + 1)
    one.partition.shrink_isr()
    assert one.proposed() == [1, 2]
    one.answer([1, 2])
    one.partition.brokers_changed()
    assert one.proposed() is None
    one.fetch(3, 0)
    assert one.proposed() == [1, 2, 3]


def test_who_misses_nothing_stays_however_long_ago_it_fetched(tmp_path: Path) -> None:
    one = leader(tmp_path)
    one.append(1)
    one.fetch(2, 1)
    one.fetch(3, 1)
    one.run(LAG_MS * 3)
    assert one.proposed() is None


def test_a_follower_always_a_little_behind_stays(tmp_path: Path) -> None:
    """It asks each time for what was the end at its fetch before (`lastCaughtUpTimeMs`)."""
    one = leader(tmp_path, replicas=(1, 2))
    for _ in range(40):
        one.append(1)
        one.fetch(2, one.end - 1)
        one.run(LAG_MS / 10)
    assert one.proposed() is None
