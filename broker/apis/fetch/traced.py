"""A consumer's Fetch that is traced: the same way as any other, and its stations told.

Owns what a trace is told of a Fetch: the first look into the log, the wait in the purgatory, and
the look that gave the answer. Never: reads or answers by itself (`broker.apis.fetch.reading`).
"""

from __future__ import annotations

from collections.abc import Callable

from broker.apis.fetch.reading import ConsumerFetch
from broker.purgatory.delayed_operations import DelayedFetch
from broker.requests.request_trace import RequestTrace

PARTITIONS_MAX = 8
"""Of one look, as many are told."""


def answer_traced(
    trace: RequestTrace, fetch: ConsumerFetch, max_wait_ms: int, answer: Callable[[], None]
) -> None:
    """Read, and answer now, or later by way of the purgatory; see `FetchApi.handle`."""
    traced = _TracedFetch(trace, fetch, answer)
    if traced.read() or max_wait_ms <= 0 or not fetch.wanted:
        traced.answer()
        return
    waiting = DelayedFetch(traced.read_again, traced.answer_late)
    fetch.replicas.fetch_purgatory.watch(waiting, fetch.keys(), max_wait_ms)
    trace.waits("Fetch", max_wait_ms)


class _TracedFetch:
    """One request on its way."""

    def __init__(
        self, trace: RequestTrace, fetch: ConsumerFetch, answer: Callable[[], None]
    ) -> None:
        self._trace = trace
        self._fetch = fetch
        self._answer = answer
        self._span_s = 0.0, 0.0
        self._is_enough = False

    def read(self) -> bool:
        """The first look, which is told if it leads to a wait, too."""
        self._look(self._fetch.read_now)
        self._tell()
        return self._is_enough

    def read_again(self) -> bool:
        """A look after something has changed. Most of them find nothing, and are not told."""
        self._look(self._fetch.read_again)
        return self._is_enough

    def _look(self, read: Callable[[], bool]) -> None:
        since_s = self._trace.now_s()
        self._is_enough = read()
        self._span_s = since_s, self._trace.now_s()

    def answer(self) -> None:
        """Answer with what was read."""
        if any(read.size for _, read in self._fetch.reads.values()):
            self._trace.keep()
        self._answer()

    def answer_late(self) -> None:
        """The same, out of the purgatory."""
        self._trace.woken(expired=not self._is_enough, at_s=self._span_s[0])
        self._tell()
        self.answer()

    def _tell(self) -> None:
        told = 0
        for wanted, read in self._fetch.reads.values():
            if wanted.partition is None or read.error or told == PARTITIONS_MAX:
                continue
            told += 1
            offset, high_watermark = wanted.fetch_offset, read.high_watermark
            self._trace.read(wanted.partition, offset, read.records, high_watermark, self._span_s)
