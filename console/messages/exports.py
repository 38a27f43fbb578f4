"""Exports that run or have ended, and the records that they write.

Owns their status, which the page asks for after it has started a download.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from threading import Lock

from client.records.reading import Batch
from console.endpoints import BadAsk, Console
from console.messages.exporting import ExportStatus, Found
from console.messages.record_matching import RecordMatcher
from console.messages.searching import finds_in
from console.messages.windows import records_of

KEPT_MAX = 100
STEP_S = 0.2
"""The time after which an export without a match lets its caller see whether the tab is gone."""
_NAME = re.compile(r"[\w-]{1,40}")


class Exports:
    """The status of each of the last KEPT_MAX exports, by the name that the page gave it."""

    def __init__(self, _console: Console) -> None:
        self._lock = Lock()
        self._statuses: OrderedDict[str, ExportStatus] = OrderedDict()

    def begin(self, name: str) -> ExportStatus:
        """Return the status of a new export. Raises BadAsk if the name is not allowed."""
        if _NAME.fullmatch(name) is None:
            raise BadAsk("export must be a name of at most 40 letters, digits and hyphens")
        status = ExportStatus()
        with self._lock:
            self._statuses[name] = status
            self._statuses.move_to_end(name)
            while len(self._statuses) > KEPT_MAX:
                self._statuses.popitem(last=False)
        return status

    def status(self, name: str) -> ExportStatus:
        """Return the status of an export, without records if it has not begun yet."""
        with self._lock:
            return self._statuses.get(name) or ExportStatus()


def selected(
    batches: Iterable[Batch], matcher: RecordMatcher | None, clock: Callable[[], float]
) -> Iterator[Found]:
    """Yield the records of batches that match, and None each STEP_S. Raises CorruptBatch.

    `matcher` None: each record matches.
    """
    last = clock()
    for batch in batches:
        for record in records_of(batch) if matcher is None else finds_in(matcher, batch):
            yield batch.partition, record
        if clock() - last >= STEP_S:
            yield None
            last = clock()
