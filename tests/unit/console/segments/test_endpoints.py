"""What the page asks, and what it is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from client.refusals import Refused
from console.endpoints import Ask, BadAsk, Console, NotHere
from console.segments.endpoints import ENDPOINTS
from tests.unit.console.one_console import plain
from tests.unit.console.segments.segments_fixture import (
    DESCRIBE,
    EVERYTHING,
    SayingCluster,
    console,
    log_directory,
)

_AT = {"topic": "t", "partition": "0", "base": "12"}
_OF_ONE = "/api/segments/{topic}/{partition}"
READING = ("batches", "batch", "bytes", "aborted")
DESCRIBING = ("index", "lookup")
QUERY = {"at": "0", "kind": "offsets", "offset": "13"}


def answer(one: Console, path: str, **values: str) -> Any:
    endpoint = next(each for each in ENDPOINTS if each.path == path)
    assert endpoint.answer is not None and not endpoint.writes
    return plain(endpoint.answer(one, Ask(values)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return log_directory(tmp_path / "data", high_watermark=24)


def test_the_list(path: Path) -> None:
    one = console(SayingCluster({"t": DESCRIBE}), path)
    found = answer(one, "/api/segments")
    assert found["local"] and found["count"] == 1 and found["segments"] == 2
    assert found["partitions"][0]["topic"] == "t" and found["directories"][0]["node"] == 1
    assert answer(one, "/api/segments", search="none")["partitions"] == []
    assert answer(one, "/api/segments", search="T-0")["count"] == 1


def test_without_local_files_the_page_is_told_why() -> None:
    found = answer(console(SayingCluster({})), "/api/segments")
    assert found["local"] is False and "--data PATH" in found["why"]


def test_a_partition_and_a_segment(path: Path) -> None:
    one = console(SayingCluster({"t": EVERYTHING}, configs={"retention.ms": "1"}), path)
    found = answer(one, _OF_ONE, topic="t", partition="0")
    assert found["canRead"] and [each["fate"]["due"] for each in found["segments"]] == [True, True]
    assert found["rules"]["checkInterval"] == 7000
    segment = answer(one, f"{_OF_ONE}/{{base}}", **_AT)
    assert segment["scan"]["records"] == 12 and segment["active"]
    for name in (*READING, *DESCRIBING):
        assert answer(one, f"{_OF_ONE}/{{base}}/{name}", **_AT, **QUERY)


def test_who_may_only_describe_sees_no_batch_and_no_byte(path: Path) -> None:
    one = console(SayingCluster({"t": DESCRIBE}), path)
    assert not answer(one, _OF_ONE, topic="t", partition="0")["canRead"]
    answer(one, f"{_OF_ONE}/{{base}}", **_AT)
    for name in DESCRIBING:
        answer(one, f"{_OF_ONE}/{{base}}/{name}", **_AT, **QUERY)
    for name in READING:
        with pytest.raises(Refused, match="needs Read"):
            answer(one, f"{_OF_ONE}/{{base}}/{name}", **_AT, **QUERY)
    with pytest.raises(Refused, match="needs Read"):
        answer(one, f"{_OF_ONE}/snapshot", topic="t", partition="0", offset="1")


def test_who_may_not_describe_is_told_the_same_as_of_no_topic(path: Path) -> None:
    one = console(SayingCluster({"t": 0}), path)
    said = []
    for topic in ("t", "u"):
        for endpoint in ENDPOINTS[1:]:
            with pytest.raises(Refused) as error:
                answer(one, endpoint.path, **{**_AT, **QUERY, "topic": topic})
            said.append(str(error.value).replace(f" {topic} ", " "))
    assert len(dict.fromkeys(said)) == 1
    assert answer(one, "/api/segments")["partitions"] == []


def test_what_is_not_there_is_not_here(path: Path) -> None:
    one = console(SayingCluster({"t": EVERYTHING}), path)
    with pytest.raises(NotHere, match="is gone"):
        answer(one, f"{_OF_ONE}/{{base}}/batches", **{**_AT, "base": "5"})
    with pytest.raises(NotHere, match="is gone"):
        answer(one, f"{_OF_ONE}/{{base}}", **{**_AT, "base": "5"})
    with pytest.raises(NotHere, match="no folder"):
        answer(one, _OF_ONE, topic="t", partition="7")
    with pytest.raises(NotHere, match="no snapshot"):
        answer(one, f"{_OF_ONE}/snapshot", topic="t", partition="0", offset="1")


def test_what_cannot_be_asked_is_told(path: Path) -> None:
    one = console(SayingCluster({"t": EVERYTHING}), path)
    with pytest.raises(BadAsk, match="offsets or times, not 'x'"):
        answer(one, f"{_OF_ONE}/{{base}}/index", **_AT, kind="x")
    with pytest.raises(BadAsk, match="at is -2"):
        answer(one, f"{_OF_ONE}/{{base}}/batches", **_AT, at="-2")
    with pytest.raises(BadAsk, match="damaged: the batch has no record number 9"):
        answer(one, f"{_OF_ONE}/{{base}}/bytes", **_AT, at="0", record="9")
