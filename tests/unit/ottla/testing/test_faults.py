"""Faults on demand, without a broker: what is asked over the channel, and what is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ottla.testing.errors import DeadlinePassed, Misuse
from ottla.testing.faults import Faults


class Channel:
    """Answers calls as a broker does."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.met = 0

    def __call__(self, op: str, args: Any) -> Any:
        self.calls.append((op, dict(args)))
        if op == "fault.add":
            return 7
        if op == "fault.show":
            self.met += 1
            return {"seen": 2 * self.met, "met": self.met, "over": False}
        return 3 if op == "connections.close" else None


@pytest.fixture
def channel() -> Channel:
    return Channel()


def test_what_is_asked(channel: Channel) -> None:
    faults = Faults(channel)
    topic = SimpleNamespace(name="orders-1f")
    faults.fail("Produce", "INVALID_RECORD", topic=topic, times=2, seed=1)
    faults.delay(None, 0.25, client_id="app", seed=1)
    faults.cut_answers("Fetch", at=0.1, seed=1)
    for deed in (faults.leave_unanswered, faults.lose, faults.disconnect):
        deed("Fetch", topic="a", seed=1)
    assert [args for _, args in channel.calls] == [
        {
            "deed": "error",
            "api": "Produce",
            "error": "INVALID_RECORD",
            "topic": "orders-1f",
            "times": 2,
            "seed": 1,
        },
        {"deed": "delay", "api": None, "delay_ms": 250.0, "client_id": "app", "seed": 1},
        {"deed": "cut", "api": "Fetch", "cut_at": 0.1, "seed": 1},
        *(
            {"deed": deed, "api": "Fetch", "topic": "a", "seed": 1}
            for deed in ("unanswered", "lost", "disconnect")
        ),
    ]


def test_a_block_ends_with_its_fault_whose_counts_stay(channel: Channel) -> None:
    with Faults(channel).fail("Produce", "INVALID_RECORD") as fault:
        assert fault.met == 1
    assert [op for op, _ in channel.calls] == [
        "fault.add",
        "fault.show",
        "fault.show",
        "fault.lift",
    ]
    assert all(args.get("number", 7) == 7 for _, args in channel.calls)


def test_waiting_for_a_fault(channel: Channel) -> None:
    fault = Faults(channel).fail("Produce", "INVALID_RECORD")
    fault.wait(3)
    with pytest.raises(DeadlinePassed, match=r"<Fault .*Produce.* has met \d+ of 1000 requests"):
        fault.wait(1000, timeout=0)


def test_a_seed_that_was_drawn_can_be_asked_for_again(channel: Channel) -> None:
    fault = Faults(channel).fail("Produce", "INVALID_RECORD", probability=0.5)
    assert channel.calls[0][1]["seed"] == fault.seed
    assert f"seed={fault.seed}" in repr(fault)
    assert "seed" not in repr(Faults(channel).fail("Produce", "INVALID_RECORD"))
    assert "topic='a'" in repr(Faults(channel).lose("Produce", topic="a"))


def test_all_at_once(channel: Channel) -> None:
    assert Faults(channel).disconnect_all() == 3
    Faults(channel).clear()
    assert [op for op, _ in channel.calls] == ["connections.close", "fault.clear", "disk.free"]


def test_a_full_disk(channel: Channel) -> None:
    faults = Faults(channel)
    faults.fill_disk("/data/b")
    faults.free_disk()
    assert channel.calls == [("disk.fill", {"log_dir": "/data/b"}), ("disk.free", {})]


def test_shares_are_from_0_to_1(channel: Channel) -> None:
    with pytest.raises(Misuse, match="not 2"):
        Faults(channel).fail("Produce", "INVALID_RECORD", probability=2)
    with pytest.raises(Misuse, match=r"not at -0.5"):
        Faults(channel).cut_answers("Produce", at=-0.5)
