"""The voters at each offset of the metadata log (KIP-853).

With kraft.version 1 the voters are in the log: a Voters record has the whole set, and counts from
the moment it is appended, committed or not, until the log is truncated before it. Each snapshot
begins with the set at its end. `kafka-storage format --standalone` and `--initial-controllers`
begin a log with a snapshot `00000000000000000000-0000000000.checkpoint` of two control records,
KRaftVersion and Voters. A quorum without them is static (kraft.version 0): its voters are those of
`controller.quorum.voters`, which counts for nothing afterwards.

Owns: the sets and levels by offset. Never: appends a record (`controller.raft.voter_changes`).

Follows KIP-853 and Kafka's `KRaftControlRecordStateMachine`, `VoterSetHistory`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from controller.metadata.control_records import decode_control_record
from controller.metadata.records import MetadataRecordError
from controller.metadata.snapshot import snapshot_id_of
from controller.raft.quorum_state import ElectionState, encode_quorum_state
from controller.voter_set import ReplicaKey, VoterSet
from ground.filesystem import Filesystem
from protocol.control_records import ControlRecordType
from protocol.messages.consumer_protocol import KRaftVersionRecord
from protocol.primitives import ZERO_UUID
from protocol.record_batch import CorruptBatch, iterate_batches
from protocol.records import iterate_records

ControlRecords = Sequence[tuple[ControlRecordType, Any]]
T = TypeVar("T")

STATIC_LEVEL = 0
DYNAMIC_LEVEL = 1
KNOWN_KRAFT_VERSIONS = (STATIC_LEVEL, DYNAMIC_LEVEL)
"""The lowest and the highest level of `kraft.version` that a node of this release supports."""
BEFORE_THE_LOG = -1
"""The offset of the records in the first snapshot, which are not in the log yet."""
METADATA_FOLDER = "__cluster_metadata-0"


class VoterRecord(NamedTuple):
    """A control record that changes the voters, or the level of `kraft.version`."""

    offset: int
    level: int | None = None
    voters: VoterSet | None = None


def voter_records(data: memoryview) -> Iterator[VoterRecord]:
    """Yield the KRaftVersion and Voters records in the batches of `data`.

    Raises MetadataRecordError for an unknown control record, or a level that this release does not
    know, and CorruptBatch.
    """
    for position, header in iterate_batches(data):
        for record in iterate_records(data, position) if header.is_control else ():
            yield from _voter_record(record.offset, *decode_control_record(record))


def _voter_record(offset: int, kind: ControlRecordType, message: Any) -> Iterator[VoterRecord]:
    """Yield a decoded control record if it is of one of the two kinds. Raises
    MetadataRecordError."""
    if kind is ControlRecordType.KRAFT_VERSION:
        level = message.k_raft_version
        lowest, highest = KNOWN_KRAFT_VERSIONS
        if not lowest <= level <= highest:
            raise MetadataRecordError(
                f"the metadata has kraft.version {level}; this release knows levels {lowest} to "
                f"{highest}"
            )
        yield VoterRecord(offset, level=level)
    elif kind is ControlRecordType.KRAFT_VOTERS:
        yield VoterRecord(offset, voters=VoterSet.of_record(message))


def control_records(level: int, voters: VoterSet) -> ControlRecords:
    """Return the two records that a snapshot of a dynamic quorum has after its header."""
    return [
        (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(0, level)),
        (ControlRecordType.KRAFT_VOTERS, voters.record()),
    ]


class QuorumVoters:
    """The voters and the level of `kraft.version`, by the offset of their records."""

    def __init__(self, static: VoterSet) -> None:
        """Start without records: the voters are those in `static` as long as the log has none."""
        self._static = static
        self._sets: list[tuple[int, VoterSet]] = []
        self._levels: list[tuple[int, int]] = []

    @property
    def sets(self) -> Sequence[tuple[int, VoterSet]]:
        """The sets in the log, with the offsets of their records, in ascending order."""
        return self._sets

    @property
    def latest(self) -> VoterSet:
        """The voters that count now, also if their record is not committed yet."""
        return self._sets[-1][1] if self._sets else self._static

    @property
    def latest_offset(self) -> int | None:
        """The offset of their record; None: the log has none."""
        return self._sets[-1][0] if self._sets else None

    @property
    def kraft_version(self) -> int:
        """The latest level of `kraft.version`, also if it is not committed yet."""
        return self._levels[-1][1] if self._levels else STATIC_LEVEL

    @property
    def is_dynamic(self) -> bool:
        """Whether the voters can be changed."""
        return self.kraft_version >= DYNAMIC_LEVEL

    @property
    def ignored_static(self) -> VoterSet:
        """The voters of `controller.quorum.voters`, if they count for nothing because the log names
        voters; else none (Kafka's IgnoredStaticVoters)."""
        return self._static if self._sets else VoterSet()

    def may_stand(self, replica: ReplicaKey, high_watermark: int | None) -> bool:
        """Return whether a replica may be elected: it is a voter, or was one before a change that
        is not known to be committed.

        A leader that removed itself may have died before the others got that change. Then no other
        node can be elected, because this one has the longer log, so it has to lead until the change
        is committed (Raft, Ongaro's thesis, 4.2.2).
        """
        if replica in self.latest or not self._sets:
            return replica in self.latest
        before = self._sets[-2][1] if len(self._sets) > 1 else self._static
        return self._sets[-1][0] >= (high_watermark or 0) and replica in before

    def directory_of(self, node_id: int) -> bytes:
        """Return the directory id of a voter; zero if it is not known, or for other nodes."""
        voter = self.latest.get(node_id)
        return ZERO_UUID if voter is None else voter.key.directory_id

    def at(self, end_offset: int) -> ControlRecords:
        """Return the control records of a snapshot that ends at `end_offset`: none if the quorum
        was static there."""
        voters, level = _before(self._sets, end_offset), _before(self._levels, end_offset)
        return [] if voters is None else control_records(level or STATIC_LEVEL, voters)

    def encode_election(self, election: ElectionState) -> bytes:
        """Return the content of `quorum-state`, in the version for this quorum."""
        return encode_quorum_state(election, self.latest.ids, self.kraft_version)

    # --- changes of the log --------------------------------------------------------------------

    def appended(self, record: VoterRecord) -> None:
        """Add a record at the end of the log."""
        if record.level is not None:
            self._levels.append((record.offset, record.level))
        if record.voters is not None:
            self._sets.append((record.offset, record.voters))

    def truncated(self, end_offset: int) -> None:
        """Drop the records from `end_offset` on."""
        del self._sets[_count_before(self._sets, end_offset) :]
        del self._levels[_count_before(self._levels, end_offset) :]

    def snapshot_taken(self, start_offset: int) -> None:
        """Drop what counted only before `start_offset`, at which the log now begins."""
        del self._sets[: max(_count_before(self._sets, start_offset) - 1, 0)]
        del self._levels[: max(_count_before(self._levels, start_offset) - 1, 0)]

    def snapshot_loaded(self, end_offset: int, control: ControlRecords) -> None:
        """Continue from the control records of a snapshot that replaces the log before
        `end_offset`. Raises MetadataRecordError."""
        self._sets.clear()
        self._levels.clear()
        for kind, message in control:
            for record in _voter_record(end_offset - 1, kind, message):
                self.appended(record)

    def log_read(self, batches: Iterable[memoryview]) -> None:
        """Add the records in the batches of a log that is opened. Raises MetadataRecordError."""
        try:
            for data in batches:
                for record in voter_records(data):
                    self.appended(record)
        except CorruptBatch as error:
            raise MetadataRecordError(f"the metadata log is damaged: {error}") from error


def _count_before(entries: Sequence[tuple[int, object]], offset: int) -> int:
    """Return how many entries are before `offset`."""
    return bisect_left(entries, offset, key=lambda entry: entry[0])


def _before(entries: Sequence[tuple[int, T]], offset: int) -> T | None:
    """Return the latest value before `offset`; None if there is none."""
    count = _count_before(entries, offset)
    return entries[count - 1][1] if count else None


# --- of a stopped node ---------------------------------------------------------------------------


def voters_on_disk(filesystem: Filesystem, metadata_log_dir: str) -> VoterSet | None:
    """Return the voters in the metadata log of a stopped node, from its latest snapshot and the log
    after it; None if the log names none. Raises OSError.

    Of a damaged file, only the records before the damage count; opening the log reports the damage.
    """
    folder = f"{metadata_log_dir}/{METADATA_FOLDER}"
    if not filesystem.exists(folder):
        return None
    names = sorted(filesystem.list_dir(folder))
    snapshots = [name for name in names if snapshot_id_of(name) is not None]
    latest: VoterSet | None = None
    for name in [*snapshots[-1:], *(entry for entry in names if entry.endswith(".log"))]:
        data = memoryview(filesystem.read(f"{folder}/{name}"))
        with suppress(CorruptBatch, MetadataRecordError):
            for record in voter_records(data):
                latest = record.voters or latest
    return latest
