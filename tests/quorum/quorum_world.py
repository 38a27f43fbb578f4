"""A quorum in one process, in virtual time: the real Raft client, log, network and APIs.

    world = QuorumWorld(seed=1, voters=3, observers=1)
    world.start(); world.world.run_for(5_000); world.check.at_the_end()

Owns: the nodes, their disks, and the schedule of faults (`Storm`): processes die, the power fails
everywhere or somewhere, links are cut one way or both, a node is isolated. The invariants are in
`quorum_invariants`, looked at after everything that a node does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from controller.authorization.rights import UNLIMITED, Rights
from controller.metadata.image import MetadataImage
from controller.metadata.loader import CommittedBatch, MetadataLoader
from controller.metadata.snapshot import (
    SnapshotContent,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
    image_of,
)
from controller.raft.quorum_addresses import QuorumAddresses
from controller.raft.quorum_network import QuorumNetwork
from controller.raft.quorum_voters import (
    DYNAMIC_LEVEL,
    KNOWN_KRAFT_VERSIONS,
    METADATA_FOLDER,
    control_records,
)
from controller.raft.raft_apis import RaftApis
from controller.raft.raft_client import NotLeader, RaftClient
from controller.raft.raft_log import RaftLog
from controller.raft.snapshot_generator import SnapshotGenerator
from controller.settings import ControllerSettings
from controller.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    SupportedFeatureKey,
)
from protocol.messages.metadata_records import ConfigRecord
from simulation.sim_process import ProcessBlocking, ProcessScheduler
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from tests.quorum.quorum_invariants import QuorumInvariants
from tests.quorum.quorum_links import NodeNetwork, QuorumLinks

CLUSTER_ID = "simulated-quorum-id---"
LEVEL = 30
KEYS = 20


@dataclass
class Context:
    """What `RaftApis.handle` is told of a connection."""

    api_version: int
    rights: Rights = UNLIMITED


class QuorumNode:
    """One node: its disk, and the life it leads at the moment."""

    def __init__(self, world: QuorumWorld, node_id: int) -> None:
        self.world = world
        self.id = node_id
        self.disk = 0
        self._new_disk()
        self.chance = random.Random(f"{world.seed}/node-{node_id}")
        self.alive = False
        self.life = 0
        self.failures: list[Exception] = []
        self.loads = 0

    @property
    def is_voter(self) -> bool:
        return self.id in self.world.voters

    @property
    def key(self) -> ReplicaKey:
        """A replaced disk has another directory id."""
        return ReplicaKey(self.id, bytes([self.disk]) + self.id.to_bytes(15, "big"))

    @property
    def as_voter(self) -> Voter:
        endpoints = (VoterEndpoint("CONTROLLER", "host", self.id),)
        return Voter(self.key, endpoints, KNOWN_KRAFT_VERSIONS)

    def replace_disk(self) -> None:
        """The process is not running: it starts again with an empty disk."""
        assert not self.alive
        self.disk += 1
        self._new_disk()

    def _new_disk(self) -> None:
        self.filesystem = MemoryFilesystem(self.world.world.wall_ms)
        self.filesystem.make_dirs("/d")
        self.filesystem.sync_dir("/")

    def format_with(self, voters: VoterSet) -> None:
        """Format the disk as `kafka-storage format --initial-controllers` does."""
        folder = f"/d/{METADATA_FOLDER}"
        self.filesystem.make_dirs(folder)
        control = control_records(DYNAMIC_LEVEL, voters)
        data = encode_snapshot([], LEVEL, 0, 0, 0, control)
        self.filesystem.replace_atomically(f"{folder}/{SnapshotId(0, 0).file_name}", data)
        self.filesystem.sync_dir("/d")

    def settings(self) -> ControllerSettings:
        world = self.world
        static = {} if world.dynamic else {voter: ("host", voter) for voter in world.voters}
        return ControllerSettings(
            node_id=self.id,
            cluster_id=CLUSTER_ID,
            directory_id=self.key.directory_id,
            metadata_log_dir="/d",
            static_voters=VoterSet.static(static, "CONTROLLER"),
            bootstrap_servers=tuple(("host", node_id) for node_id in world.nodes)
            if world.dynamic
            else (),
            own_voter=self.as_voter if self.is_voter or world.dynamic else None,
            auto_join=world.auto_join,
            metadata_log_max_record_bytes_between_snapshots=self.world.snapshot_bytes,
            quorum_fetch_snapshot_max_bytes=300,
            quorum_fetch_max_bytes=2_000,
        )

    def start(self) -> None:
        """Begin a life."""
        self.life += 1
        self.alive = True
        settings, world = self.settings(), self.world
        self.scheduler = ProcessScheduler(world.world)
        self.scheduler.on_ran = lambda: world.check.node_ran(self)
        blocking = ProcessBlocking(self.scheduler, self.chance, 2, slowest_ms=world.slowest_disk_ms)
        environment = LogEnvironment(
            self.filesystem, self.scheduler, blocking, LogDirFailureChannel()
        )
        self.log = RaftLog(settings, environment)
        self.loader = MetadataLoader()
        content = SnapshotContent()
        if self.log.snapshots:
            latest = self.log.snapshots[-1]
            content = decode_snapshot(self.log.read_snapshot(latest))
            self.loader.load_snapshot(image_of(content, latest))
        self.log.read_voters(content.control)
        links = NodeNetwork(world.links, self.id)
        addresses = QuorumAddresses(self.log.voters, "CONTROLLER", settings.bootstrap_servers)
        network = QuorumNetwork(settings, links, self.scheduler, self.log.voters, addresses)
        self.raft = RaftClient(
            settings,
            self.log,
            self.scheduler,
            self.chance.randrange,
            self.failures.append,
            network,
        )
        network.connect(self.raft)
        self.apis = RaftApis(settings, self.raft, self.log, self.scheduler, addresses)
        self.snapshots = SnapshotGenerator(
            settings, self.log, self.loader, self.scheduler, self.raft.snapshot_taken
        )
        world.check.node_started(self)
        self.raft.start(self, self.loader.image.offset + 1)
        world.check.node_ran(self)

    def stop(self, power: bool = False) -> None:
        """The process dies; with `power`, what was not fsynced goes with it."""
        assert self.alive
        self.alive = False
        self.scheduler.end()
        if power:
            self.filesystem.lose_power(self.chance)
        else:
            self.filesystem.kill()
        self.world.links.died(self.id)
        self.world.check.node_stopped(self)

    def handle(self, version: int, request: Any, respond: Callable[[Any], None]) -> None:
        if isinstance(request, ApiVersionsRequest):
            levels = SupportedFeatureKey("kraft.version", *KNOWN_KRAFT_VERSIONS)
            respond(ApiVersionsResponse(supported_features=[levels]))
            return
        self.apis.handle(Context(version), request, respond)
        self.world.check.node_ran(self)

    def propose(self, value: str) -> None:
        key = f"key-{self.chance.randrange(KEYS)}"
        try:
            self.raft.append(self.raft.epoch, [ConfigRecord(4, "", key, value)], LEVEL)
        except NotLeader:
            return
        self.world.check.node_ran(self)

    # --- from the quorum -----------------------------------------------------------------------

    def handle_commit(self, batch: CommittedBatch) -> None:
        self.loader.handle_commit(batch)
        self.world.check.committed(self, batch, self.loader.image)
        self.snapshots.maybe_generate()

    def handle_load_snapshot(self, image: MetadataImage) -> None:
        self.loads += 1
        self.loader.load_snapshot(image)
        self.world.check.snapshot_loaded(self, image)
        self.snapshots.snapshot_loaded()

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        self.world.check.leader_changed(self, leader_id, epoch)


@dataclass
class QuorumWorld:
    """Nodes, links, time."""

    seed: int | str
    voter_count: int = 3
    observer_count: int = 1
    snapshot_bytes: int = 3_000
    slowest_disk_ms: float = 40.0
    dynamic: bool = False
    """Whether the voters are in the log; the observers may then become voters."""
    auto_join: bool = False
    nodes: dict[int, QuorumNode] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world = SimScheduler(0)
        self.chance = random.Random(f"{self.seed}/world")
        self.voters = tuple(range(1, self.voter_count + 1))
        self.links = QuorumLinks(self.world, random.Random(f"{self.seed}/links"))
        self.check = QuorumInvariants(self)
        for node_id in range(1, self.voter_count + self.observer_count + 1):
            self.nodes[node_id] = QuorumNode(self, node_id)
            self.links.servers[node_id] = self.nodes[node_id]
        if self.dynamic:
            first = VoterSet(tuple(self.nodes[voter].as_voter for voter in self.voters))
            for voter in self.voters:
                self.nodes[voter].format_with(first)
        self.links.watch = self.check.answered
        self._proposed = 0
        self.changes = 0
        """How often voters were added and removed."""

    def start(self) -> QuorumWorld:
        for node in self.nodes.values():
            node.start()
        return self

    @property
    def leader(self) -> QuorumNode | None:
        """The living leader of the latest epoch, if its leadership is proved."""
        leaders = [n for n in self.nodes.values() if n.alive and n.raft.is_leader]
        return max(leaders, key=lambda node: node.raft.epoch, default=None)

    def propose(self) -> None:
        """Whoever takes itself for a leader appends a record."""
        self._proposed += 1
        for node in list(self.nodes.values()):
            if node.alive and node.raft.is_leader:
                node.propose(f"{self._proposed}-{node.id}")

    def wait_for_leader(self, limit_ms: float = 20_000, beside: int | None = None) -> QuorumNode:
        def led() -> bool:
            leader = self.leader
            return (
                leader is not None
                and leader.id != beside
                and leader.raft.high_watermark is not None
            )

        self.world.run_until(led, limit_ms)
        assert self.leader is not None
        return self.leader

    def wait_until_equal(self, limit_ms: float = 30_000) -> None:
        """All that live have all that the leader has, committed."""

        def equal() -> bool:
            leader = self.leader
            if leader is None:
                return False
            end = leader.raft.end_offset
            return all(
                node.loader.image.offset + 1 == end for node in self.nodes.values() if node.alive
            )

        self.world.run_until(equal, limit_ms)

    def heal(self) -> None:
        """Links are whole, and all nodes live."""
        self.links.cut.clear()
        self.links.slow_chance = 0.0
        for node in self.nodes.values():
            if not node.alive:
                node.start()

    def isolate(self, node_id: int) -> None:
        """Nothing reaches the node, nothing leaves it."""
        for other in self.nodes:
            if other != node_id:
                self.links.cut |= {(node_id, other), (other, node_id)}


class Storm:
    """Faults that a seed draws, and records that are appended meanwhile."""

    def __init__(self, world: QuorumWorld) -> None:
        self.world = world
        self.faults = 0
        self._on = True

    def begin(self) -> None:
        self._next_fault()
        self._next_record()

    def end(self) -> None:
        self._on = False

    def _next_record(self) -> None:
        if self._on:
            self.world.propose()
            wait_ms = self.world.chance.random() * 150
            self.world.world.call_later(wait_ms, self._next_record)

    def _next_fault(self) -> None:
        if self._on:
            self._fault()
            self.faults += 1
            wait_ms = self.world.chance.random() * 700
            self.world.world.call_later(wait_ms, self._next_fault)

    def _fault(self) -> None:
        world, chance = self.world, self.world.chance
        node = chance.choice(list(world.nodes.values()))
        leader = world.leader
        if leader is not None and chance.random() < 0.4:
            node = leader
        kind = chance.random()
        if not node.alive:
            node.start()
        elif kind < 0.20:
            node.stop(power=chance.random() < 0.5)
        elif kind < 0.24:
            for one in world.nodes.values():
                if one.alive:
                    one.stop(power=chance.random() < 0.7)
        elif kind < 0.40:
            other = chance.choice(list(world.nodes))
            world.links.cut.add((node.id, other))
            if chance.random() < 0.5:
                world.links.cut.add((other, node.id))
        elif kind < 0.48:
            world.isolate(node.id)
        elif kind < 0.70:
            world.links.cut.clear()
        elif kind < 0.76 and node.raft.is_leader:
            node.raft.resign(node.raft.epoch)
        else:
            for one in world.nodes.values():
                if not one.alive:
                    one.start()
                    break


def storm(seed: int | str, voters: int, duration_ms: float, **settings: Any) -> QuorumWorld:
    """One run: faults, then calm, in which the quorum has to come back whole."""
    world = QuorumWorld(seed, voters, **settings).start()
    weather = Storm(world)
    weather.begin()
    world.world.run_for(duration_ms)
    weather.end()
    world.heal()
    leader = world.wait_for_leader()
    leader.propose("the end")
    world.wait_until_equal()
    world.check.at_the_end()
    return world
