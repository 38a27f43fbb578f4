from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from protocol.errors import ErrorCode
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ReplicaState,
)
from tests.unit.broker.apis.fetch.fetch_fixture import MIB, Fetch, offsets


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    return Fetch(tmp_path)


@pytest.mark.parametrize("version", [4, 12, 13, 18])
def test_what_is_there_is_answered_at_once(fetch: Fetch, version: int) -> None:
    fetch.replicas.create("t")
    fetch.replicas.append("t", b"a")
    fetch.replicas.append("t", b"b")
    fetch.send({("t", 0): 0}, version=version, max_wait_ms=500)
    partition = fetch.one()
    assert (partition.error_code, partition.high_watermark) == (0, 2)
    assert offsets(partition) == [0, 1]
    assert partition.aborted_transactions is None


def test_read_committed_gets_a_list_of_aborted_transactions(fetch: Fetch) -> None:
    fetch.replicas.create("t")
    fetch.send({("t", 0): 0}, isolation=1)
    assert fetch.one().aborted_transactions == []


def test_a_long_poll_waits_for_data(fetch: Fetch) -> None:
    fetch.replicas.create("t")
    assert fetch.send({("t", 0): 0}, max_wait_ms=500) == []
    fetch.replicas.append("t", b"a")
    assert offsets(fetch.one()) == [0]
    assert len(fetch.replicas.manager.fetch_purgatory) == 0


def test_a_long_poll_ends_empty_at_its_time(fetch: Fetch) -> None:
    fetch.replicas.create("t")
    fetch.send({("t", 0): 0}, max_wait_ms=500)
    fetch.replicas.scheduler.run_for(499)
    assert fetch.answers == []
    fetch.replicas.scheduler.run_for(1)
    partition = fetch.one()
    assert (partition.records, partition.high_watermark, partition.error_code) == (b"", 0, 0)


def test_min_bytes_counts_over_all_partitions(fetch: Fetch) -> None:
    fetch.replicas.create("t", partitions=2)
    fetch.replicas.append("t", b"v" * 100)
    wanted = {("t", 0): 0, ("t", 1): 0}
    assert fetch.send(wanted, min_bytes=300, max_wait_ms=500) == []
    fetch.replicas.append("t", b"v" * 10, index=1)
    assert fetch.answers == []
    fetch.replicas.append("t", b"v" * 100, index=1)
    assert {k: offsets(p) for k, p in fetch.partitions().items()} == {
        ("t", 0): [0],
        ("t", 1): [0, 1],
    }


def test_an_error_is_told_at_once(fetch: Fetch) -> None:
    fetch.replicas.create("t")
    fetch.replicas.append("t", b"a")
    fetch.send({("t", 0): 9}, max_wait_ms=500)
    assert fetch.one().error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    fetch.send({("t", 7): 0, ("none", 0): 0}, max_wait_ms=500)
    assert [p.error_code for p in fetch.partitions().values()] == [3, 3]
    fetch.send({("none", 0): 0}, version=13, max_wait_ms=500)
    assert fetch.one().error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("isolation", [0, 1])
def test_what_is_unknown_comes_last_and_errors_say_nothing_of_transactions(
    fetch: Fetch, isolation: int
) -> None:
    """Apache Kafka gives a list, an empty one, only to partitions that it does not find."""
    fetch.replicas.create("t")
    fetch.replicas.append("t", b"a")
    wanted = {("", 0): 0, ("t", 7): 0, ("t", 0): 9}
    fetch.send(wanted, isolation=isolation)
    told = [
        (topic.topic, one.partition_index, one.error_code, one.aborted_transactions)
        for topic in fetch.answers[-1].responses
        for one in topic.partitions
    ]
    assert told == [("t", 0, 1, None), ("", 0, 3, []), ("t", 7, 3, [])]
    fetch.send({("none", 0): 0, ("t", 7): 0, ("t", 0): 9}, version=13, isolation=isolation)
    told_by_id = [(*key, p.error_code) for key, p in fetch.partitions().items()]
    assert told_by_id == [("t", 0, 1), ("none", 0, 100), ("t", 7, 3)]


@pytest.mark.parametrize("version", [4, 12, 18])
@pytest.mark.parametrize("isolation", [-1, 2, 127])
def test_an_unknown_isolation_level_is_refused(fetch: Fetch, version: int, isolation: int) -> None:
    """-1 is what this broker calls the log's end, which no consumer may read to."""
    fetch.replicas.create("t")
    fetch.send({("t", 0): 0}, version=version, isolation=isolation)
    assert fetch.answers[-1].error_code == ErrorCode.INVALID_REQUEST
    told = [one.error_code for one in fetch.partitions().values()]
    assert told == ([ErrorCode.INVALID_REQUEST] if version < 13 else [])


def test_a_deleted_topic_ends_a_long_poll(fetch: Fetch) -> None:
    fetch.replicas.create("t")
    fetch.send({("t", 0): 0}, max_wait_ms=500)
    fetch.replicas.delete("t")
    assert fetch.one().error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_max_bytes_bounds_all_but_the_first_batch(fetch: Fetch) -> None:
    fetch.replicas.create("t", partitions=2)
    for index in (0, 1):
        fetch.replicas.append("t", b"v" * 1000, index=index)
    fetch.send({("t", 0): 0, ("t", 1): 0}, max_bytes=100)
    assert [offsets(p) for p in fetch.partitions().values()] == [[0], []]


def test_a_fetch_in_a_brokers_name_is_refused_on_a_listener_of_clients(fetch: Fetch) -> None:
    """CVE-2018-1288: it would move the high watermark."""
    fetch.replicas.create("t", replicas=[1, 2])
    fetch.send({("t", 0): 0}, version=12, replica_id=2, listener="OUTSIDE")
    assert fetch.one().error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    fetch.send({("t", 0): 0}, version=17, replica_state=ReplicaState(2, 1), listener="OUTSIDE")
    assert fetch.answers[-1].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_debugging_consumer_is_a_consumer(fetch: Fetch) -> None:
    fetch.replicas.create("t", replicas=[1, 2])
    fetch.replicas.append("t", b"a")
    fetch.send({("t", 0): 0}, version=12, replica_id=-2)
    assert (fetch.one().error_code, fetch.one().records) == (0, b"")


def test_many_partitions_and_few_bytes_leave_none_out_for_good(fetch: Fetch) -> None:
    """What a first answer had no room for comes with the next ones, though it never changes."""
    fetch.replicas.create("t", partitions=4)
    for index in range(4):
        fetch.replicas.append("t", b"v" * 400, index=index)
    wanted = {("t", index): 0 for index in range(4)}
    session = open_session(fetch, wanted, max_bytes=500)
    seen: list[tuple[str, int]] = []
    for epoch in range(1, 5):
        read = [key for key, partition in fetch.partitions().items() if partition.records]
        seen += read
        positions = dict.fromkeys(read, 1)
        fetch.send(positions, version=13, session=(session, epoch), max_bytes=500)
    assert sorted(seen) == list(wanted)


# --- sessions ------------------------------------------------------------------------------------


def open_session(fetch: Fetch, wanted: dict[tuple[str, int], int], **options: Any) -> int:
    fetch.send(wanted, version=13, session=(0, 0), **options)
    session_id = fetch.answers[-1].session_id
    assert session_id > 0
    assert fetch.partitions().keys() == wanted.keys()
    return session_id


def test_an_incremental_fetch_names_only_what_has_news(fetch: Fetch) -> None:
    fetch.replicas.create("t", partitions=3)
    session = open_session(fetch, {("t", i): 0 for i in range(3)})
    fetch.send({}, version=13, session=(session, 1))
    assert fetch.partitions() == {}
    fetch.replicas.append("t", b"a", index=1)
    fetch.send({}, version=13, session=(session, 2))
    assert {k: offsets(p) for k, p in fetch.partitions().items()} == {("t", 1): [0]}
    # Not taken yet: told again. Taken: silent.
    fetch.send({}, version=13, session=(session, 3))
    assert fetch.partitions().keys() == {("t", 1)}
    fetch.send({("t", 1): 1}, version=13, session=(session, 4))
    assert fetch.partitions() == {}


def test_a_session_wakes_its_long_poll(fetch: Fetch) -> None:
    fetch.replicas.create("t", partitions=2)
    session = open_session(fetch, {("t", 0): 0, ("t", 1): 0})
    count = len(fetch.answers)
    fetch.send({}, version=13, session=(session, 1), max_wait_ms=500)
    assert len(fetch.answers) == count
    fetch.replicas.append("t", b"a", index=1)
    assert {k: offsets(p) for k, p in fetch.partitions().items()} == {("t", 1): [0]}


def test_a_moved_log_start_is_news(fetch: Fetch) -> None:
    partition = fetch.replicas.create("t")
    fetch.replicas.append("t", b"a")
    session = open_session(fetch, {("t", 0): 1})
    partition.delete_records(1)
    fetch.send({}, version=13, session=(session, 1))
    assert fetch.one().log_start_offset == 1


def test_forgotten_partitions_are_not_told(fetch: Fetch) -> None:
    fetch.replicas.create("t", partitions=2)
    session = open_session(fetch, {("t", 0): 0, ("t", 1): 0})
    fetch.replicas.append("t", b"a", index=0)
    fetch.send({}, version=13, session=(session, 1), forgotten=(("t", 0),))
    assert fetch.partitions() == {}


def test_who_has_more_of_this_epoch_than_there_is_is_told_where_it_ends(fetch: Fetch) -> None:
    """Apache Kafka answers with the end of the other history, not OFFSET_OUT_OF_RANGE."""
    partition = fetch.replicas.create("t")
    for value in (b"a", b"b", b"c"):
        fetch.replicas.append("t", value)
    partition.delete_records(1)
    told = {}
    for epoch, offset in ((0, 9), (0, 3), (0, 0), (-1, 9)):
        asked = FetchPartition(0, 0, offset, epoch, partition_max_bytes=MIB)
        request = FetchRequest(max_bytes=MIB, topics=[FetchTopic("t", partitions=[asked])])
        context = RequestContext(1, 12, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
        fetch.api.handle(context, request, fetch.answers.append)
        one, diverging = fetch.one(), fetch.one().diverging_epoch
        told[epoch, offset] = (
            one.error_code,
            diverging and (diverging.epoch, diverging.end_offset),
        )
    out_of_range = (ErrorCode.OFFSET_OUT_OF_RANGE, None)
    assert told == {
        (0, 9): (0, (0, 3)),
        (0, 3): (0, None),
        (0, 0): out_of_range,
        (-1, 9): out_of_range,
    }


def test_leader_epochs_are_checked_and_a_negative_one_is_none(fetch: Fetch) -> None:
    """The expected errors are those of Apache Kafka."""
    fetch.replicas.create("t")
    fetch.replicas.append("t", b"a")
    answers = {}
    for epoch in (-2, -1, 0, 5):
        asked = FetchPartition(0, current_leader_epoch=epoch, partition_max_bytes=MIB)
        request = FetchRequest(max_bytes=MIB, topics=[FetchTopic("t", partitions=[asked])])
        context = RequestContext(1, 12, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
        fetch.api.handle(context, request, fetch.answers.append)
        answers[epoch] = fetch.one().error_code
    assert answers == {-2: 0, -1: 0, 0: 0, 5: ErrorCode.UNKNOWN_LEADER_EPOCH}


def test_session_ids_and_epochs_are_checked(fetch: Fetch) -> None:
    fetch.replicas.create("t")
    session = open_session(fetch, {("t", 0): 0})
    fetch.send({}, version=13, session=(session + 1, 1))
    assert fetch.answers[-1].error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    fetch.send({}, version=13, session=(session, 2))
    assert fetch.answers[-1].error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    fetch.send({}, version=12, session=(session, 1))
    assert fetch.answers[-1].error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_final_epoch_closes_the_session(fetch: Fetch) -> None:
    fetch.replicas.create("t")
    session = open_session(fetch, {("t", 0): 0})
    fetch.send({("t", 0): 0}, version=13, session=(session, -1))
    assert fetch.answers[-1].session_id == 0
    assert len(fetch.replicas.manager.sessions) == 0


def test_a_topic_that_comes_back_is_found_by_its_session(fetch: Fetch) -> None:
    fetch.replicas.create("t")
    fetch.send({("t", 0): 0}, version=12, session=(0, 0))
    session = fetch.answers[-1].session_id
    fetch.replicas.delete("t")
    fetch.send({}, version=12, session=(session, 1))
    assert fetch.one().error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    fetch.replicas.create("t")
    fetch.send({}, version=12, session=(session, 2))
    assert fetch.one().error_code == 0
    fetch.replicas.append("t", b"a")
    fetch.send({}, version=12, session=(session, 3))
    assert offsets(fetch.one()) == [0]


def test_partitions_take_turns_when_there_is_more_than_fits(fetch: Fetch) -> None:
    fetch.replicas.create("t", partitions=3)
    session = open_session(fetch, {("t", i): 0 for i in range(3)})
    for index in range(3):
        fetch.replicas.append("t", b"v" * 1000, index=index)
    first = []
    for epoch in range(1, 4):
        fetch.send({}, version=13, session=(session, epoch), max_bytes=100)
        first += [index for (_, index), p in fetch.partitions().items() if offsets(p)]
    assert sorted(first) == [0, 1, 2]


def test_what_goes_out_is_counted(fetch: Fetch) -> None:
    partition = fetch.replicas.create("t")
    fetch.replicas.append("t", b"a")
    fetch.send({("t", 0): 0})
    assert partition.counts.bytes_out == partition.log.segments.size_bytes
