"""`controller.storage_format`: what is in a formatted directory, and what does not fit."""

from __future__ import annotations

import random

import pytest

from controller.metadata.records import MetadataRecordError
from controller.metadata.snapshot import encode_snapshot, feature_records
from controller.metadata.version import LATEST_LEVEL, METADATA_VERSION
from controller.storage_format import (
    FIRST_SNAPSHOT,
    FormatError,
    encode_bootstrap,
    format_directories,
    new_cluster_id,
    read_bootstrap,
    read_directories,
)
from ground.memory_filesystem import MemoryFilesystem
from protocol.messages.metadata_records import FeatureLevelRecord, UserScramCredentialRecord
from protocol.primitives import uuid_from_string
from storage.log.checkpoints import MetaProperties, encode_meta_properties

CLUSTER = "QI2CiGH1Q92Y99kj0qQe9g"

FIRST_RECORDS = [
    FeatureLevelRecord("metadata.version", LATEST_LEVEL),
    FeatureLevelRecord("eligible.leader.replicas.version", 1),
    FeatureLevelRecord("group.version", 1),
    FeatureLevelRecord("share.version", 2),
    FeatureLevelRecord("transaction.version", 2),
]


def formatted(*log_dirs: str, metadata: str | None = None) -> MemoryFilesystem:
    filesystem = MemoryFilesystem()
    source = random.Random(1).randbytes
    format_directories(filesystem, log_dirs, metadata or log_dirs[0], CLUSTER, 1, source, 99)
    return filesystem


def test_files() -> None:
    filesystem = formatted("/a", "/b")
    assert filesystem.list_dir("/a") == ["bootstrap.checkpoint", "meta.properties"]
    assert filesystem.list_dir("/b") == ["meta.properties"]
    lines = filesystem.read("/a/meta.properties").decode().split("\n")
    assert [line.partition("=")[0] for line in lines if "=" in line] == [
        "cluster.id",
        "directory.id",
        "node.id",
        "version",
    ]


def test_read_back() -> None:
    directories = read_directories(formatted("/a", "/b"), ["/a", "/b"])
    assert directories is not None
    assert (directories.cluster_id, directories.node_id) == (CLUSTER, 1)
    assert list(directories.directory_ids) == ["/a", "/b"]
    assert directories.directory_ids["/a"] != directories.directory_ids["/b"]


def test_users_stand_behind_the_features_as_kafka_writes_them() -> None:
    filesystem = MemoryFilesystem()
    user = UserScramCredentialRecord("u", 2, b"salt", b"stored", b"server", 4096)
    source = random.Random(1).randbytes
    format_directories(filesystem, ["/a"], "/a", CLUSTER, 1, source, 99, first_records=[user])
    assert read_bootstrap(filesystem, "/a") == [*FIRST_RECORDS, user]


def test_an_extra_metadata_directory() -> None:
    filesystem = formatted("/a", metadata="/m")
    assert filesystem.list_dir("/m") == ["bootstrap.checkpoint", "meta.properties"]


def test_it_stands_a_loss_of_power() -> None:
    filesystem = formatted("/a")
    filesystem.lose_power(random.Random(1))
    assert read_directories(filesystem, ["/a"]) is not None
    assert read_bootstrap(filesystem, "/a") == FIRST_RECORDS


def test_the_folder_itself_stands_a_loss_of_power() -> None:
    for seed in range(10):
        filesystem = formatted("/deep/down/a")
        filesystem.lose_power(random.Random(seed))
        assert read_directories(filesystem, ["/deep/down/a"]) is not None


def test_nothing_is_formatted_twice() -> None:
    filesystem = formatted("/a")
    with pytest.raises(FormatError, match="/a is already formatted"):
        format_directories(filesystem, ["/a"], "/a", CLUSTER, 1, random.Random(1).randbytes, 99)


def test_what_is_formatted_stays_beside_a_new_directory() -> None:
    filesystem = formatted("/a")
    before = {name: filesystem.read(f"/a/{name}") for name in filesystem.list_dir("/a")}
    source = random.Random(2).randbytes
    for owner in ((CLUSTER, 2), ("another", 1)):
        with pytest.raises(FormatError, match="/a belongs to node 1 of cluster .*, not to node"):
            format_directories(
                filesystem, ["/a", "/b"], "/a", *owner, source, 99, ignore_formatted=True
            )
    assert not filesystem.exists("/b")
    made = format_directories(
        filesystem, ["/a", "/b"], "/a", CLUSTER, 1, source, 99, ignore_formatted=True
    )
    assert made == read_directories(filesystem, ["/a", "/b"])
    assert {name: filesystem.read(f"/a/{name}") for name in filesystem.list_dir("/a")} == before
    assert filesystem.list_dir("/b") == ["meta.properties"]


def test_unformatted() -> None:
    assert read_directories(MemoryFilesystem(), ["/a"]) is None
    assert read_bootstrap(MemoryFilesystem(), "/a") == FIRST_RECORDS


def test_only_some_are_formatted() -> None:
    with pytest.raises(FormatError, match="/b is not formatted"):
        read_directories(formatted("/a"), ["/a", "/b"])


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        (MetaProperties("other", 1, b"d" * 16), "/b belongs to node 1 of cluster other"),
        (MetaProperties(CLUSTER, 2, b"d" * 16), "/b belongs to node 2"),
        (MetaProperties(CLUSTER, 1, None), "has no directory.id"),
    ],
)
def test_directories_that_do_not_belong_together(properties: MetaProperties, words: str) -> None:
    filesystem = formatted("/a")
    filesystem.make_dirs("/b")
    filesystem.replace_atomically("/b/meta.properties", encode_meta_properties(properties))
    with pytest.raises(FormatError, match=words):
        read_directories(filesystem, ["/a", "/b"])


def test_a_copied_directory_is_noticed() -> None:
    filesystem = formatted("/a")
    filesystem.make_dirs("/b")
    filesystem.replace_atomically("/b/meta.properties", filesystem.read("/a/meta.properties"))
    with pytest.raises(FormatError, match="directory.id of another"):
        read_directories(filesystem, ["/a", "/b"])


def test_damage() -> None:
    filesystem = formatted("/a")
    filesystem.replace_atomically("/a/meta.properties", b"nonsense")
    with pytest.raises(FormatError, match="is damaged"):
        read_directories(filesystem, ["/a"])
    filesystem.replace_atomically("/a/bootstrap.checkpoint", encode_bootstrap({}, 1)[:-1])
    with pytest.raises(MetadataRecordError):
        read_bootstrap(filesystem, "/a")


def test_the_first_snapshot_has_the_first_records_as_kafka_writes_them() -> None:
    """Kafka's tool writes no `bootstrap.checkpoint` since 4.4. Where both files have records, the
    snapshot counts."""
    filesystem = formatted("/a")
    records = feature_records({METADATA_VERSION: 20})
    folder = "/a/__cluster_metadata-0"
    filesystem.make_dirs(folder)
    path = f"{folder}/{FIRST_SNAPSHOT}"
    filesystem.replace_atomically(path, encode_snapshot([], 20, 0, 0, 1))
    assert read_bootstrap(filesystem, "/a") == FIRST_RECORDS
    filesystem.replace_atomically(path, encode_snapshot(records, 20, 0, 0, 1))
    assert read_bootstrap(filesystem, "/a") == records
    filesystem.replace_atomically(path, encode_snapshot(records, 20, 0, 0, 1)[:-1])
    with pytest.raises(MetadataRecordError, match="restore it from a backup"):
        read_bootstrap(filesystem, "/a")


def test_cluster_ids() -> None:
    assert len(uuid_from_string(new_cluster_id(random.Random(1).randbytes))) == 16
