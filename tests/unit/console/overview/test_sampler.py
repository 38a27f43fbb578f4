"""The sampler of write rates: samples for all tabs, and rarer ones while no tab asks."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from client.live.rates import Sample
from client.refusals import Refused
from console.overview import sampler
from console.overview.sampler import GROUPS_MAX, IDLE_EVERY_S, IdleSampling, Sampler
from protocol.messages.describe_cluster import DescribeClusterResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.tools.waiting import LIMIT_S
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.console.one_console import OneCluster, plain


class Clock:
    """A clock that moves only when a test or a sample moves it."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1000 + self.now


class Looks:
    """A stand-in for `take_sample`, which counts its calls; each takes `takes_s`."""

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
        [topic_of("t"), topic_of("__x", is_internal=True)],
        {
            "ListGroupsRequest": listed,
            "DescribeClusterRequest": DescribeClusterResponse(cluster_authorized_operations=0),
        },
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


def test_the_error_of_a_sample_stays_until_one_succeeds(clock: Clock, looks: Looks) -> None:
    """Before, the next tab was shown rates of 0 as if they were known."""
    one = sampler_of(1)
    looks.error = Refused("no")
    for _ in range(3):
        with pytest.raises(Refused, match="no"):
            one.now()
    assert len(looks.groups) == 1
    looks.error = None
    clock.now += 2.5
    assert one.now().looked_at is not None


def test_while_no_tab_asks_samples_are_rare_and_without_groups(clock: Clock, looks: Looks) -> None:
    one = sampler_of(1)
    assert one.sample_if_idle() == IDLE_EVERY_S
    for _ in range(7):
        clock.now += IDLE_EVERY_S
        one.sample_if_idle()
    assert looks.groups == [[]] * 8
    assert None not in plain(one.now().shown())["points"]["records"][1:]
    clock.now += 4.0
    one.now()
    assert looks.groups[8:] == [["g0", "g0"]]
    assert one.sample_if_idle() == IDLE_EVERY_S, "a tab took a sample just now"
    assert len(looks.groups) == 9
    clock.now += IDLE_EVERY_S
    one.sample_if_idle()
    assert looks.groups[9:] == [[]]


def test_long_samples_without_a_tab_take_a_hundredth_of_the_time(
    clock: Clock, looks: Looks
) -> None:
    looks.takes_s = 0.5
    one = sampler_of(1)
    one.sample_if_idle()
    assert one.sample_if_idle() == 50.0 - 0.5
    clock.now += 50.0
    one.sample_if_idle()
    assert plain(one.now().shown())["records_per_s"] == 0.0, "50 s between samples are no gap"


def test_the_pause_after_a_long_sample_for_a_tab_is_no_gap(clock: Clock, looks: Looks) -> None:
    one = sampler_of(1)
    one.sample_if_idle()
    clock.now += IDLE_EVERY_S
    looks.takes_s = 0.9
    one.now()
    pause_s = one.sample_if_idle()
    assert pause_s > 80.0
    clock.now += pause_s - 1.0
    assert None not in plain(one.now().shown())["points"]["records"][1:]


def test_the_thread_takes_the_samples(looks: Looks) -> None:
    sampled = Event()
    console = OneCluster(ScriptedCluster([topic_of("t")]))

    class Samples:
        def sample_if_idle(self) -> float:
            sampled.set()
            return 60.0

    console.put(Sampler, Samples())
    sampling = IdleSampling(console)
    assert sampled.wait(LIMIT_S)
    sampling.close()


def test_so_many_groups_at_most(clock: Clock, looks: Looks) -> None:
    one = sampler_of(GROUPS_MAX + 7)
    one.now()
    assert len(looks.groups[0]) == GROUPS_MAX
    assert one.groups_left_out == 2 * (GROUPS_MAX + 7) - GROUPS_MAX  # both brokers tell theirs


def test_a_login_that_may_not_list_groups_sees_the_rest(clock: Clock, looks: Looks) -> None:
    one = sampler_of(0)
    with one._console.cluster() as cluster:
        assert isinstance(cluster, ScriptedCluster)
        cluster.answers["ListGroupsRequest"] = ListGroupsResponse(error_code=31)
    assert one.now().topics
    assert looks.groups == [[]]
    assert one.hides_groups
