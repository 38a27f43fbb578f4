"""An assignor of somebody's own: what it is told, and what becomes of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from broker.groups.consumer.assignors.assignor import GroupAssignment, MemberSubscription
from broker.groups.consumer.assignors.plugin_assignor import PluginAssignor
from broker.plugins.bounded_calls import BoundedCalls
from broker.plugins.loop_calls import LoopCalls
from controller.metadata.image import (
    BrokerRegistration,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
    TopicsImage,
)
from ground.ports import AnswerTimeout
from ground.sim_scheduler import SimBlocking, SimScheduler
from ottla.plugins.assignor import ConsumerGroupAssignor, Member, Topic

A, B = b"a" * 16, b"b" * 16
TIMEOUT_MS = 5_000


class Given(ConsumerGroupAssignor):
    """Answers what it was told to, or raises it."""

    name = "given"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[dict[str, Member], dict[str, Topic]]] = []

    def assign(self, members: Mapping[str, Member], topics: Mapping[str, Topic]) -> Any:
        self.asked.append((dict(members), dict(topics)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Rig:
    def __init__(self, answer: Any, delay_ms_max: float = 0.0) -> None:
        self.scheduler = SimScheduler()
        blocking = SimBlocking(self.scheduler, delay_ms_max)
        calls = BoundedCalls(blocking, self.scheduler, 8, 100, TIMEOUT_MS)
        self.plugin = Given(answer)
        self.assignor = PluginAssignor(
            self.plugin,
            LoopCalls("acme:Given", self.scheduler.monotonic_ms),
            calls.submit,
            _image,
        )
        self.told: list[tuple[GroupAssignment | None, Exception | None]] = []

    def ask(
        self, members: dict[str, MemberSubscription], topics: dict[bytes, int]
    ) -> tuple[GroupAssignment | None, Exception | None]:
        assert self.assignor.begin(members, topics, lambda *one: self.told.append(one)) == []
        self.scheduler.run_for(TIMEOUT_MS + 1)
        (one,) = self.told
        return one


def _image() -> MetadataImage:
    topics = [TopicImage("a", A, {0: _partition(1, 2), 1: _partition(3)}), TopicImage("b", B, {})]
    brokers = {number: _broker(number, f"r{number}") for number in (1, 2)}
    brokers[3] = _broker(3, None)
    return MetadataImage(
        topics=TopicsImage(
            {topic.name: topic for topic in topics}, {topic.id: topic for topic in topics}
        ),
        brokers=brokers,
    )


def _partition(*replicas: int) -> PartitionRegistration:
    return PartitionRegistration(replicas, (), replicas, replicas[0], 0, 0)


def _broker(number: int, rack: str | None) -> BrokerRegistration:
    return BrokerRegistration(number, 1, b"", {}, {}, rack, False, False, ())


MEMBERS = {
    "m": MemberSubscription(frozenset((A,)), {A: (1,), b"gone" * 4: (0,)}, "i", "r1"),
    "n": MemberSubscription(frozenset((A, B))),
}
TOPICS = {A: 2, B: 3}


def test_it_is_told_names_racks_and_what_members_have() -> None:
    rig = Rig({})
    rig.ask(MEMBERS, TOPICS)
    ((members, topics),) = rig.plugin.asked
    assert members == {
        "m": Member("m", "i", "r1", ("a",), {"a": (1,)}),
        "n": Member("n", None, None, ("a", "b"), {}),
    }
    assert topics == {
        "a": Topic("a", 2, (("r1", "r2"), ())),
        "b": Topic("b", 3, ((), (), ())),
    }


def test_its_answer_is_by_ids_ascending_and_without_what_is_empty() -> None:
    answer = {"n": {"a": [], "b": {2, 0}}, "m": {"a": iter((1, 0))}}
    assert Rig(answer).ask(MEMBERS, TOPICS) == ({"m": {A: (0, 1)}, "n": {B: (0, 2)}}, None)


def test_who_is_left_out_gets_nothing() -> None:
    assert Rig({"m": {"a": (0,)}}).ask(MEMBERS, TOPICS) == ({"m": {A: (0,)}, "n": {}}, None)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "gave NoneType for an assignment"),
        ({"x": {}}, "gave partitions to 'x', who is no member"),
        ({"m": [("a", 0)]}, "gave list to member m"),
        ({"m": {"b": [0]}}, "gave 'b' to m, who is not subscribed to it"),
        ({"m": {"c": [0]}}, "gave 'c' to m, who is not subscribed to it"),
        ({"m": {"a": 0}}, "gave int for partitions of a"),
        ({"m": {"a": [2]}}, "gave 2, which is no partition of a"),
        ({"m": {"a": [-1]}}, "gave -1, which is no partition of a"),
        ({"m": {"a": [True]}}, "gave True, which is no partition of a"),
        ({"m": {"a": [0, 0]}}, "gave partition 0 of a twice"),
        ({"m": {"a": [0]}, "n": {"a": [0]}}, "gave partition 0 of a twice"),
    ],
)
def test_an_answer_that_cannot_be_used_is_none_and_is_told(
    answer: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    result, error = Rig(answer).ask(MEMBERS, TOPICS)
    assert result is None
    assert str(error) == said
    assert "acme:Given failed" in caplog.text
    assert said in caplog.text


def test_one_that_raises_gives_none(caplog: pytest.LogCaptureFixture) -> None:
    raised = ZeroDivisionError("members")
    assert Rig(raised).ask(MEMBERS, TOPICS) == (None, raised)
    assert "ZeroDivisionError: members" in caplog.text


def test_one_that_is_slow_gives_none_and_its_late_answer_is_not_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig({}, 1_000_000.0)
    result, error = rig.ask(MEMBERS, TOPICS)
    assert result is None
    assert isinstance(error, AnswerTimeout)
    assert "no answer within 5000 ms" in caplog.text
    assert rig.plugin.asked == []
    rig.scheduler.run_for(1_000_000)
    assert len(rig.plugin.asked) == 1
    assert len(rig.told) == 1
