"""A data folder that Apache Kafka wrote, read without it: what consumers were given of it then."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from log_format.files import Files
from log_format.partitions.partition_reader import read_part
from log_format.records.segment_pieces import crc32c_function
from log_format.survey import parts, read_options, survey
from tests.compat.folder_corpus import TOPICS
from tests.golden.folder_record import ARCHIVE, ROWS, text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(path, filter="data")
    return path


def rows_of(folder: Path, **options: str) -> list[list[Any]]:
    named = {key.replace("_", "."): value for key, value in options.items()}
    wanted = read_options({"path": str(folder), **named})
    return [
        [
            *(row["topic"], row["partition"], row["offset"], text(row["key"]), text(row["value"])),
            *(round(row["timestamp"].timestamp() * 1000), row["timestampType"]),
            [[one["key"], text(one["value"])] for one in row["headers"] or []],
        ]
        for part in parts(survey(Files(), wanted), wanted)
        for batch in read_part(Files(), part, crc32c_function())
        for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_every_row_that_consumers_were_given_and_no_other(folder: Path, level: str) -> None:
    wanted = json.loads((folder / ROWS).read_text())[level]
    assert {row[0] for row in wanted} == set(TOPICS)
    assert rows_of(folder, isolation_level=level) == wanted
    assert rows_of(folder, isolation_level=level, maxPartitionBytes="1500") == wanted


def test_nothing_was_amiss(folder: Path) -> None:
    found = survey(Files(), read_options({"path": str(folder)}))
    assert [one.notes for one in found] == [()] * 4
    assert all(one.log.topic_id and one.cluster_id for one in found)
    assert sum(len(one.log.segments) for one in found) > 20
    assert sum(len(one.log.aborted) for one in found) > 8
    assert [one.log.end - one.log.stable_end > 0 for one in found] == [False, False, True, False]


@pytest.mark.parametrize("suffix", ["index", "timeindex", "snapshot"])
def test_the_same_without_some_of_the_files(folder: Path, tmp_path: Path, suffix: str) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(f"*.{suffix}"))
    wanted = json.loads((folder / ROWS).read_text())["read_committed"]
    assert rows_of(copy) == wanted
