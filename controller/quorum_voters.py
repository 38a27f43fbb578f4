"""Who votes where the quorum is dynamic: kraft.version 1, with the voters in the log (KIP-853).

`kafka-storage format --standalone` and `--initial-controllers` begin a metadata log with a snapshot
`00000000000000000000-0000000000.checkpoint` of two control records: KRaftVersion and Voters. They
stand in each later snapshot too, and in the log wherever the voters changed. A quorum without them
is static: its voters are those of `controller.quorum.voters`.

A change of voters is not served. So the voters that the log names must be those of the
configuration, which says where they are; where they differ, the node does not run, and the error
says what to set. Their directory ids come from the log alone: who has another one is no voter.

Owns: the newest of these records, uncommitted ones included, as KIP-853 wants it. Never: changes
them, and never decides who leads (`controller.raft`).

Follows KIP-853 and Kafka's `KRaftControlRecordStateMachine`, `VoterSet`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from controller.control_records import decode_control_record
from controller.metadata_records import MetadataRecordError
from controller.quorum_state import ElectionState, encode_quorum_state
from controller.settings import ControllerSettings
from protocol.control_records import ControlRecordType
from protocol.messages.consumer_protocol import KRaftVersionRecord, VotersRecord
from protocol.primitives import ZERO_UUID, uuid_to_string
from protocol.record_batch import CorruptBatch, iterate_batches
from protocol.records import iterate_records

ControlRecords = Sequence[tuple[ControlRecordType, Any]]

KNOWN_KRAFT_VERSION = 1


class QuorumVoters:
    """What the log says of the voters; nothing where the quorum is static."""

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
        """The directory id of a voter; zero where the quorum is static, and for other nodes."""
        for voter in self._record.voters if self._record is not None else ():
            if voter.voter_id == node_id:
                return voter.voter_directory_id
        return ZERO_UUID

    def is_stranger(self, node_id: int, directory_id: bytes) -> bool:
        """Whether a node has a voter's id, but not its disk: its log is not that voter's."""
        wanted = self.directory_of(node_id)
        return wanted != ZERO_UUID and directory_id not in (wanted, ZERO_UUID)

    def control_records(self) -> ControlRecords:
        """What a snapshot of this log begins with, after its header."""
        if self._record is None:
            return []
        version = KRaftVersionRecord(0, self.kraft_version)
        return [
            (ControlRecordType.KRAFT_VERSION, version),
            (ControlRecordType.KRAFT_VOTERS, self._record),
        ]

    def encode_election(self, election: ElectionState) -> bytes:
        """The file `quorum-state`, in the form that belongs to this quorum."""
        if election.voted_id is not None:
            directory_id = self.directory_of(election.voted_id)
            election = election._replace(voted_directory_id=directory_id)
        return encode_quorum_state(election, self.ids, self.kraft_version)

    # --- from the log --------------------------------------------------------------------------

    def read(self, snapshot: ControlRecords, log: Iterable[memoryview]) -> None:
        """Begin with what the latest snapshot and the batches after it say. Raises
        MetadataRecordError where this node cannot run with it."""
        for kind, message in snapshot:
            self._note(kind, message)
        try:
            for data in log:
                self._read_batches(data)
        except CorruptBatch as error:
            raise MetadataRecordError(f"the metadata log is damaged: {error}") from error
        self._check()

    def take_in(self, data: memoryview) -> None:
        """Batches that are appended to the log. Raises as `read`."""
        before = (self._record, self.kraft_version)
        self._read_batches(data)
        if (self._record, self.kraft_version) != before:
            self._check()

    def _read_batches(self, data: memoryview) -> None:
        for position, header in iterate_batches(data):
            if header.is_control:
                for record in iterate_records(data, position):
                    self._note(*decode_control_record(record))

    def _note(self, kind: ControlRecordType, message: Any) -> None:
        if kind is ControlRecordType.KRAFT_VERSION:
            self.kraft_version = message.k_raft_version
        elif kind is ControlRecordType.KRAFT_VOTERS:
            self._record = message

    def _check(self) -> None:
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
            wanted = uuid_to_string(self.directory_of(settings.node_id))
            raise MetadataRecordError(
                f"the metadata names voter {settings.node_id} with the directory id {wanted}, but "
                f"{settings.metadata_log_dir} has {uuid_to_string(settings.directory_id)}: use the "
                "folder that this voter was formatted with"
            )

    def _setting(self) -> str:
        """These voters as the configuration names them."""
        assert self._record is not None
        voters = []
        for voter in self._record.voters:
            name = self._settings.controller_listener_name
            ours = [one for one in voter.endpoints if one.name == name] or voter.endpoints
            host, port = (ours[0].host, ours[0].port) if ours else ("HOST", "PORT")
            voters.append(f"{voter.voter_id}@{host}:{port}")
        return ",".join(voters)


def _shown(ids: Sequence[int]) -> str:
    return ",".join(map(str, sorted(ids)))
