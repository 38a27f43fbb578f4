"""A cluster as a client sees it: its brokers, who leads what, and one connection to each.

Any broker answers what is about the whole cluster (`call`); records are at a partition's leader,
groups at their coordinator (`call_at`). Owns the connections. What goes wrong on the way is one
line, `StartError`; what the cluster refuses is `Refused`. Never retries what changes something.

Follows Kafka's `NetworkClient` and `AdminApiDriver` for who is asked what.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from client.core.coordinators import NoCoordinator, at_coordinator, coordinator
from client.core.leaders import Partition, by_leader, leaders_of
from client.core.operation import Answer, Ask, Attempts, Steps, metadata_request
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


class Cluster:
    """`with Cluster(servers, config) as cluster: cluster.call(request, Response)`."""

    def __init__(
        self,
        bootstrap_servers: str,
        command_config: str | None,
        timeout_s: float = TIMEOUT_S,
        client_id: str = CLIENT_ID,
        known: Sequence[Address] = (),
    ) -> None:
        """Connect to the first address that answers; `known` are those of another `Cluster`
        (`addresses`). Raises StartError."""
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._bootstrap = parse_addresses(bootstrap_servers)
        self._guard = command_guard(command_config)
        self._addresses: dict[int, Address] = {}
        """Of the brokers, by id, as the last metadata told them."""
        self._nodes: dict[int, BlockingClient] = {}
        first = in_turn(self._bootstrap, known)
        self._any_address, self._any = self._first_that_answers(first)

    # --- questions --------------------------------------------------------------------------------

    def call(self, request: Request, kind: type[M], version_max: int | None = None) -> M:
        """The answer of some broker. Raises StartError where none comes."""
        host, port = self._any_address
        with self._told(request, host, f"{host}:{port}"):
            self._any.send(request, version_max)
            return self._any.receive(kind)

    def call_at(
        self, node_id: int, request: Request, kind: type[M], version_max: int | None = None
    ) -> M:
        """The answer of the broker `node_id`. Raises StartError where none comes."""
        client = self.node(node_id)
        host, port = self._addresses[node_id]
        with self._told(request, host, f"broker {node_id}, {host}:{port}"):
            client.skip_answers()  # of a reader that has enough
            client.send(request, version_max)
            return client.receive(kind)

    def serves(self, api_key: int) -> bool:
        """Whether the broker that answers for the cluster names the API."""
        return self._any.serves(api_key)

    def node(self, node_id: int) -> BlockingClient:
        """A connection to the broker `node_id`, kept. Raises StartError."""
        client = self._nodes.get(node_id)
        if client is None:
            if node_id not in self._addresses:
                self.metadata([])
            if node_id not in self._addresses:
                raise StartError(f"broker {node_id} is not alive: ottla status shows who is")
            client = self._nodes[node_id] = self._connected(node_id, self._addresses[node_id])
        return client

    def drop(self, node_id: int) -> None:
        """Hang up on a broker that fails: the next question connects anew."""
        client = self._nodes.pop(node_id, None)
        if client is not None:
            client.close()

    def drop_owing(self) -> None:
        """Hang up on the brokers that owe an answer nobody waits for any more."""
        for node_id in [one for one, client in self._nodes.items() if client.waiting]:
            self.drop(node_id)

    @property
    def broker_ids(self) -> list[int]:
        """Of the brokers that are alive, as the last metadata told; in order."""
        return sorted(self._addresses)

    @property
    def addresses(self) -> list[Address]:
        """Where another `Cluster` may connect: who answers this one, then the other brokers."""
        return list(dict.fromkeys([self._any_address, *self._addresses.values()]))

    # --- who has what -----------------------------------------------------------------------------

    def metadata(self, topics: Sequence[str] | None) -> MetadataResponse:
        """Of the topics named, or of all; brokers' addresses are learnt on the way. Makes none."""
        answer = self._from_any(metadata_request(topics))
        self._addresses = {one.node_id: (one.host, one.port) for one in answer.brokers}
        return answer

    def topics(self, names: Sequence[str]) -> dict[str, MetadataResponseTopic]:
        """The topics named. Raises Refused where there is no such one, or it may not be seen."""
        found = {one.name or "": one for one in self.metadata(list(dict.fromkeys(names))).topics}
        for name, topic in found.items():
            self._check(name, topic)
        return found

    def led_topics(self, names: Sequence[str]) -> dict[str, MetadataResponseTopic]:
        """The same, once each partition has a leader: just after a topic is made, or in an
        election, that takes a moment. Raises Refused."""
        deadline = time.monotonic() + LEADERS_WITHIN_S
        while True:
            found = self.topics(names)
            leaderless = [
                f"{name}-{one.partition_index}"
                for name, topic in found.items()
                for one in topic.partitions
                if one.leader_id not in self._addresses
            ]
            if not leaderless and all(topic.partitions for topic in found.values()):
                return found
            if time.monotonic() > deadline:
                which = ", ".join(leaderless[:3]) or ", ".join(names)
                raise Leaderless(f"no leader for {which}: ottla status shows what is wrong")
            time.sleep(PAUSE_S)

    def coordinator(self, group: str) -> int:
        """The broker that keeps the group. Raises Refused."""
        return self.run(coordinator(self.attempts(), group))

    def at_coordinator(self, group: str, request: Request, kind: type[M]) -> M:
        """The answer of the broker that keeps the group, once it is settled who that is. Raises
        Refused, StartError."""
        answer = self.run(at_coordinator(self.attempts(), group, request, request.MAX_VERSION))
        assert isinstance(answer, kind)
        return answer

    def settled(self, request: Request, kind: type[M], node_id: int | None = None) -> M:
        """The answer of a broker, asked for again while a coordinator is not there yet, or loads,
        or moves."""
        ask = Ask(request, request.MAX_VERSION, node_id)
        attempts = self.attempts()
        answer = self.run(attempts.settled(lambda: attempts.ask(ask), COORDINATOR))
        assert isinstance(answer, kind)
        return answer

    def by_leader(
        self, topics: Mapping[str, MetadataResponseTopic], wanted: Iterable[Partition]
    ) -> dict[int, list[Partition]]:
        """Partitions by the broker that leads them; those without a leader are left out."""
        return by_leader(self.leaders(topics), wanted)

    def leaders(self, topics: Mapping[str, MetadataResponseTopic]) -> dict[Partition, int]:
        """The leader of each partition, as far as it is alive."""
        return leaders_of(topics.values(), self._addresses)

    # --- operations of `client.core` --------------------------------------------------------------

    def attempts(self) -> Attempts:
        """For one operation: it is tried as long as an answer is waited for."""
        end_s = time.monotonic() + self._timeout_s
        return Attempts(time.monotonic, end_s, lambda: PAUSE_S)

    def run(self, steps: Steps[T]) -> T:
        """Do an operation: send what it asks for, sleep where it waits. Raises Refused where there
        is no coordinator, StartError where no broker answers."""
        answer: Answer = None
        try:
            while True:
                step = steps.send(answer)
                answer = None
                if isinstance(step, Ask):
                    answer = self._answer_to(step)
                else:
                    time.sleep(step)
        except StopIteration as end:
            result: T = end.value
            return result
        except NoCoordinator as error:
            reason = why(error.code, error.message, f"Describe on group {error.key}")
            raise Refused(f"group {error.key}: {reason}") from error

    def _answer_to(self, ask: Ask) -> Answer:
        kind = answer_to(ask.request)
        if ask.to is None:
            return self.call(ask.request, kind, ask.version)
        if ask.optional and not self.node(ask.to).serves(ask.request.API_KEY):
            return None
        return self.call_at(ask.to, ask.request, kind, ask.version)

    # --- within -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Hang up everywhere."""
        for client in (self._any, *self._nodes.values()):
            client.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _from_any(self, request: MetadataRequest) -> MetadataResponse:
        """Metadata of whoever answers: a broker may have died since it was asked last."""
        try:
            return self.call(request, MetadataResponse)
        except StartError:
            known = [one for one in self._addresses.values() if one != self._any_address]
            self._any.close()
            self._any_address, self._any = self._first_that_answers([*known, *self._bootstrap])
        return self.call(request, MetadataResponse)

    def _first_that_answers(self, addresses: Sequence[Address]) -> tuple[Address, BlockingClient]:
        unanswered = Unanswered(self._timeout_s, self._guard)
        for host, port in dict.fromkeys(addresses):
            try:
                client = BlockingClient(host, port, self._timeout_s, self._client_id, self._guard)
            except (OSError, ProtocolError) as error:
                unanswered.add((host, port), error)
            else:
                return (host, port), client
        raise unanswered.error()

    def _connected(self, node_id: int, address: Address) -> BlockingClient:
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
    def _told(self, request: Request, host: str, where: str) -> Iterator[None]:
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
            raise StartError(
                f"{name} was sent to {where} and not answered ({reason}); whether it was done is "
                "not known"
            ) from error

    def _check(self, name: str, topic: MetadataResponseTopic) -> None:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise Refused(
                f"no topic {name}{self._like(name)} (ottla topic list shows all, "
                f"ottla topic create {name} makes it)"
            )
        if topic.error_code not in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
            raise Refused(f"topic {name}: {why(topic.error_code, None, f'Describe on {name}')}")

    def _like(self, name: str) -> str:
        from difflib import get_close_matches

        names = [one.name or "" for one in self.metadata(None).topics]
        like = get_close_matches(name, names, 1)
        return f"; did you mean {like[0]}?" if like else ""


def partitions_of(topics: Mapping[str, MetadataResponseTopic]) -> list[Partition]:
    """All of them, in order."""
    return [
        (name, one.partition_index)
        for name, topic in sorted(topics.items())
        for one in sorted(topic.partitions, key=_index)
    ]


def _index(one: MetadataResponsePartition) -> int:
    return one.partition_index
