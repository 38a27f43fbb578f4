"""Windows give their records and no others, and damage is one line that says how to go on."""

from __future__ import annotations

from typing import Any

import pytest

from client.place_offsets import Span
from client.refusals import Refused
from console.messages.shown import BytesShown, record_shown
from console.messages.windows import read_windows
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from tests.unit.client.records.batches import packed
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode, topic_of


def answer(*batches: bytes) -> FetchResponse:
    data = PartitionData(0, 0, 100, 100, records=memoryview(b"".join(batches)))
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=[data])])


def cluster_with(*answers: Any) -> ScriptedCluster:
    return ScriptedCluster([topic_of("t")], {}, {1: ScriptedNode(answers)})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from client.records import reading

    monkeypatch.setattr(reading, "wait_for_answers", lambda clients, _: clients)


def test_the_records_of_a_window() -> None:
    cluster = cluster_with(answer(packed([b"0", b"1", b"2"]), packed([b"3"], 3)))
    found = read_windows(cluster, "t", {0: Span(1, 3)}, 0, record_shown)
    assert [(one.partition, one.offset, one.timestamp, one.size) for one in found] == [
        (0, 1, 1001, 1),
        (0, 2, 1002, 1),
    ]
    assert found[0].shown.value == BytesShown(1, "1")


def test_a_window_of_nothing_asks_nobody() -> None:
    cluster = cluster_with()
    assert read_windows(cluster, "t", {0: Span(3, 3)}, 0, record_shown) == []
    assert cluster.asked == []


def test_damage_is_said_in_one_line() -> None:
    broken = bytearray(packed([b"0", b"1"]))
    broken[-2] ^= 1
    with pytest.raises(
        Refused, match="the batch at 0 is damaged: choose an offset after this batch"
    ):
        read_windows(cluster_with(answer(bytes(broken))), "t", {0: Span(0, 2)}, 0, record_shown)
