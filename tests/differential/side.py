"""One of the two brokers in one sequence: sends its steps, waits, learns, lets it come to rest.

A broker does some things after its answer: it makes topics, applies configs, writes markers. `rest`
waits for them, so that the next step finds the same state on both sides. Owns the connections to
one broker and what it taught.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import answer_to, decode_answer
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.differential.comparison import Comparable
from tests.differential.connection import Connection, Outcome
from tests.differential.learning import learn
from tests.differential.sequence import Learned, Resolver, Step, frame_of
from tests.tools.waiting import LIMIT_S, wait_until

ANSWER_S = 3.0
REST_S = LIMIT_S
POLL_S = 0.003
# Before it Metadata makes a topic that is not there, whatever the request's field says.
MAY_FORBID_CREATION_FROM = 4
# The controller answers for these before the broker's image has them: Apache Kafka's race, which is
# not what is compared.
CHANGES_THE_IMAGE = (
    *("ALTER_CONFIGS", "INCREMENTAL_ALTER_CONFIGS", "ELECT_LEADERS", "UPDATE_FEATURES"),
    *("ALTER_USER_SCRAM_CREDENTIALS", "ALTER_CLIENT_QUOTAS", "CREATE_ACLS", "DELETE_ACLS"),
)
APPLIED_S = 0.005
"""DescribeConfigs sees a config this little before the logs have it."""
COMES_LATER = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
RETRIED_S = LIMIT_S


@dataclass
class Sent:
    """A request under way."""

    step: Step
    request: Any
    connection: Connection


class Undecodable(Exception):
    """The answer's bytes are not what the API's version says."""


class Connections:
    """The connections to one broker, kept over sequences: each has a number."""

    def __init__(self, port: int, controller_port: int) -> None:
        self.port = port
        self.controller_port = controller_port
        self._open: dict[int, Connection] = {}
        self._aside: list[Connection] = []

    def number(self, number: int) -> Connection:
        if number in self._open and not self._open[number].is_open:
            self._open.pop(number).close()
        if number not in self._open:
            self._open[number] = Connection(self.port)
        return self._open[number]

    def set_aside(self, number: int) -> None:
        """Whoever waits for an answer on it keeps it; the next step gets a new one."""
        if number in self._open:
            self._aside.append(self._open.pop(number))

    def close_aside(self) -> None:
        """Nobody waits any more."""
        while self._aside:
            self._aside.pop().close()

    def close(self) -> None:
        self.close_aside()
        while self._open:
            self._open.popitem()[1].close()


class Side:
    """One broker in one sequence."""

    def __init__(self, connections: Connections, namespace: str, *, texts: bool = False) -> None:
        self.learned: Learned = {}
        self.namespace = namespace
        self.comparable = Comparable(
            namespace, connections.port, connections.controller_port, texts=texts
        )
        self.resolver = Resolver(namespace, self.learned)
        self._connections = connections

    # --- a step ----------------------------------------------------------------------------------

    def send(self, step: Step) -> Sent:
        if step.frame:
            self._connections.set_aside(step.connection)
        connection = self._connections.number(step.connection)
        request = self.resolver.message(step)
        self._write(connection, step, request)
        return Sent(step, request, connection)

    def _write(self, connection: Connection, step: Step, request: Any) -> None:
        connection.correlation += 1
        connection.send(frame_of(step, request, connection.correlation), step.frame.get("size"))
        if "size" in step.frame:
            connection.finish_sending()

    def receive(self, sent: Sent, timeout_s: float = ANSWER_S) -> Any:
        """The message, or a `Outcome`. Asks again while the broker says that it is not ready."""
        if not sent.step.is_answered:
            return self._unanswered(sent)
        answer = self._take(sent, timeout_s)
        deadline = time.monotonic() + RETRIED_S
        while _comes_later(answer) and not sent.step.waits and time.monotonic() < deadline:
            time.sleep(POLL_S)
            self._write(sent.connection, sent.step, sent.request)
            answer = self._take(sent, timeout_s)
        if not isinstance(answer, Outcome):
            learn(self.learned, sent.step, sent.request, answer)
        return answer

    def _take(self, sent: Sent, timeout_s: float) -> Any:
        frame = sent.connection.receive(timeout_s)
        if isinstance(frame, Outcome):
            if frame is Outcome.NOTHING:
                self._connections.set_aside(sent.step.connection)
            return frame
        if sent.step.frame:
            return Outcome.ANSWERED
        try:
            return _decoded(sent, frame)
        except (ProtocolError, ValueError) as error:
            raise Undecodable(f"{sent.step}: {frame.hex()}: {error}") from error

    def _unanswered(self, sent: Sent) -> Outcome:
        """Whether the connection lives after a request that has no answer."""
        sent.connection.send(bytes.fromhex("00120000000000ffffff"))
        if sent.connection.receive(ANSWER_S) is Outcome.CLOSED:
            return Outcome.CLOSED
        return Outcome.NO_ANSWER_DUE

    def keep_apart(self, sent: Sent) -> None:
        """The answer may come much later: its connection is not used meanwhile."""
        self._connections.set_aside(sent.step.connection)

    # --- rest ------------------------------------------------------------------------------------

    def rest(self, sent: Sent, answer: Any) -> None:
        """Wait until what `answer` says is done."""
        api = sent.step.api
        if api in ("CREATE_TOPICS", "CREATE_PARTITIONS", "DELETE_TOPICS", "METADATA"):
            self._until_known(api, sent, answer)
        elif api in ("END_TXN", "INIT_PRODUCER_ID"):
            if sent.request.transactional_id:
                self._until_complete(sent.request.transactional_id)
        elif api in CHANGES_THE_IMAGE:
            self._until_applied()

    def ask(self, request: Any, version: int) -> Any:
        """Return the answer to a question of the tester's own, on a connection of its own.

        A broker closes a connection that was idle for `connections.max.idle.ms`, ten minutes: the
        question then goes to a new one.
        """
        step = Step(_name_of(request), version, {}, connection=-1)
        for _ in range(2):
            connection = self._connections.number(-1)
            self._write(connection, step, request)
            answer = self._take(Sent(step, request, connection), LIMIT_S)
            if answer is not Outcome.CLOSED:
                break
        return answer

    def end(self, names: list[str]) -> None:
        """Topics that the sequence made, and connections on which it waited, go."""
        self._connections.close_aside()
        if names:
            self.ask(DeleteTopicsRequest([], names, 30_000), 5)

    def _until_known(self, api: str, sent: Sent, answer: Any) -> None:
        if getattr(sent.request, "validate_only", False):
            return
        asks_first = sent.step.version >= MAY_FORBID_CREATION_FROM
        if api == "METADATA" and asks_first and not sent.request.allow_auto_topic_creation:
            return
        listed = {"CREATE_PARTITIONS": "results", "DELETE_TOPICS": "responses"}.get(api, "topics")
        wanted = (ErrorCode.NONE, *((5, 3) if api == "METADATA" else ()))
        names = [
            one.name
            for one in getattr(answer, listed)
            if one.error_code in wanted and one.name and one.name.startswith(self.namespace)
        ]
        if not names or (api == "METADATA" and all(one.error_code == 0 for one in answer.topics)):
            return
        counts = {}
        if api == "CREATE_PARTITIONS":
            counts = {one.name: one.count for one in sent.request.topics}
        deadline = time.monotonic() + REST_S
        while time.monotonic() < deadline:
            if self._as_wanted(names, counts, api == "DELETE_TOPICS"):
                return
            time.sleep(POLL_S)

    def _as_wanted(self, names: list[str], counts: dict[str, int], gone: bool) -> bool:
        asked = [MetadataRequestTopic(name=name) for name in names]
        topics = self.ask(MetadataRequest(asked, False), 12).topics
        if gone:
            return all(topic.error_code != 0 for topic in topics) and not time.sleep(POLL_S)
        for topic in topics:
            if topic.error_code == 0:
                self.learned["topic_id", topic.name] = topic.topic_id
            if topic.error_code != 0 or len(topic.partitions) < counts.get(topic.name, 1):
                return False
        offsets = [
            ListOffsetsTopic(
                topic.name,
                [
                    ListOffsetsPartition(one.partition_index, timestamp=-1)
                    for one in topic.partitions
                ],
            )
            for topic in topics
        ]
        found = self.ask(ListOffsetsRequest(-1, 0, offsets), 4).topics
        return all(one.error_code == 0 for topic in found for one in topic.partitions)

    def _until_applied(self) -> None:
        """Wait until the broker's image has all that the controller has committed."""
        partition = DescribeQuorumRequestPartitionData(0)
        topic = DescribeQuorumRequestTopicData("__cluster_metadata", [partition])
        quorum = self.ask(DescribeQuorumRequest([topic]), 2)
        last = quorum.topics[0].partitions[0].high_watermark - 1
        wait_until(
            lambda: self.ask(ApiVersionsRequest("t", "1"), 4).finalized_features_epoch >= last,
            f"what is committed up to {last}",
            pause_s=POLL_S,
        )
        time.sleep(APPLIED_S)

    def _until_complete(self, name: str) -> None:
        deadline = time.monotonic() + REST_S
        while time.monotonic() < deadline:
            states = self.ask(DescribeTransactionsRequest([name]), 0).transaction_states
            if not any(one.transaction_state.startswith("Prepare") for one in states):
                return
            time.sleep(POLL_S)


def _name_of(request: Any) -> str:
    return ApiKey(request.API_KEY).name


def _decoded(sent: Sent, frame: bytes) -> Any:
    return decode_answer(answer_to(sent.request), memoryview(frame), sent.step.version)[1]


def _comes_later(answer: Any) -> bool:
    """Whether every part of an answer says that the coordinator is not ready."""
    if isinstance(answer, Outcome):
        return False
    codes = list(_codes(answer))
    return bool(codes) and all(code in COMES_LATER for code in codes)


def _codes(value: Any) -> Any:
    for name in getattr(value, "__slots__", ()):
        item = getattr(value, name)
        if name in ("error_code", "partition_error_code"):
            yield item
        for one in item if isinstance(item, list) else ():
            yield from _codes(one)
