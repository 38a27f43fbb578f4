"""The folder of a cluster: made once, gone on with afterwards, refused in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from broker.config.file import load_config
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from command.cluster_folder import open_folder
from controller.metadata.snapshot import encode_snapshot
from controller.metadata.version import LATEST_LEVEL
from controller.raft.quorum_voters import DYNAMIC_LEVEL, control_records, voters_on_disk
from controller.voter_set import ReplicaKey, Voter, VoterSet
from ground.filesystem import LocalFilesystem
from storage.directories.log_dirs import read_meta_properties
from tests.tools.static_cluster import static_files


def config(folder: Path, node_id: int) -> BrokerConfig:
    return load_config(str(folder / f"broker-{node_id}.properties"), ())


def first_voters(folder: Path, node_id: int) -> dict[int, bytes] | None:
    """Return the directory ids of the voters in a node's metadata log."""
    voters = voters_on_disk(LocalFilesystem(), str(folder / f"broker-{node_id}" / "data"))
    return voters and {voter.key.id: voter.key.directory_id for voter in voters.voters}


def directory_id(folder: Path, node_id: int) -> bytes | None:
    properties = read_meta_properties(LocalFilesystem(), str(folder / f"broker-{node_id}" / "data"))
    return properties and properties.directory_id


def pretend_a_start(folder: Path, node_id: int) -> None:
    """Add the segment that a node creates at its first start."""
    (folder / f"broker-{node_id}/data/__cluster_metadata-0" / f"{0:020}.log").touch()


def test_a_new_folder_has_three_formatted_nodes_of_one_cluster(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "cluster"
    opened = open_folder(str(folder), None, None)
    assert opened.is_new and [node.node_id for node in opened.layout.nodes] == [1, 2, 3]
    for node_id in (1, 2, 3):
        written = (folder / f"broker-{node_id}" / "data" / "meta.properties").read_text()
        assert f"cluster.id={opened.cluster_id}" in written and f"node.id={node_id}" in written


def test_all_nodes_begin_with_the_same_voters(tmp_path: Path) -> None:
    open_folder(str(tmp_path), 4, 20_000)
    ids = {node_id: directory_id(tmp_path, node_id) for node_id in (1, 2, 3)}
    assert len(set(ids.values())) == 3
    assert [first_voters(tmp_path, node_id) for node_id in (1, 2, 3)] == [ids] * 3
    assert first_voters(tmp_path, 4) is None


def test_an_interrupted_first_start_goes_on_with_the_same_voters(tmp_path: Path) -> None:
    open_folder(str(tmp_path), 3, 20_000)
    before = first_voters(tmp_path, 1)
    shutil.rmtree(tmp_path / "broker-3")
    open_folder(str(tmp_path), None, None)
    assert first_voters(tmp_path, 3) == before is not None
    assert directory_id(tmp_path, 3) == before[3]


def test_a_controller_with_an_empty_disk_begins_without_a_vote(tmp_path: Path) -> None:
    """A controller that lost its disk may have voted already, so it joins as an observer."""
    open_folder(str(tmp_path), 3, 20_000)
    before = first_voters(tmp_path, 1)
    pretend_a_start(tmp_path, 1)
    shutil.rmtree(tmp_path / "broker-3")
    open_folder(str(tmp_path), None, None)
    assert before is not None and first_voters(tmp_path, 3) is None
    assert directory_id(tmp_path, 3) not in (None, before[3])


def test_without_the_data_of_any_controller(tmp_path: Path) -> None:
    open_folder(str(tmp_path), 2, 20_000)
    (tmp_path / "broker-2/data/__cluster_metadata-0").mkdir()
    pretend_a_start(tmp_path, 2)
    shutil.rmtree(tmp_path / "broker-1")
    assert refusal(tmp_path) == (
        f"the data of all controllers of {tmp_path} is missing, and with it the metadata: restore "
        "a controller's data, or begin with another --dir"
    )


def test_a_static_cluster_of_an_earlier_release_stays_so(tmp_path: Path) -> None:
    static_files(tmp_path, 3, 20_000)
    opened = open_folder(str(tmp_path), 4, 30_000)
    assert not opened.layout.is_dynamic
    for node_id in (1, 2, 3, 4):
        moved = config(tmp_path, node_id)
        assert [voter.port for voter in moved.controller_quorum_voters] == [30_010, 30_011, 30_012]
        assert moved.controller_quorum_bootstrap_servers == ()
    assert first_voters(tmp_path, 1) is None


def test_ports_that_the_controllers_keep_are_not_for_clients(tmp_path: Path) -> None:
    open_folder(str(tmp_path), 3, 20_000)
    assert refusal(tmp_path, None, 20_009) == (
        "--port 20009: the controllers keep the ports 20010, 20011, 20012, which the cluster's "
        "metadata has: choose a --port whose nodes need other ports"
    )


def test_a_voter_that_has_left_is_not_missing(tmp_path: Path) -> None:
    """The log of a node that was down then still names the voter."""
    open_folder(str(tmp_path), 3, 20_000)
    first_snapshot = next((tmp_path / "broker-1/data/__cluster_metadata-0").glob("*.checkpoint"))
    after = VoterSet(tuple(Voter(ReplicaKey(node_id, b"%16d" % node_id)) for node_id in (1, 3)))
    control = control_records(DYNAMIC_LEVEL, after)
    first_snapshot.write_bytes(encode_snapshot((), LATEST_LEVEL, 0, 0, 0, control))
    (tmp_path / "broker-2.properties").unlink()
    assert open_folder(str(tmp_path), None, None).layout.controllers == [1, 3]


def test_it_goes_on_with_what_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    first = open_folder(str(folder), 2, 20_000)
    file = folder / "broker-1.properties"
    file.write_text(file.read_text() + "num.partitions=7\n")
    before = file.read_text()
    again = open_folder(str(folder), None, None)
    assert not again.is_new
    assert (again.cluster_id, again.layout.nodes) == (first.cluster_id, first.layout.nodes)
    assert file.read_text() == before


def test_other_ports_when_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    open_folder(str(folder), 3, 20_000)
    file = folder / "broker-2.properties"
    file.write_text(file.read_text() + "num.partitions=7\n")
    open_folder(str(folder), None, 30_000)
    moved = config(folder, 2)
    assert moved.broker_listeners[0].port == 30_001
    assert moved.controller_quorum_bootstrap_servers == tuple(
        f"localhost:{port}" for port in (20_010, 20_011, 20_012)
    ), "the metadata has these"
    assert moved.num_partitions == 7


def test_more_nodes_join_the_same_cluster(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    first = open_folder(str(folder), 3, None)
    grown = open_folder(str(folder), 4, None)
    assert grown.cluster_id == first.cluster_id
    assert config(folder, 4).process_roles == ("broker",)
    assert config(folder, 4).broker_listeners[0].port == 9095
    written = (folder / "broker-4" / "data" / "meta.properties").read_text()
    assert f"cluster.id={first.cluster_id}" in written


def test_a_folder_that_was_moved(tmp_path: Path) -> None:
    open_folder(str(tmp_path / "old"), 2, None)
    shutil.move(tmp_path / "old", tmp_path / "new")
    open_folder(str(tmp_path / "new"), None, None)
    assert config(tmp_path / "new", 1).log_dirs == (str(tmp_path / "new" / "broker-1" / "data"),)
    assert not (tmp_path / "old").exists()


def refusal(folder: Path, brokers: int | None = None, port: int | None = None) -> str:
    with pytest.raises(StartError) as refused:
        open_folder(str(folder), brokers, port)
    return str(refused.value)


@pytest.mark.parametrize("brokers", [0, -1, 10])
def test_a_number_out_of_range(tmp_path: Path, brokers: int) -> None:
    assert refusal(tmp_path / "c", brokers) == (
        f"--brokers {brokers}: from 1 to 9 run on one machine"
    )
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("port", [0, 65530])
def test_a_port_out_of_range(tmp_path: Path, port: int) -> None:
    assert f"--port {port}" in refusal(tmp_path / "c", 3, port)


def test_fewer_nodes_than_there_are(tmp_path: Path) -> None:
    open_folder(str(tmp_path / "c"), 3, None)
    assert "holds 3 nodes and --brokers says 2" in refusal(tmp_path / "c", 2)


def test_a_folder_with_something_else_in_it(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").touch()
    assert "is not empty and holds no cluster" in refusal(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["photo.jpg"]


def test_a_folder_that_lacks_a_controller(tmp_path: Path) -> None:
    open_folder(str(tmp_path / "c"), 3, None)
    (tmp_path / "c" / "broker-2.properties").unlink()
    assert "broker-2.properties is missing: node 2 is a controller" in refusal(tmp_path / "c")


def test_a_file_of_another_node(tmp_path: Path) -> None:
    open_folder(str(tmp_path / "c"), 3, None)
    shutil.copy(tmp_path / "c" / "broker-1.properties", tmp_path / "c" / "broker-4.properties")
    assert "node.id is 1, the file's name says 4" in refusal(tmp_path / "c")


def test_a_file_with_a_wrong_value_is_named(tmp_path: Path) -> None:
    open_folder(str(tmp_path / "c"), 1, None)
    file = tmp_path / "c" / "broker-1.properties"
    file.write_text(file.read_text() + "num.partitions=many\n")
    assert "broker-1.properties" in refusal(tmp_path / "c")


def test_a_path_that_no_properties_file_can_hold(tmp_path: Path) -> None:
    assert "a comma or a backslash" in refusal(tmp_path / "a,b")


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "c").touch()
    with pytest.raises(OSError, match="Not a directory"):
        open_folder(str(tmp_path / "c"), None, None)


def test_a_folder_that_cannot_be_made_is_named_with_the_option_for_another() -> None:
    with pytest.raises(StartError, match=r"folder /proc/nowhere/c: .*ottla cluster --dir DIR$"):
        open_folder("/proc/nowhere/c", None, None)


def test_a_layout_that_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    def refuse(_: object) -> None:
        raise StartError("port 9092 is taken")

    with pytest.raises(StartError, match="is taken"):
        open_folder(str(tmp_path / "c"), 3, None, refuse)
    assert not (tmp_path / "c").exists()
    open_folder(str(tmp_path / "c"), 3, 20_000)
    before = (tmp_path / "c" / "broker-1.properties").read_text()
    with pytest.raises(StartError, match="is taken"):
        open_folder(str(tmp_path / "c"), 4, 30_000, refuse)
    assert (tmp_path / "c" / "broker-1.properties").read_text() == before
    assert not (tmp_path / "c" / "broker-4.properties").exists()
