"""A cluster as a client sees it: its brokers, partition leaders, and one connection to each broker.

Any broker answers requests about the whole cluster (`call`); records are at a partition's leader,
groups at their coordinator (`call_at`). Owns the connections. A failed connection or request is a
`StartError` of one line; a response with an error is `Refused`. Never retries a change.

Follows Kafka's `NetworkClient` and `AdminApiDriver` for the choice of the broker.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import CLIENT_ID, ApiNotServed, BlockingClient
from client.connection import (
    TIMEOUT_S,
    Unanswered,
    command_guard,
    explain,
    in_turn,
    parse_addresses,
)
from client.core.coordinators import TRANSACTION, NoCoordinator, at_coordinator, coordinator
from client.core.leaders import Partition, by_leader, leaders_of
from client.core.operation import Answer, Attempts, RequestStep, Steps, metadata_request
from client.core.retries import COORDINATOR, LEADERS_WITHIN_S, PAUSE_S
from client.refusals import Leaderless, Refused, why
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import Request, answer_to
from protocol.message import Message
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

M = TypeVar("M", bound=Message)
T = TypeVar("T")
Address = tuple[str, int]
_READING = ("METADATA", "DESCRIBE_", "LIST_", "FETCH", "OFFSET_FETCH", "FIND_", "CONSUMER_GROUP_D")
"""The beginnings of the names of APIs that change nothing."""


class ClusterClient:
    """A client's connections to the brokers of a cluster.

    `with ClusterClient(servers, config) as cluster: cluster.call(request, Response)`
    """

    def __init__(
        self,
        bootstrap_servers: str,
        command_config: str | None,
        timeout_s: float = TIMEOUT_S,
        client_id: str = CLIENT_ID,
        known_addresses: Sequence[Address] = (),
        advises_start: bool = True,
    ) -> None:
        """Connect to the first address that answers.

        `known_addresses`: the `addresses` of an earlier `ClusterClient`. The first of them is tried
        before the bootstrap servers, the others after. Raises StartError if no address answers, an
        address has the wrong form, or the file `command_config` is invalid. With `advises_start`,
        the error may say how to start a broker.
        """
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._bootstrap = parse_addresses(bootstrap_servers)
        self._guard = command_guard(command_config)
        self._advises_start = advises_start
        self._addresses: dict[int, Address] = {}
        """The addresses of the live brokers by id, from the last Metadata response."""
        self._nodes: dict[int, BlockingClient] = {}
        first = in_turn(self._bootstrap, known_addresses)
        self._any_address, self._any = self._connect_to_first(first)

    # --- requests ---------------------------------------------------------------------------------

    def call(self, request: Request, kind: type[M], version_max: int | None = None) -> M:
        """Send a request to any broker and return the response, which may have an error code.
        Raises StartError if there is no response."""
        host, port = self._any_address
        with self._request_errors(request, host, f"{host}:{port}"):
            self._any.send(request, version_max)
            return self._any.receive(kind)

    def call_at(
        self, node_id: int, request: Request, kind: type[M], version_max: int | None = None
    ) -> M:
        """Send a request to the broker `node_id` and return the response, which may have an error
        code. Responses that are still outstanding on that connection are dropped. Raises StartError
        if there is no response."""
        client = self.node(node_id)
        host, port = self._addresses[node_id]
        with self._request_errors(request, host, f"broker {node_id}, {host}:{port}"):
            client.skip_answers()  # to the fetches of a reader that has stopped
            client.send(request, version_max)
            return client.receive(kind)

    def serves(self, api_key: int) -> bool:
        """Return whether the broker that answers `call` serves the API."""
        return self._any.serves(api_key)

    def node(self, node_id: int) -> BlockingClient:
        """Return the connection to the broker `node_id`, opened on first use.

        Raises StartError if the broker is not alive or cannot be reached.
        """
        client = self._nodes.get(node_id)
        if client is None:
            if node_id not in self._addresses:
                self.metadata([])
            if node_id not in self._addresses:
                raise StartError(f"broker {node_id} is not alive: ottla status shows who is")
            client = self._nodes[node_id] = self._connect(node_id, self._addresses[node_id])
        return client

    def connection_to(self, host: str, port: int) -> BlockingClient:
        """Return a new connection to a node that Metadata does not name, such as a controller; the
        caller closes it. Raises OSError, ProtocolError."""
        return BlockingClient(host, port, self._timeout_s, self._client_id, self._guard)

    def drop(self, node_id: int) -> None:
        """Close the connection to a broker that fails; the next request opens another."""
        client = self._nodes.pop(node_id, None)
        if client is not None:
            client.close()

    def drop_owing(self) -> None:
        """Close the connections with outstanding responses, which no caller will read."""
        for node_id in [broker_id for broker_id, client in self._nodes.items() if client.waiting]:
            self.drop(node_id)

    @property
    def broker_ids(self) -> list[int]:
        """The ids of the live brokers in the last Metadata response, in order."""
        return sorted(self._addresses)

    @property
    def addresses(self) -> list[Address]:
        """The live brokers' addresses, for the `known_addresses` of another `ClusterClient`. The
        broker that `call` uses comes first."""
        return list(dict.fromkeys([self._any_address, *self._addresses.values()]))

    # --- topics, leaders and coordinators ---------------------------------------------------------

    def metadata(self, topics: Sequence[str] | None) -> MetadataResponse:
        """Return the metadata of the named topics, or of all if `topics` is None; each may have an
        error.

        Remembers the brokers' addresses. If the broker does not answer, connects to another. Never
        creates a topic. Raises StartError.
        """
        answer = self._from_any(metadata_request(topics))
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        return answer

    def topics(self, names: Sequence[str]) -> dict[str, MetadataResponseTopic]:
        """Return the metadata of the named topics by name. Raises Refused if a topic does not exist
        or is not visible to this login, StartError if no broker answers."""
        topics = {
            topic.name or "": topic for topic in self.metadata(list(dict.fromkeys(names))).topics
        }
        for name, topic in topics.items():
            self._check_topic(name, topic)
        return topics

    def led_topics(
        self, names: Sequence[str], partitions: Collection[Partition] | None = None
    ) -> dict[str, MetadataResponseTopic]:
        """Return the metadata of the named topics as soon as each of their partitions has a live
        leader, or each of `partitions` if they are given.

        That takes a moment after a topic's creation or in an election. Raises Leaderless after
        LEADERS_WITHIN_S, and Refused as `topics` does.
        """
        deadline = time.monotonic() + LEADERS_WITHIN_S
        while True:
            topics = self.topics(names)
            leaderless = [
                f"{name}-{partition.partition_index}"
                for name, topic in topics.items()
                for partition in topic.partitions
                if partition.leader_id not in self._addresses
                and (partitions is None or (name, partition.partition_index) in partitions)
            ]
            if not leaderless and all(topic.partitions for topic in topics.values()):
                return topics
            if time.monotonic() > deadline:
                which = ", ".join(leaderless[:3]) or ", ".join(names)
                raise Leaderless(f"no leader for {which}: ottla status shows what is wrong")
            time.sleep(PAUSE_S)

    def coordinator(self, group: str) -> int:
        """Ask any broker for the group's coordinator and return its id; retry while there is none.
        Raises Refused if there is none within the timeout, StartError if no broker answers."""
        return self.run(coordinator(self.attempts(), group))

    def transaction_coordinator(self, transactional_id: str) -> int:
        """Ask any broker for the coordinator of a transactional id and return its id; retry while
        there is none. Raises Refused, StartError."""
        return self.run(coordinator(self.attempts(), transactional_id, TRANSACTION))

    def at_coordinator(self, group: str, request: Request, kind: type[M]) -> M:
        """Return the response of the group's coordinator; retry while the coordinator moves or
        loads. The last response within the timeout may have an error code. Raises Refused if there
        is no coordinator, StartError if it does not answer."""
        answer = self.run(at_coordinator(self.attempts(), group, request, request.MAX_VERSION))
        assert isinstance(answer, kind)
        return answer

    def settled(self, request: Request, kind: type[M], node_id: int | None = None) -> M:
        """Return the response of a broker. While it has a COORDINATOR error, retry within the
        timeout; then return it with the error.

        `node_id` None: any broker. Raises StartError.
        """
        step = RequestStep(request, request.MAX_VERSION, node_id)
        attempts = self.attempts()
        answer = self.run(attempts.settled(lambda: attempts.request(step), COORDINATOR))
        assert isinstance(answer, kind)
        return answer

    def by_leader(
        self, topics: Mapping[str, MetadataResponseTopic], wanted: Iterable[Partition]
    ) -> dict[int, list[Partition]]:
        """Return the partitions by their leader's id; those without a live leader are left out."""
        return by_leader(self.leaders(topics), wanted)

    def leaders(self, topics: Mapping[str, MetadataResponseTopic]) -> dict[Partition, int]:
        """Return the leader's id of each partition; NO_LEADER if the leader is not alive."""
        return leaders_of(topics.values(), self._addresses)

    # --- operations of `client.core` --------------------------------------------------------------

    def attempts(self) -> Attempts:
        """Return the `Attempts` of one operation, which may retry for the timeout of a request."""
        end_s = time.monotonic() + self._timeout_s
        return Attempts(time.monotonic, end_s, lambda: PAUSE_S)

    def run(self, steps: Steps[T]) -> T:
        """Run an operation: send its requests, sleep for its pauses, and return its result.

        Raises Refused if there is no coordinator, StartError if a broker does not answer.
        """
        answer: Answer = None
        try:
            while True:
                step = steps.send(answer)
                answer = None
                if isinstance(step, RequestStep):
                    answer = self._answer_to(step)
                else:
                    time.sleep(step)
        except StopIteration as end:
            result: T = end.value
            return result
        except NoCoordinator as error:
            kind = "transactional id" if error.kind == TRANSACTION else "group"
            reason = why(error.code, error.message, f"Describe on {kind} {error.key}")
            raise Refused(f"{kind} {error.key}: {reason}") from error

    def _answer_to(self, ask: RequestStep) -> Answer:
        """Send a step's request and return its answer.

        Returns None if the step is optional and the node lacks the API. Raises StartError if no
        answer comes.
        """
        kind = answer_to(ask.request)
        if ask.to is None:
            return self.call(ask.request, kind, ask.version)
        if ask.optional and not self.node(ask.to).serves(ask.request.API_KEY):
            return None
        return self.call_at(ask.to, ask.request, kind, ask.version)

    # --- internals --------------------------------------------------------------------------------

    def close(self) -> None:
        """Close all connections."""
        for client in (self._any, *self._nodes.values()):
            client.close()

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _from_any(self, request: MetadataRequest) -> MetadataResponse:
        """Return the Metadata response of any broker. If the connected broker does not answer,
        connect to another, and try once more."""
        try:
            return self.call(request, MetadataResponse)
        except StartError:
            other_addresses = [
                address for address in self._addresses.values() if address != self._any_address
            ]
            self._any.close()
            self._any_address, self._any = self._connect_to_first(
                [*other_addresses, *self._bootstrap]
            )
        return self.call(request, MetadataResponse)

    def _connect_to_first(self, addresses: Sequence[Address]) -> tuple[Address, BlockingClient]:
        """Connect to the first address that answers.

        Raises StartError with each address's failure if none does.
        """
        unanswered = Unanswered(self._timeout_s, self._guard, advises_start=self._advises_start)
        for host, port in dict.fromkeys(addresses):
            try:
                client = BlockingClient(host, port, self._timeout_s, self._client_id, self._guard)
            except (OSError, ProtocolError) as error:
                unanswered.add((host, port), error)
            else:
                return (host, port), client
        raise unanswered.error()

    def _connect(self, node_id: int, address: Address) -> BlockingClient:
        """Connect to a broker at its advertised address.

        Raises StartError if it does not answer there.
        """
        host, port = address
        try:
            return BlockingClient(host, port, self._timeout_s, self._client_id, self._guard)
        except (OSError, ProtocolError) as error:
            reason = explain(error, self._timeout_s, self._guard, host)
            raise StartError(
                f"broker {node_id} says that clients reach it at {host}:{port}, and there is no "
                f"answer there ({reason}): is its advertised.listeners right?"
            ) from error

    @contextmanager
    def _request_errors(self, request: Request, host: str, where: str) -> Iterator[None]:
        """Turn the failures of a request inside this context into StartError."""
        name = ApiKey(request.API_KEY).name.title().replace("_", "")
        try:
            yield
        except ApiNotServed as error:
            raise StartError(
                f"what answers there has no {name}: is it a broker's port, of Ottla or of Apache "
                "Kafka 3.9 or later?"
            ) from error
        except (OSError, ProtocolError) as error:
            reason = explain(error, self._timeout_s, self._guard, host)
            reads = ApiKey(request.API_KEY).name.startswith(_READING)
            unsure = "" if reads else "; whether it was done is not known"
            raise StartError(
                f"{name} was sent to {where} and not answered ({reason}){unsure}"
            ) from error

    def _check_topic(self, name: str, topic: MetadataResponseTopic) -> None:
        """Raise Refused if Metadata has an error for the topic; a missing leader is none."""
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise Refused(
                f"no topic {name}{self._suggestion(name)} (ottla topic list shows all, "
                f"ottla topic create {name} makes it)"
            )
        if topic.error_code not in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
            raise Refused(f"topic {name}: {why(topic.error_code, None, f'Describe on {name}')}")

    def _suggestion(self, name: str) -> str:
        """Ask the cluster for all topics, and return "; did you mean …?" with the most similar
        name; "" if none is similar."""
        from difflib import get_close_matches

        names = [topic.name or "" for topic in self.metadata(None).topics]
        similar_names = get_close_matches(name, names, 1)
        return f"; did you mean {similar_names[0]}?" if similar_names else ""


def partitions_of(topics: Mapping[str, MetadataResponseTopic]) -> list[Partition]:
    """Return all partitions of the topics, sorted by topic name and index."""
    return [
        (name, partition.partition_index)
        for name, topic in sorted(topics.items())
        for partition in sorted(topic.partitions, key=_index)
    ]


def _index(partition: MetadataResponsePartition) -> int:
    return partition.partition_index
