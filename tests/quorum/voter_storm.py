"""Voters that are added and removed, and disks that are replaced, while the faults of a seed last.

    world = voter_storm(seed=1, duration_ms=8_000)

An administrator sends AddRaftVoter and RemoveRaftVoter to nodes that may lead. What was answered
without an error has to be there: the set of the voters follows a model of it, apart from requests
whose answer was lost.
"""

from __future__ import annotations

from typing import Any

from controller.voter_set import ReplicaKey, VoterSet
from ground.ports import ChannelFailure
from protocol.errors import ErrorCode
from protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from tests.quorum.quorum_links import SimChannel
from tests.quorum.quorum_world import CLUSTER_ID, QuorumNode, QuorumWorld, Storm

ADMIN = 1_000
TIMEOUT_MS = 3_000.0
VOTERS_MAX = 5


class Administrator:
    """Changes the voters; at most one request is under way."""

    def __init__(self, world: QuorumWorld) -> None:
        self.world = world
        self.done = 0
        """Answers without an error."""
        self.errors: dict[ErrorCode, int] = {}
        self.removed: set[ReplicaKey] = set()
        """Voters whose removal was answered, and that nobody asked to add since."""
        self.added: set[ReplicaKey] = set()
        """The same of those that were added, and the answer followed the commit."""
        self._on = True
        self._busy = False

    def begin(self) -> None:
        if self._on:
            if not self._busy:
                self._change()
            wait_ms = 50 + self.world.chance.random() * 500
            self.world.world.call_later(wait_ms, self.begin)

    def end(self) -> None:
        self._on = False

    def _change(self) -> None:
        """Ask the node that leads, as far as can be seen, or sometimes any other."""
        world, chance = self.world, self.world.chance
        leader = world.leader
        if leader is None:
            return
        target = leader if chance.random() < 0.9 else chance.choice(list(world.nodes.values()))
        voters = leader.log.voters.latest
        others = [n for n in world.nodes.values() if n.alive and n.key not in voters]
        lost = [v for v in voters.voters if not v.is_replica(world.nodes[v.key.id].key)]
        if lost:
            self._send(target, RemoveRaftVoterRequest(CLUSTER_ID, *lost[0].key))
        elif chance.random() < 0.15:
            self._replace_disk(voters)
        elif others and (len(voters) < 2 or chance.random() < 0.5) and len(voters) < VOTERS_MAX:
            self._send(target, _adding(chance.choice(others), chance.random() < 0.5))
        elif len(voters) > 1:
            voter = chance.choice(voters.voters)
            self._send(target, RemoveRaftVoterRequest(CLUSTER_ID, *voter.key))

    def _replace_disk(self, voters: VoterSet) -> None:
        """Give a node that is not running another disk, if the voters can do without it. They still
        can if a change whose answer was lost removes another."""
        for node in self.world.nodes.values():
            if not node.alive and (node.key not in voters or len(voters) > 3):
                node.replace_disk()
                return

    def _send(self, target: QuorumNode, request: Any) -> None:
        self._busy = True
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        self.removed.discard(key)
        self.added.discard(key)
        channel = SimChannel(self.world.links, ADMIN, target.id, "admin")

        def answered(response: Any, failure: ChannelFailure | None) -> None:
            self._busy = False
            if failure is None:
                code = ErrorCode(response.error_code)
                self.done += code is ErrorCode.NONE
                self.errors[code] = self.errors.get(code, 0) + 1
                if code is ErrorCode.NONE and isinstance(request, RemoveRaftVoterRequest):
                    self.removed.add(key)
                elif code is ErrorCode.NONE and request.ack_when_committed:
                    self.added.add(key)

        channel.send(request, answered, TIMEOUT_MS)

    def check(self) -> None:
        """Check that the changes that were answered are there in the end."""
        leader = self.world.leader
        assert leader is not None
        voters = leader.log.voters.latest
        for key in self.removed:
            self.world.check.hold(key not in voters, f"{key} was removed, and is in {voters}")
        for key in self.added:
            self.world.check.hold(key in voters, f"{key} was added, and is not in {voters}")


def _adding(node: QuorumNode, waits: bool) -> AddRaftVoterRequest:
    listeners = [Listener(*endpoint) for endpoint in node.as_voter.endpoints]
    return AddRaftVoterRequest(CLUSTER_ID, 1_000, *node.key, listeners, waits)


def voter_storm(seed: int | str, duration_ms: float, **settings: Any) -> QuorumWorld:
    """Run faults and changes, then calm, in which the quorum has to come back whole."""
    settings = {"observer_count": 3, "dynamic": True, **settings}
    world = QuorumWorld(f"voters-{seed}", 3, **settings).start()
    weather, administrator = Storm(world), Administrator(world)
    weather.begin()
    administrator.begin()
    world.world.run_for(duration_ms)
    weather.end()
    administrator.end()
    world.heal()
    leader = world.wait_for_leader()
    leader.propose("the end")
    world.wait_until_equal()
    world.check.at_the_end()
    administrator.check()
    world.changes = administrator.done
    return world
