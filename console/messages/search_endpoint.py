"""The endpoint of a search for records, and the limit on searches that run at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from threading import BoundedSemaphore

from client.refusals import Refused
from console.endpoints import Ask, BadAsk, Console, stream, wall_ms
from console.messages.asking import level_of, matcher_asked, part_of
from console.messages.decoding.decoding import Decoding
from console.messages.record_matching import RecordMatcher
from console.messages.searching import FINDS_MAX, Search, SearchEvent
from console.messages.searching_back import BackwardSearch
from console.messages.windows import batches_in
from protocol.record_batch import CorruptBatch

SEARCHES_MAX = 4
NO_ROOM = f"{SEARCHES_MAX} searches are running: stop a search"


class Searches:
    """The slots of searches, of which each takes a core while it runs."""

    def __init__(self, _console: Console) -> None:
        self.room = BoundedSemaphore(SEARCHES_MAX)


def _search(console: Console, ask: Ask) -> Iterator[SearchEvent]:
    """Return the events of a search; with `order=newest`, the newest matches come first.

    Raises BadAsk at once, so that the status of the answer is 400.
    """
    matcher = matcher_asked(ask, console.state(Decoding).decoder_of(ask.text("topic")))
    if matcher is None:
        raise BadAsk("enter a text or a filter to search for")
    most = ask.number("count", FINDS_MAX, least=1, most=FINDS_MAX)
    return _search_events(console, ask, matcher, most)


def _search_events(
    console: Console, ask: Ask, matcher: RecordMatcher, most: int
) -> Iterator[SearchEvent]:
    """Yield the events of a search, while it holds one of the SEARCHES_MAX slots."""
    topic, level = ask.text("topic"), level_of(ask)
    backwards = ask.text("order", "oldest") == "newest"
    room = console.state(Searches).room
    if not room.acquire(blocking=False):
        raise Refused(NO_ROOM)
    try:
        with console.cluster() as cluster:
            part = part_of(cluster, ask, wall_ms(), newest=False, backwards=backwards)
            read = partial(batches_in, cluster, topic, level=level)
            show = matcher.marked(partial(console.state(Decoding).shown, topic))
            what = (part.meant, matcher, show, time.monotonic, most)
            try:
                if backwards:
                    yield from BackwardSearch(*what).events(read)
                else:
                    yield from Search(*what).events(read(part.meant))
            except CorruptBatch as error:
                raise Refused(f"{error}: search from an offset after this batch") from error
    finally:
        room.release()


ENDPOINTS = (stream("/api/topics/{topic}/search", _search),)
