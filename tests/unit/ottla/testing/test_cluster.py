"""A cluster: who of its nodes is a controller, and that all or none of them run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.testing import cluster
from ottla.testing.broker import Membership
from ottla.testing.cluster import Cluster
from ottla.testing.errors import DeadlinePassed, Misuse, OttlaError, StartFailed


class StandIn:
    resigned: Callable[[StandIn], None] = staticmethod(lambda _node: None)

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        start_timeout_s: float,
        keep_data: bool,
        member: Membership,
    ) -> None:
        name = f"node-{member.node_id}"
        self.properties = dict(properties)
        self.cluster_id = member.cluster_id
        self.name = name
        self.held = member.controller
        self.bootstrap_servers = f"{name}:1"
        self.did: list[str] = []
        self.cut: list[int] = []
        self.sees: tuple[int | None, int] = (1, 4)
        self.times: list[int] = []
        self.faults: list[dict[str, Any]] = []
        self.log_file = Path("/folder") / name / "broker.log"
        self.ports = [int(name.removeprefix("node-"))]
        self.running = False

    def advance(self, *, days: float, hours: float, minutes: float, seconds: float) -> None:
        if seconds < 0:
            raise Misuse("never back")
        self.did.append(f"advanced {days} {hours} {minutes} {seconds}")

    def call(self, op: str, args: Mapping[str, Any] | None = None, *, timeout_s: float = 30) -> Any:
        self.did.append(op)
        if op == "topic.describe":
            return {"orders": {"0": {"leader": 2}, "1": {"leader": -1}}}
        if op == "topic.lead" and args is not None:
            return args["node_id"] or 3
        if op == "controller.show":
            return {"leader": self.sees[0], "epoch": self.sees[1]}
        if op == "controller.resign":
            StandIn.resigned(self)
            return self.sees[1]
        if op in ("connections.close", "reset.begin"):
            return 1
        if op == "links.cut" and args is not None:
            self.cut += args["ports"]
        elif op == "links.heal":
            healed = (args or {}).get("ports", self.cut)
            self.cut = [port for port in self.cut if port not in healed]
        elif op == "fault.add" and args is not None:
            self.faults.append(dict(args))
        return {"by": self.name}

    def requests(self, api: str | None, **which: Any) -> list[SimpleNamespace]:
        asked = f"{api} {which['topic'].name} {which['client_id']} {which['after']}"
        return [SimpleNamespace(time_ms=time, asked=asked) for time in self.times]

    def begin_start(self) -> None:
        self.did.append("begin")

    def finish_start(self) -> None:
        if self.properties.get("wrong") == "" and self.name == "node-2":
            raise StartFailed("no")
        self.running = True

    def begin_stop(self) -> None:
        self.did.append("told")

    def stop(self) -> None:
        self.running = False

    def kill(self) -> None:
        self.did.append("killed")
        self.running = False

    def close(self) -> None:
        self.did.append("closed")
        self.running = False
        for port in self.held:
            port.release()


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "Broker", StandIn)
    monkeypatch.setattr(StandIn, "resigned", StandIn.resigned)  # put back afterwards


def nodes(one: Cluster) -> list[StandIn]:
    return list(one.brokers)  # type: ignore[arg-type]


@pytest.mark.parametrize(("count", "controllers"), [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5), (9, 5)])
def test_an_odd_number_of_nodes_are_controllers(count: int, controllers: int) -> None:
    with Cluster(count) as one:
        roles = [node.properties["process.roles"] for node in nodes(one)]
        assert roles.count("broker,controller") == controllers
        (voters,) = {node.properties["controller.quorum.voters"] for node in nodes(one)}
        assert len(voters.split(",")) == controllers
        assert len({node.cluster_id for node in nodes(one)}) == 1
        assert one.bootstrap_servers.count(",") == count - 1
        assert nodes(one)[0].properties["default.replication.factor"] == str(min(count, 3))


def test_properties_win() -> None:
    with Cluster(1, {"broker.session.timeout.ms": "9000"}) as one:
        assert nodes(one)[0].properties["broker.session.timeout.ms"] == "9000"


@pytest.mark.parametrize("count", [0, 10])
def test_how_many_there_can_be(count: int) -> None:
    with pytest.raises(Misuse, match="1 to 9 brokers"):
        Cluster(count)


def test_a_node_is_found_by_its_id() -> None:
    with Cluster(3) as one:
        assert one.broker(3) is one.brokers[2]
        for wrong in (0, 4):
            with pytest.raises(Misuse, match="ids are 1 to 3"):
                one.broker(wrong)


def test_only_those_are_started_that_do_not_run() -> None:
    with Cluster(3) as one:
        one.broker(2).kill()
        one.start()
        assert [node.did.count("begin") for node in nodes(one)] == [1, 2, 1]
        one.restart()
        assert [node.did.count("told") for node in nodes(one)] == [1, 1, 1]
        one.kill()
        assert not any(node.running for node in nodes(one))


def test_a_node_that_runs_is_asked_and_all_are_emptied() -> None:
    with Cluster(3) as one:
        one.broker(1).kill()
        assert one.call("topic.create") == {"by": "node-2"}
        assert one.reset() == {"by": "node-2", "connections": 2}
        assert nodes(one)[1].did[-3:] == ["reset.begin", "reset.contents", "reset.end"]
        assert nodes(one)[2].did[-2:] == ["reset.begin", "reset.end"]
        assert "reset.begin" not in nodes(one)[0].did
        one.kill()
        with pytest.raises(Misuse, match="no node of the cluster runs: start"):
            one.call("topic.create")


def test_where_one_does_not_start_none_is_left() -> None:
    made = Cluster(3, {"wrong": ""})
    with pytest.raises(StartFailed), made:
        pass
    assert [node.did for node in nodes(made)] == [["begin", "killed", "closed"]] * 3


async def test_with_coroutines() -> None:
    async with Cluster(1) as one:
        assert nodes(one)[0].running
    assert nodes(one)[0].did[-1] == "closed"


def test_faults_are_those_of_the_nodes_that_run() -> None:
    with Cluster(3) as one:
        one.broker(2).kill()
        assert one.faults.disconnect_all() == 2
        assert [node.did.count("connections.close") for node in nodes(one)] == [1, 0, 1]
        assert one.disconnect_all() == 2
        one.fail("Produce", "INVALID_RECORD", topic="orders", seed=1)
        first, second, third = (node.faults for node in nodes(one))
        assert first == third and second == []
        assert Path(first[0]["counted_at"]).parent == Path("/folder/node-1"), "together"


def test_what_clients_have_sent_to_any_node() -> None:
    with Cluster(3) as one:
        nodes(one)[0].times, nodes(one)[1].times, nodes(one)[2].times = [3, 5], [9], [4]
        one.broker(2).kill()
        found: Any = one.requests("Produce", topic="orders", client_id="app", after=7)
        assert [request.time_ms for request in found] == [3, 4, 5]
        assert {request.asked for request in found} == {"Produce orders app 7"}


def test_links_between_nodes_are_cut() -> None:
    def cut(one: Cluster) -> list[list[int]]:
        return [sorted(node.cut) for node in nodes(one)]

    with Cluster(3) as one:
        one.cut(1)
        assert cut(one) == [[2, 3], [1], [1]]
        one.heal()
        assert cut(one) == [[], [], []]
        one.cut(1, 2, one_way=True)
        assert cut(one) == [[2], [], []]
        one.heal()
        one.broker(3).kill()
        one.cut(2)
        assert cut(one) == [[2], [1, 3], []]
        with pytest.raises(Misuse):
            one.cut(1, 4)


def test_the_leader_of_a_partition_and_another_one() -> None:
    with Cluster(3) as one:
        assert one.leader("orders") is one.broker(2)
        assert one.leader(SimpleNamespace(name="orders"), 0) is one.broker(2)
        for topic, partition in (("orders", 1), ("orders", 2), ("none", 0)):
            with pytest.raises(OttlaError, match="nobody leads"):
                one.leader(topic, partition)
        assert one.elect("orders") is one.broker(3)
        assert one.elect("orders", leader=1) is one.broker(1)
        one.kill()
        with pytest.raises(Misuse, match="no node"):
            one.elect("orders")


def test_links_are_whole_at_the_end_of_the_block_that_has_cut_them() -> None:
    with Cluster(3) as one:
        one.cut(1, 3, one_way=True)
        with one.cut(2, 3) as cut:
            assert [sorted(node.cut) for node in nodes(one)] == [[3], [3], [2]]
            one.broker(2).kill()
        assert [sorted(node.cut) for node in nodes(one)] == [[3], [3], []]
        cut.heal()
        with pytest.raises(Misuse), one.cut(1, 2):
            one.cut(1, 9)
        assert nodes(one)[0].cut == [3]


def test_the_controller_is_that_of_the_newest_epoch_and_runs() -> None:
    """A node that was cut off knows an old one, and all know one that was just killed."""
    with Cluster(3) as one:
        first, second, third = nodes(one)
        first.sees, second.sees, third.sees = (1, 4), (2, 5), (None, 3)
        assert one.controller is one.broker(2)

        def elected(_node: StandIn) -> None:
            third.sees = (3, 6)

        StandIn.resigned = staticmethod(elected)
        assert one.elect_controller() is one.broker(3)
        assert "controller.resign" in second.did


def test_without_a_controller_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CALL_TIMEOUT_S", 0.03)
    with Cluster(3) as one:
        one.broker(1).kill()
        with pytest.raises(DeadlinePassed, match="do most controllers run"):
            _ = one.controller
        one.kill()
        with pytest.raises(DeadlinePassed):
            _ = one.controller
