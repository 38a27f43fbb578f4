"""What a quorum of one refuses to open, and what it takes for the end that a crash leaves."""

from __future__ import annotations

import pytest

from controller.metadata.log_check import check_whole
from controller.metadata.records import MetadataRecordError
from controller.raft.raft_log import RaftLog
from controller.voter_set import VoterSet
from ground.memory_filesystem import MemoryFilesystem
from tests.unit.controller.raft_log_fixture import FOLDER, add, new_filesystem, open_log

LOG = f"{FOLDER}/{0:020d}.log"


def written(batches: int = 6, *, clean: bool = False) -> MemoryFilesystem:
    filesystem = new_filesystem()
    log = open_log(filesystem)
    for _ in range(batches):
        add(log, 1, 2, 50)
    if clean:
        log.close()
    filesystem.kill()
    return filesystem


def with_flip(filesystem: MemoryFilesystem, at: int) -> MemoryFilesystem:
    data = bytearray(filesystem.read(LOG))
    data[at] ^= 0x10
    filesystem.replace_atomically(LOG, data)
    return filesystem


def test_a_byte_anywhere_but_in_the_last_batch_refuses_the_start_again_and_again() -> None:
    """Kafka cuts there, and the topics behind it become strays."""
    size = len(written().read(LOG))
    for at in range(0, size - size // 6, 7):
        if 12 <= at % (size // 6) < 16:
            continue  # the leader epoch: no checksum covers it
        filesystem = with_flip(written(), at)
        before = filesystem.files()
        batch = at // (size // 6)
        for _ in range(2):
            with pytest.raises(MetadataRecordError) as refused:
                open_log(filesystem)
            filesystem.kill()
            assert filesystem.files() == before
        assert str(refused.value) == (
            f"{FOLDER} is damaged: what was decided from offset {2 * batch} on cannot be read, and "
            "no other node has it. Restore the folder from a backup; or, to go on without that: "
            f"truncate -s {batch * (size // 6)} {LOG}"
        )


def test_going_on_as_it_says_works() -> None:
    filesystem = with_flip(written(), len(written().read(LOG)) // 2)
    with pytest.raises(MetadataRecordError) as refused:
        open_log(filesystem)
    filesystem.kill()
    size, path = str(refused.value).rpartition("truncate -s ")[2].split(" ")
    filesystem.open(path).truncate(int(size))
    assert open_log(filesystem).end_offset == 6


@pytest.mark.parametrize("lost", [1, 30, 75, 200])
def test_a_torn_tail_is_cut_after_a_crash_and_refused_after_a_clean_stop(lost: int) -> None:
    filesystem = written()
    data = filesystem.read(LOG)
    filesystem.replace_atomically(LOG, data[:-lost])
    torn = open_log(filesystem)
    assert torn.end_offset == (10 if lost < len(data) // 6 else 8)
    filesystem = written(clean=True)
    filesystem.replace_atomically(LOG, filesystem.read(LOG)[:-lost])
    for _ in range(2):
        with pytest.raises(MetadataRecordError, match=f"rm {FOLDER}/{12:020d}.snapshot"):
            open_log(filesystem)
        filesystem.kill()


def test_others_have_what_one_of_several_lost() -> None:
    filesystem = with_flip(written(), 200)
    assert open_log(filesystem, static_voters=VoterSet.of_ids(1, 2, 3)).end_offset < 12


def test_a_log_from_a_snapshot_on_is_looked_at_from_there() -> None:
    filesystem = with_flip(written(), 200)
    with pytest.raises(MetadataRecordError):
        check_whole(filesystem, FOLDER, 0)
    check_whole(MemoryFilesystem(), FOLDER, 0)
    assert isinstance(open_log(new_filesystem()), RaftLog)


def test_what_a_metadata_snapshot_holds_is_not_called_lost() -> None:
    filesystem = written(clean=True)
    filesystem.remove(LOG)
    with pytest.raises(MetadataRecordError, match="decided from offset 10 on cannot"):
        check_whole(filesystem, FOLDER, 10)
