"""The voters of the quorum: their keys, endpoints and supported levels of `kraft.version`.

A voter's key is its node id and the id of its metadata directory, so a node whose disk was replaced
is another replica. A static quorum (kraft.version 0) knows no directory ids: they are zero, and
match every directory.

Owns: the form of a set, and which changes of it are possible. Never: decides on a change
(`controller.raft.voter_changes`).

Follows KIP-853 and Kafka's `VoterSet`, `ReplicaKey` and `Endpoints`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from protocol.messages.consumer_protocol import (
    Endpoint,
    KRaftVersionFeature,
    VotersRecord,
    VotersRecordVoter,
)
from protocol.primitives import ZERO_UUID, uuid_to_string


class ReplicaKey(NamedTuple):
    """A replica of the metadata log: a node id, and the id of the directory that has the log."""

    id: int
    directory_id: bytes = ZERO_UUID
    """Zero: it is not known."""

    def __str__(self) -> str:
        """Return the id, and the directory id if it is known."""
        if self.directory_id == ZERO_UUID:
            return str(self.id)
        return f"{self.id}-{uuid_to_string(self.directory_id)}"


class VoterEndpoint(NamedTuple):
    """The address of a controller listener."""

    listener: str
    host: str
    port: int


class Voter(NamedTuple):
    """A voter of the quorum."""

    key: ReplicaKey
    endpoints: tuple[VoterEndpoint, ...] = ()
    kraft_versions: tuple[int, int] = (0, 0)
    """The lowest and the highest level of `kraft.version` that it supports."""

    def is_replica(self, replica: ReplicaKey) -> bool:
        """Return whether `replica` is this voter. A voter without a directory id matches every
        directory of its node."""
        own = self.key
        return own.id == replica.id and own.directory_id in (ZERO_UUID, replica.directory_id)

    def address(self, listener: str) -> tuple[str, int] | None:
        """Return host and port of the endpoint of this listener; None if there is none."""
        for endpoint in self.endpoints:
            if endpoint.listener == listener:
                return endpoint.host, endpoint.port
        return None

    def supports(self, kraft_version: int) -> bool:
        """Return whether the voter supports a level of `kraft.version`."""
        lowest, highest = self.kraft_versions
        return lowest <= kraft_version <= highest


class VoterSet:
    """The voters by node id. A set never changes; the methods that change it return another."""

    __slots__ = ("_voters",)

    def __init__(self, voters: tuple[Voter, ...] = ()) -> None:
        self._voters = {voter.key.id: voter for voter in sorted(voters)}

    @staticmethod
    def static(endpoints: Mapping[int, tuple[str, int]], listener: str) -> VoterSet:
        """Return the set of a static quorum, of the addresses in `controller.quorum.voters`."""
        return VoterSet(
            tuple(
                Voter(ReplicaKey(node_id), (VoterEndpoint(listener, host, port),))
                for node_id, (host, port) in endpoints.items()
            )
        )

    @staticmethod
    def of_ids(*node_ids: int) -> VoterSet:
        """Return a set of voters of which only the node ids are known."""
        return VoterSet(tuple(Voter(ReplicaKey(node_id)) for node_id in node_ids))

    @staticmethod
    def of_record(record: VotersRecord) -> VoterSet:
        """Return the set in a VotersRecord."""
        return VoterSet(
            tuple(
                Voter(
                    ReplicaKey(voter.voter_id, voter.voter_directory_id),
                    tuple(VoterEndpoint(e.name, e.host, e.port) for e in voter.endpoints),
                    (
                        voter.k_raft_version_feature.min_supported_version,
                        voter.k_raft_version_feature.max_supported_version,
                    ),
                )
                for voter in record.voters
            )
        )

    def record(self) -> VotersRecord:
        """Return the set as a VotersRecord."""
        return VotersRecord(
            0,
            [
                VotersRecordVoter(
                    voter.key.id,
                    voter.key.directory_id,
                    [Endpoint(*endpoint) for endpoint in voter.endpoints],
                    KRaftVersionFeature(*voter.kraft_versions),
                )
                for voter in self._voters.values()
            ],
        )

    @property
    def ids(self) -> tuple[int, ...]:
        """The node ids, in ascending order."""
        return tuple(self._voters)

    @property
    def voters(self) -> tuple[Voter, ...]:
        """The voters, in ascending order of their node ids."""
        return tuple(self._voters.values())

    def __len__(self) -> int:
        return len(self._voters)

    def __contains__(self, replica: ReplicaKey) -> bool:
        """Return whether `replica` is a voter."""
        voter = self._voters.get(replica.id)
        return voter is not None and voter.is_replica(replica)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._voters == other._voters

    def __hash__(self) -> int:
        return hash(self.voters)

    def __str__(self) -> str:
        """Return the keys of the voters, separated by commas."""
        return ", ".join(str(voter.key) for voter in self._voters.values())

    def get(self, node_id: int) -> Voter | None:
        """Return the voter with a node id; None if there is none."""
        return self._voters.get(node_id)

    def is_only(self, replica: ReplicaKey) -> bool:
        """Return whether `replica` is the only voter."""
        return len(self._voters) == 1 and replica in self

    def address(self, node_id: int, listener: str) -> tuple[str, int] | None:
        """Return host and port of a voter's endpoint of this listener; None if there is none."""
        voter = self._voters.get(node_id)
        return None if voter is None else voter.address(listener)

    def with_voter(self, voter: Voter) -> VoterSet:
        """Return the set with `voter`, which replaces a voter of the same node id."""
        others = [other for other in self._voters.values() if other.key.id != voter.key.id]
        return VoterSet((*others, voter))

    def without(self, replica: ReplicaKey) -> VoterSet:
        """Return the set without the voter `replica`."""
        others = [voter for voter in self._voters.values() if not voter.is_replica(replica)]
        return VoterSet(tuple(others))
