"""The requests of a persister to share coordinators on other brokers.

Owns a connection to each such broker, and the calls for it. Calls of one API and group share a
request; the next request of that API and group waits for its answer, and a request never has two
calls for one share-partition. Never repeats a call: `broker.share.persister` does, and it knows the
coordinator of each share-partition. Follows the sender thread of Kafka's `PersisterStateManager`
(KIP-932).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from broker.share.state import state_api
from broker.share.state.share_coordinator import ShareCoordinator, StateReply
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer
from broker.share.state.state_api import StateApi, StateEntry, StateResponse, TopicPartitionKey
from ground.ports import Channel, ChannelFailure, Network, Scheduler
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

PARTITIONS_PER_REQUEST = 500
CLIENT_ID = "Persister-{}"

Coordinator = tuple[int, str, int]
"""The node id, host and port of the broker that coordinates a share-partition."""


@dataclass(slots=True, eq=False)
class StateCall:
    """A call for a share-partition."""

    api: StateApi
    key: SharePartitionKey
    arguments: tuple[object, ...]
    """The arguments of the coordinator's decision, without the key."""
    reply: StateReply
    attempts: int = 0
    asked: Coordinator | None = None
    """The broker that was asked last; None: it was unknown."""

    def attempt(self, coordinator: Coordinator | None) -> None:
        """Count an attempt to ask `coordinator`."""
        self.attempts += 1
        self.asked = coordinator

    def entry(self) -> StateEntry:
        """Return the share-partition's entry in a request."""
        return self.api.entry(self.key, *self.arguments)

    def ask(self, here: ShareCoordinator, reply: StateReply) -> None:
        """Make the call to the share coordinator of this broker."""
        self.api.decide(here, self.key, *self.arguments, reply)


HasMoved = Callable[[StateCall], bool]
Ended = Callable[[StateCall, ErrorCode, StateAnswer], None]
"""A callback with the result of a call's attempt."""
_Batch = dict[TopicPartitionKey, StateCall]


class _Lane:
    """The calls of an API and a group for a broker."""

    def __init__(self, api: StateApi, group_id: str) -> None:
        self.api = api
        self.group_id = group_id
        self.waiting: list[StateCall] = []
        self.in_flight: _Batch | None = None

    def next_batch(self) -> _Batch:
        """Put the next of the waiting calls in flight, one for each share-partition."""
        batch: _Batch = {}
        rest: list[StateCall] = []
        for call in self.waiting:
            place = (call.key.topic_id, call.key.partition)
            if place in batch or len(batch) == PARTITIONS_PER_REQUEST:
                rest.append(call)
            else:
                batch[place] = call
        self.waiting, self.in_flight = rest, batch
        return batch

    def answered(self, batch: _Batch) -> _Batch:
        """Return the calls of a request that was answered, which are no longer in flight."""
        if self.in_flight is batch:
            self.in_flight = None
        calls = dict(batch)
        batch.clear()
        return calls

    def take_moved(self, has_moved: HasMoved) -> list[StateCall]:
        """Remove and return the calls for which `has_moved` is true."""
        moved, rest = list[StateCall](), list[StateCall]()
        for call in self.waiting:
            (moved if has_moved(call) else rest).append(call)
        self.waiting = rest
        batch = self.in_flight or {}
        places = [place for place, call in batch.items() if has_moved(call)]
        moved = [batch.pop(place) for place in places] + moved
        if not batch:
            self.in_flight = None
        return moved


class _Broker:
    """A broker that coordinates share-partitions: its connection and its calls."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self.channel: Channel | None = None
        self.lanes: dict[tuple[ApiKey, str], _Lane] = {}

    @property
    def is_asked(self) -> bool:
        """Whether a call is in flight."""
        return any(lane.in_flight for lane in self.lanes.values())

    def lane(self, call: StateCall) -> _Lane:
        """Return the lane of a call, which is created if needed."""
        key = (call.api.key, call.key.group_id)
        lane = self.lanes.get(key)
        if lane is None:
            lane = self.lanes[key] = _Lane(call.api, call.key.group_id)
        return lane

    def take_moved(self, has_moved: HasMoved) -> list[StateCall]:
        """Remove and return the calls for which `has_moved` is true. Close the connection if no
        other call was in flight: the next requests would wait behind an answer that may never
        come."""
        was_asked = self.is_asked
        moved = [call for lane in self.lanes.values() for call in lane.take_moved(has_moved)]
        if was_asked and not self.is_asked:
            self.close()
        return moved

    def close(self) -> None:
        """Close the connection, if there is one. Requests in flight fail before this returns."""
        channel, self.channel = self.channel, None
        if channel is not None:
            channel.close()


class StateCalls:
    """The calls to other brokers. `network` is None if this is the only node."""

    def __init__(
        self,
        scheduler: Scheduler,
        network: Network | None,
        node_id: int,
        request_timeout_ms: int,
        ended: Ended,
        refused_by: Callable[[int, str], None],
    ) -> None:
        """Begin without calls and connections.

        `ended` gets the result of each call: the coordinator's, NETWORK_EXCEPTION or
        REQUEST_TIMED_OUT. `refused_by(node, request)` is called if a broker rejects a request
        because it does not recognize this node as a broker.
        """
        self._scheduler = scheduler
        self._network = network
        self._client_id = CLIENT_ID.format(node_id)
        self._request_timeout_ms = request_timeout_ms
        self._ended = ended
        self._refused_by = refused_by
        self._brokers: dict[int, _Broker] = {}
        self._stopped = False

    def add(self, coordinator: Coordinator, call: StateCall) -> None:
        """Add a call for a broker; the next `send` sends it. A new address of the broker closes the
        connection to the old one."""
        node_id = coordinator[0]
        broker = self._brokers.get(node_id)
        if broker is None:
            broker = self._brokers[node_id] = _Broker(coordinator)
        if broker.coordinator != coordinator:
            broker.coordinator = coordinator
            broker.close()
        broker.lane(call).waiting.append(call)

    def send(self) -> None:
        """Send the calls that wait, except behind a request in flight."""
        for broker in list(self._brokers.values()):
            self._send_all(broker)

    def take_moved(self, has_moved: HasMoved) -> list[StateCall]:
        """Remove and return the calls for which `has_moved` is true, also those in flight, whose
        answers are ignored."""
        brokers = list(self._brokers.values())
        return [call for broker in brokers for call in broker.take_moved(has_moved)]

    def shutdown(self) -> list[StateCall]:
        """Close the connections, and return the calls that have no answer."""
        self._stopped = True
        calls = self.take_moved(lambda _: True)
        for broker in self._brokers.values():
            broker.close()
        return calls

    def _send_all(self, broker: _Broker) -> None:
        """Send the waiting calls of a broker. Forget lanes without calls."""
        if self._stopped:
            return
        for key, lane in list(broker.lanes.items()):
            if lane.in_flight is not None:
                continue
            if lane.waiting:
                self._send(broker, lane)
            else:
                del broker.lanes[key]

    def _send(self, broker: _Broker, lane: _Lane) -> None:
        """Send the next calls of a lane."""
        batch = lane.next_batch()
        entries = {place: call.entry() for place, call in batch.items()}
        request = state_api.request_of(lane.api, lane.group_id, entries)
        answered = partial(self._answered, broker, lane, batch)
        if broker.channel is None and self._network is not None:
            broker.channel = self._network.channel(*broker.coordinator[1:], self._client_id)
        if broker.channel is None:
            self._scheduler.call_soon(partial(answered, None, ChannelFailure.REFUSED))
        else:
            broker.channel.send(request, answered, self._request_timeout_ms)

    def _answered(
        self,
        broker: _Broker,
        lane: _Lane,
        batch: _Batch,
        response: StateResponse | None,
        failure: ChannelFailure | None,
    ) -> None:
        """End the calls of a request, except those that were taken, and send the next request."""
        calls = lane.answered(batch)
        node_id, name = broker.coordinator[0], lane.api.key.name
        results: dict[TopicPartitionKey, tuple[ErrorCode, StateAnswer]] = {}
        if response is not None:
            for place, error, answer in state_api.answers_in(lane.api, response):
                results[place] = error, answer
        lacking = _lack_of_answer(node_id, failure)
        is_refused = False
        for place, call in calls.items():
            error, answer = results.get(place, lacking)
            is_refused = is_refused or error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            self._ended(call, error, answer)
        if is_refused:
            self._refused_by(node_id, name)
        self._send_all(broker)


def _lack_of_answer(node_id: int, failure: ChannelFailure | None) -> tuple[ErrorCode, StateAnswer]:
    """Return the error of a call without an answer, and its reason."""
    if failure is None:
        message = f"the answer of the share coordinator on broker {node_id} lacks the partition"
        return ErrorCode.UNKNOWN_SERVER_ERROR, StateAnswer(message=message)
    message = f"request to the share coordinator on broker {node_id}: {failure.value}"
    is_late = failure is ChannelFailure.TIMED_OUT
    error = ErrorCode.REQUEST_TIMED_OUT if is_late else ErrorCode.NETWORK_EXCEPTION
    return error, StateAnswer(message=message)
