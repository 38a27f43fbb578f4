"""The endpoints of records: pages, one record, its parts as files, and writing a record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from client.cluster import ClusterClient
from client.core.offsets import READ_UNCOMMITTED
from client.place_offsets import spans
from console.endpoints import Ask, Console, Download, NotHere, get, post, wall_ms
from console.messages import export_endpoint, search_endpoint, tail_endpoint
from console.messages.asking import left_out, level_of, part_of
from console.messages.decoding.decoding import Decoding
from console.messages.paging import RECORDS_MAX, cursor_text, page_of
from console.messages.producing import WrittenRecord, produce, record_asked
from console.messages.record_files import check_part, file_of
from console.messages.record_page import Place, RecordAtOffset, read_one, record_at
from console.messages.shown import OPENED, RecordShown
from console.messages.windows import read_windows
from protocol.records import Record

PARTITION_MAX = (1 << 31) - 1
OFFSET_MAX = (1 << 63) - 2
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
    names none and the topic has many. The `unled` partitions have no leader, so they cannot be read
    now.
    """

    records: list[RecordShown]
    cursor: str | None
    partial: bool
    partitions: list[HeldOffsets]
    topic_partitions: int
    left_out: int
    unled: list[int]


def _page(console: Console, ask: Ask) -> RecordPage:
    """Return records of a topic: the newest first, or with `order=oldest` from a position on."""
    newest = ask.text("order", "newest") != "oldest"
    count = ask.number("count", _PAGE, least=1, most=RECORDS_MAX)
    topic, level = ask.text("topic"), level_of(ask)
    with console.cluster() as cluster:
        part = part_of(cluster, ask, wall_ms(), newest=newest)
        read = partial(
            read_windows,
            cluster,
            topic,
            level=level,
            show=partial(console.state(Decoding).shown, topic),
        )
        page = page_of(read, part.meant, count, newest=newest)
    return RecordPage(
        records=page.records,
        cursor=None if page.is_last else cursor_text(page.cursor),
        partial=page.is_partial,
        partitions=[HeldOffsets(index, *span) for index, span in sorted(part.held.items())],
        topic_partitions=len(part.topics[topic].partitions),
        left_out=left_out(ask, part.topics),
        unled=part.unled,
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


def _produce(console: Console, ask: Ask) -> WrittenRecord:
    """Write one record, and return where it is. Raises BadAsk, Refused."""
    topic = ask.text("topic")
    record = record_asked(ask.body)
    with console.cluster() as cluster:
        return produce(cluster, topic, record, wall_ms())


ENDPOINTS = (
    get("/api/topics/{topic}/messages", _page),
    get("/api/topics/{topic}/messages/{partition}/{offset}", _record),
    get("/api/topics/{topic}/messages/{partition}/{offset}/{part}", _download),
    get("/api/topics/{topic}/records/{partition}/{offset}", _record_at),
    post("/api/topics/{topic}/messages", _produce),
    *export_endpoint.ENDPOINTS,
    *search_endpoint.ENDPOINTS,
    *tail_endpoint.ENDPOINTS,
)

AT_START = (Decoding,)
"""The states that are made at the start, so that a bad schema file is an error then."""
