"""ShareAcknowledge, and the checks of acknowledgements that ShareFetch shares with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.apis.share_fetch.acknowledgements import RenewRules, has_fault
from broker.share.record_state import AcknowledgeType
from protocol.errors import ErrorCode
from protocol.messages.share_acknowledge import AcknowledgementBatch
from tests.clients.share_talk import ACCEPT, GAP, REJECT, RELEASE, RENEW, Batch
from tests.unit.broker.apis.share_fetch.share_fixture import ShareLeader


@pytest.fixture
def leader(tmp_path: Path) -> ShareLeader:
    leader = ShareLeader(tmp_path)
    leader.append(16)
    leader.fetch("m", 0)
    leader.told()
    return leader


def test_acknowledgements_as_kafka_recorded_them(leader: ShareLeader) -> None:
    """share_acknowledgements of the recordings; the errors have a reason where Kafka's have one."""
    requests: list[tuple[list[Batch], bool]] = [
        ([(0, 3, ACCEPT)], False),
        ([(0, 3, ACCEPT)], False),
        ([(5, 7, ACCEPT, RELEASE, REJECT)], False),
        ([(8, 9, ACCEPT, RELEASE, REJECT)], False),
        ([(9, 8, ACCEPT)], False),
        ([(8, 8, 9)], False),
        ([(90, 91, ACCEPT)], False),
        ([(8, 8, RENEW)], False),
        ([(8, 8, RENEW)], True),
        ([(9, 9, GAP)], False),
        ([(5, 5, ACCEPT)], False),
        ([(8, 8, ACCEPT), (10, 10, RELEASE)], False),
        ([(12, 13, ACCEPT), (11, 11, ACCEPT)], False),
    ]
    results = []
    for epoch, (batches, renews) in enumerate(requests, 1):
        leader.acknowledge("m", epoch, *batches, is_renew_ack=renews)
        results.append((leader.one().error_code, leader.one().error_message is not None))
    assert results == [
        (0, False),
        (0, False),
        (0, False),
        (42, False),
        (42, False),
        (42, False),
        (42, True),
        (42, False),
        (0, False),
        (0, False),
        (121, True),
        (0, False),
        (42, False),
    ]
    assert leader.answer.acquisition_lock_timeout_ms == 30_000
    leader.told()
    leader.fetch("m", 14)
    leader.fetch("m", 15, acks={0: [(6, 6, RENEW)]}, max_wait_ms=0)
    assert leader.told() == [
        "m: 0 6-6x2 10-10x2 of 0-15",
        "m: 0 not acknowledged: INVALID_REQUEST",
    ]
    assert leader.manager.metrics.acknowledged == {
        AcknowledgeType.GAP: 1,
        AcknowledgeType.ACCEPT: 10,
        AcknowledgeType.RELEASE: 2,
        AcknowledgeType.REJECT: 1,
        AcknowledgeType.RENEW: 1,
    }


@pytest.mark.parametrize(
    ("batches", "is_wrong"),
    [
        ([], False),
        ([(0, 5, ACCEPT), (5, 6, ACCEPT)], False),  # the core rejects offset 5, as in Kafka
        ([(0, 5, ACCEPT), (4, 6, ACCEPT)], True),
        ([(-2, 5, ACCEPT)], True),
        ([(5, 4, ACCEPT)], True),
        ([(0, 5)], True),
        ([(0, 2, ACCEPT, ACCEPT)], True),
        ([(0, 2, ACCEPT, GAP, REJECT)], False),
        ([(0, 0, -1)], True),
        ([(0, 0, 5)], True),
    ],
)
def test_the_faults_of_acknowledgements(batches: list[Batch], is_wrong: bool) -> None:
    requested = [AcknowledgementBatch(first, last, list(types)) for first, last, *types in batches]
    assert has_fault(requested, RenewRules(True, True)) is is_wrong


def test_renewals_need_their_version_and_their_flag() -> None:
    renewal = [AcknowledgementBatch(0, 1, [ACCEPT, RENEW])]
    faults = {
        (known, announced): has_fault(renewal, RenewRules(known, announced))
        for known in (False, True)
        for announced in (False, True)
    }
    assert [rules for rules, is_fault in faults.items() if not is_fault] == [(True, True)]


def test_version_1_knows_no_renewal(leader: ShareLeader) -> None:
    leader.version = 1
    leader.acknowledge("m", 1, (0, 0, RENEW))
    leader.fetch("m", 2, acks={0: [(0, 0, RENEW), (1, 1, ACCEPT)]}, max_wait_ms=0)
    assert leader.told() == [
        "m: 0 INVALID_REQUEST",
        "m: 0 not acknowledged: INVALID_REQUEST",
    ]


def test_a_group_may_forbid_renewals(leader: ShareLeader) -> None:
    leader.configure(**{"share.renew.acknowledge.enable": "false"})
    leader.acknowledge("m", 1, (0, 0, RENEW), is_renew_ack=True)
    assert leader.told() == ["m: 0 INVALID_RECORD_STATE"]


def test_what_cannot_be_acknowledged(leader: ShareLeader) -> None:
    leader.acknowledge("m", 1, (0, 0, ACCEPT), topic="none")
    leader.acknowledge("m", 2, (0, 0, ACCEPT), index=7)
    leader.replicas.create("u")
    leader.acknowledge("m", 3, (0, 0, ACCEPT), topic="u")
    leader.acknowledge("m", 9, (0, 0, ACCEPT))
    leader.acknowledge("other", 1, (0, 0, ACCEPT))
    assert leader.told() == [
        "m: 0 UNKNOWN_TOPIC_ID",
        "m: 7 UNKNOWN_TOPIC_OR_PARTITION",
        "m: 0 UNKNOWN_TOPIC_OR_PARTITION",
        "m: INVALID_SHARE_SESSION_EPOCH",
        "other: SHARE_SESSION_NOT_FOUND",
    ]
    counts = leader.replicas.manager.metrics.topic("u")
    assert counts.total_share_acknowledgement_requests == 1
    assert counts.failed_share_acknowledgement_requests == 1


def test_the_answer_comes_after_the_write(leader: ShareLeader) -> None:
    leader.coordinator.held = []
    leader.acknowledge("m", 1, (0, 3, ACCEPT))
    assert leader.told() == [] and len(leader.coordinator.held) == 1
    leader.coordinator.go_on()
    assert leader.told() == ["m: 0"]
    assert [tuple(write.batches) for write in leader.coordinator.writes] == [((0, 3, 2, 1),)]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "COORDINATOR_NOT_AVAILABLE"),
        (ErrorCode.INVALID_REQUEST, "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_a_write_that_fails_changes_nothing(
    leader: ShareLeader, error: ErrorCode, told: str
) -> None:
    leader.coordinator.errors = [error]
    leader.acknowledge("m", 1, (0, 15, ACCEPT))
    assert leader.one().error_message == "as the test says"
    leader.acknowledge("m", 2, (0, 15, ACCEPT))
    assert leader.told() == [f"m: 0 {told}", "m: 0"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.FENCED_STATE_EPOCH, "NOT_LEADER_OR_FOLLOWER"),
        (ErrorCode.FENCED_LEADER_EPOCH, "NOT_LEADER_OR_FOLLOWER"),
        (ErrorCode.GROUP_ID_NOT_FOUND, "GROUP_ID_NOT_FOUND"),
    ],
)
def test_a_fenced_write_ends_the_share_partition(
    leader: ShareLeader, error: ErrorCode, told: str
) -> None:
    leader.coordinator.errors = [error]
    leader.acknowledge("m", 1, (0, 15, ACCEPT))
    assert leader.told() == [f"m: 0 {told}"]
    if told == "NOT_LEADER_OR_FOLLOWER":
        assert leader.one().current_leader.leader_id == 1
        assert [node.node_id for node in leader.answer.node_endpoints] == [1]
    assert leader.manager.partitions.keys() == []
    leader.fetch("m", 2)
    assert leader.told() == ["m: 0 0-15 of 0-15"], "loaded again"


def test_a_failed_release_expires_with_its_lock(leader: ShareLeader) -> None:
    leader.coordinator.errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    leader.fetch("m", -1)
    leader.fetch("n", 0, max_wait_ms=0)
    leader.scheduler.run_for(30_100)
    leader.fetch("n", 1)
    assert leader.told() == ["m: nothing", "n: 0", "n: 0 0-15x2 of 0-15"]


def test_a_load_that_fails_is_tried_again_by_the_next_fetch(tmp_path: Path) -> None:
    leader = ShareLeader(tmp_path, partitions=2)
    leader.append(1)
    leader.append(1, index=1)
    leader.coordinator.errors = [ErrorCode.INVALID_REQUEST]
    leader.fetch("m", 0)
    assert leader.one().error_message == "as the test says"
    leader.fetch("m", 1)
    leader.coordinator.errors = [ErrorCode.NOT_COORDINATOR]
    leader.fetch("m", 2, [1], max_wait_ms=0)
    leader.fetch("m", 3)
    assert leader.told() == [
        "m: 0 UNKNOWN_SERVER_ERROR",
        "m: 0 0-0 of 0-0",
        "m: 1 COORDINATOR_NOT_AVAILABLE",
        "m: 1 0-0 of 0-0",
    ]
    counts = leader.replicas.manager.metrics.topic("t")
    assert (counts.total_share_fetch_requests, counts.failed_share_fetch_requests) == (4, 2)


def test_a_fetch_waits_for_a_load_that_fails_later(tmp_path: Path) -> None:
    leader = ShareLeader(tmp_path)
    leader.coordinator.held = []
    leader.coordinator.errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    leader.fetch("m", 0)
    leader.coordinator.go_on()
    assert leader.told() == []
    leader.scheduler.run_for(500)
    assert leader.told() == ["m: 0 COORDINATOR_NOT_AVAILABLE"]


def test_a_restarted_leader_goes_on_with_what_was_written(leader: ShareLeader) -> None:
    leader.acknowledge("m", 1, (0, 3, ACCEPT), (5, 5, RELEASE), (8, 8, ACCEPT))
    leader.manager.connection_closed("m")
    assert leader.manager.partitions.keys() == []
    leader.fetch("n", 0)
    assert leader.told() == ["m: 0", "n: 0 4-7x2 9-15x2 of 0-15"]
