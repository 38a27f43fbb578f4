"""Two copies of one partition, and what is kept of a log that is not used."""

from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from storage.log.log_dir_failure import LogUnusable
from storage.log.unopened_logs import have_same_records
from tests.unit.storage.harness import append as append_to
from tests.unit.storage.harness import open_log
from tests.unit.storage.log_manager_fixture import (
    OTHER_ID,
    TOPIC_ID,
    A,
    B,
    Node,
    append,
    started,
)


def test_copies_are_alike_where_their_epochs_begin_and_they_end_alike() -> None:
    one, two, other = (open_log(MemoryFilesystem()) for _ in range(3))
    for log, epochs in ((one, (0, 3)), (two, (0, 3)), (other, (0, 2))):
        for epoch in epochs:
            append_to(log, 2, epoch=epoch)
        log.update_high_watermark(4)
    assert have_same_records(one, two) and not have_same_records(one, other)
    two.increment_log_start_offset(1)
    assert have_same_records(one, two), "of what one of them has deleted nothing is asked"
    append_to(two, epoch=3)
    assert not have_same_records(one, two)


def in_both_folders(*, alike: bool) -> Node:
    """A partition of three batches in A, and in B the same, or two of them."""
    node = started(0)
    append(node.manager.get_or_create(("t", 0), TOPIC_ID, log_dir=A), 3)
    append(node.manager.get_or_create(("t", 1), TOPIC_ID, log_dir=A), 1)
    node.manager.get_or_create(("t", 0), TOPIC_ID).increment_log_start_offset(1)
    assert node.manager.close()
    filesystem = node.filesystem
    filesystem.make_dirs("/b/t-0")
    for name in filesystem.list_dir("/a/t-0"):
        filesystem.replace_atomically(f"/b/t-0/{name}", filesystem.read(f"/a/t-0/{name}"))
    if not alike:
        log = f"/b/t-0/{0:020d}.log"
        filesystem.replace_atomically(log, filesystem.read(log)[:-10])
    return node


@pytest.mark.parametrize("named", [None, A, B])
def test_of_two_copies_that_hold_the_same_the_one_that_the_metadata_names_stays(
    named: str | None,
) -> None:
    """An end in the midst of a move leaves them."""
    node = in_both_folders(alike=True)
    node.manager = node.new()
    node.manager.lock()
    node.manager.load(home_of=lambda _partition: named)
    kept, other = node.manager.get(("t", 0)), B if named != B else A
    assert kept is not None and (kept.log_dir, kept.log_end_offset) == (named or A, 3)
    assert node.manager.logs_in(other) == [] or other == A
    (aside,) = [name for name in node.filesystem.list_dir(other) if name.endswith("-stray")]
    assert node.manager.report[0] == (
        f"t-0 lies in /a and in /b: the copy in {other} is renamed to {aside}, "
        "for both hold the same"
    )


def test_no_copy_is_chosen_by_its_length() -> None:
    """Kafka: "Duplicate log directories for t-0 are found in both", and no start at all."""
    node = in_both_folders(alike=False)
    manager = node.start()
    assert manager.get(("t", 0)) is None and manager.get(("t", 1)) is not None
    told = "t-0 is offline: it lies in /a and in /b: remove one of the two folders, and start again"
    assert [line for line in manager.report if "offline" in line] == [told]
    with pytest.raises(LogUnusable, match="remove one of the two folders"):
        manager.get_or_create(("t", 0), TOPIC_ID, is_new=False)
    assert manager.close(), "nothing of it is touched, and the others end well"
    node.filesystem.remove_tree("/b/t-0")
    log = node.start().get(("t", 0))
    assert log is not None
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (1, 3, 3)


def test_of_two_copies_the_one_that_the_metadata_names_is_the_replica() -> None:
    """A replica was copied anew from its leader while its folder was away."""
    node = in_both_folders(alike=False)
    node.manager = node.new()
    node.manager.lock()
    node.manager.load(home_of=lambda _partition: B)
    kept = node.manager.get(("t", 0))
    assert kept is not None and (kept.log_dir, kept.log_end_offset) == (B, 2)
    assert any("for the metadata names the other" in line for line in node.manager.report)


def test_both_copies_go_with_their_topic() -> None:
    node = in_both_folders(alike=False)
    manager = node.start()
    manager.delete(("t", 0))
    anew = manager.get_or_create(("t", 0), OTHER_ID)
    assert anew.log_end_offset == 0
    node.scheduler.run_for(0)
    left = [name for path in (A, B) for name in node.filesystem.list_dir(path) if "t-0" in name]
    assert left == ["t-0"]
