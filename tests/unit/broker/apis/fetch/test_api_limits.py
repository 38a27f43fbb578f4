"""What a Fetch gives, and what it says of partitions that get nothing, where few bytes are allowed.

All that is expected is what an Apache Kafka answered to the same requests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.fetch import PartitionData, ReplicaState
from tests.unit.broker.apis.fetch.fetch_fixture import MIB, Fetch

BATCH = 1070  # bytes of each batch of one record of 1,000 bytes
WANTED = {("t", index): 0 for index in range(3)}


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    """Three partitions, each of three batches of the same size."""
    fetch = Fetch(tmp_path)
    fetch.replicas.create("t", partitions=3)
    for index in range(3):
        for _ in range(3):
            fetch.replicas.append("t", b"x" * 1000, index=index)
    return fetch


def size(partition: PartitionData) -> int:
    records: Any = partition.records
    return records.size if hasattr(records, "size") else len(records)


def sizes(fetch: Fetch) -> list[int]:
    return [size(partition) for partition in fetch.partitions().values()]


def served(fetch: Fetch) -> list[int]:
    """The partitions that the last answer has records of."""
    return [index for (_, index), partition in fetch.partitions().items() if size(partition)]


GRID = [
    # partition_max_bytes, max_bytes, bytes of each partition
    (0, MIB, [BATCH, 0, 0]),
    (1, MIB, [BATCH, 0, 0]),
    (BATCH - 1, MIB, [BATCH, 0, 0]),
    (BATCH, MIB, [BATCH, BATCH, BATCH]),
    (BATCH + 30, MIB, [BATCH + 30, BATCH + 30, BATCH + 30]),
    (MIB, 0, [BATCH, 0, 0]),
    (MIB, BATCH + 1, [BATCH + 1, 0, 0]),
    (BATCH, 2 * BATCH - 1, [BATCH, 0, 0]),
    (BATCH, 2 * BATCH, [BATCH, BATCH, 0]),
    (BATCH + 30, 2 * BATCH + 29, [BATCH + 30, 0, 0]),
    (BATCH + 30, 2 * BATCH + 30, [BATCH + 30, BATCH, 0]),
    (2 * BATCH, 2 * BATCH + 62, [2 * BATCH, 0, 0]),
    (MIB, MIB, [3 * BATCH, 3 * BATCH, 3 * BATCH]),
]


@pytest.mark.parametrize(("version", "session"), [(4, -1), (7, 0), (12, -1), (18, -1), (18, 0)])
def test_no_partition_gets_a_piece_of_its_first_batch(
    fetch: Fetch, version: int, session: int
) -> None:
    """Behind whole batches a piece may follow, which readers drop."""
    for partition_max_bytes, max_bytes, expected in GRID:
        limits = {"partition_max_bytes": partition_max_bytes, "max_bytes": max_bytes}
        fetch.send(WANTED, version=version, session=(0, session), **limits)  # type: ignore[arg-type]
        assert sizes(fetch) == expected, limits
        assert [one.high_watermark for one in fetch.partitions().values()] == [3, 3, 3]


def test_a_batch_that_does_not_fit_counts_for_min_bytes(fetch: Fetch) -> None:
    """Or who waits for many bytes would wait out its time for what it cannot get."""
    asked: dict[str, int] = {"partition_max_bytes": 1000, "max_wait_ms": 500}
    fetch.send(WANTED, min_bytes=2000, **asked)
    assert sizes(fetch) == [BATCH, 0, 0]
    assert len(fetch.send(WANTED, min_bytes=9000, **asked)) == 1


def test_a_parked_fetch_gets_no_piece_either(fetch: Fetch) -> None:
    wanted = dict.fromkeys(WANTED, 3)
    assert fetch.send(wanted, partition_max_bytes=500, min_bytes=1500, max_wait_ms=500) == []
    for index in range(3):
        fetch.replicas.append("t", b"x" * 1000, index=index)
    assert sizes(fetch) == [BATCH, 0, 0]


# --- in a session --------------------------------------------------------------------------------


def begin(fetch: Fetch, wanted: dict[tuple[str, int], int], **options: Any) -> int:
    fetch.send(wanted, version=13, session=(0, 0), **options)
    return fetch.answers[-1].session_id


@pytest.mark.parametrize(
    "limit", [{"partition_max_bytes": 100}, {"max_bytes": 100}, {"max_bytes": 0}]
)
def test_who_got_nothing_is_first_the_next_time(fetch: Fetch, limit: dict[str, int]) -> None:
    """The first answer of a session moves nobody; after it, who had records is behind the rest."""
    session = begin(fetch, WANTED, **limit)
    turns = [served(fetch)]
    for epoch in range(1, 7):
        positions = {("t", turns[-1][0]): sum(turn == turns[-1] for turn in turns)}
        fetch.send(positions, version=13, session=(session, epoch), **limit)
        turns.append(served(fetch))
    assert turns == [[0], [0], [1], [2], [0], [1], [2]]


def test_who_is_named_again_or_has_an_error_keeps_its_place(fetch: Fetch) -> None:
    session = begin(fetch, {("t", 1): 9, ("t", 0): 0, ("t", 2): 0}, max_bytes=1)
    fetch.send({}, version=13, session=(session, 1), max_bytes=1)
    assert served(fetch) == [0]
    fetch.send({("t", 1): 0}, version=13, session=(session, 2), max_bytes=1)
    assert served(fetch) == [1]
    fetch.send({("t", 2): 1}, version=13, session=(session, 3), max_bytes=1)
    assert served(fetch) == [2]


def test_partitions_behind_the_limit_tell_what_is_new(fetch: Fetch) -> None:
    session = begin(fetch, WANTED)
    fetch.replicas.append("t", b"x", index=1)
    fetch.replicas.partition("t", 2).delete_records(1)
    fetch.send({("t", 1): 1, ("t", 2): 1}, version=13, session=(session, 1), max_bytes=1)
    told = {
        index: (bool(size(one)), one.error_code, one.high_watermark, one.log_start_offset)
        for (_, index), one in fetch.partitions().items()
    }
    assert told == {0: (True, 0, 3, 0), 1: (False, 0, 4, 0), 2: (False, 0, 3, 1)}
    # Told once; and an error, which is told as long as it lasts.
    fetch.send({("t", 2): 0}, version=13, session=(session, 2), max_bytes=1)
    assert {index: one.error_code for (_, index), one in fetch.partitions().items()} == {
        1: 0,
        2: ErrorCode.OFFSET_OUT_OF_RANGE,
    }
    assert served(fetch) == [1]


def test_a_partition_that_is_named_and_forgotten_is_gone(fetch: Fetch) -> None:
    session = begin(fetch, WANTED)
    fetch.send({("t", 0): 1, ("t", 1): 1}, version=13, session=(session, 1), forgotten=(("t", 1),))
    assert served(fetch) == [0, 2]
    (known,) = fetch.replicas.manager.sessions
    assert [index for _, index in known.partitions] == [0, 2]


@pytest.mark.parametrize("named", [{}, {("t", 0): 0}])
def test_a_session_that_forgets_its_last_partition_ends(
    fetch: Fetch, named: dict[tuple[str, int], int]
) -> None:
    """What the request names is answered all the same, without a session."""
    session = begin(fetch, {("t", 0): 3})
    fetch.send(named, version=13, session=(session, 1), forgotten=(("t", 0),), max_wait_ms=500)
    assert (fetch.answers[-1].session_id, served(fetch)) == (0, [0] if named else [])
    fetch.send({}, version=13, session=(session, 2))
    assert fetch.answers[-1].error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_an_answer_is_void_where_its_session_went_on_meanwhile(fetch: Fetch) -> None:
    """What it told, the session would take for told."""
    session = begin(fetch, {("t", 0): 3})
    fetch.send({}, version=13, session=(session, 1), max_wait_ms=500)
    fetch.send({}, version=13, session=(session, 2))
    fetch.replicas.append("t", b"x")
    answer = fetch.answers[-1]
    assert (answer.error_code, answer.session_id, answer.responses) == (
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        session,
        [],
    )
    fetch.send({}, version=13, session=(session, 3))
    assert served(fetch) == [0]


def test_a_followers_position_is_noted_behind_the_limit(fetch: Fetch) -> None:
    """An acks=all would wait for it. (Of Kafka's sources: one node has no followers.)"""
    follower = ReplicaState(2, 1)
    fetch.replicas.register(2)
    fetch.replicas.create("r", partitions=2, replicas=[1, 2])
    wanted = {("r", 0): 0, ("r", 1): 0}
    fetch.send(wanted, version=17, session=(0, 0), replica_state=follower)
    session = fetch.answers[-1].session_id
    for index in range(2):
        fetch.replicas.append("r", b"x", index=index)
    number = (session, 1)
    fetch.send({("r", 1): 1}, version=17, session=number, max_bytes=1, replica_state=follower)
    assert {key: size(one) > 0 for key, one in fetch.partitions().items()} == {
        ("r", 0): True,
        ("r", 1): False,
    }
    assert fetch.replicas.partition("r", 1).log.high_watermark == 1


def test_a_session_may_begin_without_partitions(fetch: Fetch) -> None:
    session = begin(fetch, {}, max_wait_ms=500)
    assert session
    fetch.send({("t", 1): 0}, version=13, session=(session, 1))
    assert (fetch.answers[-1].session_id, served(fetch)) == (session, [1])
