"""States of share groups in a data folder that Ottla and Apache Kafka open in turn.

What the share coordinator of one wrote to `__share_group_state`, that of the other has.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode
from tests.clients.wire_client import WireClient
from tests.compat.opened_folders import opened
from tests.golden.share_state_cases import ShareStates

pytestmark = pytest.mark.java


def written(client: WireClient, first: int, leader: int) -> list[Any]:
    """Write to one of two states, and return the broker's answers about both."""
    states = ShareStates(client.call)
    states.prepare()
    for offset in range(first, first + 20, 2):
        answer = states.write((offset, offset, 2, 1), leader=leader, final=offset, start=10)
        assert error_of(answer) is ErrorCode.NONE
    return said(client, leader)


def said(client: WireClient, leader: int) -> list[Any]:
    """Return a broker's answers about two states."""
    states = ShareStates(client.call)
    states.prepare()
    return [states.read(leader), states.summary(), states.read(leader, 1), states.summary(1)]


def error_of(answer: Any) -> ErrorCode:
    (_, (row,)), *_ = answer
    return ErrorCode(row[1])


@pytest.mark.parametrize(
    "killed",
    [
        pytest.param(False, id="stopped", marks=pytest.mark.long),
        pytest.param(True, id="killed"),
    ],
)
def test_states_pass_from_one_to_the_other(
    ottla_broker_factory: Callable[..., Any], tmp_path: Path, killed: bool
) -> None:
    folder = tmp_path / "data"
    with opened("ottla", folder, ottla_broker_factory, killed) as client:
        states = ShareStates(client.call)
        states.prepare()
        for partition in (0, 1):
            assert error_of(states.initialize(5, 10, partition)) is ErrorCode.NONE
        in_ottla = written(client, 10, leader=3)
    with opened("kafka", folder, ottla_broker_factory, killed) as client:
        assert said(client, 3) == in_ottla
        in_kafka = written(client, 40, leader=4)
        assert in_kafka != in_ottla
    with opened("ottla", folder, ottla_broker_factory, killed) as client:
        assert said(client, 4) == in_kafka
        states = ShareStates(client.call)
        states.prepare()
        assert error_of(states.read(3)) is ErrorCode.FENCED_LEADER_EPOCH
        assert error_of(states.initialize(4, 0)) is ErrorCode.FENCED_STATE_EPOCH
        assert error_of(states.delete()) is ErrorCode.NONE
    with opened("kafka", folder, ottla_broker_factory, killed) as client:
        states = ShareStates(client.call)
        states.prepare()
        assert states.summary() == [["shared-t", [[0, 0, False, 0, 0, -1, -1]]]]
        assert states.summary(1) == in_kafka[3]
