"""Every file of a log directory, damaged in every way, after a kill and after a clean stop.

Whatever is damaged costs its partition at most: the node starts and the neighbours serve. What was
there and is not any more is told in one line that names the partition. Nothing that was not written
is served under a right checksum, and no aborted record as a committed one. What Kafka does with
the notable damages (a clean stop, one byte or the tail of a file) is in `KAFKA`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from protocol.record_batch import crc_is_valid, iterate_batches
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.log.aborted_lookup import collect_aborted
from storage.log.end_transaction import append_end_txn_marker
from storage.log.log_dir_failure import LogDirFailure, LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.simulation.file_damages import DAMAGE_NAMES, damage
from tests.unit.storage.harness import NOW_MS, Jobs, batch

CONFIG = LogConfig(segment_bytes=1500, index_interval_bytes=200, file_delete_delay_ms=0)
IDS = {"plain": b"p" * 16, "txns": b"t" * 16, "kept": b"k" * 16}

KAFKA = {
    "a closed .log that lost its last 500 bytes": "starts; readers go on behind what is lost",
    "a closed .log emptied, missing, or a length in it flipped": "the same",
    "garbage behind the active .log": "no start: Found record size -1515870811",
    "garbage in a .log.swap": "no start: Found record size -1515870811",
    "partition.metadata emptied": "no start: NullPointerException",
    "partition.metadata all garbage": "the log directory is offline",
    "leader-epoch-checkpoint all garbage": "the log directory is offline",
    "an offset checkpoint all garbage": "the log directory is offline",
    "the folder of a partition missing": "starts; the partition leads with no records",
}
"""For who compares: here all of them start, with one line, and only what is lost is lost."""

CHECKED_FROM = 17  # bytes before the checksum

UNSEEN = (
    ".txnindex missing",
    ".txnindex of an earlier time",
    ".txnindex a byte flipped in the middle",
)
"""A transaction index has no checksum, and a segment does not say whether there is one: Kafka takes
these for true as well."""


def opened(filesystem: MemoryFilesystem) -> LogManager:
    environment = LogEnvironment(filesystem, SimScheduler(), Jobs(), LogDirFailureChannel())
    manager = LogManager(
        environment, LogManagerSettings(("/data",)), lambda _: CONFIG, lambda n: bytes(n)
    )
    manager.lock()
    failures: list[Exception | None] = []
    manager.load(done=failures.append)
    assert failures == [None], "the start of the node"
    return manager


def fill(log: UnifiedLog, first: int, last: int) -> None:
    """Batches of two records, a new epoch every ten. In the topic of transactions every fourth is a
    transaction of its own, and every eighth is aborted."""
    for number in range(first, last):
        fields: dict[str, object] = {}
        if log.partition.topic == "txns" and number % 4 == 0:
            fields = {
                "producer_id": 7,
                "producer_epoch": 0,
                "base_sequence": number // 4 * 2,
                "is_transactional": True,
            }
        sent = batch(b"%04d" % number, b"v" * 80, timestamp=NOW_MS + number, **fields)
        info = log.append_as_leader(sent, number // 10, NOW_MS + number)
        assert info.error is ErrorCode.NONE, info
        if fields:
            commit = number % 8 != 0
            ended = append_end_txn_marker(log, 7, 0, 0, commit, number // 10, NOW_MS, 0)
            assert ended.error is ErrorCode.NONE
    log.update_high_watermark(log.log_end_offset)


def checkpoint(manager: LogManager) -> None:
    manager.upkeep.checkpoint_recovery_points()
    manager.upkeep.checkpoint_log_starts()
    manager.upkeep.checkpoint_high_watermarks()


def batches_of(log: UnifiedLog) -> Iterator[tuple[int, bytes]]:
    """(base offset, bytes) of all that can be read, going on behind what is refused or gone."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        info = log.read(offset, 1)
        data = info.records if isinstance(info.records, bytes) else info.records.read()
        if info.error is not ErrorCode.NONE or not data:
            offset += 1
            continue
        for position, header in iterate_batches(data, allow_partial_tail=True):
            if crc_is_valid(data, position, header):
                yield header.base_offset, data[position : position + header.size_in_bytes]
            offset = max(offset + 1, header.next_offset)
            break
        else:
            offset += 1


class World:
    """A folder after a stop, a folder from earlier in its life, and what it holds."""

    def __init__(self, *, clean: bool) -> None:
        self.clean = clean
        self.filesystem = MemoryFilesystem()
        for first, last in ((0, 25), (25, 61)):
            manager = opened(self.filesystem)
            logs = [manager.get_or_create((name, 0), IDS[name]) for name in IDS]
            for log in logs:
                fill(log, first, last)
            if first:
                self.deleted = dict(batches_of(logs[0]))
                logs[0].increment_log_start_offset(6)
                self.deleted = {at: self.deleted[at] for at in (0, 2, 4)}
            checkpoint(manager)
            self.known_to = {log.partition.topic: log.log_end_offset for log in logs}
            if first:
                for log in logs:
                    fill(log, 61, 66)
                self.records = {log.partition.topic: dict(batches_of(log)) for log in logs}
                self.ends = {log.partition.topic: log.log_end_offset for log in logs}
                self.aborted = collect_aborted(logs[1], 0, logs[1].log_end_offset)
                assert len(logs[1].segments.base_offsets) > 5 < len(self.aborted)
            if not first or clean:
                assert manager.close(4)
            else:
                self.filesystem.kill()
            if not first:
                self.earlier = self.filesystem.clone()


WORLDS = {clean: World(clean=clean) for clean in (True, False)}


def chosen(filesystem: MemoryFilesystem) -> list[str]:
    """Of each kind of file of each log the first, the second and the last."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for path, _ in filesystem.files():
        folder, _, name = path.rpartition("/")
        if folder != "/data/kept-0":
            stem, dot, suffix = name.rpartition(".")
            kinds.setdefault((folder, suffix if stem.isdigit() else name), []).append(path)
    return [path for paths in kinds.values() for path in dict.fromkeys((*paths[:2], paths[-1]))]


FILES = {clean: chosen(world.filesystem) for clean, world in WORLDS.items()}


def check(filesystem: MemoryFilesystem, world: World, touched: str) -> None:
    """Everything that the module promises; `touched` is the file that was damaged."""
    manager = opened(filesystem)
    assert manager.online_dirs == ["/data"]
    assert not [line for line in manager.report if "\n" in line]
    for name, records in world.records.items():
        mine = [line for line in manager.report if f"{name}-0" in line]
        try:
            log = manager.get_or_create((name, 0), IDS[name], is_new=False)
        except LogDirFailure:
            assert f"/{name}-0/" in touched and len(mine) == 1, (mine, manager.report)
            continue
        found = dict(batches_of(log))
        if name == "plain" and log.log_start_offset < 6:
            told = [line for line in manager.report if "log-start-offset-checkpoint is" in line]
            assert len(told) == 1 or "earlier" in touched or "flipped" in touched, touched
            records = records | world.deleted
        # A checksum covers neither the base offset nor the leader epoch, in Kafka neither.
        written = [data[CHECKED_FROM:] for data in records.values()]
        assert all(data[CHECKED_FROM:] in written for data in found.values()), "never written"
        lost = sorted(records.keys() - found.keys())
        if lost and not (not world.clean and lost[0] >= world.known_to[name]):
            assert f"/{name}-0/" in touched or "/data/" in touched
            where = f"{name}-0 lost {len(lost)} batches"
            flip = "flipped" in touched or "zero" in touched
            assert len(mine) == 1 or flip, f"{where} {lost[0]}…, and says {mine}"
        assert len(mine) <= 1, mine
        if f"/{name}-0/" not in touched:
            assert log.log_end_offset == world.ends[name]
        if name == "txns" and not touched.endswith(UNSEEN):
            check_aborted(log, world, found)
        go_on(log)
    assert manager.close(5)


def check_aborted(log: UnifiedLog, world: World, found: dict[int, bytes]) -> None:
    """A record of an aborted transaction that can be read is still known as one."""
    known = {(one.first_offset, one.last_offset) for one in collect_aborted(log, 0, 10_000)}
    for one in world.aborted:
        if one.first_offset in found and one.last_offset in found:
            assert (one.first_offset, one.last_offset) in known, one


def go_on(log: UnifiedLog) -> None:
    """It takes and gives records."""
    end = log.log_end_offset
    sent = batch(b"after", timestamp=NOW_MS + 1000)
    assert log.append_as_leader(sent, 9, NOW_MS + 1000).error is ErrorCode.NONE
    log.update_high_watermark(log.log_end_offset)
    assert log.read(end, 1000).size > 0


@pytest.mark.long(sample=10)
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
@pytest.mark.parametrize("name", DAMAGE_NAMES)
def test_damage_costs_its_partition_at_most(name: str, clean: bool) -> None:
    world = WORLDS[clean]
    for path in FILES[clean]:
        filesystem = world.filesystem.clone()
        if not damage(filesystem, path, name, world.earlier):
            continue
        try:
            check(filesystem, world, f"{path} {name}")
        except BaseException as error:
            error.add_note(f"{path}: {name}")
            raise


def of(number: int) -> Callable[[list[bytes]], bytes]:
    return lambda segments: segments[number]


def garbage(_: list[bytes]) -> bytes:
    return b"\xa5" * 400


LEFTOVERS: dict[str, Callable[[list[bytes]], bytes]] = {
    f"{18:020d}.log.swap": garbage,  # Kafka: no start, "Found record size -1515870811"
    f"{18:020d}.index.swap": garbage,
    f"{18:020d}.timeindex.swap": garbage,
    f"{18:020d}.log.cleaned": garbage,
    f"{18:020d}.index.cleaned": garbage,
    f"{18:020d}.log.deleted": of(1),
    f"{18:020d}.txnindex.deleted": garbage,
    f"{18:020d}.snapshot.tmp": garbage,
    f"{18:020d}.log.tmp": garbage,
    "leader-epoch-checkpoint.tmp": garbage,
    f"{500:020d}.index": garbage,
    f"{500:020d}.snapshot": garbage,
    f"{18:020d}.txnindex": garbage,
    "18.log": of(1),  # not the name of a segment
    "-1.log": of(1),
    "\u0663.log": garbage,  # a digit to Python
    f"{2**63:020d}.log": of(1),  # an offset that there is not
    f"{18:020d}.LOG": garbage,
    "x.snapshot": garbage,
    "core.1234": garbage,
    "x.log.swap": garbage,
}


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
@pytest.mark.parametrize("name", LEFTOVERS)
def test_what_else_lies_in_a_folder_costs_nothing(name: str, clean: bool) -> None:
    world = WORLDS[clean]
    filesystem = world.filesystem.clone()
    segments = [
        data
        for path, data in filesystem.files()
        if path.startswith("/data/plain-0/") and path.endswith(".log")
    ]
    path = f"/data/plain-0/{name}"
    filesystem.replace_atomically(path, LEFTOVERS[name](segments))
    check(filesystem, world, "nothing but what is left")
