"""The endpoints of records: pages, one record, a search, an export, the live tail, writing.

The shell around `paging`, `searching`, `tailing` and `producing`.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from threading import BoundedSemaphore

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.core.offsets import READ_UNCOMMITTED
from client.place_offsets import spans
from client.refusals import Refused
from console.endpoints import (
    Ask,
    BadAsk,
    Console,
    Download,
    DownloadStream,
    NotHere,
    get,
    post,
    stream,
    wall_ms,
)
from console.messages.asking import ends_of, left_out, level_of, matcher_asked, newest_of, part_of
from console.messages.decoding.decoding import Decoding
from console.messages.exporting import ExportStatus, Format, csv, ndjson, pieces
from console.messages.exports import Exports, selected
from console.messages.paging import RECORDS_MAX, cursor_text, page_of
from console.messages.producing import WrittenRecord, produce, record_asked
from console.messages.record_files import check_part, file_of
from console.messages.record_matching import RecordMatcher
from console.messages.record_page import Place, RecordAtOffset, read_one, record_at
from console.messages.searching import FINDS_MAX, Search, SearchEvent
from console.messages.searching_back import BackwardSearch
from console.messages.shown import OPENED, RecordShown
from console.messages.tailing import (
    LOOK_EVERY_S,
    OFFSETS_A_LOOK,
    RECORDS_A_LOOK,
    Tail,
    TailEvent,
    follow,
)
from console.messages.windows import Show, batches_in, read_windows
from protocol.record_batch import CorruptBatch
from protocol.records import Record

SEARCHES_MAX = 4
_NO_ROOM = f"{SEARCHES_MAX} searches are running: stop a search"
PARTITION_MAX = (1 << 31) - 1
OFFSET_MAX = (1 << 63) - 2
_HEARTBEAT_EVERY_S = 1.0
_PAGE = 50


@dataclass(frozen=True, slots=True)
class HeldOffsets:
    """The offsets that a partition holds: from `first` to before `end`."""

    partition: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Records, and a `cursor` that leads to the next page. `partial`: the page ends early, because
    the records are large.

    The topic has `topic_partitions`; the last `left_out` of them are not read, because the request
    names none and the topic has many.
    """

    records: list[RecordShown]
    cursor: str | None
    partial: bool
    partitions: list[HeldOffsets]
    topic_partitions: int
    left_out: int


def _page(console: Console, ask: Ask) -> RecordPage:
    """Return records of a topic: the newest first, or with `order=oldest` from a position on."""
    newest = ask.text("order", "newest") != "oldest"
    count = ask.number("count", _PAGE, least=1, most=RECORDS_MAX)
    topic, level = ask.text("topic"), level_of(ask)
    with console.cluster() as cluster:
        part = part_of(cluster, ask, wall_ms(), newest=newest)
        read = partial(read_windows, cluster, topic, level=level, show=_show(console, topic))
        page = page_of(read, part.meant, count, newest=newest)
    return RecordPage(
        records=page.records,
        cursor=None if page.is_last else cursor_text(page.cursor),
        partial=page.is_partial,
        partitions=[HeldOffsets(index, *span) for index, span in sorted(part.held.items())],
        topic_partitions=len(part.topics[topic].partitions),
        left_out=left_out(ask, part.topics),
    )


def _record(console: Console, ask: Ask) -> RecordShown:
    """Return a record with more of its bytes than a page has."""
    with console.cluster() as cluster:
        partition, record = _one(cluster, ask)
        return console.state(Decoding).shown(ask.text("topic"), partition, record, OPENED)


def _record_at(console: Console, ask: Ask) -> RecordAtOffset:
    """Return a record with its batch and the records beside it, or why the offset has none."""
    topic, offset = ask.text("topic"), _offset_of(ask)
    with console.cluster() as cluster:
        part = part_of(cluster, ask, wall_ms(), newest=False)
        ((partition, held),) = part.held.items()
        everything = spans(cluster, part.topics, [(topic, partition)], READ_UNCOMMITTED)
        place = Place(topic, partition, offset, level_of(ask))
        show = partial(console.state(Decoding).shown, topic, limits=OPENED)
        return record_at(cluster, place, held, everything[topic, partition], show)


def _download(console: Console, ask: Ask) -> Download:
    """Return a whole part of a record as a file."""
    part, topic = ask.text("part"), ask.text("topic")
    check_part(part)
    with console.cluster() as cluster:
        partition, record = _one(cluster, ask)
    return file_of(topic, partition, record, part)


def _one(cluster: ClusterClient, ask: Ask) -> tuple[int, Record]:
    """Return a partition and the record at an offset. Raises NotHere, BadAsk, Refused."""
    topic, offset = ask.text("topic"), _offset_of(ask)
    part = part_of(cluster, ask, wall_ms(), newest=False)
    ((partition, held),) = part.held.items()
    read = read_one(cluster, Place(topic, partition, offset, level_of(ask)), held)
    if read is None:
        raise NotHere(
            f"{topic}-{partition} has no record at offset {offset}: retention or compaction "
            "removed it"
        )
    return partition, read[0]


def _offset_of(ask: Ask) -> int:
    """Return the offset of a request for one record, and check its partition. Raises BadAsk."""
    ask.number("partition", least=0, most=PARTITION_MAX)
    return ask.number("offset", least=0, most=OFFSET_MAX)


# --- search and tail -----------------------------------------------------------------------------


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
        raise Refused(_NO_ROOM)
    try:
        with console.cluster() as cluster:
            part = part_of(cluster, ask, wall_ms(), newest=False, backwards=backwards)
            read = partial(batches_in, cluster, topic, level=level)
            show = matcher.marked(_show(console, topic))
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


def _export(console: Console, ask: Ask) -> DownloadStream:
    """Return the matching records, or all that were chosen, as a file. Raises BadAsk, Refused."""
    topic, name = ask.text("topic"), ask.text("format", "ndjson")
    status = console.state(Exports).begin(ask.text("export"))
    try:
        decoder = console.state(Decoding).decoder_of(topic)
        matcher = matcher_asked(ask, decoder)
        if name not in ("ndjson", "csv"):
            raise BadAsk(f"format {name[:20]}: write ndjson or csv")
        form = (
            ndjson(topic) if name == "ndjson" else csv(None if decoder is None else decoder.parts)
        )
        file = _exported(console, ask, matcher, form, status)
        first = next(file)  # an error until here is an answer with a status
    except (BadAsk, Refused, StartError) as error:
        status.fail(str(error))
        raise
    return DownloadStream(f"{topic}.{name}", form.media_type, _continued(first, file))


def _exported(
    console: Console, ask: Ask, matcher: RecordMatcher | None, form: Format, status: ExportStatus
) -> Generator[bytes]:
    """Yield the pieces of an exported file, while it holds one of the SEARCHES_MAX slots."""
    topic, level = ask.text("topic"), level_of(ask)
    room = console.state(Searches).room
    if not room.acquire(blocking=False):
        raise Refused(_NO_ROOM)
    try:
        with console.cluster() as cluster:
            part = part_of(cluster, ask, wall_ms(), newest=False)
            is_newest = matcher is None and ask.text("order", "oldest") == "newest"
            meant = newest_of(part.meant, status.records_max) if is_newest else part.meant
            yield b""
            matching = selected(batches_in(cluster, topic, meant, level), matcher, time.monotonic)
            yield from pieces(matching, form, status)
    except (BadAsk, CorruptBatch, Refused, StartError) as error:
        status.fail(str(error))
        raise
    finally:
        status.fail("the download was cancelled")
        room.release()


def _continued(first: bytes, rest: Generator[bytes]) -> Iterator[bytes]:
    """Yield the first piece and the rest, and close the rest at the end."""
    with closing(rest):
        yield first
        yield from rest


def _export_status(console: Console, ask: Ask) -> ExportStatus:
    """Return the progress of an export by the name that the page gave it."""
    return console.state(Exports).status(ask.text("export"))


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
        show, wanted = _show(console, topic), None
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


# --- writing -------------------------------------------------------------------------------------


def _produce(console: Console, ask: Ask) -> WrittenRecord:
    """Write one record, and return where it is. Raises BadAsk, Refused."""
    topic = ask.text("topic")
    record = record_asked(ask.body)
    with console.cluster() as cluster:
        return produce(cluster, topic, record, wall_ms())


def _show(console: Console, topic: str) -> Show:
    return partial(console.state(Decoding).shown, topic)


ENDPOINTS = (
    get("/api/topics/{topic}/messages", _page),
    get("/api/topics/{topic}/messages/{partition}/{offset}", _record),
    get("/api/topics/{topic}/messages/{partition}/{offset}/{part}", _download),
    get("/api/topics/{topic}/records/{partition}/{offset}", _record_at),
    get("/api/topics/{topic}/export", _export),
    get("/api/exports/{export}", _export_status),
    stream("/api/topics/{topic}/search", _search),
    stream("/api/topics/{topic}/tail", _tail),
    post("/api/topics/{topic}/messages", _produce),
)

AT_START = (Decoding,)
"""The states that are made at the start, so that a bad schema file is an error then."""
