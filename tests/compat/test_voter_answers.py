"""The answers to changes of the quorum's voters (KIP-853), as Apache Kafka gave them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from protocol.errors import ErrorCode
from tests.golden import voter_cases
from tests.golden.voter_cases import CLIENTS, CONTROLLERS, LEADER, VoterTalk
from tests.tools.cluster_processes import OTTLA, ClusterProcesses

RECORDED = json.loads(voter_cases.RECORDED.read_text())


@pytest.fixture(scope="module")
def alone() -> Iterator[VoterTalk]:
    """A dynamic quorum of one voter."""
    with ClusterProcesses(1, peer=OTTLA, voters=[1]) as cluster:
        talk = VoterTalk(cluster)
        yield talk
        talk.close()


@pytest.mark.timeout(300)
def test_each_change_is_answered_as_kafka_answers_it() -> None:
    answers = voter_cases.conversations(OTTLA, {})
    assert list(answers) == list(RECORDED)
    differing = {
        name: (answer, RECORDED[name])
        for name, answer in answers.items()
        if answer != RECORDED[name]
    }
    assert not differing


@pytest.mark.parametrize("listener", [CLIENTS, CONTROLLERS])
def test_a_listener_without_a_name_is_another_listener(alone: VoterTalk, listener: str) -> None:
    """Kafka's process ends: a ConfigException in the thread of its quorum."""
    refused = alone.call(listener, alone.add(listeners=("",)), 1)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert "didn't include the endpoint" in refused.error_message
    assert alone.call(listener, alone.add(), 1).error_code != ErrorCode.INVALID_REQUEST


def test_a_leader_is_updated_by_a_request_too(alone: VoterTalk) -> None:
    """Kafka's process ends: its leader never expects a request from itself."""
    own, here = alone.directories[LEADER], alone.address(CONTROLLERS)
    for _ in range(2):
        answer = alone.call(CONTROLLERS, alone.update(LEADER, own, here), 0)
        assert answer.error_code == ErrorCode.NONE
