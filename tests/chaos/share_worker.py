"""A member of a share group in a process of its own, which may die at any moment.

`python -m tests.chaos.share_worker '{"servers": …, "topic": …, "group": …, "seed": …, "log": …}'`
joins the group and handles records until it is killed. By its seed it accepts, releases or rejects
a record, says nothing until the lock ends, or accepts it only after that. It writes down each
delivery, each acknowledgement before it is sent, and its result, for `share_audit`. With `drains`
it accepts everything.

It speaks the protocol by itself: only so is it known when a delivery was asked for, and which
acknowledgements the broker has confirmed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages import share_acknowledge, share_fetch
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from protocol.record_batch import iterate_batches
from protocol.records import iterate_records
from tests.chaos.share_audit import ACCEPT, OK, REFUSED, REJECT, RELEASE, UNKNOWN
from tests.clients.wire_client import WireClient

CALL_S = 10.0
AGAIN_S = 0.05
WAIT_MS = 200
METADATA_S = 1.0
HEARTBEAT_S = 0.5
MAX_RECORDS = 100
HABITS = {ACCEPT: 72, RELEASE: 10, REJECT: 6, "silent": 9, "late": 3}
KINDS = {ACCEPT: 1, RELEASE: 2, REJECT: 3}
NOT_A_MEMBER = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
)
NOT_DONE = (
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.INVALID_RECORD_STATE,
    ErrorCode.INVALID_REQUEST,
)
"""Errors that say that an acknowledgement had no effect; others leave it open."""

Node = int | str
"""A node id, or the port of a bootstrap server."""
Verdicts = dict[int, dict[int, str]]
"""Partition → offset → acknowledgement."""


@dataclass(frozen=True)
class WorkerOptions:
    """The settings of a worker."""

    servers: str
    topic: str
    group: str
    seed: int
    log: str
    lock_s: float
    """How long a record is locked for its member."""
    drains: bool = False


@dataclass
class Session:
    """The share session with one broker."""

    epoch: int = 0
    partitions: set[int] = field(default_factory=set)
    pending: Verdicts = field(default_factory=dict)
    """Acknowledgements for the next fetch."""


class ShareWorker:
    """The member: one thread, one connection to each broker."""

    def __init__(self, options: WorkerOptions) -> None:
        self._options = options
        self._rng = random.Random(options.seed)
        self._log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._member = str(uuid.UUID(int=self._rng.getrandbits(128)))
        self._addresses: dict[Node, tuple[str, int]] = {}
        self._connections: dict[Node, WireClient] = {}
        self._coordinator: int | None = None
        self._epoch = 0
        self._assigned: set[int] = set()
        self._beat_at = self._look_at = 0.0
        self._topic_id = b""
        self._leaders: dict[int, int] = {}
        self._sessions: dict[int, Session] = {}
        self._late: list[tuple[float, int, int]] = []
        """When to accept which partition's offset, too late."""
        self._requests = 0

    def run(self) -> None:
        """Handle records until the process is killed."""
        while True:
            try:
                self._turn()
            except OSError:
                self._look_at = 0.0
                time.sleep(AGAIN_S)

    def _turn(self) -> None:
        now = time.monotonic()
        if now >= self._look_at:
            self._look()
        if now >= self._beat_at:
            self._beat()
        self._accept_late(now)
        by_leader: dict[int, set[int]] = {}
        for partition in self._assigned:
            by_leader.setdefault(self._leaders.get(partition, -1), set()).add(partition)
        by_leader.pop(-1, None)
        if not by_leader:
            time.sleep(AGAIN_S)
        for leader, partitions in by_leader.items():
            self._fetch(leader, partitions)

    # -- connections -----------------------------------------------------------------------------

    def _call(self, node: Node, request: Any, version: int) -> Any:
        """Return a broker's answer. OSError closes the connection, and forgets the session."""
        try:
            if node not in self._connections:
                host, port = self._addresses.get(node, ("", 0))
                if not port:
                    raise ConnectionError(f"no address of {node}")
                self._connections[node] = WireClient(port, "worker", host, CALL_S)
            return self._connections[node].call(request, version)
        except OSError:
            if node in self._connections:
                self._connections.pop(node).close()
            if isinstance(node, int):
                self._sessions.pop(node, None)
                if node == self._coordinator:
                    self._coordinator = None
            raise

    def _any(self, request: Any, version: int) -> Any:
        """Return the answer of any broker that answers."""
        places = [place.rpartition(":") for place in self._options.servers.split(",")]
        self._rng.shuffle(places)
        for host, _, port in places:
            self._addresses[port] = (host, int(port))
            with contextlib.suppress(OSError):
                return self._call(port, request, version)
        raise ConnectionError("no broker answers")

    def _look(self) -> None:
        """Learn the leaders."""
        asked = [MetadataRequestTopic(name=self._options.topic)]
        answer = self._any(MetadataRequest(asked, False), 12)
        for broker in answer.brokers:
            self._addresses[broker.node_id] = (broker.host, broker.port)
        (topic,) = answer.topics
        if topic.error_code == ErrorCode.NONE:
            self._topic_id = bytes(topic.topic_id)
            self._leaders = {one.partition_index: one.leader_id for one in topic.partitions}
        self._look_at = time.monotonic() + METADATA_S

    # -- membership ------------------------------------------------------------------------------

    def _beat(self) -> None:
        """Send a heartbeat, and take over the assignment."""
        self._beat_at = time.monotonic() + HEARTBEAT_S
        if self._coordinator is None:
            request = FindCoordinatorRequest(key_type=0, coordinator_keys=[self._options.group])
            (found,) = self._any(request, 6).coordinators
            if found.error_code != ErrorCode.NONE:
                return
            self._addresses[found.node_id] = (found.host, found.port)
            self._coordinator = found.node_id
        names = [self._options.topic] if self._epoch == 0 else None
        beat = ShareGroupHeartbeatRequest(
            self._options.group, self._member, self._epoch, None, names
        )
        answer = self._call(self._coordinator, beat, 1)
        error = ErrorCode(answer.error_code)
        if error in NOT_A_MEMBER:
            self._epoch, self._assigned, self._beat_at = 0, set(), 0.0
        elif error is not ErrorCode.NONE:
            self._coordinator = None
        else:
            self._epoch = answer.member_epoch
            if answer.assignment is not None:
                topics = answer.assignment.topic_partitions
                self._assigned = {part for topic in topics for part in topic.partitions}

    # -- records ---------------------------------------------------------------------------------

    def _fetch(self, leader: int, partitions: set[int]) -> None:
        """Fetch from a leader, with the acknowledgements that wait, and judge the records."""
        session = self._sessions.setdefault(leader, Session())
        verdicts, session.pending = session.pending, {}
        request = self._fetch_request(session, partitions, verdicts)
        number = self._about_to_send(verdicts)
        sent = time.monotonic()
        answer = self._call(leader, request, 1)
        error = ErrorCode(answer.error_code)
        parts = [part for topic in answer.responses for part in topic.partitions]
        codes = {part.partition_index: part.acknowledge_error_code for part in parts}
        self._results(number, verdicts, error, codes)
        if error is not ErrorCode.NONE:
            self._sessions[leader] = Session()
            return
        session.epoch += 1
        session.partitions = set(partitions)
        judged = {}
        for part in parts:
            if part.error_code != ErrorCode.NONE:
                self._look_at = 0.0
            elif found := self._deliveries(part, sent):
                judged[part.partition_index] = found
        if judged and self._rng.random() < 0.5:
            session.pending = judged
        elif judged:
            self._acknowledge(leader, session, judged)

    def _fetch_request(
        self, session: Session, partitions: set[int], verdicts: Verdicts
    ) -> share_fetch.ShareFetchRequest:
        """Return the session's next request, for these partitions. A new session has no `verdicts`:
        they went with the old one."""
        added = partitions - session.partitions
        gone = sorted(session.partitions - partitions)
        kind = share_fetch.AcknowledgementBatch
        parts = [
            share_fetch.FetchPartition(part, 0, _batches(kind, verdicts.get(part, {})))
            for part in sorted(added | verdicts.keys())
        ]
        return share_fetch.ShareFetchRequest(
            self._options.group,
            self._member,
            session.epoch,
            WAIT_MS,
            1,
            max_records=MAX_RECORDS,
            batch_size=MAX_RECORDS,
            topics=[share_fetch.FetchTopic(self._topic_id, parts)] if parts else [],
            forgotten_topics_data=[share_fetch.ForgottenTopic(self._topic_id, gone)]
            if gone
            else [],
        )

    def _deliveries(self, part: Any, sent: float) -> dict[int, str]:
        """Write the records down that are this member's, and return what it makes of them."""
        received = time.monotonic()
        counts = {
            offset: one.delivery_count
            for one in part.acquired_records
            for offset in range(one.first_offset, one.last_offset + 1)
        }
        judged: dict[int, str] = {}
        for offset, value in _records(part.records):
            if offset not in counts:
                continue
            count = counts[offset]
            self._write("d", part.partition_index, offset, count, sent, received, value)
            habit = ACCEPT
            if not self._options.drains:
                (habit,) = self._rng.choices(list(HABITS), list(HABITS.values()))
            if habit == "late":
                due = received + self._options.lock_s * 1.1
                self._late.append((due, part.partition_index, offset))
            elif habit != "silent":
                judged[offset] = habit
        return judged

    def _acknowledge(self, leader: int, session: Session, verdicts: Verdicts) -> None:
        topic = share_acknowledge.AcknowledgeTopic(
            self._topic_id,
            [
                share_acknowledge.AcknowledgePartition(
                    part, _batches(share_acknowledge.AcknowledgementBatch, judged)
                )
                for part, judged in sorted(verdicts.items())
            ],
        )
        request = share_acknowledge.ShareAcknowledgeRequest(
            self._options.group, self._member, session.epoch, topics=[topic]
        )
        number = self._about_to_send(verdicts)
        answer = self._call(leader, request, 1)
        error = ErrorCode(answer.error_code)
        codes = {
            part.partition_index: part.error_code
            for topic in answer.responses
            for part in topic.partitions
        }
        self._results(number, verdicts, error, codes)
        if error is not ErrorCode.NONE:
            self._sessions[leader] = Session()
        else:
            session.epoch += 1

    def _accept_late(self, now: float) -> None:
        """Accept the records whose locks have ended meanwhile."""
        due = [one for one in self._late if one[0] <= now]
        self._late = [one for one in self._late if one[0] > now]
        for _, partition, offset in due:
            leader = self._leaders.get(partition, -1)
            session = self._sessions.get(leader)
            if session is not None and session.epoch > 0:
                self._acknowledge(leader, session, {partition: {offset: ACCEPT}})

    # -- the log ---------------------------------------------------------------------------------

    def _about_to_send(self, verdicts: Verdicts) -> int:
        self._requests += 1
        for partition, judged in verdicts.items():
            pairs = list(judged.items())
            self._write("a", self._requests, partition, pairs, time.monotonic())
        return self._requests

    def _results(
        self, number: int, verdicts: Verdicts, error: ErrorCode, codes: Mapping[int, int]
    ) -> None:
        for partition in verdicts:
            code = error or ErrorCode(codes.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR))
            result = OK if code is ErrorCode.NONE else REFUSED if code in NOT_DONE else UNKNOWN
            self._write("r", number, partition, result, time.monotonic(), code.name)

    def _write(self, *event: object) -> None:
        """Append a line, in one write: a killed process leaves whole lines."""
        os.write(self._log, json.dumps(event).encode() + b"\n")


def _batches(kind: Any, verdicts: Mapping[int, str]) -> list[Any]:
    return [kind(offset, offset, [KINDS[verdicts[offset]]]) for offset in sorted(verdicts)]


def _records(data: Any) -> Iterator[tuple[int, str]]:
    view = memoryview(data or b"")
    for place, _ in iterate_batches(view, allow_partial_tail=True):
        for record in iterate_records(view, place):
            yield record.offset, (record.value or b"").decode()


if __name__ == "__main__":
    ShareWorker(WorkerOptions(**json.loads(sys.argv[1]))).run()
