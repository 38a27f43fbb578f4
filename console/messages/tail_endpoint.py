"""The endpoint of the live view: the records that are written to a topic from now on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from client.cluster import ClusterClient
from console.endpoints import Ask, Console, stream
from console.messages.asking import chosen, cursor_of, ends_of, level_of, matcher_asked
from console.messages.decoding.decoding import Decoding
from console.messages.record_matching import RecordMatcher
from console.messages.tailing import (
    LOOK_EVERY_S,
    OFFSETS_A_LOOK,
    RECORDS_A_LOOK,
    Tail,
    TailEvent,
    follow,
)
from console.messages.windows import Show, read_windows

LEADERS_EVERY_S = 2.0
_HEARTBEAT_EVERY_S = 1.0


def _tail(console: Console, ask: Ask) -> Iterator[TailEvent | None]:
    """Return the records that are written from now on; None while there are none.

    A lost broker or leader does not end the tail: an event says that it waits. With `cursor`, the
    tail goes on from there instead of the ends. Raises BadAsk.
    """
    decoder = console.state(Decoding).decoder_of(ask.text("topic"))
    matcher = matcher_asked(ask, decoder)
    offsets_max = RECORDS_A_LOOK if matcher is None else OFFSETS_A_LOOK
    tail = Tail(offsets_max, cursor=cursor_of(ask))
    return follow(partial(_looks, console, ask, tail, matcher), time.sleep)


def _looks(
    console: Console, ask: Ask, tail: Tail, matcher: RecordMatcher | None
) -> Iterator[TailEvent | None]:
    """Yield what the looks of a tail give over the console's connections to the present leaders."""
    topic, level = ask.text("topic"), level_of(ask)
    with console.cluster() as cluster:
        ends = _Ends(cluster, ask)
        show: Show = partial(console.state(Decoding).shown, topic)
        wanted = None
        if matcher is not None:
            show, wanted = matcher.marked(show), matcher.finds
        read = partial(read_windows, cluster, topic, level=level, show=show, wanted=wanted)
        tail.begin(ends, ends.partitions)
        yield tail.first_look(ends, read)  # the tail has a leader
        said_at, cursor = time.monotonic(), tail.cursor
        while True:
            time.sleep(LOOK_EVERY_S)
            event = tail.look(ends, read)
            now = time.monotonic()
            if event is None and now - said_at < _HEARTBEAT_EVERY_S:
                continue
            if event is None and tail.cursor != cursor:  # it has passed records that do not match
                event = TailEvent([], 0, cursor=tail.cursor)
            said_at, cursor = now, tail.cursor
            yield event


class _Ends:
    """The end offsets of the partitions of a request: those that have a leader.

    While one has none, the leaders are looked up again each LEADERS_EVERY_S.
    """

    def __init__(self, cluster: ClusterClient, ask: Ask) -> None:
        """Look up the leaders. Raises BadAsk, Refused, StartError."""
        self._cluster = cluster
        self._ask = ask
        self._topics = cluster.topics([ask.text("topic")])
        self._looked_up_at = time.monotonic()
        self.partitions = chosen(ask, self._topics)

    def __call__(self) -> dict[int, int]:
        """Return the end offset of each partition with a leader. Raises Leaderless if none has
        one, and Refused, StartError."""
        if time.monotonic() - self._looked_up_at >= LEADERS_EVERY_S:
            self._topics = self._cluster.topics([self._ask.text("topic")])
            self._looked_up_at = time.monotonic()
        found = ends_of(self._cluster, self._topics, self._ask)
        if len(found) == len(self.partitions):
            self._looked_up_at = time.monotonic()
        return found


ENDPOINTS = (stream("/api/topics/{topic}/tail", _tail),)
