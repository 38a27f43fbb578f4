"""Whoever has lost a right is refused, by whatever way an answer would come."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.requests.admission import Admission
from tests.authorization.secured_node import ALICE, CLOSED, SecuredNode
from tests.authorization.ways import REFUSED, WAYS, Lose
from tests.authorization.ways_of_coordinators import LOST, Conversation

LOSING: dict[str, Lose] = {"taken away": SecuredNode.take_away, "denied": SecuredNode.deny}


@pytest.fixture
def node() -> Iterator[SecuredNode]:
    made = SecuredNode()
    yield made
    made.running.stop()


@pytest.mark.parametrize("losing", LOSING)
@pytest.mark.parametrize("way", WAYS)
def test_who_has_lost_the_right_is_refused(node: SecuredNode, way: str, losing: str) -> None:
    refused = CLOSED if way.endswith("acks 0") else REFUSED
    assert WAYS[way](node, LOSING[losing]) == refused


@pytest.mark.parametrize("way", [one for one in WAYS if "prepared" in one or "expected" in one])
def test_what_outlives_a_change_of_acls_is_seen(
    node: SecuredNode, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant: nothing that was prepared dies with the ACLs by which it was judged."""
    monkeypatch.setattr(Admission, "changed", lambda _self: None)
    assert WAYS[way](node, SecuredNode.take_away) in (0, "None")


@pytest.mark.parametrize("losing", LOSING)
@pytest.mark.parametrize("lost", range(len(LOST)), ids=[one[0][1].name for one in LOST])
def test_half_way_each_step_is_judged(node: SecuredNode, lost: int, losing: str) -> None:
    right, steps = LOST[lost]
    conversation = Conversation(node)
    end = node.end_offset()
    LOSING[losing](node, ALICE, right)
    told = {name: conversation.codes(step) for name, (step, _) in steps.items()}
    assert told == {name: {error} for name, (_, error) in steps.items()}
    assert node.end_offset() == end
