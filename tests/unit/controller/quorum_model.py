"""A quorum in one list: three controllers over a log that survives failovers as far as a seed says.

What a leader has appended is committed batch by batch. At a failover a prefix of what is not
committed survives, as it does in Raft where a majority had it, and the next leader commits it.
Every record goes through its bytes, so that what a record cannot express is lost here too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from controller.decisions.feature_control import INITIAL_FEATURES
from controller.metadata.loader import CommittedBatch, MetadataLoader
from controller.metadata.records import MetadataRecord, decode_record
from controller.metadata.snapshot import feature_records
from controller.quorum_controller import QuorumController
from controller.raft.leader_batches import ProposedRecords, proposal
from controller.raft.raft_client import NotLeader
from controller.requests.controller_apis import ControllerApis
from controller.settings import ControllerSettings
from controller.voter_set import VoterSet
from ground.sim_scheduler import SimScheduler
from ground.sliced_work import Steps
from tests.unit.controller.controller_fixture import CLUSTER_ID, Context

VOTERS = (101, 102, 103)


class ModelRaft:
    """What one controller sees of the quorum: `RaftClient` as far as it is used."""

    def __init__(self, quorum: Quorum, node_id: int) -> None:
        self._quorum, self._node_id = quorum, node_id

    @property
    def leader_id(self) -> int | None:
        return self._quorum.leader_id

    @property
    def is_leader(self) -> bool:
        return self._quorum.leader_id == self._node_id

    @property
    def end_offset(self) -> int:
        return self._quorum.end_offset

    def prepare(self, records: Sequence[MetadataRecord], level: int) -> Steps[ProposedRecords]:
        return proposal(records, level, self._quorum.scheduler.wall_ms())

    def propose(self, epoch: int, proposed: ProposedRecords) -> int:
        if not self.is_leader or epoch != self._quorum.epoch:
            raise NotLeader
        return self._quorum.append(proposed)

    def resign(self, _epoch: int) -> None:
        raise AssertionError("nobody resigns here")


class Member:
    """One controller."""

    def __init__(self, quorum: Quorum, node_id: int) -> None:
        self.node_id = node_id
        settings = ControllerSettings(
            node_id=node_id, cluster_id=CLUSTER_ID, directory_id=bytes(16), metadata_log_dir="/d",
            static_voters=VoterSet.of_ids(*VOTERS), metadata_max_idle_interval_ms=0,
            **quorum.settings,
        )  # fmt: skip
        self.loader = MetadataLoader()
        raft: Any = ModelRaft(quorum, node_id)
        self.controller = QuorumController(
            settings,
            raft,
            self.loader,
            quorum.scheduler,
            quorum.random.randbytes,
            feature_records(INITIAL_FEATURES),
        )
        self.apis = ControllerApis(settings, self.controller, quorum.scheduler)


class Quorum:
    """Three members and their log."""

    def __init__(self, seed: int, **settings: Any) -> None:
        """`settings` of each member that are not usual."""
        self.settings = settings
        self.random = random.Random(seed)
        self.scheduler = SimScheduler(seed)
        self.epoch = 0
        self.leader_id: int | None = None
        self.log: list[CommittedBatch] = []
        self.committed = 0
        """How many batches of the log are."""
        self.members = {node_id: Member(self, node_id) for node_id in VOTERS}

    @property
    def end_offset(self) -> int:
        return self.log[-1].last_offset + 1 if self.log else 0

    @property
    def leader(self) -> Member:
        assert self.leader_id is not None
        return self.members[self.leader_id]

    def append(self, proposed: ProposedRecords) -> int:
        base = self.end_offset
        written = tuple(map(decode_record, proposed.values))
        last = base + max(len(written), 1) - 1
        batch = CommittedBatch(base, last, self.epoch, self.scheduler.wall_ms(), written)
        self.log.append(batch)
        return last

    def commit(self, batches: int | None = None) -> None:
        """Commit the next `batches`, or all; every member gets them."""
        end = len(self.log) if batches is None else min(self.committed + batches, len(self.log))
        while self.committed < end:
            batch = self.log[self.committed]
            self.committed += 1
            for member in self.members.values():
                member.loader.handle_commit(batch)
                member.controller.handle_commit(batch)

    def fail_over(self) -> None:
        """Elect; a prefix of what is not committed survives."""
        surviving = self.random.randint(self.committed, len(self.log))
        del self.log[surviving:]
        self.epoch += 1
        before, self.leader_id = self.leader_id, self.random.choice(VOTERS)
        for member in self.members.values():
            if member.node_id != self.leader_id or before == self.leader_id:
                member.controller.handle_leader_change(None, self.epoch)
        self.append(ProposedRecords((), (), 0))  # the leader change
        self.commit()
        for member in self.members.values():
            member.controller.handle_leader_change(self.leader_id, self.epoch)

    def ask(
        self,
        request: Any,
        version: int,
        respond: Callable[[Any], None],
        context: Context | None = None,
    ) -> None:
        """Ask the leader."""
        asker = context or Context(version, request.API_KEY)
        self.leader.apis.handle(asker, request, respond)
