"""The writer of dead letters: from a record that is given up to its copy in the dead-letter topic.

    bury ──► topic is created ──► queued for the leader ──► written ──► done
               └──── after a back-off, as often as needed ──────┘
                                  └─ or given up: logged ──► done

A letter is done when all in-sync replicas of its partition have it. As in Kafka, the records are
archived without a dead letter if the configuration does not allow it, the topic cannot be created,
or the leader rejects the letter for good. The reason is logged. An error that may pass costs no
dead letter: the records stay in the window of their share-partition, which may become full.
Letters are written at least once: an attempt without an answer may have succeeded.

Owns all letters in progress, their attempts and timers. Their number is bounded by the windows of
the share-partitions. If this broker stops, or no longer leads the original partition of a letter
that copies records, the letter is forgotten: the next leader loads the records as archiving, and
buries them. Follows Kafka's `ShareGroupDLQStateManager` (KIP-1191), except that Kafka retries only
NOT_LEADER_OR_FOLLOWER and lost connections, and gives up after five attempts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from broker.share.dead_letters.destinations import (
    Destination,
    Destinations,
    MissingLeader,
    MissingTopic,
    Unusable,
)
from broker.share.dead_letters.letter import NOT_TRIED, Letter
from broker.share.dead_letters.letter_batch import DELIVERED_TOO_OFTEN, REJECTED, letter_headers
from broker.share.dead_letters.letter_counts import FailureLog, LetterCounts
from broker.share.dead_letters.letter_request import LetterRules, SendOutcome
from broker.share.dead_letters.letter_sender import LetterSender, SenderPorts
from broker.share.dead_letters.settings import settings_of
from broker.share.delivery.share_partition import DeadLetter
from broker.share.state.share_log import SharePartitionKey
from controller.metadata.image import MetadataImage
from ground.ports import Timer
from ground.sliced_work import Pace, Steps
from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.primitives import uuid_to_string

LOGGED_ATTEMPTS = 5
"""The failed attempts without a success between them after which it is logged that letters wait."""
BACKOFF_MS = 1_000
"""Half of the time before the second attempt; it doubles with each attempt."""
BACKOFF_MAX_MS = 30_000
_BROKERS_DEFAULT = -1

RETRIABLE = frozenset(
    {
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""The errors of a Produce that may pass."""

CreateTopics = Callable[[CreateTopicsRequest, Callable[[CreateTopicsResponse | None], None]], None]
"""Sends CreateTopics to the controller with the rights of this node. The response is None if no
answer came in time."""
_CREATION_MAY_PASS = frozenset(
    {
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    }
)
"""The errors of a CreateTopics that may pass: there may be too few live brokers now."""
Place = Destination | Unusable | MissingTopic | MissingLeader


class WriterPorts(NamedTuple):
    """The surroundings of a writer."""

    image: Callable[[], MetadataImage]
    destinations: Destinations
    create_topics: CreateTopics
    sender: SenderPorts


class _Retry:
    """Letters that wait for the same timer."""

    __slots__ = ("letters", "timer")

    def __init__(self, letters: list[Letter]) -> None:
        self.letters = letters
        self.timer: Timer | None = None

    def start(self, timer: Timer) -> None:
        self.timer = timer

    def keep(self, letters: list[Letter]) -> None:
        """Keep only these letters; without any, cancel the timer."""
        self.letters = letters
        if not letters and self.timer is not None:
            self.timer.cancel()


class DeadLetterWriter:
    """The dead letters of a broker. `bury` is the port of `SharePartitions`."""

    def __init__(self, ports: WriterPorts) -> None:
        """Start without letters."""
        self._ports = ports
        self._scheduler = ports.sender.scheduler
        self._sender = LetterSender(
            ports.sender,
            LetterRules(
                self._destination_of, self._route, self._copies_records, self._drop, self._report
            ),
        )
        self._failures = FailureLog(self._scheduler.monotonic_ms)
        self.counts = LetterCounts()
        self._letters: dict[tuple[SharePartitionKey, int, int], Letter] = {}
        self._new: deque[Letter] = deque()
        self._routes = False
        self._creating: dict[str, list[Letter]] = {}
        self._retries: dict[_Retry, None] = {}
        self._stopped = False

    @property
    def pending_count(self) -> int:
        """The number of letters in progress."""
        return len(self._letters)

    def bury(self, key: SharePartitionKey, letter: DeadLetter, done: Callable[[], None]) -> None:
        """Write records of a share-partition to the dead-letter topic of its group.

        `done` is called later, once, when they are written or are to be archived without a dead
        letter. It is not called after `shutdown`, or if another broker takes over the letter.
        """
        if self._stopped:
            return
        in_progress = self._letters.get((key, letter.first, letter.last))
        if in_progress is None:
            message = REJECTED if letter.is_rejected else DELIVERED_TOO_OFTEN
            topic = self._topic_name(key.topic_id)
            headers = letter_headers(topic, key.partition, key.group_id, letter.deliveries, message)
            in_progress = Letter(key, letter.first, letter.last, topic, headers)
            self._letters[in_progress.id] = in_progress
            self._route_later((in_progress,))
        in_progress.done.append(done)

    def metadata_changed(self) -> None:
        """Try letters again at once that waited for a topic, or for another leader."""
        places: dict[tuple[str, int], Place] = {}
        for retry in list(self._retries):
            ready: list[Letter] = []
            rest: list[Letter] = []
            for letter in retry.letters:
                source = letter.key.group_id, letter.key.partition
                if source not in places:
                    places[source] = self._place(letter)
                place = places[source]
                is_ready = isinstance(place, Destination) and place.leader_id != letter.tried
                (ready if is_ready else rest).append(letter)
            if ready:
                retry.keep(rest)
                if not rest:
                    del self._retries[retry]
                self._route_later(ready)

    def shutdown(self) -> None:
        """Forget all letters, whose records stay archiving, and close the connections."""
        self._stopped = True
        for retry in self._retries:
            retry.keep([])
        self._retries.clear()
        self._new.clear()
        self._creating.clear()
        self._letters.clear()
        self._sender.stop()

    def _topic_name(self, topic_id: bytes) -> str:
        """Return the name of a topic, or its id as text if the topic is deleted."""
        topic = self._ports.image().topics.get_by_id(topic_id)
        return uuid_to_string(topic_id) if topic is None else topic.name

    # -- routes --------------------------------------------------------------------------------

    def _route_later(self, letters: Iterable[Letter]) -> None:
        """Route letters in slices of the next turns."""
        self._new.extend(letters)
        if self._new and not self._routes:
            self._routes = True
            self._ports.sender.sliced.run(self._route_all(), self._routed)

    def _route_all(self) -> Steps[None]:
        """Route the new letters."""
        pace = Pace(20)
        while self._new:
            if pace.is_full():
                yield None
            if self._new:
                self._route(self._new.popleft())

    def _routed(self, _nothing: None, error: Exception | None) -> None:
        """Route the letters that are left after an error, which is raised."""
        self._routes = False
        self._route_later(())
        if error is not None:
            raise error

    def _route(self, letter: Letter) -> None:
        """Take the next step for a letter."""
        destination = self._destination_of(letter)
        if destination is not None:
            self._sender.send(destination.leader_id, letter)

    def _destination_of(self, letter: Letter) -> Destination | None:
        """Return where a letter goes. None: it cannot be written now, and something else was begun
        or the letter was given up."""
        place = self._place(letter)
        match place:
            case Destination():
                return place
            case MissingTopic(topic):
                self._create(topic, letter)
            case MissingLeader(topic, index):
                letter.try_at(NOT_TRIED)
                self._retry([letter], f"{topic}-{index} has no leader that can be reached")
            case Unusable(reason):
                self._give_up(letter, reason)
        return None

    def _place(self, letter: Letter) -> Place:
        key = letter.key
        settings = settings_of(self._ports.image(), key.group_id)
        return self._ports.destinations.of(key.group_id, settings, key.partition)

    def _copies_records(self, letter: Letter) -> bool:
        return settings_of(self._ports.image(), letter.key.group_id).copies_records

    # -- the topic -----------------------------------------------------------------------------

    def _create(self, topic: str, letter: Letter) -> None:
        """Create a dead-letter topic for letters, with one request at a time."""
        if topic in self._creating:
            self._creating[topic].append(letter)
            return
        self._creating[topic] = [letter]
        configs = [
            CreatableTopicConfig("errors.deadletterqueue.group.enable", "true"),
            # A letter's timestamp is the time at which it is written.
            CreatableTopicConfig("message.timestamp.type", "CreateTime"),
        ]
        new = CreatableTopic(topic, _BROKERS_DEFAULT, _BROKERS_DEFAULT, configs=configs)
        request = CreateTopicsRequest([new], self._ports.sender.request_timeout_ms)
        self._ports.create_topics(request, partial(self._created, topic))

    def _created(self, topic: str, response: CreateTopicsResponse | None) -> None:
        """Route the letters that waited for a topic, or try again, or give them up."""
        letters = self._creating.pop(topic, [])
        if self._stopped:
            return
        if response is None:
            self._retry(letters, f"the creation of topic {topic} was not answered in time")
            return
        result = next(iter(response.topics), None)
        error = ErrorCode.UNKNOWN_SERVER_ERROR if result is None else ErrorCode(result.error_code)
        if error in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            if self._ports.image().topics.get(topic) is None:
                self._retry(letters, f"topic {topic} is not in the metadata of this broker yet")
            else:
                self._route_later(letters)
            return
        message = (result and result.error_message) or ""
        if error in _CREATION_MAY_PASS:
            self._retry(letters, f"topic {topic} cannot be created: {error.name}", message)
        else:
            for letter in letters:
                self._give_up(letter, f"topic {topic} cannot be created: {error.name}", message)

    # -- results -------------------------------------------------------------------------------

    def _report(self, outcomes: list[SendOutcome]) -> None:
        """Take the outcomes of a request: letters are done, continued, tried again or given up."""
        failed: dict[tuple[str, str], list[Letter]] = {}
        for letter, last, error, message in outcomes:
            counts = self.counts.of(letter.key.group_id)
            counts.sent()
            if error is ErrorCode.NONE:
                counts.written(last - letter.next + 1)
                letter.written(last)
                if letter.is_written:
                    self._end(letter)
                else:
                    self._route_later((letter,))
                continue
            if error in RETRIABLE:
                failed.setdefault((error.name, message), []).append(letter)
            else:
                counts.produce_failed()
                self._give_up(letter, error.name, message)
        for reason, letters in failed.items():
            self._retry(letters, *reason)

    def _retry(self, letters: list[Letter], reason: str, detail: str = "") -> None:
        """Try letters again after a back-off; log it if that has not helped for long."""
        by_attempts: dict[int, list[Letter]] = {}
        for letter in letters:
            by_attempts.setdefault(letter.failed(), []).append(letter)
        for attempts, group in by_attempts.items():
            retry = _Retry(group)
            self._retries[retry] = None
            delay_ms = min(BACKOFF_MS * 2 ** min(attempts, LOGGED_ATTEMPTS), BACKOFF_MAX_MS)
            retry.start(self._scheduler.call_later(delay_ms, partial(self._try_again, retry)))
            for letter in group if attempts >= LOGGED_ATTEMPTS else ():
                self._failures.waits(letter.key.group_id, _records_of(letter), reason, detail)

    def _try_again(self, retry: _Retry) -> None:
        """Route letters after their back-off."""
        del self._retries[retry]
        self._route_later(retry.letters)

    def _give_up(self, letter: Letter, reason: str, detail: str = "") -> None:
        """Log why a letter is not written, and let its records be archived."""
        self._failures.failed(letter.key.group_id, _records_of(letter), reason, detail)
        self._end(letter)

    def _end(self, letter: Letter) -> None:
        """Call the letter's callbacks, and forget it."""
        del self._letters[letter.id]
        for done in letter.done:
            done()

    def _drop(self, letter: Letter) -> None:
        """Forget a letter whose original records this broker no longer leads."""
        del self._letters[letter.id]


def _records_of(letter: Letter) -> str:
    """Return the original records that have no dead letter yet, for a line of the log."""
    return f"offsets {letter.next}-{letter.last} of {letter.topic}-{letter.key.partition}"
