"""A consumer's Fetch with a trace: handled like any other, and its stations added to the trace.

Owns what a trace shows of a Fetch: the first read, the wait in the purgatory, and the read that
gave the answer. Never reads or answers by itself (`broker.apis.fetch.reading`).
"""

from __future__ import annotations

from collections.abc import Callable

from broker.apis.fetch.reading import ConsumerFetch
from broker.purgatory.delayed_operations import DelayedFetch
from broker.requests.request_trace import RequestTrace

PARTITIONS_MAX = 8
"""The most partitions of one read that a trace shows."""


def answer_traced(
    trace: RequestTrace, fetch: ConsumerFetch, max_wait_ms: int, answer: Callable[[], None]
) -> None:
    """Read, then answer at once or after a wait in the purgatory, and add that to the trace; see
    `FetchApi.handle`."""
    traced = _TracedFetch(trace, fetch, answer)
    if traced.read() or max_wait_ms <= 0 or not fetch.wanted:
        traced.answer()
        return
    waiting = DelayedFetch(traced.read_again, traced.answer_late)
    fetch.replicas.fetch_purgatory.watch(waiting, fetch.keys(), max_wait_ms)
    trace.waits("Fetch", max_wait_ms)


class _TracedFetch:
    """A traced fetch in progress."""

    def __init__(
        self, trace: RequestTrace, fetch: ConsumerFetch, answer: Callable[[], None]
    ) -> None:
        self._trace = trace
        self._fetch = fetch
        self._answer = answer
        self._span_s = 0.0, 0.0
        self._is_enough = False

    def read(self) -> bool:
        """Read for the first time and add that to the trace. Return whether that is enough to
        answer.
        """
        self._timed_read(self._fetch.read_now)
        self._trace_reads()
        return self._is_enough

    def read_again(self) -> bool:
        """Read after something has changed, and return whether that is enough to answer.

        Not added to the trace, because most of these reads find nothing new.
        """
        self._timed_read(self._fetch.read_again)
        return self._is_enough

    def _timed_read(self, read: Callable[[], bool]) -> None:
        """Call `read`. Store its result and the times of its start and end."""
        since_s = self._trace.now_s()
        self._is_enough = read()
        self._span_s = since_s, self._trace.now_s()

    def answer(self) -> None:
        """Answer with the last read. If that has records, keep the trace for its readers."""
        if any(read.size for _, read in self._fetch.reads.values()):
            self._trace.keep()
        self._answer()

    def answer_late(self) -> None:
        """Add the end of the wait and the last read to the trace, then answer."""
        self._trace.woken(expired=not self._is_enough, at_s=self._span_s[0])
        self._trace_reads()
        self.answer()

    def _trace_reads(self) -> None:
        """Add the reads without an error to the trace, at most PARTITIONS_MAX of them."""
        count = 0
        for wanted, read in self._fetch.reads.values():
            if wanted.partition is None or read.error or count == PARTITIONS_MAX:
                continue
            count += 1
            offset, high_watermark = wanted.fetch_offset, read.high_watermark
            self._trace.read(wanted.partition, offset, read.records, high_watermark, self._span_s)
