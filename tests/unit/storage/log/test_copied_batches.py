"""What a follower may copy."""

from __future__ import annotations

from protocol.errors import ErrorCode
from storage.log.copied_batches import batches_to_copy
from storage.log.refusal import AppendRefusal
from tests.unit.storage.harness import PARTITION, batch


def sent(*epochs: int) -> memoryview:
    """A batch of two records for each epoch, from offset 0 on."""
    batches = [
        batch(b"a", b"b", base_offset=2 * number, leader_epoch=epoch)
        for number, epoch in enumerate(epochs)
    ]
    return memoryview(bytearray(b"".join(batches)))


def last_offsets(records: memoryview, epoch: int, start: int = 0, end: int = 0) -> list[int]:
    found = batches_to_copy(records, epoch, PARTITION, start, end)
    assert not isinstance(found, AppendRefusal), found
    return [header.last_offset for _, header in found]


def test_a_partial_tail_and_later_epochs_are_left_out() -> None:
    assert last_offsets(sent(1, 4), 4) == [1, 3]
    assert last_offsets(sent(1, 4)[:-1], 9) == [1]
    assert last_offsets(sent(1, 4), 3) == [1], "KAFKA-18723"
    assert last_offsets(sent(1, 4)[:30], 9) == []


def test_damage_is_refused() -> None:
    damaged = sent(0)
    damaged[66] ^= 1
    refusal = batches_to_copy(damaged, 0, PARTITION, 0, 0)
    assert isinstance(refusal, AppendRefusal)
    assert (refusal.error, refusal.offsets) == (ErrorCode.CORRUPT_MESSAGE, (-1, -1))


def test_offsets_that_the_log_has_are_refused_and_named() -> None:
    refusal = batches_to_copy(sent(0), 0, PARTITION, 0, 1)
    assert isinstance(refusal, AppendRefusal)
    assert (refusal.error, refusal.offsets) == (ErrorCode.OFFSET_OUT_OF_RANGE, (0, 1))
    assert "First offset 0 is less than the next offset 1." in refusal.message


def test_an_empty_log_that_begins_inside_a_batch_takes_it_whole() -> None:
    assert last_offsets(sent(0), 0, start=1, end=1) == [1]
    assert isinstance(batches_to_copy(sent(0), 0, PARTITION, 2, 2), AppendRefusal), (
        "it is all before"
    )
    twice = memoryview(bytearray(sent(0).tobytes() * 2))
    assert isinstance(batches_to_copy(twice, 0, PARTITION, 1, 1), AppendRefusal), (
        "only the first one"
    )
