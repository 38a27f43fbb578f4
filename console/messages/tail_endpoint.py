"""The endpoint of the live view: the records that are written to a topic from now on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from console.endpoints import Ask, Console, stream
from console.messages.asking import ends_of, level_of, matcher_asked
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

_HEARTBEAT_EVERY_S = 1.0


def _tail(console: Console, ask: Ask) -> Iterator[TailEvent | None]:
    """Return the records that are written from now on; None while there are none.

    A lost broker or leader does not end the tail: an event says that it waits. Raises BadAsk.
    """
    decoder = console.state(Decoding).decoder_of(ask.text("topic"))
    matcher = matcher_asked(ask, decoder)
    tail = Tail(RECORDS_A_LOOK if matcher is None else OFFSETS_A_LOOK)
    return follow(partial(_looks, console, ask, tail, matcher), time.sleep)


def _looks(
    console: Console, ask: Ask, tail: Tail, matcher: RecordMatcher | None
) -> Iterator[TailEvent | None]:
    """Yield what the looks of a tail give over the console's connections to the present leaders."""
    topic, level = ask.text("topic"), level_of(ask)
    with console.cluster() as cluster:
        topics = cluster.led_topics([topic])
        ends = partial(ends_of, cluster, topics, ask)
        show: Show = partial(console.state(Decoding).shown, topic)
        wanted = None
        if matcher is not None:
            show, wanted = matcher.marked(show), matcher.finds
        read = partial(read_windows, cluster, topic, level=level, show=show, wanted=wanted)
        tail.begin(ends)
        yield tail.look(ends, read) or TailEvent([], 0)  # the tail has a leader
        said_at = time.monotonic()
        while True:
            time.sleep(LOOK_EVERY_S)
            event = tail.look(ends, read)
            now = time.monotonic()
            if event is not None or now - said_at >= _HEARTBEAT_EVERY_S:
                said_at = now
                yield event


ENDPOINTS = (stream("/api/topics/{topic}/tail", _tail),)
