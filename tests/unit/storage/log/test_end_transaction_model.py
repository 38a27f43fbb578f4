"""The last stable offset and the aborted transactions of a log, against a list of what happened.

Producers send and end transactions in any order; the high watermark rises; the log rolls, is cut,
is closed, or ends in a crash; a follower copies some of it. After each step the log has to say what
the list says, and the follower what the leader says.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from log_format.transaction_index import AbortedTxn
from storage.log.aborted_lookup import collect_aborted
from storage.log.end_transaction import append_end_txn_marker
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch, open_log

CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=0)
FOLLOWER = "/data/copy-0"

Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["send", "send", "send", "plain", "commit", "abort", "abort", "watermark", "roll",
             "cut", "close", "crash", "copy"]
        ),
        st.integers(0, 3),
        st.integers(0, 8),
    ),
    max_size=40,
)  # fmt: skip


@dataclass
class Transaction:
    pid: int
    first: int
    marker: int | None = None
    aborted: bool = False
    in_snapshot: bool = False
    """Whether a snapshot of the producers may stand for its end. It does not tell which ends are
    not committed yet (nor does Kafka's), so that after a start or a cut those count as stable."""


@dataclass
class Model:
    """What happened, in full."""

    transactions: list[Transaction] = field(default_factory=list)
    watermark: int = 0

    def open(self, pid: int) -> Transaction | None:
        found = [one for one in self.transactions if one.pid == pid and one.marker is None]
        return found[0] if found else None

    def last_stable_offsets(self) -> range:
        """Where it may be: at one offset, but for what `in_snapshot` says."""
        unstable = [
            one for one in self.transactions if one.marker is None or one.marker >= self.watermark
        ]
        least = min([self.watermark, *(one.first for one in unstable)])
        known = [one.first for one in unstable if not one.in_snapshot]
        return range(least, min([self.watermark, *known]) + 1)

    def forget(self) -> None:
        """The producers were read from a snapshot."""
        for one in self.transactions:
            one.in_snapshot = one.marker is not None

    def aborted(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Those with records or a marker in [start, end), by marker."""
        found = [
            (one.marker, one.pid, one.first)
            for one in self.transactions
            if one.aborted and one.marker is not None and one.marker >= start and one.first < end
        ]
        return [(pid, first, marker) for marker, pid, first in sorted(found)]

    def cut(self, end: int) -> None:
        self.transactions = [one for one in self.transactions if one.first < end]
        for one in self.transactions:
            if one.marker is not None and one.marker >= end:
                one.marker, one.aborted = None, False
        self.forget()
        self.watermark = min(self.watermark, end)


class Life:
    def __init__(self) -> None:
        self.log = open_log(config=CONFIG)
        self.follower = open_log(config=CONFIG, directory=FOLLOWER)
        self.model = Model()

    def step(self, what: str, pid: int, number: int) -> None:
        log, model = self.log, self.model
        if what in ("send", "plain"):
            self.send(pid, number % 3 + 1, transactional=what == "send")
        elif what in ("commit", "abort"):
            info = append_end_txn_marker(log, pid, 0, 0, what == "commit", 0, NOW_MS, 0)
            assert not info.error
            ended = model.open(pid)
            if ended is not None:
                ended.marker, ended.aborted = info.last_offset, what == "abort"
        elif what == "watermark":
            model.watermark = min(log.log_end_offset, model.watermark + number)
            log.update_high_watermark(model.watermark)
        elif what == "roll":
            log.roll()
        elif what == "cut":
            self.cut(max(model.watermark, log.log_end_offset - number))
        elif what in ("close", "crash"):
            self.reopen(clean=what == "close", recovery_point=number * 3)
        elif what == "copy":
            self.copy(number * 100)

    def send(self, pid: int, count: int, *, transactional: bool) -> None:
        known = {one.producer_id: one for one in self.log.producers}
        sequence = known[pid].last_sequence + 1 if pid in known else 0
        sent = batch(
            *[b"v" * 9] * count,
            producer_id=pid,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        ongoing = self.model.open(pid)
        info = self.log.append_as_leader(sent, 0, NOW_MS)
        if ongoing is not None and not transactional:
            assert info.error
            return
        assert not info.error
        if transactional and ongoing is None:
            self.model.transactions.append(Transaction(pid, info.first_offset))

    def cut(self, offset: int) -> None:
        self.log.truncate_to(offset)
        self.model.cut(self.log.log_end_offset)
        if self.follower.log_end_offset > self.log.log_end_offset:
            self.follower.truncate_to(self.log.log_end_offset)

    def reopen(self, *, clean: bool, recovery_point: int) -> None:
        """A crash of the process: everything that was written is there, indexes are not."""
        if clean:
            self.log.close()
        self.log = open_log(
            ports=self.log.environment,
            config=CONFIG,
            clean=clean,
            recovery_point=min(recovery_point, self.log.log_end_offset),
        )
        self.model.forget()
        self.log.update_high_watermark(self.model.watermark)

    def copy(self, max_bytes: int) -> None:
        follower, leader = self.follower, self.log
        found = leader.read(follower.log_end_offset, max_bytes).records
        data = found if isinstance(found, bytes) else found.read()
        assert not follower.append_as_follower(memoryview(data), 0).error

    def check(self) -> None:
        log, model = self.log, self.model
        assert log.high_watermark == model.watermark
        assert log.last_stable_offset in model.last_stable_offsets()
        end = log.log_end_offset
        for start, stop in ((0, end), (end // 2, end), (0, end // 2), (end // 3, end // 2)):
            if start < stop:
                found = [one[:3] for one in collect_aborted(log, start, stop)]
                assert found == model.aborted(start, stop)

    def check_follower(self) -> None:
        while self.follower.log_end_offset < self.log.log_end_offset:
            self.copy(1000)
        self.follower.update_high_watermark(self.model.watermark)
        assert self.follower.last_stable_offset in self.model.last_stable_offsets()
        end = self.log.log_end_offset
        assert all_aborted(self.follower) == all_aborted(self.log)
        assert collect_aborted(self.follower, 0, end) == collect_aborted(self.log, 0, end)


def all_aborted(log: UnifiedLog) -> list[AbortedTxn]:
    return [one for segment in log.segments for one in segment.aborted]


@settings(max_examples=150)
@given(STEPS)
def test_a_log_says_what_happened(steps: list[Step]) -> None:
    life = Life()
    for step in steps:
        life.step(*step)
        life.check()
    life.check_follower()
