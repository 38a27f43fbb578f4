from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from protocol.record_batch import CorruptBatch
from storage.log.producer_rebuild import rebuild_producers
from storage.log.producer_rules import ProducerRules
from storage.log.producer_snapshot import ProducerSnapshots
from storage.log.producer_state import ProducerStateManager
from tests.unit.storage.harness import DIRECTORY, NOW_MS, batch, open_log


@pytest.mark.parametrize("damaged", [False, True])
def test_the_state_is_that_of_the_batches_up_to_an_offset(damaged: bool) -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem)
    for sequence in range(3):
        sent = batch(b"v", producer_id=5, producer_epoch=0, base_sequence=sequence)
        log.append_as_leader(sent, 0, NOW_MS)
    if damaged:
        file = filesystem.open(f"{DIRECTORY}/{0:020d}.log")
        file.write_at(b"\0\0\0\0", file.size // 3 + 8)  # the length of the second batch
    producers = ProducerStateManager("t-0", ProducerRules(2**62))
    rebuild = lambda: rebuild_producers(  # noqa: E731
        log.segments, producers, ProducerSnapshots(filesystem, DIRECTORY), 0, 3, NOW_MS
    )
    if damaged:
        with pytest.raises(CorruptBatch):
            rebuild()
    else:
        rebuild()
    assert producers.entries[5].last_sequence == (0 if damaged else 2)
    assert producers.map_end_offset == 3
