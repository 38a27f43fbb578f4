"""Assertions about the records of a share group: their deliveries, and dead letters.

Each waits as those of `ottla.testing.assertions` do. The brokers keep the deliveries of a record
until all records before it are finished, too; then the record is only known to be finished. No
request reports the records that members have locked now. Follows KIP-932 and KIP-1191.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ottla.testing.assertions import (
    ANY,
    POLL_S,
    expectation,
    group_text,
    matcher,
    some_lines,
)
from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from ottla.testing.records import Content, Record
from ottla.testing.topic import CALL_MARGIN_S, Call, NotAsExpected, Topic, counted

FINISHED, AVAILABLE = "finished", "available"
STATES = (FINISHED, AVAILABLE, "acknowledged", "archived")
"""The states that a test may expect. FINISHED includes the two after AVAILABLE."""
_NOT_FINISHED = (AVAILABLE, "acquired", "archiving")
_LETTER_GROUP = "__dlq.errors.group"
_LETTER_PLACE = ("__dlq.errors.topic", "__dlq.errors.partition", "__dlq.errors.offset")
_READ_S = 30.0


@dataclass(frozen=True, slots=True)
class Expected:
    """The records of a topic that an assertion is about, and how many there must be."""

    key: Content = ANY
    value: Content = ANY
    headers: Mapping[str, bytes | str | None] | None = None
    partition: int | None = None
    count: int | None = None
    """None: at least one."""

    def is_met(self, count: int) -> bool:
        """Return whether `count` records are as many as expected."""
        return count > 0 if self.count is None else count == self.count

    def text(self, topic: Topic, state: str) -> str:
        """Return the expectation as words: that these records are in a state."""
        words = "a record" if self.count is None else counted(self.count)
        which = expectation(self.key, self.value, self.headers, self.partition)
        return f"{words} of {topic.label} with {which} {state}"


class _Matching:
    """The records of a topic that match, read on at each `read`."""

    def __init__(self, topic: Topic, expected: Expected) -> None:
        self.records: list[Record] = []
        self.exists = False
        self._topic = topic
        self._matches = matcher(expected.key, expected.value, expected.headers, expected.partition)
        self._positions: dict[str, int] = {}

    def read(self) -> None:
        """Read the records that were written since the last call."""
        records, self.exists = self._topic.read_on(self._positions, _READ_S, None)
        self.records += [record for record in records if self._matches(record)]


def delivered(
    call: Call,
    group: str,
    topic: Topic,
    expected: Expected,
    *,
    state: str,
    deliveries: int | None,
    timeout: float,
) -> list[Record]:
    """Wait until records of a topic are in a state of a share group, after this number of ended
    deliveries (None: any), and return them.

    Raises NotAsExpected after `timeout` seconds; Misuse if there is no such state, or the group is
    of another type.
    """
    __tracebackhide__ = True
    if state not in STATES:
        raise Misuse(f"no record is ever {state}: the states are {', '.join(STATES)}")
    matching = _Matching(topic, expected)
    deadline = time.monotonic() + timeout
    while True:
        matching.read()
        answer = call(
            "group.deliveries",
            {"group": group, "topics": [topic.name]},
            timeout_s=timeout + CALL_MARGIN_S,
        )
        states = [(record, _state(record, answer["partitions"])) for record in matching.records]
        right = [record for record, now in states if _fits(now, state, deliveries)]
        if expected.is_met(len(right)):
            return right
        if time.monotonic() >= deadline:
            after = "" if deliveries is None else f" after {_deliveries(deliveries)}"
            wanted = expected.text(topic, state + after)
            raise NotAsExpected(
                f"group {group}: {wanted} expected within {timeout:g} s, {len(right)} found: "
                + group_text(call, answer)
                + _records(topic, matching, [f"{record}: {_words(now)}" for record, now in states])
            )
        time.sleep(POLL_S)


def dead_letters(
    call: Call, group: str, topic: Topic, expected: Expected, *, timeout: float
) -> list[Record]:
    """Wait until records of a topic are dead letters of a share group, and return the letters.

    The topic of the letters is that of the group's config. Raises NotAsExpected after `timeout`
    seconds.
    """
    __tracebackhide__ = True
    matching = _Matching(topic, expected)
    positions: dict[str, int] = {}
    letters: dict[tuple[bytes | None, ...], Record] = {}
    letter_topic: Topic | None = None
    deadline = time.monotonic() + timeout
    while True:
        matching.read()
        queue = call("group.dead_letters", {"group": group})
        if letter_topic is None or letter_topic.name != queue["topic"]:
            letter_topic, positions = Topic(call, queue["topic"]), {}
        exists, records = False, list[Record]()
        if letter_topic.name:
            records, exists = letter_topic.read_on(positions, _READ_S, None)
        for record in records:
            if record.header(_LETTER_GROUP) == group.encode():
                letters.setdefault(tuple(map(record.header, _LETTER_PLACE)), record)
        right = [letters[at] for at in map(_place, matching.records) if at in letters]
        if expected.is_met(len(right)):
            return right
        if time.monotonic() >= deadline:
            wanted = expected.text(topic, "among the dead letters")
            letters_text = f"topic {letter_topic} has {_letters(len(letters))} of the group"
            raise NotAsExpected(
                f"group {group}: {wanted} expected within {timeout:g} s, {len(right)} found: "
                + (queue["problem"] or (letters_text if exists else letter_topic.absent()))
                + _records(topic, matching, list(map(str, matching.records)))
            )
        time.sleep(POLL_S)


# --- states --------------------------------------------------------------------------------------

State = tuple[str, int | None]
"""The state of a record, and the number of its ended deliveries: None if it is not known, or no
delivery has ended."""


def _state(record: Record, partitions: Sequence[Mapping[str, Json]]) -> State:
    """Return the state of a record in the answer of `group.deliveries`."""
    for partition in partitions:
        if (partition["topic"], partition["partition"]) != (record.topic, record.partition):
            continue
        for first, last, state, deliveries in partition["ranges"]:
            if first <= record.offset <= last:
                return state, deliveries
        # Written after the group has begun, and not among the records that are stored.
        start, end = partition["start"], partition["end"]
        if start is not None and end is not None and record.offset < end:
            return FINISHED, None
    return AVAILABLE, None


def _fits(now: State, state: str, deliveries: int | None) -> bool:
    """Return whether a record's state and deliveries are as expected."""
    is_right = now[0] not in _NOT_FINISHED if state == FINISHED else now[0] == state
    count = None if now[0] == FINISHED else now[1] or 0
    return is_right and deliveries in (None, count)


def _words(now: State) -> str:
    """Return a record's state and deliveries as words."""
    state, deliveries = now
    if state == FINISHED:
        return "finished, as all records before it, so its deliveries are not kept"
    return f"{state}, {_deliveries(deliveries or 0)}" + (
        " ended; a member may have it locked" if state == AVAILABLE else ""
    )


def _letters(count: int) -> str:
    """Return the number of letters with the noun: "1 dead letter", "2 dead letters"."""
    return "1 dead letter" if count == 1 else f"{count} dead letters"


def _deliveries(count: int) -> str:
    """Return the number of deliveries with the noun: "1 delivery", "2 deliveries"."""
    return "1 delivery" if count == 1 else f"{count} deliveries"


# --- records -------------------------------------------------------------------------------------


def _place(record: Record) -> tuple[bytes | None, ...]:
    """Return topic, partition and offset of a record as the headers of its letter have them."""
    return tuple(str(part).encode() for part in (record.topic, record.partition, record.offset))


def _records(topic: Topic, matching: _Matching, lines: Sequence[str]) -> str:
    """Return a line for each matching record; if there is none, that, or that the topic is
    missing."""
    if not matching.exists:
        return f"\n  {topic.absent()}"
    return some_lines(lines) or f"\n  no such record is in {topic.label}"
