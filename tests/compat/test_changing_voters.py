"""Quorums of Ottla, and of Ottla and Apache Kafka, whose voters change (KIP-853): by Kafka's tools,
by controllers that join by themselves, and by an upgrade of a static quorum.

After each step all nodes agree on the quorum, and a new topic shows that the metadata changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.compat.quorum_tools import QuorumTools
from tests.tools.cluster_processes import KAFKA, OTTLA, ClusterProcesses, NodeProcess
from tests.tools.waiting import wait_until

pytestmark = [pytest.mark.java, pytest.mark.timeout(300)]

FEATURES = {"streams.version": 0}
"""Of Kafka's defaults, those that Ottla does not know: level 0."""
AUTO_JOIN = {"controller.quorum.auto.join.enable": "true"}
SMALL_SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": "400",
    "metadata.max.retention.bytes": "1000",
}
FIRST_SEGMENT = "00000000000000000000.log"
FIRST_SNAPSHOT = "00000000000000000000-0000000000.checkpoint"
"""The snapshot that the format tool writes, which no leader sends."""
Start = Callable[..., tuple[ClusterProcesses, QuorumTools]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts controllers of these programs, and a broker of Ottla with the
    highest id; of these nodes only those in `at_first`, if that is given."""
    opened: list[Any] = []

    def begin(
        *programs: str, at_first: Sequence[int] = (), **more: Any
    ) -> tuple[ClusterProcesses, QuorumTools]:
        others = dict(enumerate((*programs, OTTLA), 1))
        roles = [*["controller"] * len(programs), "broker"]
        made = ClusterProcesses(len(roles), others=others, roles=roles, features=FEATURES, **more)
        opened.append(made)
        made.start(at_first or None)
        tools = QuorumTools(made)
        opened.append(tools)
        return made, tools

    yield begin
    for thing in reversed(opened):
        thing.close()


def other(program: str) -> str:
    return OTTLA if program == KAFKA else KAFKA


def metadata_files(node: NodeProcess) -> list[str]:
    return sorted(path.name for path in (node.data_dir / "__cluster_metadata-0").iterdir())


def sends_snapshots(node: NodeProcess) -> bool:
    """Return True if a leader sends a snapshot to a new node: Kafka's does if it has one, Ottla's
    if its log begins with it."""
    files = metadata_files(node)
    if node.peer == OTTLA:
        return FIRST_SNAPSHOT not in files
    return any(name.endswith(".checkpoint") and name != FIRST_SNAPSHOT for name in files)


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("founder", [KAFKA, OTTLA])
def test_a_voter_of_the_other_program_leads_and_leaves(start: Start, founder: str) -> None:
    cluster, quorum = start(founder, other(founder), voters=[1])
    quorum.wait_for([1], leader=1)
    quorum.new_topic()

    # The founder removes itself: the other program leads, and takes the founder back.
    quorum.add(2)
    quorum.wait_for([1, 2], leader=1)
    quorum.new_topic()
    quorum.remove(1)
    quorum.wait_for([2], leader=2)
    quorum.new_topic()
    quorum.add(1)
    quorum.wait_for([1, 2], leader=2)
    quorum.new_topic()

    # Now the other program removes itself, and goes as a follower at the second time.
    quorum.remove(2)
    quorum.wait_for([1], leader=1)
    quorum.new_topic()
    quorum.add(2)
    quorum.remove(2)
    quorum.wait_for([1], leader=1)
    quorum.new_topic()

    # Each knows the voters after a restart.
    cluster.restart(2)
    cluster.restart(1)
    quorum.wait_for([1], leader=1)
    quorum.new_topic()
    assert cluster.unexpected_deaths() == []


@pytest.mark.long
@pytest.mark.parametrize("founder", [KAFKA, OTTLA])
def test_a_voter_starts_from_a_snapshot_of_the_other_program(start: Start, founder: str) -> None:
    programs = (founder, other(founder))
    cluster, quorum = start(*programs, at_first=[1, 3], voters=[1], properties=SMALL_SNAPSHOTS)
    quorum.new_topic()
    wait_until(lambda: sends_snapshots(cluster.nodes[1]), "the founder makes no snapshot")
    cluster.start_node(2)
    quorum.add(2)
    quorum.wait_for([1, 2], leader=1)
    assert FIRST_SEGMENT not in metadata_files(cluster.nodes[2])

    # It has all topics and the voters, and passes them on in snapshots of its own.
    quorum.remove(1)
    quorum.wait_for([2], leader=2)
    quorum.new_topic()
    cluster.restart(2)
    cluster.terminate(1)
    cluster.replace_disk(1)
    cluster.start_node(1)
    quorum.add(1)
    quorum.wait_for([1, 2], leader=2)
    assert FIRST_SEGMENT not in metadata_files(cluster.nodes[1])
    quorum.remove(2)
    quorum.wait_for([1], leader=1)
    quorum.new_topic()
    assert cluster.unexpected_deaths() == []


@pytest.mark.long
@pytest.mark.parametrize("founder", [KAFKA, OTTLA])
def test_leaders_leave_until_the_other_program_leads(start: Start, founder: str) -> None:
    cluster, quorum = start(founder, founder, founder, other(founder), voters=[1, 2, 3])
    voters = [1, 2, 3]
    leader = quorum.wait_for(voters)
    quorum.add(4)
    voters.append(4)
    removed = []
    while leader != 4:
        quorum.remove(leader)
        voters.remove(leader)
        removed.append(leader)
        leader = quorum.wait_for(voters)
        quorum.new_topic()
    for node_id in removed:
        quorum.add(node_id)
    quorum.wait_for([1, 2, 3, 4], leader=4)
    quorum.new_topic()

    # The leader of the other program goes, and the founders elect one of theirs.
    quorum.remove(4)
    leader = quorum.wait_for([1, 2, 3])
    quorum.new_topic()
    cluster.kill(leader)
    quorum.new_topic()
    cluster.start_node(leader)
    quorum.wait_for([1, 2, 3])
    assert cluster.unexpected_deaths() == []


@pytest.mark.long(sample=1)
@pytest.mark.parametrize(("founder", "joining"), [(KAFKA, OTTLA), (OTTLA, OTTLA), (OTTLA, KAFKA)])
def test_a_controller_joins_by_itself_also_with_another_disk(
    start: Start, founder: str, joining: str
) -> None:
    cluster, quorum = start(founder, founder, joining, voters=[1, 2], at_first=[1, 2, 4])
    quorum.wait_for([1, 2])
    cluster.nodes[3].properties |= AUTO_JOIN
    cluster.start_node(3)
    quorum.wait_for([1, 2, 3])
    quorum.new_topic()

    # With another directory id the node is another replica, which first removes the old voter.
    before = cluster.nodes[3].directory_id
    cluster.kill(3)
    cluster.replace_disk(3)
    cluster.start_node(3)
    assert cluster.nodes[3].directory_id != before
    quorum.wait_for([1, 2, 3])
    quorum.new_topic()

    # The new voter counts: one of the founders may go.
    cluster.kill(1)
    quorum.new_topic()
    cluster.start_node(1)
    quorum.wait_for([1, 2, 3])
    assert cluster.unexpected_deaths() == []


@pytest.mark.long(sample=1)
@pytest.mark.parametrize(
    "programs",
    [(OTTLA, OTTLA, OTTLA), (OTTLA, KAFKA, KAFKA), (KAFKA, OTTLA, OTTLA), (OTTLA, OTTLA)],
)
def test_a_static_quorum_is_upgraded_and_grows(start: Start, programs: tuple[str, ...]) -> None:
    cluster, quorum = start(*programs)
    voters = [*range(1, len(programs) + 1)]
    wait_until(lambda: quorum.upgrade(1).exit == 0, "no upgrade of kraft.version", pause_s=0.5)
    quorum.wait_for(voters)
    quorum.new_topic()

    # The keys of the static quorum give way to the addresses, one node at a time.
    cluster.is_dynamic = True
    for node_id in cluster.nodes:
        cluster.restart(node_id)
        quorum.wait_for(voters)
    quorum.new_topic()
    added = cluster.add_controller().node_id
    cluster.start_node(added)
    quorum.add(added)
    quorum.wait_for([*voters, added])
    quorum.new_topic()
    assert cluster.unexpected_deaths() == []
