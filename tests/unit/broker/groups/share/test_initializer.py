"""Initializations of share-partitions whose answers are still to come."""

from __future__ import annotations

import pytest

from broker.coordinator.outcome import Outcome
from broker.groups.share.initializer import Initialization, Initializer, Submit
from broker.groups.share.share_group import ShareGroup
from broker.share.state.share_log import SharePartitionKey
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from tests.unit.broker.groups.share.fake_ports import FakeStates

KEYS = [SharePartitionKey("g", b"t" * 16, index) for index in range(2)]
RETRY_MS = 5_000


class Stage:
    """An initializer of a group that has no topics."""

    def __init__(self) -> None:
        self.states = FakeStates()
        group = ShareGroup("g")
        submit: Submit = lambda decide, done: _ignore(decide())  # noqa: E731
        self.initializer = Initializer(
            lambda: self.states, SimScheduler(1), RETRY_MS, {"g": group}.get, submit
        )

    def begin(self, state_epoch: int, *keys: SharePartitionKey) -> None:
        """Begin what a heartbeat decided."""
        self.initializer.begin(Initialization("g", state_epoch, dict.fromkeys(keys, -1)))

    @property
    def asked(self) -> list[int]:
        """The partitions of all requests."""
        return [key.partition for _, key in self.states.asked]


def _ignore(_: Outcome[object]) -> None:
    """Ignore the outcome of a decision."""


def test_what_is_not_answered_is_not_asked_again() -> None:
    stage = Stage()
    stage.states.held = []
    stage.begin(2, KEYS[0])
    stage.begin(3, *KEYS)
    assert stage.asked == [0, 1]
    stage.begin(4, *KEYS)
    assert stage.asked == [0, 1]
    stage.states.release()
    stage.begin(5, *KEYS)
    assert stage.asked == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("error", "lines"), [(ErrorCode.FENCED_STATE_EPOCH, 0), (ErrorCode.NOT_COORDINATOR, 1)]
)
def test_a_later_initialization_is_no_failure(
    error: ErrorCode, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage()
    stage.states.failure = error
    stage.begin(2, *KEYS)
    assert len(caplog.records) == lines
