"""Which assignors a node has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.config.parse import single_node_config
from broker.groups.consumer.assignors.assignors import Assignors
from broker.node.consumer_assignors import assignors_of_node
from broker.plugins.node_plugins import NodePlugins
from controller.metadata.image import MetadataImage
from ground.config_def import ConfigError
from ground.sim_scheduler import SimBlocking, SimScheduler
from ground.sliced_work import SlicedWork
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.unit.broker.node_fixture import Running

JAVA = "org.apache.kafka.coordinator.group.assignor"
MODULE = """
from ottla.plugins.assignor import ConsumerGroupAssignor

class Mine(ConsumerGroupAssignor):
    name = "mine"
    def configure(self, settings):
        self.name += settings.get("plugin.suffix", "")
    def assign(self, members, topics):
        return {}

class Nameless(Mine):
    name = ""

class Uniform(Mine):
    name = "uniform"

fails = False

class Last(ConsumerGroupAssignor):
    # Who came last has everything.
    name = "last"
    def assign(self, members, topics):
        if fails:
            raise ValueError("not now")
        last = list(members)[-1]
        return {last: {one.name: range(one.partition_count) for one in topics.values()}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    path = list(sys.path)
    (tmp_path / "ottla_test_assignors.py").write_text(MODULE)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("ottla_test_assignors", None)


def _made(folder: Path, text: str | None, **more: str) -> Assignors:
    texts = {"ottla.plugins.path": str(folder), **more}
    if text is not None:
        texts["group.consumer.assignors"] = text
    config = single_node_config(texts)
    scheduler = SimScheduler()
    blocking = SimBlocking(scheduler)
    plugins = NodePlugins(config, scheduler, blocking) if ":" in (text or "") else None
    work = SlicedWork(scheduler, blocking, 1)
    return assignors_of_node(config, plugins, work, MetadataImage)


def test_kafkas_two_are_there_and_uniform_is_the_default(folder: Path) -> None:
    assignors = _made(folder, None)
    assert assignors.names == ["uniform", "range"]
    assert assignors.default == "uniform"


def test_the_list_says_which_there_are_and_which_is_first(folder: Path) -> None:
    assert _made(folder, f"{JAVA}.RangeAssignor").names == ["range"]
    made = _made(folder, "ottla_test_assignors:Mine, uniform", **{"plugin.suffix": "-2"})
    assert made.names == ["mine-2", "uniform"]
    assert made.default == "mine-2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sticky", "Java classes cannot be loaded"),
        (f"uniform,{JAVA}.UniformAssignor", "names uniform twice"),
        ("ottla_test_assignors:Nothing", "has no Nothing"),
        ("ottla_test_assignors:Nameless", "has no name"),
        ("uniform,ottla_test_assignors:Uniform", "calls itself uniform, as another one does"),
        ("builtins:int", "is no subclass of ottla.plugins.assignor.ConsumerGroupAssignor"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(folder: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        _made(folder, text)
    assert "\n" not in str(refused.value)
    assert "group.consumer.assignors" in str(refused.value)


class Group:
    """Members of a group of a running node, who ask for the class `Last`."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._epochs: dict[str, int] = {}
        request = FindCoordinatorRequest(coordinator_keys=["g"])
        while running.ask(request, 4).coordinators[0].error_code:
            running.scheduler.run_for(100)

    def beat(self, member: str) -> None:
        """A heartbeat, the first one to join; and what becomes of it."""
        epoch = self._epochs.get(member, 0)
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=-1 if epoch else 60_000,
            subscribed_topic_names=None if epoch else ["t"],
            server_assignor=None if epoch else "last",
            topic_partitions=[],
        )
        answer = self._running.ask(request, 1)
        assert answer.error_code == 0, answer
        self._epochs[member] = answer.member_epoch
        self._running.scheduler.run_for(100)

    def told(self) -> tuple[str, str, dict[str, list[int]]]:
        """State, assignor, and who is to have which partitions."""
        (group,) = self._running.ask(ConsumerGroupDescribeRequest(["g"]), 1).groups
        targets = {
            member.member_id: [
                partition
                for topic in member.target_assignment.topic_partitions
                for partition in topic.partitions
            ]
            for member in group.members
        }
        return group.group_state, group.assignor_name, targets


def test_a_group_goes_by_what_its_members_ask_for(folder: Path, tmp_path: Path) -> None:
    """And keeps the assignment that it has while the class fails."""
    running = Running(
        tmp_path / "data",
        **{
            "ottla.plugins.path": str(folder),
            "group.consumer.assignors": "uniform,ottla_test_assignors:Last",
            "group.consumer.assignment.interval.ms": "0",
        },
    )
    running.create("t")
    group = Group(running)
    for _ in range(3):
        group.beat("a")
    assert group.told() == ("Stable", "last", {"a": [0]})
    module = sys.modules["ottla_test_assignors"]
    module.fails = True  # type: ignore[attr-defined]
    for _ in range(3):
        group.beat("b")
        assert group.told() == ("Assigning", "last", {"a": [0], "b": []})
    module.fails = False  # type: ignore[attr-defined]
    for _ in range(3):
        group.beat("b")
        group.beat("a")
    assert group.told() == ("Stable", "last", {"a": [], "b": [0]})
    running.stop()
