"""The replicas of every partition on disk, after all nodes have stopped: are they one log?

Walks the segments of each node's data folder, batch by batch with its CRC, and compares what lies
below the last high watermark that all of them know. Also reads node logs for what should not be
there. Knows Kafka's format only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from protocol.record_batch import crc_of, iterate_batches
from tests.chaos.checker import Anomaly

_PARTITION = re.compile(r"(.+-\d+)$")
_WRONG = re.compile(r"^Traceback|AssertionError|\bERROR\b|\bCRITICAL\b", re.MULTILINE)
_FINE = re.compile(
    # What a stock JVM says at every start and stop.
    r"Unable to register|already registered"
)


class Batch(NamedTuple):
    """One batch as it lies on disk."""

    base_offset: int
    next_offset: int
    epoch: int
    digest: str
    whole: bool
    """Whether its CRC holds."""


def batches_of(folder: Path) -> list[Batch]:
    """All batches of a partition's folder; a tail that is cut off is left out."""
    found = []
    for segment in sorted(folder.glob("*.log")):
        data = segment.read_bytes()
        for pos, header in iterate_batches(data, allow_partial_tail=True):
            size = header.size_in_bytes
            found.append(
                Batch(
                    header.base_offset,
                    header.next_offset,
                    header.partition_leader_epoch,
                    hashlib.sha1(data[pos : pos + size]).hexdigest()[:16],
                    crc_of(data, pos, size) == header.crc,
                )
            )
    return found


def high_watermarks(data_dir: Path) -> dict[str, int]:
    """What `replication-offset-checkpoint` of a data folder says."""
    path = data_dir / "replication-offset-checkpoint"
    if not path.exists():
        return {}
    lines = path.read_text().splitlines()[2:]
    return {
        f"{topic}-{partition}": int(offset)
        for topic, partition, offset in (line.split(" ") for line in lines if line)
    }


def compare(folders: dict[int, Path]) -> tuple[list[Anomaly], int]:
    """What is wrong with the replicas of these data folders, and how many batches were compared."""
    marks = {node: high_watermarks(folder) for node, folder in folders.items()}
    keys = sorted(
        {
            path.name
            for folder in folders.values()
            for path in folder.iterdir()
            if path.is_dir()
            and _PARTITION.match(path.name)
            and "__cluster_metadata" not in path.name
        }
    )
    anomalies, compared = [], 0
    for key in keys:
        held = {node: folder / key for node, folder in folders.items() if (folder / key).is_dir()}
        logs = {node: batches_of(folder) for node, folder in held.items()}
        for node, log in logs.items():
            anomalies += _alone(key, node, log)
        limit = min((marks[node].get(key, 0) for node in logs), default=0)
        found, count = _together(key, logs, limit)
        anomalies += found
        compared += count
    return anomalies, compared


def _alone(key: str, node: int, log: list[Batch]) -> Iterator[Anomaly]:
    """One replica in itself: CRCs, epochs that do not go back, no gap."""
    for batch in log:
        if not batch.whole:
            yield Anomaly("corrupt-replica", f"{key} of node {node}: {batch}")
    for before, after in zip(log, log[1:], strict=False):
        if after.epoch < before.epoch:
            yield Anomaly("replica-epoch-back", f"{key} of node {node}: {before}, {after}")
        if after.base_offset != before.next_offset:
            yield Anomaly("replica-gap", f"{key} of node {node}: {before}, {after}")


def _together(key: str, logs: dict[int, list[Batch]], limit: int) -> tuple[list[Anomaly], int]:
    """All replicas of a partition below `limit`, from where the last of them begins."""
    start = max((log[0].base_offset for log in logs.values() if log), default=0)
    cut = {
        node: [b for b in log if b.base_offset >= start and b.next_offset <= limit]
        for node, log in logs.items()
    }
    if not cut:
        return [], 0
    first = min(cut)
    anomalies = []
    for node, log in cut.items():
        if log == cut[first]:
            continue
        pairs = zip(cut[first], log, strict=False)
        differ = next((pair for pair in pairs if pair[0] != pair[1]), None)
        what = f"lengths {len(cut[first])}, {len(log)}" if differ is None else f"{differ}"
        anomalies.append(
            Anomaly("replicas-differ", f"{key} of nodes {first} and {node} below {limit}: {what}")
        )
    return anomalies, sum(map(len, cut.values()))


def logged_faults(text: str) -> list[str]:
    """Lines of a node's log that tell of a bug: stack traces, assertions, errors."""
    lines = text.splitlines()
    return [
        "\n".join(lines[number : number + 12])
        for number, line in enumerate(lines)
        if _WRONG.search(line) and not _FINE.search(line)
    ]
