"""Offsets in transactions: the same requests to any broker, and a transcript of its answers.

`tests/golden/transactional_offsets_kafka.txt` has Apache Kafka's answers, and Ottla must give
the same: `tests/compat/test_transactional_offset_answers.py`. `tests.golden.group_record` writes
the file again.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.clients.group_conversation import (
    TOPIC,
    Connect,
    Transcript,
    Wire,
    committing,
    describing,
    fetching,
    joining,
    leaving,
    syncing,
)
from tests.tools.waiting import LIMIT_S, PAUSE_S, wait_until

GOLDEN = Path(__file__).parents[1] / "golden" / "transactional_offsets_kafka.txt"
TIMEOUT_MS = 60_000
GENERATION = "generation_id_or_member_epoch"
"""The field of TxnOffsetCommit."""


def committing_in_transaction(group: str, offset: int, **changes: Any) -> TxnOffsetCommitRequest:
    """Return a TxnOffsetCommit of `partitions` (default: 0) of `topic`.

    By default producer 7 sends it in epoch 0.
    """
    topic = changes.pop("topic", TOPIC)
    topic_id = changes.pop("topic_id", bytes(16))
    text = changes.pop("metadata", "")
    partitions = changes.pop("partitions", [0])
    values = {"transactional_id": "x", "producer_id": 7, "producer_epoch": 0, **changes}
    return TxnOffsetCommitRequest(
        group_id=group,
        topics=[
            TxnOffsetCommitRequestTopic(
                topic,
                topic_id,
                [TxnOffsetCommitRequestPartition(p, offset + p, 3, text) for p in partitions],
            )
        ],
        **values,
    )


class Producer:
    """A transactional producer over one connection, with transactions protocol v2 or v1."""

    def __init__(self, t: Transcript, name: str, *, v2: bool) -> None:
        self.t = t
        self.wire = t.connect(name)
        self.name = name
        self.v2 = v2
        find_transaction_coordinator(self.wire, name)
        request = InitProducerIdRequest(name, TIMEOUT_MS, -1, -1)
        answer = self._until_settled(request, 5 if v2 else 4)
        assert answer.error_code == 0, ErrorCode(answer.error_code).name
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "transactional_id": self.name,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def add(self, group: str, version: int = 3, **changes: Any) -> None:
        """Add the group's partition to the transaction, as protocol v1 requires before a commit."""
        request = AddOffsetsToTxnRequest(group_id=group, **{**self.identity, **changes})
        answer = self._until_settled(request, version)
        self.t.note(f"add offsets v{version} {group!r}", answer)

    def commit(self, group: str, offset: int, version: int, what: str = "", **changes: Any) -> None:
        values = {"topic_id": self.t.topic_id, **self.identity, **changes}
        request = committing_in_transaction(group, offset, **values)
        answer = self.wire.call(request, version)
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            codes = [p.error_code for topic in answer.topics for p in topic.partitions]
            if ErrorCode.CONCURRENT_TRANSACTIONS not in codes:
                break
            time.sleep(PAUSE_S)
            answer = self.wire.call(request, version)
        self.t.note(f"commit in transaction v{version}{what and ', ' + what}", answer)

    def end(self, *, committed: bool, group: str) -> None:
        """End the transaction, and wait until the group has the marker."""
        request = EndTxnRequest(**self.identity, committed=committed)
        answer = self._until_settled(request, 5 if self.v2 else 3)
        self.t.note("end", ErrorCode(answer.error_code).name)
        if self.v2 and not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        wait_until(lambda: self._is_stable(group), f"stable offsets of {group}")

    def _is_stable(self, group: str) -> bool:
        fetched = self.wire.call(fetching(group, [TOPIC], require_stable=True), 9)
        codes = [p.error_code for topic in fetched.groups[0].topics for p in topic.partitions]
        return not any(codes)

    def _until_settled(self, request: Any, version: int) -> Any:
        """Repeat the request while its error is transient; return the last answer at the limit."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            answer = self.wire.call(request, version)
            again = (
                ErrorCode.CONCURRENT_TRANSACTIONS,
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                ErrorCode.NOT_COORDINATOR,
            )
            if answer.error_code not in again or time.monotonic() > deadline:
                return answer
            time.sleep(PAUSE_S)


def find_transaction_coordinator(wire: Wire, name: str) -> None:
    """Wait until the transaction coordinator of `name` is available."""
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
    wait_until(
        lambda: not wire.call(request, 4).coordinators[0].error_code, "a transaction coordinator"
    )


def read(t: Transcript, wire: Wire, group: str) -> None:
    """Fetch the offsets as a reader that requires stable offsets does, and as other readers do."""
    for stable in (False, True):
        request = fetching(group, [TOPIC], require_stable=stable)
        t.note(f"fetch, {'stable' if stable else 'any'}", wire.call(request, 9))
        request = fetching(group, None, require_stable=stable)
        t.note(f"fetch all, {'stable' if stable else 'any'}", wire.call(request, 9))


def versions(t: Transcript) -> None:
    """Commit one transaction and abort another, in every version of TxnOffsetCommit."""
    for version in range(7):
        t.title(f"TxnOffsetCommit v{version}")
        group = f"versions-{version}"
        producer = Producer(t, f"tx-versions-{version}", v2=version >= 5)
        for committed in (True, False):
            if version < 5:
                producer.add(group, min(version, 4))
            offset = 10 if committed else 20
            producer.commit(group, offset, version, partitions=[0, 9])
            read(t, producer.wire, group)
            producer.end(committed=committed, group=group)
            read(t, producer.wire, group)
        t.note("described", producer.wire.call(describing(group), 6))


def strangers(t: Transcript) -> None:
    """Commit as producers that are not in the transaction, or with another identity."""
    for version, v2 in ((3, False), (4, False), (5, True), (6, True)):
        t.title(f"not in the transaction, v{version}")
        group = f"strangers-{version}"
        producer = Producer(t, f"tx-strangers-{version}", v2=v2)
        for what, changes in [
            ("other id", {"transactional_id": "nobody-knows"}),
            ("no id", {"transactional_id": ""}),
            ("other producer", {"producer_id": producer.producer_id + 1_000}),
            ("old epoch", {"producer_epoch": producer.epoch - 1}),
            ("new epoch", {"producer_epoch": producer.epoch + 1}),
        ]:
            producer.commit(group, 5, version, what, **changes)
        if not v2:
            producer.commit(group, 5, version, "partition not added")
            producer.add(group)
        producer.commit(group, 5, version)
        for what, changes in [
            ("old epoch", {"producer_epoch": producer.epoch - 1}),
            ("new epoch", {"producer_epoch": producer.epoch + 1}),
        ]:
            producer.commit(group, 5, version, f"{what}, in a transaction", **changes)
        producer.end(committed=True, group=group)
        if not v2:
            producer.commit(group, 5, version, "after the end")
        read(t, producer.wire, group)


def adding(t: Transcript) -> None:
    """Send AddOffsetsToTxn in every version, with right and wrong identities."""
    t.title("AddOffsetsToTxn")
    producer = Producer(t, "tx-adding", v2=False)
    for version in range(5):
        producer.add("adding", version)
        for what in (
            {"transactional_id": "nobody-knows"},
            {"transactional_id": ""},
            {"producer_id": producer.producer_id + 1_000},
            {"producer_epoch": producer.epoch - 1},
            {"producer_epoch": producer.epoch + 1},
        ):
            t.lines.append(f"with another {next(iter(what))}")
            producer.add("adding", version, **what)
        producer.add("", version)
    producer.end(committed=False, group="adding")


def refused(t: Transcript) -> None:
    """Commit offsets that the group rejects, in a valid transaction."""
    t.title("refused by the group")
    producer = Producer(t, "tx-refused", v2=True)
    producer.commit("", 5, 5, "no group id")
    producer.commit("refused", 5, 5, "unknown topic", topic="no-such-topic")
    producer.commit("refused", 5, 5, "metadata too long", metadata="x" * 4097)
    producer.commit("refused", 5, 5, "metadata just right", metadata="é" * 4096)
    producer.commit("refused", 6, 5, "no metadata", metadata=None)
    producer.commit("absent", 5, 5, "a generation", generation_id_or_member_epoch=1, member_id="m")
    producer.commit("absent", 5, 5, "a member", member_id="m")
    producer.commit("absent", 5, 5, "an instance", group_instance_id="i")
    producer.commit(
        "refused", 5, 5, "a generation, empty group", generation_id_or_member_epoch=1, member_id="m"
    )
    producer.commit("refused", 7, 5, "a member, empty group", member_id="m")
    producer.end(committed=True, group="refused")
    read(t, producer.wire, "refused")


def fenced(t: Transcript) -> None:
    """Commit for consumers of an old generation and for replaced instances (KIP-447)."""
    for version in (3, 5, 6):
        t.title(f"fenced consumers, v{version}")
        group = f"fenced-{version}"
        producer = Producer(t, f"tx-fenced-{version}", v2=version >= 5)
        wire = t.connect("member")
        static = {"group_instance_id": "i"}
        member = wire.call(joining(group, **static), 9).member_id
        if version < 5:
            producer.add(group)
        me = {"member_id": member, GENERATION: 1}
        producer.commit(group, 5, version, "before the sync", **me)
        wire.call(syncing(group, 1, member, {member: b"all"}, **static), 5)
        producer.commit(group, 6, version, "the member", **me)
        producer.commit(group, 6, version, "the instance", **me, **static)
        for what, changes in [
            ("old generation", {"member_id": member, GENERATION: 0}),
            ("new generation", {"member_id": member, GENERATION: 2}),
            ("no generation", {"member_id": member}),
            ("other member", {"member_id": "m", GENERATION: 1}),
            ("no member", {GENERATION: 1}),
            ("other instance", {**me, "group_instance_id": "j"}),
            ("only the instance", static),
            ("nothing", {}),
        ]:
            producer.commit(group, 7, version, what, **changes)
        newer = wire.call(joining(group, **static), 9).member_id
        producer.commit(group, 8, version, "replaced", **me, **static)
        producer.commit(group, 8, version, "replaced, no instance", **me)
        me["member_id"] = newer
        producer.commit(group, 9, version, "the new one", **me, **static)
        producer.end(committed=True, group=group)
        read(t, producer.wire, group)
        wire.call(leaving(group, (newer, "i")), 5)
        if version < 5:
            producer.add(group)
        producer.commit(group, 10, version, "who left", **me, **static)
        producer.commit(group, 10, version, "of an empty group")
        producer.end(committed=False, group=group)


def pending(t: Transcript) -> None:
    """Delete and commit offsets outside of an open transaction that has some of them."""
    t.title("under an open transaction")
    producer = Producer(t, "tx-pending", v2=True)
    wire = producer.wire
    group = "pending"
    wire.call(committing(group, 1, partitions=[0, 1]), 9)
    producer.commit(group, 5, 5, partitions=[0, 1])
    read(t, wire, group)
    t.note("plain commit", wire.call(committing(group, 3), 9))
    read(t, wire, group)
    topics = [OffsetDeleteRequestTopic(TOPIC, [OffsetDeleteRequestPartition(1)])]
    t.note("offset deleted", wire.call(OffsetDeleteRequest(group, topics), 0))
    read(t, wire, group)
    producer.end(committed=True, group=group)
    read(t, wire, group)
    producer.commit(group, 7, 5)
    t.note("group deleted", wire.call(DeleteGroupsRequest([group]), 2))
    t.note("described", wire.call(describing(group), 6))
    producer.end(committed=True, group=group)
    read(t, wire, group)
    t.note("described", wire.call(describing(group), 6))


CONVERSATIONS = [versions, strangers, adding, refused, fenced, pending]


def converse(connect: Connect, topic_id: bytes) -> list[str]:
    """Run all conversations, one after the other, and return the lines of the transcript."""
    transcript = Transcript(connect)
    transcript.topic_id = topic_id
    for conversation in CONVERSATIONS:
        conversation(transcript)
    return transcript.lines[1:]
