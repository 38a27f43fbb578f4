"""Who is in sync, and what is committed: the leader's rules, one by one."""

from __future__ import annotations

from pathlib import Path

from protocol.errors import ErrorCode
from tests.unit.broker.replication.leader_fixture import TOPIC, Leader

LAG_MS = 30_000


def leader(tmp_path: Path, **options: object) -> Leader:
    return Leader(str(tmp_path), **options)  # type: ignore[arg-type]


def test_the_watermark_is_what_all_in_sync_have(tmp_path: Path) -> None:
    one = leader(tmp_path)
    one.append(5)
    one.fetch(2, 4)
    assert one.high_watermark == 0  # nothing is known of 3
    one.fetch(3, 2)
    assert one.high_watermark == 2
    one.fetch(3, 5)
    assert one.high_watermark == 4
    assert one.partition.is_replicated_to(5) is None
    one.fetch(2, 5)
    assert one.partition.is_replicated_to(5) == ErrorCode.NONE


def test_it_never_goes_back(tmp_path: Path) -> None:
    one = leader(tmp_path, replicas=(1, 2))
    one.append(5)
    one.fetch(2, 5)
    one.fetch(2, 3)  # its disk lost the rest
    assert one.high_watermark == 5


def test_a_replica_out_of_sync_does_not_hold_it_back(tmp_path: Path) -> None:
    one = leader(tmp_path, isr=(1, 2))
    one.append(5)
    one.fetch(2, 5)
    assert one.high_watermark == 5


def test_nor_does_it_count_for_it(tmp_path: Path) -> None:
    one = leader(tmp_path, isr=(1, 2))
    one.append(5)
    one.fetch(3, 5)
    assert one.high_watermark == 0


def test_it_stands_while_too_few_are_in_sync(tmp_path: Path) -> None:
    """KIP-966: what only the leader has is not committed where two must have it."""
    one = leader(tmp_path, isr=(1,), min_isr=2)
    one.append(2)
    assert one.high_watermark == 0
    one.fetch(2, 2)
    assert one.proposed() == [1, 2]
    assert one.high_watermark == 0
    one.answer([1, 2])
    assert one.high_watermark == 2


def test_a_fetch_of_another_epoch_counts_for_nothing(tmp_path: Path) -> None:
    one = leader(tmp_path, replicas=(1, 2))
    one.append(3)
    one.replicas.move_leader(TOPIC, 1)
    epoch = one.partition.leader_epoch
    assert one.fetch(2, 3, epoch=epoch - 1) == ErrorCode.FENCED_LEADER_EPOCH
    assert one.fetch(2, 3, epoch=epoch + 1) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert one.high_watermark == 0
    assert one.fetch(2, 3, last_epoch=epoch - 1) == ErrorCode.NONE
    assert one.high_watermark == 3


def test_a_follower_of_another_history_counts_for_nothing(tmp_path: Path) -> None:
    """KAFKA-13141: it must cut its log first."""
    one = leader(tmp_path, replicas=(1, 2))
    one.append(3)
    first = one.partition.leader_epoch
    one.replicas.move_leader(TOPIC, 1)
    one.append(3)
    one.fetch(2, 5, last_epoch=first)  # its offsets 3 and 4 are not ours
    assert one.high_watermark == 0
    assert one.partition.followers is not None
    assert one.partition.followers.replicas[2].log_end_offset == -1
    one.fetch(2, 3, last_epoch=first)
    assert one.high_watermark == 3


def test_a_stranger_and_a_dead_incarnation_count_for_nothing(tmp_path: Path) -> None:
    one = leader(tmp_path, replicas=(1, 2))
    one.append(3)
    assert one.fetch(4, 3) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert one.fetch(4, 3, epoch=-1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert one.fetch(2, 3, broker_epoch=19) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert one.high_watermark == 0
    assert one.fetch(2, 3, broker_epoch=21) == ErrorCode.NONE  # our metadata is behind


def test_a_new_leader_knows_nothing_of_its_followers(tmp_path: Path) -> None:
    one = leader(tmp_path, replicas=(1, 2))
    one.append(3)
    one.fetch(2, 2)
    one.replicas.move_leader(TOPIC, 2)
    assert one.partition.followers is None
    one.replicas.move_leader(TOPIC, 1)
    assert one.high_watermark == 2
    one.append()
    assert one.high_watermark == 2
    one.fetch(2, 4)
    assert one.high_watermark == 4


def test_it_waits_for_a_replica_that_is_about_to_come_in(tmp_path: Path) -> None:
    """Else one that is always a little behind would never have all that is committed."""
    one = leader(tmp_path, replicas=(1, 2), isr=(1,))
    one.append(2)
    assert one.high_watermark == 2
    one.fetch(2, 1)
    one.fetch(2, 2)
    assert one.proposed() == [1, 2]
    one.answer(error=ErrorCode.INELIGIBLE_REPLICA)
    one.append(1)
    assert one.high_watermark == 2
    one.run(LAG_MS + 1)
    one.append(1)
    assert one.high_watermark == 4


def test_acks_all_waits_for_the_larger_of_both_isrs(tmp_path: Path) -> None:
    one = leader(tmp_path, min_isr=2)
    one.append(1)
    one.fetch(2, 1)
    one.fetch(3, 1)
    assert one.partition.is_replicated_to(1) == ErrorCode.NONE
    one.commit([1])
    assert one.partition.is_replicated_to(1) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    batch = one.replicas.batch(b"x")
    refused = one.partition.append_as_leader(batch, -1, one.replicas.scheduler.wall_ms())
    assert refused == ErrorCode.NOT_ENOUGH_REPLICAS


def test_a_lost_leadership_is_told_to_who_waits(tmp_path: Path) -> None:
    one = leader(tmp_path)
    one.append(1)
    assert one.partition.is_replicated_to(1) is None
    one.replicas.move_leader(TOPIC, 2)
    assert one.partition.is_replicated_to(1) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_replicas_come_and_go_with_a_reassignment(tmp_path: Path) -> None:
    one = leader(tmp_path, replicas=(1, 2))
    one.append(1)
    one.fetch(2, 1)
    one.replicas.reassign(TOPIC, [1, 2, 3])
    assert one.fetch(3, 0) == ErrorCode.NONE
    assert one.high_watermark == 1
    one.replicas.reassign(TOPIC, [1, 3])
    assert one.fetch(2, 1) == ErrorCode.UNKNOWN_LEADER_EPOCH
