"""Members of the classic protocol in a consumer group: refusals, and when they hear what."""

from __future__ import annotations

from typing import Any

import pytest

from broker.groups.classic.joining import Joining
from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode
from protocol.messages.consumer_protocol import ConsumerProtocolSubscriptionTopicPartition
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.sync_group import SyncGroupRequest
from tests.unit.broker.groups.consumer.stage import GROUP, Stage, T, beat, subscribed, whole
from tests.unit.broker.groups.consumer.stage import joining as coming


def owning(*partitions: int, generation: int = -1) -> bytes:
    topic = ConsumerProtocolSubscriptionTopicPartition("t", list(partitions))
    owned = [topic] if partitions else []
    return subscribed("t", owned_partitions=owned, generation_id=generation, version=2)


def join(
    stage: Stage,
    member: str = "c",
    metadata: bytes | None = None,
    version: int = 9,
    **said: Any,
) -> Any:
    """The answer to a JoinGroup."""
    names = said.pop("protocols", ("range",))
    data = subscribed("t") if metadata is None else metadata
    request = JoinGroupRequest(
        **{
            "group_id": GROUP,
            "member_id": member,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 20_000,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name, data) for name in names],
            **said,
        }
    )
    told: list[Any] = []
    joining = Joining(request, version, "c", "/h", told.append)
    outcome = whole(stage.protocol.join(stage.group, joining))
    stage.settle(outcome)(outcome.error)
    return told[0]


def sync(stage: Stage, generation: int, member: str = "c", **said: Any) -> Any:
    told: list[Any] = []
    request = SyncGroupRequest(GROUP, generation, member, **said)
    outcome = stage.protocol.sync(stage.group, request, told.append)
    stage.settle(outcome)(outcome.error)
    return told[0]


def alive(stage: Stage, generation: int, member: str = "c", instance: str | None = None) -> str:
    request = HeartbeatRequest(GROUP, generation, member, instance)
    return stage.protocol.classic_heartbeat(stage.group, request).name


@pytest.fixture
def stage() -> Stage:
    """A group of the consumer `k` alone, at epoch 2."""
    stage = Stage()
    stage.tell(coming("k", "t"))
    return stage


def test_a_classic_member_comes_and_takes_its_share(stage: Stage) -> None:
    answer = join(stage)
    assert (answer.generation_id, answer.protocol_name, answer.leader) == (3, "range", "")
    assert alive(stage, 3) == "NONE"
    stage.tell(beat("k", 2))
    stage.tell(beat("k", 2, {T: [0, 1]}))
    assert alive(stage, 3) == "REBALANCE_IN_PROGRESS"
    join(stage)
    assert stage.group.holder(T, 2) == "c"
    assert b"t\0\0\0\2\0\0\0\2\0\0\0\3" in sync(stage, 3).assignment
    assert alive(stage, 3) == "NONE"


def test_a_member_without_an_id_gets_one(stage: Stage) -> None:
    answer = join(stage, "")
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert len(answer.member_id) == 22
    assert len(stage.group.members) == 1
    assert join(stage, answer.member_id).error_code == 0
    assert join(stage, "", version=3).error_code == 0
    assert len(stage.group.members) == 3


@pytest.mark.parametrize(
    "said",
    [
        {"protocol_type": "connect"},
        {"protocols": ()},
        {"metadata": b"z"},
    ],
)
def test_who_does_not_fit_in(stage: Stage, said: Any) -> None:
    assert join(stage, **said).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_who_needs_an_id_gets_one_before_its_subscription_is_read(stage: Stage) -> None:
    """Kafka answers MEMBER_ID_REQUIRED too; then UNKNOWN_SERVER_ERROR, by an exception."""
    answer = join(stage, "", metadata=b"\0\0")
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    again = join(stage, answer.member_id, metadata=b"\0\0")
    assert again.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_classic_members_have_a_protocol_in_common(stage: Stage) -> None:
    join(stage, "c", protocols=("range", "sticky"))
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert join(stage, "d", protocols=("other",)).error_code == wrong
    assert join(stage, "d", protocols=("sticky",)).error_code == 0
    assert join(stage, "c", protocols=("range",)).error_code == wrong


def test_a_full_group_takes_nobody() -> None:
    stage = Stage(group_consumer_max_size=2)
    stage.tell(coming("k", "t"))
    assert join(stage).error_code == 0
    assert join(stage, "d").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert join(stage).error_code == 0


def test_what_is_owned_counts_for_its_generation_alone(stage: Stage) -> None:
    stage = Stage()
    stage.tell(coming("k"))
    assert join(stage).generation_id == 2
    stage.tell(coming("l", "t"))
    assert alive(stage, 2) == "REBALANCE_IN_PROGRESS"
    assert join(stage, metadata=owning(0, 1, 2, 3, generation=2)).generation_id == 2
    assert join(stage, metadata=owning(0, 1, 2, 3, generation=1)).generation_id == 3


def test_who_asks_for_what_is_not_its_own(stage: Stage) -> None:
    join(stage)
    assert alive(stage, 2) == "ILLEGAL_GENERATION"
    assert alive(stage, 3, "x") == "UNKNOWN_MEMBER_ID"
    assert alive(stage, 3, "k") == "UNKNOWN_MEMBER_ID"
    assert alive(stage, 3, "c", "i") == "UNKNOWN_MEMBER_ID"
    assert sync(stage, 2).error_code == ErrorCode.ILLEGAL_GENERATION
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(stage, 3, protocol_name="sticky").error_code == wrong
    assert sync(stage, 3, protocol_type="connect").error_code == wrong
    assert sync(stage, 3, protocol_type="consumer", protocol_name="range").error_code == 0


def test_a_sync_behind_the_group_is_told_to_join_again(stage: Stage) -> None:
    join(stage)
    stage.tell(coming("l", "t"))
    assert sync(stage, 3).error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_what_is_not_assigned_yet_disturbs_nobody() -> None:
    stage = Stage(interval_ms=1_000)
    stage.tell(coming("k", "t"))
    assert join(stage).generation_id == 2
    assert (stage.group.epoch, stage.group.assignment_epoch) == (3, 2)
    assert sync(stage, 2).error_code == ErrorCode.NONE
    assert alive(stage, 2) == "NONE"
    stage.scheduler.run_for(1_000)
    stage.tell(beat("k", 2))
    assert stage.group.assignment_epoch == 3
    assert sync(stage, 2).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert alive(stage, 2) == "REBALANCE_IN_PROGRESS"


def test_a_static_member_goes_on_under_a_new_id(stage: Stage) -> None:
    join(stage, "c", group_instance_id="i")
    answer = join(stage, "", group_instance_id="i")
    assert (answer.error_code, answer.generation_id) == (0, 3)
    assert stage.group.static_members == {"i": answer.member_id}
    assert "c" not in stage.group.members
    fenced = join(stage, "c", group_instance_id="i")
    assert fenced.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert join(stage, answer.member_id, group_instance_id="i").error_code == 0


def replaced(stage: Stage, *topics: str) -> Any:
    """A classic member comes in the place of the static consumer `k`."""
    stage.tell(beat("k", -2, instance_id="i"))
    return join(stage, "", subscribed(*topics), group_instance_id="i")


def keys(stage: Stage) -> list[int]:
    """The types of the records of the last batch."""
    return [key[1] for key, _ in stage.batches[-1]]


@pytest.fixture
def static() -> Stage:
    """A group of the static consumer `k` alone, at epoch 2."""
    stage = Stage()
    stage.tell(coming("k", "t", instance_id="i"))
    return stage


def test_the_last_consumer_is_replaced_and_the_group_is_a_classic_one(static: Stage) -> None:
    answer = replaced(static, "t")
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 2, "")
    assert static.classic == [(GROUP, False)]
    assert keys(static)[-7:] == [8, 7, 6, 5, 4, 3, 2]


def test_with_other_topics_the_classic_group_rebalances(static: Stage) -> None:
    answer = replaced(static, "t", "u")
    assert (answer.error_code, answer.generation_id) == (0, 0)
    assert static.classic == [(GROUP, True)]
    assert keys(static)[-8:] == [3, 8, 7, 6, 5, 4, 3, 2]


def test_in_a_hand_over_the_classic_group_rebalances(static: Stage) -> None:
    join(static, "c")
    replaced(static, "t")
    assert static.classic == [(GROUP, True)], "`c` has not been told its share"


def test_beside_a_consumer_the_group_stays_what_it_is(static: Stage) -> None:
    static.tell(coming("l", "t"))
    assert replaced(static, "t").error_code == 0
    assert static.classic == []
    assert keys(static)[-1] == 8


def test_where_the_policy_forbids_it_the_group_stays_what_it_is() -> None:
    stage = Stage(group_consumer_migration_policy="upgrade")
    stage.tell(coming("k", "t", instance_id="i"))
    assert replaced(stage, "t").error_code == 0
    assert stage.classic == []


def test_who_does_not_do_what_it_was_told_is_removed(stage: Stage) -> None:
    join(stage)
    for _ in range(3):
        stage.wait(6_600)
        assert alive(stage, 3) == "NONE"
    stage.wait(1_000)
    assert "c" not in stage.group.members, "it never fetched its assignment"
    join(stage)
    sync(stage, stage.group.epoch)
    stage.tell(coming("l", "t"))
    generation = stage.group.members["c"].position.epoch
    for _ in range(3):
        stage.tell(beat("k", 0, {}, rebalance_timeout_ms=30_000, subscribed_topic_names=["t"]))
        assert alive(stage, generation) == "REBALANCE_IN_PROGRESS"
        stage.wait(6_600)
    assert "c" in stage.group.members
    alive(stage, generation)
    stage.wait(1_000)
    assert "c" not in stage.group.members, "it never joined again"


def test_an_answer_that_cannot_be_written_is_an_error(stage: Stage) -> None:
    stage.refuse = ErrorCode.NOT_COORDINATOR
    told: list[Any] = []
    request = JoinGroupRequest(
        group_id=GROUP,
        member_id="c",
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", subscribed("t"))],
    )
    joining = Joining(request, 9, "c", "/h", told.append)
    outcome = in_one_go(stage.protocol.join(stage.group, joining))
    outcome.reply(ErrorCode.NOT_COORDINATOR)
    assert told[0].error_code == ErrorCode.NOT_COORDINATOR
