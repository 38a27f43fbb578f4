"""A member's share session with one broker: ShareFetch and ShareAcknowledge as clients send them.

It has the records that the member was given there and has not acknowledged, and the epoch of the
session. Which records are acknowledged how, and when, the member says.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages import share_acknowledge, share_fetch
from simulation.network.sim_network import Exchange, SimConnection
from tests.simulation.fetched_batches import records_of

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
Place = tuple[bytes, int]
"""Topic id and partition."""
Acks = dict[Place, dict[int, int]]
"""The type of acknowledgement by place and offset."""
MIB = 1 << 20
OPEN_EPOCH, CLOSE_EPOCH = 0, -1
TIMEOUT_MS = 4_000.0
GONE = (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH)


class MemberSession:
    """The share session of a member with a broker."""

    def __init__(self, group: str, member_id: str, version: int, chance: random.Random) -> None:
        self.group = group
        self.member_id = member_id
        self.version = version
        self.chance = chance
        self.epoch = OPEN_EPOCH
        self.held: dict[Place, dict[int, bool]] = {}
        """By offset, whether there is a record at it."""
        self.slow: dict[tuple[Place, int], None] = {}
        """Records with which the member takes its time, often longer than it has them."""
        self.decided: Acks = {}
        """Acknowledgements that were not sent yet."""
        self.errors: dict[ErrorCode, None] = {}
        """Those of the last answer's partitions."""
        self._partitions: list[Place] = []
        self._connection: SimConnection | None = None
        self._sent: Acks = {}

    # --- requests ------------------------------------------------------------------------------

    def fetch(self, connection: SimConnection, wanted: list[Place], *, calm: bool) -> Exchange:
        """Fetch from partitions, with the acknowledgements that were decided. A calm member takes
        many records at a time, so that the group finishes all of them soon."""
        self._use(connection)
        new = [place for place in wanted if place not in self._partitions]
        forgotten = [place for place in self._partitions if place not in wanted]
        for types in self.decided.values():  # who renews, fetches nothing
            for offset in [one for one, kind in types.items() if kind == RENEW]:
                del types[offset]
        acks = self._take_decided(wanted) if self.epoch > OPEN_EPOCH else {}
        self._partitions = list(wanted)
        request = share_fetch.ShareFetchRequest(
            *(self.group, self.member_id, self.epoch),
            max_wait_ms=self.chance.choice([0, 100, 500]),
            min_bytes=self.chance.choice([0, 1, 1, 200]),
            max_bytes=MIB if calm else self.chance.choice([300, MIB]),
            max_records=500 if calm else self.chance.choice([1, 3, 20, 500]),
            batch_size=self.chance.choice([1, 5, 500]),
            topics=[
                share_fetch.FetchTopic(
                    topic_id,
                    [
                        share_fetch.FetchPartition(
                            index,
                            acknowledgement_batches=[
                                share_fetch.AcknowledgementBatch(*batch)
                                for batch in self._batches(acks.get((topic_id, index), {}))
                            ],
                        )
                        for index in indexes
                    ],
                )
                for topic_id, indexes in by_topic([*new, *acks]).items()
            ],
            forgotten_topics_data=[
                share_fetch.ForgottenTopic(topic_id, indexes)
                for topic_id, indexes in by_topic(forgotten).items()
            ],
        )
        if self.version >= 2:
            request.share_acquire_mode = self.chance.choice([0, 0, 1])
        return connection.send(request, self.version, TIMEOUT_MS)

    def acknowledge(self, connection: SimConnection) -> Exchange | None:
        """Acknowledge what was decided; None where there is nothing, or no session."""
        if connection is not self._connection or self.epoch == OPEN_EPOCH or not self.decided:
            return None
        return connection.send(self._acknowledgement(self.epoch), self.version, TIMEOUT_MS)

    def close(self, connection: SimConnection) -> Exchange | None:
        """Close the session, with the acknowledgements that were decided."""
        if connection is not self._connection or self.epoch == OPEN_EPOCH:
            return None
        return connection.send(self._acknowledgement(CLOSE_EPOCH), self.version, TIMEOUT_MS)

    def _acknowledgement(self, epoch: int) -> share_acknowledge.ShareAcknowledgeRequest:
        acks = self._take_decided(list(self.decided))
        request = share_acknowledge.ShareAcknowledgeRequest(
            *(self.group, self.member_id, epoch),
            topics=[
                share_acknowledge.AcknowledgeTopic(
                    topic_id,
                    [
                        share_acknowledge.AcknowledgePartition(
                            index,
                            [
                                share_acknowledge.AcknowledgementBatch(*batch)
                                for batch in self._batches(acks[topic_id, index])
                            ],
                        )
                        for index in indexes
                    ],
                )
                for topic_id, indexes in by_topic(acks).items()
            ],
        )
        request.is_renew_ack = any(RENEW in types.values() for types in acks.values())
        return request

    def _use(self, connection: SimConnection) -> None:
        """Begin a new session if the connection is another one, and now and then on the same."""
        if connection is not self._connection or self.chance.random() < 0.01:
            self.epoch, self._partitions = OPEN_EPOCH, []
        self._connection = connection

    def _take_decided(self, places: Iterable[Place]) -> Acks:
        """Remove the decided acknowledgements of some places, and return them."""
        self._sent = {one: self.decided.pop(one) for one in places if one in self.decided}
        return self._sent

    def _batches(self, types: Mapping[int, int]) -> list[tuple[int, int, list[int]]]:
        """Return acknowledgements as batches: for each a type, or one for each offset; in parts."""
        batches: list[tuple[int, int, list[int]]] = []
        for offset in sorted(types):
            kind = types[offset]
            first, last, kinds = batches[-1] if batches else (-1, -2, [])
            if last + 1 == offset and self.chance.random() < 0.9:
                batches[-1] = (first, offset, [*kinds, kind])
            else:
                batches.append((offset, offset, [kind]))
        return [
            (first, last, kinds[:1] if len(set(kinds)) == 1 else kinds)
            for first, last, kinds in batches
        ]

    # --- answers -------------------------------------------------------------------------------

    def take(self, exchange: Exchange) -> ErrorCode | None:
        """Take an answer; return the error of the whole, None where there is no answer."""
        self.errors, sent, self._sent = {}, self._sent, {}
        if not exchange.ok:
            self._connection = None
            self._settle(sent, dict.fromkeys(sent, ErrorCode.NETWORK_EXCEPTION))
            return None
        error = ErrorCode(exchange.response.error_code)
        if error:
            if error in GONE:
                self.epoch, self._partitions = OPEN_EPOCH, []
            self._settle(sent, dict.fromkeys(sent, error))
            return error
        self.epoch = CLOSE_EPOCH if self._closes(exchange) else self.epoch + 1
        faults: dict[Place, ErrorCode] = {}
        for topic in exchange.response.responses:
            for told in topic.partitions:
                place = (topic.topic_id, told.partition_index)
                error = ErrorCode(getattr(told, "acknowledge_error_code", told.error_code))
                if error:
                    faults[place] = error
                for one in (error, ErrorCode(told.error_code)):
                    if one:
                        self.errors[one] = None
        self._settle(sent, faults)
        for place, first, last, _, there in acquired(exchange):
            held = self.held.setdefault(place, {})
            held.update({offset: offset in there for offset in range(first, last + 1)})
        return ErrorCode.NONE

    def _closes(self, exchange: Exchange) -> bool:
        return bool(exchange.request.share_session_epoch == CLOSE_EPOCH)

    def _settle(self, sent: Acks, faults: Mapping[Place, ErrorCode]) -> None:
        """Drop the records that the member has acknowledged, or cannot have any more. It may try
        again those of which the outcome is unknown."""
        for place, types in sent.items():
            held = self.held.get(place, {})
            error = faults.get(place)
            if error in AGAIN and self.chance.random() < 0.5:
                continue
            for offset, kind in types.items():
                if kind != RENEW or error:
                    held.pop(offset, None)


AGAIN = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
)


def by_topic(places: Iterable[Place]) -> dict[bytes, list[int]]:
    """Return the partitions of each topic id, each once."""
    found: dict[bytes, list[int]] = {}
    for topic_id, index in dict.fromkeys(places):
        found.setdefault(topic_id, []).append(index)
    return found


def acquired(exchange: Exchange) -> list[tuple[Place, int, int, int, list[int]]]:
    """Return what a ShareFetch was given: place, first and last offset, delivery count, and the
    offsets at which there are records."""
    if not isinstance(exchange.request, share_fetch.ShareFetchRequest):
        return []
    if exchange.parsed is None:
        exchange.parsed = []
        for topic in exchange.response.responses:
            for told in topic.partitions:
                if not told.acquired_records:
                    continue
                there = [offset for offset, _ in records_of(told.records)]
                place = (topic.topic_id, told.partition_index)
                exchange.parsed += [
                    (place, one.first_offset, one.last_offset, one.delivery_count, there)
                    for one in told.acquired_records
                ]
    found: list[tuple[Place, int, int, int, list[int]]] = exchange.parsed
    return found


def acknowledged(request: Any) -> list[tuple[Place, int, int]]:
    """Return what a request acknowledges: place, offset and type, in its order."""
    return [
        ((topic.topic_id, part.partition_index), offset, types[n if len(types) > 1 else 0])
        for topic in request.topics
        for part in topic.partitions
        for batch in part.acknowledgement_batches
        for types in (batch.acknowledge_types,)
        for n, offset in enumerate(range(batch.first_offset, batch.last_offset + 1))
    ]


def verdicts(exchange: Exchange) -> dict[Place, ErrorCode]:
    """Return the error of each partition's acknowledgements; {} where all were refused."""
    if exchange.response.error_code:
        return {}
    return {
        (topic.topic_id, told.partition_index): ErrorCode(
            getattr(told, "acknowledge_error_code", told.error_code)
        )
        for topic in exchange.response.responses
        for told in topic.partitions
    }
