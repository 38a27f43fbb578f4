"""Faults on demand, without a broker: what is asked over the channel, and what is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.testing.errors import BrokerGone, DeadlinePassed, Misuse
from ottla.testing.faults import Faults


class Channel:
    """Answers calls as a broker does."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.keys: list[str] = []
        self.met = 0
        self.gone: Exception | None = None

    def __call__(self, op: str, args: Any) -> Any:
        if self.gone is not None:
            raise self.gone
        args = dict(args)
        self.keys.append(args.pop("key", ""))
        self.calls.append((op, args))
        if op == "fault.show":
            self.met += 1
            return {"seen": 2 * self.met, "met": self.met, "over": False}
        if op == "disk.fill":
            return [args["log_dir"]]
        return 3 if op == "connections.close" else None


@pytest.fixture
def channel() -> Channel:
    return Channel()


def faults_of(*channels: Channel) -> Faults:
    return Faults(lambda: channels)


def test_a_block_ends_with_its_fault_whose_counts_stay(channel: Channel) -> None:
    with faults_of(channel).fail("Produce", "INVALID_RECORD") as fault:
        assert fault.met == 1
    assert [op for op, _ in channel.calls] == [
        "fault.add",
        "fault.show",
        "fault.show",
        "fault.lift",
    ]
    assert set(channel.keys) == {fault.key}
    assert faults_of(channel).fail("Produce", "INVALID_RECORD").key != fault.key


def test_all_brokers_of_a_cluster_have_it_and_count_together() -> None:
    channels = Channel(), Channel()
    faults = Faults(lambda: channels, counted_in=Path("/folder"))
    fault = faults.fail("Produce", "INVALID_RECORD")
    at = [channel.calls[0][1]["counted_at"] for channel in channels]
    assert at == [f"/folder/fault-{fault.key}"] * 2 and "folder" not in repr(fault)
    assert (fault.met, fault.seen) == (1, 4), "each tells the counts of all"
    for gone in (BrokerGone("killed"), Misuse("not running")):
        channels[0].gone = gone
        assert fault.met == channels[1].met
        fault.lift()
    channels[1].gone = BrokerGone("killed")
    assert fault.met == channels[1].met, "as last told"
    channels[1].gone = None
    assert faults_of(channels[1], channels[1]).disconnect_all() == 6


def test_a_broker_that_is_not_there_cannot_be_given_a_fault(channel: Channel) -> None:
    channel.gone = Misuse("the broker is not running")
    with pytest.raises(Misuse):
        faults_of(channel).fail("Produce", "INVALID_RECORD")


def test_an_api_need_not_be_served_by_all_nodes() -> None:
    first, second = Channel(), Channel()
    second.gone = Misuse("not served here")
    fault = faults_of(first, second).fail("BrokerHeartbeat", "STALE_BROKER_EPOCH")
    assert first.keys == [fault.key]
    with pytest.raises(Misuse, match="no broker runs"):
        faults_of().fail("Produce", "INVALID_RECORD")


def test_a_narrowing_that_there_is_not_is_said(channel: Channel) -> None:
    wrong: dict[str, Any] = {"tims": 2}
    with pytest.raises(Misuse, match="not narrowed by tims; did you mean times?"):
        faults_of(channel).fail("Produce", "INVALID_RECORD", **wrong)
    wrong = {"latency": 2}
    with pytest.raises(Misuse, match="not narrowed by latency; there are topic, group,"):
        faults_of(channel).drop("Produce", **wrong)


def test_waiting_for_a_fault(channel: Channel) -> None:
    fault = faults_of(channel).fail("Produce", "INVALID_RECORD")
    fault.wait(3)
    with pytest.raises(DeadlinePassed, match=r"<Fault .*Produce.* has met \d+ of 1000 requests"):
        fault.wait(1000, timeout=0)


def test_a_seed_that_was_drawn_can_be_asked_for_again(channel: Channel) -> None:
    fault = faults_of(channel).fail("Produce", "INVALID_RECORD", probability=0.5)
    assert channel.calls[0][1]["seed"] == fault.seed
    assert f"seed={fault.seed}" in repr(fault)
    assert "seed" not in repr(faults_of(channel).fail("Produce", "INVALID_RECORD"))
    assert "topic='a'" in repr(faults_of(channel).drop("Produce", topic="a"))


def test_a_full_disk(channel: Channel) -> None:
    faults = faults_of(channel)
    assert faults.fill_disk("/data/b") == ["/data/b"]
    faults.free_disk()
    assert channel.calls == [("disk.fill", {"log_dir": "/data/b"}), ("disk.free", {})]


def test_an_error_may_come_late_and_where_kafka_has_it_not(channel: Channel) -> None:
    faults = faults_of(channel)
    faults.fail("Produce", "GROUP_ID_NOT_FOUND", latency=0.25, force=True, seed=1)
    assert channel.calls[0][1] == {
        "deed": "error",
        "api": "Produce",
        "error": "GROUP_ID_NOT_FOUND",
        "delay_ms": 250.0,
        "force": True,
        "seed": 1,
    }


def test_chance_may_be_0_and_counts_may_not(channel: Channel) -> None:
    faults_of(channel).drop("Produce", probability=0)
    assert channel.calls[0][1]["probability"] == 0
    with pytest.raises(Misuse, match="times is 1 or more"):
        faults_of(channel).drop("Produce", times=0)
    with pytest.raises(Misuse, match="after 0 or more"):
        faults_of(channel).drop("Produce", after=-1)


def test_shares_are_from_0_to_1(channel: Channel) -> None:
    with pytest.raises(Misuse, match="not 2"):
        faults_of(channel).fail("Produce", "INVALID_RECORD", probability=2)
    with pytest.raises(Misuse, match=r"not at -0.5"):
        faults_of(channel).cut_answers("Produce", at=-0.5)
