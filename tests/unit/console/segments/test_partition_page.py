"""One partition as the page draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from console.segments.disk import Disk
from console.segments.files.partition_files import partition_files
from console.segments.partition_page import partition_shown, seen_segments
from console.segments.rights import SegmentRights
from console.segments.segment_facts import SegmentReader
from console.segments.topic_rules import Rules
from ground.topic_partition import TopicPartition
from storage.log.checkpoints import encode_leader_epochs, encode_offsets
from storage.log_config import LogConfig
from tests.unit.console.one_console import plain
from tests.unit.console.segments.segments_fixture import (
    EVERYTHING,
    SayingCluster,
    batches,
    log_directory,
)


def page(path: Path, config: LogConfig | None, now: int = 3000) -> Any:
    disk = Disk([str(path)], SegmentRights(SayingCluster({"t": EVERYTHING}).taken))
    folder, _, _ = disk.find("t", 0, None, to_read=False)
    listing = partition_files(disk.files, folder.path)
    rules = Rules(config, why_not=None if config else "not for you")
    return plain(partition_shown(disk, SegmentReader(disk.files), folder, listing, rules, now))


def test_bars_marks_and_fates(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data", high_watermark=20)
    (path / "t-0" / "leader-epoch-checkpoint").write_bytes(encode_leader_epochs([(0, 0), (3, 9)]))
    found = page(path, LogConfig(retention_ms=2000))
    assert [(one["base"], one["end"], one["active"]) for one in found["segments"]] == [
        (0, 12, False),
        (12, 24, True),
    ]
    assert found["marks"] == {
        "logStart": 0,
        "highWatermark": 20,
        "recoveryPoint": None,
        "cleanedTo": None,
        "logEnd": 24,
        "logEndIsKnown": True,
    }
    first, last = (one["fate"] for one in found["segments"])
    assert (first["why"], first["at"], first["due"]) == ("time", 3012, False)
    assert (last["why"], last["at"]) == ("time", 4012)
    assert found["epochs"] == [{"epoch": 0, "start": 0}, {"epoch": 3, "start": 9}]
    assert found["compaction"] is None and found["size"] == sum(
        one["size"] for one in found["segments"]
    )


def test_what_is_added_is_seen_at_the_next_look(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data")
    assert page(path, LogConfig())["marks"]["logEnd"] == 24
    with (path / "t-0" / f"{12:020d}.log").open("ab") as file:
        file.write(b"".join(batches(24, 1)))
    assert page(path, LogConfig())["marks"]["logEnd"] == 27


def test_a_compacted_topic(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data")
    data = encode_offsets({TopicPartition("t", 0): 12})
    (path / "cleaner-offset-checkpoint").write_bytes(data)
    found = page(path, LogConfig(cleanup_policy=("compact",)))
    compaction = found["compaction"]
    assert compaction["firstDirty"] == 12 and compaction["dirtyBytes"] == 0
    assert compaction["records"] == compaction["offsets"] == 24
    assert compaction["isWhole"] and compaction["tombstones"] == 0
    assert [one["fate"]["why"] for one in found["segments"]] == ["never", "never"]


def test_without_configs_nothing_is_foretold(tmp_path: Path) -> None:
    found = page(log_directory(tmp_path / "data"), None)
    assert [one["fate"] for one in found["segments"]] == [None, None]
    assert found["rules"]["why"] == "not for you"


def test_a_segment_that_vanishes_meanwhile_is_left_out(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data")
    disk = Disk([str(path)], SegmentRights(SayingCluster({"t": EVERYTHING}).taken))
    listing = partition_files(disk.files, str(path / "t-0"))
    (path / "t-0" / f"{0:020d}.log").unlink()
    seen = seen_segments(disk, SegmentReader(disk.files), listing, is_compacted=False)
    assert [one.files.base_offset for one in seen] == [12]
