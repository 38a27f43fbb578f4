"""One segment opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.segments.disk import NoSuchFolder
from console.segments.segment_facts import SegmentReader
from console.segments.segment_page import (
    aborted,
    batch_at,
    batch_opened,
    batches_page,
    bytes_named,
    index_page,
    look_up,
    opened,
    snapshot,
)
from log_format.files import Files
from log_format.segment_names import TIME_INDEX_SUFFIX
from log_format.transaction_index import AbortedTxn, encode_transactions
from storage.log.producer_snapshot import encode_snapshot
from storage.log.producer_state import ProducerStateEntry
from tests.unit.console.one_console import plain
from tests.unit.console.segments.segments_fixture import batches, write_segment

FILES = Files()
READER = SegmentReader(FILES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "t-0"
    write_segment(made, 0, batches(0, 10))
    return made


def test_pages_of_batches(folder: Path) -> None:
    with opened(FILES, READER, str(folder), 0) as source:
        found: Any = plain(batches_page(source, 0, 4))
        size = found["batches"][1]["position"]
        assert [one["baseOffset"] for one in found["batches"]] == [0, 3, 6, 9]
        assert (found["next"], found["previous"]) == (4 * size, None)
        assert found["batches"][0]["isvalid"] and found["batches"][0]["maxTimestamp"] == 1002
        last: Any = plain(batches_page(source, -1, 4))
        assert [one["baseOffset"] for one in last["batches"]] == [18, 21, 24, 27]
        assert (last["next"], last["previous"], last["at"]) == (None, 2 * size, 6 * size)
        beyond: Any = plain(batches_page(source, 10**6, 4))
        assert beyond["batches"] == []


def test_a_batch_its_records_and_bytes(folder: Path) -> None:
    with opened(FILES, READER, str(folder), 0) as source:
        found: Any = plain(batch_opened(source, 1, 1, 5))
        assert found["batch"]["position"] == 0 and found["codec"] == "none"
        assert [one["offset"] for one in found["records"]] == [1, 2]
        header: Any = plain(bytes_named(source, 0, -1, 0))
        record: Any = plain(bytes_named(source, 0, 2, 0))
        assert (header["what"], record["what"], record["offset"]) == ("header", "record", 2)
        with pytest.raises(NoSuchFolder, match="no batch at byte"):
            batch_at(source, 10**6)


def test_the_clusters_own_records_are_decoded_by_the_folders_name(tmp_path: Path) -> None:
    from broker.groups.group_records import offset_commit_record
    from protocol.messages.group_records import OffsetCommitValue
    from protocol.records import Record
    from tests.batches import build_batch

    key, value = offset_commit_record("g", "t", 0, OffsetCommitValue(offset=7))
    folder = tmp_path / "__consumer_offsets-3"
    write_segment(folder, 0, [build_batch([Record(-1, 1, key, value)])])
    with opened(FILES, READER, str(folder), 0) as source:
        found: Any = plain(batch_opened(source, 0, 0, 5))
    assert found["records"][0]["value"]["json"]["data"]["offset"] == 7


def test_indexes_and_look_ups(folder: Path) -> None:
    with opened(FILES, READER, str(folder), 0) as source:
        found: Any = plain(index_page(READER, source, TIME_INDEX_SUFFIX, 1, 2))
        assert found["entries"] == [[1, 1011, 11], [2, 1017, 17]]
        assert (found["count"], found["entryBytes"]) == (5, 12)
        of_offset: Any = plain(look_up(READER, source, 13, None))
        assert of_offset["ofOffset"]["entry"][1] == 11 and of_offset["batch"]["baseOffset"] == 12
        assert of_offset["exact"] and of_offset["ofTime"] is None
        assert "producerId" not in of_offset["batch"]
        of_time: Any = plain(look_up(READER, source, None, 1013))
        assert of_time["ofTime"]["entry"] == [1, 1011, 11]
        assert of_time["batch"]["baseOffset"] == 12


def test_a_segment_that_is_gone_is_one_line(folder: Path) -> None:
    with pytest.raises(NoSuchFolder, match="00000005 is gone"):  # noqa: SIM117
        with opened(FILES, READER, str(folder), 5):
            pass
    with pytest.raises(NoSuchFolder, match="is gone"):  # noqa: SIM117
        with opened(FILES, READER, str(folder.parent / "none-0"), 0):
            pass


def test_aborted_transactions_and_producers(folder: Path) -> None:
    with opened(FILES, READER, str(folder), 0) as source:
        assert plain(aborted(FILES, source)) == []
    (folder / f"{0:020d}.txnindex").write_bytes(encode_transactions([AbortedTxn(7, 1, 5, 1)]))
    with opened(FILES, READER, str(folder), 0) as source:
        found = plain(aborted(FILES, source))
    assert found is not None and found[0]["producerId"] == 7 and found[0]["lastOffset"] == 5
    path = folder / f"{12:020d}.snapshot"
    path.write_bytes(encode_snapshot([ProducerStateEntry(9)]))
    shown: Any = plain(snapshot(FILES, str(folder), 12))
    assert shown["count"] == 1 and shown["producers"][0]["producerId"] == 9
    path.write_bytes(b"x")
    assert "valid checksum" in str(plain(snapshot(FILES, str(folder), 12))["damage"])
    with pytest.raises(NoSuchFolder, match="no snapshot"):
        plain(snapshot(FILES, str(folder), 13))
