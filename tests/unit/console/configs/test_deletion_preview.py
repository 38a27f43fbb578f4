"""What retention deletes is said before a config is changed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from console.configs.deletion_preview import Share, deletion_warnings, in_words
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from tests.unit.client.scripted import ScriptedCluster, offsets_of, topic_of
from tests.unit.client.topic_answers import sizes

NOW_MS = 100_000


def warnings(
    values: dict[str, str],
    policy: str = "delete",
    removed: Collection[str] = (),
    **answers: Any,
) -> list[str]:
    config = DescribeConfigsResourceResult("cleanup.policy", policy)
    known = {
        "ListOffsetsRequest": offsets_of,
        "DescribeLogDirsRequest": sizes,
        "DescribeConfigsRequest": DescribeConfigsResponse(
            results=[DescribeConfigsResult(0, None, 2, "t", [config])]
        ),
    }
    cluster = ScriptedCluster([topic_of("t")], known | answers)
    return deletion_warnings(cluster, "t", values, NOW_MS, removed)


def test_all_older_records_are_counted() -> None:
    def offsets(request: Any) -> Any:
        answer = offsets_of(request)
        if request.topics[0].partitions[0].timestamp == NOW_MS - 1:
            answer.topics[0].partitions[0].offset = -1
        return answer

    assert warnings({"retention.ms": "1"}, ListOffsetsRequest=offsets) == [
        "Everything is deleted: up to 7 of 7 records."
    ]


def test_bytes_above_the_limit_are_counted() -> None:
    (said,) = warnings({"retention.bytes": "1"})
    assert said.startswith("Nearly everything is deleted: up to ")
    assert said.endswith("bytes.")
    assert warnings({"retention.bytes": "1000000"}) == []


@pytest.mark.parametrize(
    "values", [{"retention.ms": "-1"}, {"retention.ms": "x"}, {"segment.bytes": "1"}, {}]
)
def test_nothing_is_said_of_other_changes(values: dict[str, str]) -> None:
    assert warnings(values) == []


@pytest.mark.parametrize(
    ("inherited", "is_deleted"),
    [
        (("log.retention.hours", "1", 4), False),
        (("log.retention.hours", "0", 4), True),
        (("log.retention.ms", "1", 5), True),
        (("retention.ms", "1", 1), False),
    ],
)
def test_a_reset_is_previewed_with_the_value_that_the_topic_inherits(
    inherited: tuple[str, str, int], is_deleted: bool
) -> None:
    def offsets(request: Any) -> Any:
        answer = offsets_of(request)
        if request.topics[0].partitions[0].timestamp >= 0:
            late = request.topics[0].partitions[0].timestamp >= NOW_MS - 1
            answer.topics[0].partitions[0].offset = -1 if late else 3
        return answer

    name, value, source = inherited
    synonyms = [
        DescribeConfigsSynonym("retention.ms", "86400000", 1),
        DescribeConfigsSynonym(name, value, source),
    ]
    retention = DescribeConfigsResourceResult("retention.ms", "86400000", synonyms=synonyms)
    policy = DescribeConfigsResourceResult("cleanup.policy", "delete")

    def configs(request: Any) -> Any:
        asked = request.resources[0].configuration_keys
        found = [one for one in (retention, policy) if one.name in asked]
        return DescribeConfigsResponse(results=[DescribeConfigsResult(0, None, 2, "t", found)])

    answers = {"ListOffsetsRequest": offsets, "DescribeConfigsRequest": configs}
    said = warnings({}, removed=["retention.ms"], **answers)
    assert bool(said) == is_deleted


def test_a_topic_that_is_only_compacted_deletes_nothing() -> None:
    assert warnings({"retention.bytes": "1"}, policy="compact") == []
    assert warnings({"retention.bytes": "1", "cleanup.policy": "compact"}) == []
    assert warnings({"retention.bytes": "1", "cleanup.policy": "delete"}, policy="compact") != []


def test_without_the_right_the_reason_is_said() -> None:
    def rejected(request: Any) -> Any:
        return offsets_of(request, 29)

    (said,) = warnings({"retention.ms": "1"}, ListOffsetsRequest=rejected)
    assert said.startswith("How much retention then deletes is not known: t-0: ")


@pytest.mark.parametrize(
    ("deleted", "held", "words"),
    [
        (0, 10, ""),
        (4, 10, "Retention then deletes up to 4 of 10 records."),
        (9, 10, "Nearly everything is deleted: up to 9 of 10 records."),
        (1, 1, "Everything is deleted: up to 1 of 1 record."),
    ],
)
def test_words(deleted: int, held: int, words: str) -> None:
    assert in_words(Share(deleted, held), "record", "records") == words
