"""The voters of a dynamic quorum: kraft.version 1, with the voters in the log (KIP-853).

`kafka-storage format --standalone` and `--initial-controllers` begin a metadata log with a snapshot
`00000000000000000000-0000000000.checkpoint` of two control records: KRaftVersion and Voters. Each
later snapshot has them too, and the log wherever the voters changed. A quorum without them is
static: its voters are those of `controller.quorum.voters`.

Ottla does not support a change of voters. So the voters in the log must be those of the
configuration, which has their addresses. If they differ, the node does not run, and the error names
the value to set. Their directory ids are only in the log: a node with another one is not a voter.

Owns: the newest of these records, also uncommitted ones, as KIP-853 requires. Never: changes them,
and never decides which node leads (`controller.raft.raft`).

Follows KIP-853 and Kafka's `KRaftControlRecordStateMachine`, `VoterSet`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from controller.metadata.control_records import decode_control_record
from controller.metadata.records import MetadataRecordError
from controller.metadata.snapshot import snapshot_id_of
from controller.raft.quorum_state import ElectionState, encode_quorum_state
from controller.settings import ControllerSettings
from ground.filesystem import Filesystem
from protocol.control_records import ControlRecordType
from protocol.messages.consumer_protocol import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    VotersRecord,
    VotersRecordVoter,
)
from protocol.primitives import ZERO_UUID, uuid_to_string
from protocol.record_batch import CorruptBatch, iterate_batches
from protocol.records import iterate_records

ControlRecords = Sequence[tuple[ControlRecordType, Any]]

KNOWN_KRAFT_VERSION = 1
METADATA_FOLDER = "__cluster_metadata-0"


def voters_on_disk(
    filesystem: Filesystem, metadata_log_dir: str, listener_name: str
) -> list[tuple[int, str, int]]:
    """Return id, host and port of each voter in the metadata log of a stopped node, from its latest
    snapshot and the log after it. An empty list: the log names no voters. Raises OSError.

    Of a voter's endpoints, that of `listener_name` counts, else the first. Of a damaged file, only
    the records before the damage count; opening the log reports the damage.
    """
    folder = f"{metadata_log_dir}/{METADATA_FOLDER}"
    if not filesystem.exists(folder):
        return []
    names = sorted(filesystem.list_dir(folder))
    snapshots = [name for name in names if snapshot_id_of(name) is not None]
    latest: VotersRecord | None = None
    for name in [*snapshots[-1:], *(entry for entry in names if entry.endswith(".log"))]:
        data = memoryview(filesystem.read(f"{folder}/{name}"))
        with suppress(CorruptBatch, MetadataRecordError):
            for position, header in iterate_batches(data):
                for record in iterate_records(data, position) if header.is_control else ():
                    kind, message = decode_control_record(record)
                    if kind is ControlRecordType.KRAFT_VOTERS:
                        latest = message
    voters = []
    for voter in latest.voters if latest is not None else ():
        endpoint = _endpoint_of(voter, listener_name)
        if endpoint is not None:
            voters.append((voter.voter_id, endpoint.host, endpoint.port))
    return voters


def standalone_voter(
    node_id: int, directory_id: bytes, listener_name: str, host: str, port: int
) -> ControlRecords:
    """Return the first records of a dynamic quorum with one voter (`kafka-storage format
    --standalone`)."""
    endpoints = [Endpoint(listener_name, host, port)]
    levels = KRaftVersionFeature(0, KNOWN_KRAFT_VERSION)
    voter = VotersRecordVoter(node_id, directory_id, endpoints, levels)
    return [
        (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(0, KNOWN_KRAFT_VERSION)),
        (ControlRecordType.KRAFT_VOTERS, VotersRecord(0, [voter])),
    ]


class QuorumVoters:
    """The voters in the log; those of the configuration if the quorum is static."""

    def __init__(self, settings: ControllerSettings) -> None:
        self._settings = settings
        self._record: VotersRecord | None = None
        self.kraft_version = 0
        """The finalized `kraft.version`."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The node ids of the voters."""
        if self._record is None:
            return self._settings.voters
        return tuple(voter.voter_id for voter in self._record.voters)

    def directory_of(self, node_id: int) -> bytes:
        """Return the directory id of a voter; zero if the quorum is static, or for other nodes."""
        for voter in self._record.voters if self._record is not None else ():
            if voter.voter_id == node_id:
                return voter.voter_directory_id
        return ZERO_UUID

    def is_stranger(self, node_id: int, directory_id: bytes) -> bool:
        """Return whether a node has a voter's id but another directory id, so its log is not the
        voter's. False if the quorum is static or the node sent no directory id."""
        own = self.directory_of(node_id)
        return own != ZERO_UUID and directory_id not in (own, ZERO_UUID)

    def control_records(self) -> ControlRecords:
        """Return the records that a snapshot of this log has after its header; none if the quorum
        is static."""
        if self._record is None:
            return []
        version = KRaftVersionRecord(0, self.kraft_version)
        return [
            (ControlRecordType.KRAFT_VERSION, version),
            (ControlRecordType.KRAFT_VOTERS, self._record),
        ]

    def encode_election(self, election: ElectionState) -> bytes:
        """Return the content of `quorum-state`, in the version for this quorum."""
        if election.voted_id is not None:
            directory_id = self.directory_of(election.voted_id)
            election = election._replace(voted_directory_id=directory_id)
        return encode_quorum_state(election, self.ids, self.kraft_version)

    # --- from the log --------------------------------------------------------------------------

    def read(self, snapshot: ControlRecords, log: Iterable[memoryview]) -> None:
        """Read the voters from the latest snapshot and the batches after it. Raises
        MetadataRecordError if this node cannot run with them."""
        for kind, message in snapshot:
            self._note(kind, message)
        try:
            for data in log:
                self._read_batches(data)
        except CorruptBatch as error:
            raise MetadataRecordError(f"the metadata log is damaged: {error}") from error
        self._check()

    def read_appended(self, data: memoryview) -> None:
        """Read the voters in batches that are appended to the log. Raises MetadataRecordError like
        `read`."""
        before = (self._record, self.kraft_version)
        self._read_batches(data)
        if (self._record, self.kraft_version) != before:
            self._check()

    def _read_batches(self, data: memoryview) -> None:
        """Set the level and the voters from the control records in `data`."""
        for position, header in iterate_batches(data):
            if header.is_control:
                for record in iterate_records(data, position):
                    self._note(*decode_control_record(record))

    def _note(self, kind: ControlRecordType, message: Any) -> None:
        """Set the level of kraft.version, or the voters, from a control record. Ignore other
        kinds."""
        if kind is ControlRecordType.KRAFT_VERSION:
            self.kraft_version = message.k_raft_version
        elif kind is ControlRecordType.KRAFT_VOTERS:
            self._record = message

    def _check(self) -> None:
        """Raise MetadataRecordError if the metadata has an unknown level, other voters than the
        configuration, or another directory id of this node."""
        if not 0 <= self.kraft_version <= KNOWN_KRAFT_VERSION:
            raise MetadataRecordError(
                f"the metadata has kraft.version {self.kraft_version}; this release knows levels "
                f"0 to {KNOWN_KRAFT_VERSION}"
            )
        if self._record is None:
            return
        settings = self._settings
        if sorted(self.ids) != sorted(settings.voters):
            raise MetadataRecordError(
                f"the metadata names the voters {_shown(self.ids)}, controller.quorum.voters "
                f"{_shown(settings.voters)}: set controller.quorum.voters={self._setting()}"
            )
        if self.is_stranger(settings.node_id, settings.directory_id):
            stored = uuid_to_string(self.directory_of(settings.node_id))
            raise MetadataRecordError(
                f"the metadata names voter {settings.node_id} with the directory id {stored}, but "
                f"{settings.metadata_log_dir} has {uuid_to_string(settings.directory_id)}: use the "
                "folder that this voter was formatted with"
            )

    def _setting(self) -> str:
        """Return these voters in the form of `controller.quorum.voters`: `ID@HOST:PORT`, separated
        by commas."""
        assert self._record is not None
        voters = []
        for voter in self._record.voters:
            endpoint = _endpoint_of(voter, self._settings.controller_listener_name)
            host, port = (
                (endpoint.host, endpoint.port) if endpoint is not None else ("HOST", "PORT")
            )
            voters.append(f"{voter.voter_id}@{host}:{port}")
        return ",".join(voters)


def _endpoint_of(voter: VotersRecordVoter, listener_name: str) -> Endpoint | None:
    """Return the voter's endpoint of this listener, or else its first endpoint; None if it has no
    endpoint."""
    endpoints = [
        endpoint for endpoint in voter.endpoints if endpoint.name == listener_name
    ] or voter.endpoints
    return endpoints[0] if endpoints else None


def _shown(ids: Sequence[int]) -> str:
    """Return the ids in ascending order, separated by commas."""
    return ",".join(map(str, sorted(ids)))
