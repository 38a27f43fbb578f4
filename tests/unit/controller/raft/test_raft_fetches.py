"""`raft_fetches`: who is told what of directories; its answers are in test_raft_apis."""

from __future__ import annotations

from controller.raft.raft_fetches import MAX_DIRECTORIES
from tests.golden import raft_cases
from tests.quorum.quorum_world import CLUSTER_ID, Context, QuorumWorld

DIRECTORY = bytes(range(16))


def test_directories_of_observers_are_known_and_limited() -> None:
    world = QuorumWorld("directories", 1, 0).start()
    node = world.wait_for_leader()
    fetches = node.apis._fetches

    def fetch(replica: int) -> None:
        request = raft_cases._fetch(replica, CLUSTER_ID, replica_directory_id=DIRECTORY)
        node.apis.handle(Context(18), request, lambda _answer: None)

    fetch(7)
    assert fetches.directory_of(7) == DIRECTORY
    assert fetches.directory_of(8) == fetches.directory_of(1) == bytes(16)
    for replica in range(100, 100 + 2 * MAX_DIRECTORIES):
        fetch(replica)
    assert len(fetches._directories) <= MAX_DIRECTORIES
