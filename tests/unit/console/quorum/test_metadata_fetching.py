"""Records of a cluster elsewhere: from its leader, committed ones alone, also after an election."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from broker.config.start_error import StartError
from client.refusals import Refused
from console.quorum import metadata_fetching
from console.quorum.metadata_fetching import TAIL_OFFSETS, Leader, LeaderTail, leader_of
from console.quorum.metadata_shown import Shown
from protocol.errors import ErrorCode
from protocol.messages.fetch import EpochEndOffset, SnapshotId
from protocol.messages.metadata_records import NoOpRecord
from tests.unit.client.scripted import Answer, ScriptedNode
from tests.unit.console.quorum.quorum_samples import answer, batch, fetched

FIRST = Leader(1, ("one", 9093), 7, 99)
SECOND = Leader(2, ("two", 9093), 8, 99)
NOBODY = Leader(-1, None, 8, 99)


class Quorum:
    """Tells these leaders, one after the other; the last again and again."""

    def __init__(self, leaders: Sequence[Leader], **answers: Sequence[Answer]) -> None:
        self._leaders: Iterator[Leader] = iter(leaders)
        self._last = leaders[-1]
        self.nodes = {host: ScriptedNode(scripted) for host, scripted in answers.items()}

    def find(self) -> Leader:
        return next(self._leaders, self._last)

    def connect(self, host: str, port: int) -> ScriptedNode:
        if host not in self.nodes:
            raise StartError(f"{host}:{port} is dead")
        return self.nodes[host]

    def tail(self) -> LeaderTail:
        return LeaderTail(self.find, self.connect)


def noops(offset: int, count: int = 1) -> bytes:
    return batch(offset, *[NoOpRecord()] * count)


def offsets(rows: list[Shown]) -> list[int]:
    return [one.offset for one in rows]


def asked(node: ScriptedNode) -> list[tuple[int, int, int]]:
    """Of each Fetch: offset and epochs."""
    found = [one.topics[0].partitions[0] for one in node.sent]
    return [(one.fetch_offset, one.current_leader_epoch, one.last_fetched_epoch) for one in found]


def test_the_leader_and_where_it_listens() -> None:
    assert leader_of(answer(leader=2)) == Leader(2, ("two", 9093), 7, 99)
    assert leader_of(answer(leader=1)) == Leader(1, None, 7, 99)
    unbound = answer(leader=2)
    unbound.nodes[0].listeners[0].port = 0
    assert leader_of(unbound).address is None
    with pytest.raises(Refused, match="does not report the address"):
        Quorum([FIRST._replace(address=None)]).tail()


def test_all_that_is_there_and_then_what_comes() -> None:
    quorum = Quorum([FIRST], one=[fetched(noops(0, 3)), fetched(noops(3)), fetched(), fetched()])
    tail = quorum.tail()
    assert tail.source == "the leader, node 1 at one:9093"
    assert offsets(tail.read()) == [0, 1, 2, 3]
    assert tail.read() == []
    assert asked(quorum.nodes["one"]) == [(0, 7, 7), (3, 7, 7), (4, 7, 7), (4, 7, 7)]
    tail.close()
    assert quorum.nodes["one"].closed


def test_a_long_log_is_read_from_near_its_end() -> None:
    quorum = Quorum([FIRST._replace(high_watermark=TAIL_OFFSETS + 5)], one=[fetched()])
    quorum.tail().read()
    assert asked(quorum.nodes["one"]) == [(5, 7, 7)]


def test_what_is_not_agreed_on_is_not_shown() -> None:
    uncommitted = fetched(noops(0, 2), noops(2, 2), high_watermark=2)
    quorum = Quorum([FIRST], one=[uncommitted, fetched(noops(2, 2), high_watermark=2)])
    assert offsets(quorum.tail().read()) == [0, 1]
    assert [one[0] for one in asked(quorum.nodes["one"])] == [0, 2]


def test_it_begins_behind_a_snapshot_and_within_a_batch() -> None:
    away = fetched(snapshot_id=SnapshotId(10, 3))
    quorum = Quorum([FIRST], one=[away, fetched(noops(8, 4)), fetched()])
    assert offsets(quorum.tail().read()) == [10, 11]


def test_a_log_that_ends_earlier_is_followed() -> None:
    first = FIRST._replace(high_watermark=TAIL_OFFSETS + 50)
    shorter = fetched(diverging_epoch=EpochEndOffset(7, 20))
    quorum = Quorum([first], one=[shorter, fetched(noops(20)), fetched()])
    assert offsets(quorum.tail().read()) == [20]


@pytest.mark.parametrize(
    "end",
    [
        fetched(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER),
        fetched(error_code=ErrorCode.FENCED_LEADER_EPOCH),
        ConnectionResetError(104, "Connection reset"),
    ],
)
def test_the_next_leader_is_asked_from_there_on(end: Answer) -> None:
    quorum = Quorum(
        [FIRST, NOBODY, SECOND], one=[fetched(noops(0)), end], two=[fetched(noops(1)), fetched()]
    )
    tail = quorum.tail()
    assert offsets(tail.read()) == [0]
    assert quorum.nodes["one"].closed
    assert tail.read() == []
    assert offsets(tail.read()) == [1]
    assert asked(quorum.nodes["two"])[0] == (1, 8, 8)
    assert "node 2" in tail.source


def test_a_page_that_opens_in_an_election_waits_for_the_leader() -> None:
    elected = SECOND._replace(high_watermark=TAIL_OFFSETS + 5)
    quorum = Quorum([NOBODY, NOBODY, elected], two=[fetched(noops(5)), fetched()])
    tail = quorum.tail()
    assert tail.source == "the next leader of the quorum (election in progress)"
    assert (tail.read(), tail.read()) == ([], [])
    assert offsets(tail.read()) == [5]
    assert "node 2" in tail.source
    tail.close()


def test_a_leader_that_is_dead_is_waited_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_fetching, "MISSED_MAX", 2)
    quorum = Quorum([FIRST, SECOND], one=[ConnectionResetError(104, "Connection reset")])
    tail = quorum.tail()
    assert (tail.read(), tail.read()) == ([], [])
    with pytest.raises(StartError, match="two:9093 is dead"):
        tail.read()


def test_who_may_not_is_told_what_it_takes() -> None:
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    quorum = Quorum([FIRST], one=[fetched(error_code=code)])
    with pytest.raises(Refused, match="ClusterAction on the cluster"):
        quorum.tail().read()
