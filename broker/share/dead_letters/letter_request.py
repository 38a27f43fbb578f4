"""A Produce request of dead letters for one leader, and how it is filled.

A request takes as many letters as fit: a batch for each partition, up to `max.message.bytes` of its
topic, and `REQUEST_BYTES` in all. A letter that has more records than fit is continued in another
request. Owns the letters of the request, and each with its last offset there. Never sends
(`letter_sender.py`). Follows Kafka's `ShareGroupDLQStateManager.coalesceProduceRequests`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from broker.share.dead_letters.destinations import Destination
from broker.share.dead_letters.letter import Letter
from broker.share.dead_letters.letter_batch import NO_CONTENT, Content, LetterBatch
from broker.share.dead_letters.source_reader import OFFSETS_AT_ONCE, SourceReader
from ground.sliced_work import Pace, Steps
from protocol.errors import ErrorCode
from protocol.messages.produce import PartitionProduceData, TopicProduceData
from protocol.record_batch import HEADER_SIZE

REQUEST_BYTES = 4 * 1024 * 1024
"""The size of a request from which no further letter is added."""
LETTERS_PER_REQUEST = 1_000
_PIECES_A_SLICE = 256
_PIECES_OF_LETTER = 10
"""The work to find the destination of a letter, in records that are written in the same time."""


class SendOutcome(NamedTuple):
    """The result of a letter's part in a request."""

    letter: Letter
    last: int
    """The last offset of the letter in this request."""
    error: ErrorCode
    """NONE if these records are written. NETWORK_EXCEPTION and REQUEST_TIMED_OUT also if there was
    no answer."""
    message: str


class LetterRules(NamedTuple):
    """The decisions about letters that a sender leaves to their owner, and its reports."""

    destination_of: Callable[[Letter], Destination | None]
    """Returns where a letter goes now. None: it must not be sent now, and has been taken care
    of."""
    reroute: Callable[[Letter], None]
    """Takes a letter that another broker must get."""
    copies_records: Callable[[Letter], bool]
    drop: Callable[[Letter], None]
    """Takes a letter whose original records another broker leads."""
    report: Callable[[list[SendOutcome]], None]


class PartitionBatch:
    """The batch of a request for one partition."""

    def __init__(self, destination: Destination) -> None:
        self.destination = destination
        self.batch = LetterBatch(destination.max_bytes)
        self.letters: list[tuple[Letter, int]] = []
        """Letters, each with its last offset in this batch."""
        self.is_full = False

    def close(self) -> None:
        """Add no further letter."""
        self.is_full = True


class LetterRequest:
    """A request that is being filled or is in flight."""

    def __init__(self) -> None:
        self.letters: dict[Letter, None] = {}
        """The letters that are in the request, or being added."""
        self.later: list[Letter] = []
        """Letters for which there is no room."""
        self.batches: dict[tuple[bytes, int], PartitionBatch] = {}

    @property
    def is_full(self) -> bool:
        """Whether no further letter is taken out of the queue."""
        size = sum(batch.batch.size for batch in self.batches.values())
        return size >= REQUEST_BYTES or len(self.letters) + len(self.later) >= LETTERS_PER_REQUEST

    def take(self, letter: Letter) -> None:
        """Begin to add a letter."""
        self.letters[letter] = None

    def leave(self, letter: Letter) -> None:
        """Leave a letter out, because something else happens with it."""
        del self.letters[letter]

    def postpone(self, letter: Letter) -> None:
        """Leave a letter to the next request."""
        del self.letters[letter]
        self.later.append(letter)

    def batch_for(self, destination: Destination) -> PartitionBatch:
        """Return the batch for a partition, created if it is new."""
        place = destination.topic_id, destination.partition
        if place not in self.batches:
            self.batches[place] = PartitionBatch(destination)
        return self.batches[place]

    def data(self, now_ms: int) -> list[TopicProduceData]:
        """Return the finished batches by topic, with `now_ms` as their timestamp; empty if the
        request has no letters."""
        topics: dict[bytes, TopicProduceData] = {}
        for batch in self.batches.values():
            if batch.letters:
                to = batch.destination
                topic = topics.setdefault(to.topic_id, TopicProduceData(to.topic, to.topic_id, []))
                finished = PartitionProduceData(to.partition, batch.batch.finish(now_ms))
                topic.partition_data.append(finished)
        return list(topics.values())

    def outcomes(
        self, error_of: Callable[[PartitionBatch], tuple[ErrorCode, str]]
    ) -> list[SendOutcome]:
        """Return the outcome of each letter, with the error of its batch."""
        return [
            SendOutcome(letter, last, *error)
            for batch in self.batches.values()
            for error in (error_of(batch),)
            for letter, last in batch.letters
        ]


class RequestFiller:
    """The work that fills a request with the letters of a leader's queue."""

    def __init__(
        self, request: LetterRequest, leader_id: int, rules: LetterRules, reader: SourceReader
    ) -> None:
        self._request = request
        self._leader_id = leader_id
        self._rules = rules
        self._reader = reader
        self._pace = Pace(_PIECES_A_SLICE)

    def fill(self, waiting: deque[Letter]) -> Steps[None]:
        """Take letters out of the queue into the request. Those for which there is no room are in
        `later` of the request."""
        request = self._request
        while waiting and not request.is_full:
            if self._pace.is_full(_PIECES_OF_LETTER):
                yield None
                continue  # the queue may be empty now
            letter = waiting.popleft()
            request.take(letter)
            destination = self._rules.destination_of(letter)
            if destination is None:
                request.leave(letter)
            elif destination.leader_id != self._leader_id:
                request.leave(letter)
                self._rules.reroute(letter)
            else:
                batch = request.batch_for(destination)
                yield from self._add(batch, letter)
        yield from self._reader.close()

    def _add(self, batch: PartitionBatch, letter: Letter) -> Steps[None]:
        """Add a letter, or its first offsets, to a batch. If it has no room, postpone the
        letter."""
        if batch.is_full:
            self._request.postpone(letter)
            return
        first, last = letter.next, min(letter.last, letter.next + OFFSETS_AT_ONCE - 1)
        contents: dict[int, Content] = {}
        if self._rules.copies_records(letter):
            largest = batch.destination.max_bytes - HEADER_SIZE
            source = yield from self._reader.read(
                letter.key, first, last, batch.batch.room, largest
            )
            if source is None:
                self._request.leave(letter)
                self._rules.drop(letter)
                return
            if source.last < last:
                batch.close()
            contents, last = source
        for offset in range(first, last + 1):
            if self._pace.is_full():
                yield None
            content = contents.get(offset, NO_CONTENT)
            if not batch.batch.add(content, letter.headers.at(offset)):
                batch.close()
                last = offset - 1
                break
        if last < first:
            self._request.postpone(letter)
        else:
            batch.letters.append((letter, last))
