"""One compacted log through a random life, beside a list of what was written to it.

Keys, tombstones, codecs, idempotent producers and transactions at random; cleanings through the
real `LogCleaner` with its job inline, at random times; ends of the process and losses of power in
the midst of one. `check` holds what is left against the list: the model of compaction is `latest`.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from log_format.transaction_index import AbortedTxn, decode_transactions
from protocol.record_batch import crc_is_valid, iterate_batches
from protocol.records import Record, iterate_records
from storage.cleaning.cleaner_ports import CleanerSettings
from storage.cleaning.inline_cleaner import InlineRunner
from storage.cleaning.log_cleaner import LogCleaner
from storage.log.end_transaction import append_end_txn_marker
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.batches import build_batch
from tests.unit.storage.harness import DIRECTORY, LOG_DIR, environment, open_log, read_all

DELETE_RETENTION_MS = 10_000
CONFIG = LogConfig(
    cleanup_policy=("compact",),
    segment_bytes=2_500,
    index_interval_bytes=150,
    segment_index_bytes=240,
    file_delete_delay_ms=1_000,
    delete_retention_ms=DELETE_RETENTION_MS,
    min_cleanable_dirty_ratio=0.0,
)
KEYS = [b"a", b"b", b"c", b"key-of-some-length", b"long-" * 20]

Entry = tuple[bytes, bytes | None]
"""Key and value."""


class OneLog:
    """What a cleaner asks of the log manager."""

    def __init__(self, log: UnifiedLog) -> None:
        self.logs = [log]
        self.online_dirs = [LOG_DIR]


class CompactedLife:
    """The log under test, and all that was ever written to it."""

    def __init__(self, seed: int, config: LogConfig = CONFIG) -> None:
        self.chance = random.Random(seed)
        self.config = config
        self.filesystem = MemoryFilesystem(self.wall_ms)
        self.filesystem.make_dirs(DIRECTORY)
        self.clock_ms = 0
        self.written: dict[int, Entry] = {}
        self.aborted: dict[int, Entry] = {}
        self.without_key: list[int] = []
        self.open_transactions: dict[int, dict[int, Entry]] = {}
        self.sequences: dict[int, int] = {}
        self.epoch = 0
        self.rounds = 0
        self.ports: LogEnvironment
        self.log: UnifiedLog
        self.cleaner: LogCleaner
        for folder in ("/", LOG_DIR):
            self.filesystem.sync_dir(folder)
        self.open(clean=True)

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + getattr(self, "clock_ms", 0)

    def open(self, *, clean: bool = False) -> None:
        """A new process opens what lies there."""
        self.ports = environment(self.filesystem)
        scheduler = self.scheduler
        scheduler.now_ms = float(self.clock_ms)
        recovery_point = 0 if clean or self.chance.random() < 0.5 else self.recovery_point
        self.log = open_log(
            config=self.config, ports=self.ports, clean=clean, recovery_point=recovery_point
        )
        self.log.update_high_watermark(self.log.log_end_offset)
        settings = CleanerSettings(
            log_cleaner_dedupe_buffer_size=self.chance.choice([200, 700, 1 << 20]),
            log_cleaner_io_buffer_size=1,
        )
        runner = InlineRunner(self.ports)
        self.cleaner = LogCleaner(self.ports, OneLog(self.log), settings, runner, self._cleaned)
        self.cleaner.start()

    @property
    def scheduler(self) -> SimScheduler:
        scheduler = self.ports.scheduler
        assert isinstance(scheduler, SimScheduler)
        return scheduler

    recovery_point = 0

    # ---- what happens to it ----------------------------------------------------------------------

    def step(self) -> None:
        """Something that happens to a log."""
        what = self.chance.choices(
            [self.write, self.write_transaction, self.end_transaction, self.pass_time, self.flush],
            [10, 5, 3, 1, 1],
        )[0]
        what()

    def flush(self) -> None:
        self.log.flusher.flush_now()
        self.recovery_point = self.log.recovery_point

    def pass_time(self) -> None:
        self.clock_ms += self.chance.choice([10, 500, DELETE_RETENTION_MS + 1])
        self.scheduler.now_ms = float(self.clock_ms)

    def _records(self) -> list[Record]:
        return [
            Record(
                -1,
                self.wall_ms() - self.chance.randrange(300),
                self.chance.choice(KEYS),
                None
                if self.chance.random() < 0.25
                else self.chance.randbytes(self.chance.choice([0, 1, 5, 70, 200])),
                (("h", b"x"),) if self.chance.random() < 0.2 else (),
            )
            for _ in range(self.chance.choice([1, 1, 2, 5, 9]))
        ]

    def write(self) -> None:
        """A plain batch, or one of an idempotent producer."""
        records = self._records()
        if self.chance.random() < 0.4:
            self._append(records, self.chance.choice([1, 2]), False)
        else:
            self._append(records, -1, False)

    def _append(self, records: list[Record], producer_id: int, transactional: bool) -> int:
        fields = {}
        if producer_id >= 0:
            fields = {
                "producer_id": producer_id,
                "producer_epoch": 0,
                "base_sequence": self.sequences.get(producer_id, 0),
            }
            self.sequences[producer_id] = self.sequences.get(producer_id, 0) + len(records)
        batch = build_batch(
            records,
            compression=self.chance.choice([0, 0, 0, 1, 2, 3, 4]),
            is_transactional=transactional,
            **fields,
        )
        self.epoch += self.chance.random() < 0.05
        info = self.log.append_as_leader(memoryview(batch), self.epoch, self.wall_ms())
        assert not info.error, info.error_message
        self.log.update_high_watermark(self.log.log_end_offset)
        into = self.written
        if transactional:
            into = self.open_transactions.setdefault(producer_id, {})
        for number, record in enumerate(records):
            assert record.key is not None
            into[info.first_offset + number] = (record.key, record.value)
        return info.first_offset

    def write_transaction(self) -> None:
        self._append(self._records(), self.chance.choice([11, 12]), True)

    def end_transaction(self) -> None:
        """Commit or abort."""
        if not self.open_transactions:
            return
        producer_id = self.chance.choice(list(self.open_transactions))
        entries = self.open_transactions.pop(producer_id)
        commit = self.chance.random() < 0.5
        info = append_end_txn_marker(
            self.log, producer_id, 0, 0, commit, self.epoch, self.wall_ms(), 0
        )
        assert not info.error, info.error_message
        self.log.update_high_watermark(self.log.log_end_offset)
        (self.written if commit else self.aborted).update(entries)

    def roll(self) -> None:
        self.log.roll()
        self.flush()

    def _cleaned(self) -> None:
        self.rounds += 1

    def clean(self) -> None:
        """One look of the cleaner, and all that follows from it."""
        self.cleaner.look()
        self.scheduler.run_for(2)
        assert self.cleaner.uncleanable == {}
        assert not self.log.being_cleaned

    def end(self, how: Callable[[MemoryFilesystem], None]) -> None:
        """The process ends, and another begins."""
        self.clock_ms = int(self.scheduler.now_ms)
        how(self.filesystem)
        self.open()

    # ---- what is held against the list ----------------------------------------------------

    @property
    def everything(self) -> dict[int, Entry]:
        found = {**self.written, **self.aborted}
        for entries in self.open_transactions.values():
            found.update(entries)
        return found

    def latest(self) -> dict[bytes, tuple[int, bytes | None]]:
        """The model: the last record of each key, of all that was not aborted and is decided."""
        last: dict[bytes, tuple[int, bytes | None]] = {}
        for offset, (key, value) in sorted(self.written.items()):
            last[key] = (offset, value)
        return last

    def records(self) -> list[Record]:
        """What a reader gets, markers left out."""
        data = read_all(self.log)
        found = []
        before = -1
        for position, header in iterate_batches(data):
            assert crc_is_valid(data, position, header)
            assert header.base_offset > before, "batches overlap"
            before = header.last_offset
            records = list(iterate_records(data, position))
            if records and not header.is_control:
                newest = max(record.timestamp for record in records)
                assert header.max_timestamp == newest
                found += records
        assert before == self.log.log_end_offset - 1, "the end of the log was lost"
        return found

    def check(self, *, cleaned_to: int = 0) -> None:
        """Nothing but what was written, at its offset, in order; of each key the last."""
        records = self.records()
        everything, decided = self.everything, self.latest()
        offsets = [record.offset for record in records]
        assert offsets == sorted(set(offsets))
        for record in records:
            assert everything[record.offset] == (record.key, record.value)
        present = {record.offset: record for record in records}
        for key, (offset, value) in decided.items():
            if value is not None:
                assert offset in present, f"the last value of {key!r}, at {offset}, is lost"
            elif offset not in present:
                older = [one for one in records if one.key == key and one.offset < offset]
                bad = [one for one in older if one.offset not in self.aborted]
                assert not bad, f"an older value of {key!r} outlived its tombstone at {offset}"
        below: dict[bytes, list[int]] = {}
        for record in records:
            if record.offset < cleaned_to:
                assert record.offset not in self.aborted, "an aborted record stayed"
                assert record.key is not None
                below.setdefault(record.key, []).append(record.offset)
        assert all(len(found) == 1 for found in below.values()), f"not compacted: {below}"
        self._check_transactions(present)

    def _check_transactions(self, present: dict[int, Record]) -> None:
        """Each aborted record that is still there is one that the index tells of."""
        told: list[AbortedTxn] = []
        for segment in self.log.segments:
            path = segment.path(".txnindex")
            if self.filesystem.exists(path):
                told += decode_transactions(self.filesystem.read(path)) or []
        for offset in self.aborted:
            if offset in present:
                assert any(one.first_offset <= offset <= one.last_offset for one in told)


def cleaned(life: CompactedLife) -> None:
    """Clean until there is nothing left to do."""
    for _ in range(60):
        before = life.rounds
        life.clean()
        if life.rounds == before:
            return
    raise AssertionError("it never ends")
