"""A folder under a partition's name that is none is left as it is, at a start and later."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ground.filesystem import LocalFilesystem
from ground.memory_filesystem import MemoryFilesystem
from ground.topic_partition import TopicPartition
from storage.log.checkpoints import PARTITION_METADATA, encode_partition_metadata
from storage.log.log_dir_failure import LogPlaceTaken
from tests.unit.storage.log_manager_fixture import (
    OTHER_ID,
    TOPIC_ID,
    A,
    B,
    Node,
    append,
    started,
)

SEGMENT = f"{0:020d}.log"
UNIQUE = "0123456789abcdef" * 2
NODES = {".lock": b"4711\n", "meta.properties": b"version=1\n", "t-0/" + SEGMENT: b"records"}
PROJECT = {"README.tmp": b"mine", "src/main.py": b"mine"}
KINDS = pytest.mark.parametrize(
    ("files", "said"),
    [(NODES, "is the data folder of a node"), (PROJECT, "has no file of a partition (it has ")],
    ids=["node", "project"],
)


def put(node: Node, folder: str, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        node.filesystem.make_dirs(f"{folder}/{name}".rpartition("/")[0])
        node.filesystem.replace_atomically(f"{folder}/{name}", data)


def files_in(node: Node, folder: str) -> dict[str, bytes]:
    assert isinstance(node.filesystem, MemoryFilesystem)
    return {
        path.removeprefix(f"{folder}/"): data
        for path, data in node.filesystem.files()
        if path.startswith(f"{folder}/")
    }


def start_where_no_topic_is(node: Node) -> None:
    node.manager = node.new()
    node.manager.lock()
    node.manager.load(lambda _partition, _topic_id: True)
    node.scheduler.run_for(60_000)


@KINDS
@pytest.mark.parametrize("clean", [True, False])
def test_a_start_leaves_what_is_no_log(files: dict[str, bytes], said: str, clean: bool) -> None:
    """Whether or not there is a topic of that name here."""
    node = started(1)
    if clean:
        assert node.manager.close()
    else:
        node.die()
    put(node, "/a/broker-1", files)
    put(node, f"/b/broker-1.{UNIQUE}-future", files)
    put(node, f"/b/broker-1.{UNIQUE}-delete", files)
    start_where_no_topic_is(node)
    left = ["/a/broker-1", f"/b/broker-1.{UNIQUE}-delete", f"/b/broker-1.{UNIQUE}-future"]
    assert [files_in(node, folder) for folder in left] == [files] * 3
    lines = [line for line in node.manager.report if said in line]
    assert [line.partition(" ")[0] for line in lines] == left
    assert all(line.endswith(": left as it is") for line in lines)
    node.die()
    manager = node.start()
    node.scheduler.run_for(60_000)
    assert manager.get(("broker", 1)) is None and not len(manager.future_logs)
    assert manager.unopened == {}
    assert [files_in(node, folder) for folder in left] == [files] * 3


def test_a_copy_that_a_person_made_is_not_taken_for_a_nodes() -> None:
    node = started(1)
    assert node.manager.close()
    names = ("t-0.before-delete", "t-0.in-future", "t-0.not-stray")
    for name in names:
        put(node, f"/b/{name}", files_in(node, "/a/t-0"))
    start_where_no_topic_is(node)
    assert all(SEGMENT in files_in(node, f"/b/{name}") for name in names)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_a_folder_that_cannot_be_read_is_no_stray(number: int) -> None:
    node = started(1)
    assert node.manager.close()
    put(node, "/a/other-0", NODES)
    put(node, f"/a/other-0.{UNIQUE}-delete", NODES)
    assert isinstance(node.filesystem, MemoryFilesystem)
    node.filesystem.inject("list_dir", number, path_part="/other-0", count=99)
    start_where_no_topic_is(node)
    if number == errno.EIO:
        assert node.manager.online_dirs == [B]
        return
    assert node.manager.online_dirs == [A, B]
    lines = [line for line in node.manager.report if " cannot be read (" in line]
    assert [line.endswith(": left as it is") for line in lines] == [True] * 2
    assert "other-0" in node.filesystem.list_dir(A)


def test_a_stray_that_cannot_be_renamed_costs_no_directory() -> None:
    """A volume is mounted there, for example."""
    node = started(1)
    assert node.manager.close()
    assert isinstance(node.filesystem, MemoryFilesystem)
    node.filesystem.inject("rename", errno.EBUSY, path_part="/a/t-0")
    start_where_no_topic_is(node)
    assert node.manager.online_dirs == [A, B]
    assert "/a/t-0 belongs to no topic, and stays: " in str(node.manager.report)


def test_an_unread_folder_of_a_deleted_topic_is_left() -> None:
    """It was offline, for it may be its log. Nobody can say that it is not another one's."""
    node = started(1)
    node.die()
    assert isinstance(node.filesystem, MemoryFilesystem)
    node.filesystem.inject("list_dir", errno.EACCES, path_part="/a/t-0", count=99)
    manager = node.start()
    assert list(manager.unopened) == [("t", 0)]
    assert manager.delete(("t", 0)) is False
    node.scheduler.run_for(60_000)
    assert (manager.unopened, manager.online_dirs) == ({}, [A, B])
    assert SEGMENT in files_in(node, "/a/t-0")
    with pytest.raises(LogPlaceTaken, match="/a/t-0 cannot be read"):
        manager.get_or_create(("t", 0), OTHER_ID, log_dir=A)


# ---- an empty folder: a crash came before the first file -----------------------------------------


def test_an_empty_folder_is_no_log_yet() -> None:
    node = started(1)
    assert node.manager.close()
    for folder in ("/a/new-0", "/b/new-0", "/a/new-1"):
        node.filesystem.make_dirs(folder)
    manager = node.start()
    assert (manager.get(("new", 0)), manager.report, manager.lacking) == (None, [], {})
    append(manager.get_or_create(("new", 0), TOPIC_ID, log_dir=B, is_new=False), 3)
    append(manager.get_or_create(("new", 1), TOPIC_ID, log_dir=A, is_new=False), 1)
    for _ in range(2):  # the empty one beside the log is no second copy of it
        node.die()
        manager = node.start()
        ends = [manager.get(("new", index)).log_end_offset for index in (0, 1)]  # type: ignore[union-attr]
        assert ends == [3, 1] and manager.unopened == {}
    node.die()
    start_where_no_topic_is(node)
    assert "new-0" in node.filesystem.list_dir(A)


def test_an_emptied_folder_is_one_that_is_gone() -> None:
    """By the checkpoints it had records: an empty log would stand for them."""
    node = started(2)
    assert node.manager.close()
    for name in node.filesystem.list_dir("/b/t-1"):
        node.filesystem.remove(f"/b/t-1/{name}")
    manager = node.start()
    assert (manager.get(("t", 1)), manager.lacking) == (None, {("t", 1): B})


# ---- while the node runs -------------------------------------------------------------------------


@KINDS
def test_no_log_is_made_where_something_else_is(files: dict[str, bytes], said: str) -> None:
    node = started(1)
    put(node, "/a/broker-1", files)
    with pytest.raises(LogPlaceTaken) as refused:
        node.manager.get_or_create(("broker", 1), OTHER_ID, log_dir=A)
    assert said in refused.value.why and "move it away" in refused.value.why
    assert files_in(node, "/a/broker-1") == files
    assert node.manager.online_dirs == [A, B]
    node.filesystem.rename("/a/broker-1", "/a/moved")
    assert node.manager.get_or_create(("broker", 1), OTHER_ID, log_dir=A).log_end_offset == 0


def test_a_log_of_another_topic_is_not_taken_over() -> None:
    """What a try before this one left is."""
    node = started(1)
    put(node, "/a/x-0", files_in(node, "/a/t-0"))
    with pytest.raises(LogPlaceTaken, match="/a/x-0 holds another log"):
        node.manager.get_or_create(("x", 0), OTHER_ID, log_dir=A)
    put(node, "/a/x-1", {PARTITION_METADATA: encode_partition_metadata(OTHER_ID)})
    assert node.manager.get_or_create(("x", 1), OTHER_ID, log_dir=A).topic_id == OTHER_ID


def test_a_name_that_is_no_folders_costs_its_partition() -> None:
    node = started(1)
    node.filesystem.replace_atomically("/a/x-0", b"")
    with pytest.raises(LogPlaceTaken, match="/a/x-0 is no folder"):
        node.manager.get_or_create(("x", 0), OTHER_ID, log_dir=A)
    assert node.manager.online_dirs == [A, B]


def test_a_link_that_leads_nowhere_costs_its_partition(tmp_path: Path) -> None:
    """The disk that it leads to is not mounted."""
    node = Node(LocalFilesystem(), dirs=(str(tmp_path),))
    manager = node.start()
    (tmp_path / "x-0").symlink_to(tmp_path / "away")
    with pytest.raises(LogPlaceTaken, match="x-0 cannot be made"):
        manager.get_or_create(("x", 0), OTHER_ID)
    assert manager.online_dirs == [str(tmp_path)]
    assert manager.get_or_create(("x", 1), OTHER_ID).log_end_offset == 0


@KINDS
def test_nothing_is_moved_to_where_something_else_is(files: dict[str, bytes], said: str) -> None:
    """The copy would take its name in the end."""
    node = started(1)
    log = node.manager.get(("t", 0))
    assert log is not None
    put(node, "/b/t-0", files)
    with pytest.raises(LogPlaceTaken) as refused:
        node.manager.future_logs.create(log, B, log.config)
    assert said in refused.value.why
    assert node.manager.online_dirs == [A, B] and not len(node.manager.future_logs)
    node.filesystem.remove_tree("/b/t-0")
    node.filesystem.make_dirs("/b/t-0")
    append(node.manager.future_logs.create(log, B, log.config))
    assert node.manager.future_logs.take_over(TopicPartition("t", 0)).directory == "/b/t-0"


# ---- links ---------------------------------------------------------------------------------------


def test_a_link_to_a_nodes_folder_is_left_as_the_folder_is(tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    other.mkdir()
    (other / "meta.properties").write_text("version=1\n")
    node = Node(LocalFilesystem(), dirs=(str(data),))
    node.start()
    assert node.manager.close()
    (data / "broker-1").symlink_to(other)
    (data / f"broker-1.{UNIQUE}-delete").symlink_to(other)
    start_where_no_topic_is(node)
    assert {"broker-1", f"broker-1.{UNIQUE}-delete"} < set(os.listdir(data))
    assert os.listdir(other) == ["meta.properties"]


def test_the_log_of_a_deleted_topic_goes_with_the_link_to_it(tmp_path: Path) -> None:
    """As on Kafka, the folder that it leads to stays: somebody made it. Before, the directory
    failed, and with it the node."""
    data, disk = tmp_path / "data", tmp_path / "disk"
    disk.mkdir()
    data.mkdir()
    (data / "t-0").symlink_to(disk)
    node = Node(LocalFilesystem(), dirs=(str(data),))
    append(node.start().get_or_create(("t", 0), TOPIC_ID), 2)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "mine").write_text("mine")
    (disk / "link").symlink_to(kept)
    (disk / "folder").mkdir()
    assert node.manager.delete(("t", 0))
    node.scheduler.run_for(60_000)
    assert node.manager.online_dirs == [str(data)]
    assert [name for name in os.listdir(data) if name.startswith("t-0")] == []
    assert (os.listdir(disk), os.listdir(kept)) == ([], ["mine"])
