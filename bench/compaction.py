"""`python -m bench.compaction`: the speed of compaction, in the worker process alone.

Writes a folder of uncompressed 1 KiB records with random keys, passes it to
`storage.cleaning.cleaner_worker` as the broker does, and prints megabytes of log per second. The
time is that of the whole round: start of the process, both passes, fsync of the new segments.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from protocol.records import Record
from storage.cleaning.cleaner_job import CleanJob, encode_job
from tests.batches import build_batch

BATCH_RECORDS = 60
NOW_MS = 1_700_000_000_000


def write_segment(folder: Path, base_offset: int, size: int, value_bytes: int, keys: int) -> int:
    """Write a segment of about `size` bytes and return the offset after it."""
    offset = base_offset
    with (folder / f"{base_offset:020d}.log").open("wb") as file:
        while file.tell() < size:
            values = os.urandom(value_bytes * BATCH_RECORDS)
            records = [
                Record(
                    -1,
                    NOW_MS + offset,
                    b"key-%010d" % (int.from_bytes(os.urandom(4), "big") % keys),
                    values[at : at + value_bytes],
                )
                for at in range(0, len(values), value_bytes)
            ]
            file.write(build_batch(records, base_offset=offset, leader_epoch=0))
            offset += BATCH_RECORDS
    for suffix in (".index", ".timeindex"):
        (folder / f"{base_offset:020d}{suffix}").touch()
    return offset


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compaction", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--value-bytes", type=int, default=1024)
    parser.add_argument("--keys", type=int, default=100_000, help="different keys")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to write; a temporary folder otherwise")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-compaction-", dir=options.folder))
    try:
        segment_bytes, offset, segments = 128 << 20, 0, []
        for _ in range(max(options.megabytes >> 7, 1)):
            after = write_segment(folder, offset, segment_bytes, options.value_bytes, options.keys)
            segments.append((offset, (folder / f"{offset:020d}.log").stat().st_size))
            offset = after
        for number in range(options.rounds):
            measure(folder, segments, offset, number)
    finally:
        shutil.rmtree(folder)
    return 0


def measure(folder: Path, segments: list[tuple[int, int]], end: int, number: int) -> None:
    """Run one round and print a line about it."""
    job = CleanJob(
        directory=str(folder),
        segments=tuple(segments),
        later_segments=(),
        first_dirty_offset=0,
        first_uncleanable_offset=end,
        now_ms=NOW_MS,
        delete_retention_ms=86_400_000,
        segment_bytes=1 << 30,
        index_bytes_max=10 << 20,
        index_interval_bytes=4096,
        dedupe_bytes=134_217_728,
        load_factor=0.9,
        io_buffer_bytes=524_288,
        io_bytes_per_second=1e308,
    )
    cpu, began = _children_cpu_s(), time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "storage.cleaning.cleaner_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        worker.stdin.write(encode_job(job).encode() + b"\n")
        worker.stdin.flush()
        fields = json.loads(worker.stdout.readline())
        spent = time.perf_counter() - began
    cpu = _children_cpu_s() - cpu
    result = json.loads(fields["result"])
    size = sum(size for _, size in segments)
    print(
        f"round {number + 1}: {size / 1e6:.0f} MB, {result['records_read']} records, "
        f"{result['keys']} keys, {result['records_kept']} stay: {spent:.2f} s, "
        f"{size / 1e6 / spent:.0f} MB/s; {cpu:.2f} s of CPU, {size / 1e6 / cpu:.0f} MB a second"
    )


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    raise SystemExit(main())
