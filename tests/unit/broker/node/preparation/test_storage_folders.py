from __future__ import annotations

import os
from pathlib import Path

import pytest

from broker.config.parse import single_node_config
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.node.preparation.storage_folders import (
    format_storage,
    is_formatted,
    open_storage,
    split_folders,
)
from ground.filesystem import LocalFilesystem

FILESYSTEM = LocalFilesystem()


def config(*folders: Path, **overrides: str) -> BrokerConfig:
    return single_node_config({"log.dirs": ",".join(map(str, folders)), **overrides})


def opened(one: BrokerConfig) -> object:
    return open_storage(one, FILESYSTEM, os.urandom, 1)


def test_empty_folders_are_formatted_once(tmp_path: Path) -> None:
    one = config(tmp_path / "a", tmp_path / "b")
    assert not is_formatted(one, FILESYSTEM)
    first = open_storage(one, FILESYSTEM, os.urandom, 1)
    assert is_formatted(one, FILESYSTEM)
    assert open_storage(one, FILESYSTEM, os.urandom, 2) == first
    assert len(set(first.directory_ids.values())) == 2


def test_a_chosen_cluster_id_is_kept(tmp_path: Path) -> None:
    one = config(tmp_path / "a")
    made = format_storage(one, FILESYSTEM, os.urandom, 1, "AAAAAAAAAAAAAAAAAAAAAQ")
    assert made.cluster_id == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert open_storage(one, FILESYSTEM, os.urandom, 2).cluster_id == made.cluster_id


def test_a_cluster_id_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="--cluster-id nonsense"):
        format_storage(config(tmp_path / "a"), FILESYSTEM, os.urandom, 1, "nonsense")
    assert not (tmp_path / "a").exists()


SEVERAL = {
    "controller.quorum.voters": "1@localhost:9093,2@localhost:9094,3@localhost:9095",
}


def test_one_of_several_makes_up_no_cluster_id(tmp_path: Path) -> None:
    """Each node would have one of its own, and they would never form a cluster."""
    one = config(tmp_path / "a", **SEVERAL)
    with pytest.raises(StartError, match="ottla format --cluster-id ID"):
        opened(one)
    with pytest.raises(StartError, match="for example, --cluster-id [A-Za-z0-9_-]{22}$") as refused:
        format_storage(one, FILESYSTEM, os.urandom, 1)
    proposed = str(refused.value).rpartition(" ")[2]
    assert not (tmp_path / "a").exists()
    assert format_storage(one, FILESYSTEM, os.urandom, 1, proposed).cluster_id == proposed
    assert open_storage(one, FILESYSTEM, os.urandom, 2).cluster_id == proposed


def test_a_broker_without_a_controller_makes_up_none(tmp_path: Path) -> None:
    one = config(
        tmp_path / "a",
        **{
            "process.roles": "broker",
            "node.id": "4",
            "listeners": "PLAINTEXT://localhost:9092",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": "1@localhost:9093",
        },
    )
    with pytest.raises(
        StartError, match="all nodes of a cluster need the same cluster ID: format each"
    ):
        opened(one)


def test_the_folder_of_another_cluster_is_refused(tmp_path: Path) -> None:
    one = config(tmp_path / "a")
    format_storage(one, FILESYSTEM, os.urandom, 1, "AAAAAAAAAAAAAAAAAAAAAQ")
    assert is_formatted(one, FILESYSTEM, "AAAAAAAAAAAAAAAAAAAAAQ")
    with pytest.raises(StartError, match="belongs to cluster AAAAAAAAAAAAAAAAAAAAAQ, not to"):
        is_formatted(one, FILESYSTEM, "AAAAAAAAAAAAAAAAAAAAAg")


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"x")
    with pytest.raises(StartError, match=r"not empty \(it has photo.jpg\)"):
        opened(config(tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["photo.jpg"]


def test_another_nodes_folder_is_refused(tmp_path: Path) -> None:
    opened(config(tmp_path / "a"))
    other = config(
        tmp_path / "a", **{"node.id": "2", "controller.quorum.voters": "2@localhost:9093"}
    )
    with pytest.raises(StartError, match="belongs to node 1, but node.id is 2"):
        opened(other)


def test_a_folder_added_later_is_refused(tmp_path: Path) -> None:
    opened(config(tmp_path / "a"))
    with pytest.raises(StartError, match="is not formatted, but others are"):
        opened(config(tmp_path / "a", tmp_path / "b"))


def test_metadata_in_another_folder_is_refused(tmp_path: Path) -> None:
    """Without `metadata.log.dir`, the metadata is in the first folder of `log.dirs`."""
    first, second, new = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    made = opened(config(first, second))
    (first / "__cluster_metadata-0").mkdir()
    assert opened(config(first, second)) == made
    assert opened(config(second, first, **{"metadata.log.dir": str(first)}))
    says = (
        f"in data directory `{first}/__cluster_metadata-0` .* directory is {second}.: name {first}"
    )
    with pytest.raises(StartError, match=says):
        opened(config(second, first))
    for folders in ((new, first), (new, first, second)):
        with pytest.raises(StartError, match="Found unexpected metadata location"):
            split_folders(config(*folders), FILESYSTEM)


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    opened(config(tmp_path / "a"))
    (tmp_path / "a" / "meta.properties").write_text("rubbish")
    with pytest.raises(StartError, match="meta.properties is damaged"):
        opened(config(tmp_path / "a"))


@pytest.mark.parametrize(
    "left", ["bootstrap.checkpoint", "bootstrap.checkpoint.tmp", "meta.properties.tmp"]
)
def test_a_formatting_that_was_cut_off_is_done_again(tmp_path: Path, left: str) -> None:
    (tmp_path / left).write_bytes(b"half")
    first = opened(config(tmp_path))
    assert opened(config(tmp_path)) == first


@pytest.mark.parametrize("formatted", [False, True])
@pytest.mark.parametrize("other", ["{0}/", "{0}/.", "{0}/../a", "{0}-link", "{0}-link/"])
def test_one_folder_named_twice_is_refused(tmp_path: Path, other: str, formatted: bool) -> None:
    """Kafka: "Duplicate log directory found", or "Duplicate directory ID", and no start."""
    folder = tmp_path / "a"
    (tmp_path / "a-link").symlink_to(folder)
    if formatted:
        opened(config(folder))
    name = other.format(folder)
    dirs = single_node_config({"log.dirs": f"{folder},{name}"})
    for way in (opened, lambda one: is_formatted(one, FILESYSTEM)):
        with pytest.raises(StartError) as refused:
            way(dirs)
        assert str(refused.value) == (
            f"log.dirs names one folder twice: {folder} and {name}; leave one out"
        )
    assert folder.exists() is formatted


def test_the_metadata_s_folder_has_one_name_too(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    opened(config(folder, **{"metadata.log.dir": str(folder)}))
    with pytest.raises(StartError, match=r"metadata.log.dir=\S+/a/ is the folder that"):
        opened(config(folder, **{"metadata.log.dir": f"{folder}/"}))
