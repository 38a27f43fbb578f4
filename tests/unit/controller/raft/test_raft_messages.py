"""`controller.raft.raft_messages`."""

from __future__ import annotations

from controller.raft import raft_messages as m


def test_every_ready_has_lists_of_its_own() -> None:
    first = m.Ready()
    first.send.append(m.Send(2, m.BeginQuorumEpoch(1, 1)))
    assert m.Ready().send == []


def test_events_without_content_are_events() -> None:
    assert isinstance(m.Tick(), m.Tick)
    assert not isinstance(m.Tick(), m.Resign)
