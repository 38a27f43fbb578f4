"""A sample of `make differential` on both brokers, and that it finds what it should find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.differential.campaign import Campaign
from tests.differential.generate import Versions, random_sequences
from tests.differential.grids import all_grids
from tests.differential.pair import Pair, both_brokers
from tests.differential.sequence import Sequence, Step
from tests.differential.served import versions_of

SEED = 33
SEQUENCES = 40
ONE_IN = 130

pytestmark = [pytest.mark.java, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with both_brokers() as running:
        yield running


@pytest.fixture(scope="module")
def versions(pair: Pair) -> Versions:
    return versions_of(pair)


def told(campaign: Campaign) -> list[str]:
    return [str(finding) for finding in campaign.report.findings.values()]


def test_random_sequences_differ_in_nothing_but_rows(pair: Pair, versions: Versions) -> None:
    campaign = Campaign(pair)
    campaign.run(random_sequences(SEED, range(SEQUENCES), 30, versions))
    assert told(campaign) == []


def test_a_part_of_the_grids_differs_in_nothing_but_rows(pair: Pair, versions: Versions) -> None:
    campaign = Campaign(pair)
    campaign.run(all_grids(versions, every=ONE_IN))
    assert told(campaign) == []


def test_a_changed_answer_is_found_and_its_sequence_made_short(
    pair: Pair, versions: Versions
) -> None:
    """One offset is wrong as soon as there are three records."""

    def spoil(step: Step, answer: Any) -> Any:
        if step.api == "OFFSET_FOR_LEADER_EPOCH":
            for topic in answer["topics"]:
                for part in topic["partitions"]:
                    part["end_offset"] += part["end_offset"] >= 3
        return answer

    campaign = Campaign(pair, spoil=spoil, runs_max=40)
    campaign.run([_long_sequence(versions)])
    [finding] = campaign.report.findings.values()
    assert finding.found.difference.place == "topics[].partitions[].end_offset"
    made, filled = finding.sequence.steps
    assert made.api in ("CREATE_TOPICS", "METADATA"), "either makes the topic"
    assert filled.api == "PRODUCE"


def _long_sequence(versions: Versions) -> Sequence:
    create = {"name": "~t0", "num_partitions": 2, "replication_factor": 1}
    records = {"$records": [{"n": 3}]}
    data = [{"index": 1, "records": records}]
    steps = [Step("CREATE_TOPICS", 5, {"topics": [create], "timeout_ms": 30_000})]
    for number in range(8):
        steps.append(Step("METADATA", 5, {"topics": [{"name": "~t0"}]}))
        if number == 4:
            body = {"acks": -1, "topic_data": [{"name": "~t0", "partition_data": data}]}
            steps.append(Step("PRODUCE", 9, body))
    return Sequence("long", steps)
