"""What a transaction coordinator answers: a conversation with Apache Kafka, kept.

`python -m tests.golden.transaction_cases` records `transaction_answers_kafka.json` from a
real broker; `tests/unit/broker/transactions/test_transaction_coordinator_kafka.py` has it with
Ottla. Producer ids are told by the order in which they were given (P0, P1, …), times by whether
there is one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_transactions import ListTransactionsRequest
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "transaction_answers_kafka.json"

Call = Callable[[Any, int], Any]
Identity = tuple[int, int]
RETRIED = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
LAST_EPOCH = 32_766
TIMEOUT_MS = 60_000


class Conversation:
    """Asks in order, and keeps each answer under its name. `pause` lets the broker work."""

    def __init__(self, call: Call, pause: Callable[[], None]) -> None:
        self.answers: dict[str, Any] = {}
        self._call = call
        self._pause = pause
        self._ids: dict[int, str] = {}

    def name_of(self, producer_id: int) -> str:
        if producer_id < 0:
            return str(producer_id)
        return self._ids.setdefault(producer_id, f"P{len(self._ids)}")

    def keep(self, name: str, answer: Any) -> None:
        assert name not in self.answers, name
        self.answers[name] = answer

    def _until_good(self, request: Any, version: int) -> Any:
        for _ in range(600):
            answer = self._call(request, version)
            if answer.error_code not in RETRIED:
                return answer
            self._pause()
        raise AssertionError(f"no other answer to {request}")

    def find(self, name: str, version: int, key: str) -> None:
        request = FindCoordinatorRequest(key, 1, [key])
        for _ in range(600):
            answer = self._call(request, version)
            found = answer.coordinators[0] if version >= 4 else answer
            if found.error_code not in RETRIED:
                break
            self._pause()
        self.keep(name, [found.error_code, found.node_id, found.error_message])

    def init(
        self,
        name: str,
        version: int = 5,
        txn: str | None = "t",
        expected: Identity = (-1, -1),
        timeout: int = TIMEOUT_MS,
        patient: bool = True,
    ) -> Identity:
        request = InitProducerIdRequest(txn, timeout, *expected)
        answer = self._until_good(request, version) if patient else self._call(request, version)
        identity = (answer.producer_id, answer.producer_epoch)
        if name:
            self.keep(name, [answer.error_code, self.name_of(identity[0]), identity[1]])
        return identity

    def add(
        self,
        name: str,
        identity: Identity,
        *topics: tuple[str, list[int]],
        version: int = 3,
        txn: str = "t",
    ) -> None:
        named = [AddPartitionsToTxnTopic(*one) for one in topics or (("a", [0]),)]
        request = AddPartitionsToTxnRequest([], txn, *identity, named)
        for _ in range(600):
            answer = self._call(request, version)
            results = sorted(
                [topic.name, one.partition_index, one.partition_error_code]
                for topic in answer.results_by_topic_v3_and_below
                for one in topic.results_by_partition
            )
            if results[0][2] not in RETRIED:
                break
            self._pause()
        self.keep(name, results)

    def add_batch(self, name: str, *asked: tuple[str, Identity, bool, str], version: int) -> None:
        request = AddPartitionsToTxnRequest(
            [
                AddPartitionsToTxnTransaction(
                    txn, *identity, verify, [AddPartitionsToTxnTopic(topic, [0])]
                )
                for txn, identity, verify, topic in asked
            ]
        )
        answer = self._call(request, version)
        results = sorted(
            [result.transactional_id, topic.name, one.partition_index, one.partition_error_code]
            for result in answer.results_by_transaction
            for topic in result.topic_results
            for one in topic.results_by_partition
        )
        self.keep(name, [answer.error_code, results])

    def add_offsets(self, name: str, identity: Identity, version: int, group: str = "g") -> None:
        request = AddOffsetsToTxnRequest("t", *identity, group)
        self.keep(name, self._until_good(request, version).error_code)

    def end(
        self,
        name: str,
        identity: Identity,
        commit: bool,
        version: int,
        txn: str = "t",
    ) -> Identity:
        answer = self._until_good(EndTxnRequest(txn, *identity, commit), version)
        after = (answer.producer_id, answer.producer_epoch)
        self.keep(name, [answer.error_code, self.name_of(after[0]), after[1]])
        return after

    def describe(self, name: str, *txns: str) -> None:
        answer = self._call(DescribeTransactionsRequest(list(txns)), 0)
        found = [
            [
                one.error_code,
                one.transactional_id,
                one.transaction_state,
                one.transaction_timeout_ms,
                one.transaction_start_time_ms > 0,
                self.name_of(one.producer_id),
                one.producer_epoch,
                sorted([topic.topic, sorted(topic.partitions)] for topic in one.topics),
            ]
            for one in answer.transaction_states
        ]
        self.keep(name, found)

    def list(self, name: str, version: int, *filters: Any) -> None:
        answer = self._call(ListTransactionsRequest(*filters), version)
        found = sorted(
            [one.transactional_id, self.name_of(one.producer_id), one.transaction_state]
            for one in answer.transaction_states
        )
        self.keep(name, [answer.error_code, sorted(answer.unknown_state_filters), found])

    def rest(self) -> None:
        """Wait until the last end is completed."""
        for _ in range(600):
            states = self._call(DescribeTransactionsRequest(["t"]), 0).transaction_states
            if not states[0].transaction_state.startswith("Prepare"):
                return
            self._pause()


def _initializing(talk: Conversation) -> None:
    for version in (1, 3, 4, 6):
        talk.find(f"find v{version}", version, "t")
    for version in range(6):
        talk.init(f"init v{version}", version)
    for timeout in (0, -1, 900_000, 900_001, 2_147_483_647):
        talk.init(f"init with a time-out of {timeout}", timeout=timeout)
    talk.init("init without a name", txn="")
    talk.init("init with an id alone", expected=(5, -1))
    talk.init("init with an epoch alone", expected=(-1, 5))
    me = talk.init("init before recovery")
    mine = talk.init("recovery", expected=me)
    talk.init("recovery, sent again", expected=me)
    talk.init("recovery of another producer id", expected=(mine[0] + 77, 0))
    talk.init("the same in v3", 3, expected=(mine[0] + 77, 0))
    talk.init("recovery with an epoch to come", expected=(mine[0], mine[1] + 5))
    talk.init("another producer", 5)
    talk.init("recovery after another producer", expected=mine)
    talk.init("a producer that is not known", txn="u", expected=(4_321, 7))


def _adding(talk: Conversation) -> None:
    me = talk.init("init to add")
    talk.add("add to an unknown id", me, txn="nobody")
    talk.add("add without a name", me, txn="")
    for version in range(4):
        talk.add(f"add with an old epoch v{version}", (me[0], me[1] - 1), version=version)
    talk.add("add with an epoch to come", (me[0], me[1] + 1))
    talk.add("add as another producer", (me[0] + 77, me[1]))
    talk.add("add what does not exist", me, ("a", [0, 9]), ("no-such", [0]))
    talk.add("add the coordinators' own", me, ("__transaction_state", [0]), ("a", [0]))
    talk.describe("nothing added", "t", "nobody", "")
    for version in range(4):
        talk.add(f"add v{version}", me, ("a", [0, 1]), version=version)
    talk.describe("added", "t")
    for version in range(5):
        talk.add_offsets(f"offsets v{version}", me, version)
        talk.add_offsets(f"offsets with an old epoch v{version}", (me[0], me[1] - 1), version)
    talk.describe("added with offsets", "t")
    for version in (4, 5):
        talk.add_batch(
            f"verify v{version}",
            ("t", me, True, "a"),
            ("nobody", me, True, "a"),
            version=version,
        )
        talk.add_batch(
            f"verify what was not added v{version}", ("t", me, True, "b"), version=version
        )
        talk.add_batch(f"verify no such topic v{version}", ("t", me, True, "no"), version=version)
        old = (me[0], me[1] - 1)
        talk.add_batch(
            f"verify with an old epoch v{version}", ("t", old, True, "a"), version=version
        )
        talk.add_batch(f"add b v{version}", ("t", me, False, "b"), version=version)
    talk.add_batch("verify b", ("t", me, True, "b"), version=5)
    talk.list("list all", 0)
    talk.list("list open ones", 1, ["Ongoing"], [], -1)
    talk.list("list old ones", 1, [], [], 3_600_000)
    talk.list("list by producer", 1, [], [me[0]], -1)
    talk.list("list a state that is none", 2, ["Open", "Empty"], [], -1, None)
    for pattern in ("t", "[tu]", "t.*", "", ".", "(", "x"):
        talk.list(f"list by pattern {pattern!r}", 2, [], [], -1, pattern)
    talk.end("end to add", me, True, 4)


def _ending(talk: Conversation, version: int) -> None:
    """Every end in every state at rest; `version` of EndTxn says which protocol."""
    bumps = version >= 5
    at = f"v{version}"
    me = talk.init(f"init to end {at}")
    talk.end(f"commit of an unknown id {at}", me, True, version, txn="nobody")
    talk.end(f"commit without a name {at}", me, True, version, txn="")
    talk.end(f"commit as another producer {at}", (me[0] + 77, me[1]), True, version)
    talk.end(f"commit with an old epoch {at}", (me[0], me[1] - 1), True, version)
    talk.end(f"abort with an old epoch {at}", (me[0], me[1] - 1), False, version)
    talk.end(f"abort with an epoch to come {at}", (me[0], me[1] + 1), False, version)
    talk.end(f"commit of nothing {at}", me, True, version)
    after = talk.end(f"abort of nothing {at}", me, False, version)
    for commit in (True, False):
        me = talk.init(f"init to {'commit' if commit else 'abort'} {at}")
        talk.add(f"add to {'commit' if commit else 'abort'} {at}", me)
        what = f"after {'commit' if commit else 'abort'} {at}"
        for other in (-1, 1):
            talk.end(f"epoch {other} {what}", (me[0], me[1] + other), commit, version)
        after = talk.end(f"end {what}", me, commit, version)
        talk.rest()
        talk.describe(f"described {what}", "t")
        talk.end(f"again {what}", me, commit, version)
        talk.end(f"the other {what}", me, not commit, version)
        if bumps:
            talk.end(f"commit of nothing {what}", after, True, version)
            again = talk.end(f"abort of nothing {what}", after, False, version)
            talk.rest()
            talk.add(f"add with the old epoch {what}", after)
            talk.add(f"add with the new epoch {what}", again)
            after = talk.end(f"second end {what}", again, commit, version)
        else:
            talk.add(f"next {what}", me)
            talk.end(f"end of the next {what}", me, commit, version)
        talk.rest()


def _fencing(talk: Conversation) -> None:
    me = talk.init("init to be fenced")
    talk.add("add to be fenced", me)
    talk.init("a second producer, at first", patient=False)
    second = talk.init("a second producer")
    talk.describe("after the fence", "t")
    for version in (1, 4, 5):
        talk.end(f"commit of the fenced v{version}", me, True, version)
    talk.add("add of the fenced", me)
    talk.init("recovery of the fenced", expected=me)
    talk.add("add of the second", second)
    talk.init("recovery with an open transaction, at first", expected=second, patient=False)
    talk.rest()
    talk.init("recovery with an open transaction", expected=second)


def _exhausting(talk: Conversation, jump: Callable[[], None] | None) -> None:
    """Up to the last epoch by InitProducerId, over and over."""

    def last(name: str) -> Identity:
        me = talk.init(f"{name}: start")
        if jump is not None:
            jump()
        while me[1] < LAST_EPOCH:
            me = talk.init("")
        talk.keep(f"{name}: last epoch", [talk.name_of(me[0]), me[1]])
        return me

    me = last("rotate")
    mine = talk.init("rotate: recovery", expected=me)
    talk.init("rotate: recovery, sent again", expected=me)
    talk.init("rotate: recovery with another epoch", expected=(me[0], LAST_EPOCH - 1))
    talk.add("rotate: add", mine)
    talk.end("rotate: end", mine, True, 4)

    me = last("overflow")
    talk.add("overflow: add", me)
    after = talk.end("overflow: end", me, True, 5)
    talk.rest()
    talk.describe("overflow: described", "t")
    talk.end("overflow: sent again", me, True, 5)
    talk.end("overflow: the other", me, False, 5)
    talk.add("overflow: add as the old", me)
    talk.add("overflow: add as the new", after)
    talk.end("overflow: sent again, too late", me, True, 5)
    talk.end("overflow: end as the new", after, True, 5)

    me = last("fence")
    talk.add("fence: add", me)
    talk.init("fence: a second producer, at first", patient=False)
    talk.rest()
    talk.describe("fence: described", "t")
    talk.init("fence: a second producer")


def converse(
    call: Call,
    pause: Callable[[], None],
    jump: Callable[[], None] | None = None,
    *,
    exhausts: bool = True,
    newest: bool = True,
) -> dict[str, Any]:
    """The whole conversation. `jump` takes the id `t` to the epoch before its last but one.

    Without `exhausts`, it stops before the last epochs. Without `newest`, it has no requests of
    the protocol that `transaction.version` 1 brings.
    """
    for name in ("a", "b"):
        created = call(CreateTopicsRequest([CreatableTopic(name, 2, 1)], 30_000, False), 7)
        assert created.topics[0].error_code == 0
    talk = Conversation(call, pause)
    _initializing(talk)
    if newest:
        _adding(talk)
    for version in (0, 4, 5) if newest else (0, 4):
        _ending(talk, version)
    _fencing(talk)
    if exhausts:
        _exhausting(talk, jump)
    return talk.answers


def let_it_work() -> None:
    """Give a real broker time before the next request."""
    time.sleep(0.02)


def record() -> None:
    """Ask a real broker."""
    from tests.clients.wire_client import WireClient
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka, WireClient(kafka.port) as wire:
        answers = converse(wire.call, let_it_work)
    write_json(RECORDED, answers, sort_keys=True)


if __name__ == "__main__":
    record()
