"""`controller.metadata.loader`: images in order, transactions whole, snapshots as changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from controller.metadata.loader import CommittedBatch, MetadataLoader, delta_between
from controller.metadata.records import MetadataRecord, MetadataRecordError
from ground.sliced_work import SlicedWork, Steps
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records

A, B = b"a" * 16, b"b" * 16


class Follower:
    """A listener that keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[MetadataDelta, MetadataImage]] = []

    def __call__(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self.told.append((delta, image))


def batch(base: int, *records: MetadataRecord) -> CommittedBatch:
    return CommittedBatch(base, base + max(len(records), 1) - 1, 1, 7, records)


def test_one_image_a_batch() -> None:
    loader, follower = MetadataLoader(), Follower()
    loader.add_listener(follower)
    loader.handle_commit(batch(0, broker_record(1), *topic_records("a", A, [1])))
    loader.handle_commit(batch(3, m.PartitionChangeRecord(0, A, leader=-1)))
    assert [image.offset for _, image in follower.told] == [2, 3]
    delta, image = follower.told[1]
    assert delta.image is follower.told[0][1]
    assert image is loader.image
    assert list(delta.topics.changed) == [A]


def test_a_listener_that_raises_keeps_nobody_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loader, before, after = MetadataLoader(), Follower(), Follower()

    def fails(_delta: MetadataDelta, image: MetadataImage) -> None:
        raise OSError(f"no more than {image.offset}")

    loader.add_listener(before, fails, after)
    loader.handle_commit(batch(0, broker_record(1)))
    loader.handle_commit(batch(1, broker_record(2)))
    loader.load_snapshot(image_of(broker_record(3)))
    assert [len(one.told) for one in (before, after)] == [3, 3]
    assert loader.apply_errors == 3
    said = [(record.message, str(record.exc_info[1])) for record in caplog.records]  # type: ignore[index]
    assert ("a listener failed on the metadata up to offset 1", "no more than 1") in said


def test_a_broken_invariant_goes_on_its_way() -> None:
    loader = MetadataLoader()

    def fails(*_: object) -> None:
        raise AssertionError("broken")

    loader.add_listener(fails)
    with pytest.raises(AssertionError, match="broken"):
        loader.handle_commit(batch(0, broker_record(1)))


def test_what_a_late_listener_raises_is_its_adders() -> None:
    loader = MetadataLoader()
    loader.handle_commit(batch(0, broker_record(1)))

    def fails(*_: object) -> None:
        raise OSError("cannot follow")

    with pytest.raises(OSError, match="cannot follow"):
        loader.add_listener(fails)
    assert loader.apply_errors == 0


def test_a_control_batch_moves_the_offset_and_tells_nobody() -> None:
    loader, follower = MetadataLoader(), Follower()
    loader.add_listener(follower)
    loader.handle_commit(batch(0))
    loader.handle_commit(batch(1, m.NoOpRecord()))
    assert loader.image.offset == 1
    assert follower.told == []


def test_a_late_listener_is_told_all_at_once() -> None:
    loader, follower = MetadataLoader(), Follower()
    loader.handle_commit(batch(0, *topic_records("a", A, [1])))
    loader.add_listener(follower)
    ((delta, image),) = follower.told
    assert delta.topics.changed[A].changed[0].leader == 1
    assert image is loader.image


def test_batches_come_once_and_in_order() -> None:
    loader = MetadataLoader()
    loader.handle_commit(batch(0, m.NoOpRecord()))
    with pytest.raises(AssertionError, match="came after"):
        loader.handle_commit(batch(0, m.NoOpRecord()))


def test_a_transaction_is_shown_whole() -> None:
    """KIP-868; Apache Kafka writes its bootstrap records so."""
    loader, follower = MetadataLoader(), Follower()
    loader.add_listener(follower)
    loader.handle_commit(batch(0, m.BeginTransactionRecord("x"), m.TopicRecord("a", A)))
    loader.handle_commit(batch(2, m.PartitionRecord(0, A, [1], [1], leader=1)))
    assert follower.told == []
    assert loader.in_transaction
    assert loader.image.offset == 2
    assert loader.image.topics.get("a") is None
    loader.handle_commit(batch(3, m.EndTransactionRecord()))
    assert not loader.in_transaction
    assert loader.image.topics.partition("a", 0) is not None
    assert [image.offset for _, image in follower.told] == [3]


def test_an_aborted_transaction_leaves_nothing() -> None:
    loader = MetadataLoader()
    loader.handle_commit(batch(0, m.BeginTransactionRecord("x"), m.TopicRecord("a", A)))
    loader.handle_commit(batch(2, m.AbortTransactionRecord("no"), m.TopicRecord("b", B)))
    assert list(loader.image.topics.by_name) == ["b"]


@pytest.mark.parametrize(
    "records",
    [
        [m.EndTransactionRecord()],
        [m.AbortTransactionRecord()],
        [m.BeginTransactionRecord(), m.BeginTransactionRecord()],
        [m.TopicRecord("a", A), m.BeginTransactionRecord()],
    ],
)
def test_transactions_that_cannot_be(records: list[MetadataRecord]) -> None:
    with pytest.raises(MetadataRecordError):
        MetadataLoader().handle_commit(batch(0, *records))


def test_a_snapshot_is_told_as_what_it_changes() -> None:
    loader, follower = MetadataLoader(), Follower()
    config = m.ConfigRecord(2, "a", "retention.ms", "5")
    users = [m.UserScramCredentialRecord(name, 1) for name in ("stays", "goes")]
    topic = topic_records("a", A, [1], [1])
    tokens = [m.DelegationTokenRecord(token_id=one) for one in ("stays", "goes")]
    loader.handle_commit(batch(0, broker_record(1), *topic, config, *users, *tokens))
    loader.add_listener(follower)
    follower.told.clear()
    after = image_of(
        broker_record(2),
        *topic_records("b", B, [2]),
        m.FeatureLevelRecord("metadata.version", 30),
        m.UserScramCredentialRecord("stays", 1),
        m.UserScramCredentialRecord("comes", 2),
        m.DelegationTokenRecord(token_id="stays"),
        m.DelegationTokenRecord("User:o", token_id="comes"),
    )
    loader.load_snapshot(after)
    ((delta, image),) = follower.told
    assert image is after
    assert list(delta.topics.deleted) == [A]
    assert list(delta.topics.changed) == [B]
    assert delta.changed_brokers == {1: None, 2: after.brokers[2]}
    assert delta.changed_configs == {(2, "a"): {}}
    assert delta.changed_features == {"metadata.version": 30}
    assert delta.changed_scram == {"goes": {}, "comes": after.scram.users["comes"]}
    assert delta.changed_tokens == {"goes": None, "comes": after.tokens["comes"]}


def test_a_partition_that_is_the_same_has_not_changed() -> None:
    before = image_of(*topic_records("a", A, [1], [1]))
    after = image_of(*topic_records("a", A, [1], [1]), m.PartitionChangeRecord(1, A, leader=-1))
    delta = delta_between(before, after)
    assert list(delta.topics.changed[A].changed) == [1]
    assert delta_between(before, image_of(*topic_records("a", A, [1], [1]))).is_empty


def test_listeners_hear_of_a_snapshot_in_which_only_a_quota_differs() -> None:
    user = [m.EntityData("user", "alice")]
    before = image_of(m.ClientQuotaRecord(user, "producer_byte_rate", 1.0))
    loader, follower = MetadataLoader(), Follower()
    loader.load_snapshot(before)
    loader.add_listener(follower)
    loader.load_snapshot(image_of(m.ClientQuotaRecord(user, "producer_byte_rate", 2.0)))
    loader.load_snapshot(image_of())
    changes = [list(delta.changed_quotas.values()) for delta, _ in follower.told[-2:]]
    assert changes == [[{"producer_byte_rate": 2.0}], [{}]]


class Slices:
    """Turns of the loop by hand, and a listener that takes two for each change."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.log: list[str] = []
        self.loader = MetadataLoader(SlicedWork(self, self, 0))  # type: ignore[arg-type]

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def slow(self, _delta: MetadataDelta, image: MetadataImage) -> Steps[None]:
        self.log.append(f"hears of {image.offset}")
        return self._steps(image.offset)

    def _steps(self, offset: int) -> Steps[None]:
        self.log.append(f"begins {offset}")
        yield None
        if offset == 1:
            raise OSError("no more than 1")
        self.log.append(f"ends {offset}")

    def turns(self) -> list[str]:
        self.log = []
        while self.soon:
            self.soon.pop(0)()
        return self.log


def test_what_a_listener_has_to_do_is_done_change_by_change() -> None:
    node, quick = Slices(), Follower()
    node.loader.add_listener(node.slow, quick)
    for offset in range(3):
        node.loader.handle_commit(batch(offset, broker_record(offset + 1)))
    assert node.log == ["hears of 0", "begins 0", "hears of 1", "hears of 2"]
    assert len(quick.told) == 3, "nobody else waits for it"
    assert node.turns() == ["ends 0", "begins 1", "begins 2", "ends 2"]
    assert node.loader.apply_errors == 1


def test_who_begins_to_listen_has_done_all_of_it() -> None:
    node = Slices()
    node.loader.handle_commit(batch(0, broker_record(1)))
    node.loader.add_listener(node.slow)
    assert node.log == ["hears of 0", "begins 0", "ends 0"]


def test_who_waits_for_all_listeners_hears_when_they_have_done_it() -> None:
    node = Slices()
    node.loader.add_listener(node.slow, Follower())
    node.loader.when_caught_up(lambda: node.log.append("nothing to wait for"))
    assert node.log == ["nothing to wait for"]
    for offset in (0, 2, 3):
        node.loader.handle_commit(batch(offset, broker_record(offset + 1)))
        if offset < 3:
            node.loader.when_caught_up(lambda offset=offset: node.log.append(f"followed {offset}"))  # type: ignore[misc]
    followed = ["ends 0", "followed 0", "begins 2", "ends 2", "followed 2", "begins 3", "ends 3"]
    assert node.turns() == followed
