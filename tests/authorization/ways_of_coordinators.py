"""Transactions and groups whose client loses a right half way: what each further request is told.

Owns the beginning of both, by one who has all rights. Never asserts what is right.
"""

from __future__ import annotations

from ottla.plugins.authorizer import Operation, Resource
from tests.authorization.denials.conversation import WARM, error_codes
from tests.authorization.secured_node import ALICE, CLOSED, Client, Right, SecuredNode
from tests.differential.learning import learn
from tests.differential.sequence import Body, Learned, Resolver, Step

WRITE_X: Right = (Operation.WRITE, Resource.TRANSACTIONAL_ID, "x")
WRITE_T: Right = (Operation.WRITE, Resource.TOPIC, "t")
READ_G: Right = (Operation.READ, Resource.GROUP, "g")
READ_T: Right = (Operation.READ, Resource.TOPIC, "t")
RIGHTS = (WRITE_X, WRITE_T, READ_G, READ_T)

PRODUCER = {
    "producer_id": {"$": "producer_id", "of": "x"},
    "producer_epoch": {"$": "epoch", "of": "x"},
}
OLD_PRODUCER = {f"v3_and_below_{name}": value for name, value in PRODUCER.items()}
MEMBER = {
    "group_id": "g",
    "generation_id": {"$": "generation", "of": "g"},
    "member_id": {"$": "member", "of": "g/0"},
}
OFFSET = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]


def batch(sequence: int) -> Body:
    spec = {
        "n": 1,
        "pid": PRODUCER["producer_id"],
        "epoch": PRODUCER["producer_epoch"],
        "seq": sequence,
        "txn": True,
    }
    return {"index": 0, "records": {"$records": [spec]}}


def produced(sequence: int) -> Step:
    topics = [{"name": "t", "partition_data": [batch(sequence)]}]
    body = {"transactional_id": "x", "acks": -1, "timeout_ms": 5000, "topic_data": topics}
    return Step("PRODUCE", 11, body)


ADDED = Step(
    "ADD_PARTITIONS_TO_TXN",
    3,
    {
        "v3_and_below_transactional_id": "x",
        **OLD_PRODUCER,
        "v3_and_below_topics": [{"name": "t", "partitions": [0]}],
    },
)
GROUP_ADDED = Step("ADD_OFFSETS_TO_TXN", 3, {"transactional_id": "x", **PRODUCER, "group_id": "g"})
OFFSETS = Step(
    "TXN_OFFSET_COMMIT",
    3,
    {"transactional_id": "x", "group_id": "g", **PRODUCER, "topics": OFFSET},
)
ENDED = Step("END_TXN", 3, {"transactional_id": "x", **PRODUCER, "committed": True})
JOINED = Step(
    "JOIN_GROUP",
    3,
    {
        "group_id": "g",
        "session_timeout_ms": 30_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": {"$": "member", "of": "g/0"},
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": {"$hex": "00"}}],
    },
)
SYNCED = Step(
    "SYNC_GROUP",
    3,
    {
        **MEMBER,
        "assignments": [{"member_id": MEMBER["member_id"], "assignment": {"$hex": "aa"}}],
    },
)
HEARD = Step("HEARTBEAT", 3, MEMBER)
COMMITTED = Step(
    "OFFSET_COMMIT",
    7,
    {
        "group_id": "g",
        "generation_id_or_member_epoch": MEMBER["generation_id"],
        "member_id": MEMBER["member_id"],
        "topics": OFFSET,
    },
)
LEFT = Step("LEAVE_GROUP", 2, {"group_id": "g", "member_id": MEMBER["member_id"]})

BEGUN = Step("INIT_PRODUCER_ID", 4, {"transactional_id": "x", "transaction_timeout_ms": 60_000})
TRANSACTION = (BEGUN, ADDED, produced(0), GROUP_ADDED, OFFSETS)
GROUP = (JOINED, SYNCED, HEARD, COMMITTED)

X, G, T = 53, 30, 29
LOST: tuple[tuple[Right, dict[str, tuple[Step, int]]], ...] = (
    (
        WRITE_X,
        {
            "InitProducerId": (BEGUN, X),
            "AddPartitionsToTxn": (ADDED, X),
            "Produce": (produced(1), X),
            "AddOffsetsToTxn": (GROUP_ADDED, X),
            "TxnOffsetCommit": (OFFSETS, X),
            "EndTxn": (ENDED, X),
        },
    ),
    (WRITE_T, {"AddPartitionsToTxn": (ADDED, T), "Produce": (produced(1), T)}),
    (
        READ_G,
        {
            "AddOffsetsToTxn": (GROUP_ADDED, G),
            "TxnOffsetCommit": (OFFSETS, G),
            "JoinGroup": (JOINED, G),
            "SyncGroup": (SYNCED, G),
            "Heartbeat": (HEARD, G),
            "OffsetCommit": (COMMITTED, G),
            "LeaveGroup": (LEFT, G),
        },
    ),
    (READ_T, {"TxnOffsetCommit": (OFFSETS, T), "OffsetCommit": (COMMITTED, T)}),
)
"""The right that is lost → what is asked then, and the error for it."""


class Conversation:
    """Alice's, half way through a transaction and a member of a group."""

    def __init__(self, node: SecuredNode) -> None:
        self._node = node
        self._learned: Learned = {}
        self._resolver = Resolver("", self._learned)
        for step in WARM:
            self._until_good(node.admin, step)
        node.allow(ALICE, *RIGHTS)
        self._alice = node.client(ALICE)
        for step in (*TRANSACTION, *GROUP):
            self._until_good(self._alice, step)

    def codes(self, step: Step) -> set[int]:
        """The errors that alice is told."""
        answer = self._alice.ask(self._resolver.message(step), step.version)
        assert answer != CLOSED
        return set(error_codes(answer)) - {0}

    def _until_good(self, client: Client, step: Step) -> None:
        for _ in range(500):
            request = self._resolver.message(step)
            answer = client.ask(request, step.version)
            learn(self._learned, step, request, answer)
            if not any(error_codes(answer)):
                return
            self._node.scheduler.run_for(10)
        raise AssertionError(f"{step}: {answer}")
