"""The endpoints of an export of records to a file: the file, and the progress of the export."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing

from broker.config.start_error import StartError
from client.refusals import Leaderless, Refused
from console.endpoints import Ask, BadAsk, Console, DownloadStream, get, wall_ms
from console.messages.asking import level_of, matcher_asked, newest_of, no_leader, part_of
from console.messages.decoding.decoding import Decoding
from console.messages.exporting import ExportStatus, Format, csv, ndjson, pieces
from console.messages.exports import Exports, selected
from console.messages.record_matching import RecordMatcher
from console.messages.search_endpoint import NO_ROOM, Searches
from console.messages.windows import batches_in
from protocol.record_batch import CorruptBatch


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
        raise Refused(NO_ROOM)
    try:
        with console.cluster() as cluster:
            part = part_of(cluster, ask, wall_ms(), newest=False)
            if part.unled:
                reason = no_leader(topic, part.unled)
                raise Leaderless(f"{reason}: the file would lack these records")
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


ENDPOINTS = (
    get("/api/topics/{topic}/export", _export),
    get("/api/exports/{export}", _export_status),
)
