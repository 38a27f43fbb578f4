"""One log through a random life, beside a list: appends, retries, cuts, deaths, restarts.

Seed in, verdict out. After every step the log answers as the list does; after the loss of power it
holds a prefix that reaches at least to what was flushed. Every other life has hardly a descriptor
for its closed segments.
"""

from __future__ import annotations

import random

import pytest

from ground.memory_filesystem import MemoryFilesystem
from protocol.errors import ErrorCode
from protocol.record_batch import iterate_batches, read_header
from protocol.records import iterate_records
from storage.log import next_segment
from storage.log.closed_files import UNLIMITED
from storage.log.file_records import FileRecords
from storage.log.recovery_report import RecoveryReport
from storage.log.retention import delete_segments_before_log_start
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import (
    NOW_MS,
    batch,
    environment,
    offset_by_time,
    open_log,
    read_all,
)

SEEDS = range(60)
STEPS = 120
PRODUCER = 7
CONFIG = LogConfig(
    segment_bytes=900, index_interval_bytes=150, segment_index_bytes=240, file_delete_delay_ms=0
)

Batch = tuple[int, int, list[bytes], int, int]  # offset, epoch, values, timestamp, sequence


class Life:
    """The log under test, and the list that says what it has to hold."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.descriptors_for_closed = 3 + seed % 3 if seed % 2 else UNLIMITED
        self.filesystem = MemoryFilesystem()
        self.batches: list[Batch] = []
        self.start = 0
        self.epoch = 0
        self.clock_ms = NOW_MS
        self.log = self.opened(clean=True)
        for folder in ("/", "/data"):
            self.filesystem.sync_dir(folder)

    def opened(self, *, clean: bool, recovery_point: int = 0) -> UnifiedLog:
        self.ports = environment(self.filesystem)
        self.ports.descriptors.closed_files.room = lambda: self.descriptors_for_closed
        log = open_log(
            config=CONFIG,
            ports=self.ports,
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=self.start,
        )
        log.is_replicated = True
        return log

    @property
    def end(self) -> int:
        if not self.batches:
            return self.start
        offset, _, values, _, _ = self.batches[-1]
        return max(self.start, offset + len(values))

    @property
    def sequence(self) -> int:
        """The last sequence of the producer, by the batches that are left."""
        return max((b[4] + len(b[2]) - 1 for b in self.batches if b[4] >= 0), default=-1)

    # ---- what may happen -----------------------------------------------------------------------

    def append(self) -> None:
        count = self.chance.randint(1, 4)
        values = [self.chance.randbytes(self.chance.randint(0, 60)) for _ in range(count)]
        self.clock_ms += self.chance.randint(-3, 10)
        sequence = -1
        fields = {}
        if self.chance.random() < 0.5:
            sequence = self.sequence + 1
            fields = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": sequence}
        sent = batch(*values, timestamp=self.clock_ms, **fields)
        info = self.log.append_as_leader(sent, self.epoch, self.clock_ms)
        assert info.error is ErrorCode.NONE, info
        assert info.first_offset == self.end
        self.batches.append((self.end, self.epoch, values, self.clock_ms, sequence))

    def retry(self) -> None:
        sent = [known for known in self.batches if known[4] >= 0]
        if not sent or not self.log.producers:
            return
        offset, _, values, timestamp, sequence = sent[-1]
        again = batch(
            *values,
            timestamp=timestamp,
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=sequence,
        )
        info = self.log.append_as_leader(again, self.epoch, self.clock_ms)
        assert (info.error, info.duplicate, info.first_offset) == (ErrorCode.NONE, True, offset)

    def truncate(self) -> None:
        target = self.chance.randint(max(self.start, self.end - 15), self.end)
        self.log.truncate_to(target)
        self.batches = [b for b in self.batches if b[0] + len(b[2]) <= target]

    def move_start(self) -> None:
        self.log.update_high_watermark(self.end)
        target = self.chance.randint(self.start, self.start + (self.end - self.start) // 4)
        assert self.log.increment_log_start_offset(target) is ErrorCode.NONE
        self.start = max(self.start, target)
        delete_segments_before_log_start(self.log)

    def new_epoch(self) -> None:
        self.epoch += 1
        self.log.assign_epoch_start(self.epoch, self.end)

    def stop_cleanly(self) -> None:
        self.log.close()
        self.filesystem.kill()
        self.log = self.opened(clean=True)
        assert self.log.recovery == RecoveryReport(), self.log.recovery

    def die(self) -> None:
        point = self.chance.choice([0, self.log.recovery_point])
        self.filesystem.kill()
        self.log = self.opened(clean=False, recovery_point=point)
        assert self.log.recovery.bytes_cut == 0

    def lose_power(self) -> None:
        flushed = self.log.recovery_point
        self.filesystem.lose_power(self.chance)
        self.log = self.opened(clean=False, recovery_point=flushed)
        end = self.log.log_end_offset
        assert min(flushed, self.end) <= end <= max(self.end, self.start)
        self.batches = [b for b in self.batches if b[0] + len(b[2]) <= end]
        if end < self.start or not self.batches:
            self.batches, self.start = [], self.log.log_start_offset

    def step(self) -> None:
        doings = [
            (self.append, 50),
            (self.retry, 5),
            (self.truncate, 3),
            (self.move_start, 3),
            (self.new_epoch, 3),
            (lambda: self.log.roll(), 3),
            (lambda: self.log.flush(), 5),
            (self.stop_cleanly, 2),
            (self.die, 2),
            (self.lose_power, 1),
        ]
        (doing,) = self.chance.choices([d for d, _ in doings], [weight for _, weight in doings])
        doing()

    # ---- what has to hold ----------------------------------------------------------------------

    def check(self) -> None:
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        assert log.log_start_offset <= log.high_watermark <= log.log_end_offset
        assert log.recovery_point <= log.log_end_offset
        held = [b for b in self.batches if b[0] + len(b[2]) > self.start]
        data = read_all(log)
        seen = [
            (h.base_offset, h.partition_leader_epoch, [r.value for r in iterate_records(data, at)])
            for at, h in iterate_batches(data)
        ]
        assert seen == [(offset, epoch, values) for offset, epoch, values, _, _ in held]
        self.check_one_read(held)
        self.check_one_time(held)
        if self.sequence >= 0 and log.producers:
            assert log.producers[0].last_sequence == self.sequence

    def check_one_read(self, held: list[Batch]) -> None:
        if not held:
            return
        offset = self.chance.randint(self.start, self.end - 1)
        upper, *_ = self.chance.choice(held)
        info = self.log.read(offset, self.chance.randint(0, 500), upper)
        expected = [b[0] for b in held if b[0] <= offset < b[0] + len(b[2]) and b[0] < upper]
        if offset >= upper or not expected:
            assert info.records == b""
        else:
            assert isinstance(info.records, FileRecords)
            data = info.records.read()
            assert read_header(data).base_offset == expected[0]
            lasts = [h.last_offset for _, h in iterate_batches(data, allow_partial_tail=True)]
            assert all(last < upper for last in lasts)

    def check_one_time(self, held: list[Batch]) -> None:
        asked = self.clock_ms - self.chance.randint(-5, 60)
        expected = next(
            (max(offset, self.start) for offset, _, _, timestamp, _ in held if timestamp >= asked),
            None,
        )
        found = offset_by_time(self.log, asked)
        assert (found.offset if found else None) == expected


@pytest.mark.long(sample=20)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_life(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_segment, "SEGMENT_BYTES_MIN", 0)
    life = Life(seed)
    for _ in range(STEPS):
        life.step()
        life.check()
