"""Faults by hand, and what a scenario may know that no client can."""

from __future__ import annotations

import pytest

from simulation.users.plain_messages import WrongRequest
from tests.unit.simulation.exchanges import result_of, started, write


def test_links_are_cut_slow_and_mended() -> None:
    run = started()
    links = run.network.links
    result_of(run, "cut", None, source=1, target="client", both=False)
    assert links.is_cut("broker-1", "client") and not links.is_cut("client", "broker-1")
    result_of(run, "cut", None, source=1, target=2, both=True)
    assert links.is_cut("broker-1", "broker-2") and links.is_cut("broker-2", "broker-1")
    result_of(run, "mend", None, source=1, target=2)
    assert not links.is_cut("broker-1", "broker-2")
    result_of(run, "slow", None, source=1, target=2, ms=100.0)
    assert links.extra_ms("broker-1", "broker-2") > 0


def test_a_fault_of_requests_is_counted_and_outlives_its_broker() -> None:
    run = started()
    rule = {"deed": "error", "error": "NOT_LEADER_OR_FOLLOWER", "api": "Produce"}
    result_of(run, "fail", None, key="f", rule={**rule, "times": 2}, brokers=None)
    write(run, b"a")
    assert result_of(run, "lift", None, key="f") == 2
    result_of(run, "fail", None, key="g", rule={**rule, "times": None}, brokers=None)
    leader = result_of(run, "leader", None, topic="t", partition=0)
    result_of(run, "kill", None, broker=leader)
    result_of(run, "start", None, broker=leader)
    with pytest.raises(AssertionError, match="TIMED_OUT.*last NOT_LEADER_OR_FOLLOWER"):
        write(run, b"b", timeout_ms=2_000.0)
    result_of(run, "heal", None)
    write(run, b"c")


def test_a_fault_of_another_broker_does_not_reach_a_broker_that_starts() -> None:
    run = started(brokers=1)
    rule = {"deed": "error", "error": "NOT_LEADER_OR_FOLLOWER", "api": "Produce", "times": None}
    result_of(run, "fail", None, key="f", rule=rule, brokers=[2])
    result_of(run, "kill", None, broker=1)
    result_of(run, "start", None, broker=1)
    write(run, b"a")


def test_who_leads() -> None:
    run = started()
    leader = result_of(run, "leader", None, topic="t", partition=0)
    assert run.view.leader("t", 0) is run.view.node(leader)
    assert result_of(run, "controller", None) in (1, 2, 3)
    with pytest.raises(AssertionError, match="nobody leads x-0 within 20 s"):
        result_of(run, "leader", None, topic="x", partition=0)


def test_what_is_wrong_is_said() -> None:
    run = started(brokers=1)
    with pytest.raises(AssertionError, match="MISUSE.*no broker 9: there are 1"):
        result_of(run, "kill", None, broker=9)
    with pytest.raises(AssertionError, match="MISUSE.*no error NOPE"):
        result_of(run, "fail", None, key="f", rule={"deed": "error", "error": "NOPE"}, brokers=None)
    assert issubclass(WrongRequest, ValueError)
