"""One seed of a user's simulation: operations side by side, faults, and the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.sim_trace import Failure
from simulation.users.user_run import UserRun
from tests.unit.simulation.exchanges import result_of, started, write


def played(seed: int, faults: str) -> UserRun:
    run = started(seed, faults=faults, keep_trace=True)
    write(run, *(b"%d" % number for number in range(15)))
    run.finish()
    return run


@pytest.mark.parametrize("faults", ["none", "some", "many"])
def test_the_same_seed_is_the_same_run_byte_for_byte(faults: str) -> None:
    one, other = played(3, faults), played(3, faults)
    lines = one.trace.take_kept()
    assert lines == other.trace.take_kept() and len(lines) > 100
    assert one.trace.checksum() == other.trace.checksum() != played(4, faults).trace.checksum()
    assert (faults == "none") == (not one.nemesis.counts)


def test_operations_go_on_side_by_side_until_one_is_done() -> None:
    run = started(brokers=1)
    run.submit(7, None, "sleep", {"ms": 500.0})
    run.submit(8, None, "sleep", {"ms": 200.0})
    run.submit(9, None, "sleep", {"ms": 300.0})
    run.cancel(9)
    began_ms = run.world.now_ms
    for number, when_ms in ((8, 200.0), (7, 500.0)):
        run.advance()
        assert run.take_done() == [{"id": number, "result": None}]
        assert run.world.now_ms - began_ms == pytest.approx(when_ms)


def test_a_client_that_hangs_up_is_another_one_afterwards() -> None:
    run = started(brokers=1)
    run.hang_up("client")
    run.hang_up("client")
    assert run.clients == []
    write(run, b"a")
    assert len(run.clients) == 1


def test_a_scenario_that_takes_too_long_is_over() -> None:
    run = started(brokers=1, limit_ms=5_000.0)
    run.submit(1, None, "sleep", {"ms": 9_000.0})
    run.advance()
    assert run.over and run.take_done() == []


def test_a_record_that_is_lost_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = started()
    write(run, b"a", b"b")
    client = type(run._client("client", idempotent=True))
    fetch = client.fetch

    def forgetful(*args: Any) -> Any:
        records, position, high = yield from fetch(*args)
        return [records[1:], position, high]

    monkeypatch.setattr(client, "fetch", forgetful)
    with pytest.raises(Failure, match="I1: b'a' was acknowledged or read at offset 0 of t-0"):
        run.finish()


def test_a_committed_offset_that_is_lost_fails_the_run() -> None:
    run = started()
    result_of(run, "commit", group="g", offsets=[["t", 0, 4]], member_id="", generation=-1)
    (register,) = run._offsets._registers.values()
    register._initial = 9
    register._writes.clear()
    with pytest.raises(Failure, match=r"I17: group g is at 4 of t-0, must be in \[9\]"):
        run.finish()


def test_a_poll_of_a_client_that_is_gone_is_no_failure() -> None:
    run = started(brokers=1)
    waits = {"topic": "t", "partition": 0, "offset": 0, "count": 0, "committed": True,
             "wait_ms": 2_500, "timeout_ms": 9_000.0}  # fmt: skip
    run.submit(1, "client", "fetch", waits)
    asked_ms = run.world.now_ms
    run.run_for(100.0)
    run.finish()
    assert run.world.now_ms - asked_ms > 2_000.0
