"""One looks for all, when somebody asks, and the longer a look takes the rarer it is."""

from __future__ import annotations

from typing import Any

import pytest

from client.live.rates import Sample
from client.refusals import Refused
from console.overview import sampler
from console.overview.sampler import GROUPS_MAX, Sampler
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.console.one_console import OneCluster, plain


class Clock:
    """Moves when it is told to, and while somebody looks."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1000 + self.now


class Looks:
    """Counts looks; each takes as long as is said."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.takes_s = 0.0
        self.groups: list[list[str]] = []
        self.error: Exception | None = None

    def __call__(self, _cluster: Any, topics: Any, at: float, groups: list[str]) -> Sample:
        self.groups.append(groups)
        self.clock.now += self.takes_s
        if self.error:
            raise self.error
        return Sample(at, ends=dict.fromkeys([(name, 0) for name in topics], 5))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(sampler, "time", clock)
    return clock


@pytest.fixture
def looks(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Looks:
    looks = Looks(clock)
    monkeypatch.setattr(sampler, "take_sample", looks)
    return looks


def sampler_of(groups: int) -> Sampler:
    listed = ListGroupsResponse(groups=[ListedGroup(f"g{one}") for one in range(groups)])
    cluster = ScriptedCluster(
        [topic_of("t"), topic_of("__x", is_internal=True)], {"ListGroupsRequest": listed}
    )
    return Sampler(OneCluster(cluster))


def test_many_ask_and_one_looks(clock: Clock, looks: Looks) -> None:
    one = sampler_of(1)
    for _ in range(9):
        assert [found.topic for found in one.now().topics] == ["__x", "t"]
    assert len(looks.groups) == 1
    clock.now += 2.5
    assert one.now().looked_at == 1102.5
    assert len(looks.groups) == 2
    assert [found["topic"] for found in plain(one.now().shown())["topics"]] == ["t"]


def test_long_looks_are_rare(clock: Clock, looks: Looks) -> None:
    looks.takes_s = 3.0
    one = sampler_of(1)
    one.now()
    clock.now += 25.0
    one.now()
    assert len(looks.groups) == 1
    clock.now += 5.0
    one.now()
    assert len(looks.groups) == 2


def test_a_look_that_fails_is_told_and_not_repeated_at_once(clock: Clock, looks: Looks) -> None:
    one = sampler_of(1)
    looks.error = Refused("no")
    with pytest.raises(Refused, match="no"):
        one.now()
    assert one.now().looked_at is None
    assert len(looks.groups) == 1
    looks.error = None
    clock.now += 2.5
    assert one.now().looked_at is not None


def test_so_many_groups_at_most(clock: Clock, looks: Looks) -> None:
    one = sampler_of(GROUPS_MAX + 7)
    one.now()
    assert len(looks.groups[0]) == GROUPS_MAX
    assert one.groups_left_out == 2 * (GROUPS_MAX + 7) - GROUPS_MAX  # both brokers tell theirs


def test_who_may_not_see_groups_sees_the_rest(clock: Clock, looks: Looks) -> None:
    one = sampler_of(0)
    with one._console.cluster() as cluster:
        assert isinstance(cluster, ScriptedCluster)
        cluster.answers["ListGroupsRequest"] = ListGroupsResponse(error_code=31)
    assert one.now().topics
    assert looks.groups == [[]]
