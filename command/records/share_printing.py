"""`ottla consume --share-group`: print records as a member of a share group, and accept them.

A record is accepted after it was written to standard output, before the next fetch. Records that
were acquired and not printed are released when the command ends.
"""

from __future__ import annotations

import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from uuid import uuid4

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.groups.share_member import ShareMember
from client.groups.share_reading import ShareReader
from client.records.reading import Batch
from client.records.rendering import RenderOptions, render
from client.refusals import Refused
from command.output import note
from command.terminal.ending_signals import ended_by_signals
from protocol.api_keys import ApiKey
from protocol.record_batch import CorruptBatch

IDLE_S = 5.0
"""The time without a record after which the command ends, unless it follows."""
JOINING_S = 30.0
"""The most time to wait for the first partitions, unless the command follows."""

Write = Callable[[bytes], None]


def print_share_group(
    cluster: ClusterClient,
    group: str,
    topics: Sequence[str],
    view: RenderOptions,
    most: int | None,
    write: Write,
    *,
    follow: bool,
) -> int:
    """Print the records that a new member of the group gets, and accept them, until no record comes
    for IDLE_S, `most` records are printed, or a signal comes. Return the exit code: 0, or 128 and
    the number of a signal other than Ctrl-C's.

    `write` writes bytes to standard output. `follow`: wait for records without an end. Raises
    Refused, StartError.
    """
    if not cluster.serves(ApiKey.SHARE_FETCH):
        raise Refused("this cluster has no share groups: Apache Kafka has them from 4.2 on")
    topics_by_name = cluster.led_topics(topics)
    member = ShareMember(cluster, group, list(topics_by_name), _member_id(), time.monotonic)
    reader = ShareReader(cluster, member, topics_by_name, note, time.sleep)
    printed = 0

    def left() -> int | None:
        """Return how many records may still be printed, None without a limit."""
        return None if most is None else most - printed

    with ended_by_signals() as signals:
        try:
            for batch in _until_idle(reader, reader.batches(left), follow=follow):
                rendered = render(batch, view, left())
                with signals.whole():
                    if rendered.data:
                        write(rendered.data)
                    printed += rendered.records
                    reader.accept(batch, rendered.end)
                if left() == 0:
                    break
        except (KeyboardInterrupt, BrokenPipeError):
            pass
        except CorruptBatch as error:
            raise StartError(
                f"{error}; ottla group reset {group} moves the group past it"
            ) from error
        finally:
            with suppress(KeyboardInterrupt), signals.whole():
                reader.close()
    if not printed and sys.stdout.isatty():
        note("no records for this member")
    return signals.exit_code


def _until_idle(
    reader: ShareReader, batches: Iterator[Batch | None], *, follow: bool
) -> Iterator[Batch]:
    """Yield the batches until none comes for IDLE_S, or for JOINING_S before the member has
    partitions; with `follow` without an end."""
    end_s = time.monotonic() + JOINING_S
    was_assigned = False
    for batch in batches:
        if batch is not None or (reader.is_assigned and not was_assigned):
            was_assigned = True
            end_s = time.monotonic() + IDLE_S
        if batch is not None:
            yield batch
        elif not follow and time.monotonic() > end_s:
            return


def _member_id() -> str:
    """Return a random id of a member, as Kafka's clients make it."""
    return urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
